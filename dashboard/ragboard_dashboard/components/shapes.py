"""A column's spread, and what it breaks down into, as components: report objects in, a range drawn over it out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.resources import files
from math import floor, log10
from typing import Any, Literal

import numpy as np
import streamlit as st
from streamlit.components.v2 import component

from ragboard.analysis import Distribution, Group
from ragboard.spans import inert
from ragboard.stats import Interval

__all__ = ["SHAPES", "Range", "Shape", "decimals", "groups_chart", "groups_data", "spread_chart", "spread_data"]

Shape = Literal["Histogram", "Violin", "ECDF"]
Range = tuple[float, float]
SHAPES: tuple[Shape, ...] = ("Histogram", "Violin", "ECDF")
STEPS = 80
"""Steps along a violin."""

_FILES = files("ragboard_dashboard") / "components"
_CSS = (_FILES / "shapes.css").read_text("utf-8")


def _component(name: str) -> Any:
    return component(
        f"ragboard_{name}", html='<div id="shapes"></div>', css=_CSS, js=(_FILES / f"{name}.js").read_text("utf-8")
    )


_mount_spread, _mount_groups = (_component(name) for name in ("spread", "groups"))


def decimals(low: float, high: float) -> int:
    """Decimals that tell values of a range apart: two, and more where the range is a hundredth or less."""
    return max(2, 1 - floor(log10(high - low)))


def spread_chart(
    found: Distribution,
    shape: Shape,
    title: str,
    chosen: Range | None,
    on_draw: Callable[[Range], None],
    *,
    key: str,
) -> None:
    """Draw the spread of a column, pale outside of the range `chosen`; `on_draw` gets a range drawn over it."""

    def drawn() -> None:
        range_ = st.session_state[key]["brush"]
        if range_:
            on_draw((float(range_[0]), float(range_[1])))

    _mount_spread(key=key, data=spread_data(found, shape, title, chosen), on_brush_change=drawn)


def groups_chart(groups: Sequence[Group], title: str, *, key: str) -> None:
    """Draw each group's mean with its interval."""
    _mount_groups(key=key, data=groups_data(groups, title))


def spread_data(found: Distribution, shape: Shape, title: str, chosen: Range | None) -> dict[str, Any]:
    """What the component draws, as JSON-ready data."""
    bounds = found.interval if isinstance(found.interval, Interval) else None
    mean = "" if found.mean is None else f"mean {found.mean:.{decimals(found.bins[0].low, found.bins[-1].high)}f}"
    return {
        "name": inert(f"{title}: {shape} of {found.scored:,} values{mean and ', '}{mean}"),
        "shape": shape if found.quantiles else "Histogram",
        "low": found.bins[0].low,
        "high": found.bins[-1].high,
        "bins": _bins(found),
        "mean": found.mean,
        "said": mean,
        "interval": [bounds.low, bounds.high] if bounds else None,
        "threshold": _threshold(found),
        "chosen": chosen,
        "x": inert(title),
        "percent": shape == "ECDF",
        **_shaped(found, shape),
    }


def _threshold(found: Distribution) -> dict[str, Any] | None:
    """Where the threshold lies, if that is within the picture, and in words."""
    limit = found.share.threshold if found.share else None
    if limit is None or not found.bins[0].low <= limit.value <= found.bins[-1].high:
        return None
    return {"at": limit.value, "said": str(limit)}


def _bins(found: Distribution) -> list[dict[str, Any]]:
    drawn, below = list[dict[str, Any]](), 0
    places = decimals(found.bins[0].low, found.bins[-1].high)
    for part in found.bins:
        below += part.count
        share = f"; {below / found.scored:.0%} up to there" if found.scored else ""
        said = f"{part.low:.{places}f} to {part.high:.{places}f}: {part.count:,} samples{share}"
        drawn.append({"low": part.low, "high": part.high, "count": part.count, "said": said})
    return drawn


def _shaped(found: Distribution, shape: Shape) -> dict[str, Any]:
    """What one shape takes beside the bins."""
    if shape == "Histogram" or not found.quantiles:
        return {"top": max(part.count for part in found.bins) or 1, "y": "samples"}
    if shape == "ECDF":
        return {"top": 1, "y": "share of samples at or below", "quantiles": found.quantiles}
    quarter = len(found.quantiles) // 4
    quartiles = [found.quantiles[place * quarter] for place in (1, 2, 3)]
    return {"top": None, "y": "", "density": _density(found.quantiles), "quartiles": quartiles}


def _density(quantiles: Sequence[float]) -> list[tuple[float, float]]:
    """How dense the values lie, from 0 to 1 at the densest place; the quantiles stand for the values."""
    values = np.asarray(quantiles)
    deviation = float(values.std())
    if deviation < 1e-9:
        return [(quantiles[0], 1.0)]
    width = 0.9 * deviation * values.size**-0.2  # Silverman 1986
    at = np.linspace(values[0], values[-1], STEPS + 1)
    heights = np.exp(-0.5 * ((at[:, None] - values[None, :]) / width) ** 2).sum(axis=1)
    return list(zip(at.tolist(), (heights / heights.max()).tolist(), strict=True))


def groups_data(groups: Sequence[Group], title: str) -> dict[str, Any]:
    """What the component draws, as JSON-ready data."""
    low, high = _ends(groups)
    places = decimals(low, high)
    rows = [row for group in groups if (row := _group(group, places)) is not None]
    drawn = sum(row["low"] is not None for row in rows)
    said = "Means with 95% intervals" if drawn else "Means; no group has enough samples for an interval"
    return {
        "name": inert(f"{title} by group"),
        "rows": rows,
        "low": low,
        "high": high,
        "ends": f"{said}, on a scale from {low:.{places}f} to {high:.{places}f}." if rows else "No group is scored.",
    }


def _ends(groups: Sequence[Group]) -> tuple[float, float]:
    """The scale that holds every mean and interval."""
    ends = [group.mean for group in groups if group.mean is not None] or [0.0, 1.0]
    ends += [end for group in groups if isinstance(one := group.interval, Interval) for end in (one.low, one.high)]
    low, high = min(ends), max(ends)
    return (low, high) if high - low >= 1e-9 else (low - 0.5, high + 0.5)


def _group(group: Group, places: int) -> dict[str, Any] | None:
    """None where no sample of the group is scored."""
    if group.mean is None:
        return None
    bounds = group.interval if isinstance(group.interval, Interval) else None
    interval = f" ({bounds.low:.{places}f} – {bounds.high:.{places}f})" if bounds else ", no interval"
    count = f"{group.scored:,}/{group.total:,}"
    return {
        "name": inert(group.value),
        "shown": f"{group.mean:.{places}f}",
        "count": count,
        "mean": group.mean,
        "low": bounds.low if bounds else None,
        "high": bounds.high if bounds else None,
        "help": inert(f"{group.value}: {group.mean:.{places}f}{interval}, {count} scored"),
    }
