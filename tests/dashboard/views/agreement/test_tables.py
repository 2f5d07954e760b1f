"""Tests of the data for the components of the Agreement page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragboard import EmbeddedJudge, Panel, Store
from ragboard.human.agree import agree
from ragboard.human.agreement import find_agreement, item_detail, load_agreement, load_item_texts
from ragboard.human.grades import grade_comparisons, grade_report
from ragboard.human.preferences import pair_comparisons, preference_report
from ragboard.readers.labels import read_labels
from ragboard.sample_files import sample_folder
from ragboard_dashboard.views.agreement.items import grade_rows, pair_rows, pair_view_data
from ragboard_dashboard.views.agreement.tables import MEASURES, grades_data, pairs_data, plots_data, votes_data

HOSTILE = "<img src=x>\u202e"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder: Path = tmp_path_factory.mktemp("agreement")
    store = Store(folder / "store")
    graded = folder / "graded.jsonl"
    rows = [
        {
            "id": f"{HOSTILE}{number}",
            "question": f"{HOSTILE}{number // 2}?",
            "answer": "It is red." if number % 3 else "It was blue.",
            "contexts": ["It is red."],
            "grades": {"faithfulness": [4 if number % 3 else 1, 3 if number % 3 else 2]},
            "scores": {HOSTILE: number / 30},
        }
        for number in range(30)
    ]
    graded.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for path in (graded, sample_folder() / "labels" / "pairs.jsonl"):
        agree(store, read_labels(str(path)), Panel(judge=EmbeddedJudge()))
    return store


def test_every_scorer_has_a_cell_for_each_dimension_within_the_scale(store: Store) -> None:
    data = pairs_data(preference_report(load_agreement(store, find_agreement(store, "pairs"))))
    assert [column["title"] for column in data["columns"]] == ["Faithfulness", "Answer relevance", "Context relevance"]
    assert [row["kind"] for row in data["rows"]] == ["metric", *["trivial"] * 3, *["published"] * 3]
    for row in data["rows"]:
        assert len(row["cells"]) == 3
        for cell in row["cells"]:
            assert 0 <= cell["value"] <= 1
            assert cell["low"] is None or cell["low"] <= cell["value"] <= cell["high"]
    assert data["rows"][0]["cells"][0]["notes"][0].startswith("30 pairs")
    assert data["rows"][-1]["note"] == "published for another model; not reproduced here"


def test_votes_that_only_name_a_side_draw_no_table_of_correlations(store: Store) -> None:
    assert votes_data(preference_report(load_agreement(store, find_agreement(store, "pairs"))), "pearson") is None


def test_grades_are_drawn_with_people_as_the_ceiling_and_nothing_steers_the_page(store: Store) -> None:
    report = grade_report(load_agreement(store, find_agreement(store, "graded")))
    data = grades_data(report)
    assert [column["title"] for column in data["columns"]] == list(MEASURES)
    assert data["rows"][0]["kind"] == "people"
    assert all(column["people"] is not None for column in data["columns"])
    assert "\u202e" not in json.dumps(data, ensure_ascii=False)
    shown = plots_data(report.lines[0], report.annotators)
    assert [plot["title"] for plot in shown["plots"]] == ["ROC", "Calibration"]
    assert shown["plots"][0]["line"][-1] == (1.0, 1.0)
    assert [mark["kind"] for mark in shown["plots"][0]["marks"]] == ["dot", "person"]
    assert sum(int(cell) for row in shown["counts"]["rows"] for cell in row[1:]) == 30


def test_items_link_to_themselves_and_say_what_became_of_them(store: Store) -> None:
    kept = find_agreement(store, "pairs")
    verdicts = pair_comparisons(load_agreement(store, kept), "faithfulness", "ragas")
    rows = pair_rows(verdicts, load_item_texts(store, kept, [one.position for one in verdicts]), {"agreement": "pairs"})
    assert {row["change"] for row in rows} == {"✕ wrong", "= tied", "✓ right"}
    assert rows[0]["change"] == "✕ wrong"
    assert rows[0]["href"].startswith("agreement?agreement=pairs&item=q")
    assert {row["a"]["shown"] for row in rows} == {"A", "B"}
    kept = find_agreement(store, "graded")
    graded = grade_comparisons(load_agreement(store, kept), "faithfulness", "shorter")
    found = grade_rows(graded, load_item_texts(store, kept, [one.position for one in graded]), {})
    assert {row["change"].split()[0] for row in found} <= {"▲", "▼", "="}
    assert found[0]["b"]["shown"].startswith("-")
    assert not any("\u202e" in row["question"] + row["where"] for row in found)


def test_a_pair_is_opened_with_both_sides_whole_and_shared_passages_once(store: Store) -> None:
    kept = find_agreement(store, "pairs")
    found = item_detail(store, kept, "q01:faithfulness")
    data = pair_view_data(found)
    for side, sample in zip(("a", "b"), found.samples, strict=True):
        assert "".join(part["text"] for part in data[side]["words"]).split() == (sample.answer or "").split()
    assert [group["title"] for group in data["groups"]] == ["Passages: 1"]
    contexts = pair_view_data(item_detail(store, kept, "q01:context_relevance"))
    assert (contexts["a"]["title"], contexts["groups"]) == ("Passages of A", [])
