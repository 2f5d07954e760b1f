"""The Sample page: one answer and its statements, beside the passages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ragboard.analysis import SampleQuery, SampleReport, answer_is_reference
from ragboard.analysis.verdict_style import NUGGET_STYLES, VERDICT_STYLES
from ragboard.errors import NotFoundError, RagboardError
from ragboard.evaluation.calls import SampleCalls, TaskCalls
from ragboard.human.labels import label_statement, remove_label
from ragboard.readers.labels import human_grades
from ragboard.records import Importance, Label, Sample, Score
from ragboard.store import RunRef
from ragboard_dashboard.components import safe_key
from ragboard_dashboard.controls import breadcrumb, choose_run
from ragboard_dashboard.data import get_calls, get_grows, get_sample, get_sample_rows, resolve, store, writable
from ragboard_dashboard.links import link_html, link_to, number_in_url
from ragboard_dashboard.text import (
    Style,
    config_line,
    earlier_turns,
    facts,
    file_facts,
    folded_facts_html,
    grade_facts,
    html_escaped,
    markdown_escaped,
    outcome_fact,
    paragraphs,
    paragraphs_html,
    plain,
    shortened,
)
from ragboard_dashboard.updates import redraw_when
from ragboard_dashboard.views.sample.reader import statement_reader

__all__ = ["calls_html", "draw"]

IMPORTANCE: Mapping[Importance, str] = {"vital": " (vital)", "okay": " (good to have)"}
MAX_ID = 80
"""Maximum number of characters of a sample's id."""
CALLS_STYLE = """
<style>
.calls { font-size: 0.93rem; overflow-wrap: anywhere; }
.calls .call { padding: 0.55rem 0 0.6rem; border-top: 1px solid rgba(128, 128, 128, 0.35); }
.calls .quiet { opacity: 0.75; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
.calls summary { cursor: pointer; width: max-content; max-width: 100%; }
.calls pre {
  margin: 0.3rem 0 0.5rem; padding: 0.6rem 0.7rem; max-height: 28rem; overflow-y: auto;
  white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext;
  font-size: 0.87rem; background: rgba(128, 128, 128, 0.1);
}
</style>
"""


def draw() -> None:
    """Draw the page."""
    run = choose_run("Sample")
    if run is None:
        return
    breadcrumb(run, "sample", "Sample")  # the browser draws it while the sample is read
    report = _report(run)
    if report is None:
        return
    name = st.query_params["run"]  # it may name an evaluation
    st.html(_steps(report, name), width="content")
    earlier_turns(report.sample.history)
    judge = f"judged by {report.judged.in_words}" if report.judged else "not evaluated"
    about = [f"sample {shortened(report.sample.id, MAX_ID)}", config_line(report), judge]
    texts: list[tuple[str, Style]] = [(report.sample.question, "title"), (" · ".join(filter(None, about)), "note")]
    if report.rewritten:
        texts.append((f"Standalone question ({report.rewritten.author}): {report.rewritten.text}", "note"))
    if answer_is_reference(report.sample):
        texts.append(
            ("⚠ The answer is a copy of the reference: metrics that compare the two say nothing here.", "line")
        )
    scores = {
        spec: outcome_fact(spec, outcome, _recomputed_note(report, spec)) for spec, outcome in report.scores.items()
    }
    st.html(f'{paragraphs_html(texts)}<div style="margin-top:1rem">{folded_facts_html(scores)}</div>')
    file_facts([outcome_fact(spec, outcome) for spec, outcome in report.file_scores.items()])
    if grades := human_grades(report.sample.metadata):
        plain("Human grades", "note")
        facts(grade_facts(grades))
    _reader(report)
    _more(report)
    _calls(report)
    if not report.scores:
        _redraw_when(run, lambda found: bool(found.scores))


def _report(run: RunRef) -> SampleReport | None:
    wanted = st.query_params.get("sample")
    if wanted is None:
        first = get_sample_rows(run, SampleQuery(order="worst", limit=1)).rows
        wanted = st.query_params["sample"] = first[0].sample_id
    try:
        return get_sample(run, wanted)
    except NotFoundError as error:
        st.error("The sample in this link is not in the run.", icon=":material/search_off:")
        plain(str(error))
        name = st.query_params["run"]
        link_to("run", f"Open {markdown_escaped(shortened(name))}", {"run": name}, ":material/arrow_forward:")
        _redraw_when(run, bool)
        return None


