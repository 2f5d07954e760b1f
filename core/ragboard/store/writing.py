"""Write runs and evaluations to the database."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, asdict, fields, replace
from hashlib import blake2b
from itertools import chain, count
from math import isfinite
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import duckdb
import orjson
import pyarrow as pa

from ragboard.errors import NotFoundError, RunExistsError, SettingError
from ragboard.records import (
    Evaluation,
    FileScores,
    JsonValue,
    MetricDescription,
    Outcome,
    Passage,
    Run,
    Sample,
    Score,
    Turn,
    Unscored,
)
from ragboard.store.queries.nuggets import append_lists, history_json
from ragboard.store.reading import column, page_end, read_samples, run_id_and_name
from ragboard.store.rows import append_rows, as_json, passage_rows, recorded_rows, sample_row, score_row
from ragboard.store.run_refs import RESULT_TABLES, AddedRun
from ragboard.store.score_hours import update_score_hours

if TYPE_CHECKING:
    from ragboard.judges.options import JudgeOptions

__all__ = [
    "add_run",
    "check_description",
    "check_name",
    "check_run",
    "check_text",
    "content_line",
    "delete_samples",
    "drop_agreement",
    "existing_run",
    "grow",
    "growing_id",
    "grows",
    "head_line",
    "insert_run",
    "insert_run_row",
    "mark_clusters",
    "mark_statements",
    "new_digest",
    "positions_in",
    "put_evaluation",
    "questions_key",
    "run_digest",
    "same_run",
    "set_column",
]


PAGE_SIZE = 1_000
"""Number of samples of a stored run to read at a time."""

CLUSTER_REACH = 5_000
"""Maximum distance between two samples in one cluster of a growing run, so that an append to a large run stays fast."""


def check_name(name: str) -> None:
    """Raise SettingError if a run cannot have this name."""
    if not name.strip():
        raise SettingError("a run needs a name; give one with --name")
    check_text("name", name)


def check_text(what: str, *texts: str) -> None:
    """Raise SettingError if a text cannot be stored. `what` is the name of the text in the message."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as error:
        raise SettingError(f"the {what} cannot be stored: {error}") from error


def set_column(
    connection: duckdb.DuckDBPyConnection, run_id: str, column: Literal["name", "tags", "notes"], to: Any
) -> None:
    """Set a column of a run. Raises NotFoundError if the run does not exist."""
    changed = connection.execute(f"UPDATE runs SET {column} = ? WHERE run_id = ? RETURNING run_id", [to, run_id])
    if changed.fetchone() is None:
        raise NotFoundError("the run is no longer in the store")


