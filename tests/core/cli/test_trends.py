"""Tests of `ragboard trend`."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from click.testing import CliRunner, Result
from tests.core.analysis.test_monitoring import steady
from tests.core.conftest import make_run
from tests.core.readers.formats.traces import START, openinference, request
from tests.core.traffic import Day, add_traffic

from ragboard import Store
from ragboard.analysis import set_threshold
from ragboard.cli import main
from ragboard.errors import ExitCode

CHAT = "chat (production)"


def trend(store: Store, *words: str) -> Result:
    return CliRunner().invoke(main, ["trend", *words, "--store", str(store.folder)])


def test_the_state_comes_first_then_changes_and_days(store: Store) -> None:
    add_traffic(store, steady(0, 30))
    add_traffic(store, steady(30, 40, 0.5), name="chat 1.1 (production)", version="1.1")
    set_threshold(store, "ragas.faithfulness", 0.3)
    lines = trend(store, CHAT, "faithfulness", "--days", "12").stdout.splitlines()
    assert lines[0].startswith("▼ got worse: Faithfulness of chat (production) fell by 0.")
    assert lines[1:3] == ["  judge: plain", "  threshold: at least 0.3"]
    assert lines[3].startswith("  change: fell by 0.")
    assert lines[4] == "  configuration: 2026-10-07 chat 1.1 (production): version 1.0 to 1.1"
    assert lines[5].startswith("  last 7 days compared with the 7 days before: -0.")
    assert lines[7].split() == ["day", "mean", "(95%", "CI)", "n", "unscored"]
    days = lines[8:20]
    assert len(days) == 12
    assert sum("new: chat 1.1 (production)" in line for line in days) == 1
    weeks = trend(store, "chat 1.1 (production)", "--days", "60").stdout
    assert "week from" in weeks


def test_groups_and_new_statements(store: Store) -> None:
    days = [
        Day([1.0] * 6, day, metadata=[{"topic": "a\x1b[0m"}, {"topic": "b"}] * 3, statements=[["It is old."]] * 6)
        for day in (0, 10)
    ]
    add_traffic(store, days)
    said = trend(store, CHAT, "--by", "topic").stdout
    assert "\x1b" not in said
    assert "compared with the 7 days before (p: Holm)" in said
    assert "0 of 1 unsupported statements since 2026-09-10 are new compared with the 28 days before" in said


def test_a_file_of_traces_is_a_trend(store: Store, tmp_path: Path) -> None:
    day = 24 * 3600 * 1000
    spans = [
        span
        for number in range(40)
        for span in openinference(
            number + 1, f"When, {number}?", "In 1931.", ["The mill closed in 1931."], at=number * day // 20, session=""
        )
    ]
    path = tmp_path / "traces.json"
    path.write_text(json.dumps(request(*spans, service__name="chat")), encoding="utf-8")
    words = ("evaluate", str(path), "--metrics", "faithfulness", "--dataset", CHAT, "--store", str(store.folder))
    done = CliRunner().invoke(main, words)
    assert done.exit_code == ExitCode.DONE, done.output
    found = json.loads(trend(store, CHAT, "--json").stdout)
    days = found["trend"]["days"]
    start = datetime.fromtimestamp(START / 1e9, UTC).date()
    assert [one["start"][:10] for one in days] == [str(start + timedelta(days=later)) for later in range(3)]
    assert sum(one["n"] for one in days) == 40


def test_json(store: Store) -> None:
    add_traffic(store, steady(0, 9))
    found = json.loads(trend(store, CHAT, "--json").stdout)
    assert found["trend"]["state"]["state"] == "ok"
    assert found["trend"]["state"]["until"] == "2026-09-15"
    assert len(found["trend"]["days"]) == 9
    assert found["new_statements"]["total"] == 0


def test_runs_without_times_are_compared_from_run_to_run(store: Store) -> None:
    store.add_runs([make_run("a")])
    assert "is evaluated yet" in trend(store, "a").stdout
    missing = trend(store, "nothing")
    assert missing.exit_code == ExitCode.NOT_FOUND
    assert "no dataset or run is called 'nothing'" in missing.stderr
