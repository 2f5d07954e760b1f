"""Tests of unreadable files: the error names the file, the line, what was found, and what to do."""

from __future__ import annotations

import gzip
import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.core.readers.conftest import Write

from ragboard import RunFileError, preview, read_runs

Q = '{"question": "Q"}\n'
DEEP = 200_000

FILES: list[tuple[str, str | bytes, str]] = [
    ("empty.jsonl", "", ": is empty, expected samples"),
    ("blank.json", " \r\n\t\n", ": is empty, expected samples"),
    ("bom.csv", b"\xef\xbb\xbf\n", ": is empty, expected samples"),
    ("bom16.csv", b"\xff\xfe", ": is empty, expected samples"),
    ("long-blank.jsonl", "\n" * 10_000, ": is empty, expected samples"),
    ("header.csv", "question,answer\n", ": is empty, expected samples"),
    ("run.jsonl", '{"run": {"name": "x"}}\n', ": is empty, expected samples"),
    ("none.json", '{"samples": []}', ": is empty, expected samples"),
    ("list.json", "[]", ": is empty, expected samples"),
    ("cut.jsonl", Q + '{"question": "Q', ":2: not JSON (Unterminated string starting at at column 14)"),
    ("cut.json", f'[{Q},\n{{"question": "Q"', ":3: not JSON (Expecting ',' delimiter at column 17)"),
    ("open.json", f"[{Q}", ":2: not JSON (Expecting ',' at column 1)"),
    ("comma.json", f"[{Q},]", ":2: not JSON (Expecting value at column 2)"),
    ("key.json", "{1: 2}", ":1: not JSON (Expecting property name enclosed in double quotes at column 2)"),
    ("two.json", "{} {}", ":1: not JSON (Extra data at column 4)"),
    ("text.json", '"text"', ": contains a text, expected a list of samples"),
    ("object.json", "{}", ": is an object without `samples` or `results`, expected a list of samples"),
    ("one.json", Q, ": is an object without `samples` or `results`, expected a list of samples"),
    (
        "apart.json",
        '{"question": {"0": "Q"}, "answer": {"1": "A"}}',
        ": is an object without `samples` or `results`, expected a list of samples",
    ),
    (
        "uneven.json",
        '{"question": ["Q", "R"], "answer": ["A"]}',
        ": is an object without `samples` or `results`, expected a list of samples",
    ),
    ("number.json", "[\n3]", ":2: [0]: got a number, expected an object with the fields of a sample"),
    (
        "wrong.json",
        '{"name": "samples", "tags": ["a"], "samples":\n[{"question": "Q"}, {"question": true}]}',
        ":2: samples[1].question: got a boolean, expected text",
    ),
    ("null.jsonl", Q + "null\n", ":2: got null, expected an object with the fields of a sample"),
    ("answer.jsonl", '\n{"question": "Q", "answer": {}}', ":2: answer: got an object, expected text"),
    ("history.jsonl", '{"question": "Q", "history": 3}', ":1: history: got a number, expected a list of messages"),
    (
        "turn.jsonl",
        '{"question": "Q", "history": ["a", 3]}',
        ":1: history: message 2 is a number, expected an object or a text",
    ),
    ("contexts.jsonl", '{"question": "Q", "contexts": 3}', ":1: contexts: got a number, expected a list of passages"),
    (
        "ai.jsonl",
        '{"user_input": [{"type": "ai", "content": "A"}]}',
        ":1: question: got a list of messages without one by the user, expected a question",
    ),
    (
        "hush.jsonl",
        '{"user_input": [{"type": "human", "content": " "}]}',
        ":1: question: is empty, expected a question",
    ),
    ("name.jsonl", '{"run": {"name": 3}}\n' + Q, ":1: run.name: got a number, expected a text"),
    ("tags.jsonl", '{"run": {"tags": "x"}}\n' + Q, ":1: run.tags: got a text, expected a list of texts"),
    (
        "config.json",
        '{\n"run": {"config": []}, "samples": []}',
        ":2: run.config: got a list, expected an object of settings",
    ),
    ("run-is.jsonl", '{"run": "x"}\n' + Q, ":1: run: got a text, expected an object with the fields of a run"),
    (
        "columns.csv",
        "frage,antwort\nQ,A\n",
        ": no column has the name of the question; it has frage, antwort; choose one with --map question=COLUMN",
    ),
    ("twice.csv", "\nquestion,x,x\nQ,1,2\n", ":2: two columns are called 'x', expected unique names"),
    ("narrow.csv", 'question,answer\n"Q\n1",A\nQ2\n', ":4: got 1 cells, expected 2 as in the header"),
    ("quote.csv", 'question,answer\nQ,A\n"Q2,A\nQ3,A\n', ":3: not CSV (unexpected end of data)"),
    (
        "damaged.csv",
        "question\nQ\nça\n".encode() + b"O\xf9 ?\n",
        ":4: byte 0xf9 is not utf-8, expected UTF-8 or UTF-16 (save the file as UTF-8)",
    ),
    ("latin.json", b'[\n"\xe9"]', ":2: byte 0xe9 is not utf-8, expected UTF-8 or UTF-16 (save the file as UTF-8)"),
    (
        "half.jsonl",
        "\ufeff\u0a05\n".encode("utf-16-le") + b"\x00",
        ":2: byte 0x00 is not utf-16-le, expected UTF-8 or UTF-16 (save the file as UTF-8)",
    ),
    ("utf32.csv", "question\nQ".encode("utf-32"), ": is UTF-32 text, expected CSV"),
    ("bom-less.csv", "question\nQ".encode("utf-16-le"), ": is binary, expected CSV"),
    ("binary.jsonl", b"\x7fELF\0\0", ": is binary, expected JSONL"),
    (
        "book.csv",
        b"PK\x03\x04rest",
        ": is a damaged zip archive, or has several files that no known tool wrote, expected JSONL, JSON, CSV or"
        " Parquet",
    ),
    ("run.jsonl.gz", gzip.compress(gzip.compress(Q.encode())), ": is a gzip file, expected JSONL"),
    (
        "cut.jsonl.gz",
        gzip.compress(Q.encode() * 9)[:-9],
        ": cannot be unpacked as gzip (Compressed file ended before the end-of-stream marker was reached)",
    ),
    (
        "book.xls",
        b"\xd0\xcf\x11\xe0",
        ": is an old Excel or Word file (save it as .xlsx), expected JSONL, JSON, CSV or Parquet",
    ),
    ("text.xlsx", Q, ": not readable as Excel (File is not a zip file)"),
    ("parquet.csv", b"PAR1rest", ": is a Parquet file, expected CSV"),
    ("parquet.dat", b"PAR1rest", ": is a Parquet file; rename it to parquet.parquet"),
    ("text.parquet", Q, ": is not a Parquet file, expected Parquet because of its name"),
    (
        "zip.parquet",
        b"PK\x03\x04rest",
        ": is a damaged zip archive, or has several files that no known tool wrote, expected JSONL, JSON, CSV or"
        " Parquet",
    ),
    (
        "run.txt",
        Q,
        ": has the extension '.txt', expected one of .jsonl, .ndjson, .json, .csv, .tsv, .tab, .parquet, .pq, .arrow,"
        " .xlsx, .gz, .zst, .zip, .eval, .sqlite, .sqlite3, .db, .binpb, .pb",
    ),
    ("deep.jsonl", Q + "[" * DEEP, ":2: not JSON (nested too deeply)"),
    ("deep.json", "[" * DEEP, ": not JSON (nested too deeply)"),
    ("deepish.jsonl", '{"x": ' + "[" * 100 + "]" * 100 + "}", ":1: nested deeper than 64 levels"),
    ("digits.jsonl", '{"x": ' + "1" * 5000 + "}", ":1: not JSON (a number has too many digits)"),
    ("digits.json", "[" + "1" * 5000 + "]", ": not JSON (a number has too many digits)"),
    ("mac.csv", "question,answer\rQ,A\r", ":1: not CSV (new-line character seen in unquoted field)"),
    (
        "again.jsonl",
        Q + '{"question": "Q",\t"answer": "A", "answer": "B"}',
        ":2: duplicate key 'answer'",
    ),
    (
        "again.json",
        '[{"question": "Q"},\n{"question": "Q", "contexts": [{"text": "a", "text": "b"}]}]',
        ":2: [1]: duplicate key 'text'",
    ),
    (
        "twice.json",
        '{"samples": [{"question": "Q"}],\n"samples": [{"question": "R"}]}',
        ":2: duplicate key 'samples'",
    ),
    (
        "columns.json",
        '{"question": ["Q"], "question": ["R"]}',
        ":1: duplicate key 'question'",
    ),
    ("nan.jsonl", '{"question": NaN}', ":1: question: is empty, expected a question"),
]


