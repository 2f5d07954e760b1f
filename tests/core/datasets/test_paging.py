"""Tests of reading a dataset in parts: its size and single questions are those of the whole dataset."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples

from ragboard import Nugget, Run, Sample, Store, Turn
from ragboard.datasets import DatasetQuestion, QuestionFilter, QuestionPage, datasets
from ragboard.store.queries import rollups
from ragboard.store.queries.nuggets import (
    DatasetRow,
    append_lists,
    dataset_names,
    dataset_questions,
    dataset_rows,
    dataset_runs,
    history_json,
    question_page,
)
from ragboard.store.queries.question_labels import append_question_labels
from ragboard.store.queries.question_sets import QUESTION_SETS

HISTORIES = ((), (Turn(role="user", text="Of the bridge."),), (Turn(role="assistant", text="Of the bridge."),))
FILTERS: tuple[QuestionFilter, ...] = ("all", "to approve", "without nuggets")


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What a store has."""

    runs: Sequence[tuple[str, bool, Sequence[tuple[str, tuple[Turn, ...], str | None]]]]
    """The runs: (dataset, whether it grows, its samples as (question, history, reference))."""
    deleted: frozenset[int]
    """Positions of the samples that are deleted from the runs that grow."""
    nuggets: Sequence[tuple[str, tuple[Turn, ...], bool]]
    """Versions of nuggets: (question, history, whether they are approved)."""
    labelled: frozenset[tuple[str, tuple[Turn, ...]]]
    """Questions whose answerability is labelled: (question, history)."""


texts, histories = st.sampled_from(["When?", "Who?", "Where?"]), st.sampled_from(HISTORIES)
references = st.sampled_from([None, " ", "In 2000.", "In 2001."])
contents = st.builds(
    Contents,
    runs=st.lists(
        st.tuples(
            st.sampled_from("ab"),
            st.booleans(),
            st.lists(st.tuples(texts, histories, references), min_size=1, max_size=6),
        ),
        min_size=1,
        max_size=4,
    ),
    deleted=st.frozensets(st.integers(0, 5), max_size=4),
    nuggets=st.lists(st.tuples(texts, histories, st.booleans()), max_size=6),
    labelled=st.frozensets(st.tuples(texts, histories), max_size=3),
)


def fill(store: Store, given: Contents) -> None:
    for number, (dataset, grows, rows) in enumerate(given.runs):
        samples = tuple(
            Sample(id=f"s{place}", question=question, answer="Yes.", history=history, reference=reference)
            for place, (question, history, reference) in enumerate(rows)
        )
        run = Run(name=f"run{number}", samples=samples, dataset=dataset)
        if grows:
            store.append(run)
            store.remove_samples(store.resolve(run.name).run_id, given.deleted)
        else:
            store.add_runs([run])
    with store.database.write() as connection:
        append_lists(
            connection,
            (
                (question, history_json(history), [Nugget(text=f"Fact {number}", importance="vital")], "Ada", approved)
                for number, (question, history, approved) in enumerate(given.nuggets)
            ),
        )
        append_question_labels(
            connection,
            ((question, history_json(history), "answerable", "Ada") for question, history in given.labelled),
        )


ROWS = """\
WITH asked AS (
  SELECT r.dataset, s.question, s.history::VARCHAR AS history, bool_or(trim(s.reference) <> '') AS has_reference
  FROM samples s JOIN runs r USING (run_id) GROUP BY ALL
),
counts AS (
  SELECT a.dataset, count(*) AS questions, count(*) FILTER (has_reference) AS refs,
         count(n.number) AS nuggets, count(n.number) FILTER (n.approved) AS approved, count(l.number) AS labels
  FROM asked a LEFT JOIN current_nuggets n ON n.question = a.question AND n.history::VARCHAR = a.history
  LEFT JOIN current_question_labels l ON l.question = a.question AND l.history::VARCHAR = a.history
  GROUP BY a.dataset
)
SELECT r.dataset, count(*), count(DISTINCT v.version), any_value(questions), any_value(refs), any_value(nuggets),
       any_value(approved), any_value(labels)
FROM runs r JOIN counts USING (dataset) JOIN run_versions v USING (run_id)
GROUP BY r.dataset ORDER BY max(imported) DESC, r.dataset"""
"""The rows of `datasets`, computed from all samples of the store."""


def matches(question: DatasetQuestion, shown: QuestionFilter) -> bool:
    match shown:
        case "to approve":
            return question.nuggets is not None and not question.nuggets.approved
        case "without nuggets":
            return question.nuggets is None
        case _:
            return True


def expected_page(questions: Sequence[DatasetQuestion], shown: QuestionFilter, wanted: int) -> QuestionPage | None:
    numbers = [number for number, one in enumerate(questions, 1) if matches(one, shown)]
    if not numbers:
        return None
    place = next((place for place, number in enumerate(numbers, 1) if number >= wanted), len(numbers))
    return QuestionPage(
        question=questions[numbers[place - 1] - 1],
        number=numbers[place - 1],
        questions=len(questions),
        place=place,
        matching=len(numbers),
        previous=numbers[place - 2] if place > 1 else None,
        next=numbers[place] if place < len(numbers) else None,
    )


def check(store: Store) -> None:
    with store.database.read() as connection:
        rows = [DatasetRow(*row) for row in connection.execute(ROWS).fetchall()]
        assert dataset_rows(connection) == rows
        assert dataset_names(connection) == [row.name for row in rows]
        assert all(dataset_rows(connection, row.name) == [row] for row in rows)
        versions = dict(connection.execute("FROM run_versions").fetchall())
        for (name,) in connection.execute("SELECT DISTINCT dataset FROM runs").fetchall():
            assert all(run.version == versions[run.run_id] for run in dataset_runs(connection, name))
            questions = dataset_questions(connection, name)
            for shown in FILTERS:
                for number in {1, 2, len(questions), len(questions) + 1}:
                    assert question_page(connection, name, shown, number) == expected_page(questions, shown, number)


@examples(32)
@given(contents)
def test_sizes_and_single_questions_are_those_of_the_whole_dataset(given: Contents) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        store = Store(Path(folder))
        fill(store, given)
        check(store)
        patch.setattr(rollups, "MIN_SAMPLES", 1)
        store.add_runs([])  # a write that makes rollups
        check(store)


def test_the_sizes_of_large_runs_with_the_same_questions_are_not_counted_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rollups, "MIN_SAMPLES", 1)
    samples = tuple(Sample(id=f"s{number}", question=f"Question {number}?", answer="Yes.") for number in range(3))
    store.add_runs([Run(name=name, samples=samples, dataset="d") for name in ("one", "two")])
    with store.database.write() as connection:
        connection.execute("DELETE FROM samples")
        stored = connection.execute("SELECT count(*) FROM rollups WHERE name = ?", [QUESTION_SETS.name]).fetchall()
    assert stored == [(2,)]
    (row,) = datasets(store)
    assert (row.runs, row.versions, row.questions, row.references) == (2, 1, 3, 0)
