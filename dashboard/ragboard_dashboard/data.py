"""Cached reads for the pages: what `ragboard.analysis` says, kept until the store changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeAlias, TypeVar

import streamlit as st

from ragboard.analysis import (
    Comparison,
    Overruled,
    PairPlace,
    PairQuery,
    PairReport,
    PairsPage,
    UnscoredPolicy,
    UnsupportedStatement,
    breakdown,
    columns,
    comparable_refs,
    compare_runs,
    diagnose,
    distribution,
    evaluations_by_run,
    failed_evaluations,
    failures,
    hallucination_groups,
    hallucinations,
    hallucinations_sql,
    judge_noise,
    judges_of,
    leaderboard,
    list_runs,
    metric_descriptions,
    overruled,
    pair_place,
    pair_report,
    pair_rows,
    pair_runs,
    pairs_sql,
    run_summary,
    sample_report,
    sample_rows,
    samples_sql,
    scatter,
    set_threshold,
    store_tables,
    unsupported_statements,
)
from ragboard.evaluation.background import LaunchContext
from ragboard.evaluation.calls import SampleCalls, sample_calls
from ragboard.human.agreement import (
    AgreementData,
    ItemDetail,
    agreement_named,
    agreements,
    item_detail,
    load_agreement,
    questions_of,
)
from ragboard.human.annotation import annotation_queue, annotator_agreement
from ragboard.human.estimates import estimate_runs, estimated_metrics
from ragboard.human.grades import GradeReport, GradeVerdict, grade_report, grade_verdicts
from ragboard.human.preferences import PairVerdict, PreferenceReport, pair_verdicts, preference_report
from ragboard.judges import JudgeOptions
from ragboard.metrics import Metric
from ragboard.metrics.plugins import metrics_with
from ragboard.records import MetricDescription
from ragboard.stats.pairwise import Ties
from ragboard.store import RunRef, Store
from ragboard_dashboard.settings import settings

P = ParamSpec("P")
T = TypeVar("T")
Read: TypeAlias = Callable[Concatenate[Store, P], T]
"""A read of a store."""


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


def launch_context() -> LaunchContext:
    """What goes with every evaluation started from this server."""
    return LaunchContext(plugins=plugins(), prices=settings().prices, may_start=evaluates())


def known_metrics() -> Mapping[str, Metric]:
    """The metrics that this server can count. Raises SettingError where a file of own ones was spoiled."""
    return metrics_with(plugins())


def cached(entries: int = 16, *, spinner: bool | str = False) -> Callable[[Read[P, T]], Callable[P, T]]:
    """Make of a read of a store one of this server's store, kept until the store changes; each caller gets a copy.

    `entries` is how many answers are kept at most, `spinner` what a person reads who waits for one.
    """
    return _cached(st.cache_data(max_entries=entries, show_spinner=spinner))


def shared(entries: int = 4) -> Callable[[Read[P, T]], Callable[P, T]]:
    """The same for what is large and changed by nobody: every caller gets the one."""
    return _cached(st.cache_resource(max_entries=entries, show_spinner=False))


def _cached(cache: Callable[[Callable[..., T]], Callable[..., T]]) -> Callable[[Read[P, T]], Callable[P, T]]:
    def keep(read: Read[P, T]) -> Callable[P, T]:
        def reading(folder: str, version: str, *given: P.args, **options: P.kwargs) -> T:
            del version  # for the cache, which knows an answer by what was given
            return read(Store(Path(folder)), *given, **options)

        reading.__module__, reading.__qualname__ = (
            read.__module__,
            read.__qualname__,
        )  # a cache knows a function by these
        remembered, form = cache(reading), signature(read)

        @wraps(read)
        def get(*given: P.args, **options: P.kwargs) -> T:
            ours = store()
            meant = form.bind(ours, *given, **options)
            meant.apply_defaults()
            return remembered(str(ours.folder), ours.version, *meant.args[1:], **meant.kwargs)

        return get

    return keep


resolve = cached(64)(Store.resolve)
get_leaderboard = cached(4)(leaderboard)
get_runs = cached(4)(list_runs)
get_run = cached()(run_summary)
get_evaluations = cached(4)(evaluations_by_run)
get_comparable = cached(64)(comparable_refs)
get_sample_rows = cached(64)(sample_rows)
get_hallucinations = cached(64)(hallucinations)
get_hallucination_groups = cached(64)(hallucination_groups)
get_judges = cached(4)(judges_of)
get_sample = cached(64)(sample_report)
get_samples_sql = cached(64)(samples_sql)
get_hallucinations_sql = cached(64)(hallucinations_sql)
get_pairs_sql = cached(64)(pairs_sql)
get_failures = cached()(failures)
get_failed = cached()(failed_evaluations)
get_diagnosis = cached()(diagnose)
get_queue = cached()(annotation_queue)
get_kappas = cached()(annotator_agreement)
get_columns = cached(32)(columns)
get_distribution = cached(64)(distribution)
get_breakdown = cached(64)(breakdown)
get_scatter = cached()(scatter)
get_tables = cached(4)(store_tables)
get_estimated_metrics = cached()(estimated_metrics)
get_estimates = cached()(estimate_runs)
get_noise = cached()(judge_noise)
get_agreements = cached(4)(agreements)
get_agreement = cached()(agreement_named)
_pairing = shared()(pair_runs)


@cached(4)
def _described(store: Store, own: tuple[Path, ...]) -> Mapping[str, MetricDescription]:
    return metric_descriptions(store, metrics_with(own))


def get_metrics() -> Mapping[str, MetricDescription]:
    """Every metric, those too that only the store knows, by identity."""
    return _described(plugins())


@cached(4)
def get_unsupported_statements(store: Store, limit: int) -> tuple[UnsupportedStatement, ...]:
    """The statements to look at first, over all runs."""
    return unsupported_statements(store, get_leaderboard(), limit=limit)


@cached()
def get_overruled(store: Store, run: RunRef, unscored: UnscoredPolicy = "excluded") -> Overruled:
    """What people make of a run's verdicts."""
    return overruled(store, get_run(run, unscored=unscored))


