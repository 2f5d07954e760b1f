"""Answers of Open RAG Eval: a row for each passage of each run of a query."""

from __future__ import annotations

from ragboard.readers.formats.base import Format, PassageRows

__all__ = ["FORMATS"]

FORMATS = (
    Format(
        name="Open RAG Eval answers",
        columns=frozenset({"query_id", "query", "query_run", "passage_id", "passage", "generated_answer"}),
        fields={"contexts": "passage"},
        passage_rows=PassageRows(sample=("query_id", "query_run"), text="passage", id="passage_id"),
    ),
)
