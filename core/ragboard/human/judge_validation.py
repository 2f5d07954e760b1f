"""Validate a run's judge: compare it with labels of the run. If the run has no labels, use labels of other answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ragboard.analysis.overruled_verdicts import is_verdict_based
from ragboard.errors import NotFoundError, SettingError
from ragboard.human.agreement import AgreementData, load_agreement
from ragboard.human.baselines import BaselineComparison, baseline_comparisons
from ragboard.human.scorers import judge_scorers, trivial_outcomes
from ragboard.readers.labels import ANSWER_SUPPORTED, SUPPORTED, LabelledItem
from ragboard.records import Outcome, Passage, Sample, Score
from ragboard.store import RunRef, Store
from ragboard.store.queries.agreements import Agreement, Scorer, StoredAgreement, items_per_run, stored_agreements
from ragboard.store.queries.annotation import runs_with_labels, statements_with_labels
from ragboard.store.queries.evaluations import judged_by

__all__ = [
    "RUN_LABELS_PREFIX",
    "JudgeValidation",
    "label_location",
    "load_run_label_agreement",
    "run_label_agreement",
    "run_label_agreements",
    "run_label_texts",
    "validate_judge",
]

RUN_LABELS_PREFIX = "run:"
"""Prefix of the id of an agreement with labels of a run; the run's name follows. It is computed, not stored."""


@dataclass(frozen=True, kw_only=True)
class JudgeValidation:
    """The agreement of a metric's judge with labels, compared with the best trivial baseline."""

    comparison: BaselineComparison
    score: float | None
    """The AUROC of the judge's scores, if `comparison` is about its verdicts and it also gives scores; else None."""
    agreement: str
    """The id of the agreement, which is stored or computed from labels of this run."""
    source: str
    """The name of the stored agreement; empty for labels of this run."""
    about_this_run: bool
    """Whether some labels are about answers of this run."""

    @property
    def in_words(self) -> str:
        """For example `checked against 288 labels: AUROC 0.88 vs 0.87 for word overlap, no significant difference`."""
        comparison = self.comparison
        kind = "labels" if comparison.items.startswith("labelled") else comparison.items
        others = "" if self.about_this_run else " of other answers"
        source = f" ({self.source})" if self.source else ""
        score = "" if self.score is None else f" (its score {self.score:.2f})"
        return (
            f"checked against {comparison.n:,} {kind}{others}{source}:"
            f" {comparison.measured} {comparison.value.value:.2f}{score}"
            f" vs {comparison.baseline_value:.2f} for {comparison.baseline}, {comparison.result_in_words}"
        )

    @property
    def caveat(self) -> str:
        """Why a difference in the metric may not be a difference in quality; empty if the judge beats the baseline."""
        comparison = self.comparison
        if comparison.result == "better":
            return ""
        compared = "not significantly better" if comparison.result == "inconclusive" else "significantly worse"
        return (
            f"its judge's agreement with annotators ({comparison.measured} {comparison.value.value:.2f}) is {compared}"
            f" than that of {comparison.baseline_in_words} ({comparison.baseline_value:.2f}; {comparison.n:,}"
            f" {comparison.items})"
        )


def validate_judge(store: Store, run: RunRef, metric: str) -> JudgeValidation | None:
    """Compare the judge of a run's metric with labels and with baselines; None if there are no labels for this.

    A metric that is computed from verdicts on statements is compared with labels of this run's statements. For other
    metrics, and without such labels, use a stored agreement of the same judge on the same metric: the one with the
    largest share of labels about answers of this run, or the newest if no label is about this run.
    """
    evaluation = run.evaluation_of(metric)
    if evaluation is None:
        return None
    uses_verdicts = is_verdict_based(metric)
    if uses_verdicts:
        data = run_label_agreement(store, replace(run, evaluation_id=evaluation))
        comparisons = _comparisons(data, SUPPORTED) if data else ()
        if data and comparisons:
            return _validation(comparisons, data.stored, source="", about_this_run=True)
    with store.database.read() as connection:
        judged = judged_by(connection, [evaluation]).get(evaluation)
        agreements = stored_agreements(connection)
        item_counts = items_per_run(connection)
    about_run = {stored.agreement.id: item_counts.get((stored.agreement.id, run.run_id), 0) for stored in agreements}

    def most_relevant_first(stored: StoredAgreement) -> tuple[float, bool]:
        share = about_run[stored.agreement.id] / stored.items
        return 1 - share, uses_verdicts and not _verdict_dimension(stored)

    for stored in sorted(agreements, key=most_relevant_first):
        dimension = _dimension(stored, metric, uses_verdicts=uses_verdicts)
        if judged is None or stored.agreement.judge != judged.judge or not dimension:
            continue
        comparisons = _comparisons(load_agreement(store, stored), dimension)
        if comparisons:
            return _validation(
                comparisons, stored, source=stored.agreement.name, about_this_run=about_run[stored.agreement.id] > 0
            )
    return None


def _validation(
    comparisons: Sequence[BaselineComparison], stored: StoredAgreement, *, source: str, about_this_run: bool
) -> JudgeValidation:
    score = comparisons[1].value.value if len(comparisons) > 1 else None
    return JudgeValidation(
        comparison=comparisons[0],
        score=score,
        agreement=stored.agreement.id,
        source=source,
        about_this_run=about_this_run,
    )


