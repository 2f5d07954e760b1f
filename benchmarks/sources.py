"""The labelled sets, by folder, each as rows of one form: what is judged, its label, and what belongs together."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from ragboard.human.judge_report import JudgedRow, read_judged_rows
from ragboard.sample_files import sample_folder

__all__ = ["SETS", "raw_rows", "read_set"]

Row: TypeAlias = dict[str, Any]


def _conversation(row: Row) -> str:
    return str(row["task_id"]).split("<::>")[0]


SETS: dict[str, tuple[str, Callable[[Row], str], dict[str, Any]]] = {
    "wice": ("wice/wice_claim_dev.jsonl", lambda row: row["claim_context"] or row["id"], {}),
    "factcheck_gpt": ("factcheck_gpt/claim_evidence_stance.jsonl", lambda row: row["statements"][0]["text"], {}),
    "begin": ("begin/begin_wow_dev.jsonl", lambda row: row["contexts"][0], {}),
    "mtrag": (
        "mtrag/mtrag_human_eval_12conv.jsonl",
        _conversation,
        {"label": "human_mean.faithfulness", "at_least": 3.0},
    ),
    "clapnq": ("clapnq/clapnq_dev.jsonl", lambda row: row["question"], {}),
}
"""File, cluster of a row, and how answers are labelled where statements are not."""


def read_set(name: str, folder: Path) -> tuple[JudgedRow, ...]:
    """The rows of a set, or of the sample's own labels for `sample` and `sample_sentences`."""
    if name.startswith("sample"):
        file = "sentences" if name == "sample_sentences" else "statements"
        return read_judged_rows(sample_folder() / "labels" / f"{file}.jsonl", cluster="id")
    path, cluster, settings = SETS[name]
    rows = read_judged_rows(folder / path, **settings)
    return tuple(replace(row, cluster=cluster(raw)) for row, raw in zip(rows, raw_rows(folder / path), strict=True))


def raw_rows(path: Path) -> Sequence[Row]:
    """The rows as they stand in the file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
