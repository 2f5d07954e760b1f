"""Fine-tune a model, with early stopping on validation documents."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ragboard.errors import SettingError
from ragboard.judges.trained.classifier import Classifier
from ragboard.stats import auroc

__all__ = ["Epoch", "Input", "TrainConfig", "optimise"]

WARM_UP = 0.1
"""Share of the steps in which the learning rate rises."""

LENGTH_STEP = 200
"""Texts are sorted by length in steps of this many characters, then cut into batches."""

Input = tuple[str, bool]
"""A text for the model, and whether the quality holds."""


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Settings of the training. With the same settings, data, model and machine, the weights are the same."""

    model: str | None = None
    """A folder, or a name on Hugging Face. None: MiniLM."""
    epochs: int = 10
    """Maximum number of epochs."""
    patience: int = 3
    """Training stops after this many epochs without a lower validation loss."""
    batch: int = 8
    learning_rate: float = 1e-4
    """The peak of the learning rate, which rises over the first tenth of the steps and then falls to 0."""
    max_length: int | None = None
    """Maximum tokens of an input. None: 256, or the model's limit if that is less."""
    seed: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Epoch:
    """Results of one pass over the training examples."""

    number: int
    training_loss: float
    """Mean training cross-entropy; lower is better."""
    validation_loss: float
    """Mean validation cross-entropy; lower is better."""
    validation_auroc: float


def optimise(
    classifier: Classifier,
    training: Sequence[Input],
    validation: Sequence[Input],
    config: TrainConfig,
    on_progress: Callable[[int, int, Epoch | None], None],
) -> tuple[tuple[Epoch, ...], int]:
    """Train the classifier. It gets the weights of the epoch with the lowest validation loss.

    Return all epochs, and the number of the best. AdamW minimises the cross-entropy, with equal total weights of both
    classes, in bfloat16 if the GPU supports it. Training and validation examples must have both classes. Raises
    SettingError if the validation loss is NaN or infinite.
    """
    torch = import_module("torch")
    per_epoch = math.ceil(len(training) / config.batch)
    steps = per_epoch * config.epochs
    optimiser = torch.optim.AdamW(classifier.encoder.parameters(), lr=config.learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: _schedule(step, steps))
    positive = sum(holds for _, holds in training)
    odds = torch.tensor((len(training) - positive) / positive, device=classifier.encoder.device)
    loss = torch.nn.BCEWithLogitsLoss(pos_weight=odds)
    rng = random.Random(config.seed)  # noqa: S311 - not a secret
    epochs: list[Epoch] = []
    best = 0
    weights: dict[str, Any] = {}
    for number in range(1, config.epochs + 1):
        losses: list[float] = []
        classifier.encoder.train()
        for batch in _batches(training, config.batch, rng):
            losses.append(_step(classifier, batch, loss, optimiser))
            schedule.step()
            on_progress((number - 1) * per_epoch + len(losses), steps, None)
        epochs.append(_evaluate(classifier, number, sum(losses) / len(losses), validation))
        on_progress(number * per_epoch, steps, epochs[-1])
        if not best or epochs[-1].validation_loss < epochs[best - 1].validation_loss:
            best = number
            weights = {name: values.detach().cpu().clone() for name, values in classifier.encoder.state_dict().items()}
        elif number - best >= config.patience:
            break
    classifier.encoder.load_state_dict(weights)
    return tuple(epochs), best


def _schedule(step: int, steps: int) -> float:
    """Return the learning rate at this step, as a share of the peak learning rate."""
    rising = max(1, round(WARM_UP * steps))
    return (step + 1) / rising if step < rising else (steps - step) / max(1, steps - rising)


def _batches(inputs: Sequence[Input], size: int, rng: random.Random) -> list[list[Input]]:
    """Return all inputs in batches, in random order. Texts of similar length share a batch, which saves padding."""
    shuffled = list(inputs)
    rng.shuffle(shuffled)
    shuffled.sort(key=lambda item: len(item[0]) // LENGTH_STEP)
    batches = [shuffled[start : start + size] for start in range(0, len(shuffled), size)]
    rng.shuffle(batches)
    return batches


def _step(classifier: Classifier, batch: Sequence[Input], loss: Any, optimiser: Any) -> float:
    torch = import_module("torch")
    bfloat16 = classifier.encoder.device.type == "cuda" and torch.cuda.is_bf16_supported()
    optimiser.zero_grad()
    with torch.autocast("cuda", dtype=torch.bfloat16) if bfloat16 else nullcontext():
        outputs = classifier.outputs([text for text, _ in batch])
    targets = torch.tensor([float(holds) for _, holds in batch], device=outputs.device)
    error = loss(outputs.float(), targets)
    error.backward()
    torch.nn.utils.clip_grad_norm_([*classifier.encoder.parameters()], 1.0)
    optimiser.step()
    return float(error.item())


def _evaluate(classifier: Classifier, number: int, training_loss: float, validation: Sequence[Input]) -> Epoch:
    logits = classifier.logits([text for text, _ in validation])
    truth = [holds for _, holds in validation]
    loss = sum(map(_loss, logits, truth)) / len(truth)
    if not math.isfinite(loss):
        raise SettingError(f"epoch {number}: the loss is not finite; lower --learning-rate")
    return Epoch(
        number=number,
        training_loss=training_loss,
        validation_loss=loss,
        validation_auroc=auroc(logits, truth),
    )


def _loss(logit: float, holds: bool) -> float:  # noqa: FBT001 - it is the value
    """Return the cross-entropy of one logit, computed without overflow."""
    return max(logit, 0.0) - logit * holds + math.log1p(math.exp(-abs(logit)))
