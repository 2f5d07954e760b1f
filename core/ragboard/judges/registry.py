"""Create judges and embedders from their names, and the panel of judges for an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ragboard.errors import SettingError
from ragboard.judges.base import Judge
from ragboard.judges.embedded import EmbeddedJudge
from ragboard.judges.llm import Endpoint, Limits, LlmJudge, OpenAiEmbedder, openai_endpoint
from ragboard.judges.local import BertScorer, CrossSimilarity, Hardware, LocalJudge, NliJudge, StEmbedder
from ragboard.judges.local.bert_score import DEFAULT_MODEL
from ragboard.judges.local.models import ANY_HARDWARE
from ragboard.judges.local.presets import DEFAULT
from ragboard.judges.options import JudgeOptions
from ragboard.judges.panel import Panel
from ragboard.judges.recorded import RecordedJudge
from ragboard.judges.redact import compile_redaction
from ragboard.judges.replay import ReplayJudge
from ragboard.judges.trained import TrainedJudge
from ragboard.records import JsonValue
from ragboard.sample_files import sample_folder
from ragboard.tasks import Role, Task, Verify

__all__ = [
    "EMBEDDERS",
    "JUDGES",
    "Backend",
    "embedder_named",
    "is_remote",
    "judge_named",
    "no_prompt_text",
    "panel_named",
    "reads_files",
    "uses_server",
]


ONLY_VERIFY: frozenset[type[Task]] = frozenset({Verify})
"""The task types of a judge that only verifies statements. With such a judge, the embedded judge answers the others."""


@dataclass(frozen=True, kw_only=True)
class BackendSettings:
    """Settings of the model behind a judge or embedder."""

    endpoint: Endpoint | None = None
    """The server of the models; None: the server that the environment variables name."""
    parameters: Mapping[str, JsonValue] | None = None
    """Parameters for a chat model: `temperature`."""
    prompts: Path | None = None
    """A folder with files that replace the package's prompts."""
    examples: Path | None = None
    """A tab-separated file in ARES's format with few-shot examples."""
    hardware: Hardware = ANY_HARDWARE
    """The device, threads and runtime of local models."""


@dataclass(frozen=True, kw_only=True)
class Backend:
    """A kind of judge or embedder, named `PREFIX:ARGUMENT`, or `PREFIX` alone."""

    prefix: str
    argument: str = ""
    """The name of the argument after the prefix, such as `MODEL`; empty if there is no argument."""
    summary: str
    """A description for help texts."""
    default: str = ""
    """The argument if a name has only the prefix; empty if an argument is required."""
    build: Callable[[str, BackendSettings], Judge]
    """Builds the judge from the argument and the settings."""
    identity: str
    """The first part of the judge's identity."""
    no_prompt: str = ""
    """The text to show instead of a prompt; empty if the judge uses prompts."""
    is_openai_server: bool = False
    """Whether it calls an OpenAI-compatible HTTP server, which can need an API key."""

    @property
    def usage(self) -> str:
        """The form of the names of these judges: `openai:MODEL`."""
        return f"{self.prefix}:{self.argument}" if self.argument else self.prefix

    def argument_of(self, name: str) -> str | None:
        """Return the argument in a judge's name; None if the name is not of this backend."""
        prefix, colon, argument = name.partition(":")
        if prefix != self.prefix or bool(colon) != bool(argument) or (colon and not self.argument):
            return None
        return argument or (self.default or None if self.argument else "")


def _build_chat_judge(model: str, settings: BackendSettings) -> Judge:
    return LlmJudge(
        model,
        settings.endpoint or openai_endpoint(),
        parameters=settings.parameters,
        prompts=settings.prompts,
        examples=settings.examples,
    )


_EMBEDDED = Backend(
    prefix="embedded",
    summary="rules over words, numbers and names; no model or key needed",
    build=lambda _, __: EmbeddedJudge(),
    identity="embedded",
    no_prompt="No prompt: the embedded judge answers by rules and word weights on this machine.",
)
_NO_PROMPT_FOR_TEXTS = "No prompt: a model on this machine compared the texts."

