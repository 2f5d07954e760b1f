"""Tasks and replies as JSON and back, and the key under which an answer is kept."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ragboard.judges.delimiters import TAGS, imitates
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

__all__ = ["REPLIES", "TASKS", "decode_reply", "encode", "task_key"]

REPLIES: dict[type[Task], type[Reply]] = {
    ExtractStatements: Extraction,
    Verify: Verification,
    GenerateQuestions: Questions,
    SelectSentences: Selection,
    Similarity: Similarities,
    Critique: Critiqued,
    Rate: Rating,
    Prefer: Preference,
    JudgePassages: Usefulness,
    ExtractEntities: Entities,
    RateAnswer: AnswerRated,
    WriteQuestions: Questions,
    WriteAnswer: Written,
    Classify: Classified,
}
"""What kind of reply each task type gets."""

TASKS: dict[str, type[Task]] = {kind.__name__: kind for kind in REPLIES}


_ADAPTERS: dict[type[Task | Reply], TypeAdapter[Any]] = {
    kind: TypeAdapter(kind) for kind in (*REPLIES, *REPLIES.values())
}


def encode(value: Task | Reply) -> bytes:
    """The value's JSON: the same value gives the same bytes. A task without history has none there either."""
    absent = {"history"} if getattr(value, "history", None) == () else None
    return _ADAPTERS[type(value)].dump_json(value, exclude=absent)


def decode_reply(task: str, data: object) -> Reply:
    """The reply to a task of that type name. Raises ValueError where the data is something else."""
    try:
        reply: Reply = _ADAPTERS[REPLIES[TASKS[task]]].validate_python(data)
    except (KeyError, ValidationError) as error:
        raise ValueError(f"not a reply to {task}: {error}") from error
    return reply


def task_key(task: Task, identity: str) -> str:
    """Digest of all that could change the answer: the task, its draw, who is asked, and whether tags are marked."""
    digest = blake2b(digest_size=16)
    name, encoded = type(task).__name__, encode(task)
    marked = (b"marked",) if name in TAGS and imitates(encoded.decode(), TAGS[name]) else ()
    for part in (name.encode(), identity.encode(), encoded, *marked):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()
