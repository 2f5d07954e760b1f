"""Train judges on your corpus: generate questions, answers and negative examples, and fine-tune models on them.

Saad-Falcon et al. 2024 (ARES), arXiv 2311.09476.
"""

from __future__ import annotations

from ragboard.training.optimise import Epoch, TrainConfig
from ragboard.training.synth import FORMAT_ANSWERS, SynthConfig, SynthFormat, SynthResult, choose_passages, synthesise
from ragboard.training.train import TrainResult, train_judge

__all__ = [
    "FORMAT_ANSWERS",
    "Epoch",
    "SynthConfig",
    "SynthFormat",
    "SynthResult",
    "TrainConfig",
    "TrainResult",
    "choose_passages",
    "synthesise",
    "train_judge",
]
