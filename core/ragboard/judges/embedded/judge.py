"""The embedded judge: answers tasks by rules, without a model."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from zlib import crc32

from ragboard.judges.embedded.index import Claim
from ragboard.judges.embedded.lexicon import AUXILIARIES
from ragboard.judges.embedded.reading import entities, read
from ragboard.judges.embedded.select import SHORT, helpful_sentences, rate
from ragboard.judges.embedded.statements import Subject, extract, subject_of
from ragboard.judges.embedded.verify import verify
from ragboard.judges.embedded.writing import write_answer, write_questions
from ragboard.records import Verdict
from ragboard.tasks import (
    AnswerRating,
    Classification,
    Classify,
    Entities,
    ExtractEntities,
    ExtractStatements,
    Failure,
    GenerateQuestions,
    JudgePassages,
    OnCall,
    Questions,
    RateAnswer,
    Reply,
    Selection,
    SelectSentences,
    Similarities,
    Similarity,
    Task,
    Usefulness,
    Verify,
    WriteAnswer,
    WriteQuestions,
    ignore_call,
)
from ragboard.text.lexicon import FUNCTION_WORDS
from ragboard.text.sentences import Language, language_of, normal, sentence_spans, term, tokens

__all__ = ["VERSION", "EmbeddedJudge", "generate_questions", "similarities", "usefulness"]


def usefulness(task: JudgePassages) -> Usefulness:
    """Return whether each passage supports at least one statement of the answer."""
    statements = tuple(statement.text for statement in extract(task.answer).statements)
    verification = verify(
        Verify(question=task.question, statements=statements, passages=task.passages, joint=False, single=True)
    )
    counts = [_count_supported([row[index] for row in verification.single]) for index in range(len(task.passages))]
    return Usefulness(
        useful=tuple(count > 0 for count in counts),
        reasons=tuple(_usefulness_reason(count, statements) for count in counts),
    )


def _count_supported(verdicts: list[Verdict]) -> int:
    return sum(verdict.label == "supported" for verdict in verdicts)


def _usefulness_reason(supported: int, statements: tuple[str, ...]) -> str:
    if not statements:
        return "The answer has no statement that a passage could support."
    return f"It supports {supported} of {len(statements)} statements of the answer."


_DATE = re.compile(
    r"\s+(?:in|on|since|im Jahre?|seit|am)\s+(?:the year\s+)?"
    r"(?:\d{1,2}\.?\s+)?(?:[A-Z][a-zä]+\s+)?(?:\d{1,2},\s+)?\d{4}\b"
)
_PERSON = re.compile(r"\b(?:born|died|married|author|actor|actress|engineer|writer|painter|singer|his|her)\b")
_PLACE = re.compile(r"\s+(?:in|at|near|nach|aus)\s+(?:[A-Z][\w'-]+)(?:\s+[A-Z][\w'-]+)*\b")


def generate_questions(answer: str, n: int) -> tuple[str, ...]:
    """Return at most `n` questions, each about a statement of the answer, the most specific statements first."""
    language = language_of(answer)
    statements = [statement.text for statement in extract(answer).statements]
    ordered = sorted(statements, key=lambda text: -_specificity(text, language))
    by_statement = [list(_questions_for_statement(text, language)) for text in ordered]
    # the first question for every statement, then the second question for every statement, and so on
    questions = (question for nth in zip_longest(*by_statement) for question in nth if question is not None)
    return tuple(dict.fromkeys(questions))[: max(n, 0)]


def _specificity(text: str, language: Language) -> int:
    """Return the number of content words, figures and names; figures and names count twice."""
    claim = Claim(read(text, 0, len(text), language))
    return len(claim.items) + len(claim.figure_keys) + len(claim.name_terms)


def _questions_for_statement(statement: str, language: Language) -> Iterator[str]:
    """Yield questions that the statement answers, the most natural question first."""
    text = statement.rstrip(" .!\u3002")
    subject = subject_of(text, 0, len(text), language)
    if subject is not None:
        yield from _questions_about_subject(text, subject, language)
    yield f"{'Stimmt es:' if language == 'de' else 'Is it so that'} {_lowercase_start(text)}?"


def _questions_about_subject(text: str, subject: Subject, language: Language) -> Iterator[str]:
    when, where, what = ("Wann", "Wo", "Was") if language == "de" else ("When", "Where", "What")
    predicate = text[subject.after :]
    auxiliary = subject.verb.lower() in AUXILIARIES[language]
    if language == "en" and _PERSON.search(predicate):
        what = "Who"
    for word, pattern in ((when, _DATE), (where, _PLACE)) if auxiliary else ():
        match = pattern.search(predicate)
        if match and (remainder := predicate[: match.start()] + predicate[match.end() :]).strip():
            yield f"{word} {subject.verb} {_lowercase_start(subject.text)}{remainder}?"
    yield f"{what} {subject.verb}{predicate}?"


def _lowercase_start(text: str) -> str:
    """Return the text with a leading article or pronoun in lower case, for use inside a sentence."""
    first, space, rest = text.partition(" ")
    articles_and_pronouns = {
        "The",
        "A",
        "An",
        "It",
        "He",
        "She",
        "They",
        "This",
        "These",
        "Der",
        "Die",
        "Das",
        "Ein",
        "Eine",
    }
    return f"{first.lower()}{space}{rest}" if first in articles_and_pronouns else text


BUCKETS = 2**18
"""Number of dimensions of the vectors. A feature's dimension is a hash of the feature."""
STEM_WEIGHT, FUNCTION_WORD_WEIGHT, TRIGRAM_WEIGHT = 1.0, 0.2, 0.3
"""The weights of the features of a text: stems, function words and groups of three letters."""


