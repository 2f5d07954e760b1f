"""LangChain's question answering evaluation: `answer` is the gold answer, `result` the system's."""

from __future__ import annotations

from ragboard.readers.formats.base import Format

__all__ = ["FORMATS"]

FORMATS = (
    Format(
        name="LangChain QA evaluation",
        columns=frozenset({"query", "answer", "result"}),
        fields={"answer": "result", "reference": "answer"},
    ),
)
