"""Compare one judge with the labels in one file, and with word overlap and length. No store is needed.

`ragboard agree` compares any scorer and stores the result.
"""

from __future__ import annotations

import re
import time
import timeit
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from ragboard.errors import RunFileError, SettingError
from ragboard.human.agree import ask_about_texts
from ragboard.human.scorers import compare_scorers, trivial_scores
from ragboard.judges.base import Judge
from ragboard.readers.labels import read_label_rows
from ragboard.records import Sample, Score
from ragboard.stats import Calibration, Interval, NoInterval, binary_agreement, calibration
from ragboard.tasks import Extraction, ExtractStatements, Failure, Reply, Task, reply_or_failure

__all__ = ["Baseline", "JudgeReport", "JudgedRow", "judge_report", "read_judged_rows"]

Kind: TypeAlias = Literal["statements", "sentences", "answers"]
"""The kind of the labelled texts."""


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """The AUROC of a trivial baseline, compared with the judge."""

    auroc: Interval | NoInterval
    judge_better_by: Interval | NoInterval
    """AUROC of the judge minus AUROC of the baseline, on the same texts."""


@dataclass(frozen=True, kw_only=True)
class JudgeReport:
    """The figures of a judge on one labelled file."""

    judge: str
    kind: Kind
    n: int
    """Number of labelled texts with a score."""
    positive: int
    """Number of these texts that are labelled supported; for sentences, helpful for answering the question."""
    clusters: int
    """Number of clusters of texts."""
    unscored: int
    """Number of labelled texts without a score: the judge failed, or an answer has no statements."""
    auroc: Interval | NoInterval
    """AUROC of the judge's scores, or of its verdicts if it gives no scores."""
    balanced_accuracy: float
    """Mean of sensitivity and specificity; 0.5 is chance level."""
    calibration: Calibration
    """How well the judge's scores work as probabilities."""
    baselines: Mapping[str, Baseline]
    seconds: float
    """Duration of all calls to the judge, in seconds."""
    regex_seconds: float
    """How many seconds `re.findall(r"\\w+", text)` takes for the same texts."""

    @property
    def times_regex(self) -> float:
        """`seconds` as a multiple of `regex_seconds`."""
        return self.seconds / self.regex_seconds


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedRow:
    """Labelled texts with the same question and passages."""

    kind: Kind
    """Statements and answers are labelled supported or not, sentences helpful or not."""
    sample: Sample
    """The question, its history and the passages."""
    texts: tuple[str, ...]
    labels: tuple[bool | None, ...]
    """For each text, whether it is supported or helpful; None if it has no label."""
    cluster: str
    """Rows with the same cluster are not independent."""

    @property
    def passages(self) -> list[str]:
        """The texts of the passages."""
        return [passage.text for passage in self.sample.contexts or ()]


def read_judged_rows(
    path: Path, *, cluster: str | None = None, label: str | None = None, at_least: float = 1.0
) -> tuple[JudgedRow, ...]:
    """Read the rows of a label file with `statements` or `sentences`, or with graded answers if `label` is given.

    `label` is the path of a grade in a row (`human.faithfulness`). An answer is supported if its grade is at least
    `at_least`. Raises RunFileError for a row of another kind, and if no row has a label.
    """
    rows: list[JudgedRow] = []
    for row in read_label_rows(str(path), cluster=cluster, rating=label):
        if not label and not row.kind:
            raise RunFileError(
                path, "contains neither `statements` nor `sentences`; try `ragboard agree`, or --label", line=row.line
            )
        if row.kind == "passages":
            raise RunFileError(path, "contains grades of passages; try `ragboard agree`", line=row.line)
        kind = row.kind or "answers"
        if rows and kind != rows[0].kind:
            raise RunFileError(path, f"contains {kind} after {rows[0].kind}", line=row.line)
        sample = row.samples[0]
        texts = (sample.answer or "",) if kind == "answers" else tuple(text.text for text in row.texts)
        ratings = row.human_labels[label] if label else tuple(text.label for text in row.texts)

        threshold = at_least if label else 1.0
        rows.append(
            JudgedRow(
                kind=kind,
                sample=sample,
                texts=texts,
                labels=tuple(None if rating is None else rating >= threshold for rating in ratings),
                cluster=row.cluster or (texts or ("",))[0],
            )
        )
    if not any(label is not None for row in rows for label in row.labels):
        raise RunFileError(path, "has no labels, expected `statements` or `sentences` with `text` and `label`")
    return tuple(rows)


