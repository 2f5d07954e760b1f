"""Detect the kind and encoding of a file, and read it as text or JSON with line numbers and size limits."""

from __future__ import annotations

import io
import json
import re
import stat
import zipfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, AnyStr, BinaryIO

from ragboard.errors import RunFileError

__all__ = [
    "EXTENSIONS",
    "KINDS",
    "MAX_ROW",
    "PROTOBUF",
    "TOOL_FILE_SIGNATURES",
    "ObjectWithRepeatedKey",
    "decode_line",
    "encoding_of",
    "file_lines",
    "file_text",
    "is_folder",
    "kind_of",
    "numbered_lines",
    "open_file",
    "parse",
    "parse_located",
    "table_encoding",
    "through_line_end",
    "what_is_wrong",
]

MAX_ROW = 32 * 2**20
"""Maximum length of a row in bytes (in UTF-16: characters). A longer row cannot be a sample."""
MAX_JSON = 2 * 2**30
"""Maximum bytes of a JSON file."""

KINDS = {
    ".jsonl": "JSONL",
    ".ndjson": "JSONL",
    ".json": "JSON",
    ".csv": "CSV",
    ".tsv": "TSV",
    ".tab": "TSV",
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".arrow": "Arrow",
    ".xlsx": "Excel",
}
TOOL_FILE_SIGNATURES = {b"SQLite format 3": "SQLite", b"PK\x03\x04": "zip"}
"""Kinds of files that are recognised by their first bytes, not by their name."""
PROTOBUF = {".pb", ".binpb"}
EXTENSIONS = (*KINDS, ".gz", ".zst", ".zip", ".eval", ".sqlite", ".sqlite3", ".db", *sorted(PROTOBUF))
"""File name extensions that can be read."""
SIGNATURE_NAMES = {
    b"PAR1": "a Parquet file",
    b"\x1f\x8b": "a gzip file",
    b"\x28\xb5\x2f\xfd": "a Zstandard file",
    b"\xd0\xcf\x11\xe0": "an old Excel or Word file (save it as .xlsx)",
    b"%PDF": "a PDF",
    b"\x89PNG": "a picture",
    b"\xff\xfe\0\0": "UTF-32 text",
    b"\0\0\xfe\xff": "UTF-32 text",
}
BOMS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


def kind_of(path: Path) -> tuple[str, str]:
    """Return the file's kind and encoding, from its name and first bytes.

    The kind is JSONL, JSON, CSV, TSV, Parquet, Arrow, Excel, SQLite, zip or protobuf. Raises RunFileError if the file
    is of another kind, is empty, is not a regular file, or cannot be opened.
    """
    start = _start(path)
    if binary := _binary_kind(path, start):
        return binary, "binary"
    kind = KINDS.get(path.suffix.lower())
    expected = kind or "JSONL, JSON, CSV or Parquet"
    magic = next((what for sign, what in SIGNATURE_NAMES.items() if start.startswith(sign)), None)
    if kind == "Parquet":
        if not start.startswith(b"PAR1"):
            raise RunFileError(path, f"is {magic or 'not a Parquet file'}, expected Parquet because of its name")
        return kind, "binary"
    if magic == "a Parquet file" and kind is None:
        raise RunFileError(path, f"is {magic}; rename it to {path.stem}.parquet")
    if magic:
        raise RunFileError(path, f"is {magic}, expected {expected}")
    encoding = _encoding_by_bom(start)
    if encoding != "utf-16" and b"\0" in start:
        raise RunFileError(path, f"is binary, expected {expected}")
    if kind is None:
        raise RunFileError(
            path, f"has the extension {path.suffix or '(none)'!r}, expected one of {', '.join(EXTENSIONS)}"
        )
    return kind, encoding


def _binary_kind(path: Path, start: bytes) -> str:
    """Return SQLite, zip, Excel, protobuf or Arrow; empty for a file of another kind."""
    found = next((opened for sign, opened in TOOL_FILE_SIGNATURES.items() if start.startswith(sign)), "")
    if found == "zip":
        try:
            with zipfile.ZipFile(path) as archive:
                return "Excel" if "xl/workbook.xml" in archive.namelist() else found
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
            return found
    by_name = {**dict.fromkeys(PROTOBUF, "protobuf"), ".arrow": "Arrow"}
    return found or by_name.get(path.suffix.lower(), "")


