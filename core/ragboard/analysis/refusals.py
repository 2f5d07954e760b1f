"""Refusals that were right: answered and refused questions, beside whether they can be answered."""

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
from ragboard.store.queries.refusals import RefusalRow, refusal_rows

__all__ = [
    "BEHAVIOURS",
    "Behaviour",
    "RefusalRate",
    "RefusalReport",
    "RefusalSample",
    "refusal_report",
    "refusal_scores",
]

Behaviour: TypeAlias = Literal["answered", "refused in part", "refused"]
BEHAVIOURS: tuple[Behaviour, ...] = get_args(Behaviour)
"""What an answer does. One that refuses in part counts as answered: it states something (as in MTRAG)."""

Source = Literal["labels", "file", "judge"]
"""Who says whether a question can be answered: people who labelled it, the run file, or the judge, which looked for
sentences that help."""

ANSWERABLE: tuple[Answerability, ...] = ("answerable", "partial")
"""The questions that should be answered; those that are unanswerable should be refused; the others count in no rate."""


@dataclass(frozen=True, kw_only=True)
class RefusalRate:
    """A share of samples."""

    name: str
    """`refusals that were right`."""
    of: str
    """What it is a share of: `refused answers`."""
    count: int
    n: int
    interval: Interval | NoInterval | None
    """95% CI over samples, or over clusters of samples; None if n is 0."""

    @property
    def share(self) -> float | None:
        """Count over n, in [0, 1]; None if n is 0."""
        return self.count / self.n if self.n else None

    def __str__(self) -> str:
        """`refusals that were right: 3 of 5 refused answers, 0.60, 95% CI 0.17 to 0.93`."""
        if self.share is None or self.interval is None:
            return f"{self.name}: undefined, there are no {self.of}"
        return f"{self.name}: {self.count:,} of {self.n:,} {self.of}, {estimate_text(self.share, self.interval, '.2f')}"


@dataclass(frozen=True, kw_only=True)
class RefusalSample:
    """A sample whose answer should have refused, or should not."""

    sample_id: str
    question: str
    answerability: Answerability
    behaviour: Behaviour


@dataclass(frozen=True, kw_only=True)
class RefusalReport:
    """Answered and refused questions of a run, beside whether they can be answered."""

    run: str
    judge: str
    """The judge that says which answers refuse: `embedded (rule-based)`."""
    sources: Mapping[Source, int]
    """Who says which questions can be answered: number of samples by source."""
    counts: Mapping[Answerability, Mapping[Behaviour, int]]
    """The table: number of samples by answerability and behaviour."""
    unknown: int
    """Number of judged samples of which it is unknown whether their question can be answered; they are in no count."""
    rates: tuple[RefusalRate, ...]
    scores: Mapping[str, float | None]
    """The grounded refusal scores of Trust-Score, by name; None where a denominator is 0."""
    wrong: tuple[RefusalSample, ...]
    """The unanswerable questions that were answered, then the answerable ones that were refused."""


def refusal_report(store: Store, run: RunRef, *, source: Source | None = None, compat: bool = False) -> RefusalReport:
    """Count answered and refused questions of a run's evaluation by whether they can be answered.

    `source`: who says whether a question can be answered; None: the label that people gave it, else the run file, and
    if neither says it of any question, the judge. `compat`: as in `refusal_scores`. Raises NotFoundError if nobody says
    it or if refusals were not judged, SettingError if the file has a value that `answerability_of` does not read.
    """
    with store.database.read() as connection:
        rows = refusal_rows(connection, run.run_id, run.evaluation_id)
        clusters = sample_clusters(connection, run.run_id)
        judged = judged_by(connection, [run.evaluation_id or ""]).get(run.evaluation_id or "")
    if not rows:
        raise NotFoundError(
            f"it was not judged which answers of {run.name} refuse; evaluate a metric that splits answers into"
            f" statements: ragboard evaluate {run.name} --metrics faithfulness"
        )
    by_source: dict[Source, dict[int, Answerability]] = {}
    if source in (None, "labels"):
        by_source["labels"] = {row.position: row.label for row in rows if row.label}
    if source in (None, "file"):
        by_source["file"] = _from_file(row for row in rows if row.position not in by_source.get("labels", {}))
    if source == "judge" or not any(by_source.values()):
        by_source["judge"] = _from_judge(rows) if source in (None, "judge") else {}
    known: dict[int, Answerability] = {
        position: stated for found in by_source.values() for position, stated in found.items()
    }
    if not known:
        raise NotFoundError(
            f"it is unknown which questions of {run.name} can be answered; label them (ragboard labels question"
            f" {run.name} SAMPLE unanswerable), add a column answerable (true or false) or answerability to the run"
            f" file, or let the judge look for an answer in the passages: ragboard evaluate {run.name} --metrics"
            f" context_relevance"
        )
    kept = [row for row in rows if row.position in known]
    behaviours: dict[int, Behaviour] = {row.position: _behaviour(row) for row in kept}
    table = Counter((known[row.position], behaviours[row.position]) for row in kept)
    counts: dict[Answerability, dict[Behaviour, int]] = {
        answerability: {one: table[answerability, one] for one in BEHAVIOURS}
        for answerability in get_args(Answerability)
        if any(table[answerability, one] for one in BEHAVIOURS)
    }
    answerable = np.array([known[row.position] in ANSWERABLE for row in kept])
    unanswerable = np.array([known[row.position] == "unanswerable" for row in kept])
    refused = np.array([behaviours[row.position] == "refused" for row in kept])
    group = None if clusters is None else clusters.of[[row.position for row in kept]]
    counted = answerable | unanswerable

    def rate(name: str, of: str, event: np.ndarray, among: np.ndarray) -> RefusalRate:
        values = event[among].astype(np.float64)
        together = None if group is None else group[among].tolist()
        interval = mean_interval(moments(values, together), bounds=(0.0, 1.0)) if values.size else None
        return RefusalRate(name=name, of=of, count=int(values.sum()), n=values.size, interval=interval)

    return RefusalReport(
        run=run.name,
        judge=judged.in_words if judged else "",
        sources={name: len(found) for name, found in by_source.items() if found},
        counts=counts,
        unknown=len(rows) - len(kept),
        rates=(
            rate("refusals that were right", "refused answers", unanswerable, refused & counted),
            rate("unanswerable questions that were refused", "unanswerable questions", refused, unanswerable),
            rate("answerable questions that were refused", "answerable questions", refused, answerable),
            rate("answers to unanswerable questions", "answers", unanswerable, ~refused & counted),
        ),
        scores=refusal_scores(answerable[counted].tolist(), refused[counted].tolist(), compat=compat),
        wrong=_wrong(kept, known, behaviours),
    )


