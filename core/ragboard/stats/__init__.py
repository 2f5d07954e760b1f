"""Statistics: numbers in, frozen results out, each with its method, level and n. Knows nothing of RAG."""

from __future__ import annotations

from ragboard.stats.agreement import (
    Bin,
    BinaryAgreement,
    Calibration,
    Cut,
    auroc,
    best_cut,
    binary_agreement,
    calibration,
    cohen_kappa,
    confusion,
    krippendorff_alpha,
    roc,
)
from ragboard.stats.bootstrap import clustered_interval
from ragboard.stats.correlation import CORRELATIONS, correlation_interval, fisher_interval, kendall, pearson, spearman
from ragboard.stats.gate import GateVerdict, gate
from ragboard.stats.groups import GroupDifference, group_difference
from ragboard.stats.intervals import (
    ClusterMoments,
    Interval,
    Moments,
    NoInterval,
    cluster_moments,
    interval_text,
    mean_interval,
    moments,
    wilson_interval,
)
from ragboard.stats.missing import outer_difference, outer_interval
from ragboard.stats.multiple import holm
from ragboard.stats.paired import PairedDifference, SignTest, mcnemar, paired_difference, sign_test
from ragboard.stats.pairwise import Pair, PairwiseAccuracy, compare_contenders, outcomes, pairwise_accuracy
from ragboard.stats.platt import Platt, fit_platt
from ragboard.stats.ppi import (
    FEWEST_LABELS,
    LabelsNeeded,
    PoweredMean,
    PoweredMeans,
    labels_needed,
    powered_difference,
    powered_mean,
    powered_means,
)
from ragboard.stats.ranking import Arm, Ranked, RankingSimulation, rank_systems, simulate_ranking
from ragboard.stats.raters import alpha_interval, kappa_interval

__all__ = [
    "CORRELATIONS",
    "FEWEST_LABELS",
    "Arm",
    "Bin",
    "BinaryAgreement",
    "Calibration",
    "ClusterMoments",
    "Cut",
    "GateVerdict",
    "GroupDifference",
    "Interval",
    "LabelsNeeded",
    "Moments",
    "NoInterval",
    "Pair",
    "PairedDifference",
    "PairwiseAccuracy",
    "Platt",
    "PoweredMean",
    "PoweredMeans",
    "Ranked",
    "RankingSimulation",
    "SignTest",
    "alpha_interval",
    "auroc",
    "best_cut",
    "binary_agreement",
    "calibration",
    "cluster_moments",
    "clustered_interval",
    "cohen_kappa",
    "compare_contenders",
    "confusion",
    "correlation_interval",
    "fisher_interval",
    "fit_platt",
    "gate",
    "group_difference",
    "holm",
    "interval_text",
    "kappa_interval",
    "kendall",
    "krippendorff_alpha",
    "labels_needed",
    "mcnemar",
    "mean_interval",
    "moments",
    "outcomes",
    "outer_difference",
    "outer_interval",
    "paired_difference",
    "pairwise_accuracy",
    "pearson",
    "powered_difference",
    "powered_mean",
    "powered_means",
    "rank_systems",
    "roc",
    "sign_test",
    "simulate_ranking",
    "spearman",
    "wilson_interval",
]
