"""Runs ranked, quality by quality, by a judge's scores, bias-corrected with the labels of a file."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from ragboard.analysis.gates import spec_named
from ragboard.analysis.runs import run_summary
from ragboard.errors import SettingError
from ragboard.human.estimates import estimated_metrics, judged_by, judged_scores, metric_of, not_random
from ragboard.human.label_files import LabelledOutcome
from ragboard.human.systems import KnownOrder, System, SystemsReport, against_order, pooled_report, systems_report
from ragboard.readers.labels import SamplingDesign
from ragboard.records import Sample
from ragboard.store import RunRef, Store
from ragboard.store.queries.annotation import answer_places

__all__ = ["RankedRuns", "Ranking", "rank_runs"]

JUDGED_BY: Mapping[str, tuple[str, ...]] = {
    "verdicts": ("ragas.faithfulness", "ares.answer_faithfulness"),
    "faithfulness": ("ares.answer_faithfulness", "ragas.faithfulness"),
    "answer_relevance": ("ares.answer_relevance",),
    "context_relevance": ("ares.context_relevance", "ragas.context_relevance"),
}
"""The metrics that labels correct if nobody names one: the first that all runs have."""


@dataclass(frozen=True, kw_only=True)
class RankedRuns:
    """The runs by one metric."""

    metric: str
    label: str
    """How pages call it."""
    measured: str
    """What people labelled: `verdicts`, or the name of a quality."""
    report: SystemsReport
    order: KnownOrder | None
    """None if no order was given."""


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """Runs ranked in each of several qualities."""

    tables: tuple[RankedRuns, ...]
    notes: tuple[str, ...]
    """What of the file was left out, and why."""


@dataclass(frozen=True, kw_only=True)
class _Matched:
    """The answers of a file by run and position, and how many were left out."""

    by_run: Mapping[RunRef, Mapping[int, Sequence[LabelledOutcome]]]
    """In the order of the file: ARES has a row for each passage of an answer."""
    other_runs: int
    """Answers that the file says are of runs that were not asked for."""
    unknown: int
    """Answers that none of the runs gives with such passages, or one gives at several positions."""


def rank_runs(
    store: Store,
    runs: Sequence[RunRef],
    answers: Collection[LabelledOutcome],
    *,
    metrics: Sequence[str] = (),
    pool: bool = False,
    order: Sequence[str] = (),
    level: float = 0.95,
) -> Ranking:
    """Estimate what people would say of all of each run, from the labels of a file, and rank the runs by it.

    `metrics` are names of metrics, `NAME=QUALITY` if the name does not say which labels they are compared with; else
    there is a table for each quality with labels and a metric that all runs have. The labels of a run correct the judge
    on that run alone; with `pool` the labels of all correct it on each. `order` is the order of runs known from
    elsewhere, best first. Several rows on one sample count as their mean in each quality: the mean of those drawn at
    random, if there are any. Raises SettingError for the same run twice, rows that fit several runs, labels on none of
    the runs, and metrics that are not from 0 to 1 and higher for the better.
    """
    names = [run.name for run in runs]
    if len(set(names)) < len(names):
        raise SettingError(f"each run once: {', '.join(names)}")
    if order and (len(set(order)) < len(order) or not set(order) <= set(names)):
        raise SettingError(f"the known order {', '.join(order)} is not one of {', '.join(names)}, each at most once")
    matched = _match(store, runs, answers)
    if not any(matched.by_run.values()):
        raise SettingError(f"the labels are of no answer of {', '.join(names)}; name runs that gave these answers")
    summaries = [run_summary(store, run) for run in runs]
    for summary in summaries:
        judged_by(summary)
    labelled = tuple(dict.fromkeys(name for one in answers for name in one.outcomes))
    tables: list[RankedRuns] = []
    for metric, measured in _metrics(store, runs, metrics, labelled):
        meant = metric_of(store, summaries, metric)
        systems = [_system(store, run, meant.spec, measured, matched.by_run[run]) for run in runs]
        report = (pooled_report if pool else systems_report)(_with_refusals(systems), level=level)
        known = against_order(report, order) if order else None
        tables.append(RankedRuns(metric=meant.spec, label=meant.label, measured=measured, report=report, order=known))
    left_out = {
        "labelled answers are of other runs": matched.other_runs,
        "labelled answers are in none of these runs with such passages, or at several places of one": matched.unknown,
    }
    unused = sorted(set(labelled) - {table.measured for table in tables})
    return Ranking(
        tables=tuple(tables),
        notes=(
            *(f"{count:,} {what}, and do not count" for what, count in left_out.items() if count),
            *(f"no metric is held against the labels of {name}" for name in unused),
        ),
    )


def _metrics(
    store: Store, runs: Sequence[RunRef], metrics: Sequence[str], labelled: Sequence[str]
) -> list[tuple[str, str]]:
    """Each metric with the labels that it is compared with."""
    if metrics:
        return [_named(text, labelled) for text in metrics]
    first, *others = ({metric.spec for metric in estimated_metrics(store, run)} for run in runs)
    shared = tuple(first.intersection(*others))
    found: list[tuple[str, str]] = []
    for measured in labelled:
        for name in JUDGED_BY.get(measured, ()):
            if any(name in (spec, spec.partition("(")[0]) for spec in shared):
                found.append((spec_named(name, shared), measured))
                break
    if not found:
        raise SettingError(
            f"name a metric that all runs have for {' or '.join(labelled)}: --metric METRIC={labelled[0]}"
        )
    return found


def _named(text: str, labelled: Sequence[str]) -> tuple[str, str]:
    """Metric and labels of `METRIC=QUALITY`, or of a name that says them: `ares.answer_faithfulness`."""
    metric, equals, measured = text.rpartition("=")
    if equals and ")" not in measured:
        if measured not in labelled:
            raise SettingError(
                f"{text!r}: nobody said anything of {measured!r}; the labels are of {', '.join(labelled)}"
            )
        return metric, measured
    name = text.partition("(")[0].rpartition(".")[2]
    fits = [one for one in labelled if name.endswith(one)]
    if not fits and name.endswith("faithfulness") and "verdicts" in labelled:
        fits = ["verdicts"]
    elif len(fits) != 1 and len(labelled) != 1:
        raise SettingError(f"{text!r} may stand for {' or '.join(labelled)}; say which: --metric {text}={labelled[0]}")
    return text, fits[0] if fits else labelled[0]


def _system(
    store: Store, run: RunRef, spec: str, measured: str, answers: Mapping[int, Sequence[LabelledOutcome]]
) -> System:
    scores, notes = judged_scores(store, run, spec, measured, filed=True)
    outcomes: dict[int, tuple[float, SamplingDesign]] = {}
    for position, rows in answers.items():
        about = [one for one in rows if measured in one.outcomes]
        if about:
            used = [one for one in about if one.design == "random"] or about
            design = _design([one.design for one in used])
            outcomes[position] = (fmean(one.outcomes[measured] for one in used), design)
    drawn = {position: one for position, one in outcomes.items() if one[1] == "random"}
    counted = drawn or outcomes
    unscored, left = sum(position not in scores for position in counted), len(outcomes) - len(counted)
    refusal = ""
    if outcomes and not drawn:
        refusal = not_random(len(outcomes), _design([design for _, design in outcomes.values()]))
    elif drawn and unscored == len(drawn):
        refusal = f"none of its {unscored:,} labelled samples has a score"
    remarks = {
        f"{unscored:,} labelled samples have no score and do not count": unscored,
        f"{left:,} labels that are not declared random do not count": left,
        "that the labelled samples were drawn at random is what was declared": drawn,
    }
    return System(
        name=run.name,
        scores=dict(scores.values()),
        labels={scores[position][0]: outcome for position, (outcome, _) in counted.items() if position in scores},
        refusal=refusal,
        notes=(*notes, *(remark for remark, holds in remarks.items() if holds)),
    )


def _design(designs: Sequence[SamplingDesign]) -> SamplingDesign:
    """How several were chosen, if all were chosen in the same way."""
    return designs[0] if len(set(designs)) == 1 else "unknown"


def _with_refusals(systems: Sequence[System]) -> list[System]:
    """With the reason why there is no estimate, for those without labels."""
    found: list[System] = []
    for system in systems:
        others = " and ".join(other.name for other in systems if other.labels)
        elsewhere = f"; those of {others} say how the judge errs there, not here" if others else ""
        refusal = f"no label in this quality is on an answer of this run{elsewhere}"
        found.append(system if system.labels or system.refusal else replace(system, refusal=refusal))
    return found


def _match(store: Store, runs: Sequence[RunRef], answers: Collection[LabelledOutcome]) -> _Matched:
    """Find each answer in the run that its row names, else in the one run that gives it.

    The same answer has the same question, history and passages; failing that, it is the only one of the run with
    the same question and answer whose passages contain those of the row. Raises SettingError if rows that name no run
    fit several: which of them was drawn from cannot be told.
    """
    wanted = {_words(one.answer.sample) for one in answers}
    places = {run: _places(store, run, wanted) for run in runs}
    found: dict[RunRef, dict[int, list[LabelledOutcome]]] = {run: {} for run in runs}
    elsewhere = unknown = 0
    for one in answers:
        if one.run and one.run not in {run.name for run in runs}:
            elsewhere += 1
            continue
        fits = {run: at for run in runs if one.run in ("", run.name) and (at := _found(places[run], one))}
        if len(fits) > 1:
            names = " and ".join(run.name for run in fits)
            raise SettingError(
                f"the answer to {one.answer.sample.question!r} stands in {names}; name the run of each row in `run`"
            )
        unknown += not fits
        for run, positions in fits.items():
            for position in positions:
                found[run].setdefault(position, []).append(one)
    return _Matched(by_run=found, other_runs=elsewhere, unknown=unknown)


def _places(
    store: Store, run: RunRef, wanted: Collection[tuple[str, str]]
) -> dict[str | tuple[str, str], list[tuple[int, str]]]:
    """Position and passages of a run's answers, by the key that labels hang on, and by question and answer alone."""
    with store.database.read() as connection:
        rows = answer_places(connection, run)
    found: dict[str | tuple[str, str], list[tuple[int, str]]] = {}
    for position, key, question, answer, passages in rows:
        words = _spaced(question), _spaced(answer)
        if words in wanted:
            place = (position, _spaced(passages))
            found.setdefault(key, []).append(place)
            found.setdefault(words, []).append(place)
    return found


def _found(places: Mapping[str | tuple[str, str], list[tuple[int, str]]], one: LabelledOutcome) -> list[int]:
    same = places.get(one.answer.key)
    if same:
        return [position for position, _ in same]
    contexts = [_spaced(passage.text) for passage in one.answer.sample.contexts or ()]
    alike = places.get(_words(one.answer.sample), [])
    fits = [position for position, passages in alike if all(text in passages for text in contexts)]
    return fits if len(fits) == 1 else []


def _words(sample: Sample) -> tuple[str, str]:
    return _spaced(sample.question), _spaced(sample.answer or "")


def _spaced(text: str) -> str:
    return " ".join(text.split())
