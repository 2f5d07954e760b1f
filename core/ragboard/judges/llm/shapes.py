"""The JSON schema of the reply to each kind of task, for servers that hold a model to one."""

from __future__ import annotations

from typing import Any, TypeAlias

from ragboard.judges.tasks import (
    Classify,
    Critique,
    ExtractEntities,
    ExtractStatements,
    GenerateQuestions,
    JudgePassages,
    Prefer,
    Rate,
    RateAnswer,
    SelectSentences,
    Task,
    Verify,
    WriteAnswer,
    WriteQuestions,
)

__all__ = ["LABELS", "reply_schema"]

Schema: TypeAlias = dict[str, Any]

LABELS = ("supported", "contradicted", "unsupported")


def _object(**properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _menu(*words: str) -> Schema:
    return {"type": "string", "enum": list(words)}


_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "integer"}
_YES_NO = _menu("yes", "no")
_LABEL = _menu(*LABELS)
_VERDICT = _object(reason=_TEXT, verdict=_YES_NO)
_RATING = _object(reason=_TEXT, rating={"type": "integer", "enum": list(range(11))})
_CELL = _object(passage=_NUMBER, label=_LABEL, quote=_TEXT)
_TOGETHER = _object(label=_LABEL, reason=_TEXT, quotes=_list(_object(passage=_NUMBER, quote=_TEXT)))

_SCHEMAS: dict[type[Task], Schema] = {
    ExtractStatements: _object(
        statements=_list(_object(statement=_TEXT, quote=_TEXT)),
        refuses={"type": "boolean"},
    ),
    GenerateQuestions: _object(questions=_list(_TEXT)),
    SelectSentences: _object(chosen=_list(_NUMBER)),
    Critique: _VERDICT,
    Rate: _RATING,
    Prefer: _object(reason=_TEXT, better=_menu("A", "B")),
    JudgePassages: _object(passages=_list(_object(passage=_NUMBER, reason=_TEXT, useful=_YES_NO))),
    ExtractEntities: _object(entities=_list(_TEXT)),
    RateAnswer: _RATING,
    WriteQuestions: _object(questions=_list(_TEXT)),
    WriteAnswer: _object(answer=_TEXT),
    Classify: _VERDICT,
}


def reply_schema(task: Task) -> Schema:
    """The schema of the reply to this task; counts and numbers are checked when the reply is read."""
    return _verdicts(task) if isinstance(task, Verify) else _SCHEMAS[type(task)]


def _verdicts(task: Verify) -> Schema:
    parts: dict[str, Schema] = {"statement": _NUMBER}
    if task.single:
        parts["passages"] = _list(_CELL)
    if task.joint:
        parts["together"] = _TOGETHER
    return _object(verdicts=_list(_object(**parts)))
