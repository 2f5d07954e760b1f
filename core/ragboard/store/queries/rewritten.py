"""Questions of conversations, rewritten by a judge to be understood alone."""

from __future__ import annotations

from typing import NamedTuple

from ragboard.store.queries.query import Connection

__all__ = ["RewrittenQuestion", "rewritten_question", "rewritten_questions", "save_rewritten"]


class RewrittenQuestion(NamedTuple):
    """A question that can be understood alone, and the judge who wrote it."""

    text: str
    author: str


def rewritten_questions(connection: Connection) -> set[tuple[str, str]]:
    """Return every rewritten question with its history, as `history_json` writes it."""
    return set(connection.execute("SELECT question, history::VARCHAR FROM rewritten_questions").fetchall())


def rewritten_question(connection: Connection, question: str, history: str) -> RewrittenQuestion | None:
    """Return how a question with this history was rewritten, or None."""
    row = connection.execute(
        "SELECT rewritten, author FROM rewritten_questions WHERE question = ? AND history::VARCHAR = ?",
        [question, history],
    ).fetchone()
    return RewrittenQuestion(*row) if row else None


def save_rewritten(connection: Connection, question: str, history: str, text: str, author: str) -> None:
    """Store how a question with this history was rewritten, in place of an earlier version."""
    connection.execute(
        "DELETE FROM rewritten_questions WHERE question = ? AND history::VARCHAR = ?", [question, history]
    )
    connection.execute(
        "INSERT INTO rewritten_questions VALUES (?, ?, ?, ?, now() AT TIME ZONE 'UTC')",
        [question, history, text, author],
    )
