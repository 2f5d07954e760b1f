"""Mask parts of texts before they are sent to a model server."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from hashlib import blake2b
from typing import Any, TypeVar, cast

from ragboard.errors import SettingError
from ragboard.records import Turn
from ragboard.tasks import Task

__all__ = ["NOTHING_REDACTED", "Redaction", "compile_redaction"]

BLOCK = "█"
METRIC_FIELDS = frozenset({"quality", "definition"})
"""Task fields with texts of the metric instead of the sample. They are not redacted."""

AnyTask = TypeVar("AnyTask", bound=Task[Any])


@dataclass(frozen=True)
class Redaction:
    """Regular expressions. Each matching character is replaced by `█`, so character offsets stay valid."""

    patterns: tuple[re.Pattern[str], ...] = ()

    @property
    def suffix(self) -> str:
        """A suffix for the judge's identity, because redaction can change replies; empty without patterns."""
        if not self.patterns:
            return ""
        digest = blake2b("\n".join(pattern.pattern for pattern in self.patterns).encode(), digest_size=6)
        return f" redacted {digest.hexdigest()}"

    def mask_text(self, text: str) -> str:
        """Return the text with all matches replaced."""
        for pattern in self.patterns:
            text = pattern.sub(lambda match: BLOCK * len(match[0]), text)
        return text

    def mask_task(self, task: AnyTask) -> AnyTask:
        """Return the task with all matches in texts of the sample replaced."""
        if not self.patterns:
            return task
        texts = cast("Any", task)  # each type of task is a dataclass
        values = {
            field.name: getattr(task, field.name)
            for field in fields(texts)
            if field.init and field.name not in METRIC_FIELDS
        }
        return cast("AnyTask", replace(texts, **{name: self._value(value) for name, value in values.items()}))

    def _value(self, value: object) -> object:
        if isinstance(value, str):
            return self.mask_text(value)
        if isinstance(value, Turn):
            return replace(value, text=self.mask_text(value.text))
        if isinstance(value, tuple):
            return tuple(map(self._value, cast("tuple[object, ...]", value)))
        return value


NOTHING_REDACTED = Redaction()


def compile_redaction(patterns: Iterable[str]) -> Redaction:
    """Compile the regular expressions of a redaction. Raises SettingError for an invalid expression."""
    compiled: list[re.Pattern[str]] = []
    for pattern in patterns:
        try:
            compiled.append(re.compile(pattern))
        except re.error as error:
            raise SettingError(f"--redact: {pattern!r} is not a regular expression: {error}") from error
    return Redaction(tuple(compiled))
