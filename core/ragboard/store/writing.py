"""Write runs and evaluations to the database over a connection."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, fields, replace
from hashlib import blake2b
from itertools import chain, count
from typing import Any, Literal

import duckdb

from ragboard.errors import NotFoundError, RunExistsError, SettingError
from ragboard.judges.options import JudgeOptions, options_to_json
from ragboard.records import (
    Evaluation,
    FileScores,
    JsonValue,
    MetricDescription,
    Outcome,
    Run,
    Sample,
    Score,
    Unscored,
)
from ragboard.store.nouns import AddedRun
from ragboard.store.reading import column, find_run, read_samples
from ragboard.store.rows import append_rows, as_json, passage_rows, sample_row, score_row

__all__ = [
    "add_run",
    "check_name",
    "check_run",
    "check_text",
    "drop_agreement",
    "grow",
    "growing_id",
    "insert_run",
    "mark_statements",
    "put_evaluation",
    "run_digest",
    "same_run",
    "set_column",
]


PART = 1_000
"""Samples of a stored run to read at a time."""


def check_name(name: str) -> None:
    """Raise SettingError for a name that a run cannot have."""
    if not name.strip():
        raise SettingError("a run needs a name; give one with --name")
    check_text("name", name)


def check_text(what: str, *texts: str) -> None:
    """Raise SettingError for a text that cannot be stored; `what` names it."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as error:
        raise SettingError(f"the {what} cannot be stored: {error}") from error


def set_column(
    connection: duckdb.DuckDBPyConnection, run_id: str, column: Literal["name", "tags", "notes"], to: Any
) -> None:
    """Replace a value of a run. Raises NotFoundError if the run does not exist."""
    changed = connection.execute(f"UPDATE runs SET {column} = ? WHERE run_id = ? RETURNING run_id", [to, run_id])
    if changed.fetchone() is None:
        raise NotFoundError("the run is no longer in the store")


