"""Upload: a file becomes a run, and its verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

import pandas as pd
import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from ragboard.errors import RagboardError, StoreError
from ragboard.evaluation.background import start_evaluation
from ragboard.evaluation.identity import Choice
from ragboard.evaluation.progress import live_evaluation
from ragboard.metrics import DEFAULT_METRICS
from ragboard.readers import ImportReport, Preview, preview, read_runs
from ragboard.settings import read_pairs
from ragboard.store import AddedRun, RunRef
from ragboard_dashboard.controls import uploaded, without_folder
from ragboard_dashboard.data import evaluates, known_metrics, launch_context, store, writable
from ragboard_dashboard.links import open_page, open_run
from ragboard_dashboard.progress import panel
from ragboard_dashboard.text import column_label, plain

__all__ = ["draw"]

Then: TypeAlias = Literal["evaluate", "choose", "keep"]
THEN: Mapping[Then, tuple[str, str]] = {
    "evaluate": ("Import and evaluate", ":material/play_arrow:"),
    "choose": ("Import and choose a judge", ":material/gavel:"),
    "keep": ("Import only", ":material/save:"),
}
"""What may follow, with the label and icon of its button."""
ENDINGS = ["jsonl", "json", "csv", "tsv", "parquet"]
FIELDS = {
    "question": "what the user asked (required)",
    "answer": "what the system answered",
    "contexts": "the passages it retrieved",
    "reference": "the right answer, where known",
    "id": "an id of the sample",
}


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
        "A run file: JSONL, JSON, CSV or Parquet with questions, passages and answers",
        type=ENDINGS,
        key="file",
    )
    if file is None:
        _help()
        return
    try:
        _file(file)
    except RagboardError as error:
        _refused(file.name, error)


def _help() -> None:
    st.markdown(
        "ragboard recognises files of ragas (any version) and RAGChecker; for other tables you can match columns here. "
        "One sample in JSON Lines:"
    )
    st.code(
        '{"question": "When did the bridge open?", "contexts": ["It opened to traffic in July 2000."], '
        '"answer": "It opened in 2000."}',
        language=None,
        wrap_lines=True,
    )


def _refused(name: str, error: RagboardError) -> None:
    st.error("This file cannot be imported. Nothing was stored.", icon=":material/error:")
    plain(without_folder(str(error)) or name)


def _file(file: UploadedFile) -> None:
    with uploaded(file) as path:
        seen = preview(path)
        unclear = seen.unclear
        above = st.container()
        mapping = _mapping(seen)
        if mapping:
            seen = preview(path, mapping=mapping)
        _detected(seen, unclear)
        if "question" in seen.missing:
            above.warning("To continue, choose the column with the question.", icon=":material/help:")
            return
        if unclear and mapping.get("answer") is None:
            above.warning(
                "To continue, choose the column with the system's answer and, if there is one, the column with the"
                " reference.",
                icon=":material/help:",
            )
            return
        _form(path, mapping, seen, file.name)


def _detected(seen: Preview, unclear: tuple[str, ...]) -> None:
    found = ", ".join(f"{use.field} from {use.column}" for use in seen.columns if use.field)
    absent = [field for field in seen.missing if not (unclear and field in ("answer", "reference"))]
    missing = f" Not in the file: {', '.join(absent)}." if absent else ""
    asked = ""
    if unclear and "answer" in seen.missing:
        asked = f" Each of these may be the system's answer or the reference: {', '.join(unclear)}."
    plain(f"Read as {seen.format}. {found or 'No column recognised'}.{missing}{asked}")
    with st.expander("First rows", expanded=True):
        st.dataframe(pd.DataFrame(seen.rows, columns=[use.column for use in seen.columns]), hide_index=True)


def _mapping(seen: Preview) -> dict[str, str | None]:
    """Fields that a person matched to other columns than were detected, or to none."""
    columns = [use.column for use in seen.columns]
    detected = {use.field: use.column for use in seen.columns if use.field}
    with st.expander("Match columns", expanded="question" in seen.missing or bool(seen.unclear)):
        boxes = st.columns(len(FIELDS))
        chosen = {
            field: box.selectbox(
                field.capitalize(),
                [None, *columns],
                index=columns.index(detected[field]) + 1 if detected.get(field) in columns else 0,
                format_func=lambda column: "(none)" if column is None else str(column),
                help=why,
                key=f"map-{field}",
            )
            for box, (field, why) in zip(boxes, FIELDS.items(), strict=True)
        }
    mapping = {field: column for field, column in chosen.items() if detected.get(field) != column}
    return mapping | {field: chosen[field] for field in ("answer", "reference") if seen.unclear}


@dataclass(frozen=True, kw_only=True)
class UploadForm:
    """What a person filled in, and what is to happen then."""

    name: str
    settings: str
    split: str | None
    specs: tuple[str, ...]
    skip: bool
    then: Then


def _form(path: Path, mapping: dict[str, str | None], seen: Preview, source: str) -> None:
    with st.form("import"):
        form = _fields(path, seen)
    if form:
        _keep(path, mapping, form, source)


def _fields(path: Path, seen: Preview) -> UploadForm | None:
    """Draw the form's fields; None until one of its buttons was pressed."""
    left, right = st.columns(2)
    name = left.text_input("Run name", value=path.stem, max_chars=120)
    settings = right.text_input(
        "Configuration",
        placeholder="k=5, reranker=none",
        help="What distinguishes this run: key=value, separated by commas",
    )
    split = left.selectbox(
        "Split into runs by column",
        [None, *(use.column for use in seen.columns)],
        format_func=lambda column: "(one run)" if column is None else str(column),
    )
    specs = st.pills(
        "Metrics",
        list(known_metrics()),
        selection_mode="multi",
        default=[metric.spec for metric in DEFAULT_METRICS],
        format_func=column_label,
    )
    skip = st.checkbox("Skip bad rows and list them, instead of refusing the file")
    then = _buttons()
    if then is None:
        return None
    return UploadForm(name=name, settings=settings, split=split, specs=tuple(specs), skip=skip, then=then)