def check_description(run: Run) -> None:
    """Raise SettingError for a run without a name, or with a name or configuration that cannot be stored."""
    if not run.name.strip():
        raise SettingError("a run needs a name; give one with --name")
    try:
        json.dumps([run.name, run.config, run.dataset, run.tags], ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        raise SettingError(f"run {run.name!a}: name or configuration cannot be stored: {error}") from error


def check_run(run: Run) -> None:
    """Raise SettingError for a run that cannot be stored."""
    check_description(run)
    if not run.samples:
        raise SettingError(f"run {run.name!r} has no samples")
    if run.scores and len(run.scores.outcomes) != len(run.samples):
        raise SettingError(
            f"run {run.name!r} has scores for {len(run.scores.outcomes)} samples, expected {len(run.samples)}"
        )


def run_digest(run: Run) -> str:
    """Return the id of a run: a digest of its name, configuration, dataset, samples and file scores.

    The digest does not depend on the order of keys or on unused fields.
    """
    scores = run.scores.outcomes if run.scores else ()
    return _digest(run.name, run.config, run.dataset, run.samples, scores)


def stored_digest(connection: duckdb.DuckDBPyConnection, run_id: str) -> str:
    """Return the `run_digest` of a stored run. Runs that older versions of ragboard added have another id."""
    row = connection.execute(
        "SELECT name, config, dataset, dataset_key, (SELECT count(DISTINCT question) FROM samples WHERE run_id = $run)"
        " FROM runs WHERE run_id = $run",
        {"run": run_id},
    ).fetchone()
    if row is None:
        raise NotFoundError("the run is no longer in the store")
    name, config, dataset, key, questions = row
    named = None if dataset == _dataset_name(questions, key) else dataset
    return _digest(
        name, json.loads(config), named, _stored_samples(connection, run_id), _stored_scores(connection, run_id)
    )


def _digest(
    name: str,
    config: Mapping[str, JsonValue],
    dataset: str | None,
    samples: Iterable[Sample],
    scores: Iterable[Mapping[str, Outcome]],
) -> str:
    digest = new_digest()
    scored = ([position, _outcomes(outcomes)] for position, outcomes in enumerate(scores) if outcomes)
    for line in chain([head_line(name, config, dataset)], map(content_line, samples), map(_line, scored)):
        digest.update(line)
    return digest.hexdigest()


def new_digest() -> blake2b:
    """Return an empty digest for the lines of a run."""
    return blake2b(digest_size=6)


def head_line(name: str, config: Mapping[str, JsonValue], dataset: str | None) -> bytes:
    """Return the first line for the digest of a run."""
    return _line([name, config, dataset])


def content_line(sample: Sample) -> bytes:
    """Return the line of a sample for the digest of its run."""
    content = _content(sample)
    try:
        return _json(content) + b"\n"
    except orjson.JSONEncodeError:  # a lone surrogate
        return _line(content)


def _json(value: Any) -> bytes:
    """Return the same text as `as_json`, which is slow for single values; orjson writes strings ten times as fast.

    Raises JSONEncodeError for a lone surrogate.
    """
    kind = type(value)
    if kind is str:
        return orjson.dumps(value)
    if kind is list or kind is tuple:
        return b"[%b]" % b", ".join([orjson.dumps(one) if type(one) is str else _json(one) for one in value])
    if kind is dict and all(type(key) is str for key in value):
        return b"{%b}" % b", ".join([b"%b: %b" % (orjson.dumps(key), _json(value[key])) for key in sorted(value)])
    if kind is int or (kind is float and isfinite(value)):
        return repr(value).encode()
    return b"null" if value is None else as_json(value).encode("utf-8", errors="surrogatepass")


def _line(value: Any) -> bytes:
    return f"{as_json(value)}\n".encode("utf-8", errors="surrogatepass")


def _content(sample: Sample) -> dict[str, Any]:
    """Return the fields of a sample that are part of the run's digest: those that differ from their defaults.

    Fields that later versions of ragboard add do not change old ids. Fields of the question are left out, because they
    can change after the import.
    """
    content: dict[str, Any] = {}
    for name, default in _DEFAULTS.items():
        value = getattr(sample, name)
        if value not in default:
            content[name] = value
    if sample.contexts is not None:
        content["contexts"] = [_PASSAGE_FIELDS(passage) for passage in sample.contexts]
    if sample.history:
        content["history"] = [_TURN_FIELDS(turn) for turn in sample.history]
    return content


def _default(field: Field[Any]) -> tuple[Any, ...]:
    """Return the default of a field as a tuple; empty if the field has no default."""
    if field.default_factory is not MISSING:
        return (field.default_factory(),)
    return () if field.default is MISSING else (field.default,)


QUESTION_FIELDS = ("nuggets", "answerability", "reference_note")
"""Fields of a sample that belong to its question, and are the same in every run with the question."""

_DEFAULTS = {field.name: _default(field) for field in fields(Sample) if field.name not in (*QUESTION_FIELDS, "time")}
"""The default of each field that `_content` reads, without `time`, which is computed from the metadata."""
_PASSAGE_FIELDS = attrgetter(*(field.name for field in fields(Passage)))
_TURN_FIELDS = attrgetter(*(field.name for field in fields(Turn)))


def _outcomes(outcomes: Mapping[str, Outcome]) -> dict[str, Any]:
    return {metric: asdict(outcome) for metric, outcome in outcomes.items()}


def _stored_samples(connection: duckdb.DuckDBPyConnection, run_id: str) -> Iterator[Sample]:
    start = 0
    while (stop := page_end(connection, run_id, start, PAGE_SIZE)) is not None:
        yield from (sample for _, sample in read_samples(connection, run_id, start, stop))
        start = stop


def _stored_scores(connection: duckdb.DuckDBPyConnection, run_id: str) -> list[dict[str, Outcome]]:
    """Return the file scores of a run, one mapping per sample; empty if the file had none."""
    rows = connection.execute(
        "SELECT position, metric, value, counted, reason, detail FROM scores JOIN evaluations USING (evaluation_id)"
        " WHERE run_id = ? AND imported",
        [run_id],
    ).fetchall()
    scores: dict[int, dict[str, Outcome]] = {}
    for position, metric, value, counted, reason, detail in rows:
        outcome = Score(value=value, counted=counted) if value is not None else Unscored(reason=reason, detail=detail)
        scores.setdefault(position, {})[metric] = outcome
    return [scores.get(position, {}) for position in range(1 + max(scores))] if scores else []


def questions_key(questions: Iterable[str]) -> str:
    """Return a digest of distinct, sorted questions, to compare the questions of runs."""
    digest = blake2b(digest_size=6)
    for question in questions:
        digest.update(question.encode() + b"\0")
    return digest.hexdigest()


def _dataset_name(questions: int, key: str) -> str:
    """Return a name for a dataset without one: `60 questions (3fa8)`."""
    return f"{questions:,} question{'' if questions == 1 else 's'} ({key[:4]})"


def growing_id(name: str) -> str:
    """Return the id of a growing run: a digest of its name, because its samples change."""
    return blake2b(as_json(["grows", name]).encode(), digest_size=6).hexdigest()


def grow(connection: duckdb.DuckDBPyConnection, run: Run, run_id: str) -> tuple[str, ...]:
    """Append samples to a growing run, and return their ids. Raises SettingError for a different configuration.

    In a large run, only the last `CLUSTER_REACH` samples are compared with the new ones to find clusters.
    """
    row = connection.execute(
        "SELECT samples, config, coalesce(next_position, samples) FROM runs WHERE run_id = ?", [run_id]
    ).fetchone()
    stored, config, first = row or (0, "{}", 0)
    if run.config and json.loads(config) != json.loads(as_json(run.config)):
        raise SettingError(
            f"run {run.name!r} has the configuration {config}; log another configuration under another name"
        )
    named = _with_unique_ids(connection, run_id, run.samples)
    _keep_nuggets(connection, run)
    count, end = stored + len(named), first + len(named)
    if count <= CLUSTER_REACH:
        earlier = set(column(connection, "SELECT DISTINCT question FROM samples WHERE run_id = ?", [run_id]))
        _insert_samples(connection, run_id, named, first)
        one_question = stored > 1 and len(earlier) == 1  # becomes a cluster when a second question is added
        if one_question or _can_join_cluster(connection, named, earlier) or _has_history(connection, run_id):
            mark_clusters(connection, run_id)
        key = questions_key(sorted(earlier | {sample.question for sample in named}))
    else:
        _insert_samples(connection, run_id, named, first)
        _extend_clusters(connection, run_id, end - CLUSTER_REACH)
        key = run_id  # too many questions to compare with those of other runs
    connection.execute(
        "UPDATE runs SET samples = ?, dataset_key = ?, next_position = ? WHERE run_id = ?",
        [count, key, end, run_id],
    )
    return tuple(sample.id for sample in named)


def delete_samples(connection: duckdb.DuckDBPyConnection, run_id: str, positions: Iterable[int]) -> int:
    """Delete samples and return their number, as `Store.remove_samples` describes."""
    name = column(connection, "SELECT name FROM runs WHERE run_id = ?", [run_id])
    if not name:
        raise NotFoundError("the run is no longer in the store")
    if not grows(connection, run_id):
        raise SettingError(f"run {name[0]!r} is an imported run: its samples cannot be deleted, only the whole run")
    deleted_positions = frozenset(positions)
    connection.register("deleted_positions", pa.table({"position": pa.array(sorted(deleted_positions), pa.int32())}))
    is_deleted = "position IN (SELECT position FROM deleted_positions)"
    connection.execute("UPDATE runs SET next_position = coalesce(next_position, samples) WHERE run_id = ?", [run_id])
    evaluations = "evaluation_id IN (SELECT evaluation_id FROM evaluations WHERE run_id = ?)"
    for table in RESULT_TABLES:
        if table != "spending":
            connection.execute(f"DELETE FROM {table} WHERE {evaluations} AND {is_deleted}", [run_id])
    connection.execute(f"DELETE FROM passages WHERE run_id = ? AND {is_deleted}", [run_id])
    ((deleted,),) = connection.execute(f"DELETE FROM samples WHERE run_id = ? AND {is_deleted}", [run_id]).fetchall()
    connection.unregister("deleted_positions")
    connection.execute(
        "UPDATE runs SET samples = (SELECT count(*) FROM samples WHERE run_id = $run) WHERE run_id = $run",
        {"run": run_id},
    )
    connection.execute(
        "UPDATE evaluations e SET covered = (SELECT count(DISTINCT position) FROM scores s"
        " WHERE s.evaluation_id = e.evaluation_id) WHERE run_id = ?",
        [run_id],
    )
    for evaluation in column(connection, "SELECT evaluation_id FROM evaluations WHERE run_id = ?", [run_id]):
        update_score_hours(connection, evaluation)
    _drop_from_draws(connection, run_id, deleted_positions)
    return int(deleted)


def _drop_from_draws(connection: duckdb.DuckDBPyConnection, run_id: str, deleted: Collection[int]) -> None:
    """Remove deleted samples from the draws of a run. The rest of a draw is still a random sample."""
    drawn = connection.execute("SELECT draw_id, positions, population FROM draws WHERE run_id = ?", [run_id]).fetchall()
    for draw_id, positions, population in drawn:
        left = [position for position in positions if position not in deleted]
        if left:
            connection.execute(
                "UPDATE draws SET positions = ?, population = ? WHERE draw_id = ?",
                [left, max(len(left), population - len(deleted)), draw_id],
            )
        else:
            connection.execute("DELETE FROM draws WHERE draw_id = ?", [draw_id])


def grows(connection: duckdb.DuckDBPyConnection, run_id: str | None) -> bool:
    """Return whether a run grows (samples can be appended to it); without an id, whether any run grows.

    Imported runs do not grow.
    """
    rows = connection.execute(
        "SELECT run_id, name, next_position FROM runs WHERE run_id = $run OR $run IS NULL", {"run": run_id}
    ).fetchall()
    return any(position is not None or growing_id(name) == found for found, name, position in rows)


def _with_unique_ids(
    connection: duckdb.DuckDBPyConnection, run_id: str, samples: Sequence[Sample]
) -> tuple[Sample, ...]:
    """Return the samples with ids that are unique in the run: a duplicate becomes `ID#2` and so on."""
    ids = [sample.id for sample in samples]
    used = set(
        column(
            connection,
            "SELECT sample_id FROM samples WHERE run_id = ? AND sample_id IN (SELECT unnest(?))",
            [run_id, ids],
        )
    )
    repeated = {sample_id for sample_id, times in Counter(ids).items() if times > 1} | used
    if repeated:
        sql = (
            "SELECT sample_id FROM samples WHERE run_id = ? AND contains(sample_id, '#')"
            " AND regexp_replace(sample_id, '#[0-9]+$', '') IN (SELECT unnest(?))"
        )
        used.update(column(connection, sql, [run_id, list(repeated)]))
    named: list[Sample] = []
    for sample in samples:
        named.append(replace(sample, id=_unique_id(sample.id, used)))
        used.add(named[-1].id)
    return tuple(named)


def _can_join_cluster(
    connection: duckdb.DuckDBPyConnection, samples: Sequence[Sample], earlier_questions: set[str]
) -> bool:
    """Return whether a new sample is a turn of a conversation, or has the same question as another sample."""
    names = set(column(connection, "SELECT unnest(conversation_columns())", []))
    questions = {sample.question for sample in samples}
    return (
        len(questions) < len(samples)
        or not earlier_questions.isdisjoint(questions)
        or any(sample.history or not names.isdisjoint(sample.metadata) for sample in samples)
    )


def _has_history(connection: duckdb.DuckDBPyConnection, run_id: str) -> bool:
    sql = "SELECT 1 FROM samples WHERE run_id = ? AND history::VARCHAR <> '[]' LIMIT 1"
    return bool(column(connection, sql, [run_id]))


def _unique_id(sample_id: str, existing: set[str]) -> str:
    """Return the id, or the first of `ID#2`, `ID#3` and so on that does not exist."""
    candidates = chain([sample_id], (f"{sample_id}#{n}" for n in count(2)))
    return next(name for name in candidates if name not in existing)


def add_run(connection: duckdb.DuckDBPyConnection, run: Run, run_id: str) -> AddedRun:
    """Add a run, unless the store already has it. Raises RunExistsError if a different run has its name."""
    existing = existing_run(connection, run.name, run_id)
    if existing is None:
        insert_run(connection, run, run_id)
    _keep_nuggets(connection, run)
    stored_id, name = existing or (run_id, run.name)
    return AddedRun(id=stored_id, name=name, samples=len(run.samples), added=existing is None)


def existing_run(connection: duckdb.DuckDBPyConnection, name: str, run_id: str) -> tuple[str, str] | None:
    """Return (id, name) of the stored run with this digest; None if the run can be added.

    Raises RunExistsError if a different run has the name.
    """
    existing = same_run(connection, name, run_id)
    if existing is None and run_id_and_name(connection, name):
        raise RunExistsError(f"another run is already called {name!r}; give this one another name with --name")
    return existing


def same_run(connection: duckdb.DuckDBPyConnection, name: str, digest: str) -> tuple[str, str] | None:
    """Return (id, name) of the stored run with this digest; None if there is none.

    Runs that older versions of ragboard added do not have their digest as id. They are found by name.
    """
    run = run_id_and_name(connection, digest)
    if run and run[0] == digest:
        return run
    run = run_id_and_name(connection, name)
    return run if run and stored_digest(connection, run[0]) == digest else None


def insert_run(connection: duckdb.DuckDBPyConnection, run: Run, run_id: str) -> None:
    """Insert a run with its samples and scores."""
    questions = sorted({sample.question for sample in run.samples})
    insert_run_row(connection, run, run_id, len(run.samples), len(questions), questions_key(questions))
    _insert_samples(connection, run_id, run.samples, 0)
    if _can_join_cluster(connection, run.samples, set()):
        mark_clusters(connection, run_id)
    if run.scores:
        _insert_scores(connection, run_id, run.scores)


def insert_run_row(
    connection: duckdb.DuckDBPyConnection, run: Run, run_id: str, samples: int, questions: int, key: str
) -> None:
    """Insert a row for a run. `questions` is the number of distinct questions, `key` their `questions_key`."""
    connection.execute(
        "INSERT INTO runs (run_id, name, config, dataset, dataset_key, source, tags, samples, imported, notes)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, now() AT TIME ZONE 'UTC', '')",
        [
            run_id,
            run.name,
            json.dumps(run.config, ensure_ascii=False),
            run.dataset or _dataset_name(questions, key),
            key,
            run.source,
            list(run.tags),
            samples,
        ],
    )


def _insert_samples(connection: duckdb.DuckDBPyConnection, run_id: str, samples: Sequence[Sample], first: int) -> None:
    """Insert samples at positions from `first` on."""
    for start in range(0, len(samples), 10_000):
        part = list(enumerate(samples[start : start + 10_000], first + start))
        append_rows(connection, "samples", [sample_row(run_id, *numbered) for numbered in part])
        append_rows(connection, "passages", [row for numbered in part for row in passage_rows(run_id, *numbered)])


def _keep_nuggets(connection: duckdb.DuckDBPyConnection, run: Run) -> None:
    """Store the nuggets of a run file for questions that have no nuggets in the store."""
    given = {
        (sample.question, history_json(sample.history)): sample.nuggets
        for sample in run.samples
        if sample.nuggets is not None
    }
    if not given:
        return
    known = set(connection.execute("SELECT DISTINCT question, history::VARCHAR FROM nugget_lists").fetchall())
    new = {asked: nuggets for asked, nuggets in given.items() if asked not in known}
    author = run.source or run.name
    append_lists(connection, ((*asked, nuggets, author, False) for asked, nuggets in new.items()))


def mark_clusters(connection: duckdb.DuckDBPyConnection, run_id: str) -> None:
    """Update the clusters of all samples of a run, because a new sample can join two clusters."""
    connection.execute(
        "UPDATE samples s SET cluster = found.cluster FROM"
        " (SELECT o.position, c.cluster FROM samples o LEFT JOIN sample_clusters([$run]) c USING (run_id, position)"
        " WHERE o.run_id = $run AND o.cluster IS DISTINCT FROM c.cluster) found"
        " WHERE s.run_id = $run AND s.position = found.position",
        {"run": run_id},
    )


def _extend_clusters(connection: duckdb.DuckDBPyConnection, run_id: str, first: int) -> None:
    """Store the clusters of new samples, found among the samples from position `first` on. Old clusters stay."""
    connection.execute(
        "WITH recent AS (SELECT position, cluster FROM samples WHERE run_id = $run AND position >= $first),"
        " joined AS (SELECT c.position, coalesce(arg_min(r.cluster, r.position) OVER (PARTITION BY c.cluster),"
        " c.cluster) AS cluster, r.cluster AS earlier FROM sample_clusters([$run], first_position := $first) c"
        " JOIN recent r USING (position))"
        " UPDATE samples s SET cluster = joined.cluster FROM joined"
        " WHERE s.run_id = $run AND s.position >= $first AND s.position = joined.position AND joined.earlier IS NULL",
        {"run": run_id, "first": first},
    )


def _insert_scores(connection: duckdb.DuckDBPyConnection, run_id: str, scores: FileScores) -> None:
    """Insert the scores and verdicts of a run file as an evaluation.

    An evaluation with verdicts is not marked as imported, so pages show it like an evaluation by ragboard. Scores that
    equal those of a metric of ragboard (`equivalent_metrics`) get the name of this metric.
    """
    source: dict[str, JsonValue] = {"tool": scores.tool, "format": scores.format, "columns": dict(scores.columns)}
    judge_identity = f"file/{scores.format.rpartition(' (')[0]}/{scores.judge}"
    has_verdicts = bool(scores.recorded)
    metrics = [_under_own_name(scores, metric) for metric in scores.metrics]
    evaluation = Evaluation(
        id=blake2b(as_json([run_id, source]).encode(), digest_size=6).hexdigest(),
        run_id=run_id,
        judge=f"{scores.judge or scores.tool} ({scores.tool + ' ' if scores.judge else ''}file)",
        heuristic=False,
        identity={"imported": source} | (dict.fromkeys(STATEMENT_TASKS, judge_identity) if has_verdicts else {}),
        metrics=tuple(metric.spec for metric in metrics),
        imported=not has_verdicts,
    )
    tasks = dict.fromkeys(scores.equivalent_metrics.values(), STATEMENT_TASKS)
    put_evaluation(connection, evaluation, metrics, tasks=tasks)
    rows = (
        (evaluation.id, *score_row(position, scores.equivalent_metrics.get(metric, metric), outcome))
        for position, outcomes in enumerate(scores.outcomes)
        for metric, outcome in outcomes.items()
    )
    append_rows(connection, "scores", list(rows))
    for table in ("statements", "verdicts", "judgements"):
        table_rows = [
            (evaluation.id, position, *row)
            for position, recorded in enumerate(scores.recorded)
            for row in recorded_rows(table, recorded)
        ]
        append_rows(connection, table, table_rows)
    mark_statements(connection, evaluation.id)
    update_score_hours(connection, evaluation.id)


STATEMENT_TASKS = ("ExtractStatements", "Verify")
"""Names of the tasks that produce statements and their verdicts."""


def _under_own_name(scores: FileScores, metric: MetricDescription) -> MetricDescription:
    """Return the description of a metric in a file, under ragboard's name if ragboard's formula gives its scores."""
    spec = scores.equivalent_metrics.get(metric.spec, metric.spec)
    if spec == metric.spec:
        return metric
    label = metric.label.removesuffix(f" ({scores.tool} file)")
    return replace(metric, spec=spec, label=label, source=spec.partition(".")[0], low=0.0, high=1.0)


def _judge_options_json(judge_options: JudgeOptions | None) -> str | None:
    from ragboard.judges.options import options_to_json  # not imported by the collector, which needs no judges

    return None if judge_options is None else json.dumps(options_to_json(judge_options))


def put_evaluation(
    connection: duckdb.DuckDBPyConnection,
    evaluation: Evaluation,
    metrics: Iterable[MetricDescription],
    *,
    tasks: Mapping[str, Sequence[str]] | None = None,
    covered: int | None = None,
    judge_options: JudgeOptions | None = None,
) -> None:
    """Insert or replace an evaluation and its metrics. The arguments are those of `Store.load`."""
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
            _judge_options_json(judge_options),
            evaluation.id,
            evaluation.imported,
            evaluation.run_id,
        ],
    )
    described = {description.spec: as_json(asdict(description)) for description in metrics}
    connection.execute(
        "INSERT OR REPLACE INTO metrics (evaluation_id, metric, description, tasks)"
        " SELECT ?, unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), unnest(?::VARCHAR[][])",
        [evaluation.id, list(described), list(described.values()), [(tasks or {}).get(spec) for spec in described]],
    )


