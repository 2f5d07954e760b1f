"""Tests of ranking runs with a label file: which rows count for which run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.core.conftest import PlainJudge, make_sample

from ragboard import DEFAULT_METRICS, METRICS, Panel, Run, SettingError, Store, evaluate_run
from ragboard.human.label_files import labelled_outcomes
from ragboard.human.ranking import Ranking, rank_runs
from ragboard.stats import MeanEstimate
from ragboard.tasks import ExtractStatements, Failure, Task

ANSWERS = ("It is red.", "It is old.")
"""The judge finds the first right and the second wrong."""
SAMPLES, LABELLED = 100, 40


def kept(store: Store, name: str, yes: int) -> None:
    """A run of whose answers the judge likes so many; each is its own."""
    samples = tuple(
        make_sample(n, answer=f"{ANSWERS[n % 10 >= yes // 10][:-1]}, says {name} of {n}.") for n in range(SAMPLES)
    )
    run = store.add_runs([Run(name=name, samples=samples)])[0]
    evaluate_run(store, run.id, DEFAULT_METRICS, Panel(judge=PlainJudge()))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    store = Store(tmp_path_factory.mktemp("ranks") / "store")
    kept(store, "a", 60)
    kept(store, "b", 80)
    return store


def rows(store: Store, name: str, *, wrong: int = 4, **more: Any) -> list[dict[str, Any]]:
    """Grades on the first answers of a run: as the judge has it, but every so-manieth is bad however it reads."""
    samples = list(store.samples(store.resolve(name).run_id))[:LABELLED]
    return [
        {
            "question": sample.question,
            "contexts": [passage.text for passage in sample.contexts or ()],
            "answer": sample.answer,
            "grades": {"faithfulness": 5 if "red" in (sample.answer or "") and n % wrong else 1},
            "design": "random",
        }
        | more
        for n, sample in samples
    ]


def ranked(store: Store, folder: Path, *given: dict[str, Any], **options: Any) -> Ranking:
    file = folder / "labels.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in given), encoding="utf-8")
    runs = [store.resolve(name) for name in options.pop("runs", ("a", "b"))]
    return rank_runs(store, runs, labelled_outcomes(file), **options)


def silent(task: Task) -> Failure | None:
    return Failure(detail="gone") if isinstance(task, ExtractStatements) and "Mute" in task.text else None


def ppi(found: Ranking, place: int = 0) -> float:
    means = found.tables[0].report.systems[place].means
    assert means is not None
    assert isinstance(means.ppi, MeanEstimate)
    return means.ppi.interval.estimate


def test_each_run_is_put_right_by_its_own_labels(store: Store, tmp_path: Path) -> None:
    """Of the 24 and 32 answers that the judge likes among the 40, people dislike those at multiples of 4."""
    found = ranked(store, tmp_path, *rows(store, "a"), *rows(store, "b"), order=("b", "a"))
    (table,) = found.tables
    assert (table.metric, table.measured, found.notes) == ("ragas.faithfulness", "faithfulness", ())
    false = [sum(n % 4 == 0 and n % 10 < yes for n in range(LABELLED)) for yes in (6, 8)]
    assert [ppi(found, place) for place in (0, 1)] == pytest.approx([0.6 - false[0] / 40, 0.8 - false[1] / 40])
    assert [one.name for one in table.report.ranking] == ["b", "a"]
    assert table.order is not None
    assert (table.order.tau, table.order.judge) == (pytest.approx(1.0), pytest.approx(1.0))
    assert [one.labels for one in table.report.systems] == [40, 40]


def test_labels_of_one_run_do_not_put_the_judge_right_on_another_unless_pooled(store: Store, tmp_path: Path) -> None:
    a, b = ranked(store, tmp_path, *rows(store, "a")).tables[0].report.systems
    assert isinstance(a.best, MeanEstimate)
    assert b.means is None
    assert b.unusable_reason.endswith("; labels of a do not show the judge's errors on this run")
    pooled = ranked(store, tmp_path, *rows(store, "a"), pool=True)
    assert "assumes that the judge's mean error is the same" in pooled.tables[0].report.caution
    assert ppi(pooled, 1) - ppi(pooled, 0) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("design", "why"), [("unknown", "are not declared random"), ("not random", "not drawn at random")]
)
def test_labels_that_are_not_declared_random_give_no_estimate(
    store: Store, tmp_path: Path, design: str, why: str
) -> None:
    found = ranked(store, tmp_path, *rows(store, "a", design=design), runs=("a",))
    (one,) = found.tables[0].report.systems
    assert (one.means, why in one.unusable_reason) == (None, True)


def test_random_rows_count_next_to_rows_that_are_not_random(store: Store, tmp_path: Path) -> None:
    mixed = rows(store, "a")
    mixed[:5] = [row | {"design": "not random"} for row in mixed[:5]]
    (one,) = ranked(store, tmp_path, *mixed, runs=("a",)).tables[0].report.systems
    assert one.labels == 35
    assert "5 labels that are not declared random do not count" in one.notes


def test_labels_on_statements_count_where_the_judge_found_none(store: Store, tmp_path: Path) -> None:
    """ARES's judges score an answer as a whole, and leave no statements."""
    samples = tuple(make_sample(n, answer=f"{ANSWERS[n % 2][:-1]}, says whole of {n}.") for n in range(SAMPLES))
    run = store.add_runs([Run(name="whole", samples=samples)])[0]
    evaluate_run(store, run.id, [METRICS["ares.answer_faithfulness"]], Panel(judge=PlainJudge()))
    said = [{"text": "It is so.", "verdict": "supported"}]
    given = [row | {"statements": said} for row in rows(store, "whole", grades={})]
    (one,) = ranked(store, tmp_path, *given, runs=("whole",)).tables[0].report.systems
    assert (one.items, one.labels, one.unusable_reason) == (SAMPLES, 40, "")


