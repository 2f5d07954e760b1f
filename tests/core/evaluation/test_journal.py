"""Tests of the journal: all replies are kept, a torn last line is ignored, and there is one writer."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragboard import StoreBusyError, StoreError
from ragboard.evaluation.journal import Journal, open_journal, read_entries
from ragboard.records import Span
from ragboard.tasks import Exchange, ExtractedStatement, Extraction, ExtractStatements, Failure, task_key

TASK = ExtractStatements(question="q", text="Tea is hot. Ice is not.")
REPLY = Extraction(
    statements=(ExtractedStatement(text="Tea is hot.", span=Span(start=0, end=11, how="verbatim")),), refuses=False
)
KEY = task_key(TASK, "judge/1")
OTHER = task_key(TASK, "judge/2")


def test_an_answer_is_read_back_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    with open_journal(path, {}) as journal:
        journal.put(KEY, "s1", TASK, REPLY)
        journal.put(OTHER, "s1", TASK, Failure(detail="no answer"))
        assert journal.get(KEY) == REPLY
    with open_journal(path, {}) as journal:
        assert len(journal) == 2
        assert journal.get(KEY) == REPLY
        assert journal.get(OTHER) == Failure(detail="no answer")
        assert journal.get(task_key(TASK, "judge/3")) is None


def test_calls_are_stored_with_their_reply(tmp_path: Path) -> None:
    heard = [Exchange(text="{"), Exchange(text="{}", prompt_tokens=9, completion_tokens=1, cached_tokens=4)]
    with open_journal(tmp_path / "e.jsonl", {}) as journal:
        journal.put(KEY, "s1", TASK, REPLY, heard)
        assert journal.get(KEY) == REPLY
    kept = json.loads((tmp_path / "e.jsonl").read_text("utf-8"))["heard"]
    assert [(one["said"], one["completion_tokens"]) for one in kept] == [("{", None), ("{}", 1)]
    assert read_entries(tmp_path / "e.jsonl", [0])[0].exchanges == tuple(heard)


@given(cut=st.integers(min_value=1))
def test_a_torn_last_line_loses_only_this_line(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = tmp_path_factory.mktemp("journal") / "e.jsonl"
    with open_journal(path, {}) as journal:
        journal.put(KEY, "s1", TASK, REPLY)
        whole = path.stat().st_size
        journal.put(OTHER, "s2", TASK, REPLY)
    torn = path.read_bytes()
    last = len(torn) - whole
    path.write_bytes(torn[: len(torn) - 1 - cut % last])
    with open_journal(path, {}) as journal:
        assert KEY in journal
        assert OTHER not in journal
        journal.put(OTHER, "s2", TASK, REPLY)
    assert path.read_bytes() == torn


def test_damage_in_the_middle_is_reported_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    path.write_bytes(b'{"key": "zz"}\n')
    with pytest.raises(StoreError, match="line 1 is damaged; delete the line"), open_journal(path, {}):
        pass


def test_a_second_writer_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    with (
        open_journal(path, {}),
        pytest.raises(StoreBusyError, match="another process"),
        open_journal(path, {}),
    ):
        pass


def test_the_header_tells_whose_answers_these_are(tmp_path: Path) -> None:
    with open_journal(tmp_path / "e.jsonl", {"run": "r1"}):
        pass
    assert json.loads((tmp_path / "e.json").read_text(encoding="utf-8")) == {"run": "r1"}


def test_a_folder_that_is_a_file_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "journals").write_text("in the way", encoding="utf-8")
    with pytest.raises(StoreError, match="journals"), open_journal(tmp_path / "journals" / "e.jsonl", {}):
        pass


class Narrow(io.FileIO):
    """A disk with room for so many bytes more, once."""

    room = 20

    def write(self, line: Any) -> int:
        taken, self.room = min(self.room, len(line)), 10**6
        return super().write(line[:taken])


def test_a_line_that_did_not_fit_leaves_nothing_that_damages_the_next(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    path.touch()
    with path.open("rb") as reader, Narrow(path, "ab") as writer:
        journal = Journal(path, reader, writer)
        with pytest.raises(StoreError, match=r"e\.jsonl: cannot write the journal: "):
            journal.put(KEY, "s1", TASK, REPLY)
        journal.put(OTHER, "s2", TASK, REPLY)
        assert (journal.get(KEY), journal.get(OTHER)) == (None, REPLY)
    with open_journal(path, {}) as journal:
        assert (KEY in journal, journal.get(OTHER)) == (False, REPLY)
