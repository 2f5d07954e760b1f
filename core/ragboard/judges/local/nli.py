"""A judge that verifies with an NLI cross-encoder on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from threading import Lock
from typing import TypeAlias

from ragboard.errors import SettingError
from ragboard.judges.local.entailment import CrossEncoder, NoRoomError, Pair, Spans
from ragboard.judges.local.models import digest, model_folder, readable
from ragboard.judges.local.verdicts import Odds, Seen, Thresholds, verdict
from ragboard.tasks import Failure, OnCall, Reply, Task, Verification, Verify, ignore_call

__all__ = ["NliJudge"]

VERSION = "1"
"""Changes with every change of windows or of rules that could change an answer."""

WINDOW = 256
"""Tokens of a passage that are read at once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Cell:
    """A window to be read with a statement."""

    rank: int
    start: int
    end: int
    pair: Pair


Row: TypeAlias = tuple[tuple[_Cell, ...], ...]
"""For each passage its windows, with one statement."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Asked:
    """A task, and what is to be read for each of its statements."""

    task: Verify
    rows: tuple[Row, ...]

    @property
    def cells(self) -> Iterator[_Cell]:
        for row in self.rows:
            yield from chain(*row)


class NliJudge:
    """Answers Verify: each passage is the premise, in windows of at most `window` tokens, a statement the hypothesis.

    A window supports from an entailment of `supports` on, and contradicts from a contradiction of
    `contradicts` on. A passage's verdict is supported if one of its windows supports, else contradicted
    if one contradicts, else unsupported; the joint verdict is the same over the windows of all
    passages, so two passages that only together say something do not support it.

    `model` is a folder or a name on Hugging Face. Raises JudgeError where the model cannot be had or is
    none for entailment, SettingError for thresholds or a window that cannot be. The weights are loaded
    with the first task; `answer` raises JudgeError where that fails.
    """

    heuristic = False
    answers: frozenset[type[Task]] = frozenset({Verify})
    together = 8

    def __init__(self, model: str, *, window: int = WINDOW, supports: float = 0.5, contradicts: float = 0.5) -> None:
        if window < 1 or not (0 < supports <= 1 and 0 < contradicts <= 1):
            raise SettingError("a window has at least 1 token, a threshold is above 0 and at most 1")
        folder = model_folder(model)
        self.model = model
        self.window = window
        self.thresholds = Thresholds(supports=supports, contradicts=contradicts)
        self._encoder = CrossEncoder(folder)
        self._digest = digest(folder)
        self._reading = Lock()

    @property
    def name(self) -> str:
        """`nli:MODEL`."""
        return f"nli:{self.model}"

    def __repr__(self) -> str:
        return f"NliJudge({self.model!r})"

    def identity(self, task: type[Task]) -> str:
        """Model and a digest of its files, window, thresholds."""
        limits = f"{self.thresholds.supports:g}/{self.thresholds.contradicts:g}"
        return f"nli/{VERSION}/{self.model}/{self._digest}/{self.window}/{limits}/{task.__name__}"

    async def answer(self, tasks: Sequence[Task], _on_call: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        """One reply or failure for each task, in order; the model reads all their pairs in one go, in a thread."""
        return await asyncio.to_thread(self._replies, tasks)

    def _replies(self, tasks: Sequence[Task]) -> list[Reply | Failure]:
        with self._reading:
            all_asked = [self._asked(task) for task in tasks]
            cells = chain(*(asked.cells for asked in all_asked if isinstance(asked, _Asked)))
            pairs = list(dict.fromkeys(cell.pair for cell in cells))
            odds = dict(zip(pairs, self._encoder.odds(pairs), strict=True))
        return [asked if isinstance(asked, Failure) else self._reply(asked, odds) for asked in all_asked]

    def _asked(self, task: Task) -> _Asked | Failure:
        if not isinstance(task, Verify):
            return Failure(detail=f"{self.name} does not answer {type(task).__name__}")
        statements, passages = (tuple(map(readable, texts)) for texts in (task.statements, task.passages))
        try:
            rooms = [self._encoder.room(statement, self.window) for statement in statements]
        except NoRoomError as error:
            return Failure(detail=str(error))
        cut = {room: [self._encoder.spans(passage, room) for passage in passages] for room in set(rooms)}
        rows = (_row(said, passages, cut[room]) for said, room in zip(statements, rooms, strict=True))
        return _Asked(task=task, rows=tuple(rows))

    def _reply(self, asked: _Asked, odds: Mapping[Pair, Odds | None]) -> Reply | Failure:
        if any(odds[cell.pair] is None for cell in asked.cells):
            return Failure(detail=f"{self.name} gave something that is no number")
        rows = [[_seen(cells, odds) for cells in row] for row in asked.rows]
        joint = (verdict([*chain(*row)], self.thresholds) for row in rows)
        single = (tuple(verdict(seen, self.thresholds) for seen in row) for row in rows)
        return Verification(
            joint=tuple(joint) if asked.task.joint else (), single=tuple(single) if asked.task.single else ()
        )


def _row(statement: str, passages: Sequence[str], cut: Sequence[Spans]) -> Row:
    return tuple(
        tuple(_Cell(rank=rank, start=start, end=end, pair=(passage[start:end], statement)) for start, end in spans)
        for rank, (passage, spans) in enumerate(zip(passages, cut, strict=True), start=1)
    )


def _seen(cells: Sequence[_Cell], odds: Mapping[Pair, Odds | None]) -> list[Seen]:
    found = ((cell, odds[cell.pair]) for cell in cells)
    return [Seen(rank=cell.rank, start=cell.start, end=cell.end, odds=said) for cell, said in found if said]