def test_labelled_samples_of_which_none_has_a_score_are_the_reason(store: Store, tmp_path: Path) -> None:
    """The judge answers for the samples that nobody labelled, and for none of the others."""
    shown = [f"{'Mute' if n < LABELLED else 'Heard'} and red, says mute of {n}." for n in range(SAMPLES)]
    samples = tuple(make_sample(n, answer=answer) for n, answer in enumerate(shown))
    run = store.add_runs([Run(name="mute", samples=samples)])[0]
    evaluate_run(store, run.id, [METRICS["ragas.faithfulness"]], Panel(judge=PlainJudge(before=silent)))
    (one,) = ranked(store, tmp_path, *rows(store, "mute"), runs=("mute",)).tables[0].report.systems
    assert one.unusable_reason == "none of its 40 labelled samples has a score"


def test_a_row_with_a_run_counts_only_for_this_run(store: Store, tmp_path: Path) -> None:
    given = [*rows(store, "a", run="a"), *rows(store, "b", run="absent")]
    found = ranked(store, tmp_path, *given)
    assert [one.labels for one in found.tables[0].report.systems] == [40, 0]
    assert found.notes == ("40 labelled answers belong to other runs; they do not count",)


def test_a_row_that_fits_several_runs_must_name_one(store: Store, tmp_path: Path) -> None:
    shared = make_sample(0, answer="It is red, says a of 0.")
    run = store.add_runs([Run(name="copy", samples=(shared,))])[0]
    evaluate_run(store, run.id, DEFAULT_METRICS, Panel(judge=PlainJudge()))
    with pytest.raises(SettingError, match="is in a and copy; name the run of each row"):
        ranked(store, tmp_path, *rows(store, "a"), runs=("a", "copy"))
    assert ranked(store, tmp_path, *rows(store, "a", run="a"), runs=("a", "copy")).tables


def test_an_answer_on_other_passages_is_another_answer(store: Store, tmp_path: Path) -> None:
    given = rows(store, "a", contexts=["Something else."])
    with pytest.raises(SettingError, match="no labelled answer is in a; choose the runs"):
        ranked(store, tmp_path, *given, runs=("a",))


