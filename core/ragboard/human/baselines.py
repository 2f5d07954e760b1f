"""Compare a judge with the best trivial baseline (word overlap, length, a coin) on the same labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ragboard.human.agreement import AgreementData, Measure, measure
from ragboard.human.grades import good_threshold, graded_scores
from ragboard.human.preferences import decided_pairs
from ragboard.human.scorers import grade_scorer, judge_scorers
from ragboard.readers.labels import ANSWER_SUPPORTED, HELPS
from ragboard.stats import Interval, auroc, best_cut, ci_text, mean_interval, moments, outcomes, roc
from ragboard.stats.auroc_intervals import auroc_difference, clustered_auroc
from ragboard.stats.bootstrap import REPORT_DRAWS
from ragboard.stats.pairwise import Ties, mcnemar_test

__all__ = [
    "BaselineComparison",
    "BaselineResult",
    "baseline_comparisons",
    "compare_with_baselines",
]

BaselineResult: TypeAlias = Literal["better", "inconclusive", "worse"]

ALPHA = 0.05
"""Significance level of McNemar's test of pairs."""
COIN = "a coin"
BASELINES_IN_WORDS = {
    "shorter": "preferring the shorter text",
    "longer": "preferring the longer text",
}
"""Words for baselines whose names are not clear in a sentence."""
RANKED_IN_WORDS = {
    "labelled sentences": "a helpful sentence above an unhelpful one",
    "labelled statements": "a supported statement above an unsupported one",
    "labelled answers": "a supported answer above an unsupported one",
    "graded answers": "a good answer above a bad one",
    "graded passages": "a relevant passage above an irrelevant one",
}
"""For each kind of items, what AUROC measures: how often a scorer ranks the first item above the second."""
BOTH_IN_WORDS = {
    "labelled sentences": "helpful and unhelpful ones",
    "labelled statements": "supported and unsupported ones",
    "labelled answers": "supported and unsupported ones",
}
"""For each kind of items, the two classes of a balanced accuracy."""
CLASSES = {
    "labelled sentences": ("helpful", "unhelpful"),
    "labelled statements": ("supported", "unsupported"),
    "labelled answers": ("supported", "unsupported"),
    "graded answers": ("good", "bad"),
    "graded passages": ("relevant", "irrelevant"),
}
"""For each kind of items, the words for items with high and with low labels."""
RESULTS: dict[BaselineResult, str] = {
    "better": "significantly better",
    "inconclusive": "no significant difference",
    "worse": "significantly worse",
}
"""Each result in words."""
CONCLUSIONS: dict[BaselineResult, str] = {
    "better": "Yes: better than {}",
    "inconclusive": "Not proven: not significantly better than {}",
    "worse": "No: {} does better",
}
"""Whether a scorer can be trusted; `{}` stands for the baseline."""
AS_AN_ANNOTATOR = "Not proven: it ranks as well as one annotator, but so does {}"
"""The conclusion if scorer and baseline both agree with annotators at least as well as a single annotator does."""
CLUSTERS = "questions or conversations"
"""The clusters of items, in words."""
FEW = 30
"""With fewer clusters than this, the conclusion says how few there are."""
FEW_OF_A_CLASS = 10
"""With fewer items of a class than this, such as bad answers, the conclusion says how few there are."""


