"""Who is held against people: metrics of ours, the two baselines, and what reads nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import get_args

from ragboard.human.judge_report import word_overlap
from ragboard.judges.panel import Panel
from ragboard.judges.tasks import Prefer, Quality, Rate
from ragboard.metrics import DEFAULT_METRICS, Metric, gpt_score, ragchecker
from ragboard.opinions import Contender, Item, Judged
from ragboard.records import Outcome, Sample, Score, Unscored

__all__ = ["GPT_RANKING", "QUALITIES", "LineUp", "line_up", "own_words", "trivial_outcomes"]

GPT_SCORE, GPT_RANKING = "GPT Score", "GPT Ranking"
QUALITIES: tuple[Quality, ...] = get_args(Quality)

OWN: Mapping[str, Metric] = {
    **{metric.name: metric for metric in DEFAULT_METRICS},
    "correctness": ragchecker.Precision(),
    "completeness": ragchecker.Recall(),
    "overall": ragchecker.F1(),
}
"""The metric that stands for a dimension where no other is asked for."""

RATED: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (gpt_score.Faithfulness(), gpt_score.AnswerRelevance(), gpt_score.ContextRelevance())
}

TRIVIAL_OF_PAIRS = ("longer", "shorter", "word overlap", "coin")
TRIVIAL_OF_ONE = ("shorter", "word overlap")


@dataclass(frozen=True, kw_only=True)
class LineUp:
    """The contenders, and what it takes to hear them."""

    contenders: tuple[Contender, ...]
    metrics: Mapping[str, tuple[tuple[str, Metric], ...]]
    """By dimension the metrics to count, each with its contender's name."""
    ranked: frozenset[Quality] = field(default_factory=frozenset[Quality])
    """Dimensions in which GPT Ranking is asked."""
    notes: tuple[str, ...] = ()
    """Who was left out, and why."""


def line_up(judged: Judged, panel: Panel, metrics: Sequence[Metric]) -> LineUp:
    """Who contends: these metrics, else each dimension's own; baselines where a judge answers them; the trivial ones.

    A metric that is called as a dimension is held against that dimension alone, another against all. Those of one
    source that are each a dimension's own are one contender, called by the source. Of statements the judge's own word
    contends in place of metrics.
    """
    ours = {} if judged.form == "statements" else _ours(judged.dimensions, metrics)
    qualities: list[Quality] = [name for name in QUALITIES if name in ours]
    rated = qualities if panel.answering(Rate) else []
    ranked: list[Quality] = qualities if judged.form == "pairs" and panel.answering(Prefer) else []
    counted = {name: (*pairs, *(((GPT_SCORE, RATED[name]),) if name in rated else ())) for name, pairs in ours.items()}
    silent = bool(qualities) and (not rated or (judged.form == "pairs" and not ranked))
    return LineUp(
        contenders=(
            *(own_words(panel.name) if judged.form == "statements" else ()),
            *_contenders(counted),
            *([Contender(name=GPT_RANKING, kind="baseline")] if ranked else []),
            *_published(judged),
            *(
                Contender(name=name, kind="trivial")
                for name in (TRIVIAL_OF_PAIRS if judged.form == "pairs" else TRIVIAL_OF_ONE)
            ),
        ),
        metrics=counted,
        ranked=frozenset(ranked),
        notes=(f"GPT Score and GPT Ranking are left out: {panel.name} does not rate and compare",) if silent else (),
    )


def own_words(judge: str) -> tuple[Contender, Contender]:
    """A judge's word on statements, yes or no, and the score behind it where it gives one."""
    return Contender(name=f"{judge}, its verdict", kind="metric"), Contender(name=f"{judge}, its score", kind="metric")


def _ours(dimensions: Sequence[str], metrics: Sequence[Metric]) -> dict[str, tuple[tuple[str, Metric], ...]]:
    if not metrics:
        return {name: ((OWN[name].source, OWN[name]),) if name in OWN else () for name in dimensions}
    own = [(metric.source, metric.name) for metric in metrics if metric.name in dimensions]
    return {
        name: tuple(
            (metric.source if own.count((metric.source, metric.name)) == 1 else metric.spec, metric)
            for metric in metrics
            if metric.name == name or metric.name not in dimensions
        )
        for name in dimensions
    }


def _contenders(counted: Mapping[str, Sequence[tuple[str, Metric]]]) -> Iterator[Contender]:
    for wanted in dict.fromkeys(name for pairs in counted.values() for name, _ in pairs):
        found = {dimension: metric for dimension, pairs in counted.items() for name, metric in pairs if name == wanted}
        yield Contender(
            name=wanted,
            kind="baseline" if wanted == GPT_SCORE else "metric",
            metrics={dimension: metric.spec for dimension, metric in found.items()},
            lower=any(metric.direction == "lower" for metric in found.values()),
        )


def _published(judged: Judged) -> Iterator[Contender]:
    for name in dict.fromkeys(name for item in judged.items for name in item.published):
        yield Contender(name=name, kind="published")


def trivial_outcomes(item: Item, dimension: str, seed: int) -> Iterator[tuple[str, tuple[Outcome, ...]]]:
    """What the trivial contenders make of an item; they read nothing but words and their number."""
    texts = [_text(sample, dimension) for sample in item.sides]
    yield "shorter", tuple(Score(value=-len(text), counted=f"{len(text):,} characters") for text in texts)
    yield "word overlap", tuple(_overlap(sample, dimension) for sample in item.sides)
    if len(texts) == 2:
        yield "longer", tuple(Score(value=len(text), counted=f"{len(text):,} characters") for text in texts)
        heads = blake2b(f"{seed} {dimension} {item.id}".encode(), digest_size=1).digest()[0] % 2
        yield "coin", (Score(value=float(heads), counted="a coin"), Score(value=float(1 - heads), counted="a coin"))


def _text(sample: Sample, dimension: str) -> str:
    return _passages(sample) if dimension == "context_relevance" else sample.answer or ""


def _passages(sample: Sample) -> str:
    return "\n\n".join(passage.text for passage in sample.contexts or ())


def _overlap(sample: Sample, dimension: str) -> Outcome:
    """The share of one text's words that another has, of what the dimension is about."""
    answer, passages, reference = sample.answer or "", _passages(sample), sample.reference
    if dimension == "context_relevance":
        return _share("of the passages' words are the question's", passages, sample.question)
    if dimension in ("answer_relevance", "helps"):
        return _share("of the question's words are in it", sample.question, answer)
    if dimension == "completeness" and reference:
        return _share("of the reference's words are in the answer", reference, answer)
    if dimension in ("correctness", "overall") and reference:
        return _share("of the answer's words are in the reference", answer, reference)
    if not sample.contexts:
        return Unscored(reason="skipped", detail="there are no passages to share words with")
    return _share("of the words are in the passages", answer, passages)


def _share(said: str, text: str, other: str) -> Score:
    share = word_overlap(text, [other])
    return Score(value=share, counted=f"{share:.0%} {said}")
