"""On which evaluations two runs are compared, which metrics were judged differently, and what else differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from ragboard.analysis.metrics import in_order
from ragboard.analysis.runs import RunSummary
from ragboard.judges.panel import NOBODY
from ragboard.store import RunRef, Store
from ragboard.store.queries.evaluations import ScoredEvaluation, judges_of_task, scored_evaluations
from ragboard.store.queries.metrics import changed_descriptions
from ragboard.store.queries.query import Connection

__all__ = [
    "DIFFERENT_JUDGES",
    "JudgePair",
    "cautions_of",
    "comparable_refs",
    "different_judges",
    "judged_alike",
    "split_alike",
]

SPLITTING = "ExtractStatements"
"""The task type that splits answers into statements, and says whether they refuse."""

DIFFERENT_JUDGES: Final = "different judges"
"""What is said in place of a verdict where A and B were judged differently."""


@dataclass(frozen=True, kw_only=True)
class JudgePair:
    """Who judged a metric in A and in B, where that was not the same judge setup."""

    a: str
    b: str

    def __str__(self) -> str:
        """`gpt-4o in A, embedded in B`, or what differs of one judge."""
        if self.a == self.b:
            return f"{self.a} in both, but with different prompts, settings or versions"
        return f"{self.a} in A, {self.b} in B"


def judged_alike(one: ScoredEvaluation, other: ScoredEvaluation) -> bool:
    """Whether all that a metric asks was answered by the same judge in the same way."""
    tasks = one.tasks if one.tasks is not None else other.tasks
    if tasks == frozenset():
        return True
    if one.reads_history != other.reads_history or (one.judge == NOBODY) != (other.judge == NOBODY):
        return False
    if tasks is None:
        return one.identity == other.identity
    return all(one.identity.get(task) == other.identity.get(task) for task in tasks)


def comparable_refs(store: Store, a: RunRef, b: RunRef) -> tuple[RunRef, RunRef]:
    """The same runs, for each metric by the newest judge setup that both have.

    Where somebody named the evaluation of a run it stays. A metric that both have, but by no common judge setup, is
    taken from the newest evaluation of each.
    """
    if a.chosen and b.chosen:
        return a, b
    with store.database.read() as connection:
        ours, theirs = (_of(connection, run) for run in (a, b))
    found: dict[str, tuple[ScoredEvaluation, ScoredEvaluation]] = {}
    for spec in in_order(ours.keys() & theirs.keys()):
        alike = [(one, other) for one in ours[spec] for other in theirs[spec] if judged_alike(one, other)]
        if alike:
            found[spec] = max(alike, key=_newness)
    split = next((pair for pair in found.values() if all(_splits(one) for one in pair)), None)
    first = {spec: pair[0].evaluation_id for spec, pair in found.items()}
    second = {spec: pair[1].evaluation_id for spec, pair in found.items()}
    return (
        _taken(a, {spec: a.evaluation_of(spec) for spec in ours} | first, split[0] if split else None),
        _taken(b, {spec: b.evaluation_of(spec) for spec in theirs} | second, split[1] if split else None),
    )


def different_judges(connection: Connection, a: RunRef, b: RunRef, specs: Sequence[str]) -> dict[str, JudgePair]:
    """The metrics among these whose judge setups differ between the evaluations that the references mean."""
    ours, theirs = (_of(connection, run) for run in (a, b))
    found: dict[str, JudgePair] = {}
    for spec in specs:
        one, other = _meant(a, spec, ours), _meant(b, spec, theirs)
        if one and other and not judged_alike(one, other):
            found[spec] = JudgePair(a=one.judge, b=other.judge)
    return found


def split_alike(connection: Connection, a: RunRef, b: RunRef) -> bool:
    """Whether the statements of both runs, and what is known of their refusals, come from the same judge setup."""
    return len(set(judges_of_task(connection, SPLITTING, [a.evaluation_id, b.evaluation_id]))) == 1


def _splits(one: ScoredEvaluation) -> bool:
    """Whether a metric is counted from statements of the answers, and there are some."""
    return one.has_statements and SPLITTING in (one.identity if one.tasks is None else one.tasks)


def _newness(pair: tuple[ScoredEvaluation, ScoredEvaluation]) -> tuple[bool, datetime]:
    """Complete evaluations before partial ones, then by when both runs had it."""
    return all(one.complete for one in pair), min(one.finished for one in pair)


def _taken(run: RunRef, metrics: Mapping[str, str | None], split: ScoredEvaluation | None) -> RunRef:
    """The run with its metrics taken from these evaluations, and its statements from the one that split them alike."""
    if run.chosen:
        return run
    main = split.evaluation_id if split else run.evaluation_id
    elsewhere = tuple(sorted((spec, one) for spec, one in metrics.items() if one and one != main))
    return replace(run, evaluation_id=main, elsewhere=elsewhere)


def _meant(run: RunRef, spec: str, by_metric: Mapping[str, Sequence[ScoredEvaluation]]) -> ScoredEvaluation | None:
    meant = run.evaluation_of(spec)
    return next((one for one in by_metric.get(spec, ()) if one.evaluation_id == meant), None)


def _of(connection: Connection, run: RunRef) -> dict[str, list[ScoredEvaluation]]:
    """For each metric the evaluations that it may be taken from."""
    found = scored_evaluations(connection, run.run_id)
    if not run.chosen:
        return found
    meant = {spec: [one for one in there if one.evaluation_id == run.evaluation_id] for spec, there in found.items()}
    return {spec: there for spec, there in meant.items() if there}


def cautions_of(
    connection: Connection, a: RunSummary, b: RunSummary, judges: Mapping[str, JudgePair]
) -> tuple[str, ...]:
    """One sentence each: another dataset, judge, prompt or metric setting; a part evaluated; one run twice.

    `judges` has the metrics, as pages call them, that A and B do not have from the same judge setup.
    """
    return (*_runs(a, b), *_judges(a, b, judges), *_metrics(connection, a, b), *_coverage(a, b))


def _runs(a: RunSummary, b: RunSummary) -> Iterator[str]:
    if a.run_id == b.run_id:
        yield "A and B are the same run: the judge setup differs, the answers do not."
    elif a.dataset_key != b.dataset_key:
        yield f"The runs use different question sets: {a.dataset} in A, {b.dataset} in B."


def _judges(a: RunSummary, b: RunSummary, judges: Mapping[str, JudgePair]) -> Iterator[str]:
    missing = [side for side, run in (("A", a), ("B", b)) if run.judged is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        yield f"{' and '.join(missing)} {verb} not evaluated: only scores from the run files are compared."
        return
    by_judges: dict[str, list[str]] = {}
    for label, pair in judges.items():
        by_judges.setdefault(str(pair), []).append(label)
    for who, labels in by_judges.items():
        yield f"Not comparable, different judges ({who}): {', '.join(labels)}."


def _metrics(connection: Connection, a: RunSummary, b: RunSummary) -> Iterator[str]:
    only_a, only_b = sorted(a.metrics.keys() - b.metrics.keys()), sorted(b.metrics.keys() - a.metrics.keys())
    for spec in only_a:
        other = next((one for one in only_b if _bare(one) == _bare(spec)), None)
        if other:
            yield f"Not compared, different settings: {spec} in A, {other} in B."
    bare_a, bare_b = set(map(_bare, only_a)), set(map(_bare, only_b))
    for side, specs, others in (("A", only_a, bare_b), ("B", only_b, bare_a)):
        left = [spec for spec in specs if _bare(spec) not in others]
        if left:
            yield f"Not compared, only in {side}: {', '.join(left)}."
    changed = changed_descriptions(connection, _taken_from(a), _taken_from(b))
    if changed:
        yield f"The definition changed between the evaluations of A and B: {', '.join(changed)}."


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
