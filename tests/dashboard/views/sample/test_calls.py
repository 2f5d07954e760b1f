"""Tests of the HTML of a sample's calls: all texts are escaped."""

from __future__ import annotations

from ragboard.evaluation.calls import Message, SampleCalls, TaskCalls
from ragboard_dashboard.views.sample.page import calls_html

HOSTILE = "<img src=x onerror=alert(1)> & \u202eabc"


def call(**given: object) -> TaskCalls:
    said: dict[str, object] = {
        "task": HOSTILE,
        "judge": HOSTILE,
        "origin": "asked",
        "messages": tuple(Message(role=role, text=HOSTILE) for role in ("prompt", "reply", "prompt", "reply")),
        "no_prompt": "",
        "outcome": HOSTILE,
        "failed": False,
        "calls": 2,
        "uncounted": 0,
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "cost": 0.00028,
    }
    return TaskCalls(**(said | given))  # type: ignore[arg-type]


def test_nothing_in_a_prompt_or_a_reply_is_markup() -> None:
    html = calls_html(SampleCalls(tasks=(call(no_prompt=HOSTILE),), missing=""))
    assert "<img" not in html
    assert "\u202e" not in html
    assert html.count("&lt;img src=x onerror=alert(1)&gt;") == 8


def test_each_message_is_folded_away_under_what_it_is() -> None:
    html = calls_html(SampleCalls(tasks=(call(),), missing=""))
    titles = [part.split(" <span")[0] for part in html.split("<summary>")[1:]]
    assert titles == ["Prompt", "Raw reply", "Repair request", "Raw reply"]
    assert "2 calls, 1 to repair the reply; 100 + 20 tokens; $0.000280" in html
    assert "<details open" not in html


def test_a_failure_has_its_own_sign_and_word() -> None:
    assert "✓ parsed as" in calls_html(SampleCalls(tasks=(call(),), missing=""))
    assert "✗ failed" in calls_html(SampleCalls(tasks=(call(failed=True),), missing=""))
