"""Tests of evaluating a run that grew: only new samples are computed, with the same result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.core.conftest import PlainJudge, make_sample

from ragboard import DEFAULT_METRICS, EvaluationOptions, Panel, Run, Sample, Store, evaluate_run
from ragboard.evaluation.engine import FinishedEvaluation
from ragboard.judges import JudgeOptions, panel_named
from ragboard.metrics import metrics_named
from ragboard.metrics.base import Metric
from ragboard.store.run_refs import RESULT_TABLES
from ragboard.tasks import ExtractStatements

CHAT = "chat (production)"
METRICS: tuple[Metric, ...] = (*DEFAULT_METRICS, *metrics_named(["ragchecker", "overlap.length_ratio"]))


def sample(number: int) -> Sample:
    return replace(
        make_sample(number, contexts=number % 3),
        answer=f"Thing {number} is red. It weighs {number} tons.",
        reference=f"Thing {number} is red.",
    )


def grow(store: Store, *numbers: int) -> str:
    store.append(Run(name=CHAT, samples=tuple(map(sample, numbers))))
    return store.resolve(CHAT).run_id


def evaluate(store: Store, run_id: str, **options: object) -> FinishedEvaluation:
    given = EvaluationOptions(**options)  # type: ignore[arg-type]
    return evaluate_run(store, run_id, METRICS, panel_named(JudgeOptions()), given)


def tables(store: Store) -> dict[str, list[tuple[object, ...]]]:
    """The results of all evaluations, without the offsets of replies in a journal."""
    with store.database.read() as connection:
        found = {
            table: connection.execute(f"FROM {table} ORDER BY ALL").fetchall()
            for table in (*RESULT_TABLES, "metrics")
            if table != "answer_places"
        }
        found["places"] = connection.execute("SELECT position, count(*) FROM answer_places GROUP BY ALL").fetchall()
        found["evaluations"] = connection.execute(
            "SELECT evaluation_id, judge, heuristic, identity, metrics, covered, has_statements FROM evaluations"
        ).fetchall()
    return {table: sorted(rows, key=repr) for table, rows in found.items()}


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_split_into_batches_gives_the_same_tables(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    cuts = data.draw(st.lists(st.integers(1, 11), unique=True, max_size=4).map(sorted), label="cuts")
    only = data.draw(st.booleans(), label="given positions")
    store = Store(tmp_path_factory.mktemp("split"))
    for start, stop in zip([0, *cuts], [*cuts, 12], strict=True):
        run_id = grow(store, *range(start, stop))
        evaluate(store, run_id, **({"only": range(start, stop)} if only else {}))
    whole = Store(tmp_path_factory.mktemp("whole"))
    evaluate(whole, grow(whole, *range(12)))
    assert tables(store) == tables(whole)
    journal = store.journal_path(store.evaluations(run_id)[0].id)
    assert len(store.journal_offsets(journal.stem, [11])) > 0


def test_only_new_samples_are_computed_and_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = grow(store, *range(5))
    first = evaluate(store, run_id)
    grow(store, 5, 6)
    read: list[int] = []
    samples = store.samples
    monkeypatch.setattr(store, "samples", lambda run, start=0: read.append(start) or samples(run, start))
    again = evaluate(store, run_id)
    assert read == [5]
    assert (again.samples, again.evaluation.id) == (7, first.evaluation.id)
    assert again.asked < first.asked
    unchanged = evaluate(store, run_id)
    assert (unchanged.asked, unchanged.samples, unchanged.replayed) == (0, 7, again.asked + again.replayed)
    assert read == [5]


def test_only_the_given_positions_are_evaluated(store: Store) -> None:
    run_id = grow(store, *range(6))
    evaluation = evaluate(store, run_id, only=[1, 4]).evaluation
    assert store.covered(evaluation.id) == {1, 4}
    assert evaluate(store, run_id, only=[0, 1]).samples == 3
    before = tables(store)["scores"]
    assert evaluate(store, run_id).samples == 6
    assert set(before) <= set(tables(store)["scores"])


def test_a_sample_that_the_limit_stopped_is_evaluated_later(store: Store) -> None:
    run_id = grow(store, *range(6))
    judge = PlainJudge()
    stopped = evaluate_run(
        store, run_id, DEFAULT_METRICS, Panel(judge=judge), EvaluationOptions(only=range(6), max_minutes=0)
    )
    assert stopped.stopped
    assert stopped.samples == 0
    done = evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=judge), EvaluationOptions(only=range(6)))
    assert done.samples == 6
    texts = [task.text for task in judge.asked if isinstance(task, ExtractStatements)]
    assert len(texts) == len(set(texts))


def test_calls_are_counted_over_all_batches(store: Store, tmp_path: Path) -> None:
    run_id = grow(store, *range(3))
    evaluate(store, run_id)
    grow(store, 3)
    spent = evaluate(store, run_id).spent
    whole = Store(tmp_path / "whole")
    assert evaluate(whole, grow(whole, *range(4))).spent == spent


def test_deleted_samples_are_not_evaluated_again_and_others_stay(store: Store) -> None:
    run_id = grow(store, *range(5))
    evaluate(store, run_id)
    before = tables(store)["scores"]
    store.remove_samples(run_id, [0, 2])
    again = evaluate(store, run_id)
    assert (again.asked, again.samples) == (0, 3)
    assert tables(store)["scores"] == [row for row in before if row[1] not in (0, 2)]
    assert store.evaluation(again.evaluation.id).id == again.evaluation.id
