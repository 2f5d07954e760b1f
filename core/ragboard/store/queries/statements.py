"""Statements of answers with their verdicts, for one sample, one run or many runs."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from ragboard.records import Evidence, Label, Side, Span, Statement, Verdict
from ragboard.store.queries.draws import label_draws
from ragboard.store.queries.labels import HumanVerdict, human_verdicts
from ragboard.store.queries.query import STATEMENT_KEYS, Connection, Query, StatementKey, key_values
from ragboard.store.queries.rollups import Rollup, Row, select
from ragboard.store.queries.scores import Scored, read_positions
from ragboard.store.run_refs import RunRef

if TYPE_CHECKING:
    import pandas as pd

    from ragboard.metrics.claim_classes import ClaimClass

__all__ = [
    "LABEL_COUNTS",
    "NOT_SUPPORTED",
    "ORIGIN_COUNTS",
    "SEPARATELY_JUDGED",
    "STATEMENT_GROUPS",
    "WORST_STATEMENTS",
    "WRONG_PASSAGES",
    "AnswerVerdict",
    "Grouping",
    "HallucinationQuery",
    "Human",
    "JudgedStatement",
    "MatchedStatement",
    "StatementGroup",
    "WorstStatement",
    "WrongPassage",
    "answer_sizes",
    "answer_statements",
    "answer_verdicts",
    "claims_by_side",
    "create_matches",
    "grouped_statements",
    "judged_labels",
    "label_counts",
    "labels_by_target",
    "matched_frame",
    "matched_labels",
    "matched_statements",
    "origin_counts",
    "passages_named",
    "separately_judged",
    "split_sides",
    "statement_counts",
    "statement_frame",
    "statements_query",
    "verdicts_of",
    "worst_statements",
    "wrong_passages",
]


Grouping = Literal["question", "passage", "judge"]

Human = Literal["none", "agrees", "overruled"]
"""The latest human label compared with the judge's verdict. none: no label. agrees: the same. overruled: different."""

NOT_SUPPORTED: tuple[Label, ...] = ("contradicted", "unsupported")
"""The verdicts except supported, worst first."""

MAX_SEARCH_WORDS = 8
"""Maximum number of words of a search."""

KEPT_STATEMENTS = 500
"""Number of worst statements in the rollup of an evaluation, by verdict."""
KEPT_GROUPS = 50
"""Number of groups of statements in a rollup of an evaluation."""
KEPT_PASSAGES = 20
"""Number of passages in the rollup `WRONG_PASSAGES`."""
WORST_BLOCK = 20_000
"""Number of samples whose statements are read at a time to find the worst."""
DIGEST = re.compile("[0-9a-f]{32}")

_STRONGEST: tuple[Label, ...] = ("supported", "contradicted", "unsupported")


def passages_named(ranks: Sequence[int]) -> str:
    """Return `passage 2`, or `passages 1, 2 and 4`."""
    if len(ranks) == 1:
        return f"passage {ranks[0]}"
    return f"passages {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedStatement:
    """A statement with its verdicts, origin and labels."""

    statement: Statement
    verdict: Verdict | None
    """The joint verdict, checked against all passages together; None if there is none."""
    single: Mapping[int, Verdict] = field(default_factory=dict[int, Verdict])
    """The separate verdicts, checked against one passage each, by rank; empty if there are none."""
    origin: ClaimClass | None = None
    """Its class in the six-way partition of claims; None if a verdict for it is missing."""
    people: tuple[HumanVerdict, ...] = ()
    """Human labels, latest last. They do not change the judge's verdict."""
    draws: Mapping[Label, int] = field(default_factory=dict[Label, int])
    """Number of draws with each verdict, most frequent first; empty if the statement was judged once."""

    @property
    def human_verdict(self) -> HumanVerdict | None:
        """The latest human label, which is the one that counts; None without labels."""
        return self.people[-1] if self.people else None

    @property
    def is_overruled(self) -> bool:
        """Whether the human label that counts differs from the judge's joint verdict."""
        return bool(self.human_verdict and self.verdict and self.human_verdict.label != self.verdict.label)

    @property
    def draws_in_words(self) -> str:
        """`supported in 2 of 3 draws, unsupported in 1`; empty if the statement was judged once."""
        total = sum(self.draws.values())
        parts = [f"{label} in {count}" for label, count in self.draws.items()]
        return ", ".join([f"{parts[0]} of {total} draws", *parts[1:]]) if parts else ""

    @property
    def separate_verdict(self) -> Label | None:
        """The strongest separate verdict: supported, then contradicted, then unsupported; None if there is none.

        The view `answer_verdicts` uses the same rule.
        """
        labels = {verdict.label for verdict in self.single.values()}
        return next((label for label in _STRONGEST if label in labels), None)

    @property
    def separate_verdicts_text(self) -> str:
        """The separate verdicts in words; empty if there are none."""
        parts = [f"{label} by {passages_named(ranks)}" for label in _STRONGEST[:2] if (ranks := self.ranks(label))]
        if not self.single:
            return ""
        return f"{'; '.join(parts) or 'supported by no single passage'} (each passage judged separately)"

    def ranks(self, label: Label) -> tuple[int, ...]:
        """Return the ranks of the passages whose separate verdict is `label`, in order."""
        return tuple(sorted(rank for rank, verdict in self.single.items() if verdict.label == label))


