"""Judges that were trained on a corpus of one's own: one cross-encoder a quality, which says whether it holds.

What they are made of is in one folder: `judge.json`, a card, and for each quality the model's files. torch and
sentence-transformers come with the extra `ragboard[local]` and are imported when a model is used.
"""

from __future__ import annotations

from ragboard.judges.trained.judge import TrainedJudge

__all__ = ["TrainedJudge"]
