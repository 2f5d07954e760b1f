"""`python -m ragboard`."""

from ragboard.cli import main

main(prog_name="ragboard")
