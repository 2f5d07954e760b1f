"""Train the model of one quality: choose examples, fine-tune, calibrate and score."""

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
from ragboard.judges.trained.classifier import MODEL_INPUTS, Classifier, TextTooLongError
from ragboard.judges.trained.judge_file import JUDGE_FILE, TrainedQuality
from ragboard.readers.ares import AresRow
from ragboard.stats import Platt, fit_platt
from ragboard.tasks import AresQuality
from ragboard.training.examples import (
    Split,
    TrainingExample,
    exclude_training_examples,
    labelled_examples,
    training_examples,
)
from ragboard.training.optimise import Epoch, Input, TrainConfig, optimise
from ragboard.training.scores import HUMAN_LABELS, ScoreSet, baseline_thresholds, score

__all__ = ["FitResult", "OnProgress", "OneClassError", "TrainContext", "fit", "load_for_training"]

OnProgress: TypeAlias = Callable[[AresQuality, int, int, Epoch | None], None]
"""A callback after every step: quality, steps done, maximum number of steps, and the epoch if one just ended."""

THRESHOLD = 0.5
"""Minimum calibrated probability at which a quality holds."""


class OneClassError(Exception):
    """The training or validation examples of a quality are all positive or all negative."""


@dataclass(frozen=True, kw_only=True)
class FitResult:
    """The trained model of one quality, with statistics of the training."""

    quality: AresQuality
    trained: TrainedQuality
    """The inputs, calibration and threshold of the model."""
    device: str
    """The device on which the model was trained: `cpu`, `cuda` or `mps`."""
    sizes: Mapping[str, tuple[int, int]]
    """Numbers of (positive, negative) examples by split."""
    dropped: Mapping[str, int]
    """Numbers of rows that were not used, by reason."""
    epochs: tuple[Epoch, ...]
    best_epoch: int
    """Number of the epoch with the final weights."""
    scores: tuple[ScoreSet, ...]
    seconds: float


@dataclass(frozen=True, kw_only=True)
class TrainContext:
    """Settings and data that all qualities share."""

    folder: Path
    """The folder of the model to fine-tune."""
    max_length: int
    config: TrainConfig
    splits: Mapping[Split, Sequence[AresRow]]
    rows_across_splits: int
    """Number of rows that were left out because they have texts of documents in two splits."""
    labels: Sequence[AresRow]
    """Rows with human labels, which are used only for scores."""


def fit(context: TrainContext, quality: AresQuality, out: Path, on_progress: OnProgress | None) -> FitResult:
    """Fine-tune and calibrate a model for the quality, and write it into the folder `out`.

    Raises OneClassError if the training or validation examples are all of one class.
    """
    start = time.perf_counter()
    dropped = Counter(
        {"that connect documents of two splits": context.rows_across_splits} if context.rows_across_splits else ()
    )
    examples: dict[Split, list[TrainingExample]] = {
        split: training_examples(rows, quality, dropped) for split, rows in context.splits.items()
    }
    with _seeded(context.config.seed):
        classifier = Classifier(load_for_training(context.folder), MODEL_INPUTS[quality], context.max_length)
        training, validation = (_inputs(classifier, examples[split], dropped) for split in ("train", "validation"))
        for split, inputs in (("train", training), ("validation", validation)):
            if len({holds for _, holds in inputs}) < 2:
                raise OneClassError(f"its {split} examples are all positive or all negative")

        def report(done: int, total: int, epoch: Epoch | None) -> None:
            if on_progress:
                on_progress(quality, done, total, epoch)

        epochs, best = optimise(classifier, training, validation, context.config, report)
    outputs = classifier.logits([text for text, _ in validation])
    calibration = fit_platt(outputs, [holds for _, holds in validation])
    trained = TrainedQuality(reads=MODEL_INPUTS[quality], calibration=calibration, threshold=THRESHOLD)
    _save(classifier, out)
    return FitResult(
        quality=quality,
        trained=trained,
        device=str(classifier.encoder.device.type),
        sizes={
            split: (
                sum(example.holds for example in split_examples),
                sum(not example.holds for example in split_examples),
            )
            for split, split_examples in examples.items()
        },
        dropped={reason: count for reason, count in dropped.items() if count},
        epochs=epochs,
        best_epoch=best,
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
    """Context in which the libraries print no warnings about the new output layer."""
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


def load_for_training(folder: Path) -> Any:
    """Load a model for training, with 32-bit weights. If it does not have one output, it gets a new output layer."""
    with _quiet():
        return load(
            "CrossEncoder",
            folder,
            num_labels=1,
            model_kwargs={"ignore_mismatched_sizes": True, "torch_dtype": "float32"},
        )


def _save(classifier: Classifier, out: Path) -> None:
    """Write the model's files. An old `judge.json` is deleted first, because it describes other files."""
    safetensors_error = cast("type[Exception]", import_module("safetensors").SafetensorError)
    try:
        (out.parent / JUDGE_FILE).unlink(missing_ok=True)
        with _quiet():
            classifier.encoder.save_pretrained(str(out), create_model_card=False)
    except (OSError, safetensors_error) as error:
        raise StoreError(f"{out}: cannot be written: {error}; choose another folder with --out") from error


def _inputs(classifier: Classifier, examples: Sequence[TrainingExample], dropped: Counter[str]) -> list[Input]:
    """Return the examples as inputs of the model. Of a long document, only the first window is used."""
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
    examples: Mapping[Split, Sequence[TrainingExample]],
    classifier: Classifier,
    trained: TrainedQuality,
) -> Iterator[ScoreSet]:
    """Yield the scores of the judge and the baselines on examples that were not used for training."""
    thresholds = baseline_thresholds(quality, examples["validation"])
    synthetic = examples["held out"]
    sets = {
        "held-out synthetic documents": synthetic,
        "the same, strong negatives only": [
            example for example in synthetic if example.holds or example.strong_negative
        ],
        HUMAN_LABELS: exclude_training_examples(
            labelled_examples(context.labels, quality), [*examples["train"], *examples["validation"]]
        ),
    }
    for name, candidates in sets.items():
        scored: list[TrainingExample] = []
        probabilities: list[float] = []
        for example in candidates:
            probability = _probability(classifier, example, trained.calibration)
            if probability is not None:
                scored.append(example)
                probabilities.append(probability)
        scores = score(name, quality, scored, probabilities, thresholds, threshold=trained.threshold)
        if scores:
            yield scores


def _probability(classifier: Classifier, example: TrainingExample, calibration: Platt) -> float | None:
    """Return the probability that the quality holds; None if question and answer are too long."""
    try:
        texts = classifier.texts(example.question, [example.document], example.answer)
    except TextTooLongError:
        return None
    return max(map(calibration.probability, classifier.logits(texts)), default=None)
