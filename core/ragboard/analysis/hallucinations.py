"""List unsupported statements of one or more runs, in pages or groups.

The verdict of a statement is its joint verdict, against all passages together. Without one, it is
`JudgedStatement.separate_verdict`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ragboard.analysis.verdict_style import VERDICT_STYLES, verdict_words
from ragboard.readers.runs import column_of_answers
from ragboard.records import Evidence, Label, Statement
from ragboard.store import Store
from ragboard.store.queries.citations import cited_names
from ragboard.store.queries.draws import label_draws
from ragboard.store.queries.evaluations import JudgedBy, judge_names, ranked_evaluations
from ragboard.store.queries.labels import human_verdicts
from ragboard.store.queries.query import Connection
from ragboard.store.queries.samples import answers_to_the_same_questions
from ragboard.store.queries.statements import (
    Grouping,
    HallucinationQuery,
    JudgedStatement,
    create_matches,
    grouped_statements,
    matched_frame,
    matched_statements,
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
    "list_judges",
]


@dataclass(frozen=True, kw_only=True)
class Hallucination:
    """A statement that the passages do not support, and its sample."""

    run: str
    """The run in commands and URLs: `RUN`, or `RUN@EVALUATION` if this is not the run's default evaluation."""
    judged: JudgedBy
    sample_id: str
    question: str
    number: int
    """The number of the statement in its answer, from 1."""
    judged_statement: JudgedStatement
    cites: tuple[str, ...] = ()
    """The numbers or ids that the statement's sentence cites, as in the answer. Empty if it cites nothing, or if
    citations were not judged."""
    variant: str = ""
    """What distinguishes this answer from the run's other answers to the question, such as the model; empty if there is
    only one."""

    @property
    def cites_in_words(self) -> str:
        """For example `cites [1] [2]`; empty if the statement cites nothing."""
        return f"cites {' '.join(f'[{name}]' for name in self.cites)}" if self.cites else ""

    @property
    def statement(self) -> str:
        """The statement's text."""
        return self.judged_statement.statement.text

    @property
    def verdict(self) -> Label | None:
        """The joint verdict or, without one, `JudgedStatement.separate_verdict`."""
        joint = self.judged_statement.verdict
        return joint.label if joint else self.judged_statement.separate_verdict

    @property
    def reason(self) -> str:
        """The judge's reason; empty if it gave none."""
        return self.judged_statement.verdict.reason if self.judged_statement.verdict else ""

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The spans of passages that the verdict refers to; empty if the judge gave none."""
        return self.judged_statement.verdict.evidence if self.judged_statement.verdict else ()

    def __str__(self) -> str:
        """`✕ contradicted: It opened in 1990. (sample s1: Passage 1 says 2000.)`."""
        joint = self.judged_statement.verdict
        words = verdict_words(joint, rule_based=self.judged.heuristic) if joint else str(self.verdict)
        icon = VERDICT_STYLES[self.verdict].icon if self.verdict else ""
        return f"{icon} {words}: {self.statement} (sample {self.sample_id}{self.reason and f': {self.reason}'})"


@dataclass(frozen=True, kw_only=True)
class HallucinationPage:
    """One page of the statements that a query selects, worst first."""

    rows: tuple[Hallucination, ...]
    """Statements up to the limit of the query."""
    total: int
    """Number of statements without the limit."""
    labels: Mapping[Label, int]
    """Number of judged statements by verdict. Unlike `total`, it ignores the query's filter by verdict."""
    sentence: str
    """For example `2 of 129 statements are unsupported`, with `(rule-based)` if every judge is rule-based."""


@dataclass(frozen=True, kw_only=True)
class HallucinationGroup:
    """The unsupported and contradicted statements of one question, passage or judge."""

    key: str
    """Selects the group in a query: the question, the judge, or the hash of a passage."""
    title: str
    """The question, the judge, or the beginning of the passage."""
    passage_id: str
    """Empty if the group is not a passage, or if the passage's text has several ids."""
    statements: int
    """Number of unsupported and contradicted statements. For a passage, in answers for which it was retrieved."""
    contradicted: int
    """Number of contradicted statements. For a passage, statements that this passage contradicts."""


@dataclass(frozen=True, kw_only=True)
class HallucinationGroups:
    """The groups that a query selects, up to its limit, most statements first."""

    groups: tuple[HallucinationGroup, ...]
    total: int
    """Number of groups without the limit."""


class _CoveredEvaluation(NamedTuple):
    """An evaluation that a query covers."""

    run: str
    """The run in commands and URLs, as in `Hallucination`."""
    judged: JudgedBy
    run_id: str