@dataclass(frozen=True, kw_only=True)
class HallucinationQuery:
    """Filters for unsupported and contradicted statements. An empty field does not filter."""

    runs: tuple[RunRef, ...] = ()
    """The runs with their evaluations; empty for all runs."""
    verdict: Label | None = None
    """contradicted or unsupported; None for both."""
    judge: str = ""
    """Use each run's newest evaluation by this judge; if empty, the evaluation of its `RunRef`."""
    text: str = ""
    """Words that must all occur in the statement, its question or its reason."""
    question: str = ""
    """The complete question."""
    passage: str = ""
    """The id of a retrieved passage, or the key of its `StatementGroup`."""
    human: Human | None = None
    """Only statements with this human label; None for all."""
    miscited: bool = False
    """Only statements whose sentence cites passages that do not support them. Their verdict can also be supported."""
    limit: int = 50
    offset: int = 0

    @property
    def labels(self) -> list[Label]:
        """The verdicts that the query selects."""
        if self.verdict:
            return [self.verdict]
        return [*NOT_SUPPORTED, "supported"] if self.miscited else list(NOT_SUPPORTED)

    @property
    def is_filtered(self) -> bool:
        """Whether the query filters by anything but run, judge and verdict."""
        return bool(self.text or self.question or self.passage or self.human or self.miscited)


class MatchedStatement(NamedTuple):
    """A statement in a page of results."""

    evaluation_id: str
    position: int
    sample_id: str
    question: str
    number: int
    """Number of the statement, from 1."""
    statement: str

    @property
    def key(self) -> StatementKey:
        """The key of the statement, in which its number counts from 0."""
        return self.evaluation_id, self.position, self.number - 1


class StatementGroup(NamedTuple):
    """Unsupported statements with the same question, passage or judge."""

    key: str
    title: str
    passage_id: str
    statements: int
    """Number of statements."""
    contradicted: int
    """How many of them are contradicted."""
    total: int
    """Number of groups on all pages."""


class WorstStatement(NamedTuple):
    """A statement to inspect first."""

    evaluation_id: str
    sample_id: str
    question: str
    number: int
    text: str
    label: Label
    reason: str
    score: float | None


class AnswerVerdict(NamedTuple):
    """A statement of an answer with its verdict."""

    statement: str
    verdict: Label | None
    """None if there is no verdict."""
    score: float | None
    reason: str


class WrongPassage(NamedTuple):
    """A passage that supports statements that the reference does not support."""

    text: str
    passage_id: str
    wrong: int
    sample_id: str


def answer_statements(
    connection: Connection, evaluation_id: str | None, position: int
) -> tuple[tuple[JudgedStatement, ...], bool | None]:
    """Return the statements of a sample's answer, and whether the answer refuses (None if not judged)."""
    at = {"evaluation": evaluation_id, "position": position}
    rows = connection.execute(
        "SELECT statement, text, span_start, span_end, span_how, origin FROM statements"
        " WHERE evaluation_id = $evaluation AND position = $position AND side = 'response' ORDER BY statement",
        at,
    ).fetchall()
    keys = [(evaluation_id or "", position, row[0]) for row in rows]
    verdicts, people = verdicts_of(connection, keys), human_verdicts(connection, keys)
    draws = label_draws(connection, keys)
    row = connection.execute(
        "SELECT refuses FROM sides WHERE evaluation_id = $evaluation AND position = $position AND side = 'response'", at
    ).fetchone()
    return tuple(
        JudgedStatement(
            statement=Statement(
                side="response", text=text, span=None if start is None else Span(start=start, end=end, how=how)
            ),
            verdict=verdicts.get(key, {}).get(0),
            single={rank: verdict for rank, verdict in verdicts.get(key, {}).items() if rank},
            origin=origin,
            people=people.get(key, ()),
            draws=draws.get(key, {}),
        )
        for key, (_, text, start, end, how, origin) in zip(keys, rows, strict=True)
    ), None if row is None else bool(row[0])


def answer_verdicts(connection: Connection, evaluation_id: str | None) -> dict[int, list[AnswerVerdict]]:
    """Return the statements of all answers with their verdicts, by position."""
    rows = connection.execute(
        "SELECT position, t.text, v.verdict, v.score, coalesce(v.reason, '') FROM statements t"
        " LEFT JOIN answer_verdicts v USING (evaluation_id, position, statement)"
        " WHERE t.evaluation_id = ? AND t.side = 'response' ORDER BY position, t.statement",
        [evaluation_id],
    ).fetchall()
    found: dict[int, list[AnswerVerdict]] = {}
    for position, *values in rows:
        found.setdefault(position, []).append(AnswerVerdict(*values))
    return found


