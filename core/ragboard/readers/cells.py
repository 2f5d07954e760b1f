"""Read the cells of a row as fields of a sample, and report every conversion."""

from __future__ import annotations

import ast
import io
import json
import math
import re
import tokenize
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Literal, Protocol, TypeAlias, cast

from ragboard.readers.files import ObjectWithRepeatedKey, parse
from ragboard.readers.printed import WRITE, PrintedError, may_be_printed, read_printed, read_python
from ragboard.records import JsonValue, Nugget, Passage, Turn

__all__ = [
    "NAMES_ONLY",
    "PASSAGE_TEXTS",
    "QUESTION_KEYS",
    "BadCellError",
    "Conversation",
    "OnNote",
    "UniqueIds",
    "clean",
    "count_keys",
    "kind_of_value",
    "messages_in",
    "read_answer",
    "read_history",
    "read_ids",
    "read_nuggets",
    "read_passages",
    "read_question",
    "read_reference",
    "read_text",
    "read_time",
    "storable",
]

OnNote: TypeAlias = Callable[[str], None]
"""A function called with a description of each conversion, such as `answer: number read as text`."""

MAX_DEPTH = 64
"""Maximum nesting of lists and objects."""
MAX_EXACT = 2.0**63
"""orjson parses integers below -`MAX_EXACT` or above 2 * `MAX_EXACT` as floats, and the parser of Python does not."""
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
TEXTS = ("text", "page_content", "content")
PASSAGE_TEXTS = (*TEXTS, "passage", "document")
MESSAGE_TEXTS = ("content", "text", "message", "parts", "blocks")
"""Keys of a message that may hold its text, in order of preference."""
PASSAGE_IDS = ("id", "doc_id", "passage_id", "chunk_id", "document_id", "id_", "node_id")
PLAIN_PASSAGE = frozenset(("id", "text", "score", "rank"))
"""Keys of a passage in ragboard's format. An object with any other key was serialised by a framework."""
USUAL_PASSAGE = frozenset(("id", "text", "score"))
"""Keys of a passage in most files."""
QUESTION_KEYS = ("question", "user_input", "query", "prompt", "input")
"""Keys under which an object is likely to hold the question."""
NAMES_ONLY = "passage is a file name or a URL, not text"
"""The conversion reported for a passage that is only a file name or a URL."""
EXTENSIONS = (
    "pdf|docx?|odt|rtf|epub|pptx?|xlsx?|txt|mdx?|rst|html?|csv|tsv|jsonl?|ya?ml|xml|tex|ipynb|eml|msg|png|jpe?g"
)
URL = r"(?:[a-z][a-z0-9+.-]*://|www\.)\S+"
FILE = rf"(?!.*\w\w\. )(?:[a-z]:)?[\w .,~@#%=&+'()\[\]/\\-]{{0,200}}\.(?:{EXTENSIONS})(?:[#:?]\S*)?"
"""Matches a file name. Spaces are allowed, but not `. `, which ends a sentence."""
PATH = r"(?=.*[^\W\d_]{2})(?:[a-z]:)?[\w.~-]*(?:[/\\][\w.~-]+)+[/\\]?"
TURNS = re.compile(r"history|messages|turns|dialog|conversation|chat")
"""Matches the name of a column whose texts may be earlier turns, even without roles."""
ADDRESS = re.compile(rf"{URL}|{FILE}|{PATH}", re.IGNORECASE)
MAX_ADDRESS_WITH_SPACES = 220
"""A text with a space after this many characters is not a file name; the slow `ADDRESS` is then not tried."""
PYTHON_MESSAGE = re.compile(rf"\[?\s*\{{\s*'(?:content': .*')?role': '(?:{'|'.join(ROLES)})'.*[}}\]]", re.DOTALL)
NUMPY_ITEM = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
NUMPY_LIST = re.compile(rf"\[\s*(?:{NUMPY_ITEM.pattern})(?:\s+(?:{NUMPY_ITEM.pattern}))+\s*\]")


class BadCellError(ValueError):
    """A cell that cannot be read as its field. The message says what the cell has and what was expected."""

    def __init__(self, field_name: str, message: str) -> None:
        self.field = field_name
        super().__init__(message)


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """A question with the messages before and after it."""

    question: str
    before: tuple[Turn, ...] = ()
    after: tuple[Turn, ...] = ()


