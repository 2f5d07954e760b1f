"""Test of the judge's version: it changes if replies change."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import ragboard
from ragboard.judges.embedded.judge import VERSION

GOLDEN = ("9", "71ebffa89d1c")
"""A version of the judge, and the digest of what it says; it is the same on every version of Python."""


def test_what_it_says_changes_only_with_its_version() -> None:
    """In a process with another hash seed. Where it fails: raise VERSION, once a release, and write both here."""
    script = Path(__file__).with_name("golden.py")
    core = str(Path(ragboard.__file__).parents[1])
    environment = os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": core}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True)
    assert (VERSION, done.stdout.strip()) == GOLDEN
