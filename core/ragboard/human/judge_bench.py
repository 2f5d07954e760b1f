"""Benchmark judges: run `agree` for each labelled set and judge, and compare verdicts with labels."""

from __future__ import annotations

import re
import timeit
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from math import fsum
from statistics import fmean
from typing import Literal, TypeAlias

from ragboard.errors import JudgeError, SettingError
from ragboard.evaluation.options import EvaluationOptions
from ragboard.human.agree import AgreementResult, agree, check_judges, group_by_answer, read_verdict
from ragboard.human.agreement import Measure, find_agreement, load_agreement, measure
from ragboard.human.scorers import balanced_accuracy_of_rows, judge_scorers, select_scorers, trivial_scores
from ragboard.judges.panel import Panel
from ragboard.readers.labels import ANSWER_SUPPORTED, HELPS, SUPPORTED, LabelFile, LabelledItem, read_labels
from ragboard.records import Label, Outcome, Score
from ragboard.stats import NoInterval, calibration
from ragboard.stats.agreement import pooled_calibration_error
from ragboard.stats.auroc_intervals import auroc_of_rows
from ragboard.stats.bootstrap import REPORT_DRAWS, Resampled, Rows, mean_over_sets, resample, resampled_interval
from ragboard.store import Store

__all__ = [
    "BINS",
    "OVERLAP",
    "VERDICTS",
    "BenchFigures",
    "BenchLine",
    "BenchSet",
    "JudgeBench",
    "JudgeCost",
    "JudgeDifference",
    "VerdictFigures",
    "judge_bench",
    "read_bench_set",
]

BINS = 10
"""Number of bins of equal width for the calibration error."""
VERDICTS: tuple[Label, ...] = ("supported", "unsupported", "contradicted")
OVERLAP = "word overlap"
"""The baseline that judges are compared with."""

Watch: TypeAlias = Callable[[str, str, int, int], None]
"""Called with the names of a set and a judge, the number of finished jobs, and the total number of jobs."""
Statistic: TypeAlias = tuple[Callable[[Rows], float], Sequence[str]]
"""A function that computes a number from rows, and the cluster of each row."""
SetKind: TypeAlias = Literal["statements", "sentences", "answers"]
KINDS: Mapping[str, SetKind] = {SUPPORTED: "statements", HELPS: "sentences", ANSWER_SUPPORTED: "answers"}
"""The kind of texts in a set, by its dimension."""


@dataclass(frozen=True, kw_only=True)
class BenchSet:
    """A labelled set."""

    name: str
    source: str
    kind: SetKind
    """Statements to check against passages, sentences that may help to answer a question, or whole answers."""
    n: int
    """Number of texts with a decided label."""
    undecided: int
    """Number of texts without a label or with a tie between annotators; all figures leave them out."""
    clusters: int
    """Number of clusters of texts."""
    base_rate: float
    """The share of texts labelled supported; for sentences, helpful for answering the question."""
    verdicts: Mapping[Label, int]
    """Number of texts by label; `contradicted` occurs only if the file distinguishes it from `unsupported`."""


@dataclass(frozen=True, kw_only=True)
class VerdictFigures:
    """How well one verdict of a judge agrees with labels.

    In a set without the label contradicted, the verdict contradicted counts as unsupported. For sentences, `supported`
    means helpful for answering the question.
    """

    labelled: int
    """Number of texts with this label."""
    predicted: int
    """Number of texts to which the judge gave this verdict."""
    precision: float | None
    """The share of texts with this verdict that also have this label; None if no text has the verdict."""
    recall: float | None
    """The share of texts with this label that also have this verdict; None if no text has the label."""


@dataclass(frozen=True, kw_only=True)
class JudgeCost:
    """What a judge cost on one set."""

    calls: int
    tokens: int
    """Number of prompt and completion tokens that the server reports."""
    cost: float | None
    """US dollars; None if not known."""
    cached: int
    """Number of replies from the cache; `calls` and `tokens` leave them out."""
    seconds: float | None
    """Duration of the calls in seconds, without loading a model; None if replies came from a journal or the cache."""
    times_regex: float | None
    """`seconds` as a multiple of the time that `re.findall(r"\\w+", text)` takes for the same texts."""


