"""The embedded judge against the labels of the sample's authors, beside plain word overlap.

    python benchmarks/sample_labels.py

Prints, as Markdown, the confusion of verdicts and the AUROC of the support score (supported against
not), and for sentences how selection agrees with relevance. The authors who labelled also wrote the
answers: this shows how the judge behaves on the sample, not how good it is elsewhere.
"""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

from ragboard import EmbeddedJudge
from ragboard.records import Label, Verdict
from ragboard.sample_files import sample_folder
from ragboard.stats import auroc, confusion
from ragboard.tasks import Selection, SelectSentences, Verification, Verify

LABELS: tuple[Label, ...] = ("supported", "unsupported", "contradicted")


def rows(name: str) -> list[dict[str, Any]]:
    path: Path = sample_folder() / "labels" / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def verdicts(row: dict[str, Any]) -> tuple[Verdict, ...]:
    task = Verify(
        question=row["question"],
        statements=tuple(said["text"] for said in row["statements"]),
        passages=tuple(row["contexts"]),
        joint=True,
        single=False,
    )
    (reply,) = asyncio.run(EmbeddedJudge().answer([task]))
    assert isinstance(reply, Verification)
    return reply.joint


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def overlap(text: str, contexts: list[str]) -> float:
    mine = words(text)
    return len(mine & words(" ".join(contexts))) / len(mine) if mine else 0.0


def statement_report() -> list[str]:
    truth: list[Label] = []
    said: list[Label] = []
    scores: list[float] = []
    overlaps: list[float] = []
    for row in rows("statements"):
        for labelled, verdict in zip(row["statements"], verdicts(row), strict=True):
            truth.append(labelled["verdict"])
            said.append(verdict.label)
            scores.append(verdict.score or 0.0)
            overlaps.append(overlap(labelled["text"], row["contexts"]))
    counts = confusion(said, truth)
    positive = [label == "supported" for label in truth]
    lines = [f"{len(truth)} statements of {len(rows('statements'))} answers.", ""]
    lines += ["| the authors say | " + " | ".join(f"judge: {label}" for label in LABELS) + " |", "|---|---|---|---|"]
    for label in LABELS:
        lines.append(f"| {label} | " + " | ".join(str(counts.get((label, other), 0)) for other in LABELS) + " |")
    lines += ["", "| supported against not | AUROC |", "|---|---|"]
    lines += [f"| embedded judge's support | {auroc(scores, positive):.3f} |"]
    lines += [f"| word overlap with the passages | {auroc(overlaps, positive):.3f} |"]
    return lines


def sentence_report() -> list[str]:
    hits: list[tuple[bool, bool]] = []
    for row in rows("sentences"):
        task = SelectSentences(question=row["question"], sentences=tuple(part["text"] for part in row["sentences"]))
        (reply,) = asyncio.run(EmbeddedJudge().answer([task]))
        assert isinstance(reply, Selection)
        hits += [(bool(part["label"]), place in reply.chosen) for place, part in enumerate(row["sentences"])]
    counts = confusion([chosen for _, chosen in hits], [relevant for relevant, _ in hits])
    lines = ["", f"{len(hits)} sentences of {len(rows('sentences'))} passages.", ""]
    lines += ["| the authors say | judge: selected | judge: not selected |", "|---|---|---|"]
    for label, name in ((True, "helps"), (False, "does not")):
        lines.append(f"| {name} | {counts.get((label, True), 0)} | {counts.get((label, False), 0)} |")
    return lines


def main() -> None:
    print("\n".join([*statement_report(), *sentence_report()]))


if __name__ == "__main__":
    main()
