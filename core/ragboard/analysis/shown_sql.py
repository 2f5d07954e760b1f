"""The SQL behind the tables that pages show, for people to read, run and change; and queries to begin with.

Values stand in it as literals. Each statement gives the rows of its table, all of them in its order, whatever
part of them a page shows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from ragboard.analysis.hallucinations import DIGEST, WORDS, HallucinationQuery, Human
from ragboard.analysis.nouns import Only, Order, SampleQuery
from ragboard.analysis.pairs import PairQuery, Which
from ragboard.analysis.values import META, pointer
from ragboard.store import RunRef

__all__ = ["EXAMPLES", "hallucinations_sql", "pairs_sql", "runs_sql", "samples_sql"]

Direction = Literal["higher", "lower", "neutral"]

EXAMPLES = {
    "Which statements are contradicted, and why?": """\
SELECT run, question, statement, reason
FROM statement_verdicts
WHERE shown AND verdict = 'contradicted'
ORDER BY run, position, number""",
    "Which passages stand behind most unsupported statements?": """\
SELECT min(p.passage_id) AS passage_id, count(DISTINCT (v.evaluation_id, v.position, v.number)) AS statements,
       p.text[:200] AS passage
FROM statement_verdicts v
JOIN passages p USING (run_id, position)
WHERE v.shown AND v.verdict <> 'supported'
GROUP BY p.text
ORDER BY statements DESC, passage_id
LIMIT 20""",
    "Do longer answers have more unsupported statements?": """\
SELECT v.run, length(s.answer) // 200 * 200 AS characters_from,
       count(DISTINCT v.sample_id) AS answers, count(*) AS statements,
       avg((v.verdict <> 'supported')::INTEGER) AS share_unsupported
FROM statement_verdicts v
JOIN samples s USING (run_id, position)
WHERE v.shown AND v.verdict IS NOT NULL
GROUP BY ALL
ORDER BY ALL""",
    "Which samples have no score, and why?": """\
SELECT run, metric, reason, count(*) AS samples, any_value(detail) AS for_example
FROM sample_scores
WHERE shown AND value IS NULL
GROUP BY ALL
ORDER BY samples DESC, run, metric""",
    "Which questions does every run get wrong?": """\
SELECT question, count(DISTINCT run_id) AS runs, max(value) AS best
FROM sample_scores
WHERE shown AND metric LIKE '%.faithfulness'
GROUP BY question
HAVING max(value) < 0.5
ORDER BY best, question""",
    "What did evaluations cost?": """\
SELECT r.name AS run, e.judge, s.model, s.calls, s.prompt_tokens + s.completion_tokens AS tokens, s.cost
FROM spending s
JOIN evaluations e USING (evaluation_id)
JOIN runs r USING (run_id)
ORDER BY s.cost DESC NULLS LAST, run""",
}
"""Queries that answer a question, by the question."""


def runs_sql() -> str:
    """The leaderboard, a row for each run and metric: run, metric, mean, scored, samples."""
    return """\
-- Means over the scored samples, whatever a page makes of the others.
SELECT run, metric, avg(value) AS mean, count(value) AS scored, count(*) AS samples
FROM sample_scores
WHERE shown OR imported
GROUP BY run, metric
ORDER BY run, metric"""


def samples_sql(run: RunRef, query: SampleQuery, metrics: Iterable[str]) -> str:
    """A run's samples as its page lists them: sample_id, question, supported, loose, then each metric's value."""
    pivot = "".join(f",\n         max(value) FILTER (metric = {_text(one)}) AS {_name(one)}" for one in metrics)
    tests = [f"s.run_id = {_text(run.run_id)}", *_sample_tests(run, query)]
    return f"""\
