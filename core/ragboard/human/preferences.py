"""Pairwise agreement: how often scorers prefer the answer that annotators prefer."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from ragboard.errors import SettingError
from ragboard.human.agreement import (
    AgreementData,
    Correlations,
    Measure,
    annotators_alpha,
    correlations,
)
from ragboard.stats import (
    Interval,
    NoInterval,
    Pair,
    PairwiseAccuracy,
    SignTest,
    holm,
    mcnemar_test,
    outcomes,
    pairwise_accuracy,
)
from ragboard.stats.pairwise import Ties
from ragboard.store.queries.agreements import Scorer, StoredAgreement, kind_order

__all__ = [
    "PAPER",
    "PairAgreement",
    "PairAnnotators",
    "PairComparison",
    "PairLine",
    "PreferenceReport",
    "Published",
    "decided_pairs",
    "pair_comparisons",
    "preference_report",
]


@dataclass(frozen=True, kw_only=True)
class Published:
    """Accuracies that a paper reports for a scorer, in [0, 1]. The paper used another model and other pairs."""

    name: str
    accuracy: Mapping[str, float]


PAPER = (
    Published(name="RAGAS", accuracy={"faithfulness": 0.95, "answer_relevance": 0.78, "context_relevance": 0.70}),
    Published(name="GPT Score", accuracy={"faithfulness": 0.72, "answer_relevance": 0.52, "context_relevance": 0.63}),
    Published(name="GPT Ranking", accuracy={"faithfulness": 0.54, "answer_relevance": 0.40, "context_relevance": 0.52}),
)
"""Es et al. 2023, arXiv 2309.15217, Table 1: 50 pages of WikiEval, gpt-3.5-turbo-16k."""


@dataclass(frozen=True, kw_only=True)
class PairAgreement:
    """How often one scorer prefers the side that annotators prefer, in one dimension."""

    metric: str
    """The metric that the scorer computes in this dimension; empty if the scorer is not a metric."""
    accuracy: PairwiseAccuracy
    """Accuracy over the pairs in which annotators prefer one side."""
    interval: Interval | NoInterval
    """The 95% CI of the accuracy: from a bootstrap over clusters if pairs share one, else Wilson's."""
    mcnemar: SignTest | None
    """McNemar's test against the reference scorer; None for the reference scorer. A win is a pair that only this scorer
    gets right. If pairs share a cluster, p is computed over clusters."""
    p: float | None
    """The p value of the test, Holm-adjusted over the scorers of this dimension."""
    votes: Correlations | None
    """Correlations of the score difference (B - A) with each vote; None if votes say only which side is
    better."""


@dataclass(frozen=True, kw_only=True)
class PairLine:
    """The agreement of one scorer in all dimensions."""

    scorer: Scorer
    by_dimension: Mapping[str, PairAgreement]


@dataclass(frozen=True, kw_only=True)
class PairAnnotators:
    """How well annotators agree with each other in one dimension."""

    pairs: int
    undecided: int
    """Number of pairs in which annotators prefer neither side; accuracies leave them out."""
    annotators: int
    """Maximum number of annotators per pair."""
    accuracy: PairwiseAccuracy | None
    """Accuracy of annotators, each against the mean of the others; None if no pair has two votes."""
    votes: Correlations | None
    """Correlations of each vote with the other annotators' votes on the same pair."""
    alpha: Measure | None
    """Krippendorff's ordinal alpha."""


@dataclass(frozen=True, kw_only=True)
class PreferenceReport:
    """The pairwise accuracy of all scorers by dimension, in the layout of the RAGAS paper's Table 1."""

    stored: StoredAgreement
    ties: Ties
    """How equal scores count."""
    reference: str
    """The scorer that tests compare all other scorers with."""
    lines: tuple[PairLine, ...]
    annotators: Mapping[str, PairAnnotators]
    published: tuple[Published, ...]
    """The figures of the RAGAS paper for these dimensions, for comparison."""


@dataclass(frozen=True, kw_only=True)
class PairComparison:
    """One pair with the preferences of annotators and of one scorer."""

    position: int
    item_id: str
    mean_vote: float
    """The mean vote; above 0: B is better, below 0: A is better."""
    difference: float | None
    """Score of B minus score of A; None if one is missing."""
    right: float | None
    """1 if the scorer prefers the same side, 0 if it prefers the other. `ties` says how equal scores count. None if the
    pair does not count."""


def preference_report(data: AgreementData, *, ties: Ties = "random", reference: str = "") -> PreferenceReport:
    """Compute the accuracy of all scorers by dimension, and compare them with `reference` (default: the first scorer).

    Raises SettingError for an unknown scorer.
    """
    names = [scorer.name for scorer in data.stored.agreement.scorers]
    if reference and reference not in names:
        raise SettingError(f"no scorer is called {reference!r}; available: {', '.join(names)}")
    reference_scorer = reference or names[0]
    columns = {
        dimension: _compare_scorers(data, dimension, ties, reference_scorer) for dimension in data.stored.dimensions
    }
    lines = (
        PairLine(
            scorer=scorer,
            by_dimension={name: column[scorer.name] for name, column in columns.items() if scorer.name in column},
        )
        for scorer in sorted(data.stored.agreement.scorers, key=kind_order)
    )
    return PreferenceReport(
        stored=data.stored,
        ties=ties,
        reference=reference_scorer,
        lines=tuple(lines),
        annotators={dimension: _compare_annotators(data, dimension, ties) for dimension in data.stored.dimensions},
        published=tuple(
            replace(line, accuracy={name: line.accuracy[name] for name in columns if name in line.accuracy})
            for line in PAPER
            if line.accuracy.keys() & set(data.stored.dimensions)
        ),
    )


