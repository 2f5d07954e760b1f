"""Upload runs to the Hugging Face hub as a dataset: samples with scores, statements with verdicts, and a card."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from ragboard.analysis import RunSummary, run_summary
from ragboard.errors import RagboardError, SettingError
from ragboard.export.feedback import scored_samples
from ragboard.records import Score
from ragboard.stats import estimate_text
from ragboard.store import RunRef, Store
from ragboard.store.queries.statements import statement_frame

__all__ = ["HUB", "push_runs"]

HUB = "hf:"
"""Prefix of the name of a dataset on the hub."""


def push_runs(store: Store, runs: Sequence[RunRef], target: str, *, public: bool = False) -> str:
    """Upload runs to the dataset `hf:OWNER/NAME` in one commit, and return its URL.

    A dataset that does not exist is created; it is private unless `public` is set. Files of other runs in the dataset
    do not change. The token comes from `hf auth login` or `HF_TOKEN`; `HF_ENDPOINT` sets another hub. Raises
    SettingError for an invalid target and if `huggingface_hub` is not installed, RagboardError if the upload fails.
    """
    name = target.removeprefix(HUB)
    if not target.startswith(HUB) or not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise SettingError(f"{target!r} is not a dataset on the hub: expected hf:OWNER/NAME")
    if not runs:
        raise SettingError("no run was given; name at least one run")
    try:
        hub, errors = import_module("huggingface_hub"), import_module("huggingface_hub.errors")
    except ModuleNotFoundError as error:
        raise SettingError("this command needs huggingface_hub: pip install 'ragboard[hub]'") from error
    api = hub.HfApi(library_name="ragboard")
    files = dict(_files(store, runs))
    operations = [hub.CommitOperationAdd(path_in_repo=path, path_or_fileobj=data) for path, data in files.items()]
    message = f"Add {', '.join(run.name for run in runs)}"[:200]
    try:
        api.create_repo(name, repo_type="dataset", private=not public, exist_ok=True)
        api.create_commit(name, operations, commit_message=message, repo_type="dataset")
    except ValueError as error:  # the name breaks a rule of the hub
        raise SettingError(f"cannot push to {name}: {_first_line(error)}") from error
    except (errors.HTTPError, OSError) as error:
        raise RagboardError(f"{api.endpoint}: cannot push to {name}: {_first_line(error)}") from error
    return f"{api.endpoint}/datasets/{name}"


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _files(store: Store, runs: Sequence[RunRef]) -> Iterator[tuple[str, bytes]]:
    summaries = [run_summary(store, run) for run in runs]
    for run, summary in zip(runs, summaries, strict=True):
        folder = re.sub(r"[^\w.-]+", "-", run.name).strip(".-") or run.run_id
        yield f"samples/{folder}.jsonl", _lines(_samples(store, run, summary))
        yield f"statements/{folder}.jsonl", _lines(_statements(store, run))
    yield "README.md", _card(summaries).encode()


def _lines(rows: Iterator[dict[str, Any]]) -> bytes:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode()


def _samples(store: Store, run: RunRef, summary: RunSummary) -> Iterator[dict[str, Any]]:
    for sample, outcomes in scored_samples(store, run):
        contexts = [{"id": passage.id, "text": passage.text} for passage in sample.contexts or ()]
        row = {"run": run.name, "id": sample.id, "question": sample.question, "answer": sample.answer}
        scores = {spec: outcomes.get(spec) for spec in summary.metrics}
        values = {spec: outcome.value if isinstance(outcome, Score) else None for spec, outcome in scores.items()}
        yield {**row, "reference": sample.reference, "contexts": contexts, **values}


def _statements(store: Store, run: RunRef) -> Iterator[dict[str, Any]]:
    with store.database.read() as connection:
        frame = statement_frame(connection, run)
    for row in json.loads(frame.to_json(orient="records")):
        yield {"run": run.name, **row}


def _card(summaries: Sequence[RunSummary]) -> str:
    """Return the dataset card, which names two tables for the hub's viewer and lists the means of all metrics."""
    lines = ["---", "tags:", "- ragboard", "- rag", "configs:"]
    for name in ("samples", "statements"):
        lines += [f"- config_name: {name}", f'  data_files: "{name}/*.jsonl"']
    lines += ["---", "", "# RAG evaluations", ""]
    lines += ["Answers of RAG systems, scored with ragboard. A score that is null is unscored, not 0.", ""]
    lines += ["| run | samples | judge | metric | mean (95% CI) | scored |", "|---|---|---|---|---|---|"]
    for run in summaries:
        judge = run.judged.in_words if run.judged else "-"
        for spec, metric in run.metrics.items():
            mean = "-" if metric.mean is None else estimate_text(metric.mean, metric.interval, ".2f")
            cells = (run.name, str(run.samples), judge, spec, mean, f"{metric.scored}/{metric.total}")
            lines.append(f"| {' | '.join(map(_cell, cells))} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Return the text escaped for a cell of a Markdown table."""
    return re.sub(r"([\\`*_{}\[\]<>#|!&])", r"\\\1", " ".join(text.split()))
