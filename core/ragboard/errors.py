"""The exceptions of ragboard.

    RagboardError
    ├── RunFileError         an invalid input file: `file:line: field: got, expected`
    ├── StoreError           the store's folder or database cannot be used
    │   ├── StoreBusyError   the database, an evaluation or the query console is in use
    │   ├── RunExistsError   a different run already has that name
    │   └── NotFoundError    nothing in the store has this name or id
    ├── JudgeError           a judge cannot be used (no judge for a role, no credentials)
    ├── SettingError         invalid setting or argument: what was given, what is allowed
    └── QueryError           an SQL statement that is forbidden or invalid
        └── QueryLimitError  an SQL statement that takes too long or too much memory

The failure of one sample is never an exception: it is an `Unscored` with its reason.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from functools import partial
from typing import Self

__all__ = [
    "ExitCode",
    "InconclusiveWarning",
    "JudgeError",
    "NotFoundError",
    "QueryError",
    "QueryLimitError",
    "RagboardError",
    "RunExistsError",
    "RunFileError",
    "RunFileWarning",
    "SettingError",
    "StoreBusyError",
    "StoreError",
]


class ExitCode(IntEnum):
    """The exit codes of all commands."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> Self:
        """Create a code with its meaning."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    DONE = 0, "done, or passed"
    GATE_FAILED = 1, "a quality gate failed"
    BAD_INPUT = 2, "a bad or missing file, or a bad argument"
    STOPPED = 3, "stopped by a limit on calls, cost, time or memory, or cancelled; the results so far are kept"
    INCONCLUSIVE = 4, "a quality gate is inconclusive: the threshold is inside the 95% CI, or there is no CI"
    NOT_FOUND = 5, "the store does not have this run, evaluation, sample or metric"
    ERROR = 6, "any other error"
    BUSY = 75, "another process is using the store or the evaluation; try again"
    INTERRUPTED = 130, 'stopped by the user (Ctrl-C, or "no" when asked to confirm)'


class RagboardError(Exception):
    """An error that the user can fix; its message is one line: what is wrong, where, what to do."""

    exit_code = ExitCode.ERROR


class RunFileError(RagboardError):
    """An input file or folder (run, labels, examples, recording), or one of its rows, cannot be read.

    The text is `file:line: field: message`; line and field are optional. `remedy` is appended to the message and names
    the option or argument that fixes the error. The dashboard omits it if it has a control for it.
    """

    exit_code = ExitCode.BAD_INPUT

    def __init__(
        self, path: object, message: str, *, line: int | None = None, field: str | None = None, remedy: str = ""
    ) -> None:
        self.path = str(path)
        self.line = line
        self.field = field
        self.message = message
        self.remedy = remedy
        where = self.path if line is None else f"{self.path}:{line}"
        super().__init__(f"{where}: {field}: {message}{remedy}" if field else f"{where}: {message}{remedy}")

    def __reduce__(self) -> tuple[Callable[..., RunFileError], tuple[str, str]]:
        """Return how to recreate the error in another process."""
        rebuild = partial(RunFileError, line=self.line, field=self.field, remedy=self.remedy)
        return rebuild, (self.path, self.message)


class RunFileWarning(UserWarning):
    """Values were converted, left out or renamed; the message says what was changed, how often, and in which rows."""


class InconclusiveWarning(UserWarning):
    """An assertion passed, but the evaluation is inconclusive: the threshold is inside the 95% CI, or tasks failed."""


class StoreError(RagboardError):
    """The store cannot be used: no permission, full disk, damaged, or newer than this version."""


class StoreBusyError(StoreError):
    """The database, an evaluation or the query console is in use; try again later."""

    exit_code = ExitCode.BUSY


class RunExistsError(StoreError):
    """A different run already has the name."""

    exit_code = ExitCode.BAD_INPUT


class NotFoundError(StoreError):
    """Nothing in the store has this name or id."""

    exit_code = ExitCode.NOT_FOUND


class JudgeError(RagboardError):
    """A judge cannot be used: a role has no judge, or its model cannot be reached."""


class SettingError(RagboardError):
    """A setting is invalid; the message says what was given and what is allowed."""

    exit_code = ExitCode.BAD_INPUT


class QueryError(RagboardError):
    """An SQL statement is forbidden, invalid, or exceeds a limit."""

    exit_code = ExitCode.BAD_INPUT


class QueryLimitError(QueryError):
    """An SQL statement takes too long or too much memory."""

    exit_code = ExitCode.STOPPED
