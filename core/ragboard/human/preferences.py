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
    compare_contenders,
    holm,
    outcomes,
    pairwise_accuracy,
)
from ragboard.stats.pairwise import Ties
from ragboard.store.queries.agreements import Scorer, StoredAgreement

__all__ = [
    "PAPER",
    "PairCell",
    "PairLine",
    "PairPeople",
    "PairVerdict",
    "PreferenceReport",
    "Published",
    "decided_pairs",
    "pair_verdicts",
    "preference_report",
]


@dataclass(frozen=True, kw_only=True)
class Published:
    """Figures published in a paper, for another model and other pairs."""

    name: str
    accuracy: Mapping[str, float]


PAPER = (
    Published(name="RAGAS", accuracy={"faithfulness": 0.95, "answer_relevance": 0.78, "context_relevance": 0.70}),
    Published(name="GPT Score", accuracy={"faithfulness": 0.72, "answer_relevance": 0.52, "context_relevance": 0.63}),
    Published(name="GPT Ranking", accuracy={"faithfulness": 0.54, "answer_relevance": 0.40, "context_relevance": 0.52}),
)
"""Es et al. 2023, arXiv 2309.15217, Table 1: 50 pages of WikiEval, gpt-3.5-turbo-16k."""


@dataclass(frozen=True, kw_only=True)
class PairCell:
    """The agreement of one scorer in one dimension."""

    metric: str
    """Its metric in this dimension; empty if it is not a metric."""
    accuracy: PairwiseAccuracy
    """Accuracy over the pairs of which annotators prefer one side."""
    interval: Interval | NoInterval
    """The interval of the accuracy: a bootstrap over groups if pairs share one, else Wilson's."""
    duel: SignTest | None
    """McNemar's test against the reference scorer; a win is a pair that only this scorer got right. If pairs share a
    question, p is over questions. None for the reference scorer."""
    p: float | None
    """The p value of the test, adjusted for the number of tests in this dimension (Holm)."""
    votes: Correlations | None
    """Correlations of score B - A with single votes; None if votes only name a side."""


@dataclass(frozen=True, kw_only=True)
class PairLine:
    """The agreement of one scorer in all dimensions."""

    contender: Scorer
    cells: Mapping[str, PairCell]


@dataclass(frozen=True, kw_only=True)
class PairPeople:
    """The annotators in one dimension: their decided pairs, and their agreement with each other."""

    pairs: int
    undecided: int
    """Number of pairs without a preferred side; they count in no accuracy."""
    raters: int
    """The largest number of annotators of one pair."""
    accuracy: PairwiseAccuracy | None
    """Each annotator compared with the mean of the others. None if no pair has two votes."""
    votes: Correlations | None
    """Correlations of each vote with every other annotator's on the same pair."""
    alpha: Measure | None
    """Krippendorff's ordinal alpha."""


@dataclass(frozen=True, kw_only=True)
class PreferenceReport:
    """The agreement of all scorers by dimension, in the layout of the RAGAS paper's Table 1."""

    kept: StoredAgreement
    policy: Ties
    against: str
    """The reference scorer of the tests."""
    lines: tuple[PairLine, ...]
    people: Mapping[str, PairPeople]
    published: tuple[Published, ...]
    """The figures of the RAGAS paper for these dimensions; they are not computed here."""


@dataclass(frozen=True, kw_only=True)
class PairVerdict:
    """One pair with the preferences of annotators and of one scorer."""

    position: int
    item_id: str
    people: float
    """The mean vote; above 0: B is better, below 0: A is better."""
    contender: float | None
    """Score of B minus A; None if one is missing."""
    right: float | None
    """1 right, 0 wrong, between for a tie by the policy; None if it does not count."""


def preference_report(data: AgreementData, *, ties: Ties = "random", against: str = "") -> PreferenceReport:
    """Compute every scorer's accuracy by dimension, and compare it with the scorer `against` (default: the first).

    Raises SettingError for an unknown scorer.
    """
    names = [scorer.name for scorer in data.stored.agreement.contenders]
    if against and against not in names:
        raise SettingError(f"no scorer is called {against!r}; there are {', '.join(names)}")
    reference = against or names[0]
    columns = {dimension: _column(data, dimension, ties, reference) for dimension in data.stored.dimensions}
    lines = (
        PairLine(
            contender=scorer,
            cells={name: column[scorer.name] for name, column in columns.items() if scorer.name in column},
        )
        for scorer in data.stored.agreement.contenders
    )
    return PreferenceReport(
        kept=data.stored,
        policy=ties,
        against=reference,
        lines=tuple(lines),
        people={dimension: _people(data, dimension, ties) for dimension in data.stored.dimensions},
        published=tuple(
            replace(line, accuracy={name: line.accuracy[name] for name in columns if name in line.accuracy})
            for line in PAPER
            if line.accuracy.keys() & set(data.stored.dimensions)
        ),
    )


