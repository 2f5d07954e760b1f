"""Independent draws: ask chat models several times for each judgement, to measure how consistent they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragboard.errors import SettingError
from ragboard.judges.base import ModelJudge
from ragboard.judges.panel import Panel
from ragboard.metrics import Metric, compute_outcome
from ragboard.metrics.base import Need, NeedResults, tasks_for
from ragboard.records import Sample, Score
from ragboard.tasks import ExtractStatements, Task

__all__ = ["JUDGEMENT_COLUMNS", "Draws", "is_redrawn"]

JUDGEMENT_COLUMNS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "verdicts": (("side", "statement", "target"), "label"),
    "judgements": (("about", "number"), "says"),
    "assignments": (("number", "compat"), "label"),
    "sentences": (("rank", "start"), "chosen"),
}
"""The tables with judgements that are compared between draws. For each, the columns that identify a judgement, and the
column with its label."""


def is_redrawn(kind: type[Task]) -> bool:
    """Return whether further draws send tasks of this type again: all but embeddings and the extraction of statements.

    Draws compare verdicts on the same statements.
    """
    return kind is not ExtractStatements and kind.role != "embed"


@dataclass(frozen=True)
class Draws:
    """The number of independent draws of each metric of an evaluation."""

    metrics: tuple[Metric, ...]
    counts: Mapping[str, int]
    """Number of draws by metric name; 1 if a metric is missing."""
    panel: Panel

    @classmethod
    def for_evaluation(
        cls,
        panel: Panel,
        named: Sequence[Metric],
        metrics: Sequence[Metric],
        draws: int | None,
        earlier: Mapping[str, int],
    ) -> Draws:
        """Return the draws of an evaluation: at least `draws` for the `named` metrics, else as many as in `earlier`.

        Raises SettingError if `draws` is above 1 but further draws would not send any task of the named metrics again.
        """
        earlier_draws = cls(tuple(metrics), dict(earlier), panel)
        if draws is None or draws == 1:
            return earlier_draws
        drawable = [metric.spec for metric in named if earlier_draws.redrawn_needs(metric.needs())]
        if not drawable:
            raise SettingError(
                "--draws has no effect: no chat model judges these metrics, and other judges always reply the same;"
                " name one with --judge openai:MODEL"
            )
        return cls(
            earlier_draws.metrics, {**earlier, **{spec: max(draws, earlier.get(spec, 1)) for spec in drawable}}, panel
        )

    def needs(self) -> list[tuple[Need[Any], ...]]:
        """Return the needs of all metrics for each draw. The first draw has all needs."""
        return self.needs_of(self.metrics)

    def needs_of(self, metrics: Sequence[Metric]) -> list[tuple[Need[Any], ...]]:
        """Return the needs of these metrics for each draw. The first draw has all needs."""
        most = max((self.counts.get(metric.spec, 1) for metric in metrics), default=1)
        return [
            tuple(
                dict.fromkeys(
                    need
                    for metric in metrics
                    if draw == 0 or draw < self.counts.get(metric.spec, 1)
                    for need in metric.needs()
                )
            )
            for draw in range(most)
        ]

    def redraws(self, task: Task) -> bool:
        """Return whether further draws send this task again."""
        return self._is_redrawn(type(task))

    def redrawn_needs(self, needs: Iterable[Need[Any]]) -> list[Need[Any]]:
        """Return those of the needs for which further draws call a model again."""
        return [need for need in needs if any(map(self._is_redrawn, tasks_for([need])))]

    def _is_redrawn(self, kind: type[Task]) -> bool:
        return is_redrawn(kind) and isinstance(self.panel.for_task(kind), ModelJudge)

    def scores(self, sample: Sample, results: Sequence[NeedResults]) -> Iterator[tuple[str, int, float]]:
        """Yield (metric, draw, value) for the metrics with several draws. Draws without a score are left out."""
        for metric in self.metrics:
            for draw in range(self.counts.get(metric.spec, 1)) if metric.spec in self.counts else ():
                scored = compute_outcome(metric, sample, results[draw])
                if isinstance(scored, Score):
                    yield metric.spec, draw, scored.value

    def comparable_results(self, results: Sequence[NeedResults]) -> list[NeedResults]:
        """Return the results of each draw for the needs that have judgements in several draws."""
        if len(results) < 2:
            return []
        judged = [
            need for need in self.redrawn_needs(results[1].by_need) if any(kind.is_judgement for kind in need.tasks())
        ]
        return [NeedResults({need: draw.by_need[need] for need in judged if need in draw.by_need}) for draw in results]
