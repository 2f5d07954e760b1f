"""Reads of the store for pages; the results are cached until the store changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeAlias, TypeVar

import streamlit as st

from ragboard.analysis import (
    ChangedQuestion,
    Comparison,
    Diagnosis,
    MetricComparison,
    OverruledVerdicts,
    PairPosition,
    PairQuery,
    PairReport,
    PairsPage,
    RefusalReport,
    RunSummary,
    Trend,
    UnpairedSample,
    UnscoredPolicy,
    UnsupportedStatement,
    breakdown,
    choose_evaluations,
    columns,
    compare_bundling,
    compare_metric,
    compare_runs,
    dataset_trend,
    diagnose,
    distribution,
    evaluations_by_run,
    failed_evaluations,
    failures,
    hallucination_groups,
    hallucinations,
    hallucinations_sql,
    judge_noise,
    leaderboard,
    list_judges,
    list_runs,
    metric_descriptions,
    most_changed,
    new_statements,
    overruled_verdicts,
    pair_position,
    pair_report,
    pair_rows,
    pair_runs,
    pairs_sql,
    reference_runs,
    refusal_report,
    run_summary,
    runs_to_compare,
    sample_report,
    sample_rows,
    samples_sql,
    scatter,
    self_agreement,
    series_states,
    set_threshold,
    store_contents,
    store_tables,
    traffic_columns,
    traffic_datasets,
    traffic_groups,
    traffic_trend,
    truthfulness_shares,
    unpaired_samples,
    unsupported_statements,
)
from ragboard.datasets import (
    DatasetQuestion,
    DatasetRuns,
    NuggetTable,
    datasets,
    list_datasets,
    load_dataset_row,
    load_dataset_runs,
    load_question,
    nugget_table,
)
from ragboard.errors import NotFoundError
from ragboard.evaluation.background import LaunchContext, plan_choice, plan_state
from ragboard.evaluation.calls import SampleCalls, sample_calls
from ragboard.evaluation.identity import Choice
from ragboard.evaluation.offers import Contents, run_contents
from ragboard.evaluation.plan import Plan
from ragboard.human.agreement import (
    AgreementData,
    ItemDetail,
    count_answers_by_run,
    find_agreement,
    item_detail,
    list_agreements,
    load_agreement,
    load_item_texts,
    sample_of_item,
)
from ragboard.human.annotation import LabelledQuantity, annotation_queue, annotator_agreement, find_draw, plan_batch
from ragboard.human.baselines import BaselineComparison, baseline_comparisons
from ragboard.human.estimates import Estimates, estimate_runs, estimated_metrics
from ragboard.human.grades import GradeComparison, GradeReport, grade_comparisons, grade_report
from ragboard.human.judge_validation import (
    RUN_LABELS_PREFIX,
    load_run_label_agreement,
    run_label_agreements,
    run_label_texts,
    validate_judge,
)
from ragboard.human.passages import PassageAgreement, passage_agreement
from ragboard.human.preferences import PairComparison, PreferenceReport, pair_comparisons, preference_report
from ragboard.human.questions import find_question_label
from ragboard.human.run_grades import graded_runs
from ragboard.judges import JudgeOptions
from ragboard.metrics import Metric
from ragboard.metrics.plugins import metrics_with
from ragboard.records import MetricDescription
from ragboard.sample_files import SAMPLE_TAG
from ragboard.stats.pairwise import Ties
from ragboard.store import RunRef, Store
from ragboard.store.queries.agreements import StoredAgreement
from ragboard.store.queries.nuggets import RunOfDataset
from ragboard.store.queries.runs import ListedRun
from ragboard.store.queries.statements import HallucinationQuery
from ragboard_dashboard.settings import settings

P = ParamSpec("P")
T = TypeVar("T")
Read: TypeAlias = Callable[Concatenate[Store, P], T]
"""A function that reads a store."""


def store() -> Store:
    """Return the store of this server. On a read-only server, every write to it raises StoreError."""
    return Store(settings().store, writable=writable(), shares_reads=True)


def writable() -> bool:
    """Return whether pages may change the store. If not, they have no controls for changes."""
    return not settings().read_only


def evaluates() -> bool:
    """Return whether pages of this server may start evaluations."""
    return settings().evaluates and writable()


def plugins() -> tuple[Path, ...]:
    """Return the files of user-defined metrics that this server was started with."""
    return settings().plugins


def launch_context() -> LaunchContext:
    """Return the settings for evaluations that this server starts."""
    return LaunchContext(plugins=plugins(), prices=settings().prices, may_start=evaluates())


def known_metrics() -> Mapping[str, Metric]:
    """Return the metrics that this server can compute, by full name. Raises SettingError if a plugin file is broken."""
    return metrics_with(plugins())


def cached(
    entries: int = 16,
    *,
    spinner: bool | str = False,
    by_run: bool = False,
    by_dataset: bool = False,
    reads_labels: bool = True,
) -> Callable[[Read[P, T]], Callable[P, T]]:
    """Decorate a function that reads a store. It gets this server's store; results are cached until the store changes.

    Each caller gets a copy of the result. `entries` is the maximum number of cached results, `spinner` the text that is
    shown during computation. With `by_run`, changes of runs that are not among the arguments do not matter: the
    function must read nothing else of the store than those runs and what `Store.run_states` covers. With `by_dataset`,
    the function may also read the other runs of their datasets, as `Store.samples_at` does for references, and the
    dataset that its argument `dataset` names. Without `reads_labels`, labels do not matter either, nor anything else in
    `RunStates.labels`.
    """
    cache = st.cache_data(max_entries=entries, show_spinner=spinner)
    return _cached(cache, by_run=by_run, by_dataset=by_dataset, reads_labels=reads_labels)


def shared(entries: int = 4, *, by_run: bool = False) -> Callable[[Read[P, T]], Callable[P, T]]:
    """Do the same as `cached` for large results: all callers share one object, which they must not change.

    With `by_run`, the function must not read labels.
    """
    return _cached(st.cache_resource(max_entries=entries, show_spinner=False), by_run=by_run, reads_labels=not by_run)


def _cached(
    cache: Callable[[Callable[..., T]], Callable[..., T]],
    *,
    by_run: bool,
    by_dataset: bool = False,
    reads_labels: bool,
) -> Callable[[Read[P, T]], Callable[P, T]]:
    def keep(read: Read[P, T]) -> Callable[P, T]:
        def read_folder(folder: str, version: str, *given: P.args, **options: P.kwargs) -> T:
            del version  # part of the cache key
            return read(Store(Path(folder), shares_reads=True), *given, **options)

        read_folder.__module__, read_folder.__qualname__ = (
            read.__module__,
            read.__qualname__,
        )  # the cache identifies a function by these names
        cached_read, form = cache(read_folder), signature(read)

        @wraps(read)
        def get(*given: P.args, **options: P.kwargs) -> T:
            current = store()
            call = form.bind(current, *given, **options)
            call.apply_defaults()
            version = current.version
            if by_run or by_dataset:
                states = _states_of_datasets if by_dataset else _states_of_runs
                version = " ".join(states(call.arguments)) + (get_run_states().labels if reads_labels else "")
            return cached_read(str(current.folder), version, *call.args[1:], **call.kwargs)

        return get

    return keep


def _states_of_runs(arguments: Mapping[str, object]) -> list[str]:
    """Return the states of the runs in the arguments; without one, of all evaluated runs."""
    states = get_run_states().by_run
    runs = set(_run_ids(arguments.values())) or {run.run_id for run in get_runs() if run.evaluated}
    return [states.get(run_id, "deleted") for run_id in sorted(runs)]


def _states_of_datasets(arguments: Mapping[str, object]) -> list[str]:
    """Return the states of the dataset named by the argument `dataset` and of the datasets of runs in the arguments."""
    states = get_run_states()
    names = {states.dataset_of.get(run_id, "") for run_id in _run_ids(arguments.values())}
    if isinstance(named := arguments.get("dataset"), str):
        names.add(named)
    return [states.by_dataset.get(name, "deleted") for name in sorted(names)]


def _run_ids(values: Iterable[object]) -> Iterator[str]:
    for value in values:
        match value:
            case RunRef() | ListedRun() | RunOfDataset():
                yield value.run_id
            case HallucinationQuery() | DatasetRuns():
                yield from _run_ids(value.runs)
            case tuple():
                yield from _run_ids(value)
            case _:
                pass


resolve = cached(64)(Store.resolve)
get_run_states = shared(4)(Store.run_states)
get_runs = cached(4)(list_runs)
get_run = cached(by_run=True, reads_labels=False)(run_summary)
get_evaluations = cached(4)(evaluations_by_run)
get_comparable = cached(64, by_run=True, reads_labels=False)(choose_evaluations)
get_sample_rows = cached(64, by_run=True, reads_labels=False)(sample_rows)
get_hallucinations = cached(64, by_run=True)(hallucinations)
get_hallucination_groups = cached(64, by_run=True)(hallucination_groups)
get_judges = cached(4)(list_judges)
get_sample = cached(64)(sample_report)
get_samples_sql = cached(64, by_run=True, reads_labels=False)(samples_sql)
get_hallucinations_sql = cached(64, by_run=True, reads_labels=False)(hallucinations_sql)
get_pairs_sql = cached(64, by_run=True, reads_labels=False)(pairs_sql)
get_failures = cached(by_run=True, reads_labels=False)(failures)
get_failed_evaluations = cached(by_run=True, reads_labels=False)(failed_evaluations)
get_batch = cached(64, by_run=True, reads_labels=False)(plan_batch)
get_draw = cached(64, by_run=True)(find_draw)
get_queue = cached(by_run=True)(annotation_queue)
get_annotator_agreement = cached(by_run=True)(annotator_agreement)
get_columns = cached(32, by_run=True, reads_labels=False)(columns)
get_self_agreement = cached(32, by_run=True)(self_agreement)
get_bundling = cached(32, by_run=True)(compare_bundling)
get_question_label = cached(64)(find_question_label)
get_truthfulness = cached(32, by_run=True, reads_labels=False)(truthfulness_shares)
get_distribution = cached(64, by_run=True, reads_labels=False)(distribution)
get_breakdown = cached(64, by_run=True, reads_labels=False)(breakdown)
get_scatter = cached(by_run=True, reads_labels=False)(scatter)
get_tables = cached(4)(store_tables)
get_estimated_metrics = cached(by_run=True, reads_labels=False)(estimated_metrics)
get_noise = cached(by_run=True)(judge_noise)
get_judge_validation = cached(64, by_run=True)(validate_judge)
get_datasets = cached(4)(datasets)
get_graded_runs = cached(4)(graded_runs)
get_reference_runs = cached(4)(reference_runs)
get_dataset_names = cached(4)(list_datasets)
get_dataset_row = cached(by_dataset=True)(load_dataset_row)
get_dataset_runs = cached(by_dataset=True)(load_dataset_runs)
get_dataset_question = cached(64, by_dataset=True)(load_question)
get_series_states = cached(4, spinner="Looking for changes")(series_states)
get_traffic_trend = cached(16)(traffic_trend)
get_traffic_datasets = cached(4)(traffic_datasets)
get_traffic_columns = cached(16)(traffic_columns)
get_traffic_groups = cached(16)(traffic_groups)
get_new_statements = cached(8)(new_statements)
get_store_contents = cached()(store_contents)
get_grows = cached()(Store.grows)
_pairing = shared(by_run=True)(pair_runs)


@cached(4)
def _metric_descriptions(store: Store, own: tuple[Path, ...]) -> Mapping[str, MetricDescription]:
    return metric_descriptions(store, metrics_with(own))


def get_metrics() -> Mapping[str, MetricDescription]:
    """Return {full name: description} of all metrics, including those that only have scores in the store."""
    return _metric_descriptions(plugins())


@st.cache_resource(max_entries=4, show_spinner=False)
def _known_summaries(folder: str, unscored: UnscoredPolicy) -> dict[str, tuple[str, RunSummary]]:
    """Return {run id: (state of the run, its summary)}, to which `get_leaderboard` adds."""
    del folder, unscored  # the cache key
    return {}


@cached(4, spinner="Reading the runs")
def get_leaderboard(store: Store, unscored: UnscoredPolicy = "excluded") -> tuple[RunSummary, ...]:
    """Return every run with all its metrics, newest run first. Only runs that changed are summarized again."""
    states, known = get_run_states().by_run, _known_summaries(str(store.folder), unscored)
    changed = [run_id for run_id, state in states.items() if run_id not in known or known[run_id][0] != state]
    if changed:
        for summary in leaderboard(store, unscored=unscored, run_ids=changed):
            known[summary.run_id] = states[summary.run_id], summary
    for deleted in known.keys() - states.keys():
        known.pop(deleted, None)
    return tuple(known[run.run_id][1] for run in get_runs() if run.run_id in known)


@cached(4, by_run=True, reads_labels=False)
def _unsupported_statements(store: Store, runs: tuple[RunRef, ...], limit: int) -> tuple[UnsupportedStatement, ...]:
    return unsupported_statements(store, runs, limit=limit)


def get_unsupported_statements(limit: int) -> tuple[UnsupportedStatement, ...]:
    """Return the unsupported statements to read first, from all runs.

    Runs of `ragboard demo` are left out if another run is evaluated.
    """
    runs = [run for run in get_leaderboard() if run.judged]
    own = [run for run in runs if SAMPLE_TAG not in run.tags]
    refs = (
        RunRef(run_id=run.run_id, name=run.name, evaluation_id=run.judged.evaluation_id)
        for run in own or runs
        if run.judged
    )
    return _unsupported_statements(tuple(refs), limit)


@cached(by_run=True)
def get_overruled_verdicts(store: Store, run: RunRef, unscored: UnscoredPolicy = "excluded") -> OverruledVerdicts:
    """Return the overruled verdicts of a run, and its metrics recomputed with annotators' labels."""
    return overruled_verdicts(store, get_run(run, unscored=unscored))


