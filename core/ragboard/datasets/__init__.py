"""Datasets: the questions that runs share, their nuggets, and rewritten questions."""

from __future__ import annotations

from ragboard.datasets.datasets import (
    Dataset,
    DatasetRuns,
    DatasetVersion,
    datasets,
    find_dataset_name,
    list_datasets,
    load_dataset,
    load_dataset_row,
    load_dataset_runs,
    load_question,
)
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
from ragboard.store.queries.nuggets import DatasetQuestion, NuggetList, QuestionFilter, QuestionPage

__all__ = [
    "AnswerNugget",
    "Dataset",
    "DatasetQuestion",
    "DatasetRuns",
    "DatasetVersion",
    "NuggetList",
    "NuggetSource",
    "NuggetTable",
    "QuestionFilter",
    "QuestionPage",
    "RewrittenQuestions",
    "RunNuggets",
    "WrittenNuggets",
    "approve_nuggets",
    "datasets",
    "export_nuggets",
    "find_dataset_name",
    "import_nuggets",
    "list_datasets",
    "load_dataset",
    "load_dataset_row",
    "load_dataset_runs",
    "load_question",
    "nugget_table",
    "rewrite_questions",
    "save_nuggets",
    "write_nuggets",
]
