"""Agreement of a judge's grades of passages with annotators' grades."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragboard.human.agreement import AgreementData, Measure, measure
from ragboard.human.scorers import grade_scorer
from ragboard.readers.labels import PASSAGE_RELEVANCE
from ragboard.records import BEST_GRADE, RELEVANT_GRADE, Score
from ragboard.stats import Interval, ci_text, clustered_interval, cohen_kappa, kappa_interval
from ragboard.stats.bootstrap import REPORT_DRAWS, Rows

__all__ = ["PassageAgreement", "passage_agreement"]

GRADES = tuple(range(BEST_GRADE + 1))


@dataclass(frozen=True, kw_only=True)
class PassageAgreement:
    """How well a judge's grades of passages, 0 to 3, agree with annotators' grades.

    If several annotators graded a passage, the judge is compared with each of them. Intervals are from a bootstrap over
    clusters.
    """

    judge: str
    passages: int
    """Number of passages that the judge and at least one annotator graded."""
    clusters: int
    """Number of questions or conversations that these passages belong to."""
    comparisons: int
    """Number of annotators' grades that the judge is compared with."""
    unscored: int
    """Number of passages that annotators graded but the judge did not."""
    exact: Measure
    """Share of comparisons with equal grades, in [0, 1]."""
    kappa: Measure
    """Cohen's kappa of the four grades, without weights; 0 is chance level."""
    relevant_kappa: Measure
    """Cohen's kappa of relevant (grade 2 or 3) against not relevant."""

    @property
    def sentence(self) -> str:
        """A summary: `embedded gives 70 of 100 passages the same grade as the annotators: ...`."""
        if self.exact.value is None:
            return f"{self.judge} graded no passage that annotators graded."
        equal = f"{round(self.exact.value * self.comparisons):,} of {self.comparisons:,}"
        agrees = (
            f"gives {equal} passages the same grade as the annotators"
            if self.comparisons == self.passages
            else f"gives the same grade as an annotator in {equal} comparisons"
        )
        bounds = self.kappa.interval
        if self.kappa.value is None or not isinstance(bounds, Interval):
            chance = "these labels do not show whether this is more often than by chance"
        elif bounds.low > 0:
            chance = "significantly more often than by chance"
        else:
            chance = "not significantly more often than by chance" if bounds.high >= 0 else "less often than by chance"
        return f"{self.judge} {agrees}: {chance}."

    @property
    def details(self) -> str:
        """The figures: `Exact agreement 0.70, 95% CI 0.60 to 0.80; Cohen's kappa ...`."""
        missing = f"; the judge did not grade {self.unscored:,} more" if self.unscored else ""
        several = f" ({self.comparisons:,} grades by annotators)" if self.comparisons != self.passages else ""
        return (
            f"Exact agreement {_figure(self.exact)}; Cohen's kappa: four grades {_figure(self.kappa)}; relevant (grade"
            f" {RELEVANT_GRADE} or higher) vs. not {_figure(self.relevant_kappa)}. {self.passages:,} passages{several}"
            f" of {self.clusters:,} questions or conversations{missing}."
        )


def _figure(estimate: Measure) -> str:
    value = "undefined" if estimate.value is None else f"{estimate.value:.2f}"
    return f"{value}, {ci_text(estimate.interval, '.2f')}"


def passage_agreement(data: AgreementData) -> PassageAgreement | None:
    """Compare the judge's grades with annotators' grades; None if the agreement is not about graded passages."""
    if data.stored.agreement.form != "passages":
        return None
    judge = data.stored.agreement.judge
    grades_by_passage = {position: grades for position, grades in data.ratings(PASSAGE_RELEVANCE).items() if grades}
    judged = {
        position: int(outcome.value)
        for position, (outcome,) in data.outcomes.get((PASSAGE_RELEVANCE, grade_scorer(judge).name), {}).items()
        if isinstance(outcome, Score)
    }
    both = [
        (position, int(grade))
        for position in grades_by_passage
        if position in judged
        for grade in grades_by_passage[position]
    ]
    human_grades, judge_grades = [grade for _, grade in both], [judged[position] for position, _ in both]
    groups = [data.clusters[position] for position, _ in both]
    passages = {position for position, _ in both}
    bootstrap_options: dict[str, Any] = {"draws": REPORT_DRAWS, "seed": data.seed}

    def kappa(first: Sequence[int], second: Sequence[int], order: Sequence[int]) -> Measure:
        return measure(
            lambda: cohen_kappa(first, second, order=order),
            lambda: kappa_interval(first, second, groups, order=order, **bootstrap_options),
        )

    def relevant(grades: Sequence[int]) -> list[int]:
        return [int(grade >= RELEVANT_GRADE) for grade in grades]

    share = _equal_share(human_grades, judge_grades)
    return PassageAgreement(
        judge=judge,
        passages=len(passages),
        clusters=len(set(groups)),
        comparisons=len(both),
        unscored=len(grades_by_passage.keys() - passages),
        exact=measure(
            lambda: share(np.arange(len(both))), lambda: clustered_interval(share, groups, **bootstrap_options)
        ),
        kappa=kappa(human_grades, judge_grades, GRADES),
        relevant_kappa=kappa(relevant(human_grades), relevant(judge_grades), (0, 1)),
    )


def _equal_share(first: Sequence[int], second: Sequence[int]) -> Callable[[Rows], float]:
    equal = np.array([grade == other_grade for grade, other_grade in zip(first, second, strict=True)], dtype=float)

    def share(rows: Rows) -> float:
        if not len(rows):
            raise ValueError("no passage was graded by both the judge and an annotator")
        return float(equal[rows].mean())

    return share
