"""How well scorers agree with the grades and labels that people gave, and people with each other."""

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
from ragboard.readers.labels import HumanRating
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
from ragboard.stats.auroc import clustered_auroc
from ragboard.stats.bootstrap import REPORT_DRAWS
from ragboard.store.queries.agreements import Scorer, StoredAgreement

__all__ = ["GradeLine", "GradePeople", "GradeReport", "GradeVerdict", "Ratings", "grade_report", "grade_verdicts"]


@dataclass(frozen=True, kw_only=True)
class Ratings:
    """How one list of ratings agrees with another."""

    correlations: Correlations
    auroc: Measure
    """Whether what people call good is rated higher; 0.5 is a coin."""
    kappa: Measure
    """Cohen's, of good or not."""
    weighted_kappa: Measure
    """With squared distances, of grades."""
    agreement: BinaryAgreement | None
    """Said good against good by people: the confusion."""


@dataclass(frozen=True, kw_only=True)
class GradeLine:
    """A scorer against the mean of what people said."""

    contender: Scorer
    metric: str
    """Which metric it is in this dimension; empty if it is none."""
    unscored: int
    """Graded items without a score; they are in no number here."""
    ratings: Ratings
    """The weighted kappa takes for a grade what as many items got from people: scores are cut to match them."""
    cut: Cut | None
    """From which score on it says good: as chosen, else the score with the highest sensitivity plus specificity."""
    chosen: bool
    """Whether a person chose the cut; else it was fitted to these very items, and looks better than it is."""
    roc: tuple[Cut, ...]
    calibration: Calibration | None
    """None unless all scores are in [0, 1]."""


@dataclass(frozen=True, kw_only=True)
class GradePeople:
    """People with each other: what may be expected of a scorer.

    One annotator is held against the mean of the others, a scorer against the mean of all, which is steadier: a good
    one may come out a little above people.
    """

    raters: int
    rated: int
    """Items that at least two judged."""
    ratings: Ratings | None
    """Each annotator against the mean of the others. None if nobody judged twice."""
    alpha: Measure | None
    """Krippendorff's, of grades as ranks."""


@dataclass(frozen=True, kw_only=True)
class GradeReport:
    """Scorers in one dimension."""

    kept: StoredAgreement
    dimension: str
    at_least: float
    """From which mean grade on an item counts as good."""
    graded: int
    good: int
    clusters: int
    lines: tuple[GradeLine, ...]
    people: GradePeople


@dataclass(frozen=True, kw_only=True)
class GradeVerdict:
    """One item as people and one scorer see it."""

    position: int
    item_id: str
    said: tuple[HumanRating, ...]
    people: float
    """The mean grade."""
    contender: float | None
    """The score, more being better; None if there is none."""
    gap: float | None
    """How far its place among the scores is from that among the grades, in [-1, 1]; above 0 it is too kind."""


def grade_report(
    data: AgreementData,
    dimension: str = "",
    *,
    at_least: float | None = None,
    cuts: Mapping[str, float] | None = None,
) -> GradeReport:
    """Scorers held against the mean grade of each item, in one dimension (else the first).

    An item is good from `at_least` on, else from halfway between the lowest and the highest grade. `cuts` gives by
    scorer the score from which on it says good. Raises SettingError for a dimension that is not there, or where
    all items are good or none is.
    """
    if dimension and dimension not in data.stored.dimensions:
        raise SettingError(f"nobody judged {dimension!r}; there are {', '.join(data.stored.dimensions)}")
    name = dimension or data.stored.dimensions[0]
    means, levels = data.means(name), _levels(data, name)
    threshold = (levels[0] + levels[-1]) / 2 if at_least is None else at_least
    good = sum(mean >= threshold for mean in means.values())
    if not 0 < good < len(means):
        raise SettingError(
            f"{good} of {len(means)} items are good in {name} from {threshold:g} on; choose another with --at-least"
        )
    lines = (_line(data, name, scorer, threshold, (cuts or {}).get(scorer.name)) for scorer in data.scorers(name))
    return GradeReport(
        kept=data.stored,
        dimension=name,
        at_least=threshold,
        graded=len(means),
        good=good,
        clusters=len({data.clusters[position] for position in means}),
        lines=tuple(line for line in lines if line is not None),
        people=GradePeople(
            raters=data.annotators(name),
            rated=len(data.rated_twice(name)),
            ratings=_people(data, name, threshold),
            alpha=annotators_alpha(data, name),
        ),
    )