class IdSet(Protocol):
    """A set of ids, or an object that needs less memory."""

    def __contains__(self, value: str, /) -> bool: ...
    def add(self, value: str, /) -> None: ...


@dataclass
class UniqueIds:
    """Makes ids unique by numbering duplicates."""

    used: IdSet = field(default_factory=set[str])
    duplicates: Counter[str] = field(default_factory=Counter[str])

    def assign(self, requested: str) -> str:
        """Return the id if it is new, else `ID#2`, `ID#3` and so on."""
        assigned = requested
        while assigned in self.used:
            self.duplicates[requested] += 1
            assigned = f"{requested}#{self.duplicates[requested] + 1}"
        self.used.add(assigned)
        return assigned


def storable(text: str) -> str:
    """Return the text with `?` instead of each lone surrogate, which UTF-8 cannot encode."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def clean(value: Any, note: OnNote, depth: int = 0) -> JsonValue:
    """Return a JSON value that can be stored: no lone surrogates, no NaN or infinity, text as keys.

    Raises BadCellError for a duplicate key, and for more than `MAX_DEPTH` levels.
    """
    if depth > MAX_DEPTH:
        raise BadCellError("", f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, ObjectWithRepeatedKey):
        raise BadCellError("", f"duplicate key {storable(value.key)!r}")
    if isinstance(value, str):
        text = storable(value)
        if text != value:
            note("half a character (lone surrogate) replaced")
        return text
    if isinstance(value, float) and not math.isfinite(value):
        note("NaN or infinity read as missing")
        return None
    if isinstance(value, Mapping):
        cells = cast("Mapping[Any, Any]", value)
        return {str(clean(str(key), note)): clean(cell, note, depth + 1) for key, cell in cells.items()}
    if isinstance(value, (list, tuple)):
        return [clean(cell, note, depth + 1) for cell in cast("Sequence[Any]", value)]
    return value if value is None or isinstance(value, (bool, int, float)) else _to_text(value, note)


def count_keys(value: Any, depth: int = 0) -> int | None:
    """Return the number of keys in a list or object of parsed JSON; None if `clean` may change the value.

    Does not check texts for surrogates. Also None for a float that may be a large integer (see `MAX_EXACT`).
    """
    if depth > MAX_DEPTH:
        return None
    is_object = type(value) is dict
    keys = len(value) if is_object else 0
    for cell in value.values() if is_object else value:
        kind = type(cell)
        if kind is str:
            continue
        if kind is float:
            if not -MAX_EXACT < cell < MAX_EXACT:
                return None
        elif kind is dict or kind is list:
            inner = count_keys(cell, depth + 1)
            if inner is None:
                return None
            keys += inner
        elif kind is ObjectWithRepeatedKey:
            return None
    return keys


def _to_text(value: Any, note: OnNote) -> str:
    """Return a value that JSON does not have, such as a date, as text. Raises BadCellError if it has no text form."""
    if isinstance(value, bytes):
        note("bytes read as text")
        return value.decode(errors="replace")
    try:
        return str(value)
    except (ValueError, OverflowError, NotImplementedError) as error:  # a date that Python cannot represent
        raise BadCellError("", f"got a value of type {type(value).__name__} that cannot be written as text") from error


def read_answer(value: JsonValue, note: OnNote) -> str | None:
    """Return the answer from a text, a message, or a list of messages (the assistant's last message)."""
    content = _parse_messages("answer", value, note)
    if isinstance(content, str):
        return content
    if not _are_messages(content):
        return read_text("answer", content, note)
    replies = [turn.text for turn in read_history("answer", content, note) if turn.role == "assistant"]
    if not replies:
        raise BadCellError("answer", "got a list of messages without one by the assistant, expected an answer")
    note("answer: read from the last assistant message")
    return replies[-1]


def read_question(value: JsonValue, note: OnNote) -> Conversation:
    """Return the question from a text, a message, or a list of messages (the user's last message)."""
    content = _parse_messages("question", value, note)
    if isinstance(content, str):
        conversation = Conversation(question=content)
    elif _are_messages(content):
        turns = read_history("question", content, note)
        last = max((index for index, turn in enumerate(turns) if turn.role == "user"), default=None)
        if last is None:
            raise BadCellError("question", "got a list of messages without one by the user, expected a question")
        conversation = Conversation(question=turns[last].text, before=turns[:last], after=turns[last + 1 :])
    else:
        conversation = Conversation(question=read_text("question", content, note) or "")
    if not conversation.question.strip():
        raise BadCellError("question", "is empty, expected a question")
    return conversation


def read_reference(value: JsonValue, note: OnNote, *, lists_as_text: bool) -> str | None:
    """Return the reference from a text, or from a list of references (the first, as ragas does).

    `lists_as_text`: the file format cannot hold lists, so a text may be a list.
    """
    content = _parse_messages("reference", value, note)
    items = _parse_list(content, note) if lists_as_text else content
    texts = isinstance(items, list) and all(isinstance(item, str) for item in items)
    if not isinstance(items, list) or _are_parts(items) or (lists_as_text and not texts):
        return content if isinstance(content, str) else read_text("reference", content, note)
    if len(items) > 1:
        note("reference: only the first of several was read")
    return read_text("reference", items[0], note) if items else None


def read_passages(name: str, value: JsonValue, note: OnNote, *, lists_as_text: bool) -> tuple[Passage, ...] | None:
    """Return the passages in a list of texts or objects, ranked from 1.

    `lists_as_text`: the file format cannot hold lists, so a text may be a list.
    """
    if value is None:
        return None
    items = _items(name, _parse_printed(name, value, note), note, lists_as_text=lists_as_text)
    present = [item for item in items if item is not None]
    for _ in range(len(items) - len(present)):
        note(f"{name}: null dropped")
    return tuple(
        [_usual_passage(rank, item) or _passage(name, rank, item, note) for rank, item in enumerate(present, 1)]
    )


def read_history(name: str, value: JsonValue, note: OnNote) -> tuple[Turn, ...]:
    """Return the turns in a list of messages: objects with role and text, or texts by user and assistant in turn."""
    if value is None:
        return ()
    value = _parse_printed(name, value, note)
    if isinstance(value, str):
        parsed = _parse_list(value, note)
        value = _parse_messages(name, value, note) if parsed is None else parsed
    if isinstance(value, str) or _is_message(value):
        note(f"{name}: single text read as a list")
        value = [value]
    if not isinstance(value, list):
        raise BadCellError(name, f"got {kind_of_value(value)}, expected a list of messages")
    return tuple(_turn(name, index, turn, note) for index, turn in enumerate(value))


def read_nuggets(name: str, value: JsonValue, note: OnNote) -> tuple[Nugget, ...] | None:
    """Return the nuggets in a list of texts, or of objects with a text and an importance (vital or okay).

    The importance `failed`, which nuggetizer writes if its judge gave none, is read as None.
    """
    value = _parse_list(value, note) or value
    if value is None:
        return None
    if not isinstance(value, list):
        raise BadCellError(name, f"got {kind_of_value(value)}, expected a list of nuggets")
    return tuple(_nugget(name, number, item) for number, item in enumerate(value, 1))


def _nugget(name: str, number: int, value: JsonValue) -> Nugget:
    cells = value if isinstance(value, dict) else {"text": value}
    text, importance = cells.get("text"), cells.get("importance")
    if not isinstance(text, str) or not text.strip():
        raise BadCellError(name, f"nugget {number} has no text; expected a text, or an object with text and importance")
    word = importance.strip().casefold() if isinstance(importance, str) else importance
    if word in ("failed", ""):
        word = None
    if word not in ("vital", "okay", None):
        raise BadCellError(name, f"nugget {number}: got the importance {importance!r:.40}, expected vital or okay")
    return Nugget(text=" ".join(text.split()), importance=word)


def messages_in(column: str, value: JsonValue) -> list[str]:
    """Return the texts of the messages in a cell; empty if it has no conversation.

    A list is a conversation if its items have roles, or if they are texts in a column with a name like `history`.
    """
    items = _parse_list(value, _ignore_note) if isinstance(value, str) else value
    if not isinstance(items, list) or not items:
        return []
    if _are_messages(items) or (TURNS.search(column.lower()) and all(isinstance(item, str) for item in items)):
        try:
            return [turn.text.strip() for turn in read_history(column, items, _ignore_note)]
        except BadCellError:
            return []
    return []


def read_ids(value: JsonValue, note: OnNote) -> JsonValue:
    """Return the list of ids written in a text, or the value unchanged if it is not such a text."""
    ids = _parse_list(value, note)
    return value if ids is None else ids


def kind_of_value(value: Any) -> str:
    """Return the type of a JSON value with its article: `a list`."""
    names: dict[type, str] = {
        dict: "an object",
        list: "a list",
        str: "a text",
        bool: "a boolean",
        int: "a number",
        float: "a number",
    }
    return "null" if value is None else names.get(type(value), f"an object of type {type(value).__name__}")


def _turn(name: str, index: int, turn: JsonValue, note: OnNote) -> Turn:
    position = f"message {index + 1}"
    was_text, turn = isinstance(turn, str), _parse_printed(name, turn, note, position=f"{position} ")
    if was_text and isinstance(turn, Mapping) and "role" not in turn:
        raise BadCellError(
            name, f"{position} is the repr() of a message and lacks its role, expected an object with role and content"
        )
    if isinstance(turn, str):
        return Turn(role="assistant" if index % 2 else "user", text=turn)
    if not isinstance(turn, Mapping):
        raise BadCellError(name, f"{position} is {kind_of_value(turn)}, expected an object or a text")
    message = _unwrap(turn)
    if not message.keys() & {*MESSAGE_TEXTS, "tool_calls"}:
        raise BadCellError(name, f"{position} has no text, expected one of {', '.join(MESSAGE_TEXTS)}")
    content = next((message[key] for key in MESSAGE_TEXTS if message.get(key) is not None), "")
    role_name = next((message[key] for key in ("role", "type", "speaker") if key in message), "user")
    role = ROLES.get(str(role_name).lower())
    if role is None:
        note(f"{name}: message with an unknown role read as the user's")
    if isinstance(content, str) or _are_parts(content):
        return Turn(role=role or "user", text=read_text(name, content, note) or "")
    return Turn(role=role or "user", text=json.dumps(content, ensure_ascii=False) if content else "")


def read_text(name: str, value: JsonValue, note: OnNote) -> str | None:
    """Return the text of a cell: a text, the text of an object or of a list of content parts, or a number as text.

    Raises BadCellError for anything else.
    """
    value = _parse_printed(name, value, note)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        note(f"{name}: number read as text")
        return str(value)
    if isinstance(value, list) and _are_parts(value):
        texts = [text for part in value if (text := _part_text(part)) is not None]
        if len(texts) < len(value):
            note(f"{name}: non-text message parts dropped")
        return "\n".join(texts)
    if isinstance(value, Mapping):
        inner = _unwrap(value)
        key = _first_key(inner, TEXTS)
        if key is not None:
            note(f"{name}: read from {key!r} of an object")
            return read_text(name, inner[key], note)
    hint = _path_hint(value) if isinstance(value, Mapping) else ""
    raise BadCellError(name, f"got {kind_of_value(value)}, expected text{hint}")


TIME_COLUMNS = ("time", "timestamp", "created_at")
EPOCH_UNITS = ((1e11, 1), (1e14, 1e3), (1e17, 1e6), (1e20, 1e9))
"""Units of Unix times, recognised by their size: (upper limit, units per second) for s, ms, us and ns."""


def read_time(metadata: Mapping[str, JsonValue]) -> datetime | None:
    """Return the time of a question in UTC, from the column `time`, `timestamp` or `created_at`; else None.

    The value is an ISO 8601 date and time (UTC if it has no time zone), or a Unix time in s, ms, us or ns. Only times
    between 2000 and 2100 are used.
    """
    for name in TIME_COLUMNS:
        value = metadata.get(name)
        if value is None:
            continue
        time = None
        with suppress(ValueError, OverflowError):
            if isinstance(value, str) and "-" in value:
                time = datetime.fromisoformat(value.strip())
                time = time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time
            elif isinstance(value, (int, float)) and 1e8 <= value < EPOCH_UNITS[-1][0]:
                per_second = next(per_second for limit, per_second in EPOCH_UNITS if value < limit)
                time = datetime.fromtimestamp(value / per_second, UTC).replace(tzinfo=None)
        if time and 2000 <= time.year < 2100:
            return time
    return None


def _parse_printed(name: str, value: JsonValue, note: OnNote, position: str = "") -> JsonValue:
    """Return the object whose repr() or str() is in the cell, else the value unchanged.

    Raises BadCellError if the text of the object is cut off or ambiguous. `position` begins the error message.
    """
    if not isinstance(value, str) or not may_be_printed(value):
        return value
    try:
        parsed = read_printed(value)
    except PrintedError as error:
        raise BadCellError(name, f"{position}{error}") from error
    if parsed is None:
        return value
    note(f"{name}: read from the repr() of an object")
    return clean(parsed, note)


def _path_hint(value: Mapping[str, JsonValue]) -> str:
    """Return, for an error message, the path of a text in the object; empty if it has no text."""
    texts = [key for key, cell in value.items() if isinstance(cell, str)]
    return f"; to read one of its texts, map the field to a path such as COLUMN.{texts[0]}" if texts else ""


def _parse_messages(name: str, value: JsonValue, note: OnNote) -> JsonValue:
    """Return the messages, or the parts of one message, written in a text as JSON or Python; else the value unchanged.

    Raises BadCellError for messages that cannot be parsed.
    """
    content = _parse_printed(name, value, note)
    if not isinstance(content, str) or not content.lstrip().startswith(("[{", "{", "[")):
        return content
    parsed = _parse_list(content, _ignore_note) or _parse_object(content)
    if isinstance(parsed, Mapping) and _is_message(parsed):
        note(f"{name}: message parsed from text")
        return parsed
    if isinstance(parsed, list) and (_are_messages(parsed) or _are_parts(parsed)):
        note(f"{name}: messages parsed from text")
        return parsed
    if PYTHON_MESSAGE.fullmatch(content.strip()):
        raise BadCellError(name, f"is the repr() of a message and cannot be parsed; {WRITE}")
    if name == "question" and isinstance(parsed, Mapping) and any(key in parsed for key in QUESTION_KEYS):
        raise BadCellError(name, f"got a JSON object, expected text{_path_hint(parsed)}")
    if isinstance(parsed, Mapping):
        note(f"{name}: a JSON object read as plain text; to read one of its texts, map the field to a path into it")
    return content


def _unwrap(item: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """Return the message or passage inside an object serialised by LangChain or LlamaIndex; else the item unchanged."""
    match item:
        case {"lc": _, "kwargs": Mapping() as inner}:
            return inner
        case {"type": kind, "data": Mapping() as inner} if "content" in inner:
            return {**inner, "type": kind}
        case {"node": Mapping() as inner}:
            text = {"text": inner.get("text", inner.get("text_resource"))}
            return {**text, "id": inner.get("id_"), "score": item.get("score"), "metadata": inner.get("metadata")}
        case {"text_resource": Mapping() as inner}:
            return {"text": inner.get("text"), "id": item.get("id_"), "metadata": item.get("metadata")}
        case _:
            return item


def _is_address(text: str) -> bool:
    """Return whether a text is only a file name or a URL."""
    body = text.strip()
    return body.find(" ", MAX_ADDRESS_WITH_SPACES) < 0 and ADDRESS.fullmatch(body) is not None


def _first_key(item: Mapping[str, JsonValue], keys: Sequence[str]) -> str | None:
    """Return the first of these keys with a value in the object; None if there is none."""
    for key in keys:
        if item.get(key) is not None:
            return key
    return None


def _ignore_note(_: str) -> None:
    """Discard a conversion: the value is only checked, not imported."""


def _is_message(value: JsonValue) -> bool:
    """Return whether a value is an object with a role and a text."""
    if not isinstance(value, Mapping):
        return False
    inner = _unwrap(value)
    role = str(inner.get("role") or inner.get("type") or inner.get("speaker")).lower()
    return role in ROLES and any(key in inner for key in MESSAGE_TEXTS)


def _are_messages(value: JsonValue) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_message, value))