def verdicts_of(connection: Connection, keys: Sequence[StatementKey]) -> dict[StatementKey, dict[int, Verdict]]:
    """Return {statement: {rank of the passage: verdict}}. The joint verdict has the rank 0."""
    if not keys:
        return {}
    rows = connection.execute(
        f"{STATEMENT_KEYS}"
        " SELECT evaluation_id, position, statement,"
        " CASE WHEN v.target = 'joint' THEN 0 ELSE split_part(v.target, ':', 2)::INTEGER END AS rank,"
        " v.label, v.reason, v.score, v.evidence FROM keys JOIN verdicts v USING (evaluation_id, position, statement)"
        " WHERE v.side = 'response' AND (v.target = 'joint' OR starts_with(v.target, 'passage:'))"
        " ORDER BY rank",
        key_values(keys),
    ).fetchall()
    found: dict[StatementKey, dict[int, Verdict]] = {}
    for evaluation, position, number, rank, label, reason, score, evidence in rows:
        marks = tuple(Evidence(**mark) for mark in json.loads(evidence))
        verdict = Verdict(label=label, reason=reason, score=score, evidence=marks)
        found.setdefault((evaluation, position, number), {})[rank] = verdict
    return found


def judged_labels(connection: Connection, evaluation_id: str, positions: Sequence[int]) -> dict[tuple[int, int], Label]:
    """Return {(position, statement): joint verdict} of the answers at these positions."""
    rows = connection.execute(
        "SELECT position, statement, verdict FROM answer_verdicts WHERE evaluation_id = ? AND together"
        " AND position IN (SELECT unnest(?))",
        [evaluation_id, list(positions)],
    ).fetchall()
    return {(position, statement): label for position, statement, label in rows}


def statement_counts(connection: Connection, evaluation_id: str | None, positions: Sequence[int]) -> dict[int, int]:
    """Return the number of statements of each answer at these positions, without answers that have none."""
    return dict(
        connection.execute(
            "SELECT position, count(*) FROM statements WHERE evaluation_id = ? AND side = 'response'"
            " AND position IN (SELECT unnest(?)) GROUP BY position",
            [evaluation_id, list(positions)],
        ).fetchall()
    )


def answer_sizes(connection: Connection, evaluation_id: str | None) -> Scored:
    """Return the number of statements of each answer, without answers that have none."""
    found = connection.execute(
        "SELECT position FROM statements WHERE evaluation_id = ? AND side = 'response'", [evaluation_id]
    )
    counts = np.bincount(read_positions(found))  # three times as fast as GROUP BY
    return Scored(np.flatnonzero(counts), counts[counts > 0].astype(np.float64))


def label_counts(connection: Connection, evaluations: Sequence[str]) -> dict[str, dict[Label, int]]:
    """Return {evaluation: {joint verdict: number of statements}}, most frequent verdict first."""
    found: dict[str, dict[Label, int]] = {}
    for evaluation, rows in LABEL_COUNTS.rows(connection, evaluations).items():
        for label, count in rows:
            found.setdefault(evaluation, {})[label] = count
    return found


def origin_counts(connection: Connection, evaluations: Sequence[str]) -> dict[str, dict[ClaimClass, int]]:
    """Return {evaluation: {class in the six-way partition: number of statements}}."""
    from ragboard.metrics.claim_classes import CLAIM_CLASSES  # `ragboard import` needs no metrics

    found: dict[str, dict[ClaimClass, int]] = {}
    for evaluation, rows in ORIGIN_COUNTS.rows(connection, evaluations).items():
        for origin, count in rows:
            found.setdefault(evaluation, dict.fromkeys(CLAIM_CLASSES, 0))[origin] = count
    return found


def worst_statements(connection: Connection, evaluations: Sequence[str], limit: int) -> list[WorstStatement]:
    """Return unsupported and contradicted statements to inspect first, one per question, worst first."""
    worst = _worst_keys(connection, evaluations, NOT_SUPPORTED)
    first: dict[str, StatementKey] = {}
    texts: dict[StatementKey, tuple[str, str, str]] = {}
    while worst and len(first) < limit:
        keys, worst = worst[: 4 * limit], worst[4 * limit :]
        texts |= _texts(connection, keys)
        for key in keys:
            first.setdefault(texts[key][1], key)
    chosen = list(first.values())[:limit]
    verdicts = _joint_verdicts(connection, chosen)
    return [
        WorstStatement(key[0], sample_id, question, key[2] + 1, text, *verdicts[key])
        for key in chosen
        for sample_id, question, text in (texts[key],)
    ]


def _worst_keys(connection: Connection, evaluations: Sequence[str], labels: Sequence[Label]) -> list[StatementKey]:
    """Return statements with these joint verdicts in the order `_WORST`.

    Of each evaluation and verdict, only the first `KEPT_STATEMENTS` are returned.
    """
    worst = [
        (evaluation, *row)
        for evaluation, rows in WORST_STATEMENTS.rows(connection, evaluations).items()
        for row in rows
        if row[2] in labels
    ]
    return [(evaluation, position, number) for evaluation, position, number, *_ in sorted(worst, key=_worst_order)]


