"""Format the user's few-shot examples for prompts."""

from __future__ import annotations

import json
from dataclasses import dataclass

from ragboard.tasks.markup import tagged_sample

__all__ = ["LabelledExample", "WritingExample", "format_labelled_examples", "format_writing_examples"]


@dataclass(frozen=True, kw_only=True, slots=True)
class WritingExample:
    """A question about a passage, with a right and a contradictory answer, written by a person; empty if missing."""

    passage: str
    question: str
    answer: str = ""
    contradictory: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledExample:
    """The texts that an ARES quality is about, and a person's label."""

    question: str
    contexts: tuple[str, ...]
    answer: str | None
    holds: bool


def format_writing_examples(examples: tuple[WritingExample, ...], field: str, mark: str = "") -> str:
    """Format examples for a prompt that asks for the text in `field`: `question`, `answer` or `contradictory`.

    Examples without this text are left out.
    """
    parts: list[str] = []
    for example in examples:
        text = getattr(example, field)
        if not text:
            continue
        shown = f"<passage{mark}>\n{example.passage}\n</passage{mark}>\n"
        if field == "question":
            reply: object = {"questions": [text]}
        else:
            shown += f"<question{mark}>\n{example.question}\n</question{mark}>\n"
            reply = {"answer": text}
        parts.append(f"{_heading(mark)}\n\n{shown}{json.dumps(reply, ensure_ascii=False)}")
    return "\n\n".join(parts)


def format_labelled_examples(examples: tuple[LabelledExample, ...], mark: str = "") -> str:
    """Format examples with their labels. Label files have no reasons, so the examples have none."""
    return "\n\n".join(
        f"{_heading(mark)}\n\n{tagged_sample(example.question, example.contexts, example.answer, mark)}\n\n"
        + json.dumps({"verdict": "yes" if example.holds else "no"})
        for example in examples
    )


def _heading(mark: str) -> str:
    return f"## Example [{mark[1:]}]" if mark else "## Example"
