"""Tests of growing runs: positions increase, and are never reused after deletions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.core.conftest import make_run, make_sample

from ragboard import (
    DEFAULT_METRICS,
    METRICS,
    NotFoundError,
    Run,
    Sample,
    SettingError,
    Store,
    evaluate_run,
)
from ragboard.analysis import diagnose, pair_runs, run_summary, sample_report
from ragboard.human.annotation import draw_samples, find_draw
from ragboard.judges import JudgeOptions, panel_named
from ragboard.store import writing

CHAT = "chat (production)"


def numbered(*numbers: int, name: str = CHAT) -> Run:
    """Samples that differ, a third without passages that hold the answer."""
    samples = [
        Sample(
            id=f"s{number}",
            question=f"What is thing {number}?",
            answer=f"Thing {number} is red. It weighs {number} tons.",
            contexts=make_sample(number, contexts=0 if number % 3 == 0 else 2).contexts,
            reference=f"Thing {number} is red.",
            metadata={"topic": "odd" if number % 2 else "even"},
        )
        for number in numbers
    ]
    return Run(name=name, samples=tuple(samples))


def positions(store: Store, run: str = CHAT) -> list[int]:
    return [position for position, _ in store.samples(store.resolve(run).run_id)]


def test_positions_ascend_and_are_not_used_again(store: Store) -> None:
    store.append(numbered(*range(5)))
    run_id = store.resolve(CHAT).run_id
    assert store.remove_samples(run_id, [1, 3, 4]) == 3
    assert store.sample_count(run_id) == 2
    assert store.append(numbered(5, 6)) == ("s5", "s6")
    assert positions(store) == [0, 2, 5, 6]
    assert list(store.positions(run_id)) == [0, 2, 5, 6]
    assert list(store.positions(run_id, 3)) == [5, 6]
    store.remove_samples(run_id, positions(store))
    store.append(numbered(7))
    assert positions(store) == [7]


def test_the_next_position_is_copied_with_the_run(store: Store) -> None:
    store.append(numbered(*range(3)))
    run = store.resolve(CHAT)
    store.remove_samples(run.run_id, [2])
    other = Store(store.folder.parent / "other")
    other.copy_run(store, run)
    other.append(numbered(9))
    assert positions(other) == [0, 1, 3]


def test_a_run_continues_growing_after_it_was_renamed(store: Store) -> None:
    store.append(numbered(0))
    run_id = store.resolve(CHAT).run_id
    store.rename_run(run_id, "chat")
    store.append(numbered(1))
    assert store.resolve("chat").run_id == run_id
    assert positions(store, "chat") == [0, 1]
    assert store.remove_samples(run_id, [0]) == 1


def test_samples_of_an_imported_run_are_not_deleted_one_by_one(store: Store) -> None:
    (added,) = store.add_runs([make_run("whole")])
    with pytest.raises(SettingError, match="samples cannot be deleted, only the whole run"):
        store.remove_samples(added.id, [0])
    with pytest.raises(NotFoundError):
        store.remove_samples("none", [0])


def test_all_samples_are_read_across_gaps_wider_than_a_page(store: Store) -> None:
    store.append(numbered(*range(1_000)))
    run_id = store.resolve(CHAT).run_id
    kept = [0, 1, 600, 601, 602, 999]
    store.remove_samples(run_id, set(range(1_000)) - set(kept))
    assert positions(store) == kept
    assert [sample.id for _, sample in store.samples(run_id, 600)] == ["s600", "s601", "s602", "s999"]


def test_neighbours_are_the_nearest_samples(store: Store) -> None:
    store.append(numbered(*range(6)))
    run = store.resolve(CHAT)
    store.remove_samples(run.run_id, [1, 2, 5])
    around = {name: sample_report(store, run, name) for name in ("s0", "s3", "s4")}
    assert [(one.previous, one.following) for one in around.values()] == [(None, "s3"), ("s0", "s4"), ("s3", None)]


def test_a_run_with_gaps_is_judged_and_analysed_as_one_without(store: Store) -> None:
    kept = [number for number in range(60) if number not in (0, 1, 7, 8, 9, 30, 59)]
    store.append(numbered(*range(60), name="gaps"))
    store.append(numbered(*kept, name="whole"))
    metrics = (*DEFAULT_METRICS, METRICS["ragchecker.faithfulness"], METRICS["ragas.factual_correctness"])
    panel = panel_named(JudgeOptions())
    gaps = store.resolve("gaps")
    evaluate_run(store, gaps.run_id, metrics, panel)
    store.remove_samples(gaps.run_id, set(range(60)) - set(kept))
    with_gaps, whole = store.resolve("gaps"), store.resolve("whole")
    evaluate_run(store, whole.run_id, metrics, panel)
    before = run_summary(store, with_gaps)
    assert before.judged
    assert (before.samples, before.judged.part) == (len(kept), "")
    evaluate_run(store, gaps.run_id, metrics, panel)
    with_gaps, whole = store.resolve("gaps"), store.resolve("whole")
    means = [{spec: str(one) for spec, one in run_summary(store, run).metrics.items()} for run in (with_gaps, whole)]
    assert means[0] == means[1] == {spec: str(one) for spec, one in before.metrics.items()}
    found, expected = diagnose(store, with_gaps), diagnose(store, whole)
    assert expected.findings
    assert [replace(one, query=None) for one in found.findings] == [
        replace(one, query=None) for one in expected.findings
    ]
    assert found.weak_groups == expected.weak_groups
    assert (found.samples, found.not_triggered, found.comparisons) == (
        expected.samples,
        expected.not_triggered,
        expected.comparisons,
    )
    paired = pair_runs(store, with_gaps, whole)
    assert paired.a.tolist() == kept
    assert paired.b.tolist() == list(range(len(kept)))


def test_clusters_of_a_run_with_gaps_are_by_position(store: Store) -> None:
    store.append(Run(name=CHAT, samples=tuple(Sample(id=f"{n}", question=f"q{n % 4}") for n in range(9))))
    run_id = store.resolve(CHAT).run_id
    store.remove_samples(run_id, [0, 1, 5])
    assert set(store.clusters(run_id).values()) == {"question:#0", "question:#2", "question:#3"}


def test_beyond_the_reach_new_samples_join_earlier_clusters(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "CLUSTER_REACH", 4)
    asked = ["a", "b", "a", "c", "d", "a", "e", "f", "g", "h", "i", "b", "j", "j"]
    for number, question in enumerate(asked):
        store.append(Run(name=CHAT, samples=(Sample(id=f"s{number}", question=question),)))
    clusters = store.clusters(store.resolve(CHAT).run_id)
    assert clusters == dict.fromkeys(("s0", "s2", "s5"), "question:#0") | dict.fromkeys(("s12", "s13"), "question:#12")


def test_ids_stay_unique_within_and_across_calls(store: Store) -> None:
    store.append(numbered(*range(3)))
    more = tuple(Sample(id=name, question="q") for name in ("s1", "s1", "x", "x"))
    again = store.append(Run(name=CHAT, samples=more))
    assert again == ("s1#2", "s1#3", "x", "x#2")
    assert store.append(Run(name=CHAT, samples=(Sample(id="s1", question="q"),))) == ("s1#4",)


def test_deleted_samples_are_no_longer_drawn(store: Store) -> None:
    store.append(numbered(*range(1, 11)))
    run = store.resolve(CHAT)
    drawn = draw_samples(store, run, size=6, kind="grade")
    gone = drawn.positions[1:3]
    store.remove_samples(run.run_id, gone)
    kept = find_draw(store, run, "grade")
    assert kept is not None
    assert kept.positions == tuple(position for position in drawn.positions if position not in gone)
    assert kept.population == 8
    store.remove_samples(run.run_id, kept.positions)
    assert find_draw(store, run, "grade") is None