def _worst_order(row: Row) -> tuple[Any, ...]:
    """Return the sort key of a row of `WORST_STATEMENTS` with its evaluation, for the order `_WORST`."""
    evaluation, position, number, label, admits, checkable, score = row
    return label != "contradicted", admits, -checkable, score is None, score or 0.0, position, evaluation, number


def _texts(connection: Connection, keys: Sequence[StatementKey]) -> dict[StatementKey, tuple[str, str, str]]:
    """Return {statement: (sample id, question, text of the statement)}."""
    if not keys:
        return {}
    rows = connection.execute(
        f"{STATEMENT_KEYS} SELECT f.evaluation_id, f.position, f.statement, s.sample_id, s.question, t.text"
        f" FROM keys f {_EVALUATION} {_SAMPLE} {_STATEMENT}",
        key_values(keys),
    ).fetchall()
    return {(evaluation, position, number): tuple(texts) for evaluation, position, number, *texts in rows}


def _joint_verdicts(
    connection: Connection, keys: Sequence[StatementKey]
) -> dict[StatementKey, tuple[Label, str, float | None]]:
    """Return {statement: (verdict, reason, score)} of the joint verdicts."""
    if not keys:
        return {}
    rows = connection.execute(
        f"{STATEMENT_KEYS} SELECT f.evaluation_id, f.position, f.statement, v.label, v.reason, v.score"
        f" FROM keys f {_JOINT}",
        key_values(keys),
    ).fetchall()
    return {(evaluation, position, number): tuple(verdict) for evaluation, position, number, *verdict in rows}


def wrong_passages(connection: Connection, evaluation_id: str, limit: int) -> list[WrongPassage]:
    """Return the passages that support the most statements that the reference does not support.

    `limit` is at most `KEPT_PASSAGES`.
    """
    return [WrongPassage(*row) for row in WRONG_PASSAGES.rows(connection, [evaluation_id])[evaluation_id][:limit]]


def statement_frame(connection: Connection, run: RunRef) -> pd.DataFrame:
    """Return one row per statement and target, for export."""
    return connection.execute(
        "SELECT s.sample_id, s.question, t.side, t.statement + 1 AS number, t.text AS statement, t.span_start,"
        " t.span_end, t.origin, v.target, v.label, v.reason, v.score"
        " FROM statements t JOIN samples s ON s.run_id = $run AND s.position = t.position"
        " LEFT JOIN verdicts v ON v.evaluation_id = t.evaluation_id AND v.position = t.position"
        " AND v.side = t.side AND v.statement = t.statement"
        " WHERE t.evaluation_id = $evaluation ORDER BY t.position, t.side, t.statement, v.target",
        {"run": run.run_id, "evaluation": run.evaluation_id},
    ).df()


def claims_by_side(connection: Connection, evaluation_id: str | None) -> dict[tuple[int, Side], list[str]]:
    """Return {(position, side): texts of the statements}."""
    found: dict[tuple[int, Side], list[str]] = {}
    for position, side, text in connection.execute(
        "SELECT position, side, text FROM statements WHERE evaluation_id = ? ORDER BY position, side, statement",
        [evaluation_id],
    ).fetchall():
        found.setdefault((position, side), []).append(text)
    return found


def labels_by_target(
    connection: Connection, evaluation_id: str | None
) -> dict[tuple[int, Side, str], dict[int, Label]]:
    """Return the verdicts on statements: {(position, side, target): {statement number: label}}."""
    found: dict[tuple[int, Side, str], dict[int, Label]] = {}
    for position, side, target, statement, label in connection.execute(
        "SELECT position, side, target, statement, label FROM verdicts WHERE evaluation_id = ?", [evaluation_id]
    ).fetchall():
        found.setdefault((position, side, target), {})[statement] = label
    return found


def split_sides(connection: Connection, evaluation_id: str | None) -> frozenset[tuple[int, Side]]:
    """Return (position, side) of each answer and reference that was split into statements, even if it has none."""
    return frozenset(
        connection.execute("SELECT position, side FROM sides WHERE evaluation_id = ?", [evaluation_id]).fetchall()
    )


