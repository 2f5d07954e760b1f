"""Read files of human labels: preferences, grades of answers or passages, and verdicts on statements."""

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
    "HumanLabel",
    "LabelFile",
    "LabelRow",
    "LabelledItem",
    "LabelledText",
    "SamplingDesign",
    "human_grades",
    "read_label_rows",
    "read_labels",
    "try_read_labels",
]

Form: TypeAlias = Literal["pairs", "answers", "statements", "passages"]
"""What annotators labelled: which of two answers is better, how good an answer is, whether a statement is supported,
or how relevant a passage is."""

HumanLabel: TypeAlias = float | None
"""The label of one annotator as a number; None if the annotator gave none.

Answer: a grade, higher is better. Pair: positive if B is better, negative if A is better, 0 for a tie. Statement: 1 if
supported, else 0. Passage: a grade from 0 to 3, as in UMBRELA.
"""

SamplingDesign: TypeAlias = Literal["random", "not random", "unknown"]
"""How the answers in a label file were sampled, as its `design` column says."""

HUB = "hf:"
"""Prefix of the name of a dataset on the Hugging Face hub."""
WIKIEVAL = frozenset({"question", "context_v1", "context_v2", "grounded_answer", "ungrounded_answer", "poor_answer"})
PAIR = frozenset({"question", "a", "b"})
"""Required columns of a pair, without the columns of its votes."""
SUPPORTED, HELPS, ANSWER_SUPPORTED = "supported", "helps", "answer supported"
"""Dimensions: a statement is supported, a sentence helps to answer the question, a whole answer is supported."""
PASSAGE_RELEVANCE = "passage relevance"
"""The dimension of graded passages."""
PASSAGE_GRADES = "passage_grades"
"""The column with one grade for each passage."""
PREFERENCES = {"a": -1.0, "b": 1.0, "tie": 0.0}
GRADE_COLUMNS = ("grades", "human")
"""Columns that may have the grades of an answer by dimension: of ragboard's label files, and of MTRAG."""
SCORE_COLUMNS = ("scores", "published_auto", "published_ragchecker")
"""Columns that may have scores of other tools: of ragboard's label files, MTRAG and RAGChecker."""
TURN = "<::>"
"""Separates conversation and turn in the ids of MTRAG."""
EXPECTED = (
    "expected pairs (`question`, `a`, `b`, `preferred` or `votes`; or WikiEval's columns), graded answers (`question`, "
    "`answer`, `grades`; or ARES's columns), graded passages (`question`, `contexts`, `passage_grades`) or labelled "
    "statements (`question`, `contexts`, `statements`)"
)
ARES_DIMENSIONS = {"answer_faithfulness": "faithfulness"}
"""ragboard's names of ARES's qualities, where they differ."""
ARES_YES, ARES_NO = 5.0, 1.0
"""The grades, on a scale from 1 to 5, that ARES's Yes and No become."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledText:
    """A statement, or a sentence of a passage, with its label."""

    text: str
    verdict: Label | None
    """For a sentence: `supported` if it helps to answer the question, else `unsupported`. None if undecided."""
    start: JsonValue = None
    """The position of its first character in the answer or passage, as in the file (not checked); None if not given."""
    end: JsonValue = None
    note: str = ""

    @property
    def label(self) -> HumanLabel:
        """1 if supported (or helpful), 0 if not, None if undecided."""
        return None if self.verdict is None else float(self.verdict == "supported")


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelRow:
    """One row of a label file, or one of the three pairs in a row of WikiEval."""

    line: int
    id: str
    samples: tuple[Sample, ...]
    """One sample with the labelled answer, or two with the candidates A and B. Labelled statements need no answer."""
    texts: tuple[LabelledText, ...] = ()
    kind: Literal["statements", "sentences", "passages", ""] = ""
    """What was labelled: the kind of `texts`, or `passages` if there are `passage_grades`; else empty."""
    passage_grades: tuple[HumanLabel, ...] = ()
    """The grade of each passage, in order; None for a passage without a grade."""
    human_labels: Mapping[str, tuple[HumanLabel, ...]] = field(default_factory=dict[str, tuple[HumanLabel, ...]])
    """Grades or preferences by dimension, one for each annotator."""
    list_dimensions: frozenset[str] = frozenset()
    """Dimensions whose labels are a list in the file, with one label for each annotator."""
    published: Mapping[str, Mapping[str, tuple[float, ...]]] = field(
        default_factory=dict[str, Mapping[str, tuple[float, ...]]]
    )
    """Other tools' scores in the file, by tool and dimension: one for each of `samples`."""
    cluster: str = ""
    """Rows with the same cluster are not independent. The default is the question; empty if there is none."""
    annotator: str = ""
    run: str = ""
    """The run that gave the answer; empty if unknown."""
    sample: str = ""
    design: SamplingDesign | None = None
    note: str = ""

    @property
    def form(self) -> Form:
        """What annotators labelled here."""
        if self.kind == "passages":
            return "passages"
        return "pairs" if len(self.samples) > 1 else "statements" if self.kind else "answers"


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledItem:
    """A labelled answer, pair of answers, statement or passage, with the labels of all annotators."""

    id: str
    cluster: str
    """Items with the same cluster are not independent: they share a question or conversation."""
    samples: tuple[Sample, ...]
    """One sample, or two for a pair. A labelled statement or passage is the `answer` of its sample."""
    human_labels: Mapping[str, tuple[HumanLabel, ...]]
    """The label of each annotator, by dimension."""
    published: Mapping[str, Mapping[str, tuple[float, ...]]] = field(
        default_factory=dict[str, Mapping[str, tuple[float, ...]]]
    )
    """Other tools' scores in the file, by tool and dimension: one for each of `samples`."""
    verdicts: tuple[Label | None, ...] = ()
    """For a statement, the verdict of each annotator; None if undecided."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelFile:
    """The items of a label file."""

    form: Form
    name: str
    source: str
    """The file name, or `hf:OWNER/NAME`."""
    items: tuple[LabelledItem, ...]
    notes: tuple[str, ...] = ()
    """Notes on what was converted or renamed."""

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The labelled dimensions, in order of first appearance."""
        return tuple(dict.fromkeys(dimension for item in self.items for dimension in item.human_labels))

    @property
    def questions(self) -> int:
        """Number of different questions. A question is its text with its history."""
        return len({(item.samples[0].question, item.samples[0].history) for item in self.items})

    @property
    def compares_verdicts(self) -> bool:
        """Whether the labels are compared with a judge's verdicts or passage grades. If not: with metrics."""
        return self.form in ("statements", "passages") or (
            self.form == "answers" and self.dimensions == (ANSWER_SUPPORTED,)
        )


