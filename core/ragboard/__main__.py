"""Run the command line with `python -m ragboard`."""

from ragboard.cli import run

run()
