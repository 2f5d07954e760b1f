"""Agreements in the store: human labels of items, and the scores of metrics, judges and baselines for these items."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, TypeAlias, get_args

from ragboard.readers.labels import Form, HumanLabel, LabelledItem
from ragboard.records import Outcome, Passage, Sample, Score, Turn, Unscored
from ragboard.store.queries.query import Connection
from ragboard.store.rows import append_rows, as_json, score_row

__all__ = [
    "Agreement",
    "Outcomes",
    "Scorer",
    "ScorerKind",
    "ScorerResult",
    "StoredAgreement",
    "agreement_item",
    "agreement_items",
    "agreement_outcomes",
    "evaluated_sample",
    "items_per_run",
    "keep_agreement",
    "kind_order",
    "side_texts",
    "stored_agreements",
]


ScorerKind: TypeAlias = Literal["metric", "baseline", "trivial", "published"]
"""metric: computed by ragboard. baseline: a model is asked for the label directly. trivial: word overlap, length or
coin. published: scores in the label file."""

ItemLabels: TypeAlias = dict[str, tuple[HumanLabel, ...]]
"""{dimension: the label of each annotator}."""
Outcomes: TypeAlias = Mapping[tuple[str, str], Mapping[int, tuple[Outcome, ...]]]
"""{(dimension, scorer): {position of the item: one outcome, or two for a pair}}."""


SOURCES = {"ragas": "RAGAS", "ares": "ARES", "ragchecker": "RAGChecker"}
"""Names of the sources of metrics on pages."""
_METRIC_NAME = re.compile(r"^\w+\.|\W.*$")
"""Matches the source and the settings around a metric's name: `ragas.` and `(mode=direct)`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scorer:
    """A metric, judge or baseline whose scores are compared with human labels."""

    name: str
    kind: ScorerKind
    metrics: Mapping[str, str] = field(default_factory=dict[str, str])
    """The metric that the scorer computes, by dimension; empty if the scorer is not a metric."""
    lower: bool = False
    """Whether a lower score is better."""

    def title(self, dimension: str = "") -> str:
        """Return the name on pages: `RAGAS faithfulness` for one dimension, `RAGAS metrics` for all."""
        if self.name not in SOURCES:
            return self.name.replace(", its verdict", " verdict (marks ✓ ? ✕)").replace(", its ", " ")
        specs = [self.metrics[dimension]] if dimension in self.metrics else list(self.metrics.values())
        names = {_METRIC_NAME.sub("", spec) + (" (rated)" if "method=direct" in spec else "") for spec in specs}
        return f"{SOURCES[self.name]} {names.pop().replace('_', ' ') if len(names) == 1 else 'metrics'}"


def kind_order(scorer: Scorer) -> int:
    """Return a sort key that puts metrics first, then baselines, then scores in the file."""
    return get_args(ScorerKind).index(scorer.kind)


