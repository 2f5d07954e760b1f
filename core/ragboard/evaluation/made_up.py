"""Replies that nobody gave: of the kind and size that a task would get, so that its cost can be told beforehand."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from ragboard.judges.embedded.statements import extract
from ragboard.judges.tasks import (
    AnswerRated,
    Classified,
    Classify,
    Critique,
    Critiqued,
    Entities,
    Extracted,
    ExtractEntities,
    Extraction,
    ExtractStatements,
    GenerateQuestions,
    JudgePassages,
    Prefer,
    Preference,
    Questions,
    Rate,
    RateAnswer,
    Rating,
    Reply,
    Selection,
    SelectSentences,
    Similarities,
    Similarity,
    Task,
    Usefulness,
    Verification,
    Verify,
    WriteAnswer,
    WriteQuestions,
    Written,
)
from ragboard.records import Verdict

__all__ = ["MAKERS", "Sizes", "made_up", "tokens"]

SCRIPTS_WITHOUT_SPACES = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")

Said: TypeAlias = "list[Said] | dict[str, Said] | str | int | bool"


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How large replies are taken to be, and how often one is asked for again. Lengths are in characters."""

    statements: int | None = None
    """Statements of an answer; None: as many as the embedded judge finds in it."""
    reference_statements: int | None = None
    """Statements of a reference; None: as many as the embedded judge finds in it."""
    at_least: bool = False
    """Whether these are least numbers: more where the text holds more, each as long as the longest in it."""
    question: int = 60
    reason: int = 80
    quote: int = 60
    answer: int = 150
    repairs: int = 0
    """Requests to repair, for every task."""


def tokens(text: str, latin: float, dense: float) -> float:
    """Tokens of a text by its characters: `latin` of them to a token, `dense` in scripts such as Chinese."""
    if text.isascii():
        return len(text) / latin
    packed = len(text) - len(SCRIPTS_WITHOUT_SPACES.sub("", text))
    return packed / dense + (len(text) - packed) / latin


def made_up(task: Task, sizes: Sizes, statements: int | None = None) -> tuple[Reply, str]:
    """A reply that fits the task, and the text in which a model would give it.

    `statements` says how many an `ExtractStatements` gets; None: as many as the embedded judge finds.
    """
    made: tuple[Reply, Said] = (
        _extraction(task, sizes, statements) if isinstance(task, ExtractStatements) else MAKERS[type(task)](task, sizes)
    )
    return made[0], json.dumps(made[1], ensure_ascii=False)


def _extraction(task: ExtractStatements, sizes: Sizes, count: int | None) -> tuple[Extraction, Said]:
    found = extract(task.text)
    texts = _statements(task.text, [said.text for said in found.statements], count, at_least=sizes.at_least)
    reply = Extraction(statements=tuple(Extracted(text=text) for text in texts), refuses=found.refuses)
    said: list[Said] = [{"statement": text, "quote": text} for text in texts]
    return reply, {"statements": said, "refuses": reply.refuses}


