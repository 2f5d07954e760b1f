"""The files of an evaluation, and the lock of the process that works on it."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from ragboard.errors import StoreBusyError

__all__ = ["LOCK_TIMEOUT", "journals_of", "lock_journals", "remove_journals"]

LOCK_TIMEOUT = 0.3
"""Seconds to wait for a lock. A process that only checks whether an evaluation runs holds it for less."""

EXTENSIONS = (".jsonl", ".json", ".draft", ".status.json", ".status.draft", ".status.stop", ".log", ".batches", ".lock")
"""Extensions of the files of one evaluation."""


def journals_of(folder: Path, run_ids: Iterable[str], evaluation_ids: Iterable[str]) -> tuple[Path, ...]:
    """Return the journals of these evaluations, and of evaluations of these runs that are not yet in the database."""
    runs = set(run_ids)
    unloaded = [path.with_suffix(".jsonl") for path in folder.glob("*.json") if _run_of(path) in runs]
    return tuple(dict.fromkeys((*(folder / f"{name}.jsonl" for name in evaluation_ids), *unloaded)))


@contextmanager
def lock_journals(journals: Iterable[Path]) -> Generator[None]:
    """Keep other processes from working on these evaluations. Raises StoreBusyError if a process already does."""
    with ExitStack() as locks:
        for path in journals:
            lock = path.with_suffix(".lock")
            try:
                if lock.exists():
                    locks.enter_context(FileLock(lock, timeout=LOCK_TIMEOUT, is_singleton=False))
            except (Timeout, PermissionError):
                raise StoreBusyError(
                    f"evaluation {path.stem} of this run is running{_process(path)}; stop it (Ctrl+C, or Cancel on"
                    " the run's page), then delete the run"
                ) from None
        yield


def remove_journals(journals: Iterable[Path]) -> None:
    """Delete all files of these evaluations."""
    for path in journals:
        for ending in EXTENSIONS:
            with suppress(PermissionError):
                path.with_suffix(ending).unlink(missing_ok=True)


def _run_of(header: Path) -> str:
    """Return the run id in the header of a journal; empty if there is none."""
    try:
        run = json.loads(header.read_text(encoding="utf-8"))["run"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""
    return run if isinstance(run, str) else ""


def _process(journal: Path) -> str:
    try:
        return f" in process {int(json.loads(journal.with_suffix('.status.json').read_text('utf-8'))['pid'])}"
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""
