"""Cached reads for the pages: what `ragboard.report` says, kept until the store changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import streamlit as st

from ragboard.evaluation.background import Surroundings
from ragboard.evaluation.calls import SampleCalls
from ragboard.evaluation.sample_calls import sample_calls
from ragboard.judges import JudgeOptions
from ragboard.judges.tasks import Quality
from ragboard.labels import LabelKind, Queue
from ragboard.metrics import Metric
from ragboard.metrics.plugins import metrics_with
from ragboard.records import MetricDescription
from ragboard.report import (
    AnnotationQueue,
    Columns,
    Comparison,
    Diagnosis,
    Distribution,
    Estimates,
    FailureKind,
    GradeReport,
    GradeVerdict,
    Group,
    Grouping,
    HallucinationGroups,
    HallucinationPage,
    HallucinationQuery,
    Heard,
    JudgeNoise,
    Kappa,
    KeptAgreement,
    LooseStatement,
    Measured,
    Opened,
    Overruled,
    PairedRuns,
    PairPlace,
    PairQuery,
    PairReport,
    PairsPage,
    PairVerdict,
    PreferenceReport,
    RunSummary,
    SamplePage,
    SampleQuery,
    SampleReport,
    Scatter,
    StoreTable,
    UnscoredPolicy,
    agreement_named,
    agreements,
    annotation_queue,
    annotator_agreement,
    breakdown,
    columns,
    compare_runs,
    diagnose,
    distribution,
    estimate_runs,
    estimated_metrics,
    failures,
    grade_report,
    grade_verdicts,
    hallucination_groups,
    hallucinations,
    item_report,
    judge_noise,
    judges_of,
    leaderboard,
    listen,
    loose_statements,
    metric_descriptions,
    overruled,
    pair_place,
    pair_report,
    pair_rows,
    pair_runs,
    pair_verdicts,
    preference_report,
    questions_of,
    run_summary,
    sample_report,
    sample_rows,
    scatter,
    set_threshold,
    store_tables,
)
from ragboard.stats.pairwise import Ties
from ragboard.store import RunRef, Store
from ragboard_dashboard.settings import settings

__all__ = [
    "evaluates",
    "get_agreement",
    "get_agreements",
    "get_calls",
    "get_comparison",
    "get_diagnosis",
    "get_estimated_metrics",
    "get_estimates",
    "get_failures",
    "get_grade_verdicts",
    "get_grades",
    "get_hallucination_groups",
    "get_hallucinations",
    "get_item",
    "get_judges",
    "get_judging",
    "get_kappas",
    "get_leaderboard",
    "get_loose_statements",
    "get_metrics",
    "get_noise",
    "get_overruled",
    "get_pair",
    "get_pair_place",
    "get_pair_rows",
    "get_pair_verdicts",
    "get_preferences",
    "get_queue",
    "get_run",
    "get_sample",
    "get_sample_rows",
    "get_tables",
    "get_texts",
    "keep_threshold",
    "known_metrics",
    "plugins",
    "resolve",
    "store",
    "surroundings",
    "writable",
]


def store() -> Store:
    """The store this server was started over. Every write to it raises StoreError on a server that is read only."""
    return Store(settings().store, writable=writable())


def writable() -> bool:
    """Whether pages may change what is kept; where not they draw no control that would."""
    return not settings().read_only


def evaluates() -> bool:
    """Whether evaluations may be started from this server's pages."""
    return settings().evaluates and writable()


def plugins() -> tuple[Path, ...]:
    """The files of own metrics that this server was started with."""
    return settings().plugins


def surroundings() -> Surroundings:
    """What goes with every evaluation started from this server."""
    return Surroundings(plugins=plugins(), prices=settings().prices, may_start=evaluates())


def known_metrics() -> Mapping[str, Metric]:
    """The metrics that this server can count. Raises SettingError where a file of own ones was spoiled."""
    return metrics_with(plugins())


def get_metrics() -> Mapping[str, MetricDescription]:
    """Every metric, those too that only the store knows, by identity."""
    return _metrics(str(store().folder), store().version, plugins())


