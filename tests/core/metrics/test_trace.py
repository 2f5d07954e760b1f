"""Tests of TRACe: by hand, shared calls, and RAGBench's scores."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.core.conftest import PlainJudge, make_run
from tests.core.metrics.asked import SAMPLE, outcome_of

from ragboard import Panel, Score, Unscored, Verdict, evaluate
from ragboard.metrics.trace import Adherence, Completeness, Relevance, Utilization
from ragboard.records import Evidence, Label
from ragboard.stats import auroc
from ragboard.tasks import (
    ExtractedStatement,
    Extraction,
    ExtractStatements,
    Failure,
    OnCall,
    Reply,
    Selection,
    SelectSentences,
    Task,
    Verification,
    Verify,
    ignore_call,
)

NO_QUOTES = "the judge quotes no evidence, so the sentences that the answer uses are unknown"
"""Of `SAMPLE`, the sentences are `One is here.` and `Two is here.` of passage 1, and `Three is.` of passage 2."""


def quote(rank: int, start: int, end: int, **how: Any) -> Evidence:
    return Evidence(**({"rank": rank, "start": start, "end": end, "stance": "for", "how": "quoted"} | how))


def supported(*quotes: Evidence, label: Label = "supported") -> Verdict:
    return Verdict(label=label, evidence=quotes)


def judging(
    *verdicts: Verdict, chosen: tuple[int, ...] = (), refuses: bool = False
) -> Callable[[Task], Reply | Failure]:
    def reply(task: Task) -> Reply | Failure:
        match task:
            case SelectSentences():
                return Selection(chosen=chosen)
            case ExtractStatements():
                texts = (f"Statement {number}." for number, _ in enumerate(verdicts))
                return Extraction(statements=tuple(ExtractedStatement(text=text) for text in texts), refuses=refuses)
            case _:
                return Verification(joint=verdicts)

    return reply


def test_relevance_is_the_share_of_helpful_sentences() -> None:
    found, asked = outcome_of(Relevance(), SAMPLE, judging(chosen=(0, 2)))
    assert found == Score(value=2 / 3, counted="2 of 3 sentences")
    assert [type(task) for task in asked] == [SelectSentences]


def test_utilization_is_the_share_of_the_sentences_that_a_quote_overlaps() -> None:
    across = quote(1, 10, 16)  # the end of the first sentence and the start of the second
    found, asked = outcome_of(Utilization(), SAMPLE, judging(supported(across), supported(quote(1, 0, 3))))
    assert found == Score(value=2 / 3, counted="2 of 3 sentences")
    assert [type(task) for task in asked] == [ExtractStatements, Verify]


def test_only_quotes_for_supported_statements_show_use() -> None:
    against = quote(2, 0, 5, stance="against")
    verdicts = (
        supported(quote(1, 0, 3)),
        supported(quote(1, 14, 20), label="unsupported"),
        supported(against, label="contradicted"),
    )
    found, _ = outcome_of(Utilization(), SAMPLE, judging(*verdicts))
    assert found == Score(value=1 / 3, counted="1 of 3 sentences")


def test_where_nothing_is_supported_nothing_is_used() -> None:
    found, _ = outcome_of(Utilization(), SAMPLE, judging(supported(label="unsupported")))
    assert found == Score(value=0.0, counted="0 of 3 sentences")


@pytest.mark.parametrize("metric", [Utilization(), Completeness(), Utilization(compat=True), Completeness(compat=True)])
@pytest.mark.parametrize("quotes", [(), (quote(1, 0, 26, how="window"),)], ids=["no quote", "what a model read"])
def test_a_judge_without_quotes_is_a_failure_and_not_0(
    metric: Utilization | Completeness, quotes: tuple[Evidence, ...]
) -> None:
    found, _ = outcome_of(metric, SAMPLE, judging(supported(*quotes), chosen=(0,)))
    assert found == Unscored(reason="failed", detail=NO_QUOTES)


def test_a_supported_statement_without_a_quote_is_noted() -> None:
    found, _ = outcome_of(Utilization(), SAMPLE, judging(supported(quote(2, 0, 5)), supported()))
    assert found == Score(value=1 / 3, counted="1 of 3 sentences, 1 supported statement without a quote")


def test_completeness_is_the_share_of_the_helpful_sentences_that_are_used() -> None:
    found, _ = outcome_of(Completeness(), SAMPLE, judging(supported(quote(1, 0, 3), quote(2, 0, 5)), chosen=(0, 1)))
    assert found == Score(value=1 / 2, counted="1 of 2 helpful sentences")


def test_completeness_without_a_helpful_sentence_is_undefined_and_1_in_ragbench() -> None:
    why = "no sentence of the passages helps to answer the question"
    reply = judging(supported(quote(1, 0, 3)))
    assert outcome_of(Completeness(), SAMPLE, reply)[0] == Unscored(reason="undefined", detail=why)
    assert outcome_of(Completeness(compat=True), SAMPLE, reply)[0] == Score(value=1.0, counted=why)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (("supported", "supported"), Score(value=1.0, counted="0 of 2 statements not supported")),
        (("supported", "unsupported"), Score(value=0.0, counted="1 of 2 statements not supported")),
        (("contradicted",), Score(value=0.0, counted="1 of 1 statements not supported")),
    ],
)
def test_adherence_is_1_if_every_statement_is_supported(labels: tuple[Label, ...], expected: Score) -> None:
    found, _ = outcome_of(Adherence(), SAMPLE, judging(*(supported(label=label) for label in labels)))
    assert found == expected


def test_an_answer_that_states_nothing_is_undefined_or_a_refusal_and_adheres_in_ragbench() -> None:
    for metric in (Utilization(), Completeness(), Adherence()):
        found, _ = outcome_of(metric, SAMPLE, judging(chosen=(0,)))
        assert found == Unscored(reason="undefined", detail="the judge found no statement in the answer")
        found, _ = outcome_of(metric, SAMPLE, judging(chosen=(0,), refuses=True))
        assert found == Unscored(reason="refusal", detail="the answer only refuses")
    for metric, value in ((Utilization(compat=True), 0), (Completeness(compat=True), 0), (Adherence(compat=True), 1)):
        found, _ = outcome_of(metric, SAMPLE, judging(chosen=(0,)))
        assert isinstance(found, Score)
        assert found.value == value


def test_without_passages_only_adherence_has_a_score() -> None:
    bare = replace(SAMPLE, contexts=())
    why = Unscored(reason="undefined", detail="no passage was retrieved")
    for metric in (Relevance(), Utilization(), Completeness()):
        assert outcome_of(metric, bare, judging(supported()))[0] == why
    found, asked = outcome_of(Adherence(), bare, judging(supported()))
    assert found == Score(value=0.0, counted="1 of 1 statements not supported")
    assert [type(task) for task in asked] == [ExtractStatements]


def test_they_share_all_calls_with_the_papers_metrics() -> None:
    asked: dict[str, list[Task]] = {}
    for names in ("ragas.faithfulness,ragas.context_relevance", "ragas.faithfulness,ragas.context_relevance,trace"):
        judge = PlainJudge()
        evaluate(make_run(), judge=Panel(judge=judge), metrics=names.split(","))
        asked[names] = judge.asked
    alone, beside = asked.values()
    assert sorted(map(str, alone)) == sorted(map(str, beside))
    assert len(alone) == 9


def test_with_ragchecker_one_task_requests_both_kinds_of_verdict() -> None:
    judge = PlainJudge()
    evaluate(make_run(samples=1), judge=Panel(judge=judge), metrics=["ragchecker.faithfulness", "trace"])
    verifying = [(task.joint, task.single) for task in judge.asked if isinstance(task, Verify)]
    assert verifying == [(True, True)]


@dataclass
class CaseJudge:
    """Answers from a case of RAGBench: the keys of helpful and of used sentences, and the unsupported parts.

    The first statement has a quote from every used sentence; each unsupported part is a statement of its own.
    """

    cases: Mapping[str, Mapping[str, Any]]
    name: str = "case"
    heuristic: bool = False
    answers: frozenset[type[Task]] = frozenset({ExtractStatements, Verify, SelectSentences})

    def identity(self, task: type[Task]) -> str:
        return f"case/1/{task.__name__}"

    async def answer(self, tasks: Sequence[Task], _hear: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        return [self._reply(task, self.cases[task.question]) for task in tasks]  # type: ignore[attr-defined]

    def _reply(self, task: Task, case: Mapping[str, Any]) -> Reply:
        stated = [*(["Used."] if case["utilized"] else []), *(f"Unsupported {key}." for key in case["unsupported"])]
        match task:
            case SelectSentences():
                keys = [text.split()[1] for text in task.sentences]
                return Selection(chosen=tuple(place for place, key in enumerate(keys) if key in case["relevant"]))
            case ExtractStatements():
                return Extraction(statements=tuple(ExtractedStatement(text=text) for text in stated), refuses=False)
            case _:
                assert isinstance(task, Verify)
                quotes = [place_of(key, task.passages) for key in case["utilized"]]
                used = [Verdict(label="supported", evidence=tuple(quotes))] if quotes else []
                return Verification(joint=(*used, *[Verdict(label="unsupported")] * len(case["unsupported"])))


def place_of(key: str, passages: Sequence[str]) -> Evidence:
    """The words of the sentence with this key."""
    rank = int(key[:-1]) + 1
    words = f"Sentence {key}"
    start = passages[rank - 1].index(words)
    return quote(rank, start, start + len(words))


def is_expressible(case: Mapping[str, Any]) -> bool:
    """Whether no key is there twice: a sentence is selected or used once, so a doubled key cannot be expressed."""
    return all(len(case[name]) == len(set(case[name])) for name in ("relevant", "utilized"))


def test_all_four_are_those_of_ragbench(data: Path) -> None:
    folder = data / "oracles" / "trace_scores"
    given = json.loads((folder / "inputs.json").read_text("utf-8"))["cases"]
    expected = {one["id"]: one for one in json.loads((folder / "expected.json").read_text("utf-8"))["cases"]}
    cases = {f"Question {case['id']}?": case for case in given if is_expressible(case)}
    rows = [
        {
            "question": question,
            "answer": "An answer.",
            "contexts": [
                " ".join(f"Sentence {place}{chr(97 + number)} is here." for number in range(count))
                for place, count in enumerate(case["sentences_per_document"])
            ],
        }
        for question, case in cases.items()
    ]
    specs = {
        "relevance": "trace.relevance",
        **{name: f"trace.{name}(compat=True)" for name in ("utilization", "completeness", "adherence")},
    }
    found = evaluate(rows, judge=Panel(judge=CaseJudge(cases)), metrics=list(specs.values()))
    for name, spec in specs.items():
        for outcome, case in zip(found.outcomes(spec), cases.values(), strict=True):
            assert isinstance(outcome, Score), (spec, case["id"], outcome)
            assert outcome.value == pytest.approx(float(expected[case["id"]][name])), (spec, case["id"])
    assert len(cases) > len(given) * 0.8


def test_adherence_is_ranked_against_labels_as_ragbench_does(data: Path) -> None:
    folder = data / "oracles" / "ragbench_eval"
    cases = json.loads((folder / "inputs.json").read_text("utf-8"))["cases"]
    expected = json.loads((folder / "expected.json").read_text("utf-8"))["cases"]
    for case, theirs in zip(cases, expected, strict=True):
        rows = zip(case["predicted_adherence"], case["true_adherence"], strict=True)
        known = [(1 - predicted, not adheres) for predicted, adheres in rows if predicted is not None]
        found = auroc([score for score, _ in known], [hallucinated for _, hallucinated in known])
        assert found == pytest.approx(theirs["hallucination_auroc"]), case["id"]
