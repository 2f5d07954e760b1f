"""Tests of `ragboard cache`."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ragboard import Store
from ragboard.cli import main
from ragboard.cli.housekeeping import DAY_SECONDS
from ragboard.evaluation.cache import open_cache
from ragboard.tasks import ExtractedStatement, Extraction, ExtractStatements


def ragboard(store: Store, *words: str) -> Result:
    return CliRunner().invoke(main, ["cache", *words, "--store", str(store.folder)])


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two answers of one judge, one of them a hundred days old, and one of another."""
    kept = Store(tmp_path / "store")
    reply = Extraction(statements=(ExtractedStatement(text="It is red."),), refuses=False)
    with open_cache(kept.cache_path) as cache:
        for number, judge in enumerate(("openai:a", "openai:a", "openai:b")):
            cache.put(f"{number:040x}", judge, ExtractStatements(question="q", text=f"{number}"), reply)
    connection = sqlite3.connect(kept.cache_path)
    with connection:
        connection.execute("UPDATE answers SET kept = kept - ? WHERE key = ?", [100 * DAY_SECONDS, bytes(20)])
    connection.close()
    return kept


def left(store: Store) -> dict[str, int]:
    said = json.loads(ragboard(store, "--json").stdout)
    return {one["judge"]: one["answers"] for one in said["answers"]}


def test_it_lists_judges_and_tasks_with_how_many_answers_each_has(store: Store) -> None:
    assert left(store) == {"openai:a": 2, "openai:b": 1}
    lines = ragboard(store).stdout.splitlines()
    assert lines[0].split() == ["judge", "task", "replies", "size", "oldest", "newest"]
    assert lines[1].split()[:3] == ["openai:a", "ExtractStatements", "2"]


@pytest.mark.parametrize(
    ("words", "deleted", "kept"),
    [
        (["--older-than", "90"], 1, {"openai:a": 1, "openai:b": 1}),
        (["--judge", "openai:b"], 1, {"openai:a": 2}),
        (["--judge", "openai:b", "--older-than", "90"], 0, {"openai:a": 2, "openai:b": 1}),
        ([], 3, {}),
    ],
)
def test_pruning_deletes_what_is_reported_and_nothing_else(
    store: Store, words: list[str], deleted: int, kept: dict[str, int]
) -> None:
    assert json.loads(ragboard(store, "--prune", *words, "--json").stdout) == {"deleted": deleted}
    assert left(store) == kept


def test_what_to_delete_is_not_said_without_deleting(store: Store) -> None:
    refused = ragboard(store, "--judge", "openai:a")
    assert refused.exit_code == 2
    assert "--prune" in refused.stderr


def test_a_store_without_a_cache_says_so(tmp_path: Path) -> None:
    said = ragboard(Store(tmp_path / "empty"))
    assert (said.exit_code, said.stdout) == (0, "the cache is empty\n")
