"""The store: the only SQL that writes. A folder with one DuckDB file, and the journals beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from itertools import chain, count
from pathlib import Path
from typing import Any, Literal, NamedTuple

import duckdb
import pyarrow as pa

from ragboard.answer_keys import answer_key
from ragboard.database import WAIT_SECONDS, Database
from ragboard.errors import NotFoundError, RunExistsError, SettingError
from ragboard.judges.options import JudgeOptions, options_kept, options_read
from ragboard.opinions import Agreement, Item, Said
from ragboard.prices import Price
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
)

__all__ = ["RESULT_TABLES", "AddedRun", "AskedSample", "RunRef", "Store", "find_sample", "read_samples", "score_row"]

PAGE = 256
"""Samples read in one lease."""

RESULT_TABLES = (
    "scores",
    "sides",
    "statements",
    "verdicts",
    "questions",
    "sentences",
    "judgements",
    "answer_places",
    "spending",
)
"""Tables that an evaluation fills, each with a column `evaluation_id`."""


@dataclass(frozen=True, kw_only=True)
class AddedRun:
    """What became of a run handed to the store."""

    id: str
    name: str
    """What it is called in the store: a run that was there already may have been renamed."""
    samples: int
    added: bool
    """False where the very same run was there already."""


@dataclass(frozen=True, kw_only=True)
class RunRef:
    """A run in the store, and the evaluation that is meant where one is."""

    run_id: str
    name: str
    evaluation_id: str | None


class AskedSample(NamedTuple):
    """What is needed to find a sample's partner in another run."""

    id: str
    question: str
    history: str
    """As it is stored: equal where the turns are."""