UTF8_SEQUENCE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
LETTERS = re.compile(rb"[A-Za-z]")
HIGH = re.compile(rb"[\x80-\xff]")
ACCENTED = 0.3
"""Maximum number of accented letters per unaccented letter in a Western European text."""


def table_encoding(path: Path, encoding: str) -> str:
    """Return the encoding of a CSV: "windows-1252", which Excel writes, if it probably is; else `encoding` unchanged.

    A file that is valid UTF-8, has some valid UTF-8 sequences (damaged UTF-8) or has many accented letters (another
    encoding) probably is not. Reading a file of the last two kinds as UTF-8 raises an error.
    """
    if encoding != "utf-8":
        return encoding
    plain = high = 0
    broken = False
    with open_file(path) as file:
        while line := file.readline(MAX_ROW):
            if line.isascii():
                plain += len(LETTERS.findall(line))
                continue
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                broken = True
            if UTF8_SEQUENCE.search(line):
                return encoding
            try:
                line.decode("cp1252")
            except UnicodeDecodeError:
                return encoding
            plain += len(LETTERS.findall(line))
            high += len(HIGH.findall(line))
    return "windows-1252" if broken and high <= ACCENTED * plain else encoding


def encoding_of(path: Path) -> str:
    """Return the encoding of a text file, from its first bytes. Raises RunFileError if it cannot be opened."""
    with open_file(path) as file:
        return _encoding_by_bom(file.read(4))


def _encoding_by_bom(start: bytes) -> str:
    return next((name for bom, name in BOMS.items() if start.startswith(bom)), "utf-8")