JUDGES: tuple[Backend, ...] = (
    _EMBEDDED,
    Backend(
        prefix="openai",
        argument="MODEL",
        summary="a chat model at OpenAI or any compatible server",
        build=_build_chat_judge,
        identity="llm",
        is_openai_server=True,
    ),
    Backend(
        prefix="local",
        argument="MODEL",
        summary=f"a model on this machine that verifies statements: a preset (by default {DEFAULT}) or a path",
        default=DEFAULT,
        build=lambda model, settings: LocalJudge(model, hardware=settings.hardware),
        identity="local",
        no_prompt="No prompt: a model read passages and statements on this machine.",
    ),
    Backend(
        prefix="nli",
        argument="MODEL",
        summary="the older name of local:MODEL, for an NLI cross-encoder on this machine",
        build=lambda model, settings: NliJudge(model, hardware=settings.hardware),
        identity="nli",
        no_prompt="No prompt: a model for entailment read passages and statements on this machine.",
    ),
    Backend(
        prefix="trained",
        argument="FOLDER",
        summary="cross-encoders that you trained, for the metrics of ARES",
        build=lambda folder, settings: TrainedJudge(folder, hardware=settings.hardware),
        identity="trained",
    ),
    Backend(
        prefix="replay",
        argument="FILE",
        summary="recorded replies",
        build=lambda file, _: ReplayJudge.from_file(Path(file)),
        identity="replay",
        no_prompt="No prompt: the answer was replayed from a file.",
    ),
    Backend(
        prefix="recorded",
        argument="FOLDER",
        summary="recorded human verdicts; without a folder, those of the sample data's authors",
        default=str(sample_folder() / "verdicts"),
        build=lambda folder, _: RecordedJudge.from_folder(Path(folder)),
        identity="recorded",
        no_prompt="No prompt: annotators gave this verdict earlier.",
    ),
)
"""The backends of judges."""

EMBEDDERS: tuple[Backend, ...] = (
    _EMBEDDED,
    Backend(
        prefix="openai",
        argument="MODEL",
        summary="an embedding model at OpenAI or any compatible server",
        build=lambda model, settings: OpenAiEmbedder(model, settings.endpoint or openai_endpoint()),
        identity="embedding",
        no_prompt="No prompt: the texts were sent to an embedding model, which answers with vectors.",
        is_openai_server=True,
    ),
    Backend(
        prefix="st",
        argument="MODEL",
        summary="a sentence encoder on this machine",
        build=lambda model, settings: StEmbedder(model, hardware=settings.hardware),
        identity="st",
        no_prompt=_NO_PROMPT_FOR_TEXTS,
    ),
    Backend(
        prefix="ce",
        argument="MODEL",
        summary="a cross-encoder for similarity (STS) on this machine",
        build=lambda model, settings: CrossSimilarity(model, hardware=settings.hardware),
        identity="ce",
        no_prompt=_NO_PROMPT_FOR_TEXTS,
    ),
    Backend(
        prefix="bertscore",
        argument="MODEL",
        summary=f"BERTScore by a model on this machine (by default {DEFAULT_MODEL}), for mtrag.overlap only",
        default=DEFAULT_MODEL,
        build=lambda model, settings: BertScorer(model, hardware=settings.hardware),
        identity="bertscore",
        no_prompt=_NO_PROMPT_FOR_TEXTS,
    ),
)
"""The backends of embedders."""


def _build(name: str, backends: tuple[Backend, ...], noun: str, settings: BackendSettings) -> Judge:
    for backend in backends:
        argument = backend.argument_of(name)
        if argument is not None:
            return backend.build(argument, settings)
    *usages, last = (backend.usage for backend in backends)
    raise SettingError(f"no {noun} is called {name!r}; use {', '.join(usages)} or {last}")


def judge_named(
    name: str,
    *,
    endpoint: Endpoint | None = None,
    parameters: Mapping[str, JsonValue] | None = None,
    prompts: Path | None = None,
    examples: Path | None = None,
    hardware: Hardware = ANY_HARDWARE,
) -> Judge:
    """Return the judge with this name. If `endpoint` is None, the environment variables name the server of chat models.

    Raises SettingError for an unknown name, and JudgeError if credentials or a model are missing.
    """
    settings = BackendSettings(
        endpoint=endpoint, parameters=parameters, prompts=prompts, examples=examples, hardware=hardware
    )
    return _build(name, JUDGES, "judge", settings)


