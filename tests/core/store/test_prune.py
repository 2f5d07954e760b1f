"""Tests of deleting old samples: what is deleted, and what stays."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from click.testing import CliRunner, Result
from tests.core.conftest import PlainJudge, make_run, make_sample

from ragboard import DEFAULT_METRICS, Panel, Run, Store, evaluate_run
from ragboard.analysis import run_summary
from ragboard.cli import main
from ragboard.store.run_refs import RESULT_TABLES

CHAT, NEWER = "chat 1 (production)", "chat 2 (production)"
NOW = datetime.now(UTC).replace(tzinfo=None)


def ragboard(store: Store, *words: str) -> Result:
    return CliRunner().invoke(main, [*words, "--store", str(store.folder)])


def grow(store: Store, *days: int | None, run: str = CHAT) -> str:
    """A sample for each age in days."""
    samples = [
        replace(
            make_sample(number, answer=f"Thing {number} is red."), time=None if age is None else NOW - timedelta(age)
        )
        for number, age in enumerate(days)
    ]
    store.append(Run(name=run, dataset="chat (production)", samples=tuple(samples)))
    return store.resolve(run).run_id


def positions(store: Store, table: str) -> set[int]:
    with store.database.read() as connection:
        return {row[0] for row in connection.execute(f"SELECT DISTINCT position FROM {table}").fetchall()}


def test_old_samples_go_with_their_results(store: Store) -> None:
    run_id = grow(store, 200, 100, None, 10, 95)
    grow(store, 1, run=NEWER)
    evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=PlainJudge()))
    done = ragboard(store, "prune", "--older-than", "90d")
    assert done.exit_code == 0, done.output
    assert f"{CHAT}: 3 samples deleted, 2 left" in done.output
    assert NEWER not in done.output
    assert list(store.positions(run_id)) == [2, 3]
    for table in RESULT_TABLES:
        if table != "spending":
            assert positions(store, table) <= {2, 3}, table
    summary = run_summary(store, store.resolve(CHAT))
    assert summary.judged
    assert (summary.samples, summary.judged.part) == (2, "")
    assert "0 samples from before" in ragboard(store, "prune", "--older-than", "90d").output


def test_a_dry_run_deletes_nothing(store: Store) -> None:
    run_id = grow(store, 100, 1)
    done = ragboard(store, "prune", "--older-than", "4w", "--dry-run")
    assert f"{CHAT}: 1 sample would be deleted, 1 left" in done.output
    assert "UTC would be deleted (--dry-run: nothing was deleted)" in done.output
    assert list(store.positions(run_id)) == [0, 1]
    report = json.loads(ragboard(store, "prune", "--older-than", "4w", "--dry-run", "--json").stdout)
    assert report["runs"][0]["deleted"] == 1


def test_labelled_samples_can_be_kept(store: Store) -> None:
    run_id = grow(store, 100, 100, 100)
    done = evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=PlainJudge()))
    assert done.samples == 3
    assert ragboard(store, "label", CHAT, "s1", "1", "supported", "--annotator", "ann").exit_code == 0
    pruned = ragboard(store, "prune", "--older-than", "90d", "--keep-labelled")
    assert f"{CHAT}: 2 samples deleted, 1 with labels kept, 1 left" in pruned.output
    assert list(store.positions(run_id)) == [1]
    rest = ragboard(store, "prune", "--older-than", "90d")
    assert f"{CHAT} has no samples left" in rest.output
    assert store.append(Run(name=CHAT, samples=(make_sample(9),))) == ("s9",)
    assert list(store.positions(run_id)) == [3]


def test_only_the_named_run_or_dataset_and_no_imported_run(store: Store) -> None:
    grow(store, 100)
    grow(store, 100, run=NEWER)
    old = tuple(replace(one, time=NOW - timedelta(100)) for one in make_run("whole").samples)
    store.add_runs([Run(name="whole", samples=old)])
    assert [run.name for run in store.prune(NOW, name=NEWER)] == [NEWER]
    assert [run.name for run in store.prune(NOW, name="chat (production)")] == [CHAT]
    assert store.prune(NOW) == ()
    assert store.sample_count(store.resolve("whole").run_id) == 3


def test_an_age_is_a_number_with_a_unit(store: Store) -> None:
    for age in ("90", "0d", "-1d", "1y", "9999999d"):
        failed = ragboard(store, "prune", "--older-than", age)
        assert failed.exit_code == 2
        assert "is not an age such as 90d, 12h or 2w" in failed.output
