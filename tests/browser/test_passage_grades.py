"""Browser tests of passage grades on the Sample and Agreement pages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import OpenPage, Serve, settled
from tests.chat_server import chat_server

from ragboard import Panel, Passage, Run, Sample, Store, evaluate_run
from ragboard.human.agree import agree
from ragboard.judges.llm import Endpoint, LlmJudge
from ragboard.metrics import metrics_named
from ragboard.readers.labels import read_labels

QUESTION = "When was the harbour bridge opened?"
TEXTS = ("The harbour bridge was opened in 2000.", "The harbour is deep.", "<b>Bread</b> rises.")
"""The chat server counts shared words of more than three letters: 3, 1 and 0 of them, of at most 3."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, serve: Serve) -> Iterator[str]:
    folder = Path(tmp_path_factory.mktemp("graded"))
    store = Store(folder / "store")
    passages = tuple(Passage(id=f"p{rank}", text=text, rank=rank, score=0.5) for rank, text in enumerate(TEXTS, 1))
    sample = Sample(id="s", question=QUESTION, answer="In 2000.", contexts=passages)
    people = [{"question": f"{QUESTION} {n}", "contexts": TEXTS, "passage_grades": [3, 1, n % 2]} for n in range(12)]
    file = folder / "people.jsonl"
    file.write_text("\n".join(map(json.dumps, people)), encoding="utf-8")
    with chat_server() as server:
        panel = Panel(judge=LlmJudge("m", Endpoint(server.url, "key")))
        (added,) = store.add_runs([Run(name="graded", samples=(sample,))])
        evaluate_run(store, added.id, metrics_named(["umbrela"]), panel)
        agree(store, read_labels(str(file)), panel)
    with serve(store.folder) as found:
        yield found


def test_each_passage_of_a_sample_has_its_grade(address: str, open_page: OpenPage) -> None:
    page = settled(open_page(f"{address}/sample?run=graded&sample=s"))
    heads = page.get_by_role("region", name="Passages").locator(".score")
    expect(heads).to_have_text([f"relevance {grade} of 3 · score 0.5" for grade in (3, 1, 0)])
    expect(page.get_by_text("Graded nDCG").first).to_be_visible()
    expect(page.get_by_text("grades 3, 1, 0").first).to_be_visible()
    expect(page.get_by_text("UMBRELA relevance of passage (0-3) 2: 1.00")).to_be_visible()
    expect(page.locator("[data-testid=stException]")).to_have_count(0)


def test_agreement_with_people_is_reported_grade_by_grade(address: str, open_page: OpenPage) -> None:
    page = settled(open_page(f"{address}/agreement"))
    expect(page.get_by_text("30 of 36 passages the same grade as the annotators: significantly")).to_be_visible()
    figures = re.compile(r"Exact agreement 0\.83, 95% CI 0\.\d\d to 0\.\d\d; Cohen's kappa: four grades 0\.7\d")
    expect(page.get_by_text(figures)).to_be_visible()
    expect(page.get_by_text("36 passages of 12 questions or conversations.")).to_be_visible()
    expect(page.get_by_text("36 graded passages").first).to_be_visible()
    expect(page.locator("[data-testid=stException]")).to_have_count(0)
