"""The agreement page counts with what was chosen for it, and lists from the first page what was chosen anew."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest
from tests.dashboard.views.conftest import Draw

from ragboard import EmbeddedJudge, Panel, Store
from ragboard.human.agree import agree
from ragboard.readers.labels import read_labels
from ragboard.sample_files import sample_folder


@pytest.fixture(scope="module")
def statements(kept: Store) -> str:
    """The id of an agreement on the sample's statements."""
    opinions = read_labels(str(sample_folder() / "labels" / "statements.jsonl"))
    return agree(kept, opinions, Panel(judge=EmbeddedJudge())).agreement.id


def choose(page: AppTest, contender: str) -> None:
    next(box for box in page.selectbox if box.key == "agreement-contender").set_value(contender).run()


def test_a_cut_chosen_for_one_contender_is_not_taken_for_another(draw: Draw, statements: str) -> None:
    page = draw("agreement", agreement=statements, cut="0.4")
    choose(page, "word overlap")
    assert "cut" not in page.query_params


def test_another_contender_is_listed_from_its_first_page(draw: Draw, statements: str) -> None:
    page = draw("agreement", agreement=statements, part="2")
    choose(page, "word overlap")
    assert not page.exception
    assert (page.query_params["contender"], "part" in page.query_params) == ("word overlap", False)
    assert page.session_state["part"] == 1


@pytest.mark.parametrize("part", ["99", "0", "9" * 5000, "x"])
def test_a_page_that_is_not_there_breaks_nothing(draw: Draw, statements: str, part: str) -> None:
    assert not draw("agreement", agreement=statements, part=part).exception
