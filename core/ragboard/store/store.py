"""The store in a folder: runs, evaluations, results and uploaded files."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragboard.database import WAIT_SECONDS, Database
from ragboard.errors import NotFoundError, RunExistsError, StoreError
from ragboard.prices import Price
from ragboard.readers import ImportReport, open_runs
from ragboard.readers.labels import LabelledItem
from ragboard.readers.sources import FileSource
from ragboard.records import Evaluation, MetricDescription, ModelUsage, Run, Sample
from ragboard.store.bulk import ColumnsChangedError, add_streamed
from ragboard.store.copying import copied_rows, insert_rows
from ragboard.store.journals import journals_of, lock_journals, remove_journals
from ragboard.store.prune import PrunedRun, prune_run, runs_to_prune
from ragboard.store.queries.agreements import Agreement, ScorerResult, keep_agreement
from ragboard.store.queries.draws import draw_counts
from ragboard.store.queries.evaluations import usage_by_evaluation
from ragboard.store.queries.query import Connection
from ragboard.store.queries.references import dataset_references_digest, with_dataset_references
from ragboard.store.queries.rollups import kept_rollups
from ragboard.store.queries.runs import RunStates, run_states
from ragboard.store.reading import (
    column,
    evaluation_named,
    find_sample,
    metrics_of,
    page_end,
    read_evaluations,
    read_samples,
    read_samples_at,
    run_id_and_name,
    run_shown,
)
from ragboard.store.rollups import refresh_rollups
from ragboard.store.run_refs import RESULT_TABLES, AddedRun, RunRef
from ragboard.store.sampling import SamplingRate, add_rate, end_sampling, read_rates
from ragboard.store.score_hours import update_score_hours
from ragboard.store.writing import (
    add_run,
    check_name,
    check_run,
    check_text,
    delete_samples,
    drop_agreement,
    grow,
    growing_id,
    grows,
    insert_run,
    mark_statements,
    positions_in,
    put_evaluation,
    run_digest,
    same_run,
    set_column,
)

if TYPE_CHECKING:
    from ragboard.judges.options import JudgeOptions

__all__ = ["Store"]


def keep_upload(folder: Path, owners: Iterable[str], file: Path) -> None:
    """Copy an uploaded file to the folder of each owner (a run or agreement id). Raises StoreError if that fails.

    Copies after the first are links if possible.
    """
    first: Path | None = None
    try:
        for owner in owners:
            target = folder / owner / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            if first is None:
                first = _copy(file, target)
            elif not target.exists():
                _link(first, target)
    except OSError as error:
        raise StoreError(f"{file.name}: cannot store the uploaded file: {error.strerror or error}") from error


def drop_uploads(folder: Path, owners: Iterable[str]) -> None:
    """Delete the uploaded files of these owners."""
    for owner in owners:
        shutil.rmtree(folder / owner, ignore_errors=True)


def _copy(file: Path, to: Path) -> Path:
    part = to.with_name(f"{to.name}.part")
    try:
        shutil.copyfile(file, part)
        return part.replace(to)
    finally:
        part.unlink(missing_ok=True)


def _link(first: Path, to: Path) -> None:
    try:
        os.link(first, to)
    except OSError:  # a file system without links
        _copy(first, to)


JOURNAL_ID = re.compile("[0-9A-Za-z_-]{1,100}")
MAX_POSITION = 2**31 - 1
PAGE_SIZE = 1_000
"""Number of samples that `Store.samples` reads at a time."""
SCATTERED_SIZE = 100
"""Number of samples that `Store.samples_at` reads at a time. A connection keeps up to 1 MB of the file for each."""
RESULTS_MEMORY = "128MB"
"""DuckDB's memory limit while results of an evaluation are loaded. DuckDB also uses memory that it does not count."""
MIN_GROWTH = 0.1
"""Rollups are computed again at the end of an evaluation, and when at least this share of its samples gets new results.
For smaller additions to a large run, this would take too long; pages then read the run itself."""


