"""Log the answers of a function in the background: `@ragboard.trace(run="chat")`."""

from __future__ import annotations

import atexit
import inspect
import logging
import os
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast
from uuid import uuid4

from ragboard.records import JsonValue, Run

if TYPE_CHECKING:
    from ragboard.store import Store

__all__ = ["flush", "trace"]

MAX_WAITING = 10_000
"""Maximum number of answers waiting to be stored. If there are more, they are not logged."""
MAX_BATCH = 500
EXIT_SECONDS = 10.0
"""Seconds that the process waits at its end until all answers are stored."""
QUESTIONS = ("question", "query", "user_input", "prompt", "message", "input")
"""Names of the argument that has the question. Without such an argument, the first argument has it."""
HISTORIES = ("history", "chat_history")
ANSWERS = ("answer", "response", "output", "result", "text")
CONTEXTS = ("contexts", "context", "documents", "source_documents", "source_nodes", "passages", "chunks")
"""Names of keys or attributes of the returned object, as in `ANSWERS`."""

P = ParamSpec("P")
R = TypeVar("R")

log = logging.getLogger("ragboard.trace")


@dataclass(frozen=True)
class _Destination:
    """Where answers are logged."""

    run: str
    config: Mapping[str, JsonValue] | None
    dataset: str
    store: Store | Path | str


@dataclass
class _Answer:
    """One call of the function, with its result."""

    destination: _Destination
    question: Any
    history: Any
    asked: datetime = field(default_factory=lambda: datetime.now(UTC).replace(tzinfo=None))
    began: float = field(default_factory=time.perf_counter)
    milliseconds: float = 0.0
    result: Any = None
    error: str = ""


