"""Tests of live traffic over time: states, changes, weeks, groups and new statements."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from tests.core.conftest import make_run
from tests.core.traffic import FAITHFULNESS, START, Day, add_traffic

from ragboard import NotFoundError, Run, Sample, Store
from ragboard.analysis import (
    new_statements,
    series_states,
    set_threshold,
    traffic_columns,
    traffic_datasets,
    traffic_groups,
    traffic_trend,
)
from ragboard.stats import GroupDifference, group_difference
from ragboard.store.score_hours import freeze_score_hours, update_score_hours

CHAT = "chat (production)"


def scores(seed: int, mean: float = 0.8, n: int = 40) -> list[float | None]:
    """0/1 scores."""
    return list((np.random.default_rng(seed).random(n) < mean).astype(float))


def steady(first: int, stop: int, mean: float = 0.8) -> list[Day]:
    return [Day(scores(day, mean), day) for day in range(first, stop)]


def hours(store: Store) -> list[tuple[object, ...]]:
    with store.database.read() as connection:
        return connection.execute("FROM score_hours ORDER BY ALL").fetchall()


def test_a_steady_series_is_ok(store: Store) -> None:
    add_traffic(store, steady(0, 30))
    (state,) = series_states(store)
    week = [score for day in range(23, 30) for score in scores(day)]
    assert (state.state, state.samples, state.change) == ("ok", 280, None)
    assert state.mean == pytest.approx(np.mean([score for score in week if score is not None]))
    assert (state.dataset, state.metric, state.judge, state.label) == (CHAT, FAITHFULNESS, "plain", "Faithfulness")
    assert state.summary.startswith("Faithfulness of chat (production) is ok: mean 0.")
    assert state.summary.endswith("n = 280, in the 7 days to 2026-10-06.")
    assert traffic_datasets(store) == (CHAT,)


def test_a_drop_after_another_version_is_seen_and_marked(store: Store) -> None:
    add_traffic(store, steady(0, 40))
    add_traffic(store, steady(40, 50, 0.5), name="chat 1.1 (production)", version="1.1")
    (state,) = series_states(store)
    assert state.state == "dropped"
    assert state.change is not None
    assert abs(state.change.start - (START + timedelta(days=40))) <= timedelta(days=2)
    assert state.change.earliest <= state.change.start <= state.change.latest < state.change.seen
    assert "fell by 0." in state.summary
    trend = traffic_trend(store, CHAT, "faithfulness")
    assert trend.changes == (state.change,)
    assert [str(config) for config in trend.configs] == ["chat 1.1 (production): version 1.0 to 1.1"]
    assert trend.configs[0].time == START + timedelta(days=40)
    assert (len(trend.days), len(trend.weeks), trend.series) == (50, 8, 1)
    assert sum(day.n for day in trend.days) == sum(week.n for week in trend.weeks) == 2000
    assert all(week.start.weekday() == 0 for week in trend.weeks)


def test_a_drop_that_is_over_is_no_longer_news(store: Store) -> None:
    add_traffic(store, [*steady(0, 40), *steady(40, 50, 0.5), *steady(50, 60)])
    assert [state.state for state in series_states(store)] == ["ok"]
    falls = [change.after < change.before for change in traffic_trend(store, CHAT).changes]
    assert falls == [True, False]


def test_a_missed_threshold_counts_before_a_drop_and_only_if_it_is_sure(store: Store) -> None:
    add_traffic(store, steady(0, 20))
    set_threshold(store, FAITHFULNESS, 0.85)
    assert series_states(store)[0].state == "ok"
    set_threshold(store, FAITHFULNESS, 0.95)
    (state,) = series_states(store)
    assert state.state == "below threshold"
    assert state.summary.startswith("Faithfulness of chat (production) is below the threshold (at least 0.95): mean")


def test_few_samples_have_no_state(store: Store) -> None:
    add_traffic(store, [Day([1.0, None, 0.5], 0)])
    (state,) = series_states(store)
    assert (state.state, state.samples) == ("too few", 2)
    assert state.summary.startswith("Faithfulness of chat (production): too few samples to judge, 2 scored")
    assert traffic_trend(store, CHAT).days[0].unscored == 1


def test_only_unscored_samples_have_no_mean(store: Store) -> None:
    add_traffic(store, [Day([None] * 3, 0)])
    (state,) = series_states(store)
    assert (state.state, state.mean) == ("too few", None)
    assert traffic_trend(store, CHAT).week.in_words == "not compared: one week has no scored sample"


def test_the_week_is_compared_as_by_the_statistics_of_groups(store: Store) -> None:
    add_traffic(store, [*steady(0, 7), *steady(7, 14, 0.6)])
    week = traffic_trend(store, CHAT).week
    later, earlier = (
        [score for day in range(start, start + 7) for score in scores(day, mean) if score is not None]
        for start, mean in ((7, 0.6), (0, 0.8))
    )
    expected = group_difference(later, earlier, bounds=(0, 1))
    assert isinstance(week.difference, GroupDifference)
    assert week.difference.difference == pytest.approx(expected.difference)
    assert week.difference.p == pytest.approx(expected.p)
    assert (week.change, week.start) == ("worse", START + timedelta(days=6, hours=24))
    assert week.in_words.startswith("-0.2")


def test_groups_are_compared_and_their_p_values_adjusted(store: Store) -> None:
    def day(number: int, mean: float) -> Day:
        topics = [{"topic": "billing" if place % 2 else "shipping", "id": place} for place in range(40)]
        return Day([0.0 if place % 2 and mean < 0.8 else 1.0 for place in range(40)], number, metadata=topics)

    add_traffic(store, [*(day(number, 0.8) for number in range(7)), *(day(number, 0.5) for number in range(7, 14))])
    assert traffic_columns(store, CHAT)[0] == "topic"
    groups = {group.group: group for group in traffic_groups(store, CHAT, "topic")}
    assert {name: (group.n, group.mean, group.week.change) for name, group in groups.items()} == {
        "billing": (140, 0.0, "worse"),
        "shipping": (140, 1.0, "no significant difference"),
    }
    with pytest.raises(NotFoundError, match="no scored sample of the last 14 days has a value"):
        traffic_groups(store, CHAT, "nothing")


def test_statements_are_new_if_no_earlier_answer_had_them_unsupported(store: Store) -> None:
    old, new = "It opened in 1990.", "It closed in 2001."

    def day(number: int, *said: str) -> Day:
        return Day([1.0] * 4, number, statements=[said, (), said[:1], ()])

    add_traffic(store, [day(0, old), *(day(number) for number in range(1, 8)), day(8, old, "  it OPENED in 1990", new)])
    found = new_statements(store, CHAT)
    assert (found.new, found.total) == (1, 2)
    assert [(one.statement, one.times, one.sample_id, one.number) for one in found.statements] == [(new, 1, "d8-0", 3)]
    assert found.statements[0].verdict == "unsupported"


def test_samples_of_a_lower_sampling_rate_count_more(store: Store) -> None:
    evaluation = add_traffic(store, [Day([1.0] * 30, 0), Day([0.0] * 30, 1)])
    with store.database.write() as connection:
        connection.execute(
            "INSERT INTO sampling_rates SELECT run_id, evaluation_id, 30, 0.25, 1 FROM evaluations"
            " WHERE evaluation_id = ?",
            [evaluation],
        )
        update_score_hours(connection, evaluation)
    (state,) = series_states(store)
    assert state.mean == pytest.approx(30 / (30 + 120))
    assert state.samples == 60


def test_hours_are_the_same_whether_all_or_some_are_computed_again(store: Store) -> None:
    evaluation = add_traffic(store, steady(0, 3))
    before = hours(store)
    assert sum(int(str(row[3])) for row in before) == 120
    with store.database.write() as connection:
        connection.execute("UPDATE scores SET value = 0.5 WHERE position = 41")
        update_score_hours(connection, evaluation, [41])
    some = hours(store)
    assert some != before
    with store.database.write() as connection:
        update_score_hours(connection, evaluation)
    assert hours(store) == some


def test_hours_of_deleted_samples_stay(store: Store) -> None:
    evaluation = add_traffic(store, steady(0, 3))
    before = traffic_trend(store, CHAT).days
    run_id = store.resolve("chat 1.0 (production)").run_id
    with store.database.write() as connection:
        freeze_score_hours(connection, [run_id], START + timedelta(days=1))
        connection.execute("DELETE FROM samples WHERE position < 40")
        connection.execute("DELETE FROM scores WHERE position < 40")
        update_score_hours(connection, evaluation)
    assert traffic_trend(store, CHAT).days == before


def test_deleting_a_run_deletes_its_hours(store: Store) -> None:
    add_traffic(store, steady(0, 2))
    store.remove_runs([store.resolve("chat 1.0 (production)").run_id])
    assert hours(store) == []
    assert series_states(store) == ()


def test_runs_over_the_same_questions_are_no_traffic(store: Store) -> None:
    samples = tuple(Sample(id=f"s{number}", question=f"Q{number}?", answer="A.", time=START) for number in range(3))
    store.add_runs([Run(name="whole", samples=samples, dataset="d")])
    store.add_runs([make_run("without times")])
    assert series_states(store) == ()
    with pytest.raises(NotFoundError, match=r"dataset 'd' has no evaluated samples with a time: collect traffic"):
        traffic_trend(store, "d")


def test_each_judge_has_its_own_series(store: Store) -> None:
    add_traffic(store, steady(0, 3))
    add_traffic(store, steady(3, 6, 0.2), name="chat 1.1 (production)", judge="other")
    assert [state.judge for state in series_states(store)] == ["other", "plain"]
    assert traffic_trend(store, CHAT).state.judge == "other"
    assert traffic_trend(store, CHAT, judge="plain").judges == ("other", "plain")
    with pytest.raises(NotFoundError, match=r"no judge 'x' of ragas.faithfulness; available: other, plain"):
        traffic_trend(store, CHAT, judge="x")