class Store:
    """Runs, evaluations and results in a folder. Every call is one short lease on the database.

    Of a store that is not `writable` every call that would change something raises StoreError. `wait` is how
    long, in seconds, a call waits for other processes.
    """

    def __init__(self, folder: Path, *, writable: bool = True, wait: float = WAIT_SECONDS) -> None:
        self.folder = folder
        self.database = Database(folder / "ragboard.duckdb", writable=writable, wait=wait)

    def check(self) -> None:
        """Raise StoreError where the store cannot be read, StoreBusyError where others keep it too long."""
        with self.database.read():
            pass

    def require_writable(self) -> None:
        """Raise StoreError where the store was opened for reading alone."""
        self.database.require_writable()

    @property
    def version(self) -> str:
        """Changes whenever something was written; costs no lease."""
        try:
            stat = self.database.path.stat()
        except FileNotFoundError:
            return "none"
        return f"{stat.st_mtime_ns}-{stat.st_size}"

    def journal_path(self, evaluation_id: str) -> Path:
        """Where an evaluation's answers are kept."""
        return self.folder / "journals" / f"{evaluation_id}.jsonl"

    def add_runs(self, runs: Iterable[Run]) -> tuple[AddedRun, ...]:
        """Keep runs, all or none. The very same run again changes nothing.

        Raises RunExistsError where another run already has the name, SettingError for a run without
        samples or name.
        """
        given = tuple(runs)
        for run in given:
            _check(run)
        prepared = [(run, _run_id(run)) for run in given]
        with self.database.write() as connection:
            return tuple(_add(connection, run, run_id) for run, run_id in prepared)

    def append(self, run: Run) -> tuple[str, ...]:
        """Keep samples behind those of a run that grows, and return their ids; it begins with its first samples.

        An id that is taken gets a number: `s1#2`. Configuration and dataset are those that came first. Safe
        for several processes at once. Raises RunExistsError where a run that does not grow has the name,
        SettingError where another configuration is given than the run has.
        """
        _check(run)
        run_id = _growing_id(run.name)
        with self.database.write() as connection:
            there = _find_run(connection, run.name)
            if there and there[0] != run_id:
                raise RunExistsError(f"{run.name!r} was imported as a whole and does not grow; log under another name")
            if not there:
                _insert(connection, replace(run, samples=()), run_id)
            return _grow(connection, run, run_id)

    def remove_runs(self, run_ids: Iterable[str]) -> None:
        """Delete runs with all that was found about them; their journals go too."""
        ids = list(run_ids)
        with self.database.write() as connection:
            evaluations = _column(
                connection, "SELECT evaluation_id FROM evaluations WHERE run_id IN (SELECT unnest(?))", [ids]
            )
            for table in ("metrics", *RESULT_TABLES):
                connection.execute(f"DELETE FROM {table} WHERE evaluation_id IN (SELECT unnest(?))", [evaluations])
            for table in ("evaluations", "passages", "samples", "runs"):
                connection.execute(f"DELETE FROM {table} WHERE run_id IN (SELECT unnest(?))", [ids])
        for evaluation in evaluations:
            for ending in (".jsonl", ".json", ".status.json", ".status.stop", ".log", ".lock"):
                self.journal_path(evaluation).with_suffix(ending).unlink(missing_ok=True)

    def rename_run(self, run_id: str, name: str) -> None:
        """Call a run by another name; what was found about it stays.

        Raises SettingError for a name that cannot be stored, RunExistsError where another run has it,
        NotFoundError where the run is gone.
        """
        _check_name(name)
        with self.database.write() as connection:
            there = _find_run(connection, name)
            if there and there[0] != run_id:
                raise RunExistsError(f"another run is already called {name!r}")
            _set(connection, run_id, "name", name)

    def set_tags(self, run_id: str, tags: Iterable[str]) -> None:
        """Put tags in place of those a run has; blank ones and repetitions are dropped. Raises NotFoundError."""
        kept = dict.fromkeys(tag.strip() for tag in tags if tag.strip())
        _check_text("tags", *kept)
        with self.database.write() as connection:
            _set(connection, run_id, "tags", list(kept))

    def change_tags(self, run_id: str, *, add: Iterable[str], drop: Iterable[str]) -> tuple[str, ...]:
        """Add tags to those a run has and drop others; those it has then. Raises NotFoundError."""
        gone, new = {tag.strip() for tag in drop}, [tag.strip() for tag in add if tag.strip()]
        _check_text("tags", *new)
        with self.database.write() as connection:
            row = connection.execute("SELECT tags FROM runs WHERE run_id = ?", [run_id]).fetchone()
            kept = [tag for tag in dict.fromkeys([*(row[0] if row else ()), *new]) if tag not in gone]
            _set(connection, run_id, "tags", kept)
        return tuple(kept)

    def set_notes(self, run_id: str, notes: str) -> None:
        """Put notes in place of those a run has. Raises NotFoundError where the run is gone."""
        _check_text("notes", notes)
        with self.database.write() as connection:
            _set(connection, run_id, "notes", notes)

    def set_threshold(self, metric: str, value: float | None) -> None:
        """Keep what a metric is to reach, in place of what was kept; None: nothing."""
        with self.database.write() as connection:
            if value is None:
                connection.execute("DELETE FROM thresholds WHERE metric = ?", [metric])
            else:
                connection.execute("INSERT OR REPLACE INTO thresholds VALUES (?, ?)", [metric, value])

    def runs_tagged(self, tag: str) -> tuple[str, ...]:
        """The ids of the runs that carry a tag."""
        with self.database.read() as connection:
            return tuple(_column(connection, "SELECT run_id FROM runs WHERE list_contains(tags, ?)", [tag]))

    def resolve(self, name: str) -> RunRef:
        """The run of that name or id, or `RUN@EVALUATION`; a bare run means its newest evaluation of our own.

        Raises NotFoundError that names what there is.
        """
        with self.database.read() as connection:
            found = _find_run(connection, name)
            if found:
                return RunRef(run_id=found[0], name=found[1], evaluation_id=_newest(connection, found[0]))
            run, _, evaluation = name.rpartition("@")
            found = _find_run(connection, run)
            if not found:
                names = _column(connection, "SELECT name FROM runs ORDER BY imported DESC LIMIT 20", [])
                there = f"there are {', '.join(names)}" if names else "the store is empty"
                raise NotFoundError(f"no run is called {name!r}; {there}")
            return RunRef(run_id=found[0], name=found[1], evaluation_id=_evaluation(connection, found[0], evaluation))

    def samples(self, run_id: str) -> Iterator[tuple[int, Sample]]:
        """Every sample of a run with its position, a page at a time."""
        start = 0
        while True:
            with self.database.read() as connection:
                page = read_samples(connection, run_id, start, start + PAGE)
            yield from page
            if len(page) < PAGE:
                return
            start += PAGE

    def sample(self, run: RunRef, sample_id: str) -> tuple[int, Sample]:
        """A sample of a run and its position. Raises NotFoundError where the run has no such sample."""
        with self.database.read() as connection:
            return find_sample(connection, run, sample_id)

    def asked(self, run_id: str) -> tuple[AskedSample, ...]:
        """What each sample of a run asks, in order, without passages and answers."""
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT sample_id, question, history FROM samples WHERE run_id = ? ORDER BY position", [run_id]
            ).fetchall()
        return tuple(map(AskedSample._make, rows))

    def sample_count(self, run_id: str) -> int:
        """How many samples the run has."""
        with self.database.read() as connection:
            row = connection.execute("SELECT samples FROM runs WHERE run_id = ?", [run_id]).fetchone()
        return int(row[0]) if row else 0

    def evaluation_metrics(self, evaluation_id: str) -> tuple[str, ...]:
        """The metrics an evaluation already has; none where it is new."""
        with self.database.read() as connection:
            return _metrics(connection, evaluation_id)

    @property
    def cache_path(self) -> Path:
        """Where answers are kept that evaluations share."""
        return self.folder / "answers.sqlite"

    def covered(self, evaluation_id: str) -> frozenset[int]:
        """The positions of the samples that an evaluation has results of."""
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT DISTINCT position FROM scores WHERE evaluation_id = ?", [evaluation_id]
            ).fetchall()
        return frozenset(row[0] for row in rows)

    def judging(self, evaluation_id: str) -> JudgeOptions | None:
        """How the judges of an evaluation were named; None where nobody named them."""
        with self.database.read() as connection:
            row = connection.execute(
                "SELECT judging FROM evaluations WHERE evaluation_id = ?", [evaluation_id]
            ).fetchone()
        return None if row is None or row[0] is None else options_read(json.loads(row[0]))

    def evaluation(self, evaluation_id: str) -> Evaluation:
        """An evaluation as it was loaded last. Raises NotFoundError where it is gone."""
        with self.database.read() as connection:
            row = connection.execute(
                "SELECT evaluation_id, run_id, judge, heuristic, identity, metrics, imported FROM evaluations"
                " WHERE evaluation_id = ?",
                [evaluation_id],
            ).fetchone()
        if row is None:
            raise NotFoundError(f"the store has no evaluation {evaluation_id!r}")
        return Evaluation(
            id=row[0],
            run_id=row[1],
            judge=row[2],
            heuristic=row[3],
            identity=json.loads(row[4]),
            metrics=tuple(row[5]),
            imported=bool(row[6]),
        )

    def answer_places(self, evaluation_id: str, position: int) -> tuple[int, ...]:
        """Where in an evaluation's journal the answers stand that a sample's results were made of, each once."""
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT place FROM answer_places WHERE evaluation_id = ? AND position = ? ORDER BY rowid",
                [evaluation_id, position],
            ).fetchall()
        return tuple(dict.fromkeys(row[0] for row in rows))

    def prices_used(self, evaluation_id: str) -> Mapping[str, Price]:
        """The prices that an evaluation's cost was counted by, by model; without those that were not known."""
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT model, prompt_price, completion_price, cached_price FROM spending WHERE evaluation_id = ?"
                " AND prompt_price IS NOT NULL",
                [evaluation_id],
            ).fetchall()
        return {model: Price(prompt=prompt, completion=said, cached=kept) for model, prompt, said, kept in rows}

    def load(
        self,
        evaluation: Evaluation,
        results: Mapping[str, Path],
        metrics: Iterable[MetricDescription] = (),
        *,
        covered: int | None = None,
        judging: JudgeOptions | None = None,
    ) -> None:
        """Put an evaluation's results in place of what it had, in one transaction.

        `results` gives a Parquet file for each of `RESULT_TABLES`; `metrics` describes those counted. What
        other metrics had counted stays: nobody may have been there who knows them. `covered` says of how
        many samples these are (None: all), `judging` how the judges were named. Loading twice changes nothing.
        """
        with self.database.write() as connection:
            kept = [spec for spec in _metrics(connection, evaluation.id) if spec not in evaluation.metrics]
            whole = replace(evaluation, metrics=(*kept, *evaluation.metrics))
            _put_evaluation(connection, whole, metrics, covered=covered, judging=judging)
            for table in RESULT_TABLES:
                others = " AND NOT list_contains($kept, metric)" if table == "scores" else ""
                connection.execute(
                    f"DELETE FROM {table} WHERE evaluation_id = $evaluation{others}",
                    {"evaluation": evaluation.id} | ({"kept": kept} if others else {}),
                )
                connection.execute(
                    f"INSERT INTO {table} BY NAME SELECT ? AS evaluation_id, * FROM read_parquet(?)",
                    [evaluation.id, str(results[table])],
                )

    def keep_agreement(self, agreement: Agreement, items: Sequence[Item], said: Iterable[Said]) -> None:
        """Keep what people said of items and what contenders made of them, in place of the same agreement before."""
        with self.database.write() as connection:
            _drop_agreement(connection, agreement.id)
            connection.execute(
                "INSERT INTO agreements VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, now() AT TIME ZONE 'UTC')",
                [
                    agreement.id,
                    agreement.name,
                    agreement.form,
                    agreement.source,
                    agreement.judge,
                    agreement.heuristic,
                    agreement.seed,
                    _json([asdict(contender) for contender in agreement.contenders]),
                    list(agreement.notes),
                ],
            )
            _append(connection, "agreement_items", [_item_row(agreement.id, *each) for each in enumerate(items)])
            _append(connection, "agreement_scores", [row for one in said for row in _said_rows(agreement.id, one)])

    def remove_agreement(self, agreement_id: str) -> None:
        """Delete an agreement; its journal goes too. Raises NotFoundError where there is none."""
        with self.database.write() as connection:
            if not _drop_agreement(connection, agreement_id):
                raise NotFoundError("the agreement is no longer in the store")
        for ending in (".jsonl", ".json", ".lock"):
            self.journal_path(f"agree-{agreement_id}").with_suffix(ending).unlink(missing_ok=True)