@cached(by_run=True)
def get_estimates(store: Store, runs: tuple[RunRef, ...], metric: str, measured: LabelledQuantity) -> Estimates:
    """Return the estimated mean labels of runs. Raises SettingError."""
    return estimate_runs(store, runs, metric=metric, measured=measured, numbered=True)


@cached(by_dataset=True)
def get_contents(store: Store, run: RunRef) -> Contents:
    """Return what the samples of a run contain."""
    return run_contents(store, run.run_id)


def _without_sharing(store: Store) -> Store:
    """Return the store for several reads of much data, because a shared connection keeps what all of them read."""
    return Store(store.folder)


@cached(32, by_dataset=True)
def _plan(store: Store, run: RunRef, choice: Choice, context: LaunchContext, files: str) -> Plan:
    del files  # part of the cache key
    return plan_choice(_without_sharing(store), run, choice, context)


def get_plan(run: RunRef, choice: Choice) -> Plan:
    """Return the estimated calls and cost of an evaluation that this server starts. Raises SettingError."""
    context = launch_context()
    return _plan(run, choice, context, plan_state(store(), choice, context))


@cached()
def get_judge_options(store: Store, run: RunRef) -> JudgeOptions | None:
    """Return the judge options of an evaluation; None if its judges were Python objects."""
    return store.judge_options(run.evaluation_id) if run.evaluation_id else None


