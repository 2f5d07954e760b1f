"""The Annotate page: label statements, answers or pairs by keyboard, without seeing the judge's verdicts."""

from __future__ import annotations

from typing import Any, get_args

import streamlit as st

from ragboard.errors import RagboardError
from ragboard.human.annotation import AnnotationQueue, QueueItem, draw_samples
from ragboard.human.judge_validation import RUN_LABELS_PREFIX
from ragboard.human.labels import undo
from ragboard.stats import MIN_LABELS
from ragboard.store import RunRef
from ragboard.store.queries.annotation import SampleDraw
from ragboard.store.queries.labels import LabelKind, LabelQueue
from ragboard.tasks import Quality
from ragboard_dashboard.controls import choose_evaluation, choose_run
from ragboard_dashboard.data import (
    get_annotator_agreement,
    get_batch,
    get_draw,
    get_queue,
    get_runs,
    resolve,
    store,
    writable,
)
from ragboard_dashboard.links import bound, link_to, open_page, open_run
from ragboard_dashboard.text import counted, plain, shortened
from ragboard_dashboard.views.annotate.annotator import (
    AnnotationSession,
    note_field,
    save_sent_labels,
    show_answer,
    show_pair,
    show_statements,
)

__all__ = ["draw"]

KINDS: dict[str, LabelKind] = {"statements": "verdict", "answers": "grade", "pairs": "preference"}
QUEUES: dict[str, LabelQueue] = {"random": "random", "disagreements": "disagreement"}
QUALITIES: dict[str, Quality] = {one.replace("_", " "): one for one in get_args(Quality) if one != "context_relevance"}
QUESTIONS: dict[LabelKind, str] = {
    "verdict": "Do the passages support what the answers say?",
    "grade": "How good are the answers?",
    "preference": "Which of two answers is better?",
}
USES: dict[LabelKind, str] = {
    "verdict": "With its labels, Estimate computes the mean for the whole run, and Agreement checks the judge.",
    "grade": "With its labels, Estimate computes the mean for the whole run.",
    "preference": "Export them with `ragboard labels export`; `ragboard agree` compares judges with them.",
}
"""What a batch of labels can be used for."""


def draw() -> None:
    """Draw the page."""
    if not writable():
        st.info("This dashboard is read-only: you cannot label here.", icon=":material/lock:")
        return
    run = choose_run("Annotate")
    if run is None:
        return
    row = st.container(horizontal=True, vertical_alignment="center")
    title = row.container(width="stretch")
    actions = row.container(horizontal=True, width="content")
    session, kind = _session(row, run)
    drawn = get_draw(run, kind, session.against) if session.queue == "random" else None
    starts = not session.name or (session.queue == "random" and drawn is None)
    with title:
        against = f" and {session.against.name}" if session.against else ""
        plain(f"Label {shortened(run.name)}{against}", "title" if starts else "line")
    if kind == "preference" and session.against is None:
        st.info("Pairs need a second run: choose it under Setup.", icon=":material/compare_arrows:")
        return
    if kind == "verdict" and run.evaluation_id is None:
        st.info("This run has no statements yet: evaluate it first.", icon=":material/info:")
        link_to("evaluate", "Evaluate", {"run": run.name}, ":material/gavel:")
        return
    if starts:
        _start(session, kind, drawn)
        return
    if kind == "verdict":
        save_sent_labels(session)
    queue = get_queue(
        run,
        session.queue,
        annotator=session.name,
        kind=kind,
        dimension=session.dimension,
        against=session.against,
    )
    _show_item(actions, session, kind, queue)


