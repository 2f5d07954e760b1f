"""Upload: a file becomes a run, and its verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.uploaded_file_manager import UploadedFile

from ragboard.errors import RagboardError, RunFileError, StoreError
from ragboard.evaluation.background import destination, forwards_key, planning_panel, start_evaluation
from ragboard.evaluation.identity import Choice
from ragboard.evaluation.offers import Offer, contents_of, make_offer, unscorable
from ragboard.evaluation.progress import live_evaluation
from ragboard.judges import JudgeOptions
from ragboard.prices import read_prices
from ragboard.readers import EXTENSIONS, ImportReport, Preview, ReadResult, Table, own_run, read_runs, read_table
from ragboard.readers.labels import LabelFile, read_graded_answers
from ragboard.records import Sample
from ragboard.settings import read_pairs
from ragboard.store import AddedRun, RunRef
from ragboard_dashboard.controls import compare_link, session_cached, uploaded, without_folder
from ragboard_dashboard.data import evaluates, known_metrics, launch_context, store, writable
from ragboard_dashboard.links import link_to, open_page, open_run
from ragboard_dashboard.progress import panel
from ragboard_dashboard.text import plain
from ragboard_dashboard.views.agreement.measure import measure
from ragboard_dashboard.views.upload.columns import (
    Matched,
    draw_columns,
    draw_suggestions,
    field_of,
    has_no_passages,
    match_columns,
)
from ragboard_dashboard.views.upload.samples import draw_samples

__all__ = ["draw"]

T = TypeVar("T")
Then: TypeAlias = Literal["evaluate", "choose", "keep"]
THEN: Mapping[Then, tuple[str, str]] = {
    "evaluate": ("Import and evaluate", ":material/play_arrow:"),
    "choose": ("Import and choose metrics", ":material/tune:"),
    "keep": ("Import only", ":material/save:"),
}
"""What may follow, with the label and icon of its button."""
EXAMPLE_MODEL = "gpt-4o-mini"
"""The chat model whose prices stand for what one costs."""
EMBEDDED = JudgeOptions()
READING, PLANNING = "**Reading the file…**", "**Planning; nothing is sent…**"
FIRST_ROWS = 10
"""Rows that are read for the first samples: more than are shown, because some may be bad."""
NAMED = 3
"""Metrics that are named of those that a chat model scores besides."""


def draw() -> None:
    """Draw the page."""
    if "watch" in st.query_params:
        _watch(st.query_params["watch"], st.query_params.get("run", ""))
        return
    st.header("Upload a run", anchor=False)
    if not writable():
        st.info("This dashboard is read-only: you cannot upload here.", icon=":material/lock:")
        return
    file = st.file_uploader(
        "A run file: JSONL, JSON, CSV, Excel or Parquet with questions, passages and answers",
        type=[ending[1:] for ending in EXTENSIONS],
        key="file",
    )
    if file is None:
        _help()
        return
    with uploaded(file) as path:
        try:
            _file(file, path)
        except RagboardError as error:
            _refused(file.name, error)


def _help() -> None:
    st.markdown(
        "ragboard recognises the results of ragas, RAGChecker, DeepEval, TruLens and other tools, and traces; for other"
        " tables you can match columns here. One sample in JSON Lines:"
    )
    st.code(
        '{"question": "When did the bridge open?", "contexts": ["It opened to traffic in July 2000."], '
        '"answer": "It opened in 2000."}',
        language=None,
        wrap_lines=True,
    )


def _refused(name: str, error: RagboardError) -> None:
    st.error("This file cannot be imported. Nothing was stored.", icon=":material/error:")
    said = str(error).removesuffix(error.remedy) if isinstance(error, RunFileError) else str(error)
    plain(without_folder(said) or name)


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How a person wants a file to be read, besides its columns."""

    name: str
    settings: str
    split: str | None
    skip: bool


