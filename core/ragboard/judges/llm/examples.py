"""A person's few-shot examples, each shown as the model is to reply."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import get_args

from ragboard.errors import RunFileError
from ragboard.judges.llm.material import material
from ragboard.judges.tasks import AresQuality, Example
from ragboard.readers.ares import AresRow, read_ares

__all__ = ["MOST", "classify_examples", "writing_examples"]

MOST = 32
"""Examples of one quality that a file may hold: each goes with every call."""


def writing_examples(given: tuple[Example, ...], written: str) -> str:
    """Those that have the text that is to be written."""
    shown = (
        f"<passage>\n{example.passage}\n</passage>\n"
        + (f"<question>\n{example.question}\n</question>\n" if written != "question" else "")
        + json.dumps({"answer": text} if written != "question" else {"questions": [text]}, ensure_ascii=False)
        for example in given
        if (text := getattr(example, written))
    )
    return "\n\n".join(f"## Example\n\n{text}" for text in shown)


def classify_examples(path: Path) -> Mapping[AresQuality, str]:
    """For each quality that a tab-separated file of ARES has labels of, its examples as the prompt shows them.

    An answer in the column of contradictory ones is one that the document does not bear out.
    Raises RunFileError for a file that cannot be read, that has no label, or more than `MOST` of a quality.
    """
    rows = read_ares(path)
    found = {quality: tuple(dict.fromkeys(_shown(rows, quality))) for quality in get_args(AresQuality)}
    if not any(found.values()):
        raise RunFileError(path, "has no label to show; expected Yes or No in a column such as Context_Relevance_Label")
    for quality, shown in found.items():
        if len(shown) > MOST:
            raise RunFileError(
                path, f"has {len(shown)} examples of {quality}; each goes with every call: at most {MOST}"
            )
    return {quality: "\n\n".join(shown) for quality, shown in found.items() if shown}


def _shown(rows: Sequence[AresRow], quality: AresQuality) -> Iterator[str]:
    for row in rows:
        holds: bool | None = getattr(row, quality)
        if holds is not None:
            yield _example(row, quality, row.answer, holds=holds)
        if quality == "answer_faithfulness" and row.contradictory.strip():
            yield _example(row, quality, row.contradictory, holds=False)


def _example(row: AresRow, quality: AresQuality, answer: str, *, holds: bool) -> str:
    """What the quality is about, and the verdict without a reason: a file of labels has none."""
    contexts = () if quality == "answer_relevance" else (row.document,)
    given = material(row.question, contexts, None if quality == "context_relevance" else answer)
    return f"## Example\n\n{given}\n\n{json.dumps({'verdict': 'yes' if holds else 'no'})}"
