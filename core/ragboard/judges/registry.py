"""Judges and embedders by the names that people give them: one table of backends, and a panel from options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ragboard.errors import SettingError
from ragboard.judges.base import Judge
from ragboard.judges.embedded import EmbeddedJudge
from ragboard.judges.llm import Endpoint, Limits, LlmJudge, OpenAiEmbedder, openai_endpoint
from ragboard.judges.local import CrossSimilarity, NliJudge, StEmbedder
from ragboard.judges.options import JudgeOptions
from ragboard.judges.panel import Panel
from ragboard.judges.replay import ReplayJudge
from ragboard.judges.trained import TrainedJudge
from ragboard.records import JsonValue
from ragboard.tasks import Role

__all__ = ["asks_models", "asks_server", "embedder_named", "judge_named", "no_prompt", "panel_named"]


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What goes with a judge's name."""

    endpoint: Endpoint | None = None
    """Where models are asked; None: at the endpoint of the environment."""
    parameters: Mapping[str, JsonValue] | None = None
    prompts: Path | None = None
    examples: Path | None = None


@dataclass(frozen=True)
class Backend:
    """The judges named `PREFIX:REST`, or `PREFIX` alone."""

    prefix: str
    rest: str
    """What follows the prefix, as a message names it: `MODEL`; empty where nothing does."""
    make: Callable[[str, Setup], Judge]
    identity: str
    """The first part of its identity."""
    no_prompt: str = ""
    """How it answers without a prompt, for a person who looks for one; empty where it is asked with one."""
    server: bool = False
    """Whether it asks a server, for which a key may be needed."""

    @property
    def usage(self) -> str:
        """`openai:MODEL`."""
        return f"{self.prefix}:{self.rest}" if self.rest else self.prefix


def _chat(model: str, setup: Setup) -> Judge:
    return LlmJudge(
        model,
        setup.endpoint or openai_endpoint(),
        parameters=setup.parameters,
        prompts=setup.prompts,
        examples=setup.examples,
    )


_EMBEDDED = Backend(
    "embedded",
    "",
    lambda _, __: EmbeddedJudge(),
    "embedded",
    "No prompt: the built-in judge answers by rules and word weights on this machine.",
)
_COMPARED = "No prompt: a model on this machine compared the texts."

JUDGES: tuple[Backend, ...] = (
    _EMBEDDED,
    Backend("openai", "MODEL", _chat, "llm", server=True),
    Backend(
        "nli",
        "MODEL",
        lambda model, _: NliJudge(model),
        "nli",
        "No prompt: a model for entailment read passages and statements on this machine.",
    ),
    Backend("trained", "FOLDER", lambda folder, _: TrainedJudge(folder), "trained"),
    Backend(
        "replay",
        "FILE",
        lambda file, _: ReplayJudge.from_file(Path(file)),
        "replay",
        "No prompt: the answer was replayed from a file.",
    ),
)
"""Who can fill every role."""

EMBEDDERS: tuple[Backend, ...] = (
    _EMBEDDED,
    Backend(
        "openai",
        "MODEL",
        lambda model, setup: OpenAiEmbedder(model, setup.endpoint or openai_endpoint()),
        "embedding",
        "No prompt: the texts were sent to an embedding model, which answers with vectors.",
        server=True,
    ),
    Backend("st", "MODEL", lambda model, _: StEmbedder(model), "st", _COMPARED),
    Backend("ce", "MODEL", lambda model, _: CrossSimilarity(model), "ce", _COMPARED),
)
"""Who can say how near texts are."""


def _named(name: str, backends: tuple[Backend, ...], what: str, setup: Setup) -> Judge:
    prefix, _, rest = name.partition(":")
    for backend in backends:
        if backend.prefix == prefix and (bool(rest) if backend.rest else name == prefix):
            return backend.make(rest, setup)
    *usages, last = (backend.usage for backend in backends)
    raise SettingError(f"no {what} is called {name!r}; there are {', '.join(usages)} and {last}")


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
    setup = Setup(endpoint=endpoint, parameters=parameters, prompts=prompts, examples=examples)
    return _named(name, JUDGES, "judge", setup)


def embedder_named(name: str, *, endpoint: Endpoint | None = None) -> Judge:
    """Who says how near two texts are. Raises as `judge_named` does."""
    return _named(name, EMBEDDERS, "embedder", Setup(endpoint=endpoint))


def asks_server(identity: str) -> bool:
    """Whether answers under this identity came from a server, or from a function of the user's."""
    return identity.partition("/")[0] in {"own", *(one.identity for one in (*JUDGES, *EMBEDDERS) if one.server)}


def no_prompt(identity: str) -> str:
    """Why answers under this identity have no prompt; empty where they have one."""
    kind = identity.partition("/")[0]
    if kind in ("llm", "own"):
        return ""
    known = {one.identity: one.no_prompt for one in (*JUDGES, *EMBEDDERS)}
    return known.get(kind) or "This judge is asked without a prompt."


def asks_models(options: JudgeOptions) -> bool:
    """Whether any of them is a model behind an address, for which a key may be needed."""
    servers = {backend.prefix for backend in (*JUDGES, *EMBEDDERS) if backend.server}
    named = (options.judge, options.extract, options.verify, options.embed)
    return any(name and ":" in name and name.partition(":")[0] in servers for name in named)


def panel_named(options: JudgeOptions, environment: Mapping[str, str] | None = None) -> Panel:
    """The panel that the options name; its models share one endpoint, and a name is one judge.

    The key is in `environment`, else in that of this process.
    Raises SettingError for a name, parameter or prompt that cannot be, JudgeError without credentials.
    """
    chosen: tuple[tuple[Role, str | None], ...] = (("extract", options.extract), ("verify", options.verify))
    judging: dict[Role, str] = {role: name for role, name in chosen if name}
    endpoint = None
    if asks_models(options):
        limits = Limits(
            concurrency=options.concurrency,
            requests_per_minute=options.requests_per_minute,
            tokens_per_minute=options.tokens_per_minute,
        )
        found = openai_endpoint(options.base_url, environment)
        endpoint = replace(found, limits=limits, timeout=options.deadline)
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
