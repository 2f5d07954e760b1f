"""Tests of CRAG's truthfulness: correct, missing and wrong answers, and the mean."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.core.metrics.asked import SAMPLE, outcome_of

from ragboard import EmbeddedJudge, JudgeError, Score, Unscored, evaluate, judge_from
from ragboard.metrics.crag import Truthfulness
from ragboard.records import JsonValue, Outcome
from ragboard.tasks import (
    ExtractedStatement,
    Extraction,
    ExtractStatements,
    Failure,
    MatchReference,
    ReferenceMatch,
    Reply,
    Task,
)

REFUSAL = Extraction(statements=(), refuses=True)


def reply(task: Task) -> Reply | Failure:
    """An answer that says sorry refuses; one that says 1871 agrees with the reference."""
    if isinstance(task, ExtractStatements):
        refuses = "sorry" in task.text
        said = task.text.replace("sorry", "").strip(" .,")
        return Extraction(statements=(ExtractedStatement(text=said),) if said else (), refuses=refuses)
    assert isinstance(task, MatchReference)
    return ReferenceMatch(matches="1871" in task.answer, reason="By the year.")


def scored(answer: str, reference: str = "In 1871.", *, compat: bool = False) -> tuple[Outcome, list[str]]:
    sample = replace(SAMPLE, answer=answer, reference=reference)
    found, asked = outcome_of(Truthfulness(compat=compat), sample, reply)
    return found, [type(task).__name__ for task in asked]


def test_a_correct_answer_counts_1_none_0_and_a_wrong_one_minus_1() -> None:
    both = ["ExtractStatements", "MatchReference"]
    assert scored("It was 1871.") == (Score(value=1.0, counted="correct: By the year."), both)
    assert scored("It was 1817.") == (Score(value=-1.0, counted="wrong: By the year."), both)
    assert scored("sorry") == (Score(value=0.0, counted="missing: the answer refuses"), both[:1])
    assert scored("sorry, 1817") == (Score(value=-1.0, counted="wrong: By the year."), both)


def test_an_equal_answer_and_an_empty_one_need_no_judge() -> None:
    assert scored(" in 1871. ") == (Score(value=1.0, counted="correct: the answer equals the reference"), [])
    assert scored("  ") == (Score(value=0.0, counted="missing: the answer is empty"), [])
    assert scored("In 1871.", " ") == (Unscored(reason="undefined", detail="the reference is empty"), [])


def test_compat_goes_by_the_words_of_the_source() -> None:
    assert scored("I Don't Know, 1871?", compat=True) == (
        Score(value=0.0, counted='missing: the answer contains "i don\'t know"'),
        [],
    )
    assert scored("sorry", compat=True) == (Score(value=-1.0, counted="wrong: By the year."), ["MatchReference"])
    invalid = "Invalid question"
    assert scored("An invalid one, 1817", invalid, compat=True)[0] == Score(
        value=1.0, counted='correct: "invalid" is in the answer and the reference'
    )
    assert scored("1871", invalid, compat=True)[0] == Score(value=-1.0, counted='wrong: "invalid" is in the reference')


def test_what_is_missing_or_failed_is_unscored() -> None:
    def failing(task: Task) -> Reply | Failure:
        return Failure(detail="no JSON") if isinstance(task, MatchReference) else reply(task)

    for compat in (False, True):
        found, _ = outcome_of(Truthfulness(compat=compat), SAMPLE, failing)
        assert found == Unscored(reason="failed", detail="no JSON")
    found, asked = outcome_of(Truthfulness(), replace(SAMPLE, reference=None), reply)
    assert (found, asked) == (Unscored(reason="skipped", detail="the run file has no reference for this sample"), [])


def test_an_empty_list_of_claims_in_the_file_does_not_say_whether_the_answer_is_missing() -> None:
    claims: dict[str, JsonValue] = {"response_claims": [], "retrieved2response": [], "answer2response": []}
    found, asked = outcome_of(Truthfulness(), replace(SAMPLE, metadata=claims), reply)
    detail = "the run file's claims do not say whether the answer refuses"
    assert (found, asked) == (Unscored(reason="skipped", detail=detail), [])


def test_the_embedded_judge_refuses_in_one_line() -> None:
    with pytest.raises(JudgeError, match=r"^crag.truthfulness needs [^\n]*--judge openai:MODEL[^\n]*$"):
        evaluate([SAMPLE], metrics="crag", judge=EmbeddedJudge())


def test_the_mean_of_a_run_is_the_score_of_the_source(data: Path) -> None:
    folder = data / "oracles" / "crag_aggregate"
    cases = json.loads((folder / "inputs.json").read_text("utf-8"))["cases"]
    expected = {one["id"]: one for one in json.loads((folder / "expected.json").read_text("utf-8"))["cases"]}
    distinct = {(case["total"], case["n_correct"], case["n_missing"]): case["id"] for case in cases}
    for large in [sizes for sizes in distinct if sizes[0] > 1000][1:]:
        del distinct[large]  # one of thousands of rows shows what there is to be seen in a large one
    assert len(distinct) >= 10
    for (total, correct, missing), number in distinct.items():
        answers = ["In 1871."] * correct + ["I don't know."] * missing
        answers += ["An invalid question."] * (total - len(answers))
        rows = [{"question": f"q{row}?", "answer": text, "reference": "In 1871."} for row, text in enumerate(answers)]
        result = evaluate(rows, metrics="crag.truthfulness(compat=True)", judge=judge_from(unasked, version="1"))
        spec = "crag.truthfulness(compat=True)"
        assert result[spec].mean == pytest.approx(expected[number]["score"], abs=1e-12)
        wrong = [one for one in result.outcomes(spec) if isinstance(one, Score) and one.value == -1]
        assert len(wrong) == expected[number]["n_hallucination"]


def unasked(prompts: Sequence[str]) -> list[str]:
    raise AssertionError(f"asked {len(prompts)} times")
