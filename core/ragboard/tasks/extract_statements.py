"""Split a text into atomic statements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, ValidationInfo

from ragboard.records import Sample, Span, Turn
from ragboard.tasks.base import (
    PromptFiles,
    PromptTexts,
    Reply,
    ReplySizes,
    Task,
    answer_or_reference,
    as_json,
    count_in_words,
)
from ragboard.tasks.replies import (
    NONE_IF_MISSING,
    Json,
    Quote,
    ReplyModel,
    Text,
    reply_error,
    require_list,
    require_object,
)
from ragboard.text.quotes import locate

__all__ = ["ExtractStatements", "ExtractedStatement", "Extraction"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractedStatement:
    """One statement of a text."""

    text: str
    span: Span | None = None
    """The part of the text that states it; None if it was not found."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Extraction(Reply):
    """The statements of a text, in reading order. Refusals are not statements."""

    statements: tuple[ExtractedStatement, ...]
    refuses: bool
    """Whether any part of the text declines to answer."""

    def describe(self) -> str:
        refuses = "; it declines to answer, at least in part" if self.refuses else ""
        return f"{count_in_words(self.statements, 'statement')}{refuses}"


def _statement_object(value: object) -> object:
    return {"statement": value} if isinstance(value, str) else require_object(value, "statements")


def _true_or_false(value: object, info: ValidationInfo) -> bool:
    if not isinstance(value, bool):
        raise reply_error(f"`{info.field_name}` is neither true nor false")
    return value


class _Statement(ReplyModel):
    statement: Text
    quote: Quote


class StatementsJson(ReplyModel):
    """Statements as JSON. Each is an object with a quote from the text, or a plain string."""

    key = "statements"
    reported_last = "statements"
    statements: Annotated[
        list[Annotated[_Statement, BeforeValidator(_statement_object)]], BeforeValidator(require_list), NONE_IF_MISSING
    ]
    refuses: Annotated[bool, BeforeValidator(_true_or_false), NONE_IF_MISSING]


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractStatements(Task[Extraction]):
    """Split the answer to a question into atomic statements."""

    role = "extract"
    is_judgement = False
    reply = Extraction
    runs_first = True
    reply_model = StatementsJson
    prompts: ClassVar[PromptFiles] = {"extract_statements": ("answer", "question?", "history?")}
    tags = ("question", "answer", "turn")

    question: str
    text: str
    history: tuple[Turn, ...] = ()
    draw: int = 0

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        return {"question": self.question, "answer": self.text}

    def trivial_reply(self) -> Extraction | None:
        return None if self.text.strip() else Extraction(statements=(), refuses=False)

    def parse(self, value: Json) -> Extraction:
        """Convert the statements, and find the span of each in the text, by its words or else by its quote.

        The search begins at the start of the previous statement's span.
        """
        json = StatementsJson.read(value, self)
        statements: list[ExtractedStatement] = []
        start = 0
        for row in json.statements:
            span = locate(row.statement, self.text, start)
            if span is None and (quoted := locate(row.quote, self.text, start)):
                span = Span(start=quoted.start, end=quoted.end, how="aligned")
            start = span.start if span else start
            statements.append(ExtractedStatement(text=row.statement, span=span))
        return Extraction(statements=tuple(statements), refuses=json.refuses)

    def check(self, reply: Extraction, /) -> str | None:
        for statement in reply.statements:
            if not statement.text.strip():
                return "a statement is empty"
            if statement.span and not 0 <= statement.span.start < statement.span.end <= len(self.text):
                start, end = statement.span.start, statement.span.end
                return f"a span from {start} to {end} is not within the text of {len(self.text)} characters"
        return None

    def describe(self, sample: Sample) -> str:
        return f"Split the {answer_or_reference(self.text, sample)} into statements"

    def simulate(self, sizes: ReplySizes) -> tuple[Extraction, str]:
        """Assume `sizes.statements` statements; if that is None, the statements that `sizes.split` returns."""
        texts, refuses = sizes.split(self.text)
        if sizes.statements and sizes.worst_case:
            texts = [max(texts, key=len, default=self.text)] * max(sizes.statements, len(texts))
        elif sizes.statements:
            length = -(-len(self.text) // sizes.statements)
            texts = [self.text[:length]] * sizes.statements
        json = {"statements": [{"statement": text, "quote": text} for text in texts], "refuses": refuses}
        return Extraction(statements=tuple(ExtractedStatement(text=text) for text in texts), refuses=refuses), as_json(
            json
        )
