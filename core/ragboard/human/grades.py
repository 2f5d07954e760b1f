"""How well scorers agree with grades and labels, and annotators with each other."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragboard.errors import SettingError
from ragboard.human.agreement import (
    AgreementData,
    Correlations,
    Measure,
    annotators_alpha,
    correlations,
    measure,
)
from ragboard.readers.labels import HumanLabel
from ragboard.records import RELEVANT_GRADE
from ragboard.stats import (
    BinaryAgreement,
    Calibration,
    Cut,
    auroc,
    best_cut,
    binary_agreement,
    calibration,
    cohen_kappa,
    kappa_interval,
    roc,
)
from ragboard.stats.auroc_intervals import clustered_auroc
from ragboard.stats.bootstrap import REPORT_DRAWS
from ragboard.store.queries.agreements import Scorer, StoredAgreement, kind_order

__all__ = [
    "GradeAgreement",
    "GradeAnnotators",
    "GradeComparison",
    "GradeLine",
    "GradeReport",
    "good_threshold",
    "grade_comparisons",
    "grade_report",
    "graded_scores",
]


@dataclass(frozen=True, kw_only=True)
class GradeAgreement:
    """How well a scorer's scores, or an annotator's grades, agree with annotators' mean grades.

    A good item has a high mean grade; see `grade_report`.
    """

    correlations: Correlations
    auroc: Measure
    """How often a good item has a higher score than an item that is not good, in [0, 1]; 0.5 is chance level."""
    kappa: Measure
    """Cohen's kappa of good against not good."""
    weighted_kappa: Measure
    """Cohen's kappa of grades, with quadratic weights."""
    confusion: BinaryAgreement | None
    """The confusion matrix of good and other items, by score and by mean grade; None if the scorer has no
    threshold."""


@dataclass(frozen=True, kw_only=True)
class GradeLine:
    """A scorer compared with annotators' mean grades."""

    scorer: Scorer
    metric: str
    """The metric that the scorer computes in this dimension; empty if the scorer is not a metric."""
    unscored: int
    """Number of graded items without a score."""
    agreement: GradeAgreement
    """For the weighted kappa, scores become grades with the same distribution as the annotators' grades."""
    cut: Cut | None
    """The lowest score that counts as good, set by the user or else the one with the highest sensitivity + specificity.
    None if undefined."""
    chosen: bool
    """Whether the user set this threshold. If not, it is fitted on these items, which makes the figures optimistic."""
    roc: tuple[Cut, ...]
    calibration: Calibration | None
    """None unless all scores are in [0, 1]."""


@dataclass(frozen=True, kw_only=True)
class GradeAnnotators:
    """The agreement of annotators with each other, for comparison with scorers.

    A scorer is compared with the mean of all annotators, an annotator with the mean of the others. The mean of all is
    less noisy, so a good scorer can agree slightly more than annotators do.
    """

    annotators: int
    """Maximum number of annotators per item."""
    rated: int
    """Number of items with at least two ratings."""
    agreement: GradeAgreement | None
    """Each annotator compared with the mean of the others; None if no item has two ratings."""
    alpha: Measure | None
    """Krippendorff's ordinal alpha."""


@dataclass(frozen=True, kw_only=True)
class GradeReport:
    """The agreement of all scorers with annotators in one dimension."""

    stored: StoredAgreement
    dimension: str
    at_least: float
    """The minimum mean grade of a good item."""
    graded: int
    """Number of graded items."""
    good: int
    """Number of good items."""
    compared: int
    """Number of graded items that all metrics of the judge and all trivial baselines scored, or of all graded items if
    these are all good or all not good. Scorers are compared on these items."""
    clusters: int
    """Number of clusters of items."""
    lines: tuple[GradeLine, ...]
    annotators: GradeAnnotators


@dataclass(frozen=True, kw_only=True)
class GradeComparison:
    """The grades of one item by annotators, and its score by one scorer."""

    position: int
    item_id: str
    human_labels: tuple[HumanLabel, ...]
    mean_grade: float
    score: float | None
    """The score, higher is better; None if unscored."""
    gap: float | None
    """Relative rank of the score minus relative rank of the grade, in [-1, 1]. Above 0, the score is too high. None if
    unscored."""


