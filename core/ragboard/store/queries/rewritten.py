"""Questions of conversations that a judge rewrote so that they make sense without the earlier turns."""

from __future__ import annotations

from typing import NamedTuple

from ragboard.store.queries.query import Connection

__all__ = ["RewrittenQuestion", "rewritten_question", "rewritten_questions", "save_rewritten"]


class RewrittenQuestion(NamedTuple):
    """A rewritten question, and the judge that wrote it."""

    text: str
    author: str


def rewritten_questions(connection: Connection) -> set[tuple[str, str]]:
    """Return (question, history as in `history_json`) of every question that was rewritten."""
    return set(connection.execute("SELECT question, history::VARCHAR FROM rewritten_questions").fetchall())


def rewritten_question(connection: Connection, question: str, history: str) -> RewrittenQuestion | None:
    """Return the rewritten form of a question with this history; None if there is none."""
    row = connection.execute(
        "SELECT rewritten, author FROM rewritten_questions WHERE question = ? AND history::VARCHAR = ?",
        [question, history],
    ).fetchone()
    return RewrittenQuestion(*row) if row else None


def save_rewritten(connection: Connection, question: str, history: str, text: str, author: str) -> None:
    """Store the rewritten form of a question with this history, instead of an earlier one."""
    connection.execute(
        "DELETE FROM rewritten_questions WHERE question = ? AND history::VARCHAR = ?", [question, history]
    )
    connection.execute(
        "INSERT INTO rewritten_questions VALUES (?, ?, ?, ?, now() AT TIME ZONE 'UTC')",
        [question, history, text, author],
    )
