"""Judges and embedders that run a model on this machine.

Fact checkers and NLI models verify statements. Encoders and STS models compare texts. torch and sentence-transformers
come with the extra `ragboard[local]`. They are imported when a model is used.
"""

from __future__ import annotations

from ragboard.judges.local.bert_score import BertScorer
from ragboard.judges.local.embedder import StEmbedder
from ragboard.judges.local.judge import LocalJudge, NliJudge
from ragboard.judges.local.models import Hardware
from ragboard.judges.local.presets import Preset, presets
from ragboard.judges.local.similarity import CrossSimilarity

__all__ = ["BertScorer", "CrossSimilarity", "Hardware", "LocalJudge", "NliJudge", "Preset", "StEmbedder", "presets"]
