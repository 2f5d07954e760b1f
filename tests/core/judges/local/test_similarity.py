"""Tests of a real similarity cross-encoder."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ragboard import JudgeError
from ragboard.judges import embedder_named
from ragboard.judges.local import CrossSimilarity
from ragboard.tasks import Failure, Similarities, Similarity, Verify


def untaught(library: Any, encoder_folder: Path, folder: Path, labels: int) -> Path:
    """The encoder with a head of so many outputs."""
    encoder = library.CrossEncoder(str(encoder_folder), num_labels=labels, local_files_only=True)
    encoder.save_pretrained(str(folder), create_model_card=False)
    return folder


@pytest.fixture(scope="module")
def sts_folder(library: Any, encoder_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One output, as similarity models have it."""
    return untaught(library, encoder_folder, tmp_path_factory.mktemp("models") / "sts", labels=1)


def test_pairs_are_read_in_order_and_the_batch_changes_nothing(sts_folder: Path) -> None:
    judge = embedder_named(f"ce:{sts_folder}")
    first, second = Similarity(text="a cat", others=("a dog", "rain")), Similarity(text="snow", others=("hail",))
    together = asyncio.run(judge.answer([first, second, Similarity(text="x", others=())]))
    alone = [*asyncio.run(judge.answer([first])), *asyncio.run(judge.answer([second]))]
    for found, expected in zip(together, alone, strict=False):
        assert isinstance(found, Similarities)
        assert isinstance(expected, Similarities)
        assert found.values == pytest.approx(expected.values, abs=1e-5)
        assert all(0 <= value <= 1 for value in found.values)
    assert together[2] == Similarities(values=())


def test_an_output_that_is_no_similarity_fails_the_task(sts_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = CrossSimilarity(str(sts_folder))
    monkeypatch.setattr(judge, "_scores", lambda _: [1.5])
    (reply,) = asyncio.run(judge.answer([Similarity(text="a", others=("b",))]))
    assert reply == Failure(detail=f"ce:{sts_folder} returned a similarity outside [0, 1]")


def test_it_answers_nothing_else(sts_folder: Path) -> None:
    task = Verify(question="", statements=(), passages=(), joint=True, single=False)
    (reply,) = asyncio.run(CrossSimilarity(str(sts_folder)).answer([task]))
    assert isinstance(reply, Failure)
    assert "does not answer Verify" in reply.detail


def test_a_model_of_three_labels_compares_nothing(library: Any, encoder_folder: Path, tmp_path: Path) -> None:
    folder = untaught(library, encoder_folder, tmp_path / "nli", labels=3)
    with pytest.raises(JudgeError, match="is not a cross-encoder with one output; expected a similarity"):
        embedder_named(f"ce:{folder}")
