"""From questions with answers to rows: ARES's, labelled, with negatives and a split by document, or WikiEval's pairs.

Es et al. 2023, arXiv 2309.15217, section 4, for the pairs: to each question two contexts and three answers.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Literal, TypeVar

from ragboard.judges.embedded.lexicon import PRONOUNS
from ragboard.judges.embedded.reading import entities
from ragboard.readers.ares import AresRow
from ragboard.readers.corpus import CorpusPassage
from ragboard.text.sentences import sentence_spans, words_in
from ragboard.training.questions import Question

__all__ = ["PARTS", "labelled_rows", "split_of", "wikieval_lines"]

PARTS = ("train", "validation", "held out")
HELD_OUT, VALIDATION = 0.3, 0.15
"""Shares of the documents that a judge is scored on, and on which is decided when its training stops."""

ALIKE_IN_LENGTH, HARDEST = 8, 3
"""A negative is drawn from so many that share most words with the question, of so many that are nearest to the
positive in length: so neither tells the label by itself."""
SHORT = 6
"""Words up to which an answer may be a bare name or date, which could answer any question of its kind."""
SAME = 0.5
"""The share of an answer's words from which on another says the same."""

DILUTING = 2
"""Passages that the diluted context has besides its own."""

NUMBERS, NAMES = frozenset(["when", "how", "since", "wann", "wie"]), frozenset(["who", "which", "where", "wo"])
"""First words of questions that ask for a number, and of those that ask for a name."""

T = TypeVar("T")
Strength = Literal["weak", "strong"]


def split_of(corpus: Sequence[CorpusPassage], asked: Sequence[Question], seed: int) -> dict[str, str]:
    """Assign each document to a part, with all its passages and questions.

    Each part gets its share of the documents with questions, and of the others, whose passages are negatives.
    """
    documents = sorted({passage.document for passage in corpus})
    random.Random(seed).shuffle(documents)  # noqa: S311 - no secret hangs on it
    used = {corpus[each.place].document for each in asked}
    return _parts([each for each in documents if each in used]) | _parts(
        [each for each in documents if each not in used]
    )


def _parts(documents: Sequence[str]) -> dict[str, str]:
    held = round(HELD_OUT * len(documents)) or int(len(documents) > 1)
    tried = held + (round(VALIDATION * len(documents)) or int(len(documents) > 2))
    return {
        document: "held out" if place < held else "validation" if place < tried else "train"
        for place, document in enumerate(documents)
    }


def labelled_rows(corpus: Sequence[CorpusPassage], asked: Sequence[Question], seed: int) -> tuple[AresRow, ...]:
    """Make rows: one per question in which all qualities hold, and one per quality in which it does not.

    Every other negative is strong where one can be had: a passage of the same document, an answer that
    contradicts the passage; an answer to another question, a sentence or a bare name of the same document.
    A weak one takes its passage or answer from another document of the same split.
    """
    whole = [each for each in asked if each.answers.get("grounded")]
    split = split_of(corpus, whole, seed)
    return tuple(
        row
        for part in PARTS
        for row in _part(
            corpus, [each for each in whole if split[corpus[each.place].document] == part], part, split, seed
        )
    )


def _part(
    corpus: Sequence[CorpusPassage], asked: Sequence[Question], part: str, split: dict[str, str], seed: int
) -> Iterator[AresRow]:
    rng = random.Random(f"{seed} {part}")  # noqa: S311 - no secret hangs on it
    places = [place for place, passage in enumerate(corpus) if split[passage.document] == part]
    for number, each in enumerate(asked):
        row = AresRow(
            question=each.question,
            document=corpus[each.place].text,
            answer=each.answers["grounded"],
            context_relevance=True,
            answer_faithfulness=True,
            answer_relevance=True,
            document_id=corpus[each.place].document,
            split=part,
        )
        yield row
        strength: Strength = "strong" if number % 2 else "weak"
        yield from _other_passage(row, each, corpus, places, strength, rng)
        yield from _unfaithful(row, each, corpus, asked, strength, rng)
        yield from _beside_the_point(row, each, corpus, asked, strength, rng)


def _other_passage(
    row: AresRow,
    each: Question,
    corpus: Sequence[CorpusPassage],
    places: Sequence[int],
    strength: Strength,
    rng: random.Random,
) -> Iterator[AresRow]:
    others = [place for place in places if not _stands_in(row.answer, corpus[place].text)]
    others = [place for place in others if corpus[place].text != row.document]
    near = [place for place in others if corpus[place].document == row.document_id and place != each.place]
    far = [place for place in others if corpus[place].document != row.document_id]
    found = _choice(near, far, strength, rng, _harder(row.question, row.document, lambda place: corpus[place].text))
    if found:
        place, strength = found
        bare = replace(row, answer="", answer_faithfulness=None, answer_relevance=None)
        yield replace(bare, document=corpus[place].text, context_relevance=False, negative=strength)


def _unfaithful(
    row: AresRow,
    each: Question,
    corpus: Sequence[CorpusPassage],
    asked: Sequence[Question],
    strength: Strength,
    rng: random.Random,
) -> Iterator[AresRow]:
    contradictory = each.answers.get("contradictory", "")
    near = [contradictory] if contradictory and not _same(contradictory, row.answer) else []
    far = [answer for answer in _far_answers(row, corpus, asked) if not _stands_in(answer, row.document)]
    found = _choice(near, far, strength, rng, _harder(row.question, row.answer, str))
    if found:
        answer, strength = found
        bare = replace(row, context_relevance=None, answer_relevance=None)
        yield replace(bare, answer=answer, answer_faithfulness=False, negative=strength)