def _buttons() -> Then | None:
    """What to do with the file; None until that was said."""
    plain(
        "Import and evaluate uses the embedded judge: rule-based, no key, no network. Or choose a judge and see its"
        " cost first.",
        "note",
    )
    row = st.container(horizontal=True)
    offered: list[Then] = [one for one in THEN if one == "keep" or evaluates()]
    pressed: list[Then] = [one for one in offered if row.form_submit_button(THEN[one][0], icon=THEN[one][1])]
    return pressed[0] if pressed else None


def _keep(path: Path, mapping: dict[str, str | None], form: UploadForm, source: str) -> None:
    """Read the file into the store, and do what was asked then."""
    result = read_runs(
        path,
        name=form.name.strip() if form.split is None or form.name != path.stem else None,
        config=read_pairs(pair for pair in form.settings.split(",") if pair.strip()),
        mapping=mapping,
        run_column=form.split,
        skip_bad=form.skip,
    )
    added = store().add_runs(replace(run, source=source) for run in result.runs)
    _imported(result.report, added)
    try:
        store().keep_upload(path, owners=[run.id for run in added])
    except StoreError as error:
        st.warning("The run was saved, but the uploaded file was not.", icon=":material/warning:")
        plain(str(error))
    if form.then == "evaluate" and form.specs:
        _start(added, form.specs)
    if form.then == "choose" and added:
        open_page("evaluate", {"run": added[0].name})


def _imported(report: ImportReport, added: tuple[AddedRun, ...]) -> None:
    st.session_state["import-report"] = (report, added)
    if added:
        samples, runs = sum(run.samples for run in added), len(added)
        st.success(f"Imported {samples:,} samples in {runs} run{'s' if runs > 1 else ''}.", icon=":material/check:")
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


def _start(added: tuple[AddedRun, ...], specs: tuple[str, ...]) -> None:
    watched: list[str] = []
    for run in added:
        ref = RunRef(run_id=run.id, name=run.name, evaluation_id=None)
        try:
            watched.append(start_evaluation(store(), ref, Choice(metrics=specs), launch_context()))
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
