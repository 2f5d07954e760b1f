"""A judge that returns recorded human verdicts.

A recording is a folder of label files (docs/reference/label-files.md) with additional fields: verdicts with quotes on
the statements of the answer and the reference, helpful sentences, ratings and preferences. The judge looks up a verdict
by question, statement and passages, so a recording works for every run with the same texts, and with changed prompts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ValidationError

from ragboard.errors import RunFileError
from ragboard.records import Evidence, Label, NuggetLabel, Span, Verdict
from ragboard.tasks import (
    AnswerRating,
    AssignNuggets,
    ExtractedStatement,
    Extraction,
    ExtractStatements,
    Failure,
    JudgePassages,
    NuggetLabels,
    OnCall,
    Prefer,
    Preference,
    Quality,
    Rate,
    RateAnswer,
    Rating,
    Reply,
    Selection,
    SelectSentences,
    Task,
    Usefulness,
    Verification,
    Verify,
    ignore_call,
)

__all__ = ["RecordedJudge"]

Passages: TypeAlias = tuple[str, ...]
ANSWERED_TASKS: frozenset[type[Task]] = frozenset(
    {AssignNuggets, ExtractStatements, Verify, SelectSentences, JudgePassages, RateAnswer, Rate, Prefer}
)
"""The types of task that a recording can answer."""


class _Quote(BaseModel):
    rank: int
    start: int
    end: int


class _LocatedStatement(BaseModel):
    """A statement with its span in the answer or reference."""

    start: int
    end: int
    statement: str

    @property
    def extracted(self) -> ExtractedStatement:
        return ExtractedStatement(text=self.statement, span=Span(start=self.start, end=self.end, how="verbatim"))


class _Statement(_LocatedStatement):
    verdict: Label
    passages: list[int]
    quotes: list[_Quote]
    note: str
    reference: Label

    def evidence(self, ranks: Mapping[int, int]) -> tuple[Evidence, ...]:
        """Return the quotes as evidence. `ranks` maps ranks in the file to new ones; other quotes are left out."""
        stance: Literal["for", "against"] = "against" if self.verdict == "contradicted" else "for"
        return tuple(
            Evidence(rank=ranks[quote.rank], start=quote.start, end=quote.end, stance=stance, how="quoted")
            for quote in self.quotes
            if quote.rank in ranks
        )


class _ReferenceStatement(_LocatedStatement):
    answer: Label
    passages: list[int]
    together: bool


class _AnswerRow(BaseModel):
    question: str
    contexts: list[str]
    answer: str
    reference: str
    refuses: bool
    statements: list[_Statement]
    reference_statements: list[_ReferenceStatement]
    helpful: list[str]
    ratings: dict[Quality, int]
    relevance_reason: str
    annotator: str


class _PairRow(BaseModel):
    question: str
    dimension: Quality
    a: str
    b: str
    preferred: Literal["a", "b", "tie"]
    note: str
    annotator: str


@dataclass
class RecordedJudge:
    """Returns recorded verdicts. Other texts get a Failure."""

    name: str
    """The annotators: `the authors of this sample, recorded`."""
    version: str
    """A digest of the recording."""
    heuristic: bool = False
    replies: dict[object, Any] = field(default_factory=dict[object, Any])
    """Replies, or parts of replies, by tuples such as `("relevance", question, answer)`."""

    answers: frozenset[type[Task]] = ANSWERED_TASKS

    @classmethod
    def from_folder(cls, folder: Path) -> Self:
        """Read a recording. Raises RunFileError for a folder without a recording and for an invalid row."""
        paths = sorted(folder.glob("*.jsonl"))
        if not paths:
            raise RunFileError(folder, "contains no recording; expected a folder with .jsonl files of verdicts")
        digest = blake2b(digest_size=8)
        replies: dict[object, Any] = {}
        annotators: dict[str, None] = {}
        rows: list[_AnswerRow] = []
        for path in paths:
            content = path.read_bytes()
            digest.update(content)
            for row in _rows(path, content):
                annotators[row.annotator] = None
                if isinstance(row, _PairRow):
                    replies.update(_pair_replies(row))
                else:
                    rows.append(row)
        for row in rows:
            replies.update(_answer_replies(row))
            replies.setdefault(("helpful", row.question), set()).update(row.helpful)
        for row in rows:  # the verdicts on answers have priority, because only they have quotes
            replies |= {key: reply for key, reply in _reference_replies(row) if key not in replies}
        return cls(f"{', '.join(annotators)}, recorded", digest.hexdigest(), replies=replies)

    def identity(self, task: type[Task]) -> str:
        """Return the digest of the recording."""
        return f"recorded/{self.version}/{task.__name__}"

    async def answer(self, tasks: Sequence[Task], _on_call: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        """Return the recorded replies, in order."""
        return [
            self._reply(task) or Failure(detail=f"the recording has no verdict on these texts ({type(task).__name__})")
            for task in tasks
        ]

    def _reply(self, task: Task) -> Reply | None:
        match task:
            case Verify():
                return self._verification(task)
            case SelectSentences():
                helpful = self.replies.get(("helpful", task.question))
                chosen = tuple(index for index, text in enumerate(task.sentences) if helpful and text in helpful)
                return None if helpful is None else Selection(chosen=chosen)
            case JudgePassages():
                useful = [self.replies.get(("useful", task.question, text)) for text in task.passages]
                if None in useful:
                    return None
                return Usefulness(useful=tuple(map(bool, useful)), reasons=("",) * len(useful))
            case AssignNuggets():
                return self._nugget_labels(task)
            case ExtractStatements():
                return self._look_up("extraction", task.question, task.text)
            case RateAnswer():
                return self._look_up("relevance", task.question, task.answer)
            case Rate():
                text = task.contexts if task.quality == "context_relevance" else task.answer
                return self._look_up("rating", task.quality, task.question, text)
            case Prefer():
                return self._look_up("preference", task.quality, task.question, task.a, task.b)
            case _:
                return None

    def _look_up(self, *key: object) -> Reply | None:
        reply: Reply | None = self.replies.get(key)
        return reply

    def _nugget_labels(self, task: AssignNuggets) -> NuggetLabels | None:
        """Label nuggets by the recorded verdicts on statements with the same text. No label is `partial_support`."""
        stated: dict[bool, NuggetLabel] = {True: "support", False: "not_support"}
        try:
            verdicts = [self.replies["joint", task.question, text, (task.answer,)] for text in task.nuggets]
        except KeyError:
            return None
        labels: tuple[NuggetLabel, ...] = tuple(stated[verdict.label == "supported"] for verdict in verdicts)
        return NuggetLabels(labels=labels, reasons=("",) * len(labels))

    def _verification(self, task: Verify) -> Verification | None:
        joint: list[Verdict] = []
        single: list[tuple[Verdict, ...]] = []
        try:
            for statement in task.statements:
                if task.joint:
                    joint.append(self.replies["joint", task.question, statement, task.passages])
                if task.single:
                    verdicts = (self.replies["single", task.question, statement, passage] for passage in task.passages)
                    single.append(tuple(_with_rank(verdict, rank) for rank, verdict in enumerate(verdicts, 1)))
        except KeyError:
            return None
        return Verification(joint=tuple(joint), single=tuple(single))


def _with_rank(verdict: Verdict, rank: int) -> Verdict:
    """Return a verdict on one passage, with `rank` as the rank of its evidence."""
    return replace(verdict, evidence=tuple(replace(evidence, rank=rank) for evidence in verdict.evidence))


def _rows(path: Path, content: bytes) -> Iterator[_AnswerRow | _PairRow]:
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        kind: type[_AnswerRow | _PairRow] = _PairRow if b'"preferred"' in line else _AnswerRow
        try:
            yield kind.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"]))
            raise RunFileError(path, f"not a recorded verdict: {field}: {first['msg']}", line=number) from error


def _answer_replies(row: _AnswerRow) -> Iterator[tuple[object, Any]]:
    """Yield (key, reply) for all judgements of the row's answer."""
    question, passages = row.question, tuple(row.contexts)
    extraction = Extraction(statements=tuple(judged.extracted for judged in row.statements), refuses=row.refuses)
    yield ("extraction", question, row.answer), extraction
    for judged in row.statements:
        ranks = {rank: rank for rank in range(1, len(passages) + 1)}
        joint = Verdict(label=judged.verdict, reason=judged.note, evidence=judged.evidence(ranks))
        yield ("joint", question, judged.statement, passages), joint
        for rank, passage in enumerate(passages, 1):
            single = Verdict(label="unsupported")
            if rank in judged.passages:
                single = Verdict(label=judged.verdict, evidence=judged.evidence({rank: 1}))
            yield ("single", question, judged.statement, passage), single
        yield from _verdict_on_text(question, judged.statement, row.reference, judged.reference)
    for passage in row.contexts:
        yield ("useful", question, passage), any(sentence in passage for sentence in row.helpful)
    relevance = AnswerRating(score=row.ratings["answer_relevance"] / 10, reason=row.relevance_reason)
    yield ("relevance", question, row.answer), relevance
    for quality, value in row.ratings.items():
        rated = passages if quality == "context_relevance" else row.answer
        yield ("rating", quality, question, rated), Rating(value=value)


