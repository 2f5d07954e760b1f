"""What several pages draw to choose and to do: a run, the page of a list, an export, an upload, the edit of a run."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory, gettempdir
from typing import Literal

import pandas as pd
import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from ragboard.analysis import ListedRun, RunSummary, UnscoredPolicy
from ragboard.errors import NotFoundError, RagboardError, StoreError
from ragboard.export import TABLE_FORMATS, table_bytes
from ragboard.spans import inert
from ragboard.store import RunRef
from ragboard_dashboard.data import get_evaluations, get_runs, resolve, store, writable
from ragboard_dashboard.links import bound, number_in_address, open_page, open_query, open_run, put_into_address
from ragboard_dashboard.text import escaped, plain

__all__ = [
    "choose_evaluation",
    "choose_run",
    "default_pair",
    "edit_run",
    "evaluations_help",
    "export_control",
    "first_page",
    "last_page",
    "offer_sql",
    "offer_upload",
    "page_number",
    "pager",
    "report_button",
    "run_choices",
    "unscored_choice",
    "uploaded",
    "without_folder",
]

HELP_LINES = 20
"""Lines of the help of a choice at most."""
LONGEST_DOWNLOAD = 80
"""Characters of the name of a file that a page gives."""
LONGEST_UPLOAD, LONGEST_ENDING = 150, 20
"""Bytes of a name, and characters of its ending: file systems take 255 bytes, where others count characters."""
UPLOAD_PREFIX = "ragboard-upload-"
_UNNAMED = re.compile(r"[^\w.-]+")


def choose_run(where: str, *, evaluations: bool = True) -> RunRef | None:
    """The run that the address names, else the newest; None after saying what to do instead.

    Where it has several evaluations the choice of one is drawn, unless `evaluations` is False.
    """
    wanted = st.query_params.get("run")
    runs = get_runs()
    if not runs:
        st.header("No run yet", anchor=False)
        st.markdown(f"The {where} page needs a run. Upload one to start.")
        offer_upload()
        return None
    if wanted is None:
        wanted = st.query_params["run"] = runs[0].name
    try:
        run = resolve(wanted)
    except NotFoundError as error:
        st.error("The run in this link is not in the store.", icon=":material/search_off:")
        plain(str(error))
        return None
    if evaluations:
        choose_evaluation(run, "run")
    return run


def run_choices(runs: Iterable[ListedRun]) -> dict[str, str]:
    """What one may choose by the name in an address: each run, and each evaluation of a run that has several."""
    found: dict[str, str] = {}
    evaluations = get_evaluations()
    for run in runs:
        found[run.name] = run.name
        there = evaluations.get(run.run_id, ())
        if len(there) > 1:
            found |= {f"{run.name}@{one.judged.evaluation_id}": f"{run.name}: {one}" for one in there}
    return found


def choose_evaluation(run: RunRef, key: str) -> None:
    """Draw the choice of an evaluation where a run has several; it goes into the address under `key`."""
    there = get_evaluations().get(run.run_id, ())
    if len(there) < 2:
        return
    names = {run.name: "Newest evaluation of each metric"}
    names |= {f"{run.name}@{one.judged.evaluation_id}": str(one) for one in there}
    shown = f"{run.name}@{run.evaluation_id}" if run.chosen else run.name
    names.setdefault(shown, "Scores from the run file")
    st.selectbox(
        "Evaluation",
        list(names),
        format_func=lambda name: inert(names[name]),
        label_visibility="collapsed",
        help="Which evaluation of this run to show",
        width="stretch" if key != "run" else 720,
        **bound(key, shown, key=f"evaluation-{key}"),
    )


def evaluations_help(choices: Mapping[str, str]) -> str | None:
    """For a choice among `run_choices` what the names of evaluations stand for; None where there is none."""
    lines = [f"{escaped(name)}: {escaped(title)}" for name, title in choices.items() if title != name]
    if len(lines) > HELP_LINES:
        lines = [*lines[: HELP_LINES - 1], f"and {len(lines) - HELP_LINES + 1:,} more"]
    return "\n\n".join(lines) or None


def default_pair(runs: Sequence[ListedRun]) -> tuple[str, str]:
    """The newest run and the next over the same questions, the older as the baseline, of at least two runs.

    Runs that were never evaluated only where there are not two others.
    """
    newest, *others = sorted(runs, key=lambda run: not run.evaluated)
    other = next((run for run in others if (run.dataset_key, run.evaluated) == (newest.dataset_key, True)), others[0])
    a, b = sorted((newest, other), key=lambda run: run.imported)
    return a.name, b.name


UNSCORED: dict[UnscoredPolicy, str] = {
    "excluded": "Unscored: left out",
    "zero": "Unscored: as zero",
    "bounds": "Unscored: worst to best",
}
_UNSCORED_HELP = """How samples without a score count in means, CIs and comparisons. Left out: they do not count.
As zero: they count as 0, or as the worst value where lower is better. Worst to best: bounds on the result, from all
of them at the worst value to all at the best."""


def unscored_choice() -> UnscoredPolicy:
    """Draw the one choice of how unscored samples count: in the address, and kept from page to page."""
    last = st.session_state.get("unscored-chosen", "excluded")
    wanted = st.query_params.get("unscored", last)
    named: dict[str, UnscoredPolicy] = {policy: policy for policy in UNSCORED}
    chosen = named.get(wanted, "excluded")
    _save_unscored(chosen)
    st.session_state["unscored-choice"] = chosen
    st.selectbox(
        "Unscored samples",
        list(UNSCORED),
        format_func=UNSCORED.__getitem__,
        key="unscored-choice",
        on_change=lambda: _save_unscored(st.session_state["unscored-choice"]),
        label_visibility="collapsed",
        help=_UNSCORED_HELP,
    )
    return chosen


def _save_unscored(chosen: UnscoredPolicy) -> None:
    st.session_state["unscored-chosen"] = chosen
    if chosen == "excluded":
        st.query_params.pop("unscored", None)
    else:
        st.query_params["unscored"] = chosen


def page_number(name: str = "page") -> int:
    """The page of a list that the address names, from 1."""
    return number_in_address(name) or 1


def last_page(total: int, size: int) -> int:
    """The last page of a list, which may be empty."""
    return max(1, -(-total // size))


def pager(total: int, size: int, at: int, name: str = "page") -> None:
    """Draw the links to the other pages of a list that is shown at page `at`; the address has the page under `name`."""
    if total <= size:
        return
    if st.session_state.get(name, at) != at:
        st.session_state[name] = at
    st.pagination(last_page(total, size), default=at, key=name, on_change=put_into_address, args=(name, name))


def first_page() -> None:
    """Have a list begin anew: for what changes what is in it, or its order."""
    st.query_params.pop("page", None)


def offer_upload(width: Literal["content", "stretch"] = "content") -> None:
    """A button to the upload page, where this server takes files."""
    if writable() and st.button("Upload a run", icon=":material/upload_file:", width=width):
        open_page("upload")


def offer_sql(sql: str, key: str) -> None:
    """A button that opens the SQL behind a table in the console."""
    if st.button(
        "SQL", key=f"sql-{key}", type="tertiary", icon=":material/database:", help="Show the SQL behind this table"
    ):
        open_query(sql)


def export_control(name: str, frame: Callable[[], pd.DataFrame]) -> None:
    """Draw the export of a table; `name` is what its files are called, and stands for it on a page."""
    with st.popover("Export", icon=":material/download:", width="stretch"):
        for kind in TABLE_FORMATS:
            st.download_button(
                kind.upper(),
                partial(_table_file, frame, kind),
                file_name=_file_name(name, kind),
                key=f"export-{name}-{kind}",
                on_click="ignore",
                width="stretch",
            )


def _table_file(frame: Callable[[], pd.DataFrame], kind: str) -> bytes:
    return table_bytes(frame(), kind)


def report_button(name: str, written: Callable[[], str], width: Literal["content", "stretch"] = "content") -> None:
    """Draw the button that gives the page as one HTML file."""
    st.download_button(
        "Report",
        lambda: written().encode(),
        file_name=_file_name(name, "html"),
        mime="text/html",
        key="report",
        on_click="ignore",
        icon=":material/share:",
        help="Download this page as one HTML file that opens offline",
        width=width,
    )


def _file_name(name: str, ending: str) -> str:
    """A name that any file system takes."""
    return f"{_UNNAMED.sub('-', name).strip('-.')[:LONGEST_DOWNLOAD] or 'ragboard'}.{ending}"


@st.dialog("Edit run")
def edit_run(run: RunSummary, *, back: bool) -> None:
    """Draw the dialog; once it is done the run's page follows, or the leaderboard where `back`."""
    name = st.text_input("Name", run.name, key=f"name-{run.run_id}")
    tags = st.text_input("Tags, separated by commas", ", ".join(run.tags), key=f"tags-{run.run_id}")
    notes = st.text_area("Notes", run.notes, key=f"notes-{run.run_id}")
    if st.button("Save", type="primary", icon=":material/save:") and _save(run, name, tags, notes):
        open_page("runs") if back else open_run(name)
    with st.expander("Delete this run", icon=":material/delete:"):
        _delete(run)


