"""Options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from ragboard.analysis import UnscoredPolicy
from ragboard.judges import JudgeOptions
from ragboard.prices import Prices, read_prices
from ragboard.records import JsonValue
from ragboard.settings import read_config_file, read_pairs, split_pair
from ragboard.store import Store

__all__ = [
    "SEED",
    "Finite",
    "as_json",
    "ceiling_options",
    "config_of",
    "force_option",
    "judging_options",
    "limit_options",
    "mapping_of",
    "markdown_option",
    "metrics_option",
    "no_cache_option",
    "plugin_option",
    "prices_option",
    "reading_options",
    "store_option",
    "unscored_option",
]

F = TypeVar("F", bound=Callable[..., Any])

SEED = click.IntRange(0)
"""What numpy draws by."""


class Finite(click.FloatRange):
    """A number within bounds, where there are any, neither nan nor infinite."""

    def _describe_range(self) -> str:
        return "" if self.min is None and self.max is None else super()._describe_range()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number; fails as every type of click does."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number


def _open_store(_context: click.Context, _parameter: click.Parameter, value: Path) -> Store:
    return Store(value)


store_option = click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(".ragboard"),
    envvar="RAGBOARD_STORE",
    show_default=True,
    show_envvar=True,
    callback=_open_store,
    help="Folder of the database and the journals.",
)


def _read_prices(_context: click.Context, _parameter: click.Parameter, value: Path | None) -> Prices:
    return read_prices(value)


no_cache_option = click.option("--no-cache", is_flag=True, help="Do not reuse answers of other evaluations.")

prices_option = click.option(
    "--prices",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="RAGBOARD_PRICES",
    show_envvar=True,
    callback=_read_prices,
    help="TOML file with model prices; overrides the built-in list.",
)

unscored_option = click.option(
    "--unscored",
    type=click.Choice(get_args(UnscoredPolicy)),
    default="excluded",
    show_default=True,
    help="How samples without a score count in means: excluded, zero (the worst value where lower is better), or bounds"
    " (from worst to best value).",
)

force_option = click.option("--force", is_flag=True, help="Overwrite an existing file.")

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

markdown_option = click.option("--markdown", is_flag=True, help="Print Markdown for a pull request.")

plugin_option = click.option(
    "--plugin",
    "plugins",
    type=click.Path(path_type=Path),
    multiple=True,
    envvar="RAGBOARD_PLUGIN",
    help="A Python file with metrics of your own, or a TOML file with aspects; repeatable.",
)

metrics_option = click.option(
    "--metrics",
    "names",
    help="Metrics or sources, separated by commas; else the three of ragas.  [ragchecker, ragas.faithfulness, ...]",
)

_CEILINGS = (
    click.option("--max-calls", type=click.IntRange(0), help="Stop after this many requests to models."),
    click.option("--max-cost", type=click.FloatRange(0), help="Stop at this cost in US dollars."),
    click.option("--max-minutes", type=click.FloatRange(0), help="Stop after this many minutes."),
)
_LIMITS = (
    click.option("--sample", type=click.IntRange(1), help="Evaluate this many samples, drawn at random."),
    click.option("--seed", type=int, default=0, show_default=True, help="Seed of this random choice."),
    *_CEILINGS,
)


def limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Everything that says how much is asked; the command gets it as `limits`, as `EvaluationOptions` calls them."""

    @wraps(command)
    def limited(
        *,
        sample: int | None,
        seed: int,
        max_calls: int | None,
        max_cost: float | None,
        max_minutes: float | None,
        **others: Any,
    ) -> Any:
        limits = {
            "sample": sample,
            "seed": seed,
            "max_calls": max_calls,
            "max_cost": max_cost,
            "max_minutes": max_minutes,
        }
        return command(limits=limits, **others)

    for option in reversed(_LIMITS):
        limited = option(limited)
    return limited


