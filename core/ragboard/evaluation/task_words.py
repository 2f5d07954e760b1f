"""Tasks and replies in plain words, for a person who reads what judges were asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ragboard.judges.tasks import (
    AnswerRated,
    Classified,
    Classify,
    Critique,
    Critiqued,
    Entities,
    ExtractEntities,
    Extraction,
    ExtractStatements,
    GenerateQuestions,
    JudgePassages,
    Prefer,
    Preference,
    Questions,
    Rate,
    RateAnswer,
    Rating,
    Reply,
    Selection,
    SelectSentences,
    Similarities,
    Similarity,
    Task,
    Usefulness,
    Verification,
    Verify,
    WriteAnswer,
    WriteQuestions,
    Written,
)
from ragboard.records import Sample, Verdict

__all__ = ["reply_in_words", "task_in_words"]


def task_in_words(task: Task, sample: Sample) -> str:
    """`Hold 3 statements against 5 passages`; the second and later draws are numbered."""
    said = _task(task, sample)
    return f"{said} (draw {task.draw + 1})" if task.draw else said


def _task(task: Task, sample: Sample) -> str:
    match task:
        case ExtractStatements():
            return f"Split the {_side(task.text, sample)} into statements"
        case Verify():
            return f"Hold {_count(task.statements, 'statement')} against {_against(task, sample)}"
        case GenerateQuestions():
            return f"Write {task.n} questions that the answer answers"
        case SelectSentences():
            return f"Select, of {_count(task.sentences, 'sentence')}, those that help to answer"
        case Similarity():
            return f"Compare a text with {_count(task.others, 'other')} in meaning"
        case JudgePassages():
            toward = _side(task.answer, sample)
            return f"Say which of {_count(task.passages, 'passage')} are useful to arrive at the {toward}"
        case WriteQuestions():
            return f"Write {task.n} questions that a passage answers"
        case WriteAnswer():
            return f"Write an answer to a question: {task.kind}"
        case _:
            return _opinion(task)


def _opinion(task: Critique | Rate | Prefer | ExtractEntities | RateAnswer | Classify) -> str:
    match task:
        case Critique():
            return f"Say whether it holds of the answer: {task.definition}"
        case Rate():
            return f"Rate {task.quality.replace('_', ' ')} from 0 to 10"
        case Prefer():
            return f"Say which of two is better in {task.quality.replace('_', ' ')}"
        case ExtractEntities():
            return "Name the people, places, things, dates and amounts of a text"
        case RateAnswer():
            return "Rate how well the answer answers the question"
        case Classify():
            return f"Say whether {task.quality.replace('_', ' ')} holds"


def _side(text: str, sample: Sample) -> str:
    return "reference" if text == sample.reference and text != sample.answer else "answer"


def _against(task: Verify, sample: Sample) -> str:
    if task.joint and not task.single and len(task.passages) == 1 and task.passages[0] in _texts(sample):
        return f"the {_side(task.passages[0], sample)}"
    how = {(True, True): ", together and each by itself", (False, True): ", each by itself"}
    return _count(task.passages, "passage") + how.get((task.joint, task.single), ", together")


def _texts(sample: Sample) -> tuple[str | None, str | None]:
    return sample.answer, sample.reference


def reply_in_words(reply: Reply) -> str:
    """`3 statements: 2 supported, 1 contradicted`."""
    match reply:
        case Extraction():
            refuses = "; it declines to answer, at least in part" if reply.refuses else ""
            return f"{_count(reply.statements, 'statement')}{refuses}"
        case Verification():
            single = [verdict for row in reply.single for verdict in row]
            said = [("together", reply.joint), ("each by itself", single)]
            return "; ".join(f"{how}: {_labels(verdicts)}" for how, verdicts in said if verdicts) or "no verdict"
        case Questions():
            return " / ".join(reply.questions) or "no question"
        case Selection():
            return f"{_count(reply.chosen, 'sentence')} chosen"
        case Similarities():
            return ", ".join(f"{value:.2f}" for value in reply.values) or "none"
        case Usefulness():
            return f"{sum(reply.useful)} of {_count(reply.useful, 'passage')} useful"
        case Written():
            return reply.text or "no text"
        case _:
            return _said(reply)


def _said(reply: Critiqued | Rating | Preference | Entities | AnswerRated | Classified) -> str:
    match reply:
        case Critiqued():
            return _with_reason("yes" if reply.yes else "no", reply.reason)
        case Rating():
            return _with_reason(f"{reply.value} of 10", reply.reason)
        case Preference():
            return _with_reason(f"{reply.better.upper()} is better", reply.reason)
        case AnswerRated():
            return _with_reason(f"{reply.score:.2f} of 1", reply.reason)
        case Classified():
            likely = "" if reply.probability is None else f", probability {reply.probability:.2f}"
            return _with_reason(f"{'yes' if reply.holds else 'no'}{likely}", reply.reason)
        case Entities():
            return ", ".join(reply.names) or "no name"


def _labels(verdicts: Sequence[Verdict]) -> str:
    counts = Counter(verdict.label for verdict in verdicts)
    return ", ".join(f"{count} {label}" for label, count in counts.most_common())


def _count(things: Sequence[object], name: str) -> str:
    return f"{len(things):,} {name}{'' if len(things) == 1 else 's'}"


def _with_reason(said: str, reason: str) -> str:
    return f"{said}: {reason}" if reason else said
