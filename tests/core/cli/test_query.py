"""Tests of `ragboard query`: output, files, and refused statements (exit code 2)."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from tests.core.conftest import make_run

from ragboard import Store
from ragboard.cli import main


@pytest.fixture
def kept(store: Store) -> Store:
    store.add_runs([make_run("a\x1b[31m", 2), make_run("b", 3)])
    return store


def query(store: Store, *words: str, given: str | None = None) -> Result:
    return CliRunner().invoke(main, ["query", *words, "--store", str(store.folder)], input=given)


def test_a_table_for_people_steers_no_terminal(kept: Store) -> None:
    said = query(kept, "SELECT name, samples FROM runs ORDER BY samples")
    assert said.exit_code == 0
    assert said.stdout == "name    samples\na\ufffd[31m  2\nb       3\n"


def test_a_file_is_written_under_the_given_name_and_left_out_rows_are_reported(kept: Store, tmp_path: Path) -> None:
    out = tmp_path / "names.parquet"
    said = query(kept, "SELECT name FROM runs ORDER BY name DESC", "--rows", "1", "-o", str(out))
    assert (said.stdout, said.stderr) == ("", "first 1 rows; show more with --rows N\n")
    assert pq.read_table(out).to_pylist() == [{"name": "b"}]


def test_a_statement_comes_from_standard_input_too(kept: Store) -> None:
    assert query(kept, "-", "--format", "csv", given="SELECT 1 AS one").stdout == "one\n1\n"


@pytest.mark.parametrize(("sql", "says"), [("DROP TABLE runs", "DROP is not allowed"), ("SELECT", "Parser Error")])
def test_anything_else_is_rejected(kept: Store, sql: str, says: str) -> None:
    said = query(kept, sql)
    assert said.exit_code == 2
    assert said.stderr.startswith("ragboard: ")
    assert says in said.stderr
    assert said.stderr.count("\n") == 1
