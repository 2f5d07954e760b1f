"""What the store says of what it keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["RESULT_TABLES", "AddedRun", "AskedSample", "RunRef"]

RESULT_TABLES = (
    "scores",
    "sides",
    "statements",
    "verdicts",
    "questions",
    "sentences",
    "judgements",
    "answer_places",
    "spending",
)
"""Tables that an evaluation fills, each with a column `evaluation_id`."""


@dataclass(frozen=True, kw_only=True)
class AddedRun:
    """What became of a run handed to the store."""

    id: str
    name: str
    """What it is called in the store: a run that was there already may have been renamed."""
    samples: int
    added: bool
    """False where the very same run was there already."""


@dataclass(frozen=True, kw_only=True)
class RunRef:
    """A run in the store, and the evaluation that is meant where one is."""

    run_id: str
    name: str
    evaluation_id: str | None


class AskedSample(NamedTuple):
    """What is needed to find a sample's partner in another run."""

    id: str
    question: str
    history: str
    """As it is stored: equal where the turns are."""
