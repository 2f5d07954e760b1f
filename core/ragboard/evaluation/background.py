"""Evaluating in a process of its own: the same command a person would type, followed by its status file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ragboard.errors import SettingError, StoreBusyError
from ragboard.evaluation.budget import Budget
from ragboard.evaluation.identity import Choice, evaluation_of, header_data
from ragboard.evaluation.options import EvaluationOptions
from ragboard.evaluation.plan import Plan, plan_run
from ragboard.evaluation.progress import Progress, live_evaluation, read_progress, write_progress
from ragboard.judges import JudgeOptions, panel_named
from ragboard.judges.llm.endpoint import OFFICIAL, require_address
from ragboard.judges.panel import Panel
from ragboard.metrics import Metric, metrics_named
from ragboard.metrics.plugins import metrics_with
from ragboard.prices import read_prices
from ragboard.store import RunRef, Store

__all__ = [
    "RAGBOARD",
    "UNSENT",
    "LaunchContext",
    "evaluation_command",
    "evaluation_environment",
    "lends_key",
    "plan_choice",
    "start_evaluation",
    "start_retry",
]

RAGBOARD = (sys.executable, "-P", "-m", "ragboard")
"""Starts ragboard in a process of its own; `-P`: no Python file of the current folder is imported."""
KEY = "OPENAI_API_KEY"
UNSENT = "planning"
"""Stands for a key where nothing is sent."""


@dataclass(frozen=True, kw_only=True)
class LaunchContext:
    """Files that go with every evaluation started from one place."""

    plugins: tuple[Path, ...] = ()
    prices: Path | None = None
    may_start: bool = True
    """Whether evaluations may be started from there."""

    def words(self) -> Iterator[str]:
        """As one would type them."""
        for file in self.plugins:
            yield from ("--plugin", str(file))
        if self.prices:
            yield from ("--prices", str(self.prices))

    def require_start(self, store: Store) -> None:
        """Raise where nothing may be started: SettingError, StoreError of a store that is read only."""
        store.require_writable()
        if not self.may_start:
            raise SettingError("this dashboard does not start evaluations; serve it with --allow-evaluate")


def plan_choice(store: Store, run: RunRef, choice: Choice, around: LaunchContext | None = None) -> Plan:
    """What evaluating a run so would ask and cost. Nothing is sent, so no key is needed.

    Raises as `start_evaluation` does.
    """
    around = around or LaunchContext()
    panel, metrics, options = _meant(choice, around, UNSENT)
    sample = None if options.sample is None else int(options.sample)
    return plan_run(
        store,
        run.run_id,
        metrics,
        panel,
        known=options.known,
        prices=options.prices,
        sample=sample,
    )


def start_evaluation(
    store: Store, run: RunRef, choice: Choice, around: LaunchContext | None = None, *, key: str | None = None
) -> str:
    """Start `ragboard evaluate` for a run, or go on with it, and return the evaluation's id at once.

    It goes on when the caller ends, by what was chosen alone: no settings file and none of ragboard's
    variables is read again. A key goes into the environment of that process and nowhere else; without one
    it has the caller's where `lends_key` says so. What goes wrong in it is in its progress. Raises SettingError
    where judge, metrics, limits or a plugin cannot be, JudgeError without credentials, StoreBusyError where it is
    under way.
    """
    around = around or LaunchContext()
    around.require_start(store)
    panel, metrics, options = _meant(choice, around, key)
    evaluation = evaluation_of(store, run.run_id, panel, metrics, options.known)
    _refuse_second(store, evaluation.id)
    header = store.journal_path(evaluation.id).with_suffix(".json")
    header.parent.mkdir(parents=True, exist_ok=True)
    header.write_text(json.dumps(header_data(evaluation, options), indent=1), encoding="utf-8")
    total = min(store.sample_count(run.run_id), options.sample or sys.maxsize)
    _start(store, evaluation.id, total, evaluation_command(store, run, choice, around), choice.judging, key)
    return evaluation.id


def start_retry(store: Store, run: RunRef, around: LaunchContext | None = None, *, key: str | None = None) -> None:
    """Start `ragboard retry` for an evaluation: what failed in it is asked again, by the judges it had.

    Raises SettingError where its judges were not named, StoreBusyError where it is under way.
    """
    around = around or LaunchContext()
    around.require_start(store)
    evaluation = run.evaluation_id or ""
    judging = store.judging(evaluation)
    if judging is None:
        raise SettingError(f"the judges of {run.name} were given in Python; retry there")
    _refuse_second(store, evaluation)
    command = _ragboard("retry", f"{run.run_id}@{evaluation}", store)
    command += around.words()
    _start(store, evaluation, store.sample_count(run.run_id), command, judging, key)


def evaluation_command(store: Store, run: RunRef, choice: Choice, around: LaunchContext) -> list[str]:
    """What is started: the command that a person would type, with nothing secret in it."""
    command = [*_ragboard("evaluate", run.run_id, store), "--metrics", ",".join(choice.metrics)]
    return [*command, *_judging_words(choice.judging), *_limit_words(choice.limits), *around.words()]


def evaluation_environment(judging: JudgeOptions, key: str | None = None) -> dict[str, str]:
    """Of this process, without what would stand for options that were not given; the key is in it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAGBOARD_")}
    if not lends_key(judging):
        kept.pop(KEY, None)
    address = {"OPENAI_BASE_URL": judging.base_url} if judging.base_url else {}
    return kept | address | ({KEY: key} if key else {}) | {"PYTHONIOENCODING": "utf-8"}


