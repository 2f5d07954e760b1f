"""Controls that several pages share: choose a run, page through a list, export, upload, edit a run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory, gettempdir
from typing import Literal, NamedTuple, TypeVar

import pandas as pd
import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from ragboard.analysis import ListedRun, RunSummary, UnscoredPolicy
from ragboard.errors import NotFoundError, RagboardError, StoreError
from ragboard.export import TABLE_FORMATS, table_bytes
from ragboard.sample_files import SAMPLE_TAG
from ragboard.spans import strip_bidi_controls
from ragboard.store import RunRef
from ragboard_dashboard.data import (
    get_evaluations,
    get_items_per_run,
    get_judge_validation,
    get_label_files,
    get_runs,
    resolve,
    store,
    writable,
)
from ragboard_dashboard.links import (
    bound,
    link_html,
    link_to,
    number_in_url,
    open_page,
    open_query,
    open_run,
    write_to_url,
)
from ragboard_dashboard.text import html_escaped, markdown_escaped, plain, shortened
from ragboard_dashboard.updates import redraw_when

__all__ = [
    "breadcrumb",
    "choose_evaluation",
    "choose_run",
    "default_pair",
    "default_partner",
    "edit_run",
    "evaluations_help",
    "export_control",
    "find_partner",
    "first_page",
    "label_file_line",
    "last_page",
    "offer_sql",
    "offer_upload",
    "page_number",
    "pager",
    "report_button",
    "run_choices",
    "session_cached",
    "trust_line",
    "unscored_choice",
    "uploaded",
    "without_folder",
]

T = TypeVar("T")

HELP_LINES = 20
"""Maximum number of lines in the help text of a select box."""
MAX_DOWNLOAD_NAME = 80
"""Maximum number of characters in the name of a downloaded file."""
MAX_UPLOAD_NAME, MAX_UPLOAD_SUFFIX = 150, 20
"""Maximum number of bytes of an upload's name, and of characters of its suffix. Many file systems allow 255 bytes."""
UPLOAD_PREFIX = "ragboard-upload-"
_NOT_IN_FILE_NAMES = re.compile(r"[^\w.-]+")


RUN_PAGES = {"run": "Samples", "diagnosis": "Diagnosis", "hallucinations": "Hallucinations"}
"""The pages of one run, with the texts of their links."""


def choose_run(where: str) -> RunRef | None:
    """Return the run in the URL, or the newest run. If there is none, say what to do and return None."""
    wanted = st.query_params.get("run")
    runs = get_runs()
    if not runs:
        st.header("No run yet", anchor=False)
        st.markdown(f"The {where} page needs a run. Upload one to start.")
        offer_upload()
        redraw_when(lambda: bool(get_runs()))
        return None
    if wanted is None:
        wanted = st.query_params["run"] = runs[0].name
    try:
        run = resolve(wanted)
    except NotFoundError as error:
        st.error("The run in this link is not in the store.", icon=":material/search_off:")
        plain(str(error))
        redraw_when(lambda: bool(resolve(wanted)))
        return None
    return run


def breadcrumb(run: RunRef, here: str, leaf: str = "") -> None:
    """Draw the breadcrumb of a page of a run, with links to the run's other pages.

    `here` is the slug of this page. `leaf` is the last part of the breadcrumb, by default the run's name.
    """
    query = {"run": st.query_params["run"]}  # it may name an evaluation
    way = [link_html("runs", "Runs", {})]
    if here != "run":
        way.append(link_html("run", shortened(run.name), query))
    way.append(f"<span>{html_escaped(leaf or shortened(run.name))}</span>")
    others = [
        link_html(page, title, query if page != "hallucinations" else {"runs": query["run"]})
        for page, title in RUN_PAGES.items()
        if page != here
    ]
    if partner := find_partner(run.run_id):
        others.append(link_html("compare", "Compare", partner.query))
    with st.container(horizontal=True, vertical_alignment="center", key="breadcrumb"):
        st.html(f"<nav><div>{' › '.join(way)}</div><div>{''.join(others)}</div></nav>")
        if here != "evaluate":
            choose_evaluation(run, "run", 300)


class Partner(NamedTuple):
    """A run to compare a run with."""

    name: str
    query: Mapping[str, str]
    """The URL parameters of the comparison."""


def find_partner(run_id: str) -> Partner | None:
    """Return the newest other run over the same questions, evaluated if there is one; None if there is no other run."""
    listed = sorted(get_runs(), key=lambda run: not run.evaluated)
    this = next((run for run in listed if run.run_id == run_id), None)
    other = next((run for run in listed if this and run is not this and run.dataset_key == this.dataset_key), None)
    if this is None or other is None:
        return None
    a, b = sorted((other, this), key=lambda run: (run.imported, run.name))
    return Partner(name=other.name, query={"a": a.name, "b": b.name})


