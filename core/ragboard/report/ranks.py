"""Runs ordered, quality by quality, by a judge's scores put right by the labels of a file."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from ragboard.analysis.gates import spec_named
from ragboard.analysis.runs import RunSummary, run_summary
from ragboard.errors import SettingError
from ragboard.labels import Design, FiledAnswer
from ragboard.report.estimates import estimated_metrics, judged_by, judged_scores, metric_of, not_random
from ragboard.report.matching import Matched, match_answers
from ragboard.report.pooled import pooled_report
from ragboard.report.systems import KnownOrder, System, SystemsReport, against_order, systems_report
from ragboard.store import RunRef, Store

__all__ = ["RankedRuns", "Ranking", "rank_runs"]

JUDGED_BY: Mapping[str, tuple[str, ...]] = {
    "verdicts": ("ragas.faithfulness", "ares.answer_faithfulness"),
    "faithfulness": ("ares.answer_faithfulness", "ragas.faithfulness"),
    "answer_relevance": ("ares.answer_relevance",),
    "context_relevance": ("ares.context_relevance", "ragas.context_relevance"),
}
"""Whose scores are put right by what people said, where nobody names a metric: the first that all runs have."""


@dataclass(frozen=True, kw_only=True)
class RankedRuns:
    """The runs by one metric."""

    metric: str
    label: str
    """How pages call it."""
    measured: str
    """What people said: `verdicts`, or the name of a quality."""
    report: SystemsReport
    order: KnownOrder | None
    """None where no order was given."""


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """Runs ordered in each of several qualities."""

    tables: tuple[RankedRuns, ...]
    notes: tuple[str, ...]
    """What of the file was left out, and why."""


@dataclass(frozen=True, kw_only=True)
class _Joined:
    """What the rows on one sample say of one quality together."""

    outcome: float
    design: Design


def rank_runs(
    store: Store,
    runs: Sequence[RunRef],
    answers: Collection[FiledAnswer],
    *,
    metrics: Sequence[str] = (),
    pool: bool = False,
    order: Sequence[str] = (),
    level: float = 0.95,
) -> Ranking:
    """Estimate what people would say of all of each run, from the labels of a file, and order the runs by it.

    `metrics` are names of metrics, `NAME=QUALITY` where the name does not say which labels they are held against; else
    there is a table for each quality that people spoke of and a metric of all runs stands for. The labels of a run put
    the judge right on that run alone; `pool` has the labels of all put it right on each. `order` is the order of runs
    known from elsewhere, best first. Where several rows are on one sample, their mean counts in each quality that they
    speak of: of those drawn at random where there are any. Raises SettingError for runs that are no several, rows that
    fit several, labels of none of the runs, and metrics that are not from 0 to 1 and higher for the better.
    """
    names = [run.name for run in runs]
    _check_names(names, order)
    matched = match_answers(store, runs, answers)
    if not any(matched.by_run.values()):
        raise SettingError(f"the labels are of no answer of {', '.join(names)}; name runs that gave these answers")
    summaries = {run: run_summary(store, run) for run in runs}
    for summary in summaries.values():
        judged_by(summary)
    said = tuple(dict.fromkeys(name for one in answers for name in one.outcomes))
    wanted, unused = _wanted(store, tuple(summaries), metrics, said)
    tables = tuple(
        _ranked(store, summaries, metric, measured, matched, pool=pool, order=order, level=level)
        for metric, measured in wanted
    )
    return Ranking(tables=tables, notes=(*_left_out(matched), *unused))


def _check_names(names: Sequence[str], order: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        raise SettingError(f"each run once: {', '.join(names)}")
    if order and (len(set(order)) < len(order) or not set(order) <= set(names)):
        raise SettingError(f"the known order {', '.join(order)} is not one of {', '.join(names)}, each at most once")


def _wanted(
    store: Store, runs: Sequence[RunRef], metrics: Sequence[str], said: Sequence[str]
) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    """Each metric with what it is held against, and what is held against none."""
    if metrics:
        wanted = [_named(text, said) for text in metrics]
    else:
        first, *others = ({metric.spec for metric in estimated_metrics(store, run)} for run in runs)
        there = tuple(first.intersection(*others))
        wanted = [(spec, measured) for measured in said if (spec := _default(measured, there))]
    if not wanted:
        raise SettingError(f"name a metric that all runs have for {' or '.join(said)}: --metric METRIC={said[0]}")
    unused = set(said) - {measured for _, measured in wanted}
    return wanted, tuple(f"no metric is held against the labels of {name}" for name in sorted(unused))


def _named(text: str, said: Sequence[str]) -> tuple[str, str]:
    metric, equals, measured = text.rpartition("=")
    if not equals or ")" in measured:
        return text, _measured_by(text, said)
    if measured not in said:
        raise SettingError(f"{text!r}: nobody said anything of {measured!r}; the labels are of {', '.join(said)}")
    return metric, measured


def _measured_by(metric: str, said: Sequence[str]) -> str:
    """The labels that a metric's name speaks of: `ares.answer_faithfulness` of faithfulness."""
    name = metric.partition("(")[0].rpartition(".")[2]
    fits = [one for one in said if name.endswith(one)]
    if not fits and name.endswith("faithfulness") and "verdicts" in said:
        return "verdicts"
    if len(fits) != 1 and len(said) != 1:
        raise SettingError(f"{metric!r} may stand for {' or '.join(said)}; say which: --metric {metric}={said[0]}")
    return fits[0] if fits else said[0]