@dataclass(frozen=True, kw_only=True, slots=True)
class ScorerResult:
    """The outcomes of a scorer for one item in one dimension."""

    position: int
    """Position of the item, from 0."""
    dimension: str
    scorer: str
    outcomes: tuple[Outcome, ...]
    """One outcome, or two for a pair."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """A stored comparison of scorers with human labels."""

    id: str
    name: str
    form: Form
    source: str
    judge: str
    heuristic: bool
    seed: int
    """Seed of the coin, the baseline that scores at random."""
    scorers: tuple[Scorer, ...]
    notes: tuple[str, ...] = ()

    @property
    def judge_in_words(self) -> str:
        """`the embedded judge (rule-based)`, or the name of a model."""
        return f"the {self.judge} judge (rule-based)" if self.heuristic else self.judge


@dataclass(frozen=True, kw_only=True)
class StoredAgreement:
    """An agreement with the size of its data."""

    agreement: Agreement
    dimensions: tuple[str, ...]
    items: int
    clusters: int
    made: datetime
    """UTC."""


def keep_agreement(
    connection: Connection, agreement: Agreement, items: Sequence[LabelledItem], results: Iterable[ScorerResult]
) -> None:
    """Insert an agreement with its items and results."""
    connection.execute(
        "INSERT INTO agreements VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, now() AT TIME ZONE 'UTC')",
        [
            agreement.id,
            agreement.name,
            agreement.form,
            agreement.source,
            agreement.judge,
            agreement.heuristic,
            agreement.seed,
            as_json([asdict(scorer) for scorer in agreement.scorers]),
            list(agreement.notes),
        ],
    )
    rows: list[tuple[Any, ...]] = []
    for position, item in enumerate(items):
        samples = as_json([asdict(replace(sample, time=None)) for sample in item.samples])
        rows.append((agreement.id, position, item.id, item.cluster, json.dumps(item.human_labels), samples))
    append_rows(connection, "agreement_items", rows)
    scores: list[tuple[Any, ...]] = []
    for result in results:
        for side, outcome in enumerate(result.outcomes):
            position, scorer, *score = score_row(result.position, result.scorer, outcome)
            scores.append((agreement.id, position, result.dimension, scorer, side, *score))
    append_rows(connection, "agreement_scores", scores)


def stored_agreements(connection: Connection, name: str | None = None) -> tuple[StoredAgreement, ...]:
    """Return all agreements, or those with this id or name, newest first."""
    rows = connection.execute(
        "SELECT agreement_id, name, form, source, judge, heuristic, seed, contenders, notes, made,"
        " count(*), count(DISTINCT cluster), list_distinct(flatten(list(json_keys(said)))) FROM agreements"
        " JOIN agreement_items USING (agreement_id) WHERE $1 IS NULL OR agreement_id = $1 OR name = $1"
        " GROUP BY ALL ORDER BY made DESC, name",
        [name],
    ).fetchall()
    return tuple(map(_stored_agreement, rows))


def agreement_items(connection: Connection, agreement_id: str) -> list[tuple[str, str, ItemLabels]]:
    """Return id, cluster and labels of each item, in order."""
    rows = connection.execute(
        "SELECT item_id, cluster, said FROM agreement_items WHERE agreement_id = ? ORDER BY position", [agreement_id]
    ).fetchall()
    return [(item, cluster, _item_labels(labels)) for item, cluster, labels in rows]


def agreement_item(
    connection: Connection, agreement_id: str, item_id: str
) -> tuple[int, str, ItemLabels, tuple[Sample, ...]] | None:
    """Return position, cluster, labels and samples of an item; None if the agreement has no such item."""
    row = connection.execute(
        "SELECT position, cluster, said, sides FROM agreement_items WHERE agreement_id = ? AND item_id = ?",
        [agreement_id, item_id],
    ).fetchone()
    if row is None:
        return None
    position, cluster, labels, samples = row
    return position, cluster, _item_labels(labels), tuple(map(_sample, json.loads(samples)))


def agreement_outcomes(connection: Connection, agreement_id: str, position: int | None = None) -> Outcomes:
    """Return the outcomes of all scorers for all items, or for the item at `position`."""
    rows = connection.execute(
        "SELECT dimension, contender, position, value, counted, reason, detail FROM agreement_scores"
        " WHERE agreement_id = $1 AND ($2 IS NULL OR position = $2) ORDER BY dimension, contender, position, side",
        [agreement_id, position],
    ).fetchall()
    found: dict[tuple[str, str], dict[int, tuple[Outcome, ...]]] = {}
    for dimension, scorer, item, value, counted, reason, detail in rows:
        outcome = Unscored(reason=reason, detail=detail) if value is None else Score(value=value, counted=counted)
        by_item = found.setdefault((dimension, scorer), {})
        by_item[item] = (*by_item.get(item, ()), outcome)
    return found


def items_per_run(connection: Connection) -> dict[tuple[str, str], int]:
    """Return {(agreement, run): number of items about an answer of the run}, without zeros.

    An item is about an answer of the run if both have the same question and answer. For an item that is a statement,
    the answer must contain the statement.
    """
    rows = connection.execute(
        "WITH sides AS (SELECT agreement_id, position, unnest(from_json(sides, '[\"JSON\"]')) AS side"
        " FROM agreement_items)"
        " SELECT i.agreement_id, s.run_id, count(DISTINCT i.position) FROM sides i"
        " JOIN agreements a USING (agreement_id)"
        " JOIN samples s ON s.question = i.side->>'question' AND (s.answer = i.side->>'answer'"
        " OR a.form = 'statements' AND strpos(s.answer, i.side->>'answer') > 0) GROUP BY ALL"
    ).fetchall()
    return {(agreement, run): count for agreement, run, count in rows}


def side_texts(connection: Connection, agreement_id: str, positions: Sequence[int]) -> Mapping[int, tuple[str, str]]:
    """Return (question, answer) of items, by position. For a pair, the answer is A's."""
    rows = connection.execute(
        "SELECT position, sides->0->>'question', coalesce(sides->0->>'answer', '') FROM agreement_items"
        " WHERE agreement_id = ? AND position IN (SELECT unnest(?))",
        [agreement_id, list(positions)],
    ).fetchall()
    return {position: (question, answer) for position, question, answer in rows}


_COMMON = ("faithfulness", "answer_relevance", "context_relevance", "correctness", "completeness", "overall")
"""Dimensions that pages show first, in this order. Others follow by name."""


def evaluated_sample(connection: Connection, key: str, judge: str) -> tuple[str, str, str] | None:
    """Return (run, evaluation, sample) of the newest evaluation of an answer by this judge; None if there is none.

    `key` is the `answer_key` in the table `samples`. Only evaluations that split the answer into statements count.
    """
    row: tuple[str, str, str] | None = connection.execute(
        "SELECT r.name, e.evaluation_id, s.sample_id FROM samples s JOIN runs r ON r.run_id = s.run_id"
        " JOIN evaluations e ON e.run_id = s.run_id WHERE s.answer_key = ? AND e.judge = ?"
        " AND EXISTS (FROM statements t WHERE t.evaluation_id = e.evaluation_id AND t.position = s.position"
        " AND t.side = 'response')"
        " ORDER BY e.finished DESC, s.position LIMIT 1",
        [key, judge],
    ).fetchone()
    return row


def _stored_agreement(row: tuple[Any, ...]) -> StoredAgreement:
    *columns, contenders, notes, made, items, clusters, dimensions = row
    names = ("id", "name", "form", "source", "judge", "heuristic", "seed")
    agreement = Agreement(
        **dict(zip(names, columns, strict=True)),
        scorers=tuple(Scorer(**scorer) for scorer in json.loads(contenders)),
        notes=tuple(notes),
    )
    ordered = sorted(dimensions, key=lambda one: (_COMMON.index(one) if one in _COMMON else len(_COMMON), one))
    return StoredAgreement(agreement=agreement, made=made, items=items, clusters=clusters, dimensions=tuple(ordered))


def _item_labels(text: str) -> ItemLabels:
    return {dimension: tuple(labels) for dimension, labels in json.loads(text).items()}


def _sample(stored: Mapping[str, Any]) -> Sample:
    contexts, reference_contexts = stored["contexts"], stored["reference_contexts"]
    nested: dict[str, Any] = {
        "contexts": None if contexts is None else tuple(Passage(**passage) for passage in contexts),
        "reference_contexts": None if reference_contexts is None else tuple(reference_contexts),
        "history": tuple(Turn(**turn) for turn in stored["history"]),
    }
    return Sample(**{**stored, **nested})
