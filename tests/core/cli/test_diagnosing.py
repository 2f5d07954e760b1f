"""Tests of `ragboard diagnose`."""

from __future__ import annotations

import json

from click.testing import CliRunner
from tests.core.analysis.diagnosis.made_runs import Texts, keep, make_run, spread

from ragboard import Store
from ragboard.cli import main


def inventive(number: int, right: list[str], _: object) -> Texts:
    return [*right, f"made{number}", f"up{number}"], spread(right)


def said(store: Store, *words: str) -> str:
    done = CliRunner().invoke(main, ["diagnose", *words, "--store", str(store.folder)], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_findings_losses_and_silent_rules_are_printed(store: Store) -> None:
    keep(store, make_run("\x1b[31mred", inventive), ["ragas.faithfulness", "ragchecker.hallucination"])
    printed = said(store, "\x1b[31mred")
    assert "generator: 29% (" in printed
    assert "5 of 60 questions account for 8% of the 120 unsupported statements" in printed
    assert "Refusals: above 0.1" in printed
    assert "to evaluate them: ragboard evaluate" in printed
    assert "\x1b" not in printed


def test_json_holds_every_rule(store: Store) -> None:
    keep(store, make_run("made", inventive))
    found = json.loads(said(store, "made", "--json"))
    assert {one["rule"]["id"] for one in found["findings"]} == {"made-up", "own-knowledge-wrong", "unfaithful"}
    costs = [one["cost"] for one in found["findings"]]
    assert costs == sorted(costs, reverse=True) != [0.0] * 3
    assert found["findings"][0]["figure"]["interval"]["n"] == 60
    assert len(found["findings"]) + len(found["silent"]) == 22


def test_a_run_that_is_not_there_is_one_line(store: Store) -> None:
    keep(store, make_run("made", inventive), ["refusal"])
    done = CliRunner().invoke(main, ["diagnose", "nope", "--store", str(store.folder)])
    assert (done.exit_code, done.stderr) == (5, "ragboard: no run is called 'nope'; there are made\n")
