"""The user's few-shot examples, formatted for prompts."""

from __future__ import annotations

import json
from dataclasses import dataclass

from ragboard.tasks.markup import tagged_sample

__all__ = ["Example", "LabelledExample", "labelled_examples", "writing_examples"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Example:
    """A question about a passage and its answers, written by a person; an empty text was not given."""

    passage: str
    question: str
    answer: str = ""
    contradictory: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledExample:
    """The texts that a quality of ARES is about, and a person's verdict."""

    question: str
    contexts: tuple[str, ...]
    answer: str | None
    holds: bool


def writing_examples(given: tuple[Example, ...], written: str, mark: str = "") -> str:
    """Format the examples that have the text to be written (`question`, `answer` or `contradictory`)."""
    shown = (
        f"<passage{mark}>\n{example.passage}\n</passage{mark}>\n"
        + (f"<question{mark}>\n{example.question}\n</question{mark}>\n" if written != "question" else "")
        + json.dumps({"answer": text} if written != "question" else {"questions": [text]}, ensure_ascii=False)
        for example in given
        if (text := getattr(example, written))
    )
    return "\n\n".join(f"{_heading(mark)}\n\n{text}" for text in shown)


def labelled_examples(given: tuple[LabelledExample, ...], mark: str = "") -> str:
    """Format examples with their verdicts; they have no reasons, since files of labels have none."""
    return "\n\n".join(
        f"{_heading(mark)}\n\n{tagged_sample(one.question, one.contexts, one.answer, mark)}\n\n"
        + json.dumps({"verdict": "yes" if one.holds else "no"})
        for one in given
    )


def _heading(mark: str) -> str:
    return f"## Example [{mark[1:]}]" if mark else "## Example"
