"""Every exception ragboard raises on purpose.

    RagboardError
    ├── RunFileError         a run file that cannot be read: `file:line: field: got, expected`
    ├── StoreError           the store's folder or database cannot be used
    │   ├── StoreBusyError   another process kept the database or an evaluation's journal
    │   ├── RunExistsError   a different run already has that name
    │   └── NotFoundError    no such run, sample or evaluation
    ├── JudgeError           a judge cannot work at all (no judge for a role, no credentials)
    ├── SettingError         a setting or argument is off: what was given, what is allowed
    └── QueryError           an SQL statement that is not allowed, wrong, or takes too much

The failure of one sample is never an exception: it is an `Unscored` with its reason.
"""

from __future__ import annotations

__all__ = [
    "JudgeError",
    "NotFoundError",
    "QueryError",
    "RagboardError",
    "RunExistsError",
    "RunFileError",
    "RunFileWarning",
    "SettingError",
    "StoreBusyError",
    "StoreError",
]


class RagboardError(Exception):
    """An error that the user can fix; its message is one line: what is wrong, where, what to do."""

    exit_code = 1


class RunFileError(RagboardError):
    """A run file, or one of its rows, cannot be read.

    Rendered as `file:line: field: message`; line and field are left out where there is none.
    """

    exit_code = 2

    def __init__(self, path: object, message: str, *, line: int | None = None, field: str | None = None) -> None:
        self.path = str(path)
        self.line = line
        self.field = field
        self.message = message
        where = self.path if line is None else f"{self.path}:{line}"
        super().__init__(f"{where}: {field}: {message}" if field else f"{where}: {message}")


class RunFileWarning(UserWarning):
    """Rows were read differently than written, or in part; the message says what, how often, and in which rows."""


class StoreError(RagboardError):
    """The store cannot be used: no permission, full disk, damaged, or newer than this version."""


class StoreBusyError(StoreError):
    """Another process held the database or a journal for too long."""

    exit_code = 75


class RunExistsError(StoreError):
    """A different run already has the name."""


class NotFoundError(StoreError):
    """There is no run, sample or evaluation with this name."""


class JudgeError(RagboardError):
    """A judge cannot work: a role has no judge, or its model cannot be reached."""


class SettingError(RagboardError):
    """A setting is invalid; the message says what was given and what is allowed."""

    exit_code = 2


class QueryError(RagboardError):
    """An SQL statement is not allowed, is wrong, or exceeds a limit."""

    exit_code = 2
