"""The demo: the sample runs, evaluated with the recorded verdicts of their authors and by the embedded judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TypeAlias

from ragboard.datasets import import_nuggets, load_dataset
from ragboard.errors import NotFoundError
from ragboard.evaluation.defaults import default_metrics
from ragboard.human.agree import agree, plan_agreement
from ragboard.judges import JudgeOptions, Panel, panel_named
from ragboard.metrics import DEFAULT_METRICS_BY_RULES, Metric, metrics_named
from ragboard.readers.labels import LabelFile, read_labels
from ragboard.sample_files import SAMPLE_TAG, sample_folder, sample_runs
from ragboard.store import RunRef, Store

__all__ = ["RECORDED_METRICS", "load_demo", "remove_demo"]

RECORDED_METRICS = (
    *DEFAULT_METRICS_BY_RULES,
    *metrics_named(
        (
            "ragchecker.recall",
            "ragchecker.claim_recall",
            "ragchecker.context_precision",
            "ragchecker.context_utilization",
            "ragchecker.noise_sensitivity_in_relevant",
            "ragchecker.noise_sensitivity_in_irrelevant",
            "ragchecker.hallucination",
            "ragchecker.self_knowledge",
            "nuggets.vital_strict",
            "nuggets.all",
        )
    ),
)
"""The metrics computed from the recorded verdicts: the default metrics, metrics for a diagnosis, and nuggets."""

Evaluate: TypeAlias = Callable[[Store, RunRef, tuple[Metric, ...], Panel], object]
"""Evaluates a run with these metrics and judges."""


def load_demo(store: Store, evaluate: Evaluate) -> Iterator[str]:
    """Load both sample runs and evaluate them; yield progress messages.

    Each run is evaluated by the embedded judge and then with the verdicts that the authors recorded, because pages show
    the newest evaluation. Finally the embedded judge is compared with the authors.
    """
    rules, recorded = panel_named(JudgeOptions()), panel_named(JudgeOptions(judge="recorded"))
    added_runs = store.add_runs(sample_runs())
    if not load_dataset(store, added_runs[0].name).with_nuggets:
        import_nuggets(store, sample_folder() / "nuggets.jsonl")
    for added in added_runs:
        run = RunRef(run_id=added.id, name=added.name, evaluation_id=None)
        evaluate(store, run, default_metrics(rules), rules)
        evaluate(store, run, RECORDED_METRICS, recorded)
        yield f"sample run {added.name}: {added.samples} samples, judged by {recorded.name}"
    agree(store, _labels(), rules)
    yield (
        "also evaluated by the embedded judge (rule-based);"
        " the Agreement page compares its verdicts with the recorded ones"
    )


def remove_demo(store: Store) -> int:
    """Delete the sample runs that are still tagged `sample`, and the agreement with the authors.

    Returns the number of deleted runs.
    """
    sample_ids = {run_id for run in sample_runs() if (run_id := store.same_run(run))}
    ids = sample_ids.intersection(store.runs_tagged(SAMPLE_TAG))
    store.remove_runs(ids)
    with suppress(NotFoundError):
        store.remove_agreement(plan_agreement(_labels(), panel_named(JudgeOptions())).id)
    return len(ids)


def _labels() -> LabelFile:
    return replace(
        read_labels(str(sample_folder() / "verdicts" / "answers.jsonl")),
        name="sample answers",
        source="the sample runs",
    )