def get_leaderboard(unscored: UnscoredPolicy = "excluded") -> tuple[RunSummary, ...]:
    """Every run with its newest evaluation."""
    return _leaderboard(str(store().folder), store().version, unscored)


def resolve(name: str) -> RunRef:
    """The run of that name, `RUN@EVALUATION` too. Raises NotFoundError."""
    return _resolve(str(store().folder), store().version, name)


def get_run(run: RunRef, unscored: UnscoredPolicy = "excluded") -> RunSummary:
    """One run's summary."""
    return _run(str(store().folder), store().version, run, unscored)


def get_sample_rows(run: RunRef, query: SampleQuery) -> SamplePage:
    """A page of a run's samples."""
    return _rows(str(store().folder), store().version, run, query)


def get_loose_statements(limit: int) -> tuple[LooseStatement, ...]:
    """The statements to look at first, over all runs."""
    return _loose(str(store().folder), store().version, limit)


def get_hallucinations(query: HallucinationQuery) -> HallucinationPage:
    """A page of statements that the passages do not support, over any runs."""
    return _hallucinations(str(store().folder), store().version, query)


def get_hallucination_groups(query: HallucinationQuery, by: Grouping) -> HallucinationGroups:
    """The same by question, passage or judge."""
    return _hallucination_groups(str(store().folder), store().version, query, by)


def get_judges() -> tuple[str, ...]:
    """The judges of the evaluations in the store."""
    return _judges(str(store().folder), store().version)


def get_sample(run: RunRef, sample_id: str) -> SampleReport:
    """One sample with all that was found."""
    return _sample(str(store().folder), store().version, run, sample_id)


def get_failures(run: RunRef) -> tuple[FailureKind, ...]:
    """What went wrong in an evaluation, by kind."""
    return _failures(str(store().folder), store().version, run)


def get_diagnosis(run: RunRef) -> Diagnosis:
    """What the numbers of an evaluation suggest."""
    return _diagnosis(str(store().folder), store().version, run)


def get_judging(run: RunRef) -> JudgeOptions | None:
    """How the judges of an evaluation were named; None where nobody named them."""
    return _judging(str(store().folder), store().version, run)


def get_overruled(run: RunRef, unscored: UnscoredPolicy = "excluded") -> Overruled:
    """What people make of a run's verdicts."""
    return _overruled(str(store().folder), store().version, run, unscored)


def get_queue(
    run: RunRef, queue: Queue, annotator: str, kind: LabelKind, dimension: Quality, against: RunRef | None
) -> AnnotationQueue:
    """What a person is to label, and how far they are."""
    return _queue(str(store().folder), store().version, run, queue, annotator, kind, dimension, against)


def get_kappas(run: RunRef, queue: Queue, annotator: str) -> tuple[Kappa, ...]:
    """How a person agrees with the judge and with others on what they finished."""
    return _kappas(str(store().folder), store().version, run, queue, annotator)


def get_columns(run: RunRef) -> Columns:
    """What can be drawn of a run."""
    return _columns(str(store().folder), store().version, run)


def get_distribution(run: RunRef, column: str, unscored: UnscoredPolicy = "excluded") -> Distribution:
    """The spread of one column."""
    return _distribution(str(store().folder), store().version, run, column, unscored)


def get_breakdown(run: RunRef, column: str, by: str, unscored: UnscoredPolicy = "excluded") -> tuple[Group, ...]:
    """A column's mean for each value of a metadata column."""
    return _breakdown(str(store().folder), store().version, run, column, by, unscored)


def get_calls(run: RunRef, sample_id: str) -> SampleCalls:
    """What judges were asked for one sample."""
    return _calls(str(store().folder), store().version, run, sample_id, plugins())


def keep_threshold(spec: str, value: float | None) -> None:
    """Set a metric's threshold, or take it away. Raises SettingError for a value that can be none."""
    set_threshold(store(), spec, value, get_metrics())


def get_scatter(run: RunRef, x: str, y: str) -> Scatter:
    """One column against another."""
    return _scatter(str(store().folder), store().version, run, x, y)


def get_tables() -> tuple[StoreTable, ...]:
    """The tables of the store."""
    return _tables(str(store().folder), store().version)