def pair_comparisons(
    data: AgreementData, dimension: str, scorer: str, *, ties: Ties = "random"
) -> tuple[PairComparison, ...]:
    """List the pairs in which annotators prefer a side: wrong ones first, then ties, unscored and right ones."""
    means, pairs = data.means(dimension), decided_pairs(data, dimension, scorer)
    outcome_by_id = outcomes(list(pairs.values()), ties=ties, seed=data.seed)
    comparisons = (
        PairComparison(
            position=position,
            item_id=pair.id,
            mean_vote=means[position],
            difference=_difference(pair, means[position]),
            right=outcome_by_id[pair.id],
        )
        for position, pair in pairs.items()
    )
    return tuple(sorted(comparisons, key=_wrong_first))


def _wrong_first(comparison: PairComparison) -> tuple[int, float, int]:
    if comparison.difference is None:
        return (2, 0.0, comparison.position)
    if comparison.difference == 0:
        return (1, 0.0, comparison.position)
    right = (comparison.difference > 0) == (comparison.mean_vote > 0)
    return (3 if right else 0, -abs(comparison.difference), comparison.position)


def _difference(pair: Pair, mean: float) -> float | None:
    if pair.preferred is None or pair.other is None:
        return None
    return (pair.preferred - pair.other) * (1 if mean > 0 else -1)


def decided_pairs(data: AgreementData, dimension: str, scorer: str) -> dict[int, Pair]:
    """Return {position: pair} for pairs in which annotators prefer one side."""
    scores = data.scores(dimension, scorer)
    decided: dict[int, Pair] = {}
    for position, mean in data.means(dimension).items():
        if mean:
            a, b = scores.get(position, (None, None))
            preferred, other = (b, a) if mean > 0 else (a, b)
            decided[position] = Pair(id=data.ids[position], preferred=preferred, other=other)
    return decided


def _compare_scorers(data: AgreementData, dimension: str, ties: Ties, reference: str) -> dict[str, PairAgreement]:
    """Return {scorer: its agreement} in a dimension."""
    pairs = {scorer.name: decided_pairs(data, dimension, scorer.name) for scorer in data.scorers(dimension)}
    outcomes_by_scorer = {
        name: outcomes(list(pairs_of_scorer.values()), ties=ties, seed=data.seed)
        for name, pairs_of_scorer in pairs.items()
    }
    groups = dict(zip(data.ids, data.clusters, strict=True))
    tests = {
        name: mcnemar_test(outcomes_by_scorer[reference], outcomes_by_scorer[name], groups=groups)
        for name in pairs
        if reference in outcomes_by_scorer and name != reference
    }
    corrected = dict(zip(tests, holm([test.p for test in tests.values()]), strict=True))
    agreements: dict[str, PairAgreement] = {}
    for scorer in data.scorers(dimension):
        name, scorer_pairs = scorer.name, pairs[scorer.name]
        accuracy = _accuracy(data, list(scorer_pairs.items()), ties)
        grouped = len({data.clusters[position] for position in scorer_pairs}) < len(scorer_pairs)
        agreements[name] = PairAgreement(
            metric=scorer.metrics.get(dimension, ""),
            accuracy=accuracy,
            interval=accuracy.bootstrap if grouped else accuracy.wilson,
            mcnemar=tests.get(name),
            p=corrected.get(name),
            votes=_correlate_votes(data, dimension, name),
        )
    return agreements


def _accuracy(data: AgreementData, pairs: Sequence[tuple[int, Pair]], ties: Ties) -> PairwiseAccuracy:
    groups: dict[str, Hashable] = {pair.id: data.clusters[position] for position, pair in pairs}
    return pairwise_accuracy([pair for _, pair in pairs], ties=ties, seed=data.seed, groups=groups)


def _correlate_votes(data: AgreementData, dimension: str, scorer: str) -> Correlations | None:
    """Correlate score differences with votes; None if pairs have one vote each, which says only who is better."""
    votes_by_pair = data.ratings(dimension)
    several = any(len(item.get(dimension, ())) > 1 for item in data.human_labels)
    if not several and len({abs(vote) for votes in votes_by_pair.values() for vote in votes if vote}) <= 1:
        return None
    return _correlate(
        data,
        [
            (b - a, vote, position)
            for position, (a, b) in data.scores(dimension, scorer).items()
            if a is not None and b is not None
            for vote in votes_by_pair[position]
        ],
    )


def _correlate(data: AgreementData, rows: Sequence[tuple[float, float, int]]) -> Correlations:
    """Correlate x and y of (x, y, position of the item) rows."""
    x, y = [row[0] for row in rows], [row[1] for row in rows]
    return correlations(x, y, [data.clusters[position] for *_, position in rows], data.seed)


def _compare_annotators(data: AgreementData, dimension: str, ties: Ties) -> PairAnnotators:
    votes_by_pair, several = data.ratings(dimension), data.rated_twice(dimension)
    one_against_others = [
        (position, Pair(id=f"{data.ids[position]}#{number}", preferred=vote * (1 if others > 0 else -1), other=0))
        for position, votes in several.items()
        for number, vote in enumerate(votes)
        if (others := sum(votes) - vote)
    ]
    with_each_other = [
        (vote, other_vote, position)
        for position, votes in several.items()
        for number, vote in enumerate(votes)
        for other_number, other_vote in enumerate(votes)
        if number != other_number
    ]
    return PairAnnotators(
        pairs=len(votes_by_pair),
        undecided=sum(not sum(votes) for votes in votes_by_pair.values()),
        annotators=data.annotators(dimension),
        accuracy=_accuracy(data, one_against_others, ties) if several else None,
        votes=_correlate(data, with_each_other) if several else None,
        alpha=annotators_alpha(data, dimension),
    )