_JOINT = (
    "JOIN verdicts v ON v.evaluation_id = f.evaluation_id AND v.position = f.position AND v.side = 'response'"
    " AND v.statement = f.statement AND v.target = 'joint'"
)
_EVALUATION = "JOIN evaluations e ON e.evaluation_id = f.evaluation_id"
_SAMPLE = "JOIN samples s ON s.run_id = e.run_id AND s.position = f.position"
_STATEMENT = (
    "JOIN statements t ON t.evaluation_id = f.evaluation_id AND t.position = f.position AND t.side = 'response'"
    " AND t.statement = f.statement"
)
_PEOPLE = (
    "LEFT JOIN latest_human_verdicts h ON h.evaluation_id = f.evaluation_id AND h.position = f.position"
    " AND h.statement = f.statement"
)
_MISCITED = (
    "(f.evaluation_id, f.position, f.statement) IN"
    " (SELECT (evaluation_id, position, statement) FROM cited_statements WHERE NOT supported)"
)
_HUMAN: dict[Human, str] = {
    "none": "h.human IS NULL",
    "agrees": "h.human = f.verdict",
    "overruled": "h.human <> f.verdict",
}
UNCERTAIN_FROM = 0.3
"""Score, in [0, 1], above which a verdict that is not `supported` is uncertain."""
_HEDGES = (
    "may|might|could|vary|varies|depend(?:s|ing)?|subjective|opinions?|often|usually|typically|generally|likely|probably"
    "|perhaps|possibly|various|several"
)
_ADVICE = (
    "(?:regularly )?(?:avoid|check|choose|consider|contact|create|do|encourage|engage|ensure|follow|implement|keep"
    "|limit|make|monitor|provide|remember|review|set|stay|teach|try|use|you (?:can|should)"
    "|it(?: i|.)s (?:best|important|recommended|essential|crucial))"
)
_CODE = '[<>{}]|^"[^"]+": '
_SOFT = rf"regexp_matches(lower(t.text), '\b(?:{_HEDGES})\b|(?:^|: )\W*{_ADVICE}\b|{_CODE}')"
"""SQL condition: the statement is vague, gives advice or is code."""
_CHECKABLE = (
    r"CASE WHEN regexp_matches(t.text, '\p{Nd}') THEN 2"
    r" WHEN regexp_matches(t.text, '\p{Lu}{2}|[\p{L},] \p{Lu}\p{Ll}') THEN 1 ELSE 0 END"
    rf" - {_SOFT}::INT - coalesce(f.score > {UNCERTAIN_FROM}, false)::INT"
)
"""SQL: how well a statement can be checked: 2 for numbers, else 1 for names; 1 less for a hedge, advice or code, and
1 less for an uncertain verdict."""
_SOURCE = "(?:the )?(?:provided |given |retrieved )?(?:passages?|documents?|contexts?|texts?|sources?|information)"
_NOT = "(?: not|n.t)"
_ADMITS = (
    "regexp_matches(lower(t.text), '^(?:however|unfortunately|sorry|but)?,? ?(?:i(?:.m| am) (?:sorry|not sure|unable)"
    f"|i (?:do|did|can|could|was|am)(?:{_NOT}|not) (?:able|know|have|find|provide|answer|tell|give|see)"
    f"|(?:it|they|{_SOURCE}) (?:do|does|did){_NOT} (?:say|mention|provide|specify|contain|state|give|include))')"
)
"""SQL condition: the statement only says that the writer or the sources do not know."""
_WORST = (
    f"f.verdict = 'contradicted' DESC, f.verdict = 'supported', {_ADMITS}, {_CHECKABLE} DESC, f.score NULLS LAST,"
    " f.position, f.evaluation_id, f.statement"
)
"""SQL order of statements in lists: contradicted first, supported last. Statements with the same verdict: those
easiest to check first, those that only say that something is not known last."""
_SEARCHED = ("t.text", "s.question", "v.reason")


def separately_judged(connection: Connection, evaluations: Sequence[str]) -> list[str]:
    """Return the evaluations with statements that have separate verdicts but no joint verdict."""
    return [evaluation for evaluation, rows in SEPARATELY_JUDGED.rows(connection, evaluations).items() if rows]


def _found(query: HallucinationQuery, evaluations: Sequence[str], separate: Sequence[str]) -> Query:
    """Return the query for the statements that match, with any verdict.

    `separate` are the evaluations of `separately_judged`, whose separate verdicts count too.
    """
    tests, given = ["list_contains($evaluations, f.evaluation_id)"], dict[str, Any](evaluations=list(evaluations))
    if separate:
        tests.append("(f.together OR list_contains($separate, f.evaluation_id))")
        given["separate"] = list(separate)
    else:
        tests.append("f.together")
    words = query.text.split()[:MAX_SEARCH_WORDS]
    joins = [_EVALUATION, _SAMPLE] if words or query.question or query.passage else []
    if words:
        joins += [_STATEMENT, f"LEFT {_JOINT}"]
    if query.human:
        joins.append(_PEOPLE)
        tests.append(_HUMAN[query.human])
    if query.miscited:
        tests.append(_MISCITED)
    for place, word in enumerate(words):
        tests.append("(" + " OR ".join(f"contains(lower({where}), $word{place})" for where in _SEARCHED) + ")")
        given[f"word{place}"] = word.lower()
    if query.question:
        tests.append("s.question = $question")
        given["question"] = query.question
    if query.passage:
        by = "md5(text)" if DIGEST.fullmatch(query.passage) else "passage_id"
        tests.append(f"(e.run_id, f.position) IN (SELECT (run_id, position) FROM passages WHERE {by} = $passage)")
        given["passage"] = query.passage
    select = "SELECT f.evaluation_id, f.position, f.statement, f.verdict, f.score, f.together FROM answer_verdicts f"
    return Query(sql="\n".join([select, *joins, "WHERE " + "\n  AND ".join(tests)]), given=given)


