"""The needs for statements and for verdicts on them. Both are from the run file if it has them, else from the judge.

If joint verdicts and verdicts against each passage are needed, one task asks for both. If the judge has given verdicts
before, the same task is sent, so that the stored reply is reused.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from ragboard.metrics.base import Ask, Need, no_column
from ragboard.records import Sample, Side, Span, Statement, Target, Unscored, Verdict, VerdictTarget
from ragboard.tasks import ExtractStatements, Task, VerifiedAgainst, Verify
from ragboard.text.citations import without_marks_of

__all__ = ["ExtractedStatements", "JointVerdicts", "JudgedStatements", "SeparateVerdicts", "Statements", "VerdictTable"]

_Against: TypeAlias = VerdictTarget | Literal["joint"]
"""What statements are verified against. `joint` is all passages together."""

VerdictRows: TypeAlias = tuple[tuple[Verdict, ...], ...]
"""The verdicts on each statement, one per text that it is verified against."""

NOTHING_RETRIEVED = Verdict(label="unsupported", reason="No passage was retrieved.")
EMPTY_TEXT: dict[Side, Verdict] = {
    "response": Verdict(label="unsupported", reason="The answer is empty."),
    "reference": Verdict(label="unsupported", reason="The reference is empty."),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractedStatements:
    """The statements of the answer or the reference, and whether this text refuses to answer."""

    side: Side
    statements: tuple[Statement, ...]
    refuses: bool | None
    """None if the statements are from the run file, which does not say whether the text refuses."""


@dataclass(frozen=True)
class Statements(Need[ExtractedStatements]):
    """The statements of the answer (`response`) or the reference, without verdicts."""

    side: Side = "response"

    def tasks(self) -> tuple[type[Task], ...]:
        return (ExtractStatements,)

    async def resolve(self, sample: Sample, ask: Ask) -> ExtractedStatements | Unscored:
        file_verdicts, side, text = ask.file_verdicts, self.side, _text(sample, self.side)
        if isinstance(file_verdicts, Unscored):
            return file_verdicts
        claims = file_verdicts.claims.get(side)
        if claims is not None:
            statements = tuple(_statement(side, claim, text or "") for claim in claims)
            return ExtractedStatements(side=side, statements=statements, refuses=None)
        if text is None:
            return no_column("answer" if side == "response" else "reference")
        if not text.strip():
            return ExtractedStatements(side=side, statements=(), refuses=False)
        reply = await ask(ExtractStatements(question=sample.question, text=text, history=sample.history))
        if isinstance(reply, Unscored):
            return reply
        texts = without_marks_of(text, sample.contexts or (), (statement.text for statement in reply.statements))
        statements = tuple(
            Statement(side=side, text=plain, span=statement.span)
            for plain, statement in zip(texts, reply.statements, strict=True)
            if plain == statement.text or any(map(str.isalnum, plain))
        )
        return ExtractedStatements(side=side, statements=statements, refuses=reply.refuses)


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedStatements:
    """Statements with one joint verdict each, in the same order."""

    side: Side
    statements: tuple[Statement, ...]
    verdicts: tuple[Verdict, ...]
    refuses: bool | None


@dataclass(frozen=True)
class JointVerdicts(Need[JudgedStatements]):
    """A verdict on each statement of the answer or the reference, against all passages together."""

    side: Side = "response"

    def tasks(self) -> tuple[type[Task], ...]:
        return (ExtractStatements, Verify)

    async def resolve(self, sample: Sample, ask: Ask) -> JudgedStatements | Unscored:
        result = await _statements_and_verdicts(sample, ask, self.side, "joint")
        if isinstance(result, Unscored):
            return result
        extracted, rows = result
        verdicts = tuple(verdict for (verdict,) in rows)
        return JudgedStatements(
            side=extracted.side, statements=extracted.statements, verdicts=verdicts, refuses=extracted.refuses
        )


@dataclass(frozen=True, kw_only=True)
class VerdictTable:
    """A table of verdicts with one row per statement, in order, and one column per target."""

    side: Side
    statements: tuple[Statement, ...]
    targets: tuple[Target, ...]
    rows: VerdictRows
    refuses: bool | None

    @cached_property
    def supported(self) -> tuple[tuple[bool, ...], ...]:
        """The table as booleans: True if the verdict is supported."""
        return tuple(tuple(verdict.label == "supported" for verdict in row) for row in self.rows)


@dataclass(frozen=True)
class SeparateVerdicts(Need[VerdictTable]):
    """A verdict on each statement of the answer or the reference, against each passage or against the other text."""

    side: Side = "response"
    target: VerdictTarget = "passages"

    def __post_init__(self) -> None:
        """Raise ValueError if a text would be checked against itself."""
        if self.side == self.target:
            raise ValueError(f"the statements of the {self.side} cannot be checked against the {self.target} itself")

    def tasks(self) -> tuple[type[Task], ...]:
        return (ExtractStatements, Verify)

    async def resolve(self, sample: Sample, ask: Ask) -> VerdictTable | Unscored:
        result = await _statements_and_verdicts(sample, ask, self.side, self.target)
        if isinstance(result, Unscored):
            return result
        extracted, rows = result
        targets: tuple[Target, ...] = tuple(
            Target(kind="passage", rank=passage.rank) for passage in sample.contexts or ()
        )
        if self.target != "passages":
            targets = (Target(kind=self.target),)
        return VerdictTable(
            side=extracted.side, statements=extracted.statements, targets=targets, rows=rows, refuses=extracted.refuses
        )


def _text(sample: Sample, side: Side) -> str | None:
    return sample.answer if side == "response" else sample.reference


def _statement(side: Side, claim: str, text: str) -> Statement:
    """Return a claim of the run file as a statement, with its span if the text contains it verbatim."""
    start = text.find(claim)
    span = None if start < 0 else Span(start=start, end=start + len(claim), how="verbatim")
    return Statement(side=side, text=claim, span=span)


async def _statements_and_verdicts(
    sample: Sample, ask: Ask, side: Side, against: _Against
) -> tuple[ExtractedStatements, VerdictRows] | Unscored:
    """Return the statements, and a row of verdicts for each statement."""
    if against == "joint" or against == "passages":
        if sample.contexts is None:
            return no_column("contexts")
        texts = tuple(passage.text for passage in sample.contexts)
    else:
        text = _text(sample, against)
        if text is None:
            return no_column("answer" if against == "response" else "reference")
        texts = (text,)
    extracted = await ask.resolve(Statements(side))
    if isinstance(extracted, Unscored):
        return extracted
    rows = _file_rows(ask, side, against)
    if rows is not None:
        return extracted, rows
    if not extracted.statements:
        return extracted, ()
    if not any(text.strip() for text in texts):
        nothing = EMPTY_TEXT[against] if against in ("response", "reference") else NOTHING_RETRIEVED
        return extracted, ((nothing,) * (1 if against == "joint" else len(texts)),) * len(extracted.statements)
    reply = await ask(_verify_task(sample, ask, extracted, against, texts))
    if isinstance(reply, Unscored):
        return reply
    return extracted, reply.single if against == "passages" else tuple((verdict,) for verdict in reply.joint)


def _file_rows(ask: Ask, side: Side, against: _Against) -> VerdictRows | None:
    """Return the verdicts in the run file; None if it does not have these verdicts."""
    if against == "joint" or isinstance(ask.file_verdicts, Unscored):
        return None
    return ask.file_verdicts.verdicts.get((side, against))


def _verify_task(
    sample: Sample, ask: Ask, extracted: ExtractedStatements, against: _Against, texts: tuple[str, ...]
) -> Verify:
    """Return the task to send. It asks for joint and separate verdicts if both are needed and neither is stored."""
    statements = tuple(statement.text for statement in extracted.statements)

    def verify(*, joint: bool, single: bool, against: VerifiedAgainst = "passages") -> Verify:
        return Verify(
            question=sample.question,
            statements=statements,
            passages=texts,
            joint=joint,
            single=single,
            history=sample.history,
            against=against,
        )

    if against == "reference" or against == "response":
        return verify(joint=True, single=False, against="answer" if against == "response" else "reference")
    side, single = extracted.side, against == "passages"
    task, other_task = verify(joint=not single, single=single), verify(joint=single, single=not single)
    joint_and_single = verify(joint=True, single=True)
    wants_both = _file_rows(ask, side, "passages") is None and {
        JointVerdicts(side),
        SeparateVerdicts(side, "passages"),
    } <= set(ask.needs)
    ask_both = wants_both and not ask.knows(task) and not ask.knows(other_task)
    return joint_and_single if ask_both or ask.knows(joint_and_single) else task
