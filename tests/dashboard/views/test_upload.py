"""The Upload page asks what a file does not tell, and takes nothing that cannot be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from ragboard import Store
from ragboard_dashboard import settings as served
from ragboard_dashboard.settings import ServerSettings, keep_settings

BOTH = {"question": "When did it open?", "answer": "It opened in 2000.", "response": "It opened in 1990."}


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The empty store that files are uploaded into."""
    monkeypatch.setenv(served.VARIABLE, "")
    keep_settings(ServerSettings(store=tmp_path / "store"))
    return Store(tmp_path / "store")


def uploaded(name: str, *rows: dict[str, Any]) -> AppTest:
    page = AppTest.from_string("import ragboard_dashboard.views.upload.page as v\nv.draw()\n", default_timeout=60).run()
    content = "\n".join(map(json.dumps, rows)).encode()
    return page.file_uploader[0].set_value((name, content, "application/json")).run()


def choose(page: AppTest, **columns: str) -> AppTest:
    for field, column in columns.items():
        page.selectbox(key=f"map-{field}").set_value(column)
    return page.run()


def labels(page: AppTest) -> list[str]:
    return [button.label for button in page.button]


def test_where_the_answer_may_be_the_reference_neither_is_chosen_and_the_page_asks() -> None:
    page = uploaded("both.jsonl", BOTH)
    assert (page.selectbox(key="map-answer").value, page.selectbox(key="map-reference").value) == (None, None)
    assert page.selectbox(key="map-question").value == "question"
    assert [warning.value for warning in page.warning] == [
        "To continue, choose the column with the system's answer and, if there is one, the column with the reference."
    ]
    assert "Import only" not in labels(page)
    assert "Import only" not in labels(choose(page, reference="answer"))


def test_what_is_chosen_is_imported(kept: Store) -> None:
    page = choose(uploaded("chosen.jsonl", BOTH), answer="response", reference="answer")
    assert not page.warning
    next(button for button in page.button if button.label == "Import only").click()
    page.run()
    assert [success.value for success in page.success] == ["Imported 1 samples in 1 run."]
    ((_, sample),) = kept.samples(kept.resolve("chosen").run_id)
    assert (sample.answer, sample.reference) == ("It opened in 1990.", "It opened in 2000.")


def test_with_the_answer_alone_chosen_there_is_no_reference(kept: Store) -> None:
    page = choose(uploaded("alone.jsonl", BOTH), answer="answer")
    next(button for button in page.button if button.label == "Import only").click()
    page.run()
    ((_, sample),) = kept.samples(kept.resolve("alone").run_id)
    assert (sample.answer, sample.reference, sample.metadata) == (
        "It opened in 2000.",
        None,
        {"response": "It opened in 1990."},
    )


def test_a_clear_file_is_not_asked_about() -> None:
    page = uploaded("clear.jsonl", {"question": "Q", "answer": "A"})
    assert page.selectbox(key="map-answer").value == "answer"
    assert "Import only" in labels(page)


def test_a_printed_object_that_was_cut_is_refused_on_the_page() -> None:
    row = {"question": "Q", "answer": "A", "contexts": ["Node ID: 1\nText: cut\nScore: 0.5"]}
    page = uploaded("cut.jsonl", row)
    next(button for button in page.button if button.label == "Import only").click()
    page.run()
    assert [error.value for error in page.error] == ["This file cannot be imported. Nothing was stored."]
