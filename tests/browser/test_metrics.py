"""Browser tests of the Metrics page, with plugin metrics whose code the server does not have."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import OpenPage, Serve, settled
from tests.plugin_file import BREVITY, write_plugin

from ragboard import METRICS, Store

ROWS = [
    {"id": "a", "question": "When?", "answer": "It opened in 2000. It is red.", "contexts": ["It opened in 2000."]},
    {"id": "b", "question": "Who?", "answer": "Ann built it.", "contexts": ["Ann built it."]},
]
HOSTILE = "<img src=x onerror='window.hacked=1'><b>bold</b> :red[red]"


def evaluate_with_plugin(store: Store, folder: Path, text: str = BREVITY) -> None:
    """By the command line, as a person does it."""
    file = folder / "rows.jsonl"
    file.write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    command = [sys.executable, "-m", "ragboard", "evaluate", str(file), "--store", str(store.folder)]
    command += ["--metrics", "mine", "--plugin", str(write_plugin(folder, text))]
    subprocess.run(command, check=True, capture_output=True)


@pytest.mark.slow
def test_a_plugins_metric_is_shown_by_its_title_without_the_plugin(
    store: Store, tmp_path: Path, serve: Serve, open_page: OpenPage
) -> None:
    evaluate_with_plugin(store, tmp_path)
    with serve(store.folder) as address:
        run = settled(open_page(f"{address}/run?run=rows"))
        expect(run.get_by_text("Brevity").first).to_be_visible()
        expect(run.get_by_text("2 of 2 scored")).to_be_visible()
        runs = settled(open_page(address))
        expect(runs.get_by_role("columnheader", name="Brevity")).to_be_visible()
        sample = settled(open_page(f"{address}/sample?run=rows&sample=a"))
        expect(sample.get_by_text("2 statements").first).to_be_visible()
        metrics = settled(open_page(f"{address}/metrics?q=style+guide"))
        expect(metrics.get_by_role("heading", name="Brevity")).to_be_visible()
        expect(metrics.get_by_text("min(1, most / statements of the answer)")).to_be_visible()


def test_every_metric_is_explained_and_found_by_its_words(dashboard: str, open_page: OpenPage) -> None:
    page = settled(open_page(f"{dashboard}/metrics"))
    expect(page.locator("article")).to_have_count(len(METRICS))
    search = page.get_by_placeholder("Search names, meanings, formulas")
    search.fill("discounted gold")
    search.press("Enter")
    expect(page.locator("article")).to_have_count(1)
    expect(page.locator("article")).to_contain_text("retrieval.ndcg")
    expect(page.locator("article")).to_contain_text("higher is better 0 to 1")
    search.fill("zzz")
    search.press("Enter")
    expect(page.get_by_text("No metric matches these words.")).to_be_visible()


@pytest.mark.slow
def test_the_text_of_a_plugin_is_shown_unchanged(
    store: Store, tmp_path: Path, serve: Serve, open_page: OpenPage
) -> None:
    evaluate_with_plugin(store, tmp_path, BREVITY.replace('"Brevity"', repr(HOSTILE)))
    with serve(store.folder) as address:
        for path in ("/metrics?q=style+guide", "/run?run=rows", "/", "/sample?run=rows&sample=a"):
            page = settled(open_page(f"{address}{path}"))
            expect(page.get_by_text("onerror=").first).to_be_visible()
            assert page.evaluate("window.hacked") is None
