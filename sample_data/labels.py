"""Write the authors' labels in the open formats, with spans, from what the authors wrote by hand.

python sample_data/labels.py            writes labels/*.jsonl and labels/*.tsv
python sample_data/labels.py --check    exits 1 where a file on disk is not what would be written

The authors name exact stretches of text; this finds them, refuses one that is not there, and writes the
places. The formats are specified in docs/reference/label-files.md.
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
    """The rows of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def authored(name: str) -> list[Row]:
    """Both parts of what the authors wrote under that name."""
    return [row for part in (1, 2) for row in read(AUTHORS / f"{name}{part}.jsonl")]


def samples() -> dict[tuple[str, str], Row]:
    """Every sample of both runs, by run and id."""
    found: dict[tuple[str, str], Row] = {}
    for path in sorted((HERE / "runs").glob("*.jsonl")):
        head, *rows = read(path)
        found |= {(head["run"]["name"], row["id"]): row for row in rows}
    return found


def place(text: str, part: str, start: int, where: str) -> tuple[int, int]:
    """Where `part` stands in `text` from `start` on. Raises ValueError where it does not."""
    at = text.find(part, start)
    if at < 0:
        raise ValueError(f"{where}: {part!r} is not in the text, or out of order")
    return at, at + len(part)


def statements() -> list[Row]:
    """Verdicts on the statements of answers, with spans."""
    by_key = samples()
    rows: list[Row] = []
    for said in authored("statements"):
        sample = by_key[said["run"], said["id"]]
        end = 0
        judged: list[Row] = []
        for statement in said["statements"]:
            start, end = place(sample["answer"], statement["text"], end, f"{said['run']}/{said['id']}")
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
                "id": f"{said['run']}/{said['id']}",
                "run": said["run"],
                "sample": said["id"],
                "question": sample["question"],
                "contexts": [passage["text"] for passage in sample["contexts"]],
                "answer": sample["answer"],
                "statements": judged,
                "annotator": ANNOTATOR,
            }
        )
    return rows


def sentences() -> list[Row]:
    """Relevance of every sentence of a passage, with spans."""
    by_key = samples()
    rows: list[Row] = []
    for said in authored("sentences"):
        sample = by_key[said["run"], said["id"]]
        text = sample["contexts"][said["rank"] - 1]["text"]
        parts = SENTENCE_END.split(text)
        unknown = set(said["relevant"]) - set(parts)
        if unknown:
            raise ValueError(f"{said['run']}/{said['id']}: not a sentence of passage {said['rank']}: {unknown}")
        end = 0
        found: list[Row] = []
        for part in parts:
            start, end = place(text, part, end, said["id"])
            found.append({"text": part, "start": start, "end": end, "label": int(part in said["relevant"])})
        rows.append(
            {
                "id": f"{said['run']}/{said['id']}/{said['rank']}",
                "run": said["run"],
                "sample": said["id"],
                "question": sample["question"],
                "contexts": [text],
                "sentences": found,
                "annotator": ANNOTATOR,
            }
        )
    return rows


def paragraph(slug: str, number: int) -> str:
    """A paragraph of a document, counted from 1."""
    parts = (HERE / "documents" / f"{slug}.md").read_text(encoding="utf-8").split("\n\n")
    return " ".join(parts[number].split())


def wikieval() -> list[Row]:
    """Rows in WikiEval's columns."""
    questions = {row["id"]: row for part in (1, 2) for row in read(HERE / "questions" / f"part{part}.jsonl")}
    return [
        {
            "id": said["id"],
            "question": questions[said["id"]]["question"],
            "source": said["v1"][0],
            "context_v1": [paragraph(*said["v1"])],
            "context_v2": [" ".join([paragraph(*said["v1"]), *(paragraph(*extra) for extra in said["v2_extra"])])],
            "grounded_answer": said["grounded_answer"],
            "ungrounded_answer": said["ungrounded_answer"],
            "poor_answer": said["poor_answer"],
        }
        for said in authored("wikieval")
    ]


def pairs() -> list[Row]:
    """The same rows as preference pairs, sides shuffled by a digest of the id."""
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
    """One pair: which side the better one stands on depends on the id alone."""
    name = f"{row['id']}:{dimension}"
    first = blake2b(name.encode(), digest_size=1).digest()[0] % 2 == 0
    made: Row = {"id": name, "dimension": dimension, "question": row["question"]}
    if contexts is not None:
        made["contexts"] = contexts
    sides = (better, worse) if first else (worse, better)
    return made | {"a": sides[0], "b": sides[1], "preferred": "a" if first else "b", "annotator": ANNOTATOR}


def answers() -> list[Row]:
    """Whole answers of the runs in ARES's columns: faithful where every statement is supported."""
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
    """Passages and made-up answers in ARES's columns.

    A passage is relevant where one of its sentences helps; an answer where it was written to answer, and not to leave
    out what was asked.
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
    """A row in ARES's columns, with the run that an answer is of."""
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
    """The text of a JSON Lines file."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def tsv(rows: list[Row]) -> str:
    """The text of a tab-separated file."""
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
    """Write the files, or say which are not as they would be written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 on a difference")
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
        sys.exit(f"not as they would be written: {', '.join(stale)}")


if __name__ == "__main__":
    main()