def get_estimated_metrics(run: RunRef) -> tuple[MetricDescription, ...]:
    """The metrics of an evaluation that an estimate can lean on."""
    return _estimated_metrics(str(store().folder), store().version, run)


def get_estimates(runs: tuple[RunRef, ...], metric: str, measured: Measured) -> Estimates:
    """Runs estimated from labels and a judge. Raises SettingError for a metric that one of them does not have."""
    return _estimates(str(store().folder), store().version, runs, metric, measured)


def get_comparison(a: RunRef, b: RunRef, unscored: UnscoredPolicy = "excluded") -> Comparison:
    """Run B against run A."""
    return _comparison(str(store().folder), store().version, a, b, unscored)


def get_noise(run: RunRef) -> tuple[JudgeNoise, ...]:
    """How far two evaluations of a run by the same judge differ."""
    return _noise(str(store().folder), store().version, run)


def get_pair_rows(a: RunRef, b: RunRef, query: PairQuery) -> PairsPage:
    """A page of the pairs of two runs."""
    return _pair_rows(str(store().folder), store().version, a, b, query)


def get_pair_place(a: RunRef, b: RunRef, query: PairQuery, sample_id: str) -> PairPlace:
    """Where a pair stands among those of a query. Raises NotFoundError."""
    return _pair_place(str(store().folder), store().version, a, b, query, sample_id)


def get_pair(a: RunRef, b: RunRef, sample_id: str) -> PairReport:
    """One question in both runs. Raises NotFoundError."""
    return _pair(str(store().folder), store().version, a, b, sample_id)


def get_agreements() -> tuple[KeptAgreement, ...]:
    """Contenders held against people, the newest first."""
    return _agreements(str(store().folder), store().version)


def get_agreement(name: str) -> KeptAgreement:
    """The agreement of that id or name. Raises NotFoundError."""
    return _agreement(str(store().folder), store().version, name)


def get_preferences(agreement_id: str, ties: Ties, against: str) -> PreferenceReport:
    """Contenders on pairs. Raises SettingError."""
    return _preferences(str(store().folder), store().version, agreement_id, ties, against)


def get_grades(agreement_id: str, dimension: str, at_least: float | None, cuts: Mapping[str, float]) -> GradeReport:
    """Contenders on grades and labels. Raises SettingError."""
    return _grades(str(store().folder), store().version, agreement_id, dimension, at_least, cuts)


def get_pair_verdicts(agreement_id: str, dimension: str, contender: str) -> tuple[PairVerdict, ...]:
    """What became of every pair."""
    return pair_verdicts(_heard(str(store().folder), store().version, agreement_id), dimension, contender)


def get_grade_verdicts(agreement_id: str, dimension: str, contender: str) -> tuple[GradeVerdict, ...]:
    """How far a contender is from people on every item."""
    return grade_verdicts(_heard(str(store().folder), store().version, agreement_id), dimension, contender)


def get_texts(agreement_id: str, positions: Sequence[int]) -> Mapping[int, tuple[str, str]]:
    """Question and answer of some items."""
    return questions_of(store(), get_agreement(agreement_id), positions)


def get_item(agreement_id: str, item_id: str) -> Opened:
    """One item with its texts. Raises NotFoundError."""
    return _item(str(store().folder), store().version, agreement_id, item_id)


@st.cache_data(max_entries=4, show_spinner=False)
def _metrics(folder: str, version: str, plugins: tuple[Path, ...]) -> Mapping[str, MetricDescription]:
    del version
    return metric_descriptions(Store(Path(folder)), metrics_with(plugins))


@st.cache_data(max_entries=4, show_spinner=False)
def _leaderboard(folder: str, version: str, unscored: UnscoredPolicy) -> tuple[RunSummary, ...]:
    del version
    return leaderboard(Store(Path(folder)), unscored=unscored)


@st.cache_data(max_entries=64, show_spinner=False)
def _resolve(folder: str, version: str, name: str) -> RunRef:
    del version
    return Store(Path(folder)).resolve(name)


