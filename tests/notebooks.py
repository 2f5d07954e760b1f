"""Execute the documentation's notebooks, each in an environment with ragboard and its library.

    python -m tests.notebooks [--keep FOLDER] [NAME ...]

Prints a line for each notebook, and exits with 1 if one fails. `--keep` can name the folder of `tests.real_libraries`.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests.real_libraries.environments import QUIET, ROOT, new_environment, report, run

__all__ = ["FOLDER", "LIBRARY_OF"]

FOLDER = ROOT / "docs" / "notebooks"
LIBRARY_OF = {"langchain": "langchain-core", "llamaindex": "llama-index-core", "ragas": "ragas"}
"""The library that each notebook needs."""

NO_NETWORK = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")
EXECUTE = """
import sys
import nbformat
from nbclient import NotebookClient

path, folder = sys.argv[1:]
notebook = nbformat.read(path, as_version=4)
nbformat.validate(notebook)
NotebookClient(notebook, kernel_name="python3", timeout=600, resources={"metadata": {"path": folder}}).execute()
cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
print(len(cells), "cells,", sum(bool(cell.outputs) for cell in cells), "with output")
"""


def main() -> int:
    """Execute the notebooks; 1 if one fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.notebooks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(LIBRARY_OF)}; all if none is given")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the environments here for the next time")
    given = parser.parse_args()
    if unknown := {*given.names} - {*LIBRARY_OF}:
        parser.error(f"no notebook {', '.join(sorted(unknown))}; there are {', '.join(LIBRARY_OF)}")
    with tempfile.TemporaryDirectory(prefix="notebooks-") as temporary:
        folder = (given.keep or Path(temporary)).resolve()
        results = [execute(name, folder) for name in given.names or LIBRARY_OF]
    return 0 if all(results) else 1


def execute(name: str, folder: Path) -> bool:
    """Install the notebook's library and execute it there; print what held, or the end of what went wrong."""
    python, installed = new_environment(LIBRARY_OF[name], folder, ("nbclient", "ipykernel"))
    if not installed:
        return False
    with tempfile.TemporaryDirectory() as home:
        environment = QUIET | NO_NETWORK | {"HOME": home, "PATH": os.environ["PATH"]}
        done = run(python, "-P", "-c", EXECUTE, str(FOLDER / f"{name}.ipynb"), str(FOLDER), environment=environment)
    return report(name, done)


if __name__ == "__main__":
    sys.exit(main())