def _statements(text: str, counted: list[str], count: int | None, *, at_least: bool) -> list[str]:
    if count is None:
        return counted
    if at_least:
        return [max(counted, key=len, default=text)] * max(count, len(counted))
    return [text[: -(-len(text) // count)]] * count


def _verification(task: Verify, sizes: Sizes) -> tuple[Verification, Said]:
    verdict = Verdict(label="supported")
    rows = len(task.statements)
    reply = Verification(
        joint=(verdict,) * rows if task.joint else (),
        single=((verdict,) * len(task.passages),) * rows if task.single else (),
    )
    verdicts: list[Said] = [_row(task, sizes, number) for number in range(1, rows + 1)]
    return reply, {"verdicts": verdicts}


def _row(task: Verify, sizes: Sizes, number: int) -> Said:
    """The verdicts on one statement: as a rule one passage says so and is quoted, at worst each is."""
    quotes = [text[: sizes.quote] for text in task.passages]
    row: dict[str, Said] = {"statement": number}
    if task.single:
        row["passages"] = [
            {
                "passage": rank,
                "label": "contradicted" if sizes.at_least else "unsupported",
                "quote": quote if rank == 1 or sizes.at_least else "",
            }
            for rank, quote in enumerate(quotes, 1)
        ]
    if task.joint:
        quoted: list[Said] = [{"passage": rank, "quote": quote} for rank, quote in enumerate(quotes, 1)]
        shown = quoted if sizes.at_least else quoted[:1]
        row["together"] = {"label": "contradicted", "reason": _words(sizes.reason), "quotes": shown}
    return row


def _questions(task: GenerateQuestions, sizes: Sizes) -> tuple[Questions, Said]:
    texts = tuple(f"{number} {_words(sizes.question)}" for number in range(task.n))
    return Questions(questions=texts), {"questions": list(texts)}


def _selection(task: SelectSentences, _sizes: Sizes) -> tuple[Selection, Said]:
    places = range(len(task.sentences))
    return Selection(chosen=tuple(places)), {"chosen": [place + 1 for place in places]}


def _similarities(task: Similarity, _sizes: Sizes) -> tuple[Similarities, Said]:
    return Similarities(values=(0.0,) * len(task.others)), ""


def _critiqued(_task: Critique, sizes: Sizes) -> tuple[Critiqued, Said]:
    return Critiqued(yes=False), {"reason": _words(sizes.reason), "verdict": "yes"}


def _rating(_task: Rate, sizes: Sizes) -> tuple[Rating, Said]:
    return Rating(value=10), {"reason": _words(sizes.reason), "rating": 10}


def _preference(_task: Prefer, sizes: Sizes) -> tuple[Preference, Said]:
    return Preference(better="a"), {"reason": _words(sizes.reason), "better": "A"}


def _usefulness(task: JudgePassages, sizes: Sizes) -> tuple[Usefulness, Said]:
    count = len(task.passages)
    rows: list[Said] = [
        {"passage": rank, "reason": _words(sizes.reason), "useful": "yes"} for rank in range(1, count + 1)
    ]
    return Usefulness(useful=(True,) * count, reasons=("",) * count), {"passages": rows}


def _entities(task: ExtractEntities, sizes: Sizes) -> tuple[Entities, Said]:
    """One word in ten is a name; at worst every one."""
    words = tuple(dict.fromkeys(task.text.split()[:: 1 if sizes.at_least else 10]))
    return Entities(names=words), {"entities": list(words)}


def _answer_rated(_task: RateAnswer, sizes: Sizes) -> tuple[AnswerRated, Said]:
    return AnswerRated(score=1.0), {"reason": _words(sizes.reason), "rating": 10}


def _questions_to_passage(task: WriteQuestions, sizes: Sizes) -> tuple[Questions, Said]:
    return _questions(GenerateQuestions(answer=task.passage, n=task.n), sizes)


def _written(_task: WriteAnswer, sizes: Sizes) -> tuple[Written, Said]:
    text = "It " + _words(sizes.answer)
    return Written(text=text), {"answer": text}


def _classified(_task: Classify, sizes: Sizes) -> tuple[Classified, Said]:
    return Classified(holds=True), {"reason": _words(sizes.reason), "verdict": "yes"}


def _words(characters: int) -> str:
    return "." * characters


MAKERS: dict[type[Task], Callable[[Any, Sizes], tuple[Reply, Said]]] = {
    Verify: _verification,
    GenerateQuestions: _questions,
    SelectSentences: _selection,
    Similarity: _similarities,
    Critique: _critiqued,
    Rate: _rating,
    Prefer: _preference,
    JudgePassages: _usefulness,
    ExtractEntities: _entities,
    RateAnswer: _answer_rated,
    WriteQuestions: _questions_to_passage,
    WriteAnswer: _written,
    Classify: _classified,
}
"""For each task type but `ExtractStatements`, how its reply is made."""
