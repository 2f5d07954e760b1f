"""What people say of statements now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from ragboard.records import Label
from ragboard.store.queries.query import Connection

__all__ = ["HumanVerdict", "LabelQueue", "human_verdicts", "latest_verdicts"]

LabelQueue = Literal["browsing", "random", "disagreement", "imported"]
"""What a person was doing: looking at a sample with its verdicts in sight; going through a random draw, or through
disagreements, without seeing them; or it came from a file."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HumanVerdict:
    """What a person says of a statement in the light of all the passages together."""

    label: Label
    annotator: str
    note: str
    at: datetime
    """UTC."""
    queue: LabelQueue


def human_verdicts(
    connection: Connection, keys: Iterable[tuple[str, int, int]]
) -> Mapping[tuple[str, int, int], tuple[HumanVerdict, ...]]:
    """What people say of statements now, the latest last, by evaluation, position and statement from 0."""
    wanted = set(keys)
    rows = connection.execute(
        "SELECT evaluation_id, position, statement, label, annotator, note, said, queue FROM human_verdicts"
        " WHERE evaluation_id IN (SELECT unnest(?::VARCHAR[])) AND position IN (SELECT unnest(?::INTEGER[]))"
        " ORDER BY number",
        [[key[0] for key in wanted], [key[1] for key in wanted]],
    ).fetchall()
    found: dict[tuple[str, int, int], tuple[HumanVerdict, ...]] = {}
    for evaluation, position, statement, label, annotator, note, at, queue in rows:
        key = (evaluation, position, statement)
        if key in wanted:
            said = HumanVerdict(label=label, annotator=annotator, note=note, at=at, queue=queue)
            found[key] = (*found.get(key, ()), said)
    return found


def latest_verdicts(connection: Connection, evaluation_id: str) -> Mapping[tuple[int, int], Label]:
    """By position and statement of an evaluation the verdict that counts where people gave any: the latest."""
    rows = connection.execute(
        "SELECT position, statement, human FROM latest_human_verdicts WHERE evaluation_id = ?", [evaluation_id]
    ).fetchall()
    return {(position, statement): label for position, statement, label in rows}
