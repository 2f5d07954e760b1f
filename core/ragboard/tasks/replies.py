"""Pydantic models of the JSON replies of chat models. They define the schema and parse the reply.

Prompts number statements, passages and sentences, and replies refer to these numbers, as 3, "3" or 3.0. A number that
is missing, repeated or out of range raises ReplyFormatError. Its message is sent to the model, which then corrects the
reply. Reasons and quotes can be missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, ValidationInfo
from pydantic_core import ErrorDetails, PydanticCustomError

__all__ = [
    "NONE_IF_MISSING",
    "Comment",
    "Json",
    "OneOf",
    "Quote",
    "Rating0To10",
    "RatingJson",
    "ReplyFormatError",
    "ReplyModel",
    "Text",
    "Texts",
    "VerdictJson",
    "WholeNumber",
    "YesNo",
    "one_per_text",
    "reply_error",
    "require_list",
    "require_object",
    "schema_of",
    "shortened_repr",
    "whole_number",
]

Json: TypeAlias = Mapping[str, Any]

ITEM_NOUNS = {"verdicts": "statement", "passages": "passage", "nuggets": "nugget"}
"""What the items of each list are called in messages, by the key of the list."""

NONE_IF_MISSING = Field(default=None, validate_default=True)
"""The default of a field. If the JSON lacks the field, its validator gets None."""


class ReplyFormatError(ValueError):
    """The reply does not have the expected form. The message is sent to the model."""


class ReplyModel(BaseModel):
    """A JSON object that a model replies with."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    key: ClassVar[str]
    """The key that distinguishes the reply from other JSON in the model's text."""
    reported_last: ClassVar[str] = ""
    """A field whose errors are reported only if no other field has an error; empty for none."""

    @classmethod
    def read(cls, value: Json, task: object) -> Self:
        """Validate a model's JSON as the reply to a task. Raises ReplyFormatError with the first error."""
        try:
            return cls.model_validate(value, context=task)
        except ValidationError as error:
            errors = sorted(error.errors(include_url=False), key=lambda details: cls.reported_last in details["loc"])
            raise ReplyFormatError(_message(errors[0])) from error


def reply_error(text: str, *, after_place: str | None = None) -> PydanticCustomError:
    """Return an error for a validator to raise, with the message `text`.

    With `after_place`, the message is `text`, the place in the reply, and `after_place`. For example,
    `reply_error("two verdicts", after_place=" for passage 2")` gives `two verdicts of statement 1 for passage 2`.
    """
    return PydanticCustomError("reply_format", "{text}", {"text": text, "after_place": after_place})


def _message(error: ErrorDetails) -> str:
    context = error.get("ctx", {})
    text, after_place = context.get("text", error["msg"]), context.get("after_place")
    return text if after_place is None else f"{text}{_place(error['loc'])}{after_place}"


def _place(loc: tuple[int | str, ...]) -> str:
    """Return the place of an error in words: ` of statement 1 by passage 2`."""
    parts = [f"{ITEM_NOUNS.get(str(name), name)} {row + 1}" for name, row in pairwise(loc) if isinstance(row, int)]
    of = f" of {' by '.join(parts)}" if parts else ""
    return f"{of} by the passages together" if "together" in loc else of


def shortened_repr(value: object) -> str:
    """Return the first 60 characters of the value's repr, or `missing` for None."""
    return "missing" if value is None else repr(value)[:60]


def whole_number(value: object) -> int | None:
    """Return a whole number, also given as "3" or 3.0; None for any other value, including booleans."""
    if type(value) is int:
        return value
    match value:
        case float() if value.is_integer():
            return int(value)
        case str() if value.strip().isascii() and value.strip().isdecimal() and len(value) < 10:
            return int(value)
        case _:
            return None


def require_list(value: object, info: ValidationInfo) -> list[Any]:
    """Return the value if it is a list. Raises a `reply_error` if it is not."""
    if not isinstance(value, list):
        raise reply_error(f"there is no list `{info.field_name}`", after_place="")
    return cast("list[Any]", value)


def require_object(value: object, name: str) -> dict[str, Any]:
    """Return the value if it is a JSON object. Raises a `reply_error` about the field `name` if it is not."""
    if not isinstance(value, dict):
        raise reply_error(f"`{name}` holds {shortened_repr(value)} where an object was asked for")
    return cast("dict[str, Any]", value)


