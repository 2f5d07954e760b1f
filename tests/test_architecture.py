"""Tests of the architecture: directions of imports, public names, and words that no module may contain."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import ragboard
import ragboard_dashboard

CORE = Path(ragboard.__file__).parent
DASHBOARD = Path(ragboard_dashboard.__file__).parent

LAYERS = (
    ("errors",),
    ("records",),
    ("text",),
    ("answerability", "settings", "schema", "stats", "problems", "spans", "outputs", "display", "processes", "hosts"),
    ("readers", "database", "prices"),
    ("tasks", "sample_files"),
    ("judges",),
    ("metrics",),
    ("store",),
    ("evaluation", "analysis", "query"),
    ("human", "datasets"),
    ("export",),
    ("api", "collector", "demo", "training", "mcp_server", "tracing"),
    ("testing",),
    ("pytest_plugin",),
    ("cli",),
)
"""From the bottom up: a module imports from its own layer's own package, or from below."""

LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imported(path: Path) -> set[str]:
    """The full names of the modules that a file imports, at its top or anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            found.add(node.module or "")
    return found


def part(module: str) -> str:
    """`ragboard.metrics.base` is in `metrics`."""
    return module.split(".")[1] if "." in module else ""


FILES = [
    path for path in sorted(CORE.rglob("*.py")) if path.parent != CORE or path.stem not in ("__init__", "__main__")
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(CORE).as_posix())
def test_imports_point_one_way(path: Path) -> None:
    own = path.relative_to(CORE).with_suffix("").parts[0]
    for module in imported(path):
        if module.startswith("ragboard."):
            there = part(module)
            assert there == own or LEVEL[there] < LEVEL[own], f"{own} imports {there}"
        assert not module.startswith(("streamlit", "plotly", "ragboard_dashboard")), f"{own} imports {module}"


@pytest.mark.parametrize("path", sorted((CORE / "stats").glob("*.py")), ids=lambda path: path.name)
def test_statistics_know_nothing_of_rag(path: Path) -> None:
    known = {
        "__future__",
        "collections",
        "collections.abc",
        "itertools",
        "dataclasses",
        "functools",
        "math",
        "numpy",
        "scipy",
        "numpy.typing",
        "statistics",
        "typing",
    }
    assert {module for module in imported(path) if not module.startswith("ragboard.stats")} <= known


@pytest.mark.parametrize("path", sorted((DASHBOARD / "views").glob("*/page.py")), ids=lambda path: path.parent.name)
def test_a_page_does_not_compute(path: Path) -> None:
    assert not {
        module for module in imported(path) if module.split(".")[0] in ("duckdb", "numpy", "scipy", "statistics")
    }


def test_the_public_surface_is_exactly_all() -> None:
    stub = ast.parse((CORE / "__init__.pyi").read_text(encoding="utf-8"))
    names = [alias.name for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    listed = next(ast.literal_eval(node.value) for node in stub.body if isinstance(node, ast.Assign))
    assert set(names) == set(listed) == set(ragboard.__all__)
    assert listed == sorted(listed, key=lambda name: (not name.isupper(), name[0].islower(), name))
    for name in names:
        assert getattr(ragboard, name) is not None


@pytest.mark.parametrize("path", sorted(CORE.rglob("*.py")), ids=lambda path: path.relative_to(CORE).as_posix())
def test_every_module_says_what_it_is_for_and_what_it_offers(path: Path) -> None:
    assert ast.get_docstring(parsed(path))
    name = ".".join(("ragboard", *path.relative_to(CORE).with_suffix("").parts)).removesuffix(".__init__")
    if name == "ragboard.__main__":
        return
    module = importlib.import_module(name)
    for offered in getattr(module, "__all__", ()):
        assert hasattr(module, offered), f"{name} offers {offered}, which is not there"


HEAVY = frozenset(
    {"duckdb", "nltk", "numpy", "openai", "pandas", "plotly", "pyarrow", "pydantic", "scipy", "streamlit"}
)


@pytest.mark.parametrize(
    ("program", "allowed"),
    [
        ("import ragboard, ragboard.cli", set()),
        ("from ragboard.cli import main; main(['--help'], standalone_mode=False)", set()),
        ("import ragboard; ragboard.Sample, ragboard.Run", set()),
        ("import ragboard.pytest_plugin; ragboard.assert_evaluation", set()),
        ("import ragboard; ragboard.evaluate", {"duckdb", "numpy", "pyarrow", "pydantic"}),
        ("import ragboard.cli.imports", {"duckdb", "numpy", "pyarrow"}),
        ("import ragboard.cli.runs", {"duckdb", "numpy", "pyarrow", "pydantic"}),
    ],
)
def test_nothing_heavy_is_imported_before_it_is_needed(program: str, allowed: set[str]) -> None:
    look = f"import sys; {program}; print(*({HEAVY!r} & sys.modules.keys()), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert set(done.stderr.split()) <= allowed


SQL = re.compile(
    r"\b(SELECT\s|FROM\s+\w+\s+(WHERE|JOIN)|INSERT\s+(OR|INTO)\b|DELETE\s+FROM\b|UPDATE\s+\w+\s+SET\b"
    r"|CREATE\s+(TEMP|TABLE|VIEW))"
)
ELSEWHERE = {
    "database.py": "it opens the database and applies its migrations",
    "evaluation/cache.py": "answers are kept in a database of their own",
    "cli/housekeeping.py": "it looks at a database that may be damaged",
    "readers/formats/deepeval.py": "test runs can be in a database of DeepEval's",
    "readers/formats/sqlite.py": "it opens the databases of other tools",
    "readers/formats/trulens.py": "TruLens keeps its records in a database",
}
"""Where SQL is outside of the store, and why."""


def has_sql(path: Path) -> bool:
    """Whether a file has SQL in a text that is no docstring."""
    nodes = list(ast.walk(parsed(path)))
    said = {
        id(node.body[0].value)
        for node in nodes
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    texts = (node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return any(SQL.search(str(node.value)) for node in texts if id(node) not in said)


def test_sql_is_only_in_the_store() -> None:
    found = {path.relative_to(CORE).as_posix() for path in CORE.rglob("*.py") if has_sql(path)}
    assert {path for path in found if not path.startswith("store/")} == ELSEWHERE.keys()
    assert not [path for path in DASHBOARD.rglob("*.py") if has_sql(path)]
