"""Generate synthetic data from a corpus: questions, answers, negatives, and a summary of the data (card).

A question is kept if it passes the *round trip*: a search for it in the corpus ranks its own passage first.

ARES format: Saad-Falcon et al. 2024, arXiv 2311.09476, section 3.1. WikiEval format: Es et al. 2023 (RAGAS), arXiv
2309.15217, section 4.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Literal, NamedTuple

from ragboard.errors import SettingError
from ragboard.evaluation.budget import Budget
from ragboard.evaluation.journal import open_journal
from ragboard.evaluation.options import EvaluationOptions
from ragboard.evaluation.runner import TaskRunner, wait_for
from ragboard.export.ares import ares_tsv
from ragboard.judges.panel import Panel
from ragboard.outputs import check_output, write_output
from ragboard.readers.ares import ARES_QUALITIES, AresRow
from ragboard.readers.corpus import CorpusPassage
from ragboard.tasks import AnswerKind, Similarity, WriteAnswer, WriteQuestions, WritingExample
from ragboard.training.examples import SPLITS
from ragboard.training.questions import RoundTrip, planned_calls, round_trip, write_answers, write_questions
from ragboard.training.rows import labelled_rows, wikieval_lines

__all__ = ["FORMAT_ANSWERS", "SynthConfig", "SynthFormat", "SynthResult", "choose_passages", "synthesise"]

SynthFormat = Literal["ares", "wikieval"]
FORMAT_ANSWERS: Mapping[SynthFormat, tuple[AnswerKind, ...]] = {
    "ares": ("grounded", "contradictory"),
    "wikieval": ("grounded", "unaided", "incomplete"),
}
"""The kinds of answers that each format needs."""


@dataclass(frozen=True, kw_only=True)
class SynthConfig:
    """Settings of synthetic data. With the same settings, judge replies and corpus, the rows are the same."""

    kind: SynthFormat = "ares"
    passages: int | None = None
    """Number of random passages to write questions for; None: all passages that are long enough."""
    questions: int = 3
    """Maximum number of questions per passage."""
    min_words: int = 30
    """Minimum number of words of a passage to write questions for. The search of the round trip ranks shorter passages
    too."""
    seed: int = 0
    examples: tuple[WritingExample, ...] = ()
    """The user's few-shot examples for the prompts."""


@dataclass(frozen=True, kw_only=True)
class SynthResult:
    """The written file, and the numbers of questions and rows."""

    file: Path
    passages: int
    """Number of passages that questions were written for."""
    written: int
    """Number of questions before the round trip."""
    kept: int
    """Number of questions for which the search ranks their own passage first."""
    other_passage_first: int
    """Number of questions for which the search ranks another passage first."""
    repeated: int
    """Number of duplicate questions."""
    rows: int
    """Number of rows in the file."""
    labels: Mapping[str, Mapping[str, int]]
    """Numbers of Yes and No rows, by quality; empty for WikiEval."""
    calls: int
    """Calls to models, not counting replies from the journal."""
    planned: int
    """Maximum number of calls, not counting repair requests."""
    failed: Mapping[str, int] = field(default_factory=dict[str, int])
    """Number of tasks without a usable reply, by reason."""
    stopped: str = ""
    """Why the generation stopped early; empty if it was complete."""


FILES: Mapping[SynthFormat, str] = {"ares": "synthetic.tsv", "wikieval": "wikieval.jsonl"}
CARD = "card.md"


def synthesise(
    corpus: Sequence[CorpusPassage],
    config: SynthConfig,
    panel: Panel,
    out: Path,
    options: EvaluationOptions | None = None,
    *,
    force: bool = False,
) -> SynthResult:
    """Generate the data, and write it with its card into the folder `out`.

    A journal in this folder stores the replies, so the same call resumes where it stopped. Raises SettingError if no
    passage is long enough or, without `force`, if the folder has these files but no journal. Raises JudgeError if the
    judge cannot write texts, StoreBusyError if another process writes to the folder.
    """
    for kind in (WriteQuestions, WriteAnswer, *((Similarity,) if _has_embedder(panel) else ())):
        panel.for_task(kind)
    chosen = choose_passages(corpus, config)
    options = options or EvaluationOptions()
    journal_path = out / "journal" / "answers.jsonl"
    for name in (FILES[config.kind], CARD):
        check_output(out / name, force=force or journal_path.exists())
    with open_journal(journal_path, {"kind": config.kind, "seed": config.seed}) as journal:
        runner = TaskRunner(panel, journal, Budget.for_panel(options, panel), retry=options.retry)
        generated = wait_for(_generate(corpus, chosen, config, runner))
    rows = labelled_rows(corpus, generated.round_trip.kept, config.seed) if config.kind == "ares" else ()
    lines = ares_tsv(rows) if config.kind == "ares" else wikieval_lines(corpus, generated.round_trip.kept, config.seed)
    result = SynthResult(
        file=out / FILES[config.kind],
        passages=len(chosen),
        written=generated.written,
        kept=len(generated.round_trip.kept),
        other_passage_first=generated.round_trip.other_passage_first,
        repeated=generated.round_trip.repeated,
        rows=len(rows) if config.kind == "ares" else lines.count("\n"),
        labels={
            quality: {
                "Yes": sum(getattr(row, quality) is True for row in rows),
                "No": sum(getattr(row, quality) is False for row in rows),
            }
            for quality in (ARES_QUALITIES if rows else ())
        },
        calls=runner.budget.calls,
        planned=planned_calls(
            len(chosen), config.questions, len(FORMAT_ANSWERS[config.kind]), with_embedder=_has_embedder(panel)
        ),
        failed=dict(generated.failures),
        stopped=runner.budget.stopped,
    )
    digest = blake2b(lines.encode(), digest_size=8).hexdigest()
    write_output(result.file, lines.encode(), force=True)
    write_output(out / CARD, _card(result, config, panel, corpus, rows, digest).encode(), force=True)
    return result


