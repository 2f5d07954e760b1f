"""Load agreements from the store: the list, the ratings and outcomes of one agreement, and single items with texts."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from ragboard.analysis.word_diff import Change, word_diff
from ragboard.errors import NotFoundError
from ragboard.readers.labels import HumanLabel
from ragboard.records import Outcome, Sample, Unscored
from ragboard.stats import CORRELATIONS, Interval, NoInterval, alpha_interval, correlation_interval, krippendorff_alpha
from ragboard.stats.bootstrap import REPORT_DRAWS
from ragboard.store import Store
from ragboard.store.queries.agreements import (
    Outcomes,
    Scorer,
    StoredAgreement,
    agreement_item,
    agreement_items,
    agreement_outcomes,
    evaluated_sample,
    items_per_run,
    side_texts,
    stored_agreements,
)
from ragboard.store.rows import answer_key

__all__ = [
    "AgreementData",
    "Correlations",
    "ItemDetail",
    "Measure",
    "agreement_named",
    "agreements",
    "annotators_alpha",
    "answers_of_runs",
    "correlations",
    "item_detail",
    "load_agreement",
    "measure",
    "questions_of",
    "sample_of_item",
]


@dataclass(frozen=True, kw_only=True)
class AgreementData:
    """The ratings and scores of all items of an agreement, without their texts. Positions of items count from 0."""

    stored: StoredAgreement
    ids: tuple[str, ...]
    clusters: tuple[str, ...]
    human_labels: tuple[Mapping[str, tuple[HumanLabel, ...]], ...]
    """For each item, the ratings of all annotators, by dimension."""
    outcomes: Outcomes
    """The outcomes of scored items (one per side), by dimension and scorer."""

    @property
    def seed(self) -> int:
        """The seed of random ties and of bootstrap intervals."""
        return self.stored.agreement.seed

    def ratings(self, dimension: str) -> dict[int, list[float]]:
        """Return the ratings in a dimension by item; the list is empty if no annotator decided."""
        rated = {position: item[dimension] for position, item in enumerate(self.human_labels) if dimension in item}
        return {position: [rating for rating in ratings if rating is not None] for position, ratings in rated.items()}

    def means(self, dimension: str) -> dict[int, float]:
        """Return the mean rating in a dimension by item; items without a rating are left out."""
        return {
            position: sum(ratings) / len(ratings) for position, ratings in self.ratings(dimension).items() if ratings
        }

    def rated_twice(self, dimension: str) -> dict[int, list[float]]:
        """Return the ratings in a dimension by item, for items rated by several annotators."""
        return {position: ratings for position, ratings in self.ratings(dimension).items() if len(ratings) > 1}

    def annotators(self, dimension: str) -> int:
        """Return the maximum number of annotators per item in a dimension."""
        return max((len(item.get(dimension, ())) for item in self.human_labels), default=0)

    def scorers(self, dimension: str) -> tuple[Scorer, ...]:
        """Return the scorers that have scores in a dimension."""
        return tuple(scorer for scorer in self.stored.agreement.scorers if (dimension, scorer.name) in self.outcomes)

    def scores(self, dimension: str, scorer: str) -> dict[int, tuple[float | None, ...]]:
        """Return the scores of each side by item; None if unscored. Scores are negated if lower is better."""
        lower = any(candidate.lower for candidate in self.stored.agreement.scorers if candidate.name == scorer)
        outcomes = self.outcomes.get((dimension, scorer), {})
        sign = -1 if lower else 1
        return {
            position: tuple(None if isinstance(outcome, Unscored) else sign * outcome.value for outcome in sides)
            for position, sides in outcomes.items()
        }


@dataclass(frozen=True, kw_only=True)
class ItemDetail:
    """One item with its texts, ratings and scores."""

    position: int
    item_id: str
    cluster: str
    samples: tuple[Sample, ...]
    human_labels: Mapping[str, tuple[HumanLabel, ...]]
    outcomes: Mapping[str, Mapping[str, tuple[Outcome, ...]]]
    """{dimension: {scorer: its outcomes, one per side}}."""
    changes: tuple[Change, ...]
    """For a pair, the word-by-word changes from A's answer to B's, or from A's passages to B's."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """An estimate and its interval."""

    value: float | None
    """None if undefined; the reason is in `interval`."""
    interval: Interval | NoInterval


@dataclass(frozen=True, kw_only=True)
class Correlations:
    """The correlations of two lists of numbers, each in [-1, 1]."""

    n: int
    """Number of pairs of numbers."""
    pearson: Measure
    spearman: Measure
    kendall: Measure
    """Tau-b."""


def agreements(store: Store) -> tuple[StoredAgreement, ...]:
    """List all agreements, newest first."""
    with store.database.read() as connection:
        return stored_agreements(connection)


def answers_of_runs(store: Store) -> dict[tuple[str, str], int]:
    """Count, for each agreement and run, the agreement's items that are about an answer of the run."""
    with store.database.read() as connection:
        return items_per_run(connection)


