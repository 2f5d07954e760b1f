"""Tests of MTRAG's scores: by hand, and on cases and published rows of the original."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from rouge_score import rouge_scorer
from tests.core.conftest import PlainJudge, make_run
from tests.core.metrics.asked import SAMPLE, outcome_of

from ragboard import (
    EmbeddedJudge,
    JudgeError,
    Panel,
    RunRef,
    Score,
    Store,
    Unscored,
    evaluate,
    evaluate_run,
    judge_from,
)
from ragboard.analysis import sample_report
from ragboard.answerability import answerability_of
from ragboard.evaluation.plan import plan_run
from ragboard.judges.llm import Endpoint, LlmJudge
from ragboard.metrics import metrics_named
from ragboard.metrics.mtrag import (
    ASKS_BACK,
    AnswerabilityMetric,
    Behaviour,
    Faithfulness,
    Overlap,
    RatingByAnswerability,
)
from ragboard.records import JsonValue, Outcome, Turn, Verdict
from ragboard.tasks import (
    BertScore,
    BertScores,
    Critique,
    CritiqueVerdict,
    ExtractedStatement,
    Extraction,
    ExtractStatements,
    Failure,
    OnCall,
    RateTurn,
    Rating,
    Reply,
    Task,
    Verification,
    Verify,
    ignore_call,
)

FAITHFULNESS = Faithfulness()
OWN_TASKS = {FAITHFULNESS: "Verify", RatingByAnswerability(): "RateTurn", Overlap(): "BertScore"}


def judge(
    *, refuses: bool = False, statements: int = 2, asks: bool = False, rating: int = 7
) -> Callable[[Task], Reply]:
    """The first statement is supported."""

    def reply(task: Task) -> Reply:
        match task:
            case ExtractStatements():
                said = tuple(ExtractedStatement(text=f"Fact {number}.") for number in range(statements))
                return Extraction(statements=said, refuses=refuses)
            case Verify():
                labels = ("supported", *("unsupported",) * (len(task.statements) - 1))
                return Verification(joint=tuple(Verdict(label=label) for label in labels))  # type: ignore[arg-type]
            case Critique():
                return CritiqueVerdict(yes=asks, reason="By its last sentence.")
            case BertScore():
                return BertScores(precision=(0.9, 0.2, 0.5), recall=(0.6, 0.1, 0.1))
            case _:
                assert isinstance(task, RateTurn)
                return Rating(value=rating)

    return reply


def scored(answerability: Any, metric: AnswerabilityMetric = FAITHFULNESS, **given: Any) -> tuple[Outcome, list[str]]:
    sample = replace(SAMPLE, metadata={} if answerability is None else {"answerability": answerability})
    found, asked = outcome_of(metric, sample, judge(**given))
    return found, [type(task).__name__ for task in asked]


def test_answers_to_questions_that_have_one_keep_their_score() -> None:
    for label in ("answerable", "PARTIAL"):
        assert scored(label)[0] == Score(value=0.5, counted="1 of 2 statements")
        assert scored(label, refuses=True)[0] == Score(value=0.5, counted="1 of 2 statements")
        counted = f"the question is {label.lower()} and the answer refuses"
        assert scored(label, refuses=True, statements=0)[0] == Score(value=0.0, counted=counted)
    assert scored("answerable", RatingByAnswerability())[0] == Score(value=0.7, counted="rated 7 of 10")


def test_only_a_whole_refusal_is_right_where_there_is_no_answer() -> None:
    for label in ("unanswerable", "conversational"):
        for metric in (Faithfulness(), RatingByAnswerability(), Overlap()):
            values = [
                scored(label, metric, refuses=refuses, statements=statements)[0]
                for refuses, statements in ((True, 0), (True, 1), (False, 1))
            ]
            assert values == [
                Score(value=1.0, counted=f"the question is {label} and the answer refuses"),
                Score(value=0.0, counted=f"the question is {label} and the answer refuses only in part"),
                Score(value=0.0, counted=f"the question is {label} and the answer does not refuse"),
            ]


def test_whether_the_answer_asks_back_is_asked_only_where_the_question_is_underspecified() -> None:
    found, asked = scored("underspecified", asks=True)
    assert found == Score(value=1.0, counted="the question is underspecified and the answer asks what is meant")
    assert asked == ["Critique"]
    found, _ = scored("underspecified", refuses=True, statements=0)
    assert found == Score(value=0.0, counted="the question is underspecified and the answer does not ask what is meant")
    assert "Critique" not in scored("answerable")[1]


def test_without_a_label_it_is_skipped_unless_compat() -> None:
    found, _ = scored(None)
    assert isinstance(found, Unscored)
    assert (found.reason, "answerability, answerable, is_impossible" in found.detail) == ("skipped", True)
    assert scored(None, Faithfulness(compat=True))[0] == Score(value=0.5, counted="1 of 2 statements")
    refused = scored(None, Faithfulness(compat=True), refuses=True, statements=0)[0]
    assert refused == Score(value=0.0, counted="the answer refuses")


def test_a_label_that_cannot_be_read_and_a_failed_rating_are_failed() -> None:
    found, _ = scored("maybe")
    assert isinstance(found, Unscored)
    assert found.reason == "failed"
    assert found.detail.startswith("answerability is 'maybe'; expected true, false, or one of")

    def failing(task: Task) -> Reply | Failure:
        return Failure(detail="no JSON") if isinstance(task, RateTurn) else judge()(task)

    sample = replace(SAMPLE, metadata={"answerable": True})
    assert outcome_of(RatingByAnswerability(), sample, failing)[0] == Unscored(reason="failed", detail="no JSON")


@pytest.mark.parametrize("metric", [Faithfulness(), RatingByAnswerability(), Overlap()])
def test_what_does_not_count_is_not_asked_and_cannot_fail(metric: AnswerabilityMetric) -> None:
    assert scored(None, metric)[1] == scored("maybe", metric)[1] == []
    assert scored("unanswerable", metric)[1] == ["ExtractStatements"]
    assert scored("answerable", metric, refuses=True, statements=0)[1] == ["ExtractStatements"]
    assert scored("answerable", metric)[1] == ["ExtractStatements", OWN_TASKS[metric]]


def test_it_shares_all_calls_with_other_metrics() -> None:
    run = make_run()
    run = replace(run, samples=tuple(replace(one, metadata={"answerable": True}) for one in run.samples))
    for others in (["ragas.faithfulness"], ["ragchecker.faithfulness"]):
        counts = []
        for names in (others, [*others, "mtrag.faithfulness"]):
            judge = PlainJudge()
            evaluate(run, judge=Panel(judge=judge), metrics=names)
            counts.append(len(judge.asked))
        assert counts == [6, 6]


def test_replies_are_stored_as_statements_verdicts_and_judgements(store: Store) -> None:
    kinds = ("answerable", "underspecified", "unanswerable")
    run = make_run(samples=3)
    samples = [
        replace(one, reference="r", metadata={"answerability": kind})
        for one, kind in zip(run.samples, kinds, strict=True)
    ]
    run_id = store.add_runs([replace(run, samples=tuple(samples))])[0].id
    done = evaluate_run(store, run_id, metrics_named(["mtrag"]), Panel(judge=PlainJudge()))
    reference = RunRef(run_id=run_id, name="run", evaluation_id=done.evaluation.id)
    reports = [sample_report(store, reference, one.id) for one in samples]
    assert [[(one.about, one.says) for one in report.judgements] for report in reports] == [
        [
            ("BERTScore precision against each passage", "0.500"),
            ("BERTScore precision against each passage", "0.500"),
            ("BERTScore recall of the reference", "0.500"),
            ("rating of the turn", "7"),
        ],
        [(ASKS_BACK, "yes")],
        [],
    ]
    labels = [[one.verdict.label if one.verdict else None for one in report.statements] for report in reports]
    assert labels == [["supported", "unsupported"], [], [None, None]]
    assert [report.refuses for report in reports] == [False, None, False]


@pytest.mark.parametrize("metric", [Faithfulness(), RatingByAnswerability()])
def test_an_empty_list_of_claims_in_the_file_does_not_say_whether_the_answer_refuses(
    metric: AnswerabilityMetric,
) -> None:
    claims: dict[str, JsonValue] = {
        "response_claims": [],
        "retrieved2response": [],
        "answer2response": [],
        "answerable": False,
    }
    found, _ = outcome_of(metric, replace(SAMPLE, metadata=claims), judge())
    detail = "the run file's claims do not say whether the answer refuses"
    assert found == Unscored(reason="skipped", detail=detail)


def test_the_rating_sees_the_conversation_the_passages_and_the_reference() -> None:
    turns = (Turn(role="user", text="Which bridge?"),)
    sample = replace(SAMPLE, metadata={"answerable": True}, history=turns)
    _, asked = outcome_of(RatingByAnswerability(), sample, judge())
    assert (
        RateTurn(
            question="q?",
            contexts=("One is here. Two is here.", "Three is."),
            reference="A reference.",
            answer="An answer.",
            history=turns,
        )
        in asked
    )


def test_the_embedded_judge_refuses_in_one_line() -> None:
    with pytest.raises(JudgeError, match=r"^mtrag.rating needs [^\n]*--judge openai:MODEL[^\n]*$"):
        evaluate([SAMPLE], metrics="mtrag.rating", judge=EmbeddedJudge())


def conditioned(label: str | None, idk: float, asks_back: float, own: float | None) -> float | None:
    """The score of the rule; asking back counts only if it was judged."""
    answerability = None if label is None else answerability_of({"answerability": label})
    asked = asks_back == 1 if answerability == "underspecified" else None
    decided = Behaviour(answerability=answerability, refuses=idk, asks_back=asked).decided_score
    return decided[0] if decided else own


def cases_of(folder: Path) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Each case, with what the source makes of it."""
    expected = {one["id"]: one for one in json.loads((folder / "expected.json").read_text("utf-8"))["cases"]}
    return [(one, expected[one["id"]]) for one in json.loads((folder / "inputs.json").read_text("utf-8"))["cases"]]


