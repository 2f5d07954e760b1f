"""Write the state of live traffic in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import get_args

from ragboard.analysis.monitoring import SeriesState, State
from ragboard.stats import Interval

__all__ = ["CONTENT_TYPE", "prometheus_text"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_HELP = {
    "ragboard_mean": "Mean of a metric over the samples of the last 7 days.",
    "ragboard_mean_low": "Lower end of the 95% confidence interval of the mean.",
    "ragboard_mean_high": "Upper end of the 95% confidence interval of the mean.",
    "ragboard_samples": "Scored samples of the last 7 days.",
    "ragboard_state": "1 for the current state of a series, 0 for the others.",
}


def prometheus_text(states: Iterable[SeriesState]) -> str:
    """Return the metrics of all series. A mean or interval that was not computed is left out."""
    rows: dict[str, list[str]] = {name: [] for name in _HELP}
    for state in states:
        for name, labels, value in _values(state):
            shown = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
            rows[name].append(f"{name}{{{shown}}} {value!r}\n")
    return "".join(
        f"# HELP {name} {_HELP[name]}\n# TYPE {name} gauge\n{''.join(lines)}" for name, lines in rows.items()
    )


def _values(state: SeriesState) -> Iterator[tuple[str, dict[str, str], float]]:
    labels = {"dataset": state.dataset, "metric": state.metric, "judge": state.judge}
    if state.mean is not None:
        yield "ragboard_mean", labels, float(state.mean)
    if isinstance(state.interval, Interval):
        yield "ragboard_mean_low", labels, float(state.interval.low)
        yield "ragboard_mean_high", labels, float(state.interval.high)
    yield "ragboard_samples", labels, float(state.samples)
    for name in get_args(State):
        yield "ragboard_state", labels | {"state": name}, float(state.state == name)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
