"""Files of what people said: preferences of two, grades of answers, labels of statements."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias, cast

from ragboard.errors import RunFileError
from ragboard.opinions import Form, Item, Judged, Opinion
from ragboard.readers.cells import BadCellError, clean, kind_of_value, read_history, read_passages, read_text
from ragboard.readers.formats import named
from ragboard.readers.hub import hub_rows, is_of_hub
from ragboard.readers.tables import BadRow, RawRow, Table, read_table, table_of
from ragboard.records import JsonValue, Passage, Sample, Turn

__all__ = ["read_opinions"]

WIKIEVAL = frozenset({"question", "context_v1", "context_v2", "grounded_answer", "ungrounded_answer", "poor_answer"})
SIDES = {"a": -1.0, "b": 1.0, "tie": 0.0}
GRADES = ("grades", "human")
"""Columns of grades by dimension: the open form's, and MTRAG's."""
SCORES = ("scores", "published_auto", "published_ragchecker")
"""Columns of other tools' scores: the open form's, MTRAG's, and RAGChecker's."""
TURN = "<::>"
"""Stands between conversation and turn in the ids of MTRAG."""
EXPECTED = (
    "expected pairs (`question`, `a`, `b`, `preferred` or `votes`; or WikiEval's columns), graded answers (`question`, "
    "`answer`, `grades`) or labelled statements (`question`, `contexts`, `statements`)"
)

Cells: TypeAlias = Mapping[str, JsonValue]


@dataclass(frozen=True, kw_only=True)
class _Row:
    """A row and how it is written."""

    cells: Cells
    written: bool

    def text(self, column: str) -> str | None:
        return read_text(column, self.cells.get(column), _unnoted)

    def needed(self, column: str) -> str:
        text = self.text(column)
        if text is None or not text.strip():
            raise BadCellError(column, "is empty, expected text")
        return text

    def given(self, column: str) -> str:
        """Text that may be empty, as an answer may."""
        text = self.text(column)
        if text is None:
            raise BadCellError(column, "is missing, expected text")
        return text

    def passages(self, column: str) -> tuple[Passage, ...] | None:
        return read_passages(column, self.cells.get(column), _unnoted, written=self.written)

    def parsed(self, column: str) -> Any:
        """The cell; of a CSV, the JSON that is written in it."""
        value = self.cells.get(column)
        if not (self.written and isinstance(value, str)):
            return value
        try:
            return clean(json.loads(value), _unnoted)
        except (ValueError, RecursionError):
            return value


def read_opinions(source: str, *, cluster: str | None = None) -> Judged:
    """What people said, from a JSONL, JSON, CSV or Parquet file or from the hub (`hf:OWNER/NAME`).

    The columns tell what it is: pairs, graded answers or labelled statements (docs/labels.md); WikiEval's, MTRAG's and
    RAGChecker's own columns are known. `cluster` is the column that rows share which belong together; else the
    conversation or the question. Raises RunFileError, `file:line: field: got, expected`, SettingError where
    the hub cannot be asked.
    """
    path = Path(source)
    table = table_of(path, hub_rows(source)) if is_of_hub(source) else read_table(path)
    form, read = _reader(path, table)
    if cluster is not None and cluster not in table.columns:
        raise RunFileError(path, f"has no column {cluster!r}; it has {named(table.columns)}")
    items = list(_merged([found for row in table.rows for found in _items(path, row, read, cluster)]))
    if not any(opinion is not None for item in items for said in item.said.values() for opinion in said):
        raise RunFileError(path, "holds nothing that anybody said")
    unique, renamed = _unique(items)
    notes = (f"{renamed} ids that were taken got a number",) if renamed else ()
    name = source.removeprefix("hf:").rpartition("/")[2] if is_of_hub(source) else path.stem
    return Judged(form=form, name=name, source=source if is_of_hub(source) else path.name, items=unique, notes=notes)


def _reader(path: Path, table: Table) -> tuple[Form, Callable[[_Row], Iterator[Item]]]:
    there = frozenset(table.columns)
    if there >= WIKIEVAL:
        return "pairs", _wikieval
    if there >= {"question", "a", "b"}:
        return "pairs", _pair
    if there >= {"contexts"} and there & {"statements", "sentences"}:
        return "statements", _statements
    if there >= {"question", "answer"} and there & set(GRADES):
        return "answers", _answer
    first = next((row for row in table.rows if isinstance(row, BadRow)), None)
    if first and not table.columns:
        raise RunFileError(path, first.message, line=first.line, field=first.place or None)
    raise RunFileError(path, f"has the columns {named(table.columns) or '(none)'}, {EXPECTED}")


def _items(
    path: Path, row: RawRow | BadRow, read: Callable[[_Row], Iterator[Item]], cluster: str | None
) -> list[tuple[Item, str]]:
    """The items of a row, each with who said it."""
    if isinstance(row, BadRow):
        raise RunFileError(path, row.message, line=row.line, field=row.place or None)
    try:
        items = list(read(_Row(cells=row.cells, written=row.written)))
    except BadCellError as error:
        place = ".".join(filter(None, (row.place, error.field))) or None
        raise RunFileError(path, str(error), line=row.line, field=place) from error
    belongs, annotator = _cluster(row, cluster), str(row.cells.get("annotator") or "")
    return [(replace(item, id=item.id or f"{row.line}", cluster=belongs or _asked(item)), annotator) for item in items]


def _merged(items: Sequence[tuple[Item, str]]) -> Iterator[Item]:
    """One item of what several annotators say in a row each; an opinion for each of them, in the same order."""
    annotators = list(dict.fromkeys(annotator for _, annotator in items))
    if len(annotators) < 2:
        yield from (item for item, _ in items)
        return
    alike: dict[object, list[tuple[Item, str]]] = {}
    for item, annotator in items:
        alike.setdefault(_subject(item), []).append((item, annotator))
    for group in alike.values():
        dimensions = dict.fromkeys(dimension for item, _ in group for dimension in item.said)
        yield replace(
            group[0][0],
            said={name: tuple(_first_said(group, name, annotator) for annotator in annotators) for name in dimensions},
        )


def _subject(item: Item) -> object:
    """What an item is about, whoever speaks of it."""
    return tuple(
        (side.question, side.history, side.answer, tuple(passage.text for passage in side.contexts or ()))
        for side in item.sides
    )


def _first_said(group: Sequence[tuple[Item, str]], dimension: str, annotator: str) -> Opinion:
    given = (item.said[dimension][0] for item, who in group if who == annotator and item.said.get(dimension))
    return next(given, None)


def _asked(item: Item) -> str:
    """The question that it is about; without one the text itself."""
    return item.sides[0].question or item.sides[0].answer or ""


def _cluster(row: RawRow, column: str | None) -> str:
    """What a row belongs to, by its own word; empty where it says nothing."""
    value = row.cells.get(column or "cluster")
    if value is not None:
        return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    turn = str(row.cells.get("task_id") or row.cells.get("id") or "")
    return turn.partition(TURN)[0] if TURN in turn else ""


def _unique(items: Sequence[Item]) -> tuple[tuple[Item, ...], int]:
    taken, again = set[str](), Counter[str]()
    found: list[Item] = []
    for item in items:
        name = item.id
        while name in taken:
            again[item.id] += 1
            name = f"{item.id}#{again[item.id] + 1}"
        taken.add(name)
        found.append(replace(item, id=name))
    return tuple(found), sum(one.id != given.id for one, given in zip(found, items, strict=True))


def _wikieval(row: _Row) -> Iterator[Item]:
    """Three pairs, in each of which A is what the design of the set prefers."""
    name = row.text("id") or row.needed("question")
    base = Sample(id=name, question=row.needed("question"), contexts=row.passages("context_v1"))
    grounded = replace(base, answer=row.needed("grounded_answer"))
    pairs = {
        "faithfulness": (grounded, replace(base, answer=row.needed("ungrounded_answer"))),
        "answer_relevance": (grounded, replace(base, answer=row.needed("poor_answer"))),
        "context_relevance": (base, replace(base, contexts=row.passages("context_v2"))),
    }
    for dimension, sides in pairs.items():
        yield Item(id=f"{name}:{dimension}", cluster="", sides=_lettered(*sides), said={dimension: (-1.0,)})


def _pair(row: _Row) -> Iterator[Item]:
    said = _votes(row)
    base = Sample(
        id=row.text("id") or "",
        question=row.needed("question"),
        contexts=row.passages("contexts"),
        reference=row.text("reference"),
        history=_history(row),
    )
    of_passages = set(said) == {"context_relevance"} and row.cells.get("a_contexts") is None
    a, b = (
        replace(base, contexts=row.passages(side))
        if of_passages
        else replace(base, answer=row.given(side), contexts=row.passages(f"{side}_contexts") or base.contexts)
        for side in ("a", "b")
    )
    yield Item(id=base.id, cluster="", sides=_lettered(a, b), said=said, published=_published(row, said, 2))


def _lettered(a: Sample, b: Sample) -> tuple[Sample, Sample]:
    return replace(a, id=f"{a.id}/a"), replace(b, id=f"{b.id}/b")


def _votes(row: _Row) -> dict[str, tuple[Opinion, ...]]:
    """By dimension: of `preferred`, of `votes`, or of columns such as `overall_votes` and `overall_preferred`."""
    if row.cells.get("votes") is not None:
        return {name: _opinions("votes", votes) for name, votes in _object(row, "votes").items()}
    if row.cells.get("preferred") is not None:
        return {str(row.cells.get("dimension") or "overall"): _opinions("preferred", row.parsed("preferred"))}
    found: dict[str, tuple[Opinion, ...]] = {}
    for ending in ("_votes", "_preferred"):
        for column in row.cells:
            name = column.removesuffix(ending)
            if name != column and name not in found and row.cells[column] is not None:
                found[name] = _opinions(column, row.parsed(column))
    if not found:
        raise BadCellError("", "has neither `preferred` nor `votes`")
    return found


def _opinions(column: str, value: Any) -> tuple[Opinion, ...]:
    values = cast("list[Any]", value) if isinstance(value, list) else [value]
    return tuple(_opinion(column, each) for each in values)


def _opinion(column: str, value: Any) -> Opinion:
    if isinstance(value, str) and value.lower() in SIDES:
        return SIDES[value.lower()]
    if value is None:
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _number(column, value)
    said = repr(value)[:40] if isinstance(value, str) else kind_of_value(value)
    raise BadCellError(column, f"got {said}, expected a number or one of {', '.join(SIDES)}")


def _number(column: str, value: float) -> float:
    try:
        return float(value)
    except OverflowError as error:
        raise BadCellError(column, "holds a number of more than 300 digits") from error


def _answer(row: _Row) -> Iterator[Item]:
    said = _grades(row)
    sample = Sample(
        id=row.text("id") or "",
        question=row.needed("question"),
        answer=row.given("answer"),
        contexts=row.passages("contexts"),
        reference=row.text("reference"),
        history=_history(row),
    )
    yield Item(id=sample.id, cluster="", sides=(sample,), said=said, published=_published(row, said, 1))


def _grades(row: _Row) -> dict[str, tuple[Opinion, ...]]:
    grades = next((column for column in GRADES if row.cells.get(column) is not None), GRADES[0])
    return {name: _opinions(grades, value) for name, value in _object(row, grades).items()}


def _statements(row: _Row) -> Iterator[Item]:
    """Statements are held against the passages; of sentences it is asked whether they help with the question."""
    column = "statements" if row.cells.get("statements") is not None else "sentences"
    dimension = "supported" if column == "statements" else "helps"
    said = row.parsed(column)
    if not isinstance(said, list):
        raise BadCellError(column, f"got {kind_of_value(said)}, expected a list of objects with text and label")
    base = Sample(
        id=row.text("id") or "",
        question=row.text("question") or "",
        contexts=row.passages("contexts") or (),
        history=_history(row),
    )
    for number, one in enumerate(cast("list[Any]", said), 1):
        if not isinstance(one, Mapping) or not isinstance(one.get("text"), str):
            raise BadCellError(f"{column}[{number}]", "has no text, expected an object with text and label")
        label = cast("Mapping[str, Any]", one).get("label")
        if label not in (0, 1, None):
            raise BadCellError(f"{column}[{number}].label", f"got {label!r}, expected 1, 0 or null")
        name = f"{base.id}:{number}" if base.id else ""
        sample = replace(base, id=name, answer=str(one["text"]))
        yield Item(id=name, cluster="", sides=(sample,), said={dimension: (None if label is None else float(label),)})


def _published(row: _Row, said: Mapping[str, Any], sides: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Other tools' scores; one that names no dimension stands in all."""
    column = next((name for name in SCORES if row.cells.get(name) is not None), None)
    if column is None:
        return {}
    given = _object(row, column)
    if column == "published_ragchecker":
        given = {"published ragchecker": given}
    found: dict[str, dict[str, tuple[float, ...]]] = {}
    for name, value in given.items():
        by_dimension = value if isinstance(value, Mapping) else dict.fromkeys(said, value)
        known = {dimension: _scores(column, scores, sides) for dimension, scores in by_dimension.items()}
        found[name] = {dimension: scores for dimension, scores in known.items() if scores and dimension in said}
    return found


def _scores(column: str, value: Any, sides: int) -> tuple[float, ...]:
    """One for each side; none where one is missing."""
    values = cast("list[Any]", value) if isinstance(value, list) else [value]
    if any(each is None for each in values):
        return ()
    numbers = [_number(column, each) for each in values if isinstance(each, (int, float))]
    if len(numbers) != sides or len(values) != sides:
        raise BadCellError(column, f"expected {sides} {'numbers' if sides > 1 else 'number'} a dimension")
    return tuple(numbers)


def _object(row: _Row, column: str) -> dict[str, Any]:
    value = row.parsed(column)
    if not isinstance(value, Mapping) or not value:
        raise BadCellError(column, f"got {kind_of_value(value)}, expected an object by dimension")
    return {str(key): each for key, each in cast("Mapping[Any, Any]", value).items()}


def _history(row: _Row) -> tuple[Turn, ...]:
    return read_history("history", row.cells.get("history"), _unnoted)


def _unnoted(_what: str) -> None:
    """Nothing that is read as something else changes what people said."""
