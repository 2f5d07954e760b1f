"""Print a digest of the embedded judge's replies to fixed tasks, to compare versions of Python.

PYTHONPATH=core python tests/core/judges/embedded/golden.py
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ragboard.judges.embedded.judge import EmbeddedJudge
from ragboard.sample_files import sample_folder
from ragboard.tasks import (
    ExtractEntities,
    ExtractStatements,
    GenerateQuestions,
    JudgePassages,
    RateAnswer,
    SelectSentences,
    Similarity,
    Task,
    Verify,
)

__all__ = ["digest"]

DIGITS = 6
"""Decimals that are compared; the last bits of a cosine are the processor's."""


def tasks() -> Iterator[Task]:
    """Of every kind, over the sample's labelled answers and passages, our refusals and our paraphrases."""
    labels = sample_folder() / "labels"
    for row in map(json.loads, (labels / "statements.jsonl").read_text(encoding="utf-8").splitlines()):
        passages, said = tuple(row["contexts"]), tuple(each["text"] for each in row["statements"])
        question, answer = row["question"], " ".join(said)
        yield Verify(question=question, statements=said, passages=passages, joint=True, single=True)
        yield ExtractStatements(question=question, text=answer)
        yield GenerateQuestions(answer=answer, n=3)
        yield Similarity(text=question, others=said)
        yield RateAnswer(question=question, answer=answer)
        yield JudgePassages(question=question, answer=answer, passages=passages)
        yield ExtractEntities(text=" ".join(passages))
    for row in map(json.loads, (labels / "sentences.jsonl").read_text(encoding="utf-8").splitlines()):
        sentences = tuple(each["text"] for each in row["sentences"])
        yield SelectSentences(question=row["question"], sentences=sentences)
    for line in Path(__file__).with_name("refusals.tsv").read_text(encoding="utf-8").splitlines():
        yield ExtractStatements(question="", text=line.split("\t")[1])
    for line in (Path(__file__).parent / "paraphrases.tsv").read_text(encoding="utf-8").splitlines():
        _, passage, statement = line.split("\t")
        yield Verify(question="", statements=(statement,), passages=(passage,), joint=True, single=False)


def digest() -> str:
    """Twelve hexadecimal digits that change with any reply."""
    replies = asyncio.run(EmbeddedJudge().answer(list(tasks())))
    text = "\n".join(json.dumps(_rounded(asdict(reply)), ensure_ascii=False) for reply in replies)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _rounded(value: Any) -> Any:
    match value:
        case float():
            return round(value, DIGITS)
        case dict():
            return {key: _rounded(each) for key, each in value.items()}
        case list() | tuple():
            return [_rounded(each) for each in value]
        case _:
            return value


if __name__ == "__main__":
    print(digest())