def ceiling_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What ends it early; the command gets it as `limits`, as `EvaluationOptions` calls them."""

    @wraps(command)
    def limited(*, max_calls: int | None, max_cost: float | None, max_minutes: float | None, **others: Any) -> Any:
        return command(limits={"max_calls": max_calls, "max_cost": max_cost, "max_minutes": max_minutes}, **others)

    for option in reversed(_CEILINGS):
        limited = option(limited)
    return limited


_JUDGING = (
    click.option(
        "--judge",
        default="embedded",
        envvar="RAGBOARD_JUDGE",
        show_default=True,
        show_envvar=True,
        help="Judge for every task: embedded, openai:MODEL, trained:FOLDER (for ARES metrics), or replay:FILE.",
    ),
    click.option(
        "--extract", envvar="RAGBOARD_EXTRACT", show_envvar=True, help="Judge that splits texts into statements."
    ),
    click.option(
        "--verify",
        envvar="RAGBOARD_VERIFY",
        show_envvar=True,
        help="Judge that verifies statements.  [nli:MODEL, ...]",
    ),
    click.option(
        "--embed",
        envvar="RAGBOARD_EMBED",
        show_envvar=True,
        help="Embedder, if the judge does not compare texts: embedded, openai:MODEL, st:MODEL or ce:MODEL.",
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
        help="Folder of prompt files that replace ragboard's.",
    ),
    click.option(
        "--examples",
        type=click.Path(path_type=Path, dir_okay=False),
        help="ARES TSV with labelled examples for chat models: for ARES metrics and synth.",
    ),
    click.option(
        "--base-url",
        envvar="OPENAI_BASE_URL",
        show_envvar=True,
        help="URL of the model server.  [default: OpenAI]",
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
        "--deadline",
        type=click.FloatRange(0, min_open=True),
        default=120.0,
        show_default=True,
        help="Seconds until a request is cancelled and sent again.",
    ),
)


def judging_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Everything that says who judges, and how; the command gets it as `judging`."""

    @wraps(command)
    def judged(
        *,
        judge: str,
        extract: str | None,
        verify: str | None,
        embed: str | None,
        judge_param: tuple[str, ...],
        prompts: Path | None,
        examples: Path | None,
        base_url: str | None,
        concurrency: int,
        requests_per_minute: float | None,
        tokens_per_minute: float | None,
        deadline: float,
        **others: Any,
    ) -> Any:
        options = JudgeOptions(
            judge=judge,
            extract=extract,
            verify=verify,
            embed=embed,
            parameters=read_pairs(judge_param),
            prompts=prompts,
            examples=examples,
            base_url=base_url,
            concurrency=concurrency,
            requests_per_minute=requests_per_minute,
            tokens_per_minute=tokens_per_minute,
            deadline=deadline,
        )
        return command(judging=options, **others)

    for option in reversed(_JUDGING):
        judged = option(judged)
    return judged


_READING = (
    click.option("--name", help="Run name; else the name in the file, else the file name."),
    click.option("--config", "pairs", multiple=True, metavar="KEY=VALUE", help="A setting of the run; repeatable."),
    click.option(
        "--config-file",
        type=click.Path(path_type=Path, dir_okay=False),
        help="JSON or TOML file with the run's settings.",
    ),
    click.option("--dataset", help="Name of the question set."),
    click.option(
        "--map",
        "maps",
        multiple=True,
        metavar="FIELD=COLUMN",
        help="Read FIELD from COLUMN; FIELD= ignores the field; repeatable.",
    ),
    click.option("--run-column", metavar="COLUMN", help="Split the file into one run for each value of COLUMN."),
    click.option("--skip-bad", is_flag=True, help="Skip bad rows and list them, instead of refusing the file."),
    click.option("--tag", "tags", multiple=True, help="A tag for the run; repeatable."),
)


def reading_options(command: F) -> F:
    """Everything that says how a run file is to be read."""
    for option in reversed(_READING):
        command = option(command)
    return command


def config_of(pairs: tuple[str, ...], file: Path | None) -> dict[str, JsonValue]:
    """The run's settings from `--config-file`, updated by `--config`."""
    return (read_config_file(file) if file else {}) | read_pairs(pairs)


def mapping_of(maps: tuple[str, ...]) -> dict[str, str | None]:
    """Field to column from `--map`; to None where the column is left empty."""
    pairs = (split_pair(text, expected="--map FIELD=COLUMN") for text in maps)
    return {field: column or None for field, column in pairs}
