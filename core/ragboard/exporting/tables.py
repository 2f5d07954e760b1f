"""Tables of runs as CSV, JSON or Parquet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO, StringIO
from types import MappingProxyType

import pandas as pd
import pyarrow as pa

from ragboard.analysis import (
    PairQuery,
    SampleQuery,
    UnscoredPolicy,
    comparable_refs,
    compare_runs,
    leaderboard,
    metric_descriptions,
    pair_rows,
    pair_runs,
    run_summary,
    sample_table,
)
from ragboard.errors import SettingError
from ragboard.exporting.frames import comparison_frame, metrics_frame, pairs_frame, runs_frame
from ragboard.store import RunRef, Store

__all__ = ["TABLES", "TABLE_FORMATS", "Table", "table", "table_bytes"]

TABLE_FORMATS = ("csv", "json", "jsonl", "parquet")
ALL = 2**62
"""No limit."""

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""A spreadsheet takes a cell that begins so for a formula."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table that can be written."""

    fewest: int
    """Runs that have to be named."""
    most: int
    read: Callable[[Store, Sequence[RunRef], UnscoredPolicy], pd.DataFrame]


def table(store: Store, what: str, runs: Sequence[RunRef], *, unscored: UnscoredPolicy = "excluded") -> pd.DataFrame:
    """The table of that name over these runs; `unscored` counts where it has means.

    Raises SettingError for too few runs or too many.
    """
    wanted = TABLES[what]
    if not wanted.fewest <= len(runs) <= wanted.most:
        raise SettingError(f"the table {what} takes {_COUNT[wanted.most]}, not {len(runs)}")
    return wanted.read(store, runs, unscored)


def table_bytes(frame: pd.DataFrame, kind: str) -> bytes:
    """The table in one of `TABLE_FORMATS`; CSV cells that a spreadsheet would run are prefixed with `'`.

    Raises SettingError for a table that Parquet does not take.
    """
    if kind == "parquet":
        buffer = BytesIO()
        try:
            frame.to_parquet(buffer, index=False)
        except pa.ArrowException as error:
            raise SettingError(f"this table cannot be written as Parquet: {str(error).splitlines()[0]}") from error
        return buffer.getvalue()
    if kind == "csv":
        safe = frame.copy(deep=False)
        for name in frame.select_dtypes(include=["object", "string"]).columns:
            safe[name] = frame[name].map(_defused, na_action="ignore")
        safe.columns = [_defused(name) for name in frame.columns]
        rows = _Rows(newline="")
        safe.to_csv(rows, index=False, lineterminator=_Rows.END)
        return rows.getvalue().encode()
    written = frame.to_json(
        None,
        orient="records",
        lines=kind == "jsonl",
        date_format="iso",
        force_ascii=False,
        indent=None,
        double_precision=15,
    )
    return written.encode()


class _Rows(StringIO):
    """Rows that end with a line feed; the writer is told of a carriage return too, so that it quotes cells with one."""

    END = "\r\n"

    def write(self, row: str) -> int:
        """Keep a row."""
        return super().write(f"{row.removesuffix(self.END)}\n")


def _defused(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell


def _samples(store: Store, runs: Sequence[RunRef], _: UnscoredPolicy) -> pd.DataFrame:
    return sample_table(store, runs[0], SampleQuery())


def _statements(store: Store, runs: Sequence[RunRef], _: UnscoredPolicy) -> pd.DataFrame:
    """One row a statement and target."""
    with store.database.read() as connection:
        return connection.execute(
            "SELECT s.sample_id, s.question, t.side, t.statement + 1 AS number, t.text AS statement, t.span_start,"
            " t.span_end, t.origin, v.target, v.label, v.reason, v.score"
            " FROM statements t JOIN samples s ON s.run_id = $run AND s.position = t.position"
            " LEFT JOIN verdicts v ON v.evaluation_id = t.evaluation_id AND v.position = t.position"
            " AND v.side = t.side AND v.statement = t.statement"
            " WHERE t.evaluation_id = $evaluation ORDER BY t.position, t.side, t.statement, v.target",
            {"run": runs[0].run_id, "evaluation": runs[0].evaluation_id},
        ).df()


def _runs(store: Store, runs: Sequence[RunRef], unscored: UnscoredPolicy) -> pd.DataFrame:
    named = [run_summary(store, run, unscored=unscored) for run in runs]
    return runs_frame(named or leaderboard(store, unscored=unscored))


def _metrics(store: Store, _runs: Sequence[RunRef], _: UnscoredPolicy) -> pd.DataFrame:
    return metrics_frame(metric_descriptions(store).values())


def _comparison(store: Store, runs: Sequence[RunRef], unscored: UnscoredPolicy) -> pd.DataFrame:
    a, b = runs
    return comparison_frame(compare_runs(store, a, b, unscored=unscored))


def _pairs(store: Store, runs: Sequence[RunRef], _: UnscoredPolicy) -> pd.DataFrame:
    a, b = comparable_refs(store, *runs)
    pairing = pair_runs(store, a, b)
    specs = [one.metric for one in compare_runs(store, a, b, pairing).metrics]
    return pairs_frame(
        {spec: pair_rows(store, a, b, pairing, PairQuery(metric=spec, limit=ALL)).rows for spec in specs}
    )


TABLES: Mapping[str, Table] = MappingProxyType(
    {
        "samples": Table(fewest=1, most=1, read=_samples),
        "statements": Table(fewest=1, most=1, read=_statements),
        "runs": Table(fewest=0, most=ALL, read=_runs),
        "metrics": Table(fewest=0, most=0, read=_metrics),
        "comparison": Table(fewest=2, most=2, read=_comparison),
        "pairs": Table(fewest=2, most=2, read=_pairs),
    }
)
"""What can be written: of one run samples with scores and statements with verdicts, of any runs their means, of
none what the metrics are, of two how they compare, metric by metric and pair by pair."""

_COUNT = {0: "no run", 1: "one run", 2: "two runs", ALL: "any number of runs"}
