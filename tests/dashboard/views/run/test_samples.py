"""Tests of the table of samples: values, and escaped texts."""

from __future__ import annotations

from dataclasses import replace

from ragboard import Score, Unscored
from ragboard.analysis import SampleRow
from ragboard_dashboard.views.run.samples import samples_data


def row(sample_id: str = "s1", question: str = "What?") -> SampleRow:
    return SampleRow(
        position=0,
        sample_id=sample_id,
        question=question,
        scores={"m": Score(value=0.254, counted="1 of 4"), "n": Unscored(reason="failed", detail="no reply")},
        file_scores={},
        labels={"unsupported": 2, "supported": 1},
        refuses=True,
    )


def test_a_score_is_rounded_and_one_that_is_missing_says_why() -> None:
    (drawn,) = samples_data([row()], {"m": "M", "n": "N", "o": "O"}, "run", "")["rows"]
    assert drawn["scores"] == [
        {"shown": "0.25", "why": "1 of 4"},
        {"shown": "\u2013", "why": "failed: no reply"},
        {"shown": "\u2013", "why": "not evaluated"},
    ]
    assert drawn["note"] == "refuses, in full or in part; no score for N: the judge failed"


def test_a_note_names_the_metrics_without_a_score() -> None:
    titles = dict(zip("mnop", ("Faithfulness", "Context relevance", "Recall", "Nuggets"), strict=True))
    some = Score(value=1.0, counted="")
    none = Unscored(reason="undefined", detail="")
    one = replace(row(), refuses=False, scores={"m": some, "n": none})
    three = replace(one, scores={"m": some, "n": none, "o": none, "p": none})
    refused = replace(one, scores={"m": Unscored(reason="refusal", detail=""), "n": some})
    data = samples_data([one, three, refused], titles, "run", "")
    assert [drawn["note"] for drawn in data["rows"]] == [
        "no score for Context relevance: nothing to judge",
        "no score for 3 metrics: nothing to judge",
        "refused in full",
    ]


def test_flips_between_draws_are_a_column_if_there_are_several_draws() -> None:
    assert samples_data([row()], {"m": "M"}, "run", "")["titles"] == ["M"]
    data = samples_data([replace(row(), flips=(2, 9)), row("s2")], {"m": "M"}, "run", "")
    assert (data["titles"], data["first"]) == (["M", "Flips"], [True, True])
    assert [one["scores"][-1] for one in data["rows"]] == [
        {"shown": "2 of 9", "why": "2 of 9 judgements differ between draws"},
        {"shown": "\u2013", "why": "judged once"},
    ]


def test_verdicts_are_counted_in_one_order_and_none_that_is_not_there() -> None:
    (drawn,) = samples_data([row()], {}, "run", "")["rows"]
    assert [(one["name"], one["count"]) for one in drawn["labels"]] == [("supported", 1), ("unsupported", 2)]


def test_a_link_leads_to_the_sample_with_any_id() -> None:
    (drawn,) = samples_data([row("a&b=1\u202e", "x\u202ey" * 400)], {}, "r&d", "")["rows"]
    assert drawn["href"] == "sample?run=r%26d&sample=a%26b%3D1%E2%80%AE"
    assert "\u202e" not in drawn["question"] + drawn["id"]
    assert len(drawn["question"]) <= 300
