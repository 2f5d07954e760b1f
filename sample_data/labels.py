"""Write the authors' labels as label files, with spans, from the texts that the authors labelled.

python sample_data/labels.py            writes labels/*.jsonl and labels/*.tsv
python sample_data/labels.py --check    exits with 1 if a file on disk differs from what would be written

The authors' files quote the labelled texts exactly. This program finds their spans; a text that it cannot find is an
error. docs/reference/label-files.md describes the formats.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
import sys
from hashlib import blake2b
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
AUTHORS = HERE / "labels" / "authors"
ANNOTATOR = "ragboard authors"
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"'])")

Row = dict[str, Any]


def read(path: Path) -> list[Row]:
    """Read the rows of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def authored(name: str) -> list[Row]:
    """Read both parts of a file of the authors."""
    return [row for part in (1, 2) for row in read(AUTHORS / f"{name}{part}.jsonl")]


def samples() -> dict[tuple[str, str], Row]:
    """Read all samples of both runs, by run and id."""
    found: dict[tuple[str, str], Row] = {}
    for path in sorted((HERE / "runs").glob("*.jsonl")):
        head, *rows = read(path)
        found |= {(head["run"]["name"], row["id"]): row for row in rows}
    return found


def place(text: str, part: str, start: int, where: str) -> tuple[int, int]:
    """Return the start and end of `part` in `text`, from `start` on. Raises ValueError if it is not found."""
    at = text.find(part, start)
    if at < 0:
        raise ValueError(f"{where}: {part!r} is not in the text, or not in this order")
    return at, at + len(part)


def statements() -> list[Row]:
    """Return the verdicts on the statements of answers, with spans."""
    by_key = samples()
    rows: list[Row] = []
    for entry in authored("statements"):
        sample = by_key[entry["run"], entry["id"]]
        end = 0
        judged: list[Row] = []
        for statement in entry["statements"]:
            start, end = place(sample["answer"], statement["text"], end, f"{entry['run']}/{entry['id']}")
            judged.append(
                {
                    "text": statement["text"],
                    "start": start,
                    "end": end,
                    "label": int(statement["verdict"] == "supported"),
                    "verdict": statement["verdict"],
                    "passages": statement["passages"],
                }
            )
        rows.append(
            {
                "id": f"{entry['run']}/{entry['id']}",
                "run": entry["run"],
                "sample": entry["id"],
                "question": sample["question"],
                "contexts": [passage["text"] for passage in sample["contexts"]],
                "answer": sample["answer"],
                "statements": judged,
                "annotator": ANNOTATOR,
            }
        )
    return rows


def sentences() -> list[Row]:
    """Return for every sentence of the passages whether it helps, with its span."""
    by_key = samples()
    rows: list[Row] = []
    for entry in authored("sentences"):
        sample = by_key[entry["run"], entry["id"]]
        text = sample["contexts"][entry["rank"] - 1]["text"]
        parts = SENTENCE_END.split(text)
        unknown = set(entry["relevant"]) - set(parts)
        if unknown:
            raise ValueError(f"{entry['run']}/{entry['id']}: not a sentence of passage {entry['rank']}: {unknown}")
        end = 0
        found: list[Row] = []
        for part in parts:
            start, end = place(text, part, end, entry["id"])
            found.append({"text": part, "start": start, "end": end, "label": int(part in entry["relevant"])})
        rows.append(
            {
                "id": f"{entry['run']}/{entry['id']}/{entry['rank']}",
                "run": entry["run"],
                "sample": entry["id"],
                "question": sample["question"],
                "contexts": [text],
                "sentences": found,
                "annotator": ANNOTATOR,
            }
        )
    return rows


def paragraph(slug: str, number: int) -> str:
    """Return a paragraph of a document; the first paragraph is number 1."""
    parts = (HERE / "documents" / f"{slug}.md").read_text(encoding="utf-8").split("\n\n")
    return " ".join(parts[number].split())


