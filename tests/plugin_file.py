"""An example file of user-defined metrics."""

from __future__ import annotations

from pathlib import Path

__all__ = ["BREVITY", "write_plugin"]

BREVITY = '''
from dataclasses import dataclass

from ragboard import Metric, Score, Unscored
from ragboard.metrics.needs import Statements


@dataclass(frozen=True)
class Brevity(Metric):
    """1 where the answer makes at most `most` statements, else `most` over their number."""

    source = "mine"
    name = "brevity"
    title = "Brevity"
    formula = "min(1, most / statements of the answer)"
    paper = "our style guide, section 2"
    requires = ("answer",)
    range = (0.0, 1.0)
    direction = "higher"
    calls = "1 to extract statements"

    most: int = 1

    def needs(self):
        return (Statements(),)

    def score(self, sample, findings):
        count = len(findings.value(Statements()).statements)
        if not count:
            return Unscored(reason="undefined", detail="the answer makes no statement")
        return Score(value=min(1.0, self.most / count), counted=f"{count} statements")
'''


def write_plugin(folder: Path, text: str = BREVITY) -> Path:
    path = folder / "my_metrics.py"
    path.write_text(text, encoding="utf-8")
    return path