def _redraw_when(run: RunRef, ready: Callable[[SampleReport], bool]) -> None:
    """Redraw the page as soon as the sample in the URL is ready, if its run grows."""
    name, sample_id = st.query_params["run"], st.query_params["sample"]
    if get_grows(run.run_id):
        redraw_when(lambda: ready(get_sample(resolve(name), sample_id)))


def _steps(report: SampleReport, run: str) -> str:
    """Return links to the previous and next sample as HTML. At an end of the run, one of them is only a text.

    If the calls of this sample are shown, those of the next are, too.
    """
    steps = (("← Previous", report.previous, "k"), ("Next →", report.following, "j"))
    query = {"run": run} | ({"calls": st.query_params["calls"]} if "calls" in st.query_params else {})
    links = (
        f"<span>{text}</span>" if to is None else link_html("sample", text, {**query, "sample": to}, key)
        for text, to, key in steps
    )
    return f'<nav class="steps" aria-label="Samples">{"".join(links)}</nav>'


def _reader(report: SampleReport) -> None:
    sample = report.sample
    key = safe_key("reader", report.run.run_id, sample.id)
    asked = number_in_url("statement")
    above = st.container()
    chosen = statement_reader(
        key=key,
        answer=sample.answer or "",
        statements=report.statements,
        passages=sample.contexts or (),
        chosen=None if asked is None else asked - 1,
        rule_based=report.judged is not None and report.judged.heuristic,
        answer_note=_note(report),
        selected=report.chosen_sentences,
        grades=report.passage_grades,
        citations=report.citations,
        asked=(report.sample.question, *(turn.text for turn in report.sample.history)),
    )
    if chosen is None:
        st.query_params.pop("statement", None)
    else:
        st.query_params["statement"] = str(chosen + 1)
    with above:
        _verdict_row(report, chosen)


def _note(report: SampleReport) -> str:
    if report.sample.answer is None:
        return "The run file has no answer for this question."
    if not report.sample.answer.strip():
        return "The answer is empty."
    return "The answer refuses, in full or in part." if report.refuses else ""


def _verdict_row(report: SampleReport, chosen: int | None) -> None:
    """Draw the buttons that label the chosen statement (from 0), if a statement is chosen and a name is entered.

    A label is stored immediately, and the page is redrawn.
    """
    if chosen is None or not writable():
        return
    row = st.container(horizontal=True, vertical_alignment="center", key="verdict-row")
    with row:
        plain(f"Your label for statement {chosen + 1}", width="content")
    name = _name(row)
    if not name:
        return
    given: Label | None = None
    for key, (label, look) in enumerate(VERDICT_STYLES.items(), 1):
        if row.button(f"{look.icon} {look.word}", key=f"say-{label}", shortcut=str(key)):
            given = label
    mine = any(one.annotator == name and one.queue == "browsing" for one in report.statements[chosen].people)
    removes = mine and row.button("Remove label", key="say-nothing", shortcut="0", icon=":material/undo:")
    note = row.text_input(
        "Note",
        key=safe_key("note", report.run.run_id, report.sample.id, str(chosen)),
        placeholder="Note (optional)",
        label_visibility="collapsed",
        width=220,
    )
    if given or removes:
        _save_label(report, chosen + 1, given, name, note)


def _name(row: DeltaGenerator) -> str:
    """Draw the field for the user's name, which the session keeps. Return the name."""
    return row.text_input(
        "Your name",
        key="annotator",
        placeholder="Enter your name to label",
        label_visibility="collapsed",
        persist_state="session",
        width=190,
    ).strip()


def _save_label(report: SampleReport, number: int, verdict: Label | None, name: str, note: str) -> None:
    try:
        if verdict:
            label_statement(store(), report.run, report.sample.id, number, verdict, annotator=name, note=note)
        else:
            remove_label(store(), report.run, report.sample.id, number, annotator=name)
    except RagboardError as error:
        st.error("Your label was not saved.", icon=":material/error:")
        plain(str(error))
    else:
        st.rerun()


