"""The Agreement page: compare scorers with human labels, to see which metrics can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn, get_args

import streamlit as st

from ragboard.analysis import ListedRun
from ragboard.errors import NotFoundError, SettingError
from ragboard.human.baselines import BaselineComparison
from ragboard.human.grades import GradeLine, GradeReport
from ragboard.human.judge_validation import RUN_LABELS_PREFIX, label_location
from ragboard.human.run_grades import load_run_grades
from ragboard.sample_files import sample_folder
from ragboard.spans import strip_bidi_controls
from ragboard.stats.pairwise import Ties
from ragboard.store.queries.agreements import StoredAgreement
from ragboard_dashboard.controls import uploaded
from ragboard_dashboard.data import (
    get_agreement,
    get_agreements,
    get_baselines,
    get_graded_runs,
    get_grades,
    get_items_per_run,
    get_passage_agreement,
    get_preferences,
    get_run,
    get_runs,
    resolve,
    store,
    writable,
)
from ragboard_dashboard.links import bound, open_sample
from ragboard_dashboard.text import html_escaped, markdown_escaped, plain, shortened
from ragboard_dashboard.views.agreement.items import LIST_PAGE, TIES, list_grades, list_pairs, show_item
from ragboard_dashboard.views.agreement.measure import measure_agreement
from ragboard_dashboard.views.agreement.tables import (
    grades_data,
    grades_method,
    pairs_data,
    pairs_method,
    scorer_plots,
    scorer_table,
    votes_data,
)

__all__ = ["conclusions_html", "draw"]

EXTENSIONS = ["jsonl", "json", "csv", "tsv", "parquet"]
SAMPLE = {"Sample pairs": "pairs.jsonl", "Sample statements": "statements.jsonl"}
MAX_GRADED = 3
"""Maximum number of datasets whose human grades are offered."""
KINDS = {"pairs": "pairs", "statements": "labelled statements", "passages": "graded passages"}
CORRELATIONS = ("pearson", "spearman", "kendall")
RESETS = {"scorer": ("cut",), "dimension": ("cut", "at_least")}
"""The choices that a choice of another scorer or dimension resets."""
STYLES = Path(__file__).with_name("answer.css")


def draw() -> None:
    """Draw the page."""
    if "contender" in st.query_params:  # in older links, the parameter `scorer` has this name
        st.query_params["scorer"] = st.query_params.pop("contender")
    every = get_agreements()
    wanted = st.query_params.get("agreement", "")
    if not every and not wanted:
        _empty()
        return
    try:
        stored = get_agreement(wanted) if wanted else every[0]
    except NotFoundError as error:
        st.error("The agreement in this link is not in the store.", icon=":material/search_off:")
        plain(str(error))
        _choose(every, None)
        return
    item = st.query_params.get("item")
    if item is not None and stored.agreement.id.startswith(RUN_LABELS_PREFIX):
        open_sample(*label_location(stored.agreement.id, item))
    if item is not None:
        show_item(stored, item)
    elif stored.agreement.form == "pairs":
        _draw_pairs(every, stored)
    else:
        _draw_graded(every, stored)


def _empty() -> None:
    st.header("Can a metric be trusted?", anchor=False)
    st.markdown(
        "Compare it with human labels: preferences between two answers, grades of answers, or labels of statements."
        " This page says whether the metric is better than a trivial baseline, such as word overlap. Label a run on"
        " the Annotate page, or upload a file:"
    )
    offer_files()


def _choose(every: Sequence[StoredAgreement], stored: StoredAgreement | None) -> None:
    """Draw the choice of an agreement and, on a writable server, the controls that add another."""
    choice, more = st.columns([6, 2], vertical_alignment="bottom")
    listed = stored is None or any(one.agreement.id == stored.agreement.id for one in every)
    names = {one.agreement.id: _option(one) for one in (every if listed or stored is None else (stored, *every))}
    if names:
        others = [name for name in st.query_params if name != "agreement"]
        shown = stored.agreement.id if stored else next(iter(names))
        choice.selectbox(
            "Labels",
            list(names),
            format_func=names.__getitem__,
            **bound("agreement", shown, key="agreement-agreement", drops=others),
        )
    if writable():
        shown = stored.agreement.id if stored else ""  # a new key closes the popover after a file is measured
        with more, st.popover("Another file", icon=":material/add:", width="stretch", key=f"another-{shown}"):
            offer_files()


def _option(stored: StoredAgreement) -> str:
    found = stored.agreement
    return f"{found.name}: {stored.items:,} {KINDS.get(found.form, 'graded answers')}, {found.judge}"


def _select(label: str, key: str, options: Sequence[str], **more: Any) -> str:
    """Draw a choice that is a URL parameter, and return it. The default is the first option."""
    chosen: str = st.selectbox(label, options, **_bound(key, _value_in_url(key, options)), **more)
    return chosen


def _value_in_url(key: str, options: Sequence[str]) -> str:
    wanted = st.query_params.get(key, "")
    return wanted if wanted in options else options[0]


def _bound(key: str, value: Any) -> dict[str, Any]:
    return bound(key, value, key=f"agreement-{key}", drops=(*RESETS.get(key, ()), LIST_PAGE))


def _draw_conclusions(
    stored: StoredAgreement, compared: Sequence[BaselineComparison], basis: str, dimension: str = ""
) -> None:
    """Draw for each metric whether it can be trusted, a summary and the figures; then what was compared (`basis`)."""
    st.html(STYLES)
    if not compared and any(scorer.kind == "metric" for scorer in stored.agreement.scorers):
        quality = dimension.replace("_", " ")
        plain(f"No metric of {stored.agreement.judge_in_words} measures {quality}", "title")
        plain("The table shows only trivial baselines. Choose another dimension below.", "note")
        return
    st.html(conclusions_html(stored.agreement.judge_in_words, compared))
    plain(f"{basis}{_other_judge(stored)}", "note")


def _other_judge(stored: StoredAgreement) -> str:
    """Return a sentence if the newest run with these answers was evaluated by another judge; else an empty text."""
    items = get_items_per_run()
    newest = next((run for run in get_runs() if run.evaluated and (stored.agreement.id, run.run_id) in items), None)
    judged = get_run(resolve(newest.name)).judged if newest else None
    if newest is None or judged is None or judged.judge == stored.agreement.judge:
        return ""
    return f" The run {newest.name} has scores from another judge: {judged.in_words}."


def conclusions_html(judge: str, found: Sequence[BaselineComparison]) -> str:
    """Return HTML with the conclusion, summary and figures of each comparison."""
    dimensions = {one.dimension for one in found}
    rows = "".join(
        f"<div>{_dimension_heading(one, len(dimensions))}<b>{html_escaped(one.conclusion)}</b>"
        f"<p>{html_escaped(one.sentence)}</p><small>{html_escaped(one.details)}</small></div>"
        for one in found
    )
    no_judge = "<p>These labels are compared only with scores from the file, not with a judge.</p>"
    many = " rb-many" if len(found) > 1 else ""
    title = found[0].title if len(found) == 1 else judge if len(dimensions) == 1 else f"the metrics by {judge}"
    return f'<div class="rb-answer{many}"><h1>Can {html_escaped(title)} be trusted?</h1>{rows or no_judge}</div>'


def _dimension_heading(one: BaselineComparison, dimensions: int) -> str:
    """Return the heading of a comparison; empty if there is one dimension."""
    if dimensions == 1:
        return ""
    return f"<h2>{html_escaped(one.dimension.replace('_', ' ').capitalize())}</h2>"


def _draw_pairs(every: Sequence[StoredAgreement], stored: StoredAgreement) -> None:
    names = [one.name for one in stored.agreement.scorers]
    ties = next(one for one in get_args(Ties) if one == _value_in_url("ties", get_args(Ties)))
    _draw_conclusions(
        stored,
        [one for dimension in stored.dimensions for one in get_baselines(stored.agreement.id, dimension, ties)],
        f"{stored.items:,} pairs of {stored.agreement.source}.",
    )
    _choose(every, stored)
    found = get_preferences(stored.agreement.id, ties, _value_in_url("against", names))
    scorer_table(pairs_data(found), key="pairs")
    with st.expander("Method"):
        policy, against = st.columns(2)
        with policy:
            _select("Ties", "ties", get_args(Ties), format_func=lambda one: TIES[one])
        with against:
            _select("Compared with", "against", names, format_func=_titles(stored).__getitem__)
        _method(stored, pairs_method(found))
        if any(cell.votes for line in found.lines for cell in line.by_dimension.values()):
            kind = _select("Correlation with votes", "correlation", CORRELATIONS, format_func=str.capitalize)
            scorer_table(votes_data(found, kind) or {}, key="votes")
    st.subheader("Disagreements", anchor=False)
    first, second = st.columns(2)
    with first:
        dimension = _select("Dimension", "dimension", stored.dimensions)
    with second:
        scorer = _select("Scorer", "scorer", names, format_func=_titles(stored).__getitem__)
    list_pairs(stored, dimension, scorer, ties)
    offer_deletion(stored)


def _titles(stored: StoredAgreement) -> dict[str, str]:
    return {scorer.name: strip_bidi_controls(scorer.title()) for scorer in stored.agreement.scorers}


def _method(stored: StoredAgreement, text: str) -> None:
    plain("\n".join((text, *stored.agreement.notes)), "note")


def _draw_graded(every: Sequence[StoredAgreement], stored: StoredAgreement) -> None:
    dimension, at_least = _value_in_url("dimension", stored.dimensions), _number("at_least")
    try:
        compared = get_baselines(stored.agreement.id, dimension, at_least=at_least)
    except SettingError as error:
        _draw_passage_agreement(stored)
        plain(str(error))
        if "at_least" in st.query_params and st.button("Reset to the middle of the scale", icon=":material/undo:"):
            del st.query_params["at_least"]
            st.rerun()
        _choose(every, stored)
        return
    what = f", {dimension.replace('_', ' ')}" if stored.agreement.form == "answers" else ""
    _draw_conclusions(
        stored,
        compared,
        f"{stored.items:,} {KINDS.get(stored.agreement.form, 'graded answers')} of {stored.agreement.source}{what}.",
        dimension,
    )
    _draw_passage_agreement(stored)
    _choose(every, stored)
    if len(stored.dimensions) > 1:
        _select("Dimension", "dimension", stored.dimensions)
    report = get_grades(stored.agreement.id, dimension, at_least, {})  # takes seconds, so the conclusion is drawn first
    names = [line.scorer.name for line in report.lines]
    scorer = _value_in_url("scorer", names) if names else ""
    found = get_grades(stored.agreement.id, dimension, at_least, _cuts(scorer))
    scorer_table(grades_data(found), key="grades")
    with st.expander("Method"):
        _method(stored, grades_method(found))
        st.number_input("Lowest good grade", format="%g", width=220, **_bound("at_least", found.at_least))
    if scorer:
        st.subheader("Errors of one scorer", anchor=False)
        _select("Scorer", "scorer", names, format_func=_titles(stored).__getitem__)
        _draw_scorer(found, next(one for one in found.lines if one.scorer.name == scorer))
        st.subheader("Disagreements", anchor=False)
        list_grades(stored, dimension, scorer)
    offer_deletion(stored)


def _draw_passage_agreement(stored: StoredAgreement) -> None:
    """Draw how often judge and annotators grade passages the same."""
    found = get_passage_agreement(stored.agreement.id)
    if found:
        plain(found.sentence)
        plain(found.details, "note")


def _number(key: str) -> float | None:
    """Return a number from the URL, or None if there is none."""
    try:
        return float(st.query_params[key])
    except (KeyError, ValueError):
        return None


def _cuts(scorer: str) -> dict[str, float]:
    cut = _number("cut")
    return {} if cut is None else {scorer: cut}


def _draw_scorer(found: GradeReport, line: GradeLine) -> None:
    scorer_plots(line, found.annotators, key="one")
    if line.cut:
        st.number_input(
            "Lowest good score",
            format="%.4g",
            step=0.05,
            help="Choose it before you see results. If it is fitted to these labels, the metric looks too good.",
            **_bound("cut", line.cut.threshold),
        )


def offer_files() -> None:
    """Draw the sources of labels: grades in runs, a file, and sample files. Choosing one opens its agreement.

    On a read-only server, draw nothing.
    """
    if not writable():
        return
    _offer_grades()
    file = st.file_uploader(
        "A file of human labels: pairs, graded answers or passages, or labelled statements",
        type=EXTENSIONS,
        key="opinions",
    )
    row = st.container(horizontal=True)
    chosen = [name for title, name in SAMPLE.items() if row.button(title, key=f"take-{name}")]
    st.markdown("Here, the embedded judge (rule-based, no key needed) scores the file. To use another judge, run:")
    st.code("ragboard agree FILE --judge openai:gpt-4o-mini", language=None, wrap_lines=True)
    if file is not None and file.file_id != st.session_state.get("labels-measured"):
        with uploaded(file) as path:
            agreement = measure_agreement(path, keep=True)
        if agreement:
            st.session_state["labels-measured"] = file.file_id
            _open(agreement)
    for name in chosen:
        agreement = measure_agreement(sample_folder() / "labels" / name)
        if agreement:
            _open(agreement)


def _offer_grades() -> None:
    """Draw a button for each dataset whose runs have human grades that are in no agreement yet."""
    graded = get_graded_runs() - {run_id for _, run_id in get_items_per_run()}
    by_dataset: dict[str, list[ListedRun]] = {}
    for run in get_runs() if graded else ():
        if run.run_id in graded:
            by_dataset.setdefault(run.dataset_key, []).append(run)
    for key, runs in list(by_dataset.items())[:MAX_GRADED]:
        names = ", ".join(markdown_escaped(shortened(run.name)) for run in runs[:2])
        more = f" and {len(runs) - 2} more" if len(runs) > 2 else ""
        if st.button(f"Use the human grades of {names}{more}", icon=":material/grading:", key=f"grades-{key}"):
            labels = load_run_grades(store(), [resolve(run.name) for run in runs])
            agreement = measure_agreement(labels) if labels else None
            if agreement:
                _open(agreement)


def _open(agreement_id: str) -> NoReturn:
    st.query_params.clear()
    st.query_params["agreement"] = agreement_id
    st.rerun()


def offer_deletion(stored: StoredAgreement) -> None:
    """Draw the controls that delete an agreement and its uploaded file, after confirmation."""
    if not writable() or stored.agreement.id.startswith(RUN_LABELS_PREFIX):
        return
    with st.expander("Delete this agreement", icon=":material/delete:"):
        sure = st.checkbox("Delete permanently, including all scores", key=f"sure-{stored.agreement.id}")
        if st.button("Delete", icon=":material/delete_forever:", disabled=not sure):
            store().remove_agreement(stored.agreement.id)
            st.query_params.clear()
            st.rerun()
