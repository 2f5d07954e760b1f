"""Tests of right and wrong refusals: the table, its rates, and Trust-Score's scores."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from ragboard import (
    EmbeddedJudge,
    NotFoundError,
    Panel,
    Passage,
    Run,
    RunRef,
    Sample,
    SettingError,
    Store,
    evaluate_run,
)
from ragboard.analysis import refusal_report, refusal_scores
from ragboard.cli import main
from ragboard.metrics import metrics_named

REFUSES = "I cannot answer this question from the given passages."
STATES = "The tower is red."

Rows = list[tuple[Mapping[str, Any], str]]


def kept(store: Store, rows: Rows, *metrics: str) -> RunRef:
    samples = tuple(
        Sample(
            id=str(number),
            question=f"Is tower {number} red?",
            answer=answer,
            contexts=(Passage(id="p", text="The tower is red.", rank=1),),
            metadata=metadata,
        )
        for number, (metadata, answer) in enumerate(rows)
    )
    (run,) = store.add_runs([Run(name="towers", samples=samples)])
    chosen = metrics_named(metrics or ["faithfulness"])
    done = evaluate_run(store, run.id, chosen, Panel(judge=EmbeddedJudge()))
    return RunRef(run_id=run.id, name=run.name, evaluation_id=done.evaluation.id)


MIXED: Rows = [
    *[({"answerable": True}, STATES)] * 5,
    ({"answerable": True}, REFUSES),
    ({"answerability": "PARTIAL"}, STATES),
    ({"answerability": ["UNANSWERABLE"]}, REFUSES),
    ({"is_impossible": True}, STATES),
    ({"answerability": "conversational"}, STATES),
    ({}, STATES),
]


def test_the_table_and_its_rates(store: Store) -> None:
    found = refusal_report(store, kept(store, MIXED))
    assert found.sources == {"file": 10}
    assert found.unknown == 1
    assert found.counts == {
        "answerable": {"answered": 5, "refused in part": 0, "refused": 1},
        "partial": {"answered": 1, "refused in part": 0, "refused": 0},
        "unanswerable": {"answered": 1, "refused in part": 0, "refused": 1},
        "conversational": {"answered": 1, "refused in part": 0, "refused": 0},
    }
    assert [(rate.count, rate.n) for rate in found.rates] == [(1, 2), (1, 2), (1, 2), (1, 7), (1, 7)]
    assert found.rates[3].interval
    assert str(found.rates[3]).startswith("answerable questions that were refused: 1 of 7 answerable questions, 0.14 (")
    assert [(one.sample_id, one.behaviour) for one in found.wrong] == [("8", "answered"), ("5", "refused")]
    assert found.wrong_in_words == (
        "2 answers are wrong about refusing: 1 answers an unanswerable question, 1 refuses an answerable question"
    )
    assert replace(found, wrong=found.wrong[:1]).wrong_in_words == (
        "1 answer is wrong about refusing: 1 answers an unanswerable question"
    )
    twice = replace(found, wrong=(found.wrong[0], found.wrong[0])).wrong_in_words
    assert twice == "2 answers (to 1 question) are wrong about refusing: 2 answer an unanswerable question"
    assert found.counted_as_answerable == "Partial questions count as answerable."
    assert "no answerable question was refused" in replace(found, wrong=()).wrong_in_words


def test_a_refusal_in_part_is_neither_right_nor_wrong(store: Store) -> None:
    partly = f"{REFUSES} {STATES}"
    found = refusal_report(store, kept(store, [({"answerable": False}, partly), ({"answerable": True}, partly)]))
    assert [(rate.count, rate.n) for rate in found.rates] == [(0, 0), (0, 1), (1, 1), (0, 1), (0, 0)]
    assert str(found.rates[0]) == "refusals that were right: undefined, there are no answers that refuse in full"
    assert found.wrong == ()
    assert found.scores["answer_recall"] == 1.0


def test_the_judge_says_it_where_the_file_does_not(store: Store) -> None:
    run = kept(store, [({}, STATES), ({}, REFUSES)], "faithfulness", "context_relevance")
    found = refusal_report(store, run)
    assert found.sources == {"judge": 2}
    assert sum(count for row in found.counts.values() for count in row.values()) == 2


def test_what_is_unknown_is_reported_with_what_to_do(store: Store) -> None:
    with pytest.raises(NotFoundError, match=r"Label them .*add a column answerable"):
        refusal_report(store, kept(store, [({}, STATES)]))


def test_refusals_that_were_not_judged(store: Store) -> None:
    with pytest.raises(NotFoundError, match="--metrics faithfulness"):
        refusal_report(store, kept(store, [({"answerable": True}, STATES)], "answer_relevance(method=direct)"))


def test_an_unknown_value_is_reported_with_its_sample(store: Store) -> None:
    run = kept(store, [({"answerable": True}, STATES), ({"answerable": "perhaps"}, STATES)])
    with pytest.raises(SettingError, match=r"sample 1: answerable is 'perhaps'; expected true, false, or one of"):
        refusal_report(store, run)


def test_the_command_prints_the_table_and_json(store: Store) -> None:
    kept(store, MIXED)
    printed = CliRunner().invoke(main, ["refusals", "towers", "--store", str(store.folder)])
    assert printed.exit_code == 0
    assert "embedded (rule-based)" in printed.stdout
    assert "refusals that were right: 1 of 2 answers that refuse in full, 0.50" in printed.stdout
    as_json = json.loads(
        CliRunner().invoke(main, ["refusals", "towers", "--store", str(store.folder), "--json"]).stdout
    )
    assert as_json["counts"]["unanswerable"]["refused"] == 1
    assert as_json["scores"]["macro_f1"] == pytest.approx((1 / 2 + 6 / 7) / 2)


def test_trust_scores_own_example() -> None:
    """7 answerable questions of which 2 are refused, and 3 unanswerable ones, all refused."""
    found = refusal_scores([True] * 7 + [False] * 3, [False] * 5 + [True] * 5)
    assert found == pytest.approx(
        {
            "refusal_precision": 0.6,
            "refusal_recall": 1.0,
            "refusal_f1": 0.75,
            "answer_precision": 1.0,
            "answer_recall": 5 / 7,
            "answer_f1": 5 / 6,
            "macro_f1": (0.75 + 5 / 6) / 2,
        }
    )


def test_the_scores_of_the_source(data: Path) -> None:
    folder = data / "oracles" / "trust_score_refusal"
    cases = json.loads((folder / "inputs.json").read_text(encoding="utf-8"))["cases"]
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["cases"]
    names = {
        "refusal_precision": "refuse_prec",
        "refusal_recall": "refuse_rec",
        "refusal_f1": "refuse_f1",
        "answer_precision": "answerable_prec",
        "answer_recall": "answerable_rec",
        "answer_f1": "answerable_f1",
        "macro_f1": "macro_f1",
    }
    assert len(cases) == len(expected) > 5
    for case, wanted in zip(cases, expected, strict=True):
        answerable = [any(map(any, item["answers_found_per_doc"])) for item in case["items"]]
        found = refusal_scores(answerable, [bool(item["refused"]) for item in case["items"]], compat=True)
        assert found == pytest.approx({name: wanted[theirs] / 100 for name, theirs in names.items()}, abs=1e-12)


@given(st.lists(st.tuples(st.booleans(), st.booleans())))
def test_swapping_both_decisions_swaps_the_scores(items: list[tuple[bool, bool]]) -> None:
    answerable, refused = ([item[place] for item in items] for place in (0, 1))
    found = refusal_scores(answerable, refused)
    mirrored = refusal_scores([not one for one in answerable], [not one for one in refused])
    assert found["refusal_f1"] == mirrored["answer_f1"]
    assert found["macro_f1"] == mirrored["macro_f1"]
    assert all(value is None or 0 <= value <= 1 for value in found.values())
