"""Count what a store contains, and say what was added since an earlier count."""

from __future__ import annotations

from dataclasses import dataclass

from ragboard.store import RunRef, Store
from ragboard.store.queries.runs import count_contents

__all__ = ["StoreContents", "store_contents"]


@dataclass(frozen=True, kw_only=True)
class StoreContents:
    """The number of runs, samples and evaluated samples of a store or of one run."""

    runs: int
    samples: int
    evaluated: int
    """Number of samples with results from the evaluation that pages show."""

    def added_since(self, earlier: StoreContents) -> str:
        """Say what was added since `earlier`: `3 new samples, 2 newly evaluated`.

        If nothing was added, say that something was deleted or replaced.
        """
        counts = (
            (self.runs - earlier.runs, "new run", "new runs"),
            (self.samples - earlier.samples, "new sample", "new samples"),
            (self.evaluated - earlier.evaluated, "newly evaluated", "newly evaluated"),
        )
        added = [f"{count:,} {one if count == 1 else several}" for count, one, several in counts if count > 0]
        return ", ".join(added) or "samples or results were deleted or replaced"


def store_contents(store: Store, run: RunRef | None = None) -> StoreContents:
    """Count the contents of a store, or of one run. This is fast in a store of any size."""
    with store.database.read() as connection:
        runs, samples, evaluated = count_contents(connection, run)
    return StoreContents(runs=runs, samples=samples, evaluated=evaluated)
