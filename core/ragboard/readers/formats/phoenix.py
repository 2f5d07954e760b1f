"""Retrieved documents exported from Phoenix: a row for each document of a span."""

from __future__ import annotations

from ragboard.readers.formats.base import Format, PassageRows

__all__ = ["FORMATS"]

_SPANS = ("context.span_id", "document_position")
_TRACES = ("context.trace_id", "document_score", "input")

FORMATS = (
    *(
        Format(
            name="Phoenix retrieved documents",
            columns=frozenset({*_SPANS, text}),
            fields={"contexts": text},
            passage_rows=PassageRows(
                sample=("context.span_id",), text=text, score="document_score", order="document_position"
            ),
        )
        for text in ("document", "reference")
    ),
    *(
        Format(
            name="Phoenix retrieved documents",
            columns=frozenset({*_TRACES, text}),
            fields={"contexts": text},
            passage_rows=PassageRows(sample=("context.trace_id",), text=text, score="document_score"),
        )
        for text in ("document", "reference")
    ),
)
