"""The metric picker: metrics by the question that they answer, with what each needs. The choice is in the URL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from ragboard.analysis import metric_judge, metric_needs, metric_source_label, metric_summary
from ragboard.errors import SettingError
from ragboard.metrics import Metric, describe, metrics_named, split_names
from ragboard.metrics.base import CATEGORIES
from ragboard.spans import strip_bidi_controls
from ragboard_dashboard.components import widget
from ragboard_dashboard.data import known_metrics
from ragboard_dashboard.text import plain

__all__ = ["chosen_metrics", "pick_metrics"]

KEY = "metric-picker"
ADDRESS = "metrics"
TICKED = "metrics-ticked"
"""Session-state key: for one run, the metric selections made so far, as in the URL; the last one is current."""

_HERE = Path(__file__).parent
_mount = widget("metric_picker", "picker", _HERE / "picker.js", _HERE / "picker.css")


def chosen_metrics(run: str, defaults: Sequence[Metric]) -> tuple[Metric, ...]:
    """Return the metrics that are selected or in the URL, else `defaults`. Draw a warning about unknown names."""
    named = st.query_params.get(ADDRESS)
    own = _selections(run, named)
    if own and (named is None or named in own):  # after two quick clicks, the second still carries the old URL
        if named != own[-1]:
            st.query_params[ADDRESS] = own[-1]
        named = own[-1]
    if named is None:
        return tuple(defaults)
    if not named.strip():
        return ()
    try:
        return metrics_named(split_names(named), known_metrics())
    except SettingError as error:
        st.warning(
            "This link contains unknown metrics. The default metrics are selected instead.", icon=":material/help:"
        )
        plain(str(error))
        return tuple(defaults)


def pick_metrics(run: str, chosen: Sequence[Metric], defaults: Sequence[Metric], refused: Mapping[str, str]) -> None:
    """Draw all metrics, with `chosen` selected. `refused`: why a metric cannot be scored, by its full name."""
    known = known_metrics()
    offered = {metric.spec: metric for metric in (*defaults, *chosen, *known.values())}
    groups = {
        title: [_item(one) for one in offered.values() if one.category == key] for key, title in CATEGORIES.items()
    }
    _mount(
        key=KEY,
        data={
            "groups": [{"title": title, "items": items} for title, items in groups.items() if items],
            "chosen": [metric.spec for metric in chosen],
            "refused": dict(refused),
            "run": run,
        },
        on_chosen_change=lambda: None,
    )


def _selections(run: str, named: str | None) -> list[str]:
    """Return the selections made for this run, with that of the widget as the last. `named` is the one in the URL.

    The widget is read here and not in a callback, which Streamlit ends early if the user clicks again meanwhile.
    """
    own: list[str] = st.session_state.get(TICKED, {}).get(run, [])
    chosen: Any = st.session_state.get(KEY, {}).get("chosen")
    if not chosen or chosen["run"] != run:
        return own
    now = ",".join(map(str, chosen["metrics"]))
    if own[-1:] != [now]:
        earlier = dict.fromkeys([*own, named])  # also what the URL said when the widget was used
        own = [*(one for one in earlier if one is not None and one != now), now]
        st.session_state[TICKED] = {run: own}
    return own


def _item(metric: Metric) -> dict[str, str]:
    about = describe(metric)
    known = {metric.spec: metric}
    judge = metric_judge(about, known)
    needs = metric_needs(about, known)
    return {
        "spec": metric.spec,
        "label": strip_bidi_controls(metric.label),
        "text": strip_bidi_controls(metric_summary(about, known).replace("`", "")),
        "origin": strip_bidi_controls(metric_source_label(about, known)),
        "needs": f"{needs}, a chat model" if judge == "a chat model" else needs,
    }
