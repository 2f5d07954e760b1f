"""The formats of other tools, in the order in which they are tried, the surest first.

Those with columns of scores have a module each; the others are described here.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragboard.readers.formats import ragas, ragchecker
from ragboard.readers.formats.base import Format, PassageRows

__all__ = ["FORMATS", "Format", "format_of"]

HAYSTACK = Format(  # `answer` is the gold answer
    name="Haystack evaluation",
    columns=frozenset({"answer", "predicted_answer"}),
    fields={"answer": "predicted_answer", "reference": "answer"},
)

LANGCHAIN = Format(  # `answer` is the gold answer, `result` the system's
    name="LangChain QA evaluation",
    columns=frozenset({"query", "answer", "result"}),
    fields={"answer": "result", "reference": "answer"},
)


def _deepeval(answer: str, contexts: str, reference: str, *columns: str) -> Format:
    fields = {"answer": answer, "contexts": contexts, "reference": reference, "reference_contexts": "context"}
    return Format(name="DeepEval", columns=frozenset({"input", *columns}), fields=fields, joined="|")


_SNAKE = ("actual_output", "retrieval_context", "expected_output")
_CAMEL = ("actualOutput", "retrievalContext", "expectedOutput")

DEEPEVAL = (  # test cases in snake case (Python) and in camel case (Confident AI)
    _deepeval(*_SNAKE, "actual_output"),
    _deepeval(*_SNAKE, "retrieval_context"),
    _deepeval(*_CAMEL, "actualOutput"),
    _deepeval(*_CAMEL, "retrievalContext"),
    _deepeval(*_CAMEL, "expectedOutput", "context"),
)


def _phoenix(text: str, sample: str, order: str, *columns: str) -> Format:
    """A row for each retrieved document of a span or a trace."""
    return Format(
        name="Phoenix retrieved documents",
        columns=frozenset({sample, text, *columns}),
        fields={"contexts": text},
        passage_rows=PassageRows(sample=(sample,), text=text, score="document_score", order=order),
    )


PHOENIX = (
    _phoenix("document", "context.span_id", "document_position", "document_position"),
    _phoenix("reference", "context.span_id", "document_position", "document_position"),
    _phoenix("document", "context.trace_id", "", "document_score", "input"),
    _phoenix("reference", "context.trace_id", "", "document_score", "input"),
)

OPEN_RAG_EVAL = Format(  # a row for each passage of each run of a query
    name="Open RAG Eval answers",
    columns=frozenset({"query_id", "query", "query_run", "passage_id", "passage", "generated_answer"}),
    fields={"contexts": "passage"},
    passage_rows=PassageRows(sample=("query_id", "query_run"), text="passage", id="passage_id"),
)

LANGFUSE = Format(  # observations: a row for each step of a trace, which holds no sample
    name="Langfuse observations",
    columns=frozenset({"trace_id", "parent_observation_id", "type", "input", "output"}),
    refused="has a row for each step of a trace, not for each question; write a row for each trace, with its"
    " question, passages and answer",
)

FORMATS: tuple[Format, ...] = (
    HAYSTACK,
    LANGCHAIN,
    *ragchecker.FORMATS,
    *ragas.FORMATS,
    *DEEPEVAL,
    *PHOENIX,
    OPEN_RAG_EVAL,
    LANGFUSE,
)


def format_of(columns: Sequence[str]) -> Format | None:
    """The first format that these columns give away."""
    names = frozenset(columns)
    return next((known for known in FORMATS if known.columns <= names), None)
