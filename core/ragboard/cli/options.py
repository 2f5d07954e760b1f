"""Options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields, replace
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from ragboard.analysis import UnscoredPolicy
from ragboard.cli.run_file_options import as_json, config_of, map_options, mapping_of, reading_options
from ragboard.cli.store_option import store_option
from ragboard.errors import SettingError
from ragboard.judges import JudgeOptions
from ragboard.judges.llm.endpoint import read_headers
from ragboard.judges.redact import compile_redaction
from ragboard.prices import Prices, read_prices
from ragboard.settings import read_pairs

__all__ = [
    "SEED_TYPE",
    "Finite",
    "as_json",
    "batch_options",
    "budget_options",
    "config_of",
    "draws_option",
    "force_option",
    "judge_options",
    "limit_options",
    "map_options",
    "mapping_of",
    "markdown_option",
    "metrics_option",
    "no_cache_option",
    "plugin_option",
    "prices_option",
    "reading_options",
    "several_judges_options",
    "store_option",
    "unscored_option",
]

F = TypeVar("F", bound=Callable[..., Any])

SEED_TYPE = click.IntRange(0)
"""Type of `--seed` in commands that bootstrap: numpy requires 0 or more. The seed of `--sample` may be negative."""


class Finite(click.FloatRange):
    """A `FloatRange` that rejects NaN and infinity."""

    def _describe_range(self) -> str:
        return "" if self.min is None and self.max is None else super()._describe_range()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the value as a float. Raises click.BadParameter if it is not a finite number in the range."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number


def _read_prices(_context: click.Context, _parameter: click.Parameter, value: Path | None) -> Prices:
    return read_prices(value)


no_cache_option = click.option("--no-cache", is_flag=True, help="Do not reuse cached judge replies.")

prices_option = click.option(
    "--prices",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="RAGBOARD_PRICES",
    show_envvar=True,
    callback=_read_prices,
    help="TOML file with prices of models, which override the built-in prices.",
)

unscored_option = click.option(
    "--unscored",
    type=click.Choice(get_args(UnscoredPolicy)),
    default="excluded",
    show_default=True,
    help="How unscored samples count in means. excluded: they are left out. zero: as 0, or as the worst value if lower"
    " is better. bounds: show the lowest and the highest possible mean.",
)

force_option = click.option("--force", is_flag=True, help="Overwrite an existing file.")

markdown_option = click.option("--markdown", is_flag=True, help="Print Markdown for a pull request.")

plugin_option = click.option(
    "--plugin",
    "plugins",
    type=click.Path(path_type=Path),
    multiple=True,
    envvar="RAGBOARD_PLUGIN",
    help="Python file with your own metrics, or TOML file with aspects; repeatable.",
)

metrics_option = click.option(
    "--metrics",
    "names",
    help="Comma-separated metrics or families, such as ragchecker,ragas.faithfulness.  [default: the RAGAS paper's"
    " three metrics]",
)

draws_option = click.option(
    "--draws",
    type=click.IntRange(1),
    help="Request each judgement from chat models this many times, to see how often the replies differ.",
)

_BUDGET = (
    click.option("--max-calls", type=click.IntRange(0), help="Stop after this many requests to models."),
    click.option("--max-cost", type=click.FloatRange(0), help="Stop at this cost in US dollars."),
    click.option("--max-minutes", type=click.FloatRange(0), help="Stop after this many minutes."),
)
_LIMITS = (
    click.option("--sample", type=click.IntRange(1), help="Evaluate this many random samples."),
    click.option("--seed", type=int, default=0, show_default=True, help="Seed for --sample."),
    draws_option,
    *_BUDGET,
)


def limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --sample, --seed, --draws and the budget options. The command gets their values as the dict `limits`."""

    @wraps(command)
    def limited(
        *,
        sample: int | None,
        seed: int,
        draws: int | None,
        max_calls: int | None,
        max_cost: float | None,
        max_minutes: float | None,
        **others: Any,
    ) -> Any:
        limits = {
            "sample": sample,
            "seed": seed,
            "draws": draws,
            "max_calls": max_calls,
            "max_cost": max_cost,
            "max_minutes": max_minutes,
        }
        return command(limits=limits, **others)

    for option in reversed(_LIMITS):
        limited = option(limited)
    return limited


