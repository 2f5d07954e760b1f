"""Judges that were trained on the user's corpus: one cross-encoder per ARES quality.

A judge is a folder with `judge.json`, a summary (`card.md`), and a subfolder with a model for each quality. torch and
sentence-transformers come with the extra `ragboard[local]`. They are imported when a model is used.
"""

from __future__ import annotations

from ragboard.judges.trained.judge import TrainedJudge

__all__ = ["TrainedJudge"]
