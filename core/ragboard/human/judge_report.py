"""How far a judge can be trusted: its verdicts against people's labels, beside contenders that read nothing."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragboard.errors import SettingError
from ragboard.human.labelled import Kind, Labelled
from ragboard.judges.fit import fitting
from ragboard.judges.tasks import (
    Extraction,
    ExtractStatements,
    Failure,
    Judge,
    Reply,
    Selection,
    SelectSentences,
    Task,
    Verification,
    Verify,
)
from ragboard.stats import Calibration, Interval, NoInterval, calibration
from ragboard.stats.clustered import auroc_difference, clustered_auroc

__all__ = ["Contender", "JudgeReport", "judge_report", "word_overlap"]


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A score that reads nothing, and by how much the judge ranks better."""

    auroc: Interval | NoInterval
    judge_better_by: Interval | NoInterval
    """AUROC of the judge less the contender's, on the same texts."""


@dataclass(frozen=True, kw_only=True)
class JudgeReport:
    """A judge on one labelled file."""

    judge: str
    kind: Kind
    n: int
    positive: int
    clusters: int
    unscored: int
    """Labelled texts without a score: the judge failed, or an answer states nothing."""
    auroc: Interval | NoInterval
    """Of the judge's score; of its choice where it gives no score."""
    balanced_accuracy: float
    """Mean of the shares of positives and of negatives that it labels so; 0.5 is a coin."""
    calibration: Calibration
    """Whether its score can be read as a probability."""
    contenders: Mapping[str, Contender]
    seconds: float
    """What the judge took in all."""
    plain_seconds: float
    """What one pass of `re.findall(r"\\w+", text)` over the same texts took, in the same run."""

    @property
    def times_plain(self) -> float:
        """How many such passes the judge costs."""
        return self.seconds / self.plain_seconds


@dataclass(frozen=True, slots=True)
class _Scored:
    text: str
    row: Labelled
    positive: bool
    score: float
    said: bool


async def judge_report(judge: Judge, rows: Sequence[Labelled], *, seed: int = 0) -> JudgeReport:
    """Ask the judge about every labelled text. Raises SettingError where nothing of one class is scored."""
    start = time.perf_counter()
    given = [await _asked(judge, row) for row in rows]
    seconds = time.perf_counter() - start
    found = [
        _Scored(text, row, label, *score)
        for row, scores in zip(rows, given, strict=True)
        for text, label, score in zip(row.texts, row.labels, scores, strict=True)
        if label is not None and score is not None
    ]
    labelled = sum(label is not None for row in rows for label in row.labels)
    positive = [each.positive for each in found]
    if not any(positive) or all(positive):
        raise SettingError(f"{len(found)} scored labels are all of one class; a judge is told by both")
    return _report(judge, rows[0].kind, found, labelled - len(found), seconds, _plain(rows), seed)


def _report(
    judge: Judge, kind: Kind, found: Sequence[_Scored], unscored: int, seconds: float, plain: float, seed: int
) -> JudgeReport:
    positive = [each.positive for each in found]
    scores = [each.score for each in found]
    clusters = [each.row.cluster for each in found]
    return JudgeReport(
        judge=judge.name,
        kind=kind,
        n=len(found),
        positive=sum(positive),
        clusters=len(set(clusters)),
        unscored=unscored,
        auroc=clustered_auroc(scores, positive, clusters, seed=seed),
        balanced_accuracy=_balanced([each.said for each in found], positive),
        calibration=calibration(scores, positive),
        contenders={
            name: Contender(
                auroc=clustered_auroc(others, positive, clusters, seed=seed),
                judge_better_by=auroc_difference(scores, others, positive, clusters, seed=seed),
            )
            for name, others in _contenders(kind, found).items()
        },
        seconds=seconds,
        plain_seconds=plain,
    )


async def _reply(judge: Judge, task: Task) -> Reply | Failure:
    (reply,) = await judge.answer([task])
    return fitting(task, reply)


async def _asked(judge: Judge, row: Labelled) -> Sequence[tuple[float, bool] | None]:
    """For each text its score and whether the judge calls it positive; None where it did not say."""
    if row.kind == "sentences":
        return await _helping(judge, row)
    if row.kind == "statements":
        return await _supported(judge, row, row.texts)
    extracted = await _reply(judge, ExtractStatements(question=row.question, text=row.texts[0], history=row.history))
    said = tuple(each.text for each in extracted.statements) if isinstance(extracted, Extraction) else ()
    verdicts = [each for each in await _supported(judge, row, said) if each] if said else []
    if not verdicts:
        return [None]
    mean = sum(score for score, _ in verdicts) / len(verdicts)
    return [(mean, all(supported for _, supported in verdicts))]


async def _supported(judge: Judge, row: Labelled, texts: tuple[str, ...]) -> Sequence[tuple[float, bool] | None]:
    task = Verify(
        question=row.question,
        statements=texts,
        passages=row.contexts,
        joint=True,
        single=False,
        history=row.history,
    )
    reply = await _reply(judge, task)
    if not isinstance(reply, Verification):
        return [None] * len(texts)
    said = [verdict.label == "supported" for verdict in reply.joint]
    return [
        (verdict.score if verdict.score is not None else float(yes), yes)
        for verdict, yes in zip(reply.joint, said, strict=True)
    ]


async def _helping(judge: Judge, row: Labelled) -> Sequence[tuple[float, bool] | None]:
    reply = await _reply(judge, SelectSentences(question=row.question, sentences=row.texts, history=row.history))
    if not isinstance(reply, Selection):
        return [None] * len(row.texts)
    chosen = [place in reply.chosen for place in range(len(row.texts))]
    return list(zip(reply.scores or map(float, chosen), chosen, strict=True))


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _contenders(kind: Kind, found: Sequence[_Scored]) -> dict[str, list[float]]:
    """Word overlap with the passages (for a sentence: of the question with it), and length by characters."""
    sign = 1.0 if kind == "sentences" else -1.0
    overlap = [
        word_overlap(each.row.question, [each.text])
        if kind == "sentences"
        else word_overlap(each.text, each.row.contexts)
        for each in found
    ]
    return {"word overlap": overlap, "length": [sign * len(each.text) for each in found]}


def word_overlap(text: str, others: Sequence[str]) -> float:
    """The share of the words of `text` that the others hold together, in [0, 1]; 0.0 where it has none."""
    wanted = _words(text)
    return len(wanted & _words(" ".join(others))) / len(wanted) if wanted else 0.0


def _balanced(said: Sequence[bool], positive: Sequence[bool]) -> float:
    right = [
        [yes == label for yes, label in zip(said, positive, strict=True) if label == kind] for kind in (True, False)
    ]
    return sum(sum(each) / len(each) for each in right) / 2


def _plain(rows: Sequence[Labelled]) -> float:
    """Seconds for one plain pass over everything that the judge was shown; the best of three."""
    texts = [text for row in rows for text in (row.question, *row.contexts, *row.texts)]
    passes: list[float] = []
    for _ in range(3):
        start = time.perf_counter()
        for text in texts:
            re.findall(r"\w+", text)
        passes.append(time.perf_counter() - start)
    return max(min(passes), 1e-9)