def _are_parts(value: JsonValue) -> bool:
    """Return whether a value is the list of parts (texts, images, tool calls) of one message."""
    if not isinstance(value, list) or not value:
        return False
    parts = [part if isinstance(part, Mapping) and "role" not in part else {} for part in value]
    kinds = [part.get("type", part.get("block_type")) for part in parts]
    typed = all(isinstance(kind, str) and kind.lower() not in ROLES for kind in kinds)
    bare = all(isinstance(part, Mapping) and set(part) == {"text"} for part in value)
    return bare or (typed and any(_part_text(part) is not None for part in value))


def _part_text(part: JsonValue) -> str | None:
    if not isinstance(part, Mapping) or "text" not in str(part.get("type", part.get("block_type", "text"))):
        return None
    text = part.get("text", part.get("content"))
    text = text.get("value") if isinstance(text, Mapping) else text
    return text if isinstance(text, str) else None


def _usual_passage(rank: int, item: JsonValue) -> Passage | None:
    """Return the passage of an object with an id, a text and perhaps a score; None for any other value.

    This is a shortcut for most passages, for which `_passage` returns the same without a note.
    """
    if type(item) is not dict or not item.keys() <= USUAL_PASSAGE:
        return None
    text, given, score = item.get("text"), item.get("id"), item.get("score")
    if type(text) is not str or type(given) is not str or (score is not None and type(score) is not float):
        return None
    if may_be_printed(text) or _is_address(text):
        return None
    return Passage(id=given, text=text, rank=rank, score=score)


