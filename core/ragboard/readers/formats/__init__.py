"""The formats of other tools: a module each, listed here in the order in which they are tried, the surest first."""

from __future__ import annotations

from collections.abc import Sequence

from ragboard.readers.formats import (
    deepeval,
    haystack,
    langchain,
    langfuse,
    open_rag_eval,
    phoenix,
    ragas,
    ragchecker,
)
from ragboard.readers.formats.base import Format

__all__ = ["FORMATS", "Format", "format_of"]

FORMATS: tuple[Format, ...] = (
    *haystack.FORMATS,
    *langchain.FORMATS,
    *ragchecker.FORMATS,
    *ragas.FORMATS,
    *deepeval.FORMATS,
    *phoenix.FORMATS,
    *open_rag_eval.FORMATS,
    *langfuse.FORMATS,
)


def format_of(columns: Sequence[str]) -> Format | None:
    """The first format that these columns give away."""
    names = frozenset(columns)
    return next((known for known in FORMATS if known.columns <= names), None)
