"""All metrics, by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from ragboard.errors import SettingError
from ragboard.metrics import (
    ares,
    citations,
    crag,
    critique,
    gpt_score,
    mtrag,
    nuggets,
    overlap,
    ragas_contexts,
    ragchecker,
    retrieval,
    trace,
    umbrela,
)
from ragboard.metrics.base import Metric, compute_outcome
from ragboard.metrics.description import allowed, choices, describe, setting_types
from ragboard.metrics.ragas import AnswerRelevance, ContextRelevance, Faithfulness
from ragboard.metrics.ragas_library import (
    AnswerCorrectness,
    AnswerSimilarity,
    ContextRecall,
    FactualCorrectness,
    NoiseSensitivity,
)
from ragboard.metrics.refusal import Refusal

__all__ = [
    "DEFAULT_METRICS",
    "DEFAULT_METRICS_BY_RULES",
    "METRICS",
    "Metric",
    "compute_outcome",
    "describe",
    "find_metric",
    "metrics_named",
    "split_names",
]

DEFAULT_METRICS: tuple[Metric, ...] = (Faithfulness(), AnswerRelevance(), ContextRelevance())
"""The metrics of an evaluation if none are chosen."""

DEFAULT_METRICS_BY_RULES: tuple[Metric, ...] = (Faithfulness(), AnswerRelevance(method="direct"), ContextRelevance())
"""The metrics of an evaluation with the rule-based embedded judge if none are chosen."""

METRICS: dict[str, Metric] = {
    metric.spec: metric
    for metric in (
        *DEFAULT_METRICS,
        ragas_contexts.ContextPrecision(),
        ragas_contexts.ContextUtilization(),
        ContextRecall(),
        ragas_contexts.ContextRelevancy(),
        ragas_contexts.ContextEntityRecall(),
        AnswerCorrectness(),
        FactualCorrectness(),
        NoiseSensitivity(),
        AnswerSimilarity(),
        critique.Harmfulness(),
        critique.Maliciousness(),
        critique.Coherence(),
        critique.Correctness(),
        critique.Conciseness(),
        ragchecker.Precision(),
        ragchecker.Recall(),
        ragchecker.F1(),
        ragchecker.ClaimRecall(),
        ragchecker.ContextPrecision(),
        ragchecker.ContextUtilization(),
        ragchecker.NoiseSensitivityInRelevant(),
        ragchecker.NoiseSensitivityInIrrelevant(),
        ragchecker.Hallucination(),
        ragchecker.SelfKnowledge(),
        ragchecker.Faithfulness(),
        retrieval.Recall(),
        retrieval.Precision(),
        retrieval.HitRate(),
        retrieval.ReciprocalRank(),
        retrieval.NDCG(),
        retrieval.AveragePrecision(),
        umbrela.NDCG(),
        umbrela.Precision(),
        umbrela.AveragePrecision(),
        trace.Relevance(),
        trace.Utilization(),
        trace.Completeness(),
        trace.Adherence(),
        overlap.ExactMatch(),
        overlap.TokenF1(),
        overlap.Bleu(),
        overlap.RougeL(),
        overlap.ChrF(),
        overlap.LengthRatio(),
        overlap.ContextOverlap(),
        nuggets.All(),
        nuggets.AllStrict(),
        nuggets.Vital(),
        nuggets.VitalStrict(),
        nuggets.Weighted(),
        nuggets.WeightedStrict(),
        Refusal(),
        crag.Truthfulness(),
        mtrag.Faithfulness(),
        mtrag.RatingByAnswerability(),
        mtrag.Overlap(),
        citations.AlceRecall(),
        citations.AlcePrecision(),
        citations.AlceF1(),
        citations.SupportPrecision(),
        citations.SupportRecall(),
        citations.UncitedStatements(),
        citations.UnsupportedCitations(),
        gpt_score.Faithfulness(),
        gpt_score.AnswerRelevance(),
        gpt_score.ContextRelevance(),
        ares.ContextRelevance(),
        ares.AnswerFaithfulness(),
        ares.AnswerRelevance(),
    )
}

WITH_SETTINGS = re.compile(r"(?P<name>[^()]+)\((?P<settings>[^()]*)\)")


def split_names(text: str) -> tuple[str, ...]:
    """Split a list of metric names at commas, except commas between settings in brackets."""
    return tuple(name.strip() for name in re.split(r",(?![^(]*\))", text))


def metrics_named(names: Iterable[str], known: Mapping[str, Metric] = METRICS) -> tuple[Metric, ...]:
    """Return the metrics of `known` with these names, each once, in the order of the names.

    The source can be left out (`faithfulness`) if only one metric has this name; a default metric has priority. A
    source alone (`ragas`) means all of its metrics. Settings follow in brackets (`retrieval.recall(k=5)`). Raises
    SettingError for an unknown or ambiguous name; the message lists the candidates.
    """
    metrics: dict[str, Metric] = {}
    for name in names:
        metrics |= {metric.spec: metric for metric in _find(name.strip(), known)}
    return tuple(metrics.values())


def find_metric(spec: str, known: Mapping[str, Metric] = METRICS) -> Metric | None:
    """Return the metric whose `spec` is exactly this full name, or None if no metric has it."""
    if spec in known:
        return known[spec]
    try:
        metrics = _find(spec, known)
    except SettingError:
        return None
    return next((metric for metric in metrics if metric.spec == spec), None)


def _find(name: str, known: Mapping[str, Metric]) -> list[Metric]:
    with_settings = WITH_SETTINGS.fullmatch(name)
    if with_settings is None:
        return _find_without_settings(name, known)
    pairs = [pair.partition("=") for pair in with_settings["settings"].split(",") if pair.strip()]
    return [
        _with_settings(metric, {key.strip(): value.strip() for key, _, value in pairs})
        for metric in _find_without_settings(with_settings["name"].strip(), known)
    ]


def _suggestion(name: str, known: Mapping[str, Metric]) -> str:
    """Suggest metrics with a similar name; if there are none, list all metrics."""
    words = [*known, *dict.fromkeys(metric.name for metric in known.values())]
    similar = get_close_matches(name, words, n=3, cutoff=0.8)
    if similar:
        return f"did you mean {' or '.join(similar)}? `ragboard metrics` lists all"
    return f"the metrics are {', '.join(known)}"


def _find_without_settings(name: str, known: Mapping[str, Metric]) -> list[Metric]:
    if name in known:
        return [known[name]]
    metrics = [metric for metric in known.values() if metric.source == name]
    if metrics:
        return metrics
    metrics = [metric for metric in known.values() if metric.name == name]
    if not metrics:
        raise SettingError(f"no metric is called {name!r}; {_suggestion(name, known)}")
    default = [metric for metric in metrics if metric in DEFAULT_METRICS]
    if len(metrics) > 1 and len(default) != 1:
        raise SettingError(f"{name!r} is ambiguous: {', '.join(metric.spec for metric in metrics)}")
    return default or metrics


def _with_settings(metric: Metric, settings: dict[str, str]) -> Metric:
    types = setting_types(metric)
    unknown = [key for key in settings if key not in types]
    if unknown:
        available = f"its settings are {', '.join(types)}" if types else "it has no settings"
        raise SettingError(f"{metric.source}.{metric.name} has no setting {unknown[0]!r}; {available}")
    values = {key: _value(f"{metric.source}.{metric.name}: {key}", text, types[key]) for key, text in settings.items()}
    try:
        return replace(metric, **values)
    except ValueError as error:
        raise SettingError(f"{metric.source}.{metric.name}: {error}") from error


def _value(setting: str, text: str, kind: Any) -> object:
    """Parse the value of a setting: a number, True or False, or one of several words."""
    options = choices(kind)
    for choice in options:
        if text.casefold() == str(choice).casefold():
            return choice
    if kind is float and re.fullmatch(r"\d+(\.\d+)?|\.\d+", text):
        return float(text)
    if not options and kind is not float and text.isdecimal():
        return int(text)
    raise SettingError(f"{setting}: got {text!r}, expected {allowed(kind)}")
