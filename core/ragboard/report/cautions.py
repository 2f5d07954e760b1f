"""What two evaluations do not share, so that a difference between them may come from there."""

from __future__ import annotations

import json
from collections.abc import Iterator

import duckdb

from ragboard.report.nouns import RunSummary

__all__ = ["cautions_of"]


def cautions_of(connection: duckdb.DuckDBPyConnection, a: RunSummary, b: RunSummary) -> tuple[str, ...]:
    """One sentence each: another dataset, judge, prompt or metric setting; a part evaluated; one run twice."""
    return (*_runs(a, b), *_judges(connection, a, b), *_metrics(connection, a, b), *_coverage(connection, a, b))


def _runs(a: RunSummary, b: RunSummary) -> Iterator[str]:
    if a.run_id == b.run_id:
        yield "A and B are the same run: what differs is how it was judged, not what was answered."
    elif a.dataset_key != b.dataset_key:
        yield f"The runs do not ask the same set of questions: {a.dataset} in A, {b.dataset} in B."


def _judges(connection: duckdb.DuckDBPyConnection, a: RunSummary, b: RunSummary) -> Iterator[str]:
    missing = [side for side, run in (("A", a), ("B", b)) if run.judged is None]
    if missing:
        was = "was" if len(missing) == 1 else "were"
        yield f"{' and '.join(missing)} {was} not evaluated here: only scores of the run files can be compared."
        return
    ours, theirs = (_identity(connection, run) for run in (a, b))
    tasks = sorted(task for task in ours.keys() & theirs.keys() if ours[task] != theirs[task])
    if not tasks or a.judged is None or b.judged is None:
        return
    if a.judged.judge == b.judged.judge:
        yield (
            f"{a.judged.judge} judged both, but not in the same way (prompts, model settings or version differ)"
            f" for {', '.join(tasks)}."
        )
    else:
        yield f"The judges differ: {a.judged.judge} in A, {b.judged.judge} in B, for {', '.join(tasks)}."


def _identity(connection: duckdb.DuckDBPyConnection, run: RunSummary) -> dict[str, str]:
    evaluation = run.judged.evaluation_id if run.judged else None
    row = connection.execute("SELECT identity FROM evaluations WHERE evaluation_id = ?", [evaluation]).fetchone()
    return dict(json.loads(row[0])) if row else {}


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
        "SELECT a.metric FROM metrics a JOIN metrics b USING (metric) WHERE a.evaluation_id = ? AND"
        " b.evaluation_id = ? AND a.description::VARCHAR <> b.description::VARCHAR ORDER BY 1",
        [run.judged.evaluation_id if run.judged else None for run in (a, b)],
    ).fetchall()
    if changed:
        yield f"Described differently when A and B were evaluated: {', '.join(row[0] for row in changed)}."


def _bare(spec: str) -> str:
    return spec.partition("(")[0]


def _coverage(connection: duckdb.DuckDBPyConnection, a: RunSummary, b: RunSummary) -> Iterator[str]:
    for side, run in (("A", a), ("B", b)):
        row = connection.execute(
            "SELECT covered FROM evaluations WHERE evaluation_id = ?",
            [run.judged.evaluation_id if run.judged else None],
        ).fetchone()
        if row and row[0] is not None and row[0] < run.samples:
            yield f"Only {row[0]:,} of the {run.samples:,} samples of {side} were evaluated."
