"""Tests of a real sentence encoder."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ragboard import JudgeError
from ragboard.cli import main
from ragboard.judges import StEmbedder, embedder_named
from ragboard.tasks import Failure, Similarities, Similarity, Task, Verify

CAT = "The cat sleeps on the sofa."


@pytest.fixture(scope="module")
def embedder(library: Any, encoder_folder: Path) -> StEmbedder:
    assert library
    found = embedder_named(f"st:{encoder_folder}")
    assert isinstance(found, StEmbedder)
    return found


def ask(embedder: StEmbedder, *tasks: Task) -> list[Any]:
    return list(asyncio.run(embedder.answer(tasks)))


def test_a_paraphrase_is_nearer_than_another_subject(embedder: StEmbedder) -> None:
    near, far, same = ask(
        embedder, Similarity(text=CAT, others=("A kitten naps on the couch.", "Shares fell in Tokyo.", CAT))
    )[0].values
    assert near > far + 0.3
    assert same == pytest.approx(1.0, abs=1e-5)


def test_a_batch_embeds_each_text_once(embedder: StEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    embedded: list[list[str]] = []
    vectors: Callable[[Any], Any] = embedder._vectors
    monkeypatch.setattr(embedder, "_vectors", lambda texts: embedded.append(list(texts)) or vectors(texts))
    ask(embedder, Similarity(text="a", others=("b", "a")), Similarity(text="b", others=("c",)))
    assert embedded == [["a", "b", "c"]]


def test_empty_and_hostile_texts_are_failures_or_scores(embedder: StEmbedder) -> None:
    empty, nothing, hostile = ask(
        embedder,
        Similarity(text=" ", others=("a",)),
        Similarity(text="a", others=()),
        Similarity(text="\ud800", others=("\x00a", "b" * 9000)),
    )
    assert empty == Failure(detail="an empty text has no embedding")
    assert nothing == Similarities(values=())
    assert len(hostile.values) == 2


def test_it_answers_nothing_else_and_says_which_model(embedder: StEmbedder, encoder_folder: Path) -> None:
    (reply,) = ask(embedder, Verify(question="", statements=(), passages=(), joint=True, single=False))
    assert "does not answer Verify" in reply.detail
    assert embedder.name == f"st:{encoder_folder}"
    assert embedder.identity(Similarity) == StEmbedder(str(encoder_folder)).identity(Similarity)


@pytest.mark.usefixtures("library")
def test_a_folder_that_is_no_sentence_encoder_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(JudgeError, match=r"contains no modules\.json; expected the folder of a sentence-transformers"):
        embedder_named(f"st:{tmp_path}")


def test_an_evaluation_compares_with_it(encoder_folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run.jsonl"
    run.write_text('{"question": "What is red?", "answer": "It is red.", "contexts": ["x"]}\n', encoding="utf-8")
    arguments = ["evaluate", str(run), "--metrics", "ragas.answer_relevance", "--embed", f"st:{encoder_folder}"]
    done = CliRunner().invoke(main, [*arguments, "--store", str(tmp_path / "store")])
    assert done.exit_code == 0, done.output
    assert "0 answered earlier" in done.stderr
    assert "failed" not in done.stderr
