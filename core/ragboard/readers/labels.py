"""Read label files: preferences between two answers, grades of answers or passages, labels of statements."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, NamedTuple, TypeAlias, cast, get_args

from ragboard.errors import RunFileError, SettingError
from ragboard.readers.ares import ARES_QUALITIES, AresRow, read_ares
from ragboard.readers.cells import BadCellError, UniqueIds, clean, kind_of_value, read_history, read_passages, read_text
from ragboard.readers.tables import BadRow, RawRow, read_table, table_of
from ragboard.records import BEST_GRADE, JsonValue, Label, Passage, Sample, Turn

__all__ = [
    "ANSWER_SUPPORTED",
    "HELPS",
    "PASSAGE_RELEVANCE",
    "SUPPORTED",
    "Form",
    "HumanGrades",
    "HumanRating",
    "Item",
    "LabelFile",
    "LabelRow",
    "LabelledText",
    "SamplingDesign",
    "detect_labels",
    "human_grades",
    "read_label_rows",
    "read_labels",
]

Form: TypeAlias = Literal["pairs", "answers", "statements", "passages"]
"""What annotators labelled: which of two answers is better, how good an answer is, whether a statement is supported,
or how relevant a passage is."""

HumanRating: TypeAlias = float | None
"""One annotator's rating; None if there is none. A grade: higher is better. A pair: above 0 B is better, below 0 A,
0 is a tie. A statement: 1 supported, 0 not. A passage: 0 to 3, as UMBRELA grades it."""

SamplingDesign: TypeAlias = Literal["random", "not random", "unknown"]
"""How the answers of an imported file were chosen, according to the user who imports it."""

HUB = "hf:"
"""Prefix of the name of a data set on the Hugging Face hub."""
WIKIEVAL = frozenset({"question", "context_v1", "context_v2", "grounded_answer", "ungrounded_answer", "poor_answer"})
PAIR = frozenset({"question", "a", "b"})
"""Columns of a pair, besides the votes."""
SUPPORTED, HELPS, ANSWER_SUPPORTED = "supported", "helps", "answer supported"
"""The dimensions of labelled statements, of sentences, and of whole answers that are supported or not."""
PASSAGE_RELEVANCE = "passage relevance"
"""The dimension of graded passages."""
PASSAGE_GRADES = "passage_grades"
"""The column of the grades of the passages, in their order."""
SIDES = {"a": -1.0, "b": 1.0, "tie": 0.0}
GRADES = ("grades", "human")
"""Columns of grades by dimension: the open format's, and MTRAG's."""
SCORES = ("scores", "published_auto", "published_ragchecker")
"""Columns of other tools' scores: the open format's, MTRAG's, and RAGChecker's."""
TURN = "<::>"
"""Separates conversation and turn in the ids of MTRAG."""
EXPECTED = (
    "expected pairs (`question`, `a`, `b`, `preferred` or `votes`; or WikiEval's columns), graded answers (`question`, "
    "`answer`, `grades`; or ARES's columns), graded passages (`question`, `contexts`, `passage_grades`) or labelled "
    "statements (`question`, `contexts`, `statements`)"
)
OURS = {"answer_faithfulness": "faithfulness"}
"""Names of ARES's qualities that differ in ragboard."""
YES, NO = 5.0, 1.0
"""The grades, from 1 to 5, for ARES's Yes and No."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledText:
    """A statement, or a sentence of a passage, with its label."""

    text: str
    verdict: Label | None
    """For a sentence: `supported` if it helps to answer the question, else `unsupported`. None if undecided."""
    start: JsonValue = None
    """Its first character in the answer or passage, as the file states it, unchecked; None if the file does not."""
    end: JsonValue = None
    note: str = ""

    @property
    def rating(self) -> HumanRating:
        """1 supported (or helping), 0 not, None undecided."""
        return None if self.verdict is None else float(self.verdict == "supported")


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelRow:
    """One row of a labelled file, or one of the three pairs of a row of WikiEval."""

    line: int
    id: str
    sides: tuple[Sample, ...]
    """The answer, or the candidates A and B. Labelled statements need no answer."""
    texts: tuple[LabelledText, ...] = ()
    kind: Literal["statements", "sentences", "passages", ""] = ""
    """What `texts` are, or `passages` if `grades` are of these; empty if there are none."""
    grades: tuple[HumanRating, ...] = ()
    """The grade of each passage, in their order; None if it has none."""
    ratings: Mapping[str, tuple[HumanRating, ...]] = field(default_factory=dict[str, tuple[HumanRating, ...]])
    """Grades or preferences by dimension, one for each annotator."""
    listed: frozenset[str] = frozenset()
    """Dimensions for which the row has a list of ratings instead of one."""
    published: Mapping[str, Mapping[str, tuple[float, ...]]] = field(
        default_factory=dict[str, Mapping[str, tuple[float, ...]]]
    )
    """Scores in the file: by scorer and dimension, one for each side."""
    cluster: str = ""
    """Rows with the same cluster are not independent. By default the question; empty without one."""
    annotator: str = ""
    run: str = ""
    """The run that gave the answer; empty if the file does not say."""
    sample: str = ""
    design: SamplingDesign | None = None
    note: str = ""

    @property
    def form(self) -> Form:
        """What annotators labelled here."""
        if self.kind == "passages":
            return "passages"
        return "pairs" if len(self.sides) > 1 else "statements" if self.kind else "answers"


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """One labelled answer, pair of answers or statement, with all its ratings."""

    id: str
    cluster: str
    """Items with the same cluster are not independent: those of one question or conversation."""
    sides: tuple[Sample, ...]
    """The answer, or the candidates A and B; for a statement or a passage, that is the answer."""
    human_ratings: Mapping[str, tuple[HumanRating, ...]]
    """By dimension the rating of each annotator."""
    published: Mapping[str, Mapping[str, tuple[float, ...]]] = field(
        default_factory=dict[str, Mapping[str, tuple[float, ...]]]
    )
    """Scores in the file: by scorer and dimension, one for each side."""
    verdicts: tuple[Label | None, ...] = ()
    """Of a statement, the verdict of each annotator; None if undecided."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelFile:
    """The items of a label file."""

    form: Form
    name: str
    source: str
    """The file name, or `hf:OWNER/NAME`."""
    items: tuple[Item, ...]
    notes: tuple[str, ...] = ()
    """What was converted or renamed, in words."""

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The labelled dimensions, in order of first appearance."""
        return tuple(dict.fromkeys(dimension for item in self.items for dimension in item.human_ratings))

    @property
    def questions(self) -> int:
        """Number of different questions; the same words after other turns are another question."""
        return len({(item.sides[0].question, item.sides[0].history) for item in self.items})

    @property
    def is_verdicts(self) -> bool:
        """Whether the labels are compared with a judge's own verdicts or grades, not with metrics."""
        return self.form in ("statements", "passages") or (
            self.form == "answers" and self.dimensions == (ANSWER_SUPPORTED,)
        )


