"""Stretches of a text as JavaScript counts them: in UTF-16 units."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable

__all__ = ["utf16"]

_WIDE = re.compile("[\U00010000-\U0010ffff]")


def utf16(text: str) -> Callable[[int], int]:
    """A function from a position in code points to the one in UTF-16 units, as JavaScript counts them."""
    wide = [found.start() for found in _WIDE.finditer(text)]
    return lambda at: at + bisect_left(wide, at)
