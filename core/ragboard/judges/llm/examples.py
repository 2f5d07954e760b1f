"""A person's few-shot examples, each shown as the model is to reply."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from ragboard.errors import RunFileError
from ragboard.judges.llm.material import material
from ragboard.judges.tasks import AresQuality, Example
from ragboard.readers.ares import AresRow, read_ares

__all__ = ["MOST", "LabelledExample", "classify_examples", "labelled_examples", "writing_examples"]

MOST = 32
"""Examples of one quality that a file may hold: each goes with every call."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledExample:
    """What one quality of ARES is about, and a person's verdict."""

    question: str
    contexts: tuple[str, ...]
    answer: str | None
    holds: bool


def writing_examples(given: tuple[Example, ...], written: str, mark: str = "") -> str:
    """Those that have the text that is to be written."""
    shown = (
        f"<passage{mark}>\n{example.passage}\n</passage{mark}>\n"
        + (f"<question{mark}>\n{example.question}\n</question{mark}>\n" if written != "question" else "")
        + json.dumps({"answer": text} if written != "question" else {"questions": [text]}, ensure_ascii=False)
        for example in given
        if (text := getattr(example, written))
    )
    return "\n\n".join(f"{_heading(mark)}\n\n{text}" for text in shown)


def labelled_examples(given: tuple[LabelledExample, ...], mark: str = "") -> str:
    """Each with its verdict and without a reason: a file of labels has none."""
    return "\n\n".join(
        f"{_heading(mark)}\n\n{material(one.question, one.contexts, one.answer, mark)}\n\n"
        + json.dumps({"verdict": "yes" if one.holds else "no"})
        for one in given
    )


def _heading(mark: str) -> str:
    return f"## Example [{mark[1:]}]" if mark else "## Example"


def classify_examples(path: Path) -> Mapping[AresQuality, tuple[LabelledExample, ...]]:
    """For each quality that a tab-separated file of ARES has labels of, its examples.

    An answer in the column of contradictory ones is one that the document does not bear out.
    Raises RunFileError for a file that cannot be read, that has no label, or more than `MOST` of a quality.
    """
    rows = read_ares(path)
    found = {quality: tuple(dict.fromkeys(_labelled(rows, quality))) for quality in get_args(AresQuality)}
    if not any(found.values()):
        raise RunFileError(path, "has no label to show; expected Yes or No in a column such as Context_Relevance_Label")
    for quality, given in found.items():
        if len(given) > MOST:
            raise RunFileError(
                path, f"has {len(given)} examples of {quality}; each goes with every call: at most {MOST}"
            )
    return {quality: given for quality, given in found.items() if given}


def _labelled(rows: Sequence[AresRow], quality: AresQuality) -> Iterator[LabelledExample]:
    for row in rows:
        holds: bool | None = getattr(row, quality)
        if holds is not None:
            yield _example(row, quality, row.answer, holds=holds)
        if quality == "answer_faithfulness" and row.contradictory.strip():
            yield _example(row, quality, row.contradictory, holds=False)


def _example(row: AresRow, quality: AresQuality, answer: str, *, holds: bool) -> LabelledExample:
    """What the quality is about, and no more."""
    return LabelledExample(
        question=row.question,
        contexts=() if quality == "answer_relevance" else (row.document,),
        answer=None if quality == "context_relevance" else answer,
        holds=holds,
    )