def file_lines(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text file with their numbers, from 1. Raises RunFileError at a line that cannot be read."""
    if encoding == "utf-16":
        yield from numbered_lines(path, io.StringIO(file_text(path, encoding), newline="\n"))
        return
    with open_file(path) as file:
        for number, line in numbered_lines(path, file):
            yield number, decode_line(path, number, line, encoding)


def decode_line(path: Path, number: int, line: bytes, encoding: str) -> str:
    """Return a line of a file as text. Raises RunFileError if it has another encoding."""
    after_bom = encoding == "utf-8-sig" and number > 1
    return _decode(path, line, "utf-8" if after_bom else encoding, number)


def through_line_end(file: BinaryIO, content: bytes) -> bytes:
    """Read and return the rest of the last line in `content`, at most `MAX_ROW + 1` bytes."""
    return b"" if content.endswith(b"\n") else file.readline(MAX_ROW + 1)


def numbered_lines(path: Path, file: IO[AnyStr], first: int = 1) -> Iterator[tuple[int, AnyStr]]:
    """Yield the lines of an open file; `first` is the number of the first. Raises RunFileError if one is too long."""
    number = first - 1
    while line := file.readline(MAX_ROW + 1):
        number += 1
        if len(line) > MAX_ROW:
            raise RunFileError(path, f"is longer than {MAX_ROW // 2**20} MiB, expected one sample", line=number)
        yield number, line


def file_text(path: Path, encoding: str) -> str:
    """Return the text of a file. Raises RunFileError if the file is too large or has another encoding."""
    with open_file(path) as file:
        content = file.read(MAX_JSON + 1)
    if len(content) > MAX_JSON:
        raise RunFileError(
            path, f"is larger than {MAX_JSON // 2**30} GiB; write it as JSONL, which is read line by line"
        )
    return _decode(path, content, encoding, None)


def _decode(path: Path, content: bytes, encoding: str, line: int | None) -> str:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        at = line or content[: error.start].decode(encoding, errors="ignore").count("\n") + 1
        got = f"byte {content[error.start]:#04x} is not {error.encoding}"
        raise RunFileError(path, f"{got}, expected UTF-8 or UTF-16 (save the file as UTF-8)", line=at) from error


def _start(path: Path) -> bytes:
    with open_file(path) as file:
        start = file.read(8192)
    if len(start) < 8192 and not start.strip(b" \t\r\n\xef\xbb\xbf\xff\xfe\0"):
        raise RunFileError(path, "is empty, expected samples")
    return start


def is_folder(path: Path) -> bool:
    """Return whether this is the path of a folder; False if it does not exist."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


@contextmanager
def open_file(path: Path) -> Generator[BinaryIO]:
    """Open a regular file for reading. Raises RunFileError for anything else, and if reading fails."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise RunFileError(path, "is a directory, expected a file")
        if not stat.S_ISREG(mode):
            raise RunFileError(path, "is a pipe, a socket or a device, expected a regular file")
        file = path.open("rb")
    except FileNotFoundError:
        raise RunFileError(path, "no such file") from None
    except (OSError, ValueError) as error:
        raise RunFileError(path, f"cannot be opened: {getattr(error, 'strerror', None) or error}") from error
    with file:
        try:
            yield file
        except OSError as error:
            raise RunFileError(path, f"cannot be read: {error.strerror or error}") from error


class ObjectWithRepeatedKey(dict[str, Any]):
    """A JSON object with a repeated key. It has the last value of each key."""

    key: str
    """The first repeated key."""


def parse(text: str) -> Any:
    """Parse JSON. Raises ValueError if the text is not JSON, RecursionError if it is nested too deeply."""
    if text.startswith("\ufeff"):
        raise json.JSONDecodeError("Unexpected UTF-8 BOM (decode using utf-8-sig)", text, 0)
    return _DECODER.decode(text)


def parse_located(text: str) -> tuple[Any, dict[str, list[int]]]:
    """Return the parsed JSON, and the lines on which its elements begin.

    - For a list: {"": the line of each item}.
    - For an object: {key: the line of each item if the value is a list, else the line of the value}.

    Raises the same errors as `parse`.
    """
    scanner = _Scanner(text)
    value, starts = scanner.document()
    return value, {key: _lines(text, offsets) for key, offsets in starts.items()}


def what_is_wrong(error: ValueError | RecursionError) -> str:
    """Return why a text is not JSON, in a few words."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at column {error.colno}"
    return "a number has too many digits"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    repeated = ObjectWithRepeatedKey(found)
    names = [name for name, _ in pairs]
    repeated.key = next(name for index, name in enumerate(names) if name in names[:index])
    return repeated


_DECODER = json.JSONDecoder(object_pairs_hook=_object)


def _lines(text: str, offsets: list[int]) -> list[int]:
    lines, line = [], 1
    for before, offset in pairwise((0, *offsets)):
        line += text.count("\n", before, offset)
        lines.append(line)
    return lines


class _Scanner:
    """A JSON parser that notes where the elements of the outermost list or object begin."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.decoder = json.JSONDecoder(object_pairs_hook=_object)

    def document(self) -> tuple[Any, dict[str, list[int]]]:
        """Return the value of the whole text, and the offsets of its elements in characters."""
        starts: dict[str, list[int]] = {}
        value: Any
        match self.peek():
            case "[":
                value, starts[""] = self.elements()
            case "{":
                pairs: list[tuple[str, Any]] = []
                for _ in self.members("{", "}"):
                    key = self.key()
                    element, starts[key] = self.elements() if self.peek() == "[" else self.one()
                    pairs.append((key, element))
                value = _object(pairs)
            case _:
                value, _ = self.one()
        if self.peek():
            raise self.error("Extra data")
        return value, starts

    def elements(self) -> tuple[list[Any], list[int]]:
        """Return the list that begins here, and the offset of each element."""
        found = [self.one() for _ in self.members("[", "]")]
        return [value for value, _ in found], [start for _, (start,) in found]

    def one(self) -> tuple[Any, list[int]]:
        """Return the value that begins here, and its offset."""
        self.peek()
        start = self.at
        value, self.at = self.decoder.raw_decode(self.text, start)
        return value, [start]

    def key(self) -> str:
        """Return the key of an object's next member, up to its value."""
        if self.peek() != '"':
            raise self.error("Expecting property name enclosed in double quotes")
        (key, _) = self.one()
        self.expect(":")
        return str(key)

    def members(self, begin: str, end: str) -> Iterator[None]:
        """Yield once for each member of a list or object. The caller must read the member before the next step."""
        self.expect(begin)
        if self.peek() == end:
            self.at += 1
            return
        while True:
            yield
            if self.peek() == end:
                self.at += 1
                return
            self.expect(",")

    def expect(self, sign: str) -> None:
        """Move past a character that must come next."""
        if self.peek() != sign:
            raise self.error(f"Expecting '{sign}'")
        self.at += 1

    def peek(self) -> str:
        """Return the next character that is not a space; empty at the end."""
        while (sign := self.text[self.at : self.at + 1]) and sign in " \t\r\n":
            self.at += 1
        return sign

    def error(self, message: str) -> json.JSONDecodeError:
        """Return the error at this position."""
        return json.JSONDecodeError(message, self.text, self.at)
