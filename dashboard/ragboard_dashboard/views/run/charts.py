"""Charts of a run: distribution of a column, means of groups, scatter plot, and classes of claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import floor, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import streamlit as st

from ragboard.analysis import Distribution, Group, Scatter
from ragboard.metrics.claim_classes import CLAIM_CLASSES, CORRECT, FROM_PASSAGES, ClaimClass
from ragboard.spans import strip_bidi_controls
from ragboard.stats import Interval, NoInterval, ci_text, range_text
from ragboard_dashboard.components import widget
from ragboard_dashboard.text import counted
from ragboard_dashboard.theme import Palette

if TYPE_CHECKING:
    import plotly.graph_objects as go


__all__ = [
    "SHAPES",
    "Range",
    "Shape",
    "claim_classes_bar",
    "decimals",
    "groups_chart",
    "groups_data",
    "scatter_figure",
    "spread_chart",
    "spread_data",
]

Shape = Literal["Histogram", "Violin", "ECDF"]
Range = tuple[float, float]
SHAPES: tuple[Shape, ...] = ("Histogram", "Violin", "ECDF")
STEPS = 80
"""Number of steps between the points of a violin."""
MAX_NAMED = 3
"""Maximum number of named groups in the note on groups without an interval."""

_HERE = Path(__file__).parent
_draw_spread = widget("spread", "shapes", _HERE / "spread.js", _HERE / "charts.css")
_draw_groups = widget("groups", "shapes", _HERE / "groups.js", _HERE / "charts.css")


def decimals(low: float, high: float) -> int:
    """Return how many decimals to show for values in a range: two, or more for a small range."""
    return max(2, 1 - floor(log10(high - low)))


def spread_chart(
    found: Distribution,
    shape: Shape,
    title: str,
    chosen: Range | None,
    on_range: Callable[[Range], None],
    *,
    key: str,
) -> None:
    """Draw the distribution of a column, pale outside the range `chosen`.

    `on_range` is called with a range that the user marks in the chart.
    """

    def mark_range() -> None:
        range_ = st.session_state[key]["brush"]
        if range_:
            on_range((float(range_[0]), float(range_[1])))

    _draw_spread(key=key, data=spread_data(found, shape, title, chosen), on_brush_change=mark_range)


def groups_chart(groups: Sequence[Group], title: str, *, key: str) -> None:
    """Draw the mean of each group with its interval."""
    _draw_groups(key=key, data=groups_data(groups, title))


def spread_data(found: Distribution, shape: Shape, title: str, chosen: Range | None) -> dict[str, Any]:
    """Return the distribution of a column for the browser component. Without quantiles, the chart is a histogram."""
    drawn: Shape = shape if found.quantiles else "Histogram"
    bounds = found.interval if isinstance(found.interval, Interval) else None
    mean = "" if found.mean is None else f"mean {found.mean:.{decimals(found.bins[0].low, found.bins[-1].high)}f}"
    return {
        "name": strip_bidi_controls(f"{title}: {drawn} of {found.scored:,} values{mean and ', '}{mean}"),
        "shape": drawn,
        "low": found.bins[0].low,
        "high": found.bins[-1].high,
        "bins": _bins(found),
        "mean": found.mean,
        "text": mean,
        "interval": [bounds.low, bounds.high] if bounds else None,
        "threshold": _threshold(found),
        "chosen": chosen,
        "x": strip_bidi_controls(title),
        "percent": drawn == "ECDF",
        **_shape_data(found, drawn),
    }


def _threshold(found: Distribution) -> dict[str, Any] | None:
    """Return the threshold for the browser component; None if there is none inside the chart."""
    threshold = found.meeting_threshold.threshold if found.meeting_threshold else None
    if threshold is None or not found.bins[0].low <= threshold.value <= found.bins[-1].high:
        return None
    return {"at": threshold.value, "text": str(threshold)}


def _bins(found: Distribution) -> list[dict[str, Any]]:
    bins, below = list[dict[str, Any]](), 0
    places = decimals(found.bins[0].low, found.bins[-1].high)
    for part in found.bins:
        below += part.count
        share = f"; {below / found.scored:.0%} up to here" if found.scored else ""
        text = f"{range_text(part.low, part.high, f'.{places}f')}: {counted(part.count, 'sample')}{share}"
        bins.append({"low": part.low, "high": part.high, "count": part.count, "text": text})
    return bins


def _shape_data(found: Distribution, shape: Shape) -> dict[str, Any]:
    """Return the data for one shape of the chart."""
    if shape == "Histogram":
        return {"top": max(part.count for part in found.bins) or 1, "y": "samples", "whole": True}
    if shape == "ECDF":
        return {"top": 1, "y": "share of samples at or below", "quantiles": found.quantiles}
    quarter = len(found.quantiles) // 4
    quartiles = [found.quantiles[place * quarter] for place in (1, 2, 3)]
    return {"top": None, "y": "", "density": _density(found.quantiles), "quartiles": quartiles}


def _density(quantiles: Sequence[float]) -> list[tuple[float, float]]:
    """Return the density of the values relative to its maximum, estimated from quantiles."""
    values = np.asarray(quantiles)
    deviation = float(values.std())
    if deviation < 1e-9:
        return [(quantiles[0], 1.0)]
    width = 0.9 * deviation * values.size**-0.2  # Silverman 1986
    at = np.linspace(values[0], values[-1], STEPS + 1)
    heights = np.exp(-0.5 * ((at[:, None] - values[None, :]) / width) ** 2).sum(axis=1)
    return list(zip(at.tolist(), (heights / heights.max()).tolist(), strict=True))


def groups_data(groups: Sequence[Group], title: str) -> dict[str, Any]:
    """Return the mean of each group with its interval, for the browser component."""
    low, high = _ends(groups)
    places = decimals(low, high)
    rows = [row for group in groups if (row := _group(group, places)) is not None]
    with_interval = sum(row["low"] is not None for row in rows)
    what = "Means with 95% CIs" if with_interval else "Means"
    ends = f"{what}, on a scale from {low:.{places}f} to {high:.{places}f}." if rows else "No group is scored."
    return {
        "name": strip_bidi_controls(f"{title} by group"),
        "rows": rows,
        "low": low,
        "high": high,
        "ends": " ".join(filter(None, [ends, strip_bidi_controls(_without_interval(groups))])),
    }


def _without_interval(groups: Sequence[Group]) -> str:
    """Say which groups have no interval, and why; empty if all have one."""
    found = [
        f"{group.value}: {group.interval.reason}"
        for group in groups
        if group.mean is not None and isinstance(group.interval, NoInterval)
    ]
    rest = len(found) - MAX_NAMED
    more = f"; and {rest:,} more group{'' if rest == 1 else 's'}" if rest > 0 else ""
    return f"No CI for {'; '.join(found[:MAX_NAMED])}{more}." if found else ""


def _ends(groups: Sequence[Group]) -> tuple[float, float]:
    """Return the ends of a scale for all means and intervals."""
    ends = [group.mean for group in groups if group.mean is not None] or [0.0, 1.0]
    ends += [end for group in groups if isinstance(one := group.interval, Interval) for end in (one.low, one.high)]
    low, high = min(ends), max(ends)
    return (low, high) if high - low >= 1e-9 else (low - 0.5, high + 0.5)


def _group(group: Group, places: int) -> dict[str, Any] | None:
    """Return the row of a group; None if no sample of the group is scored."""
    if group.mean is None:
        return None
    bounds = group.interval if isinstance(group.interval, Interval) else None
    form, count = f".{places}f", f"{group.scored:,}/{group.total:,}"
    return {
        "name": strip_bidi_controls(group.value),
        "shown": f"{group.mean:{form}}",
        "count": count,
        "mean": group.mean,
        "low": bounds.low if bounds else None,
        "high": bounds.high if bounds else None,
        "help": strip_bidi_controls(
            f"{group.value}: mean {group.mean:{form}}, {ci_text(group.interval, form)}, {count} scored"
        ),
    }


def scatter_figure(found: Scatter, x: str, y: str, colours: Palette) -> go.Figure:
    """Return a scatter plot of two columns with a point for each sample."""
    import plotly.graph_objects as go

    figure = go.Figure(
        go.Scattergl(
            x=[point.x for point in found.points],
            y=[point.y for point in found.points],
            customdata=[[point.sample_id, _plain(point.question)] for point in found.points],
            mode="markers",
            marker={"color": colours["mean"], "size": 8, "opacity": 0.55},
            hovertemplate="%{customdata[1]}<br>%{x:.2f}, %{y:.2f}<extra></extra>",
        )
    )
    _set_layout(figure, colours, x, y)
    return figure


def _plain(text: str) -> str:
    """Escape a text for Plotly, which interprets some HTML tags."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _set_layout(figure: go.Figure, colours: Palette, x: str, y: str) -> None:
    axis: dict[str, Any] = {
        "gridcolor": colours["line"],
        "zeroline": False,
        "tickfont": {"color": colours["quiet"], "size": 12},
        "title_font": {"color": colours["ink"], "size": 13},
        "fixedrange": True,
    }
    figure.update_layout(
        height=250,
        margin={"l": 8, "r": 8, "t": 26, "b": 8},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": "Source Sans, sans-serif", "color": colours["ink"]},
        showlegend=False,
        bargap=0,
        dragmode="select",
        selectdirection="h",
    )
    figure.update_xaxes(**axis, title_text=_plain(x), automargin=True)
    figure.update_yaxes(**axis, title_text=_plain(y), automargin=True)


