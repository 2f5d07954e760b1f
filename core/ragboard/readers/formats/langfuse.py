"""Observations exported from Langfuse: a row for each step of a trace, which holds no sample."""

from __future__ import annotations

from ragboard.readers.formats.base import Format

__all__ = ["FORMATS"]

FORMATS = (
    Format(
        name="Langfuse observations",
        columns=frozenset({"trace_id", "parent_observation_id", "type", "input", "output"}),
        refused="has a row for each step of a trace, not for each question; write a row for each trace, with its"
        " question, passages and answer",
    ),
)
