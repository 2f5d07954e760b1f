"""Tests of the faster garbage collection."""

from __future__ import annotations

import gc
import sys
from types import ModuleType

import pytest

from ragboard_dashboard import garbage


def test_what_exists_is_frozen_again_only_after_an_import(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "_frozen", 0)
    garbage.freeze_imports()
    frozen, later = gc.get_freeze_count(), [[] for _ in range(1000)]
    garbage.freeze_imports()
    assert gc.get_freeze_count() <= frozen
    monkeypatch.setitem(sys.modules, "imported_later", ModuleType("imported_later"))
    garbage.freeze_imports()
    assert gc.get_freeze_count() > frozen + 0.9 * len(later)
