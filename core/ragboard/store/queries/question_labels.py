"""Human labels of questions: whether a question can be answered."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from ragboard.records import Answerability
from ragboard.store.queries.query import Connection

__all__ = ["QuestionLabel", "append_question_labels", "current_question_labels", "question_label"]


class QuestionLabel(NamedTuple):
    """An annotator's label: whether a question can be answered."""

    answerability: Answerability
    annotator: str
    labelled_at: datetime
    """UTC."""


def question_label(connection: Connection, question: str, history: str) -> QuestionLabel | None:
    """Return the newest label of a question; None if it has none. `history` is JSON, as returned by `history_json`."""
    row = connection.execute(
        "SELECT answerability, annotator, said AS labelled_at FROM current_question_labels"
        " WHERE question = ? AND history::VARCHAR = ?",
        [question, history],
    ).fetchone()
    return QuestionLabel(*row) if row else None


def current_question_labels(
    connection: Connection, run_id: str | None = None
) -> list[tuple[str, str, Answerability, str, datetime]]:
    """Return (question, history, answerability, annotator, time) of each current label.

    With `run_id`, only labels of the questions of this run.
    """
    return connection.execute(
        "SELECT question, history::VARCHAR, answerability, annotator, said AS labelled_at"
        " FROM current_question_labels l"
        " WHERE $run IS NULL OR EXISTS (FROM samples s WHERE s.run_id = $run AND s.question = l.question"
        " AND s.history::VARCHAR = l.history::VARCHAR) ORDER BY number",
        {"run": run_id},
    ).fetchall()


def append_question_labels(connection: Connection, labels: Iterable[tuple[str, str, Answerability | None, str]]) -> int:
    """Append labels (question, history, answerability, annotator). Return how many were appended.

    The answerability None removes the current label. A label that does not change the current label is not appended.
    """
    changed = 0
    for question, history, answerability, annotator in labels:
        changed += len(
            connection.execute(
                "INSERT INTO question_labels (question, history, answerability, annotator, said)"
                " SELECT $question, $history, $answerability, $annotator, now() AT TIME ZONE 'UTC'"
                " WHERE (SELECT arg_max_null({'a': answerability, 'b': annotator}, number) FROM question_labels"
                " WHERE question = $question AND history::VARCHAR = $history)"
                " IS DISTINCT FROM {'a': $answerability::VARCHAR, 'b': $annotator}"
                " AND ($answerability IS NOT NULL OR EXISTS (FROM current_question_labels"
                " WHERE question = $question AND history::VARCHAR = $history)) RETURNING 1",
                {"question": question, "history": history, "answerability": answerability, "annotator": annotator},
            ).fetchall()
        )
    return changed
