"""Start `ragboard evaluate` and `ragboard retry` in new processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ragboard.errors import SettingError, StoreBusyError
from ragboard.evaluation.budget import Budget
from ragboard.evaluation.identity import Choice, choose_evaluation, header_data
from ragboard.evaluation.journal import write_header
from ragboard.evaluation.options import EvaluationOptions
from ragboard.evaluation.plan import Plan, plan_run
from ragboard.evaluation.progress import Progress, live_evaluation, read_progress, write_progress
from ragboard.judges import JudgeOptions, panel_named
from ragboard.judges.llm.endpoint import OFFICIAL, SECRET_HEADERS, read_headers, require_address
from ragboard.judges.options import command_options
from ragboard.judges.panel import Panel
from ragboard.judges.registry import reads_files, uses_server
from ragboard.metrics import Metric, metrics_named
from ragboard.metrics.plugins import metrics_with
from ragboard.prices import read_prices
from ragboard.store import RunRef, Store

__all__ = [
    "RAGBOARD",
    "UNSENT",
    "LaunchContext",
    "destination",
    "evaluation_command",
    "evaluation_environment",
    "forwards_key",
    "plan_choice",
    "plan_state",
    "planning_panel",
    "start_evaluation",
    "start_retry",
]

RAGBOARD = (sys.executable, "-P", "-m", "ragboard")
"""The command that starts ragboard. With `-P`, no Python files of the current folder are imported."""
KEY = "OPENAI_API_KEY"
UNSENT = "planning"
"""The API key for estimates. It is never sent."""


@dataclass(frozen=True, kw_only=True)
class LaunchContext:
    """The plugins and prices of all evaluations that this process starts, and whether it may start any."""

    plugins: tuple[Path, ...] = ()
    prices: Path | None = None
    may_start: bool = True

    def arguments(self) -> Iterator[str]:
        """Yield the command-line arguments for the plugins and prices."""
        for file in self.plugins:
            yield from ("--plugin", str(file))
        if self.prices:
            yield from ("--prices", str(self.prices))

    def require_start(self, store: Store) -> None:
        """Raise SettingError if this process may not start evaluations, StoreError if the store is read-only."""
        store.require_writable()
        if not self.may_start:
            raise SettingError("this dashboard does not start evaluations; serve it with --allow-evaluate")


def plan_choice(store: Store, run: RunRef, choice: Choice, context: LaunchContext | None = None) -> Plan:
    """Estimate the calls and cost of an evaluation. Nothing is sent, and no key is needed.

    Raises SettingError for an invalid judge, metric, limit, plugin or header.
    """
    context = context or LaunchContext()
    panel, metrics, options = _resolve_choice(choice, context, UNSENT)
    sample = None if options.sample is None else int(options.sample)
    return plan_run(
        store,
        run.run_id,
        metrics,
        panel,
        known=options.known,
        prices=options.prices,
        sample=sample,
        draws=None if options.draws is None else int(options.draws),
    )


def plan_state(store: Store, choice: Choice, context: LaunchContext) -> str:
    """Return a text that changes when a file changes that `plan_choice` reads besides the database.

    These are the journals, the cache of replies, the prices and the plugins. Judges can read other files, such as
    models and recorded replies; the text then changes with the database, too. An empty file is like a missing file.
    """
    journals = sorted(store.journal_folder.glob("*.json*"))
    files = [path for path in journals if not path.name.endswith(".status.json")]
    files += [store.cache_path, store.cache_path.with_name(f"{store.cache_path.name}-wal")]
    files += [*filter(None, [context.prices]), *context.plugins]
    states = [store.version] if reads_files(choice.judge_options) else []
    for path in files:
        with suppress(OSError):  # missing, or deleted in the meantime
            found = path.stat()
            states += [f"{path.name} {found.st_mtime_ns} {found.st_size}"] if found.st_size else []
    return "; ".join(states)


def start_evaluation(
    store: Store,
    run: RunRef,
    choice: Choice,
    context: LaunchContext | None = None,
    *,
    key: str | None = None,
    headers: str = "",
) -> str:
    """Start or resume an evaluation of a run in a new process, and return the evaluation's id immediately.

    The process continues when the caller ends. It uses only `choice` and `context`, without a settings file and
    `RAGBOARD_*` environment variables. `key` and `headers` (lines `NAME: VALUE`) are passed only in its environment.
    Without `key`, it gets the caller's key if `forwards_key` allows that. Its errors are in the status file.

    Raises SettingError for an invalid judge, metric, limit, plugin or header, JudgeError if credentials are missing,
    StoreBusyError if the evaluation is already running.
    """
    context = context or LaunchContext()
    context.require_start(store)
    panel, metrics, options = _resolve_choice(choice, context, key, headers)
    evaluation = choose_evaluation(store, run.run_id, panel, metrics, options.known)
    _check_not_running(store, evaluation.id)
    journal = store.journal_path(evaluation.id)
    journal.parent.mkdir(parents=True, exist_ok=True)
    write_header(journal, header_data(evaluation, options))
    total = min(store.sample_count(run.run_id), options.sample or sys.maxsize)
    command = evaluation_command(store, run, choice, context)
    environment = evaluation_environment(choice.judge_options, key, headers)
    _start(store, evaluation.id, total, command, environment)
    return evaluation.id


def start_retry(
    store: Store, run: RunRef, context: LaunchContext | None = None, *, key: str | None = None, headers: str = ""
) -> None:
    """Start `ragboard retry` for an evaluation. `key` and `headers` are as in `start_evaluation`.

    Raises SettingError if its judges were built in Python or a header is invalid, StoreBusyError if it is running.
    """
    context = context or LaunchContext()
    context.require_start(store)
    evaluation = run.evaluation_id or ""
    judge_options = store.judge_options(evaluation)
    if judge_options is None:
        raise SettingError(f"the judges of {run.name} were built in Python; retry in Python")
    _check_not_running(store, evaluation)
    command = _ragboard("retry", f"{run.run_id}@{evaluation}", store)
    command += context.arguments()
    environment = evaluation_environment(judge_options, key, headers)
    _start(store, evaluation, store.sample_count(run.run_id), command, environment)


def evaluation_command(store: Store, run: RunRef, choice: Choice, context: LaunchContext) -> list[str]:
    """Return the command that `start_evaluation` runs. It has no secrets and no server URL, which can contain one."""
    command = [*_ragboard("evaluate", run.run_id, store), "--metrics", ",".join(choice.metrics)]
    judges = chain.from_iterable(command_options(choice.judge_options))
    return [*command, *judges, *_limit_arguments(choice.limits), *context.arguments()]


def evaluation_environment(judge_options: JudgeOptions, key: str | None = None, headers: str = "") -> dict[str, str]:
    """Return the environment of the new process: ours without `RAGBOARD_*`, and with the server's URL and secrets.

    Raises SettingError for headers that are not lines `NAME: VALUE`.
    """
    read_headers((line for line in headers.splitlines() if line.strip()), ":", "the headers")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAGBOARD_")}
    if not forwards_key(judge_options):
        environment.pop(KEY, None)
    address = {"OPENAI_BASE_URL": judge_options.base_url} if judge_options.base_url else {}
    secrets = ({KEY: key} if key else {}) | ({SECRET_HEADERS: headers} if headers else {})
    return environment | address | secrets | {"PYTHONIOENCODING": "utf-8"}


def forwards_key(judge_options: JudgeOptions) -> bool:
    """Return whether to pass on our API key: only if the judge uses our default server, which the key is for."""
    default_url = _default_base_url()
    return KEY in os.environ and (judge_options.base_url or default_url).strip().rstrip("/") == default_url.rstrip("/")


def destination(judge_options: JudgeOptions) -> str:
    """Return the host and port to which texts of the samples are sent; empty if nothing leaves this machine."""
    address = (judge_options.base_url or _default_base_url()).strip()
    return urlsplit(address).netloc.rpartition("@")[2] if uses_server(judge_options) else ""


def planning_panel(judge_options: JudgeOptions) -> Panel:
    """Build the judges for an estimate, without a key. Raises the same errors as `panel_named`."""
    if judge_options.base_url:
        require_address(judge_options.base_url)
    return panel_named(judge_options, evaluation_environment(judge_options, UNSENT))


def _default_base_url() -> str:
    return (os.environ.get("OPENAI_BASE_URL") or OFFICIAL).strip()


def _resolve_choice(
    choice: Choice, context: LaunchContext, key: str | None, headers: str = ""
) -> tuple[Panel, tuple[Metric, ...], EvaluationOptions]:
    """Return the judges, metrics and options of a choice. Raises the errors of `start_evaluation` for invalid parts."""
    if choice.judge_options.base_url:
        require_address(choice.judge_options.base_url)
    panel = panel_named(choice.judge_options, evaluation_environment(choice.judge_options, key, headers))
    known = metrics_with(context.plugins)
    limits: dict[str, Any] = dict(choice.limits)
    options = EvaluationOptions(
        prices=read_prices(context.prices), known=known, judge_options=choice.judge_options, **limits
    )
    Budget.for_panel(options, panel)
    return panel, tuple(metrics_named(choice.metrics, known)), options


def _check_not_running(store: Store, evaluation_id: str) -> None:
    running = live_evaluation(store, evaluation_id)
    if running is not None and running.under_way:
        raise StoreBusyError("this evaluation is already running; wait for it or stop it")


def _ragboard(command: str, run: str, store: Store) -> list[str]:
    return [*RAGBOARD, "--settings", os.devnull, command, run, "--store", str(store.folder)]


def _limit_arguments(limits: Mapping[str, float]) -> Iterator[str]:
    for name, value in limits.items():
        yield from (f"--{name.replace('_', '-')}", str(value))


def _start(store: Store, evaluation_id: str, total: int, command: list[str], environment: Mapping[str, str]) -> None:
    status = store.journal_path(evaluation_id).with_suffix(".status.json")
    log = status.with_name(f"{evaluation_id}.log")
    now = time.time()
    initial = Progress(
        state="starting", pid=0, done=0, total=total, started=now, updated=now, monotonic=time.monotonic()
    )
    write_progress(status, initial)
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - the command is ragboard
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            start_new_session=True,
        )
    threading.Thread(target=_await, args=(process, initial, status, log), daemon=True).start()


def _await(process: subprocess.Popen[bytes], initial: Progress, status: Path, log: Path) -> None:
    """Wait for the process to end. If it wrote no status, write that it failed, with the last line of its log."""
    code = process.wait()
    if read_progress(status) == initial:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        message = lines[-1].removeprefix("ragboard: ") if lines else f"its process ended with exit code {code}"
        write_progress(status, replace(initial, state="failed", message=message, updated=time.time()))
