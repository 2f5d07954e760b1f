"""Judges: the questions one can ask, and who answers them."""

from __future__ import annotations

from pathlib import Path

from ragboard.errors import SettingError
from ragboard.judges.embedded import EmbeddedJudge
from ragboard.judges.llm import LlmJudge, OpenAiEmbedder, judge_from, openai_endpoint
from ragboard.judges.local import NliJudge, StEmbedder
from ragboard.judges.panel import Panel
from ragboard.judges.replay import RecordingJudge, ReplayJudge
from ragboard.judges.tasks import Judge, Role

__all__ = [
    "EmbeddedJudge",
    "Judge",
    "LlmJudge",
    "NliJudge",
    "OpenAiEmbedder",
    "Panel",
    "RecordingJudge",
    "ReplayJudge",
    "StEmbedder",
    "embedder_named",
    "judge_from",
    "judge_named",
    "panel_named",
]


def judge_named(name: str) -> Judge:
    """The judge of that name. Raises SettingError naming what there is, JudgeError without credentials or model."""
    kind, _, rest = name.partition(":")
    if name == "embedded":
        return EmbeddedJudge()
    if kind == "replay" and rest:
        return ReplayJudge.from_file(Path(rest))
    if kind == "openai" and rest:
        return LlmJudge(rest, openai_endpoint())
    if kind == "nli" and rest:
        return NliJudge(rest)
    raise SettingError(f"no judge is called {name!r}; there are embedded, openai:MODEL, nli:MODEL and replay:FILE")


def embedder_named(name: str) -> Judge:
    """Who says how near two texts are. Raises as `judge_named` does."""
    kind, _, rest = name.partition(":")
    if kind == "openai" and rest:
        return OpenAiEmbedder(rest, openai_endpoint())
    if kind == "st" and rest:
        return StEmbedder(rest)
    if name == "embedded":
        return EmbeddedJudge()
    raise SettingError(f"no embedder is called {name!r}; there are embedded, openai:MODEL and st:MODEL")


def panel_named(judge: str, *, embed: str | None = None) -> Panel:
    """A panel in which that judge fills every role, save that `embed` compares texts where it is given."""
    roles: dict[Role, Judge] = {} if embed is None else {"embed": embedder_named(embed)}
    return Panel(judge=judge_named(judge), roles=roles)
