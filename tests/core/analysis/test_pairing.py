"""Tests of pairing samples: SQL and Python give the same pairs."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples
from tests.core.pairing import pair_samples

from ragboard import Run, Sample, Store, Turn
from ragboard.analysis import pair_runs


def sample(identity: str, question: str, said: str) -> Sample:
    return Sample(id=identity, question=question, history=(Turn(role="user", text=said),) if said else ())


SAMPLES = st.lists(
    st.builds(sample, st.sampled_from("abcd"), st.sampled_from(["x", "y", "z", "'z"]), st.sampled_from(["", "", "h"])),
    min_size=1,
    max_size=8,
)


@given(SAMPLES, SAMPLES)
@examples(40)
def test_the_database_pairs_as_python_does(a: list[Sample], b: list[Sample]) -> None:
    with TemporaryDirectory() as folder:
        store = Store(Path(folder))
        store.add_runs([Run(name="a", samples=tuple(a)), Run(name="b", samples=tuple(b))])
        found = pair_runs(store, store.resolve("a"), store.resolve("b"))
    expected = pair_samples(a, b)
    assert tuple(zip(found.a.tolist(), found.b.tolist(), strict=True)) == expected.pairs
    for name in ("only_a", "only_b", "ambiguous_a", "ambiguous_b"):
        assert tuple(getattr(found, name).tolist()) == getattr(expected, name)
    assert found.by_question == expected.by_question
