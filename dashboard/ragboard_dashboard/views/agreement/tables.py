"""The table of scorers and the plots of one scorer on the Agreement page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ragboard.human.agreement import Correlations, Measure
from ragboard.human.grades import GradeAgreement, GradeAnnotators, GradeLine, GradeReport
from ragboard.human.preferences import PairAgreement, PairAnnotators, PreferenceReport
from ragboard.spans import strip_bidi_controls
from ragboard.stats import Interval, NoInterval, ci_text, interval_text
from ragboard.store.queries.agreements import Agreement, Scorer
from ragboard_dashboard.components import widget

__all__ = [
    "MEASURES",
    "grades_data",
    "grades_method",
    "pairs_data",
    "pairs_method",
    "plots_data",
    "scorer_plots",
    "scorer_table",
    "votes_data",
]

_HERE = Path(__file__).parent
_draw_table = widget("agreement", "agreement", _HERE / "table.js", _HERE / "tables.css")
_draw_plots = widget("agreement_plots", "agreement", _HERE / "plots.js", _HERE / "tables.css")

_KIND_NOTES = {
    "metric": "",
    "baseline": "one direct prompt",
    "trivial": "trivial baseline",
    "published": "from the file",
}
_ANNOTATORS = "annotators, each vs the others"

MEASURES: dict[str, Callable[[GradeAgreement], Measure]] = {
    "AUROC": lambda ratings: ratings.auroc,
    "Spearman": lambda ratings: ratings.correlations.spearman,
    "Pearson": lambda ratings: ratings.correlations.pearson,
    "Kendall": lambda ratings: ratings.correlations.kendall,
    "Kappa": lambda ratings: ratings.kappa,
    "Weighted kappa": lambda ratings: ratings.weighted_kappa,
}
"""The columns of the table for graded items."""


def scorer_table(data: Mapping[str, Any], *, key: str) -> None:
    """Draw a table with a row for each scorer."""
    _draw_table(key=key, data=data)


def scorer_plots(line: GradeLine, annotators: GradeAnnotators, *, key: str) -> None:
    """Draw the ROC curve, the calibration and the confusion matrix of one scorer."""
    _draw_plots(key=key, data=plots_data(line, annotators))


def pairs_data(found: PreferenceReport) -> dict[str, Any]:
    """Return the table of scorers by dimension, for the browser component."""
    dimensions = found.stored.dimensions
    has_ceiling = any(people.accuracy for people in found.annotators.values())
    against = _compared_with(found)
    rows = [
        {
            "name": _scorer_name(line.scorer, found.stored.agreement),
            "kind": line.scorer.kind,
            "note": _KIND_NOTES[line.scorer.kind],
            "cells": [_pair_cell(line.by_dimension.get(name), against) for name in dimensions],
        }
        for line in found.lines
        if line.scorer.name != "coin"  # the dashed line shows its expected value
    ]
    if has_ceiling:
        cells = [_ceiling_cell(found.annotators[name]) for name in dimensions]
        rows.insert(0, {"name": _ANNOTATORS, "kind": "people", "note": "for comparison", "cells": cells})
    rows += [
        {
            "name": f"{line.name} (RAGAS paper)",
            "kind": "published",
            "note": "published for another model; not reproduced here",
            "cells": [
                None if (value := line.accuracy.get(name)) is None else _cell(f"{value:.2f}", value, None, [])
                for name in dimensions
            ],
        }
        for line in found.published
    ]
    return {
        "caption": "How often the side that annotators prefer has the higher score, with 95% CIs. Dashed line: chance."
        + (" Solid line: annotators compared with each other." if has_ceiling else ""),
        "columns": [
            {
                "title": _dimension_title(name),
                "low": 0.0,
                "high": 1.0,
                "chance": 0.5,
                "people": _annotators_accuracy(found.annotators[name]),
            }
            for name in dimensions
        ],
        "rows": rows,
    }


def pairs_method(found: PreferenceReport) -> str:
    """Describe how the table and the conclusions above it are computed."""
    undecided = sum(people.undecided for people in found.annotators.values())
    return "\n".join(
        filter(
            None,
            (
                "The conclusions compare the judge with the baseline that is right most often, on the same pairs: CI of"
                " the difference and McNemar's exact test, clustered if pairs share a conversation or question.",
                f"p in the table: McNemar test against {_compared_with(found)}, same clusters, Holm-corrected.",
                f"Left out: {undecided:,} on which annotators prefer neither side." if undecided else "",
            ),
        )
    )


def _scorer_name(scorer: Scorer, agreement: Agreement) -> str:
    """Return the title of a scorer, with the judge if the scorer is a metric."""
    by = f" by {agreement.judge_in_words}" if scorer.metrics else ""
    return strip_bidi_controls(f"{scorer.title()}{by}")


def _compared_with(found: PreferenceReport) -> str:
    return next((line.scorer.title() for line in found.lines if line.scorer.name == found.reference), found.reference)


def _annotators_accuracy(people: PairAnnotators) -> float | None:
    return people.accuracy.accuracy if people.accuracy else None


def _pair_cell(cell: PairAgreement | None, against: str) -> dict[str, Any] | None:
    if cell is None:
        return None
    found = cell.accuracy
    ties = f"{found.ties} tied" if found.ties else ""
    unscored = f"{found.unscored} unscored" if found.unscored else ""
    notes = [", ".join(filter(None, (f"{found.n} pairs", ties, unscored)))]
    if cell.p is not None and cell.mcnemar is not None:
        wins, losses = cell.mcnemar.wins, cell.mcnemar.losses
        notes.append(f"{wins} better and {losses} worse than {against}, p = {cell.p:.2g}")
    if found.accuracy is None:
        return {"shown": "unscored", "interval": "", "value": None, "low": None, "high": None, "notes": notes}
    return _cell(f"{found.accuracy:.2f}", found.accuracy, cell.interval, notes)


def _ceiling_cell(people: PairAnnotators) -> dict[str, Any] | None:
    found = people.accuracy
    if found is None or found.accuracy is None:
        return None
    alpha = f"alpha {people.alpha.value:.2f}" if people.alpha and people.alpha.value is not None else ""
    notes = [", ".join(filter(None, (f"{people.annotators} annotators", alpha)))]
    return _cell(f"{found.accuracy:.2f}", found.accuracy, found.bootstrap, notes)


def _cell(shown: str, value: float, interval: Interval | NoInterval | None, notes: Sequence[str]) -> dict[str, Any]:
    ci = interval if isinstance(interval, Interval) else None
    why = [ci_text(interval)] if isinstance(interval, NoInterval) else []
    return {
        "shown": shown,
        "interval": interval_text(interval, ".2f"),
        "value": value,
        "low": ci.low if ci else None,
        "high": ci.high if ci else None,
        "notes": [strip_bidi_controls(note) for note in (*notes, *why)],
    }


def votes_data(found: PreferenceReport, kind: str) -> dict[str, Any] | None:
    """Return the table of correlations with votes, for the browser component; None if votes have no strength."""
    dimensions = found.stored.dimensions
    rows: list[dict[str, Any]] = []
    for line in found.lines:
        votes = [cell.votes if (cell := line.by_dimension.get(name)) else None for name in dimensions]
        if any(votes):
            cells = [_correlation_cell(one, kind) for one in votes]
            who = line.scorer
            rows.append(
                {
                    "name": strip_bidi_controls(who.title()),
                    "kind": who.kind,
                    "note": _KIND_NOTES[who.kind],
                    "cells": cells,
                }
            )
    if not rows:
        return None
    people = {name: found.annotators[name].votes for name in dimensions}
    cells = [_correlation_cell(one, kind) for one in people.values()]
    rows.insert(0, {"name": "annotators with each other", "kind": "people", "note": "for comparison", "cells": cells})
    return {
        "caption": f"{kind.capitalize()} correlation between the score difference (B - A) and each vote on the pair."
        " Dashed line: no correlation. Solid line: annotators with each other.",
        "columns": [
            _correlation_column(_dimension_title(name), getattr(one, kind) if one else None)
            for name, one in people.items()
        ],
        "rows": rows,
    }


def _correlation_cell(found: Correlations | None, kind: str) -> dict[str, Any] | None:
    if found is None:
        return None
    return _measure_cell(getattr(found, kind), [f"{found.n} votes"])


def _correlation_column(title: str, people: Measure | None) -> dict[str, Any]:
    return {"title": title, "low": -1.0, "high": 1.0, "chance": 0.0, "people": people.value if people else None}


def _measure_cell(found: Measure, notes: Sequence[str]) -> dict[str, Any]:
    if found.value is None:
        reason = found.interval.reason if isinstance(found.interval, NoInterval) else ""
        return {
            "shown": "–",
            "interval": "",
            "value": None,
            "low": None,
            "high": None,
            "notes": [strip_bidi_controls(reason)],
        }
    return _cell(f"{round(found.value, 2) + 0.0:.2f}", found.value, found.interval, notes)


def grades_data(found: GradeReport) -> dict[str, Any]:
    """Return the table of scorers compared with mean grades, for the browser component."""
    people = found.annotators.agreement
    rows = [
        {
            "name": _scorer_name(line.scorer, found.stored.agreement),
            "kind": line.scorer.kind,
            "note": ", ".join(filter(None, (_KIND_NOTES[line.scorer.kind], _unscored_note(line)))),
            "cells": [_measure_cell(measure_of(line.agreement), []) for measure_of in MEASURES.values()],
        }
        for line in found.lines
    ]
    if people:
        note = f"{found.annotators.annotators} annotators"
        cells = [_measure_cell(measure_of(people), []) for measure_of in MEASURES.values()]
        rows.insert(0, {"name": _ANNOTATORS, "kind": "people", "note": note, "cells": cells})
    return {
        "caption": f"Compared with the mean grade of the {found.compared:,} of {found.graded:,} items that the judge"
        f" and all baselines scored, with 95% CIs. Good: graded {found.at_least:g} or more. Dashed line: chance."
        + (" Solid line: one annotator compared with the mean of the others." if people else ""),
        "columns": [
            {
                "title": title,
                "low": 0.0 if title == "AUROC" else -1.0,
                "high": 1.0,
                "chance": 0.5 if title == "AUROC" else 0.0,
                "people": measure_of(people).value if people else None,
            }
            for title, measure_of in MEASURES.items()
        ],
        "rows": rows,
    }


def grades_method(found: GradeReport) -> str:
    """Describe how the table and the conclusion above it are computed."""
    alpha = found.annotators.alpha.value if found.annotators.alpha else None
    return "\n".join(
        filter(
            None,
            (
                "The conclusion compares the judge with the baseline that has the highest AUROC on the same items. All"
                f" CIs are computed by bootstrap over {found.clusters:,} questions or conversations.",
                f"Annotators graded {found.good:,} of {found.graded:,} items at least {found.at_least:g}: these are"
                " good.",
                "For weighted kappa, scores are converted to grades with the distribution of the annotators' grades.",
                f"Krippendorff's alpha of {found.annotators.annotators} annotators: {alpha:.2f}"
                if alpha is not None
                else "",
            ),
        )
    )


def _unscored_note(line: GradeLine) -> str:
    return f"{line.unscored:,} unscored" if line.unscored else ""


def plots_data(line: GradeLine, annotators: GradeAnnotators) -> dict[str, Any]:
    """Return the ROC curve, calibration and confusion matrix of one scorer, for the browser component."""
    plots = [_roc_plot(line, annotators)] if line.roc else []
    return {"plots": [*plots, *_calibration_plots(line)], "counts": _confusion_table(line)}


def _rates(agreement: Any) -> tuple[float, float]:
    """Return the point in the ROC plot: (false positive rate, true positive rate)."""
    return 1 - (agreement.specificity or 0.0), agreement.sensitivity or 0.0


def _roc_plot(line: GradeLine, annotators: GradeAnnotators) -> dict[str, Any]:
    area = line.agreement.auroc.value
    texts = [] if area is None else [f"AUROC {area:.2f}."]
    marks: list[dict[str, Any]] = []
    if line.cut:
        x, y = _rates(line.cut.agreement)
        marks.append(_mark(x, y))
        texts.append(f"Dot: good from score {line.cut.threshold:.3g}.")
    if annotators.agreement and annotators.agreement.confusion:
        x, y = _rates(annotators.agreement.confusion)
        marks.append(_mark(x, y, kind="person"))
        texts.append("Ring: one annotator vs the others.")
    return {
        "title": "ROC",
        "x": "false positive rate",
        "y": "true positive rate",
        "text": " ".join(texts),
        "line": [(0.0, 0.0), *(_rates(cut.agreement) for cut in line.roc)],
        "marks": marks,
    }


def _calibration_plots(line: GradeLine) -> list[dict[str, Any]]:
    found = line.calibration
    if found is None:
        return []
    return [
        {
            "title": "Calibration",
            "x": "mean score",
            "y": "share rated good",
            "text": f"Expected calibration error {found.error:.2f}, Brier score {found.brier:.2f}. On the dashed"
            " line, a score is a probability.",
            "line": [],
            "marks": [
                _mark(one.score, one.share.estimate, low=one.share.low, high=one.share.high) for one in found.bins
            ],
        }
    ]


def _mark(x: float, y: float, *, kind: str = "dot", low: float | None = None, high: float | None = None) -> Any:
    return {"x": x, "y": y, "kind": kind, "low": low, "high": high}


def _confusion_table(line: GradeLine) -> dict[str, Any] | None:
    found = line.agreement.confusion
    if found is None or line.cut is None:
        return None
    fitted = "" if line.chosen else ", fitted to these items, so the scorer looks better than it is"
    return {
        "title": "Confusion",
        "head": ["", "rated good", "rated not good"],
        "rows": [
            ["scored good", f"{found.true_positives:,}", f"{found.false_positives:,}"],
            ["scored not good", f"{found.false_negatives:,}", f"{found.true_negatives:,}"],
        ],
        "text": f"Lowest good score: {line.cut.threshold:.3g}{fitted}.",
    }


def _dimension_title(dimension: str) -> str:
    return strip_bidi_controls(dimension.replace("_", " ").capitalize())
