"""Datasets: the questions that runs share, their nuggets, and rewritten questions."""

from __future__ import annotations

from ragboard.datasets.datasets import Dataset, DatasetVersion, datasets, find_dataset_name, load_dataset
from ragboard.datasets.nugget_files import export_nuggets, import_nuggets
from ragboard.datasets.nugget_writer import NuggetSource, WrittenNuggets, write_nuggets
from ragboard.datasets.nuggets import (
    AnswerNugget,
    NuggetTable,
    RunNuggets,
    approve_nuggets,
    nugget_table,
    save_nuggets,
)
from ragboard.datasets.question_rewriter import RewrittenQuestions, rewrite_questions
from ragboard.store.queries.nuggets import DatasetQuestion, NuggetList

__all__ = [
    "AnswerNugget",
    "Dataset",
    "DatasetQuestion",
    "DatasetVersion",
    "NuggetList",
    "NuggetSource",
    "NuggetTable",
    "RewrittenQuestions",
    "RunNuggets",
    "WrittenNuggets",
    "approve_nuggets",
    "datasets",
    "export_nuggets",
    "find_dataset_name",
    "import_nuggets",
    "load_dataset",
    "nugget_table",
    "rewrite_questions",
    "save_nuggets",
    "write_nuggets",
]
