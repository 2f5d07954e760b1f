"""Evaluate samples from Python."""

from __future__ import annotations

import asyncio
import tempfile
import warnings
import weakref
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

from ragboard.analysis import (
    Comparison,
    Hallucination,
    HallucinationQuery,
    MetricSummary,
    RunSummary,
    SampleQuery,
    SampleRow,
    UnscoredPolicy,
    compare_runs,
    hallucinations,
    resolve_spec,
    run_summary,
    sample_rows,
)
from ragboard.display import html_table, one_line, text_table
from ragboard.errors import NotFoundError, RunFileWarning, SettingError
from ragboard.evaluation.defaults import default_metrics
from ragboard.evaluation.engine import FinishedEvaluation, evaluate_run
from ragboard.evaluation.options import EvaluationOptions
from ragboard.judges import Judge, JudgeOptions, Panel, panel_named
from ragboard.metrics import METRICS, Metric, metrics_named
from ragboard.readers import ImportReport, read_runs
from ragboard.readers.objects import read_samples
from ragboard.records import JsonValue, Outcome, Run, Score
from ragboard.stats import interval_text
from ragboard.store import RunRef, Store
from ragboard.store.queries.statements import answer_verdicts

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "EvaluationResult",
    "aevaluate",
    "alog",
    "evaluate",
    "gate_metrics",
    "log",
    "panel_of",
    "read_run",
    "temporary_store",
]

NO_LIMIT = 2**31 - 1
MAX_WARNED = 10
"""Maximum number of changes in a warning. The report has all."""

_HEAD = ("metric", "mean", "95% CI", "n", "unscored")