def hallucinations(store: Store, query: HallucinationQuery) -> HallucinationPage:
    """Return a page of statements: contradicted ones first, then unsupported ones.

    Among each of these, statements with numbers or names come first.
    """
    with store.database.read() as connection:
        covered = _covered_evaluations(connection, query)
        labels, page = matched_statements(connection, query, list(covered))
        keys = [statement.key for statement in page]
        verdicts, people = verdicts_of(connection, keys), human_verdicts(connection, keys)
        draws, cites = label_draws(connection, keys), cited_names(connection, keys)
        variants = {
            evaluation: _variants(
                connection, covered[evaluation].run_id, {key[1] for key in keys if key[0] == evaluation}
            )
            for evaluation in {key[0] for key in keys}
        }
    rows = tuple(
        Hallucination(
            run=covered[statement.evaluation_id].run,
            judged=covered[statement.evaluation_id].judged,
            sample_id=statement.sample_id,
            question=statement.question,
            number=statement.number,
            variant=variants[statement.evaluation_id].get(statement.position, ""),
            judged_statement=JudgedStatement(
                statement=Statement(side="response", text=statement.statement),
                verdict=verdicts[statement.key].get(0),
                single={rank: verdict for rank, verdict in verdicts[statement.key].items() if rank},
                people=people.get(statement.key, ()),
                draws=draws.get(statement.key, {}),
            ),
            cites=cites.get(statement.key, ()),
        )
        for statement in page
    )
    total = sum(labels.get(label, 0) for label in query.labels)
    judge = " (rule-based)" if labels and all(evaluation.judged.heuristic for evaluation in covered.values()) else ""
    judged_count = sum(labels.values())
    statements = "1 statement is" if judged_count == 1 else f"{judged_count:,} statements are"
    sentence = f"{total:,} of {statements} {query.verdict or 'not supported'}{judge}"
    if query.miscited:
        verb, noun = ("cites", "statement") if total == 1 else ("cite", "statements")
        sentence = (
            f"{total:,} {' '.join(filter(None, (query.verdict, noun)))} {verb} a passage that does not say so{judge}"
        )
    return HallucinationPage(rows=rows, total=total, labels=labels, sentence=sentence)


def _variants(connection: Connection, run_id: str, positions: Collection[int]) -> dict[int, str]:
    """Return {position: what distinguishes the answer from the run's other answers to its question}."""
    answers = answers_to_the_same_questions(connection, run_id, positions)
    column = column_of_answers([question for _, question, _ in answers], [metadata for *_, metadata in answers])
    return {position: str(metadata[column]) for position, _, metadata in answers} if column else {}


def hallucinations_sql(store: Store, query: HallucinationQuery) -> str:
    """Return the SQL query that selects a page of statements."""
    with store.database.read() as connection:
        covered = list(_covered_evaluations(connection, query))
        return str(statements_query(query, covered, separately_judged(connection, covered)))


def hallucination_groups(store: Store, query: HallucinationQuery, by: Grouping) -> HallucinationGroups:
    """Group the statements that a query selects by question, passage or judge.

    Groups by judge use the newest evaluation of each run by each judge. Other groups use the evaluation that pages
    show.
    """
    with store.database.read() as connection:
        covered = _covered_evaluations(connection, query, each_judge=by == "judge")
        rows = grouped_statements(connection, query, list(covered), by)
    groups = tuple(
        HallucinationGroup(
            key=row.key,
            title=row.title,
            passage_id=row.passage_id,
            statements=row.statements,
            contradicted=row.contradicted,
        )
        for row in rows
    )
    return HallucinationGroups(groups=groups, total=rows[0].total if rows else 0)


def hallucination_table(store: Store, query: HallucinationQuery) -> pd.DataFrame:
    """Return all statements that a query selects, without its limit, for export.

    Columns: run, evaluation, judge, sample_id, question, number (from 1), statement, verdict, together (whether it is
    the joint verdict), score (in [0, 1] or null), reason, and human, annotator and note of the latest label (or null).
    """
    with store.database.read() as connection:
        create_matches(connection, query, list(_covered_evaluations(connection, query)))
        return matched_frame(connection, query)


def list_judges(store: Store) -> tuple[str, ...]:
    """Return the names of the judges of the evaluations in the store."""
    with store.database.read() as connection:
        return judge_names(connection)


def _covered_evaluations(
    connection: Connection, query: HallucinationQuery, *, each_judge: bool = False
) -> dict[str, _CoveredEvaluation]:
    """Return {id: evaluation} for the evaluations that a query covers."""
    chosen = {ref.evaluation_id for ref in query.runs} if not query.judge and not each_judge else set[str | None]()
    runs = {ref.run_id for ref in query.runs}
    covered: dict[tuple[str, str], _CoveredEvaluation] = {}
    for run_id, name, rank, judged in ranked_evaluations(connection):
        if (runs and run_id not in runs) or query.judge not in ("", judged.judge):
            continue
        if chosen and judged.evaluation_id not in chosen:
            continue
        run = name if rank == 1 else f"{name}@{judged.evaluation_id}"
        # every chosen evaluation, else the first of each run, or of each run and judge
        distinct = judged.judge if each_judge else judged.evaluation_id if chosen else ""
        covered.setdefault((run_id, distinct), _CoveredEvaluation(run=run, judged=judged, run_id=run_id))
    return {evaluation.judged.evaluation_id: evaluation for evaluation in covered.values()}
