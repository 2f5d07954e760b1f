"""Whether a quality of ARES holds, by rules: hand-made cases, and the balanced accuracy on ARES's synthetic rows."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ragboard.judges import EmbeddedJudge
from ragboard.judges.tasks import AresQuality, Classified, Classify
from ragboard.readers.ares import AresRow, read_ares

QUESTION = "When was the Forth Bridge opened?"
PASSAGES = ("The Forth Bridge was opened on 4 March 1890. It carries two tracks.", "Ferries sailed before.")


def said(
    quality: AresQuality, answer: str = "", *, question: str = QUESTION, contexts: tuple[str, ...] = PASSAGES
) -> Classified:
    task = Classify(quality=quality, question=question, contexts=contexts, answer=answer)
    (reply,) = asyncio.run(EmbeddedJudge().answer([task]))
    assert isinstance(reply, Classified)
    return reply


def test_passages_are_relevant_where_a_sentence_helps() -> None:
    found = said("context_relevance")
    assert found.holds
    assert found.reason.startswith("2 of 3 sentences help to answer the question, the best by 0.")
    assert not said("context_relevance", contexts=("Ferries sailed before.",)).holds
    assert not said("context_relevance", contexts=("",)).holds


def test_an_answer_is_faithful_where_every_statement_is_supported() -> None:
    assert said("answer_faithfulness", "The Forth Bridge was opened in 1890. It carries two tracks.").holds
    found = said("answer_faithfulness", "The Forth Bridge was opened in 1890. It is painted red by forty men.")
    assert not found.holds
    assert found.reason.startswith("The passages support 1 of 2 statements, the least by 0.")
    assert not said("answer_faithfulness", "The Forth Bridge was opened in 1891.").holds
    assert not said("answer_faithfulness", "The Forth Bridge was opened in 1890.", contexts=("It rains.",)).holds


def test_an_answer_of_one_figure_is_held_against_the_passages_as_it_is() -> None:
    assert said("answer_faithfulness", "1890").holds
    assert not said("answer_faithfulness", "1891").holds


def test_an_answer_that_declines_states_nothing_unfaithful_and_is_not_relevant() -> None:
    declines = "I do not know."
    assert said("answer_faithfulness", declines) == Classified(
        holds=True, reason="It declines to answer: it states nothing that could be unfaithful."
    )
    assert not said("answer_relevance", declines).holds


def test_an_answer_is_relevant_by_its_rating_whether_true_or_not() -> None:
    assert said("answer_relevance", "The Forth Bridge was opened on 4 March 1766.").holds
    assert said("answer_relevance", "In 1890.").holds
    assert not said("answer_relevance", QUESTION).holds


def test_a_sentence_that_shares_no_word_with_the_question_is_about_something_else() -> None:
    found = said("answer_relevance", "Ships of the royal navy left their harbour in July 1890.")
    assert not found.holds
    assert found.reason.startswith("It shares no word with the question. Rated 0.")


@pytest.mark.parametrize(
    ("quality", "least"), [("context_relevance", 0.97), ("answer_faithfulness", 0.91), ("answer_relevance", 0.68)]
)
def test_it_tells_the_synthetic_rows_of_ares_apart_as_documented(
    data: Path, quality: AresQuality, least: float
) -> None:
    rows = [row for row in read_ares(data / "ares" / "nq_synthetic_queries_300.tsv") if _judgeable(row, quality)]
    held = [said(quality, row.answer, question=row.question, contexts=(row.document,)).holds for row in rows]
    right = {label: [at for at, row in enumerate(rows) if getattr(row, quality) is label] for label in (True, False)}
    shares = [sum(held[at] is label for at in places) / len(places) for label, places in right.items()]
    assert least < sum(shares) / 2 < least + 0.03


def _judgeable(row: AresRow, quality: AresQuality) -> bool:
    return getattr(row, quality) is not None and (quality == "context_relevance" or bool(row.answer.strip()))
