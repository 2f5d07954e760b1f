"""Tests of compressed files, workbooks, folders, URLs and streams."""

from __future__ import annotations

import builtins
import functools
import gzip
import io
import json
import re
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from tests.core.readers.conftest import Write

from ragboard import Passage, ReadResult, RunFileError, Store, preview, read_runs
from ragboard.cli import main

ROWS = [
    {"question": "When?", "answer": "In 2000.", "contexts": ["It opened in 2000."]},
    {"question": "Who?", "answer": "Ada.", "contexts": []},
]
JSONL = "".join(json.dumps(row) + "\n" for row in ROWS)
FULL = (Passage(id="1", text="It opened in 2000.", rank=1),)


def read(result: ReadResult) -> list[tuple[Any, ...]]:
    (run,) = result.runs
    return [(sample.question, sample.answer, sample.contexts) for sample in run.samples]


EXPECTED = [("When?", "In 2000.", FULL), ("Who?", "Ada.", ())]


def zipped(files: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


def zstd(content: bytes) -> bytes:
    return bytes(pa.compress(content, codec="zstd", asbytes=True))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("run.jsonl.gz", gzip.compress(JSONL.encode())),
        ("run.jsonl.gz", gzip.compress(JSONL[:20].encode()) + gzip.compress(JSONL[20:].encode())),
        ("run.gz", gzip.compress(JSONL.encode())),
        ("run.gz", gzip.compress(json.dumps(ROWS).encode())),
        ("run.jsonl.zst", zstd(JSONL.encode())),
        ("run.json.zst", zstd(json.dumps(ROWS).encode())),
        ("run.zip", zipped({"answers.jsonl": JSONL})),
        ("run.zip", zipped({"__MACOSX/._x": "x", "in/answers.json": json.dumps(ROWS)})),
    ],
)
def test_a_packed_file_is_read_like_the_file_in_it(write: Write, name: str, content: bytes) -> None:
    path = write(name, content)
    result = read_runs(path)
    assert read(result) == EXPECTED
    assert (result.runs[0].name, result.runs[0].source, result.report.path) == ("run", name, name)
    assert f"unpacked from {name}" in result.report.notes
    assert preview(path).columns


def test_an_error_in_a_packed_file_names_the_packed_file(write: Write) -> None:
    path = write("run.jsonl.gz", gzip.compress(b'{"question": "Q"}\n{"question"'))
    with pytest.raises(RunFileError, match=rf"^{path}:2: not JSON"):
        read_runs(path)


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("bomb.jsonl.gz", gzip.compress),
        ("bomb.jsonl.zst", zstd),
        ("bomb.zip", lambda content: zipped({"x.jsonl": content.decode()})),
    ],
)
def test_a_file_that_unpacks_to_very_much_is_rejected(
    write: Write, monkeypatch: pytest.MonkeyPatch, name: str, pack: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr("ragboard.readers.packed.MIN_LIMIT", 2**20)
    path = write(name, pack(b" " * (40 * 2**20)))
    with pytest.raises(RunFileError, match=r"bytes but unpacks to more than \d+ MiB; unpack it before the import"):
        read_runs(path)


def test_archives_of_several_files_and_locked_ones_are_rejected(write: Write) -> None:
    with pytest.raises(RunFileError, match="a damaged zip archive, or has several files that no known tool wrote"):
        read_runs(write("two.zip", zipped({"a.jsonl": JSONL, "b.jsonl": JSONL})))
    content = bytearray(zipped({"a.jsonl": JSONL}))
    for sign, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(sign) + at] |= 1
    with pytest.raises(RunFileError, match=r"cannot be unpacked as zip \(.*encrypted"):
        read_runs(write("locked.zip", bytes(content)))


