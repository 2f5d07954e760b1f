"""Two runs as a report: the result, what else differs, and the questions that got worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragboard.analysis import (
    Comparison,
    JudgedStatement,
    MetricComparison,
    PairQuery,
    PairReport,
    PairRow,
    SampleReport,
    StatementChange,
    Unpaired,
    UnscoredPolicy,
    comparable_refs,
    compare_runs,
    metric_descriptions,
    pair_report,
    pair_rows,
    pair_runs,
)
from ragboard.analysis.runs import judge_identity
from ragboard.analysis.verdict_style import ARROWS, CHANGE_STYLES, CHANGES, KINDS, MATCHED_BY, statement_style
from ragboard.export.html import (
    LONGEST,
    Element,
    Node,
    cut,
    difference_chart,
    document,
    element,
    facts_list,
    made_section,
    run_facts,
    section,
    table,
    verdict_words,
)
from ragboard.export.run_report import answer_note, outcome_words, passages_section, titled
from ragboard.records import MetricDescription
from ragboard.stats import Interval
from ragboard.store import RunRef, Store

__all__ = ["PAIRS", "comparison_report"]


PAIRS = 20

Known = Mapping[str, MetricDescription]


def comparison_report(
    store: Store,
    a: RunRef,
    b: RunRef,
    *,
    samples: int = PAIRS,
    metric: str = "",
    unscored: UnscoredPolicy = "excluded",
) -> str:
    """Run B against run A as one HTML file: `samples` pairs in full, the greatest losses by `metric` first.

    Without a metric by the first that got worse, else the first; `unscored` says how samples without a score count in
    the differences. As `run_report`, the file asks no other for
    anything. Raises NotFoundError where a run is gone or the runs do not share the metric.
    """
    a, b = comparable_refs(store, a, b)
    pairing = pair_runs(store, a, b)
    compared = compare_runs(store, a, b, pairing, unscored=unscored)
    known = metric_descriptions(store)
    by = metric or _telling(compared)
    rows = pair_rows(store, a, b, pairing, PairQuery(metric=by, limit=samples)).rows if by else ()
    pairs = [(row, pair_report(store, a, b, pairing, row.sample_a)) for row in rows]
    title = f"{compared.b.name} against {compared.a.name}"
    return document(
        f"{title} · ragboard",
        element("header", element("p", "Comparison", class_="note"), element("h1", title)),
        element("p", compared.sentence, class_="lead"),
        *([element("p", f"Judge: {compared.judged_by}", class_="note")] if compared.judged_by else []),
        *_cautions(compared),
        _metrics(compared),
        _runs(compared),
        _pairs(pairs, compared, titled(by, known)),
        made_section(
            [one.metric for one in compared.metrics],
            known,
            {"Who answered for A": judge_identity(store, a), "Who answered for B": judge_identity(store, b)},
        ),
    )


def _telling(compared: Comparison) -> str:
    """The first metric that got worse, else the first there is a pair of; empty where there is none."""
    there = [one for one in compared.metrics if one.pairs]
    return next((one.metric for one in there if one.change == "worse"), there[0].metric if there else "")


def _cautions(compared: Comparison) -> list[Node]:
    said = list(compared.cautions)
    if compared.refusals and compared.refusals.warning:
        said.append(f"{compared.refusals.warning}.")
    return [element("p", f"⚠ {caution}", class_="caution") for caution in said]


def _metrics(compared: Comparison) -> Element:
    head = [
        "Metric",
        "Difference B less A",
        "On one scale",
        "Verdict",
        "Mean A",
        "Mean B",
        "Pairs",
        "B higher / equal / lower",
    ]
    found = [one.pairs for one in compared.metrics if one.pairs]
    ends = [abs(one.difference) for one in found]
    ends += [
        abs(end) for one in found if isinstance(one.interval, Interval) for end in (one.interval.low, one.interval.high)
    ]
    reach = max(ends, default=0.0) or 1.0
    caption = "Differences with their 95% intervals, all on one scale; the dashed line is none. Grey: none was seen."
    return section(
        "Metrics",
        "metrics",
        table(caption, head, [_metric(one, reach) for one in compared.metrics]),
        element("p", _pairing(compared), class_="note"),
        *_refusals(compared),
    )


def _metric(one: MetricComparison, reach: float) -> list[Node]:
    title = f"{one.label}\N{NO-BREAK SPACE}{ARROWS[one.direction]}"
    found = one.pairs
    if found is None:
        return [title, "no pair is scored on both sides", None, one.change, "", "", "0", ""]
    look = CHANGE_STYLES.get(one.change, "none")
    p = f"p {one.p:.2g} (Holm)" if one.p is not None else ""
    return [
        title,
        _noted(f"{found.difference:+.3f}", _interval(one), found.warning),
        difference_chart(found.difference, found.interval, reach, look),
        element(
            "div", element("b", CHANGES.get(one.change, one.change), class_=look), element("div", p, class_="note")
        ),
        f"{found.first:.3f}",
        f"{found.second:.3f}",
        _noted(f"{found.n:,}", _unscored(one)),
        f"{found.sign.wins} / {found.ties} / {found.sign.losses}",
    ]


def _interval(one: MetricComparison) -> str:
    found = one.pairs.interval if one.pairs else None
    if isinstance(found, Interval):
        return f"{found.low:+.3f} to {found.high:+.3f}, {found.method}"
    return f"no interval: {found.reason}" if found else ""


def _unscored(one: MetricComparison) -> str:
    counts = {"only in A": one.scored_a, "only in B": one.scored_b, "in neither": one.unscored}
    said = [*filter(None, [one.note]), *(f"{count:,} scored {where}" for where, count in counts.items() if count)]
    for side, reasons in (("A", one.reasons_a), ("B", one.reasons_b)):
        if reasons:
            said.append(f"{side}: {', '.join(f'{count} {reason}' for reason, count in reasons.items())}")
    return "; ".join(said)


def _noted(said: str, *notes: str) -> Element:
    return element("div", said, *(element("div", note, class_="note") for note in notes if note))


def _refusals(compared: Comparison) -> list[Node]:
    said: list[str] = []
    found = compared.refusals
    if found:
        said.append(
            f"Refusals: {found.a:,} of A and {found.b:,} of B, of {found.n:,} pairs (McNemar p {found.test.p:.2g})."
        )
    if compared.claims_a is not None:
        said.append(f"Claims an answer makes, mean: {compared.claims_a:.1f} in A, {compared.claims_b:.1f} in B.")
    return [element("p", one, class_="note") for one in said]


def _pairing(compared: Comparison) -> str:
    by_id = compared.paired - compared.by_question
    by_question = f", {compared.by_question:,} by their question" if compared.by_question else ""
    return (
        f"{by_id:,} questions paired by sample id{by_question}; unpaired in A: {_left(compared.unpaired_a)};"
        f" unpaired in B: {_left(compared.unpaired_b)}."
    )


def _left(left: Unpaired) -> str:
    count = left.only + left.ambiguous
    if not count:
        return "none"
    unsure = f", {left.ambiguous:,} of them with several possible partners" if left.ambiguous else ""
    return f"{count:,}{unsure} ({', '.join(left.ids)}{', …' if count > len(left.ids) else ''})"


def _runs(compared: Comparison) -> Element:
    rows: list[list[Node]] = [[one.key, _given(one.a), _given(one.b)] for one in compared.config]
    differing = table("Settings that differ.", ["Setting", "A", "B"], rows) if rows else None
    sides = [
        element("div", element("h3", f"{side} · {run.name}"), facts_list(run_facts(run)))
        for side, run in (("A", compared.a), ("B", compared.b))
    ]
    return section(
        "The two runs",
        "runs",
        differing or element("p", "No setting differs.", class_="note"),
        element("div", *sides, class_="sides"),
    )


def _given(value: object) -> str:
    return "not set" if value is None else str(value)


def _pairs(pairs: Sequence[tuple[PairRow, PairReport]], compared: Comparison, metric: str) -> Element | None:
    if not pairs:
        return None
    said = (
        f"{len(pairs):,} of {compared.paired:,} pairs, the greatest losses by {metric} first."
        " Struck through: only in A. Bold and underlined: only in B."
    )
    details = [_pair(row, found, f"s{place}") for place, (row, found) in enumerate(pairs, 1)]
    return section("Questions", "samples", element("p", said, class_="note"), *details)


def _pair(row: PairRow, found: PairReport, place: str) -> Element:
    change = CHANGES[row.change]
    if row.difference is not None and row.change != "same":
        change = f"{change} {row.difference:+.2f}"
    mark = element("span", change, class_=f"marks {CHANGE_STYLES.get(row.change, 'none')}")
    scores = [_score(side, *outcome_words(outcome)) for side, outcome in (("A", row.a), ("B", row.b))]
    return element(
        "details",
        element("summary", mark, element("span", cut(row.question)[0], class_="question")),
        element(
            "article",
            element("p", f"Sample {row.sample_a}", class_="note", id=place),
            element("div", *scores, class_="facts"),
            element("div", _answer(found, found.a, "A", "new"), _answer(found, found.b, "B", "gone"), class_="sides"),
            _changes(found.statements),
            element(
                "div",
                *(_passages(side, one, f"{place}-{side.lower()}") for side, one in (("A", found.a), ("B", found.b))),
                class_="sides",
            ),
            class_="pair",
        ),
    )


def _score(side: str, shown: str, note: str) -> Element:
    return element("div", element("div", f"{side} ", element("b", shown)), element("div", note, class_="note"))


def _answer(found: PairReport, report: SampleReport, side: str, other: str) -> Element:
    note = answer_note(report)
    tags = {"same": "span", "gone": "del", "new": "ins"}
    words: list[Node] = []
    room = LONGEST
    for change in found.answers:
        if change.kind != other and room > 0:
            words.append(element(tags[change.kind], change.text[:room]))
            room -= len(change.text)
    return element(
        "section",
        element("h3", f"{side} · {report.run.name}"),
        element("p", note, class_="note") if note else None,
        element("div", *words, class_="text answer"),
        element("p", cut(report.sample.answer or "")[1], class_="note") if room < 0 else None,
    )


def _changes(changes: Sequence[StatementChange]) -> Element | None:
    if not changes:
        return None
    return element("section", element("h3", "Statements"), element("ol", *map(_change, changes), class_="plain"))


def _change(change: StatementChange) -> Element:
    icon, look = KINDS[change.kind]
    kind = element("div", element("b", f"{icon} {change.kind}"), *_note(MATCHED_BY[change.how]), class_=f"kind {look}")
    return element("li", kind, _said("A", change.a), _said("B", change.b), class_="change")


def _said(side: str, judged: JudgedStatement | None) -> Element:
    if judged is None:
        return element("div", f"not in {side}", class_="note")
    return element(
        "div",
        element("div", f"{side} ", verdict_words(statement_style(judged))),
        element("div", cut(judged.statement.text)[0], class_="text"),
        *_note(judged.verdict.reason if judged.verdict else ""),
    )


def _note(text: str) -> list[Node]:
    return [element("div", cut(text)[0], class_="note")] if text else []


def _passages(side: str, report: SampleReport, place: str) -> Element:
    return element(
        "details",
        element("summary", f"Passages of {side}"),
        passages_section(report.sample.contexts, (), place),
    )
