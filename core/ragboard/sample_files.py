"""The sample runs included in ragboard."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from ragboard.readers import read_runs
from ragboard.records import Run

__all__ = ["SAMPLE_TAG", "sample_folder", "sample_runs"]

SAMPLE_TAG = "sample"


def sample_folder() -> Path:
    """Return the folder of the sample data: inside the installed package, or at the top of a source checkout."""
    installed = Path(str(files("ragboard") / "sample_data"))
    return installed if installed.is_dir() else Path(__file__).parents[2] / "sample_data"


def sample_runs() -> tuple[Run, ...]:
    """Read the sample runs: two configurations of a pipeline on the same questions."""
    return tuple(run for file in sorted((sample_folder() / "runs").glob("*.jsonl")) for run in read_runs(file).runs)