@cached()
def _calls(store: Store, run: RunRef, sample_id: str, own: tuple[Path, ...]) -> SampleCalls:
    return sample_calls(store, run, sample_id, known=metrics_with(own))


def get_calls(run: RunRef, sample_id: str) -> SampleCalls:
    """Return the judge tasks of one sample."""
    return _calls(run, sample_id, plugins())


@cached(32, by_run=True)
def get_refusals(store: Store, run: RunRef) -> RefusalReport | None:
    """Return which refusals are right; None if refusals were not judged or no question's answerability is known.

    Raises SettingError for a value in the run file that cannot be read.
    """
    try:
        return refusal_report(store, run)
    except NotFoundError:  # not raised, because errors are not cached
        return None


def save_threshold(spec: str, value: float | None) -> None:
    """Set a metric's threshold, or remove it with None. Raises SettingError for an invalid value."""
    set_threshold(store(), spec, value, get_metrics())


@cached(spinner="Comparing", by_run=True, reads_labels=False)
def get_comparison(store: Store, a: RunRef, b: RunRef, unscored: UnscoredPolicy = "excluded") -> Comparison:
    """Return the comparison of run B with run A."""
    return compare_runs(store, a, b, _pairing(a, b), unscored=unscored)


@cached(64, by_run=True, reads_labels=False)
def _metric_comparison(store: Store, a: RunRef, b: RunRef, metric: str) -> MetricComparison | None:
    return compare_metric(store, a, b, metric, _pairing(a, b))


