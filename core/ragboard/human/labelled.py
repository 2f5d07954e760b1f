"""Labelled rows: questions with passages, and statements, sentences or answers that people have judged."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from ragboard.errors import RunFileError
from ragboard.readers.cells import read_history
from ragboard.readers.files import file_lines, kind_of
from ragboard.records import Turn

__all__ = ["Kind", "Labelled", "read_labelled"]

Kind: TypeAlias = Literal["statements", "sentences", "answers"]
Row: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Labelled:
    """One row: texts that people have judged in the light of the same question and passages."""

    kind: Kind
    """Statements held against passages; sentences that help with the question or do not; whole answers."""
    question: str
    contexts: tuple[str, ...]
    history: tuple[Turn, ...] = ()
    """The earlier turns of the conversation, the oldest first."""
    texts: tuple[str, ...]
    labels: tuple[bool | None, ...]
    """For each text: supported (or helping) or not; None where people left it open."""
    cluster: str
    """What rows have in common that are not independent of each other."""


def read_labelled(
    path: Path,
    *,
    cluster: str | Callable[[Row], str] | None = None,
    label: str | None = None,
    at_least: float = 1.0,
) -> tuple[Labelled, ...]:
    """The rows of a JSONL file in the labelled form.

    A row has `question`, `contexts`, and `statements` or `sentences` (each with `text` and a `label`: 1,
    0 or null). With `label`, the path of a number in the row (`human.faithfulness`), its `answer` is what
    people judged, as faithful from `at_least` on. `cluster` is a field, or says what a row belongs to; else
    the question, or the first text where there is none. Raises RunFileError at a row that has none of this.
    """
    kind, encoding = kind_of(path)
    if kind != "JSONL":
        raise RunFileError(path, f"is {kind}, expected labelled rows as JSONL")
    rows = tuple(_rows(path, encoding, cluster, label, at_least))
    if not any(value is not None for row in rows for value in row.labels):
        raise RunFileError(path, "has no labels, expected `statements` or `sentences` with `text` and `label`")
    return rows


def _rows(
    path: Path, encoding: str, cluster: str | Callable[[Row], str] | None, label: str | None, at_least: float
) -> Iterator[Labelled]:
    for line, text in file_lines(path, encoding):
        if not text.strip():
            continue
        try:
            row = json.loads(text)
            yield _row(row, cluster, label, at_least)
        except json.JSONDecodeError as error:
            raise RunFileError(path, f"is not JSON: {error.msg}", line=line) from error
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            expected = f"`answer` and `{label}`" if label else "`contexts`, and `statements` or `sentences`"
            raise RunFileError(path, f"is no labelled row ({error}), expected {expected}", line=line) from error


def _row(row: Row, cluster: str | Callable[[Row], str] | None, label: str | None, at_least: float) -> Labelled:
    kind: Kind = "answers" if label is not None else "statements" if "statements" in row else "sentences"
    if label is not None:
        judged: list[tuple[str, bool | None]] = [(str(row["answer"]), _number(row, label) >= at_least)]
    else:
        judged = [(str(each["text"]), _label(each["label"])) for each in row[kind]]
    texts, labels = tuple(text for text, _ in judged), tuple(value for _, value in judged)
    question = str(row.get("question") or "")
    return Labelled(
        kind=kind,
        question=question,
        contexts=tuple(map(str, row["contexts"])),
        history=read_history("history", row.get("history"), lambda _: None),
        texts=texts,
        labels=labels,
        cluster=_cluster(row, cluster) if cluster else question or (texts or ("",))[0],
    )


def _cluster(row: Row, cluster: str | Callable[[Row], str]) -> str:
    return json.dumps(row[cluster], sort_keys=True) if isinstance(cluster, str) else cluster(row)


def _label(value: object) -> bool | None:
    if value not in (0, 1, None):
        raise ValueError(f"label {value!r} is none of 0, 1, null")
    return None if value is None else bool(value)


def _number(row: Row, path: str) -> float:
    value: Any = row
    for part in path.split("."):
        value = value[part]
    return float(value)
