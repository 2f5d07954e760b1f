"""The options of an evaluation: none of them changes an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragboard.errors import SettingError
from ragboard.judges.options import JudgeOptions
from ragboard.metrics import METRICS, Metric
from ragboard.prices import Prices, read_prices

__all__ = ["LIMITS", "EvaluationOptions", "Expected"]

LIMITS = ("sample", "seed", "max_calls", "max_cost", "max_minutes")
"""The options that limit how much is asked."""


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What an evaluation is expected to ask of one model."""

    model: str
    embedding: bool
    calls: int
    tokens: int
    """Of prompts and replies together."""


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions:
    """How much an evaluation may ask, what it may take from elsewhere, and what it knows."""

    concurrency: int = 32
    """Samples under way at a time; as many as requests may be."""
    retry: bool = False
    """Ask again what failed; else a failure is an answer like any other."""
    cache: bool = True
    """Take answers that other evaluations of the store paid for."""
    sample: int | None = None
    """Evaluate so many samples, drawn at random, besides those that were evaluated before; None: all."""
    seed: int = 0
    max_calls: int | None = None
    """Send so many requests to models; those that are repeated or get no reply count too."""
    max_cost: float | None = None
    """Spend so many US dollars; what a request may cost is set aside before it is sent."""
    max_minutes: float | None = None
    prices: Prices = field(default_factory=read_prices)
    expected: Sequence[Expected] = ()
    """What a plan expects of each model, kept beside what it took."""
    planned_samples: int = 1
    """Samples that the plan is for."""
    known: Mapping[str, Metric] = field(default_factory=lambda: METRICS)
    """Metrics by identity; those that the evaluation had before are counted again where they are among these."""
    judging: JudgeOptions | None = None
    """How the judges were named, kept so that the evaluation can be taken up again by its name alone."""

    def __post_init__(self) -> None:
        """Raise SettingError for a limit below what anything takes."""
        for name, least in (("concurrency", 1), ("sample", 1), ("max_calls", 0), ("max_cost", 0), ("max_minutes", 0)):
            given = getattr(self, name)
            if given is not None and given < least:
                raise SettingError(f"{name} is {given}, expected at least {least}")
