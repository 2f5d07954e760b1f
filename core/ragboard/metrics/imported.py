"""Metrics that another tool counted and a run file brought: what pages say of them.

Their names begin with the tool and `-file` (`ragas-file.faithfulness`), so that they are never taken for
ours, which may count something else by the same word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ragboard.metrics import metric_of
from ragboard.metrics.base import Direction, Metric

__all__ = ["FileMetric", "described"]

NAMED = re.compile(r"(?P<source>ragas|ragchecker)-file\.(?P<name>[^()]+)(?P<settings>\(.*\))?")
TOOLS = {"ragas": "ragas", "ragchecker": "RAGChecker"}

LOWER = frozenset(
    {
        "hallucination",
        "noise_sensitivity",
        "noise_sensitivity_in_irrelevant",
        "noise_sensitivity_in_relevant",
        "noise_sensitivity_irrelevant",
        "noise_sensitivity_relevant",
        "harmfulness",
        "maliciousness",
    }
)
NEUTRAL = frozenset({"self_knowledge", "coherence", "conciseness", "correctness"})
"""Better or worse by what one wants, or by a definition that the file does not hold."""


@dataclass(frozen=True, kw_only=True)
class FileMetric:
    """A metric as its tool's file names it."""

    spec: str
    tool: str
    """Who counted it, as a person names it: `RAGChecker`."""
    title: str
    direction: Direction

    @property
    def label(self) -> str:
        """How pages call it: `Faithfulness (ragas, from the file)`."""
        return f"{self.title} ({self.tool}, from the file)"

    @property
    def formula(self) -> str:
        """What it is, in words."""
        return f"as {self.tool} counted it and the run file has it; not counted here"

    @property
    def range(self) -> tuple[float, float]:
        """Where its values usually lie; a file may hold others."""
        return 0.0, 1.0


def described(spec: str) -> Metric | FileMetric | None:
    """What is known of a metric, one of ours or one that a file brought; None where nothing is."""
    found = NAMED.fullmatch(spec)
    if found is None:
        return metric_of(spec)
    name = found["name"]
    settings = f" {found['settings']}" if found["settings"] else ""
    return FileMetric(
        spec=spec,
        tool=TOOLS[found["source"]],
        title=name.replace("_", " ").capitalize() + settings,
        direction="lower" if name in LOWER else "neutral" if name in NEUTRAL else "higher",
    )
