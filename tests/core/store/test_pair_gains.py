"""Tests of lists of pairs: they are the same as those of the SQL that users can copy."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples
from tests.core.conftest import make_sample

from ragboard import Run, Store
from ragboard.records import Direction
from ragboard.store import RunRef
from ragboard.store.queries.pairs import PairQuery, Which, compared_pairs, pair_gains, paired_runs, pairs_query

SAMPLES = 6
VALUES = st.lists(
    st.sampled_from(["not evaluated", None, 0.0, 0.5, 0.5 + 1e-10, 1.0]), min_size=SAMPLES, max_size=SAMPLES
)
METRIC = "ragas.faithfulness"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Runs a and b, with some of the same questions at other positions."""
    store = Store(tmp_path_factory.mktemp("store"))
    for name, numbers in (("a", range(SAMPLES)), ("b", reversed(range(1, SAMPLES + 1)))):
        store.add_runs([Run(name=name, samples=tuple(map(make_sample, numbers)))])
    return store


@given(first=VALUES, second=VALUES, direction=st.sampled_from(get_args(Direction)))
@examples(25)
def test_pairs_are_listed_as_by_sql(
    runs: Store, first: list[float | str | None], second: list[float | str | None], direction: Direction
) -> None:
    with runs.database.write() as connection:
        connection.execute("DELETE FROM scores")
        for evaluation, values in (("ea", first), ("eb", second)):
            for position, value in enumerate(values):
                if value != "not evaluated":
                    given = [evaluation, position, METRIC, value, None if value is not None else "failed"]
                    connection.execute(
                        "INSERT INTO scores (evaluation_id, position, metric, value, reason) VALUES (?, ?, ?, ?, ?)",
                        given,
                    )
    a, b = (RunRef(run_id=runs.resolve(name).run_id, name=name, evaluation_id=f"e{name}") for name in "ab")
    with runs.database.read() as connection:
        gains = pair_gains(connection, a, b, paired_runs(connection, a.run_id, b.run_id), METRIC, direction)
        for which in get_args(Which):
            expected = (
                pairs_query(a, b, PairQuery(metric=METRIC, which=which, limit=10), direction).on(connection).fetchall()
            )
            assert gains.counts[which] == len(expected)
            for limit, offset in ((10, 0), (2, 1)):
                query = PairQuery(metric=METRIC, which=which, limit=limit, offset=offset)
                found = compared_pairs(connection, a, b, gains, query)
                assert [tuple(row) for row in found] == expected[offset:][:limit]
