"""Alerts on live traffic: series whose state changed since the last message."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ragboard.analysis.monitoring import SeriesState, State, series_states
from ragboard.store import Store

__all__ = ["StateChange", "mark_sent", "state_changes"]


@dataclass(frozen=True, kw_only=True)
class StateChange:
    """A series whose state changed since the last message about it."""

    before: State | None
    """The state in the last message; None if there was none."""
    now: SeriesState

    @property
    def text(self) -> str:
        """For example `Alert: Faithfulness of chat fell by 0.06 (0.87 to 0.81) around ...`."""
        word = "Back to normal" if self.now.state == "ok" else "Alert"
        return f"{word}: {self.now.summary}"


def state_changes(store: Store, dataset: str | None = None) -> tuple[StateChange, ...]:
    """Return the series whose state changed since the last message, for one dataset or all.

    Series with too few samples are left out, and so are new series whose state is ok.
    """
    sent = store.alert_states()
    changes = (
        StateChange(before=sent.get(series.key), now=series)  # type: ignore[arg-type]
        for series in series_states(store)
        if dataset in (None, series.dataset) and series.state != "too few"
    )
    return tuple(change for change in changes if change.now.state != (change.before or "ok"))


def mark_sent(store: Store, changes: Iterable[StateChange]) -> None:
    """Store that these changes were sent."""
    store.keep_alert_states({change.now.key: change.now.state for change in changes})
