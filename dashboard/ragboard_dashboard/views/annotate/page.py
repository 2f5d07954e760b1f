"""Annotate: a person judges statements, answers or pairs by keyboard, without seeing what the judge says."""

from __future__ import annotations

from typing import Any, get_args

import streamlit as st

from ragboard.errors import RagboardError
from ragboard.human.annotation import AnnotationQueue, QueueItem, draw_samples
from ragboard.human.labels import undo
from ragboard.store import RunRef
from ragboard.store.queries.labels import LabelKind, Queue
from ragboard.tasks import Quality
from ragboard_dashboard.controls import choose_evaluation, choose_run
from ragboard_dashboard.data import get_kappas, get_queue, get_runs, resolve, store, writable
from ragboard_dashboard.links import bound, open_run
from ragboard_dashboard.text import plain
from ragboard_dashboard.views.annotate.annotator import (
    AnnotationSession,
    draw_answer,
    draw_pair,
    draw_statements,
    note_field,
    take_statements,
)

__all__ = ["draw"]

KINDS: dict[str, LabelKind] = {"statements": "verdict", "answers": "grade", "pairs": "preference"}
QUEUES: dict[str, Queue] = {"random": "random", "disagreements": "disagreement"}
QUALITIES: dict[str, Quality] = {one.replace("_", " "): one for one in get_args(Quality) if one != "context_relevance"}
SIZE = 150
"""Samples that are drawn by default."""
MORE = 50


def draw() -> None:
    """Draw the page."""
    if not writable():
        st.info("This dashboard is read-only: you cannot label here.", icon=":material/lock:")
        return
    run = choose_run("Annotate", evaluations=False)
    if run is None:
        return
    row = st.container(horizontal=True, vertical_alignment="center")
    session, kind = _session(row, run)
    if not session.name:
        st.info("Enter your name: every label is stored with one.", icon=":material/badge:")
        return
    if kind == "preference" and session.against is None:
        st.info("Pairs need a second run: choose it under Setup.", icon=":material/compare_arrows:")
        return
    if kind == "verdict":
        if run.evaluation_id is None:
            st.info("This run has no statements yet: evaluate it first.", icon=":material/info:")
            return
        take_statements(session)
    queue = get_queue(
        run,
        session.queue,
        annotator=session.name,
        kind=kind,
        dimension=session.dimension,
        against=session.against,
    )
    if session.queue == "random" and queue.draw is None:
        _draw_form(session, kind)
        return
    _one(row, session, kind, queue)


def _session(row: Any, run: RunRef) -> tuple[AnnotationSession, LabelKind]:
    """Draw who labels what; all of it is in the address."""
    in_address: dict[str, Any] = {"bind": "query-params", "label_visibility": "collapsed"}
    what = row.segmented_control("What", list(KINDS), default="statements", required=True, key="what", **in_address)
    queues = list(QUEUES) if KINDS[what] == "verdict" else ["random"]
    queue = row.segmented_control("Queue", queues, default="random", required=True, key="queue", **in_address)
    name = row.text_input("Your name", key="annotator", placeholder="Your name", width=170, **in_address)
    quality = "faithfulness"
    if KINDS[what] != "verdict":
        quality = row.selectbox("Quality", list(QUALITIES), key="quality", width=190, **in_address)
    with row.popover("Setup", icon=":material/tune:"):
        against = _runs(run, pairs=KINDS[what] == "preference")
    session = AnnotationSession(
        run=run, queue=QUEUES[queue], name=name.strip(), dimension=QUALITIES[quality], against=against
    )
    return session, KINDS[what]


def _runs(run: RunRef, *, pairs: bool) -> RunRef | None:
    """Draw the choice of the run, and of the one to compare with; they are named here only, so as not to be seen."""
    names = [one.name for one in get_runs()]
    st.selectbox("Run", names, **bound("run", run.name, key="annotate-run", drops=("sample",)))
    choose_evaluation(run, "run")
    others = [name for name in names if name != run.name]
    if not pairs or not others:
        return None
    return resolve(st.selectbox("Compare with", others, key="against", bind="query-params"))


def _draw_form(session: AnnotationSession, kind: LabelKind) -> None:
    st.header("Draw a random sample first", anchor=False)
    st.markdown(
        "Labels of a random sample tell you about the whole run, unlabelled answers included. The seed is stored, and"
        " you can draw more later."
    )
    with st.form("draw", border=False):
        size = st.number_input("Samples", min_value=1, value=SIZE, width=160)
        seed = st.number_input("Seed", min_value=0, value=0, width=160)
        if not st.form_submit_button("Draw", type="primary", icon=":material/casino:"):
            return
    _drawn(session, kind, size, seed)


def _drawn(session: AnnotationSession, kind: LabelKind, size: int, seed: int) -> None:
    try:
        draw_samples(store(), session.run, size=size, seed=seed, kind=kind, against=session.against)
    except RagboardError as error:
        st.error("No samples were drawn.", icon=":material/error:")
        plain(str(error))
        return
    st.rerun()


def _one(row: Any, session: AnnotationSession, kind: LabelKind, queue: AnnotationQueue) -> None:
    """Draw the sample that is next, or that the address names, and what goes with it."""
    item = _item(queue)
    if row.button("Undo", icon=":material/undo:", shortcut="u", disabled=not any(one.labelled for one in queue.items)):
        _undo(session, kind)
    if row.button("Skip", icon=":material/skip_next:", shortcut="s", disabled=item is None):
        _skip(queue, item)
    if kind == "verdict" and item:
        with row:
            note_field(session, item)
    plain(_progress(session, kind, queue, item), "note")
    if item is None:
        _finished(session, kind, queue)
    elif kind == "verdict":
        draw_statements(session, item)
    elif kind == "grade":
        draw_answer(session, item)
    elif session.against:
        draw_pair(session, item, session.against)


def _item(queue: AnnotationQueue) -> QueueItem | None:
    """The sample that the address names as long as it is open, else the next; the address then names that."""
    wanted = st.query_params.get("sample")
    item = next((one for one in queue.items if one.sample_id == wanted and not one.done), queue.following)
    if item is None:
        st.query_params.pop("sample", None)
    else:
        st.query_params["sample"] = item.sample_id
    return item


def _skip(queue: AnnotationQueue, item: QueueItem | None) -> None:
    open_ones = [one.sample_id for one in queue.items if not one.done]
    if item and len(open_ones) > 1:
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


def _progress(session: AnnotationSession, kind: LabelKind, queue: AnnotationQueue, item: QueueItem | None) -> str:
    drawn = queue.draw
    design = f"drawn at random from {drawn.population:,} (seed {drawn.seed})" if drawn else "largest disagreement first"
    why = f"disagreement: {item.why}" if item and item.why else ""
    kappas = get_kappas(session.run, session.queue, annotator=session.name) if kind == "verdict" else ()
    return " · ".join(filter(None, (queue.in_words, design, why, *(kappa.in_words for kappa in kappas))))


def _finished(session: AnnotationSession, kind: LabelKind, queue: AnnotationQueue) -> None:
    if not queue.items:
        st.info("Annotators, judges and metrics of the same name agree here: there is nothing to check.")
        return
    st.header("You have labelled everything in this queue", anchor=False)
    row = st.container(horizontal=True)
    if row.button("Open the run", icon=":material/bar_chart:"):
        open_run(session.run.name)
    draw = queue.draw
    if draw and len(draw.positions) < draw.population and row.button(f"Draw {MORE} more", icon=":material/casino:"):
        _drawn(session, kind, len(draw.positions) + MORE, draw.seed)
