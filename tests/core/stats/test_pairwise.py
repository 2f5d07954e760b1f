"""Tests of pairs: four ways to count ties, missing scores, and winners."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragboard.stats import Interval, NoInterval, Pair, mcnemar_test, outcomes, pairwise_accuracy, wilson_interval
from ragboard.stats.pairwise import Ties

WON, LOST, TIED = (0.9, 0.1), (0.1, 0.9), (0.5, 0.5)


def pairs(*scores: tuple[float | None, float | None]) -> list[Pair]:
    return [Pair(id=f"p{number}", preferred=ours, other=theirs) for number, (ours, theirs) in enumerate(scores)]


SOME = pairs(*[WON] * 6, *[LOST] * 2, TIED, TIED, (None, 0.5), (0.5, None))


@pytest.mark.parametrize(("ties", "accuracy", "n"), [("half", 0.7, 10), ("loss", 0.6, 10), ("exclude", 0.75, 8)])
def test_what_a_tie_counts(ties: Ties, accuracy: float, n: int) -> None:
    found = pairwise_accuracy(SOME, ties=ties)
    assert found.accuracy == pytest.approx(accuracy)
    assert (found.n, found.wins, found.ties, found.losses, found.unscored) == (n, 6, 2, 2, 2)
    assert found.wilson == wilson_interval(found.accuracy or 0.0, n)


def test_a_random_tie_depends_only_on_its_id_and_the_seed() -> None:
    tied = pairs(*[TIED] * 400)
    tossed = outcomes(tied, seed=3)
    assert outcomes(list(reversed(tied)), seed=3) == tossed
    assert outcomes(tied, seed=4) != tossed
    assert 0.4 < (pairwise_accuracy(tied, seed=3).accuracy or 0.0) < 0.6


def test_an_interval_by_drawing_again_holds_the_accuracy() -> None:
    found = pairwise_accuracy(pairs(*[WON] * 30, *[LOST] * 20))
    assert isinstance(found.bootstrap, Interval)
    assert isinstance(found.wilson, Interval)
    assert found.bootstrap.low == pytest.approx(found.wilson.low, abs=0.04)
    assert found.bootstrap.high == pytest.approx(found.wilson.high, abs=0.04)


def test_pairs_of_one_question_are_drawn_together() -> None:
    many = pairs(*[WON] * 30, *[LOST] * 30)
    groups = {pair.id: number // 5 for number, pair in enumerate(many)}
    alone, together = (pairwise_accuracy(many, groups=given).bootstrap for given in (None, groups))
    assert isinstance(alone, Interval)
    assert isinstance(together, Interval)
    assert together.n == 12
    assert together.high - together.low > 1.5 * (alone.high - alone.low)


def test_no_pair_that_counts_has_no_accuracy() -> None:
    found = pairwise_accuracy(pairs(TIED, (None, None)), ties="exclude")
    assert found.accuracy is None
    assert found.wilson == found.bootstrap == NoInterval(reason="no pair counts", n=0)


def test_an_id_occurs_once() -> None:
    with pytest.raises(ValueError, match="same id"):
        outcomes([*pairs(WON), *pairs(LOST)])


def test_contenders_are_compared_on_the_pairs_that_count_for_both() -> None:
    """The second is right four times where the first is not: p = 2 / 16."""
    first = outcomes(pairs(*[LOST] * 4, WON, (None, 1.0)))
    second = outcomes(pairs(*[WON] * 6))
    found = mcnemar_test(first, second)
    assert (found.wins, found.losses, found.p) == (4, 0, pytest.approx(0.125))


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0])), min_size=1))
def test_half_is_between_loss_and_the_share_without_ties(scores: list[tuple[float, float]]) -> None:
    some = pairs(*scores)
    half, loss = (outcomes(some, ties=ties) for ties in ("half", "loss"))
    assert all((half[name] or 0.0) >= (loss[name] or 0.0) for name in half)
    turned = outcomes([Pair(id=pair.id, preferred=pair.other, other=pair.preferred) for pair in some], ties="half")
    assert all((half[name] or 0.0) + (turned[name] or 0.0) == 1 for name in half)
