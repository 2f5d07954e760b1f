"""One sample in a report: its scores, its answer statement by statement, and its passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragboard.analysis import JudgedStatement, SampleReport
from ragboard.analysis.verdict_style import (
    EVIDENCE,
    VERDICTS,
    VerdictStyle,
    evidence_style,
    human_verdict_line,
    statement_style,
    what_passages_say,
)
from ragboard.htmlreport.elements import Element, Node, element
from ragboard.htmlreport.texts import answer_marked, cut, passage_marked, verdict_words
from ragboard.metrics.partition import ORIGINS
from ragboard.records import MetricDescription, Outcome, Passage, Score
from ragboard.spans import Stretch

__all__ = ["answer_note", "outcome_words", "passages_section", "sample_details", "scores_row", "titled"]


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
    statements = [_statement(said, number, report, place) for number, said in enumerate(report.statements, 1)]
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


def _statement(said: JudgedStatement, number: int, report: SampleReport, place: str) -> Element:
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