def _page(query: HallucinationQuery, columns: str, *joins: str, contradicted: int = 0) -> Query:
    """Return the query for a page of the table `found`, in the order `_WORST`.

    `contradicted` is the number of contradicted statements in `found`, if it is known: if the page has no others, the
    others need not be ordered, which takes long.
    """
    labels = ["contradicted"] if query.offset + query.limit <= contradicted else query.labels
    found = f"SELECT f.* FROM found f {_STATEMENT} WHERE list_contains($labels, f.verdict)"
    parts = (
        f"SELECT {columns}",
        f"FROM ({found} ORDER BY {_WORST} LIMIT $limit OFFSET $offset) f",
        *(_EVALUATION, _SAMPLE, _STATEMENT, *joins),
        f"ORDER BY {_WORST}",
    )
    return Query(sql="\n".join(parts), given={"labels": labels, "limit": query.limit, "offset": query.offset})


def matched_statements(
    connection: Connection, query: HallucinationQuery, evaluations: Sequence[str]
) -> tuple[dict[Label, int], list[MatchedStatement]]:
    """Return the number of statements that match, with any verdict, by verdict; and a page of those with its verdicts.

    Contradicted statements come first, and among those with the same verdict, those with numbers or names.
    """
    is_kept = query.offset + query.limit <= KEPT_STATEMENTS
    if query.is_filtered or not is_kept or separately_judged(connection, evaluations):
        create_matches(connection, query, evaluations)
        labels = matched_labels(connection)
        return labels, _matched_page(connection, query, labels)
    counts: Counter[Label] = Counter()
    for by_label in label_counts(connection, evaluations).values():
        counts.update(by_label)
    keys = _worst_keys(connection, evaluations, query.labels)[query.offset : query.offset + query.limit]
    texts = _texts(connection, keys)
    return dict(counts), [
        MatchedStatement(evaluation, position, sample_id, question, number + 1, text)
        for evaluation, position, number in keys
        for sample_id, question, text in (texts[evaluation, position, number],)
    ]


def create_matches(connection: Connection, query: HallucinationQuery, evaluations: Sequence[str]) -> None:
    """Create the temporary table `found` with the statements that match, which other queries read."""
    found = _found(query, evaluations, separately_judged(connection, evaluations))
    connection.execute(f"CREATE TEMP TABLE found AS {found.sql}", dict(found.given))


def matched_labels(connection: Connection) -> dict[Label, int]:
    """Return the number of matched statements by verdict."""
    return dict(connection.execute("SELECT verdict, count(*) FROM found GROUP BY verdict").fetchall())


def _matched_page(
    connection: Connection, query: HallucinationQuery, counts: Mapping[Label, int]
) -> list[MatchedStatement]:
    """Return a page of the table `found`. `counts` is the result of `matched_labels`."""
    page = _page(
        query,
        "f.evaluation_id, f.position, s.sample_id, s.question, f.statement + 1, t.text",
        contradicted=counts.get("contradicted", 0) if "contradicted" in query.labels else 0,
    )
    return [MatchedStatement(*row) for row in page.on(connection).fetchall()]


def statements_query(query: HallucinationQuery, evaluations: Sequence[str], separate: Sequence[str]) -> Query:
    """Return a query for a page of statements that runs without `create_matches`, for users to copy.

    `separate` are the evaluations of `separately_judged`.
    """
    columns = (
        "r.name AS run, e.judge, s.sample_id, s.question, f.statement + 1 AS number, t.text AS statement, f.verdict,\n"
        "       f.score, coalesce(v.reason, '') AS reason, f.evaluation_id, f.position"
    )
    page = _page(query, columns, "JOIN runs r ON r.run_id = e.run_id", f"LEFT {_JOINT}")
    return page.after(found=_found(query, evaluations, separate))


def matched_frame(connection: Connection, query: HallucinationQuery) -> pd.DataFrame:
    """Return one row per matched statement, with its verdict and human label, for export."""
    return connection.execute(
        "SELECT r.name AS run, f.evaluation_id AS evaluation, e.judge, s.sample_id, s.question,"
        " f.statement + 1 AS number, t.text AS statement, f.verdict, f.together, f.score,"
        " coalesce(v.reason, '') AS reason, h.human, h.annotator, h.note"
        f" FROM found f {_EVALUATION} JOIN runs r USING (run_id)"
        f" {_SAMPLE} {_STATEMENT} LEFT {_JOINT} {_PEOPLE}"
        f" WHERE list_contains($labels, f.verdict) ORDER BY {_WORST}",
        {"labels": query.labels},
    ).df()


def grouped_statements(
    connection: Connection, query: HallucinationQuery, evaluations: Sequence[str], by: Grouping
) -> list[StatementGroup]:
    """Group the unsupported statements that match by question, passage or judge."""
    kept, end = STATEMENT_GROUPS.get((by, query.verdict)), query.offset + query.limit
    if kept is None or query.is_filtered or len(evaluations) != 1 or end > KEPT_GROUPS:
        return _grouped_statements(connection, query, evaluations, by)
    rows = kept.rows(connection, evaluations)[evaluations[0]]
    return [StatementGroup(*row) for row in rows[query.offset : end]]


