"""Tests of the documentation's notebooks: valid files. `python -m tests.notebooks` executes them."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.notebooks import FOLDER, LIBRARY_OF

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def cells_of(path: Path, kind: str) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == kind]


def test_every_notebook_is_executed_somewhere() -> None:
    assert {path.stem for path in NOTEBOOKS} == LIBRARY_OF.keys()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_valid(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["metadata"]["kernelspec"]["name"]) == (4, "python3")
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(ids) == len(set(ids))
    assert {cell["cell_type"] for cell in notebook["cells"]} == {"markdown", "code"}
    for cell in cells_of(path, "code"):
        assert (cell["execution_count"], cell["outputs"]) == (None, []), "stored outputs age"
        ast.parse("".join(cell["source"]))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_names_no_absolute_path_and_no_other_host(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.findall(r"(?<![\w.\"])/(?:home|root|tmp|usr|Users|work)\b|[A-Z]:\\\\", text)
    assert "://" not in text


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_the_same_four_steps(path: Path) -> None:
    code = "\n".join("".join(cell["source"]) for cell in cells_of(path, "code"))
    for step in ("ragboard.evaluate(", 'result["faithfulness"]', "result.hallucinations()", "result.compare("):
        assert step in code


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_links_of_a_notebook_lead_somewhere(path: Path) -> None:
    text = "".join("".join(cell["source"]) for cell in cells_of(path, "markdown"))
    for target in re.findall(r"\]\(([^)#]+)", text):
        assert (path.parent / target).exists()
