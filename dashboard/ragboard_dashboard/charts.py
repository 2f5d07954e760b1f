"""Report objects as figures: pure, and in the theme's colours, light or dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import plotly.graph_objects as go

from ragboard.metrics.partition import CORRECT, FROM_PASSAGES, ORIGINS, Origin
from ragboard.report import Distribution, Group, Scatter
from ragboard.stats import Interval

__all__ = [
    "SHAPES",
    "Palette",
    "Shape",
    "breakdown_figure",
    "distribution_figure",
    "origins_bar",
    "palette",
    "scatter_figure",
]

Palette = dict[Literal["ink", "quiet", "line", "data", "mean", "paper", "right", "wrong"], str]
Shape = Literal["Histogram", "Violin", "ECDF"]
SHAPES: tuple[Shape, ...] = ("Histogram", "Violin", "ECDF")

_LIGHT: Palette = {
    "ink": "#1d1c1a",
    "quiet": "#5c5952",
    "line": "#dcd8cd",
    "data": "#6f8fbd",
    "mean": "#24508f",
    "paper": "#fdfcf9",
    "right": "#0b5f5a",
    "wrong": "#8c1459",
}
_DARK: Palette = {
    "ink": "#e9e6df",
    "quiet": "#b0aca3",
    "line": "#373b44",
    "data": "#5f82bb",
    "mean": "#a9c5f5",
    "paper": "#15171b",
    "right": "#6fd0c4",
    "wrong": "#f39ac7",
}


def palette(theme: str | None) -> Palette:
    """The colours of a theme, `light` or `dark`."""
    return _DARK if theme == "dark" else _LIGHT


def distribution_figure(found: Distribution, shape: Shape, title: str, colours: Palette) -> go.Figure:
    """The spread of one column, with its mean and the interval of the mean."""
    figure = _SHAPE[shape](found, colours)
    low, high = found.bins[0].low, found.bins[-1].high
    pad = (high - low) * 0.02
    _dress(figure, colours, title, _Y[shape])
    figure.update_xaxes(range=[low - pad, high + pad])
    _mark_mean(figure, found, colours)
    _mark_threshold(figure, found, colours)
    return figure


_Y: dict[Shape, str] = {"Histogram": "samples", "Violin": "", "ECDF": "share of samples at or below"}


def _histogram(found: Distribution, colours: Palette) -> go.Figure:
    return go.Figure(
        go.Bar(
            x=[(part.low + part.high) / 2 for part in found.bins],
            y=[part.count for part in found.bins],
            width=[(part.high - part.low) * 0.92 for part in found.bins],
            customdata=[[part.low, part.high] for part in found.bins],
            hovertemplate="%{customdata[0]:.2f} to %{customdata[1]:.2f}: %{y} samples<extra></extra>",
            marker_color=colours["data"],
        )
    )


def _ecdf(found: Distribution, colours: Palette) -> go.Figure:
    steps = len(found.quantiles) - 1
    return go.Figure(
        go.Scatter(
            x=list(found.quantiles),
            y=[step / steps for step in range(steps + 1)],
            mode="lines",
            line={"shape": "hv", "color": colours["mean"], "width": 2},
            hovertemplate="%{y:.0%} at or below %{x:.2f}<extra></extra>",
        )
    )


def _violin(found: Distribution, colours: Palette) -> go.Figure:
    """The quantiles stand for the values: 201 of them give the same shape, however many samples there are."""
    return go.Figure(
        go.Violin(
            x=list(found.quantiles),
            orientation="h",
            box_visible=True,
            meanline_visible=False,
            points=False,
            spanmode="hard",
            line_color=colours["mean"],
            fillcolor=colours["data"],
            opacity=0.75,
            name="",
            hoverinfo="x",
        )
    )


_SHAPE = {"Histogram": _histogram, "Violin": _violin, "ECDF": _ecdf}


def _mark_mean(figure: go.Figure, found: Distribution, colours: Palette) -> None:
    if found.mean is None:
        return
    if isinstance(found.interval, Interval):
        figure.add_vrect(
            x0=found.interval.low, x1=found.interval.high, fillcolor=colours["mean"], opacity=0.16, line_width=0
        )
    figure.add_vline(
        x=found.mean,
        line={"color": colours["ink"], "width": 1.5, "dash": "dot"},
        annotation={"text": f"mean {found.mean:.2f}", "font": {"color": colours["ink"], "size": 12}, "yshift": 4},
        annotation_position="top",
    )


def _mark_threshold(figure: go.Figure, found: Distribution, colours: Palette) -> None:
    if found.share is None:
        return
    figure.add_vline(
        x=found.share.threshold.value,
        line={"color": colours["wrong"], "width": 2, "dash": "dash"},
        annotation={
            "text": str(found.share.threshold),
            "font": {"color": colours["wrong"], "size": 12},
            "xanchor": "left",
            "yanchor": "top",
        },
        annotation_position="top right",
    )


def scatter_figure(found: Scatter, x: str, y: str, colours: Palette) -> go.Figure:
    """One column against another; a point is a sample."""
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
    _dress(figure, colours, x, y)
    return figure


def breakdown_figure(groups: Sequence[Group], title: str, colours: Palette) -> go.Figure:
    """Each group's mean with its interval; how many were scored stands beside the name."""
    shown = [group for group in groups if group.mean is not None][::-1]
    names = [f"{_plain(group.value)[:28]}  {group.scored}/{group.total}" for group in shown]
    bounds = [group.interval if isinstance(group.interval, Interval) else None for group in shown]
    figure = go.Figure(
        go.Scatter(
            x=[group.mean for group in shown],
            y=names,
            mode="markers",
            marker={"color": colours["mean"], "size": 9},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [b.high - b.estimate if b else 0 for b in bounds],
                "arrayminus": [b.estimate - b.low if b else 0 for b in bounds],
                "color": colours["mean"],
                "thickness": 2,
                "width": 0,
            },
            hovertemplate="%{y}: %{x:.2f}<extra></extra>",
        )
    )
    _dress(figure, colours, title, "")
    figure.update_layout(height=70 + 30 * max(len(shown), 3))
    return figure


