"""Statements of a sample and the verdicts on them: from the run file where it has them, else asked.

The cells that hold one side's statements against the passages, together and each by itself, are asked
in one task where both are wanted; what was answered before is not asked again for the sake of the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, TypeVar

from ragboard.evaluation.asker import Ask
from ragboard.judges.tasks import Extraction, ExtractStatements, Failure, Reply, Task, Unasked, Verification, Verify
from ragboard.metrics.needs import Cells, CellVerdicts, Held, JointVerdicts, Judged, Need, Statements, StatementsFound
from ragboard.readers.formats.ragchecker import Checked, UnusableError, checked
from ragboard.records import Sample, Side, Span, Statement, Target, Unscored, Verdict

__all__ = ["Claims", "Known", "no_column", "replied"]

R = TypeVar("R", bound=Reply)

Known = Callable[[Task], bool]
"""Whether a task was answered before."""

Against: TypeAlias = Held | Literal["joint"]
Rows: TypeAlias = tuple[tuple[Verdict, ...], ...]

NOTHING_RETRIEVED = Verdict(label="unsupported", reason="No passage was retrieved.")
EMPTY: dict[Side, Verdict] = {
    "response": Verdict(label="unsupported", reason="The answer is empty."),
    "reference": Verdict(label="unsupported", reason="The reference is empty."),
}


async def replied(ask: Ask, task: Task, kind: type[R]) -> R | Unscored:
    """The reply of that kind, or why there is none."""
    reply = await ask(task)
    if isinstance(reply, Failure):
        return Unscored(reason="skipped" if isinstance(reply, Unasked) else "failed", detail=reply.detail)
    if not isinstance(reply, kind):
        raise TypeError(f"the judge answered {type(task).__name__} with {type(reply).__name__}")
    return reply


def no_column(column: str) -> Unscored:
    """A need that the sample cannot meet."""
    return Unscored(reason="skipped", detail=f"the run file has no {column} for this sample")


@dataclass(frozen=True)
class Claims:
    """Meets one sample's needs that concern statements."""

    sample: Sample
    given: Checked | Unscored
    """What the run file brought, or why that cannot be used."""
    wanted: Collection[Need[Any]]
    """All needs that are to be met, so that they can be asked together."""
    ask: Ask
    known: Known

    @classmethod
    def of(cls, sample: Sample, wanted: Collection[Need[Any]], ask: Ask, known: Known) -> Claims:
        """The claims of a sample; nothing is asked yet."""
        try:
            given: Checked | Unscored = checked(sample)
        except UnusableError as error:
            given = Unscored(reason="failed", detail=f"{error.column} of the run file: {error}")
        return cls(sample, given, wanted, ask, known)

    async def statements(self, need: Statements) -> StatementsFound | Unscored:
        """The statements of a side."""
        if isinstance(self.given, Unscored):
            return self.given
        claims = self.given.claims.get(need.side)
        if claims is not None:
            said = tuple(self._place(need.side, text) for text in claims)
            return StatementsFound(side=need.side, statements=said, refuses=None)
        return await self._extracted(need.side)

    async def joint(self, need: JointVerdicts) -> Judged | Unscored:
        """What the passages together say of each statement."""
        table = await self._table(need.side, "joint")
        if isinstance(table, Unscored):
            return table
        found, rows = table
        verdicts = tuple(verdict for (verdict,) in rows)
        return Judged(side=found.side, statements=found.statements, verdicts=verdicts, refuses=found.refuses)

    async def cells(self, need: CellVerdicts) -> Cells | Unscored:
        """What each single target says of each statement."""
        table = await self._table(need.side, need.target)
        if isinstance(table, Unscored):
            return table
        found, rows = table
        return Cells(
            side=found.side,
            statements=found.statements,
            targets=self._targets(need.target),
            rows=rows,
            refuses=found.refuses,
        )

    def _place(self, side: Side, claim: str) -> Statement:
        """A claim of the file, with its place where the text says it in these words."""
        start = (self._text(side) or "").find(claim)
        span = None if start < 0 else Span(start=start, end=start + len(claim), how="verbatim")
        return Statement(side=side, text=claim, span=span)

    def _text(self, side: Side) -> str | None:
        return self.sample.answer if side == "response" else self.sample.reference

    def _texts(self, against: Against) -> tuple[str, ...] | Unscored:
        if against == "joint" or against == "passages":
            passages = self.sample.contexts
            return no_column("contexts") if passages is None else tuple(passage.text for passage in passages)
        text = self._text(against)
        return no_column("answer" if against == "response" else "reference") if text is None else (text,)

    def _targets(self, against: Held) -> tuple[Target, ...]:
        if against == "passages":
            return tuple(Target(kind="passage", rank=passage.rank) for passage in self.sample.contexts or ())
        return (Target(kind=against),)

    async def _extracted(self, side: Side) -> StatementsFound | Unscored:
        text = self._text(side)
        if text is None:
            return no_column("answer" if side == "response" else "reference")
        if not text.strip():
            return StatementsFound(side=side, statements=(), refuses=False)
        task = ExtractStatements(question=self.sample.question, text=text, history=self.sample.history)
        reply = await replied(self.ask, task, Extraction)
        if isinstance(reply, Unscored):
            return reply
        said = tuple(Statement(side=side, text=one.text, span=one.span) for one in reply.statements)
        return StatementsFound(side=side, statements=said, refuses=reply.refuses)

    async def _table(self, side: Side, against: Against) -> tuple[StatementsFound, Rows] | Unscored:
        texts = self._texts(against)
        if isinstance(texts, Unscored):
            return texts
        found = await self.statements(Statements(side))
        if isinstance(found, Unscored):
            return found
        given = self._given_rows(side, against)
        rows = await self._asked(found, against, texts) if given is None else given
        return rows if isinstance(rows, Unscored) else (found, rows)

    def _given_rows(self, side: Side, against: Against) -> Rows | None:
        if against == "joint" or isinstance(self.given, Unscored):
            return None
        return self.given.cells.get((side, against))

    async def _asked(self, found: StatementsFound, against: Against, texts: tuple[str, ...]) -> Rows | Unscored:
        if not found.statements:
            return ()
        if not any(text.strip() for text in texts):
            nothing = EMPTY[against] if against in ("response", "reference") else NOTHING_RETRIEVED
            return ((nothing,) * (1 if against == "joint" else len(texts)),) * len(found.statements)
        reply = await replied(self.ask, self._task(found, against, texts), Verification)
        if isinstance(reply, Unscored):
            return reply
        return reply.single if against == "passages" else tuple((verdict,) for verdict in reply.joint)

    def _task(self, found: StatementsFound, against: Against, texts: tuple[str, ...]) -> Verify:
        alone = Verify(
            question=self.sample.question,
            statements=tuple(said.text for said in found.statements),
            passages=texts,
            joint=against != "passages",
            single=against == "passages",
            history=self.sample.history,
        )
        if against == "reference" or against == "response":
            return alone
        both = replace(alone, joint=True, single=True)
        rest = replace(alone, joint=alone.single, single=alone.joint)
        together = self._wants_both(found.side) and not self.known(alone) and not self.known(rest)
        return both if together or self.known(both) else alone

    def _wants_both(self, side: Side) -> bool:
        asked = self._given_rows(side, "passages") is None
        return asked and JointVerdicts(side) in self.wanted and CellVerdicts(side, "passages") in self.wanted
