"""Estimates as HTML: every interval of the page on one scale, the words beside it saying all that it shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from ragboard.human.systems import SystemDifference, SystemEstimate, SystemsReport
from ragboard.spans import inert
from ragboard.stats import Interval, NoInterval, PoweredMean, Ranked

__all__ = ["differences_html", "estimates_html", "ranking_html"]

WAYS = (
    ("tuned", "PPI++", "labels and judge, the judge trusted as far as it earns"),
    ("ppi", "PPI", "labels and judge, the judge trusted fully"),
    ("classical", "Labels alone", "what people said, without the judge"),
    ("judge_only", "Judge alone", "narrow, and off by however much the judge is"),
)


def estimates_html(report: SystemsReport, *, raw: bool) -> str:
    """A table for each system that has an estimate."""
    shown = [one for one in report.systems if one.means]
    low, high = _ends([_interval(way, raw=raw) for one in shown for way in _ways(one)])
    return "".join(_system(one, low, high, raw=raw) for one in shown)


def differences_html(differences: Sequence[SystemDifference]) -> str:
    """A row for each two systems: grey words where the interval holds 0."""
    intervals = [one.interval for one in differences if isinstance(one.interval, Interval)]
    low, high = _ends([*intervals, None], around=0.0)
    rows = "".join(_difference(one, low, high) for one in differences)
    head = f"<tr><th>difference</th><th>{low:.2f} to {high:.2f}</th><th>95% interval</th><th>from</th></tr>"
    return f'<table class="rb-estimates"><thead>{head}</thead><tbody>{rows}</tbody></table>'


def ranking_html(ranking: Sequence[Ranked]) -> str:
    """The order, and the ranks that are left open."""
    rows = "".join(
        f"<tr><th>{one.rank}</th><td>{_safe(one.name)}</td><td>{one.estimate:.3f}</td><td>{_ranks(one)}</td></tr>"
        for one in ranking
    )
    head = "<tr><th>rank</th><th>run</th><th>estimate</th><th>ranks left open</th></tr>"
    return f'<table class="rb-estimates"><thead>{head}</thead><tbody>{rows}</tbody></table>'


def _ranks(one: Ranked) -> str:
    return f"{one.best}" if one.best == one.worst else f"{one.best} to {one.worst}"


def _system(one: SystemEstimate, low: float, high: float, *, raw: bool) -> str:
    rows = "".join(
        _way(getattr(one.means, name), title, note, low, high, best=getattr(one.means, name) is one.best, raw=raw)
        for name, title, note in WAYS
    )
    titles = ("way", "estimate and 95% interval", f"on one scale, {low:.2f} to {high:.2f}", "from", "worth")
    head = "".join(f"<th>{title}</th>" for title in titles)
    caption = f"{_safe(one.name)} <small>{one.labels:,} of {one.items:,} samples labelled{_right(one)}</small>"
    body = f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody>"
    return f'<table class="rb-estimates"><caption>{caption}</caption>{body}</table>'


def _right(one: SystemEstimate) -> str:
    return f"; judge right on {_told(one.accuracy)} of these" if isinstance(one.accuracy, Interval) else ""


def _way(
    found: PoweredMean | NoInterval, title: str, note: str, low: float, high: float, *, best: bool, raw: bool
) -> str:
    css = " ".join(filter(None, ["rb-best" if best else "", "rb-judge" if title == "Judge alone" else ""]))
    name = f'<th scope="row" title="{_safe(note)}">{title}</th>'
    if isinstance(found, NoInterval):
        return f'<tr class="{css}">{name}<td class="rb-why" colspan="4">none: {_safe(found.reason)}</td></tr>'
    interval = found.interval if raw else found.clipped
    source = ", ".join(
        f"{count:,} {what}" for count, what in ((found.labels, "labels"), (found.judged, "judged")) if count
    )
    worth = f"{found.worth:,.0f} labels" if found.worth is not None and found.labels else ""
    return (
        f'<tr class="{css}">{name}<td>{_told(interval)}</td>'
        f'<td class="rb-scale">{_track(interval, low, high)}</td><td>{source}</td><td>{worth}</td></tr>'
    )


def _difference(one: SystemDifference, low: float, high: float) -> str:
    name = f'<th scope="row">{_safe(one.b)} less {_safe(one.a)}</th>'
    how = f"{one.labels:,} labels, {'paired' if one.paired else 'as if unrelated'}"
    if isinstance(one.interval, NoInterval):
        return f'<tr>{name}<td class="rb-why" colspan="3">none: {_safe(one.interval.reason)}</td></tr>'
    return (
        f'<tr>{name}<td class="rb-scale">{_track(one.interval, low, high)}</td>'
        f"<td>{_told(one.interval)} {_sign(one.interval)}</td><td>{how}</td></tr>"
    )


def _sign(found: Interval) -> str:
    if found.low <= 0 <= found.high:
        return "= holds 0"
    return "▲ above 0" if found.low > 0 else "▼ below 0"


def _ways(one: SystemEstimate) -> Iterable[PoweredMean | NoInterval]:
    return (getattr(one.means, name) for name, _, _ in WAYS)


def _interval(found: PoweredMean | NoInterval, *, raw: bool) -> Interval | None:
    if isinstance(found, NoInterval):
        return None
    return found.interval if raw else found.clipped


def _ends(intervals: Sequence[Interval | None], around: float | None = None) -> tuple[float, float]:
    ends = [end for one in intervals if one for end in (one.low, one.high)]
    ends += [] if around is None else [around]
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    return (low, high) if high - low > 1e-9 else (low - 0.5, high + 0.5)


def _track(found: Interval, low: float, high: float) -> str:
    start, end, at = (100 * (value - low) / (high - low) for value in (found.low, found.high, found.estimate))
    return (
        f'<div class="rb-track" aria-hidden="true"><i style="left:{start:.2f}%;width:{end - start:.2f}%"></i>'
        f'<b style="left:{at:.2f}%"></b></div>'
    )


def _told(found: Interval) -> str:
    return f"{found.estimate:.3f} [{found.low:.3f}, {found.high:.3f}]"


def _safe(text: str) -> str:
    return escape(inert(text))