def workbook(path: Path, **sheets: list[list[Any]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_a_workbook_without_worksheets_is_rejected(tmp_path: Path) -> None:
    with zipfile.ZipFile(workbook(tmp_path / "book.xlsx", runs=[["question"], ["When?"]])) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    parts["xl/workbook.xml"] = re.sub(rb"<sheets>.*</sheets>", b"<sheets/>", parts["xl/workbook.xml"])
    with zipfile.ZipFile(tmp_path / "empty.xlsx", "w") as book:
        for name, part in parts.items():
            book.writestr(name, part)
    with pytest.raises(RunFileError, match=r"empty\.xlsx: has no worksheet$"):
        read_runs(tmp_path / "empty.xlsx")


def test_the_first_sheet_of_a_workbook_is_read_or_the_one_named(tmp_path: Path) -> None:
    rows = [
        ["question", "answer", "contexts", "tokens", None, "code"],
        [],
        ["When?", "In 2000.", '["It opened in 2000."]', 7, None, "007"],
        ["Who?", "Ada.", "[]", 1.5, None, None],
    ]
    path = workbook(tmp_path / "book.xlsx", Answers=rows, Other=[["question"], ["Why?"]])
    result = read_runs(path)
    assert read(result) == EXPECTED
    assert [sample.metadata for sample in result.runs[0].samples] == [{"tokens": 7, "code": "007"}, {"tokens": 1.5}]
    assert "only 'Answers' of 2 sheets was read; --sheet NAME reads another" in result.report.notes
    assert result.report.format == "table (Excel)"
    assert [sample.question for sample in read_runs(path, sheet="Other").runs[0].samples] == ["Why?"]
    with pytest.raises(RunFileError, match=r"book\.xlsx: has no sheet 'X'; it has Answers, Other$"):
        read_runs(path, sheet="X")
    with pytest.raises(RunFileError, match=r"book\.xlsx:4: question: is empty"):
        read_runs(
            workbook(path, A=[["question"], ["Q"], [], [" x"], []] and [["question", "n"], ["Q", 1], [], ["", 2]])
        )


def test_a_sheet_of_what_is_no_workbook_is_rejected(write: Write) -> None:
    with pytest.raises(RunFileError, match=r"run\.jsonl: is JSONL, which has no sheets$"):
        read_runs(write("run.jsonl", JSONL), sheet="A")


def test_a_workbook_that_would_fill_the_memory_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragboard.readers.packed.MIN_LIMIT", 2**10)
    monkeypatch.setattr("ragboard.readers.packed.EXPANSION", 2)
    path = workbook(tmp_path / "book.xlsx", A=[["question"], *([["same " * 100]] * 5000)])
    with pytest.raises(RunFileError, match=r"bytes but needs more than \d+ MiB of memory"):
        read_runs(path)


def test_an_empty_workbook_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(RunFileError, match=r"book\.xlsx: is empty, expected samples$"):
        read_runs(workbook(tmp_path / "book.xlsx", A=[]))


def test_shards_of_one_file_are_one_run_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    folder.mkdir()
    for number in (10, 9, 0):
        row = json.dumps({"question": f"Q{number}"}).encode() + b"\n"
        (folder / f"part-{number}.jsonl.gz").write_bytes(gzip.compress(row))
    (folder / "README.md").write_text("notes", encoding="utf-8")
    (folder / "_SUCCESS").write_text("", encoding="utf-8")
    result = read_runs(folder)
    (run,) = result.runs
    assert (run.name, [sample.question for sample in run.samples]) == ("answers", ["Q0", "Q9", "Q10"])
    assert "3 files read as one, part-0.jsonl.gz to part-10.jsonl.gz" in result.report.notes


def test_an_error_in_a_shard_names_it(tmp_path: Path) -> None:
    (tmp_path / "part-0.jsonl").write_text(JSONL, encoding="utf-8")
    (tmp_path / "part-1.jsonl").write_text('{"question": "Q"}\n{"question": 3, "answer": []}\n', encoding="utf-8")
    with pytest.raises(RunFileError, match=r":2: part-1\.jsonl\.answer: got a list, expected text$"):
        read_runs(tmp_path)


def test_the_shards_of_a_tools_file_are_the_tools(tmp_path: Path) -> None:
    for number in range(2):
        row = {"query": "Q", "response": "A", "source_nodes": [{"node": {"id_": "n", "text": "t"}, "score": 1.0}]}
        (tmp_path / f"part-{number}.jsonl").write_text(json.dumps(row), encoding="utf-8")
    result = read_runs(tmp_path)
    assert result.report.format == "LlamaIndex responses (JSONL)"
    assert len(result.runs[0].samples) == 2


@pytest.mark.parametrize("command", ["import", "evaluate", "plan"])
def test_several_files_are_one_run_only_where_one_says_so(tmp_path: Path, command: str) -> None:
    files: list[str] = []
    for number, row in enumerate(JSONL.splitlines(), 1):
        file = tmp_path / f"day-{number}.jsonl"
        file.write_text(row, encoding="utf-8")
        files.append(str(file))

    def said(*words: str) -> Result:
        return CliRunner().invoke(main, [command, *words, "--store", str(tmp_path / "store")])

    refused = said(*files)
    assert refused.exit_code == 2
    assert "got 2 files. To read them as parts of one run, add --as-one NAME; to make each a run" in refused.stderr
    assert "leave out --name" in said(*files, "--as-one", "week", "--name", "month").stderr
    assert not (tmp_path / "store").exists()
    done = said(*files, "--as-one", "week")
    assert done.exit_code == 0, done.output
    assert "day-1.jsonl to day-2.jsonl: table (JSONL), utf-8, 2 rows read" in done.stderr
    store = Store(tmp_path / "store")
    assert [sample.question for _, sample in store.samples(store.resolve("week").run_id)] == ["When?", "Who?"]
    Path(files[1]).write_text('{"question": "Who?", "contexts": 3}', encoding="utf-8")
    broken = said(*files, "--as-one", "next")
    assert "day-1.jsonl to day-2.jsonl:1: day-2.jsonl.contexts: got a number" in broken.stderr


def test_a_folder_of_different_files_is_rejected(tmp_path: Path) -> None:
    for name in ("base.jsonl", "rerank.jsonl"):
        (tmp_path / name).write_text(JSONL, encoding="utf-8")
    with pytest.raises(RunFileError, match=r"is a folder of different files \(base.jsonl, rerank.jsonl\)"):
        read_runs(tmp_path)


def saved(folder: Path, *shards: list[dict[str, Any]]) -> Path:
    """A data set as Hugging Face's `save_to_disk` keeps it."""
    folder.mkdir(parents=True)
    names = [f"data-{number:05}-of-{len(shards):05}.arrow" for number in range(len(shards))]
    for name, rows in zip(names, shards, strict=True):
        table = pa.Table.from_pylist(rows)
        with pa.OSFile(str(folder / name), "wb") as out, pa.ipc.new_stream(out, table.schema) as stream:
            stream.write_table(table)
    (folder / "dataset_info.json").write_text("{}", encoding="utf-8")
    state = {"_data_files": [{"filename": name} for name in names], "_split": None}
    (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")
    return folder


def test_a_saved_data_set_of_hugging_face_is_read(tmp_path: Path) -> None:
    result = read_runs(saved(tmp_path / "set", ROWS[:1], ROWS[1:]))
    assert read(result) == EXPECTED
    assert result.runs[0].name == "set"


def test_each_split_of_a_saved_data_set_is_a_run(tmp_path: Path) -> None:
    for split, rows in (("train", ROWS), ("test", ROWS[:1])):
        saved(tmp_path / "set" / split, rows)
    (tmp_path / "set" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}', encoding="utf-8")
    runs = read_runs(tmp_path / "set").runs
    assert [(run.name, run.config, len(run.samples)) for run in runs] == [
        ("set/train", {"split": "train"}, 2),
        ("set/test", {"split": "test"}, 1),
    ]
    assert preview(tmp_path / "set").columns


@pytest.mark.parametrize("name", ["../other.arrow", "/etc/passwd", "..", "a\\b", 3, None])
def test_a_data_set_that_names_files_elsewhere_is_rejected(tmp_path: Path, name: Any) -> None:
    folder = saved(tmp_path / "set", ROWS)
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": name}]}), encoding="utf-8")
    with pytest.raises(RunFileError, match=r"state\.json: _data_files: lists .+, expected the name of a file"):
        read_runs(folder)


def test_arrow_files_are_read_and_damaged_ones_refused(tmp_path: Path) -> None:
    table = pa.Table.from_pylist(ROWS)
    path = tmp_path / "run.arrow"
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, table.schema) as file:
        file.write_table(table)
    assert read(read_runs(path)) == EXPECTED
    for content in (path.read_bytes()[:-30], JSONL.encode()):
        path.write_bytes(content)
        with pytest.raises(RunFileError, match=r"run\.arrow: not readable as Arrow \(.+\)$"):
            read_runs(path)


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
@pytest.mark.parametrize("encoded", [False, True])
@pytest.mark.parametrize("writer", [pa.ipc.new_stream, pa.ipc.new_file])
def test_a_compressed_arrow_file_is_rejected_before_it_is_unpacked(
    tmp_path: Path, compression: str, encoded: bool, writer: Any
) -> None:
    texts = pa.array(["x" * 2**20] * 64)
    table = pa.table({"question": texts.dictionary_encode() if encoded else texts})
    path = tmp_path / "run.arrow"
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.OSFile(str(path), "wb") as out, writer(out, table.schema, options=options) as file:
        file.write_table(table)
    del texts, table
    before = pa.total_allocated_bytes()
    with pytest.raises(RunFileError, match=r"run\.arrow: is a compressed Arrow file; write it as Parquet"):
        read_runs(path)
    assert pa.total_allocated_bytes() - before < 2**20


@pytest.mark.parametrize("separator", [";", "\t", ","])
def test_the_separator_of_a_csv_follows_from_its_header(write: Write, separator: str) -> None:
    text = 'question,"answer, short",k\n'.replace(",", separator, 1).replace('",', f'"{separator}')
    text += separator.join(["Q", '"a;b,c"', "1"]) + "\n"
    result = read_runs(write("run.csv", text))
    (sample,) = result.runs[0].samples
    assert sample.metadata == {"answer, short": "a;b,c", "k": 1}
    assert (f"the separator is {separator!r}" in result.report.notes) == (separator != ",")


def test_a_csv_as_excel_saves_it_in_europe_is_read_and_the_report_says_so(write: Write) -> None:
    text = "question;answer\nOù est l\u2019\u00e9t\u00e9 ?;Là-bas \u2013 5 \u20ac\n"
    result = read_runs(write("run.csv", text.encode("cp1252")))
    (sample,) = result.runs[0].samples
    assert (sample.question, sample.answer) == ("Où est l\u2019\u00e9t\u00e9 ?", "Là-bas \u2013 5 \u20ac")
    assert result.report.encoding == "windows-1252"
    assert any(note.startswith("not UTF-8: read as Windows-1252") for note in result.report.notes)


@pytest.mark.parametrize(
    "content",
    [
        b"question\n" + bytes(range(0xC0, 0x100)),
        "question\n橋はいつ開通しましたか\n".encode("shift-jis"),
        "question\nça va\n".encode() + b"\xe9t\xe9\n",
    ],
)
def test_other_encodings_and_damaged_text_are_rejected_not_guessed(write: Write, content: bytes) -> None:
    with pytest.raises(RunFileError, match=r"is not utf-8, expected UTF-8 or UTF-16 \(save the file as UTF-8\)$"):
        read_runs(write("run.csv", content))


STREAMS = [
    (JSONL.encode(), 2),
    (JSONL.splitlines()[0].encode(), 1),
    (json.dumps({"samples": ROWS}).encode(), 2),
    (json.dumps(ROWS, indent=1).encode(), 2),
    (b"\n question,answer\nQ,A\n", 1),
    (b"question\tanswer\nQ\tA\n", 1),
    (gzip.compress(JSONL.encode()), 2),
]


@pytest.mark.parametrize(("content", "samples"), STREAMS)
def test_the_format_of_a_stream_follows_from_its_content(content: bytes, samples: int) -> None:
    result = read_runs(io.BytesIO(content))
    assert len(result.runs[0].samples) == samples
    assert (result.runs[0].name, result.runs[0].source, result.report.path) == ("stdin", "stdin", "stdin")


def test_a_parquet_stream_is_read() -> None:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), out)
    assert read(read_runs(io.BytesIO(out.getvalue()))) == EXPECTED