def _grouped_statements(
    connection: Connection, query: HallucinationQuery, evaluations: Sequence[str], by: Grouping
) -> list[StatementGroup]:
    found = _found(query, evaluations, separately_judged(connection, evaluations))
    rows = connection.execute(
        f"WITH loose AS MATERIALIZED (SELECT * FROM ({found.sql}) WHERE list_contains($labels, verdict)){_GROUPS[by]}",
        {**found.given, "labels": query.labels, "limit": query.limit, "offset": query.offset},
    ).fetchall()
    return [StatementGroup(*row) for row in rows]


_COUNTED = "count(*), count(*) FILTER (f.verdict = 'contradicted'), count(*) OVER ()"
_GROUPS: dict[Grouping, str] = {
    "question": (
        f" SELECT s.question, s.question, '', {_COUNTED} FROM loose f {_EVALUATION} {_SAMPLE}"
        " GROUP BY s.question ORDER BY 4 DESC, 5 DESC, 1 LIMIT $limit OFFSET $offset"
    ),
    "judge": (
        f" SELECT e.judge, e.judge, '', {_COUNTED} FROM loose f {_EVALUATION} GROUP BY e.judge ORDER BY 4 DESC, 1"
        " LIMIT $limit OFFSET $offset"
    ),
    # Texts are long: they are grouped by their hash, read in one scan, and only the texts of the page are returned.
    "passage": f""", marks AS (
  SELECT f.evaluation_id, f.position, f.statement,
         unnest(from_json(v.evidence, '[{{"rank": "INTEGER", "stance": "VARCHAR"}}]')) AS mark
  FROM loose f {_JOINT} WHERE f.verdict = 'contradicted' AND contains(v.evidence, 'against')
), against AS (
  SELECT evaluation_id, position, statement, mark.rank AS rank FROM marks WHERE mark.stance = 'against'
  UNION ALL
  SELECT f.evaluation_id, f.position, f.statement, split_part(v.target, ':', 2)::INTEGER
  FROM loose f JOIN verdicts v USING (evaluation_id, position, statement)
  WHERE f.verdict = 'contradicted' AND v.label = 'contradicted' AND v.side = 'response'
    AND starts_with(v.target, 'passage:')
), counts AS (
  SELECT evaluation_id, run_id, position, count(*) AS statements
  FROM loose JOIN evaluations USING (evaluation_id) GROUP BY ALL
), retrieved AS MATERIALIZED (
  SELECT evaluation_id, position, rank, hash(text) AS digest, passage_id, statements
  FROM counts JOIN passages USING (run_id, position)
), in_samples AS (  -- a sample can have a passage twice
  SELECT evaluation_id, position, digest, any_value(statements) AS statements, min(passage_id) AS first,
         max(passage_id) AS last
  FROM retrieved GROUP BY evaluation_id, position, digest
), contradicting AS (
  SELECT digest, count(*) AS contradicted
  FROM (SELECT DISTINCT evaluation_id, position, statement, digest
        FROM against JOIN retrieved USING (evaluation_id, position, rank))
  GROUP BY digest
), ranked AS (
  SELECT digest, CASE WHEN min(first) = max(last) THEN min(first) ELSE '' END AS passage_id,
         sum(statements)::BIGINT AS statements, coalesce(any_value(contradicted), 0) AS contradicted,
         count(*) OVER () AS total, min((evaluation_id, position)) AS place
  FROM in_samples LEFT JOIN contradicting USING (digest) GROUP BY digest
  ORDER BY contradicted DESC, statements DESC, passage_id, digest LIMIT $limit OFFSET $offset
)
SELECT md5(any_value(p.text)), any_value(p.text)[:300], r.passage_id, r.statements, r.contradicted, r.total
FROM ranked r JOIN evaluations e ON e.evaluation_id = r.place[1]
JOIN passages p ON p.run_id = e.run_id AND p.position = r.place[2] AND hash(p.text) = r.digest
GROUP BY r.digest, r.passage_id, r.statements, r.contradicted, r.total
ORDER BY r.contradicted DESC, r.statements DESC, r.passage_id, r.digest""",
}


def _worst_rows(connection: Connection, evaluations: Sequence[str]) -> Sequence[Row]:
    """Read a block of samples at a time, so that the memory does not depend on the size of the run."""
    ((last,),) = connection.execute(
        "SELECT max(position) FROM evaluations JOIN samples USING (run_id)"
        " WHERE evaluation_id IN (SELECT unnest(?::VARCHAR[]))",
        [list(evaluations)],
    ).fetchall()
    worst: list[Row] = []
    for start in range(0, 0 if last is None else last + 1, WORST_BLOCK):
        worst += connection.execute(
            f"SELECT f.evaluation_id, f.position, f.statement, f.verdict, {_ADMITS}, {_CHECKABLE}, f.score"
            f" FROM answer_verdicts f {_STATEMENT} WHERE f.together AND f.verdict <> 'supported'"
            " AND f.evaluation_id IN (SELECT unnest($evaluations)) AND f.position BETWEEN $first AND $last"
            f" QUALIFY row_number() OVER (PARTITION BY f.evaluation_id, f.verdict ORDER BY {_WORST}) <= $kept",
            {
                "evaluations": list(evaluations),
                "first": start,
                "last": start + WORST_BLOCK - 1,
                "kept": KEPT_STATEMENTS,
            },
        ).fetchall()
        worst = list(_first_of_each(worst))
    return worst


