"""Make training examples from labelled rows, in three splits that share no documents."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from ragboard.errors import SettingError
from ragboard.readers.ares import AresRow
from ragboard.tasks import AresQuality

__all__ = [
    "SPLITS",
    "Split",
    "TrainingExample",
    "documents_in",
    "exclude_training_examples",
    "labelled_examples",
    "split_rows",
    "training_examples",
]

Split: TypeAlias = Literal["train", "validation", "held out"]
SPLITS: tuple[Split, ...] = get_args(Split)
"""`train` is for fitting, `validation` for early stopping and calibration, `held out` for scores."""

HELD_OUT, VALIDATION = 0.3, 0.2
"""Shares of documents to hold out, and of the other documents to use for validation, if the file has no such splits."""

MAX_SHORT_DOCUMENT = 100
"""Documents of at most this many characters are not used for training, as in ARES."""

Rows: TypeAlias = Sequence[AresRow]


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingExample:
    """A question, the texts that the judge of the quality reads, and whether the quality holds."""

    question: str
    document: str
    answer: str
    holds: bool
    cluster: str
    """The document; for human labels without a document id, the question. Examples in a cluster are not independent."""
    strong_negative: bool = False
    """Whether it is a strong negative (see `rows.labelled_rows`)."""


def split_rows(rows: Rows, seed: int) -> tuple[dict[Split, list[AresRow]], int]:
    """Return the rows of each split, and the number of rows that were left out.

    The column `split` of the file names the split of each row. If it names no held-out or no validation rows, random
    documents are moved to these splits. A row is then left out if it has texts of documents in two splits, for example
    a question with a passage of another document. Raises SettingError if splits in the file share a document or have an
    unknown name.
    """
    splits: dict[Split, list[AresRow]] = {split: [] for split in SPLITS}
    if not any(row.split for row in rows):
        remaining, splits["held out"], dropped = _split_off(rows, HELD_OUT, seed)
    else:
        for row in rows:
            if row.split not in SPLITS:
                raise SettingError(f"the column split has {row.split!r}; expected {', '.join(SPLITS)}")
            splits[row.split].append(row)
        remaining, dropped = splits["train"], 0
    splits["train"] = remaining
    if not splits["validation"]:
        splits["train"], splits["validation"], more_dropped = _split_off(remaining, VALIDATION, seed)
        dropped += more_dropped
    _check_disjoint(splits)
    return splits, dropped


def _split_off(rows: Rows, share: float, seed: int) -> tuple[list[AresRow], list[AresRow], int]:
    """Choose a random share of the documents.

    Return the rows of the other documents, the rows of the chosen documents, and the number of rows with texts of both.
    """
    by_text, by_question = _documents_by_text(rows), _documents_by_question(rows)
    documents = sorted({*by_text.values(), *map(_document, rows)})
    random.Random(seed).shuffle(documents)  # noqa: S311 - not a secret
    chosen = set(documents[: round(share * len(documents)) or int(len(documents) > 1)])
    memberships = [
        [document in chosen for document in (_document(row), by_text[row.document], by_question[row.question])]
        for row in rows
    ]
    return (
        [row for row, inside in zip(rows, memberships, strict=True) if not any(inside)],
        [row for row, inside in zip(rows, memberships, strict=True) if all(inside)],
        sum(any(inside) and not all(inside) for inside in memberships),
    )


def _document(row: AresRow) -> str:
    return row.document_id or row.document


def _documents_by_text(rows: Rows) -> dict[str, str]:
    """Return the document of each passage: that of its first row that does not label it irrelevant, else the text."""
    documents: dict[str, str] = {}
    for row in rows:
        if row.context_relevance is not False:
            documents.setdefault(row.document, _document(row))
    return {row.document: row.document for row in rows} | documents


def _documents_by_question(rows: Rows) -> dict[str, str]:
    """Return the document of each question: that of its first row with a relevant passage, else of its first row."""
    documents: dict[str, str] = {}
    for row in sorted(rows, key=lambda row: row.context_relevance is False):
        documents.setdefault(row.question, _document(row))
    return documents


def _check_disjoint(splits: Mapping[Split, Rows]) -> None:
    split_of_name: dict[str, Split] = {}
    for split, rows in splits.items():
        for name in {*(row.document for row in rows), *(row.document_id for row in rows if row.document_id)}:
            if split_of_name.setdefault(name, split) != split:
                raise SettingError(
                    f"{' '.join(name.split())[:60]!r} is in two splits, {split_of_name[name]} and {split};"
                    " put all rows of a document into one split"
                )


def training_examples(rows: Rows, quality: AresQuality, dropped: Counter[str]) -> list[TrainingExample]:
    """Return the examples of a quality. The numbers of dropped rows, by reason, are added to `dropped`.

    As in ARES, rows with short documents and duplicates are dropped. For the qualities of an answer, rows with an
    irrelevant passage are dropped too. Rows that differ only in the label are all dropped.
    """
    by_texts: dict[tuple[str, str, str], set[TrainingExample]] = {}
    for row in rows:
        if getattr(row, quality) is None:
            continue
        reason = _reason_to_drop(row, quality)
        if reason:
            dropped[reason] += 1
            continue
        example = _example(row, quality, cluster=_document(row))
        same_texts = by_texts.setdefault(_texts(example), set())
        if any(other.holds == example.holds for other in same_texts):
            dropped["duplicates"] += 1
        else:
            same_texts.add(example)
    dropped["with contradictory labels"] += sum(len(examples) for examples in by_texts.values() if len(examples) > 1)
    return [example for examples in by_texts.values() if len(examples) == 1 for example in examples]


def _reason_to_drop(row: AresRow, quality: AresQuality) -> str:
    if len(row.document) <= MAX_SHORT_DOCUMENT:
        return f"with a document of at most {MAX_SHORT_DOCUMENT} characters"
    if quality == "context_relevance":
        return ""
    if not row.answer.strip():
        return "without an answer"
    return "whose passage does not help" if row.context_relevance is False else ""


def labelled_examples(rows: Rows, quality: AresQuality) -> list[TrainingExample]:
    """Return the examples with human labels. Examples of one document or question form a cluster."""
    return [
        _example(row, quality, cluster=row.document_id or row.question)
        for row in rows
        if getattr(row, quality) is not None and (row.answer.strip() or quality == "context_relevance")
    ]


def exclude_training_examples(
    examples: Sequence[TrainingExample], training: Sequence[TrainingExample]
) -> list[TrainingExample]:
    """Return the examples with other texts than the training examples."""
    training_texts = set(map(_texts, training))
    return [example for example in examples if _texts(example) not in training_texts]


def _texts(example: TrainingExample) -> tuple[str, str, str]:
    return example.question, example.document, example.answer


def _example(row: AresRow, quality: AresQuality, *, cluster: str) -> TrainingExample:
    return TrainingExample(
        question=row.question,
        document="" if quality == "answer_relevance" else row.document,
        answer="" if quality == "context_relevance" else row.answer,
        holds=bool(getattr(row, quality)),
        cluster=cluster,
        strong_negative=row.negative == "strong",
    )


def documents_in(rows: Rows) -> Iterator[str]:
    """Yield the documents of the rows, without repetition."""
    yield from dict.fromkeys(map(_document, rows))
