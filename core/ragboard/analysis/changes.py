"""Find the questions that changed most between two runs, and say what changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

import numpy as np

from ragboard.analysis.alignment import align
from ragboard.analysis.comparability import choose_evaluations, different_judges, same_statement_judges
from ragboard.analysis.means import finite_range
from ragboard.analysis.metrics import read_descriptions
from ragboard.analysis.paired import (
    Flags,
    MetricColumn,
    answers_with_statements,
    pair_runs,
    paired_refusals,
    read_metric_column,
    shared_metrics,
)
from ragboard.analysis.pairs import ChangeKind, PairReport, classify_change, pair_report
from ragboard.analysis.reference_answers import compares_with_reference, read_reference_runs
from ragboard.analysis.refusals import stated_answerability
from ragboard.analysis.samples import SampleReport
from ragboard.metrics import find_metric
from ragboard.records import Answerability, Direction, MetricDescription, Score
from ragboard.stats.checks import FloatArray
from ragboard.store import RunRef, Store
from ragboard.store.queries.pairs import PairedRuns
from ragboard.store.queries.samples import sample_texts
from ragboard.text.sentences import sentence_spans

__all__ = ["ChangedQuestion", "ScoreChange", "judged_inconsistently", "most_changed"]

MAX_QUESTIONS = 3
"""Default number of questions."""
UNCHANGED = ("kept", "still wrong")
"""Kinds of statements that did not change."""
MAX_REPLACEMENTS = 30
"""Maximum number of times that inconsistently judged pairs are replaced by the next largest changes."""
NEARLY_THE_SAME = 0.8
"""Sentences are nearly the same if the Dice similarity of their words is at least this."""
NEGLIGIBLE = 0.05
"""Changes below this share of a metric's range are left out."""
MAX_METRICS = 3
"""Maximum number of metrics listed for a question."""


@dataclass(frozen=True, kw_only=True)
class ScoreChange:
    """One metric of one question, in both runs."""

    label: str
    a: float
    b: float
    change: Literal["better", "worse", "same", "differs", "unscored"]

    def __str__(self) -> str:
        """`Faithfulness 1.00 → 0.33`."""
        return f"{self.label} {self.a:.2f} → {self.b:.2f}"


@dataclass(frozen=True, kw_only=True)
class ChangedQuestion:
    """A question whose scores changed much from A to B."""

    sample_a: str
    sample_b: str
    question: str
    scores: tuple[ScoreChange, ...]
    """The metrics that changed, largest change relative to the range first."""
    refuses: Literal["A", "B", ""]
    """The only run whose answer refuses; empty if both or neither refuse, or if this is not known."""
    in_part: bool
    """Whether the refusing answer refuses only in part: it also contains a statement."""
    answerability: Answerability | None
    """Whether the question is answerable, according to human labels or the run file of A; None if unknown."""
    statements: Mapping[ChangeKind, int]
    """Number of statements by change; unchanged ones are left out."""
    passages: int
    """Number of passages that B retrieved."""
    new_passages: int
    """Number of passages of B that A did not retrieve."""

    @property
    def refusal(self) -> str:
        """`only B refuses, rightly: unanswerable` or `only B refuses, in part`; empty if both or neither refuse."""
        if not self.refuses:
            return ""
        details = ", in part" if self.in_part else ""
        if self.answerability == "unanswerable":
            details += ", rightly: unanswerable"
        elif self.answerability == "answerable" and not self.in_part:
            details = ", wrongly: answerable"
        return f"only {self.refuses} refuses{details}"

    def __str__(self) -> str:
        """Return what changed besides scores: `only B refuses; statements: 1 broken; 2 of 5 passages are new`."""
        statements = ", ".join(f"{count} {kind}" for kind, count in self.statements.items())
        new = f"{self.new_passages} of {self.passages} passages {'is' if self.new_passages == 1 else 'are'} new"
        parts = [self.refusal, statements and f"statements: {statements}", new if self.new_passages else ""]
        return "; ".join(filter(None, parts))