@pytest.mark.parametrize(("name", "content", "message"), FILES, ids=[name for name, *_ in FILES])
def test_an_unreadable_file_is_rejected_in_one_line(write: Write, name: str, content: Any, message: str) -> None:
    path = write(name, content)
    with pytest.raises(RunFileError) as caught:
        read_runs(path)
    assert str(caught.value) == f"{path}{message}"


@pytest.mark.parametrize(("name", "content", "message"), FILES, ids=[name for name, *_ in FILES])
def test_a_preview_gives_the_same_error_as_an_import(write: Write, name: str, content: Any, message: str) -> None:
    path = write(name, content)
    refused = None
    try:
        seen = preview(path)
    except RunFileError as error:
        refused = str(error)
    else:
        assert seen.columns
    assert refused in (None, f"{path}{message}")


def test_where_every_row_is_bad_the_first_says_why(write: Write) -> None:
    path = write("bad.jsonl", '{"question": ""}\n{"question": 3, "answer": []}\n')
    with pytest.raises(RunFileError) as caught:
        read_runs(path, skip_bad=True)
    assert (
        str(caught.value) == f"{path}:1: question: no row can be read; the first error: is empty, expected a question"
    )


def test_a_line_that_is_too_long_is_rejected_before_it_is_read_completely(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    with path.open("w", encoding="utf-8") as file:
        file.write(Q + '{"question": "')
        for _ in range(100):
            file.write("x" * 2**20)
    tracemalloc.start()
    try:
        with pytest.raises(RunFileError) as caught:
            read_runs(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert str(caught.value) == f"{path}:2: is longer than 32 MiB, expected one sample"
    assert peak < 80 * 2**20


def test_a_cell_too_long_is_rejected_where_its_row_begins(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    with path.open("w", encoding="utf-8") as file:
        file.write('question\nQ\n"')
        for _ in range(40):
            file.write("x" * 2**20 + "\n")
    with pytest.raises(RunFileError) as caught:
        read_runs(path)
    assert str(caught.value) == f"{path}:3: not CSV (field larger than field limit (33554432))"


def test_a_row_with_a_key_twice_can_be_left_out(write: Write) -> None:
    result = read_runs(write("again.json", '[{"question": "Q"}, {"question": "R", "question": "S"}]'), skip_bad=True)
    assert [sample.question for sample in result.runs[0].samples] == ["Q"]
    assert [note.message for note in result.report.dropped] == ["duplicate key 'question'"]


@pytest.mark.parametrize("name", ["wide.csv", "wide.jsonl"])
def test_more_columns_than_any_table_of_samples_has_are_rejected(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    columns = ["question", *(f"c{place}" for place in range(100_000))]
    if name == "wide.csv":
        path.write_text(f"{','.join(columns)}\n{','.join('x' for _ in columns)}\n", encoding="utf-8")
    else:
        path.write_text(json.dumps(dict.fromkeys(columns, "x")), encoding="utf-8")
    for read in (read_runs, preview):
        with pytest.raises(RunFileError, match=rf"has {len(columns):,} columns, expected at most 10,000$"):
            read(path)


def test_many_columns_are_not_all_named(write: Write) -> None:
    columns = ",".join(f"c{place}" + "x" * 99 for place in range(1000))
    with pytest.raises(RunFileError, match=r"and 960 more; choose one with --map question=COLUMN$") as caught:
        read_runs(write("wide.csv", f"{columns}\n{columns}\n"))
    assert len(str(caught.value)) < 2500


def test_an_unknown_run_column_is_answered_with_the_columns(write: Write) -> None:
    with pytest.raises(RunFileError, match=r"has no column 'model'; it has question$"):
        read_runs(write("a.jsonl", Q), run_column="model")


def test_parquet_is_rejected_where_it_is_damaged_or_has_a_name_twice(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table([pa.array(["Q"]), pa.array(["R"])], names=["question", "question"])
    pq.write_table(table, path)
    with pytest.raises(RunFileError, match=r"two columns are called 'question', expected unique names$"):
        read_runs(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(RunFileError, match=r"a\.parquet: not readable as Parquet \(.+\)$"):
        read_runs(path)
    pq.write_table(pa.table({"question": pa.array([], pa.string())}), path)
    with pytest.raises(RunFileError, match=r"is empty, expected samples$"):
        read_runs(path)


def again(text: str, times: int) -> pa.DictionaryArray:
    """A text that is written once and stands there many times."""
    places = pa.Array.from_buffers(pa.int32(), times, [None, pa.py_buffer(bytes(4 * times))])
    return pa.DictionaryArray.from_arrays(places, [text])


def _lists(values: pa.Array, rows: int) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(range(0, len(values) + 1, len(values) // rows), pa.int32()), values)


REPEATED: dict[str, Callable[[], dict[str, Any]]] = {
    "rows": lambda: {"question": again("Q", 6_000_000)},
    "list": lambda: {"question": ["Q"], "contexts": _lists(again("x" * 100, 5_000_000), 1)},
    "text": lambda: {"question": again("y" * 300_000, 3_000)},
    "nested": lambda: {
        "question": again("Q", 100),
        "contexts": _lists(pa.StructArray.from_arrays([again("y" * 300_000, 10_000)], ["text"]), 100),
    },
}


@pytest.mark.parametrize("what", REPEATED)
def test_a_small_parquet_file_that_would_fill_the_memory_is_rejected(tmp_path: Path, what: str) -> None:
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table(REPEATED[what]()), path, compression="zstd", row_group_size=6_000_000)
    assert path.stat().st_size < 200_000
    before = pa.total_allocated_bytes()
    for read in (read_runs, preview):
        with pytest.raises(RunFileError, match=r"bytes but needs more than \d+ MiB of memory; save it as JSONL"):
            read(path)
    assert pa.total_allocated_bytes() - before < 2**20


def test_an_honest_parquet_file_with_texts_that_repeat_is_read(tmp_path: Path) -> None:
    contexts = [["y" * 2_000, "z" * 2_000]] * 2_500
    pq.write_table(
        pa.table({"question": [f"Q{n}" for n in range(2_500)], "contexts": contexts}), tmp_path / "a.parquet"
    )
    (run,) = read_runs(tmp_path / "a.parquet").runs
    assert [passage.text[:1] for passage in run.samples[-1].contexts or ()] == ["y", "z"]
    assert len(run.samples) == 2_500


def test_dates_that_python_has_not_are_rejected_however_deep(tmp_path: Path) -> None:
    when = pa.array([[2**62]], pa.list_(pa.int64())).cast(pa.list_(pa.timestamp("us")))
    pq.write_table(pa.table({"question": ["Q"], "when": when}), tmp_path / "a.parquet")
    with pytest.raises(RunFileError, match=r"a\.parquet: not readable as Parquet \(.+\)$"):
        read_runs(tmp_path / "a.parquet")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_what_is_no_regular_file_is_rejected_before_it_is_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "zero.parquet").symlink_to("/dev/zero")
    for name in ("pipe.jsonl", "zero.parquet"):
        for read in (read_runs, preview):
            with pytest.raises(RunFileError, match=r": is a pipe, a socket or a device, expected a regular file$"):
                read(tmp_path / name)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="no file here that fails while it is read")
def test_a_file_that_fails_while_it_is_read_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").symlink_to("/proc/self/mem")
    for read in (read_runs, preview):
        with pytest.raises(RunFileError, match=r"bad\.jsonl: cannot be read: Input/output error$"):
            read(tmp_path / "bad.jsonl")


def test_what_is_no_file_is_rejected(tmp_path: Path) -> None:
    for path, message in [
        (tmp_path, r"is a folder without a file to read, expected one of \.jsonl, .+"),
        (tmp_path / "none.jsonl", "no such file"),
        (tmp_path / ("x" * 300 + ".jsonl"), "cannot be opened: .+"),
        (tmp_path / "a\0.jsonl", "cannot be opened: .+"),
    ]:
        with pytest.raises(RunFileError, match=f": {message}$"):
            read_runs(path)


@pytest.mark.skipif(os.name == "nt" or getattr(os, "geteuid", lambda: 0)() == 0, reason="permissions bind nobody here")
def test_a_file_that_may_not_be_read_is_rejected(write: Write) -> None:
    path = write("a.jsonl", Q)
    path.chmod(0)
    with pytest.raises(RunFileError, match=r"cannot be opened: Permission denied$"):
        read_runs(path)
