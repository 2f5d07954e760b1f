"""Report objects as figures: pure, and in the theme's colours, light or dark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from ragboard.analysis import Scatter
from ragboard.metrics.partition import CORRECT, FROM_PASSAGES, ORIGINS, Origin

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = [
    "Palette",
    "origins_bar",
    "palette",
    "scatter_figure",
]

Palette = dict[Literal["ink", "quiet", "line", "data", "mean", "paper", "right", "wrong"], str]

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


def scatter_figure(found: Scatter, x: str, y: str, colours: Palette) -> go.Figure:
    """One column against another; a point is a sample."""
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
    _dress(figure, colours, x, y)
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