def _passage(name: str, rank: int, item: JsonValue, note: OnNote) -> Passage:
    if type(item) is str:
        item = _parse_printed(name, item, note, position=f"passage {rank} ")
    if not isinstance(item, Mapping):
        text = read_text(name, item, note) or ""
        if _is_address(text):
            note(f"{name}: {NAMES_ONLY}")
        return Passage(id=str(rank), text=text, rank=rank)
    passage = item if type(item.get("text")) is str and item.keys() <= PLAIN_PASSAGE else _unwrap(item)
    text_key = _first_key(passage, PASSAGE_TEXTS)
    if text_key is None:
        raise BadCellError(name, f"passage {rank} has no text, expected one of {', '.join(PASSAGE_TEXTS)}")
    id_key = _first_key(passage, PASSAGE_IDS)
    score = _score(passage.get("score"))
    used = (text_key, id_key, "score" if score is not None else None, "rank" if passage.get("rank") == rank else None)
    for key, value in passage.items():
        if key not in used and value is not None:
            note(f"{name}: {key!r} of a passage dropped")
    text = read_text(name, passage[text_key], note) or ""
    is_one_word = text_key == "document" and isinstance(passage[text_key], str) and len(text.split()) == 1
    if is_one_word or _is_address(text):
        note(f"{name}: {NAMES_ONLY}")
    return Passage(
        id=str(passage[id_key] if id_key else rank),
        text=text,
        rank=rank,
        score=score,
    )


