"""Write the HTML report of a run: metrics, unsupported statements, worst samples, failures and judge setup."""

from __future__ import annotations

from ragboard.analysis import (
    POLICIES,
    HallucinationQuery,
    SampleQuery,
    UnscoredPolicy,
    distribution,
    failures,
    hallucinations,
    metric_descriptions,
    ragas_score,
    run_summary,
    sample_report,
    sample_rows,
)
from ragboard.analysis.runs import judge_identity
from ragboard.analysis.verdict_style import VERDICT_STYLES
from ragboard.export.html import render
from ragboard.metrics.claim_classes import CLAIM_CLASSES, CORRECT, FROM_PASSAGES, ClaimClass
from ragboard.store import RunRef, Store

__all__ = ["SAMPLES", "run_report"]

SAMPLES = 50
"""Default number of samples that are shown in full."""
MAX_STATEMENTS = 100
"""Maximum number of statements in the list of unsupported statements."""


def run_report(store: Store, run: RunRef, *, samples: int = SAMPLES, unscored: UnscoredPolicy = "excluded") -> str:
    """Return a report of one run as HTML, with `samples` samples in full, most unsupported statements first.

    `unscored` says how samples without a score count in the means. The file has no scripts and needs no other files.
    The same store gives the same file. Raises NotFoundError if the run was deleted.
    """
    summary = run_summary(store, run, unscored=unscored)
    metrics = {**summary.metrics, **summary.file_scores}
    query = SampleQuery(column=next(iter(metrics), ""), order="worst", limit=samples)
    reports = [sample_report(store, run, row.sample_id) for row in sample_rows(store, run, query).rows]
    unsupported = hallucinations(store, HallucinationQuery(runs=(run,), limit=MAX_STATEMENTS))
    return render(
        "run.html",
        f"{summary.name} · ragboard",
        run=summary,
        known=metric_descriptions(store),
        metrics=metrics,
        distributions={spec: distribution(store, run, spec) for spec in metrics},
        ragas=ragas_score(summary.metrics),
        policy=POLICIES[unscored],
        unsupported=unsupported,
        verdicts=[(unsupported.labels.get(label, 0), style.css, style) for label, style in VERDICT_STYLES.items()],
        origins=[(summary.origins.get(origin, 0), _style(origin), words) for origin, words in CLAIM_CLASSES.items()],
        reports=reports,
        anchors={report.sample.id: f"s{number}" for number, report in enumerate(reports, 1)},
        failures=failures(store, run),
        identity=judge_identity(store, run),
    )


def _style(origin: ClaimClass) -> str:
    """Return two CSS classes: `right` or `wrong`, and `solid` (relevant passages), `pale` (irrelevant) or `framed`."""
    right = "right" if origin in CORRECT else "wrong"
    if origin not in FROM_PASSAGES:
        return f"{right} framed"
    return f"{right} solid" if origin in ("right_relevant", "wrong_relevant") else f"{right} pale"