def find_sample(connection: duckdb.DuckDBPyConnection, run: RunRef, sample_id: str) -> tuple[int, Sample]:
    """A sample of a run and its position. Raises NotFoundError where the run has no such sample."""
    row = connection.execute(
        "SELECT position FROM samples WHERE run_id = ? AND sample_id = ?", [run.run_id, sample_id]
    ).fetchone()
    if row is None:
        raise NotFoundError(f"run {run.name!r} has no sample {sample_id!r}")
    ((position, sample),) = read_samples(connection, run.run_id, row[0], row[0] + 1)
    return position, sample


def read_samples(connection: duckdb.DuckDBPyConnection, run_id: str, start: int, stop: int) -> list[tuple[int, Sample]]:
    """The samples at the positions from `start` up to `stop`, with their positions."""
    given = [run_id, start, stop]
    rows = connection.execute(
        "SELECT position, sample_id, question, answer, reference, has_contexts, reference_contexts, history,"
        " metadata FROM samples WHERE run_id = ? AND position >= ? AND position < ? ORDER BY position",
        given,
    ).fetchall()
    passages = connection.execute(
        "SELECT position, rank, passage_id, text, score FROM passages"
        " WHERE run_id = ? AND position >= ? AND position < ? ORDER BY position, rank",
        given,
    ).fetchall()
    by_sample: dict[int, list[Passage]] = {}
    for position, rank, passage_id, text, score in passages:
        by_sample.setdefault(position, []).append(Passage(id=passage_id, text=text, rank=rank, score=score))
    return [(row[0], _sample(row, by_sample.get(row[0], []))) for row in rows]


