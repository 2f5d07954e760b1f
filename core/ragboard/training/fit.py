"""One quality is taught: examples, fine-tuning, calibration, scores."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from ragboard.errors import StoreError
from ragboard.judges.local.models import load
from ragboard.judges.tasks import AresQuality
from ragboard.judges.trained.files import FILE, Taught
from ragboard.judges.trained.reading import READS, Classifier, NoRoomError
from ragboard.readers.ares import AresRow
from ragboard.stats import Platt, fit_platt
from ragboard.training.examples import Example, Side, examples_of, labelled_examples, unlearnt
from ragboard.training.nouns import Course, Hear, Pupil
from ragboard.training.scores import PEOPLE, Scored, cuts_of, scored
from ragboard.training.teaching import Shown, teach

__all__ = ["NothingToLearnError", "School", "fresh", "lesson"]

THRESHOLD = 0.5
"""Of the calibrated probability."""


class NothingToLearnError(Exception):
    """The examples of a quality lack one of the classes."""


@dataclass(frozen=True, kw_only=True)
class School:
    """What all qualities share."""

    folder: Path
    """Of the model that is fine-tuned."""
    max_length: int
    course: Course
    sides: Mapping[Side, Sequence[AresRow]]
    straddling: int
    """Rows that were left out because they join documents of two sides."""
    labels: Sequence[AresRow]


def lesson(school: School, quality: AresQuality, out: Path, hear: Hear | None) -> Pupil:
    """Teach the quality and write its model into the folder `out`. Raises NothingToLearnError."""
    start = time.perf_counter()
    dropped = Counter({"that join documents of two sides": school.straddling} if school.straddling else ())
    examples: dict[Side, list[Example]] = {
        side: examples_of(rows, quality, dropped) for side, rows in school.sides.items()
    }
    with _seeded(school.course.seed):
        pupil = Classifier(fresh(school.folder), READS[quality], school.max_length)
        lessons, validation = (_shown(pupil, examples[side], dropped) for side in ("train", "validation"))
        _need_both({"train": lessons, "validation": validation})
        epochs, kept = teach(pupil, lessons, validation, school.course, _heard(quality, hear))
    outputs = pupil.logits([text for text, _ in validation])
    calibration = fit_platt(outputs, [holds for _, holds in validation])
    taught = Taught(reads=READS[quality], calibration=calibration, threshold=THRESHOLD)
    _saved(pupil, out)
    return Pupil(
        quality=quality,
        taught=taught,
        device=str(pupil.encoder.device.type),
        sizes={side: _sizes(given) for side, given in examples.items()},
        dropped={reason: count for reason, count in dropped.items() if count},
        epochs=epochs,
        kept=kept,
        scores=tuple(_scores(school, quality, examples, pupil, taught)),
        seconds=time.perf_counter() - start,
    )


@contextmanager
def _seeded(seed: int) -> Generator[None]:
    """Chance of torch as the seed has it, and then as it was."""
    torch = import_module("torch")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


@contextmanager
def _quiet() -> Generator[None]:
    """Without a word of the libraries: that an output is new is no news."""
    logs = import_module("transformers.utils.logging")
    heard, shown = logs.get_verbosity(), logs.is_progress_bar_enabled()
    library = logging.getLogger("sentence_transformers")
    level = library.level
    logs.set_verbosity_error()
    logs.disable_progress_bar()
    library.setLevel(logging.ERROR)
    try:
        yield
    finally:
        library.setLevel(level)
        logs.set_verbosity(heard)
        if shown:
            logs.enable_progress_bar()


def fresh(folder: Path) -> Any:
    """The model with one output, which is new where it had none or others; in whole floats, as AdamW needs."""
    with _quiet():
        return load(
            "CrossEncoder",
            folder,
            num_labels=1,
            model_kwargs={"ignore_mismatched_sizes": True, "torch_dtype": "float32"},
        )


def _saved(pupil: Classifier, out: Path) -> None:
    """Write the model's files, beside no file that would call what is half done a judge."""
    unsaved = cast("type[Exception]", import_module("safetensors").SafetensorError)
    try:
        (out.parent / FILE).unlink(missing_ok=True)
        with _quiet():
            pupil.encoder.save_pretrained(str(out), create_model_card=False)
    except (OSError, unsaved) as error:
        raise StoreError(f"{out}: cannot be written: {error}; name another with --out") from error


def _heard(quality: AresQuality, hear: Hear | None) -> Any:
    return (lambda done, of, epoch: hear(quality, done, of, epoch)) if hear else (lambda *_: None)


def _need_both(shown: Mapping[str, Sequence[Shown]]) -> None:
    for side, given in shown.items():
        if len({holds for _, holds in given}) < 2:
            raise NothingToLearnError(f"its examples for {side} are not of both classes")


def _shown(pupil: Classifier, examples: Sequence[Example], dropped: Counter[str]) -> list[Shown]:
    """Each as the model reads it; a document longer than it reads counts by its beginning."""
    found: list[Shown] = []
    for example in examples:
        try:
            found.append((pupil.texts(example.question, [example.document], example.answer)[0], example.holds))
        except NoRoomError:
            dropped["whose question and answer leave no room for a document"] += 1
    return found


def _sizes(examples: Sequence[Example]) -> tuple[int, int]:
    ups = sum(example.holds for example in examples)
    return ups, len(examples) - ups


def _scores(
    school: School,
    quality: AresQuality,
    examples: Mapping[Side, Sequence[Example]],
    pupil: Classifier,
    taught: Taught,
) -> Iterator[Scored]:
    cuts = cuts_of(quality, examples["validation"])
    held_out = examples["held out"]
    sets = {
        "held-out synthetic documents": held_out,
        "the same, strong negatives only": [one for one in held_out if one.holds or one.strong],
        PEOPLE: unlearnt(labelled_examples(school.labels, quality), [*examples["train"], *examples["validation"]]),
    }
    for on, given in sets.items():
        said = [(one, _probability(pupil, one, taught.calibration)) for one in given]
        read = [(one, each) for one, each in said if each is not None]
        known, probabilities = [one for one, _ in read], [each for _, each in read]
        found = scored(on, quality, known, probabilities, cuts, threshold=taught.threshold)
        if found:
            yield found


def _probability(pupil: Classifier, example: Example, calibration: Platt) -> float | None:
    """The highest of the windows, as the judge has it; None where it cannot be read."""
    try:
        texts = pupil.texts(example.question, [example.document], example.answer)
    except NoRoomError:
        return None
    return max(map(calibration.probability, pupil.logits(texts)), default=None)