def _file(file: UploadedFile, path: Path) -> None:
    """What the file holds, what can be done with it, and under it how it is read; errors come with what mends them.

    What takes time is done before anything is drawn, and each part has its own place: no button moves meanwhile.
    """
    of_file, last = st.session_state.get("upload-head", ("", ""))
    head = st.markdown(last if of_file == file.file_id else READING)
    above, boxes, suggested, judge, offers, buttons, done, first = (st.container() for _ in range(8))
    try:
        table = _computed(head, READING, "upload-table", file.file_id, lambda: read_table(path))
        matched = match_columns(path, table, file)
    except RagboardError:
        head.empty()
        raise
    asked = matched.asked
    options = _read_options(file.file_id, own_run(path, table).name)
    graded = _computed(
        head, READING, "upload-graded", file.file_id, lambda: read_graded_answers(path, matched.own_columns)
    )
    if graded:
        with first:
            _first_samples(path, table, matched, options)
        _say_grades(head, above, matched, graded)
        _offer_agreement(buttons, done, path, lambda: _keep_grades(head, path, table, matched, options))
    elif matched.error or matched.missing:
        head.empty()
        with above:
            _refused(file.name, matched.error) if matched.error else _ask(matched.missing)
    else:
        with first:
            _first_samples(path, table, matched, options)
        try:
            read = _read(head, path, table, matched, options)
        except RagboardError as error:
            asked = asked or (field_of(error) if isinstance(error, RunFileError) else ())
            head.empty()
            with above:
                _refused(file.name, error)
                _offer_to_skip(error)
        else:
            if matched.asks_for_passages:
                _understood(head, above, matched, read)
                _ask_for_passages(above, suggested, matched)
                draw_columns(matched, asked, boxes)
                _draw_options(matched.seen)
                return
            with judge:
                judge_options = _choose_judge() if evaluates() else EMBEDDED
            offer = _offer(head, read, judge_options) if evaluates() else None
            by_model = (
                _offer(head, read, _chat_model(EXAMPLE_MODEL)) if evaluates() and judge_options == EMBEDDED else None
            )
            _understood(head, above, matched, read)
            with suggested:
                draw_suggestions(matched)
            with offers:
                if evaluates():
                    _say_offer(judge_options, offer)
                if by_model:
                    _say_chat_model(read, by_model)
            with buttons:
                judged = any(run.scores and run.scores.recorded for run in read.runs)
                then = _next_step(offer, "keep" if judged else "evaluate")
            if then:
                with done:
                    _keep(path, read, file.name, then, Choice(metrics=_specs(offer), judge_options=judge_options))
    draw_columns(matched, asked, boxes)
    _draw_options(matched.seen)


def _computed(head: DeltaGenerator, busy: str, name: str, key: object, compute: Callable[[], T]) -> T:
    """What the session keeps, else computed; meanwhile `busy` is where the page then says what the file holds."""

    def told() -> T:
        head.markdown(busy)
        return compute()

    return session_cached(name, key, told)


def _ask(asked: tuple[str, ...]) -> None:
    words = (
        "To continue, choose the column with the question."
        if "question" in asked
        else "To continue, choose the column with the system's answer and, if there is one, the column with the"
        " reference."
    )
    st.warning(words, icon=":material/help:")


def _ask_for_passages(above: DeltaGenerator, under: DeltaGenerator, matched: Matched) -> None:
    """Ask for the passages before anything is offered: without them no statement can be checked."""
    with above:
        st.warning("To continue, choose the column with the passages: statements are checked against them.")
    with under:
        draw_suggestions(matched)
        st.button("The file has no passages", icon=":material/block:", on_click=has_no_passages, args=(matched,))


def _offer_to_skip(error: RagboardError) -> None:
    if isinstance(error, RunFileError) and error.line is not None:
        st.button("Skip bad rows and list them", icon=":material/filter_alt:", on_click=_skip)


def _skip() -> None:
    st.session_state["upload-skip"] = True


def _read_options(file_id: str, name: str) -> ReadOptions:
    """The options chosen so far; a new file begins with its own name."""
    said = st.session_state
    if said.get("options-of") != file_id or "upload-name" not in said:
        said["options-of"], said["upload-name"], said["upload-settings"] = file_id, name, ""
        said["upload-split"], said["upload-skip"] = None, False
    return ReadOptions(
        name=said["upload-name"], settings=said["upload-settings"], split=said["upload-split"], skip=said["upload-skip"]
    )


