"""Judges that run a model on this machine: an NLI cross-encoder verifies, an encoder or an STS cross-encoder compares.

torch and sentence-transformers come with the extra `ragboard[local]` and are imported when a model is used.
"""

from __future__ import annotations

from ragboard.judges.local.embedder import StEmbedder
from ragboard.judges.local.nli import NliJudge
from ragboard.judges.local.similarity import CrossSimilarity

__all__ = ["CrossSimilarity", "NliJudge", "StEmbedder"]
