"""Comparison of a judge with the best trivial baseline (word overlap, length, a coin) on the same labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ragboard.human.agreement import AgreementData, Measure, measure
from ragboard.human.grades import good_from, graded_scores
from ragboard.human.preferences import decided_pairs
from ragboard.human.scorers import grade_scorer, judge_scorers
from ragboard.readers.labels import ANSWER_SUPPORTED, HELPS
from ragboard.stats import Interval, auroc, ci_text, mean_interval, moments, outcomes
from ragboard.stats.auroc_intervals import auroc_difference, clustered_auroc
from ragboard.stats.bootstrap import REPORT_DRAWS
from ragboard.stats.pairwise import Ties

__all__ = ["BaselineComparison", "BaselineVerdict", "compare_with_baselines"]

BaselineVerdict: TypeAlias = Literal["better", "not shown", "worse"]

COIN = "a coin"
BASELINES_IN_WORDS = {
    "word overlap": "counting shared words",
    "shorter": "taking the shorter text",
    "longer": "taking the longer text",
}
"""What each baseline does, in words; a coin needs no description."""
RANKED_IN_WORDS = {
    "labelled sentences": "a helpful sentence above an unhelpful one",
    "labelled statements": "a supported statement above an unsupported one",
    "labelled answers": "a supported answer above an unsupported one",
    "graded answers": "a good answer above a bad one",
    "graded passages": "a relevant passage above an irrelevant one",
}
"""What a high AUROC means for each kind of items."""
RESULTS: dict[BaselineVerdict, str] = {
    "better": "significantly better",
    "not shown": "no significant difference",
    "worse": "significantly worse",
}
"""The verdicts in words."""


GOOD = 0.8
"""Minimum AUROC or accuracy of a good scorer, if it cannot be compared with annotators."""
CLOSE = 0.05
"""A baseline does as well as a scorer if its AUROC or accuracy is at most this much lower."""


@dataclass(frozen=True, kw_only=True)
class BaselineComparison:
    """The judge's main scorer and the best trivial baseline, on the items scored by it and by all trivial baselines."""

    scorer: str
    title: str
    """The scorer's name in sentences: `RAGAS faithfulness`, `the embedded score`."""
    dimension: str
    measured: Literal["AUROC", "accuracy"]
    items: str
    """The kind of items, in words: `labelled statements`."""
    n: int
    clusters: int
    value: Measure
    """The AUROC or accuracy of the scorer, in [0, 1]; 0.5 is chance level."""
    baseline: str
    """The baseline with the highest value: word overlap, the longer or the shorter text, or a coin."""
    baseline_value: float
    annotator_auroc: float | None
    """The AUROC of single annotators against the mean of the others; None for pairs, or if no item has two ratings."""
    difference: Measure
    """Scorer minus baseline, in [-1, 1], paired by item; the interval draws whole clusters."""

    @property
    def verdict(self) -> BaselineVerdict:
        """Better or worse if the interval of the difference excludes 0, else not shown."""
        interval = self.difference.interval
        if not isinstance(interval, Interval) or interval.low <= 0 <= interval.high:
            return "not shown"
        return "better" if interval.low > 0 else "worse"

    @property
    def result(self) -> str:
        """The verdict in words: `no significant difference`."""
        return RESULTS[self.verdict]

    @property
    def good_as_baseline(self) -> bool:
        """Whether the scorer is good and the baseline does as well, without a significant difference.

        A scorer is good if it is at least as good as annotators; if that is unknown, from `GOOD` on.
        """
        value = self.value.value or 0.0
        is_good = value >= (GOOD if self.annotator_auroc is None else self.annotator_auroc)
        return is_good and self.verdict == "not shown" and self.baseline_value >= value - CLOSE

    @property
    def baseline_in_words(self) -> str:
        """What the baseline does: `counting shared words`."""
        return BASELINES_IN_WORDS.get(self.baseline, self.baseline)

    @property
    def sentence(self) -> str:
        """`RAGAS faithfulness ranks a good answer above a bad one 95% of the time, counting shared words 80%: ...`."""
        quality = self.dimension.replace("_", " ")
        items_name_labels = self.items.startswith("labelled") or self.items == "graded passages"
        of = "" if items_name_labels or self.title.endswith(f" {quality}") else f" ({quality})"
        ranked = "" if self.measured == "accuracy" else RANKED_IN_WORDS[self.items]
        task = f"ranks {ranked}" if ranked else "picks the preferred one of two"
        title = self.title[0].upper() + self.title[1:] if self.title.startswith("the ") else self.title
        human = (
            ""
            if self.annotator_auroc is None
            else f" (annotators compared with each other: {self.annotator_auroc:.0%})"
        )
        figures = f"{title}{of} {task} {self.value.value:.0%} of the time{human}"
        baseline = f"{self.baseline_in_words} {self.baseline_value:.0%}"
        if self.verdict != "not shown":
            return f"{figures}, {baseline}: {self.result}."
        if self.good_as_baseline:
            return f"{figures}; on these data {self.baseline_in_words} does as well, {self.baseline_value:.0%}."
        return f"{figures}, {baseline}: these labels do not show that the metric adds anything."

    @property
    def details(self) -> str:
        """The figures: `Difference in AUROC: 95% CI -0.03 to +0.04, on the 270 graded answers ...`."""
        groups = f" in {self.clusters:,} clusters" if self.clusters < self.n else ""
        return (
            f"Difference in {self.measured}: {ci_text(self.difference.interval, '+.2f')}, on the {self.n:,}"
            f" {self.items}{groups} that all scorers scored. In the table, each scorer's figures are over all items"
            " that it scored."
        )


