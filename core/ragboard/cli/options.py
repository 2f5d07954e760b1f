"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ragboard.prices import Prices, read_prices
from ragboard.records import JsonValue
from ragboard.settings import read_config_file, read_pairs, split_pair
from ragboard.store import Store

__all__ = ["as_json", "config_of", "mapping_of", "prices_option", "reading_options", "store_option"]

F = TypeVar("F", bound=Callable[..., Any])


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
    help="Folder that holds the database and the journals.",
)


def _read_prices(_context: click.Context, _parameter: click.Parameter, value: Path | None) -> Prices:
    return read_prices(value)


prices_option = click.option(
    "--prices",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="RAGBOARD_PRICES",
    show_envvar=True,
    callback=_read_prices,
    help="TOML file with what models cost, before the package's own list.",
)

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

_READING = (
    click.option("--name", help="The run's name; else the file's own, else the file's stem."),
    click.option("--config", "pairs", multiple=True, metavar="KEY=VALUE", help="A setting of the run; repeatable."),
    click.option(
        "--config-file",
        type=click.Path(path_type=Path, dir_okay=False),
        help="JSON or TOML file with the run's settings.",
    ),
    click.option("--dataset", help="What the set of questions is called."),
    click.option("--map", "maps", multiple=True, metavar="FIELD=COLUMN", help="Read FIELD from COLUMN; repeatable."),
    click.option("--run-column", metavar="COLUMN", help="Split the file into one run for each value of COLUMN."),
    click.option("--skip-bad", is_flag=True, help="Leave bad rows out and list them, instead of refusing the file."),
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


def mapping_of(maps: tuple[str, ...]) -> dict[str, str]:
    """Field to column from `--map`."""
    return dict(map(split_pair, maps))