def _default(measured: str, there: Sequence[str]) -> str:
    for name in JUDGED_BY.get(measured, ()):
        if any(name in (spec, spec.partition("(")[0]) for spec in there):
            return spec_named(name, there)
    return ""


def _ranked(
    store: Store,
    runs: Mapping[RunRef, RunSummary],
    metric: str,
    measured: str,
    matched: Matched,
    *,
    pool: bool,
    order: Sequence[str],
    level: float,
) -> RankedRuns:
    meant = metric_of(store, tuple(runs.values()), metric)
    systems = [_system(store, run, meant.spec, measured, matched.by_run[run]) for run in runs]
    systems = [_told(system, systems) for system in systems]
    report = (pooled_report if pool else systems_report)(systems, level=level)
    return RankedRuns(
        metric=meant.spec,
        label=meant.label,
        measured=measured,
        report=report,
        order=against_order(report, order) if order else None,
    )


def _system(
    store: Store, run: RunRef, spec: str, measured: str, answers: Mapping[int, Sequence[FiledAnswer]]
) -> System:
    scores, notes = judged_scores(store, run, spec, measured, filed=True)
    about = _about(answers, measured)
    drawn = {place: one for place, one in about.items() if one.design == "random"}
    used = drawn or about
    unscored = sum(place not in scores for place in used)
    left = len(about) - len(used)
    return System(
        name=run.name,
        scores=dict(scores.values()),
        labels={scores[place][0]: one.outcome for place, one in used.items() if place in scores},
        refusal=_refusal(about, unscored),
        notes=(
            *notes,
            *((f"{unscored:,} labelled samples have no score and do not count",) if unscored else ()),
            *((f"{left:,} labels that are not declared random do not count",) if left else ()),
            *(("that the labelled samples were drawn at random is what was declared",) if drawn else ()),
        ),
    )


def _refusal(about: Mapping[int, _Joined], unscored: int) -> str:
    designs: list[Design] = [one.design for one in about.values()]
    if about and "random" not in designs:
        return not_random(len(about), _design(designs))
    drawn = designs.count("random")
    return f"none of its {drawn:,} labelled samples has a score" if drawn and unscored == drawn else ""


def _about(answers: Mapping[int, Sequence[FiledAnswer]], measured: str) -> dict[int, _Joined]:
    """By place what all rows say of one quality."""
    about = {place: [one for one in rows if measured in one.outcomes] for place, rows in answers.items()}
    return {place: _joined(rows, measured) for place, rows in about.items() if rows}


def _joined(rows: Sequence[FiledAnswer], measured: str) -> _Joined:
    """The mean of the rows: of those drawn at random where there are any."""
    used = [one for one in rows if one.design == "random"] or rows
    return _Joined(outcome=fmean(one.outcomes[measured] for one in used), design=_design([one.design for one in used]))


def _design(found: Sequence[Design]) -> Design:
    """How several were chosen, where all were in the same way."""
    return found[0] if len(set(found)) == 1 else "unknown"


def _told(system: System, systems: Sequence[System]) -> System:
    """With the reason why there is no estimate, where it has no labels."""
    if system.labels or system.refusal:
        return system
    others = " and ".join(other.name for other in systems if other.labels)
    there = f"; those of {others} say how the judge errs there, not here" if others else ""
    return replace(system, refusal=f"no label in this quality is on an answer of this run{there}")


def _left_out(matched: Matched) -> tuple[str, ...]:
    said = (
        (matched.other_runs, "labelled answers are of other runs"),
        (matched.unknown, "labelled answers are in none of these runs with such passages, or at several places of one"),
    )
    return tuple(f"{count:,} {what}, and do not count" for count, what in said if count)
