"""Tests of the Upload page: paths in its URL, and stored files."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from filelock import FileLock
from streamlit.testing.v1 import AppTest
from tests.dashboard.views.conftest import Draw, Went

from ragboard import Store
from ragboard.evaluation.progress import Progress, live_evaluation, write_progress

ROW = {"question": "When?", "answer": "It opened in 2000.", "contexts": ["It opened in July 2000."]}


def placed(journal: Path) -> None:
    """An evaluation whose process is gone, as its files tell, wherever they are."""
    journal.parent.mkdir(parents=True, exist_ok=True)
    said = {"evaluation": "e", "run": "r", "judge": "planted", "metrics": ["m"], "judging": None, "identity": {}}
    journal.with_suffix(".json").write_text(json.dumps(said), encoding="utf-8")
    progress = Progress(state="running", pid=1, done=1, total=2, started=0, updated=0)
    write_progress(journal.with_suffix(".status.json"), progress)


@pytest.mark.parametrize("watch", ["../../outside/x", "{folder}/outside/x", "x\0y", "..", "", "%2e%2e", "x" * 300])
def test_an_address_that_leads_out_of_the_store_reads_and_writes_nothing(
    draw: Draw, fresh: Store, tmp_path: Path, watch: str
) -> None:
    placed(tmp_path / "outside" / "x.jsonl")
    placed(fresh.journal_path("real"))
    before = sorted(tmp_path.rglob("*"))
    page = draw("upload", watch=watch.format(folder=tmp_path), run="r")
    assert [one.value for one in page.error] == ["The evaluation in this link is not in the store."]
    assert not page.exception
    assert sorted(tmp_path.rglob("*")) == before
    assert live_evaluation(fresh, "real") is not None


def test_progress_has_no_bar_before_the_first_sample_and_no_cost_without_calls(draw: Draw, fresh: Store) -> None:
    journal = fresh.journal_path("real")
    placed(journal)

    def drawn(done: int, calls: int = 0) -> tuple[int, str]:
        now = Progress(state="running", pid=os.getpid(), total=2, started=0, updated=0, done=done, calls=calls)
        write_progress(journal.with_suffix(".status.json"), now)
        with FileLock(journal.with_suffix(".lock"), is_singleton=False):  # as the process that judges holds it
            page = draw("upload", watch="real", run="r")
        assert not page.exception
        return len(page.get("progress")), "".join(element.proto.body for element in page.get("html"))

    bars, said = drawn(done=0)
    assert (bars, "no sample is finished yet" in said, "since the last start" in said) == (0, True, False)
    bars, said = drawn(done=1, calls=3)
    assert (bars, "since the last start" in said) == (1, True)


def upload(page: AppTest) -> AppTest:
    page.file_uploader[0].set_value(("answers.jsonl", json.dumps(ROW).encode(), "application/json"))
    return page.run()


def test_a_file_is_kept_once_it_is_imported_and_not_before(draw: Draw, fresh: Store, went: Went) -> None:
    page = upload(draw("upload"))
    assert not page.exception
    assert list(fresh.folder.rglob("answers.jsonl")) == []
    next(button for button in page.button if button.label == "Import only").click().run()
    (kept,) = fresh.folder.rglob("answers.jsonl")
    assert json.loads(kept.read_bytes()) == ROW
    fresh.remove_runs([fresh.resolve("answers").run_id])
    assert list(fresh.folder.rglob("answers.jsonl")) == []
    assert went == []