def _beside_the_point(
    row: AresRow,
    each: Question,
    corpus: Sequence[CorpusPassage],
    asked: Sequence[Question],
    strength: Strength,
    rng: random.Random,
) -> Iterator[AresRow]:
    others = [other for other in asked if other is not each and not _same_kind(row.question, other)]
    near = [other.answers["grounded"] for other in others if corpus[other.place].document == row.document_id]
    near += [text for passage in corpus if passage.document == row.document_id for text in _said_in(passage.text, row)]
    near = [answer for answer in dict.fromkeys(near) if not _says_as_much(answer, row.answer)]
    far = _far_answers(row, corpus, others)
    found = _choice(near, far, strength, rng, _harder(row.question, row.answer, str))
    if found:
        answer, strength = found
        bare = replace(row, context_relevance=None, answer_faithfulness=None)
        yield replace(bare, answer=answer, answer_relevance=False, negative=strength)


def _far_answers(row: AresRow, corpus: Sequence[CorpusPassage], asked: Sequence[Question]) -> list[str]:
    """Return answers to questions of other documents, without those that also answer this question."""
    far = (other.answers["grounded"] for other in asked if corpus[other.place].document != row.document_id)
    return [answer for answer in far if not _same(answer, row.answer)]


def _same(one: str, other: str) -> bool:
    """Return whether two texts are equal, ignoring case, space and punctuation."""
    mine, theirs = ("".join(filter(str.isalnum, text.casefold())) for text in (one, other))
    return mine == theirs


def _stands_in(answer: str, text: str) -> bool:
    return answer.rstrip(".") in text


def _same_kind(question: str, other: Question) -> bool:
    """Return whether the other answer is a bare name or date of the kind asked for here."""
    short = len(other.answers["grounded"].split()) < SHORT
    return short and other.question.split()[0] == question.split(maxsplit=1)[0]


def _says_as_much(one: str, other: str) -> bool:
    mine, theirs = _words(one), _words(other)
    return len(mine & theirs) >= SAME * min(len(mine), len(theirs))


def _words(text: str) -> set[str]:
    return set(words_in(text.casefold(), 0, len(text.casefold())))


def _said_in(text: str, row: AresRow) -> Iterator[str]:
    """Return sentences that can be read on their own, without bare names or numbers of the kind asked for."""
    for start, end in sentence_spans(text):
        if text[start].isupper() and text[end - 1] == "." and _words(text[start:end]).isdisjoint(PRONOUNS):
            yield text[start:end]
    first = row.question.split()[0].casefold()
    if first in NUMBERS | NAMES:
        yield from (f"{each}." for each in entities(text) if any(map(str.isdigit, each)) == (first in NAMES))


def _harder(question: str, positive: str, text: Callable[[T], str]) -> Callable[[Sequence[T]], list[T]]:
    """Selects candidates that superficially resemble the positive."""
    asked = _words(question)

    def shared(each: T) -> int:
        return len(asked & _words(text(each)))

    def chosen(candidates: Sequence[T]) -> list[T]:
        close = sorted(candidates, key=lambda each: abs(len(text(each)) - len(positive)))[:ALIKE_IN_LENGTH]
        return sorted(close, key=shared, reverse=True)[:HARDEST]

    return chosen


def _choice(
    near: Sequence[T],
    far: Sequence[T],
    strength: Strength,
    rng: random.Random,
    harder: Callable[[Sequence[T]], list[T]],
) -> tuple[T, Strength] | None:
    """Return a negative of the wanted strength, else of the other; None without any."""
    strong = bool(near) and (strength == "strong" or not far)
    from_these = harder(near if strong else far)
    return (rng.choice(from_these), "strong" if strong else "weak") if from_these else None


# Pairs


def wikieval_lines(corpus: Sequence[CorpusPassage], asked: Sequence[Question], seed: int) -> str:
    """Return JSONL lines with WikiEval's columns, without questions that lack one of three answers.

    Rules write no answer without the passage, and a contradictory one would not be the same thing.
    """
    rng = random.Random(seed)  # noqa: S311 - no secret hangs on it
    rows = [_pair(corpus, each, rng) for each in asked if len(each.answers) == 3]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _pair(corpus: Sequence[CorpusPassage], each: Question, rng: random.Random) -> dict[str, object]:
    own = corpus[each.place]
    return {
        "question": each.question,
        "context_v1": [own.text],
        "context_v2": _diluted(corpus, own, rng),
        "grounded_answer": each.answers["grounded"],
        "ungrounded_answer": each.answers["unaided"],
        "poor_answer": each.answers["incomplete"],
        "source": own.document,
    }


def _diluted(corpus: Sequence[CorpusPassage], own: CorpusPassage, rng: random.Random) -> list[str]:
    """Put the passage among others, its own document's first: similar in subject, no help with the question."""
    near = [passage.text for passage in corpus if passage.document == own.document and passage is not own]
    far = [passage.text for passage in corpus if passage.document != own.document]
    others = rng.sample(near, min(DILUTING, len(near)))
    others += rng.sample(far, min(DILUTING - len(others), len(far)))
    mixed = [own.text, *others]
    rng.shuffle(mixed)
    return mixed