def test_errors_of_a_stream_name_it() -> None:
    with pytest.raises(RunFileError, match=r"^stdin:2: not JSON"):
        read_runs(io.BytesIO(b'{"question": "Q"}\n{"question"'))


def test_a_dash_on_the_command_line_is_standard_input(tmp_path: Path) -> None:
    for command in (["import", "-"], ["evaluate", "-", "--metrics", "faithfulness", "--name", "second"]):
        done = CliRunner().invoke(main, [*command, "--store", str(tmp_path / "store")], input=JSONL)
        assert done.exit_code == 0, done.output
    assert "second" in done.output


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A server of the test's folder on this machine."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(tmp_path))) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


def test_an_address_is_downloaded_and_its_key_is_shown_nowhere(server: str, write: Write) -> None:
    write("run.jsonl.gz", gzip.compress(JSONL.encode()))
    result = read_runs(f"{server.replace('//', '//user:secret@')}/run.jsonl.gz?key=secret")
    assert read(result) == EXPECTED
    assert (result.runs[0].name, result.runs[0].source) == ("run", f"{server}/run.jsonl.gz")
    with pytest.raises(RunFileError, match=rf"^{server}/none\.jsonl: cannot be downloaded \(404, .*\)$"):
        read_runs(f"{server}/none.jsonl?key=secret")
    write("bad.jsonl", "{")
    with pytest.raises(RunFileError, match=rf"^{server}/bad\.jsonl:1: not JSON"):
        read_runs(f"{server}/bad.jsonl?key=secret")


def test_a_download_is_bounded(server: str, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragboard.readers.sources.MAX_UNPACKED", 2**20)
    write("run.jsonl", "\n" * (3 * 2**20))
    with pytest.raises(RunFileError, match=r"run\.jsonl: is larger than"):
        read_runs(f"{server}/run.jsonl")


def test_an_address_that_cannot_be_reached_is_rejected_in_one_line() -> None:
    with pytest.raises(
        RunFileError, match=r"^http://127\.0\.0\.1:9/run\.jsonl: cannot be downloaded \(.+\)$"
    ) as caught:
        read_runs("http://127.0.0.1:9/run.jsonl?key=secret")
    assert "secret" not in str(caught.value)
    with pytest.raises(RunFileError, match="has several URLs; expected one"):
        read_runs("https://x/a.zip::file:///etc/passwd")


@pytest.mark.parametrize("missing", ["fsspec", "s3fs"])
def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    real = builtins.__import__

    def refuse(name: str, *given: Any, **named: Any) -> Any:
        if name.partition(".")[0] == missing:
            raise ImportError(name)
        return real(name, *given, **named)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(RunFileError, match=r"is a URL; to read URLs, run: pip install 'ragboard\[remote\]'$"):
        read_runs("s3://bucket/run.jsonl")
