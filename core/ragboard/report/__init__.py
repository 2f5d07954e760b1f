"""What people say of answers, measured: frozen objects that the command line and the pages show."""

from __future__ import annotations

from ragboard.report.agreements import (
    Heard,
    KeptAgreement,
    Opened,
    agreement_named,
    agreements,
    item_report,
    listen,
    questions_of,
)
from ragboard.report.annotating import AnnotationQueue, Kappa, QueueItem, annotation_queue, annotator_agreement
from ragboard.report.estimates import Estimated, Estimates, Measured, estimate_runs, estimated_metrics, needed_for
from ragboard.report.grading import (
    GradeLine,
    GradePeople,
    GradeReport,
    GradeVerdict,
    Ratings,
    grade_report,
    grade_verdicts,
)
from ragboard.report.measuring import Correlations, Measure
from ragboard.report.preferring import (
    PAPER,
    PairCell,
    PairLine,
    PairPeople,
    PairVerdict,
    PreferenceReport,
    Published,
    pair_verdicts,
    preference_report,
)
from ragboard.report.ranks import RankedRuns, Ranking, rank_runs
from ragboard.report.systems import (
    KnownOrder,
    System,
    SystemDifference,
    SystemEstimate,
    SystemsReport,
    against_order,
    estimate_system,
    systems_report,
)

__all__ = [
    "PAPER",
    "AnnotationQueue",
    "Correlations",
    "Estimated",
    "Estimates",
    "GradeLine",
    "GradePeople",
    "GradeReport",
    "GradeVerdict",
    "Heard",
    "Kappa",
    "KeptAgreement",
    "KnownOrder",
    "Measure",
    "Measured",
    "Opened",
    "PairCell",
    "PairLine",
    "PairPeople",
    "PairVerdict",
    "PreferenceReport",
    "Published",
    "QueueItem",
    "RankedRuns",
    "Ranking",
    "Ratings",
    "System",
    "SystemDifference",
    "SystemEstimate",
    "SystemsReport",
    "against_order",
    "agreement_named",
    "agreements",
    "annotation_queue",
    "annotator_agreement",
    "estimate_runs",
    "estimate_system",
    "estimated_metrics",
    "grade_report",
    "grade_verdicts",
    "item_report",
    "listen",
    "needed_for",
    "pair_verdicts",
    "preference_report",
    "questions_of",
    "rank_runs",
    "systems_report",
]