def _draw_options(seen: Preview) -> None:
    with st.expander("Name, configuration, several runs in one file", icon=":material/edit:"):
        left, right = st.columns(2)
        left.text_input("Run name", max_chars=120, key="upload-name")
        right.text_input(
            "Configuration",
            placeholder="k=5, reranker=none",
            help="What distinguishes this run: key=value, separated by commas",
            key="upload-settings",
        )
        left.selectbox(
            "Split into runs by column",
            [None, *(use.column for use in seen.columns)],
            format_func=lambda column: "(one run)" if column is None else str(column),
            key="upload-split",
        )
        st.checkbox("Skip bad rows and list them, instead of refusing the file", key="upload-skip")


def _read(head: DeltaGenerator, path: Path, table: Table, matched: Matched, options: ReadOptions) -> ReadResult:
    """The file as it would be imported."""
    return _computed(
        head,
        READING,
        "upload-read",
        (matched.file.file_id, tuple(matched.mapping.items()), options),
        lambda: _read_file(path, table, matched, options),
    )


def _first_samples(path: Path, table: Table, matched: Matched, options: ReadOptions) -> None:
    """Draw the first samples, before the whole file is read; nothing if they cannot be read, which the page says."""
    with suppress(RagboardError):
        draw_samples(_read_file(path, table, matched, options, limit=FIRST_ROWS).runs)


def _read_file(
    path: Path, table: Table, matched: Matched, options: ReadOptions, limit: int | None = None
) -> ReadResult:
    return read_runs(
        path,
        name=options.name.strip() if options.name != own_run(path, table).name else None,
        config=read_pairs(pair for pair in options.settings.split(",") if pair.strip()),
        mapping=matched.mapping,
        run_column=options.split,
        skip_bad=options.skip,
        table=table,
        limit=limit,
    )


def _understood(head: DeltaGenerator, under: DeltaGenerator, matched: Matched, read: ReadResult) -> None:
    contents, seen = contents_of(_samples(read)), matched.seen
    runs = f" in {len(read.runs):,} runs" if len(read.runs) > 1 else ""
    st.session_state["upload-head"] = matched.file.file_id, f"**{contents}{runs}.**"
    head.markdown(f"**{contents}{runs}.**")
    found = ", ".join(f"{use.field} from {use.column}" for use in seen.columns if use.field)
    absent = f" Not in the file: {', '.join(seen.missing)}." if seen.missing else ""
    skipped = f" {len(read.report.dropped):,} bad rows are skipped." if read.report.dropped else ""
    same = f"\nThe columns are matched as you chose for {matched.taken_from}." if matched.taken_from else ""
    with under:
        plain(f"Read as {seen.format}: {found}.{absent}{skipped}{same}", "note")
        brought = brought_by(read)
        if brought:
            plain(brought)


def brought_by(read: ReadResult) -> str:
    """What another tool has scored and judged already, in words; empty if the file has none of it."""
    files = [run.scores for run in read.runs if run.scores]
    if not files:
        return ""
    statements = sum(len(sample.statements) for scores in files for sample in scores.recorded)
    verdicts = f" and the verdicts of its judge on {statements:,} statements" if statements else ""
    names = ", ".join(dict.fromkeys(name for scores in files for name in scores.columns.values()))
    return f"It brings scores of {files[0].tool} ({names}){verdicts}. Import keeps them; nothing is asked again."


def _samples(read: ReadResult) -> list[Sample]:
    return [sample for run in read.runs for sample in run.samples]


def _judged(read: ReadResult) -> frozenset[str]:
    """Our metrics that the verdicts in the file score, in all of its runs."""
    return frozenset.intersection(
        *(frozenset(run.scores.recounted.values() if run.scores else ()) for run in read.runs)
    )


