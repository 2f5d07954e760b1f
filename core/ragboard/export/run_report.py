"""One sample in a report: its scores, its answer statement by statement, and its passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragboard.analysis import (
    POLICIES,
    Distribution,
    FailureKind,
    Hallucination,
    HallucinationPage,
    HallucinationQuery,
    JudgedStatement,
    MetricSummary,
    RunSummary,
    SampleQuery,
    SampleReport,
    UnscoredPolicy,
    distribution,
    failures,
    hallucinations,
    metric_descriptions,
    ragas_score,
    run_summary,
    sample_report,
    sample_rows,
)
from ragboard.analysis.runs import judge_identity
from ragboard.analysis.verdict_style import (
    ARROWS,
    EVIDENCE,
    VERDICTS,
    VerdictStyle,
    evidence_style,
    human_verdict_line,
    statement_style,
    what_passages_say,
)
from ragboard.export.html import (
    Element,
    Node,
    answer_marked,
    cut,
    document,
    element,
    facts_list,
    histogram,
    interval_chart,
    made_section,
    origin_look,
    origins_bar,
    passage_marked,
    run_facts,
    section,
    table,
    verdict_bar,
    verdict_words,
)
from ragboard.metrics.partition import ORIGINS
from ragboard.records import MetricDescription, Outcome, Passage, Score
from ragboard.spans import Stretch
from ragboard.stats import Interval, NoInterval
from ragboard.store import RunRef, Store

__all__ = ["SAMPLES", "answer_note", "outcome_words", "passages_section", "run_report", "titled"]


def titled(spec: str, known: Mapping[str, MetricDescription]) -> str:
    """How a metric is called."""
    return known[spec].label if spec in known else spec


def outcome_words(outcome: Outcome) -> tuple[str, str]:
    """A score, or that there is none; and what it was counted from, or why."""
    if isinstance(outcome, Score):
        return f"{outcome.value:.2f}", outcome.counted
    return "unscored", f"{outcome.reason}: {outcome.detail}"


def scores_row(outcomes: Mapping[str, Outcome], known: Mapping[str, MetricDescription]) -> Element:
    """The scores of a sample, each with what it was counted from."""
    pieces: list[Node] = []
    for spec, outcome in outcomes.items():
        shown, note = outcome_words(outcome)
        title = element("div", element("b", shown), f" {titled(spec, known)}")
        pieces.append(element("div", title, element("div", note, class_="note")))
    return element("div", *pieces, class_="facts")


def sample_details(report: SampleReport, known: Mapping[str, MetricDescription], place: str) -> Element:
    """A sample that opens to all that is known of it; `place` is its address in the document."""
    sample = report.sample
    statements = [_statement_details(said, number, report, place) for number, said in enumerate(report.statements, 1)]
    return element(
        "details",
        element("summary", _marks(report.statements), element("span", cut(sample.question)[0], class_="question")),
        element(
            "article",
            element("p", f"Sample {sample.id}", class_="note", id=place),
            scores_row({**report.scores, **report.file_scores}, known),
            element("div", _answer(report, place), _listed("Statements", statements)),
            element("div", passages_section(sample.contexts, report.statements, place), *_more(report)),
            class_="sample",
        ),
    )


def answer_note(report: SampleReport) -> str:
    """What there is to say of an answer as a whole; mostly nothing."""
    if report.sample.answer is None:
        return "The run file has no answer for this question."
    if not report.sample.answer.strip():
        return "The answer is empty."
    return "The answer declines to answer, at least in part." if report.refuses else ""


def passages_section(
    passages: Sequence[Passage] | None, statements: Sequence[JudgedStatement], place: str
) -> Element | None:
    """The passages, with what they have to do with the statements marked in them."""
    if passages is None:
        return element("p", "The run file has no passages for this question.", class_="note")
    return _listed(f"Passages ({len(passages)})", [_passage(passage, statements, place) for passage in passages])


def _marks(statements: Sequence[JudgedStatement]) -> Element:
    counts = dict.fromkeys(VERDICTS.values(), 0)
    for said in statements:
        look = next((one for one in counts if one.icon == statement_style(said).icon), None)
        if look:
            counts[look] += 1
    words = [
        element("span", f"{look.icon} {count}", class_=f"tone {look.css}", title=f"{count} {look.word}")
        for look, count in counts.items()
        if count
    ]
    return element("span", *words, class_="marks")


def _answer(report: SampleReport, place: str) -> Element:
    shown, rest = cut(report.sample.answer or "")
    note = answer_note(report)
    return element(
        "section",
        element("h3", "Answer"),
        element("p", note, class_="note") if note else None,
        element("div", *answer_marked(shown, report.statements, place), class_="text answer"),
        element("p", rest, class_="note") if rest else None,
    )


def _listed(title: str, items: Sequence[Node]) -> Element | None:
    return element("section", element("h3", title), element("ol", *items, class_="plain")) if items else None


def _statement_details(said: JudgedStatement, number: int, report: SampleReport, place: str) -> Element:
    ranks = {passage.rank for passage in report.sample.contexts or ()}
    reason = said.verdict.reason if said.verdict else ""
    notes = [reason, what_passages_say(said, ranks), ORIGINS[said.origin] if said.origin else ""]
    if said.verdict and said.verdict.score is not None:
        notes.append(f"support {said.verdict.score:.2f}")
    notes += [human_verdict_line(one) for one in said.people]
    return element(
        "li",
        element("div", f"{number} ", verdict_words(statement_style(said)), class_="verdict"),
        element("div", element("div", cut(said.statement.text)[0], class_="text"), *_notes(notes)),
        id=f"{place}-{number}",
        class_="statement",
    )


def _notes(notes: Sequence[str]) -> list[Node]:
    return [element("div", cut(note)[0], class_="note") for note in dict.fromkeys(filter(None, notes))]


def _passage(passage: Passage, statements: Sequence[JudgedStatement], place: str) -> Element:
    shown, rest = cut(passage.text)
    evidence, hows = _evidence(passage.rank, statements)
    about = [passage.id, "" if passage.score is None else f"score {passage.score:.4g}", ", ".join(hows)]
    return element(
        "li",
        element("div", f"{passage.rank} ", element("span", " · ".join(filter(None, about))), class_="note"),
        element("div", *passage_marked(shown, evidence, place), class_="text"),
        element("p", rest, class_="note") if rest else None,
        class_="passage",
    )


def _evidence(
    rank: int, statements: Sequence[JudgedStatement]
) -> tuple[dict[int, tuple[Stretch, VerdictStyle, int]], list[str]]:
    """What in a passage speaks of which statement, and how that was found."""
    found: list[tuple[Stretch, VerdictStyle, int]] = []
    hows: dict[str, None] = {}
    for number, said in enumerate(statements):
        alone = said.single.get(rank) if said.verdict is None else None
        verdict = said.verdict or (alone if alone and alone.label != "unsupported" else None)
        for mark in verdict.evidence if verdict else ():
            if verdict and mark.rank == rank:
                found.append(((mark.start, mark.end), evidence_style(verdict, mark), number))
                hows[EVIDENCE[mark.how]] = None
    return dict(enumerate(found)), list(hows)


def _more(report: SampleReport) -> list[Node]:
    sample = report.sample
    asked = [
        element("li", f"{one.similarity:.2f} ", element("span", one.question, class_="text"))
        for one in report.questions
    ]
    said = [
        element("li", f"{one}{'. ' if one.reason else ''}", element("span", cut(one.reason)[0], class_="text"))
        for one in report.judgements
    ]
    turns = [element("li", f"{turn.role}: ", element("span", cut(turn.text)[0])) for turn in sample.history]
    reference = [element("li", cut(sample.reference)[0], class_="text")] if sample.reference else []
    return [
        _listed("Reference", reference),
        _listed("Questions this answer would answer", asked),
        _listed("What else the judge said", said),
        _listed("Earlier in the conversation", turns),
    ]


SAMPLES = 50
STATEMENTS = 100
"""Statements that are listed apart from their samples."""

Known = Mapping[str, MetricDescription]


def run_report(store: Store, run: RunRef, *, samples: int = SAMPLES, unscored: UnscoredPolicy = "excluded") -> str:
    """One run as one HTML file: `samples` of its samples in full, those with most unsupported statements first.

    `unscored` says how samples without a score count in the means; the file says so too. It holds its own pictures and
    style, asks no other for anything, and has no script. The same store gives the same file. Raises NotFoundError where
    the run is gone.
    """
    summary = run_summary(store, run, unscored=unscored)
    known = metric_descriptions(store)
    shown = {**summary.metrics, **summary.file_scores}
    reports = _worst(store, run, next(iter(shown), ""), samples)
    found = hallucinations(store, HallucinationQuery(runs=(run,), limit=STATEMENTS))
    kinds = failures(store, run)
    return document(
        f"{summary.name} · ragboard",
        element("header", element("p", "Run", class_="note"), element("h1", summary.name)),
        facts_list(run_facts(summary)),
        _contents(bool(shown), bool(found.total), bool(kinds)),
        _metrics(store, run, summary, known, unscored) if shown else element("p", "This run was never evaluated."),
        _statements(summary, found, {report.sample.id: place for place, report in enumerate(reports, 1)}),
        _samples(reports, summary, known),
        _failures(kinds, known),
        made_section(shown, known, {"Who answered": judge_identity(store, run)}),
    )


def _worst(store: Store, run: RunRef, metric: str, samples: int) -> list[SampleReport]:
    page = sample_rows(store, run, SampleQuery(column=metric, order="worst", limit=samples))
    return [sample_report(store, run, row.sample_id) for row in page.rows]


def _contents(metrics: bool, statements: bool, failed: bool) -> Element:  # noqa: FBT001
    there = {
        "metrics": ("Metrics", metrics),
        "statements": ("Statements not supported", statements),
        "samples": ("Samples", True),
        "failures": ("Failures", failed),
        "made": ("How the numbers were made", True),
    }
    links = [element("a", title, href=f"#{place}") for place, (title, is_there) in there.items() if is_there]
    return element("nav", *links, aria_label="Contents")


def _metrics(store: Store, run: RunRef, summary: RunSummary, known: Known, unscored: UnscoredPolicy) -> Element:
    head = ["Metric", "Mean, 95% interval", "On the metric's range", "Distribution", "Scored"]
    rows = [
        [*_metric(metric, distribution(store, run, spec), known.get(spec), from_file=spec in summary.file_scores)]
        for spec, metric in {**summary.metrics, **summary.file_scores}.items()
    ]
    score = ragas_score(summary.metrics)
    said = f"ragas score {score.value:.3f}: {score.counted}" if isinstance(score, Score) else None
    return section(
        "Metrics",
        "metrics",
        table(f"Unscored samples {POLICIES[unscored]}.", head, rows),
        element("p", said, class_="note") if said else None,
    )


def _metric(
    metric: MetricSummary, spread: Distribution, description: MetricDescription | None, *, from_file: bool
) -> list[Node]:
    low, high = spread.bins[0].low, spread.bins[-1].high
    arrow = ARROWS[description.direction] if description else ""
    label = description.label if description else metric.metric
    unscored = "; ".join(f"{count:,} {reason}" for reason, count in metric.unscored.items())
    return [
        _noted(f"{label}\N{NO-BREAK SPACE}{arrow}", "from the run file, not counted here" if from_file else ""),
        _noted(_mean(metric), _bounds(metric.interval)),
        _scaled(interval_chart(None if metric.bounds else metric.mean, metric.interval, low, high), low, high)
        if metric.bounds or metric.mean is not None
        else None,
        None if metric.mean is None else _scaled(histogram(spread.bins), low, high),
        _noted(
            f"{metric.scored:,} of {metric.total:,}",
            "; ".join(filter(None, [f"unscored: {unscored}" if unscored else "", metric.note])),
        ),
    ]


def _mean(metric: MetricSummary) -> str:
    if metric.bounds:
        return f"{metric.bounds[0]:.3f} to {metric.bounds[1]:.3f}"
    return "unscored" if metric.mean is None else f"{metric.mean:.3f}"


def _noted(said: str, note: str) -> Element:
    return element("div", said, element("div", note, class_="note") if note else None)


def _scaled(chart: Element, low: float, high: float) -> Element:
    ends = element("div", element("span", f"{low:g}"), element("span", f"{high:g}"), class_="ends note")
    return element("div", chart, ends)


def _bounds(found: Interval | NoInterval) -> str:
    if not isinstance(found, Interval):
        return found.reason
    return "; ".join(filter(None, [f"{found.low:.3f} to {found.high:.3f}, {found.method}", found.warning]))


def _statements(summary: RunSummary, found: HallucinationPage, places: Mapping[str, int]) -> Element | None:
    if not found.labels:
        return None
    judged = sum(found.labels.values())
    counts = [
        element("span", verdict_words(look), f" {found.labels.get(label, 0):,}") for label, look in VERDICTS.items()
    ]
    rest = f" The worst {len(found.rows):,} are listed." if len(found.rows) < found.total else ""
    head = ["Verdict", "Statement", "Question"]
    listed = table(
        f"{found.total:,} of {judged:,} statements of the answers are not supported by their passages.{rest}",
        head,
        [_statement(row, places) for row in found.rows],
    )
    return section(
        "Statements the passages do not support",
        "statements",
        verdict_bar(found.labels),
        element("div", *counts, class_="counts"),
        _origins(summary),
        listed if found.rows else None,
    )


def _statement(row: Hallucination, places: Mapping[str, int]) -> list[Node]:
    place = places.get(row.sample_id)
    reason = row.said.verdict.reason if row.said.verdict else row.said.alone_in_words
    said = element(
        "div",
        element("div", cut(row.said.statement.text)[0], class_="text"),
        element("div", cut(reason)[0], class_="note"),
    )
    question = cut(row.question)[0]
    link = element("a", question, href=f"#s{place}-{row.number}") if place else question
    return [verdict_words(statement_style(row.said)), said, link]


def _origins(summary: RunSummary) -> Element | None:
    """Where the statements come from, where all that this takes was judged."""
    if not summary.origins:
        return None
    counts = [
        element(
            "div",
            element("span", class_=f"swatch {origin_look(origin)}"),
            f" {summary.origins.get(origin, 0):,} {said}",
        )
        for origin, said in ORIGINS.items()
    ]
    return element(
        "div",
        element("h3", "Right or wrong, and from where"),
        origins_bar(summary.origins),
        element("div", *counts, class_="origins"),
        element(
            "p",
            "Right: the reference says so. Relevant: the passage says something that the reference says.",
            class_="note",
        ),
    )


def _samples(reports: list[SampleReport], summary: RunSummary, known: Known) -> Element:
    said = f"{len(reports):,} of {summary.samples:,} samples, those with most unsupported statements first."
    details = [sample_details(report, known, f"s{place}") for place, report in enumerate(reports, 1)]
    return section("Samples", "samples", element("p", said, class_="note"), *details)


def _failures(kinds: tuple[FailureKind, ...], known: Known) -> Element | None:
    if not kinds:
        return None
    rows: list[list[Node]] = [
        [
            kind.message,
            f"{kind.count:,} scores of {kind.samples:,} samples",
            ", ".join(titled(spec, known) for spec in kind.metrics),
            _noted(cut(kind.example)[0], f"sample {kind.sample_id}"),
        ]
        for kind in kinds
    ]
    head = ["What failed", "How often", "Metrics", "For example"]
    return section("Failures", "failures", table("Scores that are missing because a judge failed.", head, rows))
