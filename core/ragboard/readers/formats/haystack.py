"""Haystack evaluation results: `answer` is the gold answer."""

from __future__ import annotations

from ragboard.readers.formats.base import Format

__all__ = ["FORMATS"]

FORMATS = (
    Format(
        name="Haystack evaluation",
        columns=frozenset({"answer", "predicted_answer"}),
        fields={"answer": "predicted_answer", "reference": "answer"},
    ),
)
