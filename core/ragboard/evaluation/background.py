"""Evaluating in a process of its own: the same command a person would type, followed by its status file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from ragboard.evaluation.engine import evaluation_of
from ragboard.evaluation.progress import Progress, read_progress
from ragboard.judges import JudgeOptions, panel_named
from ragboard.metrics import metrics_named
from ragboard.metrics.plugins import metrics_with
from ragboard.store import RunRef, Store

__all__ = ["evaluation_command", "evaluation_environment", "progress_of", "start_evaluation"]


def start_evaluation(
    store: Store,
    run: RunRef,
    *,
    judging: JudgeOptions,
    metrics: tuple[str, ...],
    plugins: Iterable[Path] = (),
) -> str:
    """Start `ragboard evaluate` for a run, and return the evaluation's id at once.

    It goes on when the caller ends, by these options alone: no settings file and none of ragboard's
    variables is read again. What goes wrong in it is in its progress. Raises SettingError where judge,
    metrics or a plugin are not known, JudgeError without credentials.
    """
    files = tuple(plugins)
    evaluation = evaluation_of(run.run_id, panel_named(judging), metrics_named(metrics, metrics_with(files)))
    path = store.journal_path(evaluation.id)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".status.json").unlink(missing_ok=True)
    command = evaluation_command(store, run, judging, metrics, files)
    with path.with_suffix(".log").open("wb") as log:
        subprocess.Popen(  # noqa: S603 - ourselves; not awaited, it has its own status file
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=evaluation_environment(judging),
            start_new_session=True,
        )
    return evaluation.id


def evaluation_command(
    store: Store, run: RunRef, judging: JudgeOptions, metrics: Iterable[str], plugins: Iterable[Path]
) -> list[str]:
    """What is started: the command that a person would type, with nothing secret in it."""
    command = [sys.executable, "-m", "ragboard", "--settings", os.devnull, "evaluate", run.run_id]
    command += ["--metrics", ",".join(metrics), "--store", str(store.folder), *_judging_words(judging)]
    return command + [word for file in plugins for word in ("--plugin", str(file))]


def _judging_words(judging: JudgeOptions) -> Iterator[str]:
    """The options as one would type them; an address may hold a password, so it goes by the environment."""
    given = {
        "--judge": judging.judge,
        "--extract": judging.extract,
        "--verify": judging.verify,
        "--embed": judging.embed,
        "--prompts": judging.prompts,
    }
    for option, value in given.items():
        if value is not None:
            yield from (option, str(value))
    for key, parameter in judging.parameters.items():
        yield from ("--judge-param", f"{key}={json.dumps(parameter)}")


def evaluation_environment(judging: JudgeOptions) -> dict[str, str]:
    """Of this process, without what would stand for options that were not given; the key is in it."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("RAGBOARD_")}
    address = {"OPENAI_BASE_URL": judging.base_url} if judging.base_url else {}
    return kept | address | {"PYTHONIOENCODING": "utf-8"}


def progress_of(store: Store, evaluation_id: str) -> Progress | None:
    """How far that evaluation is; None before its process has said a word."""
    return read_progress(store.journal_path(evaluation_id).with_suffix(".status.json"))