def similarities(text: str, others: Sequence[str]) -> tuple[float, ...]:
    """Return the cosine of `text` with each of `others`, in [0, 1]; 0 if either text has no words."""
    language = language_of(text)
    vector = _vector(text, language)
    return tuple(_cosine(vector, _vector(other, language)) for other in others)


def _vector(text: str, language: Language) -> dict[int, float]:
    """Return the text's vector as weights by dimension, with length 1; empty for a text without words."""
    counts: Counter[tuple[int, float]] = Counter()
    for token in tokens(text):
        counts.update(_features(token.text, language))
    weights: dict[int, float] = {}
    for (bucket, weight), count in counts.items():
        weights[bucket] = weights.get(bucket, 0.0) + weight * (1 + math.log(count))
    length = math.sqrt(math.fsum(weight * weight for weight in weights.values()))
    return {bucket: weight / length for bucket, weight in weights.items()}


@lru_cache(maxsize=16384)
def _features(word: str, language: Language) -> tuple[tuple[int, float], ...]:
    plain = normal(word)
    if plain in FUNCTION_WORDS[language]:
        return ((_bucket("f", plain), FUNCTION_WORD_WEIGHT),)
    stem = term(word, language)
    return (
        (_bucket("s", stem), STEM_WEIGHT),
        *((_bucket("l", trigram), TRIGRAM_WEIGHT) for trigram in _trigrams(stem)),
    )


def _trigrams(stem: str) -> Iterator[str]:
    padded = f"<{stem}>"
    return (padded[start : start + 3] for start in range(len(padded) - 2))


def _bucket(kind: str, feature: str) -> int:
    return crc32(f"{kind}{feature}".encode("utf-8", "surrogatepass")) % BUCKETS


def _cosine(first: dict[int, float], second: dict[int, float]) -> float:
    if first == second:
        return 1.0 if first else 0.0
    shared = math.fsum(weight * second[bucket] for bucket, weight in first.items() if bucket in second)
    return max(-1.0, min(1.0, shared))


ON_TOPIC = 0.2
"""Minimum similarity of question and answer at which the answer is on topic."""


def rate_answer(question: str, answer: str) -> tuple[float, str]:
    """Return a rating of how well the answer answers the question, in [0, 1], and the reason.

    The rating is lower if a long answer shares few words with the question.
    """
    score, reason = rate(question, answer)
    [similarity] = similarities(question, [answer])
    if not score or similarity >= ON_TOPIC or len(answer.split()) <= SHORT:
        return score, reason
    lowered = round(score * max(similarity, 0.0) / ON_TOPIC, 4)
    return lowered, "Rated lower because it shares few words with the question."


RELEVANT = 0.5
"""Minimum rating at which an answer counts as relevant."""


def classify(task: Classify) -> Classification:
    """Return whether the quality holds, and the reason."""
    match task.quality:
        case "context_relevance":
            return _context_relevance(task.question, task.contexts)
        case "answer_faithfulness":
            return _answer_faithfulness(task)
        case "answer_relevance":
            return _answer_relevance(task.question, task.answer)


