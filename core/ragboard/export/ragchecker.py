"""Export a run in RAGChecker's output format: claims, the four verdict tables, and RAGChecker's metrics.

A table that was not judged is null. For RAGChecker and `ragboard import`, this means that it was not computed yet.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragboard.errors import SettingError
from ragboard.metrics import METRICS
from ragboard.metrics.ragchecker import RagcheckerMetric
from ragboard.readers.formats.ragchecker import CLAIMS, LABELS, VERDICT_COLUMNS, UnusableError, read_file_verdicts
from ragboard.records import Label, Sample, Side
from ragboard.store import RunRef, Store
from ragboard.store.queries.evaluations import evaluated_metrics
from ragboard.store.queries.query import Connection
from ragboard.store.queries.scores import values_of_source
from ragboard.store.queries.statements import claims_by_side, labels_by_target, split_sides

__all__ = ["ragchecker_bytes"]

RAGCHECKER_LABELS: dict[Label, str] = {label: name for name, label in LABELS.items()}
RAGCHECKER_METRICS = [metric for metric in METRICS.values() if isinstance(metric, RagcheckerMetric)]
DIGITS = 1
"""Number of decimals of a percentage in the means."""

Key = tuple[int, Side]
"""The position of a sample, and a side."""


@dataclass(frozen=True, kw_only=True)
class _Results:
    """The results of an evaluation, by sample position and side."""

    claims: Mapping[Key, list[str]]
    extracted: frozenset[Key]
    """The texts that were split into claims."""
    labels: Mapping[tuple[int, Side, str], Mapping[int, Label]]
    """{(position, side, target): {number of the statement, from 0: verdict}}."""
    scores: Mapping[int, Mapping[str, float]]


def ragchecker_bytes(store: Store, run: RunRef) -> bytes:
    """Return the run in RAGChecker's output format, as JSON in UTF-8.

    Means are over the scored samples, in percent. Raises SettingError if RAGChecker's metrics were not evaluated.
    """
    with store.database.read() as connection:
        results = _read_results(connection, _choose_evaluation(connection, run))
    if not results.scores:
        raise SettingError(f"{run.name}: no sample has a metric of RAGChecker; evaluate it first: --metrics ragchecker")
    items = [_result_row(position, sample, results) for position, sample in store.samples(run.run_id)]
    output = {"results": items, "metrics": _means(results)}
    return json.dumps(output, ensure_ascii=False, indent=2, allow_nan=False).encode()


def _choose_evaluation(connection: Connection, run: RunRef) -> str | None:
    """Return the evaluation that computed most of the run's RAGChecker metrics; None if the run has no evaluation."""
    metrics = evaluated_metrics(connection, run.evaluations)
    shown = [
        evaluation_id
        for evaluation_id, spec in metrics
        if spec.startswith("ragchecker.") and run.evaluation_of(spec) == evaluation_id
    ]
    return max(run.evaluations, key=shown.count, default=None)


def _read_results(connection: Connection, evaluation: str | None) -> _Results:
    return _Results(
        claims=claims_by_side(connection, evaluation),
        extracted=split_sides(connection, evaluation),
        labels=labels_by_target(connection, evaluation),
        scores=values_of_source(connection, evaluation, "ragchecker"),
    )


def _result_row(position: int, sample: Sample, results: _Results) -> dict[str, Any]:
    contexts = sample.contexts
    documents = None if contexts is None else [{"doc_id": passage.id, "text": passage.text} for passage in contexts]
    return {
        "query_id": sample.id,
        "query": sample.question,
        "gt_answer": sample.reference,
        "response": sample.answer,
        "retrieved_context": documents,
        **{column: _claims(sample, results, (position, side)) for side, column in CLAIMS.items()},
        **_tables(position, sample, results),
        "metrics": _by_name(results.scores.get(position, {})),
    }


def _claims(sample: Sample, results: _Results, key: Key) -> list[Any] | None:
    """Return a side's claims, as in the run file if they are from there; None if they were not extracted."""
    side = key[1]
    file_claims = _claims_in_file(sample).get(side)
    if file_claims is not None and list(file_claims) == results.claims.get(key, []):
        column: list[Any] = list(sample.metadata[CLAIMS[side]])  # type: ignore[arg-type]
        return column
    return results.claims.get(key, [] if key in results.extracted else None)


def _claims_in_file(sample: Sample) -> Mapping[Side, tuple[str, ...]]:
    try:
        return read_file_verdicts(sample).claims
    except UnusableError:
        return {}


def _tables(position: int, sample: Sample, results: _Results) -> dict[str, list[Any] | None]:
    tables: dict[str, list[Any] | None] = {}
    for (side, against), column in VERDICT_COLUMNS.items():
        claims = _claims(sample, results, (position, side))
        if against != "passages":
            tables[column] = _verdicts_against(results, (position, side, against), claims)
        elif sample.contexts is None:
            tables[column] = None
        else:
            targets = [f"passage:{passage.rank}" for passage in sample.contexts]
            tables[column] = _verdict_rows(
                [_verdicts_against(results, (position, side, target), claims) for target in targets], claims
            )
    return tables


def _verdicts_against(results: _Results, key: tuple[int, Side, str], claims: list[Any] | None) -> list[str] | None:
    """Return the verdict on each claim against one target; None if a claim was not judged."""
    labels = results.labels.get(key, {})
    return (
        None
        if claims is None or len(labels) < len(claims)
        else [RAGCHECKER_LABELS[labels[index]] for index in range(len(claims))]
    )


def _verdict_rows(columns: list[list[str] | None], claims: list[Any] | None) -> list[list[str]] | None:
    """Return one row per claim; None if a claim was not judged against every passage."""
    complete = [column for column in columns if column is not None]
    if claims is None or len(complete) < len(columns):
        return None
    return [[column[index] for column in complete] for index in range(len(claims))]


def _by_name(scores: Mapping[str, float]) -> dict[str, float]:
    """Return the scores by RAGChecker's names; those with `compat=True` if a metric has no score without it."""
    by_name: dict[str, float] = {}
    for metric in RAGCHECKER_METRICS:
        score = scores.get(metric.spec, scores.get(f"{metric.spec}(compat=True)"))
        if score is not None:
            by_name[metric.name] = score
    return by_name


def _means(results: _Results) -> dict[str, dict[str, float]]:
    values: dict[str, list[float]] = {}
    for scores in results.scores.values():
        for name, value in _by_name(scores).items():
            values.setdefault(name, []).append(value)
    groups: dict[str, dict[str, float]] = {f"{group}_metrics": {} for group in ("overall", "retriever", "generator")}
    for metric in RAGCHECKER_METRICS:
        if metric.name in values:
            mean = sum(values[metric.name]) / len(values[metric.name])
            groups[f"{metric.group}_metrics"][metric.name] = round(100 * mean, DIGITS)
    return groups
