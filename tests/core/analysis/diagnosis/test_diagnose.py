"""Tests of `diagnose` on runs with known correct diagnoses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.core.analysis.diagnosis.made_runs import ALL, ReadingJudge, Texts, keep, make_run, spread

from ragboard import EmbeddedJudge, Panel, Run, Store, evaluate_run
from ragboard.analysis import (
    QUANTITIES,
    Diagnosis,
    Finding,
    HallucinationQuery,
    diagnose,
    evaluate_command,
    group_in_words,
    groups_compared_in_words,
    hallucinations,
    missing_in_words,
    small_groups_in_words,
    top_questions_in_words,
    where_to_start,
    why_not_triggered,
)
from ragboard.analysis.diagnosis import FAITHFULNESS, weak_groups
from ragboard.metrics import metrics_named
from ragboard.stats import Interval
from ragboard.store.queries.clusters import SampleClusters
from ragboard.store.queries.values import Categories

Claims = list[str]


def well(_: int, right: Claims, rng: np.random.Generator) -> Texts:
    """Nearly all is found, nearly all of that is said."""
    found = [claim for claim in right if rng.random() < 0.97]
    return [claim for claim in found if rng.random() < 0.97] or found, spread(found)


def retriever_bad(_: int, right: Claims, rng: np.random.Generator) -> Texts:
    """Two claims in five are found; what is found is said."""
    found = [claim for claim in right if rng.random() < 0.4] or right[:1]
    return found, spread(found)


def generator_bad(_: int, right: Claims, rng: np.random.Generator) -> Texts:
    """All is found; two claims in five are said."""
    return [claim for claim in right if rng.random() < 0.4] or right[:1], spread(right)


def noisy(number: int, right: Claims, rng: np.random.Generator) -> Texts:
    """A passage beside the point says two wrong things, which the answer mostly takes over."""
    wrong = [f"wrong{number}x{place}" for place in range(2)]
    said = [claim for claim in wrong if rng.random() < 0.8]
    return [*right, *said], [*spread(right), wrong]


def inventive(number: int, right: Claims, rng: np.random.Generator) -> Texts:
    """All is found and said, and two things more, from nowhere and wrong."""
    return [*right, *(f"made{number}x{place}" for place in range(2) if rng.random() < 0.8)], spread(right)


def knowing(_: int, right: Claims, rng: np.random.Generator) -> Texts:
    """Half is found, and the answer says the rest all the same."""
    return right, spread([claim for claim in right if rng.random() < 0.5])


def shy(_: int, right: Claims, rng: np.random.Generator) -> Texts:
    """All is found, and the answer declines two times in five."""
    return (["unknown"] if rng.random() < 0.4 else right), spread(right)


def forgetful(_: int, right: Claims, rng: np.random.Generator) -> Texts:
    """Each passage says one claim; those of the later half are mostly overlooked."""
    return [claim for place, claim in enumerate(right) if place < 2 or rng.random() < (0.2 if place < 4 else 1)], [
        [claim] for claim in right[:4]
    ]


def contrary(_: int, right: Claims, rng: np.random.Generator) -> Texts:
    """Passages deny one claim in four that the answer makes."""
    denied = [f"not {claim}" if rng.random() < 0.25 else claim for claim in right]
    return right, spread(denied)


def spoken(found: Diagnosis) -> set[str]:
    return {one.rule.id for one in found.findings}


@pytest.mark.parametrize(
    ("texts", "says", "hushes"),
    [
        (well, set(), set()),
        (
            retriever_bad,
            {"lost-in-retrieval", "retriever-misses"},
            {"lost-in-generation", "passages-unused", "made-up"},
        ),
        (
            generator_bad,
            {"lost-in-generation", "passages-unused"},
            {"lost-in-retrieval", "retriever-misses", "unfaithful"},
        ),
        (noisy, {"misled-by-passages", "misled-by-irrelevant"}, {"made-up", "misled-by-relevant", "unfaithful"}),
        (inventive, {"made-up", "own-knowledge-wrong"}, {"own-knowledge-right", "misled-by-passages"}),
        (knowing, {"own-knowledge-right", "unfaithful", "retriever-misses"}, {"own-knowledge-wrong", "made-up"}),
        (shy, {"refuses-often", "refuses-though-found"}, {"answers-without-passages", "unfaithful", "made-up"}),
        (forgetful, {"late-passages-overlooked"}, {"retriever-misses", "made-up"}),
        (contrary, {"contradicts-passages"}, {"refuses-often"}),
    ],
)
def test_the_truth_of_a_made_run_is_reported(store: Store, texts: object, says: set[str], hushes: set[str]) -> None:
    found = diagnose(store, keep(store, make_run("made", texts)))  # type: ignore[arg-type]
    assert says <= spoken(found)
    assert not hushes & spoken(found)
    assert spoken(found) == says or texts is not well
    assert found.attribution_note.startswith("Of an average reference's claims, ")
    assert found.missing == ()


def test_unsupported_statements_are_attributed_to_what_loses_more_of_the_references(store: Store) -> None:
    found = diagnose(store, keep(store, make_run("made", knowing)))
    unfaithful = next(one for one in found.findings if one.rule.id == "unfaithful")
    loss = next(one for one in found.findings if one.rule.id == "lost-in-retrieval")
    assert (unfaithful.component, unfaithful.evidence) == ("retriever", loss.sentence)
    assert unfaithful.advice.startswith("Change the retriever: ")


def test_where_all_is_well_every_rule_is_silent_with_its_reason(store: Store) -> None:
    found = diagnose(store, keep(store, make_run("made", well)))
    assert found.findings == ()
    assert {one.state for one in found.not_triggered} <= {"within threshold", "inconclusive", "no interval"}
    assert found.weak_groups == ()


def test_a_finding_carries_its_figure_and_leads_to_the_evidence(store: Store) -> None:
    run = keep(store, make_run("made", inventive))
    found = diagnose(store, run)
    finding = next(one for one in found.findings if one.rule.id == "made-up")
    assert finding.figure.interval.n == 60
    assert "of the answers' claims are neither in the reference nor in a passage" in finding.sentence
    first = found.questions[0]
    read = hallucinations(store, first.query)
    assert (read.total, first.statements) == (2, 2)
    assert {row.question for row in read.rows} == {first.question}
    assert found.unsupported == hallucinations(store, HallucinationQuery(runs=(run,))).total
    assert found.top_questions_share == pytest.approx(10 / found.unsupported)


def test_the_costliest_comes_first_by_the_lower_end_of_what_it_explains(store: Store) -> None:
    found = diagnose(store, keep(store, make_run("made", knowing)))
    costs = {one.rule.id: one.min_impact for one in found.main_findings}
    assert list(costs.values()) == sorted(costs.values(), reverse=True)
    first = found.main_findings[0]
    assert isinstance(first.figure.interval, Interval)
    assert (first.rule.side, first.min_impact) == ("below", pytest.approx(1 - first.figure.interval.high))
    assert first.impact_text == (
        f"at least {first.min_impact:.0%} of {QUANTITIES[first.rule.quantity].unit}"
        " (from the end of the 95% CI nearest the threshold)"
    )
    assert (costs["own-knowledge-right"], found.main_findings[-1].impact_text) == (0.0, ""), (
        "what is right costs nothing"
    )


def test_what_is_true_of_a_part_of_the_samples_costs_a_part(store: Store) -> None:
    found = diagnose(store, keep(store, make_run("made", shy)))
    by_rule = {one.rule.id: one for one in found.main_findings}
    some = by_rule["refuses-though-found"]
    interval = some.figure.interval
    assert isinstance(interval, Interval)
    assert some.min_impact == pytest.approx(interval.low * interval.n / found.samples)


def test_findings_against_references_are_hints_where_rules_judged_and_findings_where_a_model_did(store: Store) -> None:
    run = keep(store, make_run("made", inventive))
    assert not diagnose(store, run).hints
    with store.database.write() as connection:
        connection.execute("UPDATE evaluations SET heuristic = true")
    found = diagnose(store, run)
    assert {one.rule.id for one in found.hints} == {"made-up", "own-knowledge-wrong"}
    assert {one.rule.id for one in found.main_findings} == {"unfaithful"}, "statements against passages were measured"
    assert found.findings == (*found.main_findings, *found.hints)
    assert all("reference answers" in one.hint_reason for one in found.hints)


def test_the_first_thing_to_look_at_is_the_finding_with_the_largest_impact(store: Store) -> None:
    found = diagnose(store, keep(store, make_run("made", retriever_bad)))
    assert found.first == found.main_findings[0]
    assert where_to_start(found) == ("Start with the retriever", "")


def test_without_a_finding_the_first_hint_says_where_to_start_and_how_many_agree(store: Store) -> None:
    run = keep(store, make_run("made", generator_bad), ["ragchecker.claim_recall", "ragchecker.context_utilization"])
    with store.database.write() as connection:
        connection.execute("UPDATE evaluations SET heuristic = true")
    found = diagnose(store, run)
    assert (found.main_findings, found.first) == ((), found.hints[0])
    assert where_to_start(found) == (
        "Start with the generator (a hint)",
        "",
    )
    assert [one.component for one in found.hints] == ["generator", "generator"]
    assert missing_in_words(found).startswith("16 more rules need metrics that were not evaluated: Context precision; ")


def doubtful(_: int, right: Claims, rng: np.random.Generator) -> Texts:
    """The answers decline one time in eight: too seldom to be sure of more than one in ten."""
    return (["unknown"] if rng.random() < 0.13 else right), spread(right)


def test_without_a_hint_the_rule_whose_estimate_is_beyond_its_threshold_is_named_as_not_certain(store: Store) -> None:
    found = diagnose(store, keep(store, make_run("made", doubtful), ["ragas.faithfulness"]))
    assert found.findings == ()
    assert [one.rule.id for one in found.suspected] == ["refuses-often"]
    first = found.first
    assert first is not None
    interval = first.figure.interval
    assert isinstance(interval, Interval)
    assert interval.low <= first.rule.threshold < interval.estimate
    assert first.hint_reason == "Probable, not certain: the threshold of 10% is inside the 95% CI."
    assert where_to_start(found)[0] == "Start with the answers (not certain)"


def test_where_no_rule_points_anywhere_unsupported_statements_do(store: Store) -> None:
    def texts(number: int, right: Claims, _: np.random.Generator) -> Texts:
        return ([*right, "extra"] if number == 0 else right), spread(right)

    found = diagnose(store, keep(store, make_run("made", texts)))
    assert (found.first, found.unsupported) == (None, 1)
    title, text = where_to_start(found)
    assert title == "Nothing stands out"
    assert text == (
        "No rule shows a fault. 1 of 301 statements is not supported by the passages: read it, and the samples with the"
        " lowest scores."
    )


def test_where_nothing_is_wrong_there_is_nowhere_to_start(store: Store) -> None:
    found = diagnose(store, keep(store, make_run("made", well)))
    assert (found.suspected, found.first) == ((), None)
    title, text = where_to_start(found)
    assert title == "Nothing stands out"
    assert text.startswith("No rule shows a fault. The passages support all ")


def test_the_passages_that_supply_wrong_statements_are_named(store: Store) -> None:
    found = diagnose(store, keep(store, make_run("made", noisy)))
    assert {(one.wrong, one.contradicted) for one in found.passages} == {(2, 0)}
    assert all(one.passage_id == f"p{one.sample_id[1:]}x5" for one in found.passages)


def test_passages_that_contradict_are_named_where_references_are_missing(store: Store) -> None:
    found = diagnose(store, keep(store, make_run("made", contrary, references=False), ALL[1:]))
    assert found.passages == () or all(one.contradicted for one in found.passages)
    assert "no reference answers" in found.attribution_note
    assert {"lost-in-retrieval", "lost-in-generation"} <= {one.rule.id for one in found.not_triggered}


def test_a_group_that_lags_behind_is_named_and_no_other(store: Store) -> None:
    def texts(number: int, right: Claims, rng: np.random.Generator) -> Texts:
        return (inventive if number % 4 == 0 else well)(number, right, rng)

    run = make_run("made", texts, samples=80, metadata=lambda number: {"topic": "abcd"[number % 4], "odd": number % 2})
    found = diagnose(store, keep(store, run))
    assert {(one.by, one.value) for one in found.weak_groups} >= {("metadata.topic", "a")}
    assert {one.value for one in found.weak_groups} <= {"a", "0"}
    assert found.comparisons.groups == 3 * 5  # the two halves by `odd` are one comparison
    assert all(one.value not in ("a", "0") for one in found.comparisons.lowest)
    assert group_in_words(found.weak_groups[0], "Faithfulness").startswith("topic = a: Faithfulness 0.7")


def test_without_a_significantly_worse_group_the_lowest_are_leads(store: Store) -> None:
    def texts(number: int, right: Claims, rng: np.random.Generator) -> Texts:
        return (inventive if number in (0, 4) else well)(number, right, rng)

    run = make_run("made", texts, samples=40, metadata=lambda number: {"topic": "abcd"[number % 4]})
    found = diagnose(store, keep(store, run))
    assert found.weak_groups == ()
    lowest = found.comparisons.lowest[0]
    assert (lowest.value, lowest.comparison.difference < 0, lowest.p >= 0.05) == ("a", True, True)


def grouped(values: NDArray[np.str_]) -> Categories:
    names, numbers = np.unique(values, return_inverse=True)
    return Categories(tuple(map(str, names)), numbers)


def test_the_lowest_group_comes_first_where_p_values_tie_or_none_can_be_computed() -> None:
    """Samples of 12 conversations: the lowest group is of 3 of them, which no test and no interval can use."""
    conversation = np.arange(120) % 12
    answerable = np.array(["no" if one < 3 else "yes" for one in conversation])
    turn = np.array([str(place // 12) for place in range(120)])
    scores = np.where(answerable == "no", 0.0, np.where(turn == "8", 0.5, 0.75))
    clusters = SampleClusters(ids=conversation, conversations=True)
    by_column = {"metadata.turn": grouped(turn), "metadata.answerable": grouped(answerable)}
    worse, compared = weak_groups({FAITHFULNESS: scores}, by_column, clusters)
    assert worse == ()
    assert [(one.by, one.value) for one in compared.lowest][:2] == [
        ("metadata.answerable", "no"),
        ("metadata.turn", "8"),
    ]
    words = group_in_words(compared.lowest[0], "Faithfulness")
    assert words.startswith("answerable = no: Faithfulness 0.00 (n = 30), others 0.72 (n = 90); difference -0.72, ")
    assert words.endswith("not tested: too few independent samples")


def test_a_low_group_that_is_too_small_to_compare_is_named_with_its_size() -> None:
    kind = np.array(["chat"] * 3 + ["question"] * 20 + ["task"] * 20)
    scores = np.array([0.0] * 3 + [0.5, 1.0] * 20)
    by_column = {"metadata.kind": grouped(kind), "metadata.id": grouped(np.arange(43).astype(str))}
    _, compared = weak_groups({FAITHFULNESS: scores}, by_column)
    labels = {FAITHFULNESS: "Faithfulness"}
    assert small_groups_in_words(compared, labels) == (
        "Low, but with fewer than 5 scored samples: kind = chat (Faithfulness 0.00, n = 3)."
    )
    assert "each group of at least 5 scored samples (by kind)" in groups_compared_in_words(compared, labels)


def test_questions_are_counted_once_where_several_models_answer_them(store: Store) -> None:
    run = make_run("made", inventive, samples=20)
    twice = replace(run, samples=(*run.samples, *(replace(one, id=f"{one.id}-again") for one in run.samples)))
    found = diagnosed(store, twice)
    assert (found.samples, found.question_count) == (40, 20)
    assert top_questions_in_words(found).startswith("5 of 20 questions (with 40 answers) account for ")


def diagnosed(store: Store, run: Run, names: Sequence[str] = ("ragas.faithfulness",)) -> Diagnosis:
    return diagnose(store, keep(store, run, names))


def finding_of(found: Diagnosis, rule: str) -> Finding | None:
    return next((one for one in found.findings if one.rule.id == rule), None)


def without_passages(run: Run, positions: set[int]) -> Run:
    samples = (replace(one, contexts=() if at in positions else one.contexts) for at, one in enumerate(run.samples))
    return replace(run, samples=tuple(samples))


def test_questions_that_retrieved_nothing_are_counted_and_listed(store: Store) -> None:
    run = without_passages(make_run("made", well, samples=40), {0, 1})
    found = finding_of(diagnosed(store, run), "retrieved-nothing")
    assert found is not None
    assert found.sentence == "2 of 40 questions retrieved nothing."
    assert found.min_impact == pytest.approx(2 / 40)
    assert [one.sample_id for one in found.samples] == ["s0", "s1"]
    assert found.component == "retriever"


def test_questions_that_the_file_calls_unanswerable_should_retrieve_nothing(store: Store) -> None:
    labels = ["UNANSWERABLE", "CONVERSATIONAL", "ANSWERABLE"]
    run = make_run("made", well, samples=40, metadata=lambda number: {"answerability": labels[min(number, 2)]})
    assert finding_of(diagnosed(store, without_passages(run, {0, 1})), "retrieved-nothing") is None
    one_more = replace(without_passages(run, {0, 1, 2}), name="more")
    found = finding_of(diagnosed(store, one_more), "retrieved-nothing")
    assert found is not None
    assert found.sentence == "1 of 38 questions retrieved nothing."
    assert [one.sample_id for one in found.samples] == ["s2"]


def test_unanswerable_questions_that_were_answered_are_a_finding_of_the_generator(store: Store) -> None:
    def texts(number: int, right: Claims, _: np.random.Generator) -> Texts:
        return ["unknown"] if number == 4 else right, spread(right)

    run = make_run("made", texts, samples=40, metadata=lambda number: {"answerable": number >= 5})
    found = finding_of(diagnosed(store, run), "answers-unanswerable")
    assert found is not None
    assert found.sentence == "4 of 5 unanswerable questions were answered instead of refused."
    assert found.component == "generator"
    assert [one.sample_id for one in found.samples] == ["s0", "s1", "s2", "s3"]
    assert found.figure.interval.n == 5
    assert 0 < found.min_impact < 4 / 40


def test_a_column_of_another_meaning_is_not_read_as_answerability(store: Store) -> None:
    run = make_run("made", well, samples=40, metadata=lambda _: {"answerable": "by Tuesday"})
    assert finding_of(diagnosed(store, without_passages(run, {0})), "retrieved-nothing") is not None


def test_a_file_without_any_passages_says_nothing_of_retrieval(store: Store) -> None:
    bare = without_passages(make_run("made", well, samples=4), {0, 1, 2, 3})
    found = diagnosed(store, bare, ["refusal"])
    rule = next(one for one in found.not_triggered if one.rule.id == "retrieved-nothing")
    assert rule.state == "no interval"


def half_made_up(number: int, right: Claims, rng: np.random.Generator) -> Texts:
    """Three of ten statements are made up: on few samples the interval contains the threshold."""
    return [*right, *(f"made{number}x{place}" for place in range(int(rng.integers(0, 5))))], spread(right)


def test_more_metrics_do_not_bury_unsupported_statements(store: Store) -> None:
    run = make_run("made", half_made_up, samples=10)
    few = diagnose(store, keep(store, run, ["ragas.faithfulness"]))
    assert (few.findings, few.first and few.first.rule.id) == ((), "unfaithful")
    all_metrics = keep(store, run)
    with store.database.write() as connection:
        connection.execute("UPDATE evaluations SET heuristic = true")
    found = diagnose(store, all_metrics)
    assert found.hints, "the references give hints"
    assert found.first is not None
    assert (found.first.rule.id, found.first.hint_reason) == (
        "unfaithful",
        "Probable, not certain: the threshold of 80% is inside the 95% CI.",
    )
    assert found.ranked[0] == found.first
    assert where_to_start(found)[0] == "Start with the answers (not certain)"


def test_a_suspicion_whose_interval_shows_no_impact_is_none(store: Store) -> None:
    def texts(number: int, right: Claims, _: np.random.Generator) -> Texts:
        return [*right[: 3 + number % 2], *(["extra"] if number == 1 else [])], spread(right)

    found = diagnose(store, keep(store, make_run("made", texts, samples=12), ["ragas.faithfulness"]))
    drift = next(one for one in found.not_triggered if one.rule.id == "long-answers-drift")
    assert drift.figure is not None
    assert isinstance(drift.figure.interval, Interval)
    assert drift.figure.interval.estimate > 0, "beyond the threshold, by one statement"
    assert (found.suspected, where_to_start(found)[0]) == ((), "Nothing stands out")


def test_the_sentence_and_its_figure_have_the_same_sign(store: Store) -> None:
    run = keep(store, make_run("made", generator_bad))
    found = finding_of(diagnose(store, run), "lost-in-generation")
    assert found is not None
    interval = found.figure.interval
    assert isinstance(interval, Interval)
    assert 0 < found.rule.threshold < interval.low
    assert f"by {interval.estimate:.0%} (95% CI {interval.low:.0%} to {interval.high:.0%})" in found.sentence


def test_another_run_with_the_same_passages_and_better_answers_shows_that_the_generator_is_at_fault(
    store: Store,
) -> None:
    bad = make_run("bad", inventive)
    good = replace(
        make_run("good", lambda _, right, __: (right, spread(right))),
        config={"model": "other"},
    )
    alone = diagnose(store, keep(store, bad, ["ragas.faithfulness"]))
    assert (alone.first and alone.first.component, alone.first and alone.first.evidence) == ("answers", "")
    keep(store, good, ["ragas.faithfulness"])
    found = diagnose(store, store.resolve("bad"))
    first = found.first
    assert first is not None
    assert (first.rule.id, first.component) == ("unfaithful", "generator")
    assert first.evidence.startswith(
        "The generator is probably at fault: over all 60 answers (scored in both runs, with the same passages), good"
        " (the reference answers) reaches a faithfulness of 1.00, this run 0.7"
    )
    assert first.evidence.endswith(").")
    assert where_to_start(found) == ("Start with the generator", "")
    assert diagnose(store, store.resolve("good")).first is None


def test_another_run_with_other_passages_shows_nothing_of_the_generator(store: Store) -> None:
    keep(store, make_run("good", lambda _, right, __: (right, [*spread(right), ["more"]])), ["ragas.faithfulness"])
    first = diagnose(store, keep(store, make_run("bad", inventive), ["ragas.faithfulness"])).first
    assert first is not None
    assert (first.component, first.evidence) == ("answers", "")


def test_a_rule_based_judge_that_sees_no_contradiction_shows_nothing(store: Store) -> None:
    run = keep(store, make_run("made", well), ["ragas.faithfulness"])
    rule = next(one for one in diagnose(store, run).not_triggered if one.rule.id == "contradicts-passages")
    assert rule.state == "inconclusive"
    with store.database.write() as connection:
        connection.execute("UPDATE evaluations SET heuristic = true")
    rule = next(one for one in diagnose(store, run).not_triggered if one.rule.id == "contradicts-passages")
    assert rule.state == "unreliable"
    assert "rarely finds a statement contradicted" in why_not_triggered(rule)


def test_columns_with_the_same_groups_are_tested_once(store: Store) -> None:
    run = make_run(
        "made", well, samples=40, metadata=lambda number: {"a": number % 2, "b": number % 2, "c": number % 4}
    )
    found = diagnose(store, keep(store, run, ["ragas.faithfulness"]))
    assert found.comparisons.columns == ("metadata.a", "metadata.c")


def test_metrics_that_the_embedded_judge_can_evaluate_are_reported_to_be_free(store: Store) -> None:
    (added,) = store.add_runs([make_run("made", well, samples=20)])
    evaluate_run(store, added.id, metrics_named(["ragas.faithfulness"]), Panel(judge=EmbeddedJudge()))
    said = missing_in_words(diagnose(store, store.resolve("made")))
    assert "Claim recall; Context utilization" in said
    assert "The embedded judge evaluates them without calls or cost. With its verdicts, rules" in said


def test_metrics_that_are_missing_are_named_with_the_command(store: Store) -> None:
    found = diagnose(store, keep(store, make_run("my run", retriever_bad), ALL[1:]))
    assert found.attribution_note == (
        "To find out whether the retriever or the generator loses more, evaluate RAGChecker's claim recall and context"
        " utilization."
    )
    assert evaluate_command(found) == "ragboard evaluate 'my run' --metrics ragchecker"
    missing = {one.rule.id: one.missing for one in found.not_triggered if one.missing}
    assert missing["retriever-misses"] == ("ragchecker.claim_recall",)
    assert "refuses-often" not in missing


def test_metrics_that_take_references_are_not_asked_for_where_there_are_none(store: Store) -> None:
    found = diagnose(store, keep(store, make_run("made", well, references=False), ["refusal"]))
    assert set(found.missing) == {"ragas.faithfulness", "ragas.context_relevance"}


def test_what_is_counted_from_verdicts_is_of_the_evaluation_that_the_rules_metric_is_shown_from(store: Store) -> None:
    run = keep(store, make_run("made", forgetful))
    before = figures(diagnose(store, run))
    another = ReadingJudge(name="another", version="2")
    evaluate_run(store, run.run_id, metrics_named(["ragas.faithfulness"]), Panel(judge=another))
    both = store.resolve("made")
    assert both.evaluation_id != run.evaluation_id
    assert figures(diagnose(store, both)) == before


def figures(found: Diagnosis) -> dict[str, object]:
    return {one.rule.id: one.figure and one.figure.interval for one in (*found.findings, *found.not_triggered)}


def test_a_run_that_was_never_evaluated_has_silent_rules_only(store: Store) -> None:
    store.add_runs([make_run("made", well)])
    found = diagnose(store, store.resolve("made"))
    assert (found.findings, found.judged, found.top_questions_share, found.questions) == ((), None, None, ())
    assert {one.rule.id for one in found.not_triggered if one.state != "not evaluated"} == {"retrieved-nothing"}
    assert where_to_start(found) == ("Not evaluated yet", "")