def budget_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --max-calls, --max-cost and --max-minutes. The command gets their values as the dict `limits`."""

    @wraps(command)
    def limited(*, max_calls: int | None, max_cost: float | None, max_minutes: float | None, **others: Any) -> Any:
        return command(limits={"max_calls": max_calls, "max_cost": max_cost, "max_minutes": max_minutes}, **others)

    for option in reversed(_BUDGET):
        limited = option(limited)
    return limited


_JUDGE_OPTIONS = (
    click.option(
        "--judge",
        default="embedded",
        envvar="RAGBOARD_JUDGE",
        show_default=True,
        show_envvar=True,
        help="Judge for every task: embedded, openai:MODEL, local, or another name that `ragboard judges` lists.",
    ),
    click.option(
        "--extract", envvar="RAGBOARD_EXTRACT", show_envvar=True, help="Judge that splits texts into statements."
    ),
    click.option(
        "--verify",
        envvar="RAGBOARD_VERIFY",
        show_envvar=True,
        help="Judge that verifies statements, such as local or local:MODEL.",
    ),
    click.option(
        "--embed",
        envvar="RAGBOARD_EMBED",
        show_envvar=True,
        help="Embedder, if the judge cannot compare texts: embedded, openai:MODEL, st:MODEL, ce:MODEL or bertscore.",
    ),
    click.option(
        "--judge-param",
        multiple=True,
        metavar="KEY=VALUE",
        help="Parameter to send to chat models, such as reasoning_effort=low; repeatable.",
    ),
    click.option(
        "--prompts",
        type=click.Path(path_type=Path, file_okay=False),
        help="Folder with prompt files that replace the built-in ones.",
    ),
    click.option(
        "--examples",
        type=click.Path(path_type=Path, dir_okay=False),
        help="TSV file with ARES's columns: few-shot examples in prompts of ARES metrics and of `synth`.",
    ),
    click.option(
        "--base-url",
        envvar="OPENAI_BASE_URL",
        show_envvar=True,
        help="URL of the model server.  [default: OpenAI]",
    ),
    click.option(
        "--header",
        "headers",
        multiple=True,
        metavar="NAME=VALUE",
        callback=lambda _context, _option, given: read_headers(given, "=", "--header"),
        help="HTTP header for every request to the model server; secret headers are not stored; repeatable.",
    ),
    click.option(
        "--redact",
        multiple=True,
        metavar="REGEX",
        callback=lambda _context, _option, given: _patterns(given),
        help="Hide matches in texts sent to a model server; @FILE reads one pattern per line, @@PATTERN is a pattern"
        " that starts with a single @; repeatable.",
    ),
    click.option(
        "--concurrency",
        type=click.IntRange(1),
        default=32,
        show_default=True,
        help="Maximum number of concurrent requests.",
    ),
    click.option("--requests-per-minute", type=click.FloatRange(0, min_open=True), help="Maximum request rate."),
    click.option("--tokens-per-minute", type=click.FloatRange(0, min_open=True), help="Maximum token rate."),
    click.option(
        "--timeout",
        "--deadline",  # the older name
        "timeout",
        type=click.FloatRange(0, min_open=True),
        default=120.0,
        show_default=True,
        help="Seconds after which a request is cancelled and sent again.",
    ),
    click.option(
        "--device",
        envvar="RAGBOARD_DEVICE",
        show_envvar=True,
        help="Where local models run: cpu, cuda, cuda:1 or mps.  [default: a GPU if there is one]",
    ),
    click.option(
        "--threads",
        type=click.IntRange(1),
        envvar="RAGBOARD_THREADS",
        show_envvar=True,
        help="CPU threads of local models.",
    ),
    click.option(
        "--backend",
        type=click.Choice(["torch", "onnx"]),
        default="torch",
        show_default=True,
        envvar="RAGBOARD_BACKEND",
        show_envvar=True,
        help="Runtime of local models that verify statements: torch, or onnx for the model's ONNX export.",
    ),
)


_BATCH_OPTIONS = (
    click.option(
        "--batch",
        is_flag=True,
        help="Send requests to a model server in batches: half the price at OpenAI, replies within 24 hours.",
    ),
    click.option(
        "--batch-interval",
        type=click.FloatRange(0, min_open=True),
        default=60.0,
        show_default=True,
        help="Maximum number of seconds between two checks of a batch.",
    ),
)


def _patterns(given: tuple[str, ...]) -> tuple[str, ...]:
    """Return the regular expressions of --redact: `@FILE` is replaced by the lines of the file, `@@` by `@`.

    Raises SettingError for a file that cannot be read or an invalid expression.
    """
    found: list[str] = []
    for one in given:
        if not one.startswith("@") or one.startswith("@@"):
            found.append(one.removeprefix("@") if one.startswith("@@") else one)
            continue
        try:
            found += [line for line in Path(one[1:]).read_text("utf-8").splitlines() if line.strip()]
        except (OSError, UnicodeDecodeError) as error:
            raise SettingError(f"--redact {one}: cannot be read: {error}") from error
    compile_redaction(found)
    return tuple(found)


def judge_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add all judge options. The command gets their values as one argument `judge_options`."""
    return _with_judge_options(command, *_JUDGE_OPTIONS)


def batch_options(command: F) -> F:
    """Add --batch and --batch-interval.

    Put this decorator above `@judge_options`: the command then gets both values inside its `JudgeOptions` argument.
    """
    for option in reversed(_BATCH_OPTIONS):
        command = option(command)
    return command


def _with_judge_options(command: Callable[..., Any], *options: Callable[..., Any]) -> Callable[..., Any]:
    """Add options to a command. It gets their values as one argument `judge_options`."""

    @wraps(command)
    def decorated(*, judge_param: tuple[str, ...], **others: Any) -> Any:
        given = {field.name: others.pop(field.name) for field in fields(JudgeOptions) if field.name in others}
        return command(judge_options=JudgeOptions(parameters=read_pairs(judge_param), **given), **others)

    for option in reversed(options):
        decorated = option(decorated)
    return decorated


def several_judges_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add all judge options, with a repeatable --judge.

    The command gets `judge_setups`: a `JudgeOptions` for each judge.
    """

    def decorated(*, judge_options: JudgeOptions, judges: tuple[str, ...], **others: Any) -> Any:
        return command(
            judge_setups=tuple(replace(judge_options, judge=name) for name in dict.fromkeys(judges)), **others
        )

    several = click.option(
        "--judge",
        "judges",
        multiple=True,
        default=("embedded",),
        envvar="RAGBOARD_JUDGE",
        show_default=True,
        show_envvar=True,
        help="Judge to compare, repeatable: embedded, openai:MODEL, nli:MODEL, or replay:FILE.",
    )
    return several(_with_judge_options(wraps(command)(decorated), *_JUDGE_OPTIONS[1:]))
