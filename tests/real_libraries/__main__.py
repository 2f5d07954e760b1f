"""Runs a round trip with each real library, in an environment with ragboard from this tree and that library alone.

    python -m tests.real_libraries [--keep FOLDER] [NAME ...]

Prints a line for each library with its version, and exits with 1 if one fails. Packages come from where pip takes them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from tests.real_libraries.model import fake_openai

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]

LIBRARIES = {
    "ragas": ("langchain<1", "langchain-community<0.4"),  # ragas 0.4.3 imports what later ones have not
    "deepeval": (),
    "trulens": ("trulens-providers-openai",),
    "langchain-core": (),
    "llama-index-core": (),
    "haystack-ai": (),
}
"""Each library, with what else its environment needs."""

QUIET = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "PYTHONWARNINGS": "ignore",
    "RAGAS_DO_NOT_TRACK": "true",
    "OPENAI_API_KEY": "none",
}


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
    python = folder / library / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not python.exists():
        venv.create(folder / library, with_pip=True)
    packages = [str(ROOT), library, *LIBRARIES[library]]
    installed = run(python, "-m", "pip", "install", "--quiet", *packages, environment=dict(os.environ))
    if installed.returncode:
        return _report(library, installed)
    version = run(python, "-c", f"from importlib.metadata import version; print(version({library!r}))", environment={})
    script = FOLDER / f"with_{library.replace('-', '_')}.py"
    with tempfile.TemporaryDirectory() as empty:
        environment = QUIET | {"OPENAI_BASE_URL": address, "HOME": empty, "PATH": os.environ["PATH"]}
        done = run(python, "-P", str(script), environment=environment, folder=empty)
    return _report(f"{library} {version.stdout.strip()}", done)


def run(
    python: Path, *words: str, environment: dict[str, str], folder: str | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, *words], env=environment, cwd=folder, capture_output=True, text=True, check=False, timeout=3600
    )


def _report(what: str, done: subprocess.CompletedProcess[str]) -> bool:
    lines = (done.stderr if done.returncode else done.stdout).strip().splitlines()
    print(f"{what}: {'FAILED: ' if done.returncode else ''}{lines[-1] if lines else 'it says nothing'}", flush=True)
    if done.returncode:
        print("\n".join(lines[-20:-1]), file=sys.stderr)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