def _sample(row: tuple[Any, ...], passages: list[Passage]) -> Sample:
    _, sample_id, question, answer, reference, has_contexts, reference_contexts, history, metadata = row
    return Sample(
        id=sample_id,
        question=question,
        answer=answer,
        contexts=tuple(passages) if has_contexts else None,
        reference=reference,
        reference_contexts=None if reference_contexts is None else tuple(json.loads(reference_contexts)),
        history=tuple(Turn(**turn) for turn in json.loads(history)),
        metadata=json.loads(metadata),
    )


def _column(connection: duckdb.DuckDBPyConnection, sql: str, given: list[Any]) -> list[str]:
    return [row[0] for row in connection.execute(sql, given).fetchall()]


def _find_run(connection: duckdb.DuckDBPyConnection, name: str) -> tuple[str, str] | None:
    found: tuple[str, str] | None = connection.execute(
        "SELECT run_id, name FROM runs WHERE name = ? OR run_id = ? ORDER BY name = ? DESC",
        [name, name, name],
    ).fetchone()
    return found


def _newest(connection: duckdb.DuckDBPyConnection, run_id: str) -> str | None:
    row = connection.execute(
        "SELECT evaluation_id FROM evaluations JOIN runs USING (run_id) WHERE run_id = ? AND NOT evaluations.imported"
        " ORDER BY covered >= samples DESC, finished DESC LIMIT 1",
        [run_id],
    ).fetchone()
    return row[0] if row else None