def refusal_scores(
    answerable: Sequence[bool], refused: Sequence[bool], *, compat: bool = False
) -> dict[str, float | None]:
    """Compute the grounded refusal scores of Trust-Score from samples, in [0, 1]; higher is better.

    Precision and recall of refusing unanswerable questions and of answering answerable ones, their F1, and the mean of
    the two F1 (`macro_f1`). A score is None if its denominator is 0; with `compat` it is 0, as in the source, where a
    set without unanswerable questions reaches at most 0.5. Raises ValueError if the lengths differ.

    Source: Song et al. 2024 (Trust-Align), arXiv 2409.11242; declare-lab/trust-align, `metrics.py`.
    """
    cells = Counter(zip(map(bool, answerable), map(bool, refused), strict=True))
    nothing = 0.0 if compat else None
    scores: dict[str, float | None] = {}
    for name, right in (("refusal", (False, True)), ("answer", (True, False))):
        wanted = cells[right] + cells[right[0], not right[1]]
        made = cells[right] + cells[not right[0], right[1]]
        precision, recall = (cells[right] / whole if whole else nothing for whole in (made, wanted))
        scores |= {f"{name}_precision": precision, f"{name}_recall": recall}
        defined = precision is not None and recall is not None
        scores[f"{name}_f1"] = 2 * cells[right] / max(wanted + made, 1) if defined else None
    f1s = [scores["refusal_f1"], scores["answer_f1"]]
    known = [one for one in f1s if one is not None]
    return scores | {"macro_f1": sum(known) / 2 if len(known) == 2 else None}


def _behaviour(row: RefusalRow) -> Behaviour:
    if not row.refuses:
        return "answered"
    return "refused in part" if row.states else "refused"


def _from_file(rows: Iterable[RefusalRow]) -> dict[int, Answerability]:
    found: dict[int, Answerability] = {}
    for row in rows:
        try:
            value = _read(tuple(row.columns))
        except ValueError as error:
            raise SettingError(f"sample {row.sample_id}: {error}; mend the run file and import it again") from None
        if value is not None:
            found[row.position] = value
    return found


@cache
def _read(columns: tuple[str | None, ...]) -> Answerability | None:
    values = zip(READ_COLUMNS, columns, strict=True)
    return answerability_of({name: json.loads(value) for name, value in values if value is not None})


def _from_judge(rows: Iterable[RefusalRow]) -> dict[int, Answerability]:
    return {row.position: "answerable" if row.selected else "unanswerable" for row in rows if row.selected is not None}


def _wrong(
    rows: Sequence[RefusalRow], known: Mapping[int, Answerability], behaviours: Mapping[int, Behaviour]
) -> tuple[RefusalSample, ...]:
    samples = [
        RefusalSample(
            sample_id=row.sample_id,
            question=row.question,
            answerability=known[row.position],
            behaviour=behaviours[row.position],
        )
        for row in rows
    ]
    answered = [
        sample for sample in samples if sample.answerability == "unanswerable" and sample.behaviour != "refused"
    ]
    return (*answered, *(one for one in samples if one.answerability in ANSWERABLE and one.behaviour == "refused"))