def grade_verdicts(data: AgreementData, dimension: str, scorer: str) -> tuple[GradeVerdict, ...]:
    """Every graded item, those first on which the scorer is farthest from people; unscored ones last."""
    means = data.means(dimension)
    scores = _scores(data, dimension, scorer)
    ours = _places(list(scores.values()))
    theirs = _places([means[position] for position in scores])
    gaps = {position: mine - yours for position, mine, yours in zip(scores, ours, theirs, strict=True)}
    found = (
        GradeVerdict(
            position=position,
            item_id=data.ids[position],
            said=data.human_ratings[position][dimension],
            people=mean,
            contender=scores.get(position),
            gap=gaps.get(position),
        )
        for position, mean in means.items()
    )
    return tuple(sorted(found, key=lambda one: (one.gap is None, -abs(one.gap or 0.0), one.position)))


def _scores(data: AgreementData, dimension: str, scorer: str) -> dict[int, float]:
    """By graded item the scorer's score, of those that it scored."""
    scores = data.scores(dimension, scorer)
    found = {position: scores[position][0] for position in data.means(dimension) if position in scores}
    return {position: score for position, score in found.items() if score is not None}


def _line(
    data: AgreementData, dimension: str, scorer: Scorer, at_least: float, chosen: float | None
) -> GradeLine | None:
    """A scorer's numbers; None if it scored no graded item."""
    means, levels = data.means(dimension), _levels(data, dimension)
    scores = _scores(data, dimension, scorer.name)
    if not scores:
        return None
    given = list(scores.values())
    mean = [means[position] for position in scores]
    good = [value >= at_least for value in mean]
    points = roc(given, good) if 0 < sum(good) < len(good) else ()
    if chosen is None:
        cut = best_cut(points) if points else None
    else:
        cut = Cut(threshold=chosen, agreement=binary_agreement([score >= chosen for score in given], good))
    rounded = [_nearest(value, levels) for value in mean]
    # each score as a grade: the highest get the grades that people gave most highly, and so on
    ranked = sorted(rounded)
    matched = [ranked[min(len(ranked) - 1, round(place * (len(ranked) - 1)))] for place in _places(given)]
    return GradeLine(
        contender=scorer,
        metric=scorer.metrics.get(dimension, ""),
        unscored=len(means) - len(scores),
        ratings=_ratings(
            given,
            mean,
            good,
            [score >= cut.threshold for score in given] if cut else [],
            (matched, rounded, levels),
            [data.clusters[position] for position in scores],
            data.seed,
        ),
        cut=cut,
        chosen=chosen is not None,
        roc=points,
        calibration=calibration(given, good) if all(0 <= score <= 1 for score in given) else None,
    )


def _ratings(
    scores: Sequence[float],
    means: Sequence[float],
    good: Sequence[bool],
    said: Sequence[bool],
    graded: tuple[Sequence[float], Sequence[float], Sequence[float]],
    groups: Sequence[Hashable],
    seed: int,
) -> Ratings:
    first, second, levels = graded
    drawing: dict[str, Any] = {"draws": REPORT_DRAWS, "seed": seed}
    return Ratings(
        correlations=correlations(scores, means, groups, seed),
        auroc=measure(
            lambda: auroc(scores, good),
            lambda: clustered_auroc(scores, good, groups, draws=REPORT_DRAWS, seed=seed),
        ),
        kappa=measure(lambda: cohen_kappa(said, good), lambda: kappa_interval(said, good, groups, **drawing)),
        weighted_kappa=measure(
            lambda: cohen_kappa(first, second, weights="quadratic", order=levels),
            lambda: kappa_interval(first, second, groups, weights="quadratic", order=levels, **drawing),
        ),
        agreement=binary_agreement(said, good) if said else None,
    )


def _levels(data: AgreementData, dimension: str) -> list[float]:
    """The grades that somebody gave, ascending."""
    return sorted({grade for item in data.human_ratings for grade in item.get(dimension, ()) if grade is not None})


def _nearest(value: float, levels: Sequence[float]) -> float:
    return min(levels, key=lambda level: (abs(level - value), level))


def _places(values: Sequence[float]) -> list[float]:
    """The place of each value among the others, in [0, 1]; equal ones share the mean place."""
    if len(values) < 2:
        return [0.5] * len(values)
    ordered = sorted(values)
    first: dict[float, int] = {}
    last: dict[float, int] = {}
    for place, value in enumerate(ordered):
        first.setdefault(value, place)
        last[value] = place
    return [(first[value] + last[value]) / 2 / (len(values) - 1) for value in values]


def _people(data: AgreementData, dimension: str, at_least: float) -> Ratings | None:
    """Each annotator with the mean of the others; None if nobody judged twice."""
    alone = [
        (grade, (sum(grades) - grade) / (len(grades) - 1), data.clusters[position])
        for position, grades in data.rated_twice(dimension).items()
        for grade in grades
    ]
    if not alone:
        return None
    levels = _levels(data, dimension)
    own, others, groups = [row[0] for row in alone], [row[1] for row in alone], [row[2] for row in alone]
    good = [value >= at_least for value in others]
    rounded = [_nearest(value, levels) for value in others]
    said = [grade >= at_least for grade in own]
    return _ratings(own, others, good, said, (own, rounded, levels), groups, data.seed)
