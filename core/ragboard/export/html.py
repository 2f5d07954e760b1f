"""HTML as a tree of elements, and the document around a report: one file that asks nobody for anything.

Text goes in as text and comes out as text, and nothing in it runs.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import TypeAlias

from ragboard.analysis import BETTER, Bin, JudgedStatement, RunSummary, metric_range, metric_settings
from ragboard.analysis.verdict_style import VERDICTS, WORST_FIRST, VerdictStyle, statement_style
from ragboard.metrics.partition import CORRECT, FROM_PASSAGES, ORIGINS, Origin
from ragboard.records import Label, MetricDescription
from ragboard.spans import Stretch, inert, layered
from ragboard.stats import Interval, NoInterval

__all__ = [
    "LONGEST",
    "Element",
    "Node",
    "answer_marked",
    "cut",
    "difference_chart",
    "document",
    "element",
    "facts_list",
    "histogram",
    "html",
    "interval_chart",
    "made_section",
    "origins_bar",
    "passage_marked",
    "readable",
    "run_facts",
    "section",
    "table",
    "verdict_bar",
    "verdict_words",
]


_VOID = frozenset({"br", "meta"})
_UNREADABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_OWN_ADDRESS = re.compile("#[a-z0-9-]*")


@dataclass(frozen=True, slots=True)
class Element:
    """A tag with its attributes and what is in it."""

    tag: str
    attributes: tuple[tuple[str, str], ...]
    children: tuple[Node, ...]


Node: TypeAlias = "Element | str | None"
"""None is nothing."""


def element(tag: str, *children: Node, **attributes: object) -> Element:
    """An element; `class_` stands for class, `_` for `-`, True for an attribute without value, None for none.

    Raises ValueError for a link out of the document: a report leads nowhere else.
    """
    if "href" in attributes and not _OWN_ADDRESS.fullmatch(str(attributes["href"])):
        raise ValueError(f"{attributes['href']!r} is no place in the document")
    given = ((name.rstrip("_").replace("_", "-"), value) for name, value in attributes.items())
    kept = tuple((name, "" if value is True else str(value)) for name, value in given if value not in (None, False))
    return Element(tag, kept, children)


def html(node: Node) -> str:
    """The node as HTML."""
    return "".join(_written(node))


def readable(text: str) -> str:
    """The text as a file in UTF-8 and a page can hold it; every position stays.

    What no text holds (controls, half of a character) becomes a replacement character, and what would reorder
    its surroundings is taken out.
    """
    return _UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", inert(text))


def _written(node: Node) -> Iterator[str]:
    if node is None:
        return
    if isinstance(node, str):
        yield escape(readable(node))
        return
    attributes = "".join(f' {name}="{escape(readable(value))}"' for name, value in node.attributes)
    yield f"<{node.tag}{attributes}>"
    if node.tag not in _VOID:
        for child in node.children:
            yield from _written(child)
        yield f"</{node.tag}>"


LONGEST = 20_000
"""Characters of a text that a report shows."""

Worst = Callable[[int], VerdictStyle]


def cut(text: str) -> tuple[str, str]:
    """As much of a text as is shown, and what to say of the rest."""
    if len(text) <= LONGEST:
        return text, ""
    return text[:LONGEST], f"The first {LONGEST:,} of {len(text):,} characters are shown."


def verdict_words(look: VerdictStyle) -> Element:
    """A verdict as icon and word."""
    return element("span", element("span", look.icon, class_="icon", aria_hidden="true"), look.word, class_=_tone(look))


def answer_marked(answer: str, statements: Sequence[JudgedStatement], place: str) -> list[Node]:
    """The answer; behind each statement its icon, its number and, unless it is supported, the word."""
    spans = {
        number: (said.statement.span.start, said.statement.span.end)
        for number, said in enumerate(statements)
        if said.statement.span
    }
    return _marked(answer, spans, lambda number: statement_style(statements[number]), f"{place}-", worded=True)


def passage_marked(text: str, evidence: Mapping[int, tuple[Stretch, VerdictStyle, int]], place: str) -> list[Node]:
    """A passage; behind each piece of evidence the number of the statement it speaks of.

    `evidence` is numbered as it comes: where, how it looks, and which statement (from 0).
    """
    spans = {number: stretch for number, (stretch, _, _) in evidence.items()}
    statements = {number: of for number, (_, _, of) in evidence.items()}
    return _marked(text, spans, lambda number: evidence[number][1], f"{place}-", numbers=statements)


def _marked(
    text: str,
    spans: Mapping[int, Stretch],
    look: Worst,
    place: str,
    *,
    numbers: Mapping[int, int] | None = None,
    worded: bool = False,
) -> list[Node]:
    nodes: list[Node] = []
    last = 0
    for piece in layered(spans, len(text)):
        nodes.append(text[last : piece.start])
        worst = min((look(member) for member in piece.members), key=lambda one: WORST_FIRST.index(one.css))
        nodes.append(element("mark", text[piece.start : piece.end], class_=_tone(worst)))
        ending = [member for member in piece.members if min(spans[member][1], len(text)) == piece.end]
        shown = dict.fromkeys((numbers[member] if numbers else member, look(member)) for member in ending)
        nodes.extend(_note(number, one, place, worded=worded) for number, one in shown)
        last = piece.end
    return [*nodes, text[last:]]


def _note(number: int, look: VerdictStyle, place: str, *, worded: bool) -> Element:
    word = f" {look.word}" if worded and not look.css.startswith("supported") else ""
    return element("a", f"{look.icon}{number + 1}{word}", class_=f"ref {_tone(look)}", href=f"#{place}{number + 1}")


def _tone(look: VerdictStyle) -> str:
    return f"tone {look.css}"


WIDTH, HEIGHT = 240, 18
PAD = 6
TALL = 34
"""Height of a histogram."""


def interval_chart(mean: float | None, interval: Interval | NoInterval, low: float, high: float) -> Element:
    """A mean, unless it is None, and its interval on the scale from `low` to `high`."""
    return _whisker(mean, interval, low, high, class_="chart data")


def difference_chart(difference: float, interval: Interval | NoInterval, reach: float, look: str) -> Element:
    """A difference and its interval on the scale from `-reach` to `reach`, with a line at none."""
    return _whisker(difference, interval, -reach, reach, class_=f"chart {look}", zero=True)


def histogram(bins: Sequence[Bin]) -> Element:
    """How many values fall into each bin."""
    most = max((part.count for part in bins), default=0) or 1
    wide = (WIDTH - 2 * PAD) / len(bins)
    bars = [
        element(
            "rect",
            x=_at(PAD + place * wide + 0.5),
            y=_at(TALL - tall),
            width=_at(wide - 1),
            height=_at(tall),
            class_="bin",
        )
        for place, part in enumerate(bins)
        if (tall := (TALL - 2) * part.count / most)
    ]
    ground = element("line", x1=PAD, x2=WIDTH - PAD, y1=TALL, y2=TALL, class_="axis")
    return _picture(ground, *bars, height=TALL, class_="chart data")


def verdict_bar(labels: Mapping[Label, int]) -> Element:
    """The share of each verdict, side by side."""
    return _bar([(count, look.css) for label, look in VERDICTS.items() if (count := labels.get(label, 0))])


def origins_bar(counts: Mapping[Origin, int]) -> Element:
    """The share of each class of the six-way partition, side by side."""
    return _bar([(count, origin_look(origin)) for origin in ORIGINS if (count := counts.get(origin, 0))])


def origin_look(origin: Origin) -> str:
    """Solid: from a relevant passage; paler: from an irrelevant one; only framed: from none."""
    right = "right" if origin in CORRECT else "wrong"
    if origin not in FROM_PASSAGES:
        return f"{right} framed"
    return f"{right} solid" if origin in ("right_relevant", "wrong_relevant") else f"{right} pale"


def _bar(parts: Sequence[tuple[int, str]]) -> Element:
    total, start = sum(count for count, _ in parts) or 1, 0.0
    pieces: list[Element] = []
    for count, look in parts:
        wide = 1000 * count / total
        pieces.append(
            element("rect", x=_at(start + 1), y=1, width=_at(max(wide - 2, 1)), height=14, class_=f"part {look}")
        )
        start += wide
    return element("svg", *pieces, viewBox="0 0 1000 16", preserveAspectRatio="none", class_="bar", aria_hidden="true")


def _whisker(
    value: float | None, interval: Interval | NoInterval, low: float, high: float, *, class_: str, zero: bool = False
) -> Element:
    def at(place: float) -> str:
        share = (min(max(place, low), high) - low) / ((high - low) or 1)
        return _at(PAD + share * (WIDTH - 2 * PAD))

    middle = HEIGHT / 2
    parts = [element("line", x1=PAD, x2=WIDTH - PAD, y1=middle, y2=middle, class_="axis")]
    if zero:
        parts.append(element("line", x1=at(0), x2=at(0), y1=0, y2=HEIGHT, class_="zero"))
    if isinstance(interval, Interval):
        parts.append(element("line", x1=at(interval.low), x2=at(interval.high), y1=middle, y2=middle, class_="whisker"))
    if value is not None:
        parts.append(element("circle", cx=at(value), cy=middle, r=4, class_="dot"))
    return _picture(*parts, height=HEIGHT, class_=class_)


def _picture(*parts: Element, height: int, class_: str) -> Element:
    return element("svg", *parts, viewBox=f"0 0 {WIDTH} {height}", class_=class_, aria_hidden="true")


def _at(place: float) -> str:
    return f"{place:.1f}"


STYLE = (files("ragboard") / "export" / "report.css").read_text("utf-8")


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
