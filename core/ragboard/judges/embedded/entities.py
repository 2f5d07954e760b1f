"""What a text names: names by their capitals, and numbers and dates as they are written."""

from __future__ import annotations

from collections.abc import Iterator

from ragboard.judges.embedded.reading import Reading, read
from ragboard.text.sentences import language_of, sentence_spans

__all__ = ["entities"]


def entities(text: str) -> tuple[str, ...]:
    """Names, numbers and dates in reading order, each once; Hindi and Chinese have no capitals, so only the latter."""
    language = language_of(text)
    readings = (read(text, start, end, language) for start, end in sentence_spans(text, language))
    return tuple(dict.fromkeys(text[start:end] for reading in readings for start, end in sorted(set(_spans(reading)))))


def _spans(reading: Reading) -> Iterator[tuple[int, int]]:
    yield from (reading.span(name.first, name.stop) for name in reading.names)
    yield from ((figure.start, figure.end) for figure in reading.figures)
