"""All metrics, by identity."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from ragboard.errors import SettingError
from ragboard.metrics import ares, critique, gpt_score, overlap, ragas_contexts, ragchecker, retrieval
from ragboard.metrics.base import Metric, outcome
from ragboard.metrics.description import allowed, choices, describe, setting_kinds
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
    "METRICS",
    "Metric",
    "describe",
    "metric_of",
    "metrics_named",
    "outcome",
    "split_names",
]

DEFAULT_METRICS: tuple[Metric, ...] = (Faithfulness(), AnswerRelevance(), ContextRelevance())
"""The metrics of an evaluation that names none."""

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
        overlap.ExactMatch(),
        overlap.TokenF1(),
        overlap.Bleu(),
        overlap.RougeL(),
        overlap.ChrF(),
        overlap.LengthRatio(),
        overlap.ContextOverlap(),
        Refusal(),
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
    """Split a list of metric names at its commas; commas within brackets separate settings."""
    return tuple(name.strip() for name in re.split(r",(?![^(]*\))", text))


def metrics_named(names: Iterable[str], known: Mapping[str, Metric] = METRICS) -> tuple[Metric, ...]:
    """Return the metrics with these names among the known ones, in order, without repetition.

    A bare name (`faithfulness`) is enough where one source alone has it, or the default metrics do; a
    source (`ragas`) means all of its metrics; settings follow in brackets (`retrieval.recall(k=5)`).
    Raises SettingError naming the candidates.
    """
    found: dict[str, Metric] = {}
    for name in names:
        found |= {metric.spec: metric for metric in _named(name.strip(), known)}
    return tuple(found.values())


def metric_of(spec: str, known: Mapping[str, Metric] = METRICS) -> Metric | None:
    """Return the metric with this identity, or None if there is none (any more)."""
    if spec in known:
        return known[spec]
    try:
        found = _named(spec, known)
    except SettingError:
        return None
    return next((metric for metric in found if metric.spec == spec), None)


def _named(name: str, known: Mapping[str, Metric]) -> list[Metric]:
    written = WITH_SETTINGS.fullmatch(name)
    if written is None:
        return _matching(name, known)
    pairs = [pair.partition("=") for pair in written["settings"].split(",") if pair.strip()]
    return [
        _with_settings(metric, {key.strip(): value.strip() for key, _, value in pairs})
        for metric in _matching(written["name"].strip(), known)
    ]


def _meant_perhaps(name: str, known: Mapping[str, Metric]) -> str:
    """The metrics whose names are nearly this one, else all of them."""
    words = [*known, *dict.fromkeys(metric.name for metric in known.values())]
    near = get_close_matches(name, words, n=3, cutoff=0.8)
    return f"perhaps {' or '.join(near)}; `ragboard metrics` lists them" if near else f"there are {', '.join(known)}"


def _matching(name: str, known: Mapping[str, Metric]) -> list[Metric]:
    if name in known:
        return [known[name]]
    found = [metric for metric in known.values() if metric.source == name]
    if found:
        return found
    found = [metric for metric in known.values() if metric.name == name]
    if not found:
        raise SettingError(f"no metric is called {name!r}; {_meant_perhaps(name, known)}")
    usual = [metric for metric in found if metric in DEFAULT_METRICS]
    if len(found) > 1 and len(usual) != 1:
        raise SettingError(f"{name!r} is ambiguous: {', '.join(metric.spec for metric in found)}")
    return usual or found


def _with_settings(metric: Metric, settings: dict[str, str]) -> Metric:
    kinds = setting_kinds(metric)
    unknown = [key for key in settings if key not in kinds]
    if unknown:
        has = f"has {', '.join(kinds)}" if kinds else "has none"
        raise SettingError(f"{metric.source}.{metric.name} has no setting {unknown[0]!r}; it {has}")
    values = {key: _value(f"{metric.source}.{metric.name}: {key}", text, kinds[key]) for key, text in settings.items()}
    try:
        return replace(metric, **values)
    except ValueError as error:
        raise SettingError(f"{metric.source}.{metric.name}: {error}") from error


def _value(what: str, text: str, kind: Any) -> object:
    """A setting as it is written in an identity: a number, True or False, or one of some words."""
    offered = choices(kind)
    for choice in offered:
        if text.casefold() == str(choice).casefold():
            return choice
    if kind is float and re.fullmatch(r"\d+(\.\d+)?|\.\d+", text):
        return float(text)
    if not offered and kind is not float and text.isdecimal():
        return int(text)
    raise SettingError(f"{what}: got {text!r}, expected {allowed(kind)}")