def _evaluation(connection: duckdb.DuckDBPyConnection, run_id: str, wanted: str) -> str:
    there = _column(
        connection, "SELECT evaluation_id FROM evaluations WHERE run_id = ? ORDER BY finished DESC", [run_id]
    )
    found = [evaluation for evaluation in there if wanted and evaluation.startswith(wanted)]
    if len(found) != 1:
        raise NotFoundError(f"no evaluation of this run is called {wanted!r}; it has {', '.join(there) or 'none'}")
    return found[0]


def _metrics(connection: duckdb.DuckDBPyConnection, evaluation_id: str) -> tuple[str, ...]:
    row = connection.execute("SELECT metrics FROM evaluations WHERE evaluation_id = ?", [evaluation_id]).fetchone()
    return tuple(row[0]) if row else ()


def _check_name(name: str) -> None:
    if not name.strip():
        raise SettingError("a run needs a name; give one with --name")
    _check_text("name", name)


def _check_text(what: str, *texts: str) -> None:
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as error:
        raise SettingError(f"the {what} cannot be stored: {error}") from error


def _set(connection: duckdb.DuckDBPyConnection, run_id: str, column: Literal["name", "tags", "notes"], to: Any) -> None:
    changed = connection.execute(f"UPDATE runs SET {column} = ? WHERE run_id = ? RETURNING run_id", [to, run_id])
    if changed.fetchone() is None:
        raise NotFoundError("the run is no longer in the store")


def _check(run: Run) -> None:
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


def _run_id(run: Run) -> str:
    """Digest of name, configuration, every sample and the file's own scores: the same run is the same id."""
    digest = blake2b(digest_size=6)
    digest.update(_json([run.name, run.config, run.dataset]).encode())
    for sample in run.samples:
        digest.update(repr(sample).encode("utf-8", errors="surrogatepass"))
    for outcomes in run.scores.outcomes if run.scores else ():
        digest.update(repr(sorted(outcomes.items())).encode())
    return digest.hexdigest()


def _questions_key(questions: Iterable[str]) -> str:
    """Digest of the set of questions, so that runs over the same questions are known as such."""
    digest = blake2b(digest_size=6)
    for question in sorted(set(questions)):
        digest.update(question.encode() + b"\0")
    return digest.hexdigest()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _growing_id(name: str) -> str:
    """The id of a run that grows: its content cannot say which it is, so its name does."""
    return blake2b(_json(["grows", name]).encode(), digest_size=6).hexdigest()


