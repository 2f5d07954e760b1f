"""A judge that runs an NLI cross-encoder on this machine."""

from __future__ import annotations

import asyncio
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeAlias

from ragboard.errors import JudgeError, SettingError
from ragboard.judges.local.models import digest, load, model_folder, read_json, readable
from ragboard.records import Evidence, Label, Verdict
from ragboard.tasks import Failure, OnCall, Reply, Task, Verification, Verify, ignore_call
from ragboard.text.sentences import sentence_spans

__all__ = [
    "NliJudge",
    "NliScores",
    "OutputLabels",
    "Pair",
    "Thresholds",
    "WindowScores",
    "span",
    "token_borders",
    "verdict",
    "windows",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class NliScores:
    """The probabilities that a model gives a pair of texts, in [0, 1]."""

    entailment: float
    contradiction: float | None
    """None for a model without a label for contradiction."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowScores:
    """A window `text[start:end]` of the passage at `rank`, and the probabilities of a statement for it."""

    rank: int
    start: int
    end: int
    scores: NliScores


@dataclass(frozen=True, kw_only=True, slots=True)
class Thresholds:
    """The least probabilities at which a window supports or contradicts."""

    supports: float = 0.5
    contradicts: float = 0.5


def verdict(windows: Sequence[WindowScores], thresholds: Thresholds) -> Verdict:
    """Combine windows into a verdict: supported if one of them supports, else contradicted if one contradicts.

    The score is the highest probability of entailment; None without a window.
    """
    if not windows:
        return Verdict(label="unsupported", reason="There is no text to hold it against.")
    best = max(windows, key=lambda one: one.scores.entailment)
    worst = max(windows, key=lambda one: one.scores.contradiction or 0.0)
    label = _label(best.scores.entailment, worst.scores.contradiction, thresholds)
    return Verdict(
        label=label,
        reason=_reason(label, best, worst, len(windows)),
        score=best.scores.entailment,
        evidence={"supported": (_mark(best, "for"),), "contradicted": (_mark(worst, "against"),)}.get(label, ()),
    )


def _label(entailment: float, contradiction: float | None, thresholds: Thresholds) -> Label:
    if entailment >= thresholds.supports:
        return "supported"
    denied = contradiction is not None and contradiction >= thresholds.contradicts
    return "contradicted" if denied else "unsupported"


def _reason(label: Label, best: WindowScores, worst: WindowScores, count: int) -> str:
    highest = "" if count == 1 else f", the highest of {count} windows"
    for_it, against = (
        f"entailment {best.scores.entailment:.2f}",
        f"contradiction {worst.scores.contradiction or 0.0:.2f}",
    )
    if label == "supported":
        return f"Passage {best.rank}: {for_it}{highest}."
    if label == "contradicted":
        return f"Passage {worst.rank}: {against}{highest}; {for_it} at most."
    known = for_it if worst.scores.contradiction is None else f"{for_it} and {against}"
    return f"Neither: {known}{highest}."


def _mark(window: WindowScores, stance: Literal["for", "against"]) -> Evidence:
    return Evidence(rank=window.rank, start=window.start, end=window.end, stance=stance, how="window")


Offsets = Sequence[tuple[int, int]]
"""The (start, end) of each token of a text, in reading order."""


def windows(length: int, borders: Sequence[int], room: int) -> tuple[range, ...]:
    """Split `range(length)` into windows of at most `room` tokens that cover it, in order.

    `borders` are the first tokens of sentences, ascending. A window ends at the last border in its second half, if
    there is one; the next begins at the first border in its last quarter. A sentence of at most half a window is
    complete in one of them.
    """
    found: list[range] = []
    start = 0
    while start < length:
        end = _end(start, length, borders, room)
        found.append(range(start, end))
        start = length if end == length else _next(end, borders, room // 4)
    return tuple(found)


def _end(start: int, length: int, borders: Sequence[int], room: int) -> int:
    if length <= start + room:
        return length
    last = borders[bisect_right(borders, start + room) - 1] if borders else 0
    return last if last > start + room // 2 else start + room


def _next(end: int, borders: Sequence[int], overlap: int) -> int:
    """Return the first border of the overlap; without one, the start of the overlap."""
    place = bisect_left(borders, end - overlap)
    return borders[place] if place < len(borders) and borders[place] <= end else end - overlap


def token_borders(offsets: Offsets, starts: Sequence[int]) -> tuple[int, ...]:
    """Return the tokens at these positions of the text; a token can include the space before it."""
    ends = [end for _, end in offsets]
    found = (bisect_right(ends, start) for start in starts)
    return tuple(dict.fromkeys(token for token in found if token < len(ends)))


def span(text: str, offsets: Offsets, window: range) -> tuple[int, int] | None:
    """Return (start, end) of a window in the text, without surrounding space; None if it is only space."""
    start, end = offsets[window.start][0], offsets[window.stop - 1][1]
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    end -= len(piece) - len(piece.rstrip())
    return (start, end) if start < end else None


Pair: TypeAlias = tuple[str, str]
"""A premise and a hypothesis."""

Spans: TypeAlias = tuple[tuple[int, int], ...]
"""(start, end) of stretches of a text, in characters."""

BATCH = 32
"""Pairs per batch of the model."""

SPARE = 4
"""Spare tokens: a piece of a text can have a few more tokens than it had within the text."""

LEAST = 16
"""The least tokens of a passage that must fit beside a statement."""


class StatementTooLongError(Exception):
    """A statement is so long that the model can read no passage beside it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OutputLabels:
    """The indices of the model's outputs, by label."""

    count: int
    entailment: int
    contradiction: int | None

    @classmethod
    def read(cls, folder: Path) -> OutputLabels:
        """Read `id2label` in the model's config.json, in any order and case.

        The labels can be entailment, contradiction and neutral; entailment and not_entailment; or entailment. Raises
        JudgeError for other labels.
        """
        config = read_json(folder, "config.json", "a cross-encoder trained for entailment")
        named = config.get("id2label") if isinstance(config, dict) else None
        names = [str(name) for _, name in sorted(named.items(), key=_place)] if isinstance(named, dict) else []
        known = [name.lower().replace("-", "_") for name in names]
        if set(known) not in _KNOWN or len(set(known)) < len(known):
            raise JudgeError(
                f"{folder}: its labels are {', '.join(names) or 'not named'};"
                " expected entailment, contradiction and neutral (id2label in config.json)"
            )
        contradiction = known.index("contradiction") if "contradiction" in known else None
        return cls(count=len(known), entailment=known.index("entailment"), contradiction=contradiction)

    def scores(self, logits: Sequence[float]) -> NliScores | None:
        """Return probabilities, rounded to four decimals; None if a logit is not finite."""
        if not all(map(math.isfinite, logits)):
            return None
        parts = _softmax(logits if self.count > 1 else (*logits, 0.0))
        return NliScores(
            entailment=round(parts[self.entailment], 4),
            contradiction=None if self.contradiction is None else round(parts[self.contradiction], 4),
        )


_KNOWN = ({"entailment", "contradiction", "neutral"}, {"entailment", "not_entailment"}, {"entailment"})


def _place(item: tuple[str, object]) -> tuple[int, str]:
    return len(item[0]), item[0]


def _softmax(logits: Sequence[float]) -> list[float]:
    highest = max(logits)
    powers = [math.exp(logit - highest) for logit in logits]
    total = sum(powers)
    return [power / total for power in powers]


class CrossEncoder:
    """The model in a folder, loaded at its first use. Not thread-safe."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.labels = OutputLabels.read(folder)

    @cached_property
    def _model(self) -> Any:
        model = load("CrossEncoder", self.folder)
        if not model.tokenizer.is_fast:
            raise JudgeError(f"{self.folder}: its tokenizer does not tell where a token stands; expected a fast one")
        return model

    @cached_property
    def _limit(self) -> int:
        """The most tokens of passage and statement together."""
        known = (self._model.max_seq_length, self._model.tokenizer.model_max_length)
        most = min(limit for limit in known if limit)
        return int(most) - int(self._model.tokenizer.num_special_tokens_to_add(pair=True)) - SPARE

    def room(self, statement: str, window: int) -> int:
        """Return the tokens of a passage that fit beside the statement, at most `window`.

        Raises StatementTooLongError if they are fewer than `LEAST`.
        """
        taken = len(self._offsets(statement))
        if self._limit - taken < min(LEAST, window):
            raise StatementTooLongError(
                f"a statement of {taken} tokens leaves no room for a passage; the model reads {self._limit} together"
            )
        return min(window, self._limit - taken)

    def spans(self, passage: str, room: int) -> Spans:
        """Return (start, end) of the windows of a passage; empty for an empty passage."""
        offsets = self._offsets(passage)
        borders = token_borders(offsets, [start for start, _ in sentence_spans(passage)])
        found = (span(passage, offsets, window) for window in windows(len(offsets), borders, room))
        return tuple(place for place in found if place)

    def _offsets(self, text: str) -> Sequence[tuple[int, int]]:
        cut: Mapping[str, Any] = self._model.tokenizer(
            text, add_special_tokens=False, return_offsets_mapping=True, truncation=False, verbose=False
        )
        offsets: Sequence[tuple[int, int]] = cut["offset_mapping"]
        return offsets

    def predict(self, pairs: Sequence[Pair]) -> list[NliScores | None]:
        """Return for each pair how likely the first text entails the second; None if the model gives no number."""
        if not pairs:
            return []
        as_they_are = import_module("torch").nn.Identity()
        rows = self._model.predict(list(pairs), batch_size=BATCH, activation_fn=as_they_are, show_progress_bar=False)
        return [self.labels.scores(row) for row in rows.reshape(len(pairs), -1).tolist()]


VERSION = "1"
"""Changes when a change of windows or rules can change an answer."""

WINDOW = 256
"""The most tokens of a passage in a window."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Cell:
    """A window to read with a statement."""

    rank: int
    start: int
    end: int
    pair: Pair


Row: TypeAlias = tuple[tuple[_Cell, ...], ...]
"""The windows of each passage, with one statement."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Asked:
    """A task, and the windows to read for each of its statements."""

    task: Verify
    rows: tuple[Row, ...]

    @property
    def cells(self) -> Iterator[_Cell]:
        for row in self.rows:
            yield from chain(*row)


class NliJudge:
    """Answers Verify: windows of a passage, of at most `window` tokens, are premises, a statement is the hypothesis.

    A window supports a statement if entailment is at least `supports`, and contradicts it if contradiction is at least
    `contradicts`. The verdict of a passage is supported if one of its windows supports, else contradicted if one
    contradicts, else unsupported. The joint verdict is that over the windows of all passages, so a statement that only
    two passages together support is unsupported.

    `model` is a folder or a name on Hugging Face. Raises JudgeError if the model cannot be loaded or is not a model for
    entailment, SettingError for invalid thresholds or windows. The weights are loaded with the first task; `answer`
    raises JudgeError if that fails.
    """

    heuristic = False
    answers: frozenset[type[Task]] = frozenset({Verify})
    batch_size = 8

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
        """Return the model with a digest of its files, window and thresholds."""
        limits = f"{self.thresholds.supports:g}/{self.thresholds.contradicts:g}"
        return f"nli/{VERSION}/{self.model}/{self._digest}/{self.window}/{limits}/{task.__name__}"

    async def answer(self, tasks: Sequence[Task], _on_call: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        """Return one reply or failure per task, in order; the model reads all pairs at once, in a thread."""
        return await asyncio.to_thread(self._replies, tasks)

    def _replies(self, tasks: Sequence[Task]) -> list[Reply | Failure]:
        with self._reading:
            all_asked = [self._asked(task) for task in tasks]
            cells = chain(*(asked.cells for asked in all_asked if isinstance(asked, _Asked)))
            pairs = list(dict.fromkeys(cell.pair for cell in cells))
            scores = dict(zip(pairs, self._encoder.predict(pairs), strict=True))
        return [asked if isinstance(asked, Failure) else self._reply(asked, scores) for asked in all_asked]

    def _asked(self, task: Task) -> _Asked | Failure:
        if not isinstance(task, Verify):
            return Failure(detail=f"{self.name} does not answer {type(task).__name__}")
        statements, passages = (tuple(map(readable, texts)) for texts in (task.statements, task.passages))
        try:
            rooms = [self._encoder.room(statement, self.window) for statement in statements]
        except StatementTooLongError as error:
            return Failure(detail=str(error))
        cut = {room: [self._encoder.spans(passage, room) for passage in passages] for room in set(rooms)}
        rows = (_row(said, passages, cut[room]) for said, room in zip(statements, rooms, strict=True))
        return _Asked(task=task, rows=tuple(rows))

    def _reply(self, asked: _Asked, scores: Mapping[Pair, NliScores | None]) -> Reply | Failure:
        if any(scores[cell.pair] is None for cell in asked.cells):
            return Failure(detail=f"{self.name} gave something that is no number")
        rows = [[_window_scores(cells, scores) for cells in row] for row in asked.rows]
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


def _window_scores(cells: Sequence[_Cell], scores: Mapping[Pair, NliScores | None]) -> list[WindowScores]:
    found = ((cell, scores[cell.pair]) for cell in cells)
    return [WindowScores(rank=cell.rank, start=cell.start, end=cell.end, scores=said) for cell, said in found if said]
