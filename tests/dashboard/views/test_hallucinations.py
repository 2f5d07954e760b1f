"""A link to the statements of a run leads to those of no other."""

from __future__ import annotations

from tests.dashboard.views.conftest import Draw

from ragboard import DEFAULT_METRICS, EmbeddedJudge, Panel, Passage, Run, Sample, Store, evaluate_run
from ragboard.sample_files import SAMPLE_TAG


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


def test_the_newest_run_of_the_users_is_chosen_first_and_all_runs_stay_one_click_away(draw: Draw, fresh: Store) -> None:
    samples = (Sample(id="s", question="When?", answer="In 2000.", contexts=(Passage(id="p", text="No.", rank=1),)),)
    runs = [Run(name="demo", samples=samples, tags=(SAMPLE_TAG,))]
    runs += [Run(name=name, samples=samples, config={"name": name}) for name in ("old", "new")]
    for run in runs:
        (added,) = fresh.add_runs([run])
        evaluate_run(fresh, added.id, DEFAULT_METRICS, Panel(judge=EmbeddedJudge()))
    page = draw("hallucinations")
    assert page.multiselect(key="runs").value == ["new"]
    page.multiselect(key="runs").set_value([]).run()
    assert page.multiselect(key="runs").value == []
    assert page.header[0].value.startswith("3 of 3 statements are not supported"), "of all runs"


def test_an_address_that_names_something_chooses_no_run(draw: Draw, fresh: Store) -> None:
    samples = (Sample(id="s", question="When?", answer="In 2000.", contexts=(Passage(id="p", text="No.", rank=1),)),)
    for name in ("old", "new"):
        (added,) = fresh.add_runs([Run(name=name, samples=samples, config={"name": name})])
        evaluate_run(fresh, added.id, DEFAULT_METRICS, Panel(judge=EmbeddedJudge()))
    assert draw("hallucinations", verdict="unsupported").multiselect(key="runs").value == []
