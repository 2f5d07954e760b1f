"""Convert the scores and verdicts of another tool's file to those that are stored with the run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ragboard.readers.formats.base import ToolFile, ToolSample
from ragboard.readers.scores import NO_VALUE, describe_file_metric
from ragboard.records import Direction, FileScores, Outcome, Score, Side

__all__ = ["tool_notes", "tool_scores"]

STATEMENT_SIDES: Mapping[str, Side] = {"ragas.faithfulness": "response", "ragas.context_recall": "reference"}
"""ragboard's metrics that are a share of supported statements, with the text that the statements are from."""
TOLERANCE = 1e-9
"""Maximum difference between two scores that count as equal."""


def tool_scores(file: ToolFile, file_format: str, samples: Sequence[ToolSample]) -> FileScores | None:
    """Return the scores and verdicts that a file has for the samples of one run; None if it has none."""
    names = dict.fromkeys(name for sample in samples for name in sample.scores)
    recorded = tuple(sample.recorded for sample in samples)
    judged = any(sample.statements or sample.judgements for sample in recorded)
    if not names and not judged:
        return None
    equivalent_metrics = {
        name: ours for name, ours in file.same_as.items() if name in names and _equals_share(name, ours, samples)
    }
    slug = re.sub(r"\W+", "-", file.tool.lower())
    specs = {name: f"{slug}-file.{_metric_name(name)}" for name in names}
    directions: dict[str, Direction] = {_metric_name(name): direction for name, direction in file.directions.items()}
    return FileScores(
        tool=file.tool,
        format=file_format,
        columns={spec: name for name, spec in specs.items()},
        metrics=tuple(describe_file_metric(file.tool, spec, name, directions) for name, spec in specs.items()),
        outcomes=tuple(
            {spec: _outcome(sample, name, equivalent_metrics.get(name)) for name, spec in specs.items()}
            for sample in samples
        ),
        judge=file.judge,
        recorded=recorded if judged else (),
        equivalent_metrics={specs[name]: ours for name, ours in equivalent_metrics.items()},
    )


def tool_notes(file: ToolFile) -> Iterator[str]:
    """Yield notes for the import report on what the file has and what was dropped."""
    yield from file.notes
    scored = dict.fromkeys(name for sample in file.samples for name in sample.scores)
    statements = sum(len(sample.recorded.statements) for sample in file.samples)
    others = sum(len(sample.recorded.judgements) for sample in file.samples)
    if scored:
        yield f"scores of {file.tool}: {', '.join(scored)}"
    if statements or others:
        judge = f"{file.tool}'s judge ({file.judge})" if file.judge else f"{file.tool}'s judge"
        yield f"verdicts of {judge}: {statements} statements, {others} other judgements"
    kept = [path for path, use in file.fields.items() if use == "metadata"]
    if kept:
        yield f"kept as metadata: {', '.join(kept)}"
    for path, use in file.fields.items():
        if use.startswith("left out"):
            yield f"{use.replace('left out', f'{path} left out', 1)}"


def _metric_name(name: str) -> str:
    return re.sub(r"[^\w()=.,]+", "_", name.strip().lower()).strip("_") or "score"


def _outcome(sample: ToolSample, name: str, ours: str | None) -> Outcome:
    """Return the score in the file; if it equals ragboard's metric `ours`, with its number of supported statements."""
    outcome = sample.scores.get(name, NO_VALUE)
    if ours is None or not isinstance(outcome, Score):
        return outcome
    labels = [
        verdict.label
        for statement, verdict in sample.recorded.statements
        if statement.side == STATEMENT_SIDES[ours] and verdict
    ]
    return replace(outcome, counted=f"{labels.count('supported')} of {len(labels)} statements")


def _equals_share(name: str, ours: str, samples: Sequence[ToolSample]) -> bool:
    """Return whether each score in the file equals the share of supported statements of its sample."""
    pairs = [
        (outcome.value, share)
        for sample in samples
        if isinstance(outcome := sample.scores.get(name), Score)
        and (share := supported_share(sample, STATEMENT_SIDES[ours])) is not None
    ]
    scored = sum(isinstance(sample.scores.get(name), Score) for sample in samples)
    return len(pairs) == scored > 0 and all(abs(score - share) <= TOLERANCE for score, share in pairs)


def supported_share(sample: ToolSample, side: Side) -> float | None:
    """Return the share of supported statements; None if there are no statements, or one has no verdict."""
    verdicts = [verdict for statement, verdict in sample.recorded.statements if statement.side == side]
    if not verdicts or None in verdicts:
        return None
    return sum(verdict is not None and verdict.label == "supported" for verdict in verdicts) / len(verdicts)
