"""Tests of clustering: every interval of a report changes if only the conversation column changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.conftest import Once
from tests.core.conftest import PlainJudge, make_sample
from tests.core.human.test_estimates import label

from ragboard import DEFAULT_METRICS, EvaluationOptions, Interval, JudgeOptions, Panel, Run, Store, evaluate_run
from ragboard.analysis import (
    breakdown,
    compare_runs,
    diagnose,
    distribution,
    judge_noise,
    leaderboard,
    overruled_verdicts,
    run_summary,
)
from ragboard.export.run_report import run_report
from ragboard.human.annotation import draw_samples
from ragboard.human.estimates import estimate_runs
from ragboard.human.labels import label_statement
from ragboard.stats import NoInterval, mean_interval, moments

FAITHFULNESS = "ragas.faithfulness"
TURNS = 4
SAMPLES = 96


def conversation(number: int) -> int:
    return number // TURNS


def keep(store: Store, name: str, *, turns: bool, every: int = 2) -> None:
    """Every so many conversations are answered well, in each of their turns."""
    samples = [
        replace(
            make_sample(number, answer="It is red." if conversation(number) % every == 0 else "It is old."),
            metadata={
                "kind": f"kind {conversation(number) % 2}",
                **({"chat_id": conversation(number)} if turns else {}),
            },
        )
        for number in range(SAMPLES)
    ]
    (run,) = store.add_runs([Run(name=name, samples=tuple(samples))])
    evaluate_run(store, run.id, DEFAULT_METRICS, Panel(judge=PlainJudge()))


def keep_both(store: Store) -> None:
    keep(store, "alone", turns=False)
    keep(store, "turns", turns=True)


@pytest.fixture
def both(store: Store, once: Once) -> Store:
    """The same run with conversations and without."""
    return once(keep_both, store)


def wider(turns: Interval | NoInterval, alone: Interval | NoInterval) -> None:
    assert isinstance(turns, Interval)
    assert isinstance(alone, Interval)
    assert turns.estimate == pytest.approx(alone.estimate, abs=1e-12)
    assert turns.high - turns.low > 1.5 * (alone.high - alone.low)
    assert "clusters" in turns.method
    assert "clustered" not in alone.method


def test_means_are_those_of_numpys_values_and_clusters(both: Store) -> None:
    found = {run.name: run for run in leaderboard(both)}
    values = np.array([float(conversation(number) % 2 == 0) for number in range(SAMPLES)])
    clusters = [conversation(number) for number in range(SAMPLES)]
    for name, known in (("alone", moments(values)), ("turns", moments(values, clusters))):
        assert found[name].metrics[FAITHFULNESS].interval == mean_interval(known, bounds=(0.0, 1.0))
    wider(*(found[name].metrics[FAITHFULNESS].interval for name in ("turns", "alone")))


def test_distributions_groups_and_shares(both: Store) -> None:
    both.set_threshold(FAITHFULNESS, 0.5)
    for name, unscored in ((FAITHFULNESS, "excluded"), (FAITHFULNESS, "zero"), (FAITHFULNESS, "bounds")):
        turns, alone = (distribution(both, both.resolve(run), name, unscored=unscored) for run in ("turns", "alone"))
        wider(turns.interval, alone.interval)
        assert turns.meeting_threshold is not None
        assert alone.meeting_threshold is not None
        assert (
            (turns.meeting_threshold.good, turns.meeting_threshold.n)
            == (alone.meeting_threshold.good, alone.meeting_threshold.n)
            == (SAMPLES // 2, SAMPLES)
        )
        wider(turns.meeting_threshold.interval, alone.meeting_threshold.interval)
    groups = [breakdown(both, both.resolve(run), FAITHFULNESS, "metadata.kind") for run in ("turns", "alone")]
    for ours, other in zip(*groups, strict=True):
        assert (ours.value, ours.scored, ours.mean) == (other.value, other.scored, other.mean)
        assert isinstance(ours.interval, Interval)
        assert ours.interval.method.endswith("12 clusters")


def test_a_comparison_takes_the_conversations_of_the_run_that_says_them(both: Store) -> None:
    keep(both, "others", turns=False, every=3)
    alone, turns = (compare_runs(both, both.resolve(run), both.resolve("others")) for run in ("alone", "turns"))
    assert (alone.clustered, turns.clustered) == ("", "24 conversations")
    ours, others = (next(one for one in found.metrics if one.metric == FAITHFULNESS) for found in (turns, alone))
    assert ours.pairs is not None
    assert others.pairs is not None
    wider(ours.pairs.interval, others.pairs.interval)
    assert ours.pairs.p > others.pairs.p


def test_a_refusal_rate_is_of_conversations(both: Store) -> None:
    found = compare_runs(both, both.resolve("turns"), both.resolve("alone")).refusals
    assert found is not None
    assert found.test.method == "exact sign test of clusters"


def test_a_diagnosis(both: Store) -> None:
    turns, alone = (diagnose(both, both.resolve(run)) for run in ("turns", "alone"))
    figures = [
        next(
            one.figure.interval
            for one in (*found.findings, *found.not_triggered)
            if one.figure and one.figure.label == "Faithfulness"
        )
        for found in (turns, alone)
    ]
    wider(*figures)


def test_verdicts_that_people_overrule(both: Store) -> None:
    for name in ("turns", "alone"):
        for number in range(TURNS):
            label_statement(both, both.resolve(name), f"s{number}", 1, "unsupported", annotator="ada")
    turns, alone = (overruled_verdicts(both, run_summary(both, both.resolve(name))) for name in ("turns", "alone"))
    assert turns.metrics[FAITHFULNESS].mean == pytest.approx(SAMPLES / 2 / SAMPLES - TURNS / SAMPLES)
    wider(*(found.metrics[FAITHFULNESS].interval for found in (turns, alone)))


def test_the_noise_of_a_judge(both: Store) -> None:
    for name in ("turns", "alone"):
        judge_options = JudgeOptions(judge="plain", parameters={"seed": 2})
        other = Panel(judge=PlainJudge(version="2"))
        evaluate_run(
            both, both.resolve(name).run_id, DEFAULT_METRICS, other, EvaluationOptions(judge_options=judge_options)
        )
    (turns,), (alone,) = (
        [one for one in judge_noise(both, both.resolve(name)) if one.metric == FAITHFULNESS]
        for name in ("turns", "alone")
    )
    assert turns.paired.difference == alone.paired.difference == 0.0
    assert isinstance(turns.paired.interval, Interval)
    assert turns.paired.interval.method.endswith("24 clusters")


def test_an_estimate_from_labels_says_that_it_does_not_know_them(both: Store) -> None:
    for name in ("turns", "alone"):
        run = both.resolve(name)
        label(both, run, draw_samples(both, run, size=30, seed=1).positions)
    found = estimate_runs(both, [both.resolve(name) for name in ("turns", "alone")])
    notes = {one.run: " ".join(one.system.notes) for one in found.inputs}
    assert "the samples come from 24 conversations but are treated as independent" in notes["turns"]
    assert "independent" not in notes["alone"]


def test_no_estimate_is_not_said_to_have_narrow_intervals(both: Store) -> None:
    (found,) = estimate_runs(both, [both.resolve("turns")]).inputs
    assert found.system.unusable_reason
    assert not any("intervals" in note for note in found.system.notes)


def test_of_a_part_the_conversations_in_it_are_counted(both: Store, store: Store) -> None:
    samples = tuple(replace(make_sample(number), metadata={"chat_id": conversation(number)}) for number in range(24))
    (run,) = store.add_runs([Run(name="part", samples=samples)])
    evaluate_run(store, run.id, DEFAULT_METRICS, Panel(judge=PlainJudge()), EvaluationOptions(sample=8))
    (part,) = {one.clustered for one in leaderboard(both) if one.name == "part"}
    scored = store.resolve("part")
    with store.database.read() as connection:
        known = connection.execute(
            "SELECT count(DISTINCT cluster) FROM samples JOIN scores USING (position) WHERE run_id = ?"
            " AND evaluation_id = ?",
            [run.id, scored.evaluation_id],
        ).fetchall()
    assert part == f"{known[0][0]} conversations"
    assert known[0][0] < 6


def test_a_run_without_scores_has_no_intervals_to_cluster(store: Store) -> None:
    samples = tuple(replace(make_sample(number), metadata={"chat_id": number // 4}) for number in range(24))
    store.add_runs([Run(name="never", samples=samples)])
    assert run_summary(store, store.resolve("never")).clustered == ""


def test_a_report_in_html(both: Store) -> None:
    assert "clustered by 24 conversations" in run_report(both, both.resolve("turns"))
    assert "clustered" not in run_report(both, both.resolve("alone"))


def test_more_than_500_values_of_independent_samples_are_summed_up_by_the_database(store: Store) -> None:
    values = np.random.default_rng(1).random(700)
    samples = [replace(make_sample(number), metadata={"seconds": float(one)}) for number, one in enumerate(values)]
    store.add_runs([Run(name="many", samples=tuple(samples))])
    found = distribution(store, store.resolve("many"), "metadata.seconds")
    expected = mean_interval(moments(values), bounds=None)
    assert isinstance(found.interval, Interval)
    assert isinstance(expected, Interval)
    assert (found.interval.low, found.interval.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert found.interval.method == expected.method == "Student's t"


def test_a_topic_that_is_one_conversation_is_not_tested(store: Store) -> None:
    """The mean of one conversation has no error: it is set apart by nothing."""
    samples = tuple(
        replace(
            make_sample(number, answer="It is red." if number < 66 else "It is old."),
            metadata={"topic": "refunds" if number >= 66 else "other", "conversation_id": number // 6},
        )
        for number in range(72)
    )
    (run,) = store.add_runs([Run(name="chat", samples=samples)])
    evaluate_run(store, run.id, DEFAULT_METRICS, Panel(judge=PlainJudge()))
    found = diagnose(store, store.resolve("chat"))
    assert "refunds" not in " ".join(one.sentence for one in found.findings)