@dataclass(frozen=True, kw_only=True, repr=False)
class EvaluationResult:
    """The result of an evaluation: a summary of each metric, and the outcomes of every sample.

    `result["faithfulness"]` is the summary of a metric; `print(result)` shows all of them.
    """

    summary: RunSummary
    samples: tuple[SampleRow, ...]
    """The evaluated samples, in the order of the run."""
    finished: FinishedEvaluation
    """Calls, cost and failed tasks of the evaluation. If it was stopped, also the reason."""
    report: ImportReport
    """How the samples were read: columns, and values that were converted, dropped or renamed."""
    store: Store
    """The store with the run. A temporary store is deleted with the last result that uses it."""
    run: RunRef
    """The run and its evaluation in `store`, for the functions of `ragboard.analysis`."""

    def __getitem__(self, metric: str) -> MetricSummary:
        """Return the summary of a metric, by a name as in `evaluate`. Raises NotFoundError if it was not evaluated."""
        return self.summary.metrics[self._spec(metric)]

    def __repr__(self) -> str:
        """Return the judge, a table of the metrics, and the number of unsupported statements."""
        return "\n".join((one_line(self._title()), text_table(_HEAD, self._rows()), *map(one_line, self._notes())))

    def _repr_html_(self) -> str:
        return html_table(_HEAD, self._rows(), above=(self._title(),), below=self._notes())

    @property
    def warnings(self) -> tuple[str, ...]:
        """The values that were converted, dropped or renamed to read the samples. RunFileWarning has the first 10."""
        return _changes(self.report)

    def outcomes(self, metric: str) -> tuple[Outcome, ...]:
        """Return the outcome of a metric for each sample, in order."""
        spec = self._spec(metric)
        return tuple(row.scores[spec] for row in self.samples)

    def hallucinations(self) -> tuple[Hallucination, ...]:
        """Return the statements that no passage supports: contradicted before unsupported, least supported first.

        Each has `sample_id`, `question`, `statement`, `verdict`, `reason` and `evidence`.
        """
        return hallucinations(self.store, HallucinationQuery(runs=(self.run,), limit=NO_LIMIT)).rows

    def compare(
        self, other: EvaluationResult, *, unscored: UnscoredPolicy = "excluded", allow_different_judges: bool = False
    ) -> Comparison:
        """Compare another result with this one, question by question; differences are `other` minus this result.

        `unscored` says how samples without a score count. A metric that different judges scored is not compared, unless
        `allow_different_judges` is set.
        """
        store, a, b = self.store, self.run, other.run
        if other.store.folder.resolve() != store.folder.resolve():
            store = temporary_store()
            a = store.copy_run(self.store, a)
            b = store.copy_run(other.store, b, name=f"{b.name} (B)" if b.name == a.name else b.name)
        return compare_runs(store, a, b, unscored=unscored, allow_different_judges=allow_different_judges)

    def to_pandas(self) -> pd.DataFrame:
        """Return a DataFrame with one row per sample.

        Columns: `id`, `question`, `answer`, `passages` (a list of texts, or None) and `reference`; for each metric
        `METRIC` (a nullable float) and `METRIC: why` (the reason for a missing value); `verdicts`, a list with the
        statement, verdict, score and reason of each statement of the answer.
        """
        import pandas as pd

        texts = {sample.id: sample for _, sample in self.store.samples(self.run.run_id)}
        samples = [texts[row.sample_id] for row in self.samples]
        with self.store.database.read() as connection:
            verdicts = answer_verdicts(connection, self.run.evaluation_id)
        columns: dict[str, Any] = {
            "id": [sample.id for sample in samples],
            "question": [sample.question for sample in samples],
            "answer": [sample.answer for sample in samples],
            "passages": [
                None if sample.contexts is None else [passage.text for passage in sample.contexts] for sample in samples
            ],
            "reference": [sample.reference for sample in samples],
        }
        for spec in self.summary.metrics:
            outcomes = [row.scores[spec] for row in self.samples]
            values = [outcome.value if isinstance(outcome, Score) else None for outcome in outcomes]
            columns[spec] = pd.array(values, dtype="Float64")
            columns[f"{spec}: why"] = [_why(outcome) for outcome in outcomes]
        columns["verdicts"] = [
            [verdict._asdict() for verdict in verdicts.get(row.position, ())] for row in self.samples
        ]
        return pd.DataFrame(columns)

    def _title(self) -> str:
        count = len(self.samples)
        title = f"{self.summary.name}: {count:,} sample{'' if count == 1 else 's'}"
        if self.summary.judged is None:
            return title
        hint = "; treat scores as hints" if self.summary.judged.heuristic else ""
        return f"{title}, judge {self.summary.judged.in_words}{hint}"

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                spec,
                "none" if metric_summary.mean is None else f"{metric_summary.mean:.3f}",
                interval_text(metric_summary.interval) or "none",
                f"{metric_summary.scored:,}",
                metric_summary.unscored_text or "0",
            )
            for spec, metric_summary in self.summary.metrics.items()
        ]

    def _notes(self) -> list[str]:
        labels = self.summary.labels
        wrong = labels.get("contradicted", 0) + labels.get("unsupported", 0)
        notes: list[str] = []
        if wrong:
            notes.append(f"{wrong:,} of {sum(labels.values()):,} statements are not supported; see .hallucinations()")
        if self.warnings:
            notes.append(f"{len(self.warnings)} changes while reading the samples; see .warnings")
        if self.finished.stopped:
            notes.append(f"stopped: {self.finished.stopped}")
        return notes

    def _spec(self, name: str) -> str:
        summaries = self.summary.metrics
        if name in summaries:
            return name
        with suppress(SettingError):
            matches = [metric.spec for metric in metrics_named([name]) if metric.spec in summaries]
            if len(matches) == 1:
                return matches[0]
        matches = [spec for spec in summaries if spec.partition("(")[0].partition(".")[2] == name]
        if len(matches) != 1:
            wrong = "is ambiguous" if matches else "was not evaluated"
            raise NotFoundError(f"{name!r} {wrong}; evaluated metrics: {', '.join(summaries)}")
        return matches[0]


