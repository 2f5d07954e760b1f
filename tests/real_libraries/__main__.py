"""Run a round trip with each real library, in an environment with only ragboard and this library.

    python -m tests.real_libraries [--keep FOLDER] [NAME ...]

Prints a line for each library with its version, and exits with 1 if one fails. pip installs the packages.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.real_libraries.environments import LIBRARIES, new_environment, report, run, run_script
from tests.real_libraries.model import fake_openai


def main() -> int:
    """Run the round trips; 1 if one fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.real_libraries", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(LIBRARIES)}; all if none is given")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the environments here for the next time")
    given = parser.parse_args()
    if unknown := {*given.names} - {*LIBRARIES}:
        parser.error(f"no library {', '.join(sorted(unknown))}; there are {', '.join(LIBRARIES)}")
    with tempfile.TemporaryDirectory(prefix="real-libraries-") as temporary, fake_openai() as address:
        folder = (given.keep or Path(temporary)).resolve()
        results = [round_trip(name, folder, address) for name in given.names or LIBRARIES]
    return 0 if all(results) else 1


def round_trip(library: str, folder: Path, address: str) -> bool:
    """Install a library beside ragboard and run its script; print what held, or the end of what went wrong."""
    python, installed = new_environment(library, folder)
    if not installed:
        return False
    version = run(python, "-c", f"from importlib.metadata import version; print(version({library!r}))", environment={})
    with tempfile.TemporaryDirectory() as empty:
        done = run_script(python, library, empty, OPENAI_BASE_URL=address)
    return report(f"{library} {version.stdout.strip()}", done)


if __name__ == "__main__":
    sys.exit(main())
