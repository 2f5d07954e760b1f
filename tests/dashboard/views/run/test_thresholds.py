"""Tests of thresholds on the Run page."""

from __future__ import annotations

from ragboard.analysis import ShareMeetingThreshold, Threshold
from ragboard.stats import NoInterval, wilson_interval
from ragboard_dashboard.views.run.page import share_line

LIMIT = Threshold(metric="m", value=0.8, fail="below")


def test_the_share_that_reaches_it_is_reported_in_one_line_with_its_interval() -> None:
    share = ShareMeetingThreshold(threshold=LIMIT, good=3, n=4, interval=wilson_interval(0.75, 4))
    assert share_line(share) == "3 of 4 at least 0.8: 75% (30% to 95%)"


def test_without_a_sample_that_counts_there_is_no_percentage() -> None:
    share = ShareMeetingThreshold(threshold=LIMIT, good=0, n=0, interval=NoInterval(reason="none", n=0))
    assert share_line(share) == "0 of 0 at least 0.8"