@dataclass(frozen=True, kw_only=True)
class BenchFigures:
    """Figures of a judge or baseline on one set, or their unweighted mean over sets."""

    sets: int
    """Number of sets."""
    n: int
    """Number of texts with a verdict."""
    unscored: int
    """Number of labelled texts without a verdict: the judge failed, or the answer has no statements."""
    ranked_by: Literal["score", "verdict", "both"]
    """What AUROC is computed from: the judge's score or, if it gives no scores, its verdict (1 if supported, else
    0)."""
    auroc: Measure
    better_by: Measure | None
    """AUROC of the judge minus that of word overlap on the same texts; None for baselines."""
    balanced_accuracy: Measure | None
    """Balanced accuracy of the judge's verdicts; 0.5 is chance level. None for baselines."""
    verdicts: Mapping[Label, VerdictFigures]
    """Figures for each label in the set; in a mean, precision and recall are means over the sets with the label."""
    calibration_error: float | None
    """Expected calibration error of the scores, in 10 bins of equal width; 0 is best. None without scores in [0, 1]."""
    pooled_calibration_error: float | None
    """In a mean, the calibration error over the texts of all sets, each set with the same weight. Errors of opposite
    sign cancel. For one set, the same as `calibration_error`."""
    cost: JudgeCost | None
    """In a mean, the total over all sets. None for baselines."""


@dataclass(frozen=True, kw_only=True)
class BenchLine:
    """The figures of a judge or a trivial baseline on all sets."""

    name: str
    kind: Literal["judge", "baseline"]
    heuristic: bool
    """Whether a rule-based judge gave some of the verdicts."""
    by_set: Mapping[str, BenchFigures]
    left_out: Mapping[str, str]
    """{set: why it has no figures}."""
    mean: BenchFigures


@dataclass(frozen=True, kw_only=True)
class JudgeDifference:
    """AUROC of judge B minus AUROC of judge A, on the texts that both judged."""

    a: str
    b: str
    by_set: Mapping[str, Measure]
    mean: Measure


@dataclass(frozen=True, kw_only=True)
class JudgeBench:
    """The figures of judges and trivial baselines on labelled sets."""

    sets: tuple[BenchSet, ...]
    lines: tuple[BenchLine, ...]
    """The judges in the given order, then word overlap and length."""
    differences: tuple[JudgeDifference, ...]
    """One for each pair of judges."""
    bins: int
    """Number of bins of the calibration error."""
    seed: int
    stopped: str
    """Why a limit (of cost, tokens or time) stopped the benchmark early; empty if it is complete."""


@dataclass(frozen=True)
class _LabelledSet:
    """A labelled set. Positions and verdicts have one entry per text with a majority label."""

    labelled: LabelFile
    """The items of the file that judges are asked about: all texts of answers with at least one majority label."""
    positions: tuple[int, ...]
    verdicts: tuple[Label, ...]
    undecided: int

    @property
    def name(self) -> str:
        return self.labelled.name

    @property
    def dimension(self) -> str:
        return self.labelled.dimensions[0]

    @cached_property
    def kind(self) -> SetKind:
        return KINDS[self.dimension]

    @cached_property
    def truth(self) -> list[bool]:
        return [verdict == "supported" for verdict in self.verdicts]

    @cached_property
    def groups(self) -> list[str]:
        return [self.labelled.items[position].cluster for position in self.positions]

    @cached_property
    def trivial(self) -> list[dict[str, float]]:
        sides = (self.labelled.items[position].samples[0] for position in self.positions)
        return [
            trivial_scores(
                side.question,
                side.answer or "",
                None if self.kind == "sentences" else [passage.text for passage in side.contexts or ()],
            )
            for side in sides
        ]

    @cached_property
    def regex_seconds(self) -> float:
        """How many seconds `re.findall(r"\\w+", text)` takes for all texts of the set."""
        texts: list[str] = []
        for group in group_by_answer(self.labelled):
            side = group[0][1].samples[0]
            texts += [side.question, *(passage.text for passage in side.contexts or ())]
            texts += [item.samples[0].answer or "" for _, item in group]

        def find_words() -> None:
            for text in texts:
                re.findall(r"\w+", text)

        return max(min(timeit.repeat(find_words, number=1, repeat=3)), 1e-9)

    def describe(self) -> BenchSet:
        return BenchSet(
            name=self.name,
            source=self.labelled.source,
            kind=self.kind,
            n=len(self.positions),
            undecided=self.undecided,
            clusters=len(set(self.groups)),
            base_rate=fmean(self.truth),
            verdicts={label: self.verdicts.count(label) for label in _labels_in(self)},
        )


