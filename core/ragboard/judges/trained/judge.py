"""The judge that `ragboard train-judge` trains: one cross-encoder per ARES quality."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from ragboard.errors import JudgeError, SettingError
from ragboard.judges.local.models import ANY_HARDWARE, Hardware, digest, load, model_folder, running_on
from ragboard.judges.trained.classifier import Classifier, TextTooLongError
from ragboard.judges.trained.judge_file import JUDGE_FILE, read_judge_file
from ragboard.tasks import AresQuality, Classification, Classify, Failure, OnCall, Reply, Task, ignore_call

__all__ = ["TrainedJudge"]

VERSION = "1"
"""Incremented when a change of the code can change a reply."""


class TrainedJudge:
    """Answers Classify tasks with the models in a folder that `ragboard train-judge` wrote.

    Long contexts are read in windows. The window with the highest probability decides. The weights of a quality are
    loaded with its first task. Raises SettingError if there is no such folder, JudgeError if the folder is invalid or
    sentence-transformers is not installed.
    """

    heuristic = False
    answers: frozenset[type[Task]] = frozenset({Classify})
    batch_size = 32

    def __init__(self, folder: str | Path, *, hardware: Hardware = ANY_HARDWARE) -> None:
        self.hardware = hardware
        self.folder = Path(folder).expanduser()
        if not self.folder.is_dir():
            raise SettingError(f"{folder}: no such folder; expected one that ragboard train-judge wrote")
        self.file = read_judge_file(self.folder)
        model_folder(str(self.folder))  # raises JudgeError if sentence-transformers is not installed
        for quality in self.file.qualities:
            if not (self.folder / quality / "config.json").is_file():
                raise JudgeError(
                    f"{self.folder / quality}: the model that {JUDGE_FILE} names is missing; train it again"
                )
        self._digest = digest(self.folder, ("", *self.file.qualities))
        self._loaded: dict[AresQuality, Classifier] = {}
        self._lock = Lock()

    @property
    def name(self) -> str:
        """The name that users see: `trained:FOLDER`."""
        return f"trained:{self.folder}"

    def __repr__(self) -> str:
        return f"TrainedJudge({str(self.folder)!r})"

    def identity(self, task: type[Task]) -> str:
        """Return the base model's name and a digest of the judge's files; the path of the folder does not matter."""
        return f"trained/{VERSION}/{self.file.model}/{self._digest}/{task.__name__}"

    async def answer(self, tasks: Sequence[Task], _on_call: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        """Return one reply or failure per task, in order; the models run in a thread."""
        return await asyncio.to_thread(self._replies, tasks)

    def _replies(self, tasks: Sequence[Task]) -> list[Reply | Failure]:
        with self._lock, running_on(self.hardware):
            inputs = [self._texts(task) for task in tasks]
            by_quality: dict[AresQuality, list[str]] = {
                quality: [
                    text
                    for task, texts in zip(tasks, inputs, strict=True)
                    if isinstance(task, Classify) and task.quality == quality and not isinstance(texts, Failure)
                    for text in texts
                ]
                for quality in self.file.qualities
            }
            logits: dict[AresQuality, dict[str, float]] = {
                quality: self._logits(quality, texts) for quality, texts in by_quality.items() if texts
            }
        return [self._reply(task, texts, logits) for task, texts in zip(tasks, inputs, strict=True)]

    def _texts(self, task: Task) -> tuple[str, ...] | Failure:
        if not isinstance(task, Classify):
            return Failure(detail=f"{self.name} does not answer {type(task).__name__}")
        if task.quality not in self.file.qualities:
            trained = ", ".join(self.file.qualities)
            return Failure(detail=f"{self.name} was not trained on {task.quality}, only on {trained}")
        try:
            texts = self._classifier(task.quality).texts(task.question, task.contexts, task.answer)
        except TextTooLongError as error:
            return Failure(detail=str(error))
        return texts or Failure(detail="the sample has no passages")

    def _logits(self, quality: AresQuality, texts: Sequence[str]) -> dict[str, float]:
        unique = list(dict.fromkeys(texts))
        return dict(zip(unique, self._classifier(quality).logits(unique), strict=True))

    def _classifier(self, quality: AresQuality) -> Classifier:
        if quality not in self._loaded:
            trained = self.file.qualities[quality]
            encoder = load("CrossEncoder", self.folder / quality, self.hardware)
            if digest(self.folder, ("", *self.file.qualities)) != self._digest:
                raise JudgeError(
                    f"{self.folder}: the files have changed since the judge was created; create the judge again"
                )
            self._loaded[quality] = Classifier(encoder, trained.reads, self.file.max_length)
        return self._loaded[quality]

    def _reply(
        self, task: Task, texts: tuple[str, ...] | Failure, logits: dict[AresQuality, dict[str, float]]
    ) -> Reply | Failure:
        if isinstance(texts, Failure) or not isinstance(task, Classify):
            return texts if isinstance(texts, Failure) else Failure(detail="not a Classify task")
        outputs = [logits[task.quality][text] for text in texts]
        if not all(map(math.isfinite, outputs)):
            return Failure(detail=f"{self.name} returned NaN or infinity")
        trained = self.file.qualities[task.quality]
        probability = round(max(map(trained.calibration.probability, outputs)), 4)
        highest = "" if len(texts) == 1 else f", the highest of {len(texts)} windows of the passages"
        return Classification(
            holds=probability >= trained.threshold,
            probability=probability,
            reason=f"Probability {probability:.2f}{highest}; threshold {trained.threshold:.2f}.",
        )
