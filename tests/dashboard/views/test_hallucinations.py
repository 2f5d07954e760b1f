"""A link to the statements of a run leads to those of no other."""

from __future__ import annotations

from tests.dashboard.views.conftest import Draw


def test_an_address_of_a_run_that_is_gone_does_not_list_the_statements_of_all(draw: Draw) -> None:
    page = draw("hallucinations", runs="gone")
    assert [one.value for one in page.error] == ["This link names runs that are not in the store:"]
    assert not page.header
    page.button[0].click().run()
    assert not page.error
    assert "statements are not supported (rule-based)" in page.header[0].value


def test_an_older_link_names_a_choice_by_its_older_name(draw: Draw) -> None:
    page = draw("hallucinations", people="people agree")
    assert page.selectbox(key="people").value == "annotators agree"
