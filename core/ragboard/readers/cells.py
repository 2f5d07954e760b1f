"""From the cells of a row to the fields of a sample, with a note of everything that was read as something else."""

from __future__ import annotations

import ast
import io
import json
import math
import re
import tokenize
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeAlias, cast

from ragboard.records import JsonValue, Passage, Turn

__all__ = [
    "BadCellError",
    "Conversation",
    "Note",
    "clean",
    "kind_of_value",
    "read_history",
    "read_ids",
    "read_passages",
    "read_question",
    "read_reference",
    "read_text",
    "storable",
]

Note: TypeAlias = Callable[[str], None]
"""Called with what was read as something else, in words."""

MAX_DEPTH = 64
ROLES: dict[str, Literal["user", "assistant", "system", "tool"]] = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "agent": "assistant",
    "assistant": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
}
PASSAGE_TEXTS = ("text", "page_content", "content", "passage", "document")
PASSAGE_IDS = ("id", "doc_id", "passage_id", "chunk_id", "document_id")
NUMPY_ITEM = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
NUMPY_LIST = re.compile(rf"\[\s*(?:{NUMPY_ITEM.pattern})(?:\s+(?:{NUMPY_ITEM.pattern}))+\s*\]")


class BadCellError(ValueError):
    """A cell that its field cannot be read from: what it holds, what was expected."""

    def __init__(self, field_name: str, message: str) -> None:
        self.field = field_name
        super().__init__(message)


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """A question with the messages before and after it."""

    question: str
    before: tuple[Turn, ...] = ()
    after: tuple[Turn, ...] = ()


def storable(text: str) -> str:
    """The text with `?` for every half of a character (lone surrogate), which is no UTF-8."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def clean(value: Any, note: Note, depth: int = 0) -> JsonValue:
    """A JSON value that can be stored: no lone surrogates, no NaN or infinity, text as keys.

    Raises BadCellError where it is nested deeper than any sample needs.
    """
    if depth > MAX_DEPTH:
        raise BadCellError("", f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, str):
        text = storable(value)
        if text != value:
            note("half a character (lone surrogate) replaced")
        return text
    if isinstance(value, float) and not math.isfinite(value):
        note("NaN or infinity left out")
        return None
    if isinstance(value, Mapping):
        cells = cast("Mapping[Any, Any]", value)
        return {str(clean(str(key), note)): clean(cell, note, depth + 1) for key, cell in cells.items()}
    if isinstance(value, (list, tuple)):
        return [clean(cell, note, depth + 1) for cell in cast("Sequence[Any]", value)]
    if isinstance(value, bytes):
        note("bytes read as text")
        return value.decode(errors="replace")
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)


def read_text(name: str, value: JsonValue, note: Note) -> str | None:
    """Text; a number is written out. Raises BadCellError for anything else."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        note(f"{name}: number read as text")
        return str(value)
    raise BadCellError(name, f"got {kind_of_value(value)}, expected text")


def read_question(value: JsonValue, note: Note, *, written: bool) -> Conversation:
    """The question: a text, or the last message of the user in a list of messages."""
    listed = _written_list(value, note) if written else value
    if isinstance(listed, list) and listed and all(isinstance(message, Mapping) for message in listed):
        turns = read_history("question", listed, note)
        last = max((place for place, turn in enumerate(turns) if turn.role == "user"), default=None)
        if last is None:
            raise BadCellError("question", "got messages with none of the user among them, expected a question")
        found = Conversation(question=turns[last].text, before=turns[:last], after=turns[last + 1 :])
    else:
        found = Conversation(question=read_text("question", value, note) or "")
    if not found.question.strip():
        raise BadCellError("question", "is empty, expected a question")
    return found


def read_reference(value: JsonValue, note: Note, *, written: bool) -> str | None:
    """The reference; of a list of them the first, as ragas takes it."""
    listed = _written_list(value, note) if written else value
    if not isinstance(listed, list) or (written and not all(isinstance(item, str) for item in listed)):
        return read_text("reference", value, note)
    if len(listed) > 1:
        note("reference: the first of several taken")
    return read_text("reference", listed[0], note) if listed else None


def read_passages(name: str, value: JsonValue, note: Note, *, written: bool) -> tuple[Passage, ...] | None:
    """Passages, from a list of texts or of objects with a text."""
    if value is None:
        return None
    items = _items(name, value, note, written=written)
    kept = [item for item in items if item is not None]
    for _ in range(len(items) - len(kept)):
        note(f"{name}: null left out")
    return tuple(_passage(name, rank, item, note) for rank, item in enumerate(kept, 1))


