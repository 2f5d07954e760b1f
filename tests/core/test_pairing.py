"""Tests of pairing samples: every sample is paired or listed, and ambiguous ones are not paired."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.core.pairing import pair_samples

from ragboard import Sample, Turn


def sample(identity: str, question: str, said: str = "") -> Sample:
    return Sample(id=identity, question=question, history=(Turn(role="user", text=said),) if said else ())


def test_the_same_id_and_question_are_a_pair_at_any_position() -> None:
    found = pair_samples([sample("1", "x"), sample("2", "y")], [sample("2", "y"), sample("1", "x")])
    assert found.pairs == ((0, 1), (1, 0))


def test_another_id_is_paired_by_its_question() -> None:
    found = pair_samples([sample("1", "x")], [sample("a", "x")])
    assert found.pairs == ((0, 0),)


def test_an_id_with_another_question_is_no_pair() -> None:
    found = pair_samples([sample("1", "x")], [sample("1", "y")])
    assert (found.pairs, found.only_a, found.only_b) == ((), (0,), (0,))


def test_a_repeated_question_is_paired_only_by_id() -> None:
    twice = [sample("1", "x"), sample("2", "x")]
    assert pair_samples(twice, [sample("2", "x"), sample("1", "x")]).pairs == ((0, 1), (1, 0))
    unsure = pair_samples(twice, [sample("a", "x")])
    assert (unsure.pairs, unsure.ambiguous_a, unsure.ambiguous_b) == ((), (0, 1), (0,))


def test_the_same_question_after_another_history_is_another_one() -> None:
    found = pair_samples([sample("1", "x", "before")], [sample("2", "x")])
    assert (found.only_a, found.only_b) == ((0,), (0,))


SAMPLES = st.lists(st.builds(sample, st.sampled_from("abc"), st.sampled_from("xyz")), max_size=6)


@given(SAMPLES, SAMPLES)
def test_every_sample_is_in_exactly_one_place_and_pairs_ask_the_same(a: list[Sample], b: list[Sample]) -> None:
    found = pair_samples(a, b)
    for place, only, unsure, all_ in (
        (0, found.only_a, found.ambiguous_a, a),
        (1, found.only_b, found.ambiguous_b, b),
    ):
        paired = [pair[place] for pair in found.pairs]
        assert sorted([*paired, *only, *unsure]) == list(range(len(all_)))
    assert all(a[one].question == b[other].question for one, other in found.pairs)


@given(SAMPLES, SAMPLES)
def test_which_run_comes_first_does_not_matter(a: list[Sample], b: list[Sample]) -> None:
    forth, back = pair_samples(a, b), pair_samples(b, a)
    assert set(forth.pairs) == {(one, other) for other, one in back.pairs}