def _first_of_each(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the first `KEPT_STATEMENTS` rows of each evaluation and verdict, in the order `_WORST`."""
    counts = Counter[tuple[str, Label]]()
    for row in sorted(rows, key=_worst_order):
        counts[row[0], row[3]] += 1
        if counts[row[0], row[3]] <= KEPT_STATEMENTS:
            yield row


LABEL_COUNTS = Rollup(
    name="verdicts 1",
    owner="evaluation",
    query=select(
        "SELECT evaluation_id, verdict, count(*) AS n FROM answer_verdicts WHERE together"
        " AND evaluation_id IN (SELECT unnest($owners)) GROUP BY ALL ORDER BY n DESC, verdict"
    ),
)
ORIGIN_COUNTS = Rollup(
    name="origins 1",
    owner="evaluation",
    query=select(
        "SELECT evaluation_id, origin, count(*) FROM statements WHERE origin IS NOT NULL"
        " AND evaluation_id IN (SELECT unnest($owners)) GROUP BY ALL"
    ),
)
SEPARATELY_JUDGED = Rollup(
    name="judged separately 1",
    owner="evaluation",
    query=select(
        "SELECT evaluation_id, true FROM statements WHERE side = 'response'"
        " AND evaluation_id IN (SELECT unnest($owners))"
        " GROUP BY evaluation_id HAVING count(*) > (SELECT count(*) FROM answer_verdicts j WHERE j.together"
        " AND j.evaluation_id IN (SELECT unnest($owners)) AND j.evaluation_id = statements.evaluation_id)"
    ),
)
WORST_STATEMENTS = Rollup(name="worst statements 1", owner="evaluation", query=_worst_rows)


def _group_rollup(by: Grouping, verdict: Label | None) -> Rollup:
    """Return the rollup with the first groups of an evaluation's statements with this verdict."""
    query = HallucinationQuery(verdict=verdict, limit=KEPT_GROUPS)

    def rows(connection: Connection, evaluations: Sequence[str]) -> Iterator[Row]:
        for evaluation in evaluations:
            for group in _grouped_statements(connection, query, [evaluation], by):
                yield evaluation, *group

    return Rollup(name=f"{verdict or 'not supported'} by {by} 1", owner="evaluation", query=rows)


STATEMENT_GROUPS: Mapping[tuple[Grouping, Label | None], Rollup] = {
    ("question", None): _group_rollup("question", None),
    ("passage", "contradicted"): _group_rollup("passage", "contradicted"),
}
"""The groups that Diagnosis shows, by kind and verdict. Finding them takes seconds for a large run."""


def _wrong_passage_rows(connection: Connection, evaluations: Sequence[str]) -> Iterator[Row]:
    for evaluation in evaluations:
        yield from connection.execute(
            "WITH wrong AS (SELECT DISTINCT e.run_id, v.position, v.statement, hash(p.text) AS digest, p.passage_id"
            " FROM statements t JOIN evaluations e ON e.evaluation_id = t.evaluation_id"
            " JOIN verdicts v ON v.evaluation_id = t.evaluation_id AND v.position = t.position AND v.side = t.side"
            " AND v.statement = t.statement"
            " JOIN passages p ON p.run_id = e.run_id AND p.position = v.position"
            " AND p.rank = split_part(v.target, ':', 2)::INTEGER"
            " WHERE t.evaluation_id = $evaluation AND t.side = 'response'"
            " AND t.origin IN ('wrong_relevant', 'wrong_irrelevant') AND v.label = 'supported'"
            " AND starts_with(v.target, 'passage:')),"
            " ranked AS (SELECT run_id, digest, passage_id, count(*) AS number, min(position) AS position FROM wrong"
            " GROUP BY ALL ORDER BY number DESC, passage_id, digest LIMIT $limit)"
            " SELECT $evaluation, any_value(p.text)[:300], r.passage_id, r.number, any_value(s.sample_id) FROM ranked r"
            " JOIN passages p ON p.run_id = r.run_id AND p.position = r.position AND hash(p.text) = r.digest"
            " JOIN samples s ON s.run_id = r.run_id AND s.position = r.position"
            " GROUP BY r.digest, r.passage_id, r.number ORDER BY r.number DESC, r.passage_id, r.digest",
            {"evaluation": evaluation, "limit": KEPT_PASSAGES},
        ).fetchall()


WRONG_PASSAGES = Rollup(name="wrong passages 1", owner="evaluation", query=_wrong_passage_rows)