WITH counted AS (
  SELECT c.position{pivot}
  FROM scores c JOIN evaluations e USING (evaluation_id)
  WHERE {_shown_scores(run)}
  GROUP BY c.position
), verdicts AS (
  SELECT position, count(*) FILTER (verdict = 'supported') AS supported,
         count(*) FILTER (verdict <> 'supported') AS loose
  FROM statement_verdicts
  WHERE evaluation_id = {_text(run.evaluation_id)} AND together
  GROUP BY position
)
SELECT s.sample_id, s.question, v.supported, v.loose, m.* EXCLUDE (position)
FROM samples s
LEFT JOIN counted m USING (position)
LEFT JOIN verdicts v USING (position)
WHERE {_all(tests)}
ORDER BY {_SAMPLE_ORDER[query.order].format(column=_column(query.column))}s.position"""


def hallucinations_sql(query: HallucinationQuery) -> str:
    """Statements that the passages do not support: run, judge, question, number, statement, verdict, score, reason."""
    verdicts = (query.verdict,) if query.verdict else ("contradicted", "unsupported")
    tests = [f"verdict IN ({', '.join(map(_text, verdicts))})", _evaluations(query)]
    tests += [
        f"contains(lower(statement || ' ' || question || ' ' || reason), lower({_text(word)}))"
        for word in query.text.split()[:WORDS]
    ]
    if query.human:
        tests.append(_HUMAN[query.human])
    if query.question:
        tests.append(f"question = {_text(query.question)}")
    if query.passage:
        by = "md5(text)" if DIGEST.fullmatch(query.passage) else "passage_id"
        tests.append(
            f"(run_id, position) IN (SELECT (run_id, position) FROM passages WHERE {by} = {_text(query.passage)})"
        )
    return f"""\
SELECT run, judge, sample_id, question, number, statement, verdict, score, reason
FROM statement_verdicts
WHERE {_all(tests)}
ORDER BY verdict = 'contradicted' DESC, score NULLS LAST, evaluation_id, position, number"""


def pairs_sql(a: RunRef, b: RunRef, query: PairQuery, direction: Direction) -> str:
    """The pairs of two runs by one metric: sample_a, sample_b, question, a, b, difference; the greatest loss first."""
    gain = _GAIN[direction]
    which = _WHICH[query.which].format(gain=gain)
    order = " DESC" if query.which == "better" else ""
    return f"""\
WITH a AS ({_side(a, query.metric)}),
b AS ({_side(b, query.metric)}),
by_id AS (
  SELECT a.position AS a, b.position AS b
  FROM a JOIN b USING (sample_id, question, history)
), rest_a AS (
  SELECT * FROM a ANTI JOIN by_id ON by_id.a = a.position
  QUALIFY count(*) OVER (PARTITION BY question, history) = 1
), rest_b AS (
  SELECT * FROM b ANTI JOIN by_id ON by_id.b = b.position
  QUALIFY count(*) OVER (PARTITION BY question, history) = 1
), pairs AS (
  FROM by_id
  UNION ALL
  SELECT rest_a.position, rest_b.position FROM rest_a JOIN rest_b USING (question, history)
)
SELECT a.sample_id AS sample_a, b.sample_id AS sample_b, a.question, a.value AS a, b.value AS b,
       b.value - a.value AS difference
FROM pairs JOIN a ON a.position = pairs.a JOIN b ON b.position = pairs.b{which}
ORDER BY {gain}{order} NULLS LAST, a.position"""


_GAIN: dict[Direction, str] = {
    "higher": "b.value - a.value",
    "lower": "a.value - b.value",
    "neutral": "-abs(b.value - a.value)",
}
_WHICH: dict[Which, str] = {
    "all": "",
    "unscored": "\nWHERE a.value IS NULL OR b.value IS NULL",
    "same": "\nWHERE abs(b.value - a.value) <= 1e-9",
    "worse": "\nWHERE {gain} < -1e-9",
    "better": "\nWHERE {gain} > 1e-9",
}
_HUMAN: dict[Human, str] = {
    "none": "human IS NULL",
    "agrees": "human = verdict",
    "overruled": "human <> verdict",
}
_SAMPLE_ORDER: dict[Order, str] = {
    "file": "",
    "lowest": "{column} NULLS LAST, ",
    "highest": "{column} DESC NULLS LAST, ",
    "worst": "coalesce(v.loose, 0) DESC, {column} NULLS LAST, ",
}


def _beyond(column: str) -> str:
    """On the bad side of the column's threshold."""
    spec, value = _text(column), _column(column)
    limit = f"(SELECT value FROM thresholds WHERE metric = {spec})"
    lower = f"(SELECT any_value(description ->> 'direction') = 'lower' FROM metrics WHERE metric = {spec})"
    return f"CASE WHEN {lower} THEN {value} > {limit} ELSE {value} < {limit} END"


