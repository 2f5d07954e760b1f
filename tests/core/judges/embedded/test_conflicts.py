"""Tests of contradicted verdicts: they are rare and right.

Two authors who had not seen the rules wrote `conflicts_1.tsv` and `conflicts_2.tsv`; no rule was changed for them. The
columns are the label, the type of difference, the statement, and the passage.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ragboard.judges.embedded.statements import extract
from ragboard.judges.embedded.verify import verify
from ragboard.records import Label
from ragboard.tasks import Verify

PRECISION = 0.8


def labels(statements: Sequence[str], passages: Sequence[str]) -> list[Label]:
    task = Verify(question="", statements=tuple(statements), passages=tuple(passages), joint=True, single=False)
    return [verdict.label for verdict in verify(task).joint]


@pytest.fixture(scope="module")
def rows() -> list[list[str]]:
    """Of both files."""
    found: list[list[str]] = []
    for name in ("conflicts_1.tsv", "conflicts_2.tsv"):
        lines = (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()
        assert lines[0].split("\t") == ["label", "kind", "statement", "passage"]
        found += [line.split("\t") for line in lines[1:]]
    return found


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_files_have_rows_of_every_label_and_none_twice(rows: list[list[str]]) -> None:
    assert {len(row) for row in rows} == {4}
    assert Counter(label for label, *_ in rows) == {"contradicted": 220, "supported": 140, "unsupported": 80}
    assert len({tuple(row[2:]) for row in rows}) == len(rows)


def test_what_is_called_contradicted_is_contradicted(rows: list[list[str]]) -> None:
    """28 of 220 are found, and 4 others are called contradicted."""
    fired = Counter(label for label, _, said, passage in rows if labels([said], [passage]) == ["contradicted"])
    assert fired.total() >= 30
    assert fired["contradicted"] / fired.total() >= PRECISION, fired


def test_the_verdicts_on_the_files_are_those_of_the_page(rows: list[list[str]]) -> None:
    """`docs/background/judges.md` shows them as a table."""
    found = Counter((label, labels([said], [passage])[0]) for label, _, said, passage in rows)
    order: tuple[Label, ...] = ("supported", "unsupported", "contradicted")
    page = (Path(__file__).parents[4] / "docs" / "background" / "judges.md").read_text(encoding="utf-8")
    for label in order:
        assert f"| {label} | " + " | ".join(str(found[label, other]) for other in order) + " |" in page


def test_refuted_claims_of_factcheck_gpt_are_found_and_hardly_any_other(data: Path) -> None:
    rows = read_rows(data / "factcheck_gpt" / "claim_evidence_stance.jsonl")
    fired = Counter(
        statement["label_raw"]
        for row in rows
        for statement in row["statements"]
        if labels([statement["text"]], row["contexts"]) == ["contradicted"]
    )
    assert fired["refute"] >= 6
    assert fired["refute"] / fired.total() >= PRECISION, fired


def test_no_statement_of_an_answer_of_mtrag_is_called_contradicted(data: Path) -> None:
    """Its statements have no labels of their own: one that is called contradicted has to be read."""
    found: list[Label] = []
    for row in read_rows(data / "mtrag" / "mtrag_human_eval_12conv.jsonl"):
        found += labels([each.text for each in extract(row["answer"]).statements], row["contexts"])
    assert len(found) > 1500
    assert "contradicted" not in found