def trace(
    run: str,
    *,
    config: Mapping[str, JsonValue] | None = None,
    dataset: str = "logged",
    store: Store | Path | str = ".ragboard",
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that logs each answer of a function to a run, as `log` does, without waiting for the store.

    The function may be `async`, and it may yield the answer in parts. The question is its argument `question` (or
    `query`, `prompt`, `message`, `input`), else its first argument. Its argument `history`, if it has one, is the list
    of earlier messages. The function returns the answer as a text; a tuple of answer and passages; or a mapping or an
    object with `answer` (or `response`, `output`, `result`, `text`), `contexts` (or `documents`, `source_nodes`,
    `passages`) and `metadata`.

    `config`, `dataset` and `store` are those of `log`. The metadata also has `latency_ms`, and `error` with the type of
    an exception, which is raised again. An answer is dropped, with a warning (logger `ragboard.trace`), if it cannot be
    logged or if 10,000 answers are waiting. `flush` waits until all answers are stored; when the process ends, it waits
    for this up to 10 seconds.
    """
    destination = _Destination(run, config, dataset, store)
    _flush_at_exit()

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)

        def begin(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> _Answer:
            question, history = _arguments(signature, args, kwargs)
            return _Answer(destination, question, history)

        return _traced(function, begin)

    return decorate


def flush(timeout: float | None = None) -> bool:
    """Wait until all answers of `trace` are stored; return False if this takes more than `timeout` seconds."""
    return _background.flush(timeout)


def _traced(function: Callable[P, R], begin: Callable[..., _Answer]) -> Callable[P, R]:
    """Return a function of the same kind (generator, coroutine, async generator or plain) that records each call."""
    if inspect.isasyncgenfunction(function):

        @wraps(function)
        async def parts_async(*args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[Any]:
            parts: list[Any] = []
            with _recorded(begin(args, kwargs)) as answer:
                async for part in cast("AsyncGenerator[Any]", function(*args, **kwargs)):
                    parts.append(part)
                    answer.result = parts
                    yield part

        return cast("Callable[P, R]", parts_async)
    if inspect.isgeneratorfunction(function):

        @wraps(function)
        def parts_sync(*args: P.args, **kwargs: P.kwargs) -> Generator[Any, Any, Any]:
            parts: list[Any] = []
            with _recorded(begin(args, kwargs)) as answer:
                for part in cast("Generator[Any]", function(*args, **kwargs)):
                    parts.append(part)
                    answer.result = parts
                    yield part

        return cast("Callable[P, R]", parts_sync)
    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def call_async(*args: P.args, **kwargs: P.kwargs) -> Any:
            with _recorded(begin(args, kwargs)) as answer:
                answer.result = await cast("Awaitable[Any]", function(*args, **kwargs))
            return answer.result

        return cast("Callable[P, R]", call_async)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with _recorded(begin(args, kwargs)) as answer:
            result = answer.result = function(*args, **kwargs)
        return result

    return call


@contextmanager
def _recorded(answer: _Answer) -> Generator[_Answer]:
    """Record the answer at the end of the call."""
    try:
        yield answer
    except GeneratorExit:
        answer.error = "stopped"
        raise
    except BaseException as error:
        answer.error = type(error).__name__
        raise
    finally:
        answer.milliseconds = (time.perf_counter() - answer.began) * 1000
        _background.put(answer)


def _arguments(signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the question and the history from the arguments of a call; None if they are missing."""
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:  # the call itself will raise it
        return None, None
    bound.apply_defaults()
    given = {name: value for name, value in bound.arguments.items() if name not in ("self", "cls")}
    given |= given.pop("kwargs", {}) if isinstance(given.get("kwargs"), Mapping) else {}
    history = _first(given, HISTORIES)
    question = _first(given, QUESTIONS)
    if question is None:
        question = next(iter(given.values()), None)
    return question, list(history) if isinstance(history, Sequence) and not isinstance(history, str) else None


def _first(values: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((values[name] for name in names if values.get(name) is not None), None)


def _row(answer: _Answer) -> dict[str, Any]:
    """Return the columns of a sample."""
    text, contexts, metadata = _parts(answer.result)
    row = {
        "id": uuid4().hex,
        "question": answer.question,
        "answer": text,
        "contexts": contexts,
        "history": answer.history,
        "metadata": {**metadata, "latency_ms": answer.milliseconds} | ({"error": answer.error} if answer.error else {}),
    }
    return {name: value for name, value in row.items() if value is not None}


def _parts(result: Any) -> tuple[Any, Any, Mapping[str, JsonValue]]:
    """Return answer, passages and metadata of the returned object, or of the list of yielded objects."""
    if isinstance(result, list):
        texts = [part for part in result if isinstance(part, str)]
        others = [part for part in result if not isinstance(part, str)]
        _, contexts, metadata = _parts(others[-1]) if others else (None, None, {})
        return "".join(texts), contexts, metadata
    if isinstance(result, tuple):
        answer, contexts = (*result, None, None)[:2]
        return answer, contexts, {}
    if isinstance(result, Mapping):
        values: Mapping[str, Any] = result
    elif result is None or isinstance(result, str):
        return result, None, {}
    else:
        values = {name: getattr(result, name, None) for name in (*ANSWERS, *CONTEXTS, "metadata")}
    given = values.get("metadata")
    return _first(values, ANSWERS), _first(values, CONTEXTS), dict(given) if isinstance(given, Mapping) else {}


class _Background:
    """A queue of answers, and the thread that stores them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[_Answer] = []
        self._unfinished = 0
        self._thread: threading.Thread | None = None
        self._warned: set[str] = set()

    def put(self, answer: _Answer) -> None:
        """Queue an answer; drop it if too many are waiting."""
        with self._changed:
            if self._unfinished >= MAX_WAITING:
                self._warn("full", f"{MAX_WAITING:,} answers are waiting to be stored; new answers are not logged")
                return
            self._waiting.append(answer)
            self._unfinished += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="ragboard-trace", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def flush(self, timeout: float | None) -> bool:
        """Wait until all answers are stored."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._unfinished, timeout)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                answers, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
            try:
                _store(answers, self._warn)
            except Exception as error:  # noqa: BLE001 - an error must not stop the program that is logged
                self._warn(type(error).__name__, f"{len(answers)} answers are not logged: {error}")
            with self._changed:
                self._unfinished -= len(answers)
                self._changed.notify_all()

    def _warn(self, kind: str, message: str) -> None:
        """Log a warning, only once for each kind."""
        if kind not in self._warned:
            self._warned.add(kind)
            log.warning("%s (logged only once)", " ".join(message.split()))


def _store(answers: Sequence[_Answer], warn: Callable[[str, str], None]) -> None:
    """Append the answers to their runs."""
    from ragboard.readers.objects import read_samples
    from ragboard.store import Store

    runs: dict[int, tuple[_Destination, list[Run]]] = {}
    for answer in answers:
        to = answer.destination
        try:
            (read,) = read_samples([_row(answer)], name=to.run, config=to.config, dataset=to.dataset).runs
        except Exception as error:  # noqa: BLE001 - one unreadable answer must not block the others
            warn("unreadable", f"an answer of run {to.run!r} is not logged: {error}")
            continue
        samples = tuple(replace(sample, time=answer.asked) for sample in read.samples)
        runs.setdefault(id(to), (to, []))[1].append(replace(read, source="logged", samples=samples))
    for to, read_runs in runs.values():
        together = replace(read_runs[0], samples=tuple(sample for run in read_runs for sample in run.samples))
        store = Store(to.store) if isinstance(to.store, (str, Path)) else to.store
        try:
            store.append(together)
        except Exception as error:  # noqa: BLE001 - an error of one run must not block the others
            warn(type(error).__name__, f"answers of run {to.run!r} are not logged: {error}")


def _reset_after_fork() -> None:
    """Start with an empty queue in a forked process, which has no thread. The parent stores the waiting answers."""
    global _background  # noqa: PLW0603
    _background = _Background()


@cache
def _flush_at_exit() -> None:
    """Store the waiting answers when the process ends.

    DuckDB is imported first, so that its own exit functions, which are registered by the import, run after this one.
    The thread pools are imported because the thread can import pandas, and pandas can import them, which is an error
    once the process ends.
    """
    import_module("ragboard.store")
    import_module("concurrent.futures.thread")
    atexit.register(lambda: flush(EXIT_SECONDS))


_background = _Background()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
