"""Statements of answers that the passages do not support, over any runs: filtered, grouped, counted, paged.

All of that happens in the database, so that a page costs about the same over a hundred statements or a
million. A statement's verdict is that of the passages together; where nobody judged that, what single
passages come to, as `JudgedStatement.alone` has it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import duckdb

from ragboard.analysis.nouns import JudgedBy, JudgedStatement
from ragboard.analysis.runs import judged_by
from ragboard.analysis.statements import verdict_read
from ragboard.records import Label, Statement
from ragboard.store import RunRef, Store
from ragboard.store.queries.labels import HumanVerdict, people_of_statements

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "LOOSE",
    "Grouping",
    "Hallucination",
    "HallucinationGroup",
    "HallucinationGroups",
    "HallucinationPage",
    "HallucinationQuery",
    "Human",
    "hallucination_groups",
    "hallucination_table",
    "hallucinations",
    "judges_of",
]

LOOSE: tuple[Label, ...] = ("contradicted", "unsupported")
"""The verdicts of a statement that the passages do not support, the worse first."""

WORDS = 8
"""Words of a search that are looked at."""

Grouping = Literal["question", "passage", "judge"]

Human = Literal["none", "agrees", "overruled"]
"""What people say of a verdict: nobody looked, the same, another; where people differ, the latest counts."""


@dataclass(frozen=True, kw_only=True)
class HallucinationQuery:
    """Which statements that the passages do not support; what is left empty lets all through."""

    runs: tuple[RunRef, ...] = ()
    """None: every run. Of each the evaluation that the reference means."""
    verdict: Label | None = None
    """contradicted or unsupported; None: both."""
    judge: str = ""
    """Take of each run its newest evaluation by this judge instead."""
    text: str = ""
    """Words that all stand in the statement, its question or its reason."""
    question: str = ""
    """The whole question."""
    passage: str = ""
    """The id of a passage that was retrieved, or the key of its group."""
    human: Human | None = None
    """What people say of the verdict."""
    limit: int = 50
    offset: int = 0


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


@dataclass(frozen=True, kw_only=True)
class _Shown:
    """An evaluation that is looked at, and how its run is named with it."""

    run: str
    judged: JudgedBy


def hallucinations(store: Store, query: HallucinationQuery) -> HallucinationPage:
    """A page of statements: contradicted before unsupported, least supported first."""
    with store.database.read() as connection:
        shown = _shown(connection, query)
        _find(connection, query, shown)
        labels = dict(connection.execute("SELECT label, count(*) FROM found GROUP BY label").fetchall())
        wanted = _wanted(query)
        keys = connection.execute(
            f"SELECT evaluation_id, position, statement FROM found f WHERE label IN (SELECT unnest($labels))"
            f" ORDER BY {_WORST} LIMIT $limit OFFSET $offset",
            {"labels": wanted, "limit": query.limit, "offset": query.offset},
        ).fetchall()
        rows = _rows(connection, keys, shown)
    return HallucinationPage(rows=rows, total=sum(labels.get(label, 0) for label in wanted), labels=labels)


def hallucination_groups(store: Store, query: HallucinationQuery, by: Grouping) -> HallucinationGroups:
    """The statements that a query means, by question, passage or judge; by judge, each run counts once for each."""
    with store.database.read() as connection:
        _find(connection, query, _shown(connection, query, each_judge=by == "judge"))
        rows = connection.execute(
            "WITH loose AS (SELECT * FROM found WHERE label IN (SELECT unnest($labels)))"
            f"{_GROUPS[by]} LIMIT $limit OFFSET $offset",
            {"labels": _wanted(query), "limit": query.limit, "offset": query.offset},
        ).fetchall()
    groups = tuple(
        HallucinationGroup(key=key, title=title, passage_id=passage, statements=count, contradicted=contradicted)
        for key, title, passage, count, contradicted, _ in rows
    )
    return HallucinationGroups(groups=groups, total=rows[0][5] if rows else 0)


def hallucination_table(store: Store, query: HallucinationQuery) -> pd.DataFrame:
    """Every statement that a query means, whatever its limit, a row each, for export.

    Columns: run, evaluation, judge, sample_id, question, number (from 1), statement, verdict, together (whether
    the passages were judged together), score in [0, 1] or null, reason; human, annotator, note: what people say
    (the latest of them), null where nobody does.
    """
    with store.database.read() as connection:
        _find(connection, query, _shown(connection, query))
        return connection.execute(
            "SELECT r.name AS run, f.evaluation_id AS evaluation, e.judge, s.sample_id, s.question,"
            " f.statement + 1 AS number, t.text AS statement, f.label AS verdict, f.together, f.score,"
            " coalesce(v.reason, '') AS reason, h.human, h.annotator, h.note"
            f" FROM found f {_EVALUATION} JOIN runs r USING (run_id)"
            f" {_SAMPLE} {_STATEMENT} LEFT {_JOINT} LEFT {_PEOPLE}"
            f" WHERE f.label IN (SELECT unnest($labels)) ORDER BY {_WORST}",
            {"labels": _wanted(query)},
        ).df()


def judges_of(store: Store) -> tuple[str, ...]:
    """The judges of the evaluations in the store, by name."""
    with store.database.read() as connection:
        rows = connection.execute("SELECT DISTINCT judge FROM evaluations WHERE NOT imported ORDER BY 1").fetchall()
    return tuple(row[0] for row in rows)


def _wanted(query: HallucinationQuery) -> list[Label]:
    return [query.verdict] if query.verdict else list(LOOSE)


_EVALUATION = "JOIN evaluations e ON e.evaluation_id = f.evaluation_id"
_SAMPLE = "JOIN samples s ON s.run_id = e.run_id AND s.position = f.position"
_STATEMENT = (
    "JOIN statements t ON t.evaluation_id = f.evaluation_id AND t.position = f.position AND t.side = 'response'"
    " AND t.statement = f.statement"
)
_JOINT = (
    "JOIN verdicts v ON v.evaluation_id = f.evaluation_id AND v.position = f.position AND v.side = 'response'"
    " AND v.statement = f.statement AND v.target = 'joint'"
)
_PEOPLE = (
    "JOIN (SELECT evaluation_id, position, statement, arg_max(label, number) AS human,"
    " arg_max(annotator, number) AS annotator, arg_max(note, number) AS note FROM human_verdicts GROUP BY ALL) h"
    " ON h.evaluation_id = f.evaluation_id AND h.position = f.position AND h.statement = f.statement"
)
_HUMAN: dict[Human, str] = {
    "none": "h.human IS NULL",
    "agrees": "h.human = f.label",
    "overruled": "h.human <> f.label",
}
_WORST = "f.label = 'contradicted' DESC, f.score NULLS LAST, f.evaluation_id, f.position, f.statement"
_TOGETHER = (
    "SELECT evaluation_id, position, statement, label, score, true AS together FROM verdicts"
    " WHERE side = 'response' AND target = 'joint' AND evaluation_id IN (SELECT unnest($evaluations))"
)
_ALONE = (
    "SELECT evaluation_id, position, statement, CASE WHEN bool_or(label = 'supported') THEN 'supported'"
    " WHEN bool_or(label = 'contradicted') THEN 'contradicted' ELSE 'unsupported' END AS label,"
    " NULL::DOUBLE AS score, false AS together FROM verdicts"
    f" ANTI JOIN ({_TOGETHER}) USING (evaluation_id, position, statement)"
    " WHERE side = 'response' AND starts_with(target, 'passage:') AND evaluation_id IN (SELECT unnest($apart))"
    " GROUP BY evaluation_id, position, statement"
)
_APART = (
    "SELECT evaluation_id FROM statements WHERE side = 'response' AND evaluation_id IN (SELECT unnest($evaluations))"
    f" GROUP BY evaluation_id HAVING count(*) > (SELECT count(*) FROM ({_TOGETHER}) j"
    " WHERE j.evaluation_id = statements.evaluation_id)"
)
"""The evaluations with statements that nobody judged on all passages together."""

_ONE = "(f.evaluation_id, f.position, f.statement)"
"""A statement, which counts once for a passage that was retrieved twice."""
_COUNTED = "count(*), count(*) FILTER (f.label = 'contradicted'), count(*) OVER ()"
_GROUPS: dict[Grouping, str] = {
    "question": (
        f" SELECT s.question, s.question, '', {_COUNTED} FROM loose f {_EVALUATION} {_SAMPLE}"
        " GROUP BY s.question ORDER BY 4 DESC, 5 DESC, 1"
    ),
    "judge": f" SELECT e.judge, e.judge, '', {_COUNTED} FROM loose f {_EVALUATION} GROUP BY e.judge ORDER BY 4 DESC, 1",
    "passage": (
        ", marks AS (SELECT f.evaluation_id, f.position, f.statement, unnest(from_json(v.evidence,"
        f""" '[{{"rank": "INTEGER", "stance": "VARCHAR"}}]')) AS mark FROM loose f {_JOINT}"""
        " WHERE f.label = 'contradicted'),"
        " against AS (SELECT evaluation_id, position, statement, mark.rank AS rank FROM marks"
        " WHERE mark.stance = 'against' UNION SELECT f.evaluation_id, f.position, f.statement,"
        " split_part(v.target, ':', 2)::INTEGER FROM loose f JOIN verdicts v USING (evaluation_id, position, statement)"
        " WHERE f.label = 'contradicted' AND v.label = 'contradicted' AND v.side = 'response'"
        " AND starts_with(v.target, 'passage:')),"
        " grouped AS (SELECT p.text, CASE WHEN min(p.passage_id) = max(p.passage_id) THEN min(p.passage_id) ELSE ''"
        f" END AS passage_id, count(DISTINCT {_ONE}) AS statements,"
        f" count(DISTINCT {_ONE}) FILTER (a.rank IS NOT NULL) AS contradicted, count(*) OVER () AS total"
        f" FROM loose f {_EVALUATION} JOIN passages p ON p.run_id = e.run_id"
        " AND p.position = f.position LEFT JOIN against a ON a.evaluation_id = f.evaluation_id"
        " AND a.position = f.position AND a.statement = f.statement AND a.rank = p.rank GROUP BY p.text"
        " ORDER BY contradicted DESC, statements DESC, passage_id, p.text)"
        " SELECT md5(text), text[:300], passage_id, statements, contradicted, total FROM grouped"
    ),
}


def _shown(
    connection: duckdb.DuckDBPyConnection, query: HallucinationQuery, *, each_judge: bool = False
) -> dict[str, _Shown]:
    """The evaluations that a query looks at, by id."""
    named = {ref.evaluation_id for ref in query.runs} if not query.judge and not each_judge else set[str | None]()
    rows = connection.execute(
        "SELECT r.run_id, r.name, e.evaluation_id, e.judge, e.heuristic, e.finished, e.covered, r.samples,"
        " row_number() OVER (PARTITION BY r.run_id ORDER BY has_statements DESC, covered >= samples DESC,"
        " finished DESC, e.evaluation_id) AS place"
        " FROM evaluations e JOIN runs r USING (run_id) WHERE NOT e.imported ORDER BY r.imported DESC, place"
    ).fetchall()
    runs = {ref.run_id for ref in query.runs}
    found: dict[tuple[str, str], tuple[str, _Shown]] = {}
    for run_id, name, *evaluation, place in rows:
        judged = judged_by(tuple(evaluation))
        if judged is None or (runs and run_id not in runs) or query.judge not in ("", judged.judge):
            continue
        if named and judged.evaluation_id not in named:
            continue
        one = _Shown(run=name if place == 1 else f"{name}@{judged.evaluation_id}", judged=judged)
        part = judged.judge if each_judge else judged.evaluation_id if named else ""
        found.setdefault((run_id, part), (judged.evaluation_id, one))
    return dict(found.values())


def _find(connection: duckdb.DuckDBPyConnection, query: HallucinationQuery, shown: Mapping[str, _Shown]) -> None:
    """Make `found`: the judged statements that a query lets through, whatever their verdict."""
    given: dict[str, Any] = {"evaluations": list(shown)}
    apart = [row[0] for row in connection.execute(_APART, given).fetchall()]
    judged = _TOGETHER
    if apart:
        judged, given["apart"] = f"{_TOGETHER} UNION ALL {_ALONE}", apart
    joins, tests, bound = _filter(query)
    connection.execute(
        f"CREATE TEMP TABLE found AS SELECT f.* FROM ({judged}) f {' '.join(joins)} WHERE {' AND '.join(tests)}",
        given | bound,
    )


def _filter(query: HallucinationQuery) -> tuple[list[str], list[str], dict[str, Any]]:
    """The joins that a query takes, its tests, and what is bound in them."""
    tests, given = ["true"], dict[str, Any]()
    people: list[str] = []
    if query.human:
        people.append(f"LEFT {_PEOPLE}")
        tests.append(_HUMAN[query.human])
    for place, word in enumerate(query.text.split()[:WORDS]):
        tests.append("(" + " OR ".join(f"contains(lower({where}), $word{place})" for where in _SEARCHED) + ")")
        given[f"word{place}"] = word.lower()
    if query.question:
        tests.append("s.question = $question")
        given["question"] = query.question
    if query.passage:
        by = "md5(text)" if DIGEST.fullmatch(query.passage) else "passage_id"
        tests.append(f"(e.run_id, f.position) IN (SELECT (run_id, position) FROM passages WHERE {by} = $passage)")
        given["passage"] = query.passage
    if query.text.split():
        return [_EVALUATION, _SAMPLE, _STATEMENT, f"LEFT {_JOINT}", *people], tests, given
    return [*((_EVALUATION, _SAMPLE) if given else ()), *people], tests, given


DIGEST = re.compile("[0-9a-f]{32}")
_SEARCHED = ("t.text", "s.question", "v.reason")


def _rows(
    connection: duckdb.DuckDBPyConnection, keys: Sequence[tuple[str, int, int]], shown: Mapping[str, _Shown]
) -> tuple[Hallucination, ...]:
    """The statements of these keys, in their order."""
    if not keys:
        return ()
    evaluations, positions, numbers = zip(*keys, strict=True)
    given = {"evaluations": evaluations, "positions": positions, "numbers": numbers}
    texts = connection.execute(
        f"{_KEYS} SELECT f.evaluation_id, f.position, f.statement, s.sample_id, s.question, t.text"
        f" FROM keys f {_EVALUATION} {_SAMPLE} {_STATEMENT}",
        given,
    ).fetchall()
    judged = connection.execute(
        f"{_KEYS} SELECT evaluation_id, position, statement, v.target, v.label, v.reason, v.score, v.evidence"
        " FROM keys JOIN verdicts v USING (evaluation_id, position, statement)"
        " WHERE v.side = 'response' AND (v.target = 'joint' OR starts_with(v.target, 'passage:'))",
        given,
    ).fetchall()
    verdicts: dict[tuple[str, int, int], dict[str, Any]] = {}
    for *key, target, label, reason, score, evidence in judged:
        verdicts.setdefault((key[0], key[1], key[2]), {})[target] = verdict_read(label, reason, score, evidence)
    people = people_of_statements(connection, keys)
    found = {
        (evaluation, position, number): _row(
            shown[evaluation],
            number + 1,
            sample_id,
            question,
            text,
            verdicts[evaluation, position, number],
            people.get((evaluation, position, number), ()),
        )
        for evaluation, position, number, sample_id, question, text in texts
    }
    return tuple(found[key] for key in keys)


_KEYS = (
    "WITH keys AS (SELECT unnest($evaluations) AS evaluation_id, unnest($positions) AS position,"
    " unnest($numbers) AS statement)"
)


def _row(
    shown: _Shown,
    number: int,
    sample_id: str,
    question: str,
    text: str,
    verdicts: Mapping[str, Any],
    people: tuple[HumanVerdict, ...],
) -> Hallucination:
    single = {int(target.split(":")[1]): verdict for target, verdict in verdicts.items() if target != "joint"}
    return Hallucination(
        run=shown.run,
        judged=shown.judged,
        sample_id=sample_id,
        question=question,
        number=number,
        said=JudgedStatement(
            statement=Statement(side="response", text=text),
            verdict=verdicts.get("joint"),
            single=single,
            people=people,
        ),
    )
