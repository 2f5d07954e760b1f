"""Tests of the time of a question."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

import ragboard
from ragboard.api import read_run
from ragboard.readers import read_runs
from ragboard.records import JsonValue
from ragboard.store import Store

MAY = datetime(2026, 5, 4, 10, 30)  # noqa: DTZ001 - times of samples are in UTC, without a time zone


@pytest.mark.parametrize(
    ("column", "value", "time"),
    [
        ("time", "2026-05-04T10:30:00", MAY),
        ("timestamp", "2026-05-04T12:30:00+02:00", MAY),
        ("created_at", "2026-05-04 10:30:00Z", MAY),
        ("timestamp", MAY.replace(tzinfo=UTC).timestamp(), MAY),
        ("timestamp", MAY.replace(tzinfo=UTC).timestamp() * 1000, MAY),
        ("timestamp", int(MAY.replace(tzinfo=UTC).timestamp()) * 10**9, MAY),
        ("time", 1.25, None),
        ("time", "2.5 s", None),
        ("time", "0001-01-01T00:00:00+23:59", None),
        ("timestamp", -(10**30), None),
        ("timestamp", [2026], None),
        ("asked", "2026-05-04T10:30:00", None),
    ],
)
def test_time_of_a_row(column: str, value: JsonValue, time: datetime | None, tmp_path: Path) -> None:
    run, report = read_run([{"question": "Why?", "answer": "So.", column: value}], name="run")
    assert run.samples[0].time == time
    assert run.samples[0].metadata == {column: value}, "the column stays as it was"
    store = Store(tmp_path)
    (added,) = store.add_runs([run])
    ((_, stored),) = store.samples(added.id)
    assert stored.time == time
    assert not report.coerced


def test_the_time_of_a_log_entry_is_in_utc(tmp_path: Path) -> None:
    ragboard.log("chat", question="Why?", time=MAY, store=tmp_path)
    ragboard.log("chat", question="When?", time=MAY.replace(tzinfo=timezone(timedelta(hours=2))), store=tmp_path)
    before = datetime.now(UTC).replace(tzinfo=None)
    ragboard.log("chat", question="Now?", store=tmp_path)
    store = Store(tmp_path)
    asked, earlier, now = (sample.time for _, sample in store.samples(store.resolve("chat").run_id))
    assert (asked, earlier) == (MAY, MAY - timedelta(hours=2))
    assert now is not None
    assert before <= now <= datetime.now(UTC).replace(tzinfo=None)


def test_the_time_does_not_change_the_id_of_a_run(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text('{"question": "Why?", "answer": "So.", "timestamp": "2026-05-04T10:30:00"}\n', encoding="utf-8")
    (run,) = read_runs(file).runs
    assert run.samples[0].time == MAY
    (added,) = Store(tmp_path / "store").add_runs([run])
    assert added.id == "34afb2b9b03b", "the id it had before samples had times"
