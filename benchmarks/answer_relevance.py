"""Measure how often the embedded judge rates a good answer above an answer to another question.

    RAGBOARD_DATA=/path/to/data python benchmarks/answer_relevance.py

Each good answer is compared with a random other answer: the human answer to another question (CLAPNQ), an answer from
another conversation or to another question of the same conversation (MTRAG, both graded 3 of 4 or more for
appropriateness), the poor answer (WikiEval), or a biography of a random person (FActScore). A tie counts one half.
`words` is the rating without the penalty for having few words in common with the question.
"""

from __future__ import annotations

import os
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from sources import SETS, Row, raw_rows

from ragboard.judges.embedded.judge import rate_answer
from ragboard.judges.embedded.select import rate

APPROPRIATE = 3.0
Pair: TypeAlias = tuple[str, str, str]
"""A question, its answer, and the answer to another question."""


def make_pairs(folder: Path) -> dict[str, list[Pair]]:
    """Return the pairs of each comparison, by its name in the table."""
    rng = random.Random(0)
    turns = [row for row in raw_rows(folder / SETS["mtrag"][0]) if row["human_mean"]["appropriateness"] >= APPROPRIATE]
    conversations: dict[str, list[Row]] = defaultdict(list)
    for row in turns:
        conversations[conversation(row)].append(row)
    clapnq = [row for row in raw_rows(folder / SETS["clapnq"][0]) if row["answerable"] and row["answers"][0]]
    biographies = raw_rows(folder / "factscore" / "factscore_90.jsonl")
    wiki = raw_rows(folder / "wikieval" / "wikieval_10.jsonl")

    def pair_with(row: Row, others: Sequence[Row]) -> Pair:
        return row["question"], row["answer"], rng.choice(others)["answer"]

    return {
        "CLAPNQ, other questions": [
            (row["question"], row["answers"][0], rng.choice([one for one in clapnq if one is not row])["answers"][0])
            for row in clapnq
        ],
        "MTRAG, other conversations": [
            pair_with(row, [other for other in turns if conversation(other) != conversation(row)]) for row in turns
        ],
        "MTRAG, the same conversation": [
            pair_with(row, others)
            for row in turns
            if (others := [turn for turn in conversations[conversation(row)] if turn["task_id"] != row["task_id"]])
        ],
        "FActScore, other persons": [
            pair_with(row, [other for other in biographies if other["question"] != row["question"]])
            for row in biographies
        ],
        "WikiEval, poor answers": [(row["question"], row["grounded_answer"], row["poor_answer"]) for row in wiki],
    }


def conversation(row: Row) -> str:
    return str(row["task_id"]).split("<::>")[0]


def share_better(pairs: Sequence[Pair], rate_one: Callable[[str, str], tuple[float, str]]) -> float:
    """Return how often the good answer has the higher rating; a tie counts one half."""
    scores = [(rate_one(question, own)[0], rate_one(question, other)[0]) for question, own, other in pairs]
    return sum((own > other) + (own == other) / 2 for own, other in scores) / len(scores)


def main() -> None:
    if "RAGBOARD_DATA" not in os.environ:
        sys.exit("usage: RAGBOARD_DATA=/path/to/data python benchmarks/answer_relevance.py")
    print("| other answer | pairs | words | rating |\n|---|---|---|---|")
    for name, pairs in make_pairs(Path(os.environ["RAGBOARD_DATA"])).items():
        print(f"| {name} | {len(pairs)} | {share_better(pairs, rate):.3f} | {share_better(pairs, rate_answer):.3f} |")


if __name__ == "__main__":
    main()
