"""Tests of citation metrics: by hand, against the original code, and the number of calls."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.core.metrics.facts import FactJudge

from ragboard import METRICS, EmbeddedJudge, Score, Unscored, evaluate
from ragboard.metrics import metrics_named
from ragboard.records import Outcome
from ragboard.tasks import Failure, Reply, SupportGrade, Verify


def outcomes(
    specs: Sequence[str], answer: str, contexts: Sequence[Any], judge: FactJudge | None = None, **cells: Any
) -> tuple[list[Outcome], FactJudge]:
    judge = judge or FactJudge()
    sample = {"question": "Which facts?", "answer": answer, "contexts": contexts, **cells}
    result = evaluate([sample], metrics=specs, judge=judge)
    return [result.outcomes(spec)[0] for spec in specs], judge


def values(specs: Sequence[str], answer: str, contexts: Sequence[Any], **cells: Any) -> list[float | str]:
    found, _ = outcomes(specs, answer, contexts, **cells)
    return [one.value if isinstance(one, Score) else one.reason for one in found]


ALCE = ("alce.citation_recall", "alce.citation_precision", "alce.citation_f1")
TREC = ("trec.support_precision", "trec.support_recall")
OWN = ("ragboard.uncited_statements", "ragboard.unsupported_citations")

FIGURE = "One is f1 and f2 [1][2]. Two is f8 [3]. Three is f3 and f4 [2][4][5]."
FIGURE_PASSAGES = ["f1", "f2", "f6", "f3", "f4"]
"""The structure of Figure 3 of ALCE: the second sentence is not supported, passage 2 is irrelevant to the third."""


@pytest.mark.parametrize("setting", ["", "(compat=True)"])
def test_figure_3_of_alce(setting: str) -> None:
    specs = [f"{spec}{setting}" for spec in ALCE]
    assert values(specs, FIGURE, FIGURE_PASSAGES) == pytest.approx([2 / 3, 4 / 6, 2 / 3])


@pytest.mark.parametrize("setting", ["", "(compat=True)"])
def test_the_example_of_trec_rag(setting: str) -> None:
    grades: dict[str, Reply | Failure] = {
        "f1 here": SupportGrade(support="partial"),
        "f3": SupportGrade(support="full"),
    }
    specs = [f"{spec}{setting}" for spec in TREC]
    found, _ = outcomes(specs, "It is f1; it is f2 [1]. It is f3 [2]. It is f4.", ["f1 here", "f3"], FactJudge(grades))
    assert found == [
        Score(value=0.75, counted="1.5 of 2 cited sentences"),
        Score(value=0.5, counted="1.5 of 3 sentences"),
    ]


def test_all_citations_and_hard_support() -> None:
    answer = "It is f1; it is f2 [1][2]. It is f3 [3]. It is f4."
    passages = ["f1", "f1 f2", "f3"]
    specs = ["trec.support_precision(citations=all)", "trec.support_recall(citations=all)"]
    assert values(specs, answer, passages) == pytest.approx([(0.75 + 1) / 2, 1.75 / 3])
    assert values(["trec.support_precision(hard=True)", "trec.support_recall(hard=True)"], answer, passages) == (
        pytest.approx([0.5, 1 / 3])
    )


def test_statements_without_citation_and_citations_without_support() -> None:
    assert values(OWN, "It is f1 [1]. It is f2; it is f3. It is f4 [9].", ["f1"]) == pytest.approx([2 / 4, 1 / 2])


def test_a_citation_of_nothing_counts_as_wrong_unless_compat() -> None:
    answer = "It is f1 [1]. It is f2 [9][9][9]."
    assert values(ALCE[:2], answer, ["f1"]) == [0.5, 0.5]
    assert values([f"{spec}(compat=True)" for spec in ALCE[:2]], answer, ["f1"]) == [0.5, 1.0]


def test_a_repeated_citation_counts_once_unless_compat() -> None:
    assert values([ALCE[1]], "It is f1 [1][1]. It is f2 [1].", ["f1"]) == [0.5]
    assert values([f"{ALCE[1]}(compat=True)"], "It is f1 [1][1]. It is f2 [1].", ["f1"]) == [pytest.approx(2 / 3)]


def test_a_sentence_without_statements_is_left_out_unless_compat() -> None:
    answer = "Here is what I found [2]. It is f1 [1]."
    assert values(ALCE[:2], answer, ["f1", "none"]) == [1.0, 1.0]
    assert values([OWN[1]], answer, ["f1", "none"]) == [0.0]


@pytest.mark.parametrize("spec", [*ALCE, *TREC, *OWN])
def test_there_is_no_score_where_there_is_nothing_to_count(spec: str) -> None:
    assert values([spec], "I cannot say.", ["f1"]) == ["refusal"]
    assert values([spec], "", ["f1"]) == ["undefined"]


def test_an_answer_that_cites_nothing_has_recall_0_and_no_precision() -> None:
    found, _ = outcomes([*ALCE, *TREC, *OWN], "It is f1. It is f2.", ["f1"])
    nothing = Unscored(reason="undefined", detail="the answer cites nothing")
    assert found == [
        Score(value=0.0, counted="0 of 2 sentences"),
        nothing,
        nothing,
        nothing,
        Score(value=0.0, counted="0 of 2 sentences"),
        Score(value=1.0, counted="2 of 2 statements"),
        nothing,
    ]


def test_with_compat_nothing_to_count_is_what_the_source_says() -> None:
    compat = [f"{spec}(compat=True)" for spec in (*ALCE, *TREC)]
    assert values(compat, "", ["f1"]) == ["undefined", "undefined", "undefined", 0.0, 0.0]
    assert values(compat, "It is f1.", ["f1"]) == [0.0, 0.0, 0.0, 0.0, 0.0]


def test_numbers_of_which_it_is_unclear_what_they_are_give_no_score_but_a_way_out() -> None:
    passages = [{"id": "2", "text": "f1"}, {"id": "1", "text": "f2"}]
    ((found, by_rank, by_id), _) = outcomes(
        [ALCE[0], f"{ALCE[0]}(by=rank)", f"{ALCE[0]}(by=id)"], "It is f1 [1].", passages
    )
    detail = "[1] can be the rank or the id of a passage; set by=rank or by=id to say what numbers mean"
    assert found == Unscored(reason="skipped", detail=detail)
    assert (by_rank, by_id) == (
        Score(value=1.0, counted="1 of 1 sentences"),
        Score(value=0.0, counted="0 of 1 sentences"),
    )


def test_a_column_can_say_what_sentences_cite() -> None:
    assert values([ALCE[0]], "It is f1. It is f2.", ["f1", "f2"], citations=[[1], [1]]) == [0.5]
    ((found,), _) = outcomes([ALCE[0]], "It is f1. It is f2.", ["f1", "f2"], citations=[1, 2])
    detail = "the column `citations` lists what the answer cites, but not which sentence cites it"
    assert found == Unscored(reason="skipped", detail=detail)


CLAIMS = {"response_claims": ["f1 it is"], "retrieved2response": [["Entailment", "Neutral"]]}


def test_a_claim_without_a_place_is_in_the_sentence_that_has_most_of_its_words() -> None:
    assert values([ALCE[0]], "It is f2 [2]. It is f1 [1].", ["f1", "f2"], **CLAIMS) == [1.0]
    ((found,), _) = outcomes([ALCE[0]], "Nothing of the kind [1].", ["f1", "f2"], **CLAIMS)
    assert found == Unscored(reason="undefined", detail="no statement was found in a sentence of the answer")


def kinds(judge: FactJudge) -> list[str]:
    return [type(task).__name__ for task in judge.asked]


def test_the_metrics_ask_nothing_that_others_have_asked() -> None:
    answer = "It is f1 [1]. It is f2 [1][2]."
    _, judge = outcomes(["ragchecker.faithfulness"], answer, ["f1", "f2"])
    _, with_citations = outcomes(["ragchecker.faithfulness", *ALCE, *TREC, *OWN], answer, ["f1", "f2"])
    assert kinds(judge) == kinds(with_citations) == ["ExtractStatements", "Verify"]
    _, both = outcomes(["ragas.faithfulness", *ALCE], answer, ["f1", "f2"])
    assert kinds(both) == ["ExtractStatements", "Verify"]


def test_passages_are_asked_together_only_where_no_single_one_is_enough() -> None:
    found, judge = outcomes(
        [*ALCE, OWN[1]], "It is f1; it is f2 and f3 [1][2][3]. It is f4 [3].", ["f1 f2", "f3", "f4"]
    )
    assert [one.value for one in found if isinstance(one, Score)] == pytest.approx([1.0, 3 / 4, 6 / 7, 1 / 4])
    assert kinds(judge) == ["ExtractStatements", "Verify", "Verify"]
    extra = judge.asked[-1]
    assert isinstance(extra, Verify)
    assert (extra.statements, extra.passages, extra.joint) == (
        ("it is f2 and f3.",),
        ("f1 f2", "f3", "f4"),
        True,
    )


def test_uncited_statements_need_no_verdict() -> None:
    _, judge = outcomes([OWN[0]], "It is f1 [1].", ["f1"])
    assert kinds(judge) == ["ExtractStatements"]


def test_compat_asks_as_often_as_the_source() -> None:
    _, judge = outcomes([f"{spec}(compat=True)" for spec in ALCE], FIGURE, FIGURE_PASSAGES)
    assert len(judge.asked) == 3 + 1 + 7  # of two citations, each alone is also the other left out
    passages = [task.passages for task in judge.asked if isinstance(task, Verify)]
    assert passages.count(("f2", "f3", "f4")) == 1
    assert {task.statements for task in judge.asked if isinstance(task, Verify)} == {
        ("One is f1 and f2.",), ("Two is f8.",), ("Three is f3 and f4.",)
    }  # fmt: skip


def test_the_embedded_judge_does_not_grade_support() -> None:
    sample = {"question": "q?", "answer": "It is old [1].", "contexts": ["It is old."]}
    with pytest.raises(
        Exception, match=r"trec\.support_recall\(compat=True\) needs .* --judge openai:MODEL .*GradeSupport"
    ):
        evaluate([sample], metrics=["trec.support_recall(compat=True)"], judge=EmbeddedJudge())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("alce.citation_recall(at_most=0)", "at_most, the number of citations, must be at least 1, got 0"),
        ("alce.citation_recall(at_most=5)", "at_most needs compat=True"),
        ("alce.citation_recall(by=id,compat=True)", "by does not apply with compat=True"),
        ("trec.support_recall(citations=some)", "got 'some', expected first or all"),
    ],
)
def test_settings_that_cannot_be(name: str, message: str) -> None:
    with pytest.raises(Exception, match=message):
        metrics_named([name])


def test_they_are_a_category_of_their_own() -> None:
    assert {spec for spec, metric in METRICS.items() if metric.category == "citations"} == {*ALCE, *TREC, *OWN}


Case = dict[str, Any]


def cases(data: Path, name: str) -> list[tuple[Case, Case]]:
    """The inputs and the expected scores of the original code, by case."""
    folder = data / "oracles" / name
    if not folder.is_dir():
        pytest.skip(f"no {name}")
    inputs, expected = (
        json.loads((folder / f"{part}.json").read_text("utf-8"))["cases"] for part in ("inputs", "expected")
    )
    by_id = {case["id"]: case for case in expected}
    return [(case, by_id[case["id"]]) for case in inputs]


def written(sentence: Case) -> str:
    facts = " and ".join(f"f{fact}" for fact in sentence["needs"])
    return f"It says {facts}{''.join(f' [{cite}]' for cite in sentence['cites'])}."


def scores(specs: Sequence[str], samples: Sequence[Case], judge: FactJudge | None = None) -> list[list[float]]:
    """The scores of each sample; every one must have all."""
    result = evaluate(samples, metrics=specs, judge=judge or FactJudge())
    found = zip(*(result.outcomes(spec) for spec in specs), strict=True)
    return [[one.value for one in row if isinstance(one, Score)] for row in found]


def test_alce_is_what_the_original_code_says(data: Path) -> None:
    given = [(case, expected) for case, expected in cases(data, "alce_citations") if case.get("sents")]
    assert len(given) > 30
    for most in {case["at_most_citations"] for case, _ in given}:
        part = [(case, expected) for case, expected in given if case["at_most_citations"] == most]
        samples = [
            {
                "question": f"Case {case['id']}?",
                "answer": " ".join(map(written, case["sents"])),
                "contexts": [
                    f"Passage {place} says {' '.join(f'f{fact}' for fact in facts)}"
                    for place, facts in enumerate(case["docs"])
                ],
            }
            for case, _ in part
        ]
        setting = "(compat=True)" if most == 3 else f"(compat=True,at_most={most or 100})"
        found = scores([f"{spec}{setting}" for spec in ALCE[:2]], samples)
        for row, (_, expected) in zip(found, part, strict=True):
            percent = [expected["citation_recall_pct"], expected["citation_precision_pct"]]
            assert row == pytest.approx([one / 100 for one in percent], abs=1e-12), expected["id"]


GRADES: Mapping[int, Reply | Failure] = {
    2: SupportGrade(support="full"),
    1: SupportGrade(support="partial"),
    0: SupportGrade(support="none"),
    -1: Failure(detail="no usable reply"),
}
SIX = {
    "weighted_precision_first_citation": "trec.support_precision(compat=True)",
    "weighted_recall_first_citation": "trec.support_recall(compat=True)",
    "weighted_precision_all_judged_citations": "trec.support_precision(citations=all,compat=True)",
    "weighted_recall_all_judged_citations": "trec.support_recall(citations=all,compat=True)",
    "hard_precision": "trec.support_precision(hard=True,compat=True)",
    "hard_recall": "trec.support_recall(hard=True,compat=True)",
}


def test_trec_support_is_what_the_original_code_says(data: Path) -> None:
    given = cases(data, "trec_rag_support")
    assert len(given) > 50
    judge, samples = FactJudge(), list[Case]()
    for case, _ in given:
        labels = [label for one in case["sentences"] for label in one]
        passages = [f"Passage {rank} of case {case['id']}" for rank in range(1, len(labels) + 1)]
        ranks = iter(range(1, len(labels) + 1))
        answer = " ".join(
            f"Sentence {number} is here{''.join(f' [{next(ranks)}]' for _ in one)}."
            for number, one in enumerate(case["sentences"])
        )
        judge.grades |= {passage: GRADES[label] for passage, label in zip(passages, labels, strict=True)}
        samples.append({"question": f"Case {case['id']}?", "answer": answer, "contexts": passages})
    found = scores(list(SIX.values()), samples, judge)
    for row, (_, expected) in zip(found, given, strict=True):
        assert row == pytest.approx([expected[name] for name in SIX], abs=1e-12), expected["id"]
