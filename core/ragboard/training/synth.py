"""Synthetic data from a corpus: questions, answers, negatives, a card; resumable, and the same for the same seed.

Saad-Falcon et al. 2024 (ARES), arXiv 2311.09476, section 3.1. Es et al. 2023 (RAGAS), arXiv 2309.15217,
section 4, for the WikiEval construction.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from ragboard.errors import SettingError
from ragboard.evaluation.asker import Asker
from ragboard.evaluation.budget import Budget
from ragboard.evaluation.journal import open_journal
from ragboard.evaluation.loop import wait_for
from ragboard.evaluation.terms import Terms
from ragboard.exporting.ares import ares_tsv
from ragboard.judges.panel import Panel
from ragboard.judges.tasks import Similarity, WriteAnswer, WriteQuestions
from ragboard.outputs import check_output, write_output
from ragboard.readers.ares import ARES_QUALITIES, AresRow
from ragboard.readers.corpus import CorpusPassage
from ragboard.synthesis.card import card_of
from ragboard.synthesis.nouns import KINDS, Kind, Recipe, Synthetic
from ragboard.synthesis.pairs import wikieval_lines
from ragboard.synthesis.rows import labelled_rows
from ragboard.synthesis.writing import Filtered, planned_calls, round_trip, write_answers, write_questions

__all__ = ["choose", "synthesise"]

FILES: Mapping[Kind, str] = {"ares": "synthetic.tsv", "wikieval": "wikieval.jsonl"}
CARD = "card.md"


def synthesise(
    corpus: Sequence[CorpusPassage],
    recipe: Recipe,
    panel: Panel,
    out: Path,
    terms: Terms | None = None,
    *,
    force: bool = False,
) -> Synthetic:
    """Write the data and its card into the folder `out`.

    What was answered is kept in a journal there: the same command goes on where it stopped. Raises
    SettingError where the corpus has nothing long enough and, unless `force`, where the folder has such files
    without a journal; JudgeError where the judge does not write, StoreBusyError where another process writes there.
    """
    for kind in (WriteQuestions, WriteAnswer, *((Similarity,) if _by_meaning(panel) else ())):
        panel.for_task(kind)
    chosen = choose(corpus, recipe)
    terms = terms or Terms()
    journal_path = out / "journal" / "answers.jsonl"
    for name in (FILES[recipe.kind], CARD):
        check_output(out / name, force=force or journal_path.exists())
    with open_journal(journal_path, {"kind": recipe.kind, "seed": recipe.seed}) as journal:
        asker = Asker(panel, journal, Budget.of(terms, panel), retry=terms.retry)
        heard = wait_for(_ask_all(corpus, chosen, recipe, asker))
    rows = labelled_rows(corpus, heard.filtered.kept, recipe.seed) if recipe.kind == "ares" else ()
    lines = ares_tsv(rows) if recipe.kind == "ares" else wikieval_lines(corpus, heard.filtered.kept, recipe.seed)
    made = Synthetic(
        file=out / FILES[recipe.kind],
        passages=len(chosen),
        written=heard.written,
        kept=len(heard.filtered.kept),
        elsewhere=heard.filtered.elsewhere,
        repeated=heard.filtered.repeated,
        rows=len(rows) if recipe.kind == "ares" else lines.count("\n"),
        labels=_labels(rows),
        calls=asker.budget.calls,
        planned=planned_calls(len(chosen), recipe.questions, len(KINDS[recipe.kind]), by_meaning=_by_meaning(panel)),
        failed=heard.problems,
        stopped=asker.budget.stopped,
    )
    digest = blake2b(lines.encode(), digest_size=8).hexdigest()
    write_output(made.file, lines.encode(), force=True)
    write_output(out / CARD, card_of(made, recipe, panel, corpus, rows, digest).encode(), force=True)
    return made


def choose(corpus: Sequence[CorpusPassage], recipe: Recipe) -> tuple[int, ...]:
    """The places of the passages to write questions to, ascending. Raises SettingError where there is none."""
    long = [place for place, passage in enumerate(corpus) if len(passage.text.split()) >= recipe.least_words]
    if not long:
        raise SettingError(
            f"no passage has {recipe.least_words} words; the longest of {len(corpus)} has"
            f" {max((len(passage.text.split()) for passage in corpus), default=0)}: set --least-words"
        )
    if recipe.passages is None or recipe.passages >= len(long):
        return tuple(long)
    return tuple(sorted(random.Random(recipe.seed).sample(long, recipe.passages)))  # noqa: S311 - no secret


class _Heard(NamedTuple):
    """What a judge wrote: the questions kept with their answers, how many there were, and what it failed."""

    filtered: Filtered
    written: int
    problems: Counter[str]


async def _ask_all(corpus: Sequence[CorpusPassage], chosen: Sequence[int], recipe: Recipe, asker: Asker) -> _Heard:
    asked, unasked = await write_questions(corpus, chosen, recipe.questions, recipe.examples, asker.for_sample)
    filtered = await round_trip(corpus, asked, asker.for_sample("round trip") if _by_meaning(asker.panel) else None)
    kept, unanswered = await write_answers(corpus, filtered.kept, KINDS[recipe.kind], recipe.examples, asker.for_sample)
    return _Heard(replace(filtered, kept=kept), len(asked), Counter([*unasked, *filtered.failed, *unanswered]))


def _by_meaning(panel: Panel) -> bool:
    """Whether an embedder was named for the round trip; else words decide."""
    return "embed" in (panel.roles or {})


def _labels(rows: Sequence[AresRow]) -> dict[str, dict[str, int]]:
    if not rows:
        return {}
    return {
        quality: {
            "Yes": sum(getattr(row, quality) is True for row in rows),
            "No": sum(getattr(row, quality) is False for row in rows),
        }
        for quality in ARES_QUALITIES
    }
