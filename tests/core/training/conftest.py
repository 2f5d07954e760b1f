"""Fixtures: training rows whose words reveal the label, and a model that learns them in a second."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.local_models import needed, small_model

from ragboard.export.ares import ares_tsv
from ragboard.readers.ares import AresRow

PARTS = {"train": 24, "validation": 12, "held out": 12}
WORDS = ("amber", "birch", "cedar", "dune", "ember", "fjord", "grove", "heath", "inlet", "knoll")


def rows_of(part: str, documents: int, seed: int) -> list[AresRow]:
    """Of each document one faithful answer and one that is not: it says the opposite."""
    chance = random.Random(f"{seed} {part}")
    texts = [f"{part} {seed} {number} {' '.join(chance.choices(WORDS, k=18))}" for number in range(documents)]
    return [
        AresRow(
            question="what is it",
            document=text,
            answer="yes it is so indeed" if holds else "no never not at all",
            answer_faithfulness=holds,
            document_id=f"{part} {number}",
            split=part,
            negative="" if holds else "strong",
        )
        for number, text in enumerate(texts)
        for holds in (True, False)
    ]


def write_rows(path: Path, rows: Sequence[AresRow]) -> Path:
    path.write_text(ares_tsv(rows), encoding="utf-8", newline="\n")
    return path


def all_rows(**seeds: int) -> list[AresRow]:
    """The rows of all parts; those of a part with another seed differ."""
    return [row for part, count in PARTS.items() for row in rows_of(part, count, seeds.get(part.split()[0], 0))]


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """So small a model is slower on several."""
    torch = needed("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(small_model(tmp_path_factory.mktemp("small")))


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("data") / "synthetic.tsv", all_rows())