def run_choices(runs: Iterable[ListedRun]) -> dict[str, str]:
    """Return {name in URLs: title} for each run, and for each evaluation of runs that have several."""
    choices: dict[str, str] = {}
    by_run = get_evaluations()
    for run in runs:
        choices[run.name] = run.name
        evaluations = by_run.get(run.run_id, ())
        if len(evaluations) > 1:
            choices |= {f"{run.name}@{one.judged.evaluation_id}": f"{run.name}: {one}" for one in evaluations}
    return choices


def choose_evaluation(run: RunRef, key: str, width: int | Literal["stretch"] = "stretch") -> None:
    """Draw a select box for the evaluation, if a run has several. The choice is the URL parameter `key`."""
    evaluations = get_evaluations().get(run.run_id, ())
    if len(evaluations) < 2:
        return
    names = {run.name: "Newest evaluation"}
    names |= {f"{run.name}@{one.judged.evaluation_id}": str(one) for one in evaluations}
    shown = f"{run.name}@{run.evaluation_id}" if run.chosen else run.name
    names.setdefault(shown, "Scores from the run file")
    st.selectbox(
        "Evaluation",
        list(names),
        format_func=lambda name: strip_bidi_controls(names[name]),
        label_visibility="collapsed",
        help="Which evaluation of this run to show",
        width=width,
        **bound(key, shown, key=f"evaluation-{key}"),
    )


def evaluations_help(choices: Mapping[str, str]) -> str | None:
    """Return a help text that explains the evaluations in `run_choices`; None if there are only runs."""
    lines = [f"{markdown_escaped(name)}: {markdown_escaped(title)}" for name, title in choices.items() if title != name]
    if len(lines) > HELP_LINES:
        lines = [*lines[: HELP_LINES - 1], f"and {len(lines) - HELP_LINES + 1:,} more"]
    return "\n\n".join(lines) or None


def trust_line(run: RunRef, metric: str, what: str) -> None:
    """Draw how well a metric's judge agrees with labels, with a link, if there are labels."""
    trust = get_judge_validation(run, metric)
    if trust is None:
        return
    row = st.container(horizontal=True, vertical_alignment="center")
    with row:
        plain(f"{what}: judge {trust.in_words}", "note")
        to = {"agreement": trust.agreement, "dimension": trust.comparison.dimension}
        link_to("agreement", "See agreement", to, ":material/handshake:")


def label_file_line(runs: Iterable[RunSummary]) -> None:
    """Draw a link to the newest label file that a judge of these runs was compared with, if there is one.

    A file with labels of these runs' answers is preferred.
    """
    runs = tuple(runs)
    judges = {run.judged.judge for run in runs if run.judged}
    answers = get_items_per_run()
    own = {one.agreement.id for one in get_label_files() for run in runs if (one.agreement.id, run.run_id) in answers}
    files = (one for one in get_label_files() if one.agreement.judge in judges)
    found = next(iter(sorted(files, key=lambda one: one.agreement.id not in own)), None)
    if found is None:
        return
    kinds = {"pairs": "human preferences", "statements": "human labels", "passages": "graded passages"}
    labelled = kinds.get(found.agreement.form, "graded answers")
    with st.container(horizontal=True, vertical_alignment="center"):
        name = shortened(found.agreement.name)
        about = "for these runs" if found.agreement.id in own else "for other runs"
        items = sum(answers.get((found.agreement.id, run.run_id), 0) for run in runs) or found.items
        plain(f"{items:,} {labelled} {about} ({name}): see how well the metrics agree with annotators.", "note")
        link_to("agreement", "See agreement", {"agreement": found.agreement.id}, ":material/handshake:")


def default_pair(runs: Sequence[ListedRun]) -> tuple[str, str]:
    """Return the names of the runs (A, B) to compare by default: the newest two over the same questions, A the older.

    Evaluated runs are preferred, and the user's runs to those of `ragboard demo`. There must be at least two runs.
    """
    own = [run for run in runs if SAMPLE_TAG not in run.tags]
    evaluated = [run for run in runs if run.evaluated]
    pairs = (
        _newest_pair([run for run in own if run.evaluated]),
        _newest_pair([run for run in own if not run.evaluated]),
        _newest_pair(evaluated),
        _newest_pair([*evaluated, *runs]),
        own[:2] if len(own) > 1 else [],
    )
    newest, other = next(filter(None, pairs), [*evaluated, *(run for run in runs if not run.evaluated)][:2])
    a, b = sorted((newest, other), key=lambda run: (run.imported, run.name))
    return a.name, b.name


def default_partner(runs: Sequence[ListedRun], name: str, default: str) -> str:
    """Return the newest other evaluated run over the same questions as the run `name`, else `default`."""
    this = next((run for run in runs if run.name == name), None)
    partners = (run for run in runs if this and run.name != name and run.dataset_key == this.dataset_key)
    return next((run.name for run in partners if run.evaluated), default)


