"""Convert labelled datasets to label files that `ragboard judge-bench` reads.

RAGBOARD_DATA=/path/to/data python benchmarks/sources.py FOLDER  # writes FOLDER/wice.jsonl and the others
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from ragboard.human.judge_report import JudgedRow, read_judged_rows
from ragboard.sample_files import sample_folder

__all__ = ["SETS", "JudgedRow", "labelled_rows", "raw_rows", "read_set", "write_sets"]

Row: TypeAlias = dict[str, Any]


def _conversation(row: Row) -> str:
    return str(row["task_id"]).split("<::>")[0]


SETS: dict[str, tuple[str, Callable[[Row], str]]] = {
    "wice": ("wice/wice_claim_dev.jsonl", lambda row: row["claim_context"] or row["id"]),
    "factcheck_gpt": ("factcheck_gpt/claim_evidence_stance.jsonl", lambda row: row["statements"][0]["text"]),
    "begin": ("begin/begin_wow_dev.jsonl", lambda row: row["contexts"][0]),
    "mtrag": ("mtrag/mtrag_human_eval_12conv.jsonl", _conversation),
    "clapnq": ("clapnq/clapnq_dev.jsonl", lambda row: row["question"]),
}
"""The file of each dataset, and the function that returns the cluster of a row."""
GRADE, AT_LEAST = "human_mean.faithfulness", 3.0
"""The path of MTRAG's grade of an answer (up to 4), and the minimum grade of a faithful answer."""
CONTRADICTED = "refute"
"""The word in Factcheck-GPT for the label 0."""


def labelled_rows(name: str, folder: Path) -> Iterator[Row]:
    """Yield the rows of a dataset in the format of docs/reference/label-files.md."""
    path, cluster = SETS[name]
    for row in raw_rows(folder / path):
        columns = ("id", "question", "history", "contexts")
        labelled = {column: row[column] for column in columns if row.get(column) is not None}
        if "human_mean" in row:
            labelled |= {"answer": row["answer"], "grades": {"faithfulness": row["human_mean"]["faithfulness"]}}
        else:
            kind = "statements" if "statements" in row else "sentences"
            labelled[kind] = [_text(text) for text in row[kind]]
        yield labelled | {"cluster": cluster(row)}


def _text(text: Row) -> Row:
    verdict = {"verdict": "contradicted"} if text.get("label_raw") == CONTRADICTED else {}
    return {"text": text["text"], "label": text["label"]} | verdict


def write_sets(folder: Path, out: Path) -> None:
    """Write every dataset as a label file."""
    out.mkdir(parents=True, exist_ok=True)
    for name in SETS:
        lines = (json.dumps(row, ensure_ascii=False) for row in labelled_rows(name, folder))
        (out / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def read_set(name: str, folder: Path) -> tuple[JudgedRow, ...]:
    """Return the rows of a dataset; `sample` and `sample_sentences` are the labels of the sample data."""
    if name.startswith("sample"):
        file = "sentences" if name == "sample_sentences" else "statements"
        return read_judged_rows(sample_folder() / "labels" / f"{file}.jsonl", cluster="id")
    path, cluster = SETS[name]
    rows = read_judged_rows(folder / path, label=GRADE if name == "mtrag" else None, at_least=AT_LEAST)
    return tuple(replace(row, cluster=cluster(raw)) for row, raw in zip(rows, raw_rows(folder / path), strict=True))


def raw_rows(path: Path) -> Sequence[Row]:
    """Return the rows of the file unchanged."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    if len(sys.argv) != 2 or "RAGBOARD_DATA" not in os.environ:
        sys.exit("usage: RAGBOARD_DATA=/path/to/data python benchmarks/sources.py FOLDER")
    write_sets(Path(os.environ["RAGBOARD_DATA"]), Path(sys.argv[1]))
