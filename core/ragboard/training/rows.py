"""Make the rows of synthetic data, in the format of ARES or of WikiEval.

ARES rows have labels, and are split by document. A WikiEval row has a question, two contexts and three answers (Es et
al. 2023, arXiv 2309.15217, section 4).
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
"""Shares of documents to hold out for scoring a judge, and for validation."""

SIMILAR_LENGTH, SHARED_WORDS = 8, 3
"""How the candidates for a negative are chosen: the 8 texts closest to the positive in length, and of these the 3 that
share most words with the question. So length and word overlap do not reveal the label."""
SHORT = 6
"""An answer with fewer words may be only a name or date, which could answer other questions too."""
MIN_SHARED_WORDS = 0.5
"""Two answers overlap if they share at least this part of the words of the shorter answer."""

DISTRACTORS = 2
"""Number of other passages in the second context of a WikiEval row."""

NUMBERS, NAMES = frozenset(["when", "how", "since", "wann", "wie"]), frozenset(["who", "which", "where", "wo"])
"""First words of questions about a number, and of questions about a name."""

T = TypeVar("T")
Strength = Literal["weak", "strong"]


def assign_splits(corpus: Sequence[CorpusPassage], questions: Sequence[Question], seed: int) -> dict[str, Split]:
    """Assign each document, with all its passages and questions, to a split.

    Documents with and without questions are divided separately. The passages of the latter are used as negatives.
    """
    documents = sorted({passage.document for passage in corpus})
    random.Random(seed).shuffle(documents)  # noqa: S311 - not a secret
    used = {corpus[question.passage].document for question in questions}
    with_questions = [document for document in documents if document in used]
    without_questions = [document for document in documents if document not in used]
    return _assign(with_questions) | _assign(without_questions)


def _assign(documents: Sequence[str]) -> dict[str, Split]:
    held_out = round(HELD_OUT * len(documents)) or int(len(documents) > 1)
    validation = held_out + (round(VALIDATION * len(documents)) or int(len(documents) > 2))
    return {
        document: "held out" if index < held_out else "validation" if index < validation else "train"
        for index, document in enumerate(documents)
    }


def labelled_rows(corpus: Sequence[CorpusPassage], questions: Sequence[Question], seed: int) -> tuple[AresRow, ...]:
    """Return a positive row for each question, and a negative row for each question and quality, if possible.

    In a positive row, all qualities hold. In a negative row, one quality does not hold. A weak negative has a passage
    or an answer from another document of the same split. A strong negative has another passage of the same document, an
    answer that contradicts the passage, or a text of the same document that does not answer the question. Negatives are
    strong for every second question, if possible.
    """
    answered = [question for question in questions if question.answers.get("grounded")]
    splits = assign_splits(corpus, answered, seed)
    rows: list[AresRow] = []
    for split in SPLITS:
        in_split = [question for question in answered if splits[corpus[question.passage].document] == split]
        rows += _rows_of_split(corpus, in_split, split, splits, seed)
    return tuple(rows)


def _rows_of_split(
    corpus: Sequence[CorpusPassage], questions: Sequence[Question], split: Split, splits: dict[str, Split], seed: int
) -> Iterator[AresRow]:
    rng = random.Random(f"{seed} {split}")  # noqa: S311 - not a secret
    indices = [index for index, passage in enumerate(corpus) if splits[passage.document] == split]
    for number, question in enumerate(questions):
        row = AresRow(
            question=question.question,
            document=corpus[question.passage].text,
            answer=question.answers["grounded"],
            context_relevance=True,
            answer_faithfulness=True,
            answer_relevance=True,
            document_id=corpus[question.passage].document,
            split=split,
        )
        yield row
        strength: Strength = "strong" if number % 2 else "weak"
        yield from _negative_passage(row, question, corpus, indices, strength, rng)
        yield from _unfaithful_answer(row, question, corpus, questions, strength, rng)
        yield from _irrelevant_answer(row, question, corpus, questions, strength, rng)


def _negative_passage(
    row: AresRow,
    question: Question,
    corpus: Sequence[CorpusPassage],
    indices: Sequence[int],
    strength: Strength,
    rng: random.Random,
) -> Iterator[AresRow]:
    """Yield the row with a passage that does not contain the answer, if there is one."""
    others = [index for index in indices if not _contains(corpus[index].text, row.answer)]
    others = [index for index in others if corpus[index].text != row.document]
    near = [index for index in others if corpus[index].document == row.document_id and index != question.passage]
    far = [index for index in others if corpus[index].document != row.document_id]

    def text_at(index: int) -> str:
        return corpus[index].text

    negative = _choose_negative(near, far, strength, rng, _select_similar(row.question, row.document, text_at))
    if negative:
        index, strength = negative
        passage_only = replace(row, answer="", answer_faithfulness=None, answer_relevance=None)
        yield replace(passage_only, document=corpus[index].text, context_relevance=False, negative=strength)


def _unfaithful_answer(
    row: AresRow,
    question: Question,
    corpus: Sequence[CorpusPassage],
    questions: Sequence[Question],
    strength: Strength,
    rng: random.Random,
) -> Iterator[AresRow]:
    """Yield the row with an answer that the passage does not support, if there is one."""
    contradictory = question.answers.get("contradictory", "")
    near = [contradictory] if contradictory and not _is_same(contradictory, row.answer) else []
    far = [answer for answer in _far_answers(row, corpus, questions) if not _contains(row.document, answer)]
    negative = _choose_negative(near, far, strength, rng, _select_similar(row.question, row.answer, str))
    if negative:
        answer, strength = negative
        faithfulness_only = replace(row, context_relevance=None, answer_relevance=None)
        yield replace(faithfulness_only, answer=answer, answer_faithfulness=False, negative=strength)


def _irrelevant_answer(
    row: AresRow,
    question: Question,
    corpus: Sequence[CorpusPassage],
    questions: Sequence[Question],
    strength: Strength,
    rng: random.Random,
) -> Iterator[AresRow]:
    """Yield the row with an answer that does not answer the question, if there is one."""
    others = [
        other for other in questions if other is not question and not _has_same_kind_of_answer(row.question, other)
    ]
    near = [other.answers["grounded"] for other in others if corpus[other.passage].document == row.document_id]
    near += [
        text
        for passage in corpus
        if passage.document == row.document_id
        for text in _sentences_and_names(passage.text, row)
    ]
    near = [answer for answer in dict.fromkeys(near) if not _overlaps(answer, row.answer)]
    far = _far_answers(row, corpus, others)
    negative = _choose_negative(near, far, strength, rng, _select_similar(row.question, row.answer, str))
    if negative:
        answer, strength = negative
        relevance_only = replace(row, context_relevance=None, answer_faithfulness=None)
        yield replace(relevance_only, answer=answer, answer_relevance=False, negative=strength)


def _far_answers(row: AresRow, corpus: Sequence[CorpusPassage], questions: Sequence[Question]) -> list[str]:
    """Return the answers to questions about other documents that differ from the row's answer."""
    far = (other.answers["grounded"] for other in questions if corpus[other.passage].document != row.document_id)
    return [answer for answer in far if not _is_same(answer, row.answer)]


