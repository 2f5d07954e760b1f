"""Tests of importing in blocks: same runs, reports and errors as reading at once."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragboard import RagboardError, Store, StoreError, read_runs
from ragboard.readers import open_runs
from ragboard.sample_files import sample_folder
from ragboard.store import bulk

Row = dict[str, Any]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few rows, and a plan made from the first two."""
    monkeypatch.setattr("ragboard.readers.stream.BLOCK_BYTES", 300)
    monkeypatch.setattr("ragboard.readers.stream.FIRST_ROWS", 2)


def outcome(store: Store, file: Path, *, in_blocks: bool, **reading: Any) -> object:
    """The runs with their samples and the report of an import, or its error."""
    try:
        if in_blocks:
            added, report = store.import_file(file, min_bytes=0, **reading)
        else:
            read = read_runs(file, **reading)
            added, report = store.add_runs(read.runs), read.report
    except RagboardError as error:
        return type(error), str(error)
    stored = []
    for run in added:
        with store.database.read() as connection:
            row = connection.execute("SELECT * EXCLUDE imported FROM runs WHERE run_id = ?", [run.id]).fetchall()
            keys = connection.execute(
                "SELECT answer_key, cluster FROM samples WHERE run_id = ? ORDER BY position", [run.id]
            ).fetchall()
        stored.append((row, keys, list(store.samples(run.id))))
    return added, stored, report


def assert_same(folder: Path, file: Path, **reading: Any) -> object:
    """Both ways give the same; return what they give."""
    expected = outcome(Store(folder / "at-once"), file, in_blocks=False, **reading)
    assert outcome(Store(folder / "in-blocks"), file, in_blocks=True, **reading) == expected
    return expected


def written(folder: Path, rows: Sequence[object], name: str = "answers.jsonl") -> Path:
    """A file of these rows; a text is a line as it is."""
    file = folder / name
    file.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return file


PLAIN: list[Row] = [
    {
        "id": f"q{n}",
        "question": f"Question {n}?",
        "answer": "yes",
        "contexts": [{"id": "d", "text": "It is so."}],
        "k": n,
    }
    for n in range(20)
]


@pytest.mark.parametrize("file", sorted((sample_folder() / "runs").glob("*.jsonl")), ids=lambda file: file.name)
def test_sample_runs(tmp_path: Path, file: Path) -> None:
    assert_same(tmp_path, file)


def test_it_is_really_read_in_blocks(tmp_path: Path) -> None:
    with open_runs(written(tmp_path, PLAIN), min_bytes=0) as (stream, _):
        assert stream
        blocks = list(stream.blocks())
        assert len(blocks) > 5
        assert [sample.id for block in blocks for sample in stream.plan.read(block).samples] == [
            row["id"] for row in PLAIN
        ]