@cached(by_dataset=True)
def _diagnosis(store: Store, run: RunRef, others: tuple[ListedRun, ...]) -> Diagnosis:
    return diagnose(_without_sharing(store), run, others)


def get_diagnosis(run: RunRef) -> Diagnosis:
    """Return the diagnosis of a run. It also depends on the newest other runs with the same questions."""
    return _diagnosis(run, runs_to_compare(get_runs(), run))


@cached(16, spinner="Comparing runs", by_run=True, reads_labels=False)
def get_trend(store: Store, dataset: DatasetRuns, metric: str = "") -> Trend:
    """Return how a metric changed from run to run of a dataset. Raises NotFoundError and SettingError."""
    return dataset_trend(store, dataset.name, metric, summaries=get_leaderboard(), compare=_metric_comparison)


@cached(by_run=True)
def get_most_changed(store: Store, a: RunRef, b: RunRef, metrics: tuple[str, ...]) -> tuple[ChangedQuestion, ...]:
    """Return the questions whose scores changed most."""
    return most_changed(store, a, b, _pairing(a, b), metrics=metrics)


@cached(4)
def get_unpaired(store: Store, a: RunRef, b: RunRef) -> tuple[UnpairedSample, ...]:
    """Return the samples that are in no pair, with the reasons."""
    return unpaired_samples(store, a, b, _pairing(a, b))


