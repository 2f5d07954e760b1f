"""Judges that run a model on this machine: an NLI cross-encoder verifies, a sentence encoder compares.

torch and sentence-transformers come with the extra `ragboard[local]` and are imported when a model is used.
"""

from __future__ import annotations

from ragboard.judges.local.embedder import StEmbedder
from ragboard.judges.local.nli import NliJudge

__all__ = ["NliJudge", "StEmbedder"]
