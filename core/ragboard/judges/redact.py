"""Hide parts of texts before they are sent to a model on another machine."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from hashlib import blake2b
from typing import Any, TypeVar, cast

from ragboard.errors import SettingError
from ragboard.records import Turn
from ragboard.tasks import Task

__all__ = ["NOTHING_REDACTED", "Redaction", "redaction_of"]

BLOCK = "█"
METRIC_FIELDS = frozenset({"quality", "definition"})
"""Fields of tasks with words of the metric, not texts of the sample; they are not redacted."""

AnyTask = TypeVar("AnyTask", bound=Task[Any])


@dataclass(frozen=True)
class Redaction:
    """Regular expressions; each character that they match is replaced by a block, so positions stay the same."""

    patterns: tuple[re.Pattern[str], ...] = ()

    @property
    def suffix(self) -> str:
        """A part of the judge's identity, because redacted texts may be judged differently; empty without patterns."""
        if not self.patterns:
            return ""
        digest = blake2b("\n".join(pattern.pattern for pattern in self.patterns).encode(), digest_size=6)
        return f" redacted {digest.hexdigest()}"

    def text(self, text: str) -> str:
        """Return the text with all matches replaced."""
        for pattern in self.patterns:
            text = pattern.sub(lambda match: BLOCK * len(match[0]), text)
        return text

    def task(self, task: AnyTask) -> AnyTask:
        """Return the task with all matches in texts of the sample replaced."""
        if not self.patterns:
            return task
        texts = cast("Any", task)  # each type of task is a dataclass
        values = {
            one.name: getattr(task, one.name) for one in fields(texts) if one.init and one.name not in METRIC_FIELDS
        }
        return cast("AnyTask", replace(texts, **{name: self._value(value) for name, value in values.items()}))

    def _value(self, value: object) -> object:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Turn):
            return replace(value, text=self.text(value.text))
        if isinstance(value, tuple):
            return tuple(map(self._value, cast("tuple[object, ...]", value)))
        return value


NOTHING_REDACTED = Redaction()


def redaction_of(patterns: Iterable[str]) -> Redaction:
    """Compile regular expressions to a redaction. Raises SettingError for an invalid expression."""
    found: list[re.Pattern[str]] = []
    for pattern in patterns:
        try:
            found.append(re.compile(pattern))
        except re.error as error:
            raise SettingError(f"--redact: {pattern!r} is not a regular expression: {error}") from error
    return Redaction(tuple(found))
