"""Validation of a run's judge: its agreement with labels of the run, else with other labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ragboard.analysis.overruled_verdicts import is_verdict_based
from ragboard.errors import NotFoundError, SettingError
from ragboard.human.agreement import AgreementData, load_agreement
from ragboard.human.baselines import BaselineComparison, compare_with_baselines
from ragboard.human.scorers import judge_scorers, trivial_outcomes
from ragboard.readers.labels import ANSWER_SUPPORTED, SUPPORTED, Item
from ragboard.records import Outcome, Passage, Sample, Score
from ragboard.store import RunRef, Store
from ragboard.store.queries.agreements import (
    Agreement,
    Scorer,
    StoredAgreement,
    agreements_about,
    stored_agreements,
)
from ragboard.store.queries.annotation import runs_with_labels, statements_with_labels
from ragboard.store.queries.evaluations import judged_by

__all__ = [
    "RUN_LABELS",
    "Trust",
    "labelled_runs",
    "locate_label",
    "run_labels",
    "run_of_labels",
    "texts_of_labels",
    "trust_in",
]

RUN_LABELS = "run:"
"""Prefix of the id of an agreement with a run's own labels; the run's name follows."""


@dataclass(frozen=True, kw_only=True)
class Trust:
    """The agreement of a metric's judge with labels, compared with the best trivial baseline."""

    comparison: BaselineComparison
    agreement: str
    """The id of the agreement: the run's own labels, or a stored agreement."""
    source: str
    """The name of the agreement if the labels are not of this run; else empty."""

    @property
    def in_words(self) -> str:
        """`checked against 288 labels: AUROC 0.88 vs 0.87 for word overlap, no significant difference`."""
        found = self.comparison
        where = f" of other answers ({self.source})" if self.source else ""
        return (
            f"checked against {found.n:,} labels{where}: {found.measured} {found.value.value:.2f} vs"
            f" {found.baseline_value:.2f} for {found.baseline}, {found.result}"
        )


def trust_in(store: Store, run: RunRef, metric: str) -> Trust | None:
    """Compare the judge of a run's metric with labels and with baselines; None without labels.

    Labels on the run's own statements are used if the metric is computed from verdicts on statements. Otherwise the
    newest agreement of the same judge on the same metric is used: one about answers of this run, else one about other
    answers.
    """
    evaluation = run.evaluation_of(metric)
    if evaluation is None:
        return None
    verdicts = is_verdict_based(metric)
    if verdicts:
        data = run_labels(store, replace(run, evaluation_id=evaluation))
        found = data and _compared(data, SUPPORTED)
        if data and found:
            return Trust(comparison=found, agreement=data.stored.agreement.id, source="")
    with store.database.read() as connection:
        judged = judged_by(connection, [evaluation]).get(evaluation)
        kept = stored_agreements(connection)
        own = agreements_about(connection, run.run_id)
    for stored in sorted(kept, key=lambda stored: stored.agreement.id not in own):
        is_own = stored.agreement.id in own
        dimension = _dimension(stored, metric, verdicts=verdicts)
        if is_own and not dimension:  # grades of the answers themselves
            dimension = _dimension(stored, metric, verdicts=False)
        if judged is None or stored.agreement.judge != judged.judge or not dimension:
            continue
        found = _compared(load_agreement(store, stored), dimension)
        if found:
            source = "" if is_own else stored.agreement.name
            return Trust(comparison=found, agreement=stored.agreement.id, source=source)
    return None


def _dimension(stored: StoredAgreement, metric: str, *, verdicts: bool) -> str:
    """Return the dimension of an agreement that a metric belongs to; empty if there is none."""
    if verdicts:
        return next((one for one in stored.dimensions if one in (SUPPORTED, ANSWER_SUPPORTED)), "")
    first = next((contender for contender in stored.agreement.contenders if contender.kind == "metric"), None)
    return next((name for name, spec in first.metrics.items() if spec == metric), "") if first else ""


def _compared(data: AgreementData, dimension: str) -> BaselineComparison | None:
    """Compare, or return None if the judge has no scorer or all labels are the same."""
    try:
        return compare_with_baselines(data, dimension)
    except SettingError:
        return None


