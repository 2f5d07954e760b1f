"""Tests of stores of earlier versions: read, resumed, and with the same run ids."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ragboard import Store
from ragboard.analysis import run_summary
from ragboard.cli import main

OLD = Path(__file__).parent / "old"
SCHEMAS = sorted(OLD.glob("*.tar.xz"))


@pytest.fixture(params=SCHEMAS, ids=lambda path: path.name.partition(".")[0])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path, filter="data")
    return Store(tmp_path)


def command(store: Store, *arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--store", str(store.folder)])


def test_its_scores_are_shown(old: Store) -> None:
    summary = run_summary(old, old.resolve("old"))
    shown = {spec: (metric.mean, metric.scored) for spec, metric in summary.metrics.items()}
    assert shown == {
        "ragas.faithfulness": (pytest.approx(2.5 / 3), 3),
        "ragas.answer_relevance": (pytest.approx(0.53428, abs=1e-5), 3),
    }
    assert summary.judged is not None
    assert summary.judged.part == "3 of 4 samples evaluated"


def test_its_evaluation_continues_and_asks_only_what_is_missing(old: Store) -> None:
    before = old.resolve("old").evaluation_id
    judge = f"replay:{OLD / 'recording.jsonl'}"
    done = command(old, "evaluate", "old", "--judge", judge, "--metrics", "faithfulness,answer_relevance", "--json")
    assert done.exit_code == 0, done.output
    (evaluation,) = json.loads(done.stdout)["evaluations"]
    assert (evaluation["asked"], evaluation["replayed"]) == (4, 12)
    assert evaluation["evaluation"]["id"] == before


def test_the_same_file_with_reordered_keys_is_the_same_run(old: Store, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (OLD / "answers.jsonl").read_text("utf-8").splitlines()]
    turned = [dict(reversed(row.items())) | {"nested": dict(sorted(row["nested"].items()))} for row in rows]
    file = tmp_path / "turned.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in turned), encoding="utf-8")
    done = command(old, "import", str(file), "--name", "old", "--config", "k=2", "--json")
    assert done.exit_code == 0, done.output
    (run,) = json.loads(done.stdout)["runs"]
    assert (run["id"], run["added"]) == (old.resolve("old").run_id, False)


def test_another_file_of_that_name_is_still_refused(old: Store, tmp_path: Path) -> None:
    file = tmp_path / "other.jsonl"
    file.write_text((OLD / "answers.jsonl").read_text("utf-8").replace("2000", "2001"), encoding="utf-8")
    done = command(old, "import", str(file), "--name", "old", "--config", "k=2")
    assert done.exit_code == 2
    assert "another run is already called 'old'" in done.output
