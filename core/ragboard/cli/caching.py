"""The command that shows what answers are kept for all evaluations, and deletes them."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from ragboard.cli.options import as_json, store_option
from ragboard.cli.output import print_json, print_table
from ragboard.errors import SettingError
from ragboard.evaluation.cache import CachedFrom, cache_contents, prune_cache
from ragboard.store import Store

__all__ = ["cache"]

DAY_SECONDS = 86_400


@click.command()
@click.option("--prune", is_flag=True, help="Delete answers instead of listing them.")
@click.option("--older-than", type=click.FloatRange(0), metavar="DAYS", help="With --prune: those kept for longer.")
@click.option("--judge", help="With --prune: those of one judge, as the list names it.")
@store_option
@as_json
def cache(prune: bool, older_than: float | None, judge: str | None, store: Store, as_json: bool) -> None:
    """List the answers of models that evaluations share, or delete them.

    What was paid for once is taken from here; an evaluation's own journal keeps its answers in any case.

    \b
    ragboard cache
    ragboard cache --prune --older-than 90
    ragboard cache --prune --judge openai:gpt-4o-mini
    """
    if prune:
        gone = prune_cache(store.cache_path, older_than=(older_than or 0) * DAY_SECONDS, judge=judge)
        print_json({"deleted": gone}) if as_json else click.echo(f"{gone:,} answers deleted")
        return
    if older_than is not None or judge is not None:
        raise SettingError("--older-than and --judge say what to delete; give them with --prune")
    found = cache_contents(store.cache_path)
    if as_json:
        print_json({"path": store.cache_path, "answers": found})
    elif not found:
        click.echo("no answer of a model is kept yet")
    else:
        print_table(["judge", "task", "answers", "size", "oldest", "newest"], [_row(one) for one in found])


def _row(one: CachedFrom) -> list[str]:
    return [one.judge, one.task, f"{one.answers:,}", _size(one.bytes), _day(one.oldest), _day(one.newest)]


def _size(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:,.1f} kB"


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
