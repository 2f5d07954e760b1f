"""The datasets in a store. Runs with the same dataset name form a dataset; their questions may differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from ragboard.errors import NotFoundError
from ragboard.store import Store
from ragboard.store.queries.nuggets import (
    DatasetQuestion,
    DatasetRow,
    QuestionFilter,
    QuestionPage,
    RunOfDataset,
    dataset_name,
    dataset_names,
    dataset_questions,
    dataset_rows,
    dataset_runs,
    question_page,
)

__all__ = [
    "Dataset",
    "DatasetRuns",
    "DatasetVersion",
    "datasets",
    "find_dataset_name",
    "list_datasets",
    "load_dataset",
    "load_dataset_row",
    "load_dataset_runs",
    "load_question",
]


@dataclass(frozen=True, kw_only=True)
class DatasetVersion:
    """A question set of a dataset, and the runs with exactly these questions."""

    key: str
    """The first 4 hexadecimal digits of a digest of the questions."""
    runs: tuple[str, ...]
    """Names of runs, newest first."""


@dataclass(frozen=True, kw_only=True)
class DatasetRuns:
    """The runs with the same dataset name."""

    name: str
    runs: tuple[RunOfDataset, ...]
    """Newest first."""

    @property
    def versions(self) -> tuple[DatasetVersion, ...]:
        """The different question sets of the runs, that of the newest run first."""
        keys = dict.fromkeys(run.version for run in self.runs)
        return tuple(
            DatasetVersion(key=key[:4], runs=tuple(run.name for run in self.runs if run.version == key)) for key in keys
        )


@dataclass(frozen=True, kw_only=True)
class Dataset(DatasetRuns):
    """The runs with the same dataset name, and all their questions."""

    questions: tuple[DatasetQuestion, ...]
    """The questions of the newest run in its order, then questions that only older runs have."""

    @property
    def with_nuggets(self) -> int:
        """Number of questions with nuggets."""
        return sum(question.nuggets is not None for question in self.questions)

    @property
    def approved(self) -> int:
        """Number of questions whose nuggets were approved by a person."""
        return sum(question.nuggets is not None and question.nuggets.approved for question in self.questions)


def datasets(store: Store) -> Sequence[DatasetRow]:
    """Return all datasets with their sizes, the dataset of the newest run first."""
    with store.database.read() as connection:
        return dataset_rows(connection)


def list_datasets(store: Store) -> Sequence[str]:
    """Return the names of all datasets, the dataset of the newest run first."""
    with store.database.read() as connection:
        return dataset_names(connection)


def load_dataset_row(store: Store, dataset: str) -> DatasetRow:
    """Return the sizes of a dataset. `dataset` is its exact name. Raises NotFoundError if it has no questions."""
    with store.database.read() as connection:
        rows = dataset_rows(connection, dataset)
    if not rows:
        raise NotFoundError(f"no dataset with questions is called {dataset!r}")
    return rows[0]


def find_dataset_name(store: Store, name: str) -> str:
    """Return `name` if a dataset has this name, else the dataset name of the run with this name.

    Raises NotFoundError if no dataset or run has this name.
    """
    with store.database.read() as connection:
        dataset = dataset_name(connection, name)
        if dataset is None:
            names = dataset_names(connection)
            near = get_close_matches(name, names, n=3) or names[:5]
            known = f"there are {', '.join(near)}" if near else "the store is empty"
            raise NotFoundError(f"no dataset or run is called {name!r}; {known}")
    return dataset


def load_dataset_runs(store: Store, dataset: str) -> DatasetRuns:
    """Load a dataset without its questions. `dataset` is its exact name."""
    with store.database.read() as connection:
        return DatasetRuns(name=dataset, runs=tuple(dataset_runs(connection, dataset)))


def load_question(store: Store, dataset: str, shown: QuestionFilter = "all", number: int = 1) -> QuestionPage | None:
    """Load the first question of a dataset from this number on that matches a filter, else the last such question.

    The questions are numbered from 1, in the order of `Dataset.questions`. `dataset` is its exact name. Returns None if
    no question matches.
    """
    with store.database.read() as connection:
        return question_page(connection, dataset, shown, number)


def load_dataset(store: Store, name: str) -> Dataset:
    """Load the dataset with this name, else the dataset of the run with this name.

    Raises NotFoundError if there is no such dataset or run.
    """
    dataset = find_dataset_name(store, name)
    with store.database.read() as connection:
        return Dataset(
            name=dataset,
            runs=tuple(dataset_runs(connection, dataset)),
            questions=tuple(dataset_questions(connection, dataset)),
        )
