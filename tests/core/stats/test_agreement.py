"""Agreement: by hand, and against scipy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from ragboard.stats import auroc, confusion


def test_auroc_by_hand() -> None:
    """Pairs (.9, .5), (.9, .2), (.5, .5), (.5, .2): three wins and a tie of four."""
    assert auroc([0.9, 0.5, 0.5, 0.2], [True, True, False, False]) == 3.5 / 4


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=60))
def test_auroc_is_the_mann_whitney_statistic_of_scipy(pairs: list[tuple[int, bool]]) -> None:
    ups = [score for score, positive in pairs if positive]
    downs = [score for score, positive in pairs if not positive]
    if not ups or not downs:
        with pytest.raises(ValueError, match="at least one of each"):
            auroc(*zip(*pairs, strict=True))
        return
    theirs = mannwhitneyu(ups, downs, method="asymptotic").statistic / (len(ups) * len(downs))
    assert auroc(*zip(*pairs, strict=True)) == pytest.approx(theirs)


def test_confusion_counts_truth_by_said() -> None:
    assert confusion(["a", "b", "b"], ["a", "a", "b"]) == {("a", "a"): 1, ("a", "b"): 1, ("b", "b"): 1}
