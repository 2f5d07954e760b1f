"""Statements of a sample and verdicts on them: from the run file if it has them, else from the judge.

If joint verdicts and verdicts of each passage are both needed, one task asks for both. Known verdicts are not asked
for again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from ragboard.metrics.base import Ask, Need, no_column
from ragboard.records import Sample, Side, Span, Statement, Target, Unscored, Verdict, VerdictTarget
from ragboard.tasks import ExtractStatements, Task, Verify
from ragboard.text.citations import without_marks_of

__all__ = ["CellVerdicts", "ExtractedStatements", "JointVerdicts", "JudgedStatements", "Statements", "VerdictTable"]

_Against: TypeAlias = VerdictTarget | Literal["joint"]
"""What a table of verdicts is against; joint: all passages together."""

Rows: TypeAlias = tuple[tuple[Verdict, ...], ...]

NOTHING_RETRIEVED = Verdict(label="unsupported", reason="No passage was retrieved.")
EMPTY: dict[Side, Verdict] = {
    "response": Verdict(label="unsupported", reason="The answer is empty."),
    "reference": Verdict(label="unsupported", reason="The reference is empty."),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractedStatements:
    """The statements of the answer or the reference, and whether that text refuses to answer."""

    side: Side
    statements: tuple[Statement, ...]
    refuses: bool | None
    """None if the statements are from the run file, which does not say."""


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
            statements = tuple(_located(side, claim, text or "") for claim in claims)
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
    """The verdict of all passages together on each statement of the answer or the reference."""

    side: Side = "response"

    def tasks(self) -> tuple[type[Task], ...]:
        return (ExtractStatements, Verify)

    async def resolve(self, sample: Sample, ask: Ask) -> JudgedStatements | Unscored:
        table = await _table(sample, ask, self.side, "joint")
        if isinstance(table, Unscored):
            return table
        found, rows = table
        verdicts = tuple(verdict for (verdict,) in rows)
        return JudgedStatements(side=found.side, statements=found.statements, verdicts=verdicts, refuses=found.refuses)


@dataclass(frozen=True, kw_only=True, slots=True)
class VerdictTable:
    """A table of verdicts: one row per statement, in order, with one verdict per target."""

    side: Side
    statements: tuple[Statement, ...]
    targets: tuple[Target, ...]
    rows: Rows
    refuses: bool | None

    @property
    def supported(self) -> tuple[tuple[bool, ...], ...]:
        """The same table as booleans: True where the verdict is supported."""
        return tuple(tuple(verdict.label == "supported" for verdict in row) for row in self.rows)


@dataclass(frozen=True)
class CellVerdicts(Need[VerdictTable]):
    """The verdict of each target on each statement of the answer or the reference."""

    side: Side = "response"
    target: VerdictTarget = "passages"

    def __post_init__(self) -> None:
        """Raise ValueError for a text checked against itself."""
        if self.side == self.target:
            raise ValueError(f"the statements of the {self.side} cannot be checked against the {self.target} itself")

    def tasks(self) -> tuple[type[Task], ...]:
        return (ExtractStatements, Verify)

    async def resolve(self, sample: Sample, ask: Ask) -> VerdictTable | Unscored:
        table = await _table(sample, ask, self.side, self.target)
        if isinstance(table, Unscored):
            return table
        found, rows = table
        targets: tuple[Target, ...] = tuple(
            Target(kind="passage", rank=passage.rank) for passage in sample.contexts or ()
        )
        if self.target != "passages":
            targets = (Target(kind=self.target),)
        return VerdictTable(
            side=found.side, statements=found.statements, targets=targets, rows=rows, refuses=found.refuses
        )


def _text(sample: Sample, side: Side) -> str | None:
    return sample.answer if side == "response" else sample.reference


def _located(side: Side, claim: str, text: str) -> Statement:
    """Return a claim of the run file, with its span if the text contains it verbatim."""
    start = text.find(claim)
    span = None if start < 0 else Span(start=start, end=start + len(claim), how="verbatim")
    return Statement(side=side, text=claim, span=span)


async def _table(
    sample: Sample, ask: Ask, side: Side, against: _Against
) -> tuple[ExtractedStatements, Rows] | Unscored:
    """Return the statements, and a row of verdicts for each."""
    if against == "joint" or against == "passages":
        if sample.contexts is None:
            return no_column("contexts")
        texts = tuple(passage.text for passage in sample.contexts)
    else:
        text = _text(sample, against)
        if text is None:
            return no_column("answer" if against == "response" else "reference")
        texts = (text,)
    found = await Statements(side).resolve(sample, ask)
    if isinstance(found, Unscored):
        return found
    rows = _file_rows(ask, side, against)
    if rows is not None:
        return found, rows
    if not found.statements:
        return found, ()
    if not any(text.strip() for text in texts):
        nothing = EMPTY[against] if against in ("response", "reference") else NOTHING_RETRIEVED
        return found, ((nothing,) * (1 if against == "joint" else len(texts)),) * len(found.statements)
    reply = await ask(_task(sample, ask, found, against, texts))
    if isinstance(reply, Unscored):
        return reply
    return found, reply.single if against == "passages" else tuple((verdict,) for verdict in reply.joint)


def _file_rows(ask: Ask, side: Side, against: _Against) -> Rows | None:
    if against == "joint" or isinstance(ask.file_verdicts, Unscored):
        return None
    return ask.file_verdicts.cells.get((side, against))


def _task(sample: Sample, ask: Ask, found: ExtractedStatements, against: _Against, texts: tuple[str, ...]) -> Verify:
    """Return the task: both kinds of verdicts in one if both are needed and neither is known."""
    single_kind = Verify(
        question=sample.question,
        statements=tuple(statement.text for statement in found.statements),
        passages=texts,
        joint=against != "passages",
        single=against == "passages",
        history=sample.history,
    )
    if against == "reference" or against == "response":
        return replace(single_kind, against="answer" if against == "response" else "reference")
    side = found.side
    both = replace(single_kind, joint=True, single=True)
    other_kind = replace(single_kind, joint=single_kind.single, single=single_kind.joint)
    wants_both = _file_rows(ask, side, "passages") is None and {
        JointVerdicts(side),
        CellVerdicts(side, "passages"),
    } <= set(ask.wanted)
    neither_known = not ask.knows(single_kind) and not ask.knows(other_kind)
    return both if (wants_both and neither_known) or ask.knows(both) else single_kind