@dataclass(frozen=True)
class _SetResult:
    """The verdicts and scores of a judge or baseline: one list entry per text of the set that it judged."""

    rows: list[int]
    """Indices of the texts in the set."""
    scores: list[float]
    ranked_by: Literal["score", "verdict"] = "score"
    verdicts: tuple[Label, ...] | None = None
    """None for a baseline."""
    heuristic: bool = False
    """Whether a rule-based judge gave some of the verdicts."""
    cost: JudgeCost | None = None


def read_bench_set(
    source: str, *, cluster: str | None = None, label: str | None = None, at_least: float = 1.0
) -> LabelFile:
    """Read a label file with `statements` or `sentences`, or with graded answers if `label` is given.

    `label` is the path of a grade in a row (`human.faithfulness`), or of a list with one grade per annotator. An answer
    is supported if its mean grade is at least `at_least`. Raises the errors of `read_labels`, and SettingError for
    other kinds of labels and if all labels are of one class.
    """
    read = read_labels(source, cluster=cluster, rating=label)
    if read.form == "passages":
        raise SettingError(f"{read.source}: contains grades of passages; try ragboard agree")
    if read.form == "pairs" or (read.form == "answers" and not label):
        contents, advice = (
            ("preferences between two answers", "try ragboard agree")
            if read.form == "pairs"
            else ("grades of answers", "choose the grade that says whether an answer is supported: --label grades.NAME")
        )
        raise SettingError(f"{read.source}: contains {contents}; {advice}")
    if len(read.dimensions) > 1:
        raise SettingError(f"{read.source}: contains statements and sentences; a set has only one of them")
    if read.form == "answers":
        read = replace(read, items=tuple(_grade_to_label(item, at_least) for item in read.items))
    labelled_set = _labelled_set(read)
    if not 0 < sum(labelled_set.truth) < len(labelled_set.truth):
        positive = f"{sum(labelled_set.truth)} of {len(labelled_set.truth)} labels are positive"
        raise SettingError(f"{read.source}: {positive}; both classes are needed")
    return read


def _grade_to_label(item: LabelledItem, at_least: float) -> LabelledItem:
    (ratings,) = item.human_labels.values()
    known = [rating for rating in ratings if rating is not None]
    supported = float(fmean(known) >= at_least) if known else None
    return replace(item, human_labels={ANSWER_SUPPORTED: (supported,)})


def _labelled_set(labelled: LabelFile) -> _LabelledSet:
    labelled_items: list[LabelledItem] = []
    for group in group_by_answer(labelled):
        items = [item for _, item in group]
        if any(map(_majority_label, items)):
            labelled_items += items
    decided: dict[int, Label] = {}
    for position, item in enumerate(labelled_items):
        label = _majority_label(item)
        if label:
            decided[position] = label
    return _LabelledSet(
        labelled=replace(labelled, items=tuple(labelled_items)),
        positions=tuple(decided),
        verdicts=tuple(decided.values()),
        undecided=len(labelled.items) - len(decided),
    )


def _majority_label(item: LabelledItem) -> Label | None:
    """Return the majority label; None without labels, and for a tie."""
    (ratings,) = item.human_labels.values()
    known = [rating for rating in ratings if rating is not None]
    if not known or fmean(known) == 0.5:
        return None
    if fmean(known) > 0.5:
        return "supported"
    return "contradicted" if item.verdicts.count("contradicted") > item.verdicts.count("unsupported") else "unsupported"


def _labels_in(labelled_set: _LabelledSet) -> tuple[Label, ...]:
    """Return the labels that occur in a set."""
    return tuple(label for label in VERDICTS if label in labelled_set.verdicts)


