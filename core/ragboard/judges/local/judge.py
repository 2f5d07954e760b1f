"""A judge that verifies statements with a model on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import ClassVar, TypeAlias

from ragboard.errors import SettingError
from ragboard.judges.local.heads import StatementTooLongError, Texts, create_head
from ragboard.judges.local.models import ANY_HARDWARE, Hardware, digest, model_folder
from ragboard.judges.local.presets import DEFAULT, ModelChoice, Reading, choose_model, presets
from ragboard.judges.local.verdicts import Scores, Thresholds, WindowScores, combine_windows
from ragboard.tasks import Failure, OnCall, Reply, Task, Verification, Verify, ignore_call

__all__ = ["LocalJudge", "NliJudge"]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Window:
    """The part `[start:end]` of a passage, and the texts that the model reads to verify one statement against it."""

    rank: int
    start: int
    end: int
    texts: Texts


_StatementWindows: TypeAlias = tuple[tuple[_Window, ...], ...]
"""The windows of each passage for one statement."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _PreparedTask:
    """A task, with the windows for each statement."""

    task: Verify
    rows: tuple[_StatementWindows, ...]
    """One row per statement."""

    @property
    def windows(self) -> Iterator[_Window]:
        for row in self.rows:
            yield from chain(*row)


class LocalJudge:
    """Answers Verify with a model that reads a statement and a window of a passage, of at most `window` tokens.

    A window supports a statement if the model's probability of support is at least `supports`, and contradicts it if
    the probability of contradiction is at least `contradicts`. The verdict for a passage is supported if any window
    supports the statement, else contradicted if any window contradicts it, else unsupported. The joint verdict is the
    same for the windows of all passages, so a statement that needs two passages for its support is unsupported.

    `model` is a preset, `PRESET@FOLDER`, a folder or a name on Hugging Face. A model without a preset must have the
    labels of an entailment model. Raises SettingError for an unknown model and for an invalid threshold or window,
    JudgeError if the model cannot be downloaded or has another kind of output. The weights are loaded with the first
    task; `answer` raises JudgeError if that fails.
    """

    heuristic = False
    answers: frozenset[type[Task]] = frozenset({Verify})
    batch_size = 8
    prefix: ClassVar[str] = "local"
    version: ClassVar[str] = "1"
    """The version of the code, incremented when a change can change a reply."""

    def __init__(
        self,
        model: str = DEFAULT,
        *,
        window: int | None = None,
        supports: float = 0.5,
        contradicts: float = 0.5,
        hardware: Hardware = ANY_HARDWARE,
    ) -> None:
        if window is not None and window < 1:
            raise SettingError(f"window is {window}; expected at least 1 token")
        for name, threshold in (("supports", supports), ("contradicts", contradicts)):
            if not 0 < threshold <= 1:
                raise SettingError(f"{name} is {threshold}; expected a probability above 0 and at most 1")
        chosen = self._choose(model)
        folder = self._folder(chosen, hardware)
        self.model = chosen.name
        self.window = window or chosen.reading.window
        self.thresholds = Thresholds(supports=supports, contradicts=contradicts)
        self._head = create_head(folder, chosen.reading, hardware)
        self._digest = f"onnx-{digest(folder, backend='onnx')}" if hardware.backend == "onnx" else digest(folder)
        self._lock = Lock()

    def _choose(self, model: str) -> ModelChoice:
        return choose_model(model)

    def _folder(self, chosen: ModelChoice, hardware: Hardware) -> Path:
        try:
            return model_folder(chosen.location, hardware.backend)
        except SettingError as error:
            known = ", ".join(name for name, preset in presets().items() if not preset.refused)
            raise SettingError(f"{error}; or use a preset: {known}") from error

    @property
    def name(self) -> str:
        """The name that users see: `local:MODEL`."""
        return f"{self.prefix}:{self.model}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r})"

    def identity(self, task: type[Task]) -> str:
        """Return the model, a digest of its files and input format, the window, and the thresholds."""
        reading = blake2b(repr(replace(self._head.reading, window=0)).encode(), digest_size=4).hexdigest()
        return self._identity(f"{self._digest}-{reading}", task)

    def _identity(self, digest: str, task: type[Task]) -> str:
        limits = f"{self.thresholds.supports:g}/{self.thresholds.contradicts:g}"
        return f"{self.prefix}/{self.version}/{self.model}/{digest}/{self.window}/{limits}/{task.__name__}"

    async def answer(self, tasks: Sequence[Task], _on_call: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        """Return one reply or failure per task, in order; the model runs in a thread."""
        return await asyncio.to_thread(self._replies, tasks)

    def _replies(self, tasks: Sequence[Task]) -> list[Reply | Failure]:
        with self._lock:
            prepared = [self._prepare(task) for task in tasks]
            windows = chain(*(item.windows for item in prepared if isinstance(item, _PreparedTask)))
            texts = list(dict.fromkeys(window.texts for window in windows))
            scores = dict(zip(texts, self._head.predict(texts), strict=True))
        return [item if isinstance(item, Failure) else self._reply(item, scores) for item in prepared]

    def _prepare(self, task: Task) -> _PreparedTask | Failure:
        if not isinstance(task, Verify):
            return Failure(detail=f"{self.name} does not answer {type(task).__name__}")
        head = self._head
        statements, passages = (tuple(map(head.clean, texts)) for texts in (task.statements, task.passages))
        question = head.clean(task.question)
        try:
            rooms = [head.room(question, statement, self.window) for statement in statements]
        except StatementTooLongError as error:
            return Failure(detail=str(error))
        spans_by_room = {room: [head.spans(passage, room) for passage in passages] for room in set(rooms)}
        rows = (
            tuple(
                tuple(
                    _Window(rank=rank, start=start, end=end, texts=head.texts(question, passage[start:end], statement))
                    for start, end in spans
                )
                for rank, (passage, spans) in enumerate(zip(passages, spans_by_room[room], strict=True), start=1)
            )
            for statement, room in zip(statements, rooms, strict=True)
        )
        return _PreparedTask(task=task, rows=tuple(rows))

    def _reply(self, prepared: _PreparedTask, scores: Mapping[Texts, Scores | None]) -> Reply | Failure:
        if any(scores[window.texts] is None for window in prepared.windows):
            return Failure(detail=f"{self.name} returned a score that is not a number")
        rows = [[_window_scores(windows, scores) for windows in row] for row in prepared.rows]
        joint = (combine_windows([*chain(*row)], self.thresholds) for row in rows)
        single = (tuple(combine_windows(windows, self.thresholds) for windows in row) for row in rows)
        return Verification(
            joint=tuple(joint) if prepared.task.joint else (), single=tuple(single) if prepared.task.single else ()
        )


def _window_scores(windows: Sequence[_Window], scores: Mapping[Texts, Scores | None]) -> list[WindowScores]:
    return [
        WindowScores(rank=window.rank, start=window.start, end=window.end, scores=window_scores)
        for window in windows
        if (window_scores := scores[window.texts]) is not None
    ]


class NliJudge(LocalJudge):
    """The local judge under its older name `nli:MODEL`, for entailment models.

    Its identity differs from that of `local:MODEL`, so evaluations stored with `nli:MODEL` can continue.
    """

    prefix: ClassVar[str] = "nli"

    def _choose(self, model: str) -> ModelChoice:
        return ModelChoice(name=model, location=model, reading=Reading())

    def identity(self, task: type[Task]) -> str:
        """Return the model, a digest of its files, the window, and the thresholds."""
        return self._identity(self._digest, task)
