"""A judge's scorer compared with the best trivial baseline (word overlap, length, a coin) on the same labels."""

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
"""What each baseline does; a coin is named as it is."""
RANKED = {
    "labelled sentences": "a helpful sentence above an unhelpful one",
    "labelled statements": "a supported statement above an unsupported one",
    "labelled answers": "a supported answer above an unsupported one",
    "graded answers": "a good answer above a bad one",
    "graded passages": "a relevant passage above an irrelevant one",
}
"""What an AUROC counts, by the kind of items."""
RESULTS: dict[BaselineVerdict, str] = {
    "better": "significantly better",
    "not shown": "no significant difference",
    "worse": "significantly worse",
}
"""Each verdict in words."""


GOOD = 0.8
"""AUROC or accuracy from which a scorer is good where there are no two annotators to compare it with."""
CLOSE = 0.05
"""How far below a good scorer a baseline that does as well may be."""


@dataclass(frozen=True, kw_only=True)
class BaselineComparison:
    """The judge's main scorer and the best trivial baseline, on the items that it and all trivial baselines scored."""

    scorer: str
    title: str
    """The scorer in this dimension as readers know it: `RAGAS faithfulness`, `the embedded score`."""
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
    people: float | None
    """The AUROC of one annotator against the mean of the others; None for pairs, or if no item has two ratings."""
    difference: Measure
    """Scorer minus baseline, in [-1, 1], paired by item; the interval draws whole clusters."""

    @property
    def verdict(self) -> BaselineVerdict:
        """Better or worse if the interval of the difference excludes 0; else not shown."""
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
        """Whether the scorer is good, and the baseline about as good, without a significant difference.

        A scorer is good if it does as well as an annotator or, if that is unknown, from `GOOD` up.
        """
        value = self.value.value or 0.0
        is_good = value >= (GOOD if self.people is None else self.people)
        return is_good and self.verdict == "not shown" and self.baseline_value >= value - CLOSE

    @property
    def baseline_in_words(self) -> str:
        """What the baseline does: `counting shared words`."""
        return BASELINES_IN_WORDS.get(self.baseline, self.baseline)

    @property
    def sentence(self) -> str:
        """The result in words: `RAGAS faithfulness ranks a good answer above a bad one 95% of the time, ...`."""
        quality = self.dimension.replace("_", " ")
        known = self.items.startswith("labelled") or self.items == "graded passages"
        of = "" if known or self.title.endswith(f" {quality}") else f" ({quality})"
        task = "picks the preferred one of two" if self.measured == "accuracy" else f"ranks {RANKED[self.items]}"
        title = self.title[0].upper() + self.title[1:] if self.title.startswith("the ") else self.title
        people = "" if self.people is None else f" (one annotator beside the others: {self.people:.0%})"
        figures = f"{title}{of} {task} {self.value.value:.0%} of the time{people}"
        baseline = f"{self.baseline_in_words} {self.baseline_value:.0%}"
        if self.verdict != "not shown":
            return f"{figures}, {baseline}: {self.result}."
        if self.good_as_baseline:
            return f"{figures}; on these data {self.baseline_in_words} does as well, {self.baseline_value:.0%}."
        return f"{figures}, {baseline}: these labels do not show that the metric adds anything."

    @property
    def details(self) -> str:
        """What the sentence rests on: `Difference in AUROC: 95% CI -0.03 to +0.04, on the 270 graded answers ...`."""
        groups = f" in {self.clusters:,} clusters" if self.clusters < self.n else ""
        return (
            f"Difference in {self.measured}: {ci_text(self.difference.interval, '+.2f')}, on the {self.n:,}"
            f" {self.items}{groups} that every scorer scored. The table counts all items that each scorer scored."
        )