async def judge_report(judge: Judge, rows: Sequence[JudgedRow], *, seed: int = 0) -> JudgeReport:
    """Run the judge on every labelled text. Raises SettingError if all scored texts have the same label."""
    start = time.perf_counter()
    outcomes = [await _ask(judge, row) for row in rows]
    seconds = time.perf_counter() - start
    judged_texts = [
        (row, text, label, *outcome)
        for row, row_outcomes in zip(rows, outcomes, strict=True)
        for text, label, outcome in zip(row.texts, row.labels, row_outcomes, strict=True)
        if label is not None and outcome is not None
    ]
    truth = [label for _, _, label, _, _ in judged_texts]
    if not any(truth) or all(truth):
        raise SettingError(f"all {len(judged_texts)} scored texts have labels of one class; both classes are needed")
    scores = [score for _, _, _, score, _ in judged_texts]
    clusters = [row.cluster for row, *_ in judged_texts]
    trivial = [
        trivial_scores(row.sample.question, text, None if row.kind == "sentences" else row.passages)
        for row, text, *_ in judged_texts
    ]
    all_texts = [text for row in rows for text in (row.sample.question, *row.passages, *row.texts)]

    def find_words() -> None:
        for text in all_texts:
            re.findall(r"\w+", text)

    judged, *baselines = compare_scorers(
        {"judge": scores, **{name: [scores_of_text[name] for scores_of_text in trivial] for name in trivial[0]}},
        truth,
        clusters,
        seed=seed,
    )
    return JudgeReport(
        judge=judge.name,
        kind=rows[0].kind,
        n=len(judged_texts),
        positive=sum(truth),
        clusters=len(set(clusters)),
        unscored=sum(label is not None for row in rows for label in row.labels) - len(judged_texts),
        auroc=judged.auroc.interval,
        balanced_accuracy=binary_agreement([verdict for *_, verdict in judged_texts], truth).balanced_accuracy or 0.0,
        calibration=calibration(scores, truth),
        baselines={
            baseline.name: Baseline(auroc=baseline.auroc.interval, judge_better_by=baseline.judge_better_by.interval)
            for baseline in baselines
            if baseline.judge_better_by
        },
        seconds=seconds,
        regex_seconds=max(min(timeit.repeat(find_words, number=1, repeat=3)), 1e-9),
    )


async def _ask(judge: Judge, row: JudgedRow) -> Sequence[tuple[float, bool] | None]:
    """Return (score, whether the verdict is positive) for each text; None for a text without a verdict."""

    async def ask(task: Task) -> Reply | Failure:
        (reply,) = await judge.answer([task])
        return reply_or_failure(task, reply)

    sample, texts = row.sample, row.texts
    if row.kind == "answers":
        extracted = await ask(ExtractStatements(question=sample.question, text=texts[0], history=sample.history))
        texts = tuple(statement.text for statement in extracted.statements) if isinstance(extracted, Extraction) else ()
    replies = await ask_about_texts(sample, texts, ask, helping=row.kind == "sentences") if texts else []
    outcomes = [  # a verdict is a Score of 1 (supported, helpful) or 0
        (score.value if isinstance(score, Score) else verdict.value, verdict.value == 1)
        if isinstance(verdict, Score)
        else None
        for verdict, score in replies
    ]
    if row.kind != "answers":
        return outcomes
    scored = [outcome for outcome in outcomes if outcome]
    return [(sum(score for score, _ in scored) / len(scored), all(yes for _, yes in scored)) if scored else None]