def judge_bench(
    store: Store,
    sets: Sequence[LabelFile],
    judges: Sequence[Panel],
    *,
    seed: int = 0,
    options: EvaluationOptions | None = None,
    watch: Watch = lambda _set, _judge, _done, _total: None,
) -> JudgeBench:
    """Run every judge on every set with `agree`, which stores the results, and compare them with the labels.

    Sets whose tasks a judge does not support are left out. The figures of a judge do not depend on the other judges or
    on the order of the sets. Raises SettingError for two sets or two judges with the same name, JudgeError for a judge
    that supports no set.
    """
    _check_names("sets", [labelled.name for labelled in sets])
    _check_names("judges", [panel.name for panel in judges])
    labelled_sets = {labelled.name: _labelled_set(labelled) for labelled in sets}
    results: dict[str, dict[str, _SetResult]] = {}
    left_out: dict[str, dict[str, str]] = {}
    for panel in judges:
        left_out[panel.name] = _find_unsupported_sets(panel, sets)
        if len(left_out[panel.name]) == len(sets):
            raise JudgeError(next(iter(left_out[panel.name].values())))
    reasons: list[str] = []
    for panel in judges:
        judged, stopped = results.setdefault(panel.name, {}), ""
        for labelled_set in labelled_sets.values():
            if labelled_set.name in left_out[panel.name]:
                continue
            if stopped:
                left_out[panel.name][labelled_set.name] = stopped
                continue
            agreed = agree(
                store,
                labelled_set.labelled,
                panel,
                seed=seed,
                options=options,
                watch=partial(watch, labelled_set.name, panel.name),
            )
            stopped = agreed.stopped
            answers = _load_result(store, labelled_set, panel, agreed)
            if answers is None:
                left_out[panel.name][labelled_set.name] = "no text was judged"
            else:
                judged[labelled_set.name] = answers
        reasons += [f"{panel.name}: {stopped}"] if stopped else []
    for name in (OVERLAP, "length"):
        results[name] = {
            labelled_set.name: _SetResult(
                rows=list(range(len(labelled_set.positions))),
                scores=[baseline_scores[name] for baseline_scores in labelled_set.trivial],
            )
            for labelled_set in labelled_sets.values()
        }
    panels = {panel.name: panel for panel in judges}
    return JudgeBench(
        sets=tuple(labelled_set.describe() for labelled_set in labelled_sets.values()),
        lines=tuple(
            _bench_line(name, panels.get(name), judged, labelled_sets, left_out.get(name, {}), seed)
            for name, judged in results.items()
        ),
        differences=tuple(
            _compare_judges(a.name, b.name, results, labelled_sets, seed) for a, b in combinations(judges, 2)
        ),
        bins=BINS,
        seed=seed,
        stopped="; ".join(reasons),
    )


def _check_names(kind: str, names: Sequence[str]) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SettingError(f"two {kind} have the name {twice}; give each a different name")
    if not names:
        raise SettingError(f"there are no {kind}")
    reserved = {OVERLAP, "length"}.intersection(names) if kind == "judges" else set[str]()
    if reserved:
        raise SettingError(f"{reserved.pop()} is the name of a baseline; give the judge another name")


def _find_unsupported_sets(panel: Panel, sets: Sequence[LabelFile]) -> dict[str, str]:
    """Return {set: reason} for sets whose tasks the judge does not support."""
    reasons: dict[str, str] = {}
    for labelled in sets:
        try:
            check_judges(labelled, panel, select_scorers(labelled, panel, ()))
        except JudgeError as error:
            reasons[labelled.name] = str(error)
    return reasons


def _load_result(store: Store, labelled_set: _LabelledSet, panel: Panel, agreed: AgreementResult) -> _SetResult | None:
    """Load a judge's results on a set from the store; None if it judged no text."""
    data = load_agreement(store, find_agreement(store, agreed.agreement.id))
    verdict, score = (
        {position: sides[0] for position, sides in data.outcomes.get((labelled_set.dimension, scorer.name), {}).items()}
        for scorer in judge_scorers(panel.name)
    )
    verdicts: dict[int, Score] = {}
    for row, position in enumerate(labelled_set.positions):
        outcome = verdict.get(position)
        if isinstance(outcome, Score):
            verdicts[row] = outcome
    if not verdicts:
        return None
    scores = [_value(score.get(labelled_set.positions[row])) for row in verdicts]
    known = [value for value in scores if value is not None]
    timed = not (agreed.resumed or agreed.cached)
    costs = [usage.cost for usage in agreed.usage]
    return _SetResult(
        rows=list(verdicts),
        scores=known if len(known) == len(verdicts) else [outcome.value for outcome in verdicts.values()],
        ranked_by="score" if len(known) == len(verdicts) else "verdict",
        verdicts=tuple(_label_of_verdict(outcome, labelled_set) for outcome in verdicts.values()),
        heuristic=agreed.agreement.heuristic,
        cost=JudgeCost(
            calls=sum(usage.calls for usage in agreed.usage),
            tokens=sum(usage.prompt_tokens + usage.completion_tokens for usage in agreed.usage),
            cost=None if None in costs else sum(cost for cost in costs if cost is not None),
            cached=agreed.cached,
            seconds=agreed.seconds if timed else None,
            times_regex=agreed.seconds / labelled_set.regex_seconds if timed else None,
        ),
    )


