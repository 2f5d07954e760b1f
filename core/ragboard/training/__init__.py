"""Judges trained on synthetic data: a cross-encoder for each quality, with a card that says how good it is (ARES)."""

from __future__ import annotations

from ragboard.training.nouns import Course, Epoch, Pupil, Trained
from ragboard.training.train import train_judge

__all__ = ["Course", "Epoch", "Pupil", "Trained", "train_judge"]