def _save(run: RunSummary, name: str, tags: str, notes: str) -> bool:
    try:
        store().rename_run(run.run_id, name)
        store().set_tags(run.run_id, tags.split(","))
        store().set_notes(run.run_id, notes)
    except RagboardError as error:
        _show_refusal(error)
        return False
    return True


def _delete(run: RunSummary) -> None:
    plain(f"{run.name}: this deletes {run.samples:,} samples with their evaluations. You cannot undo it.")
    sure = st.checkbox("Delete permanently", key=f"sure-{run.run_id}")
    if st.button("Delete", icon=":material/delete_forever:", disabled=not sure):
        try:
            store().remove_runs([run.run_id])
        except RagboardError as error:
            _show_refusal(error)
        else:
            open_page("runs")


def _show_refusal(error: RagboardError) -> None:
    st.error("The change was not saved.", icon=":material/error:")
    plain(str(error))


@contextmanager
def uploaded(file: UploadedFile) -> Generator[Path]:
    """The upload under its own name in a folder of its own, which is deleted at the end of the block."""
    store().require_writable()
    with TemporaryDirectory(prefix=UPLOAD_PREFIX, ignore_cleanup_errors=True) as folder:
        path = Path(folder) / _upload_name(file.name)
        try:
            path.write_bytes(file.getvalue())
        except OSError as error:
            raise StoreError(f"{path.name}: cannot save the upload: {error.strerror or error}") from error
        yield path


def _upload_name(given: str) -> str:
    """The name of an uploaded file, without folders and no longer than a file's may be."""
    path = PurePosixPath(given.replace("\\", "/").replace("\0", ""))
    return f"{path.stem.encode()[:LONGEST_UPLOAD].decode(errors='ignore')}{path.suffix[:LONGEST_ENDING]}"


def without_folder(message: str) -> str:
    """A message about an upload without the folder that it is read in."""
    return re.sub(rf"{re.escape(gettempdir())}[/\\]{UPLOAD_PREFIX}[^/\\]*[/\\]", "", message)