def _value(outcome: Outcome | None) -> float | None:
    return outcome.value if isinstance(outcome, Score) else None


def _label_of_verdict(outcome: Score, labelled_set: _LabelledSet) -> Label:
    """Return the judge's verdict as a label of the set: contradicted becomes unsupported if the set lacks it."""
    if outcome.value == 1:
        return "supported"
    if (
        labelled_set.kind == "statements"
        and "contradicted" in _labels_in(labelled_set)
        and read_verdict(outcome) == "contradicted"
    ):
        return "contradicted"
    return "unsupported"


def _measures(statistics: Mapping[str, Callable[[], Statistic]], seed: int) -> tuple[dict[str, Measure], Measure]:
    """Compute a statistic for each set, and its mean over the sets in which it is defined."""
    measures: dict[str, Measure] = {}
    resampled: dict[str, Resampled] = {}
    for name, statistic_of_set in statistics.items():
        try:
            statistic, groups = statistic_of_set()
            resampled[name] = resample(statistic, groups, seed=seed, draws=REPORT_DRAWS)
        except ValueError as error:
            measures[name] = Measure(value=None, interval=NoInterval(reason=str(error), n=0))
        else:
            measures[name] = Measure(value=resampled[name].estimate, interval=resampled_interval(resampled[name]))
    mean = measure(
        lambda: fsum(set_result.estimate for set_result in resampled.values()) / (len(resampled) or 1),
        lambda: mean_over_sets(resampled),
    )
    return measures, mean


def _bench_line(
    name: str,
    panel: Panel | None,
    judged: Mapping[str, _SetResult],
    labelled_sets: Mapping[str, _LabelledSet],
    left_out: Mapping[str, str],
    seed: int,
) -> BenchLine:
    truth = {key: [labelled_sets[key].truth[row] for row in result.rows] for key, result in judged.items()}
    groups = {key: [labelled_sets[key].groups[row] for row in result.rows] for key, result in judged.items()}

    def auroc(key: str) -> Statistic:
        return auroc_of_rows(judged[key].scores, truth[key]), groups[key]

    def gain_over_overlap(key: str) -> Statistic:
        overlap = [labelled_sets[key].trivial[row][OVERLAP] for row in judged[key].rows]
        return _auroc_difference(judged[key].scores, overlap, truth[key]), groups[key]

    def balanced_accuracy(key: str) -> Statistic:
        verdicts = [verdict == "supported" for verdict in judged[key].verdicts or ()]
        return balanced_accuracy_of_rows(verdicts, truth[key]), groups[key]

    def over_sets(statistic: Callable[[str], Statistic]) -> tuple[dict[str, Measure], Measure]:
        return _measures({key: partial(statistic, key) for key in judged}, seed)

    aurocs, mean_auroc = over_sets(auroc)
    gains, mean_gain = over_sets(gain_over_overlap) if panel else ({}, None)
    accuracies, mean_accuracy = over_sets(balanced_accuracy) if panel else ({}, None)
    scored = {key: (result.scores, truth[key]) for key, result in judged.items() if _are_probabilities(result)}
    errors = {key: calibration(*scores_and_truth, bins=BINS).error for key, scores_and_truth in scored.items()}
    by_set = {
        key: BenchFigures(
            sets=1,
            n=len(result.rows),
            unscored=len(labelled_sets[key].positions) - len(result.rows),
            ranked_by=result.ranked_by,
            auroc=aurocs[key],
            better_by=gains.get(key),
            balanced_accuracy=accuracies.get(key),
            verdicts=_verdict_figures(labelled_sets[key], result),
            calibration_error=errors.get(key),
            pooled_calibration_error=errors.get(key),
            cost=result.cost,
        )
        for key, result in judged.items()
    }
    ranked: set[Literal["score", "verdict"]] = {result.ranked_by for result in judged.values()}
    return BenchLine(
        name=name,
        kind="judge" if panel else "baseline",
        heuristic=any(result.heuristic for result in judged.values()),
        by_set=by_set,
        left_out=left_out,
        mean=BenchFigures(
            sets=len(judged),
            n=sum(figures.n for figures in by_set.values()),
            unscored=sum(figures.unscored for figures in by_set.values()),
            ranked_by=ranked.pop() if len(ranked) == 1 else "both",
            auroc=mean_auroc,
            better_by=mean_gain,
            balanced_accuracy=mean_accuracy,
            verdicts=_mean_verdicts([figures.verdicts for figures in by_set.values()]),
            calibration_error=_mean(list(errors.values())),
            pooled_calibration_error=pooled_calibration_error([scored[key] for key in sorted(scored)], bins=BINS)
            if scored
            else None,
            cost=_total_cost(
                [result.cost for result in judged.values() if result.cost], [labelled_sets[key] for key in judged]
            )
            if panel
            else None,
        ),
    )


