"""Series of live traffic whose state changed since the last message."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ragboard.analysis.monitoring import SeriesState, State, series_states
from ragboard.store import Store

__all__ = ["StateChange", "keep_told", "state_changes"]


@dataclass(frozen=True, kw_only=True)
class StateChange:
    """A series whose state is another than the one that was last sent."""

    before: State | None
    """None if nothing was sent yet."""
    now: SeriesState

    @property
    def text(self) -> str:
        """One sentence, after a word for the state."""
        word = "Back to normal" if self.now.state == "ok" else "Alert"
        return f"{word}: {self.now.summary}"


def state_changes(store: Store, dataset: str | None = None) -> tuple[StateChange, ...]:
    """Return the changes of state that were not sent yet, of one dataset or all.

    Series with too few samples have no new state, and a first state that is ok is no change.
    """
    told = store.alert_states()
    states = (one for one in series_states(store) if dataset in (None, one.dataset) and one.state != "too few")
    changes = (StateChange(before=told.get(one.key), now=one) for one in states)  # type: ignore[arg-type]
    return tuple(one for one in changes if one.now.state != (one.before or "ok"))


def keep_told(store: Store, changes: Iterable[StateChange]) -> None:
    """Remember that these changes were sent."""
    store.keep_alert_states({change.now.key: change.now.state for change in changes})
