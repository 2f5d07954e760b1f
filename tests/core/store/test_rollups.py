"""Rollups: results about large runs are stored, and say the same as the samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import EvaluatedSamples
from tests.core.conftest import make_run, make_sample

from ragboard import DEFAULT_METRICS, EmbeddedJudge, Panel, Store, evaluate_run, sample_runs
from ragboard.analysis import (
    columns,
    compare_runs,
    diagnose,
    hallucination_groups,
    hallucinations,
    leaderboard,
    most_changed,
    pair_runs,
    refusal_report,
    unsupported_statements,
)
from ragboard.human.annotation import annotation_queue, plan_batch
from ragboard.human.estimates import estimate_runs
from ragboard.metrics import metrics_named
from ragboard.records import Label
from ragboard.stats import moments
from ragboard.store.queries import rollups, statements
from ragboard.store.queries.quantities import SUMMARIZED, quantity_moments, sample_values
from ragboard.store.queries.statements import HallucinationQuery

DEFAULT = [spec for spec in DEFAULT_METRICS if spec.spec == "ragas.faithfulness"]
Computed = list[tuple[str, Sequence[str]]]


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> Computed:
    """The name and owners of every query that is executed instead of reading a rollup."""
    found: Computed = []
    compute = rollups.Rollup.compute

    def noted(rollup: rollups.Rollup, connection: Any, owners: Sequence[str]) -> Any:
        if owners:
            found.append((rollup.name, owners))
        return compute(rollup, connection, owners)

    monkeypatch.setattr(rollups.Rollup, "compute", noted)
    return found


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of any size have rollups."""
    monkeypatch.setattr(rollups, "MIN_SAMPLES", 1)


def everything(store: Store) -> list[Any]:
    """Return what pages show of the runs of a store, without ids and times of its own."""
    runs = [store.resolve(summary.name) for summary in leaderboard(store)]
    labels: tuple[Label | None, ...] = (None, "contradicted", "unsupported")
    queries = [
        HallucinationQuery(runs=chosen, verdict=verdict, limit=limit, offset=offset)
        for chosen in (tuple(runs), *((run,) for run in runs))
        for verdict in labels
        for limit, offset in ((5, 0), (3, 4), (100, 0))
    ]
    pages = [hallucinations(store, query) for query in queries]
    found: list[Any] = [
        leaderboard(store),
        unsupported_statements(store, runs, limit=4),
        [columns(store, run) for run in runs],
        [[(row.sample_id, row.number, row.judged_statement) for row in page.rows] for page in pages],
        [(page.total, page.labels, page.sentence) for page in pages],
        [hallucination_groups(store, query, by) for query in queries for by in ("question", "passage")],
        [diagnose(store, run) for run in runs if run.evaluation_id],
        [plan_batch(store, run, kind) for run in runs for kind in ("verdict", "grade")],
        [annotation_queue(store, run, "disagreement", annotator="ada") for run in runs],
        [estimate_runs(store, [run], numbered=True).report for run in runs if run.evaluation_id],
    ]
    if len(runs) > 1:
        pairs = pair_runs(store, runs[0], runs[1])
        found += [compare_runs(store, runs[0], runs[1]), most_changed(store, runs[0], runs[1])]
        found.append(plan_batch(store, runs[0], "preference", runs[1]))
        found += [pairs.a.tolist(), pairs.b.tolist(), pairs.by_question, [refusal_report(store, run) for run in runs]]
    return found


@pytest.mark.parametrize("kept", [2, 500])
def test_rollups_say_what_the_samples_say(
    tmp_path: Path,
    evaluated_samples: EvaluatedSamples,
    monkeypatch: pytest.MonkeyPatch,
    computed: Computed,
    kept: int,
) -> None:
    store = evaluated_samples(tmp_path / "store")
    monkeypatch.setattr(statements, "KEPT_STATEMENTS", kept)
    without = everything(store)
    assert computed
    monkeypatch.setattr(rollups, "MIN_SAMPLES", 1)
    monkeypatch.setattr(statements, "WORST_BLOCK", 2)
    store.add_runs([])  # a write that makes rollups
    computed.clear()
    assert everything(store) == without
    assert not computed
    labels = hallucinations(store, HallucinationQuery()).labels
    assert type(labels) is dict  # asdict, and so JSON, cannot read a Counter


def test_the_moments_of_quantities_are_those_of_their_values(store: Store) -> None:
    (added, *_) = store.add_runs(sample_runs()[1:])
    metrics = metrics_named(["ragas.faithfulness", "ragchecker.noise_sensitivity_in_relevant"])
    evaluate_run(store, added.id, metrics, Panel(judge=EmbeddedJudge()))
    run = store.resolve(added.name)
    with store.database.read() as connection:
        found = quantity_moments(connection, run.evaluation_id or "")
        every = {name: sample_values(connection, run, run.evaluation_id, name) for name in SUMMARIZED}
    assert found.keys() == every.keys()
    for name, values in every.items():
        expected = moments(values[~np.isnan(values)])
        assert (found[name].n, found[name].untied) == (expected.n, expected.untied)
        assert [found[name].mean, found[name].error] == pytest.approx([expected.mean, expected.error])


def append(store: Store, number: int) -> None:
    store.append(replace(make_run("one"), samples=(make_sample(number),)))


def evaluate(store: Store) -> None:
    evaluate_run(store, store.resolve("one").run_id, DEFAULT, Panel(judge=EmbeddedJudge()))


WRITES: dict[str, Callable[[Store], object]] = {
    "a sample is added": lambda store: append(store, 7),
    "an added sample is evaluated": lambda store: (append(store, 7), evaluate(store)),
    "a sample is deleted": lambda store: store.remove_samples(store.resolve("one").run_id, [1]),
    "it is deleted and added again": lambda store: (store.remove_runs([store.resolve("one").run_id]), append(store, 3)),
}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_change_of_a_run_is_seen(
    store: Store, write: Callable[[Store], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        append(store, number)
    evaluate(store)
    write(store)
    found = everything(store)
    monkeypatch.setattr(rollups, "MIN_SAMPLES", 1_000_000)
    with store.database.write() as connection:
        connection.execute("DELETE FROM rollups")
    assert everything(store) == found


@pytest.mark.usefixtures("small")
def test_a_later_run_has_rollups_too(store: Store, computed: Computed) -> None:
    for name in ("one", "two"):
        (run,) = store.add_runs([make_run(name)])
        evaluate_run(store, run.id, DEFAULT, Panel(judge=EmbeddedJudge()))
    computed.clear()
    one, two = leaderboard(store)
    compare_runs(store, store.resolve(one.name), store.resolve(two.name))
    assert not computed


@pytest.mark.usefixtures("small")
def test_an_evaluation_that_becomes_the_newest_keeps_its_rollups(store: Store, computed: Computed) -> None:
    append(store, 0)
    evaluate(store)
    computed.clear()
    store.mark_newest(store.resolve("one").evaluation_id or "")
    leaderboard(store)
    assert not computed


@pytest.mark.usefixtures("small")
def test_a_rollup_that_is_too_long_is_computed_each_time_but_not_stored(
    store: Store, computed: Computed, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(store, 0)
    monkeypatch.setattr(rollups, "MAX_LENGTH", 0)
    evaluate(store)
    with store.database.read() as connection:
        assert connection.execute("SELECT DISTINCT rows FROM rollups").fetchall() == [(None,)]
    computed.clear()
    (summary,) = leaderboard(store)
    assert summary.metrics["ragas.faithfulness"].scored == 1
    assert computed
