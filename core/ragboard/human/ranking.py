"""Rank runs by a judge's scores, bias-corrected with the labels in a file."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from ragboard.analysis.gates import resolve_spec
from ragboard.analysis.runs import run_summary
from ragboard.errors import SettingError
from ragboard.human.estimates import (
    estimated_metrics,
    find_estimate_metric,
    load_judge_scores,
    main_judge_setup,
    why_not_random,
)
from ragboard.human.label_files import LabelledOutcome
from ragboard.human.systems import KnownOrder, System, SystemsReport, compare_with_order, pooled_report, systems_report
from ragboard.readers.labels import SamplingDesign
from ragboard.records import Sample
from ragboard.store import RunRef, Store
from ragboard.store.queries.annotation import answers_of_run

__all__ = ["RankedRuns", "Ranking", "rank_runs"]

DEFAULT_METRICS: Mapping[str, tuple[str, ...]] = {
    "verdicts": ("ragas.faithfulness", "ares.answer_faithfulness"),
    "faithfulness": ("ares.answer_faithfulness", "ragas.faithfulness"),
    "answer_relevance": ("ares.answer_relevance",),
    "context_relevance": ("ares.context_relevance", "ragas.context_relevance"),
}
"""For each kind of label, the metrics to use by default: the first one that all runs have."""


@dataclass(frozen=True, kw_only=True)
class RankedRuns:
    """The runs ranked by one metric."""

    metric: str
    metric_label: str
    """The metric's name on pages."""
    measured: str
    """The kind of labels: `verdicts`, or the name of a quality."""
    report: SystemsReport
    order: KnownOrder | None
    """The known order of the runs, compared with the estimates; None if the user gave no order."""


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """Runs ranked by one or several metrics."""

    tables: tuple[RankedRuns, ...]
    notes: tuple[str, ...]
    """Which labels in the file are not used, and why."""


@dataclass(frozen=True, kw_only=True)
class _MatchedAnswers:
    """The labelled answers in a file, matched with the runs."""

    by_run: Mapping[RunRef, Mapping[int, Sequence[LabelledOutcome]]]
    """{run: {position: labelled answers}}. A position has several if a file of ARES has one row per passage."""
    other_runs: int
    """Number of answers whose row names another run."""
    unmatched: int
    """Number of answers that no run has with these passages, or that one run has several times."""


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
    """Estimate the mean label of each run from the labels in a file and the judge's scores, and rank the runs by it.

    `metrics` are names of metrics, or `NAME=QUALITY` to choose the labels that correct a metric. By default, each
    quality with labels is estimated with a metric that all runs have. The labels of a run correct the judge's scores of
    this run; with `pool`, the labels of all runs correct every run. `order` is a known order of the runs, best first.
    If a sample has several rows, the mean of the randomly drawn ones counts, or of all rows if none was drawn.

    Raises SettingError for a repeated run, for rows that match several runs, for a file without labels of these runs,
    and for metrics that are not in [0, 1] or are better when lower.
    """
    names = [run.name for run in runs]
    if len(set(names)) < len(names):
        raise SettingError(f"name each run only once: {', '.join(names)}")
    if order and (len(set(order)) < len(order) or not set(order) <= set(names)):
        raise SettingError(
            f"the known order {', '.join(order)} must name runs among {', '.join(names)}, each only once"
        )
    matched = _match(store, runs, answers)
    if not any(matched.by_run.values()):
        raise SettingError(f"no labelled answer is in {', '.join(names)}; choose the runs with these answers")
    summaries = [run_summary(store, run) for run in runs]
    for summary in summaries:
        main_judge_setup(summary)
    labelled = tuple(dict.fromkeys(name for answer in answers for name in answer.outcomes))
    tables: list[RankedRuns] = []
    for metric, measured in _choose_metrics(store, runs, metrics, labelled):
        described = find_estimate_metric(store, summaries, metric)
        systems = _explain_missing_labels(
            [_build_system(store, run, described.spec, measured, matched.by_run[run]) for run in runs]
        )
        report = pooled_report(systems, level=level) if pool else systems_report(systems, level=level)
        ranked = RankedRuns(
            metric=described.spec,
            metric_label=described.label,
            measured=measured,
            report=report,
            order=compare_with_order(report, order) if order else None,
        )
        tables.append(ranked)
    left_out = {
        "labelled answers belong to other runs": matched.other_runs,
        "labelled answers match no sample with these passages, or several samples": matched.unmatched,
    }
    unused = sorted(set(labelled) - {table.measured for table in tables})
    return Ranking(
        tables=tuple(tables),
        notes=(
            *(f"{count:,} {description}; they do not count" for description, count in left_out.items() if count),
            *(f"no metric is compared with the labels of {name}" for name in unused),
        ),
    )