@cached(64, by_run=True, reads_labels=False)
def get_pair_rows(store: Store, a: RunRef, b: RunRef, query: PairQuery) -> PairsPage:
    """Return a page of the pairs of two runs."""
    return pair_rows(store, a, b, _pairing(a, b), query)


@cached(64, by_run=True, reads_labels=False)
def get_pair_position(store: Store, a: RunRef, b: RunRef, query: PairQuery, sample_id: str) -> PairPosition:
    """Return the position of a pair in a query's result. Raises NotFoundError."""
    return pair_position(store, a, b, _pairing(a, b), query, sample_id)


@cached(64)
def get_pair(store: Store, a: RunRef, b: RunRef, sample_id: str) -> PairReport:
    """Return one question in both runs. Raises NotFoundError."""
    return pair_report(store, a, b, _pairing(a, b), sample_id)


def get_nugget_table(dataset: DatasetRuns, question: DatasetQuestion) -> NuggetTable:
    """Return which nuggets of a question each run's answer covers."""
    return nugget_table(store(), dataset, question)


@cached(4)
def get_agreements(store: Store) -> tuple[StoredAgreement, ...]:
    """Return all agreements, newest first: those with label files, and those with labels of runs."""
    return tuple(
        sorted((*run_label_agreements(store), *list_agreements(store)), key=lambda one: one.made, reverse=True)
    )


