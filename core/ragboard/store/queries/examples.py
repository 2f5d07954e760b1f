"""Queries to begin with."""

from __future__ import annotations

__all__ = ["EXAMPLES"]

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