def _next_step(offer: Offer | None, first: Then) -> Then | None:
    """Draw the buttons, `first` as the primary one; what a person wants."""
    row = st.container(horizontal=True)
    offered: dict[Then, bool] = {"evaluate": offer is not None, "choose": evaluates(), "keep": True}
    pressed: list[Then] = [
        then
        for then, possible in offered.items()
        if possible and row.button(THEN[then][0], icon=THEN[then][1], type="primary" if then == first else "secondary")
    ]
    return pressed[0] if pressed else None


def _say_grades(head: DeltaGenerator, under: DeltaGenerator, matched: Matched, graded: LabelFile) -> None:
    """Say that the file answers whether a metric can be trusted, rather than how good a run is."""
    answers, questions = _counted(len(graded.items), "answer"), _counted(graded.questions, "question")
    words = f"**These rows hold people's grades: {answers} to {questions}.**"
    st.session_state["upload-head"] = matched.file.file_id, words
    head.markdown(words)
    with under:
        names = ", ".join(name.replace("_", " ") for name in graded.dimensions)
        plain(
            f"Graded for {names}. Measure agreement to see whether a metric can be trusted: the embedded judge, which"
            " is rule-based and needs no key, scores the same answers. Nothing leaves this machine."
        )


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _offer_agreement(buttons: DeltaGenerator, done: DeltaGenerator, path: Path, keep: Callable[[], None]) -> None:
    """Draw the buttons for a file of grades, and do what a person wants; `keep` imports it as a run."""
    with buttons:
        row = st.container(horizontal=True)
        wants_agreement = row.button("Measure agreement", icon=":material/handshake:", type="primary")
        wants_run = row.button("Import as a run all the same", icon=":material/save:")
    with done:
        if wants_agreement and (agreement := measure(path, keep=True)):
            open_page("agreement", {"agreement": agreement})
        if wants_run:
            keep()


def _keep_grades(head: DeltaGenerator, path: Path, table: Table, matched: Matched, options: ReadOptions) -> None:
    _keep(path, _read(head, path, table, matched, options), matched.file.name, "keep", Choice(metrics=()))


def _choose_judge() -> JudgeOptions:
    """The embedded judge; a person may choose a chat model where this server has a key for one."""
    if not forwards_key(EMBEDDED):
        return EMBEDDED
    host = destination(_chat_model(EXAMPLE_MODEL))
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        kind = st.segmented_control(
            "Judge",
            ["Embedded", "Chat model"],
            default="Embedded",
            required=True,
            key="upload-judge",
            help=f"This server has a key for {host}.",
        )
        if kind == "Embedded":
            return EMBEDDED
        model = st.text_input("Model", value=EXAMPLE_MODEL, key="upload-model", width=280).strip()
    return _chat_model(model or EXAMPLE_MODEL)


def _chat_model(model: str) -> JudgeOptions:
    return JudgeOptions(judge=f"openai:{model}", embed="embedded")


def _offer(head: DeltaGenerator, read: ReadResult, judge_options: JudgeOptions) -> Offer | None:
    prices = read_prices(launch_context().prices)
    of_file = st.session_state["upload-read"][0]
    return _computed(
        head,
        PLANNING,
        f"offer-{judge_options == EMBEDDED}",
        (of_file, judge_options.judge),
        lambda: make_offer(_samples(read), planning_panel(judge_options), prices, _judged(read)),
    )


def _specs(offer: Offer | None) -> tuple[str, ...]:
    return tuple(metric.spec for metric in offer.metrics) if offer else ()


def _say_offer(judge_options: JudgeOptions, offer: Offer | None) -> None:
    if offer is None:
        plain("None of the usual metrics can be scored: the file has neither answers nor passages.")
        return
    host = destination(judge_options)
    if host:
        model = judge_options.judge.partition(":")[2]
        plain(f"{offer.names} by {model}, {offer.cost}. Questions, passages and answers are sent to {host}.")
    else:
        judge = "the embedded judge, which is rule-based and needs no key"
        plain(f"{offer.names} by {judge}: {offer.cost}. Nothing leaves this machine.")


