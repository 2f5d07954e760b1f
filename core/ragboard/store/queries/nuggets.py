"""Datasets, their questions, and the nuggets of each question."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias

import pyarrow as pa

from ragboard.records import Importance, Nugget, Turn
from ragboard.store.queries.query import Connection
from ragboard.store.queries.question_sets import different_sets, measure_datasets, question_sets

__all__ = [
    "AssignedRow",
    "DatasetQuestion",
    "DatasetRow",
    "NuggetList",
    "QuestionFilter",
    "QuestionPage",
    "RunOfDataset",
    "SampleNugget",
    "append_lists",
    "append_nuggets",
    "asked_questions",
    "assigned_rows",
    "dataset_name",
    "dataset_names",
    "dataset_questions",
    "dataset_rows",
    "dataset_runs",
    "history_json",
    "pooled_passages",
    "question_page",
    "sample_nuggets",
]


ONE_METHOD = "QUALIFY a.compat = min(a.compat) OVER (PARTITION BY a.evaluation_id, a.position)"
"""SQL filter for answers that were judged twice, with all nuggets in one call and in batches of ten (`compat`): keeps
the results of the single call."""


@dataclass(frozen=True, kw_only=True)
class NuggetList:
    """The newest version of a question's nuggets."""

    nuggets: tuple[Nugget, ...]
    author: str
    """The judge or person who wrote this version, or the run file that contained it."""
    approved: bool
    """Whether a person approved this version."""
    written: datetime
    """UTC."""
    versions: int
    """Number of versions, including this one."""


@dataclass(frozen=True, kw_only=True)
class DatasetQuestion:
    """A question of a dataset, with the earlier turns of its conversation."""

    question: str
    history: tuple[Turn, ...]
    reference: str | None
    """The reference of the newest run that has one."""
    different_references: bool
    """Whether the runs have different references. If so, runs without a reference do not get one."""
    runs: int
    """Number of runs of the dataset that have the question."""
    nuggets: NuggetList | None
    """None if nobody wrote nuggets."""


QuestionFilter: TypeAlias = Literal["all", "to approve", "without nuggets"]
"""Which questions of a dataset to show. Questions to approve have nuggets that no person approved."""


@dataclass(frozen=True, kw_only=True)
class QuestionPage:
    """One of the questions of a dataset that match a filter."""

    question: DatasetQuestion
    number: int
    """Its number among all questions of the dataset, from 1."""
    questions: int
    """Number of questions of the dataset."""
    place: int
    """Its number among the questions that match, from 1."""
    matching: int
    """Number of questions that match."""
    previous: int | None
    """The number of the previous question that matches, among all questions; None for the first."""
    next: int | None
    """The same for the next."""


class RunOfDataset(NamedTuple):
    """A run of a dataset, with the evaluation whose nugget assignments count."""

    run_id: str
    name: str
    version: str
    """A digest of its questions with their histories."""
    imported: datetime
    evaluation_id: str | None
    """None if no evaluation assigned nuggets."""
    judge: str | None
    outdated: int
    """Number of answers that were not judged with the current nuggets of their question."""


class DatasetRow(NamedTuple):
    """The size of a dataset."""

    name: str
    runs: int
    versions: int
    """Number of different question sets among its runs."""
    questions: int
    references: int
    """Number of questions with a reference."""
    nuggets: int
    """Number of questions with nuggets."""
    approved: int
    """Number of questions whose nuggets a person approved."""
    labels: int
    """Number of annotators' labels on its questions and answers."""


class AssignedRow(NamedTuple):
    """A nugget assignment: whether the answer of a run states a nugget."""

    run_id: str
    sample_id: str
    nugget: str
    label: Literal["support", "partial_support", "not_support", "failed"]
    reason: str


class SampleNugget(NamedTuple):
    """A nugget of a question, and whether one answer states it."""

    nugget: str
    importance: Importance | None
    label: Literal["support", "partial_support", "not_support", "failed"]
    reason: str


def dataset_name(connection: Connection, name: str) -> str | None:
    """Return the name of the dataset with this name or with a run of this name; None if there is none."""
    row = connection.execute(
        "SELECT dataset FROM runs WHERE dataset = $name OR name = $name ORDER BY dataset = $name DESC LIMIT 1",
        {"name": name},
    ).fetchone()
    return row[0] if row else None


def asked_questions(connection: Connection) -> set[tuple[str, str]]:
    """Return (question, history as in `history_json`) of every question in the store."""
    return set(connection.execute("SELECT DISTINCT question, history::VARCHAR FROM samples").fetchall())


def history_json(history: Iterable[Turn]) -> str:
    """Return the earlier turns as JSON, as in the table `samples`. Equal histories have equal texts."""
    return json.dumps([asdict(turn) for turn in history], ensure_ascii=False, sort_keys=True)


