"""Train the model of one quality: examples, fine-tuning, calibration, scores."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias, cast

from ragboard.errors import StoreError
from ragboard.judges.local.models import load
from ragboard.judges.trained.files import FILE, TrainedQuality
from ragboard.judges.trained.reading import PARTS_READ, Classifier, TextTooLongError
from ragboard.readers.ares import AresRow
from ragboard.stats import Platt, fit_platt
from ragboard.tasks import AresQuality
from ragboard.training.examples import Example, Split, examples_of, labelled_examples, unseen
from ragboard.training.optimise import Epoch, Input, TrainConfig, optimise
from ragboard.training.scores import HUMAN_LABELS, ScoreSet, baseline_thresholds, score

__all__ = ["FitResult", "OnProgress", "OneClassError", "TrainContext", "fit", "fresh"]

OnProgress: TypeAlias = Callable[[AresQuality, int, int, Epoch | None], None]
"""A callback after every step: quality, steps done, maximum number of steps, and the epoch if one just ended."""

THRESHOLD = 0.5
"""The calibrated probability at which a quality holds."""


class OneClassError(Exception):
    """The examples of a quality are all of one class."""


@dataclass(frozen=True, kw_only=True)
class FitResult:
    """The trained model of one quality, with statistics of the training."""

    quality: AresQuality
    taught: TrainedQuality
    device: str
    sizes: Mapping[str, tuple[int, int]]
    """Numbers of (positive, negative) examples by split."""
    dropped: Mapping[str, int]
    """Unused rows, by reason."""
    epochs: tuple[Epoch, ...]
    kept: int
    """Number of the epoch whose weights were kept."""
    scores: tuple[ScoreSet, ...]
    seconds: float


@dataclass(frozen=True, kw_only=True)
class TrainContext:
    """Settings and data that all qualities share."""

    folder: Path
    """Folder of the model to fine-tune."""
    max_length: int
    config: TrainConfig
    splits: Mapping[Split, Sequence[AresRow]]
    straddling: int
    """Number of rows left out because they connect documents of two splits."""
    labels: Sequence[AresRow]


def fit(context: TrainContext, quality: AresQuality, out: Path, on_progress: OnProgress | None) -> FitResult:
    """Fine-tune and calibrate a model of the quality, and write it into the folder `out`. Raises OneClassError."""
    start = time.perf_counter()
    dropped = Counter({"that join documents of two splits": context.straddling} if context.straddling else ())
    examples: dict[Split, list[Example]] = {
        split: examples_of(rows, quality, dropped) for split, rows in context.splits.items()
    }
    with _seeded(context.config.seed):
        classifier = Classifier(fresh(context.folder), PARTS_READ[quality], context.max_length)
        training, validation = (_inputs(classifier, examples[split], dropped) for split in ("train", "validation"))
        for split, inputs in (("train", training), ("validation", validation)):
            if len({holds for _, holds in inputs}) < 2:
                raise OneClassError(f"its examples for {split} are not of both classes")

        def report(done: int, total: int, epoch: Epoch | None) -> None:
            if on_progress:
                on_progress(quality, done, total, epoch)

        epochs, best = optimise(classifier, training, validation, context.config, report)
    outputs = classifier.logits([text for text, _ in validation])
    calibration = fit_platt(outputs, [holds for _, holds in validation])
    trained = TrainedQuality(reads=PARTS_READ[quality], calibration=calibration, threshold=THRESHOLD)
    _save(classifier, out)
    return FitResult(
        quality=quality,
        taught=trained,
        device=str(classifier.encoder.device.type),
        sizes={
            split: (sum(one.holds for one in of_split), sum(not one.holds for one in of_split))
            for split, of_split in examples.items()
        },
        dropped={reason: count for reason, count in dropped.items() if count},
        epochs=epochs,
        kept=best,
        scores=tuple(_scores(context, quality, examples, classifier, trained)),
        seconds=time.perf_counter() - start,
    )


@contextmanager
def _seeded(seed: int) -> Generator[None]:
    """Seed the random numbers of torch, and restore their state at the end."""
    torch = import_module("torch")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


@contextmanager
def _quiet() -> Generator[None]:
    """Silence the libraries' warning about new weights."""
    logs = import_module("transformers.utils.logging")
    verbosity, progress_bar = logs.get_verbosity(), logs.is_progress_bar_enabled()
    library = logging.getLogger("sentence_transformers")
    level = library.level
    logs.set_verbosity_error()
    logs.disable_progress_bar()
    library.setLevel(logging.ERROR)
    try:
        yield
    finally:
        library.setLevel(level)
        logs.set_verbosity(verbosity)
        if progress_bar:
            logs.enable_progress_bar()


def fresh(folder: Path) -> Any:
    """Return the model with one output, replacing its own if it has several, in 32-bit floats, which AdamW needs."""
    with _quiet():
        return load(
            "CrossEncoder",
            folder,
            num_labels=1,
            model_kwargs={"ignore_mismatched_sizes": True, "torch_dtype": "float32"},
        )


def _save(classifier: Classifier, out: Path) -> None:
    """Write the files of the model; the folder is no judge until `judge.json` is written."""
    unsaved = cast("type[Exception]", import_module("safetensors").SafetensorError)
    try:
        (out.parent / FILE).unlink(missing_ok=True)
        with _quiet():
            classifier.encoder.save_pretrained(str(out), create_model_card=False)
    except (OSError, unsaved) as error:
        raise StoreError(f"{out}: cannot be written: {error}; choose another folder with --out") from error


def _inputs(classifier: Classifier, examples: Sequence[Example], dropped: Counter[str]) -> list[Input]:
    """Return examples as inputs of the model; documents that are too long are truncated."""
    inputs: list[Input] = []
    for example in examples:
        try:
            inputs.append((classifier.texts(example.question, [example.document], example.answer)[0], example.holds))
        except TextTooLongError:
            dropped["whose question and answer leave no room for a document"] += 1
    return inputs


def _scores(
    context: TrainContext,
    quality: AresQuality,
    examples: Mapping[Split, Sequence[Example]],
    classifier: Classifier,
    trained: TrainedQuality,
) -> Iterator[ScoreSet]:
    cuts = baseline_thresholds(quality, examples["validation"])
    synthetic = examples["held out"]
    sets = {
        "held-out synthetic documents": synthetic,
        "the same, strong negatives only": [one for one in synthetic if one.holds or one.hard_negative],
        HUMAN_LABELS: unseen(labelled_examples(context.labels, quality), [*examples["train"], *examples["validation"]]),
    }
    for name, of_set in sets.items():
        all_probabilities = [(one, _probability(classifier, one, trained.calibration)) for one in of_set]
        scored = [(one, probability) for one, probability in all_probabilities if probability is not None]
        readable, probabilities = [one for one, _ in scored], [probability for _, probability in scored]
        scores = score(name, quality, readable, probabilities, cuts, threshold=trained.threshold)
        if scores:
            yield scores


def _probability(classifier: Classifier, example: Example, calibration: Platt) -> float | None:
    """Return the highest probability over the windows, as the judge does; None if question and answer are too long."""
    try:
        texts = classifier.texts(example.question, [example.document], example.answer)
    except TextTooLongError:
        return None
    return max(map(calibration.probability, classifier.logits(texts)), default=None)