def compare_with_baselines(
    data: AgreementData, dimension: str, *, ties: Ties = "random", at_least: float | None = None
) -> BaselineComparison | None:
    """Compare the judge's main scorer in a dimension with the best trivial baseline.

    Returns None if the judge has no scorer, if no item is scored by it and by all baselines, or if the scored items are
    all good or all bad.

    Pairs are compared by accuracy: the share of decided pairs in which the preferred side scores higher, with `ties` as
    in `preference_report`. Grades and labels are compared by AUROC, with items good from `at_least` on, as in
    `grade_report`; the judge's scores are used if it gives scores with its verdicts. Raises SettingError if all items
    of the agreement are good, or none is.
    """
    scorers = data.scorers(dimension)
    judge_names = [scorer.name for scorer in scorers if scorer.kind == "metric"]
    if not judge_names:
        return None
    with_scores = judge_scorers(data.stored.agreement.judge)[1].name  # [0] has the verdicts alone
    main = with_scores if with_scores in judge_names else judge_names[0]
    # if baselines have equal results, the first is reported: word overlap before length
    trivial = [scorer.name for scorer in reversed(scorers) if scorer.kind == "trivial" and scorer.name != "coin"]
    if data.stored.agreement.form == "pairs":
        return _pairs(data, dimension, main, trivial, ties)
    return _graded(data, dimension, main, trivial, at_least)


def _pairs(
    data: AgreementData, dimension: str, main: str, trivial: Sequence[str], ties: Ties
) -> BaselineComparison | None:
    pairs = {name: decided_pairs(data, dimension, name) for name in (main, *trivial)}
    outcomes_by_scorer = {
        name: outcomes(list(pairs_of_scorer.values()), ties=ties, seed=data.seed)
        for name, pairs_of_scorer in pairs.items()
    }
    scored = [
        position
        for position, pair in pairs[main].items()
        if all(outcome_by_id[pair.id] is not None for outcome_by_id in outcomes_by_scorer.values())
    ]
    if not scored:
        return None
    ids, groups = [data.ids[position] for position in scored], [data.clusters[position] for position in scored]
    correct = {
        name: [float(outcome_by_id[pair_id] or 0) for pair_id in ids]
        for name, outcome_by_id in outcomes_by_scorer.items()
    }
    correct[COIN] = [0.5] * len(ids)  # its expected accuracy, because a single toss can be lucky
    values = {name: sum(outcomes_of_pairs) / len(outcomes_of_pairs) for name, outcomes_of_pairs in correct.items()}
    best = max((*trivial, COIN), key=values.__getitem__)
    gains = [judge - baseline for judge, baseline in zip(correct[main], correct[best], strict=True)]
    return BaselineComparison(
        scorer=main,
        title=_title(data, main, dimension),
        dimension=dimension,
        measured="accuracy",
        items="pairs",
        n=len(ids),
        clusters=len(set(groups)),
        value=Measure(value=values[main], interval=mean_interval(moments(correct[main], groups), bounds=(0, 1))),
        baseline=best,
        baseline_value=values[best],
        annotator_auroc=None,
        difference=Measure(
            value=values[main] - values[best], interval=mean_interval(moments(gains, groups), bounds=(-1, 1))
        ),
    )


