"""Compare ragboard's output with the golden files, except for sentences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.golden.make import EXPECTED, played
from tests.golden.normal import differences, read
from tests.golden.scenes import SCENES

SHOWN = 25


KEPT = [name for name in SCENES if (EXPECTED / f"{name}.json.gz").exists()]
"""Those in the repository: keys, prompts, schemas and journals. Others are written before a change, and compared after."""


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.filterwarnings("default")
def test_it_is_as_it_was(name: str, tmp_path: Path) -> None:
    expected = read(EXPECTED / f"{name}.json.gz")
    actual, _ = played(name)
    actual = json.loads(json.dumps(actual))
    changed = list(differences(expected, actual))
    for kind, value in (("expected", expected), ("actual", actual)):
        (tmp_path / f"{kind}.json").write_text(json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False), "utf-8")
    more = f"\n... and {len(changed) - SHOWN} more" if len(changed) > SHOWN else ""
    assert not changed, "\n".join(["", *changed[:SHOWN]]) + f"{more}\nwhole: {tmp_path}/expected.json, actual.json"