def _newest_pair(runs: Sequence[ListedRun]) -> list[ListedRun]:
    """Return the first two runs over the same questions; empty if there are none."""
    runs = list({run.run_id: run for run in runs}.values())
    counts = Counter(run.dataset_key for run in runs)
    shared = next((run.dataset_key for run in runs if counts[run.dataset_key] > 1), None)
    return [run for run in runs if run.dataset_key == shared][:2]


UNSCORED: dict[UnscoredPolicy, str] = {
    "excluded": "Unscored: left out",
    "zero": "Unscored: as zero",
    "bounds": "Unscored: worst to best",
}
_UNSCORED_HELP = """How samples without a score count in means, CIs and comparisons. Left out: they do not count.
As zero: they count as 0, or as the worst value if lower is better. Worst to best: the result is a range, from all of
them at the worst value to all at the best value."""


def unscored_choice() -> UnscoredPolicy:
    """Draw a select box for how unscored samples count. The choice is in the URL and applies to other pages, too."""
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
    """Return the number of the page of a list from the URL, from 1."""
    return number_in_url(name) or 1


def last_page(total: int, size: int) -> int:
    """Return the number of the last page of a list; 1 for an empty list."""
    return max(1, -(-total // size))


def pager(total: int, size: int, at: int, name: str = "page") -> None:
    """Draw links to the pages of a list. `at` is the number of this page, `name` the URL parameter."""
    if total <= size:
        return
    if st.session_state.get(name, at) != at:
        st.session_state[name] = at
    st.pagination(last_page(total, size), default=at, key=name, on_change=write_to_url, args=(name, name))


def first_page() -> None:
    """Go back to the first page of a list, after its filter or order has changed."""
    st.query_params.pop("page", None)


def session_cached(name: str, key: object, compute: Callable[[], T]) -> T:
    """Return the result of `compute`. The session caches one result per name until the key changes."""
    kept = st.session_state.get(name)
    if kept is None or kept[0] != key:
        kept = st.session_state[name] = (key, compute())
    value: T = kept[1]
    return value


def offer_upload(width: Literal["content", "stretch"] = "content") -> None:
    """Draw a button to the upload page, unless the server is read-only."""
    if writable() and st.button("Upload a run", icon=":material/upload_file:", width=width):
        open_page("upload")


def offer_sql(sql: str, key: str) -> None:
    """Draw a button that opens a table's SQL query in the SQL console."""
    if st.button(
        "SQL", key=f"sql-{key}", type="tertiary", icon=":material/database:", help="Show the SQL behind this table"
    ):
        open_query(sql)


def export_control(
    name: str, frame: Callable[[], pd.DataFrame], width: Literal["content", "stretch"] = "stretch"
) -> None:
    """Draw the export of a table. `name` is the name of its files and must be unique on the page."""
    with st.popover("Export", icon=":material/download:", width=width):
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
    """Draw the button that downloads a report as one HTML file."""
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


def _file_name(name: str, extension: str) -> str:
    """Return a file name that is valid on any file system."""
    return f"{_NOT_IN_FILE_NAMES.sub('-', name).strip('-.')[:MAX_DOWNLOAD_NAME] or 'ragboard'}.{extension}"


@st.dialog("Edit run")
def edit_run(run: RunSummary, *, back: bool) -> None:
    """Draw the dialog to edit or delete a run. Saving opens the run's page or, if `back`, the Runs page."""
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
        _show_error(error)
        return False
    return True


def _delete(run: RunSummary) -> None:
    plain(f"{run.name}: this deletes {run.samples:,} samples with their evaluations. You cannot undo it.")
    sure = st.checkbox("Delete permanently", key=f"sure-{run.run_id}")
    if st.button("Delete", icon=":material/delete_forever:", disabled=not sure):
        try:
            store().remove_runs([run.run_id])
        except RagboardError as error:
            _show_error(error)
        else:
            open_page("runs")


def _show_error(error: RagboardError) -> None:
    st.error("The change was not saved.", icon=":material/error:")
    plain(str(error))


@contextmanager
def uploaded(file: UploadedFile) -> Generator[Path]:
    """Save an upload in a temporary folder, which is deleted at the end of the block. Raises StoreError."""
    store().require_writable()
    with TemporaryDirectory(prefix=UPLOAD_PREFIX, ignore_cleanup_errors=True) as folder:
        path = Path(folder) / _upload_name(file.name)
        try:
            path.write_bytes(file.getvalue())
        except OSError as error:
            raise StoreError(f"{path.name}: cannot save the upload: {error.strerror or error}") from error
        yield path


def _upload_name(given: str) -> str:
    """Return the name of an uploaded file without folders, shortened to a valid length."""
    path = PurePosixPath(given.replace("\\", "/").replace("\0", ""))
    return f"{path.stem.encode()[:MAX_UPLOAD_NAME].decode(errors='ignore')}{path.suffix[:MAX_UPLOAD_SUFFIX]}"


def without_folder(message: str) -> str:
    """Return a message about an upload, without the path of its temporary folder."""
    return re.sub(rf"{re.escape(gettempdir())}[/\\]{UPLOAD_PREFIX}[^/\\]*[/\\]", "", message)