@st.cache_data(max_entries=16, show_spinner=False)
def _run(folder: str, version: str, run: RunRef, unscored: UnscoredPolicy) -> RunSummary:
    del version
    return run_summary(Store(Path(folder)), run, unscored=unscored)


@st.cache_data(max_entries=64, show_spinner=False)
def _rows(folder: str, version: str, run: RunRef, query: SampleQuery) -> SamplePage:
    del version
    return sample_rows(Store(Path(folder)), run, query)


@st.cache_data(max_entries=4, show_spinner=False)
def _loose(folder: str, version: str, limit: int) -> tuple[LooseStatement, ...]:
    return loose_statements(Store(Path(folder)), _leaderboard(folder, version, "excluded"), limit=limit)


@st.cache_data(max_entries=64, show_spinner=False)
def _hallucinations(folder: str, version: str, query: HallucinationQuery) -> HallucinationPage:
    del version
    return hallucinations(Store(Path(folder)), query)


@st.cache_data(max_entries=64, show_spinner=False)
def _hallucination_groups(folder: str, version: str, query: HallucinationQuery, by: Grouping) -> HallucinationGroups:
    del version
    return hallucination_groups(Store(Path(folder)), query, by)


@st.cache_data(max_entries=4, show_spinner=False)
def _judges(folder: str, version: str) -> tuple[str, ...]:
    del version
    return judges_of(Store(Path(folder)))


@st.cache_data(max_entries=64, show_spinner=False)
def _sample(folder: str, version: str, run: RunRef, sample_id: str) -> SampleReport:
    del version
    return sample_report(Store(Path(folder)), run, sample_id)


@st.cache_data(max_entries=16, show_spinner=False)
def _overruled(folder: str, version: str, run: RunRef, unscored: UnscoredPolicy) -> Overruled:
    return overruled(Store(Path(folder)), _run(folder, version, run, unscored))


@st.cache_data(max_entries=16, show_spinner=False)
def _queue(
    folder: str,
    version: str,
    run: RunRef,
    queue: Queue,
    annotator: str,
    kind: LabelKind,
    dimension: Quality,
    against: RunRef | None,
) -> AnnotationQueue:
    del version
    kept = Store(Path(folder))
    return annotation_queue(kept, run, queue, annotator=annotator, kind=kind, dimension=dimension, against=against)


@st.cache_data(max_entries=16, show_spinner=False)
def _kappas(folder: str, version: str, run: RunRef, queue: Queue, annotator: str) -> tuple[Kappa, ...]:
    del version
    return annotator_agreement(Store(Path(folder)), run, queue, annotator=annotator)


@st.cache_data(max_entries=32, show_spinner=False)
def _columns(folder: str, version: str, run: RunRef) -> Columns:
    del version
    return columns(Store(Path(folder)), run)


@st.cache_data(max_entries=64, show_spinner=False)
def _distribution(folder: str, version: str, run: RunRef, column: str, unscored: UnscoredPolicy) -> Distribution:
    del version
    return distribution(Store(Path(folder)), run, column, unscored=unscored)


@st.cache_data(max_entries=64, show_spinner=False)
def _breakdown(
    folder: str, version: str, run: RunRef, column: str, by: str, unscored: UnscoredPolicy
) -> tuple[Group, ...]:
    del version
    return breakdown(Store(Path(folder)), run, column, by, unscored=unscored)


@st.cache_data(max_entries=16, show_spinner=False)
def _calls(folder: str, version: str, run: RunRef, sample_id: str, plugins: tuple[Path, ...]) -> SampleCalls:
    del version
    return sample_calls(Store(Path(folder)), run, sample_id, known=metrics_with(plugins))


@st.cache_data(max_entries=16, show_spinner=False)
def _scatter(folder: str, version: str, run: RunRef, x: str, y: str) -> Scatter:
    del version
    return scatter(Store(Path(folder)), run, x, y)


@st.cache_data(max_entries=4, show_spinner=False)
def _tables(folder: str, version: str) -> tuple[StoreTable, ...]:
    del version
    return store_tables(Store(Path(folder)))


@st.cache_data(max_entries=16, show_spinner=False)
def _failures(folder: str, version: str, run: RunRef) -> tuple[FailureKind, ...]:
    del version
    return failures(Store(Path(folder)), run)