def test_the_rule_is_that_of_the_source(data: Path) -> None:
    cases = cases_of(data / "oracles" / "mtrag_conditioned")
    assert len(cases) >= 50
    for case, by_source in cases:
        found = conditioned(case["answerability"], case["idk"], case["clarification"], case["score"])
        assert found == by_source["idk_underspecified_conditioned"], case


def test_published_rows_where_the_behaviour_decides(data: Path) -> None:
    """The file does not have the unconditioned scores, so only rows that the rule sets to 0 or 1 can be checked."""
    decided = 0
    for case, by_source in cases_of(data / "oracles" / "mtrag_published"):
        should_refuse = case["answerability"] in ("UNANSWERABLE", "CONVERSATIONAL")
        refuses = float(should_refuse == bool(case["idk_behaviour_correct"]))
        found = conditioned(case["answerability"], refuses, 0.0, None)
        if found is not None:
            decided += 1
            assert [found] * 2 == [by_source["rl_f_conditioned"], by_source["rb_llm_conditioned"]], case
    assert decided >= 10


def test_whole_samples_of_the_cases_get_the_score_of_the_source(data: Path) -> None:
    """Through `evaluate`, with a judge that rates, refuses and asks back as the case says."""
    cases = {
        f"Question {case['id']}?": (case, by_source)
        for case, by_source in cases_of(data / "oracles" / "mtrag_conditioned")
        if case["score"] is not None and (case["score"] * 10) % 1 == 0 and case["score"]
    }
    rows = [
        {
            "question": question,
            "answer": "An answer.",
            "reference": "r",
            "contexts": ["p"],
            "answerability": case["answerability"],
        }
        for question, (case, _) in cases.items()
    ]
    result = evaluate(rows, metrics="mtrag.rating(compat=True)", judge=Panel(judge=CaseJudge(cases)))
    assert len(rows) >= 10
    for outcome, (case, by_source) in zip(result.outcomes("mtrag.rating(compat=True)"), cases.values(), strict=True):
        assert isinstance(outcome, Score), case
        assert outcome.value == by_source["idk_underspecified_conditioned"], case


