"""The open format of labels: a row of a file becomes answers and what is said of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from ragboard.answer_keys import answer_key
from ragboard.human.labels import GRADES, LabelledAnswer, NewLabel, swap_preference
from ragboard.readers.ares import ARES_QUALITIES, AresRow
from ragboard.records import Label, Passage, Sample, Span, Turn
from ragboard.store.queries.labels import Design, LabelKind

__all__ = ["Row", "RowRead", "read_ares_row", "read_row"]

Row = Mapping[str, Any]
_LABELS: Mapping[Any, Label] = {1: "supported", 0: "unsupported"}
_OURS = {"answer_faithfulness": "faithfulness"}
"""Where a quality of ARES has another name here."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RowRead:
    """What a row of a file of labels says."""

    answers: tuple[LabelledAnswer, ...]
    labels: tuple[NewLabel, ...]
    undecided: int
    """Statements on which the row says null."""
    run: str = ""
    """Where the answer comes from, by the row's own word."""


def read_row(row: Row, *, annotator: str, design: Design | None) -> RowRead:
    """Verdicts on statements, a grade, or a preference. Raises ValueError, KeyError or TypeError for anything else.

    `annotator` speaks where the row names nobody; `design`, where given, goes before the row's own.
    """
    by = {
        "annotator": _text(row.get("annotator") or annotator),
        "queue": "imported",
        "design": design or _one_of(row.get("design", "unknown"), get_args(Design), "design"),
        "run_id": "",
        "sample_id": _text(row.get("sample") or ""),
    }
    run = _text(row.get("run") or "")
    if "statements" in row:
        return replace(_verdicts(row, by), run=run)
    if "grades" in row:
        return replace(_grades(row, by), run=run)
    if "preferred" in row:
        return _preference(row, by)
    raise ValueError("it has neither `statements` nor `grades` nor `preferred`")


def read_ares_row(row: AresRow, *, annotator: str, design: Design | None) -> RowRead:
    """What ARES calls yes and no as the best grade and the worst; a label that was not given is nobody's word."""
    answer = _answer({"question": row.question}, row.answer, [row.document] if row.document else [])
    by = {"annotator": annotator, "queue": "imported", "design": design or "unknown"}
    given = {quality: getattr(row, quality) for quality in ARES_QUALITIES}
    labels = tuple(
        _label("grade", answer.key, by, {"value": str(GRADES[holds]), "dimension": _OURS.get(quality, quality)})
        for quality, holds in given.items()
        if holds is not None
    )
    return RowRead(answers=(answer,), labels=labels, undecided=0, run=row.run)


def _verdicts(row: Row, by: Mapping[str, Any]) -> RowRead:
    answer = _answer(row, row["answer"], row["contexts"])
    text = answer.sample.answer or ""
    labels: list[NewLabel] = []
    for each in row["statements"]:
        verdict = _verdict(each)
        if verdict is not None:
            said = {"value": verdict, "statement": _text(each["text"]), "span": _span(each, text)}
            labels.append(_label("verdict", answer.key, by, said | _note(each)))
    return RowRead(answers=(answer,), labels=tuple(labels), undecided=len(row["statements"]) - len(labels))


def _verdict(each: Row) -> Label | None:
    if each.get("verdict") is not None:
        verdict: Label = _one_of(each["verdict"], get_args(Label), "verdict")
        return verdict
    if each["label"] is None:
        return None
    if each["label"] not in (0, 1):
        raise ValueError(f"`label` is {each['label']!r}, expected 1, 0 or null")
    return _LABELS[each["label"]]


def _span(each: Row, answer: str) -> Span | None:
    if each.get("start") is None or each.get("end") is None:
        return None
    start, end = each["start"], each["end"]
    if not (isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(answer)):
        raise ValueError(f"`start` {start!r} and `end` {end!r} are no stretch of the answer")
    return Span(start=start, end=end, how="verbatim" if answer[start:end] == each["text"] else "aligned")


def _grades(row: Row, by: Mapping[str, Any]) -> RowRead:
    answer = _answer(row, row["answer"], row.get("contexts") or ())
    labels = [
        _label("grade", answer.key, {**by, "annotator": who}, {"value": grade, "dimension": dimension} | _note(row))
        for dimension, given in row["grades"].items()
        for who, grade in _graded(dimension, given, by["annotator"])
    ]
    return RowRead(answers=(answer,), labels=tuple(labels), undecided=0)


def _graded(dimension: str, given: Any, annotator: str) -> Iterator[tuple[str, str]]:
    """Who gave which grade: of a list each place is a person, null is nobody's word."""
    several = isinstance(given, list)
    for number, grade in enumerate(given if several else [given], 1):
        if grade is None:
            continue
        if grade not in range(GRADES[0], GRADES[1] + 1):
            raise ValueError(
                f"grade {grade!r} of {dimension!r}, expected a whole number from {GRADES[0]} to {GRADES[1]}"
            )
        yield (f"{annotator} {number}" if several else annotator), str(int(grade))


def _preference(row: Row, by: Mapping[str, Any]) -> RowRead:
    if isinstance(row["a"], list):
        raise TypeError("it prefers passages, and only preferences between answers are kept; try ragboard agree")
    shared = row.get("contexts") or ()
    a = _answer(row, row["a"], row.get("a_contexts") or shared)
    b = _answer(row, row["b"], row.get("b_contexts") or shared)
    preferred = _one_of(row["preferred"], ("a", "b", "tie"), "preferred")
    if b.key < a.key:
        a, b, preferred = b, a, swap_preference(preferred)
    said = {"value": preferred, "dimension": _text(row.get("dimension") or "overall"), "other_key": b.key} | _note(row)
    return RowRead(answers=(a, b), labels=(_label("preference", a.key, by, said),), undecided=0)


def _label(kind: LabelKind, key: str, by: Mapping[str, Any], said: Mapping[str, Any]) -> NewLabel:
    return NewLabel(kind=kind, answer_key=key, **by, **said)


def _answer(row: Row, answer: Any, contexts: Sequence[Any]) -> LabelledAnswer:
    sample = Sample(
        id="",
        question=_text(row["question"]),
        answer=_text(answer),
        contexts=tuple(Passage(id="", text=text, rank=n) for n, text in enumerate(_texts(contexts), 1)),
        history=tuple(Turn(role=turn["role"], text=_text(turn["text"])) for turn in row.get("history") or ()),
    )
    return LabelledAnswer(key=answer_key(sample), sample=sample)


def _texts(contexts: Sequence[Any]) -> Iterator[str]:
    if isinstance(contexts, str):
        raise TypeError("`contexts` is one text, expected a list")
    for each in contexts:
        yield _text(each["text"] if isinstance(each, Mapping) else each)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return value


def _note(row: Row) -> dict[str, str]:
    return {"note": _text(row.get("note") or "")}


def _one_of(value: Any, allowed: Sequence[Any], field: str) -> Any:
    if value not in allowed:
        raise ValueError(f"`{field}` is {value!r}, expected one of {', '.join(allowed)}")
    return value