def positions_in(connection: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> dict[str, Any]:
    """Return the positions in Parquet files, and the first and last of them, as SQL parameters."""
    if not files:
        return {"first": 0, "last": -1, "positions": []}
    sql = "SELECT min(position), max(position), list(DISTINCT position) FROM read_parquet(?)"
    ((first, last, positions),) = connection.execute(sql, [list(map(str, files))]).fetchall()
    return {"first": first, "last": last, "positions": positions}


def mark_statements(connection: duckdb.DuckDBPyConnection, evaluation_id: str) -> None:
    """Set the column `has_statements` of an evaluation."""
    connection.execute(
        "UPDATE evaluations SET has_statements = EXISTS (FROM statements WHERE evaluation_id = $evaluation"
        " AND side = 'response') WHERE evaluation_id = $evaluation",
        {"evaluation": evaluation_id},
    )


def drop_agreement(connection: duckdb.DuckDBPyConnection, agreement_id: str) -> bool:
    """Delete an agreement with its items and scores. Return whether it existed."""
    for table in ("agreement_items", "agreement_scores"):
        connection.execute(f"DELETE FROM {table} WHERE agreement_id = ?", [agreement_id])
    deleted = connection.execute("DELETE FROM agreements WHERE agreement_id = ? RETURNING 1", [agreement_id])
    return deleted.fetchone() is not None