def _grow(connection: duckdb.DuckDBPyConnection, run: Run, run_id: str) -> tuple[str, ...]:
    row = connection.execute("SELECT samples, config FROM runs WHERE run_id = ?", [run_id]).fetchone()
    there, config = row or (0, "{}")
    if run.config and json.loads(config) != json.loads(_json(run.config)):
        raise SettingError(f"run {run.name!r} has the configuration {config}; log another one under another name")
    ids = set(_column(connection, "SELECT sample_id FROM samples WHERE run_id = ?", [run_id]))
    named: list[Sample] = []
    for sample in run.samples:
        named.append(replace(sample, id=_free(sample.id, ids)))
        ids.add(named[-1].id)
    _insert_samples(connection, run_id, named, there)
    questions = _column(connection, "SELECT DISTINCT question FROM samples WHERE run_id = ?", [run_id])
    connection.execute(
        "UPDATE runs SET samples = ?, dataset_key = ? WHERE run_id = ?",
        [there + len(named), _questions_key(questions), run_id],
    )
    return tuple(sample.id for sample in named)


def _free(wanted: str, taken: set[str]) -> str:
    """The id itself, or `wanted#2` and so on where it is taken."""
    return next(name for name in chain([wanted], (f"{wanted}#{n}" for n in count(2))) if name not in taken)


def _add(connection: duckdb.DuckDBPyConnection, run: Run, run_id: str) -> AddedRun:
    there = _find_run(connection, run_id) or _find_run(connection, run.name)
    if there and there[0] != run_id:
        raise RunExistsError(f"another run is already called {run.name!r}; give this one another name with --name")
    if not there:
        _insert(connection, run, run_id)
    return AddedRun(id=run_id, name=there[1] if there else run.name, samples=len(run.samples), added=not there)


def _insert(connection: duckdb.DuckDBPyConnection, run: Run, run_id: str) -> None:
    key = _questions_key(sample.question for sample in run.samples)
    dataset = run.dataset or f"{len({sample.question for sample in run.samples})} questions ({key[:4]})"
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
    if run.scores:
        _insert_scores(connection, run_id, run.scores)


def _insert_samples(connection: duckdb.DuckDBPyConnection, run_id: str, samples: Sequence[Sample], first: int) -> None:
    """Put samples in at the positions from `first` on."""
    for start in range(0, len(samples), 10_000):
        part = list(enumerate(samples[start : start + 10_000], first + start))
        _append(connection, "samples", [_sample_row(run_id, *numbered) for numbered in part])
        _append(connection, "passages", [row for numbered in part for row in _passage_rows(run_id, *numbered)])


def _insert_scores(connection: duckdb.DuckDBPyConnection, run_id: str, scores: FileScores) -> None:
    """What another tool made of the run: an evaluation that nobody here made."""
    said: dict[str, JsonValue] = {"tool": scores.tool, "format": scores.format, "columns": dict(scores.columns)}
    evaluation = Evaluation(
        id=blake2b(_json([run_id, said]).encode(), digest_size=6).hexdigest(),
        run_id=run_id,
        judge=f"{scores.tool} (file)",
        heuristic=False,
        identity={"imported": said},
        metrics=tuple(metric.spec for metric in scores.metrics),
        imported=True,
    )
    _put_evaluation(connection, evaluation, scores.metrics)
    rows = (
        (evaluation.id, *score_row(position, metric, outcome))
        for position, outcomes in enumerate(scores.outcomes)
        for metric, outcome in outcomes.items()
    )
    _append(connection, "scores", list(rows))


def _put_evaluation(
    connection: duckdb.DuckDBPyConnection,
    evaluation: Evaluation,
    metrics: Iterable[MetricDescription],
    *,
    covered: int | None = None,
    judging: JudgeOptions | None = None,
) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO evaluations SELECT ?, ?, ?, ?, ?, ?, now() AT TIME ZONE 'UTC',"
        " coalesce(?, samples), ?, ? FROM runs WHERE run_id = ?",
        [
            evaluation.id,
            evaluation.run_id,
            evaluation.judge,
            evaluation.heuristic,
            json.dumps(evaluation.identity),
            list(evaluation.metrics),
            covered,
            None if judging is None else json.dumps(options_kept(judging)),
            evaluation.imported,
            evaluation.run_id,
        ],
    )
    for description in metrics:
        connection.execute(
            "INSERT OR REPLACE INTO metrics VALUES (?, ?, ?)",
            [evaluation.id, description.spec, _json(asdict(description))],
        )


