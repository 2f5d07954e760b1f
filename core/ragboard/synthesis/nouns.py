"""What synthetic data is made of: how it is to be made, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ragboard.tasks import AnswerKind, Example

__all__ = ["KINDS", "Kind", "Recipe", "Synthetic"]

Kind = Literal["ares", "wikieval"]
KINDS: Mapping[Kind, tuple[AnswerKind, ...]] = {
    "ares": ("grounded", "contradictory"),
    "wikieval": ("grounded", "unaided", "incomplete"),
}
"""The answers that each kind of data takes."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How the data is to be made; with the judge and the corpus it decides every row."""

    kind: Kind = "ares"
    passages: int | None = None
    """Passages to write questions to, drawn at random; None: all that are long enough."""
    questions: int = 3
    """Questions to a passage, at most."""
    least_words: int = 30
    """Shorter passages get no questions, but the round trip may still lead to them."""
    seed: int = 0
    examples: tuple[Example, ...] = ()
    """The user's own, shown to the judge."""


@dataclass(frozen=True, kw_only=True)
class Synthetic:
    """What came of it."""

    file: Path
    passages: int
    """Passages that questions were asked to."""
    written: int
    """Questions before the round trip."""
    kept: int
    elsewhere: int
    """Questions for which another passage came first."""
    repeated: int
    rows: int
    labels: Mapping[str, Mapping[str, int]]
    """For each quality how many rows say Yes and how many No; empty for pairs."""
    calls: int
    """Calls to models this time; what a journal already held is not asked again."""
    planned: int
    """Most calls without repairs."""
    failed: Mapping[str, int] = field(default_factory=dict[str, int])
    """Tasks without a usable reply, by reason."""
    stopped: str = ""
    """Why not all was asked; empty where all was."""
