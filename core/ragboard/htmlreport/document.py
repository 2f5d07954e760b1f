"""The document around a report: one file that asks nobody for anything and runs nothing."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files

from ragboard.analysis import BETTER, RunSummary, metric_range, metric_settings
from ragboard.htmlreport.elements import Element, Node, element, html
from ragboard.records import MetricDescription

__all__ = ["cells", "document", "facts_list", "made_section", "run_facts", "section", "table"]

STYLE = (files("ragboard") / "htmlreport" / "report.css").read_text("utf-8")


def document(title: str, *parts: Node) -> str:
    """The whole file. Its policy lets no script run, no picture load and no form be sent, whatever is in it."""
    style = b64encode(sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'"
    head = [
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", " ".join(title.split())),
    ]
    footer = element("footer", f"Written by ragboard{_version()}. This file runs nothing and loads nothing.")
    body = element("body", element("main", *parts), footer)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{"".join(map(html, head))}<style>{STYLE}</style></head>'
        f"{html(body)}</html>\n"
    )


def _version() -> str:
    """The installed version behind a space; nothing in a source tree that was never installed."""
    try:
        return f" {version('ragboard')}"
    except PackageNotFoundError:
        return ""


def section(title: str, place: str, *parts: Node) -> Element:
    """A part of the report under its heading."""
    return element("section", element("h2", title, id=place), *parts)


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Node]]) -> Element:
    """A table whose cells carry their column's title, for narrow pages where there is no head."""
    titles = element("tr", *(element("th", title, scope="col") for title in head))
    lines = [element("tr", *cells(head, row)) for row in rows]
    return element(
        "table", element("caption", caption), element("thead", titles), element("tbody", *lines), class_="wide"
    )


def cells(head: Sequence[str], row: Sequence[Node]) -> list[Element]:
    """A row's cells; the first is its heading."""
    first, *others = row
    return [
        element("th", first, scope="row"),
        *(element("td", cell, data_title=title) for title, cell in zip(head[1:], others, strict=True)),
    ]


def facts_list(facts: Mapping[str, str]) -> Element:
    """Names and what they are; those without a value are left out."""
    pairs = [element("div", element("dt", name), element("dd", said)) for name, said in facts.items() if said]
    return element("dl", *pairs)


def run_facts(summary: RunSummary) -> dict[str, str]:
    """What a run is and who judged it."""
    judged = summary.judged
    judge = "not evaluated"
    if judged:
        judge = f"{judged.judge}{' (a heuristic: rules of thumb, no model)' if judged.heuristic else ''}"
    config = ", ".join(f"{key} {value}" for key, value in summary.config.items())
    return {
        "Dataset": f"{summary.dataset}, {summary.samples:,} samples",
        "Configuration": config,
        "Judge": judge,
        "Evaluated": f"{judged.finished:%Y-%m-%d %H:%M} UTC" if judged else "",
        "Intervals": f"clustered by {summary.clustered}" if summary.clustered else "",
        "Covered": (judged.part or f"all {summary.samples:,} samples") if judged else "",
        "Spent": str(summary.spending) if summary.spending else "",
        "Tags": ", ".join(summary.tags),
        "Notes": summary.notes,
        "File": summary.source,
    }


def made_section(
    specs: Iterable[str], known: Mapping[str, MetricDescription], identities: Mapping[str, Mapping[str, str]]
) -> Element:
    """How the numbers were made: each metric's definition, and who answered what."""
    metrics = [_metric(known[spec]) for spec in specs if spec in known]
    judges = [
        element("div", element("h3", title), facts_list(identity)) for title, identity in identities.items() if identity
    ]
    return section("How the numbers were made", "made", *metrics, *judges)


def _metric(metric: MetricDescription) -> Element:
    facts = {
        "Name": metric.spec,
        "Formula": metric.formula,
        "Range": f"{metric_range(metric)}, {BETTER[metric.direction]}",
        "Asks a judge": metric.calls,
        "Settings": metric_settings(metric),
        "From": metric.paper,
    }
    return element("div", element("h3", metric.label), element("p", _plainly(metric.text)), facts_list(facts))


def _plainly(text: str) -> str:
    """A docstring as running text."""
    return " ".join(text.replace("`", "").split())