def _choose_metrics(
    store: Store, runs: Sequence[RunRef], metrics: Sequence[str], labelled: Sequence[str]
) -> list[tuple[str, str]]:
    """Return (metric, kind of labels that correct it) pairs."""
    if metrics:
        return [_parse_pair(text, labelled) for text in metrics]
    first, *others = ({metric.spec for metric in estimated_metrics(store, run)} for run in runs)
    shared = tuple(first.intersection(*others))
    chosen: list[tuple[str, str]] = []
    for measured in labelled:
        for name in DEFAULT_METRICS.get(measured, ()):
            if any(name in (spec, spec.partition("(")[0]) for spec in shared):
                chosen.append((resolve_spec(name, shared), measured))
                break
    if not chosen:
        raise SettingError(
            f"name a metric that all runs have for {' or '.join(labelled)}: --metric METRIC={labelled[0]}"
        )
    return chosen


def _parse_pair(text: str, labelled: Sequence[str]) -> tuple[str, str]:
    """Parse `METRIC=QUALITY`, or a metric whose name ends with the quality: `ares.answer_faithfulness`."""
    metric, equals, measured = text.rpartition("=")
    if equals and ")" not in measured:
        if measured not in labelled:
            raise SettingError(
                f"{text!r}: there are no labels of {measured!r}; the file has labels of {', '.join(labelled)}"
            )
        return metric, measured
    name = text.partition("(")[0].rpartition(".")[2]
    matching = [quality for quality in labelled if name.endswith(quality)]
    if not matching and name.endswith("faithfulness") and "verdicts" in labelled:
        matching = ["verdicts"]
    elif len(matching) != 1 and len(labelled) != 1:
        raise SettingError(
            f"{text!r} could be compared with {' or '.join(labelled)}; choose one: --metric {text}={labelled[0]}"
        )
    return text, matching[0] if matching else labelled[0]


def _build_system(
    store: Store, run: RunRef, spec: str, measured: str, answers: Mapping[int, Sequence[LabelledOutcome]]
) -> System:
    scores, notes = load_judge_scores(store, run, spec, measured, from_file=True)
    outcomes: dict[int, tuple[float, SamplingDesign]] = {}
    for position, rows in answers.items():
        rated = [row for row in rows if measured in row.outcomes]
        if rated:
            used = [row for row in rated if row.design == "random"] or rated
            design = _design([row.design for row in used])
            outcomes[position] = (fmean(row.outcomes[measured] for row in used), design)
    drawn = {position: labelled for position, labelled in outcomes.items() if labelled[1] == "random"}
    counted = drawn or outcomes
    unscored, not_drawn = sum(position not in scores for position in counted), len(outcomes) - len(counted)
    unusable_reason = ""
    if outcomes and not drawn:
        unusable_reason = why_not_random(len(outcomes), _design([design for _, design in outcomes.values()]))
    elif drawn and unscored == len(drawn):
        unusable_reason = f"none of its {unscored:,} labelled samples has a score"
    conditional_notes = {
        f"{unscored:,} labelled samples have no score and do not count": unscored,
        f"{not_drawn:,} labels that are not declared random do not count": not_drawn,
        "the labelled samples are declared as drawn at random": drawn,
    }
    return System(
        name=run.name,
        scores=dict(scores.values()),
        labels={scores[position][0]: outcome for position, (outcome, _) in counted.items() if position in scores},
        unusable_reason=unusable_reason,
        notes=(*notes, *(note for note, applies in conditional_notes.items() if applies)),
    )


