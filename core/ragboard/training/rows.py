"""Rows of synthetic data: labelled ARES rows with negatives, split by document, or WikiEval pairs.

Es et al. 2023, arXiv 2309.15217, section 4, for the pairs: two contexts and three answers per question.
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
from ragboard.training.examples import SPLITS, Split
from ragboard.training.questions import Question

__all__ = ["assign_splits", "labelled_rows", "wikieval_lines"]

HELD_OUT, VALIDATION = 0.3, 0.15
"""Shares of documents: to score a judge on, and for early stopping."""

SIMILAR_LENGTH, SHARED_WORDS = 8, 3
"""Candidates for a negative: of the 8 nearest to the positive in length, the 3 that share most words with the question.
Neither length nor overlap then gives the label away."""
SHORT = 6
"""An answer with fewer words may be a bare name or date, which could answer any question of its kind."""
MIN_SHARED_WORDS = 0.5
"""The minimum share of common words at which two answers count as the same."""

DISTRACTORS = 2
"""Number of other passages in a diluted context."""

NUMBERS, NAMES = frozenset(["when", "how", "since", "wann", "wie"]), frozenset(["who", "which", "where", "wo"])
"""First words of questions that ask for a number, and of questions that ask for a name."""

T = TypeVar("T")
Strength = Literal["weak", "strong"]


def assign_splits(corpus: Sequence[CorpusPassage], questions: Sequence[Question], seed: int) -> dict[str, Split]:
    """Assign each document, with all its passages and questions, to a split.

    Each split gets its share of the documents with questions, and of the others, whose passages are negatives.
    """
    documents = sorted({passage.document for passage in corpus})
    random.Random(seed).shuffle(documents)  # noqa: S311 - not a secret
    used = {corpus[question.place].document for question in questions}
    return _assign([each for each in documents if each in used]) | _assign(
        [each for each in documents if each not in used]
    )


def _assign(documents: Sequence[str]) -> dict[str, Split]:
    held_out = round(HELD_OUT * len(documents)) or int(len(documents) > 1)
    validation = held_out + (round(VALIDATION * len(documents)) or int(len(documents) > 2))
    return {
        document: "held out" if place < held_out else "validation" if place < validation else "train"
        for place, document in enumerate(documents)
    }


def labelled_rows(corpus: Sequence[CorpusPassage], questions: Sequence[Question], seed: int) -> tuple[AresRow, ...]:
    """Make rows: for each question, one in which all qualities hold, and for each quality one in which it does not.

    Every other negative is strong if possible: a passage of the same document, an answer that contradicts the passage,
    or an answer to another question, a sentence or a bare name from the same document. A weak negative takes its
    passage or answer from another document of the same split.
    """
    answered = [each for each in questions if each.answers.get("grounded")]
    splits = assign_splits(corpus, answered, seed)
    return tuple(
        row
        for split in SPLITS
        for row in _split_rows(
            corpus, [each for each in answered if splits[corpus[each.place].document] == split], split, splits, seed
        )
    )


def _split_rows(
    corpus: Sequence[CorpusPassage], questions: Sequence[Question], split: Split, splits: dict[str, Split], seed: int
) -> Iterator[AresRow]:
    rng = random.Random(f"{seed} {split}")  # noqa: S311 - not a secret
    places = [place for place, passage in enumerate(corpus) if splits[passage.document] == split]
    for number, each in enumerate(questions):
        row = AresRow(
            question=each.question,
            document=corpus[each.place].text,
            answer=each.answers["grounded"],
            context_relevance=True,
            answer_faithfulness=True,
            answer_relevance=True,
            document_id=corpus[each.place].document,
            split=split,
        )
        yield row
        strength: Strength = "strong" if number % 2 else "weak"
        yield from _other_passage(row, each, corpus, places, strength, rng)
        yield from _unfaithful(row, each, corpus, questions, strength, rng)
        yield from _irrelevant(row, each, corpus, questions, strength, rng)


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
    questions: Sequence[Question],
    strength: Strength,
    rng: random.Random,
) -> Iterator[AresRow]:
    contradictory = each.answers.get("contradictory", "")
    near = [contradictory] if contradictory and not _same(contradictory, row.answer) else []
    far = [answer for answer in _far_answers(row, corpus, questions) if not _stands_in(answer, row.document)]
    found = _choice(near, far, strength, rng, _harder(row.question, row.answer, str))
    if found:
        answer, strength = found
        bare = replace(row, context_relevance=None, answer_relevance=None)
        yield replace(bare, answer=answer, answer_faithfulness=False, negative=strength)


def _irrelevant(
    row: AresRow,
    each: Question,
    corpus: Sequence[CorpusPassage],
    questions: Sequence[Question],
    strength: Strength,
    rng: random.Random,
) -> Iterator[AresRow]:
    others = [other for other in questions if other is not each and not _same_kind(row.question, other)]
    near = [other.answers["grounded"] for other in others if corpus[other.place].document == row.document_id]
    near += [
        text
        for passage in corpus
        if passage.document == row.document_id
        for text in _sentences_and_names(passage.text, row)
    ]
    near = [answer for answer in dict.fromkeys(near) if not _overlaps(answer, row.answer)]
    far = _far_answers(row, corpus, others)
    found = _choice(near, far, strength, rng, _harder(row.question, row.answer, str))
    if found:
        answer, strength = found
        bare = replace(row, context_relevance=None, answer_faithfulness=None)
        yield replace(bare, answer=answer, answer_relevance=False, negative=strength)


def _far_answers(row: AresRow, corpus: Sequence[CorpusPassage], questions: Sequence[Question]) -> list[str]:
    """Return answers to questions on other documents, without those that equal this answer."""
    far = (other.answers["grounded"] for other in questions if corpus[other.place].document != row.document_id)
    return [answer for answer in far if not _same(answer, row.answer)]


def _same(one: str, other: str) -> bool:
    """Return whether two texts are equal, ignoring case, space and punctuation."""
    first, second = ("".join(filter(str.isalnum, text.casefold())) for text in (one, other))
    return first == second


def _stands_in(answer: str, text: str) -> bool:
    return answer.rstrip(".") in text


def _same_kind(question: str, other: Question) -> bool:
    """Return whether the other answer is a bare name or date of the kind asked for here."""
    short = len(other.answers["grounded"].split()) < SHORT
    return short and other.question.split()[0] == question.split(maxsplit=1)[0]


def _overlaps(one: str, other: str) -> bool:
    first, second = _words(one), _words(other)
    return len(first & second) >= MIN_SHARED_WORDS * min(len(first), len(second))


def _words(text: str) -> set[str]:
    return set(words_in(text.casefold(), 0, len(text.casefold())))


def _sentences_and_names(text: str, row: AresRow) -> Iterator[str]:
    """Yield sentences without pronouns, and bare names or numbers of a kind that the question does not ask for."""
    for start, end in sentence_spans(text):
        if text[start].isupper() and text[end - 1] == "." and _words(text[start:end]).isdisjoint(PRONOUNS):
            yield text[start:end]
    first = row.question.split()[0].casefold()
    if first in NUMBERS | NAMES:
        yield from (f"{each}." for each in entities(text) if any(map(str.isdigit, each)) == (first in NAMES))


def _harder(question: str, positive: str, text: Callable[[T], str]) -> Callable[[Sequence[T]], list[T]]:
    """Return a function that selects the candidates that superficially resemble the positive."""
    question_words = _words(question)

    def shared(each: T) -> int:
        return len(question_words & _words(text(each)))

    def select(candidates: Sequence[T]) -> list[T]:
        similar = sorted(candidates, key=lambda each: abs(len(text(each)) - len(positive)))[:SIMILAR_LENGTH]
        return sorted(similar, key=shared, reverse=True)[:SHARED_WORDS]

    return select


def _choice(
    near: Sequence[T],
    far: Sequence[T],
    strength: Strength,
    rng: random.Random,
    harder: Callable[[Sequence[T]], list[T]],
) -> tuple[T, Strength] | None:
    """Return a negative of this strength or, if there is none, of the other one; None without any."""
    strong = bool(near) and (strength == "strong" or not far)
    candidates = harder(near if strong else far)
    return (rng.choice(candidates), "strong" if strong else "weak") if candidates else None


# Pairs


def wikieval_lines(corpus: Sequence[CorpusPassage], questions: Sequence[Question], seed: int) -> str:
    """Return JSONL lines with WikiEval's columns, without questions that lack one of three answers.

    The embedded judge writes none, because its rules write no answer without a passage.
    """
    rng = random.Random(seed)  # noqa: S311 - not a secret
    rows = [_pair(corpus, question, rng) for question in questions if len(question.answers) == 3]
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
    """Shuffle the passage among distractors, preferably from its own document, which are on a similar subject."""
    near = [passage.text for passage in corpus if passage.document == own.document and passage is not own]
    far = [passage.text for passage in corpus if passage.document != own.document]
    others = rng.sample(near, min(DISTRACTORS, len(near)))
    others += rng.sample(far, min(DISTRACTORS - len(others), len(far)))
    mixed = [own.text, *others]
    rng.shuffle(mixed)
    return mixed