@dataclass(frozen=True, kw_only=True)
class BaselineComparison:
    """A scorer of the judge compared with the best trivial baseline, on items scored by it and by all baselines."""

    scorer: str
    title: str
    """The scorer and its judge in words: `RAGAS faithfulness by the embedded judge (rule-based)`."""
    dimension: str
    measured: Literal["AUROC", "accuracy", "balanced accuracy"]
    """Balanced accuracy if the scorer is a judge's verdict. Each baseline then has the threshold that fits the labels
    best."""
    items: str
    """What the items are: `labelled statements`."""
    n: int
    clusters: int
    value: Measure
    """What was measured for the scorer, in [0, 1]; 0.5 is chance level."""
    baseline: str
    """The best baseline: `word overlap`, `longer` or `shorter` (text), or `a coin`."""
    baseline_value: float
    annotator_auroc: float | None
    """The AUROC of an annotator against the mean of the others; None for pairs, or if no item has two ratings."""
    difference: Measure
    """Scorer minus baseline, in [-1, 1], on the same items; the bootstrap interval resamples clusters."""
    p: float | None = None
    """For pairs, the p value of McNemar's exact test over clusters; None for other items."""
    high: int | None = None
    """The number of items with high labels, such as good answers; None for pairs."""

    @property
    def result(self) -> BaselineResult:
        """Whether the difference is significant: its interval excludes 0.

        For pairs, p must also be below 0.05, because with few pairs the interval is too narrow.
        """
        interval = self.difference.interval
        if not isinstance(interval, Interval) or interval.low <= 0 <= interval.high:
            return "inconclusive"
        if self.p is not None and self.p >= ALPHA:
            return "inconclusive"
        return "better" if interval.low > 0 else "worse"

    @property
    def result_in_words(self) -> str:
        """For example `no significant difference`."""
        return RESULTS[self.result]

    @property
    def conclusion(self) -> str:
        """Whether the scorer can be trusted: `No: word overlap does better; only 10 pairs`."""
        lower = min(self.value.value or 0.0, self.baseline_value)
        both_match = self.annotator_auroc is not None and self.annotator_auroc <= lower
        conclusion = AS_AN_ANNOTATOR if self.result == "inconclusive" and both_match else CONCLUSIONS[self.result]
        return conclusion.format(self.baseline_in_words) + (f"; only {self._few}" if self._few else "")

    @property
    def _few(self) -> str:
        """What is too few: `3 of 294 answers are bad` or `12 questions or conversations`; empty if there are enough."""
        if self.high is not None and min(self.high, self.n - self.high) < FEW_OF_A_CLASS:
            number, word = min(zip((self.high, self.n - self.high), CLASSES[self.items], strict=True))
            return f"{number:,} of {self.n:,} {self.items.split()[-1]} {'is' if number == 1 else 'are'} {word}"
        if self.clusters < FEW:
            return f"{self.clusters:,} {self.items if self.clusters == self.n else CLUSTERS}"
        return ""

    @property
    def baseline_in_words(self) -> str:
        """The baseline in words: `word overlap`, `preferring the longer text`."""
        return BASELINES_IN_WORDS.get(self.baseline, self.baseline)

    @property
    def sentence(self) -> str:
        """A summary: `RAGAS faithfulness by m ranks a good answer above a bad one 95% of the time, ...`."""
        quality = self.dimension.replace("_", " ")
        known = self.items.startswith("labelled") or self.items == "graded passages" or f" {quality}" in self.title
        quality_note = "" if known else f" ({quality})"
        ranks = self.measured == "AUROC"
        task = f"ranks {RANKED_IN_WORDS[self.items]}" if ranks else "agrees with the human preference"
        title = self.title[0].upper() + self.title[1:] if self.title.startswith("the ") else self.title
        human = ""
        if self.annotator_auroc is not None:
            human = f" A single annotator compared with the others: {self.annotator_auroc:.0%}."
        baseline = f"{self.baseline_in_words} {self.baseline_value:.0%}"
        if self.measured == "balanced accuracy":
            kind = self.items.removeprefix("labelled ")
            return (
                f"{title} has a balanced accuracy of {self.value.value:.0%} on {kind} (the mean of its accuracy on"
                f" {BOTH_IN_WORDS[self.items]}), {baseline} with its best threshold: {self.result_in_words}.{human}"
            )
        share = f"{self.value.value:.0%} of the time"
        return f"{title}{quality_note} {task} {share}, {baseline}: {self.result_in_words}.{human}"

    @property
    def details(self) -> str:
        """The figures: `Difference in AUROC +0.01, 95% CI -0.03 to +0.04; 270 graded answers ...`."""
        groups = f" from {self.clusters:,} {CLUSTERS}" if self.clusters < self.n else ""
        tested = "" if self.p is None else f", exact McNemar p = {self.p:.2g}"
        interval = ci_text(self.difference.interval, "+.2f")
        difference = f"{self.difference.value:+.2f}".replace("-0.00", "+0.00")
        return (
            f"Difference in {self.measured} {difference}, {interval}{tested};"
            f" {self.n:,} {self.items}{groups}, scored by the judge and all baselines."
        )


def baseline_comparisons(
    data: AgreementData, dimension: str, *, ties: Ties = "random", at_least: float | None = None
) -> tuple[BaselineComparison, ...]:
    """Compare the judge's verdicts, and then its scores, with the best trivial baseline.

    If the judge gives no verdicts in the dimension, compare its main scorer. Empty if nothing can be compared (see
    `compare_with_baselines`).
    """
    available = {scorer.name for scorer in data.scorers(dimension)}
    names = [scorer.name for scorer in judge_scorers(data.stored.agreement.judge) if scorer.name in available]
    comparisons = (
        compare_with_baselines(data, dimension, scorer=name, ties=ties, at_least=at_least) for name in names or [""]
    )
    return tuple(comparison for comparison in comparisons if comparison)


