"""Tests of runs with several evaluations: the newest by default, or the chosen one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest
import streamlit as st
from duckdb import DuckDBPyConnection
from streamlit.testing.v1 import AppTest
from tests.dashboard.views.conftest import Draw

from ragboard import EmbeddedJudge, Panel, Store, evaluate_run, sample_runs
from ragboard.analysis import list_runs
from ragboard.database import Database
from ragboard.judges.replay import RecordingJudge, ReplayJudge
from ragboard.metrics import metrics_named
from ragboard_dashboard.controls import evaluations_help, run_choices
from ragboard_dashboard.settings import ServerSettings, publish_settings

NEWEST = "Newest evaluation"


@pytest.fixture(scope="module")
def twice(kept: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Another store, in which the first run was judged by two judges and the second by one."""
    folder = tmp_path_factory.mktemp("twice")
    store = Store(folder / "store")
    first, second = store.add_runs(sample_runs())
    recording = folder / "recording.jsonl"
    metrics = metrics_named(["faithfulness"])
    evaluate_run(store, first.id, metrics, Panel(judge=RecordingJudge(EmbeddedJudge(), recording)))
    evaluate_run(store, first.id, metrics, Panel(judge=ReplayJudge.from_file(recording)))
    evaluate_run(store, second.id, metrics, Panel(judge=EmbeddedJudge()))
    publish_settings(ServerSettings(store=store.folder))
    yield store
    publish_settings(ServerSettings(store=kept.folder))


def choice(page: AppTest, key: str) -> list[str]:
    return [option for box in page.selectbox if box.key == f"evaluation-{key}" for option in box.options]


@pytest.mark.usefixtures("twice")
@pytest.mark.parametrize("view", ["run", "sample", "diagnosis"])
def test_a_page_of_a_run_offers_its_evaluations(draw: Draw, view: str) -> None:
    page = draw(view, run="bm25-k3")
    newest, *others = choice(page, "run")
    assert newest == NEWEST
    assert [one.split(",")[0] for one in others] == ["replay:recording.jsonl", "embedded (rule-based)"]


@pytest.mark.usefixtures("twice")
def test_a_run_with_one_evaluation_offers_none(draw: Draw) -> None:
    assert choice(draw("run", run="bm25-rerank-k5"), "run") == []


def test_a_chosen_evaluation_goes_into_the_address_and_is_shown(draw: Draw, twice: Store) -> None:
    page = draw("run", run="bm25-k3")
    rule_based = next(one for one in choice(page, "run") if one.startswith("embedded"))
    box = next(one for one in page.selectbox if one.key == "evaluation-run")
    box.select(rule_based).run()
    oldest = twice.evaluations(twice.resolve("bm25-k3").run_id)[-1]
    assert page.query_params["run"] == f"bm25-k3@{oldest.id}"
    assert any("judged by embedded (rule-based)" in one.proto.body for one in page.get("html"))


@pytest.mark.usefixtures("twice")
def test_comparing_offers_the_evaluations_and_takes_the_judge_that_both_have(draw: Draw) -> None:
    page = draw("compare", a="bm25-k3", b="bm25-rerank-k5")
    assert not page.exception
    assert (len(choice(page, "a")), choice(page, "b")) == (3, [])
    said = " ".join(one.proto.body for one in page.get("html"))
    assert "different judges" not in said
    assert "p = " in said
    assert "judge: embedded (rule-based)" in said


def test_comparing_other_judges_gives_no_verdict(draw: Draw, twice: Store) -> None:
    newest = twice.evaluations(twice.resolve("bm25-k3").run_id)[0]
    page = draw("compare", a=f"bm25-k3@{newest.id}", b="bm25-rerank-k5")
    said = " ".join(one.proto.body for one in page.get("html"))
    assert "Not comparable, different judges" in said
    assert "p = " not in said
    (which,) = [box for box in page.get("button_group") if box.proto.label == "Which"]
    assert [option.content.split()[0] for option in which.proto.options] == ["All", "≠", "=", "Unscored"]


@pytest.mark.parametrize("view", ["estimate", "hallucinations"])
def test_a_page_over_several_runs_offers_each_evaluation(draw: Draw, twice: Store, view: str) -> None:
    page = draw(view)
    (runs,) = [box for box in page.multiselect if box.key == "runs"]
    evaluations = [f"bm25-k3@{one.id}" for one in twice.evaluations(twice.resolve("bm25-k3").run_id)]
    assert set(runs.options) == {"bm25-k3", "bm25-rerank-k5", *evaluations}


def test_all_runs_are_offered_with_one_read_of_their_evaluations(twice: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = list_runs(twice)
    opened: list[int] = []
    read = Database.read

    def counted(database: Database) -> AbstractContextManager[DuckDBPyConnection]:
        opened.append(1)
        return read(database)

    monkeypatch.setattr(Database, "read", counted)
    st.cache_data.clear()
    first = run_choices(runs)
    assert len(opened) == 1
    assert [name.split("@")[0] for name in first].count("bm25-k3") == 3
    assert run_choices([run for run in runs for _ in range(100)]) == first


def test_the_help_of_a_choice_has_20_lines_at_most() -> None:
    shown = evaluations_help({f"run@{n}": f"run: judge {n}" for n in range(300)})
    assert shown is not None
    lines = shown.split("\n\n")
    assert (len(lines), lines[-1]) == (20, "and 281 more")