def read_labels(source: str, *, cluster: str | None = None, rating: str | None = None) -> LabelFile:
    """Read labels as items from a JSONL, JSON, CSV or Parquet file, or from the Hugging Face hub (`hf:OWNER/NAME`).

    The rows of several annotators on one answer become one item. `cluster` and `rating` are those of
    `read_label_rows`. Raises the same errors, and RunFileError for a file that mixes forms or has no label.
    """
    path, rows = Path(source), read_label_rows(source, cluster=cluster, rating=rating)
    first = rows[0] if rows else None
    other_form = next((row for row in rows if first and row.form != first.form), None)
    if first and other_form:
        raise RunFileError(
            path, f"holds {other_form.form}, but {first.form} on line {first.line}", line=other_form.line
        )
    items = list(_merged([(item, row.annotator) for row in rows for item in _items(row)]))
    if not first or not any(
        rating is not None for item in items for given in item.human_ratings.values() for rating in given
    ):
        raise RunFileError(path, "has no labels")
    ids = UniqueIds()
    unique = tuple(replace(item, id=ids.assign(item.id)) for item in items)
    renamed = sum(item.id != given.id for item, given in zip(unique, items, strict=True))
    hub = source.startswith(HUB)
    return LabelFile(
        form=first.form,
        name=source.removeprefix(HUB).rpartition("/")[2] if hub else path.stem,
        source=source if hub else path.name,
        items=unique,
        notes=(f"{renamed} duplicate ids got a number",) if renamed else (),
    )


