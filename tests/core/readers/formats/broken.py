"""Files with a missing part or a wrong type: each is read or rejected in one line."""

from __future__ import annotations

import copy
import csv
import io
import json
import random
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from ragboard import RunFileError, preview, read_runs

DEEP: list[Any] = []
for _ in range(90):
    DEEP = [DEEP]
GONE = object()
"""In place of a value: its key or element is taken away."""
WRONG: tuple[Any, ...] = (GONE, None, True, 7, 1e400, "", "text", [], {}, ["x", None, 3], {"a": "\ud800"}, "\ud800")
WORSE: tuple[Any, ...] = (
    *(-1, -1e308, float("nan"), 10**30, "[1", '{"a":', '"text"', "[]", "9" * 5000, [None], [[]], {"x": [None]}),
    *({"role": "user"}, {"role": 1, "content": [1]}, {"choices": [{}]}, DEEP),
)
"""Values that break few readers; for files that are tried at random."""


def broken_versions(value: Any) -> Iterator[Any]:
    """The value with each of its parts gone, and replaced by each of the wrong values."""
    for place in _places(value):
        for wrong in WRONG:
            yield _with(value, place, wrong)


def broken_at_random(value: Any, *, times: int = 120) -> Iterator[Any]:
    """The value with one of its parts gone or wrong, so many times."""
    chance = random.Random(0)
    places = list(_places(value))
    for _ in range(times):
        yield _with(value, chance.choice(places), chance.choice(WRONG + WORSE))


def check_broken(path: Path, value: Any) -> None:
    """Write and read the value as it is, then with each part gone or wrong."""
    assert read_runs(written(path, value)).runs
    for one in broken_versions(value):
        read_or_refused(written(path, one))
        try:
            preview(path)
        except RunFileError:
            continue


def check_broken_at_random(path: Path, value: Any) -> None:
    """Write and read the value with one part gone or wrong, a number of times."""
    for one in broken_at_random(value):
        read_or_refused(written(path, one))


def read_or_refused(path: Path) -> str:
    """The format of a file whose runs can be stored, or why it was refused; any other error is the test's failure."""
    try:
        result = read_runs(path)
    except RunFileError as error:
        refused = str(error)
    else:
        for run in result.runs:
            json.dumps(asdict(run), ensure_ascii=False, allow_nan=False, default=datetime.isoformat).encode()
        return result.report.format
    assert "\n" not in refused
    return refused


def written(path: Path, value: Any) -> Path:
    """The value as a file, by the ending of its name."""
    if path.suffix == ".csv":
        out = io.StringIO()
        rows = [row for row in value if isinstance(row, dict)]
        names = list(dict.fromkeys(name for row in rows for name in row))
        table = csv.writer(out)
        table.writerow(names)
        table.writerows([_cell(row.get(name)) for name in names] for row in rows)
        path.write_text(out.getvalue(), encoding="utf-8", errors="replace")
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in value), encoding="utf-8")
    else:
        path.write_text(json.dumps(value), encoding="utf-8")
    return path


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, (dict, list)) else value


def _places(value: Any) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (key,)
        yield from ((key, *rest) for rest in _places(one))


def _with(value: Any, place: tuple[Any, ...], wrong: Any) -> Any:
    *path, last = place
    whole = copy.deepcopy(value)
    inside = whole
    for step in path:
        inside = inside[step]
    if wrong is GONE:
        del inside[last]
    else:
        inside[last] = wrong
    return whole
