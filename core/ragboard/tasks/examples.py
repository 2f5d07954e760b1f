"""A person's few-shot examples, each shown as the model is to reply."""

from __future__ import annotations

import json
from dataclasses import dataclass

from ragboard.tasks.markup import material

__all__ = ["Example", "LabelledExample", "labelled_examples", "writing_examples"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Example:
    """A question to a passage and its answers, as a person wrote them; an empty text was not given."""

    passage: str
    question: str
    answer: str = ""
    contradictory: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledExample:
    """What one quality of ARES is about, and a person's verdict."""

    question: str
    contexts: tuple[str, ...]
    answer: str | None
    holds: bool


def writing_examples(given: tuple[Example, ...], written: str, mark: str = "") -> str:
    """Those that have the text that is to be written."""
    shown = (
        f"<passage{mark}>\n{example.passage}\n</passage{mark}>\n"
        + (f"<question{mark}>\n{example.question}\n</question{mark}>\n" if written != "question" else "")
        + json.dumps({"answer": text} if written != "question" else {"questions": [text]}, ensure_ascii=False)
        for example in given
        if (text := getattr(example, written))
    )
    return "\n\n".join(f"{_heading(mark)}\n\n{text}" for text in shown)


def labelled_examples(given: tuple[LabelledExample, ...], mark: str = "") -> str:
    """Each with its verdict and without a reason: a file of labels has none."""
    return "\n\n".join(
        f"{_heading(mark)}\n\n{material(one.question, one.contexts, one.answer, mark)}\n\n"
        + json.dumps({"verdict": "yes" if one.holds else "no"})
        for one in given
    )


def _heading(mark: str) -> str:
    return f"## Example [{mark[1:]}]" if mark else "## Example"
