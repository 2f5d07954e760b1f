"""What is computed fast for large runs, from rollups and arrays, equals what the samples say one by one."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import Once
from tests.core.conftest import PlainJudge, make_sample
from tests.core.human.test_estimates import label

from ragboard import DEFAULT_METRICS, Panel, Run, Store, evaluate_run
from ragboard.human.annotation import draw_samples
from ragboard.human.estimates import estimate_runs, predict_labels_needed
from ragboard.human.systems import NumberedScores, System
from ragboard.store import RunRef
from ragboard.store.queries import annotation, rollups
from ragboard.store.queries.annotation import (
    count_samples_to_label,
    disagreements,
    judge_scores,
    positions_to_label,
    scored_samples,
    statement_counts,
)

METRIC = "ragas.faithfulness"
METRICS = [spec for spec in DEFAULT_METRICS if spec.spec == METRIC]
ANSWERS = (
    "It is red. It is old.",
    "It is red.",
    "It is old.",
    "It is red. It is red too.",
    " red",
    "\n",
    "  ",
    "",
    None,
)
SAMPLES = 90


def made(store: Store) -> None:
    """Two runs over the same questions, two of which are the same, and a run with the questions in another order."""
    rng = random.Random(0)
    for name in ("one", "two", "other"):
        samples = [make_sample(n, answer=rng.choice(ANSWERS + 4 * ANSWERS[:4])) for n in range(SAMPLES)]
        if name == "other":
            rng.shuffle(samples)
            samples[5:7] = [replace(sample, question="What is it?") for sample in samples[5:7]]
        add = store.append if name != "one" else lambda run: store.add_runs([run])
        add(Run(name=name, samples=tuple(samples)))
        evaluate_run(store, store.resolve(name).run_id, METRICS, Panel(judge=PlainJudge()))


def damage(store: Store, rng: random.Random) -> None:
    """Delete samples, and change what an evaluation can leave out: scores, statements, a metric of the same name."""
    for name in ("one", "two", "other"):
        run = store.resolve(name)
        if name != "one" and rng.random() < 0.5:
            store.remove_samples(run.run_id, rng.sample(range(SAMPLES), 3))
        evaluation = {"evaluation": run.evaluation_id}
        with store.database.write() as connection:
            for sql in (
                "UPDATE scores SET value = NULL, reason = 'failed' WHERE {}",
                "UPDATE scores SET value = 0.25 WHERE {}",
                "DELETE FROM scores WHERE {}",
                "DELETE FROM statements WHERE {}",
            ):
                if rng.random() < 0.7:
                    positions = rng.sample(range(SAMPLES), 4)
                    among = "evaluation_id = $evaluation AND position IN (SELECT unnest($positions))"
                    connection.execute(sql.format(among), evaluation | {"positions": positions})
            if rng.random() < 0.7:
                connection.execute(
                    "INSERT INTO scores BY NAME SELECT evaluation_id, position, 'other.faithfulness' AS metric,"
                    " position / 90 AS value FROM scores WHERE evaluation_id = $evaluation AND position % 2 = 0",
                    evaluation,
                )
    for name in ("one", "two", "other"):
        run = store.resolve(name)
        drawn = draw_samples(store, run, size=50, seed=1).positions
        label(store, run, drawn, skip=rng.choice([-1, drawn[-5]]))


@pytest.fixture(params=range(4))
def runs(request: pytest.FixtureRequest, store: Store, once: Once, monkeypatch: pytest.MonkeyPatch) -> list[RunRef]:
    """Runs, with rollups of two of four stores."""
    once(made, store)
    damage(store, random.Random(request.param))
    if request.param % 2:
        monkeypatch.setattr(rollups, "MIN_SAMPLES", 1)
        store.add_runs([])
    return [store.resolve(name) for name in ("one", "two", "other")]


def test_counts_and_scores_are_those_of_the_samples(store: Store, runs: list[RunRef]) -> None:
    with store.database.read() as connection:
        for run in runs:
            for kind in ("verdict", "grade"):
                positions = positions_to_label(connection, run, kind)
                labels = sum(statement_counts(connection, run, positions).values())
                expected = (len(positions), labels if kind == "verdict" else len(positions))
                assert count_samples_to_label(connection, run, kind) == expected
                scores = {at: one[1] for at, one in judge_scores(connection, run, METRIC).items() if at in positions}
                found = scored_samples(connection, run, METRIC, kind)
                assert list(zip(found.positions.tolist(), found.values.tolist(), strict=True)) == list(scores.items())
            for against in runs:
                pairs = len(positions_to_label(connection, run, "preference", against))
                assert count_samples_to_label(connection, run, "preference", against) == (pairs, pairs)


@pytest.mark.parametrize("measured", ["verdicts", "faithfulness"])
def test_estimates_by_number_are_those_by_question(store: Store, runs: list[RunRef], measured: Any) -> None:
    for chosen in (runs, runs[:2], runs[1:], runs[:1]):
        by_question = estimate_runs(store, chosen, measured=measured)
        by_number = estimate_runs(store, chosen, measured=measured, numbered=True)
        assert by_number.report == by_question.report
        assert all((system.means is not None) == (measured == "verdicts") for system in by_number.report.systems)
        for ours, theirs in zip(by_number.inputs, by_question.inputs, strict=True):
            assert replace(ours, system=theirs.system) == theirs
            assert predict_labels_needed(ours, 0.2) == predict_labels_needed(theirs, 0.2)


@pytest.mark.parametrize("kept", [1, 5, 200])
def test_the_largest_disagreements_are_those_of_all_samples(
    store: Store, runs: list[RunRef], kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(annotation, "MAX_DISAGREEMENTS", kept)
    with store.database.write() as connection:
        connection.execute("DELETE FROM rollups")  # they have 200 disagreements
    with store.database.read() as connection:
        everywhere = [annotation.largest_disagreements(connection, run, None) for run in runs]
        assert [list(disagreements(connection, run).items()) for run in runs] == [
            list(found.items()) for found in everywhere
        ]
    assert any(everywhere)


def as_arrays(scores: Mapping[int, float]) -> NumberedScores:
    return NumberedScores(np.array(list(scores), dtype=np.uint64), np.array(list(scores.values()), dtype=float))


Scores = st.dictionaries(st.integers(0, 40), st.sampled_from([0.0, 0.25, 0.5, 1.0]), max_size=40)


@given(ours=Scores, theirs=Scores, labels=Scores)
def test_scores_by_number_are_read_like_a_dictionary(
    ours: dict[int, float], theirs: dict[int, float], labels: dict[int, float]
) -> None:
    systems = [System(name=name, scores=scores, labels=labels) for name, scores in (("a", ours), ("b", theirs))]
    numbered = [replace(one, scores=as_arrays(one.scores)) for one in systems]
    assert [dict(one.scores) for one in numbered] == [ours, theirs]
    assert list((numbered[1] - numbered[0]).scores.items()) == list((systems[1] - systems[0]).scores.items())
    for ones, others in zip(numbered, systems, strict=True):
        assert [part.tolist() for part in ones.arrays()] == [part.tolist() for part in others.arrays()]
        assert ones.judged().tolist() == others.judged().tolist()
