"""Evaluating in a process of its own: the same command a person would type, followed by its status file."""

from __future__ import annotations

import os
import subprocess
import sys

from ragboard.evaluation.engine import evaluation_of
from ragboard.evaluation.progress import Progress, read_progress
from ragboard.judges import panel_named
from ragboard.metrics import metrics_named
from ragboard.store import RunRef, Store

__all__ = ["progress_of", "start_evaluation"]


def start_evaluation(store: Store, run: RunRef, *, judge: str, metrics: tuple[str, ...]) -> str:
    """Start `ragboard evaluate` for a run, and return the evaluation's id at once.

    It goes on when the caller ends. What goes wrong in it is in its progress. Raises SettingError
    where judge or metrics are not known.
    """
    evaluation = evaluation_of(run.run_id, panel_named(judge), metrics_named(metrics))
    path = store.journal_path(evaluation.id)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".status.json").unlink(missing_ok=True)
    command = [sys.executable, "-m", "ragboard", "evaluate", run.run_id, "--judge", judge]
    command += ["--metrics", ",".join(metrics), "--store", str(store.folder)]
    with path.with_suffix(".log").open("wb") as log:
        subprocess.Popen(  # noqa: S603 - ourselves; not awaited, it has its own status file
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=os.environ | {"PYTHONIOENCODING": "utf-8"},
            start_new_session=True,
        )
    return evaluation.id


def progress_of(store: Store, evaluation_id: str) -> Progress | None:
    """How far that evaluation is; None before its process has said a word."""
    return read_progress(store.journal_path(evaluation_id).with_suffix(".status.json"))
