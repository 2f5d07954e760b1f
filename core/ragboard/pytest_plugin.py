"""The pytest plugin: samples are judged once per session, and the marker `ragboard` gives tests their judge."""

from __future__ import annotations

from typing import Any

from ragboard.testing import SESSION

__all__ = ["pytest_configure", "pytest_runtest_setup", "pytest_sessionfinish", "pytest_sessionstart"]

MARKER = "ragboard(judge=..., **arguments): a test of answers; the arguments are defaults of assert_evaluation"


def pytest_configure(config: Any) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", MARKER)


def pytest_sessionstart() -> None:
    """Begin to keep what is judged, until the session ends."""
    SESSION.active = True


def pytest_runtest_setup(item: Any) -> None:
    """Take the defaults of a test from its markers, the closest one first."""
    SESSION.defaults = {
        name: value for marker in reversed(list(item.iter_markers("ragboard"))) for name, value in marker.kwargs.items()
    }


def pytest_sessionfinish() -> None:
    """Forget what was judged."""
    SESSION.active = False
    SESSION.defaults = {}
    SESSION.stores.clear()
