"""What training is made of: how it is to be done, what it is done on, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from ragboard.judges.trained.files import Taught
from ragboard.tasks import AresQuality
from ragboard.training.scores import Scored

__all__ = ["Course", "Epoch", "Hear", "Pupil", "Trained"]


@dataclass(frozen=True, kw_only=True)
class Course:
    """How to train; with the data, the model and the machine it decides every weight."""

    model: str | None = None
    """A folder or a name on Hugging Face; None: MiniLM, from its package where that is installed."""
    epochs: int = 10
    """At most."""
    patience: int = 3
    """Stop after so many epochs without a lower loss on the documents for validation."""
    batch: int = 8
    learning_rate: float = 1e-4
    """The highest; it rises over the first tenth of the steps, and then falls to 0."""
    max_length: int | None = None
    """Tokens read at once; None: 256, or what the model can read where that is less."""
    seed: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Epoch:
    """One pass over the examples to train on, and how the model does after it."""

    number: int
    training_loss: float
    """Mean cross-entropy while it learnt; lower is better."""
    validation_loss: float
    """Mean cross-entropy on documents that it does not learn from."""
    validation_auroc: float


@dataclass(frozen=True, kw_only=True)
class Pupil:
    """One quality, and how learning it went."""

    quality: AresQuality
    taught: Taught
    device: str
    sizes: Mapping[str, tuple[int, int]]
    """By side of the split, how many examples hold and how many do not."""
    dropped: Mapping[str, int]
    """Rows that were not used, by reason."""
    epochs: tuple[Epoch, ...]
    kept: int
    """The number of the epoch whose weights were kept."""
    scores: tuple[Scored, ...]
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A judge that was trained."""

    folder: Path
    model: str
    documents: Mapping[str, int]
    """How many documents each side of the split has."""
    pupils: tuple[Pupil, ...]
    left_out: Mapping[AresQuality, str]
    """Qualities that were not trained, and why."""


Hear: TypeAlias = Callable[[AresQuality, int, int, Epoch | None], None]
"""Told of every step: the quality, steps done, steps at most, and the epoch where one just ended."""
