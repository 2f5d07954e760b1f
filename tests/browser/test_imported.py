"""Browser tests of another tool's verdicts on Upload, Sample, Hallucinations, Compare and Agreement."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import expect
from tests.browser.conftest import OpenPage, settled
from tests.core.readers.formats.test_ragas import ROW, run_tree

from ragboard import DEFAULT_METRICS, EmbeddedJudge, Panel, Store, evaluate_run, read_runs
from ragboard.human.labels import label_statement

QUESTIONS = [f"{ROW['user_input']} ({number})" for number in range(8)]


def traces(folder: Path) -> Path:
    """What ragas' judge said of eight answers, one statement supported and one not in each."""
    path = folder / "traces.json"
    path.write_text(json.dumps(run_tree([{**ROW, "user_input": question} for question in QUESTIONS])))
    return path


def test_an_uploaded_trace_shows_the_verdicts_of_its_judge(dashboard: str, open_page: OpenPage, tmp_path: Path) -> None:
    page = settled(open_page(f"{dashboard}/upload"))
    page.set_input_files("input[type=file]", str(traces(tmp_path)))
    expect(page.get_by_text("the verdicts of its judge on 24 statements")).to_be_visible()
    page.get_by_role("button", name="Import only").click()
    page.get_by_role("link", name="Open the run").or_(page.get_by_role("button", name="Open the run")).click()
    page.wait_for_url("**/run?*")
    page.locator("#samples tbody").get_by_role("link").first.click()
    page.wait_for_url("**/sample?*")
    unsupported = page.get_by_role("option").filter(has_text="unsupported")
    expect(unsupported).to_contain_text("Its wheel is iron.")
    expect(unsupported).to_contain_text("The wheel is oak.")
    expect(page.get_by_text("judged by ragas (file)")).to_be_visible()
    expect(page.get_by_text("these scores and verdicts come from the run file")).to_be_visible()


def test_the_tools_verdicts_are_shown_next_to_ours(
    store: Store, dashboard: str, open_page: OpenPage, tmp_path: Path
) -> None:
    (run,) = read_runs(traces(tmp_path)).runs
    (added,) = store.add_runs([run])
    tool = store.resolve(run.name)
    for number, sample in enumerate(run.samples):
        for statement, verdict in ((1, "supported"), (2, "supported" if number < 3 else "unsupported")):
            label_statement(store, tool, sample.id, statement, verdict, annotator="Ada", queue="random")  # type: ignore[arg-type]
    evaluate_run(store, added.id, DEFAULT_METRICS, Panel(judge=EmbeddedJudge()))

    page = settled(open_page(f"{dashboard}/hallucinations?runs={run.name}@ragas (file)"))
    expect(page.get_by_text("Its wheel is iron.").first).to_be_visible()
    page.goto(f"{dashboard}/compare")
    expect(page.get_by_text("different judges").first).to_be_visible()
    expect(page.get_by_text("Faithfulness").first).to_be_visible()
    page.goto(f"{dashboard}/agreement?agreement=run:{run.name}@{tool.evaluation_id}")
    expect(settled(page).get_by_role("heading", name="of ragas (file) be trusted?")).to_be_visible()
    page.goto(f"{dashboard}/agreement?agreement=run:{run.name}")
    expect(settled(page).get_by_text("embedded").first).to_be_visible()
