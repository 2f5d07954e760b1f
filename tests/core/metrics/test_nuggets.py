"""Tests of nugget scores: by hand, on cases of the original code, and their tasks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragboard import Nugget, Sample, Score, Unscored, evaluate, judge_from
from ragboard.metrics import METRICS, compute_outcome, metrics_named
from ragboard.metrics.base import NeedResults
from ragboard.metrics.nuggets import AssignedNugget, NuggetAssignments, NuggetMetric
from ragboard.records import Outcome
from ragboard.tasks import AssignNuggets, Failure, NuggetLabels, OnCall, Reply, Task, ignore_call

NAMES = ("all", "all_strict", "vital", "vital_strict", "weighted", "weighted_strict")
LABELS = ("support", "partial_support", "not_support")


@dataclass
class Table:
    """A judge that takes the label of each nugget from a table."""

    labels: Mapping[str, str]
    name: str = "table"
    heuristic: bool = False
    answers: frozenset[type[Task]] = frozenset({AssignNuggets})
    asked: list[AssignNuggets] = field(default_factory=list[AssignNuggets])

    def identity(self, task: type[Task]) -> str:
        return f"table/{task.__name__}"

    async def answer(self, tasks: Sequence[Task], _on_call: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        return [self._reply(task) for task in tasks if isinstance(task, AssignNuggets)]

    def _reply(self, task: AssignNuggets) -> Reply | Failure:
        self.asked.append(task)
        labels: Any = tuple(self.labels[text] for text in task.nuggets)
        if not set(labels) <= set(LABELS):
            return Failure(detail="no label")
        return NuggetLabels(labels=labels, reasons=("",) * len(labels))


def sample(name: str, nuggets: Sequence[tuple[str, str | None]] | None, answer: str = "An answer.") -> Sample:
    made = None if nuggets is None else tuple(Nugget(text=text, importance=kind) for text, kind in nuggets)  # type: ignore[arg-type]
    return Sample(id=name, question=f"Question {name}?", answer=answer, nuggets=made)


def scores(result: Any, suffix: str = "") -> dict[str, tuple[Outcome, ...]]:
    return {name: result.outcomes(f"nuggets.{name}{suffix}") for name in NAMES}


def value(one: Outcome) -> float | None:
    return one.value if isinstance(one, Score) else None


def test_a_hand_case() -> None:
    judge = Table({"a": "support", "b": "partial_support", "c": "not_support"})
    result = evaluate([sample("1", [("a", "vital"), ("b", "vital"), ("c", "okay")])], metrics="nuggets", judge=judge)
    assert {name: value(one) for name, (one,) in scores(result).items()} == {
        "all": 0.5,
        "all_strict": pytest.approx(1 / 3),
        "vital": 0.75,
        "vital_strict": 0.5,
        "weighted": pytest.approx(1.5 / 2.5),
        "weighted_strict": pytest.approx(1 / 2.5),
    }
    assert result.outcomes("nuggets.vital") == (Score(value=0.75, counted="1 of 2 vital nuggets, 1 in part"),)


def test_all_nuggets_are_asked_in_one_call_and_ten_at_a_time_with_compat() -> None:
    nuggets = [(f"n{number}", "okay") for number in range(23)]
    judge = Table({text: "support" for text, _ in nuggets})
    evaluate([sample("1", nuggets)], metrics="nuggets", judge=judge)
    assert [len(task.nuggets) for task in judge.asked] == [23]
    judge.asked.clear()
    evaluate([sample("1", nuggets)], metrics=[f"nuggets.{name}(compat=True)" for name in NAMES], judge=judge)
    assert sorted(len(task.nuggets) for task in judge.asked) == [3, 10, 10]


def test_what_cannot_be_scored_says_why() -> None:
    judge = Table({"a": "support"})
    rows = [sample("none", None), sample("empty", []), sample("okay", [("a", "okay")]), sample("unsaid", [("a", None)])]
    found = scores(evaluate(rows, metrics="nuggets", judge=judge))
    none, empty, okay, unsaid = found["vital"]
    assert isinstance(none, Unscored)
    assert (none.reason, "ragboard nuggets write RUN" in none.detail) == ("skipped", True)
    assert empty == okay == unsaid == Unscored(reason="undefined", detail="the question has no vital nugget")
    assert [value(one) for one in found["all"]] == [None, None, 1.0, 1.0]
    assert [value(one) for one in found["weighted"]] == [None, None, 1.0, None]


def test_an_empty_answer_states_no_nugget_and_no_model_is_asked() -> None:
    asked: list[str] = []
    judge = judge_from(lambda prompts: asked.extend(prompts) or [""] * len(prompts), version="1")
    result = evaluate([sample("1", [("a", "vital")], answer=" ")], metrics="nuggets", judge=judge)
    assert {value(one) for (one,) in scores(result).values()} == {0.0}
    assert asked == []


def test_a_failed_judge_is_no_label_and_with_compat_scores_zero() -> None:
    rows = [sample("1", [("a", "vital"), ("b", "okay")])]
    plain = evaluate(rows, metrics="nuggets", judge=Table({"a": "?", "b": "support"}))
    assert {type(one) for (one,) in scores(plain).values()} == {Unscored}
    many = [sample("1", [(f"n{number}", "okay") for number in range(11)])]
    labels = {f"n{number}": "?" for number in range(10)} | {"n10": "support"}
    compat = evaluate(many, metrics=["nuggets.all(compat=True)"], judge=Table(labels))
    assert compat.outcomes("nuggets.all(compat=True)") == (
        Score(value=pytest.approx(1 / 11), counted="1 of 11 nuggets"),
    )


@given(st.lists(st.tuples(st.sampled_from(["vital", "okay"]), st.sampled_from(LABELS)), min_size=1, max_size=12))
def test_strict_is_never_higher_and_weighted_is_between_the_scores_of_vital_and_okay_nuggets(
    rows: list[tuple[Any, Any]],
) -> None:
    found = computed(rows)
    for loose, strict in (("all", "all_strict"), ("vital", "vital_strict"), ("weighted", "weighted_strict")):
        if found[loose] is not None:
            assert found[strict] <= found[loose] + 1e-12
    kinds = {kind for kind, _ in rows}
    if len(kinds) == 1:
        assert found["weighted"] == pytest.approx(found["all"])


def computed(rows: Sequence[tuple[Any, Any]], *, compat: bool = False) -> dict[str, Any]:
    """The scores of these (importance, label)."""
    suffix = "(compat=True)" if compat else ""
    assigned = tuple(AssignedNugget(text=str(n), importance=kind, label=label) for n, (kind, label) in enumerate(rows))
    results = NeedResults({NuggetAssignments(compat): assigned})
    found = metrics_named([f"nuggets.{name}{suffix}" for name in NAMES])
    return {metric.name: value(compute_outcome(metric, sample("1", [("a", "vital")]), results)) for metric in found}


def cases(data: Path, name: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    folder = data / "oracles" / name
    asked, told = (json.loads((folder / f"{file}.json").read_text())["cases"] for file in ("inputs", "expected"))
    by_id = {case["id"]: case for case in told}
    return [(case, by_id[case["id"]]) for case in asked if "id" in case and case["id"] in by_id]


def test_the_scores_are_those_of_nuggetizer(data: Path) -> None:
    """Its labels in another case, and importance that it does not know, score as a failed label and as none."""
    known = {
        "strict_vital_score": "vital_strict",
        "strict_all_score": "all_strict",
        "vital_score": "vital",
        "all_score": "all",
    }
    compared = 0
    for case, told in cases(data, "nuggetizer"):
        if not isinstance(case.get("nuggets"), list):
            continue
        rows = [
            (
                one["importance"] if one["importance"] in ("vital", "okay") else None,
                one["assignment"] if one["assignment"] in LABELS else "failed",
            )
            for one in case["nuggets"]
        ]
        found = computed(rows, compat=True)
        assert {name: found[name] for name in known.values()} == {
            ours: pytest.approx(told[theirs], abs=1e-12) for theirs, ours in known.items()
        }, case["id"]
        compared += 1
    assert compared > 50


def test_the_scores_are_those_of_open_rag_eval(data: Path) -> None:
    named = dict(zip(("All", "All Strict", "Vital", "Vital Strict", "Weighted", "Weighted Strict"), NAMES, strict=True))
    pairs = cases(data, "open_rag_eval_nuggets")
    samples, labels = [], {}
    for case, _ in pairs:
        texts = [f"case {case['id']} nugget {number}" for number in range(len(case["labels"]))]
        samples.append(sample(f"case {case['id']}", list(zip(texts, case["labels"], strict=True))))
        labels |= dict(zip(texts, case["assignments"], strict=True))
    result = evaluate(samples, metrics=[f"nuggets.{name}(compat=True)" for name in NAMES], judge=Table(labels))
    found = scores(result, "(compat=True)")
    for place, (case, told) in enumerate(pairs):
        ours = {name: value(found[named[name]][place]) for name in named}
        assert ours == {name: pytest.approx(told[name], abs=1e-12) for name in named}, case["id"]
    assert len(pairs) > 20


def test_each_nugget_metric_says_what_it_needs() -> None:
    ours = [metric for metric in METRICS.values() if isinstance(metric, NuggetMetric)]
    assert [metric.name for metric in ours] == list(NAMES)
    assert {metric.requires for metric in ours} == {("answer", "nuggets")}
