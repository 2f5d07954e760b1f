"""The card of a trained judge: what it was made of, how it learnt, and how good it is beside word overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ragboard.human.agreement import Measure
from ragboard.human.scorers import ScorerFigures
from ragboard.judges.trained.files import TrainedFile
from ragboard.judges.trained.reading import BETWEEN
from ragboard.stats import NoInterval, interval_text
from ragboard.training.nouns import Course, Pupil, Trained
from ragboard.training.scores import PEOPLE, Scored

__all__ = ["card_of", "verdicts"]

BAR = 40
"""Characters of the longest bar of a learning curve."""


def card_of(trained: Trained, said: TrainedFile, course: Course, data: str, labels: Sequence[str]) -> str:
    """The card as Markdown."""
    devices = ", ".join(dict.fromkeys(pupil.device for pupil in trained.pupils))
    documents = ", ".join(f"{count:,} {side}" for side, count in trained.documents.items())
    lines = [
        f"# Judge trained on {data}",
        "",
        f"- model: {trained.model} (SHA-256 of its files begins {said.base}), one cross-encoder a quality",
        f"- data: {data} (BLAKE2b {said.data}); documents: {documents}; none is on two sides",
        f"- settings: at most {course.epochs} epochs, patience {course.patience}, batch {course.batch}, learning rate"
        f" {course.learning_rate:g}, {said.max_length} tokens, seed {said.seed}, on {devices}",
        "- it learns from `train`; when it stops, and how its output becomes a probability, is decided on `validation`;"
        " `held out` and people's labels are only scored on",
        f"- people's labels: {_given(labels)}",
        *(f"- **not trained**: {quality}: {why}" for quality, why in trained.left_out.items()),
        *(line for pupil in trained.pupils for line in _pupil(pupil, labels)),
    ]
    return "\n".join(lines) + "\n"


def _given(labels: Sequence[str]) -> str:
    if not labels:
        return "none given (`--labels FILE`)"
    return (
        f"{', '.join(labels)}; examples that it learnt from are left out, but labelled passages may be of documents"
        " that it learnt from"
    )


def _pupil(pupil: Pupil, labels: Sequence[str]) -> Iterator[str]:
    curve = pupil.taught.calibration
    yield from ("", f"## {pupil.quality}", "")
    yield f"- reads: {BETWEEN.join(pupil.taught.reads)}"
    yield "- examples that hold and that do not: " + ", ".join(
        f"{ups:,} and {downs:,} {side}" for side, (ups, downs) in pupil.sizes.items()
    )
    if pupil.dropped:
        yield "- dropped rows: " + ", ".join(f"{count:,} {reason}" for reason, count in pupil.dropped.items())
    yield f"- probability: 1 / (1 + exp(-({curve.slope:.3f} * output + {curve.offset:.3f}))), by Platt's way"
    yield f"- holds from a probability of {pupil.taught.threshold:g} on; took {pupil.seconds:,.0f} s"
    yield from _curve(pupil)
    for scored in pupil.scores:
        yield from _scored(scored)
    if labels and not any(scored.on == PEOPLE for scored in pupil.scores):
        yield from ("", "People's labels do not say of it both yes and no.")


def _curve(pupil: Pupil) -> Iterator[str]:
    most = max(epoch.validation_loss for epoch in pupil.epochs)
    yield from ("", "Learning curve (the bar is the loss on validation; * marks the weights that were kept):", "")
    yield from ("| epoch | training loss | validation loss | validation AUROC | |", "|---|---|---|---|---|")
    for epoch in pupil.epochs:
        bar = "█" * max(1, round(BAR * epoch.validation_loss / most)) if most else ""
        yield (
            f"| {epoch.number}{' *' if epoch.number == pupil.kept else ''} | {epoch.training_loss:.3f}"
            f" | {epoch.validation_loss:.3f} | {epoch.validation_auroc:.3f} | {bar} |"
        )


def _scored(scored: Scored) -> Iterator[str]:
    yield ""
    yield f"On {scored.on}: {scored.n:,} examples, of which {scored.positive:,} hold, in {scored.clusters:,} clusters."
    yield from ("", "| | AUROC | balanced accuracy | judge's AUROC better by |", "|---|---|---|---|")
    for one in scored.contenders:
        figures = (one.auroc, one.balanced_accuracy, one.judge_better_by)
        yield f"| {one.name} | {' | '.join(map(_figure, figures))} |"
    yield "| the commoner class | 0.5 | 0.5 | |"
    yield ""
    yield from verdicts(scored)


def _figure(found: Measure | None) -> str:
    if found is None or found.value is None:
        return ""
    interval = found.interval
    if isinstance(interval, NoInterval):
        return f"{found.value:.3f} (no interval: {interval.reason})"
    return f"{found.value:.3f} {interval_text(interval)}"


def verdicts(scored: Scored) -> Iterator[str]:
    """In plain words whether the judge is better than a coin, and than each contender; one sentence each."""
    judge, *others = scored.contenders
    found = judge.auroc.interval
    if isinstance(found, NoInterval):
        yield f"On {scored.on} **it cannot be told whether it is better than a coin** ({found.reason})."
    elif found.low <= 0.5:
        yield f"On {scored.on} **it is not shown to be better than a coin**."
    for other in others:
        yield f"On {scored.on} {_against(other)}."


def _against(other: ScorerFigures) -> str:
    found = other.judge_better_by.interval if other.judge_better_by else None
    if found is None or isinstance(found, NoInterval):
        why = f" ({found.reason})" if found else ""
        return f"it cannot be told whether it ranks better than {other.name}{why}"
    if found.low > 0:
        return f"it ranks better than {other.name}"
    if found.high < 0:
        return f"**it ranks worse than {other.name}**"
    return f"**it is not shown to rank better than {other.name}**"