@cached(4)
def get_label_files(store: Store) -> tuple[StoredAgreement, ...]:
    """Return the agreements with label files, newest first."""
    return list_agreements(store)


@cached(4)
def get_items_per_run(store: Store) -> dict[tuple[str, str], int]:
    """Return {(agreement id, run id): number of the agreement's items about answers of the run}."""
    return count_answers_by_run(store)


@shared()
def _agreement_data(store: Store, agreement_id: str) -> AgreementData:
    if agreement_id.startswith(RUN_LABELS_PREFIX):
        return load_run_label_agreement(store, agreement_id)
    return load_agreement(store, find_agreement(store, agreement_id))


def get_agreement(agreement_id: str) -> StoredAgreement:
    """Return the agreement with this id, or the newest with this name. Raises NotFoundError."""
    return _agreement_data(agreement_id).stored


@cached(64)
def get_baselines(
    store: Store, agreement_id: str, dimension: str, ties: Ties = "random", at_least: float | None = None
) -> tuple[BaselineComparison, ...]:
    """Compare the judge's scorers with the best trivial baseline. Raises SettingError.

    This is much faster than `get_preferences` and `get_grades`.
    """
    del store  # `_agreement_data` reads the store
    return baseline_comparisons(_agreement_data(agreement_id), dimension, ties=ties, at_least=at_least)


@cached(spinner="Computing confidence intervals")
def get_preferences(store: Store, agreement_id: str, ties: Ties, against: str) -> PreferenceReport:
    """Return the scorers compared on pairs. Raises SettingError."""
    del store  # `_agreement_data` reads the store
    return preference_report(_agreement_data(agreement_id), ties=ties, reference=against)


@cached(spinner="Computing confidence intervals")
def get_grades(
    store: Store, agreement_id: str, dimension: str, at_least: float | None, cuts: Mapping[str, float]
) -> GradeReport:
    """Return the scorers compared on grades or labels. Raises SettingError."""
    del store
    return grade_report(_agreement_data(agreement_id), dimension, at_least=at_least, cuts=cuts)


def get_pair_comparisons(agreement_id: str, dimension: str, scorer: str) -> tuple[PairComparison, ...]:
    """Return for every pair whether a scorer prefers the side that annotators prefer."""
    return pair_comparisons(_agreement_data(agreement_id), dimension, scorer)


@cached(spinner="Computing confidence intervals")
def get_passage_agreement(store: Store, agreement_id: str) -> PassageAgreement | None:
    """Compare the judge's grades of passages with human grades; None if the agreement has no such grades."""
    del store
    return passage_agreement(_agreement_data(agreement_id))


def get_grade_comparisons(agreement_id: str, dimension: str, scorer: str) -> tuple[GradeComparison, ...]:
    """Return for every item how much a scorer disagrees with annotators."""
    return grade_comparisons(_agreement_data(agreement_id), dimension, scorer)


def get_texts(agreement_id: str, positions: Sequence[int]) -> Mapping[int, tuple[str, str]]:
    """Return {position: (question, answer or statement)} for items."""
    if agreement_id.startswith(RUN_LABELS_PREFIX):
        return run_label_texts(store(), agreement_id, positions)
    return load_item_texts(store(), get_agreement(agreement_id), positions)


@cached(32)
def get_item_sample(store: Store, agreement_id: str, item_id: str) -> tuple[str, str] | None:
    """Return (run, sample id) of an evaluated sample with an item's answer; None if there is none."""
    stored = find_agreement(store, agreement_id)
    return sample_of_item(store, stored, item_detail(store, stored, item_id))


@cached(32)
def get_item(store: Store, agreement_id: str, item_id: str) -> ItemDetail:
    """Return one item with its texts. Raises NotFoundError."""
    return item_detail(store, find_agreement(store, agreement_id), item_id)
