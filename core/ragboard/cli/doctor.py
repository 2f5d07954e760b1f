"""The command that says whether this installation and its store are in order."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import click

from ragboard.cli.options import as_json, store_option
from ragboard.cli.output import print_json
from ragboard.cli.settings_file import SettingsFile
from ragboard.errors import RagboardError
from ragboard.store import Store

__all__ = ["doctor"]

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
    """Look at the installation and the store, and say what is wrong and how to mend it.

    Exits with 1 where something is wrong. Keys are never shown, only whether they are set.

    \b
    ragboard doctor
    ragboard doctor --store runs/
    """
    findings = [*_versions(), _settings(settings), _tried("store", lambda: _store(store)), *_optional()]
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
    return Finding(what="settings file", ok=True, said=str(path) if path else "none (ragboard.toml is looked for here)")


def _store(store: Store) -> str:
    with store.database.write() as connection:
        row = connection.execute("SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM evaluations)").fetchone()
    runs, evaluations = row or (0, 0)
    return f"{store.folder.resolve()}: {runs} runs, {evaluations} evaluations, can be written"


def _tried(what: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(what=what, ok=True, said=look())
    except RagboardError as error:
        return Finding(what=what, ok=False, said=str(error))


def _optional() -> Iterator[Finding]:
    local = find_spec("sentence_transformers") is not None
    yield Finding(
        what="local models",
        ok=True,
        said="installed" if local else "not installed (pip install 'ragboard[local]')",
    )
    key = "set" if os.environ.get("OPENAI_API_KEY") else "not set (only judges at an endpoint need one)"
    yield Finding(what="OPENAI_API_KEY", ok=True, said=key)
