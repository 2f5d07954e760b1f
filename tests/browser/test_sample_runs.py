"""Browser tests of the sample runs on the main pages."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import OpenPage, Serve, settled
from tests.conftest import EvaluatedSamples


@pytest.fixture(scope="module")
def sample(
    tmp_path_factory: pytest.TempPathFactory, serve: Serve, evaluated_samples: EvaluatedSamples
) -> Iterator[str]:
    with serve(evaluated_samples(tmp_path_factory.mktemp("sample") / "store").folder) as address:
        yield address


def drawn(page: Page) -> Page:
    """Wait until the list of samples is there."""
    settled(page).wait_for_selector("#samples a >> nth=0")
    return page


def found(page: Page) -> int:
    """How many samples the table says it holds."""
    said = page.get_by_text(re.compile(r"\d+ of 60 samples\. Click a question")).inner_text()
    return int(said.split()[0])


def test_the_first_page_says_which_scores_higher_and_one_click_leads_to_where_a_run_fails(
    sample: str, open_page: OpenPage
) -> None:
    page = settled(open_page(sample))
    for run in ("bm25-k3", "bm25-rerank-k5"):
        row = page.get_by_role("row").filter(has=page.get_by_role("link", name=run))
        assert re.search(r"0\.\d\d0\.\d\d to 0\.\d\d\d+ of 60", row.inner_text().replace("\n", "").replace("\t", ""))
    page.get_by_role("link", name="bm25-k3", exact=True).click()
    page.wait_for_url("**/run?run=bm25-k3*")
    drawn(page)
    assert found(page) == 60


def test_one_click_leads_to_a_made_up_sentence_and_its_passages(sample: str, open_page: OpenPage) -> None:
    page = settled(open_page(sample))
    first = page.get_by_role("list", name="Unsupported statements").get_by_role("link").first
    said = first.inner_text()
    first.click()
    page.wait_for_url("**/sample?*statement=*")
    chosen = page.get_by_role("option", selected=True)
    expect(chosen).to_be_visible()
    assert chosen.inner_text().splitlines()[-2].strip() in said


def test_brushing_the_distribution_narrows_the_table_and_the_address_keeps_it(sample: str, open_page: OpenPage) -> None:
    page = drawn(open_page(f"{sample}/run?run=bm25-k3"))
    page.get_by_text("Distribution, groups, range of scores").click()
    expect(page.locator("#shapes svg").first).to_be_visible()
    ticks = page.locator("#shapes svg").first.locator("text[text-anchor=end]").all_text_contents()
    assert ticks == [str(round(float(tick))) for tick in ticks], "samples are counted in whole numbers"
    box = page.locator("#shapes svg").first.bounding_box()
    assert box
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.12, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, middle, steps=8)
    page.mouse.up()
    page.wait_for_url("**range-*")
    expect(page.get_by_text("60 of 60 samples. Click a question")).to_have_count(0)
    narrowed = found(page)
    assert 0 < narrowed < 60
    page.reload()
    drawn(page)
    assert found(page) == narrowed


@pytest.mark.parametrize("shape", ["Violin", "ECDF"])
def test_every_shape_and_column_draws(sample: str, open_page: OpenPage, shape: str) -> None:
    page = drawn(open_page(f"{sample}/run?run=bm25-k3&shape={shape}&column=ragas.answer_relevance"))
    expect(page.get_by_role("radio", name=shape)).to_be_checked()
    expect(page.get_by_role("img", name=f"Answer relevance: {shape} of 60 values, mean")).to_be_visible()
    expect(page.locator("[data-testid=stException]")).to_have_count(0)


def test_a_column_is_drawn_against_another_once_one_is_chosen(sample: str, open_page: OpenPage) -> None:
    page = drawn(open_page(f"{sample}/run?run=bm25-k3"))
    assert page.locator(".js-plotly-plot").count() == 0
    page = drawn(open_page(f"{sample}/run?run=bm25-k3&against=Answer+relevance"))
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    expect(page.get_by_text("60 of 60 samples have both")).to_be_visible()
