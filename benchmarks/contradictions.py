"""Measure how often the embedded judge calls a statement contradicted, and how often annotators agree.

    RAGBOARD_DATA=/path/to/data python benchmarks/contradictions.py

Prints a Markdown table, then the unlabelled statements that the judge calls contradicted, for manual review. Facts in
one model's biography of a person are checked against another model's biography of the same person.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from sources import CONTRADICTED, SETS, raw_rows

from ragboard.judges.embedded.statements import extract
from ragboard.judges.embedded.verify import verify
from ragboard.records import Verdict
from ragboard.sample_files import sample_folder
from ragboard.tasks import Verify

Statements: TypeAlias = Iterator[tuple[str, str | None, Verdict]]
"""(statement, annotators' label or None, judge's verdict) tuples."""


def judge_statements(
    texts: Sequence[str], labels: Sequence[str | None], passages: Sequence[str], question: str
) -> Statements:
    task = Verify(question=question, statements=tuple(texts), passages=tuple(passages), joint=True, single=False)
    yield from zip(texts, labels, verify(task).joint, strict=True)


def judge_labelled(path: Path, column: str) -> Statements:
    for row in raw_rows(path):
        texts = [each["text"] for each in row["statements"]]
        labels = [str(each[column]) for each in row["statements"]]
        yield from judge_statements(texts, labels, row["contexts"], row.get("question") or "")


def judge_answer(answer: str, passages: Sequence[str], question: str) -> Statements:
    texts = [each.text for each in extract(answer).statements]
    yield from judge_statements(texts, [None] * len(texts), passages, question)


def mtrag(folder: Path) -> Statements:
    for row in raw_rows(folder / SETS["mtrag"][0]):
        yield from judge_answer(row["answer"], row["contexts"], row["question"])


def clapnq(folder: Path) -> Statements:
    for row in raw_rows(folder / SETS["clapnq"][0]):
        for answer in filter(None, row["answers"] if row["answerable"] else ()):
            yield from judge_answer(answer, row["contexts"], row["question"])


def biographies(folder: Path) -> Statements:
    rows = sorted(raw_rows(folder / "factscore" / "factscore_90.jsonl"), key=lambda row: str(row["question"]))
    for question, found in itertools.groupby(rows, key=lambda row: str(row["question"])):
        for mine, other in itertools.permutations(list(found), 2):
            facts = [fact["text"] for sentence in mine["sentences"] for fact in sentence.get("atomic_facts") or ()]
            yield from judge_statements(facts, [None] * len(facts), [other["answer"]], question)


TEXTS: dict[str, Callable[[Path], Statements]] = {
    "Factcheck-GPT, claims with each evidence": lambda at: judge_labelled(at / SETS["factcheck_gpt"][0], "label_raw"),
    "WiCE, claims": lambda at: judge_labelled(at / SETS["wice"][0], "label_raw"),
    "BEGIN, replies": lambda at: judge_labelled(at / SETS["begin"][0], "label_raw"),
    "MTRAG, statements of answers": mtrag,
    "CLAPNQ, statements of human answers": clapnq,
    "FActScore, facts against another biography": biographies,
    "statements of the sample data": lambda _: judge_labelled(
        sample_folder() / "labels" / "statements.jsonl", "verdict"
    ),
}


def main() -> None:
    if "RAGBOARD_DATA" not in os.environ:
        sys.exit("usage: RAGBOARD_DATA=/path/to/data python benchmarks/contradictions.py")
    unlabelled: list[str] = []
    print("| texts | statements | called contradicted | annotators agree |\n|---|---|---|---|")
    for name, read in TEXTS.items():
        found = list(read(Path(os.environ["RAGBOARD_DATA"])))
        contradictions: list[tuple[str, Any, str]] = [
            (text, label, verdict.reason) for text, label, verdict in found if verdict.label == "contradicted"
        ]
        right = sum(label in {CONTRADICTED, "contradicted"} for _, label, _ in contradictions)
        unlabelled += [f"{text} {reason}" for text, label, reason in contradictions if label is None]
        people = "-" if all(label is None for _, label, _ in found) else str(right)
        print(f"| {name} | {len(found):,} | {len(contradictions)} | {people} |")
    print("", *unlabelled, sep="\n")


if __name__ == "__main__":
    main()
