"""Tests of the SQL that tables offer, and of the example queries."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.analysis.test_hallucinations import ANSWERS, keep
from tests.core.conftest import PlainJudge, make_sample

from ragboard import DEFAULT_METRICS, Panel, Run, Score, Store, evaluate_run
from ragboard.analysis import (
    EXAMPLES,
    HallucinationQuery,
    PairQuery,
    SampleQuery,
    hallucinations,
    hallucinations_sql,
    leaderboard,
    means_sql,
    pair_rows,
    pair_runs,
    pairs_sql,
    sample_rows,
    samples_sql,
    set_threshold,
    store_tables,
)
from ragboard.human.labels import label_statement
from ragboard.query import run_query
from ragboard.store.queries.query import Query

HOSTILE = "o'clock'; DROP TABLE runs; -- \" \\ \0 $$ \u202e"
FAITHFULNESS = "ragas.faithfulness"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Run a: four samples, one without an answer; b: other answers to five; one whose every word is hostile."""
    store = Store(tmp_path_factory.mktemp("kept") / "store")
    keep(store, "a", ANSWERS)
    keep(store, "b", ["It is new.", "It is red.", "It is old. It is red.", "It is red.", "It is red."])
    keep(store, "b@", ["It is old."])
    label_statement(store, store.resolve("a"), "s0", 2, verdict="supported", annotator=HOSTILE.strip("\0"))
    label_statement(store, store.resolve("a"), "s1", 1, verdict="unsupported", annotator="ada")
    sample = replace(make_sample(9, answer=f"It is {HOSTILE}."), question=HOSTILE, metadata={HOSTILE: 2, "cost": 3})
    run_id = store.add_runs([Run(name=HOSTILE, samples=(sample, make_sample(1)))])[0].id
    evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=PlainJudge(name=HOSTILE)))
    return store


def found(store: Store, sql: str) -> list[tuple[Any, ...]]:
    with store.database.read() as connection:
        return connection.execute(sql).fetchall()


def value(outcome: object) -> float | None:
    return outcome.value if isinstance(outcome, Score) else None


def test_the_leaderboard(kept: Store) -> None:
    expected = {
        (run.name, spec, metric.mean, metric.scored)
        for run in leaderboard(kept)
        for spec, metric in run.metrics.items()
    }
    got = found(kept, means_sql(leaderboard(kept)))
    of_run = {
        one.judged.evaluation_id: run.name for run in leaderboard(kept) for one in run.metrics.values() if one.judged
    }
    assert len(got) == 12
    assert {(of_run[row[6]], row[7], row[1], row[0]) for row in got} == expected


SAMPLES = [
    SampleQuery(),
    SampleQuery(order="worst"),
    SampleQuery(order="lowest", column=FAITHFULNESS),
    SampleQuery(order="highest", column=FAITHFULNESS),
    SampleQuery(only="loose"),
    SampleQuery(only="refusing"),
    SampleQuery(only="unscored", column=FAITHFULNESS),
    SampleQuery(column=FAITHFULNESS, between=(0.2, 0.9)),
    SampleQuery(column="metadata.cost", between=(2.5, math.pi), order="highest"),
    SampleQuery(column=f"metadata.{HOSTILE}", order="lowest"),
    SampleQuery(search="RED thing"),
    SampleQuery(search=HOSTILE.split(maxsplit=1)[0]),
]


@pytest.mark.parametrize("name", ["a", HOSTILE])
@pytest.mark.parametrize("query", SAMPLES, ids=str)
def test_the_samples_of_a_run(kept: Store, name: str, query: SampleQuery) -> None:
    run = kept.resolve(name)
    expected = [
        (row.position, row.sample_id, row.question, row.labels.get("supported", 0), row.refuses)
        for row in sample_rows(kept, run, query).rows
    ]
    assert [(*row[:4], row[6]) for row in found(kept, samples_sql(kept, run, query))] == expected


@pytest.mark.parametrize("limit", [0.5, 1.0])
def test_the_samples_that_miss_a_threshold(kept: Store, limit: float) -> None:
    spec, query = "ragas.faithfulness", SampleQuery(column="ragas.faithfulness", only="beyond")
    run = kept.resolve("a")
    set_threshold(kept, spec, limit)
    expected = [row.sample_id for row in sample_rows(kept, run, query).rows]
    assert [row[1] for row in found(kept, samples_sql(kept, run, query))] == expected
    set_threshold(kept, spec, None)


