"""States of runs: what a page keeps of a run is read again only after a change of what it shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.core.conftest import make_run, make_sample

from ragboard import DEFAULT_METRICS, EmbeddedJudge, Panel, Store, evaluate_run
from ragboard.human.labels import grade_answer, label_statement, remove_label
from ragboard.human.questions import label_question

Write = Callable[[Store], object]
DEFAULT = [spec for spec in DEFAULT_METRICS if spec.spec == "ragas.faithfulness"]


def append(store: Store, name: str, number: int) -> None:
    store.append(replace(make_run(name), samples=(make_sample(number),)))


def evaluate(store: Store, name: str) -> None:
    evaluate_run(store, store.resolve(name).run_id, DEFAULT, Panel(judge=EmbeddedJudge()))


def run_id(store: Store, name: str) -> str:
    return store.resolve(name).run_id


@pytest.fixture
def runs(store: Store) -> Store:
    """Two evaluated runs that grow, with a label each."""
    for number, name in enumerate(("one", "two")):
        append(store, name, number)
        evaluate(store, name)
        label_statement(store, store.resolve(name), f"s{number}", 1, "supported", annotator="ann")
    return store


OF_ONE_RUN: dict[str, Write] = {
    "a sample is added": lambda store: append(store, "one", 5),
    "a sample is deleted": lambda store: store.remove_samples(run_id(store, "one"), [0]),
    "it is evaluated again": lambda store: evaluate(store, "one"),
    "an evaluation is made the newest": lambda store: store.mark_newest(store.resolve("one").evaluation_id or ""),
    "it is renamed": lambda store: store.rename_run(run_id(store, "one"), "uno"),
    "its tags change": lambda store: store.set_tags(run_id(store, "one"), ["best"]),
    "its notes change": lambda store: store.set_notes(run_id(store, "one"), "first try"),
    "its sampling rate changes": lambda store: store.set_sampling_rate(
        run_id(store, "one"), store.resolve("one").evaluation_id or "", 0.5, 0
    ),
}
LABELS: dict[str, Write] = {
    "a statement is labelled": lambda store: label_statement(
        store, store.resolve("one"), "s0", 1, "contradicted", annotator="ann"
    ),
    "a label is removed": lambda store: remove_label(store, store.resolve("one"), "s0", 1, annotator="ann"),
    "an answer is graded": lambda store: grade_answer(store, store.resolve("one"), "s0", 4, annotator="ann"),
    "a question is labelled": lambda store: label_question(store, "What?", (), "answerable", annotator="ann"),
}


@pytest.mark.parametrize("write", OF_ONE_RUN.values(), ids=OF_ONE_RUN)
def test_a_change_of_one_run_changes_its_state_only(runs: Store, write: Write) -> None:
    one, two = run_id(runs, "one"), run_id(runs, "two")
    before = runs.run_states()
    append(runs, "one", 3)  # so that the deletion below leaves as many samples as there were
    between = runs.run_states()
    write(runs)
    after = runs.run_states()
    assert len({before.by_run[one], between.by_run[one], after.by_run[one]}) == 3
    assert before.by_run[two] == between.by_run[two] == after.by_run[two]
    assert before.labels == between.labels == after.labels


@pytest.mark.parametrize("write", LABELS.values(), ids=LABELS)
def test_a_label_changes_the_state_of_labels_only(runs: Store, write: Write) -> None:
    before = runs.run_states()
    write(runs)
    after = runs.run_states()
    assert before.by_run == after.by_run
    assert before.labels != after.labels


def test_a_threshold_changes_the_state_of_every_run(runs: Store) -> None:
    before = runs.run_states()
    runs.set_threshold("ragas.faithfulness", 0.8)
    after = runs.run_states()
    assert before.by_run.keys() == after.by_run.keys()
    assert all(before.by_run[run] != after.by_run[run] for run in before.by_run)


def test_a_read_changes_no_state_and_a_deleted_run_has_none(runs: Store) -> None:
    before = runs.run_states()
    assert runs.run_states() == before
    two = run_id(runs, "two")
    runs.remove_runs([run_id(runs, "one")])
    assert runs.run_states().by_run == {two: before.by_run[two]}


def test_a_change_of_one_run_changes_the_state_of_its_dataset(store: Store) -> None:
    for number, (name, dataset) in enumerate((("one", "tea"), ("two", "tea"), ("other", "ice"))):
        store.append(replace(make_run(name), samples=(make_sample(number),), dataset=dataset))
    two, other = (run_id(store, name) for name in ("two", "other"))

    def changed(write: Write) -> set[str]:
        before = store.run_states().by_dataset
        write(store)
        after = store.run_states().by_dataset
        return {dataset for dataset in ("tea", "ice") if before[dataset] != after.get(dataset)}

    assert changed(lambda store: append(store, "two", 5)) == {"tea"}
    assert changed(lambda store: append(store, "other", 5)) == {"ice"}
    assert changed(lambda store: store.add_runs([replace(make_run("new"), dataset="tea")])) == {"tea"}
    assert changed(lambda store: store.rename_run(two, "second")) == {"tea"}
    assert changed(lambda store: store.remove_runs([two])) == {"tea"}
    assert store.run_states().dataset_of[other] == "ice"