def choose_passages(corpus: Sequence[CorpusPassage], config: SynthConfig) -> tuple[int, ...]:
    """Choose the passages to write questions for. Return their indices in the corpus, ascending.

    Raises SettingError if no passage is long enough.
    """
    long_enough = [index for index, passage in enumerate(corpus) if len(passage.text.split()) >= config.min_words]
    if not long_enough:
        raise SettingError(
            f"no passage has {config.min_words} words; the longest of {len(corpus)} has"
            f" {max((len(passage.text.split()) for passage in corpus), default=0)}; lower --least-words"
        )
    if config.passages is None or config.passages >= len(long_enough):
        return tuple(long_enough)
    return tuple(sorted(random.Random(config.seed).sample(long_enough, config.passages)))  # noqa: S311 - no secret


class _Generated(NamedTuple):
    """The generated questions and answers."""

    round_trip: RoundTrip
    """The result of the round trip. Its questions have answers."""
    written: int
    """Number of questions before the round trip."""
    failures: Counter[str]
    """Number of failed tasks, by reason."""


async def _generate(
    corpus: Sequence[CorpusPassage], chosen: Sequence[int], config: SynthConfig, runner: TaskRunner
) -> _Generated:
    written, question_failures = await write_questions(
        corpus, chosen, config.questions, config.examples, runner.for_sample
    )
    trip = await round_trip(corpus, written, runner.for_sample("round trip") if _has_embedder(runner.panel) else None)
    kept, answer_failures = await write_answers(
        corpus, trip.kept, FORMAT_ANSWERS[config.kind], config.examples, runner.for_sample
    )
    return _Generated(
        replace(trip, kept=kept), len(written), Counter([*question_failures, *trip.failed, *answer_failures])
    )


def _has_embedder(panel: Panel) -> bool:
    """Return whether the round trip also ranks passages by embeddings."""
    return "embed" in (panel.roles or {})


def _card(
    result: SynthResult,
    config: SynthConfig,
    panel: Panel,
    corpus: Sequence[CorpusPassage],
    rows: Sequence[AresRow],
    digest: str,
) -> str:
    """Return the card as Markdown."""
    documents = len({passage.document for passage in corpus})
    lines = [
        f"# Synthetic data: {result.file.name}",
        "",
        f"- corpus: {len(corpus):,} passages of {documents:,} documents; questions on {result.passages:,} of them",
        f"- written by: {panel.name}{' (rules, no model)' if panel.heuristic else ''}"
        f" (`{panel.for_task(WriteAnswer).identity(WriteAnswer)}`)",
        f"- seed {config.seed}, at most {config.questions} questions per passage,"
        f" {len(config.examples)} few-shot examples",
        f"- {result.written:,} questions written, {result.repeated:,} of them repeated;"
        f" {result.other_passage_first:,} dropped because they retrieve another passage first; {result.kept:,} kept",
        f"- {result.rows:,} rows, BLAKE2b {digest}",
        *(f"- {count:,} tasks without a usable reply: {reason}" for reason, count in result.failed.items()),
        *([f"- **not complete**: {result.stopped}"] if result.stopped else []),
        *_count_table(rows),
    ]
    return "\n".join(lines) + "\n"


def _count_table(rows: Sequence[AresRow]) -> Iterator[str]:
    if not rows:
        return
    counted = Counter(
        (quality, row.split, "yes" if label else row.negative)
        for row in rows
        for quality in ARES_QUALITIES
        if (label := getattr(row, quality)) is not None
    )
    yield from ("", "| quality | split | positives | weak negatives | strong negatives |", "|---|---|---|---|---|")
    for quality in ARES_QUALITIES:
        for split in SPLITS:
            numbers = (counted[quality, split, label] for label in ("yes", "weak", "strong"))
            yield f"| {quality} | {split} | {' | '.join(map(str, numbers))} |"
    yield ""
    yield "Labels follow from how each row was made; nobody has checked them. No document is in two splits."
