"""Tests of the Sample page and its links."""

from __future__ import annotations

import json
import re
from html import unescape
from urllib.parse import urlencode

from streamlit.testing.v1 import AppTest
from tests.dashboard.views.conftest import Draw

from ragboard import DEFAULT_METRICS, EmbeddedJudge, Nugget, Panel, Run, Sample, Store, evaluate_run, judge_from
from ragboard.metrics import metrics_named
from ragboard.records import Turn

PREVIOUS, NEXT = STEPS = "← Previous", "Next →"


def links(page: AppTest) -> dict[str, str]:
    """Return {text: address} of the links in HTML."""
    drawn = "".join(one.proto.body for one in page.get("html"))
    return {text.strip(): unescape(href) for href, text in re.findall(r'<a [^>]*href="([^"]*)">([^<]*)', drawn)}


def test_links_stay_with_the_evaluation_that_the_address_names(kept: Store, draw: Draw) -> None:
    named = f"bm25-k3@{kept.resolve('bm25-k3').evaluation_id}"
    query = urlencode({"run": named})
    found = links(draw("sample", run=named))
    assert (found["bm25-k3"], found["Diagnosis"]) == (f"run?{query}", f"diagnosis?{query}")
    assert found[NEXT].startswith(f"sample?{query}&sample=")
    assert links(draw("sample", run=named, calls="true"))[NEXT].startswith(f"sample?{query}&calls=true&sample=")


def test_steps_lead_to_the_neighbours_and_end_at_the_ends(draw: Draw, fresh: Store) -> None:
    samples = tuple(Sample(id=f"s&{number}", question="When?", answer="Now.") for number in range(3))
    fresh.add_runs([Run(name="run", samples=samples)])
    steps = [
        {text: address for text, address in links(draw("sample", run="run", sample=sample.id)).items() if text in STEPS}
        for sample in samples
    ]
    to = [f"sample?{urlencode({'run': 'run', 'sample': sample.id})}" for sample in samples]
    assert steps == [{NEXT: to[1]}, {PREVIOUS: to[0], NEXT: to[2]}, {PREVIOUS: to[1]}]


def test_earlier_turns_come_before_the_question_and_many_are_folded(draw: Draw, fresh: Store) -> None:
    turns = tuple(Turn(role="user", text=f"Turn {number}?") for number in range(4))
    samples = (
        Sample(id="long", question="And when?", answer="In 2000.", history=turns),
        Sample(id="short", question="And where?", answer="Here.", history=turns[:2]),
    )
    fresh.add_runs([Run(name="talk", samples=samples)])
    page = draw("sample", run="talk", sample="long")
    words = [one.proto.body for one in page.get("html")]
    turn, question = (
        next(place for place, one in enumerate(words) if text in one) for text in ("Turn 0?", "And when?")
    )
    assert turn < question
    folded = [one.proto for one in page.expander if "earlier turns" in one.label]
    assert [(one.label, one.expanded) for one in folded] == [("4 earlier turns of the conversation", False)]
    page = draw("sample", run="talk", sample="short")
    assert [one.proto.expanded for one in page.expander if "earlier turns" in one.label] == [True]


def test_nuggets_and_the_rewritten_question_are_shown_with_the_answer(draw: Draw, fresh: Store) -> None:
    sample = Sample(
        id="s",
        question="And when?",
        answer="It opened in 1937.",
        nuggets=(Nugget(text="It opened in 1937", importance="vital"), Nugget(text="It is *red*", importance="okay")),
        metadata={"standalone_question": "When did the bridge open?"},
    )
    (added,) = fresh.add_runs([Run(name="r", samples=(sample,))])
    labels = ("support", "not_support")
    reply = {"nuggets": [{"nugget": n, "reason": "Read.", "label": label} for n, label in enumerate(labels, 1)]}
    judge = judge_from(lambda prompts: [json.dumps(reply)] * len(prompts), version="1")
    evaluate_run(fresh, added.id, metrics_named(["nuggets"]), Panel(judge=judge))
    page = draw("sample", run="r", sample="s")
    words = " ".join(one.proto.body for one in page.get("html"))
    assert "Standalone question (run file): When did the bridge open?" in words
    assert "● stated: It opened in 1937 (vital)" in words
    assert "○ missing: It is *red* (good to have)" in words


def test_a_statement_can_be_labelled_once_a_name_is_given(draw: Draw, fresh: Store) -> None:
    sample = Sample(id="s", question="When?", answer="In 2000.", contexts=())
    (added,) = fresh.add_runs([Run(name="r", samples=(sample,))])
    evaluate_run(fresh, added.id, DEFAULT_METRICS, Panel(judge=EmbeddedJudge()))
    page = draw("sample", run="r", sample="s", statement="1")
    assert not [button for button in page.button if (button.key or "").startswith("say-")]
    page.text_input(key="annotator").set_value("ada").run()
    labels = [button for button in page.button if (button.key or "").startswith("say-")]
    assert [button.disabled for button in labels] == [False, False, False]


def test_human_grades_are_shown_with_the_scores(draw: Draw, fresh: Store) -> None:
    sample = Sample(id="s", question="When?", answer="In 2000.", metadata={"human": {"faithfulness": [4, 3, 4]}})
    fresh.add_runs([Run(name="r", samples=(sample,))])
    page = draw("sample", run="r", sample="s")
    drawn = "\n".join(one.proto.body for one in page.get("html"))
    assert "Human grades" in drawn
    assert "of 4, 3, 4" in drawn
