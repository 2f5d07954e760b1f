"""Evaluate samples from Python."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ragboard.analysis import MetricSummary, RunSummary, SampleQuery, SampleRow, run_summary, sample_rows
from ragboard.errors import NotFoundError, RunFileWarning, SettingError
from ragboard.evaluation.defaults import default_metrics
from ragboard.evaluation.engine import FinishedEvaluation, evaluate_run
from ragboard.evaluation.options import EvaluationOptions
from ragboard.judges import Judge, JudgeOptions, Panel, panel_named
from ragboard.metrics import Metric, metrics_named
from ragboard.readers import ImportReport, read_runs
from ragboard.readers.objects import read_samples
from ragboard.records import JsonValue, Outcome, Run, Score
from ragboard.store import RunRef, Store

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EvaluationResult", "aevaluate", "evaluate", "log"]

ALL = 2**31 - 1
WARNED = 10
"""Most changes that a warning names; the report lists all."""


@dataclass(frozen=True, kw_only=True)
class EvaluationResult:
    """The result of an evaluation: a summary of each metric, and the outcomes of every sample."""

    summary: RunSummary
    samples: tuple[SampleRow, ...]
    finished: FinishedEvaluation
    report: ImportReport
    """How the samples were read: columns, and values that were changed, left out or renamed."""

    def metric(self, name: str) -> MetricSummary:
        """Return the summary of a metric by name, as in `evaluate`. Raises NotFoundError with the possible names."""
        return self.summary.metrics[self._spec(name)]

    def outcomes(self, name: str) -> tuple[Outcome, ...]:
        """Return the outcome of each sample, in order."""
        spec = self._spec(name)
        return tuple(row.scores[spec] for row in self.samples)

    def to_pandas(self) -> pd.DataFrame:
        """Return a DataFrame with one row per sample: id, question, and the value of each metric or why it is missing.

        Values are nullable floats: a missing one is `<NA>` with its reason in the column `METRIC: why`.
        """
        import pandas as pd

        columns: dict[str, Any] = {
            "id": [row.sample_id for row in self.samples],
            "question": [row.question for row in self.samples],
        }
        for spec in self.summary.metrics:
            outcomes = [row.scores[spec] for row in self.samples]
            values = [outcome.value if isinstance(outcome, Score) else None for outcome in outcomes]
            columns[spec] = pd.array(values, dtype="Float64")
            columns[f"{spec}: why"] = [_why(outcome) for outcome in outcomes]
        return pd.DataFrame(columns)

    def _spec(self, name: str) -> str:
        there = self.summary.metrics
        if name in there:
            return name
        with suppress(SettingError):
            found = [metric.spec for metric in metrics_named([name]) if metric.spec in there]
            if len(found) == 1:
                return found[0]
        own = [spec for spec in there if spec.partition("(")[0].partition(".")[2] == name]
        if len(own) != 1:
            raise NotFoundError(
                f"{name!r} {'is ambiguous' if own else 'was not evaluated'}; there are {', '.join(there)}"
            )
        return own[0]


def evaluate(
    samples: Any,
    *,
    metrics: str | Iterable[str | Metric] | None = None,
    judge: str | Judge | Panel = "embedded",
    embed: str | None = None,
    options: EvaluationOptions | None = None,
    store: Store | Path | str | None = None,
    name: str | None = None,
    config: Mapping[str, JsonValue] | None = None,
    dataset: str | None = None,
    mapping: Mapping[str, str | None] | None = None,
) -> EvaluationResult:
    """Evaluate samples, or rows with the columns that a run file may have, and wait for the result.

    `samples` are the path of a run file, a Run, Samples, mappings or pydantic models, a dict of columns, a data frame
    (pandas, polars), an Arrow table, or a dataset of Hugging Face, ragas or DeepEval; `mapping` says which column a
    field is read from where its name does not tell (None: from none). `name` is the run's; None: the file's or the
    Run's, else `run`. `metrics` are one or several, by name or as
    objects; None: faithfulness, answer relevance and context relevance. `judge` is a name as on the command line, a
    judge, or a panel of judges by role; `options` limit what is asked. With a `store` the run is kept there under its
    name, what was answered before is not asked again, and the dashboard shows it; without one nothing is kept. Works
    where an event loop runs already, as in a notebook. Warns with RunFileWarning of what was read as something else,
    left out or renamed; the result's `report` lists it. Raises the errors of the command line.
    """
    run, report = _read(samples, name=name, config=config, dataset=dataset, mapping=mapping)
    panel = _panel(judge, embed)
    named = [metrics] if isinstance(metrics, str) else default_metrics(panel) if metrics is None else metrics
    chosen = tuple(found for metric in named for found in _metrics(metric))
    with TemporaryDirectory(prefix="ragboard-", ignore_cleanup_errors=True) as folder:
        kept = store if isinstance(store, Store) else Store(store or folder)
        (added,) = kept.add_runs([run])
        finished = evaluate_run(kept, added.id, chosen, panel, options)
        ref = RunRef(run_id=added.id, name=added.name, evaluation_id=finished.evaluation.id)
        rows = sample_rows(kept, ref, SampleQuery(limit=ALL)).rows
        return EvaluationResult(summary=run_summary(kept, ref), samples=rows, finished=finished, report=report)


async def aevaluate(samples: Any, **given: Any) -> EvaluationResult:
    """Evaluate samples as `evaluate` does, without blocking the event loop."""
    return await asyncio.to_thread(partial(evaluate, samples, **given))


def log(
    run: str,
    *,
    question: str,
    answer: str | None = None,
    contexts: Sequence[str | Mapping[str, JsonValue]] | None = None,
    reference: str | None = None,
    history: Sequence[Mapping[str, JsonValue]] = (),
    metadata: Mapping[str, JsonValue] | None = None,
    sample_id: str | None = None,
    config: Mapping[str, JsonValue] | None = None,
    dataset: str = "logged",
    store: Store | Path | str = ".ragboard",
) -> str:
    """Append one sample to the run of that name, from a pipeline, and return the sample's id.

    The run begins with its first sample, whose `config` and `dataset` are the run's. `contexts` are texts or
    objects with `text` and where known `id` and `score`, in the order of retrieval. Without a `sample_id` the
    sample gets one from its question; one that is taken gets a number. Several processes may log at once.
    Nothing is judged: `ragboard evaluate RUN` asks for the samples that it has not seen. Warns with RunFileWarning
    of what was read as something else or left out. Raises RunFileError
    for what cannot be read, RunExistsError where the name is that of an imported run.
    """
    row = {
        "id": sample_id,
        "question": question,
        "answer": answer,
        "contexts": contexts,
        "reference": reference,
        "history": list(history),
        "metadata": metadata,
    }
    given = {name: value for name, value in row.items() if value is not None}
    sample, _ = _read([given], name=run, config=config, dataset=dataset)
    kept = store if isinstance(store, Store) else Store(store)
    return kept.append(replace(sample, source="logged"))[0]


def _read(samples: Any, *, name: str | None, **given: Any) -> tuple[Run, ImportReport]:
    """Return the run of samples and how they were read; warn, at the caller's line, about changes."""
    if isinstance(samples, (str, Path)):
        result = read_runs(samples, name=name, **given)
        if len(result.runs) > 1:
            names = ", ".join(run.name for run in result.runs)
            raise SettingError(f"{samples} holds {len(result.runs)} runs ({names}); pass one of `read_runs(...).runs`")
    elif isinstance(samples, Run):
        result = read_samples(samples.samples, name=name or samples.name, **given)
        (read,) = result.runs
        run = replace(
            samples, name=read.name, config={**samples.config, **read.config}, dataset=read.dataset or samples.dataset
        )
        result = replace(result, runs=(replace(run, samples=read.samples),))
    else:
        result = read_samples(samples, name=name or "run", **given)
    report = result.report
    said = [f"{change.count} x {change.what} (row {', '.join(map(str, change.lines))})" for change in report.coerced]
    said += [f"row {same.line}: duplicate id {same.given}, renamed to {same.assigned}" for same in report.duplicated]
    if said:
        more = f"; and {len(said) - WARNED} more" if len(said) > WARNED else ""
        warnings.warn(f"{report.path}: {'; '.join(said[:WARNED])}{more}", RunFileWarning, stacklevel=3)
    return next(iter(result.runs)), report


def _panel(judge: str | Judge | Panel, embed: str | None) -> Panel:
    if isinstance(judge, Panel):
        return judge
    return panel_named(JudgeOptions(judge=judge, embed=embed)) if isinstance(judge, str) else Panel(judge=judge)


def _metrics(metric: str | Metric) -> tuple[Metric, ...]:
    return metrics_named([metric]) if isinstance(metric, str) else (metric,)


def _why(outcome: Outcome) -> str | None:
    return None if isinstance(outcome, Score) else f"{outcome.reason}: {outcome.detail}"
