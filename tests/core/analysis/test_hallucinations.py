"""Tests of filtering, grouping, counting and paging unsupported statements."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Once
from tests.core.analysis.test_file_scores import SIX, checked
from tests.core.conftest import PlainJudge, make_sample

from ragboard import DEFAULT_METRICS, Panel, Passage, Run, Store, evaluate_run
from ragboard.analysis import (
    Grouping,
    HallucinationQuery,
    hallucination_groups,
    hallucination_table,
    hallucinations,
    list_judges,
    list_runs,
    unsupported_statements,
)

ANSWERS = ["It is red. It is old. It is big.", "It is old.", "It is red.", None]


def keep(store: Store, name: str, answers: list[str | None], judge: PlainJudge | None = None) -> None:
    samples = tuple(make_sample(n, answer=answer) for n, answer in enumerate(answers))
    run_id = store.add_runs([Run(name=name, samples=samples)])[0].id
    evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=judge or PlainJudge()))


def keep_two(store: Store) -> None:
    keep(store, "a", ANSWERS)
    keep(store, "b", ["It is new."])


@pytest.fixture
def two(store: Store, once: Once) -> Store:
    """Run a: old, big | old | nothing. Run b: new."""
    return once(keep_two, store)


def texts(store: Store, **query: Any) -> list[str]:
    page = hallucinations(store, HallucinationQuery(**query))
    return [f"{row.run} {row.sample_id}.{row.number} {row.judged_statement.statement.text}" for row in page.rows]


OLD, BIG, OTHER, NEW = "a s0.2 It is old", "a s0.3 It is big", "a s1.1 It is old", "b s0.1 It is new"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, {OLD, BIG, OTHER, NEW}),
        ({"verdict": "unsupported"}, {OLD, BIG, OTHER, NEW}),
        ({"verdict": "contradicted"}, set()),
        ({"text": "OLD"}, {OLD, OTHER}),
        ({"text": "old 1?"}, {OTHER}),
        ({"text": "100% _'); DROP TABLE samples; --"}, set()),
        ({"question": "What is thing 0?"}, {OLD, BIG, NEW}),
        ({"question": "What is thing"}, set()),
        ({"passage": "p1"}, {OLD, BIG, OTHER, NEW}),
        ({"passage": "p"}, set()),
        ({"judge": "plain"}, {OLD, BIG, OTHER, NEW}),
        ({"judge": "nobody"}, set()),
    ],
)
def test_a_filter_lets_just_those_through(two: Store, query: dict[str, Any], expected: set[str]) -> None:
    found = texts(two, **query)
    assert (set(found), len(found)) == (expected, len(expected))


def test_runs_are_chosen_by_reference(two: Store) -> None:
    assert texts(two, runs=(two.resolve("b"),)) == [NEW]
    assert set(texts(two, runs=(two.resolve("a"),))) == {OLD, BIG, OTHER}


def test_pages_together_are_the_whole_and_count_it(two: Store) -> None:
    whole = texts(two)
    assert [texts(two, limit=1, offset=place) for place in range(5)] == [*([one] for one in whole), []]
    page = hallucinations(two, HallucinationQuery(limit=1, offset=3))
    assert (page.total, dict(page.labels)) == (4, {"unsupported": 4, "supported": 2})


def test_the_counts_cover_all_verdicts_with_a_verdict_filter(two: Store) -> None:
    page = hallucinations(two, HallucinationQuery(verdict="contradicted"))
    assert (page.rows, page.total, dict(page.labels)) == ((), 0, {"unsupported": 4, "supported": 2})


def test_the_sentence_counts_what_is_shown_and_hedges_where_every_judge_is_rule_based(two: Store) -> None:
    def sentence(**query: Any) -> str:
        return hallucinations(two, HallucinationQuery(**query)).sentence

    assert sentence() == sentence(limit=1, offset=3) == "4 of 6 statements are not supported"
    assert sentence(verdict="contradicted") == "0 of 6 statements are contradicted"
    keep(two, "c", ["It is older."], PlainJudge(heuristic=True))
    assert sentence() == "5 of 7 statements are not supported"
    assert sentence(runs=(two.resolve("c"),)) == "1 of 1 statement is not supported (rule-based)"
    assert sentence(runs=(two.resolve("c"),), verdict="contradicted") == "0 of 1 statement is contradicted (rule-based)"


def test_an_empty_store_has_none(store: Store) -> None:
    page = hallucinations(store, HallucinationQuery())
    assert (page.rows, page.total, dict(page.labels), list_judges(store)) == ((), 0, {}, ())
    assert hallucination_groups(store, HallucinationQuery(), "passage").groups == ()


def test_without_a_joint_verdict_verdicts_on_single_passages_are_used(store: Store, tmp_path: Path) -> None:
    checked(store, tmp_path, SIX)
    rows = hallucinations(store, HallucinationQuery()).rows
    assert [(row.number, row.judged_statement.verdict, row.judged_statement.separate_verdict) for row in rows] == [
        (3, None, "contradicted"),
        (6, None, "unsupported"),
    ]
    assert rows[0].judged_statement.ranks("contradicted") == (2,)
    assert dict(hallucinations(store, HallucinationQuery()).labels) == {
        "supported": 4,
        "contradicted": 1,
        "unsupported": 1,
    }
    frame = hallucination_table(store, HallucinationQuery())
    assert list(frame["together"]) == [False, False]
    by_passage = hallucination_groups(store, HallucinationQuery(), "passage").groups
    assert [(group.passage_id, group.statements, group.contradicted) for group in by_passage] == [
        ("b", 2, 1),
        ("a", 2, 0),
    ]


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("question", [("What is thing 0?", 3), ("What is thing 1?", 1)]),
        ("judge", [("plain", 4)]),
        ("passage", [("p1", 3), ("p2", 3), ("p1", 1), ("p2", 1)]),
    ],
)
def test_groups_hold_what_they_count_and_lead_to_it(two: Store, by: Grouping, expected: list[tuple[str, int]]) -> None:
    found = hallucination_groups(two, HallucinationQuery(), by)
    assert [(group.passage_id or group.title, group.statements) for group in found.groups] == expected
    assert found.total == len(expected)
    for group in found.groups:
        assert hallucinations(two, HallucinationQuery(**{by: group.key})).total == group.statements
    second = hallucination_groups(two, HallucinationQuery(limit=1, offset=1), by)
    assert second.groups == found.groups[1:2]


def test_a_passage_is_one_group_at_any_rank_and_counts_a_statement_once(store: Store) -> None:
    texts = ["The sea.", "Salt.", "The sea."]
    same = [Passage(id=str(rank), text=text, rank=rank) for rank, text in enumerate(texts, 1)]
    first = replace(make_sample(0, answer="It is old."), contexts=tuple(same))
    second = replace(make_sample(1, answer="It is big."), contexts=(replace(same[1], id="1", rank=1),))
    run_id = store.add_runs([Run(name="a", samples=(first, second))])[0].id
    evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=PlainJudge()))
    found = hallucination_groups(store, HallucinationQuery(), "passage")
    assert [(group.title, group.passage_id, group.statements) for group in found.groups] == [
        ("Salt.", "", 2),
        ("The sea.", "", 1),
    ]
    assert found.total == 2
    for group in found.groups:
        assert hallucinations(store, HallucinationQuery(passage=group.key)).total == group.statements


def test_a_contradiction_comes_first_and_is_counted_against_the_passage_its_evidence_names(two: Store) -> None:
    evidence = json.dumps([{"rank": 2, "start": 0, "end": 3, "stance": "against", "how": "quoted"}])
    with two.database.write() as connection:
        connection.execute(
            "UPDATE verdicts SET label = 'contradicted', evidence = ? WHERE position = 1 AND target = 'joint'",
            [evidence],
        )
    assert texts(two)[0] == OTHER
    first = hallucination_groups(two, HallucinationQuery(), "passage").groups[0]
    assert (first.passage_id, first.statements, first.contradicted) == ("p2", 1, 1)
    assert texts(two, verdict="contradicted") == [OTHER]


def test_statements_of_an_older_judge_are_named_by_their_evaluation(two: Store) -> None:
    keep(two, "b", ["It is new."], replace(PlainJudge(), name="second", version="2"))
    assert list_judges(two) == ("plain", "second")
    newest, older = (
        hallucinations(two, HallucinationQuery(judge=judge, text="new")).rows for judge in ("second", "plain")
    )
    assert newest[0].run == "b"
    assert older[0].run == f"b@{older[0].judged.evaluation_id}"
    assert two.resolve(older[0].run).evaluation_id == older[0].judged.evaluation_id
    by_judge = hallucination_groups(two, HallucinationQuery(), "judge").groups
    assert [(group.title, group.statements) for group in by_judge] == [("plain", 4), ("second", 1)]


def test_the_frame_has_all_rows_with_any_limit(two: Store) -> None:
    frame = hallucination_table(two, HallucinationQuery(limit=1, offset=1))
    assert len(frame) == 4
    assert {(row.run, row.sample_id, row.number) for row in frame.itertuples()} == {
        ("a", "s0", 2),
        ("a", "s0", 3),
        ("a", "s1", 1),
        ("b", "s0", 1),
    }
    assert set(frame["verdict"]) == {"unsupported"}


def test_statements_with_numbers_and_names_come_before_platitudes_and_opinions_everywhere(store: Store) -> None:
    keep(store, "a", ["It is big. It opened in 1901.", "It was built by Ada Byron.", "Everyone loves it."])
    listed = [row.judged_statement.statement.text for row in hallucinations(store, HallucinationQuery()).rows]
    assert listed == ["It opened in 1901", "It was built by Ada Byron", "It is big", "Everyone loves it"]
    first = unsupported_statements(store, [store.resolve(run.name) for run in list_runs(store)], limit=3)
    assert [one.text for one in first] == [listed[0], listed[1], listed[3]]  # one of each question


def test_numbers_come_before_names_and_hedges_advice_and_code_come_after_plain_claims(store: Store) -> None:
    claims = ["It moved to Peacock", "Ada Byron might like it", "It moved in 2021", 'Use {"a": "B C"} with Ada Byron']
    keep(store, "a", [*(f"{claim}." for claim in claims), "It could be big."])
    listed = [row.judged_statement.statement.text for row in hallucinations(store, HallucinationQuery()).rows]
    assert listed == [
        "It moved in 2021",
        "It moved to Peacock",
        "Ada Byron might like it",
        claims[3],
        "It could be big",
    ]


def test_what_only_admits_not_knowing_comes_last(store: Store) -> None:
    answers = ["I don't have a specific sample setting for the Mars Game. It is big.", "The document does not say so."]
    keep(store, "a", [*answers, "It was founded in 1990."])
    assert [text.split(" ", 2)[2] for text in texts(store)] == [
        "It was founded in 1990",
        "It is big",
        "I don't have a specific sample setting for the Mars Game",
        "The document does not say so",
    ]


def test_a_statement_says_which_of_several_answers_to_its_question_it_is_of(store: Store) -> None:
    samples = [
        replace(make_sample(n, answer="It is old."), id=f"{n}-{model}", metadata={"model": model, "n": n})
        for n in range(2)
        for model in ("gpt", "llama")
    ]
    run_id = store.add_runs([Run(name="both", samples=tuple(samples))])[0].id
    evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=PlainJudge()))
    rows = hallucinations(store, HallucinationQuery()).rows
    assert {row.sample_id: row.variant for row in rows} == {
        f"{n}-{model}": model for n in range(2) for model in ("gpt", "llama")
    }


def test_the_answers_of_a_run_with_one_answer_to_each_question_need_no_name(two: Store) -> None:
    assert {row.variant for row in hallucinations(two, HallucinationQuery()).rows} == {""}