def test_the_samples_of_a_run_without_an_evaluation(store: Store) -> None:
    store.add_runs([Run(name="new", samples=(make_sample(0),))])
    sql = samples_sql(store, store.resolve("new"), SampleQuery(order="worst"))
    assert run_query(store, sql).rows == ((0, "s0", "What is thing 0?", 0, 0, 0, False, None, 1),)


HALLUCINATIONS: list[dict[str, Any]] = [
    {},
    {"verdict": "contradicted"},
    {"text": "OLD thing"},
    {"text": "o'clock';"},
    {"question": HOSTILE},
    {"passage": "p1"},
    {"judge": "plain"},
    {"judge": HOSTILE},
    {"human": "none"},
    {"human": "agrees"},
    {"human": "overruled"},
    {"miscited": True},
    {"miscited": True, "verdict": "unsupported", "text": "old"},
]


@pytest.mark.parametrize("runs", [(), ("a",), ("b", HOSTILE)])
@pytest.mark.parametrize("given_", HALLUCINATIONS, ids=str)
def test_the_statements_that_passages_do_not_support(
    kept: Store, given_: dict[str, Any], runs: tuple[str, ...]
) -> None:
    query = HallucinationQuery(**given_, runs=tuple(map(kept.resolve, runs)))
    expected = [
        (row.judged.judge, row.sample_id, row.question, row.number, row.judged_statement.statement.text)
        for row in hallucinations(kept, query).rows
    ]
    assert [row[1:6] for row in found(kept, hallucinations_sql(kept, query))] == expected


@pytest.mark.parametrize("which", ["all", "worse", "better", "same", "unscored"])
def test_the_pairs_of_two_runs(kept: Store, which: Any) -> None:
    a, b = kept.resolve("a"), kept.resolve("b")
    query = PairQuery(metric=FAITHFULNESS, which=which)
    expected = [
        (row.sample_a, row.sample_b, row.question, value(row.a), value(row.b), row.difference)
        for row in pair_rows(kept, a, b, pair_runs(kept, a, b), query).rows
    ]
    assert expected or which in {"same", "unscored"}
    assert [row[:6] for row in found(kept, pairs_sql(kept, a, b, query))] == expected


def test_pairs_are_found_by_question_where_ids_differ(store: Store) -> None:
    one, two = make_sample(1), make_sample(2)
    for name, samples in (("a", (one, two)), ("b", (replace(two, id="other"), one, replace(one, id="again")))):
        run_id = store.add_runs([Run(name=name, samples=samples)])[0].id
        evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=PlainJudge()))
    sql = pairs_sql(store, store.resolve("a"), store.resolve("b"), PairQuery(metric=FAITHFULNESS))
    assert {row[:2] for row in run_query(store, sql).rows} == {("s1", "s1"), ("s2", "other")}


@pytest.mark.parametrize("question", EXAMPLES)
def test_an_example_runs(kept: Store, question: str) -> None:
    result = run_query(kept, EXAMPLES[question])
    assert question.endswith("?")
    assert result.rows or question in {
        "What did evaluations cost?",
        "Which statements are contradicted, and why?",
        "Which questions does every run get wrong?",
    }


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_literal_means_its_text_and_nothing_else(text: str) -> None:
    import duckdb

    with duckdb.connect() as connection:
        query = Query(sql="SELECT $text, list_contains($texts, $text)", given={"text": text, "texts": [text, "b"]})
        assert connection.execute(str(query)).fetchall() == query.on(connection).fetchall() == [(text, True)]


def test_every_table_is_described(store: Store) -> None:
    tables = {table.name: table for table in store_tables(store)}
    assert {"runs", "scores", "sample_scores", "statement_verdicts", "shown_evaluations"} <= set(tables)
    assert [name for name, table in tables.items() if not table.comment] == []
    assert tables["sample_scores"].view
    assert [column.name for column in tables["sides"].columns] == ["evaluation_id", "position", "side", "refuses"]
    assert next(column for column in tables["scores"].columns if column.name == "value").comment.startswith("Null")
