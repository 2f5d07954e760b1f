"""Tests of the charts of a run: they draw the report's values, and escape texts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragboard.analysis import Bin, Distribution, Group, ShareMeetingThreshold, Threshold
from ragboard.stats import Interval, NoInterval
from ragboard_dashboard.views.run.charts import SHAPES, decimals, groups_data, spread_data

NONE = NoInterval(reason="too few", n=0)
BETWEEN = Interval(estimate=0.5, low=0.4, high=0.6, level=0.95, n=4, method="t")


def spread(*values: float) -> Distribution:
    """Two bins over [0, 1], and every value as a quantile."""
    low = sum(value < 0.5 for value in values)
    return Distribution(
        column="m",
        bins=(Bin(low=0.0, high=0.5, count=low), Bin(low=0.5, high=1.0, count=len(values) - low)),
        quantiles=tuple(sorted(values)),
        scored=len(values),
        total=len(values),
        unscored={},
        mean=sum(values) / len(values) if values else None,
        interval=BETWEEN if values else NONE,
    )


def group(value: str, mean: float | None) -> Group:
    return Group(value=value, scored=2, total=3, mean=mean, interval=BETWEEN if mean else NONE)


def test_a_bin_says_how_many_samples_it_holds_and_how_many_lie_below_its_end() -> None:
    data = spread_data(spread(0.1, 0.6, 0.7, 0.8), "Histogram", "M", None)
    assert [one["text"] for one in data["bins"]] == [
        "0.00 to 0.50: 1 sample; 25% up to here",
        "0.50 to 1.00: 3 samples; 100% up to here",
    ]
    assert (data["top"], data["interval"], data["text"]) == (3, [0.4, 0.6], "mean 0.55")


def test_a_violin_is_densest_where_most_values_lie_and_ends_where_they_do() -> None:
    density = spread_data(spread(0.1, 0.5, 0.52, 0.54, 0.9), "Violin", "M", None)["density"]
    assert (density[0][0], density[-1][0]) == pytest.approx((0.1, 0.9))
    assert max(share for _, share in density) == pytest.approx(1.0)
    assert max(density, key=lambda one: one[1])[0] == pytest.approx(0.52, abs=0.05)


@pytest.mark.parametrize("shape", SHAPES)
def test_equal_values_and_none_at_all_can_be_drawn(shape: str) -> None:
    for values in ((0.5, 0.5, 0.5, 0.5), ()):
        data = spread_data(spread(*values), shape, "M", None)  # type: ignore[arg-type]
        assert data["low"] < data["high"]


@pytest.mark.parametrize("shape", SHAPES)
def test_without_quantiles_every_part_of_the_chart_says_histogram(shape: str) -> None:
    data = spread_data(spread(), shape, "M", None)  # type: ignore[arg-type]
    assert (data["shape"], data["name"], data["percent"]) == ("Histogram", "M: Histogram of 0 values", False)


def test_small_numbers_of_a_column_have_enough_decimals() -> None:
    small = Distribution(
        column="metadata.cost",
        bins=(Bin(low=0.0003, high=0.0018, count=1), Bin(low=0.0018, high=0.0033, count=1)),
        quantiles=(0.0003, 0.0033),
        scored=2,
        total=2,
        unscored={},
        mean=0.0018,
        interval=NONE,
    )
    data = spread_data(small, "Histogram", "cost", None)
    assert (data["text"], data["bins"][0]["text"][:17]) == ("mean 0.0018", "0.0003 to 0.0018:")
    groups = [Group(value=str(mean), scored=1, total=1, mean=mean, interval=NONE) for mean in (0.0018, 0.0033)]
    assert [row["shown"] for row in groups_data(groups, "cost")["rows"]] == ["0.0018", "0.0033"]
    assert [decimals(0.0, high) for high in (1.0, 290.0, 0.03)] == [2, 2, 3]


def test_a_threshold_is_drawn_if_it_is_within_the_chart() -> None:
    for value, expected in ((0.8, {"at": 0.8, "text": "at least 0.8"}), (1.5, None)):
        limit = Threshold(metric="m", value=value, fail="below")
        share = ShareMeetingThreshold(threshold=limit, good=1, n=2, interval=NONE)
        data = spread_data(replace(spread(0.1, 0.9), meeting_threshold=share), "Histogram", "M", None)
        assert data["threshold"] == expected
    assert spread_data(spread(0.1), "Histogram", "M", None)["threshold"] is None


def test_groups_share_a_scale_that_holds_every_interval_and_leave_out_those_without_a_mean() -> None:
    data = groups_data([group("x", 0.5), group("y", 0.3), group("z", None)], "M")
    assert [row["name"] for row in data["rows"]] == ["x", "y"]
    assert (data["low"], data["high"]) == (0.3, 0.6)
    assert data["rows"][0]["count"] == "2/3"


def test_groups_without_intervals_are_not_said_to_have_them() -> None:
    alone = replace(group("a", 0.5), interval=NONE)
    ends = groups_data([alone], "x")["ends"]
    assert ends.startswith("Means, on a scale")
    assert ends.endswith(f" No CI for a: {NONE.reason}.")


def test_groups_without_intervals_say_why_and_of_many_the_first_are_named() -> None:
    groups = [group("x", 0.1), *(replace(group(name, 0.5), interval=NONE) for name in "abcde")]
    ends = groups_data(groups, "x")["ends"]
    assert ends.startswith("Means with 95% CIs, on a scale")
    assert f"No CI for a: {NONE.reason}; b: " in ends
    assert ends.endswith("; and 2 more groups.")


def test_signs_that_turn_the_direction_of_writing_are_taken_from_names_of_groups() -> None:
    assert "\u202e" not in groups_data([group("a\u202eb", 0.5)], "M")["rows"][0]["name"]
