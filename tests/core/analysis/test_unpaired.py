"""Tests of listing unpaired samples with the reason."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples

from ragboard import Run, Sample, Store, Turn
from ragboard.analysis import UnpairedSample, compare_runs, pair_runs, unpaired_samples

BEFORE, EARLIER = (Turn(role="user", text="Before?"),), (Turn(role="user", text="Earlier?"),)


def keep(store: Store, a: list[Sample], b: list[Sample]) -> None:
    store.add_runs([Run(name="a", samples=tuple(a)), Run(name="b", samples=tuple(b))])


def listed(store: Store, a: str = "a", b: str = "b") -> tuple[UnpairedSample, ...]:
    return unpaired_samples(store, store.resolve(a), store.resolve(b))


def test_each_reason_is_different(store: Store) -> None:
    def sample(identity: str, question: str, history: tuple[Turn, ...] = ()) -> Sample:
        return Sample(id=identity, question=question, history=history)

    keep(
        store,
        [
            sample("paired", "Paired?"),
            sample("gone", "Gone?"),
            sample("written", "How  is it Written?"),
            sample("renamed", "Old?"),
            sample("more1", "More?"),
            sample("more2", "More?"),
            sample("twice1", "Twice?"),
            sample("twice2", "Twice?"),
            sample("turn", "And then?", BEFORE),
            sample("other", "Why?", BEFORE),
            sample("bare", "Who?"),
        ],
        [
            sample("paired", "Paired?"),
            sample("w", "how is it written?"),
            sample("renamed", "New?"),
            sample("more1", "More?"),
            sample("x1", "Twice?"),
            sample("x2", "Twice?"),
            sample("x3", "Twice?"),
            sample("turn", "And then?"),
            sample("other", "Why?", EARLIER),
            sample("bare", "Who?", BEFORE),
        ],
    )
    assert [(one.run, one.sample_id, one.reason) for one in listed(store)] == [
        ("A", "gone", "no such question in B"),
        ("A", "written", "differs from a question in B in case or white space"),
        ("A", "renamed", "another question with this id in B"),
        ("A", "more2", "asked more often in A than in B"),
        ("A", "twice1", "asked twice in A and asked 3 times in B"),
        ("A", "twice2", "asked twice in A and asked 3 times in B"),
        ("A", "turn", "no conversation history in B"),
        ("A", "other", "another conversation history in B"),
        ("A", "bare", "no conversation history in A"),
        ("B", "w", "differs from a question in A in case or white space"),
        ("B", "renamed", "another question with this id in A"),
        ("B", "x1", "asked twice in A and asked 3 times in B"),
        ("B", "x2", "asked twice in A and asked 3 times in B"),
        ("B", "x3", "asked twice in A and asked 3 times in B"),
        ("B", "turn", "no conversation history in B"),
        ("B", "other", "another conversation history in A"),
        ("B", "bare", "no conversation history in A"),
    ]
    found = compare_runs(store, store.resolve("a"), store.resolve("b"))
    assert found.unpaired_a.reasons["asked twice in A and asked 3 times in B"] == 2
    assert (found.unpaired_a.only, found.unpaired_a.ambiguous) == (7, 2)


def test_a_history_column_that_was_not_mapped_is_named_with_the_mend(store: Store) -> None:
    """159 questions of conversations, of which 20 are first turns: only these can be paired."""
    turns = [BEFORE if number >= 20 else () for number in range(159)]
    keep(
        store,
        [Sample(id=f"s{at}", question=f"Question {at}?", history=turn) for at, turn in enumerate(turns)],
        [
            Sample(id=f"s{at}", question=f"Question {at}?", metadata={"prior_turns": [one.text for one in turn]})
            for at, turn in enumerate(turns)
        ],
    )
    found = compare_runs(store, store.resolve("a"), store.resolve("b"))
    assert (found.paired, found.unpaired_a.reasons) == (20, {"no conversation history in B": 139})
    assert found.cautions[0] == (
        "139 of the 159 questions of A are not paired because B has them without a conversation history. Import B again"
        " with its history column: --map history=prior_turns"
    )
    back = compare_runs(store, store.resolve("b"), store.resolve("a"))
    assert back.cautions[0].startswith("139 of the 159 questions of B are not paired because A has them without")


SAMPLES = st.lists(
    st.builds(
        Sample,
        id=st.sampled_from("abcd"),
        question=st.sampled_from(["x", "X", "y", "z"]),
        history=st.sampled_from([(), BEFORE, EARLIER]),
    ),
    min_size=1,
    max_size=8,
)
SWAPPED = str.maketrans("AB", "BA")


@given(SAMPLES, SAMPLES)
@examples(40)
def test_the_list_is_complete_and_swapping_the_runs_mirrors_it(a: list[Sample], b: list[Sample]) -> None:
    with TemporaryDirectory() as folder:
        store = Store(Path(folder))
        keep(store, a, b)
        forth, back = listed(store), listed(store, "b", "a")
        pairs = pair_runs(store, store.resolve("a"), store.resolve("b"))
    assert len(forth) == sum(
        places.size for places in (pairs.only_a, pairs.only_b, pairs.ambiguous_a, pairs.ambiguous_b)
    )
    mirrored = [(one.run.translate(SWAPPED), one.sample_id, swapped(one.reason)) for one in back]
    assert sorted((one.run, one.sample_id, one.reason) for one in forth) == sorted(mirrored)


def swapped(reason: str) -> str:
    """A reason with A and B changed over; of a repeated question A is told first."""
    parts = reason.translate(SWAPPED).split(" and asked ")
    if len(parts) == 2:
        parts = [parts[1], parts[0].removeprefix("asked ")]
        return f"asked {parts[0]} and asked {parts[1]}"
    return parts[0]
