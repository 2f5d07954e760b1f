"""Local models by name: how each is asked, and what is known of it."""

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
"""The preset of `local` alone: of the fact checkers that fit a laptop, the one with the best published figure."""

HeadKind: TypeAlias = Literal["sequence", "tokens", "seq2seq"]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a model is asked about a statement, and what its outputs mean."""

    head: HeadKind = "sequence"
    """`sequence`: one label for the text; `tokens`: a label for each token; `seq2seq`: the first token of an answer."""
    texts: tuple[str, ...] = ("{passage}", "{statement}")
    """What the model reads: one text, or two that its tokenizer joins; the fields are question, passage, statement."""
    outputs: tuple[Label, ...] = ()
    """What its outputs mean, in order; empty: the labels in its config.json say so."""
    answers: tuple[str, ...] = ()
    """For `seq2seq`, the answer that stands for each output."""
    window: int = 256
    """The most tokens of a passage that are read at a time."""
    length: int | None = None
    """The most tokens that the model reads in all; None: as its files say."""


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A published model. We have run none of them: the figures are those of its makers."""

    name: str
    model: str
    """Its name on Hugging Face."""
    reading: Reading
    parameters: str
    languages: str
    licence: str
    published: str
    """A figure of its makers."""
    source: str
    """Where that figure is from."""
    checked: str
    """Where we looked up how it is asked."""
    download: float | None = None
    """Size of its weights in GB; None if we could not look it up."""
    refused: str = ""
    """Why ragboard does not run it; empty if it does."""


@dataclass(frozen=True, kw_only=True)
class ModelChoice:
    """What `local:NAME` means."""

    name: str
    """The name without a place: `minicheck`, or the folder or Hugging Face name of a model without a preset."""
    place: str
    """The folder or the name on Hugging Face."""
    reading: Reading


@cache
def presets() -> Mapping[str, Preset]:
    """Return the presets by name."""
    tables = tomllib.loads(files("ragboard").joinpath("judges/local/presets.toml").read_text("utf-8"))
    return {name: _preset(name, tables.get(table.pop("like", ""), {}) | table) for name, table in tables.items()}


def _preset(name: str, table: Mapping[str, Any]) -> Preset:
    names = {field.name for field in fields(Reading)} & table.keys()
    reading: dict[str, Any] = {key: tuple(table[key]) if isinstance(table[key], list) else table[key] for key in names}
    return Preset(name=name, reading=Reading(**reading), **{key: table[key] for key in table.keys() - names})


def choose_model(name: str) -> ModelChoice:
    """Return the model of `PRESET`, `PRESET@FOLDER`, or a folder or Hugging Face name.

    A preset's own name on Hugging Face means the preset. Raises SettingError for an unknown preset before an `@`,
    JudgeError for a model that ragboard does not run.
    """
    known = presets()
    before, at, place = name.partition("@")
    if at and place and before not in known:
        raise SettingError(f"no preset is called {before!r}; there are {', '.join(known)}")
    preset = known.get(before) or next((one for one in known.values() if one.model == name), None)
    if preset is None or (at and not place):
        return ModelChoice(name=name, place=name, reading=Reading())
    if preset.refused:
        raise JudgeError(f"{preset.model} is not run: {preset.refused}")
    return ModelChoice(name=preset.name, place=place or preset.model, reading=preset.reading)