def append_nuggets(
    connection: Connection, question: str, history: str, nuggets: Sequence[Nugget], *, author: str, approved: bool
) -> None:
    """Append a version of a question's nuggets. `history` is a text of `history_json`."""
    append_lists(connection, [(question, history, nuggets, author, approved)])


def append_lists(connection: Connection, lists: Iterable[tuple[str, str, Sequence[Nugget], str, bool]]) -> None:
    """Append versions of nuggets: (question, history, nuggets, author, approved)."""
    rows = [
        {
            "question": question,
            "history": history,
            "nuggets": json.dumps([asdict(nugget) for nugget in nuggets], ensure_ascii=False),
            "author": author,
            "approved": approved,
        }
        for question, history, nuggets, author, approved in lists
    ]
    if not rows:
        return
    connection.register("incoming", pa.Table.from_pylist(rows))
    connection.execute("INSERT INTO nugget_lists BY NAME SELECT *, now() AT TIME ZONE 'UTC' AS written FROM incoming")
    connection.unregister("incoming")


def dataset_names(connection: Connection) -> list[str]:
    """Return the names of all datasets with questions, the dataset of the newest run first."""
    rows = connection.execute(
        "SELECT dataset FROM runs GROUP BY dataset HAVING sum(samples) > 0 ORDER BY max(imported) DESC, dataset"
    ).fetchall()
    return [name for (name,) in rows]


def dataset_rows(connection: Connection, only: str | None = None) -> list[DatasetRow]:
    """Return all datasets with questions, that of the newest run first; with `only`, the dataset with this name."""
    runs = connection.execute(
        "SELECT dataset, list(run_id ORDER BY imported DESC, name), list(dataset_key ORDER BY imported DESC, name)"
        " FROM runs WHERE dataset = $only OR $only IS NULL GROUP BY dataset ORDER BY max(imported) DESC, dataset",
        {"only": only},
    ).fetchall()
    sets = question_sets(connection, [run for _, run_ids, _ in runs for run in run_ids])
    datasets = {name: {run: sets[run] for run in run_ids} for name, run_ids, _ in runs}
    sizes = measure_datasets(connection, datasets)
    asked_in = [run for of_dataset in datasets.values() for run in different_sets(of_dataset)]
    nuggets = _with_entry(connection, "current_nuggets", "count(*) FILTER (e.approved)", asked_in)
    question_labels = _with_entry(connection, "current_question_labels", "0", asked_in)
    labels: dict[str, int] = dict(
        connection.execute(
            "SELECT dataset, count(DISTINCT number) FROM current_labels JOIN samples s USING (answer_key)"
            " JOIN runs r ON r.run_id = s.run_id WHERE dataset = $only OR $only IS NULL GROUP BY dataset",
            {"only": only},
        ).fetchall()
    )
    return [
        DatasetRow(
            name=name,
            runs=len(run_ids),
            versions=len({sets[run].version(key) for run, key in zip(run_ids, keys, strict=True)}),
            questions=sizes[name].questions,
            references=sizes[name].references,
            nuggets=nuggets.get(name, (0, 0))[0],
            approved=nuggets.get(name, (0, 0))[1],
            labels=labels.get(name, 0) + question_labels.get(name, (0, 0))[0],
        )
        for name, run_ids, keys in runs
        if sizes[name].questions
    ]