def _session(row: Any, run: RunRef) -> tuple[AnnotationSession, LabelKind]:
    """Show the choice of who labels what, in a popover. All choices are in the URL."""
    in_url: dict[str, Any] = {"bind": "query-params"}
    with row.popover("Setup", icon=":material/tune:"):
        what = st.segmented_control("What", list(KINDS), default="statements", required=True, key="what", **in_url)
        queues = list(QUEUES) if KINDS[what] == "verdict" else ["random"]
        queue = st.segmented_control("Queue", queues, default="random", required=True, key="queue", **in_url)
        quality = "faithfulness"
        if KINDS[what] != "verdict":
            quality = st.selectbox("Quality", list(QUALITIES), key="quality", **in_url)
        against = _runs(run, pairs=KINDS[what] == "preference")
        name = st.query_params.get("annotator", "").strip()
        if name:
            st.text_input("Your name", **bound("annotator", name, key="annotate-name"))
    session = AnnotationSession(run=run, queue=QUEUES[queue], name=name, dimension=QUALITIES[quality], against=against)
    return session, KINDS[what]


def _runs(run: RunRef, *, pairs: bool) -> RunRef | None:
    """Show the choice of the run and, for pairs, of the other run. Return the other run."""
    names = [one.name for one in get_runs()]
    st.selectbox("Run", names, **bound("run", run.name, key="annotate-run", drops=("sample",)))
    choose_evaluation(run, "run")
    others = [name for name in names if name != run.name]
    if not pairs or not others:
        return None
    return resolve(st.selectbox("Compare with", others, key="against", bind="query-params"))


def _start(session: AnnotationSession, kind: LabelKind, drawn: SampleDraw | None) -> None:
    """Say how long labelling takes and what it is for, ask for the annotator's name, and draw the first batch."""
    batch = get_batch(session.run, kind, session.against)
    if not batch.population:
        st.info("This run has nothing to label here.", icon=":material/info:")
        return
    noun = "pair" if kind == "preference" else "answer"
    if session.queue == "disagreement":
        plain(
            "Samples on which annotators, judges or metrics disagree. They show where the judge errs. Do not compute"
            " means from them, because they are not a random sample."
        )
    elif drawn is None:
        statements = f", about {counted(batch.labels, 'statement')}" if kind == "verdict" else ""
        plain(
            f"{QUESTIONS[kind]} A batch is {counted(batch.samples, noun)}{statements}: about"
            f" {counted(batch.minutes, 'minute')}, at {batch.seconds_per_label:.0f} seconds each (an assumption"
            " until your own pace is known)."
        )
        plain(
            f"A batch is a random sample of this run's {counted(batch.population, noun)}. {USES[kind]} You can add"
            " batches later; the judge's verdicts stay hidden.",
            "note",
        )
    else:
        plain(
            f"{QUESTIONS[kind]} {len(drawn.positions):,} of {counted(drawn.population, noun)} were drawn for labelling."
        )
    with st.form("start", border=False):
        name = st.text_input("Your name", value=session.name, width=260, help="Stored with every label")
        started = st.form_submit_button("Start labelling", type="primary", icon=":material/play_arrow:")
        size, seed = batch.samples, 0
        if session.queue == "random" and drawn is None:
            with st.expander("Another size"):
                size = st.number_input("Samples", 1, value=batch.samples, width=160)
                seed = st.number_input("Seed", 0, value=0, width=160, help="Stored with the draw; later batches use it")
    if not started:
        return
    if not name.strip():
        st.error("Enter your name: it is stored with every label.", icon=":material/badge:")
        return
    st.query_params["annotator"] = name.strip()
    if session.queue == "random" and drawn is None:
        _draw_more_samples(session, kind, size, seed)
    st.rerun()


def _draw_more_samples(session: AnnotationSession, kind: LabelKind, size: int, seed: int) -> None:
    """Extend the random draw to `size` samples."""
    try:
        draw_samples(store(), session.run, size=size, seed=seed, kind=kind, against=session.against)
    except RagboardError as error:
        st.error("No samples were drawn.", icon=":material/error:")
        plain(str(error))
        return
    st.rerun()


