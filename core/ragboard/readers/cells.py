"""From the cells of a row to the fields of a sample, with a note of everything that was read as something else."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from ragboard.records import JsonValue, Passage, Turn

__all__ = [
    "BadCellError",
    "Notes",
    "clean",
    "read_history",
    "read_passages",
    "read_question",
    "read_text",
    "read_texts",
]

ROLES: dict[str, Literal["user", "assistant", "system", "tool"]] = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "system": "system",
    "tool": "tool",
}
PASSAGE_TEXTS = ("text", "page_content", "content", "passage", "document")
PASSAGE_IDS = ("id", "doc_id", "passage_id", "chunk_id", "document_id")
NUMPY_ITEM = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")
NUMPY_LIST = re.compile(rf"\[\s*(?:{NUMPY_ITEM.pattern})(?:\s+(?:{NUMPY_ITEM.pattern}))+\s*\]")


class BadCellError(ValueError):
    """A cell that its field cannot be read from: what it holds, what was expected."""

    def __init__(self, field_name: str, message: str) -> None:
        self.field = field_name
        super().__init__(message)


@dataclass
class Notes:
    """What was read as something else, how often, and where first."""

    seen: dict[str, list[int]] = field(default_factory=dict[str, list[int]])

    def add(self, what: str, line: int) -> None:
        """Note one more."""
        self.seen.setdefault(what, []).append(line)


def clean(value: Any, note: Callable[[str], None]) -> JsonValue:
    """A JSON value that can be stored: no lone surrogates, no NaN or infinity, text as keys."""
    if isinstance(value, str):
        return _storable(value, note)
    if isinstance(value, float) and not math.isfinite(value):
        note("NaN or infinity left out")
        return None
    if isinstance(value, Mapping):
        cells = cast("Mapping[Any, Any]", value)
        return {str(clean(str(key), note)): clean(cell, note) for key, cell in cells.items()}
    if isinstance(value, (list, tuple)):
        return [clean(cell, note) for cell in cast("Sequence[Any]", value)]
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return str(value)


def read_text(name: str, value: Any, note: Callable[[str], None]) -> str | None:
    """Text; a number is written out. Raises BadCellError for anything else."""
    if value is None:
        return None
    if isinstance(value, str):
        return _storable(value, note)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if isinstance(value, float) and not math.isfinite(value):
            return None
        note(f"{name}: number read as text")
        return str(value)
    raise BadCellError(name, f"got {_kind(value)}, expected text")


def read_question(value: Any, note: Callable[[str], None]) -> tuple[str, tuple[Turn, ...]]:
    """The question, and what came before it where it is the end of a conversation."""
    if isinstance(value, list) and value and all(isinstance(turn, Mapping) for turn in cast("list[Any]", value)):
        turns = read_history("question", value, note)
        last = max((place for place, turn in enumerate(turns) if turn.role == "user"), default=None)
        if last is None:
            raise BadCellError("question", "got messages without one of the user, expected a question")
        return turns[last].text, turns[:last]
    text = read_text("question", value, note)
    if text is None or not text.strip():
        raise BadCellError("question", "is empty, expected a question")
    return text, ()


def read_texts(name: str, value: Any, note: Callable[[str], None], *, written: bool) -> tuple[str, ...] | None:
    """A list of texts, from a list or from a written one."""
    items = _items(name, value, note, written=written)
    if items is None:
        return None
    return tuple(text for item in items if (text := read_text(name, item, note)) is not None)


def read_passages(value: Any, note: Callable[[str], None], *, written: bool) -> tuple[Passage, ...] | None:
    """Passages, from a list of texts or of objects with a text."""
    items = _items("contexts", value, note, written=written)
    if items is None:
        return None
    kept = [item for item in items if item is not None]
    if len(kept) < len(items):
        note("contexts: null left out")
    return tuple(_passage(rank, item, note) for rank, item in enumerate(kept, 1))


def read_history(name: str, value: Any, note: Callable[[str], None]) -> tuple[Turn, ...]:
    """Messages: objects with a role (or type) and a content (or text), or plain texts, the user's first."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise BadCellError(name, f"got {_kind(value)}, expected a list of messages")
    return tuple(_turn(name, place, turn, note) for place, turn in enumerate(cast("list[Any]", value)))


def _turn(name: str, place: int, turn: Any, note: Callable[[str], None]) -> Turn:
    if isinstance(turn, str):
        return Turn(role="assistant" if place % 2 else "user", text=_storable(turn, note))
    if not isinstance(turn, Mapping):
        raise BadCellError(name, f"got {_kind(turn)}, expected a message")
    message = cast("Mapping[str, Any]", turn)
    said = next((message[key] for key in ("content", "text", "message") if message.get(key) is not None), "")
    role = next((message[key] for key in ("role", "type", "speaker") if key in message), "user")
    text = said if isinstance(said, str) else json.dumps(clean(said, note), ensure_ascii=False)
    return Turn(role=ROLES.get(str(role).lower(), "user"), text=_storable(text, note))


def _passage(rank: int, item: Any, note: Callable[[str], None]) -> Passage:
    if isinstance(item, Mapping):
        cells = cast("Mapping[str, Any]", item)
        text = next((cells[key] for key in PASSAGE_TEXTS if cells.get(key) is not None), None)
        if text is None:
            raise BadCellError("contexts", f"passage {rank} has no text, expected one of {', '.join(PASSAGE_TEXTS)}")
        name = next((cells[key] for key in PASSAGE_IDS if cells.get(key) is not None), rank)
        score = cells.get("score")
        number = isinstance(score, (int, float)) and not isinstance(score, bool) and math.isfinite(score)
        return Passage(
            id=_storable(str(name), note),
            text=read_text("contexts", text, note) or "",
            rank=rank,
            score=float(cast("float", score)) if number else None,
        )
    return Passage(id=str(rank), text=read_text("contexts", item, note) or "", rank=rank)


def _items(name: str, value: Any, note: Callable[[str], None], *, written: bool) -> list[Any] | None:
    if value is None:
        return None
    if isinstance(value, str):
        listed = _written_list(value)
        if listed is not None:
            if not written:
                note(f"{name}: list written as text")
            return listed
        note(f"{name}: one text read as a list of one")
        return [value] if value.strip() else []
    if isinstance(value, Mapping):
        return [cast("Mapping[str, Any]", value)]
    if isinstance(value, (list, tuple)):
        return list(cast("Sequence[Any]", value))
    raise BadCellError(name, f"got {_kind(value)}, expected a list of passages")


def _written_list(text: str) -> list[Any] | None:
    """A list that was written as text: as JSON, as numpy writes it (no commas), or as Python does."""
    body = text.strip()
    if not (body.startswith("[") and body.endswith("]")):
        return None
    if NUMPY_LIST.fullmatch(body):
        return [_unescaped(single or double) for single, double in NUMPY_ITEM.findall(body)]
    for parse in (json.loads, ast.literal_eval):
        try:
            value: Any = parse(body)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(value, list):
            return cast("list[Any]", value)
    return None


def _unescaped(text: str) -> str:
    return re.sub(r"\\(['\"\\])", r"\1", text).replace("\\n", "\n")


def _storable(text: str, note: Callable[[str], None]) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        note("half a character (lone surrogate) replaced")
        return text.encode("utf-8", errors="replace").decode()
    return text


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    names: dict[str, str] = {"dict": "an object", "list": "a list", "NoneType": "null"}
    return names.get(type(value).__name__, f"a {type(value).__name__}")
