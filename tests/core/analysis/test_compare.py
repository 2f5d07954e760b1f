"""Two runs compared: what is counted, what is said to be unlike, and which pairs come first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.core.conftest import PlainJudge, make_sample

from ragboard import DEFAULT_METRICS, NotFoundError, Panel, Run, Score, Store, Verdict, evaluate_run
from ragboard.analysis import (
    Comparison,
    JudgedStatement,
    PairQuery,
    Which,
    compare_runs,
    pair_place,
    pair_report,
    pair_rows,
    pair_runs,
    statement_changes,
)
from ragboard.metrics import metrics_named
from ragboard.records import Statement, Turn

FAITHFULNESS = "ragas.faithfulness"


def answers(name: str, said: Sequence[str | None], **others: object) -> Run:
    samples = tuple(make_sample(number, answer=answer) for number, answer in enumerate(said))
    return Run(name=name, samples=samples, **others)  # type: ignore[arg-type]


def keep(store: Store, run: Run, judge: PlainJudge | None = None) -> None:
    (added,) = store.add_runs([run])
    evaluate_run(store, added.id, metrics_named(["faithfulness", "refusal"]), Panel(judge=judge or PlainJudge()))


def compare(store: Store, a: str, b: str) -> Comparison:
    return compare_runs(store, store.resolve(a), store.resolve(b))


ALL, HALF, NONE = "It is red.", "It is red. It is old.", "It is old."


def test_differences_are_b_less_a_over_the_pairs_scored_on_both_sides(store: Store) -> None:
    keep(store, answers("a", [ALL, HALF, NONE, ALL, "", ALL]))
    keep(store, answers("b", [ALL, ALL, HALF, NONE, ALL, None]))
    found = next(metric for metric in compare(store, "a", "b").metrics if metric.metric == FAITHFULNESS)
    assert found.pairs
    assert (found.pairs.n, found.scored_a, found.scored_b, found.unscored) == (4, 1, 1, 0)
    assert found.pairs.difference == pytest.approx((0 + 0.5 + 0.5 - 1) / 4)
    assert (found.pairs.sign.wins, found.pairs.ties, found.pairs.sign.losses) == (2, 1, 1)
    assert (found.reasons_a, found.reasons_b) == ({"undefined": 1}, {"skipped": 1})


def test_swapping_the_runs_mirrors_everything(store: Store) -> None:
    keep(store, answers("a", [ALL] * 20 + [HALF] * 5))
    keep(store, answers("b", [NONE] * 20 + [ALL] * 5))
    forth, back = compare(store, "a", "b"), compare(store, "b", "a")
    for one, other in zip(forth.metrics, back.metrics, strict=True):
        assert one.pairs
        assert other.pairs
        assert one.pairs.difference == -other.pairs.difference
        assert (one.p, one.scored_a) == (other.p, other.scored_b)
    assert (forth.metrics[0].change, back.metrics[0].change) == ("worse", "better")
    assert (forth.claims_a, forth.claims_b) == (back.claims_b, back.claims_a)


def test_p_values_are_adjusted_for_the_number_of_metrics(store: Store) -> None:
    keep(store, answers("a", [ALL] * 20 + [HALF] * 5))
    keep(store, answers("b", [NONE] * 20 + [ALL] * 5))
    first, second = compare(store, "a", "b").metrics
    assert first.pairs
    assert second.pairs
    assert (first.p, second.p) == (2 * first.pairs.p, 1.0)
    assert second.change == "no significant difference"


def test_few_questions_show_no_difference_however_large(store: Store) -> None:
    keep(store, answers("a", [ALL] * 4))
    keep(store, answers("b", [NONE] * 4))
    found = compare(store, "a", "b").metrics[0]
    assert found.pairs
    assert (found.pairs.difference, found.change) == (-1, "no significant difference")


def test_only_settings_that_differ_are_named(store: Store) -> None:
    keep(store, answers("a", [ALL], config={"k": 3, "model": "m"}))
    keep(store, answers("b", [ALL], config={"k": 5, "model": "m", "reranker": "x"}))
    assert [(one.key, one.a, one.b) for one in compare(store, "a", "b").config] == [
        ("k", 3, 5),
        ("reranker", None, "x"),
    ]


def test_nothing_is_said_against_runs_that_differ_in_their_answers_alone(store: Store) -> None:
    keep(store, answers("a", [ALL, ALL]))
    keep(store, answers("b", [HALF, ALL]))
    assert compare(store, "a", "b").cautions == ()


def test_another_judge_prompt_dataset_and_part_are_said(store: Store) -> None:
    keep(store, answers("a", [ALL, ALL]))
    keep(store, answers("judge", [HALF, ALL]), PlainJudge(name="strict", version="2"))
    keep(store, answers("prompt", [HALF, NONE]), PlainJudge(version="2"))
    keep(store, answers("questions", [HALF, NONE, ALL]))
    assert "different judges (plain in A, strict in B)" in compare(store, "a", "judge").cautions[0]
    assert (
        "plain in both, but with different prompts, settings or versions" in compare(store, "a", "prompt").cautions[0]
    )
    assert "use different question sets" in compare(store, "a", "questions").cautions[0]
    assert "same run" in compare(store, "a", "a").cautions[0]


def test_the_judge_of_a_comparison_is_named(store: Store) -> None:
    keep(store, answers("a", [ALL, ALL]))
    keep(store, answers("b", [HALF, ALL]))
    keep(store, answers("judge", [HALF, NONE]), PlainJudge(name="strict", version="2"))
    assert compare(store, "a", "b").judged_by == "plain"
    assert compare(store, "a", "judge").judged_by == ""


def test_pairs_that_different_judges_scored_are_neither_better_nor_worse(store: Store) -> None:
    keep(store, answers("a", [ALL, NONE]))
    keep(store, answers("b", [NONE, ALL]), PlainJudge(name="strict", version="2"))
    a, b = store.resolve("a"), store.resolve("b")
    page = pair_rows(store, a, b, pair_runs(store, a, b), PairQuery(metric=FAITHFULNESS))
    assert [row.change for row in page.rows] == ["differs", "differs"]
    assert page.counts["better"] == 0


def test_that_samples_of_one_id_ask_something_else_is_said(store: Store) -> None:
    keep(store, answers("a", [ALL, ALL, ALL]))
    other = answers("b", [ALL, ALL, ALL])
    turn = replace(other.samples[1], history=(Turn(role="user", text="Before?"),))
    keep(store, replace(other, samples=(other.samples[0], turn, replace(other.samples[2], question="Other?"))))
    assert compare(store, "a", "b").cautions[-1] == (
        "Not paired: 2 samples have the same id in A and B, but a different question or conversation history."
    )


def test_other_settings_of_a_metric_and_metrics_of_one_run_alone_are_said(store: Store) -> None:
    for name, metrics in (("a", ["retrieval.recall(k=1)", "faithfulness"]), ("b", ["retrieval.recall(k=2)"])):
        (added,) = store.add_runs([answers(name, [ALL])])
        evaluate_run(store, added.id, metrics_named(metrics), Panel(judge=PlainJudge()))
    found = compare(store, "a", "b")
    assert found.metrics == ()
    assert "retrieval.recall(k=1) in A, retrieval.recall(k=2) in B" in found.cautions[0]
    assert found.cautions[1] == "Not compared, only in A: ragas.faithfulness."
    assert "cannot be compared" in found.sentence


def test_a_run_that_was_never_evaluated_is_said(store: Store) -> None:
    keep(store, answers("a", [ALL]))
    store.add_runs([answers("b", [HALF])])
    assert "B is not evaluated" in compare(store, "a", "b").cautions[0]
    assert "A and B are not evaluated" in compare(store, "b", "b").cautions[1]


def test_unpaired_samples_are_counted_and_named(store: Store) -> None:
    keep(store, answers("a", [ALL, ALL, ALL]))
    other = answers("b", [ALL, ALL])
    renamed = replace(other, samples=(replace(other.samples[0], id="x"), replace(other.samples[1], question="Other?")))
    keep(store, renamed)
    found = compare(store, "a", "b")
    assert (found.paired, found.by_question) == (1, 1)
    assert (found.unpaired_a.ids, found.unpaired_b.ids) == (("s1", "s2"), ("s1",))


def test_refusals_that_differ_much_come_with_a_warning(store: Store) -> None:
    class Shy(PlainJudge):
        async def answer(self, tasks, _hear=None):  # type: ignore[no-untyped-def, override]
            replies = await super().answer(tasks)
            return [replace(reply, refuses=True) if hasattr(reply, "refuses") else reply for reply in replies]

    keep(store, answers("a", [ALL] * 3))
    keep(store, answers("b", [HALF] * 3), Shy())
    found = compare(store, "a", "b").refusals
    assert found
    assert (found.n, found.a, found.b, found.test.wins) == (3, 0, 3, 3)
    assert found.warning.startswith("B refuses far more often (0% in A, 100% in B)")
    same = compare(store, "a", "a").refusals
    assert same
    assert same.warning == ""


def test_the_greatest_loss_comes_first_and_the_unscored_last(store: Store) -> None:
    keep(store, answers("a", [ALL, NONE, "", ALL, ALL]))
    keep(store, answers("b", [HALF, ALL, ALL, NONE, ALL]))
    a, b = store.resolve("a"), store.resolve("b")
    pairing = pair_runs(store, a, b)
    page = pair_rows(store, a, b, pairing, PairQuery(metric=FAITHFULNESS))
    assert [row.sample_a for row in page.rows] == ["s3", "s0", "s4", "s1", "s2"]
    assert [row.change for row in page.rows] == ["worse", "worse", "same", "better", "unscored"]
    assert page.counts == {"all": 5, "worse": 2, "better": 1, "same": 1, "unscored": 1}
    assert page.rows[0].b == Score(value=0.0, counted="0 of 1 statements")
    assert [(row.claims_a, row.claims_b) for row in page.rows[:2]] == [(1, 1), (1, 2)]
    second = pair_rows(store, a, b, pairing, PairQuery(metric=FAITHFULNESS, which="worse", limit=1, offset=1))
    assert ([row.sample_a for row in second.rows], second.total) == (["s0"], 2)


def test_a_pair_knows_its_neighbours_in_the_order_of_the_list(store: Store) -> None:
    keep(store, answers("a", [ALL, NONE, "", ALL, ALL]))
    keep(store, answers("b", [HALF, ALL, ALL, NONE, ALL]))
    a, b = store.resolve("a"), store.resolve("b")
    pairing = pair_runs(store, a, b)

    def near(sample: str, which: Which) -> tuple[int, int, str | None, str | None]:
        at = pair_place(store, a, b, pairing, PairQuery(metric=FAITHFULNESS, which=which, limit=1), sample)
        return at.place, at.total, at.previous, at.following

    assert near("s3", "all") == (1, 5, None, "s0")
    assert near("s4", "all") == (3, 5, "s0", "s1")
    assert near("s2", "all") == (5, 5, "s1", None)
    assert near("s0", "worse") == (2, 2, "s3", None)
    assert near("s4", "worse") == (0, 2, None, "s3")
    assert near("s1", "better") == (1, 1, None, None)


def test_a_metric_that_both_do_not_have_is_refused(store: Store) -> None:
    keep(store, answers("a", [ALL]))
    a = store.resolve("a")
    with pytest.raises(NotFoundError, match=r"'nope'"):
        pair_rows(store, a, a, pair_runs(store, a, a), PairQuery(metric="nope"))


def test_a_pair_shows_words_statements_and_passages_that_changed(store: Store) -> None:
    keep(store, answers("a", [HALF]))
    other = make_sample(0, answer="It is red. It is new.", contexts=3)
    keep(store, Run(name="b", samples=(other,)))
    a, b = store.resolve("a"), store.resolve("b")
    found = pair_report(store, a, b, pair_runs(store, a, b), "s0")
    assert [(change.kind, change.text.strip()) for change in found.answers] == [
        ("same", "It is red. It is"),
        ("gone", "old."),
        ("new", "new."),
    ]
    assert [change.kind for change in found.statements] == ["still wrong", "kept"]
    assert ([one.rank for one in found.gained], found.lost, len(found.shared)) == ([3], (), 2)


def test_a_sample_without_partner_is_refused(store: Store) -> None:
    keep(store, answers("a", [ALL, ALL]))
    keep(store, answers("b", [ALL]))
    a, b = store.resolve("a"), store.resolve("b")
    with pytest.raises(NotFoundError, match="'s1' of 'a' has no partner in 'b'"):
        pair_report(store, a, b, pair_runs(store, a, b), "s1")


def said(text: str, label: str | None) -> JudgedStatement:
    verdict = Verdict(label=label) if label else None  # type: ignore[arg-type]
    return JudgedStatement(statement=Statement(side="response", text=text), verdict=verdict)


def test_what_became_of_a_statement_is_what_its_two_verdicts_say() -> None:
    a = [
        said("kept", "supported"),
        said("fixed", "contradicted"),
        said("broken", "supported"),
        said("wrong", "unsupported"),
        said("unknown", None),
        said("dropped", "supported"),
    ]
    b = [
        said("kept", "supported"),
        said("fixed", "supported"),
        said("broken", "unsupported"),
        said("wrong", "contradicted"),
        said("unknown", "supported"),
        said("added", "supported"),
    ]
    found = {change.kind: change for change in statement_changes(a, b)}
    assert list(found) == ["broken", "still wrong", "added", "fixed", "dropped", "not judged", "kept"]
    assert (found["added"].number_a, found["added"].number_b) == (None, 6)
    assert (found["dropped"].a, found["dropped"].b) == (a[5], None)


def test_default_metrics_compare_too(store: Store) -> None:
    for name in "ab":
        (added,) = store.add_runs([answers(name, [ALL] * 6)])
        evaluate_run(store, added.id, DEFAULT_METRICS, Panel(judge=PlainJudge()))
    assert [metric.change for metric in compare(store, "a", "b").metrics] == ["no significant difference"] * 3