def _show_item(actions: Any, session: AnnotationSession, kind: LabelKind, queue: AnnotationQueue) -> None:
    """Show the sample in the URL or the next one, with buttons and progress."""
    item = _item(queue)
    if actions.button(
        "Undo", icon=":material/undo:", shortcut="u", disabled=not any(one.labelled for one in queue.items)
    ):
        _undo(session, kind)
    if item and actions.button("Skip", icon=":material/skip_next:", shortcut="s"):
        _skip(queue, item)
    if kind == "verdict" and item:
        with actions:
            note_field(session, item)
    if queue.required:
        st.progress(queue.labelled / queue.required, queue.in_words)
    plain(_details_line(session, kind, queue, item), "note")
    if item is None:
        _show_end(session, kind, queue)
    elif kind == "verdict":
        show_statements(session, item)
    elif kind == "grade":
        show_answer(session, item)
    elif session.against:
        show_pair(session, item, session.against)


def _item(queue: AnnotationQueue) -> QueueItem | None:
    """Return the sample in the URL if it is not finished, else the next one, and write it to the URL."""
    wanted = st.query_params.get("sample")
    item = next((one for one in queue.items if one.sample_id == wanted and not one.done), queue.next_item)
    if item is None:
        st.query_params.pop("sample", None)
    else:
        st.query_params["sample"] = item.sample_id
    return item


def _skip(queue: AnnotationQueue, item: QueueItem) -> None:
    open_ones = [one.sample_id for one in queue.items if not one.done]
    if len(open_ones) > 1:
        st.query_params["sample"] = open_ones[(open_ones.index(item.sample_id) + 1) % len(open_ones)]
        st.rerun()


def _undo(session: AnnotationSession, kind: LabelKind) -> None:
    try:
        undone = undo(store(), session.run, annotator=session.name, queue=session.queue, kind=kind)
    except RagboardError as error:
        st.error("Nothing was undone.", icon=":material/error:")
        plain(str(error))
        return
    if undone:
        st.query_params["sample"] = undone.sample_id
        st.rerun()


def _details_line(session: AnnotationSession, kind: LabelKind, queue: AnnotationQueue, item: QueueItem | None) -> str:
    drawn = queue.draw
    design = f"drawn at random from {drawn.population:,} (seed {drawn.seed})" if drawn else "largest disagreement first"
    why = f"disagreement: {item.reason}" if item and item.reason else ""
    kappas = get_annotator_agreement(session.run, session.queue, annotator=session.name) if kind == "verdict" else ()
    return " · ".join(filter(None, (queue.pace if item else "", design, why, *(kappa.in_words for kappa in kappas))))


def _show_end(session: AnnotationSession, kind: LabelKind, queue: AnnotationQueue) -> None:
    """Say what to do with the labels, and show a button for another batch."""
    if not queue.items:
        st.info("Annotators, judges and metrics of the same name agree here: there is nothing to check.")
        return
    run, drawn = st.query_params["run"], queue.draw
    st.header("This batch is labelled" if drawn else "You have labelled everything in this queue", anchor=False)
    row = st.container(horizontal=True)
    if drawn is None or kind == "preference":
        if row.button("Open the run", icon=":material/bar_chart:"):
            open_run(run)
    else:
        quality = session.dimension
        if row.button(
            f"Estimate {quality.replace('_', ' ')} with these labels", type="primary", icon=":material/straighten:"
        ):
            measured = "verdicts" if kind == "verdict" else quality
            open_page("estimate", {"runs": run, "labels": measured, "by": f"ragas.{quality}"})
        if kind == "verdict" and row.button("See agreement", icon=":material/handshake:"):
            open_page("agreement", {"agreement": f"{RUN_LABELS_PREFIX}{run}"})
    if drawn and len(drawn.positions) < drawn.population:
        left = drawn.population - len(drawn.positions)
        batch = get_batch(session.run, kind, session.against)
        more = min(left, batch.samples)
        if row.button(f"Another batch: {more:,} more", icon=":material/casino:"):
            _draw_more_samples(session, kind, len(drawn.positions) + more, drawn.seed)
        if kind != "preference" and len(drawn.positions) < MIN_LABELS:
            plain(
                f"With at least {MIN_LABELS} labelled answers, Estimate also uses the judge's scores, for a narrower"
                f" interval. This run has {len(drawn.positions):,}.",
                "note",
            )
