"""Training examples of a quality from labelled rows, in three parts without common documents."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from ragboard.errors import SettingError
from ragboard.readers.ares import AresRow
from ragboard.tasks import AresQuality

__all__ = ["SIDES", "Example", "Side", "documents_in", "examples_of", "held_out", "labelled_examples", "sides_of"]

Side: TypeAlias = Literal["train", "validation", "held out"]
SIDES: tuple[Side, ...] = get_args(Side)
"""Parts: training, validation (when to stop, and calibration), and held out (scores)."""

HELD_OUT, VALIDATION = 0.3, 0.2
"""Share of documents to hold out, and of the rest for validation, if the file does not say."""

SHORTEST = 100
"""The least characters of a training document, as in ARES, exclusive."""

Rows: TypeAlias = Sequence[AresRow]


@dataclass(frozen=True, kw_only=True, slots=True)
class Example:
    """A question with the texts that the judge of a quality reads, and whether the quality holds."""

    question: str
    document: str
    answer: str
    holds: bool
    cluster: str
    """Its document; examples of one document are not independent."""
    strong: bool = False
    """Whether it is a hard negative."""


def sides_of(rows: Rows, seed: int) -> tuple[dict[Side, list[AresRow]], int]:
    """Split rows into the parts; also count rows that belong to none.

    As the file's `split` says. Where it says nothing documents are drawn, and rows that join two sides by their
    document, its text or their question, such as a question with a passage from elsewhere, are left out.
    Raises SettingError where the file's own split has one document on two sides, or says something unknown.
    """
    found: dict[Side, list[AresRow]] = {side: [] for side in SIDES}
    if not any(row.split for row in rows):
        rest, found["held out"], lost = _drawn(rows, HELD_OUT, seed)
    else:
        for row in rows:
            if row.split not in SIDES:
                raise SettingError(f"split is {row.split!r} in a row, expected {', '.join(SIDES)}")
            found[row.split].append(row)
        rest, lost = found["train"], 0
    found["train"] = rest
    if not found["validation"]:
        found["train"], found["validation"], more = _drawn(rest, VALIDATION, seed)
        lost += more
    _need_apart(found)
    return found, lost


def _drawn(rows: Rows, share: float, seed: int) -> tuple[list[AresRow], list[AresRow], int]:
    """Return rows of other documents, rows of the drawn documents, and the number of rows that join both."""
    home, asked = _homes(rows), _asked(rows)
    documents = sorted({*home.values(), *map(_document, rows)})
    random.Random(seed).shuffle(documents)  # noqa: S311 - no secret hangs on it
    drawn = set(documents[: round(share * len(documents)) or int(len(documents) > 1)])
    sides = [[of in drawn for of in (_document(row), home[row.document], asked[row.question])] for row in rows]
    return (
        [row for row, side in zip(rows, sides, strict=True) if not any(side)],
        [row for row, side in zip(rows, sides, strict=True) if all(side)],
        sum(any(side) and not all(side) for side in sides),
    )


def _document(row: AresRow) -> str:
    return row.document_id or row.document


def _homes(rows: Rows) -> dict[str, str]:
    """Return the document of each text: that of a row in which it is relevant, else the text itself."""
    homes: dict[str, str] = {}
    for row in rows:
        if row.context_relevance is not False:
            homes.setdefault(row.document, _document(row))
    return {row.document: row.document for row in rows} | homes


def _asked(rows: Rows) -> dict[str, str]:
    """Return the document of each question: that of the first row with a helpful document, else of its first row."""
    asked: dict[str, str] = {}
    for row in sorted(rows, key=lambda row: row.context_relevance is False):
        asked.setdefault(row.question, _document(row))
    return asked


def _need_apart(sides: Mapping[Side, Rows]) -> None:
    seen: dict[str, Side] = {}
    for side, rows in sides.items():
        for name in {*(row.document for row in rows), *(row.document_id for row in rows if row.document_id)}:
            if seen.setdefault(name, side) != side:
                raise SettingError(
                    f"{' '.join(name.split())[:60]!r} is on two sides of the split, {seen[name]} and {side};"
                    " a judge is tested on documents that it was not taught on"
                )


def examples_of(rows: Rows, quality: AresQuality, dropped: Counter[str]) -> list[Example]:
    """Return the examples of a quality without repetition, and count dropped rows by reason.

    As ARES filters: no short documents, nothing twice, and for the two qualities of an answer no passage that does not
    help. Rows that differ in nothing but the label contradict each other, and none of them is taken.
    """
    found: dict[tuple[str, str, str], set[Example]] = {}
    for row in rows:
        if getattr(row, quality) is None:
            continue
        reason = _unfit(row, quality)
        if reason:
            dropped[reason] += 1
            continue
        example = _example(row, quality, cluster=_document(row))
        held = found.setdefault(_read(example), set())
        if any(other.holds == example.holds for other in held):
            dropped["twice"] += 1
        else:
            held.add(example)
    dropped["labelled both ways"] += sum(len(held) for held in found.values() if len(held) > 1)
    return [example for held in found.values() if len(held) == 1 for example in held]


def _unfit(row: AresRow, quality: AresQuality) -> str:
    if len(row.document) <= SHORTEST:
        return f"with a document of at most {SHORTEST} characters"
    if quality == "context_relevance":
        return ""
    if not row.answer.strip():
        return "without an answer"
    return "whose passage does not help" if row.context_relevance is False else ""


def labelled_examples(rows: Rows, quality: AresQuality) -> list[Example]:
    """Return the examples that people labelled; rows on one document or question are not independent."""
    return [
        _example(row, quality, cluster=row.document_id or row.question)
        for row in rows
        if getattr(row, quality) is not None and (row.answer.strip() or quality == "context_relevance")
    ]


def held_out(examples: Sequence[Example], learnt: Sequence[Example]) -> list[Example]:
    """Return the examples whose texts differ from all examples that the judge was trained on."""
    known = set(map(_read, learnt))
    return [example for example in examples if _read(example) not in known]


def _read(example: Example) -> tuple[str, str, str]:
    return example.question, example.document, example.answer


def _example(row: AresRow, quality: AresQuality, *, cluster: str) -> Example:
    return Example(
        question=row.question,
        document="" if quality == "answer_relevance" else row.document,
        answer="" if quality == "context_relevance" else row.answer,
        holds=bool(getattr(row, quality)),
        cluster=cluster,
        strong=row.negative == "strong",
    )


def documents_in(rows: Rows) -> Iterator[str]:
    """Return the documents of the rows, without repetition."""
    yield from dict.fromkeys(map(_document, rows))