def read_history(name: str, value: JsonValue, note: Note) -> tuple[Turn, ...]:
    """Messages: objects with a role (or type) and a content (or text), or plain texts, the user's first."""
    if isinstance(value, str):
        listed = _written_list(value, note)
        if listed is None:
            note(f"{name}: one text read as a list of one")
        value = [value] if listed is None else listed
    if value is None:
        return ()
    if not isinstance(value, list):
        raise BadCellError(name, f"got {kind_of_value(value)}, expected a list of messages")
    return tuple(_turn(name, place, turn, note) for place, turn in enumerate(value))


def read_ids(value: JsonValue, note: Note) -> JsonValue:
    """A list of ids that was written as text, as a list; anything else as it is."""
    listed = _written_list(value, note)
    return value if listed is None else listed


def kind_of_value(value: Any) -> str:
    """What a JSON value is, with its article."""
    names: dict[type, str] = {
        dict: "an object",
        list: "a list",
        str: "a text",
        bool: "a boolean",
        int: "a number",
        float: "a number",
    }
    return names.get(type(value), "null")


def _turn(name: str, place: int, turn: JsonValue, note: Note) -> Turn:
    if isinstance(turn, str):
        return Turn(role="assistant" if place % 2 else "user", text=turn)
    if not isinstance(turn, Mapping):
        raise BadCellError(name, f"message {place + 1} is {kind_of_value(turn)}, expected an object or a text")
    said = next((turn[key] for key in ("content", "text", "message") if turn.get(key) is not None), "")
    given = next((turn[key] for key in ("role", "type", "speaker") if key in turn), "user")
    role = ROLES.get(str(given).lower())
    if role is None:
        note(f"{name}: message of an unknown role read as the user's")
    return Turn(role=role or "user", text=said if isinstance(said, str) else json.dumps(said, ensure_ascii=False))


def _passage(name: str, rank: int, item: JsonValue, note: Note) -> Passage:
    if not isinstance(item, Mapping):
        return Passage(id=str(rank), text=read_text(name, item, note) or "", rank=rank)
    text_key = next((key for key in PASSAGE_TEXTS if item.get(key) is not None), None)
    if text_key is None:
        raise BadCellError(name, f"passage {rank} has no text, expected one of {', '.join(PASSAGE_TEXTS)}")
    id_key = next((key for key in PASSAGE_IDS if item.get(key) is not None), None)
    score = _score(item.get("score"))
    used = {text_key, id_key, "score" if score is not None else None, "rank" if item.get("rank") == rank else None}
    for key, value in item.items():
        if key not in used and value is not None:
            note(f"{name}: {key!r} of a passage left out")
    return Passage(
        id=str(item[id_key] if id_key else rank),
        text=read_text(name, item[text_key], note) or "",
        rank=rank,
        score=score,
    )


def _score(value: JsonValue) -> float | None:
    try:
        return None if isinstance(value, bool) or not isinstance(value, (int, float)) else float(value)
    except OverflowError:
        return None


def _items(name: str, value: JsonValue, note: Note, *, written: bool) -> Sequence[JsonValue]:
    if isinstance(value, str):
        listed = _written_list(value, note)
        if listed is None:
            note(f"{name}: one text read as a list of one")
            return [value] if value.strip() else []
        if not written:
            note(f"{name}: list written as text")
        return listed
    if isinstance(value, list):
        return value
    if isinstance(value, Mapping):
        note(f"{name}: one passage read as a list of one")
        return [value]
    raise BadCellError(name, f"got {kind_of_value(value)}, expected a list of passages")


def _written_list(value: JsonValue, note: Note) -> list[JsonValue] | None:
    """A list that was written as text: as numpy writes it (no commas), as JSON, or as Python does."""
    if not isinstance(value, str):
        return None
    body = value.strip()
    if not (body.startswith("[") and body.endswith("]")):
        return None
    for parse in (_numpy_list, json.loads, _python_list):
        try:
            found: Any = parse(body)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(found, list):
            return cast("list[JsonValue]", clean(found, note))
    return None


def _numpy_list(body: str) -> list[Any] | None:
    if not NUMPY_LIST.fullmatch(body):
        return None
    return [_literal(item) for item in NUMPY_ITEM.findall(body)]


def _python_list(body: str) -> Any:
    """As Python reads it, but for texts side by side (`'a' 'b'`), which Python would glue together."""
    tokens = tokenize.generate_tokens(io.StringIO(body).readline)
    try:
        kinds = [token.type for token in tokens if token.type not in (tokenize.NL, tokenize.NEWLINE)]
    except tokenize.TokenError as error:
        raise ValueError(str(error)) from error
    if any(first == second == tokenize.STRING for first, second in pairwise(kinds)):
        raise ValueError("two texts without a comma between them")
    return _literal(body)


def _literal(body: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an escape such as `\\d` is a matter of whoever wrote the file
        return ast.literal_eval(body)
