"""Agreements in the store: which there are, what people said in one, and what each contender made of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb

from ragboard.analysis.word_diff import Change, word_diff
from ragboard.errors import NotFoundError
from ragboard.opinions import Agreement, Contender, Opinion
from ragboard.records import Outcome, Passage, Sample, Score, Turn, Unscored
from ragboard.store import Store

__all__ = [
    "Heard",
    "KeptAgreement",
    "Opened",
    "agreement_named",
    "agreements",
    "item_report",
    "listen",
    "orient",
    "questions_of",
]


@dataclass(frozen=True, kw_only=True)
class KeptAgreement:
    """An agreement as lists show it."""

    agreement: Agreement
    dimensions: tuple[str, ...]
    items: int
    clusters: int
    made: datetime
    """UTC."""


@dataclass(frozen=True, kw_only=True)
class Heard:
    """What people and contenders said of every item, without its texts. Items go by their position, from 0."""

    kept: KeptAgreement
    ids: tuple[str, ...]
    clusters: tuple[str, ...]
    said: tuple[Mapping[str, tuple[Opinion, ...]], ...]
    outcomes: Mapping[tuple[str, str], Mapping[int, tuple[Outcome, ...]]]
    """By dimension and contender, for each item it spoke of, an outcome for each side."""


@dataclass(frozen=True, kw_only=True)
class Opened:
    """One item with its texts, and what everybody said of it."""

    position: int
    item_id: str
    cluster: str
    sides: tuple[Sample, ...]
    said: Mapping[str, tuple[Opinion, ...]]
    outcomes: Mapping[str, Mapping[str, tuple[Outcome, ...]]]
    """By dimension and contender, an outcome for each side."""
    changes: tuple[Change, ...]
    """Of a pair, word by word, from A to B: answers, or passages where those are what it is about."""


def agreements(store: Store) -> tuple[KeptAgreement, ...]:
    """Every agreement, the newest first."""
    with store.database.read() as connection:
        return _kept(connection, "true", [])


def agreement_named(store: Store, name: str) -> KeptAgreement:
    """The agreement of that id, else the newest of that name. Raises NotFoundError that names what there is."""
    with store.database.read() as connection:
        found = _kept(connection, "agreement_id = $1 OR name = $1", [name])
        if found:
            return next((one for one in found if one.agreement.id == name), found[0])
        there = dict.fromkeys(one.agreement.name for one in _kept(connection, "true", []))
    raise NotFoundError(f"no agreement is called {name!r}; there are {', '.join(there) or 'none yet'}")


def listen(store: Store, kept: KeptAgreement) -> Heard:
    """What everybody said."""
    with store.database.read() as connection:
        items = connection.execute(
            "SELECT item_id, cluster, said FROM agreement_items WHERE agreement_id = ? ORDER BY position",
            [kept.agreement.id],
        ).fetchall()
        outcomes = _outcomes(connection, kept.agreement.id)
    return Heard(
        kept=kept,
        ids=tuple(row[0] for row in items),
        clusters=tuple(row[1] for row in items),
        said=tuple(_said(row[2]) for row in items),
        outcomes=outcomes,
    )


def item_report(store: Store, kept: KeptAgreement, item_id: str) -> Opened:
    """One item with its texts. Raises NotFoundError."""
    with store.database.read() as connection:
        row = connection.execute(
            "SELECT position, item_id, cluster, said, sides FROM agreement_items"
            " WHERE agreement_id = ? AND item_id = ?",
            [kept.agreement.id, item_id],
        ).fetchone()
        if row is None:
            raise NotFoundError(f"{kept.agreement.name} has no item {item_id!r}")
        outcomes = _outcomes(connection, kept.agreement.id, row[0])
    by_dimension: dict[str, dict[str, tuple[Outcome, ...]]] = {}
    for (dimension, contender), found in outcomes.items():
        by_dimension.setdefault(dimension, {})[contender] = found[row[0]]
    sides = tuple(map(_sample, json.loads(row[4])))
    return Opened(
        position=row[0],
        item_id=row[1],
        cluster=row[2],
        said=_said(row[3]),
        sides=sides,
        outcomes=by_dimension,
        changes=word_diff(*map(_compared, sides)) if len(sides) == 2 else (),
    )


def _compared(side: Sample) -> str:
    """What two sides differ in."""
    return "\n\n".join(passage.text for passage in side.contexts or ()) if side.answer is None else side.answer


def questions_of(store: Store, kept: KeptAgreement, positions: Sequence[int]) -> Mapping[int, tuple[str, str]]:
    """The question and the first side's answer of some items."""
    with store.database.read() as connection:
        rows = connection.execute(
            "SELECT position, sides->0->>'question', coalesce(sides->0->>'answer', '') FROM agreement_items"
            " WHERE agreement_id = ? AND position IN (SELECT unnest(?))",
            [kept.agreement.id, list(positions)],
        ).fetchall()
    return {position: (question, answer) for position, question, answer in rows}