class Store:
    """Runs, evaluations and results in a folder. Each call opens the database only for a short time."""

    def __init__(
        self,
        folder: Path | str,
        *,
        writable: bool = True,
        wait: float = WAIT_SECONDS,
        shares_reads: bool = False,
    ) -> None:
        """Set up access to the store in `folder`. Later calls open or create the database.

        - `writable`: if False, calls that change the store raise StoreError.
        - `wait`: maximum seconds that a call waits while another process uses the database.
        - `shares_reads`: the reads of this process share a connection, which stays open for up to 0.1 s after the last
          of them: faster for many small reads, but writers of other processes wait that long.
        """
        self.folder = Path(folder)
        path = self.folder / "ragboard.duckdb"
        self.database = Database(path, writable=writable, wait=wait, shares_reads=shares_reads)

    def check(self) -> None:
        """Raise StoreError if the store cannot be read, StoreBusyError if other processes use it for too long."""
        with self.database.read():
            pass

    def require_writable(self) -> None:
        """Raise StoreError if the store was opened read-only."""
        self.database.require_writable()

    @property
    def version(self) -> str:
        """A text that changes when the database changes. Reading it does not open the database."""
        try:
            stat = self.database.path.stat()
        except FileNotFoundError:
            return "none"
        return f"{stat.st_mtime_ns}-{stat.st_size}"

    def run_states(self) -> RunStates:
        """Return texts that change when anything changes that pages show of a run.

        Unlike `version`, they stay the same when only other runs change.
        """
        with self.database.read() as connection:
            return run_states(connection)

    @property
    def journal_folder(self) -> Path:
        """The folder of the journals."""
        return self.folder / "journals"

    def journal_path(self, evaluation_id: str) -> Path:
        """Return the path of an evaluation's journal. Raises NotFoundError for an invalid id."""
        if not JOURNAL_ID.fullmatch(evaluation_id):
            raise NotFoundError(f"the store has no evaluation {evaluation_id!r}")
        return self.journal_folder / f"{evaluation_id}.jsonl"

    def add_runs(self, runs: Iterable[Run]) -> tuple[AddedRun, ...]:
        """Add all runs, or none if one fails. Runs that the store already has are not added again.

        Raises RunExistsError if a different run has the name, SettingError for a run without samples or name.
        """
        prepared: list[tuple[Run, str]] = []
        for run in runs:
            check_run(run)
            prepared.append((run, run_digest(run)))
        with self.database.write() as connection:
            added = tuple(add_run(connection, run, run_id) for run, run_id in prepared)
            refresh_rollups(connection)
        return added

    def import_file(
        self, file: FileSource, *, tags: Sequence[str] = (), **reading: Any
    ) -> tuple[tuple[AddedRun, ...], ImportReport]:
        """Read a run file and add its runs: all, or none if one fails. Return the runs and the import report.

        - `tags`: tags for the runs, in addition to those in the file.
        - `reading`: other arguments of `readers.open_runs`.

        Raises the errors of `read_runs` and `add_runs`.
        """

        def tagged(run: Run) -> Run:
            return replace(run, tags=tuple(dict.fromkeys((*run.tags, *tags))))

        self.require_writable()
        with open_runs(file, **reading) as (first, read):
            stream = replace(first, run=tagged(first.run)) if first else None
            while stream:
                try:
                    added, report = add_streamed(self.database, self.folder / "staging", stream)
                except ColumnsChangedError as changed:
                    stream = stream.with_columns(changed.columns)
                else:
                    return (added,), report
            result = read()
        return self.add_runs(map(tagged, result.runs)), result.report

    def copy_run(self, source: Store, run: RunRef, *, name: str | None = None) -> RunRef:
        """Copy a run with the evaluations of `run` from another store, and return a reference to the copy.

        Human labels of answers are not copied. If this store already has the run, it keeps its name and gets only the
        missing evaluations. Raises RunExistsError if another run has the name, NotFoundError if the run was deleted.
        """
        name = name or run.name
        with source.database.read() as connection:
            rows = copied_rows(connection, run)
        if not rows["runs"].num_rows:
            raise NotFoundError(f"run {run.name!r} is no longer in the store")
        with self.database.write() as connection:
            existing = run_id_and_name(connection, run.run_id)
            named = run_id_and_name(connection, name)
            if named and named[0] != run.run_id:
                raise RunExistsError(f"another run is already called {name!r}")
            insert_rows(connection, rows, name)
            refresh_rollups(connection)
        return replace(run, name=existing[1] if existing and existing[0] == run.run_id else name)

    def same_run(self, run: Run) -> str | None:
        """Return the id of an equal run in the store, even if it was renamed; None if there is none."""
        with self.database.read() as connection:
            existing = same_run(connection, run.name, run_digest(run))
        return existing[0] if existing else None

    def append(self, run: Run) -> tuple[str, ...]:
        """Append samples to a growing run, and return their ids. The first call creates the run.

        An id that exists already gets a number: `s1#2`. Configuration and dataset are those of the first call. Samples
        with the original name of a run are appended even if the run was renamed. Several processes can append at once.
        Raises RunExistsError if an imported run has the name, SettingError if the configuration is different.
        """
        check_run(run)
        run_id = growing_id(run.name)
        with self.database.write() as connection:
            existing = run_id_and_name(connection, run.name)
            if existing and existing[0] != run_id:
                raise RunExistsError(f"{run.name!r} is an imported run, which does not grow; log under another name")
            if not existing and not run_id_and_name(connection, run_id):
                connection.execute("DELETE FROM draws WHERE run_id = $run OR other_run_id = $run", {"run": run_id})
                insert_run(connection, replace(run, samples=()), run_id)
            return grow(connection, run, run_id)

    def remove_runs(self, run_ids: Iterable[str]) -> None:
        """Delete runs with their evaluations, journals and uploaded files, but not the human labels of their answers.

        Raises StoreBusyError if a process is evaluating one of the runs.
        """
        ids = list(run_ids)
        with ExitStack() as locks:
            with self.database.write() as connection:
                evaluations = column(
                    connection, "SELECT evaluation_id FROM evaluations WHERE run_id IN (SELECT unnest(?))", [ids]
                )
                journals = journals_of(self.journal_folder, ids, evaluations)
                locks.enter_context(lock_journals(journals))
                for table in ("metrics", "sampling_rates", "score_hours", *RESULT_TABLES):
                    connection.execute(f"DELETE FROM {table} WHERE evaluation_id IN (SELECT unnest(?))", [evaluations])
                for table in ("evaluations", "passages", "samples", "runs"):
                    connection.execute(f"DELETE FROM {table} WHERE run_id IN (SELECT unnest(?))", [ids])
            remove_journals(journals)
        drop_uploads(self._uploads, ids)

    def remove_samples(self, run_id: str, positions: Iterable[int]) -> int:
        """Delete samples of a growing run with their results, and return their number. Journals keep their replies.

        Raises NotFoundError if the run does not exist, SettingError if it does not grow (its id is a digest of its
        samples).
        """
        with self.database.write() as connection:
            return delete_samples(connection, run_id, positions)

    def prune(
        self, before: datetime, *, name: str | None = None, keep_labelled: bool = False, dry_run: bool = False
    ) -> tuple[PrunedRun, ...]:
        """Delete the samples of growing runs from before a time, with their results. Return the runs that had any.

        - `before`: UTC, without a time zone. Samples without a time are kept.
        - `name`: only this run, or the runs of this dataset. The default is all growing runs.
        - `keep_labelled`: keep samples with human labels.
        - `dry_run`: delete nothing.
        """
        with self.database.read() as connection:
            run_ids = runs_to_prune(connection, before, name)
        pruned: list[PrunedRun] = []
        for run_id in run_ids:
            with self.database.read() if dry_run else self.database.write() as connection:
                pruned.append(prune_run(connection, run_id, before, keep_labelled=keep_labelled, dry_run=dry_run))
        return tuple(pruned)

    def keep_upload(self, file: Path, *, owners: Iterable[str]) -> None:
        """Store an uploaded file until the runs or agreements with these ids are deleted.

        Raises StoreError if the file cannot be copied.
        """
        self.require_writable()
        keep_upload(self._uploads, owners, file)

    @property
    def _uploads(self) -> Path:
        return self.folder / "uploads"

    def rename_run(self, run_id: str, name: str) -> None:
        """Rename a run.

        Raises SettingError if the name cannot be stored, RunExistsError if another run has it, NotFoundError if the run
        does not exist.
        """
        check_name(name)
        with self.database.write() as connection:
            existing = run_id_and_name(connection, name)
            if existing and existing[0] != run_id:
                raise RunExistsError(f"another run is already called {name!r}")
            set_column(connection, run_id, "name", name)

    def set_tags(self, run_id: str, tags: Iterable[str]) -> None:
        """Replace the tags of a run. Blank and repeated tags are dropped. Raises NotFoundError without such a run."""
        unique = dict.fromkeys(tag.strip() for tag in tags if tag.strip())
        check_text("tags", *unique)
        with self.database.write() as connection:
            set_column(connection, run_id, "tags", list(unique))

    def change_tags(self, run_id: str, *, add: Iterable[str], drop: Iterable[str]) -> tuple[str, ...]:
        """Add and remove tags of a run, and return all its tags. Raises NotFoundError without such a run."""
        dropped, new = {tag.strip() for tag in drop}, [tag.strip() for tag in add if tag.strip()]
        check_text("tags", *new)
        with self.database.write() as connection:
            row = connection.execute("SELECT tags FROM runs WHERE run_id = ?", [run_id]).fetchone()
            result = [tag for tag in dict.fromkeys([*(row[0] if row else ()), *new]) if tag not in dropped]
            set_column(connection, run_id, "tags", result)
        return tuple(result)

    def set_notes(self, run_id: str, notes: str) -> None:
        """Replace the notes of a run. Raises NotFoundError if the run does not exist."""
        check_text("notes", notes)
        with self.database.write() as connection:
            set_column(connection, run_id, "notes", notes)

    def set_threshold(self, metric: str, value: float | None) -> None:
        """Set the threshold of a metric; None removes it."""
        with self.database.write() as connection:
            if value is None:
                connection.execute("DELETE FROM thresholds WHERE metric = ?", [metric])
            else:
                connection.execute("INSERT OR REPLACE INTO thresholds VALUES (?, ?)", [metric, value])

    def runs_tagged(self, tag: str) -> tuple[str, ...]:
        """Return the ids of the runs with a tag."""
        with self.database.read() as connection:
            return tuple(column(connection, "SELECT run_id FROM runs WHERE list_contains(tags, ?)", [tag]))

    def resolve(self, name: str) -> RunRef:
        """Return the run with this name or id. `RUN@EVALUATION` selects an evaluation by its id or judge.

        Without `@EVALUATION`, the scores of each metric are those of its newest evaluation of all samples, else of its
        newest evaluation. Raises NotFoundError if there is no such run.
        """
        with self.database.read() as connection:
            found = run_id_and_name(connection, name)
            if found:
                return run_shown(connection, *found)
            run, _, evaluation = name.rpartition("@")
            found = run_id_and_name(connection, run)
            if not found:
                names = column(connection, "SELECT name FROM runs ORDER BY imported DESC LIMIT 20", [])
                existing = f"there are {', '.join(names)}" if names else "the store is empty"
                raise NotFoundError(f"no run is called {name!r}; {existing}")
            return RunRef(
                run_id=found[0], name=found[1], evaluation_id=evaluation_named(connection, found[0], evaluation)
            )

    def samples(self, run_id: str, start: int = 0) -> Iterator[tuple[int, Sample]]:
        """Yield (position, sample) for the samples of a run from a position on, with the references of its dataset.

        Positions ascend and may have gaps, where samples were deleted.
        """
        while True:
            with self.database.read() as connection:
                stop = page_end(connection, run_id, start, PAGE_SIZE)
                page = [] if stop is None else read_samples(connection, run_id, start, stop)
                samples = with_dataset_references(connection, run_id, page)
            yield from samples
            if stop is None or len(page) < PAGE_SIZE:
                return
            start = stop

    def samples_at(self, run_id: str, positions: Sequence[int]) -> list[tuple[int, Sample]]:
        """Return (position, sample) for a few positions of a run, ascending, with the references of its dataset.

        Positions without a sample are left out.
        """
        found: list[tuple[int, Sample]] = []
        for start in range(0, len(positions), SCATTERED_SIZE):
            with self.database.read() as connection:
                found += read_samples_at(connection, run_id, positions[start : start + SCATTERED_SIZE])
        return found

    def sample(self, run: RunRef, sample_id: str) -> tuple[int, Sample]:
        """Return a sample of a run and its position. Raises NotFoundError if the run has no such sample."""
        with self.database.read() as connection:
            return find_sample(connection, run, sample_id)

    def clusters(self, run_id: str) -> dict[str, str]:
        """Return {sample id: cluster} for the samples of a run that are not independent."""
        with self.database.read() as connection:
            return dict(
                connection.execute(
                    "SELECT sample_id, cluster FROM samples WHERE run_id = ? AND cluster IS NOT NULL", [run_id]
                ).fetchall()
            )

    def positions(self, run_id: str, start: int = 0) -> Sequence[int]:
        """Return the positions of the samples of a run from `start` on, ascending, as a range if there are no gaps."""
        with self.database.read() as connection:
            found = connection.execute(
                "SELECT position FROM samples WHERE run_id = ? AND position >= ? ORDER BY position", [run_id, start]
            ).fetchnumpy()
        positions = [int(position) for position in found["position"]]
        if not positions:
            return range(0)
        first, last = positions[0], positions[-1]
        return range(first, last + 1) if last - first + 1 == len(positions) else positions

    def sample_count(self, run_id: str) -> int:
        """Return the number of samples of a run."""
        with self.database.read() as connection:
            row = connection.execute("SELECT samples FROM runs WHERE run_id = ?", [run_id]).fetchone()
        return int(row[0]) if row else 0

    def evaluation_metrics(self, evaluation_id: str) -> tuple[str, ...]:
        """Return the metrics of an evaluation; empty if the store does not have it yet."""
        with self.database.read() as connection:
            return metrics_of(connection, evaluation_id)

    def draw_counts(self, evaluation_id: str) -> dict[str, int]:
        """Return {metric: number of draws} for the metrics of which an evaluation has several draws."""
        with self.database.read() as connection:
            return draw_counts(connection, evaluation_id)

    @property
    def cache_path(self) -> Path:
        """The path of the cache of judge replies that evaluations share."""
        return self.folder / "answers.sqlite"

    def covered(self, evaluation_id: str, first: int = 0, last: int | None = None) -> frozenset[int]:
        """Return the positions of the evaluated samples from `first` to `last`."""
        with self.database.read() as connection:
            positions = connection.execute(
                "SELECT DISTINCT position FROM scores WHERE evaluation_id = ? AND position BETWEEN ? AND ?",
                [evaluation_id, first, MAX_POSITION if last is None else last],
            ).fetchnumpy()["position"]
        return frozenset(int(position) for position in positions)

    def covered_count(self, evaluation_id: str) -> int:
        """Return the number of evaluated samples."""
        with self.database.read() as connection:
            counts = column(connection, "SELECT covered FROM evaluations WHERE evaluation_id = ?", [evaluation_id])
        return int(counts[0]) if counts else 0

    def sample_ids(self, run_id: str, start: int = 0) -> list[tuple[int, str]]:
        """Return (position, id) of each sample of a run from a position on."""
        with self.database.read() as connection:
            return connection.execute(
                "SELECT position, sample_id FROM samples WHERE run_id = ? AND position >= ? ORDER BY position",
                [run_id, start],
            ).fetchall()

    def growing_runs(self, name: str) -> tuple[RunRef, ...]:
        """Return the growing runs with this name or with a dataset of this name, newest first."""
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT run_id, name FROM runs WHERE name = $name OR dataset = $name ORDER BY imported DESC, run_id",
                {"name": name},
            ).fetchall()
            return tuple(
                RunRef(run_id=run_id, name=run, evaluation_id=None) for run_id, run in rows if grows(connection, run_id)
            )

    def grows(self, run_id: str | None = None) -> bool:
        """Return whether a run grows (samples can be appended to it); without an id, whether any run grows."""
        with self.database.read() as connection:
            return grows(connection, run_id)

    def sampling_rates(self, evaluation_id: str) -> tuple[SamplingRate, ...]:
        """Return the sampling rates of an evaluation, ordered by first position; empty if it covers all samples."""
        with self.database.read() as connection:
            return read_rates(connection, evaluation_id)

    def set_sampling_rate(self, run_id: str, evaluation_id: str, rate: float, seed: int) -> tuple[SamplingRate, ...]:
        """Set the sampling rate for samples that are added from now on. Return all rates of the evaluation.

        The first rate also applies to earlier samples without results.
        """
        rates = self.sampling_rates(evaluation_id)
        if rates and (rates[-1].rate, rates[-1].seed) == (rate, seed):
            return rates
        with self.database.write() as connection:
            add_rate(connection, run_id, evaluation_id, rate, seed)
            return read_rates(connection, evaluation_id)

    def loaded_state(self, evaluation_id: str) -> Mapping[str, Any] | None:
        """Return the argument `loaded` of the last call of `load` for an evaluation; None if there was none."""
        with self.database.read() as connection:
            row = connection.execute(
                "SELECT loaded FROM evaluations WHERE evaluation_id = ?", [evaluation_id]
            ).fetchone()
        return None if row is None or row[0] is None else json.loads(row[0])

    def mark_newest(self, evaluation_id: str) -> None:
        """Make an evaluation the newest of its run."""
        with self.database.write() as connection:
            with kept_rollups(connection, evaluation_id):
                connection.execute(
                    "UPDATE evaluations SET finished = now() AT TIME ZONE 'UTC' WHERE evaluation_id = ?",
                    [evaluation_id],
                )
            refresh_rollups(connection)

    def watch_costs(self, day: date, costs: Mapping[str, float]) -> dict[str, float]:
        """Return {evaluation: its cost in US dollars up to the start of a day (UTC)}.

        `costs` are the costs up to now. The first call of a day stores them as the costs at its start.
        """
        sql = "SELECT evaluation_id, cost_before FROM watch_days WHERE day = ?"
        with self.database.read() as connection:
            known = dict(connection.execute(sql, [day]).fetchall())
        if not costs.keys() <= known.keys():
            with self.database.write() as connection:
                connection.execute("DELETE FROM watch_days WHERE day < ? - INTERVAL 31 DAY", [day])
                connection.execute(
                    "INSERT OR IGNORE INTO watch_days SELECT ?, unnest(?::VARCHAR[]), unnest(?::DOUBLE[])",
                    [day, list(costs), list(costs.values())],
                )
                known = dict(connection.execute(sql, [day]).fetchall())
        return {evaluation: known[evaluation] for evaluation in costs}

    def alert_states(self) -> dict[str, str]:
        """Return {key of a series: the state in its last alert}."""
        with self.database.read() as connection:
            return dict(connection.execute("SELECT key, state FROM alert_states").fetchall())

    def keep_alert_states(self, states: Mapping[str, str]) -> None:
        """Store the states in alerts that were just sent, by key of the series."""
        if not states:
            return
        with self.database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO alert_states"
                " SELECT unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), now() AT TIME ZONE 'UTC'",
                [list(states), list(states.values())],
            )

    def last_question_changes(self) -> tuple[int, int]:
        """Return the numbers of the newest nugget list and the newest question label; 0 if there is none."""
        with self.database.read() as connection:
            row = connection.execute(
                "SELECT (SELECT coalesce(max(number), 0) FROM nugget_lists),"
                " (SELECT coalesce(max(number), 0) FROM question_labels)"
            ).fetchone()
        return (int(row[0]), int(row[1])) if row else (0, 0)

    def dataset_references(self, run_id: str, end: int) -> str:
        """Return a digest of the references that samples before `end` get from other runs; empty if there are none."""
        with self.database.read() as connection:
            return dataset_references_digest(connection, run_id, end)

    def spending(self, evaluation_id: str) -> tuple[ModelUsage, ...]:
        """Return the calls, tokens and cost of an evaluation by model."""
        with self.database.read() as connection:
            return tuple(usage_by_evaluation(connection, [evaluation_id]).get(evaluation_id, ()))

    def judge_options(self, evaluation_id: str) -> JudgeOptions | None:
        """Return the options of an evaluation's judges; None if the judges were built in Python."""
        from ragboard.judges.options import options_from_json  # not imported by the collector, which needs no judges

        with self.database.read() as connection:
            row = connection.execute(
                "SELECT judging FROM evaluations WHERE evaluation_id = ?", [evaluation_id]
            ).fetchone()
        return None if row is None or row[0] is None else options_from_json(json.loads(row[0]))

    def evaluation(self, evaluation_id: str) -> Evaluation:
        """Return an evaluation. Raises NotFoundError if it does not exist."""
        with self.database.read() as connection:
            found = read_evaluations(connection, "evaluation_id = ?", evaluation_id)
        if not found:
            raise NotFoundError(f"the store has no evaluation {evaluation_id!r}")
        return found[0]

    def evaluations(self, run_id: str) -> tuple[Evaluation, ...]:
        """Return the evaluations of a run, newest first, without the scores in its run file."""
        with self.database.read() as connection:
            return read_evaluations(connection, "run_id = ? AND NOT imported", run_id)

    def journal_offsets(self, evaluation_id: str, positions: Sequence[int]) -> tuple[int, ...]:
        """Return the byte offsets in the journal of the replies from which the results of samples were computed."""
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT place FROM answer_places WHERE evaluation_id = ?"
                " AND position IN (SELECT unnest(?::INTEGER[])) ORDER BY rowid",
                [evaluation_id, list(positions)],
            ).fetchall()
        return tuple(dict.fromkeys(row[0] for row in rows))

    def prices_used(self, evaluation_id: str) -> Mapping[str, Price]:
        """Return the prices with which the cost was computed, by model, without models of unknown price."""
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT model, prompt_price, completion_price, cached_price FROM spending WHERE evaluation_id = ?"
                " AND prompt_price IS NOT NULL",
                [evaluation_id],
            ).fetchall()
        return {
            model: Price(prompt=prompt, completion=completion, cached=cached)
            for model, prompt, completion, cached in rows
        }

    def load(
        self,
        evaluation: Evaluation,
        results: Mapping[str, Sequence[Path]],
        metrics: Iterable[MetricDescription] = (),
        *,
        tasks: Mapping[str, Sequence[str]] | None = None,
        covered: int | None = None,
        judge_options: JudgeOptions | None = None,
        loaded: Mapping[str, Any] | None = None,
        extend: bool = False,
        add: bool = False,
        sampled: bool = False,
    ) -> None:
        """Store results of an evaluation in one transaction. Results that it had before are replaced.

        - `results`: Parquet files by table, for the tables of `RESULT_TABLES` that have rows.
        - `metrics`: descriptions of the computed metrics. Scores of other metrics are kept.
        - `tasks`: by metric, the names of the task types that the metric can send.
        - `covered`: number of evaluated samples; None for all.
        - `judge_options`: options of the judges; None keeps the stored ones.
        - `loaded`: what the results were computed from, for `loaded_state`.
        - `extend`: replace only results at the positions in `results`.
        - `add`: replace nothing, because the evaluation has no results at these positions.
        - `sampled`: keep the sampling rates, even if all samples have results now.

        Raises NotFoundError if the run was deleted in the meantime.
        """
        described = tuple(metrics)

        def change(connection: Connection) -> None:
            if not column(connection, "SELECT run_id FROM runs WHERE run_id = ?", [evaluation.run_id]):
                raise NotFoundError("the run was deleted while it was evaluated; its results are not stored")
            others = [spec for spec in metrics_of(connection, evaluation.id) if spec not in evaluation.metrics]
            complete = replace(evaluation, metrics=(*others, *evaluation.metrics))
            stored = column(connection, "SELECT 1 FROM evaluations WHERE evaluation_id = ?", [evaluation.id])
            extended = positions_in(connection, results.get("scores", ())) if extend or add else {}
            put_evaluation(connection, complete, described, tasks=tasks, covered=covered, judge_options=judge_options)
            for table in RESULT_TABLES:
                files = list(map(str, results.get(table, ())))
                condition = " AND NOT list_contains($others, metric)" if table == "scores" else ""
                given: dict[str, Any] = {"evaluation": evaluation.id} | ({"others": others} if condition else {})
                if extend and table != "spending":
                    condition = " AND position BETWEEN $first AND $last AND list_contains($positions, position)"
                    given = {"evaluation": evaluation.id} | extended
                if stored and (not add or table == "spending"):
                    connection.execute(f"DELETE FROM {table} WHERE evaluation_id = $evaluation{condition}", given)
                if files:
                    connection.execute(
                        f"INSERT INTO {table} BY NAME SELECT ? AS evaluation_id, * FROM read_parquet(?)",
                        [evaluation.id, files],
                    )
            mark_statements(connection, evaluation.id)
            all_covered = not sampled and end_sampling(connection, evaluation.id)
            update_score_hours(connection, evaluation.id, None if all_covered else extended.get("positions"))
            connection.execute(
                "UPDATE evaluations SET loaded = ? WHERE evaluation_id = ?",
                [None if loaded is None else json.dumps(loaded), evaluation.id],
            )
            is_last = loaded is not None and not sampled
            if is_last or not extended or len(extended["positions"]) >= MIN_GROWTH * (covered or 0):
                refresh_rollups(connection)

        self.database.write_within(RESULTS_MEMORY, change)

    def keep_agreement(
        self, agreement: Agreement, items: Sequence[LabelledItem], results: Iterable[ScorerResult]
    ) -> None:
        """Store an agreement with its items and scorer results. Replaces an agreement with the same id."""
        with self.database.write() as connection:
            drop_agreement(connection, agreement.id)
            keep_agreement(connection, agreement, items, results)

    def remove_agreement(self, agreement_id: str) -> None:
        """Delete an agreement with its journal and uploaded file. Raises NotFoundError if it does not exist."""
        with self.database.write() as connection:
            if not drop_agreement(connection, agreement_id):
                raise NotFoundError("the agreement is no longer in the store")
        remove_journals([self.journal_path(f"agree-{agreement_id}")])
        drop_uploads(self._uploads, [agreement_id])