def compare_with_baselines(
    data: AgreementData, dimension: str, *, ties: Ties = "random", at_least: float | None = None
) -> BaselineComparison | None:
    """Compare the judge's main scorer in a dimension with the best trivial baseline.

    None if the judge has no scorer, no item is scored by it and all baselines, or the scored items are all good or all
    bad.

    For pairs, the measure is accuracy: the share of decided pairs in which the preferred side scores higher, with
    `ties` as in `preference_report`. For grades and labels, it is AUROC, with items good from `at_least` as in
    `grade_report`; if the judge gives scores with its verdicts, the scores are compared. Raises SettingError if all
    items of the agreement or none are good.
    """
    scorers = data.scorers(dimension)
    of_judge = [one.name for one in scorers if one.kind == "metric"]
    if not of_judge:
        return None
    with_scores = judge_scorers(data.stored.agreement.judge)[1].name  # [0] has the verdicts alone
    main = with_scores if with_scores in of_judge else of_judge[0]
    # of baselines with equal results the first one counts: word overlap before length
    trivial = [one.name for one in reversed(scorers) if one.kind == "trivial" and one.name != "coin"]
    if data.stored.agreement.form == "pairs":
        return _pairs(data, dimension, main, trivial, ties)
    return _graded(data, dimension, main, trivial, at_least)


def _pairs(
    data: AgreementData, dimension: str, main: str, trivial: Sequence[str], ties: Ties
) -> BaselineComparison | None:
    pairs = {name: decided_pairs(data, dimension, name) for name in (main, *trivial)}
    won = {name: outcomes(list(found.values()), ties=ties, seed=data.seed) for name, found in pairs.items()}
    scored = [at for at, pair in pairs[main].items() if all(one[pair.id] is not None for one in won.values())]
    if not scored:
        return None
    ids, groups = [data.ids[at] for at in scored], [data.clusters[at] for at in scored]
    # the coin counts with its expected accuracy, because a single toss can be lucky
    correct = {name: [float(found[one] or 0) for one in ids] for name, found in won.items()} | {COIN: [0.5] * len(ids)}
    values = {name: sum(found) / len(found) for name, found in correct.items()}
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
        people=None,
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
    scored = [at for at in scores[main] if all(at in found for found in scores.values())]
    good, groups = [means[at] >= threshold for at in scored], [data.clusters[at] for at in scored]
    if not 0 < sum(good) < len(good):
        return None
    given: dict[str, list[float]] = {name: [found[at] for at in scored] for name, found in scores.items()}
    if "shorter" in given:
        given["longer"] = [-one for one in given["shorter"]]
    baselines: Mapping[str, list[float]] = {
        **{name: one for name, one in given.items() if name != main},
        COIN: [0.5] * len(scored),
    }
    areas = {name: auroc(one, good) for name, one in baselines.items()}
    best = max(areas, key=areas.__getitem__)
    bootstrap_options = {"draws": REPORT_DRAWS, "seed": data.seed}
    value = measure(
        lambda: auroc(given[main], good), lambda: clustered_auroc(given[main], good, groups, **bootstrap_options)
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
        baseline_value=areas[best],
        people=_annotator_auroc(data, dimension, threshold),
        difference=Measure(
            value=auroc(given[main], good) - areas[best],
            interval=auroc_difference(given[main], baselines[best], good, groups, **bootstrap_options),
        ),
    )


def _annotator_auroc(data: AgreementData, dimension: str, threshold: float) -> float | None:
    """Return how often one annotator ranks a good answer, by the mean of the others, above a bad one.

    None if undefined.
    """
    rated = data.rated_twice(dimension).values()
    own = [grade for grades in rated for grade in grades]
    good = [(sum(grades) - grade) / (len(grades) - 1) >= threshold for grades in rated for grade in grades]
    return auroc(own, good) if 0 < sum(good) < len(good) else None


def _title(data: AgreementData, scorer: str, dimension: str) -> str:
    title = next(one.title(dimension) for one in data.scorers(dimension) if one.name == scorer)
    judge = data.stored.agreement.judge
    own = {one.name for one in (*judge_scorers(judge), grade_scorer(judge))}
    return f"the {title}" if scorer in own else title


def _items(data: AgreementData, dimension: str) -> str:
    if data.stored.agreement.form == "passages":
        return "graded passages"
    if data.stored.agreement.form == "statements":
        return "labelled sentences" if dimension == HELPS else "labelled statements"
    return "labelled answers" if dimension == ANSWER_SUPPORTED else "graded answers"