def detect_labels(path: Path, columns: Collection[str]) -> LabelFile | None:
    """Read a file with these columns as pairs or graded answers; None if it has no human labels of these."""
    names = set(columns)
    if names.isdisjoint(GRADES) and not names >= WIKIEVAL and not names >= PAIR:
        return None
    try:
        labels = read_labels(str(path))
    except RunFileError:
        return None
    return labels if labels.form in ("answers", "pairs") else None


class HumanGrades(NamedTuple):
    """People's grades of one answer in one dimension."""

    mean: float
    each: tuple[float, ...]


def human_grades(columns: Mapping[str, Any]) -> dict[str, HumanGrades]:
    """Return the human grades of an answer by dimension, from the columns of its row; without what is no number.

    Empty if none of the `GRADES` columns holds grades by dimension.
    """
    column: Mapping[str, Any] = next((columns[name] for name in GRADES if isinstance(columns.get(name), Mapping)), {})
    found: dict[str, HumanGrades] = {}
    for dimension, value in column.items():
        given = cast("list[Any]", value) if isinstance(value, list) else [value]
        numbers = tuple(float(one) for one in given if isinstance(one, (int, float)) and not isinstance(one, bool))
        if numbers:
            found[dimension] = HumanGrades(mean=fmean(numbers), each=numbers)
    return found


def read_label_rows(source: str, *, cluster: str | None = None, rating: str | None = None) -> tuple[LabelRow, ...]:
    """Read the rows of a label file; the columns of a row decide its form (docs/reference/label-files.md).

    The columns of WikiEval, MTRAG, RAGChecker and ARES are known. `cluster` names a column whose value related rows
    share; by default that is the conversation or the question. `rating` is the path (`human.faithfulness`) of a number,
    or of a list with one number for each annotator: rows without statements or sentences become answers with that
    rating. Raises RunFileError for a bad row, with its line and field, and SettingError if the hub cannot be reached.
    """
    path = Path(source)
    table = table_of(path, _hub_rows(source)) if source.startswith(HUB) else read_table(path)
    if cluster is not None and cluster not in table.columns:
        raise RunFileError(path, f"has no column {cluster!r}; it has {', '.join(table.columns)}")
    if not source.startswith(HUB) and set(table.columns) & set(ARES_QUALITIES.values()):
        return tuple(_ares(number, row) for number, row in enumerate(read_ares(path), 2))
    label_rows: list[LabelRow] = []
    for row in table.rows:
        if isinstance(row, BadRow):
            raise RunFileError(path, row.message, line=row.line, field=row.location or None)
        try:
            new_rows = list(_read_row(_RowReader(row), rating))
        except BadCellError as error:
            location = ".".join(filter(None, (row.location, error.field))) or None
            raise RunFileError(path, str(error), line=row.line, field=location) from error
        label_rows += [replace(new_row, cluster=_cluster(row, cluster) or new_row.cluster) for new_row in new_rows]
    return tuple(label_rows)


