"""What the components of the Compare page are handed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ragboard import DEFAULT_METRICS, EmbeddedJudge, Panel, Store, evaluate_run, sample_runs
from ragboard.analysis import PairQuery, compare_runs, list_runs, pair_report, pair_rows, pair_runs
from ragboard_dashboard.controls import default_pair
from ragboard_dashboard.views.compare.tables import forest_data, pair_data, pairs_data


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder: Path = tmp_path_factory.mktemp("comparison")
    store = Store(folder)
    for added in store.add_runs(sample_runs()):
        evaluate_run(store, added.id, DEFAULT_METRICS, Panel(judge=EmbeddedJudge()))
    return store


def test_every_interval_lies_within_the_reach_of_the_scale(store: Store) -> None:
    data = forest_data(compare_runs(store, store.resolve("bm25-k3"), store.resolve("bm25-rerank-k5")))
    assert len(data["rows"]) == len(DEFAULT_METRICS)
    for row in data["rows"]:
        assert -data["reach"] <= row["low"] <= row["difference"] <= row["high"] <= data["reach"]
        assert (row["look"] == "none") == (row["change"] == "no significant difference")


def test_a_change_has_a_sign_and_a_word_and_a_link_that_opens_it(store: Store) -> None:
    a, b = store.resolve("bm25-k3"), store.resolve("bm25-rerank-k5")
    page = pair_rows(store, a, b, pair_runs(store, a, b), PairQuery(metric="ragas.faithfulness", limit=60))
    rows = pairs_data(page.rows, compare_runs(store, a, b), {"a": a.name, "b": b.name}, "")["rows"]
    assert rows[0]["change"].startswith("▼ worse -")
    assert {row["change"].split()[0] for row in rows} == {"▼", "=", "▲", "unscored"}
    assert rows[0]["href"] == f"compare?a=bm25-k3&b=bm25-rerank-k5&pair={rows[0]['key']}"


def test_each_answer_is_shown_whole_with_its_own_words_marked(store: Store) -> None:
    a, b = store.resolve("bm25-k3"), store.resolve("bm25-rerank-k5")
    found = pair_report(store, a, b, pair_runs(store, a, b), "q23")
    data = pair_data(found)
    for side, report, kind in (("a", found.a, "gone"), ("b", found.b, "new")):
        words = data[side]["words"]
        assert "".join(part["text"] for part in words).split() == (report.sample.answer or "").split()
        assert {part["kind"] for part in words} == {"same", kind}


def test_the_older_run_is_the_baseline_and_of_two_brought_together_the_first_listed(store: Store) -> None:
    assert default_pair(list_runs(store)) == ("bm25-k3", "bm25-rerank-k5")


def test_a_run_that_was_never_evaluated_is_not_offered_first(store: Store) -> None:
    runs = list_runs(store)
    newest = replace(runs[0], name="never", run_id="x", evaluations=0)
    assert default_pair([newest, *runs]) == ("bm25-k3", "bm25-rerank-k5")