def _reference_replies(row: _AnswerRow) -> Iterator[tuple[object, Any]]:
    """Yield (key, reply) for all judgements of the statements of the row's reference."""
    question, passages = row.question, tuple(row.contexts)
    statements = tuple(judged.extracted for judged in row.reference_statements)
    yield ("extraction", question, row.reference), Extraction(statements=statements, refuses=not statements)
    for judged in row.reference_statements:
        yield from _verdict_on_text(question, judged.statement, row.answer, judged.answer)
        joint = Verdict(label="supported" if judged.together else "unsupported")
        yield ("joint", question, judged.statement, passages), joint
        for rank, passage in enumerate(passages, 1):
            label: Label = "supported" if rank in judged.passages else "unsupported"
            yield ("single", question, judged.statement, passage), Verdict(label=label)


def _verdict_on_text(question: str, statement: str, text: str, label: Label) -> Iterator[tuple[object, Any]]:
    """Yield (key, reply) for the verdict on a statement against one text."""
    yield ("joint", question, statement, (text,)), Verdict(label=label)


def _pair_replies(row: _PairRow) -> Iterator[tuple[object, Any]]:
    """Yield (key, reply) for both orders of the pair. After a tie, the first answer is preferred in both orders."""
    for first, second, name in ((row.a, row.b, "a"), (row.b, row.a, "b")):
        better: Literal["a", "b"] = "a" if row.preferred in (name, "tie") else "b"
        yield ("preference", row.dimension, row.question, first, second), Preference(better=better, reason=row.note)
