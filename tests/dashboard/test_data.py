"""Tests of caching: pages keep data until the store changes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
import streamlit as st

from ragboard import EmbeddedJudge, Panel, Run, Sample, Store, evaluate_run, sample_runs
from ragboard.analysis import PairQuery, RunSummary, diagnosis, leaderboard
from ragboard.database import Database
from ragboard.evaluation.background import plan_choice
from ragboard.evaluation.identity import Choice
from ragboard.evaluation.offers import run_contents
from ragboard.human.labels import label_statement
from ragboard.human.questions import label_question
from ragboard.metrics import metrics_named
from ragboard.records import Nugget
from ragboard.store import RunRef
from ragboard.store.queries.nuggets import append_nuggets
from ragboard.store.queries.samples import SampleQuery
from ragboard_dashboard import data
from ragboard_dashboard import settings as served
from ragboard_dashboard.data import cached, get_diagnosis, get_leaderboard, get_unsupported_statements
from ragboard_dashboard.settings import ServerSettings, publish_settings


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    before = os.environ.get(served.VARIABLE)
    publish_settings(ServerSettings(store=tmp_path / "store"))
    yield Store(tmp_path / "store")
    if before is None:
        del os.environ[served.VARIABLE]
    else:
        os.environ[served.VARIABLE] = before


def test_a_default_that_is_written_out_asks_the_same(store: Store) -> None:
    asked: list[int] = []

    @cached()
    def doubled(read: Store, number: int = 1) -> int:
        assert read.folder == store.folder
        asked.append(number)
        return 2 * number

    assert [doubled(), doubled(1), doubled(number=1), doubled(2)] == [2, 2, 2, 4]
    assert asked == [1, 2]


def test_what_was_written_is_seen_at_once(store: Store) -> None:
    assert get_leaderboard() == ()
    store.add_runs(sample_runs()[:1])
    assert [run.name for run in get_leaderboard(unscored="zero")] == ["bm25-k3"]
    assert [run.name for run in get_leaderboard()] == ["bm25-k3"]


def test_what_is_kept_of_a_run_is_read_again_after_its_own_changes_only(store: Store) -> None:
    one, two = (Run(name=name, samples=(Sample(id="a", question="?", answer="Yes."),)) for name in ("one", "two"))
    store.append(one)
    store.append(two)
    read: list[str] = []

    @cached(by_run=True)
    def counted(read_store: Store, run: RunRef) -> int:
        read.append(run.name)
        return read_store.sample_count(run.run_id)

    first, second = store.resolve("one"), store.resolve("two")
    assert [counted(first), counted(second)] == [1, 1]
    store.append(replace(two, samples=(Sample(id="b", question="?", answer="No."),)))
    assert [counted(first), counted(second)] == [1, 2]
    assert read == ["one", "two", "two"]


def test_a_diagnosis_is_read_again_after_changes_of_runs_with_its_questions_only(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add_runs(sample_runs()[:2])
    store.append(Run(name="other", samples=(Sample(id="a", question="?", answer="Yes."),)))
    names = [run.name for run in sample_runs()[:2]]
    metrics, panel = metrics_named(["ragas.faithfulness"]), Panel(judge=EmbeddedJudge())
    evaluate_run(store, store.resolve(names[0]).run_id, metrics, panel)
    read: list[str] = []
    find = diagnosis.run_summary
    monkeypatch.setattr(diagnosis, "run_summary", lambda store, run: (read.append(run.name), find(store, run))[1])

    get_diagnosis(store.resolve(names[0]))
    evaluate_run(store, store.resolve("other").run_id, metrics, panel)
    get_diagnosis(store.resolve(names[0]))
    assert read == names[:1]
    evaluate_run(store, store.resolve(names[1]).run_id, metrics, panel)
    get_diagnosis(store.resolve(names[0]))
    assert read == names[:1] * 2


def test_the_leaderboard_summarizes_runs_again_that_changed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    metrics, panel = metrics_named(["overlap.rouge_l"]), Panel(judge=EmbeddedJudge())
    for run in store.add_runs(sample_runs()):
        evaluate_run(store, run.id, metrics, panel)
    summarized: list[set[str]] = []
    summarize = data.leaderboard

    def noted(store: Store, *, run_ids: Collection[str], **options: Any) -> tuple[RunSummary, ...]:
        found = summarize(store, run_ids=run_ids, **options)
        summarized.append({run.name for run in found})
        return found

    monkeypatch.setattr(data, "leaderboard", noted)
    names = [run.name for run in get_leaderboard()]
    first = store.resolve(names[0])
    store.set_tags(first.run_id, ["best"])
    boards = [get_leaderboard(), leaderboard(store)]
    store.remove_runs([first.run_id])
    boards += [get_leaderboard(), leaderboard(store)]
    assert boards[0] == boards[1]
    assert boards[2] == boards[3]
    assert summarized == [set(names), {names[0]}]


Write = Callable[[Store], object]


def add_nuggets(store: Store, question: str) -> None:
    with store.database.write() as connection:
        nuggets = [Nugget(text="red", importance="vital")]
        append_nuggets(connection, question, "[]", nuggets, author="ann", approved=True)


def log(store: Store, run: str, dataset: str, sample_id: str, reference: str | None = None) -> None:
    """Append a sample to a growing run."""
    sample = Sample(id=sample_id, question=f"{sample_id}?", answer="It is red.", contexts=(), reference=reference)
    store.append(Run(name=run, dataset=dataset, samples=(sample,)))


PLANNED_AGAIN: dict[str, Write] = {
    "the run gets a sample": lambda store: log(store, "one", "tea", "c"),
    "the run is evaluated": lambda store: evaluate_run(
        store, store.resolve("one").run_id, metrics_named(["overlap.rouge_l"]), Panel(judge=EmbeddedJudge())
    ),
    "its dataset gets a reference": lambda store: log(store, "two", "tea", "a", "It is blue."),
    "its question is labelled": lambda store: label_question(store, "a?", (), "answerable", annotator="ann"),
    "its question gets nuggets": lambda store: add_nuggets(store, "a?"),
    "a reply is stored": lambda store: write(store.journal_path("e"), "{}"),
    "a model's reply is stored": lambda store: write(store.cache_path.with_name("answers.sqlite-wal"), "reply"),
    "the prices change": lambda store: write(store.folder / "prices.toml", ""),
}
FILES_ONLY = [*PLANNED_AGAIN][-3:]
"""Changes that a plan reads, and the contents of a run do not."""
ANOTHER = "another dataset gets a sample"
"""A change that neither reads."""


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("change", [*PLANNED_AGAIN, ANOTHER])
def test_a_plan_is_made_again_after_a_change_of_what_it_reads_only(
    store: Store, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    prices = store.folder / "prices.toml"
    publish_settings(ServerSettings(store=store.folder, prices=prices))
    write(prices, '["m"]\nprompt = 1\n')
    log(store, "one", "tea", "a")
    log(store, "two", "tea", "b")
    log(store, "other", "ice", "a")
    run, choice = store.resolve("one"), Choice(metrics=("ragas.faithfulness", "ragchecker.recall"))
    made: list[str] = []
    for name in ("plan_choice", "run_contents"):
        called = getattr(data, name)
        monkeypatch.setattr(
            data, name, lambda *given, _name=name, _called=called: made.append(_name) or _called(*given)
        )
    assert data.get_plan(run, choice) == plan_choice(store, run, choice, data.launch_context())
    assert data.get_contents(run) == run_contents(store, run.run_id)
    PLANNED_AGAIN.get(change, lambda store: log(store, "other", "ice", "b"))(store)
    assert data.get_plan(run, choice) == plan_choice(store, run, choice, data.launch_context())
    assert data.get_contents(run) == run_contents(store, run.run_id)
    assert made.count("plan_choice") == (2 if change in PLANNED_AGAIN else 1)
    assert made.count("run_contents") == (2 if change in PLANNED_AGAIN and change not in FILES_ONLY else 1)


LABEL_TABLES = re.compile(
    r"\b(current_labels|labelled_answers|(latest_)?human_verdicts|statement_verdicts|(current_)?question_labels|"
    r"nugget_lists|current_nuggets|rewritten_questions|draws|agreements|FROM labels)\b"
)
"""The tables and views with labels and the rest of `RunStates.labels`."""

FAITHFULNESS = "ragas.faithfulness"
WITHOUT_LABELS: dict[str, Callable[[RunRef, RunRef], object]] = {
    "get_run": lambda a, _: data.get_run(a),
    "get_sample_rows": lambda a, _: data.get_sample_rows(a, SampleQuery(column=FAITHFULNESS, order="worst")),
    "get_failures": lambda a, _: data.get_failures(a),
    "get_batch": lambda a, _: data.get_batch(a),
    "get_estimated_metrics": lambda a, _: data.get_estimated_metrics(a),
    "get_columns": lambda a, _: data.get_columns(a),
    "get_truthfulness": lambda a, _: data.get_truthfulness(a),
    "get_distribution": lambda a, _: data.get_distribution(a, FAITHFULNESS),
    "get_breakdown": lambda a, _: data.get_breakdown(a, FAITHFULNESS, "topic"),
    "get_scatter": lambda a, _: data.get_scatter(a, FAITHFULNESS, "metadata.latency"),
    "get_unsupported_statements": lambda _a, _b: data.get_unsupported_statements(3),
    "get_comparison": data.get_comparison,
    "get_trend": lambda a, b: data._metric_comparison(a, b, FAITHFULNESS),
    "get_pair_rows": lambda a, b: data.get_pair_rows(a, b, PairQuery(metric=FAITHFULNESS)),
    "get_pair_position": lambda a, b: data.get_pair_position(a, b, PairQuery(metric=FAITHFULNESS), "q01"),
}


class NotingConnection:
    """A connection that adds every query to a list."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, queries: list[str]) -> None:
        self._connection = connection
        self._queries = queries

    def execute(self, query: str, *given: Any) -> duckdb.DuckDBPyConnection:
        self._queries.append(query)
        return self._connection.execute(query, *given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def test_results_that_are_kept_when_somebody_labels_a_statement_read_no_labels(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for run in store.add_runs(sample_runs()):
        evaluate_run(store, run.id, metrics_named([FAITHFULNESS]), Panel(judge=EmbeddedJudge()))
    a, b = (store.resolve(run.name) for run in sample_runs())
    first = {name: get(a, b) for name, get in WITHOUT_LABELS.items()}
    label_statement(store, a, get_unsupported_statements(1)[0].sample_id, 1, "supported", annotator="ann")
    get_leaderboard()
    queries: list[str] = []
    read = Database.read

    @contextmanager
    def noted(database: Database) -> Generator[NotingConnection]:
        with read(database) as connection:
            yield NotingConnection(connection, queries)

    monkeypatch.setattr(Database, "read", noted)
    assert {name: get(a, b) for name, get in WITHOUT_LABELS.items()} == first
    assert not queries
    st.cache_data.clear()
    st.cache_resource.clear()
    get_leaderboard()
    queries.clear()
    assert {name: get(a, b) for name, get in WITHOUT_LABELS.items()} == first
    assert queries
    assert not [query for query in queries if LABEL_TABLES.search(query)]