def read_labels(source: str, *, cluster: str | None = None, rating: str | None = None) -> LabelFile:
    """Read labels as items from a JSONL, JSON, CSV or Parquet file, or from the Hugging Face hub (`hf:OWNER/NAME`).

    If several annotators labelled one answer in different rows, the rows become one item. `read_label_rows` explains
    `cluster` and `rating`, and lists its errors. Also raises RunFileError if the file has no labels, or labels of
    different kinds, such as pairs and answers.
    """
    path, rows = Path(source), read_label_rows(source, cluster=cluster, rating=rating)
    first = rows[0] if rows else None
    other_form = next((row for row in rows if first and row.form != first.form), None)
    if first and other_form:
        raise RunFileError(
            path,
            f"has labels of {other_form.form}, but line {first.line} has labels of {first.form}; use a file for each",
            line=other_form.line,
        )
    items = list(_merged([(item, row.annotator) for row in rows for item in _items(row)]))
    if not first or not any(
        label is not None for item in items for labels in item.human_labels.values() for label in labels
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


def try_read_labels(path: Path, columns: Collection[str]) -> LabelFile | None:
    """Return the labels of pairs or answers in a file with these columns; None if the file has none."""
    names = set(columns)
    if names.isdisjoint(GRADE_COLUMNS) and not names >= WIKIEVAL and not names >= PAIR:
        return None
    try:
        labels = read_labels(str(path))
    except RunFileError:
        return None
    return labels if labels.form in ("answers", "pairs") else None


class HumanGrades(NamedTuple):
    """The grades that annotators gave one answer in one dimension."""

    mean: float
    each: tuple[float, ...]


def human_grades(columns: Mapping[str, Any]) -> dict[str, HumanGrades]:
    """Return the human grades of an answer by dimension, from the columns of its row.

    The grades are an object in a column of `GRADE_COLUMNS`, such as `{"faithfulness": [4, 5]}`. Values that are not
    numbers are skipped. Returns an empty dict if the row has no such column.
    """
    column: Mapping[str, Any] = next(
        (columns[name] for name in GRADE_COLUMNS if isinstance(columns.get(name), Mapping)), {}
    )
    by_dimension: dict[str, HumanGrades] = {}
    for dimension, value in column.items():
        values = cast("list[Any]", value) if isinstance(value, list) else [value]
        grades = tuple(float(one) for one in values if isinstance(one, (int, float)) and not isinstance(one, bool))
        if grades:
            by_dimension[dimension] = HumanGrades(mean=fmean(grades), each=grades)
    return by_dimension


def read_label_rows(source: str, *, cluster: str | None = None, rating: str | None = None) -> tuple[LabelRow, ...]:
    """Read the rows of a label file, in one of the formats of docs/reference/label-files.md.

    - `cluster`: a column with the same value in rows that are not independent. The default is the column `cluster`,
      or else the conversation or the question.
    - `rating`: where a row has the grade of its answer: a column or a path such as `human.faithfulness`, with a number
      or a list with a number for each annotator. Ignored for rows with statements or sentences.

    Raises RunFileError, with line and field, for a bad row, and SettingError if the hub cannot be reached.
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
    """Return the rows of all splits. Raises SettingError if the package `datasets` is missing or the download fails."""
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
    """Reads the cells of a row with the expected types. Raises BadCellError for a cell of another type."""

    def __init__(self, row: RawRow) -> None:
        self.line, self.cells, self.lists_as_text = row.line, row.cells, row.lists_as_text

    def has(self, *columns: str) -> bool:
        """Return whether all these columns have a value."""
        return all(self.cells.get(column) is not None for column in columns)

    def text(self, column: str) -> str | None:
        return read_text(column, self.cells.get(column), _ignore_note)

    def required_text(self, column: str) -> str:
        text = self.text(column)
        if text is None or not text.strip():
            raise BadCellError(column, "is empty, expected text")
        return text

    def text_or_empty(self, column: str) -> str:
        """Return a text, such as an answer. It may be empty, but not null."""
        text = self.text(column)
        if text is None:
            raise BadCellError(column, "is missing, expected text")
        return text

    def passages(self, column: str) -> tuple[Passage, ...] | None:
        return read_passages(column, self.cells.get(column), _ignore_note, lists_as_text=self.lists_as_text)

    def history(self) -> tuple[Turn, ...]:
        return read_history("history", self.cells.get("history"), _ignore_note)

    def parsed(self, column: str) -> Any:
        """Return the value of a cell; for a CSV, parse it as JSON if possible."""
        value = self.cells.get(column)
        if not (self.lists_as_text and isinstance(value, str)):
            return value
        try:
            return clean(json.loads(value), _ignore_note)
        except (ValueError, RecursionError):
            return value

    def object(self, column: str) -> dict[str, Any]:
        value = self.parsed(column)
        if not isinstance(value, Mapping) or not value:
            raise BadCellError(column, f"got {kind_of_value(value)}, expected an object with a key for each dimension")
        return {str(key): each for key, each in cast("Mapping[Any, Any]", value).items()}

    def common_fields(self) -> dict[str, Any]:
        """Return the fields of `LabelRow` that every kind of row can have: line, id, annotator, run and so on."""
        design = self.text("design")
        if design is not None and design not in get_args(SamplingDesign):
            raise BadCellError("design", f"got {design!r}, expected one of {', '.join(get_args(SamplingDesign))}")
        texts = {name: self.text(name) or "" for name in ("id", "annotator", "run", "sample", "note")}
        return {"line": self.line, "design": design, **texts}


def _ignore_note(_what: str) -> None:
    """Discard a note: conversions in a label file are not reported."""


def _read_row(row: _RowReader, rating: str | None) -> Iterator[LabelRow]:
    texts, grades = (any(map(row.has, columns)) for columns in (("statements", "sentences"), GRADE_COLUMNS))
    if rating and not texts:
        yield _graded_at_path(row, rating)
    elif row.cells.keys() >= WIKIEVAL:
        yield from _wikieval(row)
    elif row.cells.keys() >= PAIR and (row.has("a") or row.has("b") or not (texts or grades)):
        yield _pair(row)
    elif texts:
        yield _labelled_texts(row)
    elif grades:
        yield _graded(row)
    elif row.has(PASSAGE_GRADES):
        yield _graded_passages(row)
    else:
        raise BadCellError("", f"has the columns {', '.join(row.cells) or '(none)'}, {EXPECTED}")


def _wikieval(row: _RowReader) -> Iterator[LabelRow]:
    """Yield the three pairs of a row of WikiEval. A is the better one in each pair."""
    name = row.text("id") or row.required_text("question")
    base = Sample(id=name, question=row.required_text("question"), contexts=row.passages("context_v1"))
    grounded = replace(base, answer=row.required_text("grounded_answer"))
    pairs = {
        "faithfulness": (grounded, replace(base, answer=row.required_text("ungrounded_answer"))),
        "answer_relevance": (grounded, replace(base, answer=row.required_text("poor_answer"))),
        "context_relevance": (base, replace(base, contexts=row.passages("context_v2"))),
    }
    for dimension, (a, b) in pairs.items():
        common: dict[str, Any] = row.common_fields() | {"id": f"{name}:{dimension}"}
        labels = {dimension: (PREFERENCES["a"],)}
        yield LabelRow(**common, samples=_with_pair_ids(a, b), human_labels=labels, cluster=base.question)


def _pair(row: _RowReader) -> LabelRow:
    common, votes = row.common_fields(), _votes(row)
    labels = {name: _read_labels(column, value, is_pair=True) for name, (column, value) in votes.items()}
    base = Sample(
        id=common["id"],
        question=row.required_text("question"),
        contexts=row.passages("contexts"),
        reference=row.text("reference"),
        history=row.history(),
    )
    compares_passages = set(labels) == {"context_relevance"} and row.cells.get("a_contexts") is None
    a, b = (
        replace(base, contexts=row.passages(side))
        if compares_passages
        else replace(base, answer=row.text_or_empty(side), contexts=row.passages(f"{side}_contexts") or base.contexts)
        for side in ("a", "b")
    )
    return LabelRow(
        **common,
        samples=_with_pair_ids(a, b),
        human_labels=labels,
        list_dimensions=_keys_of_lists({name: value for name, (_, value) in votes.items()}),
        published=_published(row, labels, samples=2),
        cluster=base.question,
    )


def _with_pair_ids(a: Sample, b: Sample) -> tuple[Sample, Sample]:
    return replace(a, id=f"{a.id}/a"), replace(b, id=f"{b.id}/b")


def _votes(row: _RowReader) -> dict[str, tuple[str, Any]]:
    """Return the column and the votes of each dimension.

    They are in the column `votes`, in `preferred`, or in columns such as `overall_votes` and `overall_preferred`.
    """
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


def _keys_of_lists(values: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(name for name, value in values.items() if isinstance(value, list))


def _read_labels(column: str, value: Any, *, is_pair: bool = False) -> tuple[HumanLabel, ...]:
    values = cast("list[Any]", value) if isinstance(value, list) else [value]
    return tuple(_read_label(column, item, is_pair=is_pair) for item in values)


def _read_label(column: str, value: Any, *, is_pair: bool) -> HumanLabel:
    if is_pair and isinstance(value, str) and value.lower() in PREFERENCES:
        return PREFERENCES[value.lower()]
    if value is None:
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _number(column, value)
    got = repr(value)[:40] if isinstance(value, str) else kind_of_value(value)
    expected = f"a number or one of {', '.join(PREFERENCES)}" if is_pair else "a number"
    raise BadCellError(column, f"got {got}, expected {expected}")


def _number(column: str, value: float) -> float:
    try:
        return float(value)
    except OverflowError as error:
        raise BadCellError(column, "has a number with more than 300 digits") from error


def _graded(row: _RowReader) -> LabelRow:
    column = next(column for column in GRADE_COLUMNS if row.has(column))
    grades, sample = row.object(column), _answer(row, row.text_or_empty("answer"))
    labels = {name: _read_labels(column, value) for name, value in grades.items()}
    return LabelRow(
        **row.common_fields(),
        samples=(sample,),
        human_labels=labels,
        list_dimensions=_keys_of_lists(grades),
        published=_published(row, labels, samples=1),
        cluster=sample.question,
    )


def _graded_passages(row: _RowReader) -> LabelRow:
    """Read passages with grades from 0 to 3."""
    cell, contexts = row.parsed(PASSAGE_GRADES), _contexts(row)
    if not isinstance(cell, list) or len(cast("list[Any]", cell)) != len(contexts):
        got = f"{len(cast('list[Any]', cell))} grades" if isinstance(cell, list) else kind_of_value(cell)
        raise BadCellError(
            PASSAGE_GRADES, f"got {got}, expected a list with a grade for each of the {len(contexts)} passages"
        )
    sample = Sample(
        id=row.text("id") or "", question=row.required_text("question"), contexts=contexts, history=row.history()
    )
    grades = tuple(_passage_grade(grade) for grade in cast("list[Any]", cell))
    return LabelRow(
        **row.common_fields(), samples=(sample,), kind="passages", passage_grades=grades, cluster=sample.question
    )


def _passage_grade(grade: Any) -> HumanLabel:
    if grade is None:
        return None
    if isinstance(grade, bool) or grade not in range(BEST_GRADE + 1):
        got = kind_of_value(grade) if isinstance(grade, (bool, list, dict)) else repr(grade)[:40]
        raise BadCellError(PASSAGE_GRADES, f"has {got}, expected whole numbers from 0 to {BEST_GRADE}, or null")
    return float(grade)


def _graded_at_path(row: _RowReader, path: str) -> LabelRow:
    """Return an answer with the grades at a path in the row."""
    first, *parts = path.split(".")
    value = row.parsed(first)
    try:
        for part in parts:
            value = value[part]
        values: list[Any] = value if isinstance(value, list) else [value]
        grades = tuple(map(float, values))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise BadCellError(path, f"got {kind_of_value(value)}, expected a number") from error
    sample = replace(
        _answer(row, row.text_or_empty("answer"), question=row.text("question") or ""), contexts=_contexts(row)
    )
    cluster = sample.question or sample.answer or ""
    return LabelRow(**row.common_fields(), samples=(sample,), human_labels={path: grades}, cluster=cluster)


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


def _labelled_texts(row: _RowReader) -> LabelRow:
    """Read statements labelled as supported or not, or sentences of passages labelled as helpful or not."""
    kind: Literal["statements", "sentences"] = "statements" if row.has("statements") else "sentences"
    cell = row.parsed(kind)
    if not isinstance(cell, list):
        raise BadCellError(kind, f"got {kind_of_value(cell)}, expected a list of objects with text and label")
    texts = tuple(_text(f"{kind}[{number}]", item) for number, item in enumerate(cast("list[Any]", cell), 1))
    sample = replace(_answer(row, row.text("answer"), question=row.text("question") or ""), contexts=_contexts(row))
    grades = row.object("grades") if row.cells.get("grades") else {}
    return LabelRow(
        **row.common_fields(),
        samples=(sample,),
        kind=kind,
        texts=texts,
        human_labels={name: _read_labels("grades", value) for name, value in grades.items()},
        list_dimensions=_keys_of_lists(grades),
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
    """Return a row of ARES. Yes becomes the grade 5, No the grade 1. A missing label is skipped."""
    contexts = (Passage(id="1", text=row.document, rank=1),) if row.document else ()
    is_yes = {ARES_DIMENSIONS.get(quality, quality): getattr(row, quality) for quality in ARES_QUALITIES}
    return LabelRow(
        line=line,
        id="",
        samples=(Sample(id="", question=row.question, answer=row.answer, contexts=contexts),),
        human_labels={name: (ARES_YES if yes else ARES_NO,) for name, yes in is_yes.items() if yes is not None},
        cluster=row.question,
        run=row.run,
    )


def _published(row: _RowReader, labels: Mapping[str, Any], *, samples: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return other tools' scores by tool and dimension. A score without a dimension is used for all dimensions."""
    column = next((name for name in SCORE_COLUMNS if row.has(name)), None)
    if column is None:
        return {}
    scores_by_name = row.object(column)
    if column == "published_ragchecker":
        scores_by_name = {"published ragchecker": scores_by_name}
    published: dict[str, dict[str, tuple[float, ...]]] = {}
    for name, value in scores_by_name.items():
        by_dimension = value if isinstance(value, Mapping) else dict.fromkeys(labels, value)
        read = {dimension: _scores(column, scores, samples) for dimension, scores in by_dimension.items()}
        published[name] = {dimension: scores for dimension, scores in read.items() if scores and dimension in labels}
    return published


def _scores(column: str, value: Any, expected: int) -> tuple[float, ...]:
    """Return the scores in a cell, one for each sample; empty if one is missing."""
    values = cast("list[Any]", value) if isinstance(value, list) else [value]
    if any(item is None for item in values):
        return ()
    numbers = [_number(column, item) for item in values if isinstance(item, (int, float))]
    if len(numbers) != expected or len(values) != expected:
        raise BadCellError(column, f"expected {expected} {'numbers' if expected > 1 else 'number'} for each dimension")
    return tuple(numbers)


def _cluster(row: RawRow, column: str | None) -> str:
    """Return the cluster in the row, or the conversation in its id; empty if there is none."""
    value = row.cells.get(column or "cluster")
    if value is not None:
        return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    turn = str(row.cells.get("task_id") or row.cells.get("id") or "")
    return turn.partition(TURN)[0] if TURN in turn else ""


def _items(row: LabelRow) -> Iterator[LabelledItem]:
    if not row.kind:
        yield LabelledItem(
            id=row.id or f"{row.line}",
            cluster=row.cluster or row.samples[0].answer or "",
            samples=row.samples,
            human_labels=row.human_labels,
            published=row.published,
        )
    base = replace(row.samples[0], reference=None)
    for passage, grade in zip(base.contexts or (), row.passage_grades, strict=bool(row.passage_grades)):
        name = f"{row.id or row.line}:{passage.rank}"
        yield LabelledItem(
            id=name,
            cluster=row.cluster,
            samples=(replace(base, id=name, answer=passage.text),),
            human_labels={PASSAGE_RELEVANCE: (grade,)},
        )
    for number, text in enumerate(row.texts, 1):
        name = f"{row.id}:{number}" if row.id else ""
        yield LabelledItem(
            id=name or f"{row.line}",
            cluster=row.cluster or text.text,
            samples=(replace(base, id=name, answer=text.text),),
            human_labels={SUPPORTED if row.kind == "statements" else HELPS: (text.label,)},
            verdicts=(text.verdict,) if row.kind == "statements" else (),
        )


def _merged(items: Sequence[tuple[LabelledItem, str]]) -> Iterator[LabelledItem]:
    """Merge the items of one answer by different annotators into one item with all their labels.

    `items` are (item, annotator). Annotators have the same position in every item; None if one gave no label.
    """
    annotators = list(dict.fromkeys(annotator for _, annotator in items))
    if len(annotators) < 2:
        yield from (item for item, _ in items)
        return
    by_subject: dict[object, list[tuple[LabelledItem, str]]] = {}
    for item, annotator in items:
        subject = tuple(
            (sample.question, sample.history, sample.answer, tuple(passage.text for passage in sample.contexts or ()))
            for sample in item.samples
        )
        by_subject.setdefault(subject, []).append((item, annotator))
    for group in by_subject.values():
        dimensions = dict.fromkeys(dimension for item, _ in group for dimension in item.human_labels)
        yield replace(
            group[0][0],
            human_labels={
                name: tuple(_label_by(annotator, name, group) for annotator in annotators) for name in dimensions
            },
            verdicts=tuple(verdict for item, _ in group for verdict in item.verdicts),
        )


def _label_by(annotator: str, dimension: str, group: Sequence[tuple[LabelledItem, str]]) -> HumanLabel:
    """Return the first label of an annotator in a dimension; None if there is none."""
    labels = (
        item.human_labels[dimension][0]
        for item, name in group
        if name == annotator and item.human_labels.get(dimension)
    )
    return next(labels, None)