def _hub_rows(source: str) -> Iterable[Mapping[str, Any]]:
    """Return the rows of all splits. Raises SettingError if `datasets` is missing or the hub returns nothing."""
    name = source.removeprefix(HUB)
    try:
        datasets = import_module("datasets")
    except ImportError as error:
        raise SettingError(f"{source}: needs the package `datasets` (pip install datasets), or a file") from error
    try:
        splits: Mapping[str, Iterable[Mapping[str, Any]]] = datasets.load_dataset(name)
    except (OSError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise SettingError(
            f"{source}: the hub returned nothing: {reason}; a file with the same columns works too"
        ) from error
    return [row for split in splits.values() for row in split]


class _RowReader:
    """Reads the cells of a row as the types that they should have. Every method raises BadCellError."""

    def __init__(self, row: RawRow) -> None:
        self.line, self.cells, self.written = row.line, row.cells, row.written

    def has(self, *columns: str) -> bool:
        return all(self.cells.get(column) is not None for column in columns)

    def text(self, column: str) -> str | None:
        return read_text(column, self.cells.get(column), _ignore_note)

    def required_text(self, column: str) -> str:
        text = self.text(column)
        if text is None or not text.strip():
            raise BadCellError(column, "is empty, expected text")
        return text

    def text_or_empty(self, column: str) -> str:
        """Return a text that may be empty, as an answer may."""
        text = self.text(column)
        if text is None:
            raise BadCellError(column, "is missing, expected text")
        return text

    def passages(self, column: str) -> tuple[Passage, ...] | None:
        return read_passages(column, self.cells.get(column), _ignore_note, written=self.written)

    def history(self) -> tuple[Turn, ...]:
        return read_history("history", self.cells.get("history"), _ignore_note)

    def parsed(self, column: str) -> Any:
        """Return the cell; in a CSV, the JSON in it."""
        value = self.cells.get(column)
        if not (self.written and isinstance(value, str)):
            return value
        try:
            return clean(json.loads(value), _ignore_note)
        except (ValueError, RecursionError):
            return value

    def object(self, column: str) -> dict[str, Any]:
        value = self.parsed(column)
        if not isinstance(value, Mapping) or not value:
            raise BadCellError(column, f"got {kind_of_value(value)}, expected an object by dimension")
        return {str(key): each for key, each in cast("Mapping[Any, Any]", value).items()}

    def origin(self) -> dict[str, Any]:
        """Return line, id, annotator, run, sample, design and note of the row."""
        design = self.text("design")
        if design is not None and design not in get_args(SamplingDesign):
            raise BadCellError("design", f"got {design!r}, expected one of {', '.join(get_args(SamplingDesign))}")
        texts = {name: self.text(name) or "" for name in ("id", "annotator", "run", "sample", "note")}
        return {"line": self.line, "design": design, **texts}


def _ignore_note(_what: str) -> None:
    """Ignore notes on conversions: they change no label."""


def _read_row(row: _RowReader, rating: str | None) -> Iterator[LabelRow]:
    texts, grades = (any(map(row.has, columns)) for columns in (("statements", "sentences"), GRADES))
    if rating and not texts:
        yield _rated(row, rating)
    elif row.cells.keys() >= WIKIEVAL:
        yield from _wikieval(row)
    elif row.cells.keys() >= PAIR and (row.has("a") or row.has("b") or not (texts or grades)):
        yield _pair(row)
    elif texts:
        yield _labelled(row)
    elif grades:
        yield _graded(row)
    elif row.has(PASSAGE_GRADES):
        yield _graded_passages(row)
    else:
        raise BadCellError("", f"has the columns {', '.join(row.cells) or '(none)'}, {EXPECTED}")


def _wikieval(row: _RowReader) -> Iterator[LabelRow]:
    """Yield three pairs; in each, A is better by the design of the data set."""
    name = row.text("id") or row.required_text("question")
    base = Sample(id=name, question=row.required_text("question"), contexts=row.passages("context_v1"))
    grounded = replace(base, answer=row.required_text("grounded_answer"))
    pairs = {
        "faithfulness": (grounded, replace(base, answer=row.required_text("ungrounded_answer"))),
        "answer_relevance": (grounded, replace(base, answer=row.required_text("poor_answer"))),
        "context_relevance": (base, replace(base, contexts=row.passages("context_v2"))),
    }
    for dimension, (a, b) in pairs.items():
        origin: dict[str, Any] = row.origin() | {"id": f"{name}:{dimension}"}
        yield LabelRow(**origin, sides=_with_side_ids(a, b), ratings={dimension: (SIDES["a"],)}, cluster=base.question)


def _pair(row: _RowReader) -> LabelRow:
    origin, votes = row.origin(), _votes(row)
    ratings = {name: _ratings_in(column, value, sides=True) for name, (column, value) in votes.items()}
    base = Sample(
        id=origin["id"],
        question=row.required_text("question"),
        contexts=row.passages("contexts"),
        reference=row.text("reference"),
        history=row.history(),
    )
    of_passages = set(ratings) == {"context_relevance"} and row.cells.get("a_contexts") is None
    a, b = (
        replace(base, contexts=row.passages(side))
        if of_passages
        else replace(base, answer=row.text_or_empty(side), contexts=row.passages(f"{side}_contexts") or base.contexts)
        for side in ("a", "b")
    )
    return LabelRow(
        **origin,
        sides=_with_side_ids(a, b),
        ratings=ratings,
        listed=_names_of_lists({name: value for name, (_, value) in votes.items()}),
        published=_published(row, ratings, 2),
        cluster=base.question,
    )


def _with_side_ids(a: Sample, b: Sample) -> tuple[Sample, Sample]:
    return replace(a, id=f"{a.id}/a"), replace(b, id=f"{b.id}/b")


def _votes(row: _RowReader) -> dict[str, tuple[str, Any]]:
    """Return column and votes by dimension, from `preferred`, `votes` or columns such as `overall_votes`."""
    if row.has("votes"):
        return {name: ("votes", votes) for name, votes in row.object("votes").items()}
    if row.has("preferred"):
        return {row.text("dimension") or "overall": ("preferred", row.parsed("preferred"))}
    by_dimension: dict[str, tuple[str, Any]] = {}
    for ending in ("_votes", "_preferred"):
        for column in row.cells:
            name = column.removesuffix(ending)
            if name != column and name not in by_dimension and row.has(column):
                by_dimension[name] = (column, row.parsed(column))
    if not by_dimension:
        raise BadCellError("", "has neither `preferred` nor `votes`")
    return by_dimension


def _names_of_lists(values: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(name for name, value in values.items() if isinstance(value, list))


def _ratings_in(column: str, value: Any, *, sides: bool = False) -> tuple[HumanRating, ...]:
    values = cast("list[Any]", value) if isinstance(value, list) else [value]
    return tuple(_rating(column, item, sides=sides) for item in values)


def _rating(column: str, value: Any, *, sides: bool) -> HumanRating:
    if sides and isinstance(value, str) and value.lower() in SIDES:
        return SIDES[value.lower()]
    if value is None:
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _number(column, value)
    got = repr(value)[:40] if isinstance(value, str) else kind_of_value(value)
    expected = f"a number or one of {', '.join(SIDES)}" if sides else "a number"
    raise BadCellError(column, f"got {got}, expected {expected}")


def _number(column: str, value: float) -> float:
    try:
        return float(value)
    except OverflowError as error:
        raise BadCellError(column, "holds a number of more than 300 digits") from error


def _graded(row: _RowReader) -> LabelRow:
    column = next(column for column in GRADES if row.has(column))
    grades, sample = row.object(column), _answer(row, row.text_or_empty("answer"))
    ratings = {name: _ratings_in(column, value) for name, value in grades.items()}
    return LabelRow(
        **row.origin(),
        sides=(sample,),
        ratings=ratings,
        listed=_names_of_lists(grades),
        published=_published(row, ratings, 1),
        cluster=sample.question,
    )


def _graded_passages(row: _RowReader) -> LabelRow:
    """Read passages that a person graded from 0 to 3."""
    cell, contexts = row.parsed(PASSAGE_GRADES), _contexts(row)
    if not isinstance(cell, list) or len(cast("list[Any]", cell)) != len(contexts):
        got = f"{len(cast('list[Any]', cell))} grades" if isinstance(cell, list) else kind_of_value(cell)
        raise BadCellError(PASSAGE_GRADES, f"got {got}, expected a list with one for each of {len(contexts)} passages")
    sample = Sample(
        id=row.text("id") or "", question=row.required_text("question"), contexts=contexts, history=row.history()
    )
    grades = tuple(_passage_grade(grade) for grade in cast("list[Any]", cell))
    return LabelRow(**row.origin(), sides=(sample,), kind="passages", grades=grades, cluster=sample.question)


def _passage_grade(grade: Any) -> HumanRating:
    if grade is None:
        return None
    if isinstance(grade, bool) or grade not in range(BEST_GRADE + 1):
        got = kind_of_value(grade) if isinstance(grade, (bool, list, dict)) else repr(grade)[:40]
        raise BadCellError(PASSAGE_GRADES, f"holds {got}, expected whole numbers from 0 to {BEST_GRADE}, or null")
    return float(grade)


def _rated(row: _RowReader, path: str) -> LabelRow:
    """Return an answer with the rating, or ratings, at a path of the row."""
    first, *parts = path.split(".")
    value = row.parsed(first)
    try:
        for part in parts:
            value = value[part]
        values: list[Any] = value if isinstance(value, list) else [value]
        ratings = tuple(map(float, values))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise BadCellError(path, f"got {kind_of_value(value)}, expected a number") from error
    sample = replace(
        _answer(row, row.text_or_empty("answer"), question=row.text("question") or ""), contexts=_contexts(row)
    )
    cluster = sample.question or sample.answer or ""
    return LabelRow(**row.origin(), sides=(sample,), ratings={path: ratings}, cluster=cluster)


def _answer(row: _RowReader, answer: str | None, *, question: str | None = None) -> Sample:
    return Sample(
        id=row.text("id") or "",
        question=row.required_text("question") if question is None else question,
        answer=answer,
        contexts=row.passages("contexts"),
        reference=row.text("reference"),
        history=row.history(),
    )


def _contexts(row: _RowReader) -> tuple[Passage, ...]:
    if "contexts" not in row.cells:
        raise BadCellError("contexts", "is missing, expected a list of passages")
    return row.passages("contexts") or ()


def _labelled(row: _RowReader) -> LabelRow:
    """Read statements checked against the passages, or sentences that help with the question or do not."""
    kind: Literal["statements", "sentences"] = "statements" if row.has("statements") else "sentences"
    cell = row.parsed(kind)
    if not isinstance(cell, list):
        raise BadCellError(kind, f"got {kind_of_value(cell)}, expected a list of objects with text and label")
    texts = tuple(_text(f"{kind}[{number}]", item) for number, item in enumerate(cast("list[Any]", cell), 1))
    sample = replace(_answer(row, row.text("answer"), question=row.text("question") or ""), contexts=_contexts(row))
    grades = row.object("grades") if row.cells.get("grades") else {}
    return LabelRow(
        **row.origin(),
        sides=(sample,),
        kind=kind,
        texts=texts,
        ratings={name: _ratings_in("grades", value) for name, value in grades.items()},
        listed=_names_of_lists(grades),
        cluster=sample.question,
    )


def _text(location: str, item: Any) -> LabelledText:
    if not isinstance(item, Mapping) or not isinstance(item.get("text"), str):
        raise BadCellError(location, "has no text, expected an object with text and label")
    cells = cast("Mapping[str, Any]", item)
    label, verdict, note = cells.get("label"), cells.get("verdict"), cells.get("note") or ""
    if label not in (0, 1, None):
        raise BadCellError(f"{location}.label", f"got {label!r}, expected 1, 0 or null")
    if verdict not in (*get_args(Label), None):
        raise BadCellError(f"{location}.verdict", f"got {verdict!r}, expected one of {', '.join(get_args(Label))}")
    if verdict is None and "label" not in cells:
        raise BadCellError(location, "has no label, expected 1, 0 or null")
    if label is not None and verdict is not None and (label == 1) != (verdict == "supported"):
        raise BadCellError(location, f"has the label {label} and the verdict {verdict}, which contradict each other")
    if not isinstance(note, str):
        raise BadCellError(f"{location}.note", f"got {kind_of_value(note)}, expected text")
    if verdict is None and label is not None:
        verdict = "supported" if label else "unsupported"
    return LabelledText(text=cells["text"], verdict=verdict, start=cells.get("start"), end=cells.get("end"), note=note)


def _ares(line: int, row: AresRow) -> LabelRow:
    """Return a row of ARES: Yes is grade 5, No grade 1; a missing label is left out."""
    contexts = (Passage(id="1", text=row.document, rank=1),) if row.document else ()
    labels = {OURS.get(quality, quality): getattr(row, quality) for quality in ARES_QUALITIES}
    return LabelRow(
        line=line,
        id="",
        sides=(Sample(id="", question=row.question, answer=row.answer, contexts=contexts),),
        ratings={name: (YES if holds else NO,) for name, holds in labels.items() if holds is not None},
        cluster=row.question,
        run=row.run,
    )


def _published(row: _RowReader, ratings: Mapping[str, Any], sides: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return other tools' scores by scorer and dimension; a score without a dimension counts for all."""
    column = next((name for name in SCORES if row.has(name)), None)
    if column is None:
        return {}
    scores_by_name = row.object(column)
    if column == "published_ragchecker":
        scores_by_name = {"published ragchecker": scores_by_name}
    published: dict[str, dict[str, tuple[float, ...]]] = {}
    for name, value in scores_by_name.items():
        by_dimension = value if isinstance(value, Mapping) else dict.fromkeys(ratings, value)
        by_dimension_and_side = {
            dimension: _scores(column, scores, sides) for dimension, scores in by_dimension.items()
        }
        published[name] = {
            dimension: scores for dimension, scores in by_dimension_and_side.items() if scores and dimension in ratings
        }
    return published


def _scores(column: str, value: Any, sides: int) -> tuple[float, ...]:
    """Return a score for each side; empty if one is missing."""
    values = cast("list[Any]", value) if isinstance(value, list) else [value]
    if any(item is None for item in values):
        return ()
    numbers = [_number(column, item) for item in values if isinstance(item, (int, float))]
    if len(numbers) != sides or len(values) != sides:
        raise BadCellError(column, f"expected {sides} {'numbers' if sides > 1 else 'number'} a dimension")
    return tuple(numbers)


def _cluster(row: RawRow, column: str | None) -> str:
    """Return the cluster that the row states, or the conversation in its id; empty if there is none."""
    value = row.cells.get(column or "cluster")
    if value is not None:
        return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    turn = str(row.cells.get("task_id") or row.cells.get("id") or "")
    return turn.partition(TURN)[0] if TURN in turn else ""


def _items(row: LabelRow) -> Iterator[Item]:
    if not row.kind:
        yield Item(
            id=row.id or f"{row.line}",
            cluster=row.cluster or row.sides[0].answer or "",
            sides=row.sides,
            human_ratings=row.ratings,
            published=row.published,
        )
    base = replace(row.sides[0], reference=None)
    for passage, grade in zip(base.contexts or (), row.grades, strict=bool(row.grades)):
        name = f"{row.id or row.line}:{passage.rank}"
        yield Item(
            id=name,
            cluster=row.cluster,
            sides=(replace(base, id=name, answer=passage.text),),
            human_ratings={PASSAGE_RELEVANCE: (grade,)},
        )
    for number, text in enumerate(row.texts, 1):
        name = f"{row.id}:{number}" if row.id else ""
        yield Item(
            id=name or f"{row.line}",
            cluster=row.cluster or text.text,
            sides=(replace(base, id=name, answer=text.text),),
            human_ratings={SUPPORTED if row.kind == "statements" else HELPS: (text.rating,)},
            verdicts=(text.verdict,) if row.kind == "statements" else (),
        )


def _merged(items: Sequence[tuple[Item, str]]) -> Iterator[Item]:
    """Merge the rows of several annotators on one answer into one item, with a rating for each annotator, in order."""
    annotators = list(dict.fromkeys(annotator for _, annotator in items))
    if len(annotators) < 2:
        yield from (item for item, _ in items)
        return
    by_subject: dict[object, list[tuple[Item, str]]] = {}
    for item, annotator in items:
        subject = tuple(
            (side.question, side.history, side.answer, tuple(passage.text for passage in side.contexts or ()))
            for side in item.sides
        )
        by_subject.setdefault(subject, []).append((item, annotator))
    for group in by_subject.values():
        dimensions = dict.fromkeys(dimension for item, _ in group for dimension in item.human_ratings)
        ratings = {
            name: tuple(
                next(
                    (
                        item.human_ratings[name][0]
                        for item, rater in group
                        if rater == annotator_of_column and item.human_ratings.get(name)
                    ),
                    None,
                )
                for annotator_of_column in annotators
            )
            for name in dimensions
        }
        yield replace(
            group[0][0],
            human_ratings=ratings,
            verdicts=tuple(verdict for item, _ in group for verdict in item.verdicts),
        )