def evaluate(
    samples: Any,
    *,
    metrics: str | Iterable[str | Metric] | None = None,
    judge: str | JudgeOptions | Judge | Panel = "embedded",
    embed: str | None = None,
    base_url: str | None = None,
    concurrency: int | None = None,
    batch: bool = False,
    sample: int | None = None,
    max_cost: float | None = None,
    ray: str | None = None,
    options: EvaluationOptions | None = None,
    store: Store | Path | str | None = None,
    name: str | None = None,
    config: Mapping[str, JsonValue] | None = None,
    dataset: str | None = None,
    mapping: Mapping[str, str | None] | None = None,
) -> EvaluationResult:
    """Evaluate samples and wait for the result. Also works while an event loop runs, as in a notebook.

    - `samples`: the path of a run file; a Run; Samples, mappings or pydantic models; a dict of columns; a data frame
      (pandas, polars), an Arrow table, or a dataset of Hugging Face, ragas or DeepEval.
    - `metrics`: one or several metrics, by name or as objects; by default faithfulness, answer relevance and context
      relevance.
    - `judge`: a name as on the command line, JudgeOptions, a judge, or a panel with a judge for each role. For judges
      given by name, `embed` names the embedder and `base_url` is the URL of the model server.
    - `concurrency`: the maximum number of concurrent requests.
    - `sample`: the number of random samples to evaluate.
    - `max_cost`: a limit in US dollars.
    - `options`: all options of an evaluation. `concurrency`, `sample`, `max_cost` and `ray` override it.
    - `batch`: send requests in batches, at a lower price, with replies within a day. Also pass a `store`: if the
      process ends before the replies arrive, call `evaluate` again to continue.
    - `ray`: evaluate on a Ray cluster: its address, `auto` for the cluster that this machine belongs to, or `local` to
      start a cluster on this machine.
    - `store`: the store for the run. Tasks that have a reply in this store are not sent again, and the dashboard shows
      the run. By default the run is in a temporary store, which is deleted with the result.
    - `name`: the name of the run; by default the name of the file or of the Run, else `run`.
    - `config`, `dataset`: the configuration of the run, and the name of its question set.
    - `mapping`: for each field, the column to read it from (None leaves the field empty), if ragboard does not
      recognise the names of the columns.

    Warns with RunFileWarning about values that were converted, dropped or renamed. The `report` of the result lists all
    of them. Raises subclasses of RagboardError.
    """
    run, report = read_run(samples, name=name, config=config, dataset=dataset, mapping=mapping)
    panel, judge_options = panel_of(judge, embed=embed, base_url=base_url, concurrency=concurrency, batch=batch or None)
    if metrics is None:
        metrics = default_metrics(panel)
    elif isinstance(metrics, str):
        metrics = [metrics]
    chosen = tuple(resolved for metric in metrics for resolved in _metrics(metric))
    limits: dict[str, Any] = {"concurrency": concurrency, "sample": sample, "max_cost": max_cost, "ray": ray}
    overrides = {option: value for option, value in limits.items() if value is not None}
    if judge_options:
        overrides["judge_options"] = judge_options
    run_store = store if isinstance(store, Store) else Store(store) if store else temporary_store()
    (added,) = run_store.add_runs([run])
    finished = evaluate_run(run_store, added.id, chosen, panel, replace(options or EvaluationOptions(), **overrides))
    ref = RunRef(run_id=added.id, name=added.name, evaluation_id=finished.evaluation.id)
    rows = sample_rows(run_store, ref, SampleQuery(limit=NO_LIMIT)).rows
    return EvaluationResult(
        summary=run_summary(run_store, ref),
        samples=tuple(row for row in rows if row.scores),
        finished=finished,
        report=report,
        store=run_store,
        run=ref,
    )


def gate_metrics(names: Iterable[str], panel: Panel, known: Mapping[str, Metric] = METRICS) -> tuple[Metric, ...]:
    """Return the metrics with these names; those that are default metrics of the panel have the settings used there.

    `known` are all metrics by name. Unknown names are skipped, because they may be scores in the run file.
    """
    defaults = {metric.spec: metric for metric in default_metrics(panel)}
    chosen: dict[str, Metric] = {}
    for name in names:
        try:
            spec = resolve_spec(name, tuple(defaults))
            chosen[spec] = defaults[spec]
        except NotFoundError:
            with suppress(SettingError):
                chosen |= {metric.spec: metric for metric in metrics_named([name], known)}
    return tuple(chosen.values())


def temporary_store() -> Store:
    """Return a store in a new temporary folder, which is deleted when the store is no longer used."""
    store = Store(Path(tempfile.mkdtemp(prefix="ragboard-")))
    weakref.finalize(store, rmtree, store.folder, ignore_errors=True)
    return store


