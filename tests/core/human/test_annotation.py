"""Tests of annotation queues: progress, and agreement only for finished samples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.conftest import Once
from tests.core.conftest import PlainJudge, make_sample
from tests.core.human.test_annotation_draws import kept, say

from ragboard import DEFAULT_METRICS, Panel, Run, SettingError, Store, Verdict, evaluate_run
from ragboard.human.annotation import annotation_queue, annotator_agreement, draw_samples, labelled_samples
from ragboard.human.labels import grade_answer, label_statement, prefer_answer, undo
from ragboard.store import RunRef
from ragboard.tasks import Verification, Verify


@pytest.fixture
def run(store: Store, once: Once) -> RunRef:
    once(kept, store)
    return store.resolve("run")


def left(
    store: Store, run: RunRef, queue: Any = "random", annotator: str = "ada", **more: Any
) -> list[tuple[str, int, int]]:
    items = annotation_queue(store, run, queue, annotator=annotator, **more).items
    return [(item.sample_id, item.required, item.labelled) for item in items]


def test_a_queue_follows_the_draw_and_counts_what_one_person_said(store: Store, run: RunRef) -> None:
    assert left(store, run) == []
    draw = draw_samples(store, run, size=3, seed=7)
    wanted = {0: 2, 2: 1, 3: 2, 4: 2}
    assert left(store, run) == [(f"s{at}", wanted[at], 0) for at in draw.positions]
    first, second, _ = draw.positions
    say(store, run, first, *["supported"] * wanted[first])
    say(store, run, second, "supported", annotator="bob")
    queue = annotation_queue(store, run, "random", annotator="ada")
    assert [item.labelled for item in queue.items] == [wanted[first], 0, 0]
    assert queue.next_item == queue.items[1]
    total = sum(wanted[at] for at in draw.positions)
    minutes = {True: "about a minute left", False: "about 2 minutes left"}[(total - wanted[first]) * 30 < 90]
    assert queue.in_words == f"{wanted[first]} of {total} statements, {minutes}"
    assert queue.pace == "30 seconds per statement, an assumption"


def test_the_time_left_follows_the_persons_own_pace_without_breaks(store: Store) -> None:
    run = kept(store, answers=("It is red. It is old.",) * 30)
    draw_samples(store, run, size=30)
    for n in range(6):
        say(store, run, n, "supported", "supported")
    with store.database.write() as connection:
        connection.execute(
            "UPDATE labels SET said = TIMESTAMP '2026-01-01' + to_seconds(number * 12)"
            " + to_hours(CASE WHEN number > 6 THEN 60 ELSE 0 END)"
        )
    queue = annotation_queue(store, run, "random", annotator="ada")
    assert (queue.seconds, queue.measured) == (12.0, True), "the break of 60 hours is not work"
    assert queue.in_words == "12 of 60 statements, about 10 minutes left"
    assert queue.pace == "12 seconds per statement, your pace so far"
    assert (
        annotation_queue(store, run, "random", annotator="bob").in_words == "0 of 60 statements, about 30 minutes left"
    )


def test_undo_takes_back_one_label_after_the_other(store: Store, run: RunRef) -> None:
    say(store, run, 0, "supported", "contradicted")
    say(store, run, 0, "supported", annotator="bob")
    undone = [undo(store, run, annotator="ada", queue="random", kind="verdict") for _ in range(3)]
    assert [one and (one.sample_id, one.statement, one.value) for one in undone] == [
        ("s0", "It is old", "contradicted"),
        ("s0", "It is red", "supported"),
        None,
    ]
    assert undo(store, run, annotator="bob", queue="browsing", kind="verdict") is None


def test_agreement_is_with_the_judge_on_finished_samples_and_with_others(store: Store, run: RunRef) -> None:
    say(store, run, 0, "supported")
    assert annotator_agreement(store, run, "random", annotator="ada") == ()
    say(store, run, 0, "supported", "unsupported")
    say(store, run, 4, "supported", "supported")
    say(store, run, 0, "unsupported", "supported", annotator="bob")
    judge, bob = annotator_agreement(store, run, "random", annotator="ada")
    assert (judge.second, judge.n, judge.kappa) == ("the judge", 4, pytest.approx(0.5))
    assert (bob.second, bob.n, bob.kappa) == ("bob", 2, pytest.approx(-1.0))


def test_kappa_says_why_there_is_none(store: Store, run: RunRef) -> None:
    say(store, run, 2, "supported")
    (judge,) = annotator_agreement(store, run, "random", annotator="ada")
    assert (judge.kappa, judge.n) == (None, 1)
    assert "every item in the same category" in judge.reason


class Contrary(PlainJudge):
    """Contradicts whatever it verifies."""

    async def answer(self, tasks: Any, _hear: Any = None) -> Any:
        replies = await super().answer(tasks)
        return [
            Verification(joint=(Verdict(label="contradicted"),) * len(task.statements), single=())
            if isinstance(task, Verify) and not task.single
            else reply
            for task, reply in zip(tasks, replies, strict=True)
        ]


def test_disagreements_are_a_queue_of_their_own(store: Store, run: RunRef) -> None:
    assert left(store, run, "disagreement") == []
    label_statement(store, run, "s0", 1, "contradicted", annotator="ada")
    queue = annotation_queue(store, run, "disagreement", annotator="bob")
    assert [(item.sample_id, item.reason) for item in queue.items] == [("s0", "a person and the judge")]
    evaluate_run(store, run.run_id, DEFAULT_METRICS, Panel(judge=Contrary(name="contrary", version="2")))
    queue = annotation_queue(store, run, "disagreement", annotator="bob")
    assert {item.sample_id: item.reason for item in queue.items} == {
        "s0": "two judges, a person and the judge",
        "s2": "two judges",
        "s3": "two judges",
        "s4": "two judges",
    }
    say(store, run, 2, "supported", annotator="bob", queue="disagreement")
    assert ("s2", 1, 1) in left(store, run, "disagreement", "bob")
    draw_samples(store, run, size=4)
    assert labelled_samples(store, run).rows == (), "those are no random sample"


def test_metrics_of_one_name_that_lie_apart_are_a_disagreement(store: Store, run: RunRef) -> None:
    with store.database.write() as connection:
        connection.execute(
            "INSERT INTO scores BY NAME SELECT evaluation_id, position, 'other.faithfulness' AS metric,"
            " if(position = 3, 1.0, value) AS value FROM scores WHERE metric = 'ragas.faithfulness'"
        )
    found = annotation_queue(store, run, "disagreement", annotator="ada").items
    assert [(item.sample_id, item.reason) for item in found] == [("s3", "metrics of faithfulness")]


def test_answers_are_graded_and_counted_as_shares(store: Store, run: RunRef) -> None:
    draw = draw_samples(store, run, size=9, kind="grade")
    assert draw.population == 4
    grade_answer(store, run, "s0", 4, annotator="ada", queue="random")
    grade_answer(store, run, "s0", 2, annotator="bob", queue="random")
    grade_answer(store, run, "s2", 5, annotator="ada", queue="random", dimension="answer_relevance")
    assert {item: done for item, _, done in left(store, run, kind="grade")}["s0"] == 1
    (row,) = labelled_samples(store, run, kind="grade").rows
    assert (row.sample_id, row.outcome, row.annotators) == ("s0", 0.5, ("ada", "bob"))
    (row,) = labelled_samples(store, run, kind="grade", dimension="answer_relevance").rows
    assert (row.sample_id, row.outcome) == ("s2", 1.0)


def test_a_preference_is_the_same_from_either_side(store: Store) -> None:
    run, other = kept(store), kept(store, "other", ("It is big.", None, "It is old."))
    draw_samples(store, run, size=9, kind="preference", against=other)
    assert {item for item, _, done in left(store, run, kind="preference", against=other) if not done} == {"s0", "s2"}
    prefer_answer(store, run, "s0", other, "s0", "a", annotator="ada", queue="random")
    prefer_answer(store, other, "s0", run, "s0", "b", annotator="ada", queue="random")
    with store.database.read() as connection:
        rows = connection.execute("SELECT value, answer_key < other_key FROM current_labels").fetchall()
        assert len(rows) == 1
        assert rows[0][1]
    done = {
        item.sample_id: item
        for item in annotation_queue(store, run, "random", annotator="ada", kind="preference", against=other).items
    }
    assert (done["s0"].labelled, done["s0"].other_id, done["s2"].labelled) == (1, "s0", 0)


def duplicated(store: Store) -> tuple[RunRef, RunRef]:
    """Run A asks two questions; run B asks the first twice, once without an answer, and both under other ids."""
    red, old = make_sample(0, answer="It is red."), make_sample(1, answer="It is old.")
    theirs = (
        replace(red, id="x0", answer="It is big."),
        replace(red, id="x1", answer=""),
        replace(old, id="x2", answer="It is big."),
    )
    store.add_runs([Run(name="a", samples=(red, old)), Run(name="b", samples=theirs)])
    return store.resolve("a"), store.resolve("b")


def test_a_question_twice_in_the_other_run_has_no_partner_to_prefer(store: Store) -> None:
    a, b = duplicated(store)
    assert draw_samples(store, a, size=9, kind="preference", against=b).population == 1
    items = annotation_queue(store, a, "random", annotator="ada", kind="preference", against=b).items
    assert [(item.sample_id, item.other_id) for item in items] == [("s1", "x2")]


def test_a_pair_that_was_drawn_before_its_partner_became_ambiguous_is_left_out(store: Store) -> None:
    sample = make_sample(0, answer="It is red.")
    store.append(Run(name="a", samples=(sample,)))
    store.append(Run(name="b", samples=(replace(sample, id="x0"),)))
    a, b = store.resolve("a"), store.resolve("b")
    draw_samples(store, a, size=9, kind="preference", against=b)
    assert left(store, a, kind="preference", against=b) == [("s0", 1, 0)]
    store.append(Run(name="b", samples=(replace(sample, id="x1", answer=""),)))
    assert left(store, a, kind="preference", against=b) == []


def test_a_preference_counts_only_for_its_pair(store: Store) -> None:
    a, b, c = kept(store), kept(store, "same"), kept(store, "other", ("It is big.",) * 6)
    for other in (b, c):
        draw_samples(store, a, size=9, kind="preference", against=other)
    prefer_answer(store, a, "s0", c, "s0", "a", annotator="ada", queue="random")
    assert {done for _, _, done in left(store, a, kind="preference", against=b)} == {0}


@pytest.mark.parametrize("empty", ["x1", "s1"])
def test_a_preference_against_an_empty_answer_is_rejected(store: Store, empty: str) -> None:
    a, b = kept(store), duplicated(store)[1]
    ours, theirs = ("s1", "x0") if empty == "s1" else ("s0", "x1")
    with pytest.raises(SettingError, match=f"sample '{empty}' of run '.*' has no answer"):
        prefer_answer(store, a, ours, b, theirs, "a", annotator="ada", queue="random")
    with store.database.read() as connection:
        assert connection.execute("SELECT count(*) FROM labels").fetchone() == (0,)