def agreement_named(store: Store, name: str) -> StoredAgreement:
    """Find the agreement with this id, else the newest with this name. Raises NotFoundError for an unknown name."""
    with store.database.read() as connection:
        matches = stored_agreements(connection, name)
        if matches:
            return next((match for match in matches if match.agreement.id == name), matches[0])
        known = dict.fromkeys(stored.agreement.name for stored in stored_agreements(connection))
    raise NotFoundError(f"no agreement is called {name!r}; stored: {', '.join(known) or 'no agreements'}")


def load_agreement(store: Store, stored: StoredAgreement) -> AgreementData:
    """Load the ratings and scores of an agreement."""
    with store.database.read() as connection:
        items = agreement_items(connection, stored.agreement.id)
        outcomes = agreement_outcomes(connection, stored.agreement.id)
    return AgreementData(
        stored=stored,
        ids=tuple(item for item, _, _ in items),
        clusters=tuple(cluster for _, cluster, _ in items),
        human_labels=tuple(ratings for _, _, ratings in items),
        outcomes=outcomes,
    )


def item_detail(store: Store, stored: StoredAgreement, item_id: str) -> ItemDetail:
    """Load one item with its texts. Raises NotFoundError if the agreement has no such item."""
    with store.database.read() as connection:
        row = agreement_item(connection, stored.agreement.id, item_id)
        if row is None:
            raise NotFoundError(f"{stored.agreement.name} has no item {item_id!r}")
        position, cluster, ratings, sides = row
        outcomes = agreement_outcomes(connection, stored.agreement.id, position)
    by_dimension: dict[str, dict[str, tuple[Outcome, ...]]] = {}
    for (dimension, scorer), by_position in outcomes.items():
        by_dimension.setdefault(dimension, {})[scorer] = by_position[position]
    texts = [
        "\n\n".join(passage.text for passage in side.contexts or ()) if side.answer is None else side.answer
        for side in sides
    ]
    return ItemDetail(
        position=position,
        item_id=item_id,
        cluster=cluster,
        samples=sides,
        human_labels=ratings,
        outcomes=by_dimension,
        changes=word_diff(*texts) if len(texts) == 2 else (),
    )


def sample_of_item(store: Store, stored: StoredAgreement, item: ItemDetail) -> tuple[str, str] | None:
    """Return (run as `NAME@EVALUATION`, sample id) of an evaluation of the item's answer by the agreement's judge.

    Pages link to this sample to show its statements and verdicts. None for a pair, and if there is no such evaluation.
    """
    if len(item.samples) != 1:
        return None
    with store.database.read() as connection:
        sample = evaluated_sample(connection, answer_key(item.samples[0]), stored.agreement.judge)
    return (f"{sample[0]}@{sample[1]}", sample[2]) if sample else None


def questions_of(store: Store, stored: StoredAgreement, positions: Sequence[int]) -> Mapping[int, tuple[str, str]]:
    """Return the question and the first side's answer of these items, by position."""
    with store.database.read() as connection:
        return side_texts(connection, stored.agreement.id, positions)


def measure(value: Callable[[], float], interval: Callable[[], Interval | NoInterval]) -> Measure:
    """Compute an estimate and its interval. A ValueError from either becomes the reason why the estimate is missing."""
    try:
        return Measure(value=value(), interval=interval())
    except ValueError as error:
        return Measure(value=None, interval=NoInterval(reason=str(error), n=0))


def correlations(x: Sequence[float], y: Sequence[float], groups: Sequence[Hashable], seed: int) -> Correlations:
    """Compute Pearson's, Spearman's and Kendall's correlation, with bootstrap intervals over groups of rows."""

    def correlation(kind: str) -> Measure:
        return measure(
            lambda: CORRELATIONS[kind](x, y),
            lambda: correlation_interval(x, y, kind=kind, groups=groups, seed=seed, draws=REPORT_DRAWS),
        )

    return Correlations(n=len(x), **{kind: correlation(kind) for kind in CORRELATIONS})


def annotators_alpha(data: AgreementData, dimension: str) -> Measure | None:
    """Compute Krippendorff's ordinal alpha over items with several ratings; None if there are no such items."""
    several = data.rated_twice(dimension)
    groups, ratings = [data.clusters[position] for position in several], list(several.values())
    if not several:
        return None
    return measure(
        lambda: krippendorff_alpha(ratings, scale="ordinal"),
        lambda: alpha_interval(ratings, groups, scale="ordinal", draws=REPORT_DRAWS, seed=data.seed),
    )