def score_row(position: int, metric: str, outcome: Outcome) -> tuple[Any, ...]:
    """A row of `scores` but for its evaluation: position, metric, value, counted, reason, detail."""
    if isinstance(outcome, Score):
        return (position, metric, outcome.value, outcome.counted, None, None)
    return (position, metric, None, None, outcome.reason, outcome.detail)


def _drop_agreement(connection: duckdb.DuckDBPyConnection, agreement_id: str) -> bool:
    """Delete an agreement with all that belongs to it; whether there was one."""
    for table in ("agreement_items", "agreement_scores"):
        connection.execute(f"DELETE FROM {table} WHERE agreement_id = ?", [agreement_id])
    gone = connection.execute("DELETE FROM agreements WHERE agreement_id = ? RETURNING 1", [agreement_id])
    return gone.fetchone() is not None


def _item_row(agreement_id: str, position: int, item: Item) -> tuple[Any, ...]:
    sides = _json([asdict(sample) for sample in item.sides])
    return (agreement_id, position, item.id, item.cluster, json.dumps(item.said), sides)


def _said_rows(agreement_id: str, said: Said) -> Iterator[tuple[Any, ...]]:
    for side, outcome in enumerate(said.outcomes):
        _, contender, *found = score_row(said.position, said.contender, outcome)
        yield (agreement_id, said.position, said.dimension, contender, side, *found)


def _append(
    connection: duckdb.DuckDBPyConnection,
    table: Literal["samples", "passages", "scores", "agreement_items", "agreement_scores"],
    rows: list[tuple[Any, ...]],
) -> None:
    if not rows:
        return
    schema = _SCHEMAS[table]
    arrays = [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), schema.types, strict=True)]
    connection.register("incoming", pa.Table.from_arrays(arrays, schema=schema))
    connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM incoming")
    connection.unregister("incoming")


def _sample_row(run_id: str, position: int, sample: Sample) -> tuple[Any, ...]:
    return (
        run_id,
        position,
        sample.id,
        sample.question,
        sample.answer,
        sample.reference,
        sample.contexts is not None,
        None if sample.reference_contexts is None else _json(sample.reference_contexts),
        _json([asdict(turn) for turn in sample.history]),
        json.dumps(sample.metadata, ensure_ascii=False),
        answer_key(sample),
    )


def _passage_rows(run_id: str, position: int, sample: Sample) -> list[tuple[Any, ...]]:
    return [
        (run_id, position, passage.rank, passage.id, passage.text, passage.score) for passage in sample.contexts or ()
    ]


_TEXT = pa.string()
_SCHEMAS = {
    "samples": pa.schema(
        [
            ("run_id", _TEXT),
            ("position", pa.int32()),
            ("sample_id", _TEXT),
            ("question", _TEXT),
            ("answer", _TEXT),
            ("reference", _TEXT),
            ("has_contexts", pa.bool_()),
            ("reference_contexts", _TEXT),
            ("history", _TEXT),
            ("metadata", _TEXT),
            ("answer_key", _TEXT),
        ]
    ),
    "passages": pa.schema(
        [
            ("run_id", _TEXT),
            ("position", pa.int32()),
            ("rank", pa.int32()),
            ("passage_id", _TEXT),
            ("text", _TEXT),
            ("score", pa.float64()),
        ]
    ),
    "scores": pa.schema(
        [
            ("evaluation_id", _TEXT),
            ("position", pa.int32()),
            ("metric", _TEXT),
            ("value", pa.float64()),
            ("counted", _TEXT),
            ("reason", _TEXT),
            ("detail", _TEXT),
        ]
    ),
    "agreement_items": pa.schema(
        [
            ("agreement_id", _TEXT),
            ("position", pa.int32()),
            ("item_id", _TEXT),
            ("cluster", _TEXT),
            ("said", _TEXT),
            ("sides", _TEXT),
        ]
    ),
    "agreement_scores": pa.schema(
        [
            ("agreement_id", _TEXT),
            ("position", pa.int32()),
            ("dimension", _TEXT),
            ("contender", _TEXT),
            ("side", pa.int32()),
            ("value", pa.float64()),
            ("counted", _TEXT),
            ("reason", _TEXT),
            ("detail", _TEXT),
        ]
    ),
}
