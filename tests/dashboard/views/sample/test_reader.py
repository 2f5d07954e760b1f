"""Tests of the data for the statement reader."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from ragboard.analysis import JudgedStatement
from ragboard.records import Evidence, Label, Passage, Span, Statement, Verdict
from ragboard_dashboard.views.sample.reader import reader_data

PASSAGES = tuple(Passage(id=f"doc {rank}", text="😀 One sentence. Another one.", rank=rank) for rank in range(1, 5))


def mark(rank: int, start: int = 2, end: int = 15, stance: str = "for", how: str = "quoted") -> Evidence:
    return Evidence(rank=rank, start=start, end=end, stance=stance, how=how)  # type: ignore[arg-type]


def judged(
    label: Label | None, *evidence: Evidence, span: tuple[int, int] | None = None, score: float | None = None
) -> JudgedStatement:
    place = None if span is None else Span(start=span[0], end=span[1], how="verbatim")
    verdict = None if label is None else Verdict(label=label, reason="why", score=score, evidence=evidence)
    return JudgedStatement(statement=Statement(side="response", text="It is so.", span=place), verdict=verdict)


def drawn(*statements: JudgedStatement, answer: str = "It is so. It is.", chosen: int | None = None) -> dict[str, Any]:
    return reader_data(answer=answer, statements=statements, passages=PASSAGES, chosen=chosen)


def says(statement: JudgedStatement) -> str:
    return str(drawn(statement)["statements"][0]["says"])


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        (judged(None), "Not judged."),
        (judged("supported"), "Supported; the judge names no passage."),
        (judged("supported", mark(2)), "Passage 2 says this."),
        (judged("supported", mark(3), mark(1)), "Passages 1 and 3 together say this."),
        (judged("supported", mark(1), mark(2), mark(4)), "Passages 1, 2 and 4 together say this."),
        (judged("supported", mark(1), mark(1, 16, 20)), "Passage 1 says this."),
        (judged("supported", mark(1), mark(2, stance="against")), "Passage 1 says this. Passage 2 says otherwise."),
        (judged("contradicted", mark(1, stance="against")), "Passage 1 says otherwise."),
        (
            judged("contradicted", mark(1, stance="against"), mark(2, stance="against")),
            "Passages 1 and 2 say otherwise.",
        ),
        (judged("contradicted"), "Contradicted; the judge names no passage."),
        (judged("unsupported"), "No passage says this."),
        (judged("unsupported", mark(4)), "No passage says this. Nearest: passage 4."),
        (judged("unsupported", mark(4), mark(2)), "No passage says this. Nearest: passages 2 and 4."),
    ],
)
def test_the_evidence_is_put_in_words(statement: JudgedStatement, words: str) -> None:
    assert says(statement) == words


def test_evidence_in_a_passage_that_is_not_there_is_left_out() -> None:
    (statement,) = drawn(judged("supported", mark(9)))["statements"]
    assert statement["evidence"] == []
    assert statement["says"] == "Supported; the judge names no passage."


def test_evidence_is_handed_over_in_utf16_units_and_says_how_it_was_found() -> None:
    (statement,) = drawn(judged("supported", mark(1), mark(1, 16, 23, how="overlap")))["statements"]
    (found,) = statement["evidence"]
    assert [(m["start"], m["end"]) for m in found["marks"]] == [(3, 16), (17, 24)]
    assert found["how"] == "quoted by the judge, found by word overlap"


@pytest.mark.parametrize("stretch", [(-1, 4), (4, 4), (8, 2), (2, 10_000)])
def test_evidence_that_leaves_the_passage_names_it_without_marking_it(stretch: tuple[int, int]) -> None:
    (statement,) = drawn(judged("supported", mark(1, *stretch)))["statements"]
    assert statement["evidence"] == [{"rank": 1, "look": "supported", "how": "", "marks": []}]


@pytest.mark.parametrize(
    ("label", "stance", "look"),
    [
        ("supported", "for", "supported"),
        ("contradicted", "against", "contradicted"),
        ("supported", "against", "contradicted"),
        ("unsupported", "for", "unsupported"),
        ("unsupported", "against", "unsupported"),
    ],
)
def test_what_is_only_nearest_never_looks_like_support(label: Label, stance: str, look: str) -> None:
    (statement,) = drawn(judged(label, mark(1, stance=stance)))["statements"]
    assert statement["evidence"][0]["marks"][0]["look"] == look


def test_where_statements_share_a_place_the_worst_verdict_comes_first() -> None:
    statements = [judged(label, span=(0, 9)) for label in ("supported", None, "contradicted", "unsupported")]
    (piece,) = drawn(*statements)["pieces"]
    assert piece == {"start": 0, "end": 9, "of": [2, 3, 1, 0]}


def test_a_statement_without_a_place_in_the_answer_is_listed_and_not_marked() -> None:
    data = drawn(judged("supported"), judged("supported", span=(0, 99)))
    assert data["pieces"] == []
    assert len(data["statements"]) == 2


def test_verdicts_are_counted_and_a_missing_one_is_not_a_zero_of_anything() -> None:
    counted = drawn(judged("supported"), judged("supported"), judged(None))["verdicts"]
    assert {look: verdict["count"] for look, verdict in counted.items()} == {
        "supported": 2,
        "unsupported": 0,
        "contradicted": 0,
        "supported alone": 0,
        "unsupported alone": 0,
        "contradicted alone": 0,
        "unjudged": 1,
    }


def alone(**labels: Label) -> JudgedStatement:
    """A statement that single passages were held against: `p2="supported"`."""
    single = {int(rank[1:]): Verdict(label=label) for rank, label in labels.items()}
    return JudgedStatement(statement=Statement(side="response", text="It is so."), verdict=None, single=single)


TOGETHER = "Judged against each passage separately, not against all together."


@pytest.mark.parametrize(
    ("statement", "look", "words", "named"),
    [
        (alone(p1="unsupported", p2="supported"), "supported alone", "Passage 2 says this.", {2: "supported"}),
        (
            alone(p1="supported", p3="contradicted", p4="supported"),
            "supported alone",
            "Passages 1 and 4 each say this. Passage 3 says otherwise.",
            {1: "supported", 3: "contradicted", 4: "supported"},
        ),
        (alone(p1="contradicted"), "contradicted alone", "Passage 1 says otherwise.", {1: "contradicted"}),
        (alone(p1="unsupported"), "unsupported alone", "No single passage says this.", {}),
        (alone(p9="supported"), "supported alone", "Passage 9 says this.", {}),
    ],
)
def test_verdicts_on_single_passages_are_shown_differently_from_joint_verdicts(
    statement: JudgedStatement, look: str, words: str, named: dict[int, str]
) -> None:
    (shown,) = drawn(statement)["statements"]
    assert (shown["verdict"], shown["says"]) == (look, f"{words} {TOGETHER}")
    assert {found["rank"]: found["look"] for found in shown["evidence"]} == named
    assert {found["how"] for found in shown["evidence"]} <= {"only this passage"}


def test_a_verdict_on_all_passages_goes_before_what_single_ones_say() -> None:
    both = replace(judged("unsupported"), single={1: Verdict(label="supported")}, origin="wrong_relevant")
    (shown,) = drawn(both)["statements"]
    assert (shown["verdict"], shown["says"]) == ("unsupported", "No passage says this.")
    assert shown["origin"] == "Not in the reference."


def test_support_is_reported_only_where_the_judge_gave_one() -> None:
    statements = drawn(judged("supported", score=0.405), judged("supported"), judged("contradicted", score=0.0))
    assert [statement["support"] for statement in statements["statements"]] == ["support 0.41", "", "support 0.00"]


@pytest.mark.parametrize(("chosen", "shown"), [(None, None), (0, 0), (1, 1), (2, None), (-1, None)])
def test_a_choice_that_is_no_statement_is_no_choice(chosen: int | None, shown: int | None) -> None:
    assert drawn(judged("supported"), judged(None), chosen=chosen)["chosen"] == shown


def test_a_retriever_score_of_zero_is_shown_and_a_missing_one_is_not() -> None:
    passages = [Passage(id="a", text="", rank=1, score=0.0), Passage(id="b", text="", rank=2)]
    data = reader_data(answer="", statements=(), passages=passages, chosen=None)
    assert [passage["score"] for passage in data["passages"]] == ["score 0", ""]


def test_the_grade_of_a_passage_comes_before_the_retrievers_score() -> None:
    passages = [Passage(id="a", text="", rank=1, score=0.5), Passage(id="b", text="", rank=2)]
    data = reader_data(answer="", statements=(), passages=passages, chosen=None, grades={1: 0.0, 2: 3.0})
    assert [passage["score"] for passage in data["passages"]] == ["relevance 0 of 3 · score 0.5", "relevance 3 of 3"]


def test_no_text_brings_controls_that_reorder_its_neighbours() -> None:
    trick = "\u202etrick\u2066"
    verdict = Verdict(label="supported", reason=trick)
    statement = JudgedStatement(statement=Statement(side="response", text=trick), verdict=verdict)
    passage = Passage(id=trick, text=trick, rank=1)
    data = reader_data(answer=trick, statements=[statement], passages=[passage], chosen=None)
    handed = json.dumps(data, ensure_ascii=False)
    assert handed.count("trick") == 5
    assert "\u202e" not in handed
    assert "\u2066" not in handed


def test_markup_is_handed_over_unchanged() -> None:
    assert drawn(answer="<b>&amp;</b>")["answer"] == "<b>&amp;</b>"


def many(count: int) -> Sequence[JudgedStatement]:
    return [judged("supported", mark(1), span=(4 * n, 4 * n + 3)) for n in range(count)]


def test_a_long_answer_with_thousands_of_statements_is_handed_over_whole() -> None:
    answer = "😀 x " * 250_000
    data = drawn(*many(2_000), answer=answer)
    assert data["answer"] == answer
    assert [piece["of"] for piece in data["pieces"]] == [[n] for n in range(2_000)]
    assert data["pieces"][-1]["start"] == 1_999 * 5


def test_a_passage_whose_id_is_its_rank_is_named_once() -> None:
    passages = (Passage(id="1", text="One.", rank=1), Passage(id="b", text="Two.", rank=2))
    shown = reader_data(answer="It is so.", statements=(), passages=passages, chosen=None)
    assert [(one["rank"], one["title"]) for one in shown["passages"]] == [(1, ""), (2, "b")]
