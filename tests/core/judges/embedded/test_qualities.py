"""Tests of ARES's qualities by rules, and of the documented balanced accuracy."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from ragboard.judges import EmbeddedJudge
from ragboard.readers.ares import AresRow, read_ares
from ragboard.sample_files import sample_folder
from ragboard.tasks import AresQuality, Classification, Classify

QUESTION = "When was the Forth Bridge opened?"
PASSAGES = ("The Forth Bridge was opened on 4 March 1890. It carries two tracks.", "Ferries sailed before.")


def said(
    quality: AresQuality, answer: str = "", *, question: str = QUESTION, contexts: tuple[str, ...] = PASSAGES
) -> Classification:
    task = Classify(quality=quality, question=question, contexts=contexts, answer=answer)
    (reply,) = asyncio.run(EmbeddedJudge().answer([task]))
    assert isinstance(reply, Classification)
    return reply


def test_passages_are_relevant_where_a_sentence_helps() -> None:
    found = said("context_relevance")
    assert found.holds
    assert found.reason.startswith("2 of 3 sentences help to answer the question; best score 0.")
    assert not said("context_relevance", contexts=("Ferries sailed before.",)).holds
    assert not said("context_relevance", contexts=("",)).holds


def test_an_answer_is_faithful_where_every_statement_is_supported() -> None:
    assert said("answer_faithfulness", "The Forth Bridge was opened in 1890. It carries two tracks.").holds
    found = said("answer_faithfulness", "The Forth Bridge was opened in 1890. It is painted red by forty men.")
    assert not found.holds
    assert found.reason.startswith("The passages support 1 of 2 statements; lowest score 0.")
    assert not said("answer_faithfulness", "The Forth Bridge was opened in 1891.").holds
    assert not said("answer_faithfulness", "The Forth Bridge was opened in 1890.", contexts=("It rains.",)).holds


def test_an_answer_of_one_number_is_compared_with_the_passages() -> None:
    assert said("answer_faithfulness", "1890").holds
    assert not said("answer_faithfulness", "1891").holds


def test_an_answer_that_declines_states_nothing_unfaithful_and_is_not_relevant() -> None:
    declines = "I do not know."
    assert said("answer_faithfulness", declines) == Classification(
        holds=True, reason="It declines to answer and has no statement that could be unfaithful."
    )
    assert not said("answer_relevance", declines).holds


def test_an_answer_is_relevant_by_its_rating_whether_true_or_not() -> None:
    assert said("answer_relevance", "The Forth Bridge was opened on 4 March 1766.").holds
    assert said("answer_relevance", "In 1890.").holds
    assert not said("answer_relevance", QUESTION).holds


BALANCED: dict[str, dict[AresQuality, float]] = {
    "synthetic": {"context_relevance": 0.99, "answer_faithfulness": 0.96, "answer_relevance": 0.69},
    "sample": {"context_relevance": 0.67, "answer_faithfulness": 0.67, "answer_relevance": 0.43},
}
"""Balanced accuracy as `docs/background/judges.md` has it."""


@pytest.mark.parametrize(("quality", "documented"), BALANCED["synthetic"].items())
def test_it_tells_the_synthetic_rows_of_ares_apart_as_documented(
    data: Path, quality: AresQuality, documented: float
) -> None:
    rows = read_ares(data / "ares" / "nq_synthetic_queries_300.tsv")
    assert balanced_accuracy(rows, quality) == pytest.approx(documented, abs=0.006)


@pytest.mark.parametrize(("quality", "documented"), BALANCED["sample"].items())
def test_it_tells_the_authors_labels_apart_as_documented(quality: AresQuality, documented: float) -> None:
    labels = sample_folder() / "labels"
    rows = [*read_ares(labels / "qualities.tsv"), *read_ares(labels / "answers.tsv")]
    assert balanced_accuracy(rows, quality) == pytest.approx(documented, abs=0.006)


def balanced_accuracy(rows: Sequence[AresRow], quality: AresQuality) -> float:
    """The mean of the share of Yes and the share of No that the judge says too."""
    right: dict[bool, list[bool]] = {True: [], False: []}
    for row in rows:
        label: bool | None = getattr(row, quality)
        if label is not None and (quality == "context_relevance" or row.answer.strip()):
            answer = "" if quality == "context_relevance" else row.answer
            found = said(quality, answer, question=row.question, contexts=(row.document,))
            right[label].append(found.holds is label)
    return sum(sum(each) / len(each) for each in right.values()) / 2
