"""Tests of pairs with the same passages: stored digests and the passages themselves give the same result."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples

from ragboard import Passage, Run, Sample, Store
from ragboard.analysis import pair_runs
from ragboard.analysis.paired import same_passage_sets, same_passages
from ragboard.store.queries import rollups

CONTEXTS = st.one_of(st.none(), st.lists(st.sampled_from(["x", "y", ""]), max_size=3))
PAIRS = st.lists(st.tuples(CONTEXTS, CONTEXTS) | CONTEXTS.map(lambda one: (one, one)), min_size=1, max_size=4)
"""The texts of the passages of each question in two runs, often the same ones."""


def sample(number: int, texts: list[str] | None) -> Sample:
    passages = (
        None
        if texts is None
        else tuple(Passage(id=str(rank), text=text, rank=rank) for rank, text in enumerate(texts, 1))
    )
    return Sample(id=f"s{number}", question=f"question {number}", answer="", contexts=passages)


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("extra", [0, 1])
@given(pairs=PAIRS)
@examples(15)
def test_passages_are_compared_as_python_does(
    stored: bool, extra: int, pairs: list[tuple[list[str] | None, ...]]
) -> None:
    first, second = (
        [sample(number, texts) for number, texts in enumerate(of_run)] for of_run in zip(*pairs, strict=True)
    )
    second = [sample(100 + number, ["z"]) for number in range(extra)] + second  # other positions
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(rollups, "MIN_SAMPLES", 1 if stored else 1_000)
        store = Store(Path(folder))
        store.add_runs([Run(name="a", samples=tuple(first)), Run(name="b", samples=tuple(second))])
        a, b = store.resolve("a"), store.resolve("b")
        paired = pair_runs(store, a, b)
        with store.database.read() as connection:
            in_order = same_passages(connection, a, b, paired)
            sets = same_passage_sets(connection, a, b, paired).tolist()
    assert in_order == all(one is not None and one == other for one, other in pairs)
    assert sets == [bool(one) and bool(other) and sorted(one or ()) == sorted(other or ()) for one, other in pairs]
