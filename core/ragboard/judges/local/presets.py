"""Presets of local models: their input formats, and the results that their authors published."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias

from ragboard.errors import JudgeError, SettingError
from ragboard.records import Label

__all__ = ["DEFAULT", "HeadKind", "ModelChoice", "Preset", "Reading", "choose_model", "presets"]

DEFAULT = "minicheck"
"""The preset of `--judge local`: the fact checker with the best published result that runs on a laptop."""

HeadKind: TypeAlias = Literal["sequence", "tokens", "seq2seq"]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A model's input format, and the meaning of its outputs.

    The repr is part of the judge's identity. Do not rename the class or a field: stored evaluations could not continue.
    """

    head: HeadKind = "sequence"
    """The output: a label for the text (`sequence`), a label for each token (`tokens`), or an answer (`seq2seq`)."""
    texts: tuple[str, ...] = ("{passage}", "{statement}")
    """Templates of the input: one text, or two that the tokenizer joins. Fields: question, passage, statement."""
    outputs: tuple[Label, ...] = ()
    """The meaning of the model's outputs, in order; empty: the labels in its config.json."""
    answers: tuple[str, ...] = ()
    """For `seq2seq`: the generated answer of each output."""
    window: int = 256
    """Maximum number of tokens of a passage in one input."""
    length: int | None = None
    """Maximum number of tokens of the whole input; None: the limit in the model's files."""


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A published model. Its results are those of its authors."""

    name: str
    model: str
    """Its name on Hugging Face."""
    reading: Reading
    parameters: str
    languages: str
    licence: str
    published: str
    """The result that its authors published."""
    source: str
    """The publication of the result."""
    checked: str
    """The source of its input format."""
    download: float | None = None
    """Size of its weights in GB; None if unknown."""
    refused: str = ""
    """Why ragboard does not run it; empty if it does."""


@dataclass(frozen=True, kw_only=True)
class ModelChoice:
    """The model that a judge's name `local:NAME` selects."""

    name: str
    """The preset's name, such as `minicheck`; without a preset, the folder or Hugging Face name."""
    location: str
    """The folder of the model, or its name on Hugging Face."""
    reading: Reading


@cache
def presets() -> Mapping[str, Preset]:
    """Return the presets by name."""
    tables = tomllib.loads(files("ragboard").joinpath("judges/local/presets.toml").read_text("utf-8"))
    return {name: _preset(name, tables.get(table.pop("like", ""), {}) | table) for name, table in tables.items()}


def _preset(name: str, table: Mapping[str, Any]) -> Preset:
    reading_fields = {field.name for field in fields(Reading)} & table.keys()
    reading: dict[str, Any] = {
        key: tuple(table[key]) if isinstance(table[key], list) else table[key] for key in reading_fields
    }
    return Preset(name=name, reading=Reading(**reading), **{key: table[key] for key in table.keys() - reading_fields})


def choose_model(name: str) -> ModelChoice:
    """Return the model for `PRESET`, `PRESET@FOLDER`, a folder or a Hugging Face name.

    The Hugging Face name of a preset's model selects the preset. Raises SettingError for an unknown preset in
    `PRESET@FOLDER`, JudgeError for a model that ragboard does not run.
    """
    known = presets()
    preset_name, at, location = name.partition("@")
    if at and location and preset_name not in known:
        raise SettingError(f"no preset is called {preset_name!r}; the presets are {', '.join(known)}")
    preset = known.get(preset_name) or next((preset for preset in known.values() if preset.model == name), None)
    if preset is None or (at and not location):
        return ModelChoice(name=name, location=name, reading=Reading())
    if preset.refused:
        raise JudgeError(f"ragboard does not run {preset.model}: {preset.refused}")
    return ModelChoice(name=preset.name, location=location or preset.model, reading=preset.reading)
