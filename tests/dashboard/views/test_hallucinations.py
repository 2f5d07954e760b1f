"""Tests of links to the Hallucinations page: they select one run."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from tests.dashboard.views.conftest import Draw

from ragboard import DEFAULT_METRICS, EmbeddedJudge, Panel, Passage, Run, Sample, Store, evaluate_run
from ragboard.sample_files import SAMPLE_TAG


def test_a_url_of_a_deleted_run_does_not_list_the_statements_of_all_runs(draw: Draw) -> None:
    page = draw("hallucinations", runs="gone")
    assert [one.value for one in page.error] == ["This link names runs that are not in the store:"]
    assert not page.header
    page.button[0].click().run()
    assert not page.error
    assert "statements are not supported (rule-based)" in page.header[0].value


def test_an_older_link_names_a_choice_by_its_older_name(draw: Draw) -> None:
    page = draw("hallucinations", people="people agree")
    assert page.selectbox(key="people").value == "annotators agree"


def keep(
    store: Store, name: str, question: str = "When?", *, tags: tuple[str, ...] = (), evaluate: bool = True
) -> None:
    samples = (Sample(id="s", question=question, answer="In 2000.", contexts=(Passage(id="p", text="No.", rank=1),)),)
    (added,) = store.add_runs([Run(name=name, samples=samples, config={"name": name}, tags=tags)])
    if evaluate:
        evaluate_run(store, added.id, DEFAULT_METRICS, Panel(judge=EmbeddedJudge()))


def test_the_runs_of_the_users_newest_dataset_are_chosen_first_and_all_runs_stay_one_click_away(
    draw: Draw, fresh: Store
) -> None:
    keep(fresh, "demo", tags=(SAMPLE_TAG,))
    keep(fresh, "older", "Where?")
    keep(fresh, "old")
    keep(fresh, "new")
    page = draw("hallucinations")
    assert page.multiselect(key="runs").value == ["new", "old"]
    page.multiselect(key="runs").set_value([]).run()
    assert page.multiselect(key="runs").value == []
    assert page.header[0].value.startswith("4 of 4 statements are not supported"), "of all runs"


def test_a_run_without_verdicts_is_not_shown_as_one_without_unsupported_statements(draw: Draw, fresh: Store) -> None:
    keep(fresh, "plain", evaluate=False)
    page = draw("hallucinations", runs="plain")
    assert [one.value for one in page.header] == ["No statement was judged yet"]
    assert "Evaluate plain" in [one.label for one in page.button]


def test_the_link_of_an_empty_passage_has_a_text(draw: Draw, fresh: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    passages = (Passage(id="p", text="No.", rank=1), Passage(id="q", text="", rank=2))
    (added,) = fresh.add_runs(
        [Run(name="run", samples=(Sample(id="s", question="When?", answer="In 2000.", contexts=passages),))]
    )
    evaluate_run(fresh, added.id, DEFAULT_METRICS, Panel(judge=EmbeddedJudge()))
    shown: list[str] = []

    def keep_texts(items: Sequence[dict[str, Any]], **_: object) -> SimpleNamespace:
        shown.extend(item["text"] for item in items)
        return SimpleNamespace(open=None)

    monkeypatch.setattr("ragboard_dashboard.components.link_lists._draw", keep_texts)
    draw("hallucinations", by="by passage")
    assert sorted(shown) == ["(empty)", "No."]


def test_an_address_that_names_something_chooses_no_run(draw: Draw, fresh: Store) -> None:
    samples = (Sample(id="s", question="When?", answer="In 2000.", contexts=(Passage(id="p", text="No.", rank=1),)),)
    for name in ("old", "new"):
        (added,) = fresh.add_runs([Run(name=name, samples=samples, config={"name": name})])
        evaluate_run(fresh, added.id, DEFAULT_METRICS, Panel(judge=EmbeddedJudge()))
    assert draw("hallucinations", verdict="unsupported").multiselect(key="runs").value == []