def embedder_named(name: str, *, endpoint: Endpoint | None = None, hardware: Hardware = ANY_HARDWARE) -> Judge:
    """Return the embedder with this name. Raises SettingError and JudgeError as `judge_named` does."""
    return _build(name, EMBEDDERS, "embedder", BackendSettings(endpoint=endpoint, hardware=hardware))


def is_remote(identity: str) -> bool:
    """Return whether the judge with this identity calls a server or a function of the user (`own`)."""
    return identity.partition("/")[0] in {
        "own",
        *(backend.identity for backend in (*JUDGES, *EMBEDDERS) if backend.is_openai_server),
    }


def no_prompt_text(identity: str) -> str:
    """Return the text to show for the judge with this identity instead of a prompt; empty if it uses prompts."""
    kind = identity.partition("/")[0]
    if kind in ("llm", "own"):
        return ""
    reasons = {backend.identity: backend.no_prompt for backend in (*JUDGES, *EMBEDDERS)}
    return reasons.get(kind) or "This judge uses no prompt."


def uses_server(options: JudgeOptions) -> bool:
    """Return whether any of the judges calls an OpenAI-compatible server, which can need an API key."""
    return any(":" in name and name.partition(":")[0] in _server_prefixes() for name in _names(options))


def reads_files(options: JudgeOptions) -> bool:
    """Return whether any of the judges reads files, such as a model, recorded replies or prompts of the user."""
    without = {_EMBEDDED.prefix, *_server_prefixes()}
    prefixes = (name.partition(":")[0] for name in _names(options))
    return bool(options.prompts or options.examples) or not without.issuperset(prefixes)


def _server_prefixes() -> set[str]:
    return {backend.prefix for backend in (*JUDGES, *EMBEDDERS) if backend.is_openai_server}


def _names(options: JudgeOptions) -> list[str]:
    """Return the names of the judges and the embedder."""
    return [name for name in (options.judge, options.extract, options.verify, options.embed) if name]


def panel_named(options: JudgeOptions, environment: Mapping[str, str] | None = None) -> Panel:
    """Return the judges that the options name. Roles with the same judge name share one judge.

    If `options.judge` only verifies statements, the embedded judge answers the tasks that it cannot answer. The API key
    is read from `environment`, by default the environment of this process. Raises SettingError for an invalid name,
    parameter or prompt, JudgeError without credentials.
    """
    chosen: tuple[tuple[Role, str | None], ...] = (("extract", options.extract), ("verify", options.verify))
    by_role: dict[Role, str] = {role: name for role, name in chosen if name}
    hardware = Hardware(device=options.device, threads=options.threads, backend=options.backend)
    endpoint = None
    if uses_server(options):
        limits = Limits(
            concurrency=options.concurrency,
            requests_per_minute=options.requests_per_minute,
            tokens_per_minute=options.tokens_per_minute,
        )
        endpoint = replace(
            openai_endpoint(options.base_url, environment),
            headers=options.headers,
            limits=limits,
            timeout=options.timeout,
            batch=options.batch,
            batch_interval=options.batch_interval,
            redaction=compile_redaction(options.redact),
        )
    judges = {
        name: judge_named(
            name,
            endpoint=endpoint,
            parameters=options.parameters,
            prompts=options.prompts,
            examples=options.examples,
            hardware=hardware,
        )
        for name in dict.fromkeys((options.judge, *by_role.values()))
    }
    roles: dict[Role, Judge] = {role: judges[name] for role, name in by_role.items()}
    if options.embed:
        roles["embed"] = embedder_named(options.embed, endpoint=endpoint, hardware=hardware)
    judge = judges[options.judge]
    return Panel(judge=judge, roles=roles, fallback=EmbeddedJudge() if judge.answers == ONLY_VERIFY else None)