def labelled_runs(store: Store) -> tuple[StoredAgreement, ...]:
    """Return the agreements of each run that has labels of its own: of its default evaluation, then of the others."""
    with store.database.read() as connection:
        runs = [store.resolve(name) for name in runs_with_labels(connection)]
    found: list[AgreementData | None] = []
    for run in runs:
        others = [one.id for one in store.evaluations(run.run_id) if one.id != run.evaluation_id]
        found += [run_labels(store, one) for one in (run, *(store.resolve(f"{run.name}@{other}") for other in others))]
    return tuple(one.stored for one in found if one)


def run_of_labels(store: Store, agreement_id: str) -> AgreementData:
    """Load the agreement of an id that begins with `RUN_LABELS`. Raises NotFoundError if the run has no labels."""
    name = agreement_id.removeprefix(RUN_LABELS)
    found = run_labels(store, store.resolve(name))
    if found is None:
        raise NotFoundError(f"no statement of {name} was labelled without seeing the verdicts; open the Annotate page")
    return found


def texts_of_labels(store: Store, agreement_id: str, positions: Sequence[int]) -> Mapping[int, tuple[str, str]]:
    """Return the question and the statement of items of an agreement with a run's own labels, by position."""
    run = store.resolve(agreement_id.removeprefix(RUN_LABELS))
    with store.database.read() as connection:
        rows = statements_with_labels(connection, run)
    return {at: (rows[at].question, rows[at].text) for at in positions}


def locate_label(agreement_id: str, item_id: str) -> tuple[str, str, int]:
    """Return the run, sample id and statement number (from 1) of an item of an agreement with a run's own labels."""
    sample_id, _, number = item_id.rpartition("#")
    return agreement_id.removeprefix(RUN_LABELS), sample_id, int(number)


def run_labels(store: Store, run: RunRef) -> AgreementData | None:
    """Compare the judge of an evaluation and trivial baselines with labels of its statements; None without labels.

    Only labels from the random queue and imported labels count: annotators who browse see the verdicts, and the
    disagreement queue selects samples on which the judge is likely to be wrong.
    """
    if run.evaluation_id is None:
        return None
    with store.database.read() as connection:
        rows = statements_with_labels(connection, run)
        judged = judged_by(connection, [run.evaluation_id]).get(run.evaluation_id)
    if not rows or judged is None:
        return None
    verdict, score = judge_scorers(judged.judge)
    outcomes: dict[tuple[str, str], dict[int, tuple[Outcome, ...]]] = {}
    items: list[Item] = []
    for at, row in enumerate(rows):
        passages = tuple(Passage(id="", text=text, rank=rank) for rank, text in enumerate(row.passages, 1))
        item = Item(
            id=f"{row.sample_id}#{row.statement + 1}",
            cluster=row.cluster,
            sides=(Sample(id=row.sample_id, question=row.question, answer=row.text, contexts=passages),),
            human_ratings={SUPPORTED: tuple(row.ratings)},
        )
        items.append(item)
        by_scorer: dict[str, tuple[Outcome, ...]] = {
            verdict.name: (Score(value=float(row.label == "supported"), counted=row.label),),
            **({score.name: (Score(value=row.score, counted=row.label),)} if row.score is not None else {}),
            **dict(trivial_outcomes(item, SUPPORTED, 0)),
        }
        for name, outcome in by_scorer.items():
            outcomes.setdefault((SUPPORTED, name), {})[at] = outcome
    name = f"{run.name}@{run.evaluation_id}" if run.chosen else run.name
    title = f"labels of {run.name}, judged by {judged.judge}" if run.chosen else f"labels of {run.name}"
    agreement = Agreement(
        id=f"{RUN_LABELS}{name}",
        name=title,
        form="statements",
        source=run.name,
        judge=judged.judge,
        heuristic=judged.heuristic,
        seed=0,
        contenders=tuple(
            Scorer(name=one, kind="metric" if one in (verdict.name, score.name) else "trivial") for _, one in outcomes
        ),
    )
    return AgreementData(
        stored=StoredAgreement(
            agreement=agreement,
            dimensions=(SUPPORTED,),
            items=len(items),
            clusters=len({one.cluster for one in items}),
            made=max(row.labelled for row in rows),
        ),
        ids=tuple(one.id for one in items),
        clusters=tuple(one.cluster for one in items),
        human_ratings=tuple(one.human_ratings for one in items),
        outcomes=outcomes,
    )