def _context_relevance(question: str, contexts: tuple[str, ...]) -> Classification:
    """Return whether any sentence of the passages helps to answer the question."""
    sentences = [text[start:end] for text in contexts for start, end in sentence_spans(text)]
    chosen, scores = helpful_sentences(question, sentences)
    best = f"best score {max(scores, default=0.0):.2f}"
    reason = f"{len(chosen)} of {len(sentences)} sentences help to answer the question; {best}."
    return Classification(holds=bool(chosen), reason=reason)


def _answer_faithfulness(task: Classify) -> Classification:
    """Return whether every statement of the answer is supported.

    An answer without statements is verified as one statement, unless it only refuses: then the quality holds.
    """
    extraction = extract(task.answer)
    if extraction.refuses and not extraction.statements:
        return Classification(holds=True, reason="It declines to answer and has no statement that could be unfaithful.")
    statements = tuple(statement.text for statement in extraction.statements) or (task.answer,)
    verify_task = Verify(
        question=task.question, statements=statements, passages=task.contexts, joint=True, single=False
    )
    verdicts = verify(verify_task).joint
    supported = sum(verdict.label == "supported" for verdict in verdicts)
    lowest = f"lowest score {min(verdict.score or 0.0 for verdict in verdicts):.2f}"
    reason = f"The passages support {supported} of {len(verdicts)} statements; {lowest}."
    return Classification(holds=supported == len(verdicts), reason=reason)


def _answer_relevance(question: str, answer: str) -> Classification:
    """Return whether the answer's rating is at least `RELEVANT`."""
    score, reason = rate_answer(question, answer)
    return Classification(holds=score >= RELEVANT, reason=f"{reason} Rated {score:.2f}.")


VERSION = "9"
"""The version of the rules, incremented when a change can change a reply."""
WRITING_VERSION = "3"
"""The version of the rules for WriteQuestions and WriteAnswer, incremented when a change can change their replies."""


@dataclass(frozen=True)
class EmbeddedJudge:
    """Answers tasks by rules about words, numbers, names and negations, and by two logistic regressions.

    The rules cover the grammar of English and German. For French, Spanish, Hindi and Chinese there are only word lists.
    The judge does not recognise a paraphrase that shares no words with the passage, so its verdicts are only hints.
    """

    name: str = "embedded"
    heuristic: bool = True
    computes: bool = True
    answers: frozenset[type[Task]] = frozenset(
        {
            ExtractStatements,
            Verify,
            GenerateQuestions,
            SelectSentences,
            Similarity,
            RateAnswer,
            JudgePassages,
            ExtractEntities,
            WriteQuestions,
            WriteAnswer,
            Classify,
        }
    )

    def identity(self, task: type[Task]) -> str:
        """Return the version of the rules that answer this type of task."""
        version = f"{VERSION}.{WRITING_VERSION}" if task in {WriteQuestions, WriteAnswer} else VERSION
        return f"embedded/{version}/{task.__name__}"

    async def answer(self, tasks: Sequence[Task], _on_call: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        """Return one reply per task, in order; a Failure for task types that are not in `answers`."""
        return [_reply(task) for task in tasks]


def _reply(task: Task) -> Reply | Failure:
    match task:
        case ExtractStatements():
            return extract(task.text)
        case Verify():
            return verify(task)
        case GenerateQuestions():
            return Questions(questions=generate_questions(task.answer, task.n))
        case SelectSentences():
            chosen, scores = helpful_sentences(task.question, task.sentences)
            return Selection(chosen=chosen, scores=scores)
        case Similarity():
            return Similarities(values=similarities(task.text, task.others))
        case RateAnswer():
            score, reason = rate_answer(task.question, task.answer)
            return AnswerRating(score=score, reason=reason)
        case JudgePassages():
            return usefulness(task)
        case ExtractEntities():
            return Entities(names=entities(task.text))
        case Classify():
            return classify(task)
        case _:
            return _writing_reply(task)


def _writing_reply(task: Task) -> Reply | Failure:
    match task:
        case WriteQuestions():
            return Questions(questions=write_questions(task.passage, task.n))
        case WriteAnswer():
            return write_answer(task)
        case _:
            return Failure(detail=f"the embedded judge does not answer {type(task).__name__}")
