"""Tests of the WikiEval format, from a corpus to human preferences and back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.chat_server import chat_server

from ragboard import Store
from ragboard.cli import main
from ragboard.human.annotation import draw_samples
from ragboard.human.labels import prefer_answer
from ragboard.readers.labels import read_labels


def ragboard(*arguments: object) -> str:
    done = CliRunner().invoke(main, [str(each) for each in arguments])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    documents = Path(__file__).parents[3] / "sample_data" / "documents"
    out = tmp_path_factory.mktemp("pairs")
    with chat_server() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "k")
        judge = ("--judge", "openai:m", "--base-url", server.url)
        ragboard("synth", documents, "--out", out, "--kind", "wikieval", "--passages", 3, "--questions", 1, *judge)
    return out / "wikieval.jsonl"


def test_what_is_made_is_read_as_pairs_with_the_side_that_the_design_prefers(pairs: Path) -> None:
    found = read_labels(str(pairs))
    assert found.form == "pairs"
    assert len(found.items) >= 3 * len(pairs.read_text(encoding="utf-8").splitlines()) > 0
    assert "pairs judged by embedded" in ragboard("agree", pairs)


def test_a_person_chooses_between_both_answers_and_the_choices_are_held_against_a_judge(
    pairs: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "store"
    for name in ("grounded", "ungrounded"):
        mapped = ("--map", f"answer={name}_answer", "--map", "contexts=context_v1")
        ragboard("import", pairs, "--name", name, *mapped, "--store", folder)
    store = Store(folder)
    one, other = store.resolve("grounded"), store.resolve("ungrounded")
    drawn = draw_samples(store, one, size=2, kind="preference", against=other)
    ids = {position: sample.id for position, sample in store.samples(one.run_id)}
    for position in drawn.positions:
        prefer_answer(store, one, ids[position], other, ids[position], "a", annotator="ada", queue="random")
    labels = tmp_path / "labels.jsonl"
    ragboard("labels", "export", "-o", labels, "--store", folder)
    said = [json.loads(line) for line in labels.read_text(encoding="utf-8").splitlines()]
    assert len(said) == 2
    chosen = {row[row["preferred"]] for row in said}
    grounded = {json.loads(line)["grounded_answer"] for line in pairs.read_text(encoding="utf-8").splitlines()}
    assert chosen <= grounded
    assert "2 pairs judged by embedded" in ragboard("agree", labels)


def test_what_no_judge_wrote_is_counted_by_its_reason_in_json(tmp_path: Path) -> None:
    documents = Path(__file__).parents[3] / "sample_data" / "documents"
    said = json.loads(
        ragboard(
            "synth", documents, "--out", tmp_path, "--kind", "wikieval", "--passages", 3, "--questions", 1, "--json"
        )
    )
    assert said["failed"]
    assert all(isinstance(count, int) for count in said["failed"].values())
