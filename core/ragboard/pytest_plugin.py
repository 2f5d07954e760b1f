"""The pytest plugin: samples are judged once per session, and the marker `ragboard` sets the judge of a test."""

from __future__ import annotations

from typing import Any

from ragboard.testing import SESSION

__all__ = ["pytest_configure", "pytest_runtest_setup", "pytest_sessionfinish", "pytest_sessionstart"]

MARKER = "ragboard(judge=..., **arguments): sets default arguments of assert_evaluation for this test"


def pytest_configure(config: Any) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", MARKER)


def pytest_sessionstart() -> None:
    """Keep evaluations until the session ends."""
    SESSION.active = True


def pytest_runtest_setup(item: Any) -> None:
    """Set the defaults of a test from its markers. A closer marker overrides the others."""
    SESSION.defaults = {
        name: value for marker in reversed(list(item.iter_markers("ragboard"))) for name, value in marker.kwargs.items()
    }


def pytest_sessionfinish() -> None:
    """Delete the evaluations of the session."""
    SESSION.active = False
    SESSION.defaults = {}
    SESSION.stores.clear()
