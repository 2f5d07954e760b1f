"""Tests of ragas's context metrics: by hand, every empty case, and `compat`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.metrics.asked import SAMPLE, outcome_of

from ragboard import Passage, Score, Unscored
from ragboard.metrics.ragas_contexts import (
    ContextEntityRecall,
    ContextPrecision,
    ContextRelevancy,
    ContextUtilization,
    average_precision,
)
from ragboard.tasks import (
    Entities,
    ExtractEntities,
    Failure,
    JudgePassages,
    Reply,
    Selection,
    SelectSentences,
    Similarities,
    Similarity,
    Task,
    Usefulness,
)

NOTHING = Unscored(reason="undefined", detail="no passage was retrieved")


@pytest.mark.parametrize(
    ("useful", "expected"),
    [
        ((True,), 1.0),
        ((True, True, False), 1.0),
        ((False, True), 1 / 2),
        ((True, False, True), (1 + 2 / 3) / 2),
        ((False, True, False, True), (1 / 2 + 2 / 4) / 2),
        ((False, False), 0.0),
        ((), 0.0),
    ],
)
def test_average_precision_by_hand(useful: tuple[bool, ...], expected: float) -> None:
    assert average_precision(useful) == pytest.approx(expected, abs=1e-15)


@given(st.lists(st.booleans(), max_size=12))
def test_average_precision_is_that_of_the_formula_with_running_shares(useful: list[bool]) -> None:
    """The second way: v_i times the share of useful ones down to i, summed, over the useful ones plus 1e-10."""
    running = sum(good * sum(useful[: place + 1]) / (place + 1) for place, good in enumerate(useful))
    assert average_precision(tuple(useful), 1e-10) == pytest.approx(running / (sum(useful) + 1e-10), abs=1e-15)


@given(st.lists(st.booleans(), min_size=1, max_size=12), st.data())
def test_a_useful_passage_moved_up_never_lowers_it(useful: list[bool], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(useful) - 1))
    if place and useful[place] and not useful[place - 1]:
        moved = [*useful]
        moved[place - 1], moved[place] = True, False
        assert average_precision(tuple(moved)) > average_precision(tuple(useful))


def useful(*marks: bool) -> Usefulness:
    return Usefulness(useful=marks, reasons=("why",) * len(marks))


def test_context_precision_judges_all_passages_against_the_reference_at_once() -> None:
    found, asked = outcome_of(ContextPrecision(), SAMPLE, lambda _: useful(False, True))
    assert found == Score(value=0.5, counted="useful at rank 2 of 2")
    assert asked == [
        JudgePassages(question="q?", answer="A reference.", passages=("One is here. Two is here.", "Three is."))
    ]


def test_context_utilization_judges_them_against_the_answer() -> None:
    found, asked = outcome_of(ContextUtilization(), SAMPLE, lambda _: useful(True, False))
    assert found == Score(value=1.0, counted="useful at rank 1 of 2")
    assert [task.answer for task in asked if isinstance(task, JudgePassages)] == ["An answer."]


@pytest.mark.parametrize("metric", [ContextPrecision(), ContextUtilization()], ids=lambda metric: metric.name)
def test_precision_where_no_passage_is_useful_is_0_and_without_passages_undefined(
    metric: ContextPrecision | ContextUtilization,
) -> None:
    found, _ = outcome_of(metric, SAMPLE, lambda _: useful(False, False))
    assert found == Score(value=0.0, counted="none of 2 passages useful")
    found, asked = outcome_of(metric, replace(SAMPLE, contexts=()), lambda _: useful())
    assert (found, asked) == (NOTHING, [])


@pytest.mark.parametrize("metric", [ContextPrecision(), ContextUtilization()], ids=lambda metric: metric.name)
def test_as_the_library_adds_its_constant_and_gives_0_for_nothing(
    metric: ContextPrecision | ContextUtilization,
) -> None:
    compat = replace(metric, compat=True)
    found, _ = outcome_of(compat, SAMPLE, lambda _: useful(True, True))
    assert found == Score(value=2 / (2 + 1e-10), counted="useful at rank 1, 2 of 2")
    found, _ = outcome_of(compat, replace(SAMPLE, contexts=()), lambda _: useful())
    assert found == Score(value=0.0, counted="none of 0 passages useful")


def test_precision_toward_an_empty_text_is_undefined_and_makes_no_calls() -> None:
    found, asked = outcome_of(ContextPrecision(), replace(SAMPLE, reference=" "), lambda _: useful())
    assert (found, asked) == (Unscored(reason="undefined", detail="the reference is empty"), [])
    found, asked = outcome_of(ContextUtilization(), replace(SAMPLE, answer=""), lambda _: useful())
    assert (found, asked) == (Unscored(reason="undefined", detail="the answer is empty"), [])


def drawing(*draws: tuple[int, ...], near: float = 0.5) -> Callable[[Task], Reply | Failure]:
    def reply(task: Task) -> Reply | Failure:
        if isinstance(task, SelectSentences):
            return Selection(chosen=draws[task.draw])
        assert isinstance(task, Similarity)
        return Similarities(values=tuple(near if other != task.text else 1.0 for other in task.others))

    return reply


def test_context_relevancy_is_overlap_times_agreement() -> None:
    found, asked = outcome_of(ContextRelevancy(), SAMPLE, drawing((0,), (0, 1)))
    assert found == Score(value=0.5 * (1 / 3 + 2 / 3) / 2, counted="selected 1 and 2 of 3 sentences, agreement 0.50")
    assert [task.draw for task in asked] == [0, 1]


def test_with_three_draws_the_agreement_is_the_mean_over_three_pairs() -> None:
    found, _ = outcome_of(ContextRelevancy(n=3), SAMPLE, drawing((0,), (0, 1), (2,)))
    overlap, agreement = (1 + 2 + 1) / 9, (1 / 2 + 0 + 0) / 3
    assert isinstance(found, Score)
    assert found.value == pytest.approx(overlap * agreement, abs=1e-15)


def test_with_one_draw_it_is_the_overlap() -> None:
    found, asked = outcome_of(ContextRelevancy(n=1), SAMPLE, drawing((1, 2)))
    assert found == Score(value=2 / 3, counted="selected 2 of 3 sentences, agreement 1.00")
    assert len(asked) == 1


def test_draws_that_chose_nothing_agree_and_score_0() -> None:
    found, _ = outcome_of(ContextRelevancy(), SAMPLE, drawing((), ()))
    assert found == Score(value=0.0, counted="selected 0 and 0 of 3 sentences, agreement 1.00")


def test_agreement_by_similarity_is_the_mean_of_the_nearest_and_not_symmetric() -> None:
    metric = ContextRelevancy(agreement="similarity")
    found, asked = outcome_of(metric, SAMPLE, drawing((0,), (0, 1), near=0.2))
    assert found == Score(value=pytest.approx(0.5), counted="selected 1 and 2 of 3 sentences, agreement 1.00")
    found, asked = outcome_of(metric, SAMPLE, drawing((0, 1), (0,), near=0.2))
    assert found == Score(value=pytest.approx(0.5 * 0.6), counted="selected 2 and 1 of 3 sentences, agreement 0.60")
    assert [task for task in asked if isinstance(task, Similarity)] == [
        Similarity(text="One is here.", others=("One is here.",)),
        Similarity(text="Two is here.", others=("One is here.",)),
    ]


def test_equal_selections_need_no_embeddings() -> None:
    _, asked = outcome_of(ContextRelevancy(agreement="similarity"), SAMPLE, drawing((0,), (0,)))
    assert not any(isinstance(task, Similarity) for task in asked)


@given(st.lists(st.sets(st.integers(0, 2)), min_size=1, max_size=4))
def test_context_relevancy_is_in_range_and_at_most_the_selected_share(drawn: list[set[int]]) -> None:
    draws = tuple(tuple(sorted(draw)) for draw in drawn)
    found, _ = outcome_of(ContextRelevancy(n=len(draws)), SAMPLE, drawing(*draws))
    assert isinstance(found, Score)
    assert 0 <= found.value <= sum(map(len, draws)) / (3 * len(draws)) + 1e-12


def test_without_sentences_it_is_undefined_and_0_in_the_library() -> None:
    bare = replace(SAMPLE, contexts=(Passage(id="a", text=" ", rank=1),))
    found, asked = outcome_of(ContextRelevancy(), bare, drawing())
    assert (found, asked) == (Unscored(reason="undefined", detail="the passages contain no sentence"), [])
    found, _ = outcome_of(ContextRelevancy(), replace(SAMPLE, contexts=()), drawing())
    assert found == NOTHING
    found, _ = outcome_of(ContextRelevancy(compat=True), bare, drawing())
    assert found == Score(value=0.0, counted="no sentence")


def test_one_failed_draw_fails_the_metric() -> None:
    def reply(task: Task) -> Reply | Failure:
        return Failure(detail="broken") if task.draw else Selection(chosen=(0,))

    found, _ = outcome_of(ContextRelevancy(n=3), SAMPLE, reply)
    assert found == Unscored(reason="failed", detail="broken")


def naming(reference: tuple[str, ...], passages: tuple[str, ...]) -> Callable[[Task], Reply | Failure]:
    return lambda task: Entities(names=reference if task.text == "A reference." else passages)


def test_entity_recall_is_shared_over_those_of_the_reference() -> None:
    found, asked = outcome_of(
        ContextEntityRecall(), SAMPLE, naming(("Ines Dahl", "1871", "Fara"), ("ines  dahl", "Fara", "1902"))
    )
    assert found == Score(value=2 / 3, counted="2 of 3 entities")
    assert asked == [
        ExtractEntities(text="A reference."),
        ExtractEntities(text="One is here. Two is here.\n\nThree is."),
    ]


def test_as_the_library_names_are_compared_letter_by_letter_with_its_constant() -> None:
    found, _ = outcome_of(
        ContextEntityRecall(compat=True), SAMPLE, naming(("Ines Dahl", "Fara"), ("ines dahl", "Fara"))
    )
    assert found == Score(value=1 / (2 + 1e-8), counted="1 of 2 entities")


def test_a_reference_that_names_nothing_is_undefined_and_0_in_the_library() -> None:
    found, _ = outcome_of(ContextEntityRecall(), SAMPLE, naming((), ("x",)))
    assert found == Unscored(reason="undefined", detail="the judge found no entity in the reference")
    found, _ = outcome_of(ContextEntityRecall(), replace(SAMPLE, reference=""), naming((), ("x",)))
    assert found == Unscored(reason="undefined", detail="the reference is empty")
    found, _ = outcome_of(ContextEntityRecall(compat=True), SAMPLE, naming((), ("x",)))
    assert found == Score(value=0.0, counted="0 of 0 entities")


def test_where_nothing_was_retrieved_no_entity_is_found_and_only_the_reference_is_read() -> None:
    found, asked = outcome_of(ContextEntityRecall(), replace(SAMPLE, contexts=()), naming(("x",), ()))
    assert found == Score(value=0.0, counted="0 of 1 entities")
    assert len(asked) == 1