def _dimension(stored: StoredAgreement, metric: str, *, uses_verdicts: bool) -> str:
    """Return the dimension in which an agreement compares a metric; empty if it does not."""
    if uses_verdicts and _verdict_dimension(stored):
        return _verdict_dimension(stored)
    first = next((scorer for scorer in stored.agreement.scorers if scorer.kind == "metric"), None)
    return next((name for name, spec in first.metrics.items() if spec == metric), "") if first else ""


def _verdict_dimension(stored: StoredAgreement) -> str:
    """Return the dimension with labels of supported and unsupported texts; empty if there is none."""
    return next((dimension for dimension in stored.dimensions if dimension in (SUPPORTED, ANSWER_SUPPORTED)), "")


def _comparisons(data: AgreementData, dimension: str) -> tuple[BaselineComparison, ...]:
    """Return the result of `baseline_comparisons`; empty if the labels are all the same."""
    try:
        return baseline_comparisons(data, dimension)
    except SettingError:
        return ()


def run_label_agreements(store: Store) -> tuple[StoredAgreement, ...]:
    """Compare each evaluation of each labelled run with the labels; a run's default evaluation comes first."""
    with store.database.read() as connection:
        runs = [store.resolve(name) for name in runs_with_labels(connection)]
    agreements: list[AgreementData | None] = []
    for run in runs:
        others = [evaluation.id for evaluation in store.evaluations(run.run_id) if evaluation.id != run.evaluation_id]
        agreements += [
            run_label_agreement(store, ref)
            for ref in (run, *(store.resolve(f"{run.name}@{other}") for other in others))
        ]
    return tuple(agreement.stored for agreement in agreements if agreement)


def load_run_label_agreement(store: Store, agreement_id: str) -> AgreementData:
    """Compute the agreement with this id (`run:NAME`). Raises NotFoundError if the run has no labels."""
    name = agreement_id.removeprefix(RUN_LABELS_PREFIX)
    data = run_label_agreement(store, store.resolve(name))
    if data is None:
        raise NotFoundError(f"no statement of {name} was labelled without seeing the verdicts; open the Annotate page")
    return data


def run_label_texts(store: Store, agreement_id: str, positions: Sequence[int]) -> Mapping[int, tuple[str, str]]:
    """Return {position: (question, statement)} for items of an agreement with a run's labels."""
    run = store.resolve(agreement_id.removeprefix(RUN_LABELS_PREFIX))
    with store.database.read() as connection:
        rows = statements_with_labels(connection, run)
    return {position: (rows[position].question, rows[position].text) for position in positions}


def label_location(agreement_id: str, item_id: str) -> tuple[str, str, int]:
    """Return (run, sample id, statement number from 1) of an item of an agreement with a run's labels."""
    sample_id, _, number = item_id.rpartition("#")
    return agreement_id.removeprefix(RUN_LABELS_PREFIX), sample_id, int(number)


def run_label_agreement(store: Store, run: RunRef) -> AgreementData | None:
    """Compare an evaluation's judge and the baselines with labels of its statements; None if there are no labels.

    Only labels from the random queue and imported labels are used. Others are biased: annotators who browse see the
    judge's verdicts, and the disagreement queue selects samples on which the judge is probably wrong.
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
    items: list[LabelledItem] = []
    for position, row in enumerate(rows):
        passages = tuple(Passage(id="", text=text, rank=rank) for rank, text in enumerate(row.passages, 1))
        item = LabelledItem(
            id=f"{row.sample_id}#{row.statement + 1}",
            cluster=row.cluster,
            samples=(Sample(id=row.sample_id, question=row.question, answer=row.text, contexts=passages),),
            human_labels={SUPPORTED: tuple(row.ratings)},
        )
        items.append(item)
        by_scorer: dict[str, tuple[Outcome, ...]] = {
            verdict.name: (Score(value=float(row.label == "supported"), counted=row.label),),
            **({score.name: (Score(value=row.score, counted=row.label),)} if row.score is not None else {}),
            **dict(trivial_outcomes(item, SUPPORTED, 0)),
        }
        for name, outcome in by_scorer.items():
            outcomes.setdefault((SUPPORTED, name), {})[position] = outcome
    name = f"{run.name}@{run.evaluation_id}" if run.chosen else run.name
    title = f"labels of {run.name}, judged by {judged.judge}" if run.chosen else f"labels of {run.name}"
    agreement = Agreement(
        id=f"{RUN_LABELS_PREFIX}{name}",
        name=title,
        form="statements",
        source=run.name,
        judge=judged.judge,
        heuristic=judged.heuristic,
        seed=0,
        scorers=tuple(
            Scorer(name=scorer_name, kind="metric" if scorer_name in (verdict.name, score.name) else "trivial")
            for _, scorer_name in outcomes
        ),
    )
    return AgreementData(
        stored=StoredAgreement(
            agreement=agreement,
            dimensions=(SUPPORTED,),
            items=len(items),
            clusters=len({item.cluster for item in items}),
            made=max(row.labelled for row in rows),
        ),
        ids=tuple(item.id for item in items),
        clusters=tuple(item.cluster for item in items),
        human_labels=tuple(item.human_labels for item in items),
        outcomes=outcomes,
    )