def one_per_text(key: str, texts: str) -> BeforeValidator:
    """Return a validator for a list with exactly one object for each text in the task's field `texts`.

    Each object has the number of its text, from 1, under `key`. The validator sorts them by number.
    """

    def in_order(value: object, info: ValidationInfo) -> list[dict[str, Any]]:
        count = len(getattr(info.context, texts))
        by_number: dict[int, dict[str, Any]] = {}
        for item in require_list(value, info):
            row = require_object(item, f"{key}s")
            number = whole_number(row.get(key))
            if number is None or not 1 <= number <= count:
                raise reply_error(
                    "a verdict", after_place=f" for {key} {shortened_repr(row.get(key))}, there are 1 to {count}"
                )
            if number in by_number:
                raise reply_error("two verdicts", after_place=f" for {key} {number}")
            by_number[number] = row
        if len(by_number) < count:
            absent = next(number for number in range(1, count + 1) if number not in by_number)
            raise reply_error("no verdict", after_place=f" for {key} {absent}")
        return [by_number[number] for number in range(1, count + 1)]

    return BeforeValidator(in_order)


def _text(value: object, info: ValidationInfo) -> str:
    if not isinstance(value, str) or not any(map(str.isalnum, value)):
        raise reply_error(f"`{info.field_name}` holds no text")
    return value.strip()


def _texts(value: object, info: ValidationInfo) -> list[str]:
    items = require_list(value, info)
    if any(not isinstance(item, str) or not any(map(str.isalnum, item)) for item in items):
        raise reply_error(f"`{info.field_name}` holds something that is no text")
    return [" ".join(item.split()) for item in items]


class OneOf:
    """A validator that accepts one of several words, in upper or lower case."""

    def __init__(self, *words: str) -> None:
        self._words = {word.casefold(): word for word in words}

    def __call__(self, value: object, info: ValidationInfo) -> str:
        """Return the word in the spelling of `words`. Raises a `reply_error` for any other value."""
        if isinstance(value, str) and value in self._words:
            return self._words[value]
        word = value.strip().casefold() if isinstance(value, str) else None
        if word not in self._words:
            raise reply_error(
                f"`{info.field_name}`", after_place=f" is {shortened_repr(value)}, none of {', '.join(self._words)}"
            )
        return self._words[word]


_yes_no_word = OneOf("yes", "no")


def _yes_or_no(value: object, info: ValidationInfo) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _yes_no_word(value, info)


def _rating(value: object, info: ValidationInfo) -> int:
    number = whole_number(value)
    if number is None or not 0 <= number <= 10:
        raise reply_error(f"`{info.field_name}` is {shortened_repr(value)}, no whole number from 0 to 10")
    return number


def _text_or_empty(value: object) -> str:
    return value if isinstance(value, str) else ""


def _comment(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


Text = Annotated[str, BeforeValidator(_text), NONE_IF_MISSING]
"""A text with at least one letter or digit."""
Texts = Annotated[list[str], BeforeValidator(_texts), NONE_IF_MISSING]
"""A list of texts with at least one letter or digit each."""
Comment = Annotated[str, BeforeValidator(_comment), Field(default="")]
"""A text without surrounding space; empty if it is missing."""
Quote = Annotated[str, BeforeValidator(_text_or_empty), Field(default="")]
"""A text with its surrounding space; empty if it is missing."""
YesNo = Annotated[Literal["yes", "no"], BeforeValidator(_yes_or_no), NONE_IF_MISSING]
"""`yes` or `no`. The model may also write true or false."""
Rating0To10 = Annotated[Literal[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], BeforeValidator(_rating), NONE_IF_MISSING]
WholeNumber = Annotated[int, BeforeValidator(lambda value: whole_number(value) or 0), NONE_IF_MISSING]
"""A whole number; 0 for anything else."""


class VerdictJson(ReplyModel):
    """Yes or no, with a reason, as JSON."""

    key = "verdict"
    reason: Comment
    verdict: YesNo


class RatingJson(ReplyModel):
    """A rating from 0 to 10, with a reason, as JSON."""

    key = "rating"
    reason: Comment
    rating: Rating0To10


@cache
def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a model, with only keywords that all servers support. All properties are required."""
    full_schema = model.model_json_schema()

    def simplified(part: dict[str, Any]) -> dict[str, Any]:
        part = full_schema["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part
        match part["type"]:
            case "object":
                properties = {name: simplified(inner) for name, inner in part["properties"].items()}
                required = list(properties)
                return {
                    "type": "object",
                    "properties": properties,
                    "required": required,
                    "additionalProperties": False,
                }
            case "array":
                return {"type": "array", "items": simplified(part["items"])}
            case kind:
                return {"type": kind} | ({"enum": part["enum"]} if "enum" in part else {})

    return simplified(full_schema)
