"""Commands about ragboard itself: kept answers, the metrics, and whether this installation is in order."""

from __future__ import annotations

import os
import platform
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import click
import duckdb

from ragboard.analysis import BETTER, metric_range, metric_settings
from ragboard.cli.options import as_json, plugin_option, store_option
from ragboard.cli.output import plain, print_json, print_table
from ragboard.cli.settings_file import SettingsFile
from ragboard.errors import RagboardError, SettingError, StoreError
from ragboard.evaluation.cache import CachedFrom, cache_contents, prune_cache
from ragboard.metrics import describe, metrics_named
from ragboard.metrics.plugins import metrics_with
from ragboard.records import MetricDescription
from ragboard.store import Store

__all__ = ["cache", "doctor", "metrics"]


DAY_SECONDS = 86_400


@click.command()
@click.option("--prune", is_flag=True, help="Delete answers instead of listing them.")
@click.option(
    "--older-than", type=click.FloatRange(0), metavar="DAYS", help="With --prune: only answers older than this."
)
@click.option("--judge", help="With --prune: only answers of this judge.")
@store_option
@as_json
def cache(prune: bool, older_than: float | None, judge: str | None, store: Store, as_json: bool) -> None:
    """List or delete the cached model answers that evaluations share.

    An evaluation reuses cached answers. Its own journal keeps a copy, so pruning the cache loses no results.

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
        raise SettingError("--older-than and --judge need --prune")
    found = cache_contents(store.cache_path)
    if as_json:
        print_json({"path": store.cache_path, "answers": found})
    elif not found:
        click.echo("the cache is empty")
    else:
        print_table(["judge", "task", "answers", "size", "oldest", "newest"], [_row(one) for one in found])


def _row(one: CachedFrom) -> list[str]:
    return [one.judge, one.task, f"{one.answers:,}", _size(one.bytes), _day(one.oldest), _day(one.newest)]


def _size(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:,.1f} kB"


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@plugin_option
@as_json
def metrics(names: tuple[str, ...], plugins: tuple[Path, ...], as_json: bool) -> None:
    """List the metrics, or explain those of a NAME or source.

    \b
    ragboard metrics
    ragboard metrics faithfulness
    ragboard metrics ragchecker --json
    """
    known = metrics_with(plugins)
    found = [describe(metric) for metric in (metrics_named(names, known) if names else known.values())]
    if as_json:
        print_json({"metrics": found})
    elif names:
        click.echo("\n\n".join(map(_explained, found)))
    else:
        _print_list(found)


def _print_list(found: Sequence[MetricDescription]) -> None:
    print_table(
        ["metric", "title", "range", "better", "needs"],
        [
            [
                metric.spec,
                metric.label,
                metric_range(metric),
                metric.direction,
                ", ".join(metric.requires) or "-",
            ]
            for metric in found
        ],
    )


def _explained(metric: MetricDescription) -> str:
    lines = {
        "formula": metric.formula,
        "range": f"{metric_range(metric)}, {BETTER[metric.direction]}",
        "needs": ", ".join(metric.requires) or "the question only",
        "judge calls": metric.calls,
        "settings": metric_settings(metric) or "none",
        "source": metric.paper,
    }
    said = "\n".join(f"  {what:<13} {text}" for what, text in lines.items())
    return plain(f"{metric.spec}: {metric.label}\n\n{metric.text}\n\n{said}")


LOOK_SECONDS = 20.0
"""For reading the tables; a writer waits as long."""
REMEDY = (
    "Restore ragboard.duckdb from a copy, or move it away and import the runs again: judge answers are stored"
    " separately and are not asked again; human labels are lost"
)
PACKAGES = ("ragboard", "duckdb", "streamlit", "plotly", "openai", "sentencex", "nltk", "pyarrow")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing looked at."""

    what: str
    ok: bool
    said: str