def claim_classes_bar(counts: Mapping[ClaimClass, int], colours: Palette) -> str:
    """Return an HTML bar of the six classes of claims, with a legend of names and counts."""
    styles = {claim_class: _class_style(claim_class, colours) for claim_class in CLAIM_CLASSES}
    pieces = "".join(
        f'<div style="flex:{count} 0 0;{styles[claim_class]}"></div>'
        for claim_class in CLAIM_CLASSES
        if (count := counts.get(claim_class, 0))
    )
    words = "".join(
        '<div style="display:flex;align-items:center;gap:0.5rem">'
        f'<div style="flex:none;width:1.4rem;height:0.9rem;{styles[claim_class]}"></div>'
        f"<div><b>{counts.get(claim_class, 0):,}</b> {title}</div></div>"
        for claim_class, title in CLAIM_CLASSES.items()
    )
    return (
        f'<div style="display:flex;height:1.6rem;gap:2px" aria-hidden="true">{pieces}</div>'
        '<div style="display:grid;grid-template-columns:repeat(auto-fit,minmax(17rem,1fr));gap:0.15rem 1.5rem;'
        f'margin-top:0.6rem;font-size:0.93rem;font-variant-numeric:tabular-nums">{words}</div>'
    )


def _class_style(claim_class: ClaimClass, colours: Palette) -> str:
    """Return the style of a class: solid for relevant passages, striped for irrelevant ones, framed for none."""
    colour = colours["right" if claim_class in CORRECT else "quiet"]
    if claim_class not in FROM_PASSAGES:
        return f"border:2px solid {colour}"
    if claim_class in ("right_relevant", "wrong_relevant"):
        return f"background:{colour}"
    return f"background:repeating-linear-gradient(135deg,{colour} 0 3px,{colours['paper']} 3px 7px)"
