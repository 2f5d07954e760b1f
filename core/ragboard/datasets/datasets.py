"""The datasets of a store. A dataset is known by its name; runs under one name may ask different sets of questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from ragboard.errors import NotFoundError
from ragboard.store import Store
from ragboard.store.queries.nuggets import (
    DatasetQuestion,
    DatasetRow,
    RunOfDataset,
    dataset_name,
    dataset_questions,
    dataset_rows,
    dataset_runs,
)

__all__ = ["Dataset", "DatasetVersion", "dataset_of", "datasets"]


@dataclass(frozen=True, kw_only=True)
class DatasetVersion:
    """One set of questions under a dataset's name, and the runs that ask it."""

    key: str
    """A digest of the questions, of 4 hexadecimal digits."""
    runs: tuple[str, ...]
    """Names, newest first."""


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """The questions that runs share."""

    name: str
    runs: tuple[RunOfDataset, ...]
    """Newest first."""
    questions: tuple[DatasetQuestion, ...]
    """In the order of the newest run; those that only older runs ask follow."""

    @property
    def versions(self) -> tuple[DatasetVersion, ...]:
        """Its sets of questions, that of the newest run first."""
        keys = dict.fromkeys(run.version for run in self.runs)
        return tuple(
            DatasetVersion(key=key[:4], runs=tuple(run.name for run in self.runs if run.version == key)) for key in keys
        )

    @property
    def with_nuggets(self) -> int:
        """The number of questions with nuggets."""
        return sum(question.nuggets is not None for question in self.questions)

    @property
    def approved(self) -> int:
        """The number of questions whose nuggets a person approved."""
        return sum(question.nuggets is not None and question.nuggets.approved for question in self.questions)


def datasets(store: Store) -> Sequence[DatasetRow]:
    """Return all datasets with their sizes, that of the newest run first."""
    with store.database.read() as connection:
        return dataset_rows(connection)


def dataset_of(store: Store, name: str) -> Dataset:
    """Return the dataset with this name, or that of the run with this name.

    Raises NotFoundError if there is neither.
    """
    with store.database.read() as connection:
        found = dataset_name(connection, name)
        if found is None:
            names = [one.name for one in dataset_rows(connection)]
            near = get_close_matches(name, names, n=3) or names[:5]
            known = f"there are {', '.join(near)}" if near else "the store is empty"
            raise NotFoundError(f"no dataset or run is called {name!r}; {known}")
        return Dataset(
            name=found,
            runs=tuple(dataset_runs(connection, found)),
            questions=tuple(dataset_questions(connection, found)),
        )
