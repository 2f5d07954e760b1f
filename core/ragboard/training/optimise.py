"""Fine-tuning: steps through the examples, until the loss on other documents falls no more."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from importlib import import_module
from typing import Any

from ragboard.errors import SettingError
from ragboard.judges.trained.reading import Classifier
from ragboard.stats import auroc
from ragboard.training.nouns import Course, Epoch

__all__ = ["Shown", "teach"]

WARMING = 0.1
"""Share of the steps over which the learning rate rises."""

ALIKE = 200
"""Characters by which texts of like length may differ."""

Shown = tuple[str, bool]
"""A text as the model is shown it, and whether the quality holds."""


def teach(
    pupil: Classifier,
    lessons: Sequence[Shown],
    validation: Sequence[Shown],
    course: Course,
    hear: Callable[[int, int, Epoch | None], None],
) -> tuple[tuple[Epoch, ...], int]:
    """Train the classifier, and leave it with the weights of its best epoch; the epochs, and the best one's number.

    Cross-entropy, classes weighed alike; AdamW; on a GPU that can, in bfloat16. Each side needs both classes.
    Raises SettingError where the loss on validation is no number any more.
    """
    torch = import_module("torch")
    per_epoch = math.ceil(len(lessons) / course.batch)
    steps = per_epoch * course.epochs
    optimiser = torch.optim.AdamW(pupil.encoder.parameters(), lr=course.learning_rate)
    pace = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: _pace(step, steps))
    loss = torch.nn.BCEWithLogitsLoss(pos_weight=torch.tensor(_odds(lessons), device=pupil.encoder.device))
    order = random.Random(course.seed)  # noqa: S311 - no secret hangs on it
    epochs: list[Epoch] = []
    best = 0
    weights: dict[str, Any] = {}
    for number in range(1, course.epochs + 1):
        losses: list[float] = []
        pupil.encoder.train()
        for some in _batches(lessons, course.batch, order):
            losses.append(_step(pupil, some, loss, optimiser))
            pace.step()
            hear((number - 1) * per_epoch + len(losses), steps, None)
        epochs.append(_looked(pupil, number, sum(losses) / len(losses), validation))
        hear(number * per_epoch, steps, epochs[-1])
        if not best or epochs[-1].validation_loss < epochs[best - 1].validation_loss:
            best, weights = number, _copied(pupil)
        elif number - best >= course.patience:
            break
    pupil.encoder.load_state_dict(weights)
    return tuple(epochs), best


def _pace(step: int, steps: int) -> float:
    rising = max(1, round(WARMING * steps))
    return (step + 1) / rising if step < rising else (steps - step) / max(1, steps - rising)


def _odds(shown: Sequence[Shown]) -> float:
    ups = sum(holds for _, holds in shown)
    return (len(shown) - ups) / ups


def _batches(lessons: Sequence[Shown], size: int, order: random.Random) -> list[list[Shown]]:
    """All lessons once, in a new order; those of a batch are of like length, so that little is padding."""
    mixed = list(lessons)
    order.shuffle(mixed)
    mixed.sort(key=lambda shown: len(shown[0]) // ALIKE)
    batches = [mixed[start : start + size] for start in range(0, len(mixed), size)]
    order.shuffle(batches)
    return batches


def _step(pupil: Classifier, some: Sequence[Shown], loss: Any, optimiser: Any) -> float:
    torch = import_module("torch")
    parameters = [*pupil.encoder.parameters()]
    optimiser.zero_grad()
    with _precision(torch, pupil.encoder.device):
        outputs = pupil.outputs([text for text, _ in some])
    wanted = torch.tensor([float(holds) for _, holds in some], device=outputs.device)
    error = loss(outputs.float(), wanted)
    error.backward()
    torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    optimiser.step()
    return float(error.item())


def _precision(torch: Any, device: Any) -> Any:
    halved = device.type == "cuda" and torch.cuda.is_bf16_supported()
    return torch.autocast("cuda", dtype=torch.bfloat16) if halved else nullcontext()


def _looked(pupil: Classifier, number: int, training_loss: float, validation: Sequence[Shown]) -> Epoch:
    logits = pupil.logits([text for text, _ in validation])
    truth = [holds for _, holds in validation]
    loss = sum(map(_loss, logits, truth)) / len(truth)
    if not math.isfinite(loss):
        raise SettingError(f"epoch {number}: the loss is no number any more; lower --learning-rate")
    return Epoch(
        number=number,
        training_loss=training_loss,
        validation_loss=loss,
        validation_auroc=auroc(logits, truth),
    )


def _loss(logit: float, holds: bool) -> float:  # noqa: FBT001 - it is the value
    """Cross-entropy of one logit, computed without overflow."""
    return max(logit, 0.0) - logit * holds + math.log1p(math.exp(-abs(logit)))


def _copied(pupil: Classifier) -> dict[str, Any]:
    return {name: values.detach().cpu().clone() for name, values in pupil.encoder.state_dict().items()}
