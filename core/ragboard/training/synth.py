"""Synthetic data from a corpus: questions, answers, negatives, a card; resumable, and the same for the same seed.

Saad-Falcon et al. 2024 (ARES), arXiv 2311.09476, section 3.1. Es et al. 2023 (RAGAS), arXiv 2309.15217,
section 4, for the WikiEval construction.
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
from ragboard.tasks import AnswerKind, Example, Similarity, WriteAnswer, WriteQuestions
from ragboard.training.questions import RoundTrip, planned_calls, round_trip, write_answers, write_questions
from ragboard.training.rows import PARTS, labelled_rows, wikieval_lines

__all__ = ["KINDS", "Kind", "SynthConfig", "SynthResult", "choose", "synthesise"]

Kind = Literal["ares", "wikieval"]
KINDS: Mapping[Kind, tuple[AnswerKind, ...]] = {
    "ares": ("grounded", "contradictory"),
    "wikieval": ("grounded", "unaided", "incomplete"),
}
"""Kinds of answers for each kind of data."""


@dataclass(frozen=True, kw_only=True)
class SynthConfig:
    """Settings of the data; with judge and corpus they determine every row."""

    kind: Kind = "ares"
    passages: int | None = None
    """Number of passages to write questions for, drawn at random; None: all long enough."""
    questions: int = 3
    """Most questions per passage."""
    least_words: int = 30
    """Least length of a passage to get questions; the round trip can retrieve shorter ones."""
    seed: int = 0
    examples: tuple[Example, ...] = ()
    """The user's examples for the judge."""


@dataclass(frozen=True, kw_only=True)
class SynthResult:
    """The resulting data, and what was dropped."""

    file: Path
    passages: int
    """Passages asked about."""
    written: int
    """Questions before the round trip."""
    kept: int
    elsewhere: int
    """Questions that retrieved another passage first."""
    repeated: int
    rows: int
    labels: Mapping[str, Mapping[str, int]]
    """Numbers of (Yes, No) rows, by quality; empty for pairs."""
    calls: int
    """Calls to models in this run, without answers from the journal."""
    planned: int
    """Most calls without repairs."""
    failed: Mapping[str, int] = field(default_factory=dict[str, int])
    """Tasks without a usable reply, by reason."""
    stopped: str = ""
    """Why not all tasks were asked; empty if all were."""


FILES: Mapping[Kind, str] = {"ares": "synthetic.tsv", "wikieval": "wikieval.jsonl"}
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
    """Make the data and write it with its card into the folder `out`.

    What was answered is kept in a journal there: the same command goes on where it stopped. Raises
    SettingError where the corpus has nothing long enough and, unless `force`, where the folder has such files
    without a journal; JudgeError where the judge does not write, StoreBusyError where another process writes there.
    """
    for kind in (WriteQuestions, WriteAnswer, *((Similarity,) if _by_meaning(panel) else ())):
        panel.for_task(kind)
    chosen = choose(corpus, config)
    options = options or EvaluationOptions()
    journal_path = out / "journal" / "answers.jsonl"
    for name in (FILES[config.kind], CARD):
        check_output(out / name, force=force or journal_path.exists())
    with open_journal(journal_path, {"kind": config.kind, "seed": config.seed}) as journal:
        runner = TaskRunner(panel, journal, Budget.of(options, panel), retry=options.retry)
        asked = wait_for(_ask_all(corpus, chosen, config, runner))
    rows = labelled_rows(corpus, asked.trip.kept, config.seed) if config.kind == "ares" else ()
    lines = ares_tsv(rows) if config.kind == "ares" else wikieval_lines(corpus, asked.trip.kept, config.seed)
    result = SynthResult(
        file=out / FILES[config.kind],
        passages=len(chosen),
        written=asked.written,
        kept=len(asked.trip.kept),
        elsewhere=asked.trip.elsewhere,
        repeated=asked.trip.repeated,
        rows=len(rows) if config.kind == "ares" else lines.count("\n"),
        labels={
            quality: {
                "Yes": sum(getattr(row, quality) is True for row in rows),
                "No": sum(getattr(row, quality) is False for row in rows),
            }
            for quality in (ARES_QUALITIES if rows else ())
        },
        calls=runner.budget.calls,
        planned=planned_calls(len(chosen), config.questions, len(KINDS[config.kind]), by_meaning=_by_meaning(panel)),
        failed=dict(asked.problems),
        stopped=runner.budget.stopped,
    )
    digest = blake2b(lines.encode(), digest_size=8).hexdigest()
    write_output(result.file, lines.encode(), force=True)
    write_output(out / CARD, _card(result, config, panel, corpus, rows, digest).encode(), force=True)
    return result


def choose(corpus: Sequence[CorpusPassage], config: SynthConfig) -> tuple[int, ...]:
    """Choose the passages to write questions for. Return positions, ascending. Raises SettingError without any."""
    long = [place for place, passage in enumerate(corpus) if len(passage.text.split()) >= config.least_words]
    if not long:
        raise SettingError(
            f"no passage has {config.least_words} words; the longest of {len(corpus)} has"
            f" {max((len(passage.text.split()) for passage in corpus), default=0)}: set --least-words"
        )
    if config.passages is None or config.passages >= len(long):
        return tuple(long)
    return tuple(sorted(random.Random(config.seed).sample(long, config.passages)))  # noqa: S311 - no secret


class _Asked(NamedTuple):
    """Questions kept with their answers, the number written, and failures."""

    trip: RoundTrip
    written: int
    problems: Counter[str]


async def _ask_all(
    corpus: Sequence[CorpusPassage], chosen: Sequence[int], config: SynthConfig, runner: TaskRunner
) -> _Asked:
    written, unasked = await write_questions(corpus, chosen, config.questions, config.examples, runner.for_sample)
    trip = await round_trip(corpus, written, runner.for_sample("round trip") if _by_meaning(runner.panel) else None)
    kept, unanswered = await write_answers(corpus, trip.kept, KINDS[config.kind], config.examples, runner.for_sample)
    return _Asked(replace(trip, kept=kept), len(written), Counter([*unasked, *trip.failed, *unanswered]))


def _by_meaning(panel: Panel) -> bool:
    """Whether the round trip uses an embedder; else words."""
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
        f"- corpus: {len(corpus):,} passages of {documents:,} documents; questions to {result.passages:,} of them",
        f"- written by: {panel.name}{' (rules, no model)' if panel.heuristic else ''}"
        f" (`{panel.for_task(WriteAnswer).identity(WriteAnswer)}`)",
        f"- seed {config.seed}, at most {config.questions} questions a passage, {len(config.examples)} examples shown",
        f"- {result.written:,} questions written, {result.repeated:,} of them repeated; {result.elsewhere:,} dropped"
        f" because another passage comes first for them; {result.kept:,} kept",
        f"- {result.rows:,} rows, BLAKE2b {digest}",
        *(f"- {count:,} tasks without a usable reply: {reason}" for reason, count in result.failed.items()),
        *([f"- **not complete**: {result.stopped}"] if result.stopped else []),
        *_counts(rows),
    ]
    return "\n".join(lines) + "\n"


def _counts(rows: Sequence[AresRow]) -> Iterator[str]:
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
        for split in PARTS:
            numbers = (counted[quality, split, label] for label in ("yes", "weak", "strong"))
            yield f"| {quality} | {split} | {' | '.join(map(str, numbers))} |"
    yield ""
    yield "A label says how a row was made; nobody has read the rows. No document is in two splits."