@dataclass
class CaseJudge:
    """Replies as the case of the question says."""

    cases: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]]
    name: str = "cases"
    heuristic: bool = False
    answers: frozenset[type[Task]] = frozenset({ExtractStatements, Critique, RateTurn})

    def identity(self, task: type[Task]) -> str:
        return f"cases/{task.__name__}"

    async def answer(self, tasks: Sequence[Task], _on_call: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        return [self._reply(task) for task in tasks]

    def _reply(self, task: Any) -> Reply:
        case, _ = self.cases[task.question]
        given = {"refuses": case["idk"] > 0, "statements": int(case["idk"] < 1), "asks": case["clarification"] == 1}
        return judge(**given, rating=round(case["score"] * 10))(task)


def test_overlap_is_the_harmonic_mean_of_recall_rouge_and_the_best_passage() -> None:
    """By hand: "An answer." and "A reference." share no word; "One two." and "One three." one of two."""
    sample = replace(SAMPLE, answer="One two.", reference="One three.", metadata={"answerable": True})
    found, asked = outcome_of(Overlap(), sample, judge())
    a, b, c = (0.6 + 1) / 2, 0.5, (0.5 + 1) / 2
    counted = "BERTScore recall 0.60, ROUGE-L 0.50, best BERTScore precision 0.50"
    assert found == Score(value=pytest.approx(3 / (1 / a + 1 / b + 1 / c)), counted=counted)
    others = ("One three.", *(passage.text for passage in sample.contexts or ()))
    assert asked == [
        ExtractStatements(question="q?", text="One two."),
        BertScore(text="One two.", others=others),
    ]
    apart, _ = outcome_of(Overlap(), replace(sample, reference="Three."), judge())
    assert isinstance(apart, Score)
    assert apart.value == 0


@pytest.mark.parametrize(
    ("changed", "scores", "detail", "compat"),
    [
        ({"reference": " "}, ((None, 0.2), (None, 0.1)), "the reference is empty", 0.0),
        ({"contexts": ()}, ((0.9,), (0.6,)), "no passage was retrieved", 0.0),
        ({}, ((0.9, None), (0.6, None)), "the passages are empty", 3 / (1 / 0.8 + 1 / 0.5 + 1 / 0.5)),
        ({}, ((None, 0.2), (None, 0.1)), "the answer or the reference has no token", 3 / (1 / 0.5 + 1 / 0.5 + 1 / 0.6)),
        ({}, ((0.9, -1.5), (0.6, 0.1)), None, 0.0),
    ],
)
def test_nothing_to_compare_is_undefined_and_compat_scores_it_as_the_source(
    changed: dict[str, Any], scores: tuple[Any, Any], detail: str | None, compat: float
) -> None:
    """With compat, a passage without a value counts as 0, and a recall without one is the share of the words."""
    sample = replace(SAMPLE, answer="One two.", reference="One three.", metadata={"answerable": True})
    sample = replace(sample, **{"contexts": (sample.contexts or ())[:1]} | changed)

    def reply(task: Task) -> Reply:
        given = BertScores(precision=scores[0], recall=scores[1])
        return given if isinstance(task, BertScore) else judge()(task)

    found, _ = outcome_of(Overlap(), sample, reply)
    if detail is None:
        assert isinstance(found, Score)
        assert found.value == 0
    else:
        assert found == Unscored(reason="undefined", detail=detail)
    by_source, _ = outcome_of(Overlap(compat=True), sample, reply)
    assert isinstance(by_source, Score)
    assert by_source.value == pytest.approx(compat)


def test_rouge_l_of_the_source_is_that_of_rouge_score() -> None:
    scorer = rouge_scorer.RougeScorer(["rougeL"], use_stemmer=False)
    texts = ("It can't open in 1998.", "Es öffnet 1998, can it?", "IT OPENS", "é", "")
    for answer in texts[:4]:
        for reference in texts:
            sample = replace(SAMPLE, answer=answer, reference=reference, metadata={"answerable": True})
            found, _ = outcome_of(Overlap(compat=True), sample, judge())
            rouge = scorer.score(reference, answer)["rougeL"].fmeasure
            assert isinstance(found, Score)
            assert found.value == pytest.approx(3 / (1 / 0.8 + 1 / rouge + 1 / 0.75) if rouge else 0.0)


def test_judges_that_do_not_compute_bertscore_refuse_in_one_line() -> None:
    sample = replace(SAMPLE, metadata={"answerable": True})
    for other in (EmbeddedJudge(), judge_from(lambda prompts: prompts, version="1")):
        with pytest.raises(JudgeError, match=r"^mtrag.overlap needs [^\n]*--embed bertscore [^\n]*BertScore tasks\)$"):
            evaluate([sample], metrics="mtrag.overlap", judge=other)


def test_bertscore_is_planned_without_a_call_to_a_chat_model(store: Store) -> None:
    run = make_run(samples=3)
    samples = tuple(replace(one, reference="r", metadata={"answerable": True}) for one in run.samples)
    run_id = store.add_runs([replace(run, samples=samples)])[0].id
    chat = LlmJudge("m", Endpoint("http://127.0.0.1:9/v1", "key"))
    panel = Panel(judge=chat, roles={"embed": PlainJudge(answers=frozenset({BertScore}))})
    planned = plan_run(store, run_id, metrics_named(["mtrag.overlap"]), panel)
    assert (planned.total.expected.chat_calls, planned.total.expected.embedding_calls) == (
        3,
        0,
    )  # to extract statements


@pytest.mark.parametrize("name", ["mtrag_rb_agg", "mtrag_published"])
def test_overlap_of_whole_samples_is_that_of_the_source(data: Path, name: str) -> None:
    """Through `evaluate`: texts with the case's ROUGE-L, and a judge with its BERTScores and its refusal."""
    cases = cases_of(data / "oracles" / name)
    rows: list[dict[str, Any]] = []
    judge = OverlapJudge()
    for case, _ in cases:
        by_passage = case.get("bert_k_precision_per_passage", [case.get("bert_k_precision_max")]) or []
        answer, reference = texts_of(case["rouge_l"], len(rows))
        row = {"question": f"Question {len(rows)}?", "answer": answer, "reference": reference}
        rows.append(row | {"contexts": ["p"] * len(by_passage)})
        if "answerability" in case:
            should_refuse = case["answerability"] in ("UNANSWERABLE", "CONVERSATIONAL")
            rows[-1]["answerability"] = case["answerability"]
            judge.refuses[answer] = should_refuse == bool(case["idk_behaviour_correct"])
        judge.scores[answer] = BertScores(
            precision=(None, *by_passage), recall=(case["bertscore_recall"], *[None] * len(by_passage))
        )
    result = evaluate(rows, metrics="mtrag.overlap(compat=True)", judge=Panel(judge=judge))
    assert len(rows) >= 30
    key = "RB_agg" if name == "mtrag_rb_agg" else "rb_agg_conditioned"
    for outcome, (case, by_source) in zip(result.outcomes("mtrag.overlap(compat=True)"), cases, strict=True):
        assert isinstance(outcome, Score), (case, outcome)
        assert outcome.value == pytest.approx(by_source[key], abs=1e-12), case


def texts_of(rouge: float, number: int) -> tuple[str, str]:
    """Two texts with this ROUGE-L: p of their q words are common, in order. The answers of all numbers differ."""
    share = Fraction(rouge).limit_denominator(2000)
    assert float(share) == pytest.approx(rouge, abs=1e-14)
    words = range(share.denominator * 2)
    common = [f"c{number}x{word}" for word in words[: share.numerator * 2]]
    rest = words[share.numerator * 2 :]
    answer, reference = ([*common, *(f"{side}{number}x{word}" for word in rest)] for side in "ar")
    return " ".join(answer), " ".join(reference)


@dataclass
class OverlapJudge:
    """Replies with the scores of the answer, and refuses in full where it is said."""

    scores: dict[str, BertScores] = field(default_factory=dict[str, BertScores])
    refuses: dict[str, bool] = field(default_factory=dict[str, bool])
    name: str = "scores"
    heuristic: bool = False
    answers: frozenset[type[Task]] = frozenset({ExtractStatements, Critique, BertScore})

    def identity(self, task: type[Task]) -> str:
        return f"scores/{task.__name__}"

    async def answer(self, tasks: Sequence[Task], _on_call: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        return [self._reply(task) for task in tasks]

    def _reply(self, task: Any) -> Reply:
        if isinstance(task, BertScore):
            return self.scores[task.text]
        refuses = self.refuses.get(task.text, False)
        return judge(refuses=refuses, statements=int(not refuses))(task)
