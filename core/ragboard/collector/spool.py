"""The spool: files with the received requests, until their samples are in the store."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Spool"]

SEGMENT_BYTES = 16 * 2**20
SEGMENT_SECONDS = 20.0
"""Size and age at which a file is closed and a new one is started."""
SUFFIX = ".jsonl"


@dataclass(frozen=True)
class _Waiting:
    """A line that is not written yet."""

    line: bytes
    on_written: Callable[[int], None]
    written: Future[None] = field(default_factory=Future[None])


class Spool:
    """Appends lines to numbered files in a folder. A thread writes all waiting lines with one fsync.

    A file is deleted when all its uses are released.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._changed = threading.Condition()
        self._waiting: list[_Waiting] = []
        self._stopping = False
        self._uses = Counter[int]()
        self._files: dict[int, Path] = {}
        self._current = 0
        self._descriptor: int | None = None
        self._size = 0
        self._opened = 0.0
        self._thread = threading.Thread(target=self._run, name="ragboard-spool", daemon=True)

    def start(self) -> Iterator[tuple[bytes, int]]:
        """Start the thread, and return (line, number of its file) for the lines of earlier processes.

        Each line is one use of its file. A last line without a line end is skipped: it was never acknowledged.
        """
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        earlier = sorted((int(path.stem), path) for path in self._folder.glob(f"*{SUFFIX}") if path.stem.isdecimal())
        self._files = dict(earlier)
        self._uses.update(number for number, _ in earlier)  # until its lines are read
        self._current = earlier[-1][0] if earlier else 0
        self._thread.start()
        return self._earlier_lines(earlier)

    def _earlier_lines(self, earlier: list[tuple[int, Path]]) -> Iterator[tuple[bytes, int]]:
        for number, path in earlier:
            with path.open("rb") as file:
                for line in file:
                    if line.endswith(b"\n"):
                        self.use(number)
                        yield line, number
            self.release(number)

    def write(self, line: bytes, on_written: Callable[[int], None]) -> Future[None]:
        """Queue a line. The future has a result when the line is on disk, or an OSError if that fails.

        Before that, `on_written` is called with the number of the file. The line is one use of this file, which the
        caller must release. Lines are written in order.
        """
        waiting = _Waiting(line, on_written)
        with self._changed:
            if self._stopping:
                waiting.written.set_exception(OSError("the spool was stopped"))
            else:
                self._waiting.append(waiting)
                self._changed.notify()
        return waiting.written

    def use(self, number: int) -> None:
        """Add a use of a file."""
        with self._changed:
            self._uses[number] += 1

    def release(self, number: int, uses: int = 1) -> None:
        """Remove uses of a file. A file without uses is deleted when it is closed."""
        with self._changed:
            self._uses[number] -= uses
            if self._uses[number] <= 0:
                self._delete_unused()

    def stop(self) -> None:
        """Write the waiting lines, and stop. The files are kept."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._waiting and not self._stopping:
                    self._changed.wait(timeout=1.0)
                lines, self._waiting = self._waiting, []
                if self._stopping and not lines:
                    break
            if lines:
                self._write(lines)
            with self._changed:
                if self._is_full() or not self._uses[self._current]:
                    self._close()
                    self._delete_unused()
        with self._changed:
            self._close()
            self._delete_unused()

    def _is_full(self) -> bool:
        return self._size >= SEGMENT_BYTES or time.monotonic() - self._opened >= SEGMENT_SECONDS

    def _write(self, lines: list[_Waiting]) -> None:
        try:
            descriptor = self._open()
            number = self._current
            with self._changed:
                self._uses[number] += len(lines)
            try:
                self._append(descriptor, b"".join(waiting.line for waiting in lines))
            except OSError:
                with self._changed:
                    self._uses[number] -= len(lines)
                raise
        except OSError as error:
            for waiting in lines:
                waiting.written.set_exception(error)
            return
        for waiting in lines:
            waiting.on_written(number)
            waiting.written.set_result(None)

    def _append(self, descriptor: int, data: bytes) -> None:
        """Append to the file and sync it. If that fails, truncate the file to its old size."""
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
        except OSError:
            with suppress(OSError):
                os.ftruncate(descriptor, self._size)
            with self._changed:
                self._close()
            raise
        self._size += len(data)

    def _open(self) -> int:
        if self._descriptor is None:
            with self._changed:
                self._current += 1
                path = self._folder / f"{self._current:012d}{SUFFIX}"
                self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
                self._files[self._current] = path
                self._size, self._opened = 0, time.monotonic()
            _sync_folder(self._folder)
        return self._descriptor

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _delete_unused(self) -> None:
        for number, path in list(self._files.items()):
            is_written = self._descriptor is not None and number == self._current
            if not is_written and self._uses[number] <= 0:
                with suppress(PermissionError):
                    path.unlink(missing_ok=True)
                del self._files[number]
                del self._uses[number]


def _sync_folder(folder: Path) -> None:
    """Sync the folder, so that a new file is not lost in a crash. Does nothing on Windows."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