def orient(outcome: Outcome, *, lower: bool) -> float | None:
    """The score, turned so that more is better; None where there is none."""
    if isinstance(outcome, Unscored):
        return None
    return -outcome.value if lower else outcome.value


def _kept(connection: duckdb.DuckDBPyConnection, where: str, given: list[Any]) -> tuple[KeptAgreement, ...]:
    rows = connection.execute(
        "SELECT agreement_id, name, form, source, judge, heuristic, seed, contenders, notes, made,"
        " count(*), count(DISTINCT cluster), list_distinct(flatten(list(json_keys(said)))) FROM agreements"
        f" JOIN agreement_items USING (agreement_id) WHERE {where} GROUP BY ALL ORDER BY made DESC, name",
        given,
    ).fetchall()
    return tuple(map(_kept_row, rows))


def _kept_row(row: tuple[Any, ...]) -> KeptAgreement:
    contenders = tuple(Contender(**contender) for contender in json.loads(row[7]))
    agreement = Agreement(
        id=row[0],
        name=row[1],
        form=row[2],
        source=row[3],
        judge=row[4],
        heuristic=row[5],
        seed=row[6],
        contenders=contenders,
        notes=tuple(row[8]),
    )
    return KeptAgreement(
        agreement=agreement, made=row[9], items=row[10], clusters=row[11], dimensions=tuple(sorted(row[12], key=_usual))
    )


_USUAL = ("faithfulness", "answer_relevance", "context_relevance", "correctness", "completeness", "overall")


def _usual(dimension: str) -> tuple[int, str]:
    """The dimensions of the papers first, in their order."""
    return (_USUAL.index(dimension) if dimension in _USUAL else len(_USUAL), dimension)


def _outcomes(
    connection: duckdb.DuckDBPyConnection, agreement_id: str, position: int | None = None
) -> dict[tuple[str, str], dict[int, tuple[Outcome, ...]]]:
    rows = connection.execute(
        "SELECT dimension, contender, position, value, counted, reason, detail FROM agreement_scores"
        " WHERE agreement_id = $1 AND ($2 IS NULL OR position = $2) ORDER BY dimension, contender, position, side",
        [agreement_id, position],
    ).fetchall()
    found: dict[tuple[str, str], dict[int, tuple[Outcome, ...]]] = {}
    for dimension, contender, place, value, counted, reason, detail in rows:
        outcome = Unscored(reason=reason, detail=detail) if value is None else Score(value=value, counted=counted)
        heard = found.setdefault((dimension, contender), {})
        heard[place] = (*heard.get(place, ()), outcome)
    return found


def _said(text: str) -> dict[str, tuple[Opinion, ...]]:
    return {dimension: tuple(opinions) for dimension, opinions in json.loads(text).items()}


def _sample(kept: Mapping[str, Any]) -> Sample:
    contexts, reference_contexts = kept["contexts"], kept["reference_contexts"]
    nested: dict[str, Any] = {
        "contexts": None if contexts is None else tuple(Passage(**passage) for passage in contexts),
        "reference_contexts": None if reference_contexts is None else tuple(reference_contexts),
        "history": tuple(Turn(**turn) for turn in kept["history"]),
    }
    return Sample(**{**kept, **nested})
