"""The store of runs, evaluations, labels and agreements: a folder with a DuckDB database and files."""

from ragboard.store.prune import PrunedRun
from ragboard.store.reading import find_sample, read_evaluations, read_samples
from ragboard.store.rows import score_row
from ragboard.store.run_refs import RESULT_TABLES, AddedRun, RunRef
from ragboard.store.sampling import SamplingRate
from ragboard.store.store import Store

__all__ = [
    "RESULT_TABLES",
    "AddedRun",
    "PrunedRun",
    "RunRef",
    "SamplingRate",
    "Store",
    "find_sample",
    "read_evaluations",
    "read_samples",
    "score_row",
]