def _graded(
    data: AgreementData, dimension: str, main: str, trivial: Sequence[str], at_least: float | None
) -> BaselineComparison | None:
    means = data.means(dimension)
    threshold = good_from(data, dimension, at_least)
    scores = {name: graded_scores(data, dimension, name) for name in (main, *trivial)}
    scored = [
        position
        for position in scores[main]
        if all(position in scores_by_position for scores_by_position in scores.values())
    ]
    good, groups = (
        [means[position] >= threshold for position in scored],
        [data.clusters[position] for position in scored],
    )
    if not 0 < sum(good) < len(good):
        return None
    columns: dict[str, list[float]] = {
        name: [scores_by_position[position] for position in scored] for name, scores_by_position in scores.items()
    }
    if "shorter" in columns:
        columns["longer"] = [-score for score in columns["shorter"]]
    baselines: Mapping[str, list[float]] = {
        **{name: column for name, column in columns.items() if name != main},
        COIN: [0.5] * len(scored),
    }
    aurocs = {name: auroc(column, good) for name, column in baselines.items()}
    best = max(aurocs, key=aurocs.__getitem__)
    bootstrap_options = {"draws": REPORT_DRAWS, "seed": data.seed}
    value = measure(
        lambda: auroc(columns[main], good), lambda: clustered_auroc(columns[main], good, groups, **bootstrap_options)
    )
    return BaselineComparison(
        scorer=main,
        title=_title(data, main, dimension),
        dimension=dimension,
        measured="AUROC",
        items=_items(data, dimension),
        n=len(scored),
        clusters=len(set(groups)),
        value=value,
        baseline=best,
        baseline_value=aurocs[best],
        annotator_auroc=_annotator_auroc(data, dimension, threshold),
        difference=Measure(
            value=auroc(columns[main], good) - aurocs[best],
            interval=auroc_difference(columns[main], baselines[best], good, groups, **bootstrap_options),
        ),
    )


def _annotator_auroc(data: AgreementData, dimension: str, threshold: float) -> float | None:
    """Return the AUROC of single annotators against the mean of the others; None if undefined."""
    rated = data.rated_twice(dimension).values()
    grades_given = [grade for grades in rated for grade in grades]
    good = [(sum(grades) - grade) / (len(grades) - 1) >= threshold for grades in rated for grade in grades]
    return auroc(grades_given, good) if 0 < sum(good) < len(good) else None


def _title(data: AgreementData, scorer: str, dimension: str) -> str:
    title = next(candidate.title(dimension) for candidate in data.scorers(dimension) if candidate.name == scorer)
    judge = data.stored.agreement.judge
    judge_scorer_names = {judge_scorer.name for judge_scorer in (*judge_scorers(judge), grade_scorer(judge))}
    return f"the {title}" if scorer in judge_scorer_names else title


def _items(data: AgreementData, dimension: str) -> str:
    if data.stored.agreement.form == "passages":
        return "graded passages"
    if data.stored.agreement.form == "statements":
        return "labelled sentences" if dimension == HELPS else "labelled statements"
    return "labelled answers" if dimension == ANSWER_SUPPORTED else "graded answers"
