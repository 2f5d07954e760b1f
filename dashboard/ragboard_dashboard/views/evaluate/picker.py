"""The metric picker: metrics by the question they answer, with what each needs. The address keeps the choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
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
"""Session key of the selections made for each run, as in the address; the last one counts."""

_HERE = Path(__file__).parent
_mount = widget("metric_picker", "picker", _HERE / "picker.js", _HERE / "picker.css")


def chosen_metrics(run: str, usual: Sequence[Metric]) -> tuple[Metric, ...]:
    """Return the metrics ticked or named in the address, else the `usual` ones; warns about unknown names."""
    named = st.query_params.get(ADDRESS)
    own: list[str] = st.session_state.get(TICKED, {}).get(run, [])
    if own and (named is None or named in own):  # a click that follows at once still comes with the old address
        if named != own[-1]:
            st.query_params[ADDRESS] = own[-1]
        named = own[-1]
    if named is None:
        return tuple(usual)
    if not named.strip():
        return ()
    try:
        return metrics_named(split_names(named), known_metrics())
    except SettingError as error:
        st.warning("This link names unknown metrics. The usual metrics are selected instead.", icon=":material/help:")
        plain(str(error))
        return tuple(usual)


def pick_metrics(run: str, chosen: Sequence[Metric], usual: Sequence[Metric], refused: Mapping[str, str]) -> None:
    """Draw all metrics, with `chosen` ticked; `refused` says why metrics cannot be scored, by identity."""
    known = known_metrics()
    offered = {metric.spec: metric for metric in (*usual, *chosen, *known.values())}
    groups = {
        title: [_item(one) for one in offered.values() if one.category == key] for key, title in CATEGORIES.items()
    }
    _mount(
        key=KEY,
        data={
            "groups": [{"title": title, "items": items} for title, items in groups.items() if items],
            "chosen": [metric.spec for metric in chosen],
            "refused": dict(refused),
        },
        on_chosen_change=partial(_keep, run),
    )


def _keep(run: str) -> None:
    chosen: Any = st.session_state[KEY].get("chosen")
    if chosen is not None:
        st.query_params[ADDRESS] = named = ",".join(map(str, chosen))
        earlier = st.session_state.get(TICKED, {}).get(run, [])
        st.session_state[TICKED] = {run: [*(one for one in earlier if one != named), named]}


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
