"""Judges trained on synthetic data: questions and answers from a corpus with negatives, and a judge fitted to them.

Saad-Falcon et al. 2024 (ARES), arXiv 2311.09476.
"""

from __future__ import annotations

from ragboard.training.optimise import Epoch, TrainConfig
from ragboard.training.synth import KINDS, Kind, SynthConfig, SynthResult, choose, synthesise
from ragboard.training.train import TrainResult, train_judge

__all__ = [
    "KINDS",
    "Epoch",
    "Kind",
    "SynthConfig",
    "SynthResult",
    "TrainConfig",
    "TrainResult",
    "choose",
    "synthesise",
    "train_judge",
]
