"""`python -m ragboard`."""

from ragboard.cli import run

run()
