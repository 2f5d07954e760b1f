"""The option --store. The options for judges are in another module, which takes long to import."""

from __future__ import annotations

from pathlib import Path

import click

from ragboard.store import Store

__all__ = ["store_option"]


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
