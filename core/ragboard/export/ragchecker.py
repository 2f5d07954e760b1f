"""A run as RAGChecker writes its output: claims, the four tables of labels, its metrics.

What was never judged stays null, for RAGChecker and `ragboard import` alike take that for not computed yet.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragboard.errors import SettingError
from ragboard.metrics import METRICS
from ragboard.metrics.ragchecker import RagcheckerMetric
from ragboard.readers.formats.ragchecker import CELLS, CLAIMS, LABELS, UnusableError, read_file_verdicts
from ragboard.records import Label, Sample, Side
from ragboard.store import RunRef, Store
from ragboard.store.queries.evaluations import evaluated_metrics
from ragboard.store.queries.query import Connection
from ragboard.store.queries.scores import values_of_source
from ragboard.store.queries.statements import claims_by_side, labels_by_target, split_sides

__all__ = ["ragchecker_bytes"]

THEIRS: dict[Label, str] = {label: name for name, label in LABELS.items()}
COUNTED = [metric for metric in METRICS.values() if isinstance(metric, RagcheckerMetric)]
DIGITS = 1
"""Decimals of a percentage in the table of means."""

Key = tuple[int, Side]


@dataclass(frozen=True, kw_only=True)
class _Found:
    """What an evaluation knows, by position and side."""

    claims: Mapping[Key, list[str]]
    extracted: frozenset[Key]
    labels: Mapping[tuple[int, Side, str], Mapping[int, Label]]
    """For each target the label of each statement that was judged."""
    scores: Mapping[int, Mapping[str, float]]


def ragchecker_bytes(store: Store, run: RunRef) -> bytes:
    """The run in RAGChecker's output format, JSON in UTF-8.

    Means are over the scored samples, in percent. Raises SettingError where RAGChecker's metrics were
    not evaluated.
    """
    with store.database.read() as connection:
        found = _found(connection, _evaluation(connection, run))
    if not found.scores:
        raise SettingError(f"{run.name}: no sample has a metric of RAGChecker; evaluate it first: --metrics ragchecker")
    items = [_item(position, sample, found) for position, sample in store.samples(run.run_id)]
    written = {"results": items, "metrics": _means(found)}
    return json.dumps(written, ensure_ascii=False, indent=2, allow_nan=False).encode()


def _evaluation(connection: Connection, run: RunRef) -> str | None:
    """The evaluation from which most of RAGChecker's metrics are shown."""
    metrics = evaluated_metrics(connection, run.evaluations)
    shown = [one for one, spec in metrics if spec.startswith("ragchecker.") and run.evaluation_of(spec) == one]
    return max(run.evaluations, key=shown.count, default=None)


def _found(connection: Connection, evaluation: str | None) -> _Found:
    return _Found(
        claims=claims_by_side(connection, evaluation),
        extracted=split_sides(connection, evaluation),
        labels=labels_by_target(connection, evaluation),
        scores=values_of_source(connection, evaluation, "ragchecker"),
    )


def _item(position: int, sample: Sample, found: _Found) -> dict[str, Any]:
    contexts = sample.contexts
    documents = None if contexts is None else [{"doc_id": passage.id, "text": passage.text} for passage in contexts]
    return {
        "query_id": sample.id,
        "query": sample.question,
        "gt_answer": sample.reference,
        "response": sample.answer,
        "retrieved_context": documents,
        **{column: _claims(sample, found, (position, side)) for side, column in CLAIMS.items()},
        **_tables(position, sample, found),
        "metrics": _by_name(found.scores.get(position, {})),
    }


def _claims(sample: Sample, found: _Found, key: Key) -> list[Any] | None:
    """A side's claims, as the run file wrote them where they came from it; None where none were looked for."""
    side = key[1]
    given = _given(sample).get(side)
    if given is not None and list(given) == found.claims.get(key, []):
        column: list[Any] = list(sample.metadata[CLAIMS[side]])  # type: ignore[arg-type]
        return column
    return found.claims.get(key, [] if key in found.extracted else None)


def _given(sample: Sample) -> Mapping[Side, tuple[str, ...]]:
    try:
        return read_file_verdicts(sample).claims
    except UnusableError:
        return {}


def _tables(position: int, sample: Sample, found: _Found) -> dict[str, list[Any] | None]:
    tables: dict[str, list[Any] | None] = {}
    for (side, against), column in CELLS.items():
        claims = _claims(sample, found, (position, side))
        if against != "passages":
            tables[column] = _column(found, (position, side, against), claims)
        elif sample.contexts is None:
            tables[column] = None
        else:
            ranks = [f"passage:{passage.rank}" for passage in sample.contexts]
            tables[column] = _rows([_column(found, (position, side, rank), claims) for rank in ranks], claims)
    return tables


def _column(found: _Found, key: tuple[int, Side, str], claims: list[Any] | None) -> list[str] | None:
    """One target's label for each claim; None unless all were judged."""
    labels = found.labels.get(key, {})
    return (
        None if claims is None or len(labels) < len(claims) else [THEIRS[labels[place]] for place in range(len(claims))]
    )


def _rows(columns: list[list[str] | None], claims: list[Any] | None) -> list[list[str]] | None:
    """A row for each claim; None unless every passage was held against all."""
    whole = [column for column in columns if column is not None]
    if claims is None or len(whole) < len(columns):
        return None
    return [[column[place] for column in whole] for place in range(len(claims))]


def _by_name(scores: Mapping[str, float]) -> dict[str, float]:
    """Scores under RAGChecker's names; those counted with its conventions only where there are no others."""
    found: dict[str, float] = {}
    for metric in COUNTED:
        kept = scores.get(metric.spec, scores.get(f"{metric.spec}(compat=True)"))
        if kept is not None:
            found[metric.name] = kept
    return found


def _means(found: _Found) -> dict[str, dict[str, float]]:
    values: dict[str, list[float]] = {}
    for scores in found.scores.values():
        for name, value in _by_name(scores).items():
            values.setdefault(name, []).append(value)
    groups: dict[str, dict[str, float]] = {f"{group}_metrics": {} for group in ("overall", "retriever", "generator")}
    for metric in COUNTED:
        if metric.name in values:
            mean = sum(values[metric.name]) / len(values[metric.name])
            groups[f"{metric.group}_metrics"][metric.name] = round(100 * mean, DIGITS)
    return groups
