"""Tests of distributions, breakdowns and scatter plots against numpy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from tests.conftest import Once
from tests.core.conftest import PlainJudge, make_sample

from ragboard import DEFAULT_METRICS, Interval, Panel, Run, Sample, Store, evaluate_run
from ragboard.analysis import breakdown, columns, distribution, scatter
from ragboard.cli import main
from ragboard.records import JsonValue, Turn

FAITHFULNESS = "ragas.faithfulness"
LATENCIES = np.random.default_rng(3).gamma(2.0, 1.0, size=60)


def metadata(n: int) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {"a/b~c": float(LATENCIES[n]), "kind": "odd" if n % 2 else "even", "nested": [n]}
    return found if n else {}


def keep(store: Store) -> None:
    samples = tuple(
        replace(make_sample(n, answer="It is red. It is old." if n % 3 else None), metadata=metadata(n))
        for n in range(60)
    )
    run_id = store.add_runs([Run(name="run", samples=samples)])[0].id
    evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=PlainJudge()))


@pytest.fixture
def evaluated(store: Store, once: Once) -> Store:
    return once(keep, store)


def test_columns_tell_numbers_from_categories(evaluated: Store) -> None:
    found = columns(evaluated, evaluated.resolve("run"))
    assert found.metrics == tuple(metric.spec for metric in DEFAULT_METRICS)
    assert found.numeric == ("metadata.a/b~c",)
    assert found.categories == ("metadata.kind",)


def test_a_metadata_column_is_spread_as_numpy_says(evaluated: Store) -> None:
    found = distribution(evaluated, evaluated.resolve("run"), "metadata.a/b~c")
    values = LATENCIES[1:]
    counts, edges = np.histogram(values, bins=20)
    assert [part.count for part in found.bins] == counts.tolist()
    assert [part.low for part in found.bins] == pytest.approx(edges[:-1].tolist())
    assert found.quantiles == pytest.approx(np.quantile(values, np.linspace(0, 1, 201)).tolist())
    assert (found.scored, found.total, found.unscored) == (59, 60, {"not in the file": 1})
    assert isinstance(found.interval, Interval)
    assert found.mean == pytest.approx(values.mean())


def test_a_metric_is_drawn_over_its_own_range_with_its_unscored(evaluated: Store) -> None:
    found = distribution(evaluated, evaluated.resolve("run"), FAITHFULNESS)
    assert (found.bins[0].low, found.bins[-1].high) == (0.0, 1.0)
    assert found.bins[10].count == found.scored == 40
    assert found.unscored == {"skipped": 20}


def test_a_column_without_values_has_no_quantiles_and_says_so(evaluated: Store) -> None:
    found = distribution(evaluated, evaluated.resolve("run"), "metadata.absent")
    assert (found.scored, found.mean, found.quantiles) == (0, None, ())
    assert sum(part.count for part in found.bins) == 0


def test_a_breakdown_counts_every_group(evaluated: Store) -> None:
    groups = breakdown(evaluated, evaluated.resolve("run"), "metadata.a/b~c", "metadata.kind")
    assert {group.value: (group.scored, group.total) for group in groups} == {"odd": (30, 30), "even": (29, 29)}
    odd = next(group for group in groups if group.value == "odd")
    assert odd.mean == pytest.approx(LATENCIES[1::2].mean())


def test_a_scatter_holds_the_samples_that_have_both(evaluated: Store) -> None:
    found = scatter(evaluated, evaluated.resolve("run"), FAITHFULNESS, "metadata.a/b~c")
    assert (len(found.points), found.both, found.total) == (40, 40, 60)
    assert all(point.y == pytest.approx(LATENCIES[int(point.sample_id[1:])]) for point in found.points)


def test_numbers_too_large_to_be_counted_are_left_out(store: Store) -> None:
    sizes = (1e308, -1e280, 1.0, 2.0, 3.0)
    samples = tuple(replace(make_sample(n), metadata={"size": size}) for n, size in enumerate(sizes))
    store.add_runs([Run(name="run", samples=samples)])
    found = distribution(store, store.resolve("run"), "metadata.size")
    assert (found.mean, found.scored, found.total) == (2.0, 3, 5)


def test_conversations_are_grouped_by_turn_in_order(store: Store) -> None:
    def turns(number: int) -> tuple[Turn, ...]:
        return tuple(Turn(role=role, text=f"{role} {turn}") for turn in range(number) for role in ("user", "assistant"))

    samples = tuple(
        replace(make_sample(n, answer="It is red." if turn else "It is old."), history=turns(turn))
        for n, turn in enumerate([0, 1, 10, 0, 1, 0])
    )
    run_id = store.add_runs([Run(name="chat", samples=samples)])[0].id
    evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=PlainJudge()))
    run = store.resolve("chat")
    assert columns(store, run).categories == ("turn",)
    groups = breakdown(store, run, FAITHFULNESS, "turn")
    assert [(group.value, group.total, group.mean) for group in groups] == [
        ("1", 3, 0.0),
        ("2", 2, 1.0),
        ("11", 1, 1.0),
    ]
    done = CliRunner().invoke(main, ["show", "chat", "--by", "turn", "--store", str(store.folder)])
    assert f"{FAITHFULNESS}, turn 2: 1.00" in done.stdout
    done = CliRunner().invoke(main, ["show", "chat", "--by", "topic", "--store", str(store.folder)])
    assert "chat cannot be grouped by topic: use turn" in done.stderr


def test_a_turn_that_the_file_has_is_offered_once(store: Store) -> None:
    samples = tuple(
        Sample(
            id=f"{number}",
            question=f"{number}?",
            answer="Yes.",
            history=(Turn(role="user", text="Hello."),) if number % 2 else (),
            metadata={"turn": number % 2 + 1},
        )
        for number in range(6)
    )
    with_column, without = (
        Run(name="file", samples=samples),
        Run(name="none", samples=tuple(replace(sample, metadata={}) for sample in samples)),
    )
    found = [columns(store, store.resolve(store.add_runs([run])[0].name)).categories for run in (with_column, without)]
    assert found == [("metadata.turn",), ("turn",)]
