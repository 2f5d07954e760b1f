"""Tests of counting correct, missing and wrong answers (CRAG)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ragboard import Panel, Run, Sample, Store, evaluate_run, judge_from
from ragboard.analysis import TruthfulnessShares, truthfulness_shares
from ragboard.cli import main
from ragboard.metrics import metrics_named

COMPAT = "crag.truthfulness(compat=True)"
ANSWERS = {"correct": "In 1871.", "missing": "Sorry, I don't know.", "wrong": "Invalid question"}
"""The words alone decide in CRAG's program, so that no judge is asked."""


def evaluated(store: Store, name: str, **counts: int) -> tuple[TruthfulnessShares, ...]:
    answers = [ANSWERS[kind] for kind, count in counts.items() for _ in range(count)]
    samples = tuple(
        Sample(id=str(number), question=f"When, {number}?", answer=answer, reference="in 1871.")
        for number, answer in enumerate(answers)
    )
    run_id = store.add_runs([Run(name=name, samples=samples)])[0].id
    judge = judge_from(lambda prompts: pytest.fail(f"asked {prompts}"), version="1")
    evaluate_run(store, run_id, metrics_named([COMPAT]), Panel(judge=judge))
    return truthfulness_shares(store, store.resolve(name))


def test_a_hand_case(store: Store) -> None:
    (found,) = evaluated(store, "run", correct=3, missing=1, wrong=1)
    assert (found.correct, found.missing, found.wrong, found.n) == (3, 1, 1, 5)
    assert (found.accuracy, found.hallucination) == (0.6, 0.2)
    assert found.score == pytest.approx(0.4)
    words = "Truthfulness (compat=True) 0.40: of 5 answers 3 correct (60%), 1 missing (20%), 1 wrong (20%)"
    assert str(found) == words
    shown = CliRunner().invoke(main, ["show", "run", "--store", str(store.folder)])
    assert words in shown.stdout
    as_json = json.loads(CliRunner().invoke(main, ["show", "run", "--json", "--store", str(store.folder)]).stdout)
    assert as_json["truthfulness"][0]["wrong"] == 1


def test_a_run_without_the_metric_has_none(store: Store) -> None:
    store.add_runs([Run(name="run", samples=(Sample(id="1", question="q?"),))])
    assert truthfulness_shares(store, store.resolve("run")) == ()


def test_the_shares_are_those_of_crags_program(store: Store, data: Path) -> None:
    folder = data / "oracles" / "crag_aggregate"
    inputs, expected = (
        {case["id"]: case for case in json.loads((folder / f"{part}.json").read_text("utf-8"))["cases"]}
        for part in ("inputs", "expected")
    )
    small = {name: case for name, case in inputs.items() if case["total"] <= 100}
    distinct = {(case["n_correct"], case["n_missing"], case["total"]): name for name, case in small.items()}
    for (correct, missing, total), name in distinct.items():
        (found,) = evaluated(store, f"run {name}", correct=correct, missing=missing, wrong=total - correct - missing)
        theirs = expected[name]
        assert (found.accuracy, found.missing / found.n, found.hallucination, found.score) == pytest.approx(
            tuple(theirs[part] for part in ("accuracy", "missing", "hallucination", "score")), abs=1e-12
        )
    assert len(distinct) >= 5