def test_labels_on_answers_of_no_run_are_reported(store: Store, tmp_path: Path) -> None:
    given = rows(store, "a")
    given[0] = given[0] | {"answer": "Nobody said so."}
    found = ranked(store, tmp_path, *given, runs=("a",))
    assert found.tables[0].report.systems[0].labels == 39
    (note,) = found.notes
    assert note.startswith("1 labelled answers match no sample with these passages")


def test_a_document_that_is_one_of_the_passages_is_enough(store: Store, tmp_path: Path) -> None:
    """ARES keeps one document a row, and its own white space."""
    given = [row | {"contexts": ["  ".join(row["contexts"][0].split())]} for row in rows(store, "a")]
    assert ranked(store, tmp_path, *given, runs=("a",)).tables[0].report.systems[0].labels == 40


def test_rows_on_one_sample_count_once_with_their_mean_in_any_order(store: Store, tmp_path: Path) -> None:
    """A row for each passage, here said by one yes and one no of each sample."""
    good, bad = ([row | {"grades": {"faithfulness": grade}} for row in rows(store, "a")] for grade in (5, 1))
    bad = [row | {"contexts": ["The thing"]} for row in bad]
    for given in ([*good, *bad], [*bad, *good]):
        (one,) = ranked(store, tmp_path, *given, runs=("a",)).tables[0].report.systems
        assert one.means is not None
        assert isinstance(one.means.classical, MeanEstimate)
        assert (one.labels, one.means.classical.interval.estimate) == (40, pytest.approx(0.5))


def test_rows_of_two_qualities_on_one_sample_count_in_both(store: Store, tmp_path: Path) -> None:
    """The last row says nothing of faithfulness, and was not drawn at random as the first was."""
    other = rows(store, "a", grades={"tone": 5}, design="not random")
    found = ranked(
        store, tmp_path, *rows(store, "a"), *other, runs=("a",), metrics=("faithfulness", "context_relevance=tone")
    )
    faithful, tone = (table.report.systems[0] for table in found.tables)
    assert (faithful.labels, faithful.unusable_reason) == (40, "")
    assert "not drawn at random" in tone.unusable_reason


def test_a_metric_is_held_against_the_labels_it_is_named_with(store: Store, tmp_path: Path) -> None:
    given = [row | {"grades": {"tone": 4, **row["grades"]}} for row in rows(store, "a")]
    found = ranked(store, tmp_path, *given, runs=("a",))
    assert [table.measured for table in found.tables] == ["faithfulness"]
    assert found.notes == ("no metric is compared with the labels of tone",)
    both = ranked(store, tmp_path, *given, runs=("a",), metrics=("faithfulness", "context_relevance=tone"))
    assert [(table.metric, table.measured) for table in both.tables] == [
        ("ragas.faithfulness", "faithfulness"),
        ("ragas.context_relevance", "tone"),
    ]


def test_a_run_without_an_evaluation_cannot_be_ranked(store: Store, tmp_path: Path) -> None:
    store.add_runs([Run(name="bare", samples=tuple(make_sample(n, answer=f"Bare {n}.") for n in range(SAMPLES)))])
    with pytest.raises(SettingError, match="bare was never evaluated; run `ragboard evaluate bare`"):
        ranked(store, tmp_path, *rows(store, "bare"), runs=("bare",))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"metrics": ("answer_relevance",)}, "need a metric from 0 to 1"),
        ({"metrics": ("faithfulness=tone",)}, "there are no labels of 'tone'"),
        ({"order": ("a", "absent")}, "the known order a, absent must name runs among a, b"),
        ({"runs": ("a", "a")}, "name each run only once: a, a"),
    ],
)
def test_what_cannot_be_meant_is_reported(store: Store, tmp_path: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        ranked(store, tmp_path, *rows(store, "a"), **options)
