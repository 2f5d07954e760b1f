"""Tests of significance tests against scipy and statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ttest_ind

from ragboard.stats import group_difference, holm, mcnemar, paired_difference, sign_test


def test_the_sign_test_is_the_binomial_test(rng: np.random.Generator) -> None:
    wins, losses = (int(count) for count in rng.integers(0, 60, 2))
    theirs = scipy.binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    assert sign_test(wins, losses).p == pytest.approx(theirs, rel=1e-9)


def test_mcnemars_test_is_the_exact_one_of_statsmodels(rng: np.random.Generator) -> None:
    first, second = rng.random((2, int(rng.integers(2, 120)))) < rng.uniform(0.2, 0.8, (2, 1))
    found = mcnemar(first.tolist(), second.tolist())
    table = [[np.sum(first & second), np.sum(first & ~second)], [np.sum(~first & second), np.sum(~first & ~second)]]
    assert (found.losses, found.wins) == (table[0][1], table[1][0])
    theirs = statsmodels_mcnemar(table, exact=True).pvalue if found.wins + found.losses else 1.0
    assert found.p == pytest.approx(theirs, rel=1e-9)


def test_holms_adjustment_is_that_of_statsmodels(rng: np.random.Generator) -> None:
    p_values = rng.uniform(0, 1, int(rng.integers(1, 12))) ** 3
    p_values = p_values.round(int(rng.integers(1, 9)))  # ties among them
    assert holm(p_values.tolist()) == pytest.approx(multipletests(p_values, method="holm")[1], abs=1e-12)


def test_the_p_of_two_groups_is_welchs(rng: np.random.Generator) -> None:
    ours = rng.normal(0, 1, int(rng.integers(15, 80)))
    others = rng.normal(rng.uniform(0, 1), rng.uniform(0.5, 3), int(rng.integers(15, 80)))
    found = group_difference(ours, others)
    assert found.p_method == "Welch's t"
    assert found.p == pytest.approx(scipy.ttest_ind(ours, others, equal_var=False).pvalue, rel=1e-9)
    assert found.p == pytest.approx(ttest_ind(ours, others, usevar="unequal")[1], rel=1e-9)
    assert found.difference == pytest.approx(np.mean(ours) - np.mean(others), abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_p_of_groups_of_few_values_is_that_of_a_permutation_test(seed: int) -> None:
    """Both are drawn, 5,000 and 20,000 times: to two Monte Carlo errors of each."""
    rng = np.random.default_rng(seed)
    ours, others = (rng.random(9) < 0.7).astype(float), (rng.random(14) < 0.4).astype(float)
    theirs = scipy.permutation_test(
        (ours, others), lambda x, y: abs(np.mean(x) - np.mean(y)), n_resamples=20_000, alternative="greater", rng=rng
    ).pvalue
    assert group_difference(ours, others).p == pytest.approx(
        theirs, abs=4 * np.sqrt(theirs * (1 - theirs) / 5000) + 1e-3
    )


def test_a_paired_difference_counts_wins_as_the_sign_test_of_statsmodels_does(rng: np.random.Generator) -> None:
    first, second = rng.beta(2, 2, (2, int(rng.integers(5, 60)))).round(1)
    found = paired_difference(first, second, bounds=(-1.0, 1.0))
    wins, losses = int(np.sum(second > first)), int(np.sum(second < first))
    assert (found.sign.wins, found.sign.losses, found.ties) == (wins, losses, first.size - wins - losses)
    assert found.difference == pytest.approx(np.mean(second - first), abs=1e-12)
    assert found.sign.p == pytest.approx(scipy.binomtest(wins, wins + losses).pvalue, rel=1e-9)
