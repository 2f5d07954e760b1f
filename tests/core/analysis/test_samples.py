"""Tests of filtering, sorting and counting samples in the database."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.conftest import Once
from tests.core.conftest import PlainJudge, make_sample

from ragboard import DEFAULT_METRICS, Panel, Run, Store, evaluate_run
from ragboard.analysis import SampleQuery, sample_report, sample_rows

FAITHFULNESS = "ragas.faithfulness"
ANSWERS = ["It is red.", "It is red. It is old.", "It is old. It is big.", None, "Red herrings are red."]


def keep(store: Store) -> None:
    samples = tuple(
        replace(make_sample(n, answer=answer), metadata={"latency": 0.1 * n}) for n, answer in enumerate(ANSWERS)
    )
    run_id = store.add_runs([Run(name="run", samples=samples)])[0].id
    evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=PlainJudge()))


@pytest.fixture
def evaluated(store: Store, once: Once) -> Store:
    return once(keep, store)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (SampleQuery(), ["s0", "s1", "s2", "s3", "s4"]),
        (SampleQuery(column=FAITHFULNESS, order="lowest"), ["s2", "s1", "s0", "s4", "s3"]),
        (SampleQuery(column=FAITHFULNESS, order="highest"), ["s0", "s4", "s1", "s2", "s3"]),
        (SampleQuery(column=FAITHFULNESS, order="worst"), ["s2", "s1", "s0", "s4", "s3"]),
        (SampleQuery(only="loose"), ["s1", "s2"]),
        (SampleQuery(column=FAITHFULNESS, only="unscored"), ["s3"]),
        (SampleQuery(only="refusing"), []),
        (SampleQuery(column=FAITHFULNESS, between=(0.25, 0.75)), ["s1"]),
        (SampleQuery(column="metadata.latency", between=(0.15, 0.35)), ["s2", "s3"]),
        (SampleQuery(search="HERRINGS red"), ["s4"]),
        (SampleQuery(search="thing 3"), ["s3"]),
        (SampleQuery(search="100% _'); DROP TABLE samples; --"), []),
        (SampleQuery(limit=2, offset=1), ["s1", "s2"]),
    ],
)
def test_a_query_finds_just_those_in_that_order(evaluated: Store, query: SampleQuery, expected: list[str]) -> None:
    found = sample_rows(evaluated, evaluated.resolve("run"), query)
    assert [row.sample_id for row in found.rows] == expected


def test_the_total_counts_beyond_the_page(evaluated: Store) -> None:
    assert sample_rows(evaluated, evaluated.resolve("run"), SampleQuery(limit=2)).total == 5


def test_labels_are_counted_a_sample(evaluated: Store) -> None:
    rows = sample_rows(evaluated, evaluated.resolve("run"), SampleQuery()).rows
    assert [dict(row.labels) for row in rows[:3]] == [
        {"supported": 1},
        {"supported": 1, "unsupported": 1},
        {"unsupported": 2},
    ]


def test_a_question_rewritten_in_the_run_file_is_reported(store: Store) -> None:
    rewritten = {"rewritten_query": " ", "standalone_question": "When did the bridge open?"}
    samples = (
        replace(make_sample(0), metadata=rewritten),
        replace(make_sample(1), metadata={"standalone_question": 3}),
    )
    store.add_runs([Run(name="chat", samples=samples)])
    first, second = (sample_report(store, store.resolve("chat"), one) for one in ("s0", "s1"))
    assert (first.rewritten, second.rewritten) == (("When did the bridge open?", "run file"), None)
