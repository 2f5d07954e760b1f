"""The file `judge.json` of a trained judge: what it was taught, and how its numbers become probabilities."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import TypeAdapter, ValidationError

from ragboard.errors import JudgeError
from ragboard.outputs import write_whole
from ragboard.stats import Platt
from ragboard.tasks import AresQuality

__all__ = ["FILE", "FORMAT", "Part", "TrainedFile", "TrainedQuality", "read_trained", "write_trained"]

FILE = "judge.json"
FORMAT = 1
"""Changes where an older version could misread the folder."""

Part: TypeAlias = Literal["question", "document", "answer"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainedQuality:
    """One quality that the judge was taught."""

    reads: tuple[Part, ...]
    """What the model is shown, in this order, joined by ` | `."""
    calibration: Platt
    """From the model's output to the probability that the quality holds."""
    threshold: float
    """From this probability on it holds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainedFile:
    """What is said of the whole judge."""

    model: str
    """What was fine-tuned, by name."""
    base: str
    """A digest of its files."""
    data: str
    """A digest of what it was taught on."""
    seed: int
    max_length: int
    """Tokens that the models read at once."""
    qualities: Mapping[AresQuality, TrainedQuality]
    """The model of each stands in the folder of that name."""
    format: int = FORMAT


_ADAPTER = TypeAdapter(TrainedFile)


def read_trained(folder: Path) -> TrainedFile:
    """What the folder's file says. Raises JudgeError where there is none, or one that this version cannot read."""
    path = folder / FILE
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(said, dict) and said.get("format") != FORMAT:
            raise JudgeError(f"{path}: has format {said.get('format')!r}, this version reads {FORMAT}; train it again")
        return _ADAPTER.validate_python(said)
    except FileNotFoundError as error:
        raise JudgeError(f"{folder}: holds no {FILE}; expected a folder that ragboard train-judge wrote") from error
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise JudgeError(f"{path}: {where}: {error.errors()[0]['msg']}; train it again") from error
    except (OSError, ValueError) as error:
        raise JudgeError(f"{path}: cannot be read: {error}") from error


def write_trained(folder: Path, said: TrainedFile) -> None:
    """Write the folder's file."""
    text = json.dumps(_ADAPTER.dump_python(said, mode="json"), indent=2) + "\n"
    write_whole(folder / FILE, text.encode())
