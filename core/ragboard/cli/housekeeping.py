"""Commands for the cache, the list of metrics, and a check of the installation."""

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

from ragboard.analysis import BETTER, MORE_PASSAGES, metric_range, metric_settings
from ragboard.cli.options import as_json, plugin_option, store_option
from ragboard.cli.output import plain, print_json, print_table
from ragboard.cli.settings_file import SettingsFile
from ragboard.errors import ExitCode, RagboardError, SettingError, StoreError
from ragboard.evaluation.cache import CachedReplies, cache_contents, prune_cache
from ragboard.metrics import describe, metrics_named
from ragboard.metrics.plugins import metrics_with
from ragboard.records import MetricDescription
from ragboard.store import Store

__all__ = ["cache", "doctor", "metrics"]


DAY_SECONDS = 86_400


@click.command()
@click.option("--prune", is_flag=True, help="Delete cached replies instead of listing them.")
@click.option(
    "--older-than", type=click.FloatRange(0), metavar="DAYS", help="With --prune: only replies older than this."
)
@click.option("--judge", help="With --prune: only replies of this judge.")
@store_option
@as_json
def cache(prune: bool, older_than: float | None, judge: str | None, store: Store, as_json: bool) -> None:
    """List or delete the cached model replies that evaluations share.

    Pruning the cache loses no results: every evaluation also stores its replies.

    \b
    ragboard cache
    ragboard cache --prune --older-than 90
    ragboard cache --prune --judge openai:gpt-4o-mini
    """
    if prune:
        deleted = prune_cache(store.cache_path, older_than=(older_than or 0) * DAY_SECONDS, judge=judge)
        print_json({"deleted": deleted}) if as_json else click.echo(f"{deleted:,} replies deleted")
        return
    if older_than is not None or judge is not None:
        raise SettingError("--older-than and --judge need --prune")
    found = cache_contents(store.cache_path)
    if as_json:
        print_json({"path": store.cache_path, "answers": found})
    elif not found:
        click.echo("the cache is empty")
    else:
        print_table(["judge", "task", "replies", "size", "oldest", "newest"], [_row(one) for one in found])


def _row(one: CachedReplies) -> list[str]:
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
    """List the metrics, or describe the metrics that each NAME selects: a metric or a family.

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
        **({"passages": MORE_PASSAGES[metric.more_passages]} if metric.more_passages else {}),
        "source": metric.paper,
    }
    facts = "\n".join(f"  {what:<13} {text}" for what, text in lines.items())
    return plain(f"{metric.spec}: {metric.label}\n\n{metric.text}\n\n{facts}")


CHECK_SECONDS = 20.0
"""Maximum seconds for reading the tables, during which no process can write."""
REMEDY = (
    "Restore ragboard.duckdb from a backup, or move it away and import the runs again: judge replies are stored"
    " separately and are not requested again, but human labels are lost"
)
PACKAGES = ("ragboard", "duckdb", "streamlit", "plotly", "openai", "sentencex", "nltk", "pyarrow")


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """The result of one check."""

    name: str
    """What was checked: `store`."""
    ok: bool
    detail: str
    """The result in words."""


@click.command()
@store_option
@as_json
@click.pass_obj
def doctor(settings: SettingsFile, store: Store, as_json: bool) -> None:
    """Check the installation and the store, and say how to fix what is wrong.

    If something is wrong, the exit code is 6. Keys are never printed, only whether they are set.

    \b
    ragboard doctor
    ragboard doctor --store runs/
    """
    checks = [*_versions(), _settings(settings), _store(store), _tables(store), *_optional()]
    if as_json:
        print_json([{"what": check.name, "ok": check.ok, "said": check.detail} for check in checks])
    else:
        for check in checks:
            click.echo(f"{'ok' if check.ok else 'WRONG':<6}{check.name}: {check.detail}")
    if not all(check.ok for check in checks):
        raise SystemExit(ExitCode.ERROR)


def _versions() -> Iterator[CheckResult]:
    yield CheckResult(
        name="python", ok=sys.version_info >= (3, 11), detail=f"{platform.python_version()} on {sys.platform}"
    )
    for package in PACKAGES:
        try:
            yield CheckResult(name=package, ok=True, detail=version(package))
        except PackageNotFoundError:
            yield CheckResult(name=package, ok=False, detail="missing; install ragboard again: pip install ragboard")


def _settings(settings: SettingsFile) -> CheckResult:
    path = settings.path
    return CheckResult(
        name="settings file", ok=True, detail=str(path) if path else "none (no ragboard.toml in this folder)"
    )


def _store(store: Store) -> CheckResult:
    try:
        counts = _counted(store)
    except RagboardError as error:
        return CheckResult(name="store", ok=False, detail=_error_text(error))
    try:
        with store.database.write():
            pass
    except RagboardError as error:
        only = "readable but not writable; use `ragboard serve --read-only`"
        return CheckResult(name="store", ok=False, detail=f"{counts}, {only} ({_error_text(error)})")
    return CheckResult(name="store", ok=True, detail=f"{counts}, writable")


def _counted(store: Store) -> str:
    with store.database.read() as connection:
        row = connection.execute("SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM evaluations)").fetchone()
    runs, evaluations = row or (0, 0)
    return f"{store.folder.resolve()}: {runs} runs, {evaluations} evaluations"


def _tables(store: Store) -> CheckResult:
    """Check that every row of every table can be read, for at most `CHECK_SECONDS`."""
    damaged: dict[str, str] = {}
    read = 0
    until = time.monotonic() + CHECK_SECONDS
    try:
        names = _names(store)
        for name in names:
            try:
                read += _read_whole(store, name, until - time.monotonic())
            except StoreError as error:
                damaged[name] = _reason(error)
    except RagboardError as error:
        return CheckResult(name="tables", ok=False, detail=_error_text(error))
    if damaged:
        which = f"{len(damaged)} of {len(names)} are damaged ({', '.join(damaged)})"
        return CheckResult(name="tables", ok=False, detail=f"{which}: {next(iter(damaged.values()))}. {REMEDY}")
    rest = "" if read == len(names) else f"; {len(names) - read} not fully read within {CHECK_SECONDS:g} s"
    return CheckResult(name="tables", ok=True, detail=f"{read} read in full, nothing damaged{rest}")


def _names(store: Store) -> list[str]:
    with store.database.read() as connection:
        rows = connection.execute("SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY 1").fetchall()
    return [row[0] for row in rows]


def _read_whole(store: Store, name: str, seconds: float) -> bool:
    """Read every value of a table. Return False if the time runs out. Raises StoreError if the table is damaged."""
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


def _error_text(error: RagboardError) -> str:
    """Return the message of an error and, if the database is damaged, what to do."""
    damaged = isinstance(error.__cause__, duckdb.Error)
    return f"{_reason(error)}. {REMEDY}" if damaged else str(error)


def _reason(error: RagboardError) -> str:
    cause = error.__cause__
    return str(cause).splitlines()[0] if isinstance(cause, duckdb.Error) else str(error)


def _optional() -> Iterator[CheckResult]:
    local = find_spec("sentence_transformers") is not None
    yield CheckResult(
        name="local models",
        ok=True,
        detail="installed" if local else "not installed (pip install 'ragboard[local]')",
    )
    key = "set" if os.environ.get("OPENAI_API_KEY") else "not set (only judges on a server need one)"
    yield CheckResult(name="OPENAI_API_KEY", ok=True, detail=key)
