"""Tests of the Upload page: questions about columns, and rejected files."""

from __future__ import annotations

import gzip
import io
import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from streamlit.testing.v1 import AppTest
from tests.core.readers.formats.test_ragas import ROW, run_tree
from tests.dashboard.views.conftest import SCRIPT

from ragboard import Store, readers
from ragboard.analysis import list_runs
from ragboard.human.agreement import list_agreements
from ragboard.readers import FIELDS, MEANINGS
from ragboard_dashboard import settings as served
from ragboard_dashboard.settings import ServerSettings, publish_settings

OPENED = "It opened in July 2000."
BOTH = {"question": "When did it open?", "answer": "It opened in 2000.", "response": "It opened in 1990."}


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The empty store that files are uploaded into."""
    monkeypatch.setenv(served.VARIABLE, "")
    publish_settings(ServerSettings(store=tmp_path / "store"))
    return Store(tmp_path / "store")


def uploaded(name: str, *rows: dict[str, Any]) -> AppTest:
    page = AppTest.from_string(SCRIPT.format(view="upload"), default_timeout=60).run()
    return upload(page, name, *rows)


def upload(page: AppTest, name: str, *rows: dict[str, Any]) -> AppTest:
    content = "\n".join(map(json.dumps, rows)).encode()
    return page.file_uploader[0].set_value((name, content, "application/json")).run()


def choose(page: AppTest, **columns: str | None) -> AppTest:
    for field, column in columns.items():
        page.selectbox(key=f"map-{field}").set_value(column)
    return page.run()


def labels(page: AppTest) -> list[str]:
    return [button.label for button in page.button]


def test_if_the_answer_may_be_the_reference_the_page_asks() -> None:
    page = uploaded("both.jsonl", BOTH)
    assert (page.selectbox(key="map-answer").value, page.selectbox(key="map-reference").value) == (None, None)
    assert page.selectbox(key="map-question").value == "question"
    assert [warning.value for warning in page.warning] == [
        "To continue, choose the column with the system's answer and, if there is one, the column with the reference."
    ]
    assert "Import only" not in labels(page)
    assert "Import only" not in labels(choose(page, reference="answer"))


def test_what_is_chosen_is_imported(kept: Store) -> None:
    page = choose(uploaded("chosen.jsonl", BOTH), answer="response", reference="answer")
    assert not page.warning
    next(button for button in page.button if button.label == "Import only").click()
    page.run()
    assert [success.value for success in page.success] == ["Imported 1 sample in 1 run."]
    ((_, sample),) = kept.samples(kept.resolve("chosen").run_id)
    assert (sample.answer, sample.reference) == ("It opened in 1990.", "It opened in 2000.")


def test_with_only_the_answer_chosen_there_is_no_reference(kept: Store) -> None:
    page = choose(uploaded("alone.jsonl", BOTH), answer="answer")
    next(button for button in page.button if button.label == "Import only").click()
    page.run()
    ((_, sample),) = kept.samples(kept.resolve("alone").run_id)
    assert (sample.answer, sample.reference, sample.metadata) == (
        "It opened in 2000.",
        None,
        {"response": "It opened in 1990."},
    )


def test_a_clear_file_is_not_asked_about() -> None:
    page = uploaded("clear.jsonl", {"question": "Q", "answer": "A"})
    assert page.selectbox(key="map-answer").value == "answer"
    assert "Import only" in labels(page)


def press(page: AppTest, label: str) -> AppTest:
    return next(button for button in page.button if button.label == label).click().run()


def said(page: AppTest) -> str:
    """All that the page says in words of its own."""
    return "\n".join(element.proto.body for element in (*page.markdown, *page.get("html")))


def test_a_printed_object_that_was_cut_is_rejected_before_anything_is_imported() -> None:
    row = {"question": "Q", "answer": "A", "contexts": ["Node ID: 1\nText: cut\nScore: 0.5"]}
    page = uploaded("cut.jsonl", row)
    assert [error.value for error in page.error] == ["This file cannot be imported. Nothing was stored."]
    assert "Import only" not in labels(page)
    assert page.selectbox(key="map-contexts").label == "Which column holds the passages?"
    assert "Import only" in labels(choose(page, contexts=None))


def test_every_field_that_the_command_line_maps_is_mapped_here() -> None:
    page = uploaded("clear.jsonl", {"question": "Q", "answer": "A"})
    assert {box.key.removeprefix("map-") for box in page.selectbox if (box.key or "").startswith("map-")} == {*FIELDS}
    assert {*MEANINGS} == {*FIELDS}


SAME = "The columns are matched as for first.jsonl."


def test_a_column_is_asked_for_and_the_choice_is_kept_for_files_with_the_same_columns(kept: Store) -> None:
    page = choose(uploaded("first.jsonl", {"frage": "Wann?", "id": 7}, {"id": 8}), question="frage")
    assert [error.value for error in page.error] == ["This file cannot be imported. Nothing was stored."]
    page = upload(page, "second.jsonl", {"id": 7, "frage": "Wann?"})
    assert page.selectbox(key="map-question").value == "frage"
    assert not page.warning
    assert SAME in said(page)
    press(page, "Import only")
    assert kept.resolve("second").name == "second"
    page = upload(page, "third.jsonl", {"id": 9, "frage": "Wo?"})
    assert SAME in said(page)
    assert SAME not in said(choose(page, answer="id"))
    page = upload(page, "other.jsonl", {"frage": "Wann?", "nummer": 7})
    assert page.selectbox(key="map-question").value is None


def test_a_column_that_looks_like_passages_is_offered_as_such(kept: Store) -> None:
    row = {"question": "Q", "answer": "A", "retrieved": ["It opened in July 2000."], "tags": ["red"]}
    page = uploaded("first.jsonl", row)
    assert "Column retrieved looks like the retrieved passages. Read it that way?" in said(page)
    assert "Column tags" not in said(page)
    page = press(page, "Read it as passages")
    assert "looks like" not in said(page)
    assert page.selectbox(key="map-contexts").value == "retrieved"
    press(page, "Import only")
    ((_, sample),) = kept.samples(kept.resolve("first").run_id)
    assert [passage.text for passage in sample.contexts or ()] == ["It opened in July 2000."]


def test_metadata_columns_are_not_asked_about_or_reported_again() -> None:
    row = {"question": "Q", "answer": "A", "retrieved": ["It opened in July 2000."]}
    page = press(uploaded("first.jsonl", row), "Keep it as metadata")
    assert "looks like" not in said(page)
    press(page, "Import only")
    assert page.success
    assert "--map" not in said(page)
    assert "looks like" not in said(upload(page, "second.jsonl", row))


@pytest.mark.parametrize("passages", [[OPENED], OPENED, [{"text": OPENED}]])
def test_passages_are_asked_about_before_an_import_is_offered(kept: Store, passages: object) -> None:
    page = uploaded("open.jsonl", {"question": "Q", "answer": "A", "retrieved": passages, "cost": 3})
    assert [warning.value for warning in page.warning] == [
        "To continue, choose the column with the passages. Statements are checked against them."
    ]
    assert not {"Import and evaluate", "Import only"} & {*labels(page)}
    assert "Column retrieved looks like the retrieved passages. Read it that way?" in said(page)
    press(press(page, "Read it as passages"), "Import only")
    ((_, sample),) = kept.samples(kept.resolve("open").run_id)
    assert [passage.text for passage in sample.contexts or ()] == [OPENED]


def test_a_file_without_passages_is_imported_once_a_person_says_so(kept: Store) -> None:
    page = uploaded("none.jsonl", {"question": "Q", "answer": "A", "notes": "Asked by a new customer."})
    assert "Import only" not in labels(page)
    press(press(page, "The file has no passages"), "Import only")
    ((_, sample),) = kept.samples(kept.resolve("none").run_id)
    assert sample.contexts is None


def test_a_file_is_parsed_once_however_it_is_then_read(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[Path] = []

    def counted(path: Path) -> readers.Table:
        parsed.append(path)
        return readers.tables.read_table(path)

    monkeypatch.setattr(readers, "read_table", counted)
    monkeypatch.setattr("ragboard_dashboard.views.upload.page.read_table", counted)
    page = uploaded("once.jsonl", {"frage": "Wann?", "antwort": "A", "id": 7})
    page = choose(page, question="frage", answer="antwort")
    page.text_input(key="upload-name").set_value("other").run()
    assert len(parsed) == 1


def test_a_second_run_over_the_same_questions_can_be_compared_with_the_first() -> None:
    page = press(uploaded("first.jsonl", {"question": "Q", "answer": "A"}), "Import only")
    assert [link.label for link in page.get("page_link")] == ["Open the run", "Evaluate"]
    page = press(upload(page, "second.jsonl", {"question": "Q", "answer": "B"}), "Import only")
    links = {link.label: link.query_string for link in page.get("page_link")}
    assert links == {"Open the run": "run=second", "Evaluate": "run=second", "Compare with first": "a=first&b=second"}


def test_packed_and_excel_files_are_taken_under_their_names(kept: Store) -> None:
    book, sheet = openpyxl.Workbook(), io.BytesIO()
    for row in (["question", "answer"], ["When?", "In 2000."]):
        book.active.append(row)
    book.save(sheet)
    packed = gzip.compress(b'{"question": "When?", "answer": "In 2000."}\n')
    for name, content in (("first.jsonl.gz", packed), ("second.xlsx", sheet.getvalue())):
        page = uploaded("none.jsonl", {"question": "Q"})
        page = page.file_uploader[0].set_value((name, content, "application/octet-stream")).run()
        press(page, "Import only")
        assert kept.sample_count(kept.resolve(name.partition(".")[0]).run_id) == 1


def test_invalid_rows_are_skipped_with_the_button_next_to_the_error(kept: Store) -> None:
    page = uploaded("bad.jsonl", {"question": "Q", "answer": "A"}, {"question": "Q", "answer": "A", "contexts": 3})
    page = press(page, "Skip bad rows and list them")
    assert "**1 question with answers.**" in said(page)
    press(page, "Import only")
    assert kept.sample_count(kept.resolve("bad").run_id) == 1


def test_earlier_turns_are_asked_about_and_never_guessed(kept: Store) -> None:
    turns = [{"role": "user", "content": "Which bridge?"}, {"role": "assistant", "content": "The red one."}]
    page = uploaded("talk.jsonl", {"question": "And when?", "answer": "In 2000.", "messages": turns})
    assert "Column messages looks like earlier turns. Read it that way?" in said(page)
    assert page.selectbox(key="map-history").value is None
    page = press(page, "Read it as earlier turns")
    assert "looks like" not in said(page)
    press(page, "Import only")
    ((_, sample),) = kept.samples(kept.resolve("talk").run_id)
    assert [turn.text for turn in sample.history] == ["Which bridge?", "The red one."]


def test_a_file_is_understood_and_offered_to_the_judge_that_needs_no_key(
    kept: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    page = uploaded(
        "whole.jsonl", *[{"question": f"Q{i}", "answer": f"It is {i}.", "contexts": ["It is."]} for i in "ab"]
    )
    assert "**2 questions with answers and 1 passage each.**" in said(page)
    assert "which is rule-based and needs no key: no calls to models, no cost, about" in said(page)
    assert "Nothing leaves this machine." in said(page)
    assert "Faithfulness, Answer relevance and Context relevance by a chat model: 8 calls" in said(page)
    assert not page.button_group
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-this-test")
    page = uploaded("whole.jsonl", {"question": "Q", "answer": "It is.", "contexts": ["It is."]})
    page = page.button_group(key="upload-judge").set_value("Chat model").run()
    assert "are sent to api.openai.com" in said(page)
    assert kept.version is not None


def test_what_cannot_be_scored_is_not_offered() -> None:
    page = uploaded("bare.jsonl", {"question": "Q"})
    assert "None of the default metrics can be scored" in said(page)
    assert "Import and evaluate" not in labels(page)
    assert "Import only" in labels(page)


GRADED = {"question": "When?", "contexts": ["It opened\n\n\n  in 1890."], "grades": {"faithfulness": [4, 3]}}


def test_a_file_with_human_grades_is_imported_like_any_other(kept: Store) -> None:
    page = uploaded("graded.jsonl", GRADED | {"answer": "In 1890."}, GRADED | {"answer": "In 1900."})
    assert "**2 answers to 1 question, with 1 passage each.**" in said(page)
    assert "The file has human grades for faithfulness." in said(page).replace("&#x27;", "'")
    assert [(button.label, button.proto.type) for button in page.button][:3] == [
        ("Import and evaluate", "primary"),
        ("Import and choose metrics", "secondary"),
        ("Import only", "secondary"),
    ]
    assert "It opened in 1890." in first_samples(page)
    press(page, "Import and evaluate")
    (stored,) = list_agreements(kept)
    assert (stored.agreement.source, stored.items) == ("graded.jsonl", 2)
    assert [run.name for run in list_runs(kept)] == ["graded"]


MODELS = [
    {"question": question, "answer": f"{model} says {question}.", "model": model}
    for question in ("When?", "Where?")
    for model in ("large", "small")
]


def test_a_file_with_an_answer_of_each_model_is_one_run_for_each_model_unless_the_user_wants_one(kept: Store) -> None:
    page = uploaded("both.jsonl", *MODELS)
    assert "**4 answers to 2 questions in 2 runs.**" in said(page)
    assert "One run for each model: large, small." in said(page)
    one = press(page, "Read as one run")
    assert "**4 answers to 2 questions.**" in said(one)
    assert "Read as one run" not in labels(one)
    press(uploaded("both.jsonl", *MODELS), "Import only")
    assert {run.name: kept.sample_count(run.run_id) for run in list_runs(kept)} == {"large": 2, "small": 2}


PREFERENCE = {"question": "When?", "a": "In 1890.", "b": "In 1900.", "contexts": ["It opened in 1890."]}


def test_a_file_of_preferences_is_no_run(kept: Store) -> None:
    page = uploaded("pairs.jsonl", PREFERENCE | {"dimension": "faithfulness", "preferred": "a"})
    assert "**Human preferences: 1 pair of answers or passages to 1 question.**" in said(page)
    assert not [label for label in labels(page) if label.startswith("Import")]
    press(page, "Measure agreement")
    assert [stored.agreement.source for stored in list_agreements(kept)] == ["pairs.jsonl"]
    assert not list_runs(kept)


def test_preferences_among_several_files_are_measured_and_not_imported(kept: Store) -> None:
    page = AppTest.from_string(SCRIPT.format(view="upload"), default_timeout=60).run()
    rows = [("a.jsonl", {"question": "Q", "answer": "A"}), ("pairs.jsonl", PREFERENCE | {"preferred": "a"})]
    files = [(name, json.dumps(row).encode(), "application/json") for name, row in rows]
    page = page.file_uploader[0].set_value(files).run()
    assert "**1 run file to import.**" in said(page)
    assert "pairs.jsonl: Human preferences: 1 pair" in said(page).replace("&#x27;", "'")
    press(page, "Import only")
    assert [run.name for run in list_runs(kept)] == ["a"]
    assert [stored.agreement.source for stored in list_agreements(kept)] == ["pairs.jsonl"]


def test_after_an_import_the_page_offers_to_evaluate_and_reads_nothing(kept: Store) -> None:
    page = press(uploaded("graded.jsonl", GRADED | {"answer": "In 1890."}), "Import only")
    assert kept.sample_count(kept.resolve("graded").run_id) == 1
    assert "Reading the file" not in said(page)
    assert [link.label for link in page.get("page_link")] == ["Open the run", "Evaluate"]


def test_several_files_are_imported_together(kept: Store) -> None:
    page = AppTest.from_string(SCRIPT.format(view="upload"), default_timeout=60).run()
    rows = [("a.jsonl", {"question": "Q", "answer": "A"}), ("b.jsonl", {"question": "Q", "answer": "B"})]
    files = [(name, json.dumps(row).encode(), "application/json") for name, row in rows]
    page = page.file_uploader[0].set_value(files).run()
    assert "**2 run files to import.**" in said(page)
    assert "a.jsonl: 1 question with answers." in said(page)
    page = press(page, "Import only")
    assert sorted(run.name for run in list_runs(kept)) == ["a", "b"]
    assert "Compare with" in "".join(link.label for link in page.get("page_link"))


def test_a_file_with_unclear_columns_must_be_uploaded_alone(kept: Store) -> None:
    page = AppTest.from_string(SCRIPT.format(view="upload"), default_timeout=60).run()
    rows = [("a.jsonl", {"question": "Q", "answer": "A"}), ("b.jsonl", BOTH), ("c.jsonl", {"frage": "Q"})]
    files = [(name, json.dumps(row).encode(), "application/json") for name, row in rows]
    page = page.file_uploader[0].set_value(files).run()
    assert [error.value for error in page.error] == [
        "This file cannot be imported together with others. Upload it alone."
    ] * 2
    assert "b.jsonl: it is unclear which column holds: answer, reference" in said(page)
    assert "Import only" not in labels(page)
    assert not list_runs(kept)


def test_a_column_that_is_called_like_grades_and_holds_none_is_of_a_run() -> None:
    page = uploaded("run.jsonl", {"question": "When?", "answer": "In 1890.", "human": "Ann"})
    assert "**1 question with answers.**" in said(page)
    assert "Import and evaluate" in labels(page)


def first_samples(page: AppTest) -> str:
    """The first samples as the page shows them, without markup; empty without them."""
    html = next((one.proto.body for one in page.get("html") if "<section" in one.proto.body), "")
    return unescape(re.sub("<[^>]+>", " ", html))


def test_the_first_samples_have_what_a_tool_scored_and_judged_and_only_the_rest_is_offered(kept: Store) -> None:
    page = AppTest.from_string(SCRIPT.format(view="upload"), default_timeout=60).run()
    rows = [{**ROW, "user_input": f"When did mill {number} close?"} for number in range(4)]
    content = json.dumps(run_tree(rows)).encode()
    page = page.file_uploader[0].set_value(("traces.json", content, "application/json")).run()
    shown = " ".join(first_samples(page).split())
    assert shown.startswith("First 3 samples as they will be read")
    assert "When did mill 2 close?" in shown
    assert "When did mill 3 close?" not in shown
    assert "Passages The mill closed in 1931. Its wheel is oak. Reference In 1931. Gold passages The mill" in shown
    assert "Scores faithfulness 0.50 context_recall 1.00" in shown
    assert "answer_relevancy unscored: the file has no value" in shown
    assert (
        "✓ supported It closed in 1931. ? unsupported Its wheel is iron. ✓ supported In 1931. of the reference" in shown
    )
    assert "question generated from the answer 1: What closed?" in shown
    assert "Answer relevance, Context relevance and Answer recall by the embedded judge" in said(page)
    press(page, "Import only")
    assert kept.sample_count(kept.resolve("traces").run_id) == 4


def test_the_first_samples_are_named_after_the_runs_that_a_column_makes_of_them() -> None:
    page = uploaded("runs.jsonl", *[{"question": f"Q{n}", "answer": None, "k": f"k{n}"} for n in range(2)])
    assert "Run" not in first_samples(page)
    page.selectbox(key="upload-split").set_value("k").run()
    shown = " ".join(first_samples(page).split())
    assert "Run k0 Question Q0 Answer not in the file" in shown
    assert "Run k1 Question Q1" in shown


def test_what_cannot_be_read_is_not_shown_as_a_sample() -> None:
    page = uploaded("bad.jsonl", {"question": "Q", "answer": "A", "contexts": 3}, {"question": "Q2"})
    assert first_samples(page) == ""
    assert "Q2" in first_samples(press(page, "Skip bad rows and list them"))
