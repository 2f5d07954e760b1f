"""The code of a forked dashboard process."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["ragboard"]


def ragboard(words: Sequence[str]) -> None:
    """The command line as a process of its own has it."""
    from ragboard.cli import main

    main(list(words))