def most_changed(
    store: Store,
    a: RunRef,
    b: RunRef,
    paired: PairedRuns | None = None,
    *,
    metrics: Collection[str] | None = None,
    limit: int = MAX_QUESTIONS,
) -> tuple[ChangedQuestion, ...]:
    """Find the pairs with the largest change: |B - A| on the metric that changed most, as a share of its range.

    The range is from the metric's minimum, or from 0 if the minimum is negative. `metrics` limits the metrics. Changes
    below 5% of the range are left out.

    - A pair in which exactly one answer refuses in full has a change of 100%. The first such pair is listed at its
      rank. The others come last, so that they do not fill the list.
    - Metrics without bounds, metrics with different judges in A and B, and metrics that compare references with
      themselves do not count. Relevance metrics do not count in a pair with a full refusal.
    - Pairs that were judged inconsistently are left out; see `judged_inconsistently`.
    - If all listed pairs are better in B, or all worse, the last one is replaced by the largest opposite change.

    Swapping A and B finds the same questions.
    """
    a, b = choose_evaluations(store, a, b)
    paired = paired or pair_runs(store, a, b)
    with store.database.read() as connection:
        descriptions = read_descriptions(connection)
        stated = stated_answerability(connection, a.run_id)
        shared = [spec for spec in shared_metrics(connection, a, b) if metrics is None or spec in metrics]
        reference_runs = read_reference_runs(connection, [a.run_id, b.run_id])
        self_compared = {spec for spec in shared if reference_runs and compares_with_reference(descriptions.get(spec))}
        not_comparable = different_judges(connection, a, b, shared)
        ranges = {
            spec: ends
            for spec in shared
            if spec not in not_comparable
            and spec not in self_compared
            and (ends := finite_range(descriptions.get(spec)))
        }
        refusals, in_part = np.zeros(paired.a.size), np.zeros(paired.a.size, dtype=np.bool_)
        if same_statement_judges(connection, a, b):
            in_a, in_b, both = paired_refusals(connection, a, b, paired)
            refusals[both] = in_b - in_a
            has_statements_a, has_statements_b = answers_with_statements(connection, a, b, paired)
            in_part = np.where(refusals > 0, has_statements_b, has_statements_a) & (refusals != 0)
        refused = (refusals != 0) & ~in_part
        changes: dict[str, FloatArray] = {}
        improved = np.zeros(paired.a.size)
        for spec, ends in ranges.items():
            column = read_metric_column(connection, a, b, paired, spec)
            changes[spec] = _relative_changes(column, ends)
            improved += _improvements(column, changes[spec], descriptions[spec].direction)
            del column
        counted = [refused.astype(np.float64)]
        counted += [np.where(refused, 0.0, size) if _is_relevance(spec) else size for spec, size in changes.items()]
    reports: dict[int, PairReport] = {}
    rows = _largest_changes(paired, counted, improved, refused, limit)
    for _ in range(MAX_REPLACEMENTS):
        with store.database.read() as connection:
            texts = sample_texts(connection, a.run_id, paired.a[rows].tolist())
        for row in rows:
            if row not in reports:
                reports[row] = pair_report(store, a, b, paired, texts[int(paired.a[row])].sample_id)
        inconsistent = [row for row in rows if judged_inconsistently(reports[row])]
        if not inconsistent:
            break
        for changed in counted:
            changed[inconsistent] = 0.0
        rows = _largest_changes(paired, counted, improved, refused, limit)
    rows = [row for row in rows if row in reports and not judged_inconsistently(reports[row])]
    return tuple(
        _changed_question(
            reports[row],
            [
                (descriptions[spec], _score(reports[row].a, spec), _score(reports[row].b, spec))
                for spec in sorted(changes, key=lambda spec: (-float(changes[spec][row]), spec))
                if changes[spec][row] >= NEGLIGIBLE
            ],
            "B" if refusals[row] > 0 else "A" if refusals[row] < 0 else "",
            in_part=bool(in_part[row]),
            answerability=stated.get(int(paired.a[row])),
        )
        for row in rows
    )


def judged_inconsistently(pair: PairReport) -> bool:
    """Return whether one sentence is a refusal in one answer, but an unsupported statement in the other.

    The scores of such a pair differ because of the judge, not because of the answers.
    """
    return any(
        report.refuses and _has_unsupported_copy_of_refusal(report, other)
        for report, other in ((pair.a, pair.b), (pair.b, pair.a))
    )


