"""Whether a quality of ARES holds, from what the judge's other rules say."""

from __future__ import annotations

from ragboard.judges.embedded.answering import rate
from ragboard.judges.embedded.select import helping
from ragboard.judges.embedded.statements import extract
from ragboard.judges.embedded.verify import verify
from ragboard.tasks import Classified, Classify, Verify
from ragboard.text.sentences import sentence_spans

__all__ = ["classify"]

ANSWERS = 0.5
"""The rating from which an answer counts as relevant."""


def classify(task: Classify) -> Classified:
    """The verdict, and what it was counted from; no probability, for scores of rules are none."""
    match task.quality:
        case "context_relevance":
            return _context_relevance(task.question, task.contexts)
        case "answer_faithfulness":
            return _answer_faithfulness(task)
        case "answer_relevance":
            return _answer_relevance(task.question, task.answer)


def _context_relevance(question: str, contexts: tuple[str, ...]) -> Classified:
    """Whether a sentence of the passages helps."""
    sentences = [text[start:end] for text in contexts for start, end in sentence_spans(text)]
    chosen, scores = helping(question, sentences)
    best = f"the best by {max(scores, default=0.0):.2f}"
    reason = f"{len(chosen)} of {len(sentences)} sentences help to answer the question, {best}."
    return Classified(holds=bool(chosen), reason=reason)


def _answer_faithfulness(task: Classify) -> Classified:
    """Whether every statement is supported; an answer without one is held against the passages as it is."""
    said = extract(task.answer)
    if said.refuses and not said.statements:
        return Classified(holds=True, reason="It declines to answer: it states nothing that could be unfaithful.")
    statements = tuple(each.text for each in said.statements) or (task.answer,)
    asked = Verify(question=task.question, statements=statements, passages=task.contexts, joint=True, single=False)
    verdicts = verify(asked).joint
    supported = sum(verdict.label == "supported" for verdict in verdicts)
    least = f"the least by {min(verdict.score or 0.0 for verdict in verdicts):.2f}"
    reason = f"The passages support {supported} of {len(verdicts)} statements, {least}."
    return Classified(holds=supported == len(verdicts), reason=reason)


def _answer_relevance(question: str, answer: str) -> Classified:
    """Whether the answer is rated as answering."""
    score, reason = rate(question, answer)
    return Classified(holds=score >= ANSWERS, reason=f"{reason} Rated {score:.2f}.")
