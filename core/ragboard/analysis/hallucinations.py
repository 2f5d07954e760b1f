"""Statements of answers that the passages do not support, over any runs: filtered, grouped, counted, paged.

All of that happens in the database, so that a page costs about the same over a hundred statements or a
million. A statement's verdict is that of the passages together; where nobody judged that, what single
passages come to, as `JudgedStatement.alone` has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragboard.records import Label, Statement
from ragboard.store import Store
from ragboard.store.queries.evaluations import JudgedBy, judge_names, ranked_evaluations
from ragboard.store.queries.labels import human_verdicts
from ragboard.store.queries.query import Connection
from ragboard.store.queries.statements import (
    Grouping,
    HallucinationQuery,
    JudgedStatement,
    create_matches,
    grouped_statements,
    matched_frame,
    matched_labels,
    matched_page,
    separately_judged,
    statements_query,
    verdicts_of,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Hallucination",
    "HallucinationGroup",
    "HallucinationGroups",
    "HallucinationPage",
    "hallucination_groups",
    "hallucination_table",
    "hallucinations",
    "hallucinations_sql",
    "judges_of",
]


@dataclass(frozen=True, kw_only=True)
class Hallucination:
    """A statement that the passages do not support, and where it stands."""

    run: str
    """How commands and addresses name it: `RUN`, or `RUN@EVALUATION` where the bare name means another."""
    judged: JudgedBy
    sample_id: str
    question: str
    number: int
    """Its place among the answer's statements, from 1."""
    said: JudgedStatement


@dataclass(frozen=True, kw_only=True)
class HallucinationPage:
    """Statements that a query found, the worst first, and how many there are in all."""

    rows: tuple[Hallucination, ...]
    total: int
    labels: Mapping[Label, int]
    """All judged statements by verdict, supported ones too, under every filter but that of the verdict."""


@dataclass(frozen=True, kw_only=True)
class HallucinationGroup:
    """What unsupported statements have in common."""

    key: str
    """What a query names it by: the question, the judge, a passage's digest."""
    title: str
    """The question, the judge, the beginning of the passage."""
    passage_id: str
    """Empty where the group is not a passage, or its text goes by several ids."""
    statements: int
    """Not supported; of a passage: those of answers for which it was retrieved."""
    contradicted: int
    """How many of them are contradicted; of a passage: by that passage."""


@dataclass(frozen=True, kw_only=True)
class HallucinationGroups:
    """Groups that a query found, those with most statements first, and how many there are in all."""

    groups: tuple[HallucinationGroup, ...]
    total: int


def hallucinations(store: Store, query: HallucinationQuery) -> HallucinationPage:
    """A page of statements: contradicted before unsupported, least supported first."""
    with store.database.read() as connection:
        shown = _shown(connection, query)
        create_matches(connection, query, list(shown))
        labels = matched_labels(connection)
        page = matched_page(connection, query)
        keys = [one.key for one in page]
        verdicts, people = verdicts_of(connection, keys), human_verdicts(connection, keys)
    rows = tuple(
        Hallucination(
            run=shown[one.evaluation_id][0],
            judged=shown[one.evaluation_id][1],
            sample_id=one.sample_id,
            question=one.question,
            number=one.number,
            said=JudgedStatement(
                statement=Statement(side="response", text=one.statement),
                verdict=verdicts[one.key].get(0),
                single={rank: verdict for rank, verdict in verdicts[one.key].items() if rank},
                people=people.get(one.key, ()),
            ),
        )
        for one in page
    )
    return HallucinationPage(rows=rows, total=sum(labels.get(label, 0) for label in query.labels), labels=labels)


def hallucinations_sql(store: Store, query: HallucinationQuery) -> str:
    """The SQL behind a page of statements."""
    with store.database.read() as connection:
        shown = list(_shown(connection, query))
        return str(statements_query(query, shown, separately_judged(connection, shown)))


def hallucination_groups(store: Store, query: HallucinationQuery, by: Grouping) -> HallucinationGroups:
    """The statements that a query means, by question, passage or judge; by judge, each run counts once for each."""
    with store.database.read() as connection:
        create_matches(connection, query, list(_shown(connection, query, each_judge=by == "judge")))
        found = grouped_statements(connection, query, by)
    groups = tuple(
        HallucinationGroup(
            key=one.key,
            title=one.title,
            passage_id=one.passage_id,
            statements=one.statements,
            contradicted=one.contradicted,
        )
        for one in found
    )
    return HallucinationGroups(groups=groups, total=found[0].total if found else 0)


def hallucination_table(store: Store, query: HallucinationQuery) -> pd.DataFrame:
    """Every statement that a query means, whatever its limit, a row each, for export.

    Columns: run, evaluation, judge, sample_id, question, number (from 1), statement, verdict, together (whether
    the passages were judged together), score in [0, 1] or null, reason; human, annotator, note: what people say
    (the latest of them), null where nobody does.
    """
    with store.database.read() as connection:
        create_matches(connection, query, list(_shown(connection, query)))
        return matched_frame(connection, query)


def judges_of(store: Store) -> tuple[str, ...]:
    """The judges of the evaluations in the store, by name."""
    with store.database.read() as connection:
        return judge_names(connection)


def _shown(
    connection: Connection, query: HallucinationQuery, *, each_judge: bool = False
) -> dict[str, tuple[str, JudgedBy]]:
    """The evaluations that a query looks at, by id, each with how its run is named with it."""
    named = {ref.evaluation_id for ref in query.runs} if not query.judge and not each_judge else set[str | None]()
    runs = {ref.run_id for ref in query.runs}
    found: dict[tuple[str, str], tuple[str, tuple[str, JudgedBy]]] = {}
    for run_id, name, place, judged in ranked_evaluations(connection):
        if (runs and run_id not in runs) or query.judge not in ("", judged.judge):
            continue
        if named and judged.evaluation_id not in named:
            continue
        run = name if place == 1 else f"{name}@{judged.evaluation_id}"
        part = judged.judge if each_judge else judged.evaluation_id if named else ""
        found.setdefault((run_id, part), (judged.evaluation_id, (run, judged)))
    return dict(found.values())