async def aevaluate(samples: Any, **arguments: Any) -> EvaluationResult:
    """Evaluate samples as `evaluate` does, without blocking the event loop."""
    return await asyncio.to_thread(partial(evaluate, samples, **arguments))


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
    time: datetime | None = None,
    store: Store | Path | str = ".ragboard",
) -> str:
    """Append a sample to a run, and return the sample's id. Several processes can log at the same time.

    - `contexts`: the retrieved passages, best first: texts, or objects with `text` and optionally `id` and `score`.
    - `sample_id`: by default derived from the question. If the id exists already, it gets a number.
    - `config`, `dataset`: the configuration and dataset of the run, which the first sample creates.
    - `time`: when the question was asked (UTC if it has no time zone); by default now.

    The sample is not evaluated: run `ragboard evaluate RUN` to evaluate new samples. Warns with RunFileWarning about
    values that were converted or dropped. Raises RunFileError for a sample that cannot be read, and RunExistsError if
    an imported run has this name.
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
    columns = {name: value for name, value in row.items() if value is not None}
    sample, _ = read_run([columns], name=run, config=config, dataset=dataset)
    time = time or datetime.now(UTC)
    asked = time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time
    logged = replace(sample, source="logged", samples=tuple(replace(one, time=asked) for one in sample.samples))
    return (store if isinstance(store, Store) else Store(store)).append(logged)[0]


async def alog(run: str, **arguments: Any) -> str:
    """Append one sample to a run as `log` does, without blocking the event loop, and return the sample's id."""
    return await asyncio.to_thread(partial(log, run, **arguments))


def read_run(samples: Any, *, name: str | None, **options: Any) -> tuple[Run, ImportReport]:
    """Read samples as a run. Return the run and the import report. Warn about changed values."""
    if isinstance(samples, (str, Path)):
        result = read_runs(samples, name=name, **options)
        if len(result.runs) > 1:
            names = ", ".join(run.name for run in result.runs)
            raise SettingError(
                f"{samples} contains {len(result.runs)} runs ({names}); pass one of `read_runs(...).runs`"
            )
    elif isinstance(samples, Run):
        result = read_samples(samples.samples, name=name or samples.name, **options)
        (read,) = result.runs
        run = replace(
            samples, name=read.name, config={**samples.config, **read.config}, dataset=read.dataset or samples.dataset
        )
        result = replace(result, runs=(replace(run, samples=read.samples),))
    else:
        result = read_samples(samples, name=name or "run", **options)
    report = result.report
    changes = _changes(report)
    if changes:
        more = f"; and {len(changes) - MAX_WARNED} more" if len(changes) > MAX_WARNED else ""
        warnings.warn(f"{report.path}: {'; '.join(changes[:MAX_WARNED])}{more}", RunFileWarning, stacklevel=3)
    return next(iter(result.runs)), report


def _changes(report: ImportReport) -> tuple[str, ...]:
    coerced = (f"{change.count} x {change.what} (row {', '.join(map(str, change.lines))})" for change in report.coerced)
    renamed = (f"row {same.line}: duplicate id {same.given}, renamed to {same.assigned}" for same in report.duplicated)
    return (*coerced, *renamed)


def panel_of(judge: str | JudgeOptions | Judge | Panel, **given: Any) -> tuple[Panel, JudgeOptions | None]:
    """Return the panel of judges and, if the judge is a name or JudgeOptions, its options.

    `given` are options that override those of the judge. Raises SettingError for such options with a judge object.
    """
    given = {option: value for option, value in given.items() if value is not None}
    if isinstance(judge, (str, JudgeOptions)):
        options = replace(JudgeOptions(judge=judge) if isinstance(judge, str) else judge, **given)
        return panel_named(options), options
    for option in ("embed", "base_url", "batch"):
        if option in given:
            raise SettingError(
                f"{option} can be used only with the name of a judge; set it on the {type(judge).__name__} object"
            )
    return judge if isinstance(judge, Panel) else Panel(judge=judge), None


def _metrics(metric: str | Metric) -> tuple[Metric, ...]:
    return metrics_named([metric]) if isinstance(metric, str) else (metric,)


def _why(outcome: Outcome) -> str | None:
    return None if isinstance(outcome, Score) else f"{outcome.reason}: {outcome.detail}"
