"""Property tests: any file is read and can be stored, or is rejected in one line."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples

from ragboard import RunFileError, SettingError, Store, preview, read_runs
from ragboard.readers import ReadResult
from ragboard.readers.columns import FIELDS
from ragboard.readers.files import KINDS, parse, parse_located
from ragboard.readers.formats import FORMATS
from ragboard.readers.objects import read_samples

EXTENSIONS = st.sampled_from([*KINDS, ".txt", ""])
STARTS = st.sampled_from(
    [b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"PAR1", b"question,answer\n", b'[{"question":']
)
COLUMNS = (
    st.sampled_from([name for names in FIELDS.values() for name in names])
    | st.sampled_from(sorted({name for known in FORMATS for name in known.columns}))
    | st.text(max_size=3)
)
PRINTED = [
    "page_content='x' metadata={'a': 1}",
    "[Document(metadata={}, page_content='x'), Document(page_content='y')]",
    "Document(id=1, content: 'x', score: 0.5)",
    "[HumanMessage(content='x'), AIMessage(content='y')]",
    "content='x' additional_kwargs={} response_metadata={}",
    "Node ID: 1\nText: x\nScore: 0.5",
    '[{"role": "user", "content": [{"type": "text", "text": "x"}]}]',
    '{"role": "assistant", "content": null}',
]
PIECES = [
    *"[](){}'\",\\ ",
    "Document(id=",
    "page_content=",
    "content: '",
    " metadata={",
    "=",
    "x",
    "\n",
    '"type": "text"',
]
CELLS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=8)
    | st.sampled_from(["['a' 'b']", "['a', 'b']", '["a"]', "[", "nan", "[{'content': 'x', 'type': 'human'}]", "a|b"])
    | st.sampled_from(PRINTED)
    | st.builds("".join, st.lists(st.sampled_from(PIECES), max_size=6)),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["text", "content", "role", "doc_id", "score", "type", "\ud800"]), inner, max_size=3
        )
    ),
    max_leaves=12,
)
ROWS = st.dictionaries(COLUMNS, CELLS, max_size=6)
QUESTIONS = st.builds(lambda row, question: {**row, "question": question}, ROWS, st.text(min_size=1) | CELLS)
HEADERS = st.dictionaries(st.sampled_from(["name", "config", "dataset", "tags", "x"]), CELLS, max_size=3)


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def read_or_refuse(path: Path, **options: Any) -> ReadResult | None:
    """Reads a file by both doors; what is refused is refused in one line."""
    refused: list[str] = []
    try:
        preview(path)
    except RunFileError as error:
        refused.append(str(error))
    try:
        result = read_runs(path, **options)
    except (RunFileError, SettingError) as error:
        refused.append(str(error))
        result = None
    assert not any("\n" in message for message in refused)
    if result is None:
        return None
    report = result.report
    samples = sum(len(run.samples) for run in result.runs)
    if "one for each passage" not in " ".join(report.notes):
        assert samples + len(report.dropped) == report.rows_read
    assert samples + len(report.dropped) <= report.rows_read
    return result


@given(ending=EXTENSIONS, start=STARTS, rest=st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
@examples(300)
def test_any_bytes_are_read_or_refused(ending: str, start: bytes, rest: bytes) -> None:
    with folder() as here:
        path = here / f"run{ending}"
        path.write_bytes(start + rest)
        read_or_refuse(path, skip_bad=True)


@given(
    ending=st.sampled_from([".json", ".jsonl", ".csv"]),
    value=CELLS | st.lists(ROWS | CELLS, max_size=4) | st.fixed_dictionaries({"run": HEADERS, "samples": CELLS}),
    run_column=st.none() | COLUMNS,
)
@examples(300)
def test_any_json_is_read_or_refused(ending: str, value: Any, run_column: str | None) -> None:
    with folder() as here:
        path = here / f"run{ending}"
        path.write_text(json.dumps(value), encoding="utf-8")
        read_or_refuse(path, run_column=run_column)


@given(
    rows=st.lists(ROWS, min_size=1, max_size=4),
    path=st.tuples(COLUMNS, st.lists(st.sampled_from([".text", "[]", "[0]", "[-1]", '["a"]', ".", "["]), max_size=5)),
)
@examples(200)
def test_any_path_is_followed_or_refused(rows: list[dict[str, Any]], path: tuple[str, list[str]]) -> None:
    with folder() as here:
        (here / "run.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        read_or_refuse(here / "run.jsonl", mapping={"question": path[0] + "".join(path[1])}, skip_bad=True)


@given(rows=st.lists(QUESTIONS, min_size=1, max_size=5), header=HEADERS, split=st.booleans(), as_json=st.booleans())
@examples(60)
def test_what_can_be_read_can_be_stored_and_comes_back(
    rows: list[dict[str, Any]], header: dict[str, Any], split: bool, as_json: bool
) -> None:
    with folder() as here:
        path = here / ("run.json" if as_json else "run.jsonl")
        lines = [{"run": header}, *rows]
        text = json.dumps({"run": header, "samples": rows}) if as_json else "\n".join(map(json.dumps, lines))
        path.write_text(text, encoding="utf-8")
        result = read_or_refuse(path, skip_bad=True, run_column="id" if split else None)
        if result is None:
            return
        store = Store(here / "store")
        for added, run in zip(store.add_runs(result.runs), result.runs, strict=True):
            assert tuple(sample for _, sample in store.samples(added.id)) == run.samples
            assert len({sample.id for sample in run.samples}) == len(run.samples)


OBJECTS = (
    CELLS
    | st.dates()
    | st.decimals()
    | st.binary(max_size=5)
    | st.sets(st.text(max_size=2), max_size=2)
    | st.builds(SimpleNamespace, text=CELLS, metadata=CELLS)
    | st.builds(SimpleNamespace, role=CELLS, content=CELLS)
    | st.builds(SimpleNamespace, node=st.builds(SimpleNamespace, text=CELLS), score=CELLS)
    | st.lists(st.floats(), max_size=3).map(np.array)
)


@given(rows=st.lists(st.dictionaries(COLUMNS, OBJECTS, max_size=4) | OBJECTS, max_size=3))
@examples(200)
def test_any_objects_in_memory_are_read_or_refused(rows: list[Any]) -> None:
    with suppress(RunFileError, SettingError):
        result = read_samples(rows, name="run")
        assert sum(len(run.samples) for run in result.runs) <= result.report.rows_read


ARROW = st.sampled_from(
    [pa.string(), pa.binary(), pa.float64(), pa.list_(pa.string()), pa.timestamp("ns"), pa.date32()]
)


@given(columns=st.dictionaries(COLUMNS, ARROW, min_size=1, max_size=4), data=st.data())
@examples(60)
def test_any_parquet_is_read_or_refused(columns: dict[str, pa.DataType], data: st.DataObject) -> None:
    values = {
        pa.string(): st.text(max_size=5),
        pa.binary(): st.binary(max_size=5),
        pa.float64(): st.floats(),
        pa.list_(pa.string()): st.lists(st.none() | st.text(max_size=5), max_size=3),
        pa.timestamp("ns"): st.integers(-(2**62), 2**62),
        pa.date32(): st.integers(-(2**31), 2**31 - 1),
    }
    filled = {
        name: pa.array(data.draw(st.lists(st.none() | values[kind], min_size=2, max_size=2)), kind)
        for name, kind in columns.items()
    }
    with folder() as here:
        pq.write_table(pa.table(filled), here / "run.parquet")
        read_or_refuse(here / "run.parquet", skip_bad=True)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
@examples(200)
def test_json_is_the_same_whether_its_lines_are_kept_or_not(value: Any) -> None:
    text = json.dumps(value, indent=1)
    found, lines = parse_located(text)
    assert found == parse(text) == value
    if isinstance(value, list):
        assert len(lines[""]) == len(value)
        assert all(text.splitlines()[line - 1].startswith(" ") for line in lines[""])


@given(st.text(alphabet='{}[]",:1 \nab', max_size=30))
@examples(500)
def test_what_is_no_json_is_none_whether_its_lines_are_kept_or_not(text: str) -> None:
    try:
        expected = parse(text)
    except ValueError:
        with pytest.raises(ValueError, match=r"line \d+ column \d+"):
            parse_located(text)
    else:
        assert parse_located(text)[0] == expected
