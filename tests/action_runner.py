"""A runner for the steps of `action.yml`, in place of GitHub's."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

__all__ = ["ACTION", "EXPRESSION", "STEPS", "Runner"]

ROOT = Path(__file__).parents[1]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
EXPRESSION = re.compile(r"\$\{\{ inputs\.([a-z-]+) \}\}")


class Runner:
    """A runner with a working directory and the files that steps write to."""

    def __init__(self, folder: Path, program: Path) -> None:
        self.folder = folder
        self.output, self.summary = folder / "output", folder / "summary"
        self.bin = folder / "bin"
        self.bin.mkdir()
        self._program("ragboard", f'exec "{program}" "$@"')
        self._program("python", 'printf "%s\\n" "$@" > "$RUNNER_TEMP/installed"')

    def _program(self, name: str, script: str) -> None:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)

    def write(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write a run file into the working directory."""
        (self.folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")

    def run(self, step: dict[str, Any], **given: str) -> subprocess.CompletedProcess[str]:
        """Run a step with these inputs, `_` for `-` in their names, and the defaults of the others."""
        inputs = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()}
        inputs |= {name.replace("_", "-"): value for name, value in given.items()}
        assert inputs.keys() == ACTION["inputs"].keys()
        env = {name: EXPRESSION.sub(lambda found: inputs[found[1]], text) for name, text in step["env"].items()}
        for file in (self.output, self.summary):
            file.write_text("", encoding="utf-8")
        own = {
            "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}",
            "RUNNER_TEMP": str(self.folder),
            "GITHUB_OUTPUT": str(self.output),
            "GITHUB_STEP_SUMMARY": str(self.summary),
        }
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.folder,
            env=os.environ | own | env,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )

    def gate(self, **given: str) -> tuple[int, str]:
        """The exit code and the verdict of the last step."""
        self.done = self.run(STEPS[-1], **given)
        return self.done.returncode, self.output.read_text(encoding="utf-8").strip().removeprefix("verdict=")
