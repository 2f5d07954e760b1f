"""What two evaluations do not share, so that a difference between them may come from there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import duckdb

from ragboard.analysis.comparability import JudgePair
from ragboard.analysis.nouns import RunSummary

__all__ = ["cautions_of"]


def cautions_of(
    connection: duckdb.DuckDBPyConnection, a: RunSummary, b: RunSummary, judges: Mapping[str, JudgePair]
) -> tuple[str, ...]:
    """One sentence each: another dataset, judge, prompt or metric setting; a part evaluated; one run twice.

    `judges` has the metrics, as pages call them, that A and B do not have from the same judge setup.
    """
    return (*_runs(a, b), *_judges(a, b, judges), *_metrics(connection, a, b), *_coverage(a, b))


def _runs(a: RunSummary, b: RunSummary) -> Iterator[str]:
    if a.run_id == b.run_id:
        yield "A and B are the same run: what differs is how it was judged, not what was answered."
    elif a.dataset_key != b.dataset_key:
        yield f"The runs do not ask the same set of questions: {a.dataset} in A, {b.dataset} in B."


def _judges(a: RunSummary, b: RunSummary, judges: Mapping[str, JudgePair]) -> Iterator[str]:
    missing = [side for side, run in (("A", a), ("B", b)) if run.judged is None]
    if missing:
        was = "was" if len(missing) == 1 else "were"
        yield f"{' and '.join(missing)} {was} not evaluated here: only scores of the run files can be compared."
        return
    by_judges: dict[str, list[str]] = {}
    for label, pair in judges.items():
        by_judges.setdefault(str(pair), []).append(label)
    for who, labels in by_judges.items():
        yield f"Not comparable, different judges ({who}): {', '.join(labels)}."


def _metrics(connection: duckdb.DuckDBPyConnection, a: RunSummary, b: RunSummary) -> Iterator[str]:
    only_a, only_b = sorted(a.metrics.keys() - b.metrics.keys()), sorted(b.metrics.keys() - a.metrics.keys())
    for spec in only_a:
        other = next((one for one in only_b if _bare(one) == _bare(spec)), None)
        if other:
            yield f"Settings of one metric differ, so it is not compared: {spec} in A, {other} in B."
    bare_a, bare_b = set(map(_bare, only_a)), set(map(_bare, only_b))
    for side, specs, others in (("A", only_a, bare_b), ("B", only_b, bare_a)):
        left = [spec for spec in specs if _bare(spec) not in others]
        if left:
            yield f"Only in {side}, so not compared: {', '.join(left)}."
    changed = connection.execute(
        "SELECT a.metric FROM metrics a JOIN metrics b USING (metric) WHERE list_contains($a, a.evaluation_id || ' ' ||"
        " metric) AND list_contains($b, b.evaluation_id || ' ' || metric)"
        " AND a.description::VARCHAR <> b.description::VARCHAR ORDER BY 1",
        {side: [f"{evaluation} {spec}" for spec, evaluation in _taken_from(run)] for side, run in (("a", a), ("b", b))},
    ).fetchall()
    if changed:
        yield f"Described differently when A and B were evaluated: {', '.join(row[0] for row in changed)}."


def _taken_from(run: RunSummary) -> Iterator[tuple[str, str]]:
    for spec, summary in run.metrics.items():
        if summary.judged:
            yield spec, summary.judged.evaluation_id


def _bare(spec: str) -> str:
    return spec.partition("(")[0]


def _coverage(a: RunSummary, b: RunSummary) -> Iterator[str]:
    for side, run in (("A", a), ("B", b)):
        parts: dict[tuple[int, int], list[str]] = {}
        for spec, summary in run.metrics.items():
            if summary.judged and summary.judged.part:
                parts.setdefault((summary.judged.covered, summary.judged.samples), []).append(spec)
        for (covered, samples), specs in parts.items():
            of = "" if len(specs) == len(run.metrics) else f" for {', '.join(specs)}"
            yield f"Only {covered:,} of the {samples:,} samples of {side} were evaluated{of}."
