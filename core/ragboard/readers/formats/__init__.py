"""File formats of other tools, one module per tool. Formats are tried in the order of the lists below."""

from __future__ import annotations

from collections.abc import Sequence

from ragboard.readers.formats import (
    deepeval,
    giskard,
    haystack,
    inspect_ai,
    inspectorraget,
    langchain,
    langfuse,
    langsmith,
    llamaindex,
    mlflow,
    open_rag_eval,
    otlp,
    phoenix,
    promptfoo,
    ragas,
    ragchecker,
    trulens,
)
from ragboard.readers.formats.base import FileFormat, Format, ParsedFile

__all__ = [
    "FILE_FORMATS",
    "FORMATS",
    "REPEATED_COLUMNS",
    "FileFormat",
    "Format",
    "ParsedFile",
    "file_format_of",
    "format_of",
]

FORMATS: tuple[Format, ...] = (
    *haystack.FORMATS,
    *langchain.FORMATS,
    *ragchecker.FORMATS,
    *ragas.FORMATS,
    *deepeval.FORMATS,
    *phoenix.FORMATS,
)
"""Formats of tables, recognised by their columns."""

FILE_FORMATS: tuple[FileFormat, ...] = (
    *otlp.FILE_FORMATS,
    *ragas.FILE_FORMATS,
    *deepeval.FILE_FORMATS,
    *trulens.FILE_FORMATS,
    *phoenix.FILE_FORMATS,
    *mlflow.FILE_FORMATS,
    *langfuse.FILE_FORMATS,
    *langsmith.FILE_FORMATS,
    *inspect_ai.FILE_FORMATS,
    *promptfoo.FILE_FORMATS,
    *inspectorraget.FILE_FORMATS,
    *giskard.FILE_FORMATS,
    *haystack.FILE_FORMATS,
    *llamaindex.FILE_FORMATS,
    *langchain.FILE_FORMATS,
    *open_rag_eval.FILE_FORMATS,
)
"""Formats recognised by the structure of the whole file, such as nested JSON."""

REPEATED_COLUMNS = (promptfoo.OUTPUT_COLUMNS,)
"""Groups of columns that a tool repeats in a CSV, once for each output."""


def file_format_of(file: ParsedFile) -> FileFormat | None:
    """Return the first of `FILE_FORMATS` that recognises the whole file, or None."""
    return next((candidate for candidate in FILE_FORMATS if candidate.recognises(file)), None)


def format_of(columns: Sequence[str]) -> Format | None:
    """Return the first of `FORMATS` whose characteristic columns are all among these, or None."""
    names = frozenset(columns)
    return next((candidate for candidate in FORMATS if candidate.columns <= names), None)