def grade_report(
    data: AgreementData,
    dimension: str = "",
    *,
    at_least: float | None = None,
    cuts: Mapping[str, float] | None = None,
) -> GradeReport:
    """Compare scorers with the mean grade of each item in a dimension (default: the first).

    An item is good if its mean grade is at least `at_least`, by default 2 for passages and halfway between the lowest
    and the highest grade for other items. `cuts` sets the lowest score that counts as good, by scorer. Raises
    SettingError for an unknown dimension, and if all items or no items are good.
    """
    if dimension and dimension not in data.stored.dimensions:
        raise SettingError(
            f"there are no ratings of {dimension!r}; rated dimensions: {', '.join(data.stored.dimensions)}"
        )
    name = dimension or data.stored.dimensions[0]
    means, threshold = data.means(name), good_threshold(data, name, at_least)
    compared = _compared_positions(data, name, threshold)
    scorers = sorted(data.scorers(name), key=kind_order)
    lines = (
        _compare_scorer(data, name, scorer, threshold, (cuts or {}).get(scorer.name), compared) for scorer in scorers
    )
    return GradeReport(
        stored=data.stored,
        dimension=name,
        at_least=threshold,
        graded=len(means),
        good=sum(mean >= threshold for mean in means.values()),
        compared=len(compared),
        clusters=len({data.clusters[position] for position in means}),
        lines=tuple(line for line in lines if line is not None),
        annotators=GradeAnnotators(
            annotators=data.annotators(name),
            rated=len(data.rated_twice(name)),
            agreement=_compare_annotators(data, name, threshold),
            alpha=annotators_alpha(data, name),
        ),
    )


def _compared_positions(data: AgreementData, dimension: str, at_least: float) -> frozenset[int]:
    """Return the graded items that all metrics of the judge and all trivial baselines scored.

    If these items are all good or all not good, return all graded items.
    """
    means = data.means(dimension)
    scorers = [scorer.name for scorer in data.scorers(dimension) if scorer.kind in ("metric", "trivial")]
    scored = frozenset(means).intersection(*(graded_scores(data, dimension, name) for name in scorers))
    good = sum(means[position] >= at_least for position in scored)
    return scored if 0 < good < len(scored) else frozenset(means)


def good_threshold(data: AgreementData, dimension: str, at_least: float | None = None) -> float:
    """Return the minimum mean grade of a good item: `at_least`, or the default of `grade_report`.

    Raises SettingError if all items or no items are good.
    """
    means, levels = data.means(dimension), _levels(data, dimension)
    middle = RELEVANT_GRADE if data.stored.agreement.form == "passages" else (levels[0] + levels[-1]) / 2
    threshold = middle if at_least is None else at_least
    good = sum(mean >= threshold for mean in means.values())
    if not 0 < good < len(means):
        raise SettingError(
            f"{good} of {len(means)} items have a mean grade of at least {threshold:g} in {dimension};"
            " set the lowest grade that counts as good with `ragboard agree --at-least`"
        )
    return threshold


def grade_comparisons(data: AgreementData, dimension: str, scorer: str) -> tuple[GradeComparison, ...]:
    """List the graded items: largest disagreement between scorer and annotators first, unscored items last."""
    means = data.means(dimension)
    scores = graded_scores(data, dimension, scorer)
    by_score = _relative_ranks(list(scores.values()))
    by_grade = _relative_ranks([means[position] for position in scores])
    gaps = {position: score - grade for position, score, grade in zip(scores, by_score, by_grade, strict=True)}
    comparisons = (
        GradeComparison(
            position=position,
            item_id=data.ids[position],
            human_labels=data.human_labels[position][dimension],
            mean_grade=mean,
            score=scores.get(position),
            gap=gaps.get(position),
        )
        for position, mean in means.items()
    )
    return tuple(
        sorted(
            comparisons,
            key=lambda comparison: (comparison.gap is None, -abs(comparison.gap or 0.0), comparison.position),
        )
    )


def graded_scores(data: AgreementData, dimension: str, scorer: str) -> dict[int, float]:
    """Return the scorer's scores of graded items, by position."""
    scores = data.scores(dimension, scorer)
    graded = {position: scores[position][0] for position in data.means(dimension) if position in scores}
    return {position: score for position, score in graded.items() if score is not None}