def lends_key(judging: JudgeOptions) -> bool:
    """Whether the key of this process goes along: to the server it is meant for, and to no address typed on a page."""
    own = (os.environ.get("OPENAI_BASE_URL") or OFFICIAL).strip()
    return KEY in os.environ and (judging.base_url or own).strip().rstrip("/") == own.rstrip("/")


def _meant(
    choice: Choice, around: LaunchContext, key: str | None
) -> tuple[Panel, tuple[Metric, ...], EvaluationOptions]:
    """Judges, metrics and options by their names; all that can be refused is refused here."""
    if choice.judging.base_url:
        require_address(choice.judging.base_url)
    panel = panel_named(choice.judging, evaluation_environment(choice.judging, key))
    known = metrics_with(around.plugins)
    limits: dict[str, Any] = dict(choice.limits)
    options = EvaluationOptions(prices=read_prices(around.prices), known=known, judging=choice.judging, **limits)
    Budget.of(options, panel)
    return panel, tuple(metrics_named(choice.metrics, known)), options


def _refuse_second(store: Store, evaluation_id: str) -> None:
    there = live_evaluation(store, evaluation_id)
    if there is not None and there.under_way:
        raise StoreBusyError("this evaluation is already running; wait for it or stop it")


def _ragboard(command: str, run: str, store: Store) -> list[str]:
    return [*RAGBOARD, "--settings", os.devnull, command, run, "--store", str(store.folder)]


def _judging_words(judging: JudgeOptions) -> Iterator[str]:
    """The options as one would type them; an address may hold a password, so it goes by the environment."""
    given = {
        "--judge": judging.judge,
        "--extract": judging.extract,
        "--verify": judging.verify,
        "--embed": judging.embed,
        "--prompts": judging.prompts,
        "--examples": judging.examples,
        "--concurrency": judging.concurrency,
        "--requests-per-minute": judging.requests_per_minute,
        "--tokens-per-minute": judging.tokens_per_minute,
        "--deadline": judging.deadline,
    }
    for option, value in given.items():
        if value is not None:
            yield from (option, str(value))
    for key, parameter in judging.parameters.items():
        yield from ("--judge-param", f"{key}={json.dumps(parameter)}")


def _limit_words(limits: Mapping[str, float]) -> Iterator[str]:
    for name, value in limits.items():
        yield from (f"--{name.replace('_', '-')}", str(value))


def _start(
    store: Store, evaluation_id: str, total: int, command: list[str], judging: JudgeOptions, key: str | None
) -> None:
    status = store.journal_path(evaluation_id).with_suffix(".status.json")
    log = status.with_name(f"{evaluation_id}.log")
    now = time.time()
    begun = Progress(state="starting", pid=0, done=0, total=total, started=now, updated=now, monotonic=time.monotonic())
    write_progress(status, begun)
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - ourselves; it has its own status file
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=evaluation_environment(judging, key),
            start_new_session=True,
        )
    threading.Thread(target=_await, args=(process, begun, status, log), daemon=True).start()


def _await(process: subprocess.Popen[bytes], begun: Progress, status: Path, log: Path) -> None:
    """See the process off; one that never said a word is said to have failed, with its last line."""
    code = process.wait()
    if read_progress(status) == begun:
        said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        message = said[-1].removeprefix("ragboard: ") if said else f"its process ended with exit code {code}"
        write_progress(status, replace(begun, state="failed", message=message, updated=time.time()))
