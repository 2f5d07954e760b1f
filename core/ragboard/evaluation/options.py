"""The options of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragboard.errors import SettingError
from ragboard.judges.options import JudgeOptions
from ragboard.metrics import METRICS, Metric
from ragboard.prices import Prices, read_prices

__all__ = ["LIMITS", "EvaluationOptions", "ModelEstimate"]

LIMITS = ("sample", "seed", "draws", "max_calls", "max_cost", "max_minutes")
"""The names of the options that set the samples, the draws, and the limits of calls, cost and time."""


@dataclass(frozen=True, kw_only=True)
class ModelEstimate:
    """The planned calls and tokens of one model."""

    model: str
    embedding: bool
    calls: int
    tokens: int
    """Tokens of prompts and replies."""


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions:
    """The options of an evaluation."""

    concurrency: int | None = None
    """Maximum number of samples evaluated concurrently. None: the concurrency of `judge_options`."""
    retry: bool = False
    """Send failed tasks again. If False, keep the recorded failures."""
    workers: int | None = None
    """Maximum number of processes for judges that compute in Python, such as the embedded judge. None: one per core if
    there are at least 1,000 samples, else 1."""
    ray: str | None = None
    """Evaluate on a Ray cluster: its address, `auto` for the cluster of this machine, or `local` to start one here."""
    shards: int | None = None
    """Number of shards on the cluster. None: at least four per shard that can run at the same time."""
    shard_folder: str | None = None
    """Address of a folder for the shards' files that all machines of the cluster can reach, such as
    `s3://bucket/folder`. None: a folder in the store; all machines must then share the store's file system."""
    cache: bool = True
    """Reuse models' replies from other evaluations of the store."""
    sample: int | None = None
    """Evaluate a random subset of this size, and the samples evaluated before. A larger subset with the same seed
    contains the smaller subset. None: all samples."""
    seed: int = 0
    only: Sequence[int] | None = None
    """Evaluate only the samples at these positions, and keep the results of the others. A sample that a limit stopped
    gets no results. None: all samples, or as many as `sample`."""
    draws: int | None = None
    """Number of independent judgements of each sample by models. The scores are from the first draw. None: 1, or the
    number that the metric already has in the evaluation."""
    max_calls: int | None = None
    """Maximum number of requests to models, including retries and requests without a reply."""
    max_cost: float | None = None
    """Maximum cost in US dollars. The maximum cost of a request is reserved before it is sent."""
    max_minutes: float | None = None
    prices: Prices = field(default_factory=read_prices)
    expected: Sequence[ModelEstimate] = ()
    """The plan's estimate for each model, stored with the actual calls and tokens."""
    planned_samples: int = 1
    """Number of samples that `expected` and `planned_cost` are for."""
    planned_cost: float | None = None
    """The plan's cost of these samples in US dollars; None if unknown."""
    known: Mapping[str, Metric] = field(default_factory=lambda: METRICS)
    """The available metrics, by name. The evaluation's earlier metrics are recomputed if they are among these."""
    judge_options: JudgeOptions | None = None
    """The options of the judges, stored to resume the evaluation. None: the judges were built in Python."""

    def __post_init__(self) -> None:
        """Raise SettingError if a limit is below its minimum."""
        at_least_one = dict.fromkeys(("concurrency", "workers", "shards", "sample", "draws"), 1)
        for name, minimum in (at_least_one | dict.fromkeys(("max_calls", "max_cost", "max_minutes"), 0)).items():
            value = getattr(self, name)
            if value is not None and value < minimum:
                raise SettingError(f"{name} is {value}, expected at least {minimum}")

    @property
    def samples_at_a_time(self) -> int:
        """Maximum number of samples evaluated concurrently."""
        return self.concurrency or (self.judge_options or JudgeOptions()).concurrency
