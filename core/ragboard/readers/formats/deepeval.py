"""DeepEval test cases, in snake case (Python) and in camel case (Confident AI)."""

from __future__ import annotations

from ragboard.readers.formats.base import Format

__all__ = ["FORMATS"]

_SNAKE = {
    "answer": "actual_output",
    "contexts": "retrieval_context",
    "reference": "expected_output",
    "reference_contexts": "context",
}
_CAMEL = {
    "answer": "actualOutput",
    "contexts": "retrievalContext",
    "reference": "expectedOutput",
    "reference_contexts": "context",
}

FORMATS = (
    *(
        Format(name="DeepEval", columns=frozenset(columns), fields=_SNAKE, joined="|")
        for columns in (("input", "actual_output"), ("input", "retrieval_context"))
    ),
    *(
        Format(name="DeepEval", columns=frozenset(columns), fields=_CAMEL, joined="|")
        for columns in (
            ("input", "actualOutput"),
            ("input", "retrievalContext"),
            ("input", "expectedOutput", "context"),
        )
    ),
)