def _compare_scorer(
    data: AgreementData,
    dimension: str,
    scorer: Scorer,
    at_least: float,
    chosen: float | None,
    compared: frozenset[int],
) -> GradeLine | None:
    """Compare one scorer with annotators on the items in `compared`; None if it scored none of them."""
    means, levels = data.means(dimension), _levels(data, dimension)
    all_scores = graded_scores(data, dimension, scorer.name)
    scores = {position: score for position, score in all_scores.items() if position in compared}
    if not scores:
        return None
    values = list(scores.values())
    mean_grades = [means[position] for position in scores]
    good = [grade >= at_least for grade in mean_grades]
    points = roc(values, good) if 0 < sum(good) < len(good) else ()
    if chosen is None:
        cut = best_cut(points) if points else None
    else:
        cut = Cut(threshold=chosen, agreement=binary_agreement([score >= chosen for score in values], good))
    rounded = [_nearest(grade, levels) for grade in mean_grades]
    # the scores as grades: each score becomes the grade with the same rank among the annotators' grades
    ranked = sorted(rounded)
    matched = [ranked[min(len(ranked) - 1, round(rank * (len(ranked) - 1)))] for rank in _relative_ranks(values)]
    return GradeLine(
        scorer=scorer,
        metric=scorer.metrics.get(dimension, ""),
        unscored=len(means) - len(all_scores),
        agreement=_grade_agreement(
            values,
            mean_grades,
            good,
            [score >= cut.threshold for score in values] if cut else [],
            matched,
            rounded,
            levels,
            [data.clusters[position] for position in scores],
            data.seed,
        ),
        cut=cut,
        chosen=chosen is not None,
        roc=points,
        calibration=calibration(values, good) if all(0 <= score <= 1 for score in values) else None,
    )


def _grade_agreement(
    scores: Sequence[float],
    means: Sequence[float],
    good: Sequence[bool],
    called_good: Sequence[bool],
    grades: Sequence[float],
    others: Sequence[float],
    levels: Sequence[float],
    groups: Sequence[Hashable],
    seed: int,
) -> GradeAgreement:
    bootstrap_options: dict[str, Any] = {"draws": REPORT_DRAWS, "seed": seed}
    return GradeAgreement(
        correlations=correlations(scores, means, groups, seed),
        auroc=measure(
            lambda: auroc(scores, good),
            lambda: clustered_auroc(scores, good, groups, draws=REPORT_DRAWS, seed=seed),
        ),
        kappa=measure(
            lambda: cohen_kappa(called_good, good),
            lambda: kappa_interval(called_good, good, groups, **bootstrap_options),
        ),
        weighted_kappa=measure(
            lambda: cohen_kappa(grades, others, weights="quadratic", order=levels),
            lambda: kappa_interval(grades, others, groups, weights="quadratic", order=levels, **bootstrap_options),
        ),
        confusion=binary_agreement(called_good, good) if called_good else None,
    )


def _levels(data: AgreementData, dimension: str) -> list[float]:
    """Return the grades that occur, ascending."""
    return sorted({grade for item in data.human_labels for grade in item.get(dimension, ()) if grade is not None})


def _nearest(value: float, levels: Sequence[float]) -> float:
    return min(levels, key=lambda level: (abs(level - value), level))


def _relative_ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value, scaled to [0, 1]; equal values have the mean of their ranks."""
    if len(values) < 2:
        return [0.5] * len(values)
    ordered = sorted(values)
    first: dict[float, int] = {}
    last: dict[float, int] = {}
    for rank, value in enumerate(ordered):
        first.setdefault(value, rank)
        last[value] = rank
    return [(first[value] + last[value]) / 2 / (len(values) - 1) for value in values]


def _compare_annotators(data: AgreementData, dimension: str, at_least: float) -> GradeAgreement | None:
    """Compare each annotator with the mean of the others; None if no item has two ratings."""
    rows = [
        (grade, (sum(grades) - grade) / (len(grades) - 1), data.clusters[position])
        for position, grades in data.rated_twice(dimension).items()
        for grade in grades
    ]
    if not rows:
        return None
    levels = _levels(data, dimension)
    grades_given, others, groups = [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]
    good = [value >= at_least for value in others]
    rounded = [_nearest(value, levels) for value in others]
    called_good = [grade >= at_least for grade in grades_given]
    return _grade_agreement(grades_given, others, good, called_good, grades_given, rounded, levels, groups, data.seed)