def origins_bar(counts: Mapping[Origin, int], colours: Palette) -> str:
    """The six classes of statements as one bar of HTML; words and counts below it, a pattern for where from."""
    looks = {origin: _origin_look(origin, colours) for origin in ORIGINS}
    pieces = "".join(
        f'<div style="flex:{count} 0 0;{looks[origin]}"></div>'
        for origin in ORIGINS
        if (count := counts.get(origin, 0))
    )
    words = "".join(
        '<div style="display:flex;align-items:center;gap:0.5rem">'
        f'<div style="flex:none;width:1.4rem;height:0.9rem;{looks[origin]}"></div>'
        f"<div><b>{counts.get(origin, 0):,}</b> {said}</div></div>"
        for origin, said in ORIGINS.items()
    )
    return (
        f'<div style="display:flex;height:1.6rem;gap:2px" aria-hidden="true">{pieces}</div>'
        '<div style="display:grid;grid-template-columns:repeat(auto-fit,minmax(17rem,1fr));gap:0.15rem 1.5rem;'
        f'margin-top:0.6rem;font-size:0.93rem;font-variant-numeric:tabular-nums">{words}</div>'
    )


def _origin_look(origin: Origin, colours: Palette) -> str:
    """Solid: from a relevant passage; striped: from an irrelevant one; only framed: from none."""
    colour = colours["right" if origin in CORRECT else "wrong"]
    if origin not in FROM_PASSAGES:
        return f"border:2px solid {colour}"
    if origin in ("right_relevant", "wrong_relevant"):
        return f"background:{colour}"
    return f"background:repeating-linear-gradient(135deg,{colour} 0 3px,{colours['paper']} 3px 7px)"


def _plain(text: str) -> str:
    """Text for a figure: Plotly reads a few HTML tags, so the signs that begin them are replaced."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _dress(figure: go.Figure, colours: Palette, x: str, y: str) -> None:
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