def _with_entry(connection: Connection, table: str, count: str, runs: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return {dataset: (number of questions of these runs with a row in `table`, `count` of these rows `e`)}."""
    rows = connection.execute(
        f"WITH entries AS MATERIALIZED (SELECT *, history::VARCHAR AS turns FROM {table})"
        f" SELECT dataset, count(*), {count} FROM ("
        "  SELECT DISTINCT r.dataset, s.question, s.history::VARCHAR AS turns FROM samples s JOIN runs r USING (run_id)"
        "  WHERE s.run_id IN (SELECT unnest($runs)) AND s.question IN (SELECT question FROM entries)"
        " ) JOIN entries e USING (question, turns) GROUP BY dataset",
        {"runs": list(runs)},
    ).fetchall()
    return {name: (entries, counted) for name, entries, counted in rows}


def dataset_runs(connection: Connection, dataset: str) -> list[RunOfDataset]:
    """Return the runs of a dataset, newest first."""
    rows = connection.execute(
        """\
WITH shown AS (
  SELECT * FROM assignments WHERE evaluation_id IN (SELECT evaluation_id FROM evaluations JOIN runs USING (run_id)
    WHERE dataset = $dataset) QUALIFY compat = min(compat) OVER (PARTITION BY evaluation_id, position)
),
judged AS MATERIALIZED (
  SELECT run_id, evaluation_id, judge FROM evaluations
  WHERE evaluation_id IN (SELECT evaluation_id FROM shown)
  QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY finished DESC, evaluation_id) = 1
),
labelled AS (
  SELECT evaluation_id, position, list({'text': nugget, 'importance': importance} ORDER BY number) AS nuggets
  FROM shown WHERE evaluation_id IN (SELECT evaluation_id FROM judged) GROUP BY ALL
),
changed AS (
  SELECT s.run_id, count(*) AS outdated
  FROM samples s
  JOIN runs r ON r.run_id = s.run_id AND r.dataset = $dataset
  JOIN current_nuggets n ON n.question = s.question AND n.history::VARCHAR = s.history::VARCHAR
  LEFT JOIN judged j ON j.run_id = s.run_id
  LEFT JOIN labelled l ON l.evaluation_id = j.evaluation_id AND l.position = s.position
  WHERE s.answer IS NOT NULL AND json_array_length(n.nuggets) > 0
    AND from_json(n.nuggets, '[{"text":"VARCHAR","importance":"VARCHAR"}]') IS DISTINCT FROM l.nuggets
  GROUP BY s.run_id
)
SELECT r.run_id, r.name, r.dataset_key, r.imported, j.evaluation_id, j.judge, coalesce(c.outdated, 0)
FROM runs r LEFT JOIN judged j USING (run_id) LEFT JOIN changed c USING (run_id)
WHERE r.dataset = $dataset ORDER BY r.imported DESC, r.name""",
        {"dataset": dataset},
    ).fetchall()
    sets = question_sets(connection, [row[0] for row in rows])
    return [RunOfDataset(run_id, name, sets[run_id].version(key), *rest) for run_id, name, key, *rest in rows]


def dataset_questions(
    connection: Connection, dataset: str, only: tuple[str, str] | None = None
) -> list[DatasetQuestion]:
    """Return the questions of a dataset: those of the newest run in its order, then those of older runs.

    With `only`, a question and its history as in `history_json`, only this question.
    """
    selected = "WHERE question = $question AND history::VARCHAR = $history" if only else ""
    given = dict(zip(("question", "history"), only, strict=True)) if only else {}
    rows = connection.execute(
        f"""\
WITH asked AS (
  SELECT s.question, s.history::VARCHAR AS history, count(DISTINCT run_id) AS runs,
         arg_max(s.reference, r.imported) FILTER (trim(s.reference) <> '') AS reference,
         count(DISTINCT trim(s.reference)) FILTER (trim(s.reference) <> '') > 1 AS different,
         min((r.place, s.position)) AS first
  FROM (FROM samples {selected}) s
  JOIN (SELECT *, row_number() OVER (ORDER BY imported DESC, name) AS place FROM runs WHERE dataset = $dataset) r
    USING (run_id)
  GROUP BY ALL
),
written AS (
  SELECT question, history::VARCHAR AS history, max(number) AS number, count(*) AS versions
  FROM (FROM nugget_lists {selected}) GROUP BY ALL
)
SELECT a.question, a.history, a.reference, a.different, a.runs, l.nuggets, l.author, l.approved, l.written, w.versions
FROM asked a LEFT JOIN written w ON w.question = a.question AND w.history = a.history
LEFT JOIN nugget_lists l ON l.number = w.number
ORDER BY a.first""",
        {"dataset": dataset, **given},
    ).fetchall()
    return [
        DatasetQuestion(
            question=question,
            history=tuple(Turn(**turn) for turn in json.loads(history)),
            reference=reference,
            different_references=different,
            runs=runs,
            nuggets=_nugget_list(*version) if version[0] else None,
        )
        for question, history, reference, different, runs, *version in rows
    ]


_FILTERS: dict[QuestionFilter, str] = {
    "all": "",
    "to approve": "WHERE NOT approved",
    "without nuggets": "WHERE approved IS NULL",
}


def question_page(
    connection: Connection, dataset: str, shown: QuestionFilter = "all", number: int = 1
) -> QuestionPage | None:
    """Return the first question from this number on that matches a filter, else the last such question.

    The questions have the order of `dataset_questions`. None if no question matches.
    """
    positions: dict[str, int] = dict(
        connection.execute(
            "SELECT run_id, coalesce(next_position, samples) FROM runs WHERE dataset = ? ORDER BY imported DESC, name",
            [dataset],
        ).fetchall()
    )
    sets = question_sets(connection, list(positions))
    runs = different_sets(sets)
    if shown == "all" and len(runs) == 1 and sets[runs[0]].questions == positions[runs[0]]:
        return _page_by_position(connection, dataset, runs[0], number, positions[runs[0]])
    first, approved, join, group = "(r.place << 32) + s.position", "NULL", "", ""
    if shown != "all":
        approved = "n.approved"
        join = "LEFT JOIN current_nuggets n ON n.question = s.question AND n.history::VARCHAR = s.history::VARCHAR"
    if len(runs) > 1 or any(sets[run].questions < positions[run] for run in runs):
        first, approved = f"min({first})", f"any_value({approved})"
        group = "GROUP BY hash(s.question, s.history::VARCHAR)"
    row = connection.execute(
        f"""\
