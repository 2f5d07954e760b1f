"""Tests of the Diagnosis page's HTML: a row for each rule, and the drawn interval."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragboard.analysis import RULES, Diagnosis, Figure, Finding, HallucinationQuery, NotTriggered, Rule
from ragboard.analysis.diagnosis import GroupComparisons
from ragboard.stats import Interval
from ragboard_dashboard.views.diagnosis.page import figure_html, finding_html, rules_html

INTERVAL = Interval(estimate=0.5, low=0.25, high=0.625, level=0.95, n=40, method="Student's t <b>")


def found(rule: Rule) -> Finding:
    figure = Figure(quantity=rule.quantity, label="Label", interval=INTERVAL)
    return Finding(rule=rule, component=rule.component, sentence="<i>so</i>", figure=figure, query=HallucinationQuery())


@pytest.mark.parametrize(
    ("name", "left", "width", "limit"),
    [("retriever-misses", 25, 37.5, 70), ("lost-in-retrieval", 62.5, 18.75, 55)],
)
def test_an_interval_is_drawn_within_the_bounds_of_its_quantity(
    name: str, left: float, width: float, limit: float
) -> None:
    html = figure_html(found(next(rule for rule in RULES if rule.id == name)))
    assert f'class="rb-bar" style="left:{left:.1f}%;width:{width:.1f}%"' in html
    assert f'class="rb-threshold" style="left:{limit:.1f}%"' in html
    assert all(f">{end}</i>" in html for end in ("threshold 0.7", 0, 1)) or all(
        f">{end}</i>" in html for end in ("threshold 0.1", -1, 1)
    )
    assert "Student&#x27;s t &lt;b&gt;" in html


def test_a_finding_is_text_and_says_of_whom_it_speaks() -> None:
    html = finding_html(found(RULES[0]))
    assert "Retriever</div>" in html
    assert "&lt;i&gt;so&lt;/i&gt;" in html


def test_what_another_run_shows_comes_before_the_advice() -> None:
    one = replace(found(RULES[0]), component="generator", evidence="<b>good</b> reaches 0.9")
    html = finding_html(one)
    assert "Generator</div>" in html
    assert html.index("&lt;b&gt;good&lt;/b&gt; reaches 0.9") < html.index("Change the generator")


def test_a_finding_says_what_it_explains_where_that_is_anything() -> None:
    one = found(next(rule for rule in RULES if rule.id == "retriever-misses"))
    assert "Explains" not in finding_html(one)
    assert "Affects at least 38% of an average reference&#x27;s claims." in finding_html(replace(one, min_impact=0.375))


def test_every_evaluated_rule_has_a_row_with_its_result() -> None:
    silent = tuple(
        NotTriggered(rule=rule, state="not evaluated", figure=None, missing=("ragchecker.<b>",)) for rule in RULES[2:]
    )
    html = rules_html(
        Diagnosis(
            run="r",
            judged=None,
            overruled=0,
            samples=1,
            question_count=1,
            references=0,
            attribution_note="",
            findings=(found(RULES[0]), replace(found(RULES[1]), hint_reason="not validated")),
            suspected=(),
            not_triggered=silent,
            missing=(),
            unsupported=0,
            statements=0,
            questions=(),
            passages=(),
            weak_groups=(),
            comparisons=GroupComparisons(lowest=(), too_small=(), groups=0, metrics=(), columns=()),
        )
    )
    assert html.count("<tr>") == 2 + 1, "rules that need metrics have no row"
    assert html.count("● flagged") == 1
    assert "not evaluated" not in html
    assert html.count("◐ hint") == 1