def check_run(run: Run) -> None:
    """Raise SettingError for a run that cannot be stored."""
    if not run.name.strip():
        raise SettingError("a run needs a name; give one with --name")
    if not run.samples:
        raise SettingError(f"run {run.name!r} has no sample")
    if run.scores and len(run.scores.outcomes) != len(run.samples):
        raise SettingError(
            f"run {run.name!r} has scores of {len(run.scores.outcomes)} samples, expected {len(run.samples)}"
        )
    try:
        json.dumps([run.name, run.config, run.dataset, run.tags], ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        raise SettingError(f"run {run.name!a}: name or configuration cannot be stored: {error}") from error


def run_digest(run: Run) -> str:
    """Return the digest of a run's name, configuration, samples and file scores, which is its id.

    It depends on what is there, not on the order of keys nor on fields that a run does not use.
    """
    scores = run.scores.outcomes if run.scores else ()
    return _digest(run.name, run.config, run.dataset, run.samples, scores)


def stored_digest(connection: duckdb.DuckDBPyConnection, run_id: str) -> str:
    """Return the `run_digest` of a run in the store; older versions gave it another kind of id."""
    row = connection.execute(
        "SELECT name, config, dataset, dataset_key, (SELECT count(DISTINCT question) FROM samples WHERE run_id = $run)"
        " FROM runs WHERE run_id = $run",
        {"run": run_id},
    ).fetchone()
    if row is None:
        raise NotFoundError("the run is no longer in the store")
    name, config, dataset, key, questions = row
    given = None if dataset == _dataset_name(questions, key) else dataset
    return _digest(
        name, json.loads(config), given, _stored_samples(connection, run_id), _stored_scores(connection, run_id)
    )


def _digest(
    name: str,
    config: Mapping[str, JsonValue],
    dataset: str | None,
    samples: Iterable[Sample],
    scores: Iterable[Mapping[str, Outcome]],
) -> str:
    digest = blake2b(digest_size=6)
    filed = ([place, _outcomes(one)] for place, one in enumerate(scores) if one)
    for part in chain(([name, config, dataset],), map(_content, samples), filed):
        digest.update(as_json(part).encode("utf-8", errors="surrogatepass") + b"\n")
    return digest.hexdigest()


def _content(sample: Sample) -> dict[str, Any]:
    """Return the content of a sample without the fields that its file lacks, so that a new field keeps old ids."""
    given = {field.name: getattr(sample, field.name) for field in fields(Sample)}
    content = {name: value for name, value in given.items() if value not in _EMPTY.get(name, ())}
    for name in ("contexts", "history"):
        if name in content:
            content[name] = [[getattr(item, field.name) for field in fields(item)] for item in content[name]]
    return content


_EMPTY: dict[str, tuple[Any, ...]] = {
    field.name: (field.default if field.default_factory is MISSING else field.default_factory(),)
    for field in fields(Sample)
    if field.default is not MISSING or field.default_factory is not MISSING
}
"""The values of the fields of a sample that its file does not have."""


def _outcomes(outcomes: Mapping[str, Outcome]) -> dict[str, Any]:
    return {metric: asdict(outcome) for metric, outcome in outcomes.items()}


def _stored_samples(connection: duckdb.DuckDBPyConnection, run_id: str) -> Iterator[Sample]:
    for start in count(0, PART):
        page = read_samples(connection, run_id, start, start + PART)
        yield from (sample for _, sample in page)
        if len(page) < PART:
            return


def _stored_scores(connection: duckdb.DuckDBPyConnection, run_id: str) -> list[dict[str, Outcome]]:
    """Return the file scores of a run, one mapping per sample; empty if the file had none."""
    rows = connection.execute(
        "SELECT position, metric, value, counted, reason, detail FROM scores JOIN evaluations USING (evaluation_id)"
        " WHERE run_id = ? AND imported",
        [run_id],
    ).fetchall()
    found: dict[int, dict[str, Outcome]] = {}
    for position, metric, value, counted, reason, detail in rows:
        scored = Score(value=value, counted=counted) if value is not None else Unscored(reason=reason, detail=detail)
        found.setdefault(position, {})[metric] = scored
    return [found.get(position, {}) for position in range(1 + max(found))] if found else []


def _questions_key(questions: Iterable[str]) -> str:
    """Return the digest of the questions, which tells runs over the same questions."""
    digest = blake2b(digest_size=6)
    for question in sorted(set(questions)):
        digest.update(question.encode() + b"\0")
    return digest.hexdigest()


def _dataset_name(questions: int, key: str) -> str:
    """Return the name of a dataset that the user did not name."""
    return f"{questions:,} questions ({key[:4]})"


def growing_id(name: str) -> str:
    """Return the id of a run that grows, from its name, as its content changes."""
    return blake2b(as_json(["grows", name]).encode(), digest_size=6).hexdigest()


def grow(connection: duckdb.DuckDBPyConnection, run: Run, run_id: str) -> tuple[str, ...]:
    """Append samples to a run, and return their ids."""
    row = connection.execute(
        "SELECT samples, config, EXISTS (FROM samples s WHERE s.run_id = r.run_id AND history::VARCHAR <> '[]')"
        " FROM runs r WHERE run_id = ?",
        [run_id],
    ).fetchone()
    there, config, talks = row or (0, "{}", False)
    if run.config and json.loads(config) != json.loads(as_json(run.config)):
        raise SettingError(f"run {run.name!r} has the configuration {config}; log another one under another name")
    ids = set(column(connection, "SELECT sample_id FROM samples WHERE run_id = ?", [run_id]))
    named: list[Sample] = []
    for sample in run.samples:
        named.append(replace(sample, id=_free(sample.id, ids)))
        ids.add(named[-1].id)
    asked = set(column(connection, "SELECT DISTINCT question FROM samples WHERE run_id = ?", [run_id]))
    _insert_samples(connection, run_id, named, there)
    of_one_question = there > 1 and len(asked) == 1  # becomes a cluster as soon as there is another question
    if talks or of_one_question or _may_belong(connection, named, asked):
        _mark_clusters(connection, run_id)
    questions = asked | {sample.question for sample in named}
    connection.execute(
        "UPDATE runs SET samples = ?, dataset_key = ? WHERE run_id = ?",
        [there + len(named), _questions_key(questions), run_id],
    )
    return tuple(sample.id for sample in named)


def _may_belong(connection: duckdb.DuckDBPyConnection, samples: Sequence[Sample], asked: set[str]) -> bool:
    """Return whether a new sample is a turn of a conversation, or repeats a question."""
    names = set(column(connection, "SELECT unnest(conversation_columns())", []))
    questions = {sample.question for sample in samples}
    return (
        len(questions) < len(samples)
        or not asked.isdisjoint(questions)
        or any(sample.history or not names.isdisjoint(sample.metadata) for sample in samples)
    )


def _free(wanted: str, taken: set[str]) -> str:
    """Return the id, or `ID#2` and so on if it is taken."""
    return next(name for name in chain([wanted], (f"{wanted}#{n}" for n in count(2))) if name not in taken)


def add_run(connection: duckdb.DuckDBPyConnection, run: Run, run_id: str) -> AddedRun:
    """Add a run unless it is there already. Raises RunExistsError if a different run has its name."""
    there = same_run(connection, run.name, run_id)
    if there is None:
        if find_run(connection, run.name):
            raise RunExistsError(f"another run is already called {run.name!r}; give this one another name with --name")
        insert_run(connection, run, run_id)
    kept_id, name = there or (run_id, run.name)
    return AddedRun(id=kept_id, name=name, samples=len(run.samples), added=there is None)


def same_run(connection: duckdb.DuckDBPyConnection, name: str, digest: str) -> tuple[str, str] | None:
    """Return id and name of the stored run with this digest: by its id, or by content for runs of older versions."""
    there = find_run(connection, digest)
    if there and there[0] == digest:
        return there
    there = find_run(connection, name)
    return there if there and stored_digest(connection, there[0]) == digest else None


def insert_run(connection: duckdb.DuckDBPyConnection, run: Run, run_id: str) -> None:
    """Insert a run with its samples and scores."""
    key = _questions_key(sample.question for sample in run.samples)
    dataset = run.dataset or _dataset_name(len({sample.question for sample in run.samples}), key)
    connection.execute(
        "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, now() AT TIME ZONE 'UTC', '')",
        [
            run_id,
            run.name,
            json.dumps(run.config, ensure_ascii=False),
            dataset,
            key,
            run.source,
            list(run.tags),
            len(run.samples),
        ],
    )
    _insert_samples(connection, run_id, run.samples, 0)
    _mark_clusters(connection, run_id)
    if run.scores:
        _insert_scores(connection, run_id, run.scores)


def _insert_samples(connection: duckdb.DuckDBPyConnection, run_id: str, samples: Sequence[Sample], first: int) -> None:
    """Insert samples at the positions from `first` on."""
    for start in range(0, len(samples), 10_000):
        part = list(enumerate(samples[start : start + 10_000], first + start))
        append_rows(connection, "samples", [sample_row(run_id, *numbered) for numbered in part])
        append_rows(connection, "passages", [row for numbered in part for row in passage_rows(run_id, *numbered)])


def _mark_clusters(connection: duckdb.DuckDBPyConnection, run_id: str) -> None:
    """Store new clusters of the samples of a run; a new sample can connect others."""
    connection.execute(
        "UPDATE samples s SET cluster = found.cluster FROM"
        " (SELECT o.position, c.cluster FROM samples o LEFT JOIN sample_clusters([$run]) c USING (run_id, position)"
        " WHERE o.run_id = $run AND o.cluster IS DISTINCT FROM c.cluster) found"
        " WHERE s.run_id = $run AND s.position = found.position",
        {"run": run_id},
    )


def _insert_scores(connection: duckdb.DuckDBPyConnection, run_id: str, scores: FileScores) -> None:
    """Insert the file scores of a run as an imported evaluation."""
    said: dict[str, JsonValue] = {"tool": scores.tool, "format": scores.format, "columns": dict(scores.columns)}
    evaluation = Evaluation(
        id=blake2b(as_json([run_id, said]).encode(), digest_size=6).hexdigest(),
        run_id=run_id,
        judge=f"{scores.tool} (file)",
        heuristic=False,
        identity={"imported": said},
        metrics=tuple(metric.spec for metric in scores.metrics),
        imported=True,
    )
    put_evaluation(connection, evaluation, scores.metrics)
    rows = (
        (evaluation.id, *score_row(position, metric, outcome))
        for position, outcomes in enumerate(scores.outcomes)
        for metric, outcome in outcomes.items()
    )
    append_rows(connection, "scores", list(rows))


def put_evaluation(
    connection: duckdb.DuckDBPyConnection,
    evaluation: Evaluation,
    metrics: Iterable[MetricDescription],
    *,
    tasks: Mapping[str, Sequence[str]] | None = None,
    covered: int | None = None,
    judging: JudgeOptions | None = None,
) -> None:
    """Write an evaluation and its metrics, replacing those stored; options of judges that are stored stay."""
    connection.execute(
        "INSERT OR REPLACE INTO evaluations (evaluation_id, run_id, judge, heuristic, identity, metrics, finished,"
        " covered, judging, imported, has_statements, reads_history) SELECT ?, ?, ?, ?, ?, ?, now() AT TIME ZONE 'UTC',"
        " coalesce(?, samples), coalesce(?, (SELECT judging FROM evaluations WHERE evaluation_id = ?)), ?, false, true"
        " FROM runs WHERE run_id = ?",
        [
            evaluation.id,
            evaluation.run_id,
            evaluation.judge,
            evaluation.heuristic,
            json.dumps(evaluation.identity),
            list(evaluation.metrics),
            covered,
            None if judging is None else json.dumps(options_to_json(judging)),
            evaluation.id,
            evaluation.imported,
            evaluation.run_id,
        ],
    )
    for description in metrics:
        connection.execute(
            "INSERT OR REPLACE INTO metrics (evaluation_id, metric, description, tasks) VALUES (?, ?, ?, ?)",
            [evaluation.id, description.spec, as_json(asdict(description)), (tasks or {}).get(description.spec)],
        )


def mark_statements(connection: duckdb.DuckDBPyConnection, evaluation_id: str) -> None:
    """Store whether an evaluation split answers into statements."""
    connection.execute(
        "UPDATE evaluations SET has_statements = EXISTS (FROM statements WHERE evaluation_id = $evaluation"
        " AND side = 'response') WHERE evaluation_id = $evaluation",
        {"evaluation": evaluation_id},
    )


def drop_agreement(connection: duckdb.DuckDBPyConnection, agreement_id: str) -> bool:
    """Delete an agreement with everything that belongs to it; return whether there was one."""
    for table in ("agreement_items", "agreement_scores"):
        connection.execute(f"DELETE FROM {table} WHERE agreement_id = ?", [agreement_id])
    gone = connection.execute("DELETE FROM agreements WHERE agreement_id = ? RETURNING 1", [agreement_id])
    return gone.fetchone() is not None