VARIANTS: dict[str, list[object]] = {
    "ids repeat": [*PLAIN, PLAIN[3], {**PLAIN[4], "id": "q3#2"}, PLAIN[3], *PLAIN],
    "no ids": [{key: cell for key, cell in row.items() if key != "id"} for row in [*PLAIN, *PLAIN]],
    "ids of some": [{**row, "id": None} if n % 3 else row for n, row in enumerate([*PLAIN, *PLAIN])],
    "a conversation": [{**row, "conversation_id": str(n // 3)} for n, row in enumerate(PLAIN)],
    "a late column of metadata": [*PLAIN, {**PLAIN[0], "id": "x", "topic": "late"}],
    "a late reference": [*PLAIN, {**PLAIN[0], "id": "x", "reference": "No."}, *PLAIN],
    "a late answer that is unclear": [*PLAIN, {**PLAIN[0], "id": "x", "model_answer": "No."}],
    "a late format of another tool": [
        *PLAIN,
        {**PLAIN[0], "user_input": "?", "response": "!", "retrieved_contexts": []},
    ],
    "no question at first": [{"note": "none"}, {"note": "none"}, *PLAIN],
    "no question at all": [{"answer": "none"}] * 9,
    "a run line": [{"run": {"name": "mine", "config": {"k": 5}, "tags": ["t"], "more": 1}}, *PLAIN],
    "a bad run line": ['{"run": {"name": "a", "name": "b"}}', *PLAIN],
    "a broken line": [*PLAIN, '{"question": ', *PLAIN],
    "a duplicate key": [*PLAIN, '{"question": "a", "question": "b"}'],
    "NaN and surrogates": [*PLAIN, '{"id": "n", "question": "a\\ud83d", "k": NaN, "answer": "\\ud83d\\ude00"}'],
    "a list": [*PLAIN, [1, 2]],
    "blocks of bad rows": [*PLAIN, *['{"question": ""}'] * 50, *PLAIN],
    "blocks without passages": [*PLAIN, *({**row, "contexts": None} for row in PLAIN), *PLAIN],
    "empty lines": ["", PLAIN[0], "  ", "\u00a0", *PLAIN[1:]],
    "only names of passages": [{**row, "contexts": ["a.pdf", "b.pdf"]} for row in PLAIN],
    "names of passages, then a text": [*({**row, "contexts": ["a.pdf"]} for row in PLAIN), PLAIN[0]],
    "passages left out in part": [{**row, "contexts": [{"text": "It is.", "page": 3}, None, 7]} for row in PLAIN],
    "nuggets": [{**row, "nuggets": ["a fact"]} for row in PLAIN],
    "scores of ragas": [
        {"user_input": f"{n}?", "response": "a", "retrieved_contexts": ["It is."], "faithfulness": 0.5}
        for n in range(9)
    ],
}


@pytest.mark.parametrize("skip_bad", [False, True], ids=["strict", "skip bad"])
@pytest.mark.parametrize("name", VARIANTS)
def test_untidy_files(tmp_path: Path, name: str, skip_bad: bool) -> None:
    assert_same(tmp_path, written(tmp_path, VARIANTS[name]), skip_bad=skip_bad)


def test_bytes_that_are_not_utf8_are_named_with_their_line(tmp_path: Path) -> None:
    file = written(tmp_path, PLAIN)
    file.write_bytes(file.read_bytes() + b'{"question": "\xff"}\n')
    _, message = assert_same(tmp_path, file)  # type: ignore[misc]
    assert "answers.jsonl:21: byte 0xff" in message


def test_a_marked_and_a_packed_file(tmp_path: Path) -> None:
    import gzip

    file = written(tmp_path, PLAIN)
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert_same(tmp_path, file)
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(written(tmp_path, [*PLAIN, "{"]).read_bytes()))
    _, message = assert_same(tmp_path / "packed", packed)  # type: ignore[misc]
    assert message.startswith(f"{packed}:21: ")


def test_options_of_an_import(tmp_path: Path) -> None:
    file = written(tmp_path, [{**row, "gold": "It is."} for row in PLAIN])
    given: Row = {"name": "n", "config": {"k": 3}, "dataset": "d", "mapping": {"reference": "gold", "answer": None}}
    assert_same(tmp_path, file, **given)
    ((added,), _) = Store(tmp_path / "tagged").import_file(file, min_bytes=0, tags=("b", "a", "b"), **given)
    with Store(tmp_path / "tagged").database.read() as connection:
        assert connection.execute("SELECT tags FROM runs WHERE run_id = ?", [added.id]).fetchone() == (["b", "a"],)


def test_importing_twice_changes_nothing_and_another_run_of_that_name_is_rejected(tmp_path: Path) -> None:
    store, file = Store(tmp_path / "store"), written(tmp_path, PLAIN)
    ((first,), _), ((again,), _) = (store.import_file(file, min_bytes=0) for _ in range(2))
    assert (first.added, again.added) == (True, False)
    assert first.id == again.id
    with pytest.raises(RagboardError, match="another run is already called 'answers'"):
        store.import_file(written(tmp_path, PLAIN[1:]), min_bytes=0)


def test_nothing_is_left_behind_by_an_import_that_fails_or_was_killed(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    staging = store.folder / "staging"
    killed = staging / f"{bulk.PREFIX}killed"
    killed.mkdir(parents=True)
    killed.with_suffix(".lock").touch()
    with pytest.raises(RagboardError, match=r"answers\.jsonl:21: "):
        store.import_file(written(tmp_path, [*PLAIN, "{"]), min_bytes=0)
    assert not list(staging.iterdir())
    assert not store.database.path.exists() or not store.runs_tagged("t")


def test_several_processes_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "BLOCK_BYTES", 300)
    monkeypatch.setattr(bulk, "available_cores", lambda: 2)
    assert_same(tmp_path, written(tmp_path, VARIANTS["ids repeat"]))
    _, message = assert_same(tmp_path / "bad", written(tmp_path, VARIANTS["a broken line"]))  # type: ignore[misc]
    assert "answers.jsonl:21: not JSON" in message


TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {"question": TEXTS | JSON},
        optional={
            "id": TEXTS | JSON,
            "answer": JSON,
            "contexts": JSON,
            "history": JSON,
            "metadata": JSON,
            "more": JSON,
        },
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=20, deadline=None)
@given(rows=ROWS, escaped=st.booleans())
def test_any_rows(tmp_path_factory: pytest.TempPathFactory, rows: list[Row], escaped: bool) -> None:
    folder = tmp_path_factory.mktemp("any")
    lines = [json.dumps(row, ensure_ascii=escaped).replace("\u2028", " ") for row in rows]
    assert_same(folder, written(folder, lines), skip_bad=True)


def end_process(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_is_killed_ends_the_import_and_nothing_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "BLOCK_BYTES", 300)
    monkeypatch.setattr(bulk, "available_cores", lambda: 2)
    monkeypatch.setattr(bulk, "_prepare", end_process)
    store = Store(tmp_path / "store")
    with pytest.raises(StoreError, match="was killed, perhaps because memory ran out; nothing was stored"):
        store.import_file(written(tmp_path, PLAIN), min_bytes=0)
    assert not list((store.folder / "staging").iterdir())
    assert not store.database.path.exists()