def _design(designs: Sequence[SamplingDesign]) -> SamplingDesign:
    """Return the common sampling design, or `unknown` if they differ."""
    return designs[0] if len(set(designs)) == 1 else "unknown"


def _explain_missing_labels(systems: Sequence[System]) -> list[System]:
    """Return the systems, with `unusable_reason` set for systems without labels."""
    checked: list[System] = []
    for system in systems:
        others = " and ".join(other.name for other in systems if other.labels)
        hint = f"; labels of {others} do not show the judge's errors on this run" if others else ""
        unusable_reason = f"no answer of this run has a label in this quality{hint}"
        checked.append(
            system if system.labels or system.unusable_reason else replace(system, unusable_reason=unusable_reason)
        )
    return checked


def _match(store: Store, runs: Sequence[RunRef], answers: Collection[LabelledOutcome]) -> _MatchedAnswers:
    """Find each labelled answer in the run that its row names. If the row names no run, search all runs.

    See `_positions` for what matches. Raises SettingError if a row without a run matches several runs, because the
    sample was drawn from only one of them.
    """
    wanted = {_question_and_answer(answer.answer.sample) for answer in answers}
    answers_by_key = {run: _answers_by_key(store, run, wanted) for run in runs}
    by_run: dict[RunRef, dict[int, list[LabelledOutcome]]] = {run: {} for run in runs}
    other_runs = unmatched = 0
    for answer in answers:
        if answer.run and answer.run not in {run.name for run in runs}:
            other_runs += 1
            continue
        candidates = [run for run in runs if answer.run in ("", run.name)]
        matches = {run: positions for run in candidates if (positions := _positions(answers_by_key[run], answer))}
        if len(matches) > 1:
            names = " and ".join(run.name for run in matches)
            raise SettingError(
                f"the answer to {answer.answer.sample.question!r} is in {names}; name the run of each row in `run`"
            )
        unmatched += not matches
        for run, positions in matches.items():
            for position in positions:
                by_run[run].setdefault(position, []).append(answer)
    return _MatchedAnswers(by_run=by_run, other_runs=other_runs, unmatched=unmatched)


def _answers_by_key(
    store: Store, run: RunRef, wanted: Collection[tuple[str, str]]
) -> dict[str | tuple[str, str], list[tuple[int, str]]]:
    """Return (position, passages) of a run's answers, once by answer key and once by (question, answer)."""
    with store.database.read() as connection:
        rows = answers_of_run(connection, run)
    by_key: dict[str | tuple[str, str], list[tuple[int, str]]] = {}
    for position, key, question, answer, passages in rows:
        words = _single_spaced(question), _single_spaced(answer)
        if words in wanted:
            located = (position, _single_spaced(passages))
            by_key.setdefault(key, []).append(located)
            by_key.setdefault(words, []).append(located)
    return by_key


def _positions(
    answers_by_key: Mapping[str | tuple[str, str], list[tuple[int, str]]], answer: LabelledOutcome
) -> list[int]:
    """Return the positions at which a run has this labelled answer.

    The question, history, passages and answer must be the same. If no sample has them all, the only sample with the
    same question and answer matches if its passages contain the labelled passages.
    """
    exact = answers_by_key.get(answer.answer.key)
    if exact:
        return [position for position, _ in exact]
    contexts = [_single_spaced(passage.text) for passage in answer.answer.sample.contexts or ()]
    same_words = answers_by_key.get(_question_and_answer(answer.answer.sample), [])
    matches = [position for position, passages in same_words if all(text in passages for text in contexts)]
    return matches if len(matches) == 1 else []


def _question_and_answer(sample: Sample) -> tuple[str, str]:
    return _single_spaced(sample.question), _single_spaced(sample.answer or "")


def _single_spaced(text: str) -> str:
    return " ".join(text.split())
