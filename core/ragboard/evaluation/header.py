"""What stands beside a journal: whose it is, and what it takes to go on with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragboard.evaluation.terms import LIMITS, Terms
from ragboard.judges.options import JudgeOptions, options_kept, options_read
from ragboard.records import Evaluation, JsonValue

__all__ = ["Choice", "Header", "header_data", "read_header"]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What a person chose to evaluate: by which metrics, by whose judgement, how much of it. Holds no key."""

    metrics: tuple[str, ...]
    judging: JudgeOptions = field(default_factory=JudgeOptions)
    limits: Mapping[str, float] = field(default_factory=dict[str, float])
    """By the names of `terms.LIMITS`; what is not there is not limited."""


@dataclass(frozen=True, kw_only=True)
class Header:
    """Which evaluation a journal belongs to."""

    evaluation_id: str
    run_id: str
    judge: str
    """The judges as a person would name them."""
    choice: Choice | None
    """What was chosen last; None where the judges were given in Python."""
    identity: Mapping[str, JsonValue]
    """As `Evaluation.identity`."""
    metrics: tuple[str, ...]
    """Those that were asked for last."""


def header_data(evaluation: Evaluation, terms: Terms) -> dict[str, Any]:
    """The header as JSON-ready data; nothing in it is secret."""
    return {
        "evaluation": evaluation.id,
        "run": evaluation.run_id,
        "judge": evaluation.judge,
        "identity": evaluation.identity,
        "metrics": evaluation.metrics,
        "judging": None if terms.judging is None else options_kept(terms.judging),
        "limits": {name: value for name in LIMITS if (value := getattr(terms, name)) is not None},
    }


def read_header(path: Path) -> Header | None:
    """The header in that file; None where there is none, only a part of one yet, or something else."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        texts = [said["evaluation"], said["run"], said.get("judge", ""), *said.get("metrics", ())]
        if not all(isinstance(text, str) for text in texts):
            return None
        return Header(
            evaluation_id=said["evaluation"],
            run_id=said["run"],
            judge=said.get("judge", ""),
            choice=_choice(said),
            identity=dict(said["identity"]),
            metrics=tuple(said["metrics"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _choice(said: Mapping[str, Any]) -> Choice | None:
    if said.get("judging") is None:
        return None
    limits = said.get("limits") or {}
    if any(name not in LIMITS or type(limit) not in (int, float) for name, limit in limits.items()):
        raise ValueError("limits")
    return Choice(metrics=tuple(said["metrics"]), judging=options_read(said["judging"]), limits=limits)
