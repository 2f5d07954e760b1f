"""Judges and embedders, which answer the tasks of `ragboard.tasks`."""

from __future__ import annotations

from ragboard.judges.base import Judge
from ragboard.judges.embedded import EmbeddedJudge
from ragboard.judges.llm import LlmJudge, OpenAiEmbedder, judge_from
from ragboard.judges.local import LocalJudge, NliJudge, StEmbedder
from ragboard.judges.options import JudgeOptions
from ragboard.judges.panel import Panel
from ragboard.judges.registry import embedder_named, judge_named, panel_named
from ragboard.judges.replay import RecordingJudge, ReplayJudge
from ragboard.judges.trained import TrainedJudge

__all__ = [
    "EmbeddedJudge",
    "Judge",
    "JudgeOptions",
    "LlmJudge",
    "LocalJudge",
    "NliJudge",
    "OpenAiEmbedder",
    "Panel",
    "RecordingJudge",
    "ReplayJudge",
    "StEmbedder",
    "TrainedJudge",
    "embedder_named",
    "judge_from",
    "judge_named",
    "panel_named",
]