@cached()
def get_judging(store: Store, run: RunRef) -> JudgeOptions | None:
    """How the judges of an evaluation were named; None where nobody named them."""
    return store.judging(run.evaluation_id) if run.evaluation_id else None


@cached()
def _calls(store: Store, run: RunRef, sample_id: str, own: tuple[Path, ...]) -> SampleCalls:
    return sample_calls(store, run, sample_id, known=metrics_with(own))


def get_calls(run: RunRef, sample_id: str) -> SampleCalls:
    """What judges were asked for one sample."""
    return _calls(run, sample_id, plugins())


def save_threshold(spec: str, value: float | None) -> None:
    """Set a metric's threshold, or take it away. Raises SettingError for a value that can be none."""
    set_threshold(store(), spec, value, get_metrics())


@cached()
def get_comparison(store: Store, a: RunRef, b: RunRef, unscored: UnscoredPolicy = "excluded") -> Comparison:
    """Run B against run A."""
    return compare_runs(store, a, b, _pairing(a, b), unscored=unscored)


@cached(64)
def get_pair_rows(store: Store, a: RunRef, b: RunRef, query: PairQuery) -> PairsPage:
    """A page of the pairs of two runs."""
    return pair_rows(store, a, b, _pairing(a, b), query)


@cached(64)
def get_pair_place(store: Store, a: RunRef, b: RunRef, query: PairQuery, sample_id: str) -> PairPlace:
    """Where a pair stands among those of a query. Raises NotFoundError."""
    return pair_place(store, a, b, _pairing(a, b), query, sample_id)


@cached(64)
def get_pair(store: Store, a: RunRef, b: RunRef, sample_id: str) -> PairReport:
    """One question in both runs. Raises NotFoundError."""
    return pair_report(store, a, b, _pairing(a, b), sample_id)


@shared()
def _agreement_data(store: Store, agreement_id: str) -> AgreementData:
    return load_agreement(store, agreement_named(store, agreement_id))


@cached(spinner="Drawing intervals")
def get_preferences(store: Store, agreement_id: str, ties: Ties, against: str) -> PreferenceReport:
    """Contenders on pairs. Raises SettingError."""
    del store  # what was said is read by itself
    return preference_report(_agreement_data(agreement_id), ties=ties, against=against)


@cached(spinner="Drawing intervals")
def get_grades(
    store: Store, agreement_id: str, dimension: str, at_least: float | None, cuts: Mapping[str, float]
) -> GradeReport:
    """Contenders on grades and labels. Raises SettingError."""
    del store
    return grade_report(_agreement_data(agreement_id), dimension, at_least=at_least, cuts=cuts)


def get_pair_verdicts(agreement_id: str, dimension: str, contender: str) -> tuple[PairVerdict, ...]:
    """What became of every pair."""
    return pair_verdicts(_agreement_data(agreement_id), dimension, contender)


def get_grade_verdicts(agreement_id: str, dimension: str, contender: str) -> tuple[GradeVerdict, ...]:
    """How far a contender is from people on every item."""
    return grade_verdicts(_agreement_data(agreement_id), dimension, contender)


def get_texts(agreement_id: str, positions: Sequence[int]) -> Mapping[int, tuple[str, str]]:
    """Question and answer of some items."""
    return questions_of(store(), get_agreement(agreement_id), positions)


@cached(32)
def get_item(store: Store, agreement_id: str, item_id: str) -> ItemDetail:
    """One item with its texts. Raises NotFoundError."""
    return item_detail(store, agreement_named(store, agreement_id), item_id)
