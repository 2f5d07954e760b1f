"""Tests of the data for the components of the Compare page."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.conftest import EvaluatedSamples

from ragboard import DEFAULT_METRICS, Run, Sample, Store
from ragboard.analysis import (
    PairQuery,
    compare_runs,
    list_runs,
    most_changed,
    pair_report,
    pair_rows,
    pair_runs,
    shared_words,
)
from ragboard_dashboard.controls import default_pair, default_partner
from ragboard_dashboard.views.compare.tables import (
    changed_data,
    cost_data,
    forest_data,
    pair_data,
    pairs_data,
    unscored_in_words,
)

DAY = timedelta(days=1)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, evaluated_samples: EvaluatedSamples) -> Store:
    return evaluated_samples(tmp_path_factory.mktemp("comparison") / "store")


def test_every_interval_is_within_the_scale(store: Store) -> None:
    data = forest_data(compare_runs(store, store.resolve("bm25-k3"), store.resolve("bm25-rerank-k5")))
    assert len(data["rows"]) == len(DEFAULT_METRICS)
    for row in data["rows"]:
        assert -data["reach"] <= row["low"] <= row["difference"] <= row["high"] <= data["reach"]
        assert (row["look"] == "none") == (row["change"][0] not in "▲▼≠")


def test_a_row_says_how_many_questions_count_of_those_judged(store: Store) -> None:
    compared = compare_runs(store, store.resolve("bm25-k3"), store.resolve("bm25-rerank-k5"))
    pairs = {row["metric"]: row["pairs"] for row in forest_data(compared)["rows"]}
    assert (pairs["ragas.faithfulness"], pairs["ragas.context_relevance"]) == ("59 of 60", "60")
    faithfulness = next(one for one in compared.metrics if one.metric == "ragas.faithfulness")
    assert unscored_in_words(faithfulness) == "1 unscored in B (1 refused in full)"


def test_a_change_has_a_sign_and_a_word_and_a_link_that_opens_it(store: Store) -> None:
    a, b = store.resolve("bm25-k3"), store.resolve("bm25-rerank-k5")
    page = pair_rows(store, a, b, pair_runs(store, a, b), PairQuery(metric="ragas.faithfulness", limit=60))
    rows = pairs_data(page.rows, compare_runs(store, a, b), {"a": a.name, "b": b.name}, "")["rows"]
    assert rows[0]["change"].startswith("▼ worse -")
    assert {row["change"].split()[0] for row in rows} == {"▼", "=", "▲", "unscored"}
    assert rows[0]["href"] == f"compare?a=bm25-k3&b=bm25-rerank-k5&pair={page.rows[0].sample_a}"


def test_each_answer_is_shown_whole_with_its_own_words_marked(store: Store) -> None:
    a, b = store.resolve("bm25-k3"), store.resolve("bm25-rerank-k5")
    found = pair_report(store, a, b, pair_runs(store, a, b), "q23")
    data = pair_data(found)
    assert shared_words(found.answers) > 0.5
    for side, report, kind in (("a", found.a, "gone"), ("b", found.b, "new")):
        words = data[side]["words"]
        assert "".join(part["text"] for part in words).split() == (report.sample.answer or "").split()
        assert {part["kind"] for part in words} == {"same", kind}


def test_answers_with_few_words_in_common_are_shown_whole_and_unmarked(store: Store) -> None:
    a, b = store.resolve("bm25-k3"), store.resolve("bm25-rerank-k5")
    found = pair_report(store, a, b, pair_runs(store, a, b), "q02")
    assert shared_words(found.answers) < 0.5
    for side, report in (("a", found.a), ("b", found.b)):
        (part,) = pair_data(found)[side]["words"]
        assert (part["kind"], part["text"].split()) == ("same", (report.sample.answer or "").split())


def test_what_changed_most_is_a_row_by_the_score_that_moved_furthest(store: Store) -> None:
    a, b = store.resolve("bm25-k3"), store.resolve("bm25-rerank-k5")
    changed = most_changed(store, a, b)
    data = changed_data(changed, compare_runs(store, a, b), {"a": "x", "b": "y"})
    assert len(data["rows"]) == 3
    for row, question in zip(data["rows"], changed, strict=True):
        assert row["href"] == f"compare?a=x&b=y&pair={question.sample_a}"
        if row["change"].startswith("≠ only"):
            continue
        assert row["change"].split()[0] in ("▲", "▼")
        assert row["change"].endswith(f"{float(row['b']['shown']) - float(row['a']['shown']):+.2f}")


def test_costs_have_no_common_scale_and_as_many_decimals_as_they_need(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for name, factor in (("a", 1.0), ("b", 1.5)):
        samples = (
            Sample(
                id=f"s{at}",
                question=f"Q{at}",
                metadata={"latency_ms": (900 + 7 * at) * factor, "cost": 1e-4 * at * factor},
            )
            for at in range(30)
        )
        store.add_runs([Run(name=name, samples=tuple(samples))])
    data = cost_data(compare_runs(store, store.resolve("a"), store.resolve("b")))
    assert data["reach"] is None
    cost, latency = data["rows"]
    assert (latency["a"], latency["b"], latency["change"]) == ("1,002", "1,502", "▼ worse")
    assert latency["interval"].startswith("+501, 95% CI +")
    assert (cost["a"], cost["b"]) == ("0.00145", "0.00218")


def test_the_older_run_is_the_baseline_and_of_two_brought_together_the_first_listed(store: Store) -> None:
    assert default_pair(list_runs(store)) == ("bm25-k3", "bm25-rerank-k5")


def test_a_run_that_was_never_evaluated_is_not_offered_first(store: Store) -> None:
    runs = list_runs(store)
    newest = replace(runs[0], name="never", run_id="x", evaluations=0)
    assert default_pair([newest, *runs]) == ("bm25-k3", "bm25-rerank-k5")


def test_the_newest_own_runs_over_the_same_questions_come_before_the_sample_runs(store: Store) -> None:
    sample_a, sample_b = list_runs(store)
    third, second, first = (
        replace(sample_a, name=name, run_id=name, dataset_key=key, tags=(), imported=sample_a.imported + days * DAY)
        for name, key, days in (("third", "mine", 3), ("second", "other", 2), ("first", "mine", 1))
    )
    assert default_pair([third, second, first, sample_a, sample_b]) == ("first", "third")
    assert default_pair([second, first, sample_a, sample_b]) == ("bm25-k3", "bm25-rerank-k5")
    assert default_pair([first, sample_a, sample_b]) == ("bm25-k3", "bm25-rerank-k5")
    unevaluated = replace(third, evaluations=0)
    assert default_pair([unevaluated, first, sample_a, sample_b]) == ("bm25-k3", "bm25-rerank-k5")
    assert default_pair([unevaluated, first]) == ("first", "third")
    unscored = replace(third, name="unscored", run_id="u", evaluations=0, imported=third.imported + DAY)
    assert default_pair([unscored, third, second, first, sample_a, sample_b]) == ("first", "third")
    pair = [unscored, replace(unscored, name="other", run_id="v", imported=unscored.imported - DAY / 2)]
    assert default_pair([*pair, sample_a, sample_b]) == ("other", "unscored")


def test_the_partner_of_a_run_is_the_newest_evaluated_one_over_its_questions(store: Store) -> None:
    sample_a, sample_b = list_runs(store)
    unscored = replace(sample_a, name="unscored", run_id="u", evaluations=0)
    elsewhere = replace(sample_a, name="elsewhere", run_id="e", dataset_key="other")
    runs = [unscored, elsewhere, sample_a, sample_b]
    assert default_partner(runs, sample_b.name, "x") == sample_a.name
    assert default_partner(runs, sample_a.name, "x") == sample_b.name
    assert default_partner(runs, "elsewhere", "x") == "x"


def test_an_interval_beyond_0_without_a_significant_p_says_that_p_is_adjusted(store: Store) -> None:
    compared = compare_runs(store, store.resolve("bm25-k3"), store.resolve("bm25-rerank-k5"))
    first, *others = compared.metrics
    assert first.pairs
    beyond = replace(first.pairs, interval=replace(first.pairs.interval, low=0.01, high=0.2))
    shown = replace(compared, metrics=(replace(first, pairs=beyond, change="no significant difference"), *others))
    said = "The CI excludes 0, but p is adjusted for 3 distinct comparisons (Holm)."
    assert [said in row["notes"] for row in forest_data(shown)["rows"]] == [True, False, False]


def test_a_caution_of_a_metric_leads_to_what_the_metric_means(store: Store) -> None:
    rows = forest_data(compare_runs(store, store.resolve("bm25-k3"), store.resolve("bm25-rerank-k5")))["rows"]
    (row,) = (row for row in rows if row["caution"])
    assert row["caution"].startswith("⚠ Context relevance usually falls with more passages")
    assert row["href"] == "metrics?q=ragas.context_relevance"


def test_passages_that_are_only_cut_elsewhere_are_apart_from_lost_and_gained(store: Store) -> None:
    a, b = store.resolve("bm25-k3"), store.resolve("bm25-rerank-k5")
    found = pair_data(pair_report(store, a, b, pair_runs(store, a, b), "q23"))
    assert [group["title"] for group in found["groups"]] == [
        "Gained: 2 passages only in B",
        "Re-chunked: 2 passages of A, split differently in B",
        "Re-chunked: 2 passages of B, split differently in A",
    ]
    assert [len(group["passages"]) for group in found["groups"]] == [2, 2, 2]


def test_re_chunked_passages_of_only_one_run_are_shown_too(store: Store) -> None:
    a, b = store.resolve("bm25-k3"), store.resolve("bm25-rerank-k5")
    found = pair_report(store, a, b, pair_runs(store, a, b), "q23")
    only_b = replace(found, rechunked_a=(), rechunked_b=found.rechunked_b[:1], gained=found.gained[:1])
    assert [(group["title"], len(group["passages"])) for group in pair_data(only_b)["groups"]] == [
        ("Gained: 1 passage only in B", 1),
        ("Re-chunked: 1 passage of B, split differently in A", 1),
    ]


def test_a_question_that_only_one_run_refuses_needs_no_score(store: Store) -> None:
    a, b = store.resolve("bm25-k3"), store.resolve("bm25-rerank-k5")
    one = replace(most_changed(store, a, b)[0], scores=(), refuses="B", in_part=False, answerability=None)
    partly = replace(one, in_part=True)
    whole, part = changed_data([one, partly], compare_runs(store, a, b), {})["rows"]
    assert (whole["change"], whole["a"]["shown"], whole["b"]["shown"]) == ("≠ only B refuses", "answers", "refuses")
    assert (part["change"], part["b"]["shown"]) == ("≠ only B refuses, in part", "refuses in part")
    assert "refuses" not in part["where"]


def test_where_no_question_differs_the_interval_is_written_and_not_drawn(store: Store) -> None:
    compared = compare_runs(store, store.resolve("bm25-k3"), store.resolve("bm25-rerank-k5"))
    first, *others = compared.metrics
    assert first.pairs
    pairs = replace(first.pairs, ties=first.pairs.n, difference=0.0, warning="all 59 values are tied")
    shown = forest_data(replace(compared, metrics=(replace(first, pairs=pairs), *others)))
    row = shown["rows"][0]
    assert (row["low"], row["high"], row["notes"]) == (None, None, [])
    assert row["interval"] == "no question differs"


def test_a_warning_of_several_metrics_is_reported_once(store: Store) -> None:
    compared = compare_runs(store, store.resolve("bm25-k3"), store.resolve("bm25-rerank-k5"))
    warned = [replace(one, pairs=one.pairs and replace(one.pairs, warning="few values")) for one in compared.metrics]
    shown = forest_data(replace(compared, metrics=tuple(warned)))
    assert shown["caption"].endswith("⚠ Few values.")
    assert not any("few values" in row["notes"] for row in shown["rows"])
    alone = forest_data(replace(compared, metrics=(warned[0], *compared.metrics[1:])))
    assert "few values" in alone["rows"][0]["notes"]
    assert "ew values" not in alone["caption"]


def test_the_caption_says_why_a_mean_differs_from_that_of_the_runs_page(store: Store) -> None:
    a, b = store.resolve("bm25-k3"), store.resolve("bm25-rerank-k5")
    assert "The Runs page shows means over all scored samples" in forest_data(compare_runs(store, a, b))["caption"]
    whole = tuple(one for one in compare_runs(store, a, b).metrics if one.metric == "ragas.context_relevance")
    assert "The Runs page" not in forest_data(replace(compare_runs(store, a, b), metrics=whole))["caption"]


def test_metrics_that_are_shown_apart_keep_one_scale(store: Store) -> None:
    compared = compare_runs(store, store.resolve("bm25-k3"), store.resolve("bm25-rerank-k5"))
    specs = [one.metric for one in compared.metrics]
    parts = [forest_data(compared, shown=[spec]) for spec in specs]
    assert [[row["metric"] for row in part["rows"]] for part in parts] == [[spec] for spec in specs]
    assert {part["reach"] for part in parts} == {forest_data(compared)["reach"]}