def _is_same(text: str, other: str) -> bool:
    """Return whether two texts are equal, ignoring case, space and punctuation."""

    def letters(text: str) -> str:
        return "".join(filter(str.isalnum, text.casefold()))

    return letters(text) == letters(other)


def _contains(text: str, answer: str) -> bool:
    return answer.rstrip(".") in text


def _has_same_kind_of_answer(question: str, other: Question) -> bool:
    """Return whether both questions have the same question word, and `other` has a short answer, which may fit both."""
    short = len(other.answers["grounded"].split()) < SHORT
    return short and other.question.split()[0] == question.split(maxsplit=1)[0]


def _overlaps(answer: str, other: str) -> bool:
    words, other_words = _words(answer), _words(other)
    return len(words & other_words) >= MIN_SHARED_WORDS * min(len(words), len(other_words))


def _words(text: str) -> set[str]:
    return set(words_in(text.casefold(), 0, len(text.casefold())))


def _sentences_and_names(text: str, row: AresRow) -> Iterator[str]:
    """Yield sentences without pronouns; for a question about a number, also names, and the reverse."""
    for start, end in sentence_spans(text):
        if text[start].isupper() and text[end - 1] == "." and _words(text[start:end]).isdisjoint(PRONOUNS):
            yield text[start:end]
    first = row.question.split()[0].casefold()
    if first in NUMBERS | NAMES:
        yield from (f"{name}." for name in entities(text) if any(map(str.isdigit, name)) == (first in NAMES))


def _select_similar(question: str, positive: str, text: Callable[[T], str]) -> Callable[[Sequence[T]], list[T]]:
    """Return a function that selects the candidates closest to the positive in length and in words of the question.

    `text` returns the text of a candidate.
    """
    question_words = _words(question)

    def shared_words(candidate: T) -> int:
        return len(question_words & _words(text(candidate)))

    def select(candidates: Sequence[T]) -> list[T]:
        similar = sorted(candidates, key=lambda candidate: abs(len(text(candidate)) - len(positive)))[:SIMILAR_LENGTH]
        return sorted(similar, key=shared_words, reverse=True)[:SHARED_WORDS]

    return select


def _choose_negative(
    near: Sequence[T],
    far: Sequence[T],
    strength: Strength,
    rng: random.Random,
    select: Callable[[Sequence[T]], list[T]],
) -> tuple[T, Strength] | None:
    """Return a random negative with its strength; None if there are no candidates.

    Strong negatives are from `near`, weak ones from `far`. If there is none of the wanted strength, the other is used.
    """
    strong = bool(near) and (strength == "strong" or not far)
    candidates = select(near if strong else far)
    return (rng.choice(candidates), "strong" if strong else "weak") if candidates else None


# WikiEval rows


def wikieval_lines(corpus: Sequence[CorpusPassage], questions: Sequence[Question], seed: int) -> str:
    """Return JSON lines with WikiEval's columns for the questions that have all three answers.

    With the embedded judge, there are no lines, because it cannot write an answer without a passage.
    """
    rng = random.Random(seed)  # noqa: S311 - not a secret
    rows = [_wikieval_row(corpus, question, rng) for question in questions if len(question.answers) == 3]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _wikieval_row(corpus: Sequence[CorpusPassage], question: Question, rng: random.Random) -> dict[str, object]:
    passage = corpus[question.passage]
    return {
        "question": question.question,
        "context_v1": [passage.text],
        "context_v2": _with_distractors(corpus, passage, rng),
        "grounded_answer": question.answers["grounded"],
        "ungrounded_answer": question.answers["unaided"],
        "poor_answer": question.answers["incomplete"],
        "source": passage.document,
    }


def _with_distractors(corpus: Sequence[CorpusPassage], passage: CorpusPassage, rng: random.Random) -> list[str]:
    """Return the passage and distractors in random order. Distractors are from the same document if possible."""
    near = [other.text for other in corpus if other.document == passage.document and other is not passage]
    far = [other.text for other in corpus if other.document != passage.document]
    distractors = rng.sample(near, min(DISTRACTORS, len(near)))
    distractors += rng.sample(far, min(DISTRACTORS - len(distractors), len(far)))
    mixed = [passage.text, *distractors]
    rng.shuffle(mixed)
    return mixed