def _score(value: JsonValue) -> float | None:
    try:
        return None if isinstance(value, bool) or not isinstance(value, (int, float)) else float(value)
    except OverflowError:
        return None


def _items(name: str, value: JsonValue, note: OnNote, *, lists_as_text: bool) -> Sequence[JsonValue]:
    if isinstance(value, str):
        items = _parse_list(value, note)
        if items is None:
            note(f"{name}: single text read as a list")
            return [value] if value.strip() else []
        if not lists_as_text:
            note(f"{name}: list parsed from text")
        return items
    if isinstance(value, list):
        return value
    if isinstance(value, Mapping):
        note(f"{name}: single passage read as a list")
        return [value]
    raise BadCellError(name, f"got {kind_of_value(value)}, expected a list of passages")


def _parse_list(value: JsonValue, note: OnNote) -> list[JsonValue] | None:
    """Return the list written in a text by numpy (without commas), as JSON or as Python; None for any other value."""
    if not isinstance(value, str):
        return None
    body = value.strip()
    if not (body.startswith("[") and body.endswith("]")):
        return None
    for read in (_numpy_list, parse, _python_list):
        try:
            parsed: Any = read(body)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(parsed, list):
            return cast("list[JsonValue]", clean(parsed, note))
    return None


def _parse_object(text: str) -> JsonValue:
    """Parse JSON or a Python literal; None if the text is neither."""
    try:
        parsed = parse(text)
    except (ValueError, RecursionError):
        parsed = read_python(text)
    return clean(parsed, _ignore_note)


def _numpy_list(body: str) -> list[Any] | None:
    if not NUMPY_LIST.fullmatch(body):
        return None
    return [_literal(item) for item in NUMPY_ITEM.findall(body)]


def _python_list(body: str) -> Any:
    """Parse a Python list. Raises ValueError for adjacent strings (`'a' 'b'`), which Python would join."""
    tokens = tokenize.generate_tokens(io.StringIO(body).readline)
    try:
        kinds = [token.type for token in tokens if token.type not in (tokenize.NL, tokenize.NEWLINE)]
    except tokenize.TokenError as error:
        raise ValueError(str(error)) from error
    if any(first == second == tokenize.STRING for first, second in pairwise(kinds)):
        raise ValueError("no comma between two texts")
    return _literal(body)


def _literal(body: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an invalid escape such as `\\d` in the file
        return ast.literal_eval(body)
