"""Check whether a run refused unanswerable questions and answered the others."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias, get_args

import numpy as np

from ragboard.answerability import READ_COLUMNS, answerability_of
from ragboard.errors import NotFoundError, SettingError
from ragboard.records import Answerability
from ragboard.stats import Interval, NoInterval, estimate_text, mean_interval, moments
from ragboard.store import RunRef, Store
from ragboard.store.queries.clusters import sample_clusters
from ragboard.store.queries.evaluations import judged_by
from ragboard.store.queries.query import Connection
from ragboard.store.queries.refusals import RefusalRow, answerability_columns, judged_refusals, refusal_rows

__all__ = [
    "ANSWERABLE",
    "BEHAVIOURS",
    "Behaviour",
    "RefusalRate",
    "RefusalReport",
    "RefusalSample",
    "answered_unanswerable",
    "refusal_report",
    "refusal_scores",
    "stated_answerability",
]

Behaviour: TypeAlias = Literal["answered", "refused in part", "refused"]
BEHAVIOURS: tuple[Behaviour, ...] = get_args(Behaviour)
"""What an answer does. An answer that refuses in part also states something."""

Source = Literal["labels", "file", "judge"]
"""Who says whether a question is answerable: human labels, the run file, or a judge that looked for helpful sentences
in the passages."""

ANSWERABLE: tuple[Answerability, ...] = ("answerable", "partial")
"""Questions that should be answered. `unanswerable` ones should be refused; all others do not count."""


@dataclass(frozen=True, kw_only=True)
class RefusalRate:
    """A share of samples with its 95% CI."""

    name: str
    """For example `refusals that were right`."""
    denominator: str
    """What it is a share of, such as `answers that refuse in full`."""
    count: int
    n: int
    interval: Interval | NoInterval | None
    """95% CI over samples, or over clusters of samples; None if n is 0."""

    @property
    def share(self) -> float | None:
        """Count over n, in [0, 1]; None if n is 0."""
        return self.count / self.n if self.n else None

    def __str__(self) -> str:
        """`refusals that were right: 3 of 5 answers that refuse in full, 0.60 (0.17 to 0.93)`."""
        if self.share is None or self.interval is None:
            return f"{self.name}: undefined, there are no {self.denominator}"
        share = estimate_text(self.share, self.interval, ".2f")
        return f"{self.name}: {self.count:,} of {self.n:,} {self.denominator}, {share}"


@dataclass(frozen=True, kw_only=True)
class RefusalSample:
    """A sample whose answer wrongly refuses, or wrongly does not refuse."""

    sample_id: str
    question: str
    answerability: Answerability
    behaviour: Behaviour


@dataclass(frozen=True, kw_only=True)
class RefusalReport:
    """How many answerable and unanswerable questions of a run were answered and refused."""

    run: str
    judge: str
    """The judge that decided which answers refuse: `embedded (rule-based)`."""
    sources: Mapping[Source, int]
    """{source: number of samples whose answerability it decided}."""
    counts: Mapping[Answerability, Mapping[Behaviour, int]]
    """Number of samples by answerability and behaviour."""
    unknown: int
    """Number of samples whose answerability is not known. They do not count in `counts` and `rates`."""
    rates: tuple[RefusalRate, ...]
    scores: Mapping[str, float | None]
    """The grounded refusal scores of Trust-Score, by name; a score is None if its denominator is 0."""
    wrong: tuple[RefusalSample, ...]
    """The unanswerable questions that were answered, then the answerable questions that were refused. Answers that
    refuse in part are not among them."""

    @property
    def wrong_in_words(self) -> str:
        """For example `Refusals: 2 answers to unanswerable questions, 1 refusal of an answerable question`."""
        answered = sum(sample.answerability == "unanswerable" for sample in self.wrong)
        refused = len(self.wrong) - answered
        parts = [
            _counted(answered, "answer to an unanswerable question", "answers to unanswerable questions"),
            _counted(refused, "refusal of an answerable question", "refusals of answerable questions"),
        ]
        return f"Refusals: {', '.join(parts)}"

    @property
    def counted_as_answerable(self) -> str:
        """`Partial questions count as answerable.` if there are any; else empty."""
        others = [name for name in self.counts if name in ANSWERABLE and name != "answerable"]
        return f"{' and '.join(others).capitalize()} questions count as answerable." if others else ""


def _counted(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}" if count else f"no {many}"


def refusal_report(store: Store, run: RunRef, *, source: Source | None = None, compat: bool = False) -> RefusalReport:
    """Count the answered and refused questions of a run's evaluation by whether they are answerable.

    `source` says whether a question is answerable. By default, it is the question's human label, else the run file; if
    no question has either, it is the judge. `compat` is that of `refusal_scores`. Raises NotFoundError if the
    answerability of no question is known or if refusals were not judged, SettingError if `answerability_of` cannot read
    a value in the file.
    """
    with store.database.read() as connection:
        judged_answers = judged_refusals(connection, run.evaluation_id)
        rows = refusal_rows(connection, run.run_id, run.evaluation_id)
        clusters = sample_clusters(connection, run.run_id)
        judged = judged_by(connection, [run.evaluation_id or ""]).get(run.evaluation_id or "")
    if not judged_answers:
        raise NotFoundError(
            f"no judge decided which answers of {run.name} refuse; evaluate a metric that splits answers into"
            f" statements: ragboard evaluate {run.name} --metrics faithfulness"
        )
    by_source: dict[Source, dict[int, Answerability]] = {}
    if source in (None, "labels"):
        by_source["labels"] = {row.position: row.label for row in rows if row.label}
    if source in (None, "file"):
        by_source["file"] = _answerability_from_file(
            row for row in rows if row.position not in by_source.get("labels", {})
        )
    if source == "judge" or not any(by_source.values()):
        by_source["judge"] = _answerability_from_judge(rows) if source in (None, "judge") else {}
    answerability: dict[int, Answerability] = {
        position: stated for stated_by_position in by_source.values() for position, stated in stated_by_position.items()
    }
    if not answerability:
        raise NotFoundError(
            f"it is unknown which questions of {run.name} can be answered. Label them (ragboard labels question"
            f" {run.name} SAMPLE unanswerable), add a column answerable (true or false) or answerability to the run"
            f" file, or let a judge look for the answer in the passages: ragboard evaluate {run.name} --metrics"
            f" context_relevance"
        )
    covered = [row for row in rows if row.position in answerability]
    behaviours: dict[int, Behaviour] = {row.position: _classify_answer(row) for row in covered}
    table = Counter((answerability[row.position], behaviours[row.position]) for row in covered)
    counts: dict[Answerability, dict[Behaviour, int]] = {
        answerability: {behaviour: table[answerability, behaviour] for behaviour in BEHAVIOURS}
        for answerability in get_args(Answerability)
        if any(table[answerability, behaviour] for behaviour in BEHAVIOURS)
    }
    answerable = np.array([answerability[row.position] in ANSWERABLE for row in covered])
    unanswerable = np.array([answerability[row.position] == "unanswerable" for row in covered])
    refused = np.array([behaviours[row.position] == "refused" for row in covered])
    answered = np.array([behaviours[row.position] == "answered" for row in covered])
    cluster_ids = None if clusters is None else clusters.ids[[row.position for row in covered]]
    counted = answerable | unanswerable

    def rate(name: str, denominator: str, event: np.ndarray, among: np.ndarray) -> RefusalRate:
        values = event[among].astype(np.float64)
        ids = None if cluster_ids is None else cluster_ids[among].tolist()
        interval = mean_interval(moments(values, ids), bounds=(0.0, 1.0)) if values.size else None
        return RefusalRate(
            name=name, denominator=denominator, count=int(values.sum()), n=values.size, interval=interval
        )

    return RefusalReport(
        run=run.name,
        judge=judged.in_words if judged else "",
        sources={name: len(stated) for name, stated in by_source.items() if stated},
        counts=counts,
        unknown=judged_answers - len(covered),
        rates=(
            rate("refusals that were right", "answers that refuse in full", unanswerable, refused & counted),
            rate("unanswerable questions that were refused", "unanswerable questions", refused, unanswerable),
            rate(
                "unanswerable questions that were refused at least in part",
                "unanswerable questions",
                ~answered,
                unanswerable,
            ),
            rate("answerable questions that were refused", "answerable questions", refused, answerable),
            rate("answers to unanswerable questions", "answers that do not refuse", unanswerable, answered & counted),
        ),
        scores=refusal_scores(answerable[counted].tolist(), refused[counted].tolist(), compat=compat),
        wrong=_wrong_samples(covered, answerability, behaviours),
    )


def refusal_scores(
    answerable: Sequence[bool], refused: Sequence[bool], *, compat: bool = False
) -> dict[str, float | None]:
    """Compute the grounded refusal scores of Trust-Score, in [0, 1]; higher is better.

    The scores are precision, recall and F1 of refusing unanswerable questions, precision, recall and F1 of answering
    answerable questions, and the mean of the two F1 scores (`macro_f1`). A score is None if its denominator is 0. With
    `compat`, it is 0 as in the source, so that `macro_f1` is at most 0.5 without unanswerable questions. Raises
    ValueError if the lengths of `answerable` and `refused` differ.

    Source: Song et al. 2024 (Trust-Align), arXiv 2409.11242; declare-lab/trust-align, `metrics.py`.
    """
    pairs = Counter(zip(map(bool, answerable), map(bool, refused), strict=True))
    undefined = 0.0 if compat else None
    scores: dict[str, float | None] = {}
    for name, correct in (("refusal", (False, True)), ("answer", (True, False))):
        should, does = correct
        expected = pairs[correct] + pairs[should, not does]
        actual = pairs[correct] + pairs[not should, does]
        precision = pairs[correct] / actual if actual else undefined
        recall = pairs[correct] / expected if expected else undefined
        defined = precision is not None and recall is not None
        scores[f"{name}_precision"] = precision
        scores[f"{name}_recall"] = recall
        scores[f"{name}_f1"] = 2 * pairs[correct] / max(expected + actual, 1) if defined else None
    f1s = [f1 for f1 in (scores["refusal_f1"], scores["answer_f1"]) if f1 is not None]
    scores["macro_f1"] = sum(f1s) / 2 if len(f1s) == 2 else None
    return scores


def stated_answerability(connection: Connection, run_id: str) -> dict[int, Answerability]:
    """Return {position: answerability} of the questions, from human labels or else the run file.

    Empty if there are none, or if the file has a value that `answerability_of` cannot read.
    """
    stated: dict[int, Answerability] = {}
    for position, label, *columns in answerability_columns(connection, run_id):
        try:
            value = label or _read_answerability(tuple(columns))
        except ValueError:
            return {}
        if value is not None:
            stated[position] = value
    return stated


def answered_unanswerable(
    connection: Connection, run_id: str, evaluation_id: str | None, stated: Mapping[int, Answerability]
) -> dict[int, bool] | None:
    """Return {position: whether the question was answered} for the questions that `stated` calls unanswerable.

    An answer that refuses in part does not count as an answer. None if refusals were not judged.
    """
    if not judged_refusals(connection, evaluation_id):
        return None
    if "unanswerable" not in stated.values():
        return {}
    return {
        row.position: _classify_answer(row) == "answered"
        for row in refusal_rows(connection, run_id, evaluation_id)
        if stated.get(row.position) == "unanswerable"
    }


def _classify_answer(row: RefusalRow) -> Behaviour:
    if not row.refuses:
        return "answered"
    return "refused in part" if row.states else "refused"


def _answerability_from_file(rows: Iterable[RefusalRow]) -> dict[int, Answerability]:
    answerability: dict[int, Answerability] = {}
    for row in rows:
        try:
            value = _read_answerability(tuple(row.columns))
        except ValueError as error:
            raise SettingError(f"sample {row.sample_id}: {error}; fix the run file and import it again") from None
        if value is not None:
            answerability[row.position] = value
    return answerability


@cache
def _read_answerability(columns: tuple[str | None, ...]) -> Answerability | None:
    values = zip(READ_COLUMNS, columns, strict=True)
    return answerability_of({name: json.loads(value) for name, value in values if value is not None})


def _answerability_from_judge(rows: Iterable[RefusalRow]) -> dict[int, Answerability]:
    answerability: dict[int, Answerability] = {}
    for row in rows:
        if row.selected is not None:
            answerability[row.position] = "answerable" if row.selected else "unanswerable"
    return answerability


def _wrong_samples(
    rows: Sequence[RefusalRow], answerability: Mapping[int, Answerability], behaviours: Mapping[int, Behaviour]
) -> tuple[RefusalSample, ...]:
    samples = [
        RefusalSample(
            sample_id=row.sample_id,
            question=row.question,
            answerability=answerability[row.position],
            behaviour=behaviours[row.position],
        )
        for row in rows
    ]
    answered = [
        sample for sample in samples if sample.answerability == "unanswerable" and sample.behaviour == "answered"
    ]
    return (
        *answered,
        *(sample for sample in samples if sample.answerability in ANSWERABLE and sample.behaviour == "refused"),
    )