def wikieval() -> list[Row]:
    """Return rows with WikiEval's columns."""
    questions = {row["id"]: row for part in (1, 2) for row in read(HERE / "questions" / f"part{part}.jsonl")}
    return [
        {
            "id": entry["id"],
            "question": questions[entry["id"]]["question"],
            "source": entry["v1"][0],
            "context_v1": [paragraph(*entry["v1"])],
            "context_v2": [" ".join([paragraph(*entry["v1"]), *(paragraph(*extra) for extra in entry["v2_extra"])])],
            "grounded_answer": entry["grounded_answer"],
            "ungrounded_answer": entry["ungrounded_answer"],
            "poor_answer": entry["poor_answer"],
        }
        for entry in authored("wikieval")
    ]


def pairs() -> list[Row]:
    """Return the same rows as preferences; a digest of the id decides which side is A."""
    rows: list[Row] = []
    for row in wikieval():
        better, contexts = row["grounded_answer"], row["context_v1"]
        rows += [
            pair(row, "faithfulness", better, row["ungrounded_answer"], contexts),
            pair(row, "answer_relevance", better, row["poor_answer"], None),
            pair(row, "context_relevance", row["context_v1"], row["context_v2"], None),
        ]
    return rows


def pair(row: Row, dimension: str, better: Any, worse: Any, contexts: list[str] | None) -> Row:
    """Return one preference; whether the better text is A or B depends only on the id."""
    name = f"{row['id']}:{dimension}"
    first = blake2b(name.encode(), digest_size=1).digest()[0] % 2 == 0
    made: Row = {"id": name, "dimension": dimension, "question": row["question"]}
    if contexts is not None:
        made["contexts"] = contexts
    sides = (better, worse) if first else (worse, better)
    return made | {"a": sides[0], "b": sides[1], "preferred": "a" if first else "b", "annotator": ANNOTATOR}


def answers() -> list[Row]:
    """Return whole answers with ARES's columns; an answer is faithful if all its statements are supported."""
    return [
        ares(
            row["question"],
            "\n\n".join(row["contexts"]),
            row["answer"],
            faithful=all(statement["label"] for statement in row["statements"]),
            run=row["run"],
        )
        for row in statements()
    ]


def qualities() -> list[Row]:
    """Return passages and the answers of the WikiEval rows, with ARES's columns.

    A passage is relevant if at least one of its sentences helps. The grounded answer is relevant; the poor answer,
    which leaves out what was asked, is not.
    """
    passages = [
        ares(row["question"], row["contexts"][0], "", relevant=any(each["label"] for each in row["sentences"]))
        for row in sentences()
    ]
    return passages + [
        ares(row["question"], row["context_v1"][0], row[column], answers=column == "grounded_answer")
        for row in wikieval()
        for column in ("grounded_answer", "poor_answer")
    ]


def ares(
    question: str,
    document: str,
    answer: str,
    *,
    relevant: bool | None = None,
    faithful: bool | None = None,
    answers: bool | None = None,
    run: str = "",
) -> Row:
    """Return a row with ARES's columns, and the run of the answer."""
    words = {True: "Yes", False: "No", None: ""}
    return {
        "Query": question,
        "Document": document,
        "Answer": answer,
        "Context_Relevance_Label": words[relevant],
        "Answer_Faithfulness_Label": words[faithful],
        "Answer_Relevance_Label": words[answers],
        "run": run,
    }


def jsonl(rows: list[Row]) -> str:
    """Return rows as the text of a JSON Lines file."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def tsv(rows: list[Row]) -> str:
    """Return rows as the text of a tab-separated file."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter="\t", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


TABLES = {
    "statements.jsonl": statements,
    "sentences.jsonl": sentences,
    "pairs.jsonl": pairs,
    "wikieval.jsonl": wikieval,
    "answers.tsv": answers,
    "qualities.tsv": qualities,
}


def main() -> None:
    """Write the files, or with --check print which files on disk differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file differs")
    check = parser.parse_args().check
    stale: list[str] = []
    for name, make in TABLES.items():
        path = HERE / "labels" / name
        text = jsonl(make()) if path.suffix == ".jsonl" else tsv(make())
        if not check:
            path.write_text(text, encoding="utf-8", newline="\n")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
    if stale:
        sys.exit(f"different on disk: {', '.join(stale)}")


if __name__ == "__main__":
    main()