def _has_unsupported_copy_of_refusal(refusing: SampleReport, other: SampleReport) -> bool:
    answer = refusing.sample.answer or ""
    sentences = [answer[start:end] for start, end in sentence_spans(answer)]
    stated = align(sentences, [statement.statement.text for statement in refusing.statements])
    skipped = [sentences[place] for place in stated.only_a]
    unsupported = [
        statement.statement.text
        for statement in other.statements
        if statement.verdict is not None and statement.verdict.label != "supported"
    ]
    return bool(align(skipped, unsupported, threshold=NEARLY_THE_SAME).aligned)


def _is_relevance(spec: str) -> bool:
    metric = find_metric(spec)
    return metric is not None and metric.category == "relevance"


def _relative_changes(column: MetricColumn, metric_range: tuple[float, float]) -> FloatArray:
    """Return the change of each pair as a share of the range, as in `most_changed`; 0 if a sample is unscored."""
    change = np.abs(column.b - column.a) / (metric_range[1] - max(metric_range[0], 0.0))
    return np.where(column.both, change, 0.0)


def _improvements(column: MetricColumn, change: FloatArray, direction: Direction) -> FloatArray:
    """Return the improvement of each pair, from its change and the direction of the metric; a loss is negative."""
    better = {"higher": 1.0, "lower": -1.0, "neutral": 0.0}[direction]
    return better * np.where(column.both, np.sign(column.b - column.a), 0.0) * change


def _largest_changes(
    paired: PairedRuns, changes: Sequence[FloatArray], improvements: FloatArray, refused: Flags, limit: int
) -> list[int]:
    """Return the rows of the pairs with the largest change, in the order of `most_changed`.

    Ties are broken by the sum of the changes on all metrics, then by positions, symmetrically in A and B.
    """
    total = reduce(np.maximum, changes).round(9)
    rows = np.flatnonzero(total >= NEGLIGIBLE)
    a, b, total = paired.a[rows], paired.b[rows], total[rows]
    everything = reduce(np.add, (change[rows] for change in changes)).round(9)
    changed = rows[np.lexsort((np.minimum(a, b), a + b, -everything, -total))]
    further = refused[changed] & (np.cumsum(refused[changed]) > 1)
    changed = np.concatenate((changed[~further], changed[further]))
    first: list[int] = changed[:limit].tolist()
    rest = changed[limit:]
    signs = np.sign(improvements.round(9))
    direction: set[float] = set(signs[first].tolist()) - {0.0}  # a refusal is neither better nor worse
    if limit < 2 or direction not in ({1.0}, {-1.0}):
        return first
    others = rest[signs[rest] == -direction.pop()]
    return [*first[:-1], int(others[0])] if others.size else first


def _score(report: SampleReport, metric: str) -> float:
    """Return the score of a sample that has one, from an evaluation or the run file."""
    outcome = {**report.file_scores, **report.scores}[metric]
    if not isinstance(outcome, Score):
        raise TypeError(f"sample {report.sample.id!r} of run {report.run.name!r} has no score for {metric}")
    return outcome.value


def _changed_question(
    pair: PairReport,
    scores: Sequence[tuple[MetricDescription, float, float]],
    refuses: Literal["A", "B", ""],
    *,
    in_part: bool,
    answerability: Answerability | None,
) -> ChangedQuestion:
    kinds: Counter[ChangeKind] = Counter(change.kind for change in pair.statements)
    changed: dict[ChangeKind, int] = {kind: count for kind, count in kinds.items() if kind not in UNCHANGED}
    return ChangedQuestion(
        sample_a=pair.a.sample.id,
        sample_b=pair.b.sample.id,
        question=pair.a.sample.question,
        scores=tuple(
            ScoreChange(label=metric.label, a=before, b=after, change=classify_change(after - before, metric.direction))
            for metric, before, after in scores[:MAX_METRICS]
        ),
        refuses=refuses,
        in_part=in_part,
        answerability=answerability,
        statements=changed,
        passages=len(pair.b.sample.contexts or ()),
        new_passages=len(pair.gained),
    )