def pair_verdicts(
    data: AgreementData, dimension: str, scorer: str, *, ties: Ties = "random"
) -> tuple[PairVerdict, ...]:
    """List the pairs that annotators decided: wrong ones first, then ties, unscored and right ones."""
    means, pairs = data.means(dimension), decided_pairs(data, dimension, scorer)
    won = outcomes(list(pairs.values()), ties=ties, seed=data.seed)
    found = (
        PairVerdict(
            position=position,
            item_id=pair.id,
            people=means[position],
            contender=_difference(pair, means[position]),
            right=won[pair.id],
        )
        for position, pair in pairs.items()
    )
    return tuple(sorted(found, key=_wrong_first))


def _wrong_first(verdict: PairVerdict) -> tuple[int, float, int]:
    if verdict.contender is None:
        return (2, 0.0, verdict.position)
    if verdict.contender == 0:
        return (1, 0.0, verdict.position)
    right = (verdict.contender > 0) == (verdict.people > 0)
    return (3 if right else 0, -abs(verdict.contender), verdict.position)


def _difference(pair: Pair, mean: float) -> float | None:
    if pair.preferred is None or pair.other is None:
        return None
    return (pair.preferred - pair.other) * (1 if mean > 0 else -1)


def decided_pairs(data: AgreementData, dimension: str, scorer: str) -> dict[int, Pair]:
    """Return the pairs of which annotators prefer one side, by position; a missing score is None."""
    scores = data.scores(dimension, scorer)
    found: dict[int, Pair] = {}
    for position, mean in data.means(dimension).items():
        if mean:
            a, b = scores.get(position, (None, None))
            preferred, other = (b, a) if mean > 0 else (a, b)
            found[position] = Pair(id=data.ids[position], preferred=preferred, other=other)
    return found


def _column(data: AgreementData, dimension: str, ties: Ties, reference: str) -> dict[str, PairCell]:
    """Return the results of all scorers in a dimension, by name."""
    pairs = {scorer.name: decided_pairs(data, dimension, scorer.name) for scorer in data.scorers(dimension)}
    won = {name: outcomes(list(found.values()), ties=ties, seed=data.seed) for name, found in pairs.items()}
    groups = dict(zip(data.ids, data.clusters, strict=True))
    tests = {
        name: compare_contenders(won[reference], won[name], groups=groups)
        for name in pairs
        if reference in won and name != reference
    }
    corrected = dict(zip(tests, holm([test.p for test in tests.values()]), strict=True))
    cells: dict[str, PairCell] = {}
    for scorer in data.scorers(dimension):
        name, found = scorer.name, pairs[scorer.name]
        accuracy = _accuracy(data, list(found.items()), ties)
        grouped = len({data.clusters[position] for position in found}) < len(found)
        cells[name] = PairCell(
            metric=scorer.metrics.get(dimension, ""),
            accuracy=accuracy,
            interval=accuracy.bootstrap if grouped else accuracy.wilson,
            duel=tests.get(name),
            p=corrected.get(name),
            votes=_votes(data, dimension, name),
        )
    return cells


def _accuracy(data: AgreementData, pairs: Sequence[tuple[int, Pair]], ties: Ties) -> PairwiseAccuracy:
    groups: dict[str, Hashable] = {pair.id: data.clusters[position] for position, pair in pairs}
    return pairwise_accuracy([pair for _, pair in pairs], ties=ties, seed=data.seed, groups=groups)


def _votes(data: AgreementData, dimension: str, scorer: str) -> Correlations | None:
    """Correlate the scorer's differences with every vote; None if each pair has one vote that only names a side."""
    given = data.given(dimension)
    several = any(len(item.get(dimension, ())) > 1 for item in data.human_ratings)
    if not several and len({abs(vote) for votes in given.values() for vote in votes if vote}) <= 1:
        return None
    return _correlated(
        data,
        [
            (b - a, vote, position)
            for position, (a, b) in data.scores(dimension, scorer).items()
            if a is not None and b is not None
            for vote in given[position]
        ],
    )


def _correlated(data: AgreementData, rows: Sequence[tuple[float, float, int]]) -> Correlations:
    """Correlate the two numbers of each row; the third is the position of its item."""
    x, y = [row[0] for row in rows], [row[1] for row in rows]
    return correlations(x, y, [data.clusters[position] for *_, position in rows], data.seed)


def _people(data: AgreementData, dimension: str, ties: Ties) -> PairPeople:
    given, several = data.given(dimension), data.rated_twice(dimension)
    one_against_others = [
        (position, Pair(id=f"{data.ids[position]}#{number}", preferred=vote * (1 if others > 0 else -1), other=0))
        for position, votes in several.items()
        for number, vote in enumerate(votes)
        if (others := sum(votes) - vote)
    ]
    with_each_other = [
        (one, other, position)
        for position, votes in several.items()
        for number, one in enumerate(votes)
        for other_number, other in enumerate(votes)
        if number != other_number
    ]
    return PairPeople(
        pairs=len(given),
        undecided=sum(not sum(votes) for votes in given.values()),
        raters=data.annotators(dimension),
        accuracy=_accuracy(data, one_against_others, ties) if several else None,
        votes=_correlated(data, with_each_other) if several else None,
        alpha=annotators_alpha(data, dimension),
    )