WITH asked AS (
  SELECT {first} AS first, {approved} AS approved
  FROM samples s
  JOIN (SELECT unnest($runs) AS run_id, generate_subscripts($runs, 1) AS place) r USING (run_id)
  {join} {group}
),
numbered AS (SELECT row_number() OVER (ORDER BY first) AS number, first, approved FROM asked),
matching AS (FROM numbered {_FILTERS[shown]}),
chosen AS (SELECT coalesce(min(number) FILTER (number >= $number), max(number)) AS chosen FROM matching)
SELECT chosen, (SELECT count(*) FROM asked), count(*) FILTER (number <= chosen), count(*),
       max(number) FILTER (number < chosen), min(number) FILTER (number > chosen),
       any_value(first) FILTER (number = chosen)
FROM matching, chosen GROUP BY chosen""",
        {"runs": runs, "number": number},
    ).fetchone()
    if row is None:
        return None
    chosen, questions, place, matching, previous, following, found = row
    return QuestionPage(
        question=_question_at(connection, dataset, runs[(found >> 32) - 1], found & 0xFFFFFFFF),
        number=chosen,
        questions=questions,
        place=place,
        matching=matching,
        previous=previous,
        next=following,
    )


def _page_by_position(connection: Connection, dataset: str, run_id: str, number: int, questions: int) -> QuestionPage:
    """Return `question_page` for all questions of a run that has each once, at the positions from 0 on."""
    chosen = min(max(number, 1), questions)
    return QuestionPage(
        question=_question_at(connection, dataset, run_id, chosen - 1),
        number=chosen,
        questions=questions,
        place=chosen,
        matching=questions,
        previous=chosen - 1 if chosen > 1 else None,
        next=chosen + 1 if chosen < questions else None,
    )


def _question_at(connection: Connection, dataset: str, run_id: str, position: int) -> DatasetQuestion:
    """Return the question of a sample."""
    ((question, history),) = connection.execute(
        "SELECT question, history::VARCHAR FROM samples WHERE run_id = ? AND position = ?", [run_id, position]
    ).fetchall()
    (only,) = dataset_questions(connection, dataset, (question, history))
    return only


def _nugget_list(nuggets: str, author: str, approved: bool, written: datetime, versions: int) -> NuggetList:  # noqa: FBT001 - a row
    read = tuple(Nugget(**nugget) for nugget in json.loads(nuggets))
    return NuggetList(nuggets=read, author=author, approved=approved, written=written, versions=versions)


def pooled_passages(connection: Connection, dataset: str, question: str, history: str) -> tuple[str, ...]:
    """Return the distinct passages that the runs of a dataset retrieved for a question, best ranks first."""
    rows = connection.execute(
        "SELECT p.text FROM passages p JOIN samples s ON s.run_id = p.run_id AND s.position = p.position"
        " JOIN runs r ON r.run_id = p.run_id"
        " WHERE r.dataset = ? AND s.question = ? AND s.history::VARCHAR = ?"
        " GROUP BY p.text ORDER BY min(p.rank), min(r.imported), p.text",
        [dataset, question, history],
    ).fetchall()
    return tuple(row[0] for row in rows)


def assigned_rows(connection: Connection, evaluations: Sequence[str], question: str, history: str) -> list[AssignedRow]:
    """Return the nugget assignments of the answers to a question, ordered by run, answer and nugget."""
    rows = connection.execute(
        "SELECT e.run_id, s.sample_id, a.nugget, a.label, a.reason"
        " FROM assignments a JOIN evaluations e USING (evaluation_id)"
        " JOIN samples s ON s.run_id = e.run_id AND s.position = a.position"
        " WHERE a.evaluation_id IN (SELECT unnest(?)) AND s.question = ? AND s.history::VARCHAR = ?"
        f" {ONE_METHOD}"
        " ORDER BY e.run_id, a.position, a.number",
        [list(evaluations), question, history],
    ).fetchall()
    return [AssignedRow(*row) for row in rows]


def sample_nuggets(connection: Connection, evaluations: Sequence[str], position: int) -> list[SampleNugget]:
    """Return the nugget assignments of an answer, in order of the nuggets, from the first evaluation that has some."""
    for evaluation in evaluations:
        rows = connection.execute(
            "SELECT nugget, importance, label, reason FROM assignments a WHERE evaluation_id = ? AND position = ?"
            f" {ONE_METHOD}"
            " ORDER BY number",
            [evaluation, position],
        ).fetchall()
        if rows:
            return [SampleNugget(*row) for row in rows]
    return []
