"""Data sets and results of ragas, every version: one column for each metric, settings in brackets."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragboard.readers.formats.base import Format
from ragboard.readers.scores import FileRow, ScoreColumns, is_score
from ragboard.records import Direction

__all__ = ["FORMATS"]

_METRICS = """
agent_goal_accuracy answer_accuracy answer_correctness answer_relevance answer_relevancy answer_similarity bleu_score
chrf_score coherence conciseness context_entity_recall context_precision context_recall context_relevance
context_relevancy context_utilization correctness data_compare_score exact_match factual_correctness faithful_rate
faithfulness faithfulness_with_hhem harmfulness id_based_context_precision id_based_context_recall
llm_context_precision_with_reference llm_context_precision_without_reference llm_sql_equivalence_with_reference
maliciousness noise_sensitivity noise_sensitivity_irrelevant noise_sensitivity_relevant
non_llm_context_precision_with_reference non_llm_context_recall non_llm_string_similarity nv_accuracy
nv_context_relevance nv_response_groundedness ragas_score relevance_rate response_groundedness response_relevancy
rouge_score semantic_similarity string_present summary_score tool_call_accuracy tool_call_f1 topic_adherence
"""
METRICS = frozenset(_METRICS.split())
"""What ragas calls its metrics, in any version; settings follow in brackets."""

_DIRECTIONS: dict[str, Direction] = {
    **dict.fromkeys(("harmfulness", "maliciousness"), "lower"),
    **dict.fromkeys((name for name in METRICS if name.startswith("noise_sensitivity")), "lower"),
    **dict.fromkeys(("coherence", "conciseness", "correctness"), "neutral"),
}

NAMED = re.compile(r"(?P<name>[\w\s-]+)(?P<settings>\([\w\s=.,-]*\))?")

MISSPELT = {"context_relavency": "context_relevancy"}
"""As the first ragas wrote it."""


def _scores(columns: Sequence[str], rows: Sequence[FileRow]) -> ScoreColumns | None:
    found: dict[str, str] = {}
    for column in columns:
        name = _metric_name(column)
        if name and all(is_score(row.get(column)) for row in rows):
            found.setdefault(f"ragas-file.{name}", column)
    if not found:
        return None
    return ScoreColumns(tool="ragas", columns=found, taken=frozenset(found.values()), directions=_DIRECTIONS)


def _metric_name(column: str) -> str:
    """The metric of a column in one spelling, with its settings; empty where ragas has none such."""
    found = NAMED.fullmatch(column.strip())
    if found is None:
        return ""
    plain = re.sub(r"[\s_-]+", "_", found["name"].strip().lower())
    plain = MISSPELT.get(plain, plain)
    return plain + (found["settings"] or "").replace(" ", "") if plain in METRICS else ""


def _format(name: str, *columns: str, **fields: str) -> Format:
    return Format(name=name, columns=frozenset(columns), fields=fields, scores=_scores)


FORMATS = (
    _format("ragas 0.2 or later", "user_input"),
    _format(
        "ragas 0.1 test set", "question", "contexts", "ground_truth", "evolution_type", reference_contexts="contexts"
    ),
    _format("ragas 0.0", "question", "contexts", "ground_truths"),
    _format("ragas 0.1", "question", "contexts", "ground_truth"),
    _format("ragas 0.0 or 0.1", "question", "contexts", "answer_relevancy"),
    _format("ragas 0.0 or 0.1", "question", "contexts", "context_relevancy"),
    _format("ragas 0.0", "question", "contexts", "context_ relevancy"),
    _format("ragas 0.0", "question", "contexts", "context_relavency"),
)
