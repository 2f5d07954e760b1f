"""Tests of the Estimate page's HTML: judge accuracy, and escaped names."""

from __future__ import annotations

from dataclasses import replace

from tests.core.human.test_systems import system

from ragboard.human.systems import systems_report
from ragboard.stats import Interval
from ragboard_dashboard.views.estimate.page import estimates_html


def test_judge_accuracy_is_next_to_the_number_of_labels_with_its_interval() -> None:
    report = systems_report([system("<b>a", 0.7, seed=1)])
    (one,) = report.systems
    assert isinstance(one.accuracy, Interval)
    said = f"judge accuracy {one.accuracy.estimate:.3f} ({one.accuracy.low:.3f} to {one.accuracy.high:.3f})"
    shown = estimates_html(report, raw=False)
    assert f"120 of 400 samples labelled; {said}" in shown
    assert "<b>a" not in shown


def test_a_system_without_an_estimate_has_no_table() -> None:
    refused = replace(system("a", 0.7, seed=1), unusable_reason="not random")
    assert estimates_html(systems_report([refused]), raw=False) == ""
