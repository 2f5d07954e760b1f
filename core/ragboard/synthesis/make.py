"""Synthetic data from a corpus: questions, answers, negatives, a card; resumable, and the same for the same seed.

Saad-Falcon et al. 2024 (ARES), arXiv 2311.09476, section 3.1. Es et al. 2023 (RAGAS), arXiv 2309.15217,
section 4, for the WikiEval construction.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Literal

from ragboard.errors import SettingError, StoreError
from ragboard.evaluation.asker import Asker
from ragboard.evaluation.budget import Budget
from ragboard.evaluation.cache import open_cache
from ragboard.evaluation.journal import open_journal
from ragboard.evaluation.loop import wait_for
from ragboard.evaluation.terms import Terms
from ragboard.exporting.ares import ares_tsv
from ragboard.judges.panel import Panel
from ragboard.judges.tasks import AnswerKind, Example, Similarity, WriteAnswer, WriteQuestions
from ragboard.readers.ares import ARES_QUALITIES, AresRow
from ragboard.readers.corpus import CorpusPassage
from ragboard.synthesis.card import card_of
from ragboard.synthesis.pairs import wikieval_lines
from ragboard.synthesis.rows import labelled_rows
from ragboard.synthesis.writing import Filtered, planned_calls, round_trip, write_answers, write_questions

__all__ = ["KINDS", "Kind", "Recipe", "Synthetic", "choose", "synthesise"]

Kind = Literal["ares", "wikieval"]
KINDS: Mapping[Kind, tuple[AnswerKind, ...]] = {
    "ares": ("grounded", "contradictory"),
    "wikieval": ("grounded", "unaided", "incomplete"),
}
"""The answers that each kind of data takes."""

FILES: Mapping[Kind, str] = {"ares": "synthetic.tsv", "wikieval": "wikieval.jsonl"}


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How the data is to be made; with the judge and the corpus it decides every row."""

    kind: Kind = "ares"
    passages: int | None = None
    """Passages to write questions to, drawn at random; None: all that are long enough."""
    questions: int = 2
    """Questions to a passage, at most."""
    least_words: int = 30
    """Shorter passages get no questions, but the round trip may still lead to them."""
    seed: int = 0
    examples: tuple[Example, ...] = ()
    """The user's own, shown to the judge."""


@dataclass(frozen=True, kw_only=True)
class Synthetic:
    """What came of it."""

    file: Path
    passages: int
    """Passages that questions were asked to."""
    written: int
    """Questions before the round trip."""
    kept: int
    elsewhere: int
    """Questions for which another passage came first."""
    repeated: int
    rows: int
    labels: Mapping[str, Mapping[str, int]]
    """For each quality how many rows say Yes and how many No; empty for pairs."""
    calls: int
    """Calls to models this time; what a journal already held is not asked again."""
    planned: int
    """Most calls without repairs."""
    failed: Mapping[str, int] = field(default_factory=dict[str, int])
    """Tasks without a usable reply, by reason."""
    stopped: str = ""
    """Why not all was asked; empty where all was."""


def synthesise(
    corpus: Sequence[CorpusPassage], recipe: Recipe, panel: Panel, out: Path, terms: Terms | None = None
) -> Synthetic:
    """Write the data and its card into the folder `out`.

    What was answered is kept in a journal there: the same command goes on where it stopped. Raises
    SettingError where the corpus has nothing long enough, JudgeError where the judge does not write,
    StoreBusyError where another process writes there.
    """
    panel.for_task(WriteQuestions)
    panel.for_task(WriteAnswer)
    chosen = choose(corpus, recipe)
    terms = terms or Terms()
    with (
        open_journal(out / "journal" / "answers.jsonl", {"kind": recipe.kind, "seed": recipe.seed}) as journal,
        open_cache(out / "journal" / "answers.sqlite") as cache,
    ):
        asker = Asker(panel, journal, Budget.of(terms, panel), cache if terms.cache else None, retry=terms.retry)
        filtered, written, problems = wait_for(_ask_all(corpus, chosen, recipe, asker))
    return _write(corpus, chosen, recipe, panel, out, asker, filtered, written, problems)


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


async def _ask_all(
    corpus: Sequence[CorpusPassage], chosen: Sequence[int], recipe: Recipe, asker: Asker
) -> tuple[Filtered, int, Counter[str]]:
    asked, unasked = await write_questions(corpus, chosen, recipe.questions, recipe.examples, asker.for_sample)
    near = asker.for_sample("round trip") if asker.panel.roles and "embed" in asker.panel.roles else None
    if near:
        asker.panel.for_task(Similarity)
    filtered = await round_trip(corpus, asked, near)
    kept, unanswered = await write_answers(corpus, filtered.kept, KINDS[recipe.kind], recipe.examples, asker.for_sample)
    return replace(filtered, kept=kept), len(asked), Counter([*unasked, *unanswered])


def _write(
    corpus: Sequence[CorpusPassage],
    chosen: Sequence[int],
    recipe: Recipe,
    panel: Panel,
    out: Path,
    asker: Asker,
    filtered: Filtered,
    written: int,
    problems: Counter[str],
) -> Synthetic:
    rows = labelled_rows(corpus, filtered.kept, recipe.seed) if recipe.kind == "ares" else ()
    text = ares_tsv(rows) if recipe.kind == "ares" else wikieval_lines(corpus, filtered.kept, recipe.seed)
    made = Synthetic(
        file=out / FILES[recipe.kind],
        passages=len(chosen),
        written=written,
        kept=len(filtered.kept),
        elsewhere=filtered.elsewhere,
        repeated=filtered.repeated,
        rows=len(rows) if recipe.kind == "ares" else text.count("\n"),
        labels=_labels(rows),
        calls=asker.budget.calls,
        planned=planned_calls(len(chosen), recipe.questions, len(KINDS[recipe.kind])),
        failed=problems,
        stopped=asker.budget.stopped,
    )
    try:
        made.file.write_text(text, encoding="utf-8", newline="\n")
        digest = blake2b(text.encode(), digest_size=8).hexdigest()
        card = card_of(made, recipe, panel, corpus, rows, digest)
        (out / "card.md").write_text(card, encoding="utf-8", newline="\n")
    except OSError as error:
        raise StoreError(f"{error.filename or out}: {error.strerror or error}") from error
    return made


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
