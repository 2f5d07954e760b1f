"""Browser tests of uploading a file, and of page security: no request to other hosts, no script from data."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import Request, expect
from tests.browser.conftest import OpenPage, choose, settled

from ragboard import DEFAULT_METRICS, EmbeddedJudge, Panel, Run, Store, evaluate_run, read_runs
from ragboard.metrics import metrics_named

ROWS = [
    {
        "id": "bridge",
        "question": "When did the bridge open?",
        "answer": "The bridge opened in July 2000. It cost 9 million euros.",
        "contexts": ["The bridge opened to traffic on 1 July 2000.", "A toll is paid at the western end."],
    },
    {
        "id": "mill",
        "question": "Who owns the mill?",
        "answer": "I don't know.",
        "contexts": ["The mill stands by the river."],
    },
]
CHECKED = {
    "query_id": "1",
    "query": "When did the bridge open?",
    "gt_answer": "It opened in 2000.",
    "response": "It opened in 2000. It is red.",
    "retrieved_context": [{"doc_id": "a", "text": "Opened in 2000."}, {"doc_id": "b", "text": "A toll is paid."}],
    "response_claims": ["It opened in 2000.", "It is red."],
    "gt_answer_claims": ["It opened in 2000."],
    "answer2response": ["Entailment", "Neutral"],
    "response2answer": ["Entailment"],
    "retrieved2response": [["Entailment", "Neutral"], ["Neutral", "Neutral"]],
    "retrieved2answer": [["Entailment", "Neutral"]],
    "metrics": {"precision": 0.25},
}
PAGES = ("/", "/run", "/sample", "/upload")
HOSTILE = (
    '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script> ![x](https://example.com/x.png)'
    " [link](javascript:window.hacked=1) $\\frac{1}{2}$ :red[red] :material/delete: \u202egnp.exe \u0000 **bold**"
)


def keep(store: Store, run: Run) -> None:
    added = store.add_runs([run])[0]
    evaluate_run(store, added.id, DEFAULT_METRICS, Panel(judge=EmbeddedJudge()))


def keep_rows(store: Store, folder: Path, rows: list[dict[str, object]], name: str) -> None:
    path = folder / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    keep(store, read_runs(path, name=name).runs[0])


def test_an_uploaded_file_becomes_a_verdict_with_its_reason(
    dashboard: str, open_page: OpenPage, tmp_path: Path
) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    page = settled(open_page(f"{dashboard}/upload"))
    page.set_input_files("input[type=file]", str(file))
    expect(page.get_by_text("question from question", exact=False)).to_be_visible()
    page.get_by_text("Name, configuration, several runs in one file").click()
    page.get_by_role("textbox", name="Run name").fill("first light")
    page.get_by_role("textbox", name="Configuration").fill("k=2")
    page.keyboard.press("Tab")
    settled(page).get_by_role("button", name="Import and evaluate").click()
    page.wait_for_url("**/run?*")
    expect(page.get_by_role("heading", name="first light")).to_be_visible()
    page.locator("#samples tbody").get_by_role("link").first.click()
    page.wait_for_url("**/sample?*")
    unsupported = page.get_by_role("option").filter(has_text="unsupported")
    expect(unsupported).to_contain_text("It cost 9 million euros.")
    expect(unsupported).to_contain_text("no passage")
    unsupported.click()
    page.wait_for_url("**statement=2*")


def test_ids_with_two_underscores_are_opened_and_their_statements_chosen(
    store: Store, dashboard: str, open_page: OpenPage, tmp_path: Path
) -> None:
    rows = [row | {"id": f"django__django-{n}", "re__po": "django"} for n, row in enumerate(ROWS)]
    keep_rows(store, tmp_path, rows, "swe__bench")
    page = settled(open_page(f"{dashboard}/run?run=swe__bench"))
    page.locator("#samples tbody").get_by_role("link").first.click()
    page.wait_for_url("**/sample?*django__django-0*")
    page.get_by_role("option").filter(has_text="unsupported").click()
    page.wait_for_url("**statement=2*")


def test_an_untidy_file_is_reported_before_the_run_is_opened(
    dashboard: str, open_page: OpenPage, tmp_path: Path
) -> None:
    file = tmp_path / "untidy.jsonl"
    file.write_text("\n".join(map(json.dumps, [*ROWS, ROWS[0] | {"answer": 2000}])), encoding="utf-8")
    page = settled(open_page(f"{dashboard}/upload"))
    page.set_input_files("input[type=file]", str(file))
    page.get_by_role("button", name="Import and evaluate").click()
    expect(page.get_by_role("button", name="Open the result")).to_be_visible()
    expect(page.get_by_text("duplicate id, line 3: bridge is now bridge#2")).to_be_visible()
    expect(page.get_by_text("number read as text")).to_be_visible()
    page.get_by_role("button", name="Open the result").click()
    expect(page.get_by_role("heading", name="untidy")).to_be_visible()


def test_an_address_opens_at_its_sample_and_statement(
    store: Store, dashboard: str, open_page: OpenPage, tmp_path: Path
) -> None:
    keep_rows(store, tmp_path, ROWS, "rows")  # type: ignore[arg-type]
    page = open_page(f"{dashboard}/sample?run=rows&sample=bridge&statement=2")
    expect(page.get_by_role("option", selected=True)).to_contain_text("9 million")
    page.goto(f"{dashboard}/sample?run=rows&statement=99")
    expect(page.get_by_text("Click a statement to see its evidence")).to_be_visible()
    expect(settled(page).locator("[data-testid=stException]")).to_have_count(0)


def test_a_file_that_cannot_be_read_is_reported_on_the_page_and_nothing_is_stored(
    store: Store, dashboard: str, open_page: OpenPage, tmp_path: Path
) -> None:
    file = tmp_path / "torn.json"
    file.write_text('[{"question": "q"', encoding="utf-8")
    page = settled(open_page(f"{dashboard}/upload"))
    page.set_input_files("input[type=file]", str(file))
    expect(page.get_by_text("Nothing was stored")).to_be_visible()
    expect(page.get_by_text("torn.json:1: not JSON")).to_be_visible()
    with store.database.read() as connection:
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (0,)


def test_a_column_can_be_matched_by_hand(dashboard: str, open_page: OpenPage, tmp_path: Path) -> None:
    file = tmp_path / "frage.csv"
    file.write_text("frage,answer\nWann?,Im Jahr 2000.\n", encoding="utf-8")
    page = settled(open_page(f"{dashboard}/upload"))
    page.set_input_files("input[type=file]", str(file))
    expect(page.get_by_text("choose the column with the question")).to_be_visible()
    choose(page, "Which column holds the question?", "frage: Wann?")
    expect(page.get_by_text("question from frage", exact=False)).to_be_visible()
    page.get_by_role("button", name="Import only").click()
    expect(page.get_by_text("Imported 1 sample")).to_be_visible()


def test_a_path_into_a_column_can_be_typed(dashboard: str, open_page: OpenPage, tmp_path: Path) -> None:
    file = tmp_path / "nested.jsonl"
    file.write_text('{"in": {"text": "When?"}, "answer": "In 2000."}\n', encoding="utf-8")
    page = settled(open_page(f"{dashboard}/upload"))
    page.set_input_files("input[type=file]", str(file))
    for path, said in [("in.txt", "'in.txt': 'in' has text"), ("in.text", "question from in.text")]:
        box = settled(page).get_by_role("combobox", name="Which column holds the question?")
        box.click()
        box.press("ControlOrMeta+a")
        box.press_sequentially(path, delay=50)
        box.press("Enter")
        expect(page.get_by_text(said, exact=False)).to_be_visible()
    settled(page).get_by_role("button", name="Import only").click()
    expect(page.get_by_text("Imported 1 sample")).to_be_visible()


def test_the_first_samples_are_shown_as_they_will_be_read_with_every_change_of_the_columns(
    dashboard: str, open_page: OpenPage, tmp_path: Path
) -> None:
    hostile = "<img src=x onerror=\"document.title='broken'\">**bold**"
    row = {
        "in": {"messages": [{"role": "user", "content": "Which bridge?"}, {"role": "user", "content": hostile}]},
        "out": {"text": "In 2000.", "draft": hostile, "docs": [{"text": "x" * 1000, "id": "guide"}, {"text": "Red."}]},
        "gold": "In July 2000.",
    }
    file = tmp_path / "nested.jsonl"
    bad = {"in": {"messages": 3}, "out": {}, "gold": None}
    file.write_text("\n".join(map(json.dumps, [*[row] * 3000, bad])), encoding="utf-8")
    page = settled(open_page(f"{dashboard}/upload"))
    page.set_input_files("input[type=file]", str(file))
    first = page.get_by_role("region", name="First 3 samples as they will be read").get_by_role("article").first

    def type_path(field: str, path: str) -> None:
        box = settled(page).locator(f".st-key-map-{field}").get_by_role("combobox")
        box.click()
        box.press("ControlOrMeta+a")
        box.press_sequentially(path)
        box.press("Enter")

    type_path("question", "in.messages[-1].content")
    expect(first).to_contain_text(f"Question{hostile}Answernot in the file")
    type_path("answer", "out.draft")
    expect(first).to_contain_text(f"Answer{hostile}Passagesnot in the file")
    type_path("answer", "out.text")
    expect(first).to_contain_text("AnswerIn 2000.Passagesnot in the file")
    type_path("contexts", "out.docs")
    expect(first.get_by_role("listitem")).to_have_text([f"guide {'x' * 400}… 600 more characters", "Red."])
    type_path("contexts", "out.docs[].text")
    expect(first.get_by_role("listitem")).to_have_text([f"{'x' * 400}… 600 more characters", "Red."])
    type_path("reference", "gold")
    expect(first).to_contain_text("ReferenceIn July 2000.")
    type_path("history", "in.messages")
    expect(first).to_contain_text("Earlier turnsuser Which bridge?")
    expect(page.get_by_text("nested.jsonl:3001: ")).to_be_visible()
    expect(page).not_to_have_title("broken")


def outside(requests: list[str], dashboard: str) -> list[str]:
    return [
        url for url in requests if url.startswith(("http", "ws")) and urlsplit(url).netloc != urlsplit(dashboard).netloc
    ]


def test_scores_of_the_file_and_classes_of_claims_are_set_apart(
    store: Store, dashboard: str, open_page: OpenPage, tmp_path: Path
) -> None:
    path = tmp_path / "checked.json"
    path.write_text(json.dumps({"results": [CHECKED]}), encoding="utf-8")
    added = store.add_runs(read_runs(path).runs)[0]
    evaluate_run(store, added.id, metrics_named(["ragchecker"]), Panel(judge=EmbeddedJudge()))
    page = settled(open_page(f"{dashboard}/run?run=checked"))
    expect(page.get_by_text("Scores from the run file, not computed by ragboard:")).to_be_visible()
    expect(page.get_by_text("0.25 Precision (RAGChecker file)")).to_be_visible()
    page.get_by_text("1 of 2 statements are in the reference").click()
    expect(page.get_by_text("1 neither in the reference nor in any single passage")).to_be_visible()
    page = settled(open_page(f"{dashboard}/sample?run=checked&sample=1&statement=1"))
    expect(page.get_by_role("option").first).to_contain_text("supported by one passage")
    expect(page.get_by_role("option").first).to_contain_text("Also in the reference.")
    expect(page.get_by_role("status").first).to_contain_text("not against all together")
    assert page.get_by_text("not judged", exact=True).count() == 0


def test_no_request_leaves_for_another_host(store: Store, dashboard: str, open_page: OpenPage, tmp_path: Path) -> None:
    hostile = ROWS[0] | {"question": HOSTILE, "answer": HOSTILE, "contexts": [HOSTILE]}
    keep_rows(store, tmp_path, [*ROWS, hostile], "rows")  # type: ignore[list-item]
    requests: list[str] = []

    def note(request: Request) -> None:
        requests.append(request.url)

    page = open_page("about:blank")
    page.on("request", note)
    page.on("websocket", lambda socket: requests.append(socket.url))
    for path in (*PAGES, "/sample?run=rows&sample=bridge&statement=1"):
        page.goto(dashboard + path)
        settled(page)
    assert len(requests) > 20
    assert outside(requests, dashboard) == []


@pytest.fixture
def hostile(store: Store, tmp_path: Path) -> Callable[[], None]:
    def fill() -> None:
        rows: list[dict[str, object]] = [
            {
                "id": f"../{HOSTILE}/{n}",
                "question": HOSTILE,
                "answer": f"{HOSTILE} {'w' * 5000}. The tower {n} is red.",
                "contexts": [{"id": HOSTILE, "text": HOSTILE}],
                "reference": HOSTILE,
                HOSTILE: HOSTILE,
                "cost": n,
            }
            for n in range(3)
        ]
        rows.append(
            {"id": "big", "question": "big", "answer": "The tower is red. " * 10_000, "contexts": ["The tower is red."]}
        )
        keep_rows(store, tmp_path, rows, HOSTILE)

    return fill


def test_hostile_text_is_plain_text_on_every_page(
    hostile: Callable[[], None], dashboard: str, open_page: OpenPage
) -> None:
    hostile()
    name, sample = quote(HOSTILE), quote(f"../{HOSTILE}/0")
    for path in (
        "/",
        f"/run?run={name}",
        f"/sample?run={name}&sample={sample}",
        f"/sample?run={name}&sample=big",
        "/upload",
    ):
        page = settled(open_page(dashboard + path))
        page.on("dialog", lambda dialog: pytest.fail(f"a dialog opened: {dialog.message}"))
        assert page.evaluate("window.hacked") is None, path
        assert page.locator("[data-testid=stException]").count() == 0, path
        assert (
            page.evaluate(
                "document.querySelectorAll('[data-testid=stMain] img[src=x], [data-testid=stMain] .katex').length"
            )
            == 0
        )
        if path != "/upload" and "sample=big" not in path:
            expect(page.get_by_text("<img src=x", exact=False).first).to_be_visible()


def test_the_command_line_works_while_the_dashboard_is_open(
    store: Store, dashboard: str, open_page: OpenPage, tmp_path: Path
) -> None:
    page = settled(open_page(dashboard))
    file = tmp_path / "later.jsonl"
    file.write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    command = [sys.executable, "-m", "ragboard", "evaluate", str(file), "--store", str(store.folder)]
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0
    page.reload()
    expect(page.get_by_role("link", name="later")).to_be_visible()
