"""Create an environment for a library and ragboard, and run a script in it."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterable
from pathlib import Path

__all__ = ["LIBRARIES", "QUIET", "ROOT", "new_environment", "report", "run", "run_script"]

ROOT = Path(__file__).parents[2]

SDK = ("opentelemetry-exporter-otlp-proto-http", "opentelemetry-sdk")
"""What sends traces."""

LIBRARIES = {
    "ragas": ("langchain<1", "langchain-community<0.4"),  # ragas 0.4.3 imports what later ones have not
    "deepeval": (),
    "trulens": ("trulens-providers-openai",),
    "langchain-core": (),
    "llama-index-core": (),
    "haystack-ai": (),
    "openinference-instrumentation-haystack": ("haystack-ai", *SDK),
    "openinference-instrumentation-langchain": ("langchain-core", *SDK),
    "openinference-instrumentation-llama-index": ("llama-index-core", *SDK),
}
"""Each library, with what else its environment needs."""

QUIET = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "PYTHONWARNINGS": "ignore",
    "RAGAS_DO_NOT_TRACK": "true",
    "OPENAI_API_KEY": "none",
}


def new_environment(library: str, folder: Path, others: Iterable[str] = ()) -> tuple[Path, bool]:
    """Install a library, and the other packages, beside ragboard; its Python, and whether that succeeded."""
    python = folder / library / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not python.exists():
        venv.create(folder / library, with_pip=True)
    packages = [str(ROOT), library, *LIBRARIES[library], *others]
    installed = run(python, "-m", "pip", "install", "--quiet", *packages, environment=dict(os.environ))
    if installed.returncode:
        report(library, installed)
    return python, installed.returncode == 0


def run(
    python: Path, *words: str, environment: dict[str, str], folder: Path | str | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, *words], env=environment, cwd=folder, capture_output=True, text=True, check=False, timeout=3600
    )


def run_script(python: Path, library: str, folder: Path | str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the script of a library in a folder, which is also its home."""
    script = Path(__file__).parent / f"with_{library.replace('-', '_')}.py"
    given = QUIET | {"HOME": str(folder), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)} | environment
    return run(python, "-P", str(script), environment=given, folder=folder)


def report(what: str, done: subprocess.CompletedProcess[str]) -> bool:
    """Print what held, or the end of what went wrong; whether it held."""
    lines = (done.stderr if done.returncode else done.stdout).strip().splitlines()
    print(f"{what}: {'FAILED: ' if done.returncode else ''}{lines[-1] if lines else 'it says nothing'}", flush=True)
    if done.returncode:
        print("\n".join(lines[-20:-1]), file=sys.stderr)
    return done.returncode == 0