def _are_probabilities(result: _SetResult) -> bool:
    return result.ranked_by == "score" and all(0 <= score <= 1 for score in result.scores)


def _auroc_difference(
    scores: Sequence[float], others: Sequence[float], truth: Sequence[bool]
) -> Callable[[Rows], float]:
    first, second = auroc_of_rows(scores, truth), auroc_of_rows(others, truth)
    return lambda rows: first(rows) - second(rows)


def _compare_judges(
    a: str,
    b: str,
    results: Mapping[str, Mapping[str, _SetResult]],
    labelled_sets: Mapping[str, _LabelledSet],
    seed: int,
) -> JudgeDifference:
    def difference(key: str) -> Statistic:
        result_a, result_b = results[a][key], results[b][key]
        scores_a = dict(zip(result_a.rows, result_a.scores, strict=True))
        scores_b = dict(zip(result_b.rows, result_b.scores, strict=True))
        rows = [row for row in scores_b if row in scores_a]
        truth = [labelled_sets[key].truth[row] for row in rows]
        statistic = _auroc_difference([scores_b[row] for row in rows], [scores_a[row] for row in rows], truth)
        return statistic, [labelled_sets[key].groups[row] for row in rows]

    both = [key for key in labelled_sets if key in results[a] and key in results[b]]
    by_set, mean = _measures({key: partial(difference, key) for key in both}, seed)
    return JudgeDifference(a=a, b=b, by_set=by_set, mean=mean)


def _verdict_figures(labelled_set: _LabelledSet, judged: _SetResult) -> dict[Label, VerdictFigures]:
    """Return the figures of each label in the set; empty for a baseline."""
    if judged.verdicts is None:
        return {}
    labels = [labelled_set.verdicts[row] for row in judged.rows]
    pairs = list(zip(judged.verdicts, labels, strict=True))
    return {
        label: VerdictFigures(
            labelled=labels.count(label),
            predicted=judged.verdicts.count(label),
            precision=_share(pairs.count((label, label)), judged.verdicts.count(label)),
            recall=_share(pairs.count((label, label)), labels.count(label)),
        )
        for label in _labels_in(labelled_set)
    }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _mean_verdicts(figures_by_set: Sequence[Mapping[Label, VerdictFigures]]) -> dict[Label, VerdictFigures]:
    by_label: dict[Label, list[VerdictFigures]] = {
        label: [figures[label] for figures in figures_by_set if label in figures] for label in VERDICTS
    }
    return {
        label: VerdictFigures(
            labelled=sum(figure.labelled for figure in figures),
            predicted=sum(figure.predicted for figure in figures),
            precision=_mean([figure.precision for figure in figures]),
            recall=_mean([figure.recall for figure in figures]),
        )
        for label, figures in by_label.items()
        if figures
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fsum(known) / len(known) if known else None


def _total_cost(costs: Sequence[JudgeCost], sets: Sequence[_LabelledSet]) -> JudgeCost:
    dollars = [cost.cost for cost in costs]
    seconds = [cost.seconds for cost in costs]
    total_seconds = None if None in seconds else sum(second for second in seconds if second is not None)
    return JudgeCost(
        calls=sum(cost.calls for cost in costs),
        tokens=sum(cost.tokens for cost in costs),
        cost=None if None in dollars else sum(dollar for dollar in dollars if dollar is not None),
        cached=sum(cost.cached for cost in costs),
        seconds=total_seconds,
        times_regex=None
        if total_seconds is None
        else total_seconds / sum(labelled_set.regex_seconds for labelled_set in sets),
    )
