"""The data card: what the data was made from, by whom and how, and what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ragboard.judges.panel import Panel
from ragboard.readers.ares import ARES_QUALITIES, AresRow
from ragboard.readers.corpus import CorpusPassage
from ragboard.synthesis.nouns import Recipe, Synthetic
from ragboard.synthesis.rows import PARTS
from ragboard.tasks import WriteAnswer

__all__ = ["card_of"]


def card_of(
    made: Synthetic,
    recipe: Recipe,
    panel: Panel,
    corpus: Sequence[CorpusPassage],
    rows: Sequence[AresRow],
    digest: str,
) -> str:
    """The card as Markdown."""
    documents = len({passage.document for passage in corpus})
    lines = [
        f"# Synthetic data: {made.file.name}",
        "",
        f"- corpus: {len(corpus):,} passages of {documents:,} documents; questions to {made.passages:,} of them",
        f"- written by: {panel.name}{' (rules, no model)' if panel.heuristic else ''}"
        f" (`{panel.for_task(WriteAnswer).identity(WriteAnswer)}`)",
        f"- seed {recipe.seed}, at most {recipe.questions} questions a passage, {len(recipe.examples)} examples shown",
        f"- {made.written:,} questions written, {made.repeated:,} of them repeated; {made.elsewhere:,} dropped because"
        f" another passage comes first for them; {made.kept:,} kept",
        f"- {made.rows:,} rows, BLAKE2b {digest}",
        *_troubles(made),
        *_counts(rows),
    ]
    return "\n".join(lines) + "\n"


def _troubles(made: Synthetic) -> Iterator[str]:
    for reason, count in made.failed.items():
        yield f"- {count:,} tasks without a usable reply: {reason}"
    if made.stopped:
        yield f"- **not complete**: {made.stopped}"


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
