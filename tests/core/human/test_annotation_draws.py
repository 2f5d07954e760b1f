"""Tests of the random queue: it is drawn once and stored, and counts completely labelled samples."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conftest import Once
from tests.core.conftest import PlainJudge, make_sample

from ragboard import DEFAULT_METRICS, Panel, Run, SettingError, Store, evaluate_run
from ragboard.human.annotation import draw_samples, find_draw, labelled_samples, plan_batch
from ragboard.human.labels import label_statement, remove_label
from ragboard.store import RunRef

ANSWERS = ("It is red. It is old.", "", "It is red.", "It is old. It is big.", "It is red. It is big.", None)


def kept(store: Store, name: str = "run", answers: tuple[str | None, ...] = ANSWERS) -> RunRef:
    samples = tuple(make_sample(n, answer=answer) for n, answer in enumerate(answers))
    run_id = store.add_runs([Run(name=name, samples=samples)])[0].id
    evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=PlainJudge()))
    return store.resolve(name)


@pytest.fixture
def run(store: Store, once: Once) -> RunRef:
    once(kept, store)
    return store.resolve("run")


def say(
    store: Store, run: RunRef, position: int, *verdicts: Any, annotator: str = "ada", queue: Any = "random"
) -> None:
    for number, verdict in enumerate(verdicts, 1):
        label_statement(store, run, f"s{position}", number, verdict, annotator=annotator, queue=queue)


def test_a_draw_is_of_samples_with_statements_and_is_drawn_once(store: Store, run: RunRef) -> None:
    draw = draw_samples(store, run, size=3, seed=7)
    assert (draw.population, len(set(draw.positions)), draw.seed) == (4, 3, 7)
    assert set(draw.positions) <= {0, 2, 3, 4}
    assert draw_samples(store, run, size=2, seed=7) == draw
    assert find_draw(store, run) == draw
    assert find_draw(store, run, "grade") is None


def test_a_larger_draw_begins_with_the_smaller_one(store: Store, run: RunRef) -> None:
    small = draw_samples(store, run, size=2, seed=7)
    large = draw_samples(store, run, size=99, seed=7)
    assert large.positions[:2] == small.positions
    assert sorted(large.positions) == [0, 2, 3, 4]


def test_a_recreated_run_has_no_draw(store: Store) -> None:
    store.append(Run(name="live", samples=tuple(make_sample(n, answer="It is red.") for n in range(9))))
    run = store.resolve("live")
    draw_samples(store, run, size=5, seed=7, kind="grade")
    store.remove_runs([run.run_id])
    store.append(Run(name="live", samples=(make_sample(0, answer="It is red."),)))
    assert find_draw(store, run, "grade") is None
    assert draw_samples(store, run, size=5, seed=8, kind="grade").positions == (0,)


def test_choosing_among_draws_is_rejected(store: Store, run: RunRef) -> None:
    draw_samples(store, run, size=2, seed=7)
    with pytest.raises(SettingError, match="has seed 7"):
        draw_samples(store, run, size=2, seed=8)
    with pytest.raises(SettingError, match="at least 1"):
        draw_samples(store, run, size=0)


def test_what_cannot_be_drawn_from_is_reported(store: Store) -> None:
    run = kept(store, answers=("", None))
    with pytest.raises(SettingError, match="no samples that can be labelled like this"):
        draw_samples(store, run, size=2)


def test_pairs_are_drawn_of_questions_that_both_runs_answer(store: Store, run: RunRef) -> None:
    other = kept(store, "other", ("It is big.", "It is big.", None, "It is old."))
    draw = draw_samples(store, run, size=9, kind="preference", against=other)
    assert (sorted(draw.positions), draw.population, draw.other_run_id) == ([0, 3], 2, other.run_id)


def test_a_sample_counts_once_all_its_statements_have_labels(store: Store, run: RunRef) -> None:
    draw = draw_samples(store, run, size=4, seed=7)
    assert labelled_samples(store, run).rows == ()
    say(store, run, 0, "supported")
    say(store, run, 2, "contradicted")
    found = labelled_samples(store, run)
    assert [(row.sample_id, row.outcome, row.annotators) for row in found.rows] == [("s2", 0.0, ("ada",))]
    assert found.rows[0].draw_number == draw.positions.index(2) + 1
    assert (found.design, found.draw, found.population) == ("random", draw, 4)
    assert found.skipped == draw.positions.index(2)
    label_statement(store, run, "s0", 2, "unsupported", annotator="bob", queue="random")
    rows = {row.sample_id: (row.outcome, row.annotators) for row in labelled_samples(store, run).rows}
    assert rows == {"s2": (0.0, ("ada",)), "s0": (0.5, ("ada", "bob"))}
    remove_label(store, run, "s0", 2, annotator="bob", queue="random")
    assert [row.sample_id for row in labelled_samples(store, run).rows] == ["s2"]


def test_rows_come_in_draw_order_and_lead_up_to_the_first_gap(store: Store, run: RunRef) -> None:
    first, second, third, fourth = draw_samples(store, run, size=4, seed=7).positions
    counts = {0: 2, 2: 1, 3: 2, 4: 2}
    for position in (fourth, first, second):
        say(store, run, position, *["supported"] * counts[position])
    found = labelled_samples(store, run)
    assert [row.position for row in found.rows] == [first, second, fourth]
    assert [row.position for row in found.leading] == [first, second]
    assert found.skipped == 1
    say(store, run, third, *["supported"] * counts[third])
    found = labelled_samples(store, run)
    assert (len(found.leading), found.skipped) == (4, 0)


def test_people_who_differ_count_in_part(store: Store, run: RunRef) -> None:
    draw_samples(store, run, size=4)
    say(store, run, 0, "supported", "supported")
    say(store, run, 0, "supported", "unsupported", annotator="bob")
    (row,) = labelled_samples(store, run).rows
    assert (row.outcome, row.annotators) == (0.75, ("ada", "bob"))


@pytest.mark.parametrize("queue", ["browsing", "disagreement"])
def test_labels_of_other_queues_do_not_count(store: Store, queue: str, run: RunRef) -> None:
    draw_samples(store, run, size=4)
    say(store, run, 2, "supported", queue=queue)
    assert labelled_samples(store, run).rows == ()


def test_without_a_draw_nothing_counts_as_random(store: Store, run: RunRef) -> None:
    say(store, run, 2, "supported")
    found = labelled_samples(store, run)
    assert (found.rows, found.draw, found.population) == ((), None, 4)


def test_a_batch_takes_about_twenty_minutes_by_the_statements_of_the_run(store: Store) -> None:
    run = kept(store, answers=("It is red. It is old. It is big. It is green.",) * 30)
    batch = plan_batch(store, run)
    assert (batch.samples, batch.labels, batch.minutes, batch.population) == (10, 40, 20, 30)
    assert (plan_batch(store, run, "grade").samples, plan_batch(store, run, "grade").minutes) == (20, 20)
    few = kept(store, "few", ("It is red. It is old.",) * 3)
    assert (plan_batch(store, few).samples, plan_batch(store, few).minutes) == (3, 3), "no more than there are"


def test_batches_are_random_samples_long_answers_as_likely_as_short_ones(store: Store) -> None:
    """Each sample is in a batch of a random seed as often as any other; a second batch only adds."""
    long = " ".join(f"It is thing {n}." for n in range(38))
    run = kept(store, answers=(long, long, *("It is red.",) * 18))
    size = plan_batch(store, run).samples
    assert size == 9, "40 statements at a mean of 4.7 a sample, rounded, whichever samples are drawn"
    seeds, drawn = 100, dict.fromkeys(range(20), 0)
    for seed in range(seeds):
        with store.database.write() as connection:
            connection.execute("DELETE FROM draws")
        for position in draw_samples(store, run, size=size, seed=seed).positions:
            drawn[position] += 1
    expected, deviation = seeds * size / 20, (seeds * 0.45 * 0.55) ** 0.5
    assert all(abs(count - expected) < 4 * deviation for count in drawn.values())
    assert abs((drawn[0] + drawn[1]) / 2 - expected) < 3 * deviation
    first = draw_samples(store, run, size=size, seed=seeds - 1)
    second = draw_samples(store, run, size=2 * size, seed=seeds - 1)
    assert (second.positions[:size], len(set(second.positions))) == (first.positions, 2 * size)
