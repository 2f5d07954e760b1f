"""From the JSON of a reply to the typed reply, held against its task part by part.

Each statement, passage and sentence was numbered in the prompt, and replies are matched by these
numbers. What is missing, there twice, or was not offered is a MisfitError that says so. Only a
quotation that is not found where it was said to be is left out in silence: it is evidence lost, and
no verdict changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, cast

from ragboard.judges.llm.objects import MisfitError, first_fitting
from ragboard.judges.llm.shapes import LABELS
from ragboard.judges.tasks import (
    AnswerRated,
    Classified,
    Classify,
    Critique,
    Critiqued,
    Entities,
    Extracted,
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
    Task,
    Usefulness,
    Verification,
    Verify,
    WriteAnswer,
    WriteQuestions,
    Written,
)
from ragboard.records import Evidence, Label, Span, Verdict
from ragboard.text.quotes import locate

__all__ = ["READERS", "read_reply", "without_asking"]

Json = Mapping[str, Any]

NOTHING_TO_READ = Verdict(label="unsupported", reason="No passage was given.")


def read_reply(task: Task, text: str, prompt: str = "", instructions: str = "") -> Reply:
    """The reply in the text to that prompt, of which the instructions are ours and the rest is judged.

    Raises MisfitError saying what is wrong with it.
    """
    key, reader = READERS[type(task)]
    return first_fitting(text, lambda value: reader(task, value), key, prompt=prompt, instructions=instructions)


def without_asking(task: Task) -> Reply | None:
    """The reply to a task that holds nothing to ask about, or None."""
    match task:
        case ExtractStatements() if not task.text.strip():
            return Extraction(statements=(), refuses=False)
        case Verify() if not (task.statements and task.passages and (task.joint or task.single)):
            rows = len(task.statements)
            joint = (NOTHING_TO_READ,) * rows if task.joint else ()
            single = ((NOTHING_TO_READ,) * len(task.passages),) * rows if task.single else ()
            return Verification(joint=joint, single=single)
        case GenerateQuestions() if task.n < 1 or not task.answer.strip():
            return Questions(questions=())
        case SelectSentences() if not task.sentences:
            return Selection(chosen=())
        case JudgePassages() if not task.passages:
            return Usefulness(useful=(), reasons=())
        case ExtractEntities() if not task.text.strip():
            return Entities(names=())
        case WriteQuestions() if task.n < 1 or not task.passage.strip():
            return Questions(questions=())
        case _:
            return None


def _extraction(task: ExtractStatements, value: Json) -> Extraction:
    refuses = value.get("refuses")
    if not isinstance(refuses, bool):
        raise MisfitError("`refuses` is neither true nor false")
    found: list[Extracted] = []
    start = 0
    for item in _items(value, "statements"):
        parts = {"statement": item} if isinstance(item, str) else _object(item, "statements")
        text = _text(parts, "statement")
        span = _place(text, parts.get("quote"), task.text, start)
        start = span.start if span else start
        found.append(Extracted(text=text, span=span))
    return Extraction(statements=tuple(found), refuses=refuses)


def _place(text: str, quote: object, answer: str, start: int) -> Span | None:
    span = locate(text, answer, start)
    if span is None and isinstance(quote, str) and (found := locate(quote, answer, start)):
        return Span(start=found.start, end=found.end, how="aligned")
    return span


def _verification(task: Verify, value: Json) -> Verification:
    rows = _by_number(_items(value, "verdicts"), "statement", len(task.statements))
    single = tuple(_single(task, number, row) for number, row in enumerate(rows, 1)) if task.single else ()
    joint = tuple(_joint(task, number, row) for number, row in enumerate(rows, 1)) if task.joint else ()
    return Verification(joint=joint, single=single)


def _single(task: Verify, number: int, row: Json) -> tuple[Verdict, ...]:
    where = f" of statement {number}"
    cells = _by_number(_items(row, "passages", where), "passage", len(task.passages), where)
    return tuple(
        _verdict(task, cell, f" of statement {number} by passage {rank}", [(rank, cell.get("quote"))])
        for rank, cell in enumerate(cells, 1)
    )


def _joint(task: Verify, number: int, row: Json) -> Verdict:
    where = f" of statement {number} by the passages together"
    together = _object(row.get("together"), f"together` of `statement {number}")
    return _verdict(task, together, where, _quoted(together) or _quoted_singly(row, together))


def _verdict(task: Verify, said: Json, where: str, quotes: list[tuple[object, object]]) -> Verdict:
    label = cast("Label", _choice(said, "label", LABELS, where))
    if label == "unsupported":
        return Verdict(label=label, reason=_reason(said))
    marks = (_evidence(task, label, rank, quote) for rank, quote in quotes)
    evidence = tuple(dict.fromkeys(mark for mark in marks if mark))
    return Verdict(label=label, reason=_reason(said), evidence=evidence)


def _quoted(together: Json) -> list[tuple[object, object]]:
    quotes = together.get("quotes")
    if not isinstance(quotes, list):
        return []
    return [(item.get("passage"), item.get("quote")) for item in quotes if isinstance(item, dict)]


def _quoted_singly(row: Json, together: Json) -> list[tuple[object, object]]:
    """Quotes of the single passages that say the same as all together."""
    cells = row.get("passages")
    same = [cell for cell in cells if isinstance(cell, dict)] if isinstance(cells, list) else []
    return [(cell.get("passage"), cell.get("quote")) for cell in same if cell.get("label") == together.get("label")]


def _evidence(task: Verify, label: Label, rank: object, quote: object) -> Evidence | None:
    number = _whole(rank)
    if number is None or not 1 <= number <= len(task.passages) or not isinstance(quote, str):
        return None
    span = locate(quote, task.passages[number - 1])
    if span is None:
        return None
    stance: Literal["for", "against"] = "for" if label == "supported" else "against"
    return Evidence(rank=number, start=span.start, end=span.end, stance=stance, how="quoted")


def _questions(task: GenerateQuestions, value: Json) -> Questions:
    found = _texts(value, "questions")
    if found and len(found) != task.n:
        raise MisfitError(f"it holds {len(found)} questions, {task.n} were asked for")
    return Questions(questions=found)


def _questions_to_passage(task: WriteQuestions, value: Json) -> Questions:
    return Questions(questions=_texts(value, "questions")[: max(task.n, 0)])


def _written(_task: WriteAnswer, value: Json) -> Written:
    return Written(text=" ".join(_text(value, "answer").split()))


def _selection(task: SelectSentences, value: Json) -> Selection:
    offered = len(task.sentences)
    chosen: set[int] = set()
    for item in _items(value, "chosen"):
        number = _whole(item)
        if number is None or not 1 <= number <= offered:
            raise MisfitError(f"`chosen` holds {_shown(item)}, only the sentences 1 to {offered} were offered")
        chosen.add(number - 1)
    return Selection(chosen=tuple(sorted(chosen)))


def _critiqued(_task: Critique, value: Json) -> Critiqued:
    return Critiqued(yes=_yes(value, "verdict"), reason=_reason(value))


def _classified(_task: Classify, value: Json) -> Classified:
    return Classified(holds=_yes(value, "verdict"), reason=_reason(value))


def _rating(_task: Rate, value: Json) -> Rating:
    return Rating(value=_ten(value), reason=_reason(value))


def _answer_rated(_task: RateAnswer, value: Json) -> AnswerRated:
    return AnswerRated(score=_ten(value) / 10, reason=_reason(value))


def _preference(_task: Prefer, value: Json) -> Preference:
    better = cast("Literal['a', 'b']", _choice(value, "better", ("a", "b")))
    return Preference(better=better, reason=_reason(value))


def _usefulness(task: JudgePassages, value: Json) -> Usefulness:
    rows = _by_number(_items(value, "passages"), "passage", len(task.passages))
    useful = tuple(_yes(row, "useful", f" of passage {rank}") for rank, row in enumerate(rows, 1))
    return Usefulness(useful=useful, reasons=tuple(_reason(row) for row in rows))


def _entities(_task: ExtractEntities, value: Json) -> Entities:
    return Entities(names=tuple(dict.fromkeys(_texts(value, "entities"))))


READERS: dict[type[Task], tuple[str, Callable[[Any, Json], Reply]]] = {
    ExtractStatements: ("statements", _extraction),
    Verify: ("verdicts", _verification),
    GenerateQuestions: ("questions", _questions),
    SelectSentences: ("chosen", _selection),
    Critique: ("verdict", _critiqued),
    Rate: ("rating", _rating),
    Prefer: ("better", _preference),
    JudgePassages: ("passages", _usefulness),
    ExtractEntities: ("entities", _entities),
    RateAnswer: ("rating", _answer_rated),
    WriteQuestions: ("questions", _questions_to_passage),
    WriteAnswer: ("answer", _written),
    Classify: ("verdict", _classified),
}
"""For each task type that a prompt can ask, the key by which its reply is known, and how that is read."""


def _items(value: Json, key: str, where: str = "") -> list[Any]:
    items = value.get(key)
    if not isinstance(items, list):
        raise MisfitError(f"there is no list `{key}`{where}")
    return items


def _object(value: object, name: str) -> Json:
    if not isinstance(value, dict):
        raise MisfitError(f"`{name}` holds {_shown(value)} where an object was asked for")
    return cast("Json", value)


def _by_number(items: list[Any], key: str, count: int, where: str = "") -> list[Json]:
    """The objects in the order of their numbers 1 to `count`, each there once."""
    found: dict[int, Json] = {}
    for item in items:
        row = _object(item, f"{key}s")
        number = _whole(row.get(key))
        if number is None or not 1 <= number <= count:
            raise MisfitError(f"a verdict{where} for {key} {_shown(row.get(key))}, there are 1 to {count}")
        if number in found:
            raise MisfitError(f"two verdicts{where} for {key} {number}")
        found[number] = row
    absent = [number for number in range(1, count + 1) if number not in found]
    if absent:
        raise MisfitError(f"no verdict{where} for {key} {absent[0]}")
    return [found[number] for number in range(1, count + 1)]


def _texts(value: Json, key: str) -> tuple[str, ...]:
    items = _items(value, key)
    if any(not isinstance(item, str) or not any(map(str.isalnum, item)) for item in items):
        raise MisfitError(f"`{key}` holds something that is no text")
    return tuple(" ".join(item.split()) for item in items)


def _text(value: Json, key: str) -> str:
    text = value.get(key)
    if not isinstance(text, str) or not any(map(str.isalnum, text)):
        raise MisfitError(f"`{key}` holds no text")
    return text.strip()


def _choice(value: Json, key: str, menu: tuple[str, ...], where: str = "") -> str:
    given = value.get(key)
    word = given.strip().casefold() if isinstance(given, str) else None
    if word not in menu:
        raise MisfitError(f"`{key}`{where} is {_shown(given)}, none of {', '.join(menu)}")
    return word


def _yes(value: Json, key: str, where: str = "") -> bool:
    given = value.get(key)
    return given if isinstance(given, bool) else _choice(value, key, ("yes", "no"), where) == "yes"


def _ten(value: Json) -> int:
    number = _whole(value.get("rating"))
    if number is None or not 0 <= number <= 10:
        raise MisfitError(f"`rating` is {_shown(value.get('rating'))}, no whole number from 0 to 10")
    return number


def _whole(value: object) -> int | None:
    """A whole number, also one written as text or as 3.0; true and false are none."""
    match value:
        case bool():
            return None
        case int():
            return value
        case float() if value.is_integer():
            return int(value)
        case str() if value.strip().isascii() and value.strip().isdecimal() and len(value) < 10:
            return int(value)
        case _:
            return None


def _reason(value: Json) -> str:
    reason = value.get("reason")
    return reason.strip() if isinstance(reason, str) else ""


def _shown(value: object) -> str:
    return "missing" if value is None else repr(value)[:60]
