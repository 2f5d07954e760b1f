"""A question made of a statement, and what answers it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Ask", "Asking"]

Asking = Literal["when", "where", "who", "which", "what", "how many", "how long"]


@dataclass(frozen=True, slots=True)
class Ask:
    """A question, and the statement it was made of."""

    kind: Asking
    question: str
    short: str
    """The words that answer it, as they stand in the statement or would within one."""
    statement: str
    """A whole sentence that answers it, nothing said beside it."""
    turned: str
    """The same with the time at its other end; the same again where no time can be moved."""
    subject: str = ""
    """With which the statement begins, as it reads within a sentence; empty where it begins otherwise."""
