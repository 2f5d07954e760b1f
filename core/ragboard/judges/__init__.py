"""Judges: the questions one can ask, and who answers them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ragboard.errors import SettingError
from ragboard.judges.base import Judge
from ragboard.judges.embedded import EmbeddedJudge
from ragboard.judges.llm import Endpoint, Limits, LlmJudge, OpenAiEmbedder, judge_from, openai_endpoint
from ragboard.judges.local import CrossSimilarity, NliJudge, StEmbedder
from ragboard.judges.options import JudgeOptions
from ragboard.judges.panel import Panel
from ragboard.judges.replay import RecordingJudge, ReplayJudge
from ragboard.judges.trained import TrainedJudge
from ragboard.records import JsonValue
from ragboard.tasks import Role

__all__ = [
    "EmbeddedJudge",
    "Judge",
    "JudgeOptions",
    "LlmJudge",
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


def judge_named(
    name: str,
    *,
    endpoint: Endpoint | None = None,
    parameters: Mapping[str, JsonValue] | None = None,
    prompts: Path | None = None,
    examples: Path | None = None,
) -> Judge:
    """The judge of that name; a model is asked at the endpoint, else at that of the environment.

    Raises SettingError naming what there is, JudgeError without credentials or model.
    """
    kind, _, rest = name.partition(":")
    if name == "embedded":
        return EmbeddedJudge()
    if kind == "replay" and rest:
        return ReplayJudge.from_file(Path(rest))
    if kind == "openai" and rest:
        return LlmJudge(rest, endpoint or openai_endpoint(), parameters=parameters, prompts=prompts, examples=examples)
    if kind == "nli" and rest:
        return NliJudge(rest)
    if kind == "trained" and rest:
        return TrainedJudge(rest)
    raise SettingError(
        f"no judge is called {name!r}; there are embedded, openai:MODEL, nli:MODEL, trained:FOLDER and replay:FILE"
    )


def embedder_named(name: str, *, endpoint: Endpoint | None = None) -> Judge:
    """Who says how near two texts are. Raises as `judge_named` does."""
    kind, _, rest = name.partition(":")
    if kind == "openai" and rest:
        return OpenAiEmbedder(rest, endpoint or openai_endpoint())
    if kind == "st" and rest:
        return StEmbedder(rest)
    if kind == "ce" and rest:
        return CrossSimilarity(rest)
    if name == "embedded":
        return EmbeddedJudge()
    raise SettingError(f"no embedder is called {name!r}; there are embedded, openai:MODEL, st:MODEL and ce:MODEL")


def _bearing(options: JudgeOptions) -> dict[str, Any]:
    """What the options say of how a server is asked."""
    limits = Limits(
        concurrency=options.concurrency,
        requests_per_minute=options.requests_per_minute,
        tokens_per_minute=options.tokens_per_minute,
    )
    return {"limits": limits, "timeout": options.deadline}


def panel_named(options: JudgeOptions, environment: Mapping[str, str] | None = None) -> Panel:
    """The panel that the options name; its models share one endpoint, and a name is one judge.

    The key is in `environment`, else in that of this process.
    Raises SettingError for a name, parameter or prompt that cannot be, JudgeError without credentials.
    """
    chosen: tuple[tuple[Role, str | None], ...] = (("extract", options.extract), ("verify", options.verify))
    judging: dict[Role, str] = {role: name for role, name in chosen if name}
    endpoint = None
    if options.asks_models:
        endpoint = replace(openai_endpoint(options.base_url, environment), **_bearing(options))
    judges = {
        name: judge_named(
            name,
            endpoint=endpoint,
            parameters=options.parameters,
            prompts=options.prompts,
            examples=options.examples,
        )
        for name in dict.fromkeys((options.judge, *judging.values()))
    }
    roles: dict[Role, Judge] = {role: judges[name] for role, name in judging.items()}
    if options.embed:
        roles["embed"] = embedder_named(options.embed, endpoint=endpoint)
    return Panel(judge=judges[options.judge], roles=roles)
