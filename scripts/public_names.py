"""List every public name with the first line of its docstring, for review.

    python scripts/public_names.py [FOLDER_OR_MODULE ...]

Public names are modules, classes, methods and functions that do not begin with an underscore.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Print the names in the given modules, or in all modules."""
    given = [Path(one) for one in sys.argv[1:]] or [ROOT / "core", ROOT / "dashboard"]
    modules = sorted(path for one in given for path in ([one] if one.is_file() else one.rglob("*.py")))
    for path in modules:
        module = ast.parse(path.read_text(encoding="utf-8"))
        print(f"\n{path}: {_first_line(module)}")
        for indent, name, line in _names(module):
            print(f"{'  ' * indent}{name}: {line}" if line else f"{'  ' * indent}{name}")


def _names(parent: ast.Module | ast.ClassDef, indent: int = 1) -> Iterator[tuple[int, str, str]]:
    for node in parent.body:
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) or node.name.startswith("_"):
            continue
        yield indent, node.name if isinstance(node, ast.ClassDef) else f"{node.name}()", _first_line(node)
        if isinstance(node, ast.ClassDef):
            yield from _names(node, indent + 1)


def _first_line(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return (ast.get_docstring(node) or "").partition("\n")[0]


if __name__ == "__main__":
    main()
