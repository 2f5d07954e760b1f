"""The file `judge.json` of a trained judge: its base model, its training data and its calibration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import TypeAdapter, ValidationError

from ragboard.errors import JudgeError
from ragboard.outputs import write_atomically
from ragboard.stats import Platt
from ragboard.tasks import AresQuality

__all__ = ["FORMAT", "JUDGE_FILE", "InputText", "JudgeFile", "TrainedQuality", "read_judge_file", "write_judge_file"]

JUDGE_FILE = "judge.json"
FORMAT = 1
"""The format version, incremented when older versions of ragboard could misread the folder."""

InputText: TypeAlias = Literal["question", "document", "answer"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainedQuality:
    """One quality that the judge was trained on."""

    reads: tuple[InputText, ...]
    """The texts that the model reads, in order; they are joined by ` | `."""
    calibration: Platt
    """Maps the model's output to the probability that the quality holds."""
    threshold: float
    """Minimum probability at which the quality holds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeFile:
    """The content of `judge.json`."""

    model: str
    """The base model's name."""
    base: str
    """A digest of the base model's files."""
    data: str
    """A digest of the training data."""
    seed: int
    max_length: int
    """Maximum number of tokens that the models read at once."""
    qualities: Mapping[AresQuality, TrainedQuality]
    """The qualities. The subfolder with a quality's name has its model."""
    format: int = FORMAT


_ADAPTER = TypeAdapter(JudgeFile)


def read_judge_file(folder: Path) -> JudgeFile:
    """Read `judge.json` in the folder. Raises JudgeError if it is missing, invalid or of another format."""
    path = folder / JUDGE_FILE
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(data, dict) and data.get("format") != FORMAT:
            raise JudgeError(f"{path}: has format {data.get('format')!r}, this version reads {FORMAT}; train it again")
        return _ADAPTER.validate_python(data)
    except FileNotFoundError as error:
        raise JudgeError(
            f"{folder}: contains no {JUDGE_FILE}; expected a folder that ragboard train-judge wrote"
        ) from error
    except ValidationError as error:
        field = ".".join(map(str, error.errors()[0]["loc"]))
        raise JudgeError(f"{path}: {field}: {error.errors()[0]['msg']}; train it again") from error
    except (OSError, ValueError) as error:
        raise JudgeError(f"{path}: cannot be read: {error}") from error


def write_judge_file(folder: Path, file: JudgeFile) -> None:
    """Write `judge.json` into the folder."""
    text = json.dumps(_ADAPTER.dump_python(file, mode="json"), indent=2) + "\n"
    write_atomically(folder / JUDGE_FILE, text.encode())
