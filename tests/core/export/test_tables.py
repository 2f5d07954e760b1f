"""Tests of exported tables in every format."""

from __future__ import annotations

import csv
import json
from io import BytesIO
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from click.testing import CliRunner
from tests.conftest import Once
from tests.core.conftest import PlainJudge, make_run

from ragboard import DEFAULT_METRICS, Panel, Run, Sample, Store, evaluate_run
from ragboard.analysis import SampleQuery, sample_table
from ragboard.cli import main
from ragboard.errors import SettingError
from ragboard.export import TABLE_FORMATS, TABLES, table, table_bytes
from ragboard.store import RunRef


def keep(store: Store) -> None:
    unscored = Sample(id="none", question="Unanswered?", answer=None, contexts=())
    first = make_run("one", samples=3)
    second = Run(name="two", samples=(*first.samples[:2], unscored), config={"k": 3})
    for added in store.add_runs([first, second]):
        evaluate_run(store, added.id, DEFAULT_METRICS, Panel(judge=PlainJudge()))


@pytest.fixture
def runs(store: Store, once: Once) -> tuple[RunRef, RunRef]:
    once(keep, store)
    return store.resolve("one"), store.resolve("two")


def read(data: bytes, kind: str) -> pd.DataFrame:
    if kind == "parquet":
        return pd.read_parquet(BytesIO(data))
    if kind == "csv":
        return pd.read_csv(BytesIO(data), keep_default_na=False, na_values=[""])
    lines = data.decode().splitlines()
    return pd.DataFrame(json.loads(data) if kind == "json" else list(map(json.loads, lines)))


@pytest.mark.parametrize("kind", TABLE_FORMATS)
@pytest.mark.parametrize("what", TABLES)
def test_every_table_comes_back_in_every_format(
    store: Store, runs: tuple[RunRef, RunRef], what: str, kind: str
) -> None:
    frame = table(store, what, runs[: TABLES[what].min_runs])
    back = read(table_bytes(frame, kind), kind)
    assert list(back.columns) == list(frame.columns)
    assert len(back) == len(frame) > 0


def test_a_missing_score_is_empty_with_its_reason(store: Store, runs: tuple[RunRef, RunRef]) -> None:
    samples = json.loads(table_bytes(table(store, "samples", runs[1:]), "json"))
    missing = [row for row in samples if row["sample_id"] == "none" and row["metric"] == "ragas.faithfulness"]
    assert [(row["value"], row["reason"]) for row in missing] == [(None, "skipped")]
    means = table(store, "runs", runs[1:])
    faithful = means[means.metric == "ragas.faithfulness"].iloc[0]
    assert (faithful.scored, faithful.total, faithful.unscored) == (2, 3, "1 skipped")
    assert faithful["mean"] == 0.5


def test_pairs_and_comparison_say_b_less_a(store: Store, runs: tuple[RunRef, RunRef]) -> None:
    pairs = table(store, "pairs", runs)
    of_one = pairs[pairs.metric == "ragas.faithfulness"]
    assert list(of_one.value_a) == list(of_one.value_b) == [0.5, 0.5]
    assert set(of_one.change) == {"same"}
    compared = table(store, "comparison", runs).set_index("metric").loc["ragas.faithfulness"]
    assert (compared.a, compared.b, compared.pairs, compared.difference) == ("one", "two", 2, 0.0)


def test_samples_are_exported_as_they_were_filtered(store: Store, runs: tuple[RunRef, RunRef]) -> None:
    query = SampleQuery(column="ragas.faithfulness", only="unscored", order="worst")
    assert set(sample_table(store, runs[1], query).sample_id) == {"none"}
    assert set(sample_table(store, runs[1], SampleQuery(search="thing 1")).sample_id) == {"s1"}


@pytest.mark.parametrize(("what", "count"), [("samples", 0), ("samples", 2), ("pairs", 1), ("metrics", 1)])
def test_too_many_runs_or_too_few_are_rejected(
    store: Store, runs: tuple[RunRef, RunRef], what: str, count: int
) -> None:
    with pytest.raises(SettingError, match=f"the table {what} needs .* got {count}"):
        table(store, what, runs[:count])


def test_formulas_are_escaped_only_in_csv() -> None:
    frame = pd.DataFrame({"text": ["=cmd()", "+1", "plain", None], "value": [-1.0, 0.1234567890123, None, 2.0]})
    assert table_bytes(frame, "csv").decode().splitlines()[1:] == [
        "'=cmd(),-1.0",
        "'+1,0.1234567890123",
        "plain,",
        ",2.0",
    ]
    assert json.loads(table_bytes(frame, "json"))[0] == {"text": "=cmd()", "value": -1.0}


TRICKY = ["ok\r=cmd|' /C calc'!A0", "a\r\nb", "a\nb", "\r", "\n=1+1", "\uff1dcmd()", 'say "\r"', "plain, and simple"]


def test_a_cell_with_line_breaks_stays_one_cell_wherever_it_is_read(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    out.write_bytes(table_bytes(pd.DataFrame({"text": TRICKY, "=n": range(len(TRICKY))}), "csv"))
    with out.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    texts = ["'" + text if text[0] in "\r\n\uff1d" else text for text in TRICKY]
    assert (head, [row[0] for row in rows]) == (["text", "'=n"], texts)
    assert list(pd.read_csv(out)["text"]) == texts
    assert duckdb.execute("SELECT text FROM read_csv(?)", [str(out)]).fetchall() == [(text,) for text in texts]


def test_a_carriage_return_in_a_sample_splits_no_row_of_an_exported_file(store: Store, tmp_path: Path) -> None:
    sample = Sample(id="s", question="ok\r=cmd|' /C calc'!A0", answer="It is red.", contexts=())
    run_id = store.add_runs([Run(name="run", samples=(sample,))])[0].id
    evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=PlainJudge()))
    out = tmp_path / "out.csv"
    words = ["export", "run", "-o", str(out), "--store", str(store.folder)]
    assert CliRunner().invoke(main, words, catch_exceptions=False).exit_code == 0
    assert set(pd.read_csv(out)["question"]) == {sample.question}
