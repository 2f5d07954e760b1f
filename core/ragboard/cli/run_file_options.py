"""Options for reading run files. The options for judges are in another module, which takes long to import."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ragboard.records import JsonValue
from ragboard.settings import read_config_file, read_pairs, split_pair

__all__ = ["as_json", "config_of", "map_options", "mapping_of", "reading_options"]

F = TypeVar("F", bound=Callable[..., Any])

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

_map_option = click.option(
    "--map",
    "maps",
    multiple=True,
    metavar="FIELD=COLUMN",
    help="Read FIELD from COLUMN, or from a path (outputs.docs[].text); FIELD= leaves the field empty; repeatable.",
)
_sheet_option = click.option("--sheet", metavar="NAME", help="Sheet of an Excel file.  [default: the first]")
_skip_bad_option = click.option(
    "--skip-bad", is_flag=True, help="Skip and list invalid rows, instead of rejecting the whole file."
)

_READING = (
    click.option("--name", help="Run name.  [default: the name in the file, or the file name]"),
    click.option("--as-one", metavar="NAME", help="Read several files as parts of one run NAME."),
    click.option(
        "--config", "pairs", multiple=True, metavar="KEY=VALUE", help="Setting of the run's configuration; repeatable."
    ),
    click.option(
        "--config-file",
        type=click.Path(path_type=Path, dir_okay=False),
        help="JSON or TOML file with the run's configuration.",
    ),
    click.option("--dataset", help="Name of the question set."),
    _map_option,
    click.option("--run-column", metavar="COLUMN", help="Split the file into one run for each value of COLUMN."),
    _sheet_option,
    _skip_bad_option,
    click.option("--tag", "tags", multiple=True, help="Tag for the run; repeatable."),
)


def map_options(command: F) -> F:
    """Add --map, --sheet and --skip-bad."""
    return _map_option(_sheet_option(_skip_bad_option(command)))


def reading_options(command: F) -> F:
    """Add the options for reading run files."""
    for option in reversed(_READING):
        command = option(command)
    return command


def config_of(pairs: tuple[str, ...], file: Path | None) -> dict[str, JsonValue]:
    """Return the run's configuration: that of `--config-file`, updated with `--config`."""
    return (read_config_file(file) if file else {}) | read_pairs(pairs)


def mapping_of(maps: tuple[str, ...]) -> dict[str, str | None]:
    """Parse --map into {field: column}; an empty column becomes None."""
    pairs = (split_pair(text, expected="--map FIELD=COLUMN") for text in maps)
    return {field: column or None for field, column in pairs}