def compare_with_baselines(
    data: AgreementData,
    dimension: str,
    *,
    scorer: str = "",
    ties: Ties = "random",
    at_least: float | None = None,
) -> BaselineComparison | None:
    """Compare a scorer of the judge (default: its main scorer) with the best trivial baseline in a dimension.

    The main scorer of a judge that gives verdicts is its verdict, not its score. None if the judge has no scorer, if no
    item is scored by the scorer and all baselines, or if these items are all good or all bad.

    Pairs are compared by accuracy: the share of pairs in which the preferred side scores higher; see
    `preference_report` for `ties`. Verdicts are compared by balanced accuracy, other scores by AUROC; see
    `grade_report` for `at_least`. Raises SettingError if all items or no items of the agreement are good.
    """
    scorers = data.scorers(dimension)
    names_of_judge = [candidate.name for candidate in scorers if candidate.kind == "metric"]
    if not names_of_judge:
        return None
    main = scorer or names_of_judge[0]
    # the first of several equally good baselines is used: word overlap before length
    trivial = [
        baseline.name for baseline in reversed(scorers) if baseline.kind == "trivial" and baseline.name != "coin"
    ]
    if data.stored.agreement.form == "pairs":
        return _compare_pairs(data, dimension, main, trivial, ties)
    return _compare_graded(data, dimension, main, trivial, at_least)


def _compare_pairs(
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
    correct[COIN] = [0.5] * len(ids)  # the expected accuracy, not that of one toss
    values = {name: sum(outcomes_of_pairs) / len(outcomes_of_pairs) for name, outcomes_of_pairs in correct.items()}
    best = max((*trivial, COIN), key=values.__getitem__)
    gains = [judge - baseline for judge, baseline in zip(correct[main], correct[best], strict=True)]
    by_id = {name: dict(zip(ids, correct[name], strict=True)) for name in (best, main)}
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
        p=mcnemar_test(by_id[best], by_id[main], groups=dict(zip(ids, groups, strict=True))).p,
    )


def _compare_graded(
    data: AgreementData, dimension: str, main: str, trivial: Sequence[str], at_least: float | None
) -> BaselineComparison | None:
    means = data.means(dimension)
    threshold = good_threshold(data, dimension, at_least)
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
    is_verdict = main == judge_scorers(data.stored.agreement.judge)[0].name
    if is_verdict:
        baselines = {name: _at_best_threshold(column, good) for name, column in baselines.items()}
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
        measured="balanced accuracy" if is_verdict else "AUROC",
        items=_items(data, dimension),
        n=len(scored),
        clusters=len(set(groups)),
        value=value,
        baseline=best,
        baseline_value=aurocs[best],
        high=sum(good),
        annotator_auroc=_annotator_auroc(data, dimension, threshold),
        difference=Measure(
            value=auroc(columns[main], good) - aurocs[best],
            interval=auroc_difference(columns[main], baselines[best], good, groups, **bootstrap_options),
        ),
    )


def _at_best_threshold(column: Sequence[float], good: Sequence[bool]) -> list[float]:
    """Return scores as verdicts (1 or 0), with the threshold that fits these labels best. This favours the baseline."""
    best = best_cut(roc(column, good))
    return [float(best is None or score >= best.threshold) for score in column]


def _annotator_auroc(data: AgreementData, dimension: str, threshold: float) -> float | None:
    """Return the AUROC of annotators, each against the mean of the others; None if undefined."""
    rated = data.rated_twice(dimension).values()
    grades_given = [grade for grades in rated for grade in grades]
    good = [(sum(grades) - grade) / (len(grades) - 1) >= threshold for grades in rated for grade in grades]
    return auroc(grades_given, good) if 0 < sum(good) < len(good) else None


def _title(data: AgreementData, scorer: str, dimension: str) -> str:
    """Name the scorer and its judge: `the score of the embedded judge (rule-based)`."""
    agreement = data.stored.agreement
    verdict, score = judge_scorers(agreement.judge)
    own = {
        verdict.name: "the verdict (marks ✓ ? ✕)",
        score.name: "the score",
        grade_scorer(agreement.judge).name: "the grade",
    }
    if scorer in own:
        return f"{own[scorer]} of {agreement.judge_in_words}"
    title = next(candidate.title(dimension) for candidate in data.scorers(dimension) if candidate.name == scorer)
    return f"{title} by {agreement.judge_in_words}"


def _items(data: AgreementData, dimension: str) -> str:
    if data.stored.agreement.form == "passages":
        return "graded passages"
    if data.stored.agreement.form == "statements":
        return "labelled sentences" if dimension == HELPS else "labelled statements"
    return "labelled answers" if dimension == ANSWER_SUPPORTED else "graded answers"