def _recomputed_note(report: SampleReport, spec: str) -> str:
    """Return a note with the score that annotators' labels give; empty if they overruled no verdict."""
    again = report.recomputed.get(spec)
    if not isinstance(again, Score):
        return ""
    count = sum(statement.is_overruled for statement in report.statements)
    return f"{again.value:.2f} with {count} overruled verdict{'' if count == 1 else 's'}"


def _more(report: SampleReport) -> None:
    sample = report.sample
    paragraphs([*_reference(sample), *_nuggets(report), *_other_results(report)])
    if sample.metadata:
        with st.expander("Metadata"):
            paragraphs((f"{key}: {given}"[:2000], "note") for key, given in sample.metadata.items())


def _reference(sample: Sample) -> Iterator[tuple[str, Style]]:
    """Yield the reference. If it is not from the run file, say where it is from, or why there is none."""
    if sample.reference or sample.reference_note:
        yield "Reference", "heading"
    if sample.reference:
        yield sample.reference, "line"
    if sample.reference_note:
        yield f"{sample.reference_note[0].upper()}{sample.reference_note[1:]}.", "note"


def _nuggets(report: SampleReport) -> Iterator[tuple[str, Style]]:
    if report.nuggets:
        yield "Nuggets: facts that a good answer has", "heading"
    for nugget in report.nuggets:
        icon, word = NUGGET_STYLES[nugget.label]
        yield f"{icon} {word}: {nugget.nugget}{IMPORTANCE[nugget.importance] if nugget.importance else ''}", "line"
        if nugget.reason:
            yield nugget.reason, "note"


def _other_results(report: SampleReport) -> Iterator[tuple[str, Style]]:
    if report.questions:
        yield "Questions generated from the answer", "heading"
        yield "Similarity to the actual question, -1 to 1:", "note"
        for asked in report.questions:
            yield f"{asked.similarity:.2f}  {asked.question}", "line"
    if report.judgements:
        yield "Other judgements", "heading"
        for one in report.judgements:
            yield f"{one}{f' – {one.reason}' if one.reason else ''}", "line"


def _calls(report: SampleReport) -> None:
    """Draw the judge calls for this sample, with prompts and replies if the user asks for them."""
    found = get_calls(report.run, report.sample.id)
    paragraphs([("Judge calls", "heading"), (f"Not shown: {found.missing}." if found.missing else str(found), "note")])
    if found.tasks and st.toggle("Show prompts and raw replies", key="calls", bind="query-params"):
        st.html(calls_html(found))


def calls_html(found: SampleCalls) -> str:
    """Return the judge tasks of a sample as HTML, with prompts and raw replies collapsed."""
    tasks = "".join(_call(number, one) for number, one in enumerate(found.tasks, 1))
    return f'{CALLS_STYLE}<div class="calls">{tasks}</div>'


def _call(number: int, one: TaskCalls) -> str:
    sign = "✗ failed" if one.failed else "✓ parsed as"
    return (
        f'<div class="call"><div><b>{number}. {html_escaped(one.task)}</b></div>'
        f'<div class="quiet">{html_escaped(one.facts)}</div><div>{sign}: {html_escaped(one.outcome)}</div>'
        f"{_quiet(one.no_prompt)}{_messages(number, one)}</div>"
    )


def _quiet(text: str) -> str:
    return f'<div class="quiet">{html_escaped(text)}</div>' if text else ""


def _messages(number: int, one: TaskCalls) -> str:
    """Return all messages of a task in order. Prompts after the first ask the judge to repair its reply."""
    pieces: list[str] = []
    for place, message in enumerate(one.messages):
        what = "Raw reply" if message.role == "reply" else "Prompt" if place == 0 else "Repair request"
        size = f"{len(message.text):,} characters"
        label = f"{what} of task {number}"
        pieces.append(
            f'<details><summary>{what} <span class="quiet">{size}</span></summary>'
            f'<pre tabindex="0" role="region" aria-label="{label}">{html_escaped(message.text)}</pre></details>'
        )
    return "".join(pieces)
