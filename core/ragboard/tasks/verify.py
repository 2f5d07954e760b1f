"""Verify statements against passages, an answer or a reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeAlias, TypeVar

from pydantic import BeforeValidator, ValidationInfo, model_validator
from pydantic.json_schema import SkipJsonSchema

from ragboard.records import Evidence, Label, Sample, Turn, Verdict
from ragboard.tasks.base import (
    PromptFiles,
    PromptTexts,
    Reply,
    ReplySizes,
    Task,
    answer_or_reference,
    as_json,
    count_in_words,
    wrong_count,
)
from ragboard.tasks.markup import tagged_lines, tagged_texts
from ragboard.tasks.replies import (
    NONE_IF_MISSING,
    Comment,
    Json,
    OneOf,
    Quote,
    ReplyModel,
    WholeNumber,
    one_per_text,
    reply_error,
    schema_of,
    shortened_repr,
    whole_number,
)
from ragboard.text.quotes import find_quote

__all__ = ["Verification", "VerifiedAgainst", "Verify"]

VerifiedAgainst: TypeAlias = Literal["passages", "answer", "reference"]
"""The texts that statements are verified against."""

NO_PASSAGE = Verdict(label="unsupported", reason="No passage was given.")

_FIELDS = ("statements", "passages", "question?", "history?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Verification(Reply):
    """Verdicts on statements. Ranks in the evidence are numbers of passages, from 1."""

    joint: tuple[Verdict, ...] = ()
    """One verdict per statement, against all passages together; empty if the task does not ask for it."""
    single: tuple[tuple[Verdict, ...], ...] = ()
    """One row per statement with one verdict per passage; empty if the task does not ask for it."""

    def describe(self) -> str:
        single = [verdict for row in self.single for verdict in row]
        parts = [("together", self.joint), ("separately", single)]
        return "; ".join(f"{name}: {_label_counts(verdicts)}" for name, verdicts in parts if verdicts) or "no verdicts"


def _label_counts(verdicts: Sequence[Verdict]) -> str:
    counts = Counter(verdict.label for verdict in verdicts)
    return ", ".join(f"{count} {label}" for label, count in counts.most_common())


_Label = Annotated[
    Literal["supported", "contradicted", "unsupported"],
    BeforeValidator(OneOf("supported", "contradicted", "unsupported")),
    NONE_IF_MISSING,
]


def _objects_in(value: object) -> list[Any]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _require_joint(value: object, info: ValidationInfo) -> object:
    if not isinstance(value, dict):
        field = f"`together` of `statement {info.data['statement']}`"
        raise reply_error(f"{field} holds {shortened_repr(value)} where an object was asked for")
    return value


class _SingleVerdict(ReplyModel):
    passage: WholeNumber
    label: _Label
    quote: Quote
    reason: SkipJsonSchema[Comment]


class _QuotedPassage(ReplyModel):
    passage: WholeNumber
    quote: Quote


class _JointVerdict(ReplyModel):
    label: _Label
    reason: Comment
    quotes: Annotated[list[_QuotedPassage], BeforeValidator(_objects_in), NONE_IF_MISSING]


class _StatementRow(ReplyModel):
    statement: WholeNumber
    raw: SkipJsonSchema[dict[str, Any]]
    """The row as the model wrote it."""

    @model_validator(mode="before")
    @classmethod
    def _with_raw(cls, row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "raw": row}

    def quotes(self) -> list[tuple[object, object]]:
        """Return the (passage, quote) pairs of the joint verdict.

        If the joint verdict has none, return those of the verdicts on single passages with the same label.
        """
        together = self.raw["together"]
        if quotes := _objects_in(together.get("quotes")):
            return [(item.get("passage"), item.get("quote")) for item in quotes]
        verdicts = _objects_in(self.raw.get("passages"))
        return [
            (item.get("passage"), item.get("quote")) for item in verdicts if item.get("label") == together.get("label")
        ]


class _SingleRow(_StatementRow):
    passages: Annotated[list[_SingleVerdict], one_per_text("passage", "passages"), NONE_IF_MISSING]


class _JointRow(_StatementRow):
    together: Annotated[_JointVerdict, BeforeValidator(_require_joint), NONE_IF_MISSING]


class _BothRow(_SingleRow):
    together: Annotated[_JointVerdict, BeforeValidator(_require_joint), NONE_IF_MISSING]


Row = TypeVar("Row", bound=_StatementRow)


class VerdictsJson(ReplyModel, Generic[Row]):
    """The verdicts on each statement, as JSON."""

    key = "verdicts"
    reported_last = "together"
    verdicts: Annotated[list[Row], one_per_text("statement", "statements"), NONE_IF_MISSING]


_REPLY_MODELS: dict[tuple[bool, bool], type[VerdictsJson[Any]]] = {
    (True, True): VerdictsJson[_BothRow],
    (False, True): VerdictsJson[_SingleRow],
    (True, False): VerdictsJson[_JointRow],
    (False, False): VerdictsJson[_StatementRow],
}
"""The JSON model of a reply, by the task's (joint, single)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verify(Task[Verification]):
    """Verify each statement against all passages together, against each passage, or both."""

    role = "verify"
    reply = Verification
    prompts: ClassVar[PromptFiles] = {"verify": _FIELDS, "verify_joint": _FIELDS, "verify_single": _FIELDS}
    reply_model = VerdictsJson
    tags = ("question", "passage", "statement", "turn")

    question: str
    statements: tuple[str, ...]
    passages: tuple[str, ...]
    joint: bool
    """Whether to ask for a verdict against all passages together."""
    single: bool
    """Whether to ask for a verdict against each passage separately."""
    history: tuple[Turn, ...] = ()
    against: VerifiedAgainst = "passages"
    """What `passages` contains. It is not in the prompt or the task key."""
    draw: int = 0

    def prompt_file(self) -> str:
        return "verify" if self.joint == self.single else "verify_joint" if self.joint else "verify_single"

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        return {
            "question": self.question,
            "passages": tagged_texts("passage", self.passages, mark),
            "statements": tagged_lines("statement", self.statements, mark),
        }

    def trivial_reply(self) -> Verification | None:
        if self.statements and self.passages and (self.joint or self.single):
            return None
        rows = len(self.statements)
        return Verification(
            joint=(NO_PASSAGE,) * rows if self.joint else (),
            single=((NO_PASSAGE,) * len(self.passages),) * rows if self.single else (),
        )

    def schema(self) -> dict[str, Any]:
        return schema_of(_REPLY_MODELS[self.joint, self.single])

    def parse(self, value: Json) -> Verification:
        """Convert the verdicts. A verdict whose quote is not in the passage gets no evidence for this quote."""
        rows = _REPLY_MODELS[self.joint, self.single].read(value, self).verdicts
        single: tuple[tuple[Verdict, ...], ...] = ()
        joint: tuple[Verdict, ...] = ()
        if self.single:
            single = tuple(
                tuple(
                    self._verdict(single_verdict.label, single_verdict.reason, [(rank, single_verdict.quote)])
                    for rank, single_verdict in enumerate(row.passages, 1)
                )
                for row in rows
            )
        if self.joint:
            joint = tuple(self._verdict(row.together.label, row.together.reason, row.quotes()) for row in rows)
        return Verification(joint=joint, single=single)

    def _verdict(self, label: Label, reason: str, quotes: Sequence[tuple[object, object]]) -> Verdict:
        evidence: list[Evidence] = []
        for rank, quote in quotes if label != "unsupported" else ():
            number = whole_number(rank)
            if number is None or not 1 <= number <= len(self.passages) or not isinstance(quote, str):
                continue
            if span := find_quote(quote, self.passages[number - 1]):
                stance: Literal["for", "against"] = "for" if label == "supported" else "against"
                place = Evidence(rank=number, start=span[0], end=span[1], stance=stance, how="quoted")
                if place not in evidence:
                    evidence.append(place)
        return Verdict(label=label, reason=reason, evidence=tuple(evidence))

    def check(self, reply: Verification, /) -> str | None:
        statements, passages = len(self.statements), len(self.passages)
        problem = wrong_count("joint verdicts", len(reply.joint), statements if self.joint else 0) or wrong_count(
            "rows of verdicts by passage", len(reply.single), statements if self.single else 0
        )
        for row in reply.single:
            problem = problem or wrong_count("verdicts", len(row), passages)
        if problem:
            return problem
        for verdict in chain(reply.joint, *reply.single):
            for evidence in verdict.evidence:
                if not 1 <= evidence.rank <= passages:
                    return f"evidence is in passage {evidence.rank}, but there are {passages}"
                if not 0 <= evidence.start < evidence.end <= len(self.passages[evidence.rank - 1]):
                    return (
                        f"evidence from {evidence.start} to {evidence.end} is outside the text of passage"
                        f" {evidence.rank}"
                    )
        return None

    def describe(self, sample: Sample) -> str:
        texts = (sample.answer, sample.reference)
        if self.joint and not self.single and len(self.passages) == 1 and self.passages[0] in texts:
            against = f"the {answer_or_reference(self.passages[0], sample)}"
        else:
            manner = {(True, True): ", together and separately", (False, True): ", separately"}
            against = count_in_words(self.passages, "passage") + manner.get((self.joint, self.single), ", together")
        return f"Check {count_in_words(self.statements, 'statement')} against {against}"

    def simulate(self, sizes: ReplySizes) -> tuple[Verification, str]:
        """Assume that all statements are supported, with a quote from one passage.

        In the worst case, the reply quotes every passage, and no single passage supports a statement, so metrics send
        further tasks.
        """
        count = len(self.statements)
        single_verdict = Verdict(label="unsupported" if sizes.worst_case else "supported")
        joint_verdict = single_verdict if len(self.passages) == 1 else Verdict(label="supported")
        reply = Verification(
            joint=(joint_verdict,) * count if self.joint else (),
            single=((single_verdict,) * len(self.passages),) * count if self.single else (),
        )
        quotes = [{"passage": rank, "quote": text[: sizes.quote]} for rank, text in enumerate(self.passages, 1)]
        parts: dict[str, Any] = {}
        if self.single:
            label = "contradicted" if sizes.worst_case else "unsupported"
            parts["passages"] = [
                {
                    "passage": quote["passage"],
                    "label": label,
                    "quote": quote["quote"] if quote["passage"] == 1 or sizes.worst_case else "",
                }
                for quote in quotes
            ]
        if self.joint:
            reason = "." * sizes.reason
            shown_quotes = quotes if sizes.worst_case else quotes[:1]
            parts["together"] = {"label": "contradicted", "reason": reason, "quotes": shown_quotes}
        rows = [{"statement": number, **parts} for number in range(1, count + 1)]
        return reply, as_json({"verdicts": rows})
