"""Read a corpus: documents from a folder of text files or from a table, split into passages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count, groupby
from pathlib import Path

from ragboard.errors import RunFileError
from ragboard.readers.files import encoding_of, file_text
from ragboard.readers.tables import BadRow, RawRow, read_table

__all__ = ["CorpusPassage", "read_corpus"]

TEXTS = (".txt", ".md", ".markdown")
TEXT_COLUMNS = ("text", "passage", "document", "content", "page_content", "contents")
DOCUMENT_COLUMNS = ("document_id", "doc_id", "source", "title", "id")


@dataclass(frozen=True, kw_only=True, slots=True)
class CorpusPassage:
    """A passage of a document."""

    document: str
    """The name of the document: its path in the folder, or its name in the table."""
    number: int
    """The number of the passage in its document, from 1."""
    text: str


def read_corpus(path: Path, *, words: int = 120) -> tuple[CorpusPassage, ...]:
    """Return the passages of a folder of text or Markdown files, or of a JSONL, JSON, CSV, TSV or Parquet file.

    Documents are split between paragraphs into passages of at most `words` words. A longer paragraph is one passage.
    Rows of a table with the same document name are one document. Repeated passages and rows without text are skipped.
    Raises RunFileError if there is no text.
    """
    found = tuple(_split_documents(_folder(path) if path.is_dir() else _table(path), words))
    if not found:
        raise RunFileError(path, f"has no text, expected {', '.join(TEXTS)} files or a table with a text column")
    return found


def _split_documents(documents: Iterable[tuple[str, list[str]]], words: int) -> Iterator[CorpusPassage]:
    first_document: dict[str, str] = {}
    for name, texts in documents:
        numbers = count(1)
        for text in (piece for whole in texts for piece in _pieces(whole, words)):
            number = next(numbers)
            if first_document.setdefault(text, name) == name:
                yield CorpusPassage(document=name, number=number, text=text)


def _folder(path: Path) -> Iterator[tuple[str, list[str]]]:
    for file in sorted(path.rglob("*")):
        if file.suffix.lower() in TEXTS and file.is_file():
            yield file.relative_to(path).as_posix(), [file_text(file, encoding_of(file))]


def _table(path: Path) -> Iterator[tuple[str, list[str]]]:
    table = read_table(path)
    column = next((name for name in TEXT_COLUMNS if name in table.columns), None)
    if column is None:
        raise RunFileError(
            path, f"has no text column (it has {', '.join(table.columns)}), expected {', '.join(TEXT_COLUMNS)}"
        )
    name = next((known for known in DOCUMENT_COLUMNS if known in table.columns and known != column), None)
    rows = [_row(path, row, column, name) for row in table.rows]
    for document, group in groupby(sorted(rows, key=lambda row: row[0]), key=lambda row: row[0]):
        yield document, [text for _, text in group]


def _row(path: Path, row: RawRow | BadRow, column: str, name: str | None) -> tuple[str, str]:
    if isinstance(row, BadRow):
        raise RunFileError(path, row.message, line=row.line)
    given = row.cells.get(column)
    text = "" if given is None else given
    if not isinstance(text, str):
        raise RunFileError(path, f"{text!r}, expected a text", line=row.line, field=column)
    document = row.cells.get(name) if name else None
    return str(document) if document is not None else f"line {row.line}", text


def _pieces(text: str, words: int) -> Iterator[str]:
    """Yield passages: adjacent paragraphs with at most `words` words, without headings. One paragraph may be longer."""
    group: list[str] = []
    for part in text.replace("\r\n", "\n").split("\n\n"):
        paragraph = " ".join(part.split())
        if not paragraph or _is_heading(part):
            continue
        if group and len(" ".join([*group, paragraph]).split()) > words:
            yield "\n\n".join(group)
            group = []
        group.append(paragraph)
    if group:
        yield "\n\n".join(group)


def _is_heading(part: str) -> bool:
    line = part.strip()
    return "\n" not in line and line.startswith("#")
