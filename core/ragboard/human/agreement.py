"""Load agreements from the store: a list, the ratings and scores of one agreement, or one item with its texts."""

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
    "annotators_alpha",
    "correlations",
    "count_answers_by_run",
    "find_agreement",
    "item_detail",
    "list_agreements",
    "load_agreement",
    "load_item_texts",
    "measure",
    "sample_of_item",
]


@dataclass(frozen=True, kw_only=True)
class AgreementData:
    """The ratings and scores of all items of an agreement, without their texts.

    A rating is the label of one annotator as a number. Items are identified by their position, from 0. An item is a
    pair with the sides A and B, or has one side: an answer, a statement or a passage.
    """

    stored: StoredAgreement
    ids: tuple[str, ...]
    clusters: tuple[str, ...]
    human_labels: tuple[Mapping[str, tuple[HumanLabel, ...]], ...]
    """For each item, the ratings of all annotators, by dimension."""
    outcomes: Outcomes
    """{(dimension, scorer): {position: outcomes, one per side}}."""

    @property
    def seed(self) -> int:
        """The seed of random ties and of bootstrap intervals."""
        return self.stored.agreement.seed

    def ratings(self, dimension: str) -> dict[int, list[float]]:
        """Return {position: ratings} in a dimension; the list is empty if no annotator decided."""
        rated = {position: item[dimension] for position, item in enumerate(self.human_labels) if dimension in item}
        return {position: [rating for rating in ratings if rating is not None] for position, ratings in rated.items()}

    def means(self, dimension: str) -> dict[int, float]:
        """Return {position: mean rating} in a dimension, without items that have no rating."""
        return {
            position: sum(ratings) / len(ratings) for position, ratings in self.ratings(dimension).items() if ratings
        }

    def rated_twice(self, dimension: str) -> dict[int, list[float]]:
        """Return {position: ratings} in a dimension, for items with at least two ratings."""
        return {position: ratings for position, ratings in self.ratings(dimension).items() if len(ratings) > 1}

    def annotators(self, dimension: str) -> int:
        """Return the maximum number of annotators per item in a dimension."""
        return max((len(item.get(dimension, ())) for item in self.human_labels), default=0)

    def scorers(self, dimension: str) -> tuple[Scorer, ...]:
        """Return the scorers that have scores in a dimension."""
        return tuple(scorer for scorer in self.stored.agreement.scorers if (dimension, scorer.name) in self.outcomes)

    def scores(self, dimension: str, scorer: str) -> dict[int, tuple[float | None, ...]]:
        """Return {position: scores, one per side}, None if unscored. Scores are negated if lower is better."""
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
    """For a pair, the word-by-word changes from A's text to B's (answers, or passages if there are none)."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """An estimate and its interval."""

    value: float | None
    """None if undefined; the reason is in `interval`."""
    interval: Interval | NoInterval


@dataclass(frozen=True, kw_only=True)
class Correlations:
    """Three correlations of two lists of numbers, each in [-1, 1]."""

    n: int
    """Number of pairs of numbers."""
    pearson: Measure
    spearman: Measure
    kendall: Measure
    """Tau-b."""


def list_agreements(store: Store) -> tuple[StoredAgreement, ...]:
    """List all agreements, newest first."""
    with store.database.read() as connection:
        return stored_agreements(connection)


def count_answers_by_run(store: Store) -> dict[tuple[str, str], int]:
    """Return {(agreement id, run id): number of the agreement's items about answers of the run}."""
    with store.database.read() as connection:
        return items_per_run(connection)


def find_agreement(store: Store, name: str) -> StoredAgreement:
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
    """Find the sample in a run that has this answer, evaluated by the agreement's judge.

    Returns (`RUN@EVALUATION`, sample id); None for a pair, and if there is no such sample.
    """
    if len(item.samples) != 1:
        return None
    with store.database.read() as connection:
        sample = evaluated_sample(connection, answer_key(item.samples[0]), stored.agreement.judge)
    return (f"{sample[0]}@{sample[1]}", sample[2]) if sample else None


def load_item_texts(store: Store, stored: StoredAgreement, positions: Sequence[int]) -> Mapping[int, tuple[str, str]]:
    """Return {position: (question, answer of the first side)} for these items."""
    with store.database.read() as connection:
        return side_texts(connection, stored.agreement.id, positions)


def measure(value: Callable[[], float], interval: Callable[[], Interval | NoInterval]) -> Measure:
    """Compute an estimate and its interval. If either raises ValueError, return its message as the reason."""
    try:
        return Measure(value=value(), interval=interval())
    except ValueError as error:
        return Measure(value=None, interval=NoInterval(reason=str(error), n=0))


def correlations(x: Sequence[float], y: Sequence[float], groups: Sequence[Hashable], seed: int) -> Correlations:
    """Compute Pearson's, Spearman's and Kendall's correlation, with intervals from a bootstrap over groups."""

    def correlation(kind: str) -> Measure:
        return measure(
            lambda: CORRELATIONS[kind](x, y),
            lambda: correlation_interval(x, y, kind=kind, groups=groups, seed=seed, draws=REPORT_DRAWS),
        )

    return Correlations(n=len(x), **{kind: correlation(kind) for kind in CORRELATIONS})


def annotators_alpha(data: AgreementData, dimension: str) -> Measure | None:
    """Compute Krippendorff's ordinal alpha; None if no item has two ratings."""
    rated_twice = data.rated_twice(dimension)
    groups, ratings = [data.clusters[position] for position in rated_twice], list(rated_twice.values())
    if not rated_twice:
        return None
    return measure(
        lambda: krippendorff_alpha(ratings, scale="ordinal"),
        lambda: alpha_interval(ratings, groups, scale="ordinal", draws=REPORT_DRAWS, seed=data.seed),
    )