def _sample_tests(run: RunRef, query: SampleQuery) -> list[str]:
    only: dict[Only, list[str]] = {
        "all": [],
        "loose": ["v.loose > 0"],
        "refusing": [
            f"s.position IN (SELECT position FROM sides WHERE evaluation_id = {_text(run.evaluation_id)}"
            " AND side = 'response' AND refuses)"
        ],
        "unscored": [f"{_column(query.column)} IS NULL"],
        "beyond": [_beyond(query.column)],
    }
    tests = only[query.only]
    if query.between:
        low, high = query.between
        tests.append(f"{_column(query.column)} BETWEEN {low!r} AND {high!r}")
    for word in map(_text, query.search.split()[:WORDS]):
        tests.append(
            f"(contains(lower(s.question), lower({word})) OR contains(lower(s.answer), lower({word}))"
            f" OR s.sample_id = {word})"
        )
    return tests


def _column(column: str) -> str:
    """A metric's or a metadata column's value in the row of a sample."""
    if not column:
        return "NULL::DOUBLE"
    if column.startswith(META):
        return f"TRY_CAST(json_extract_string(s.metadata, {_text(pointer(column))}) AS DOUBLE)"
    return f"m.{_name(column)}"


def _evaluations(query: HallucinationQuery) -> str:
    """Which evaluations a query of statements looks at."""
    if query.judge:
        newest = (
            "evaluation_id IN (\n    SELECT evaluation_id FROM evaluations e JOIN runs r USING (run_id)\n"
            f"    WHERE judge = {_text(query.judge)} AND NOT e.imported\n"
            "    QUALIFY row_number() OVER (PARTITION BY run_id\n"
            "      ORDER BY has_statements DESC, covered >= r.samples DESC, finished DESC, evaluation_id) = 1)"
        )
        runs = ", ".join(_text(ref.run_id) for ref in query.runs)
        return f"{newest}\n  AND run_id IN ({runs})" if runs else newest
    if query.runs:
        return f"evaluation_id IN ({', '.join(_text(ref.evaluation_id) for ref in query.runs)})"
    return "shown"


def _side(run: RunRef, metric: str) -> str:
    return f"""
  SELECT s.position, s.sample_id, s.question, s.history::VARCHAR AS history, c.value
  FROM samples s LEFT JOIN (
    SELECT c.position, c.value FROM scores c JOIN evaluations e USING (evaluation_id)
    WHERE c.metric = {_text(metric)} AND e.run_id = {_text(run.run_id)}
      AND (e.imported OR e.evaluation_id = {_text(run.evaluation_of(metric))})
  ) c USING (position)
  WHERE s.run_id = {_text(run.run_id)}
"""


def _shown_scores(run: RunRef) -> str:
    """Which rows of `scores`, as c, a run's reference means; their evaluations are e."""
    own = f"c.evaluation_id = {_text(run.evaluation_id)}"
    if run.elsewhere:
        moved = ", ".join(_text(metric) for metric, _ in run.elsewhere)
        others = ", ".join(f"({_text(metric)}, {_text(evaluation)})" for metric, evaluation in run.elsewhere)
        own = f"{own} AND c.metric NOT IN ({moved}) OR (c.metric, c.evaluation_id) IN ({others})"
    return f"e.run_id = {_text(run.run_id)} AND (e.imported OR {own})"


def _all(tests: Iterable[str]) -> str:
    return "\n  AND ".join(tests)


def _text(value: str | None) -> str:
    """A value as a literal of SQL: a quote in it is doubled, nothing else means anything."""
    return "NULL" if value is None else "'" + value.replace("'", "''") + "'"


def _name(column: str) -> str:
    """A column's name as an identifier of SQL."""
    return '"' + column.replace('"', '""') + '"'