@st.cache_data(max_entries=16, show_spinner=False)
def _diagnosis(folder: str, version: str, run: RunRef) -> Diagnosis:
    del version
    return diagnose(Store(Path(folder)), run)


@st.cache_data(max_entries=16, show_spinner=False)
def _judging(folder: str, version: str, run: RunRef) -> JudgeOptions | None:
    del version
    return Store(Path(folder)).judging(run.evaluation_id) if run.evaluation_id else None


@st.cache_resource(max_entries=4, show_spinner=False)
def _pairing(folder: str, version: str, a: RunRef, b: RunRef) -> PairedRuns:
    del version
    return pair_runs(Store(Path(folder)), a, b)


@st.cache_data(max_entries=16, show_spinner=False)
def _estimated_metrics(folder: str, version: str, run: RunRef) -> tuple[MetricDescription, ...]:
    del version
    return estimated_metrics(Store(Path(folder)), run)


@st.cache_data(max_entries=16, show_spinner=False)
def _estimates(folder: str, version: str, runs: tuple[RunRef, ...], metric: str, measured: Measured) -> Estimates:
    del version
    return estimate_runs(Store(Path(folder)), runs, metric=metric, measured=measured)


@st.cache_data(max_entries=16, show_spinner=False)
def _comparison(folder: str, version: str, a: RunRef, b: RunRef, unscored: UnscoredPolicy) -> Comparison:
    return compare_runs(Store(Path(folder)), a, b, _pairing(folder, version, a, b), unscored=unscored)


@st.cache_data(max_entries=16, show_spinner=False)
def _noise(folder: str, version: str, run: RunRef) -> tuple[JudgeNoise, ...]:
    del version
    return judge_noise(Store(Path(folder)), run)


@st.cache_data(max_entries=64, show_spinner=False)
def _pair_rows(folder: str, version: str, a: RunRef, b: RunRef, query: PairQuery) -> PairsPage:
    return pair_rows(Store(Path(folder)), a, b, _pairing(folder, version, a, b), query)


@st.cache_data(max_entries=64, show_spinner=False)
def _pair(folder: str, version: str, a: RunRef, b: RunRef, sample_id: str) -> PairReport:
    return pair_report(Store(Path(folder)), a, b, _pairing(folder, version, a, b), sample_id)


@st.cache_data(max_entries=64, show_spinner=False)
def _pair_place(folder: str, version: str, a: RunRef, b: RunRef, query: PairQuery, sample_id: str) -> PairPlace:
    return pair_place(Store(Path(folder)), a, b, _pairing(folder, version, a, b), query, sample_id)


@st.cache_data(max_entries=4, show_spinner=False)
def _agreements(folder: str, version: str) -> tuple[KeptAgreement, ...]:
    del version
    return agreements(Store(Path(folder)))


@st.cache_data(max_entries=16, show_spinner=False)
def _agreement(folder: str, version: str, name: str) -> KeptAgreement:
    del version
    return agreement_named(Store(Path(folder)), name)


@st.cache_resource(max_entries=4, show_spinner=False)
def _heard(folder: str, version: str, agreement_id: str) -> Heard:
    del version
    kept = Store(Path(folder))
    return listen(kept, agreement_named(kept, agreement_id))


@st.cache_data(max_entries=16, show_spinner="Drawing intervals")
def _preferences(folder: str, version: str, agreement_id: str, ties: Ties, against: str) -> PreferenceReport:
    return preference_report(_heard(folder, version, agreement_id), ties=ties, against=against)


@st.cache_data(max_entries=16, show_spinner="Drawing intervals")
def _grades(
    folder: str, version: str, agreement_id: str, dimension: str, at_least: float | None, cuts: Mapping[str, float]
) -> GradeReport:
    return grade_report(_heard(folder, version, agreement_id), dimension, at_least=at_least, cuts=cuts)


@st.cache_data(max_entries=32, show_spinner=False)
def _item(folder: str, version: str, agreement_id: str, item_id: str) -> Opened:
    del version
    kept = Store(Path(folder))
    return item_report(kept, agreement_named(kept, agreement_id), item_id)