def _say_chat_model(read: ReadResult, offer: Offer) -> None:
    """What a chat model would score, and what that would cost; nothing is asked for it here."""
    judge_options = _chat_model(EXAMPLE_MODEL)
    contents, metrics = contents_of(_samples(read)), known_metrics()
    here = unscorable(metrics.values(), contents, planning_panel(EMBEDDED))
    there = unscorable(metrics.values(), contents, planning_panel(judge_options))
    also = [metric.title for spec, metric in metrics.items() if spec in here and spec not in there]
    more = f" and {len(also) - NAMED} more" if len(also) > NAMED else ""
    besides = f" It can also score {', '.join(also[:NAMED])}{more}." if also else ""
    plain(f"{offer.names} by a chat model: {offer.cost} by {EXAMPLE_MODEL}'s prices.{besides}", "note")


def _keep(path: Path, read: ReadResult, source: str, then: Then, choice: Choice) -> None:
    """Put what was read into the store, and do what was asked then."""
    added = store().add_runs(replace(run, source=source) for run in read.runs)
    del st.session_state["upload-read"], st.session_state["upload-table"]
    _imported(read.report, added)
    try:
        store().keep_upload(path, owners=[run.id for run in added])
    except StoreError as error:
        st.warning("The run was saved, but the uploaded file was not.", icon=":material/warning:")
        plain(str(error))
    if then == "evaluate":
        _start(added, choice)
    if then == "choose" and added:
        open_page("evaluate", {"run": added[0].name})


def _imported(report: ImportReport, added: tuple[AddedRun, ...]) -> None:
    st.session_state["import-report"] = (report, added)
    if added:
        samples, runs = sum(run.samples for run in added), len(added)
        st.success(
            f"Imported {samples:,} sample{'s' if samples > 1 else ''} in {runs:,} run{'s' if runs > 1 else ''}.",
            icon=":material/check:",
        )
        with st.container(horizontal=True):
            link_to("run", "Open the run", {"run": added[0].name}, ":material/bar_chart:")
            compare_link(added[0].id, named=True)
    _report(report)


def _report(report: ImportReport) -> None:
    lines = [f"{report.rows_read:,} rows read, {report.encoding}"]
    lines += [f"skipped line {row.line}: {row.field or 'row'}: {row.message}" for row in report.dropped[:20]]
    lines += [f"{change.count} x {change.what} (line {', '.join(map(str, change.lines))})" for change in report.coerced]
    lines += [f"duplicate id, line {same.line}: {same.given} is now {same.assigned}" for same in report.duplicated[:20]]
    lines += report.notes
    plain("\n".join(lines), "note")


def _untidy(report: ImportReport) -> bool:
    """Whether there is something in it to read before going on."""
    return bool(report.dropped or report.coerced or report.duplicated)


def _start(added: tuple[AddedRun, ...], choice: Choice) -> None:
    watched: list[str] = []
    for run in added:
        ref = RunRef(run_id=run.id, name=run.name, evaluation_id=None)
        try:
            watched.append(start_evaluation(store(), ref, choice, launch_context()))
        except RagboardError as error:
            st.error("Imported, but the evaluation did not start.", icon=":material/error:")
            plain(f"{run.name}: {error}")
    if len(watched) < len(added):
        return
    st.query_params["watch"] = ",".join(watched)
    st.query_params["run"] = added[0].name
    st.rerun()


def _watch(watched: str, run: str) -> None:
    st.header("Evaluating", anchor=False)
    plain(run)
    report = st.session_state.get("import-report")
    if report:
        _report(report[0])
    _follow(watched.split(","), run)


@st.fragment(run_every=0.5)
def _follow(evaluations: list[str], run: str) -> None:
    seen = [live for name in evaluations if (live := live_evaluation(store(), name))]
    for live in seen:
        panel(live, RunRef(run_id=live.run_id, name=run, evaluation_id=None))
    if not seen:
        st.error("The evaluation in this link is not in the store.", icon=":material/search_off:")
        return
    if any(live.under_way for live in seen):
        return
    report = st.session_state.get("import-report")
    if all(live.state == "finished" for live in seen) and (report is None or not _untidy(report[0])):
        open_run(run)
    if st.button("Open the run", icon=":material/arrow_forward:"):
        open_run(run)