@click.command()
@store_option
@as_json
@click.pass_obj
def doctor(settings: SettingsFile, store: Store, as_json: bool) -> None:
    """Check the installation and the store; say what is wrong and how to fix it.

    The exit code is 1 if something is wrong. Keys are never printed, only whether they are set.

    \b
    ragboard doctor
    ragboard doctor --store runs/
    """
    findings = [*_versions(), _settings(settings), _store(store), _tables(store), *_optional()]
    if as_json:
        print_json(findings)
    else:
        for found in findings:
            click.echo(f"{'ok' if found.ok else 'WRONG':<6}{found.what}: {found.said}")
    if not all(found.ok for found in findings):
        raise SystemExit(1)


def _versions() -> Iterator[Finding]:
    yield Finding(what="python", ok=sys.version_info >= (3, 11), said=f"{platform.python_version()} on {sys.platform}")
    for package in PACKAGES:
        try:
            yield Finding(what=package, ok=True, said=version(package))
        except PackageNotFoundError:
            yield Finding(what=package, ok=False, said="missing; install ragboard again: pip install ragboard")


def _settings(settings: SettingsFile) -> Finding:
    path = settings.path
    return Finding(what="settings file", ok=True, said=str(path) if path else "none (no ragboard.toml in this folder)")


def _store(store: Store) -> Finding:
    try:
        said = _counted(store)
    except RagboardError as error:
        return Finding(what="store", ok=False, said=_said(error))
    try:
        with store.database.write():
            pass
    except RagboardError as error:
        only = "readable but not writable; use `ragboard serve --read-only`"
        return Finding(what="store", ok=False, said=f"{said}, {only} ({_said(error)})")
    return Finding(what="store", ok=True, said=f"{said}, writable")


def _counted(store: Store) -> str:
    with store.database.read() as connection:
        row = connection.execute("SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM evaluations)").fetchone()
    runs, evaluations = row or (0, 0)
    return f"{store.folder.resolve()}: {runs} runs, {evaluations} evaluations"


def _tables(store: Store) -> Finding:
    """Whether every row of every table can be read, as far as that goes in `LOOK_SECONDS`."""
    damaged: dict[str, str] = {}
    read = 0
    until = time.monotonic() + LOOK_SECONDS
    try:
        names = _names(store)
        for name in names:
            try:
                read += _read_whole(store, name, until - time.monotonic())
            except StoreError as error:
                damaged[name] = _reason(error)
    except RagboardError as error:
        return Finding(what="tables", ok=False, said=_said(error))
    if damaged:
        which = f"{len(damaged)} of {len(names)} are damaged ({', '.join(damaged)})"
        return Finding(what="tables", ok=False, said=f"{which}: {next(iter(damaged.values()))}. {REMEDY}")
    rest = "" if read == len(names) else f"; {len(names) - read} not fully read within {LOOK_SECONDS:g} s"
    return Finding(what="tables", ok=True, said=f"{read} read in full, nothing damaged{rest}")


def _names(store: Store) -> list[str]:
    with store.database.read() as connection:
        rows = connection.execute("SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY 1").fetchall()
    return [row[0] for row in rows]


def _read_whole(store: Store, name: str, seconds: float) -> bool:
    """Read every value of a table; False where that took too long. Raises StoreError where it is damaged."""
    if seconds <= 0:
        return False
    with store.database.read() as connection:
        timer = threading.Timer(seconds, connection.interrupt)
        timer.start()
        try:
            connection.execute(f'SELECT bit_xor(hash(t)) FROM "{name}" t').fetchall()  # noqa: S608 - a table's own name
        except duckdb.InterruptException:
            return False
        finally:
            timer.cancel()
    return True


def _said(error: RagboardError) -> str:
    """What is wrong and, of a damaged database, what to do."""
    damaged = isinstance(error.__cause__, duckdb.Error)
    return f"{_reason(error)}. {REMEDY}" if damaged else str(error)


def _reason(error: RagboardError) -> str:
    cause = error.__cause__
    return str(cause).splitlines()[0] if isinstance(cause, duckdb.Error) else str(error)


def _optional() -> Iterator[Finding]:
    local = find_spec("sentence_transformers") is not None
    yield Finding(
        what="local models",
        ok=True,
        said="installed" if local else "not installed (pip install 'ragboard[local]')",
    )
    key = "set" if os.environ.get("OPENAI_API_KEY") else "not set (only judges on a server need one)"
    yield Finding(what="OPENAI_API_KEY", ok=True, said=key)
