"""Tests of comparing two runs: counts, warnings, and the order of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.core.conftest import PlainJudge, make_sample

from ragboard import (
    DEFAULT_METRICS,
    EmbeddedJudge,
    NotFoundError,
    Panel,
    Passage,
    Run,
    Sample,
    Score,
    Store,
    Verdict,
    evaluate_run,
)
from ragboard.analysis import (
    Comparison,
    JudgedStatement,
    PairQuery,
    Which,
    compare_runs,
    detectable_in_words,
    difference_in_words,
    grades_in_words,
    methods_in_words,
    most_changed,
    pair_position,
    pair_report,
    pair_rows,
    pair_runs,
    statement_changes,
    verdict_in_words,
)
from ragboard.analysis.paired import is_cost
from ragboard.metrics import METRICS, describe, metrics_named
from ragboard.records import FileScores, Statement, Turn
from ragboard.tasks import Extraction, ExtractStatements, ignore_call

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
    assert (found.pairs.n, found.scored_only_a, found.scored_only_b, found.scored_in_neither) == (4, 1, 1, 0)
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
        assert (one.p, one.scored_only_a) == (other.p, other.scored_only_b)
    assert (forth.metrics[0].change, back.metrics[0].change) == ("worse", "better")
    assert (forth.statements_a, forth.statements_b) == (back.statements_b, back.statements_a)


def scored(store: Store, name: str, columns: dict[str, Sequence[float]], passages: int = 3) -> None:
    """Keep a run whose file brings these scores, by metric."""
    metrics = tuple(replace(describe(METRICS[FAITHFULNESS]), spec=spec, label=spec.title()) for spec in columns)
    rows = zip(*columns.values(), strict=True)
    outcomes = tuple(
        {spec: Score(value=value, counted="") for spec, value in zip(columns, row, strict=True)} for row in rows
    )
    samples = tuple(make_sample(number, contexts=passages) for number in range(len(outcomes)))
    scores = FileScores(
        tool="t", format="t", columns={spec: spec for spec in columns}, metrics=metrics, outcomes=outcomes
    )
    store.add_runs([Run(name=name, samples=samples, scores=scores)])


def test_p_values_are_adjusted_for_the_number_of_distinct_comparisons(store: Store) -> None:
    """One metric has the scores of another, and one does not differ in any question: two comparisons are left."""
    one, other = [0.0, 0.2, 0.1, 0.3] * 5, [0.4, 0.1, 0.2, 0.3] * 5
    same = {"constant": [0.5] * 20}
    scored(store, "a", {"first": one, "second": other, "twin": one} | same)
    scored(store, "b", {"first": other, "second": one[1:] + one[:1], "twin": other} | same)
    found = compare(store, "a", "b")
    by_label = {metric.label: metric for metric in found.metrics}
    first, second = by_label["First"].pairs, by_label["Second"].pairs
    assert first
    assert second
    assert found.tested == 2
    smaller, larger = sorted((first.p, second.p))
    assert sorted((by_label["First"].p, by_label["Second"].p)) == [2 * smaller, max(2 * smaller, larger)]  # type: ignore[type-var]
    assert (by_label["Twin"].p, by_label["Twin"].same_as) == (by_label["First"].p, "First")
    constant = by_label["Constant"]
    assert (constant.p, constant.all_equal, constant.change) == (1.0, True, "no significant difference")
    assert difference_in_words(constant) == "all differences are 0, no interval"
    said = methods_in_words(found)
    assert said[:3] == (
        "p is adjusted for 2 distinct comparisons among 4 metrics (Holm).",
        "Counted once: Twin has the same scores as First.",
        "Not counted: Constant (all differences are 0, so there is no interval).",
    )
    assert first.p_method in " ".join(said)


def test_a_metric_of_passages_does_not_count_if_the_passages_are_the_same(store: Store) -> None:
    for name, said, passages in (("a", ALL, 3), ("b", NONE, 3), ("other", NONE, 2)):
        samples = tuple(make_sample(number, answer=said, contexts=passages) for number in range(6))
        (added,) = store.add_runs([Run(name=name, samples=samples)])
        evaluate_run(store, added.id, metrics_named(["faithfulness", "context_relevance"]), Panel(judge=PlainJudge()))
    found = compare(store, "a", "b")
    assert [(one.label, one.same_passages) for one in found.metrics] == [
        ("Faithfulness", False),
        ("Context relevance", True),
    ]
    assert found.tested == 1
    assert "Not counted: Context relevance (both runs have the same passages, so it cannot differ)." in (
        methods_in_words(found)
    )
    assert not any(one.same_passages for one in compare(store, "a", "other").metrics)


def test_the_verdict_names_the_runs_and_says_that_questions_are_few(store: Store) -> None:
    keep(store, answers("old", [NONE] * 10))
    keep(store, answers("new", [ALL] * 9 + [HALF]))
    found = compare(store, "old", "new")
    assert verdict_in_words(found) == (
        "new is better than old on Faithfulness: +0.95, 95% CI +0.48 to +1.00; no significant difference on Refusal"
    )
    assert found.few_in_words == "Only 10 questions: CIs may be too narrow"
    assert found.few_in_words in repr(found)
    keep(store, answers("long", [ALL] * 20))
    keep(store, answers("longer", [NONE] * 20))
    enough = compare(store, "long", "longer")
    assert enough.few_in_words == ""
    assert verdict_in_words(enough).startswith("longer is worse than long on Faithfulness: -1.00, 95% CI ")
    assert "A" not in verdict_in_words(enough).replace("CI", "")


def test_a_difference_that_the_number_of_passages_explains_decides_nothing(store: Store) -> None:
    for name, passages in (("few", 2), ("many", 4)):
        samples = tuple(make_sample(number, contexts=passages) for number in range(20))
        (added,) = store.add_runs([Run(name=name, samples=samples)])
        evaluate_run(store, added.id, metrics_named(["context_relevance", "faithfulness"]), Panel(judge=PlainJudge()))
    found = compare(store, "few", "many")
    (relevance,) = (one for one in found.metrics if one.label == "Context relevance")
    assert relevance.pairs
    assert relevance.p is not None
    assert (relevance.pairs.difference, relevance.p < 0.05) == (-0.25, True)
    assert relevance.change == "explained by passages"
    assert verdict_in_words(found) == (
        "No significant difference between many and few on Faithfulness; Context relevance is lower in many,"
        " which more passages alone can cause (2.0 → 4.0)"
    )
    back = compare(store, "many", "few")
    assert {one.label: one.change for one in back.metrics}["Context relevance"] == "explained by passages"
    assert "higher in few, which fewer passages alone can cause (4.0 → 2.0)" in verdict_in_words(back)


def test_annotators_grades_in_both_files_are_compared_apart_from_metrics(store: Store) -> None:
    for name, grade in (("a", 2), ("b", 3)):
        samples = [
            replace(
                make_sample(at),
                metadata={"human": {"faithfulness": [grade, grade + at % 2, None], "tone": 4}, "human_mean": {"x": 1}},
            )
            for at in range(20)
        ]
        samples[0] = replace(samples[0], metadata={"human": "good"})
        store.add_runs([Run(name=name, samples=tuple(samples))])
    found = compare(store, "a", "b")
    assert found.metrics == ()
    assert {one.label: (one.pairs.n, one.pairs.difference) for one in found.grades if one.pairs} == {
        "faithfulness": (19, 1.0),
        "tone": (19, 0.0),
    }
    assert grades_in_words(found).startswith("Annotators grade b higher than a on faithfulness: +1.00")
    assert grades_in_words(found).endswith("no significant difference on tone.")
    assert verdict_in_words(found) == "No metric to compare yet: evaluate a and b"
    assert grades_in_words(compare(store, "a", "a")) == (
        "Annotators' grades: no significant difference on faithfulness and tone."
    )


def test_a_sentence_that_is_a_refusal_in_one_answer_and_unsupported_in_the_other_is_no_change(store: Store) -> None:
    class Wavering(PlainJudge):
        """Takes the sentence for a refusal in one run, and for a statement in the other."""

        async def answer(self, tasks, _hear=ignore_call):  # type: ignore[no-untyped-def, override]
            replies = await super().answer(tasks)
            return [
                replace(reply, statements=(), refuses=True)
                if isinstance(task, ExtractStatements) and "sorry" in task.text
                else reply
                for task, reply in zip(tasks, replies, strict=True)
            ]

    keep(store, answers("a", ["I am sorry that the passages do not say when it opened.", ALL]), Wavering())
    keep(store, answers("b", ["I am afraid that the passages do not say when it opened.", HALF]), Wavering())
    found = most_changed(store, store.resolve("a"), store.resolve("b"))
    assert [one.sample_a for one in found] == ["s1"]
    back = most_changed(store, store.resolve("b"), store.resolve("a"))
    assert [one.sample_a for one in back] == ["s1"]


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


def test_runs_that_differ_only_in_their_answers_have_no_warnings(store: Store) -> None:
    keep(store, answers("a", [ALL, ALL]))
    keep(store, answers("b", [HALF, ALL]))
    assert compare(store, "a", "b").cautions == ()


def test_another_judge_prompt_dataset_and_part_are_reported(store: Store) -> None:
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


def test_pairs_with_different_judges_are_not_called_better_or_worse(store: Store) -> None:
    keep(store, answers("a", [ALL, NONE]))
    keep(store, answers("b", [NONE, ALL]), PlainJudge(name="strict", version="2"))
    a, b = store.resolve("a"), store.resolve("b")
    page = pair_rows(store, a, b, pair_runs(store, a, b), PairQuery(metric=FAITHFULNESS))
    assert [row.change for row in page.rows] == ["differs", "differs"]
    assert page.counts["better"] == 0


def test_that_samples_of_one_id_ask_something_else_is_reported(store: Store) -> None:
    keep(store, answers("a", [ALL, ALL, ALL]))
    other = answers("b", [ALL, ALL, ALL])
    turn = replace(other.samples[1], history=(Turn(role="user", text="Before?"),))
    keep(store, replace(other, samples=(other.samples[0], turn, replace(other.samples[2], question="Other?"))))
    said = compare(store, "a", "b").cautions
    assert said[:2] == (
        "1 of the 3 questions of B is not paired because A has them without a conversation history. Import A again"
        " with its history column: --map history=COLUMN",
        "Not paired: 1 sample has the same id in A and B but a different question.",
    )


def test_other_settings_of_a_metric_and_metrics_of_only_one_run_are_reported(store: Store) -> None:
    for name, metrics in (("a", ["retrieval.recall(k=1)", "faithfulness"]), ("b", ["retrieval.recall(k=2)"])):
        (added,) = store.add_runs([answers(name, [ALL])])
        evaluate_run(store, added.id, metrics_named(metrics), Panel(judge=PlainJudge()))
    found = compare(store, "a", "b")
    assert found.metrics == ()
    assert "retrieval.recall(k=1) in A, retrieval.recall(k=2) in B" in found.cautions[0]
    assert found.cautions[1] == "Not compared, only in A: Faithfulness."
    assert "cannot be compared" in found.sentence


def test_a_run_that_was_never_evaluated_is_reported(store: Store) -> None:
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


@pytest.mark.parametrize("in_full", [True, False])
@pytest.mark.parametrize(("questions", "significant"), [(3, False), (8, True)])
def test_a_significant_difference_of_refusals_is_warned_of_and_what_it_leaves_out(
    store: Store, questions: int, *, significant: bool, in_full: bool
) -> None:
    class Shy(PlainJudge):
        async def answer(self, tasks, _hear=None):  # type: ignore[no-untyped-def, override]
            replies = await super().answer(tasks)
            return [
                replace(reply, refuses=True, statements=() if in_full else reply.statements)
                if isinstance(reply, Extraction)
                else reply
                for reply in replies
            ]

    keep(store, answers("a", [ALL] * questions))
    keep(store, answers("b", [HALF] * questions), Shy())
    found = compare(store, "a", "b").refusals
    assert found
    assert (found.n, found.a, found.b, found.test.wins) == (questions, 0, questions, questions)
    assert (found.test.p < 0.05) == significant
    said = "B refuses more often (0% in A, 100% in B; p = 0.0078)"
    left_out = f". Faithfulness leaves out {questions} questions that B refuses in full, which favours B"
    assert found.warning == (f"{said}{left_out if in_full else ''}" if significant else "")
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
    assert [(row.statements_a, row.statements_b) for row in page.rows[:2]] == [(1, 1), (1, 2)]
    second = pair_rows(store, a, b, pairing, PairQuery(metric=FAITHFULNESS, which="worse", limit=1, offset=1))
    assert ([row.sample_a for row in second.rows], second.total) == (["s0"], 2)


def test_a_pair_knows_its_neighbours_in_the_order_of_the_list(store: Store) -> None:
    keep(store, answers("a", [ALL, NONE, "", ALL, ALL]))
    keep(store, answers("b", [HALF, ALL, ALL, NONE, ALL]))
    a, b = store.resolve("a"), store.resolve("b")
    pairing = pair_runs(store, a, b)

    def near(sample: str, which: Which) -> tuple[int, int, str | None, str | None]:
        at = pair_position(store, a, b, pairing, PairQuery(metric=FAITHFULNESS, which=which, limit=1), sample)
        return at.position, at.total, at.previous, at.following

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
    with pytest.raises(NotFoundError, match="'s1' of 'a' has no counterpart in 'b'"):
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


def test_statements_with_other_verdicts_are_one_claim_only_if_their_content_words_agree() -> None:
    a = [said("In the end Prussia took about two fifths of Saxony.", "supported"), said("59 died there.", "supported")]
    b = [
        said("Prussia kept about two fifths of its army in Saxony.", "unsupported"),
        said("60 died there.", "unsupported"),
    ]
    assert [change.kind for change in statement_changes(a, b)] == ["added", "added", "dropped", "dropped"]
    a, b = (
        [said("The bridge opened in May 1890.", "supported")],
        [said("The bridge opened in June 1890.", "contradicted")],
    )
    assert [change.kind for change in statement_changes(a, b)] == ["broken"]


def test_a_rechunked_passage_is_not_lost_or_gained(store: Store) -> None:
    texts = {
        "a": [
            "The bridge has three cantilevers. Its spans measure 521 m.",
            "A tunnel.",
            "The lake is deep. It is cold.",
        ],
        "b": ["Its spans measure 521 m. It opened in 1890.", "The lake  is deep.", "A lake."],
    }
    for name, passages in texts.items():
        contexts = tuple(Passage(id=f"p{at}", text=text, rank=at) for at, text in enumerate(passages, 1))
        store.add_runs([Run(name=name, samples=(Sample(id="s0", question="Which?", contexts=contexts),))])
    a, b = store.resolve("a"), store.resolve("b")
    found = pair_report(store, a, b, pair_runs(store, a, b), "s0")
    ranks = [[one.rank for one in side] for side in (found.rechunked_a, found.rechunked_b, found.lost, found.gained)]
    assert ranks == [[1, 3], [1, 2], [2], [3]]


def test_default_metrics_compare_too(store: Store) -> None:
    for name in "ab":
        (added,) = store.add_runs([answers(name, [ALL] * 6)])
        evaluate_run(store, added.id, DEFAULT_METRICS, Panel(judge=PlainJudge()))
    assert [metric.change for metric in compare(store, "a", "b").metrics] == ["no significant difference"] * 3


def test_a_metric_that_moves_with_the_number_of_passages_says_so_where_that_differs(store: Store) -> None:
    metrics = ["faithfulness", "context_relevance", "retrieval.precision", "retrieval.precision(k=2)"]
    for name, passages in (("a", 3), ("b", 5), ("c", 5)):
        samples = tuple(make_sample(number, contexts=passages) for number in range(6))
        (added,) = store.add_runs([Run(name=name, samples=samples)])
        evaluate_run(store, added.id, metrics_named(metrics), Panel(judge=PlainJudge()))
    found = compare(store, "a", "b")
    assert (found.passages_a, found.passages_b) == (3, 5)
    assert {one.metric: one.caution for one in found.metrics if one.caution} == {
        "ragas.context_relevance": "Context relevance usually falls with more passages: 3.0 in A, 5.0 in B",
        "retrieval.precision": "Retrieval precision usually falls with more passages: 3.0 in A, 5.0 in B",
    }
    assert not any(one.caution for one in compare(store, "b", "c").metrics)


def test_a_fact_that_older_versions_did_not_store_is_no_other_definition(store: Store) -> None:
    keep(store, answers("a", [ALL]))
    keep(store, answers("b", [ALL]))
    older = "json_merge_patch(description, '{\"more_passages\": null}')"
    with store.database.write() as connection:
        connection.execute(
            f"UPDATE metrics SET description = {older} WHERE evaluation_id = (SELECT min(evaluation_id) FROM metrics)"
        )
    assert compare(store, "a", "b").cautions == ()
    with store.database.write() as connection:
        connection.execute(
            'UPDATE metrics SET description = json_merge_patch(description, \'{"formula": "other"}\')'
            " WHERE evaluation_id = (SELECT min(evaluation_id) FROM metrics)"
        )
    assert compare(store, "a", "b").cautions[0].startswith("The definition changed")


def test_cost_and_time_are_compared_over_the_pairs_that_have_them_and_less_is_better(store: Store) -> None:
    for name, slower, price in (("a", 0.0, 0.001), ("b", 250.0, 0.0005)):
        samples = [
            replace(make_sample(at), metadata={"latency_ms": 1000.0 + 10 * at + slower, "cost": price, "topic": at})
            for at in range(30)
        ]
        samples[0] = replace(samples[0], metadata={"cost": price})
        keep(store, Run(name=name, samples=tuple(samples)))
    cost, latency = compare(store, "a", "b").costs
    assert (cost.metric, latency.metric) == ("metadata.cost", "metadata.latency_ms")
    assert latency.pairs
    assert (latency.pairs.n, latency.scored_in_neither, latency.change) == (29, 1, "worse")
    assert (latency.pairs.first, latency.pairs.second, latency.pairs.difference) == pytest.approx((1150, 1400, 250))
    assert cost.pairs
    assert (cost.pairs.n, cost.direction, cost.change) == (30, "lower", "better")
    back = compare(store, "b", "a").costs
    assert [one.pairs.difference for one in back if one.pairs] == [-cost.pairs.difference, -latency.pairs.difference]


@pytest.mark.parametrize(
    "name", ["latency_ms", "cost", "totalTokens", "prompt_tokens", "Response time (s)", "total_cost_usd"]
)
def test_columns_of_money_time_and_tokens_are_known_by_their_names(name: str) -> None:
    assert is_cost(name)


@pytest.mark.parametrize(
    "name", ["topic", "start_time", "timestamp", "max_tokens", "costume", "rating", "tokens_per_second"]
)
def test_other_columns_are_not(name: str) -> None:
    assert not is_cost(name)


def test_the_questions_that_moved_furthest_are_the_same_from_either_side(store: Store) -> None:
    keep(store, answers("a", [ALL, HALF, ALL, HALF, ALL, ""]))
    keep(store, answers("b", [ALL, NONE, NONE, ALL, HALF, ALL]))
    a, b = store.resolve("a"), store.resolve("b")
    forth, back = most_changed(store, a, b), most_changed(store, b, a)
    assert [one.sample_a for one in forth] == ["s2", "s1", "s3"]
    assert [str(score) for score in forth[0].scores] == ["Faithfulness 1.00 → 0.00"]
    assert [score.change for score in forth[0].scores] == ["worse"]
    assert (dict(forth[0].statements), dict(back[0].statements)) == ({"added": 1, "dropped": 1},) * 2
    assert dict(forth[1].statements) == {"dropped": 1}
    assert str(forth[1]) == "statements: 1 dropped"
    assert [one.sample_b for one in back] == [one.sample_a for one in forth]
    assert [[(s.label, s.b, s.a) for s in one.scores] for one in back] == [
        [(s.label, s.a, s.b) for s in one.scores] for one in forth
    ]
    assert dict(back[1].statements) == {"added": 1}


def test_the_largest_changes_include_losses_gains_and_refusals(store: Store) -> None:
    keep(store, answers("a", [NONE, NONE, NONE, HALF, ALL]))
    keep(store, answers("b", [ALL, ALL, ALL, NONE, ALL]))
    a, b = store.resolve("a"), store.resolve("b")
    found = most_changed(store, a, b)
    assert [(one.sample_a, one.scores[0].change) for one in found] == [
        ("s0", "better"),
        ("s1", "better"),
        ("s3", "worse"),
    ]
    assert [one.refuses for one in found] == [""] * 3


@pytest.mark.parametrize("metrics", [["faithfulness"], ["faithfulness", "refusal"]])
def test_an_answer_that_only_one_run_refuses_is_a_large_change(store: Store, metrics: list[str]) -> None:
    for name, said in (("a", ["It is red.", "It is red."]), ("b", ["The passages do not say.", "It is red."])):
        (added,) = store.add_runs([answers(name, said)])
        evaluate_run(store, added.id, metrics_named(metrics), Panel(judge=EmbeddedJudge()))
    (found,) = most_changed(store, store.resolve("a"), store.resolve("b"))
    assert (found.sample_a, found.refuses) == ("s0", "B")
    assert str(found).startswith("only B refuses; statements: ")


def test_answers_that_changed_are_not_crowded_out_by_refusals(store: Store) -> None:
    silent = "The passages do not say."
    for name, said in (("a", ["It is red."] * 4), ("b", [silent, silent, "It is old.", "It is red. It is new."])):
        (added,) = store.add_runs([answers(name, said)])
        evaluate_run(store, added.id, metrics_named(["faithfulness"]), Panel(judge=EmbeddedJudge()))
    found = most_changed(store, store.resolve("a"), store.resolve("b"))
    assert sorted((one.sample_a, one.refuses) for one in found) == [("s0", "B"), ("s2", ""), ("s3", "")]


def test_a_refusal_in_part_says_so_and_ranks_by_its_scores(store: Store) -> None:
    partly = "The passages do not say when, but it is red."
    for name, said in (("a", ["It is red.", "It is red."]), ("b", [partly, "It is red. It is new."])):
        (added,) = store.add_runs([answers(name, said)])
        metrics = metrics_named(["faithfulness", "answer_relevance(method=direct)"])
        evaluate_run(store, added.id, metrics, Panel(judge=EmbeddedJudge()))
    found = most_changed(store, store.resolve("a"), store.resolve("b"))
    assert {one.sample_a: (one.refuses, one.in_part) for one in found} == {"s0": ("B", True), "s1": ("", False)}
    sizes = [abs(one.scores[0].b - one.scores[0].a) for one in found]
    assert sizes == sorted(sizes, reverse=True)
    assert [one.scores[0].label for one in found if one.sample_a == "s0"] == ["Answer relevance (rated)"]


def test_the_largest_single_change_comes_first_and_is_named(store: Store) -> None:
    """Three smaller changes that add up to more do not outrank it."""
    scored(store, "a", {"first": [0.15, 0.5, 0.5, 0.5], "second": [0.5, 0.5, 0.5, 0.5], "third": [0.5] * 4})
    scored(store, "b", {"first": [0.96, 0.9, 0.53, 0.6], "second": [0.5, 0.9, 0.5, 0.5], "third": [0.5, 0.9, 0.5, 0.5]})
    a, b = store.resolve("a"), store.resolve("b")
    found = most_changed(store, a, b)
    assert [(one.sample_a, str(one.scores[0])) for one in found] == [
        ("s0", "First 0.15 → 0.96"),
        ("s1", "First 0.50 → 0.90"),
        ("s3", "First 0.50 → 0.60"),  # not s2: 0.03 is negligible
    ]
    assert [str(one.scores[0]) for one in most_changed(store, a, b, metrics=["second"])] == ["Second 0.50 → 0.90"]


def test_a_negligible_loss_is_not_listed_with_gains(store: Store) -> None:
    scored(store, "a", {"first": [0.1, 0.2, 0.3, 0.5, 0.5]})
    scored(store, "b", {"first": [0.9, 0.9, 0.9, 0.9, 0.49]})
    found = most_changed(store, store.resolve("a"), store.resolve("b"))
    assert [one.scores[0].change for one in found] == ["better"] * 3


def test_nothing_changed_is_no_question(store: Store) -> None:
    keep(store, answers("a", [ALL, HALF]))
    keep(store, answers("b", [ALL, HALF]))
    keep(store, answers("judge", [NONE, NONE]), PlainJudge(name="strict", version="2"))
    assert most_changed(store, store.resolve("a"), store.resolve("b")) == ()
    assert most_changed(store, store.resolve("a"), store.resolve("judge")) == ()


def test_how_many_questions_a_difference_takes_is_reported_in_a_sentence(store: Store) -> None:
    """Differences of -0.5, 0 and 0.5 in equal parts: their deviation is 0.4152, detectable 2.847 / sqrt(60) of it."""
    keep(store, answers("a", [HALF, HALF, HALF] * 20))
    keep(store, answers("b", [ALL, HALF, NONE] * 20))
    found = next(one for one in compare(store, "a", "b").metrics if one.metric == FAITHFULNESS)
    assert found.pairs
    assert found.pairs.detectable == pytest.approx(0.4118 * 2.8487 / 60**0.5, abs=1e-4)
    # (1.9613 + 0.8420)^2 x 0.4118^2 / 0.03^2 = 1481
    assert detectable_in_words(found) == (
        "With 60 questions, a difference of 0.15 can be detected (80% power). To detect 0.03, small but often"
        " worth having, would take about 1,500 questions like these."
    )
    assert detectable_in_words(found, 0.2) == "With 60 questions, a difference of 0.15 can be detected (80% power)."
