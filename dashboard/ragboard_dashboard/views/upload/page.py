"""The Upload page: import a file as one or more runs, and evaluate them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple, NoReturn, TypeAlias, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.uploaded_file_manager import UploadedFile

from ragboard.errors import RagboardError, RunFileError, SettingError, StoreError
from ragboard.evaluation.background import destination, forwards_key, planning_panel, start_evaluation
from ragboard.evaluation.identity import Choice
from ragboard.evaluation.offers import Offer, count_contents, make_offer, unscorable
from ragboard.evaluation.progress import LiveEvaluation, live_evaluation
from ragboard.judges import JudgeOptions
from ragboard.prices import read_prices
from ragboard.readers import EXTENSIONS, ImportReport, Preview, ReadResult, Table, described_run, read_runs, read_table
from ragboard.readers.labels import LabelFile, try_read_labels
from ragboard.readers.runs import splitting_column
from ragboard.records import Sample
from ragboard.settings import read_pairs
from ragboard.store import AddedRun, RunRef
from ragboard_dashboard.controls import find_partner, session_cached, uploaded, without_folder
from ragboard_dashboard.data import evaluates, get_runs, known_metrics, launch_context, store, writable
from ragboard_dashboard.links import link_to, open_comparison, open_page, open_run
from ragboard_dashboard.progress import panel
from ragboard_dashboard.text import markdown_escaped, plain, shortened
from ragboard_dashboard.views.agreement.measure import measure_agreement
from ragboard_dashboard.views.upload.columns import (
    LABELS,
    Matched,
    draw_columns,
    draw_suggestions,
    field_of,
    match_columns,
    record_no_passages,
)
from ragboard_dashboard.views.upload.samples import draw_samples

__all__ = ["draw"]

T = TypeVar("T")
NextStep: TypeAlias = Literal["evaluate", "choose", "keep"]
NEXT_STEPS: Mapping[NextStep, tuple[str, str]] = {
    "evaluate": ("Import and evaluate", ":material/play_arrow:"),
    "choose": ("Import and choose metrics", ":material/tune:"),
    "keep": ("Import only", ":material/save:"),
}
"""What to do with a file: the label and the icon of its button."""
EXAMPLE_MODEL = "gpt-4o-mini"
"""The chat model whose prices are shown as an example."""
EMBEDDED = JudgeOptions()
LABELS_ARE_MEASURED = (
    "They are also compared with the embedded judge (rule-based, needs no key); see the result on the Agreement page."
)
READING, PLANNING = "**Reading the file…**", "**Planning; nothing is sent…**"
SPLIT_ASKED = "upload-split-asked"
"""Session key: the id of the last file that was searched for a column that splits it into runs."""
FIRST_ROWS = 10
"""Number of rows to read for the first samples: more than are shown, because some rows may be bad."""
MAX_NAMED = 3
"""Maximum number of metrics or runs that a sentence names."""


def draw() -> None:
    """Draw the page."""
    if "watch" in st.query_params:
        _draw_progress(st.query_params["watch"].split(","), st.query_params.get("run", ""))
        return
    st.header("Upload a run", anchor=False)
    if not writable():
        st.info("This dashboard is read-only: you cannot upload here.", icon=":material/lock:")
        return
    files = st.file_uploader(
        "Run files: JSONL, JSON, CSV, Excel or Parquet with questions, passages and answers; one or several",
        type=[ending[1:] for ending in EXTENSIONS],
        accept_multiple_files=True,
        key="file",
    )
    if not files:
        _draw_example()
        return
    if len(files) > 1:
        try:
            _draw_files(files)
        except RagboardError as error:
            _show_error("", error)
        return
    (file,) = files
    with uploaded(file) as path:
        try:
            _draw_file(file, path)
        except RagboardError as error:
            _show_error(file.name, error)


class RunFile(NamedTuple):
    """An uploaded file of runs."""

    file: UploadedFile
    path: Path
    read: ReadResult


class Files(NamedTuple):
    """The contents of several uploaded files."""

    runs: list[RunFile]
    grades: list[Path]
    """The files of `runs` that have human grades."""
    preferences: list[Path]
    errors: list[str]
    """Why the other files cannot be read."""


def _draw_files(files: Sequence[UploadedFile]) -> None:
    """Say what several files contain, and draw the buttons that import them together."""
    heading, summary = st.empty(), st.container()
    with ExitStack() as stack:
        with summary:
            found = _read_files(files, stack, heading)
            for line in found.errors:
                st.error("This file cannot be imported together with others. Upload it alone.", icon=":material/error:")
                plain(line)
        if found.errors or not found.runs:
            heading.empty()
            if not found.errors:
                st.info("Upload files with preferences one at a time.", icon=":material/info:")
            return
        samples = [sample for one in found.runs for sample in _samples(one.read)]
        key = tuple(one.file.file_id for one in found.runs)
        plan = partial(_offer, samples)
        offer = _cached_with_status(heading, PLANNING, "offer-files", key, plan) if evaluates() else None
        heading.markdown(f"**{_count(len(found.runs), 'run file')} to import.**")
        if evaluates():
            _draw_offer(EMBEDDED, offer)
        if found.grades or found.preferences:
            plain(LABELS_ARE_MEASURED)
        next_step = _next_step(offer, "evaluate", skipped=("choose",))
        if not next_step:
            return
        added = [run for one in found.runs for run in _add(one.path, one.read, one.file.name)]
        _draw_imported([one.read.report for one in found.runs], tuple(added))
        for path in (*found.preferences, *(found.grades if next_step != "keep" else ())):
            measure_agreement(path, keep=True)
        if next_step == "evaluate":
            _start_evaluations(tuple(added), Choice(metrics=_specs(offer), judge_options=EMBEDDED))


def _read_files(files: Sequence[UploadedFile], stack: ExitStack, heading: DeltaGenerator) -> Files:
    """Read several files, and draw a line about each."""
    found = Files([], [], [], [])
    for file in files:
        path = stack.enter_context(uploaded(file))
        try:
            labels = _cached_labels(heading, path, file, read_table(path).columns)
            if labels and labels.form == "pairs":
                found.preferences.append(path)
                plain(f"{file.name}: {_contents_of_labels(labels)}.")
                continue
            read = _cached_with_status(heading, READING, f"upload-{file.file_id}", "read", partial(_read, path, file))
        except RagboardError as error:
            found.errors.append(f"{file.name}: {without_folder(str(error))}")
            continue
        found.runs.append(RunFile(file, path, read))
        if labels:
            found.grades.append(path)
        graded = f", with human grades for {_dimensions(labels)}" if labels else ""
        plain(f"{file.name}: {_contents_of(read)}{graded}.")
    return found


def _read(path: Path, file: UploadedFile) -> ReadResult:
    """Read a file with the columns that `match_columns` chooses. Raises SettingError if a column is unclear."""
    table = read_table(path)
    matched = match_columns(path, table, file)
    if matched.error:
        raise matched.error
    if matched.missing or matched.asks_for_passages:
        names = ", ".join(LABELS[field].lower() for field in matched.fields_to_ask)
        raise SettingError(f"it is unclear which column holds: {names}")
    read = read_runs(path, mapping=matched.mapping, table=table)
    column = splitting_column(read.runs)
    return read_runs(path, mapping=matched.mapping, table=table, run_column=column) if column else read


def _offer(samples: Sequence[Sample]) -> Offer | None:
    return make_offer(samples, planning_panel(EMBEDDED), read_prices(launch_context().prices))


def _draw_example() -> None:
    st.markdown(
        "ragboard recognises results of ragas, RAGChecker, DeepEval, TruLens and other tools, and traces. For other"
        " tables, you can match the columns here. An example of one sample in JSON Lines:"
    )
    st.code(
        '{"question": "When did the bridge open?", "contexts": ["It opened to traffic in July 2000."], '
        '"answer": "It opened in 2000."}',
        language=None,
        wrap_lines=True,
    )


def _show_error(name: str, error: RagboardError) -> None:
    st.error("This file cannot be imported. Nothing was stored.", icon=":material/error:")
    message = str(error).removesuffix(error.remedy) if isinstance(error, RunFileError) else str(error)
    plain(without_folder(message) or name)


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How to read a file, apart from its columns: arguments of `read_runs`."""

    name: str
    settings: str
    split: str | None
    skip: bool


class Layout(NamedTuple):
    """The containers of the page from top to bottom. They keep buttons in place while the page is drawn."""

    heading: DeltaGenerator
    summary: DeltaGenerator
    columns: DeltaGenerator
    suggestions: DeltaGenerator
    judge: DeltaGenerator
    offers: DeltaGenerator
    buttons: DeltaGenerator
    result: DeltaGenerator
    samples: DeltaGenerator


def _draw_file(file: UploadedFile, path: Path) -> None:
    """Say what the file contains and how it is read, and draw the buttons that import it."""
    file_id, summary = st.session_state.get("upload-head", ("", ""))
    heading = st.markdown(summary if file_id == file.file_id else READING)
    layout = Layout(heading, *(st.container() for _ in Layout._fields[1:]))
    try:
        table = _cached_with_status(heading, READING, "upload-table", file.file_id, lambda: read_table(path))
        matched = match_columns(path, table, file)
    except RagboardError:
        heading.empty()
        raise
    options = _read_options(file.file_id, described_run(path, table).name)
    labels = _cached_labels(heading, path, file, matched.own_columns)
    fields_to_ask = matched.fields_to_ask
    if labels and labels.form == "pairs":
        _draw_labels(layout, path, matched, labels)
        return
    if not labels and (matched.error or matched.missing):
        heading.empty()
        with layout.summary:
            _show_error(file.name, matched.error) if matched.error else _ask_for_columns(matched.missing)
    else:
        with layout.samples, suppress(RagboardError):  # reading the whole file reports the error
            draw_samples(_read_file(path, table, matched, options, limit=FIRST_ROWS).runs)
        if labels and (matched.error or matched.missing):
            _draw_labels(layout, path, matched, labels)
        else:
            fields_to_ask = _draw_runs(layout, path, table, matched, options, labels)
    draw_columns(matched, fields_to_ask, layout.columns)
    _draw_options(matched.preview)


def _read_split(
    heading: DeltaGenerator, path: Path, table: Table, matched: Matched, options: ReadOptions
) -> tuple[ReadResult, ReadOptions]:
    """Read the whole file, split into runs by the user's choice or, if there is none, by a column such as the model."""
    read = _read_cached(heading, path, table, matched, options)
    if st.session_state.get(SPLIT_ASKED) == matched.file.file_id:
        return read, options
    st.session_state[SPLIT_ASKED] = matched.file.file_id
    column = splitting_column(read.runs) if options.split is None else None
    if column is None:
        return read, options
    st.session_state["upload-split"] = column
    options = replace(options, split=column)
    return _read_cached(heading, path, table, matched, options), options


def _draw_split(read: ReadResult, options: ReadOptions) -> None:
    """Say which column splits the file into runs, and draw a button that reads it as one run."""
    if options.split is None or len(read.runs) < 2:
        return
    names = ", ".join(run.name for run in read.runs[:MAX_NAMED])
    more = f" and {len(read.runs) - MAX_NAMED} more" if len(read.runs) > MAX_NAMED else ""
    plain(f"One run for each {options.split}: {names}{more}.")
    st.button("Read as one run", icon=":material/merge:", type="tertiary", on_click=_read_as_one)


def _read_as_one() -> None:
    st.session_state["upload-split"] = None


def _cached_labels(
    heading: DeltaGenerator, path: Path, file: UploadedFile, columns: Collection[str]
) -> LabelFile | None:
    """Return the human labels in a file. The session caches them."""
    key = f"upload-labels-{file.file_id}"
    return _cached_with_status(heading, READING, key, columns, lambda: try_read_labels(path, columns))


def _draw_labels(layout: Layout, path: Path, matched: Matched, labels: LabelFile) -> None:
    """Describe the human labels in a file that is not a run, and draw a button that measures agreement with them."""
    _draw_heading(layout, matched, f"**{_contents_of_labels(labels)}.**")
    with layout.summary:
        plain(_use_of_labels(labels))
    with layout.buttons:
        wants_agreement = st.button("Measure agreement", icon=":material/handshake:", type="primary")
    with layout.result:
        if wants_agreement and (agreement := measure_agreement(path, keep=True)):
            open_page("agreement", {"agreement": agreement})


def _contents_of_labels(labels: LabelFile) -> str:
    questions = _count(labels.questions, "question")
    if labels.form == "pairs":
        return f"Human preferences: {_count(len(labels.items), 'pair')} of answers or passages to {questions}"
    return f"Human grades: {_count(len(labels.items), 'answer')} to {questions}"


def _use_of_labels(labels: LabelFile) -> str:
    what = "preferences" if labels.form == "pairs" else "grades"
    return (
        f"The file has human {what} for {_dimensions(labels)}. The Agreement page compares them with the embedded"
        " judge (rule-based, needs no key) and shows whether its metrics can be trusted on these answers."
    )


def _dimensions(labels: LabelFile) -> str:
    return ", ".join(name.replace("_", " ") for name in labels.dimensions)


def _draw_runs(
    layout: Layout, path: Path, table: Table, matched: Matched, options: ReadOptions, graded: LabelFile | None
) -> tuple[str, ...]:
    """Describe the runs in the file and what each judge can score, and draw the buttons that import the runs.

    Return the fields for which the page asks for a column.
    """
    heading = layout.heading
    try:
        read, options = _read_split(heading, path, table, matched, options)
    except RagboardError as error:
        heading.empty()
        with layout.summary:
            _show_error(matched.file.name, error)
            _offer_to_skip(error)
        return matched.fields_to_ask or (field_of(error) if isinstance(error, RunFileError) else ())
    if matched.asks_for_passages:
        _draw_summary(layout, matched, read)
        with layout.summary:
            st.warning("To continue, choose the column with the passages. Statements are checked against them.")
        with layout.suggestions:
            draw_suggestions(matched)
            st.button("The file has no passages", icon=":material/block:", on_click=record_no_passages, args=(matched,))
        return matched.fields_to_ask
    with layout.judge:
        judge_options = _choose_judge() if evaluates() else EMBEDDED
    offer = _cached_offer(heading, read, judge_options) if evaluates() else None
    shows_example = evaluates() and judge_options == EMBEDDED
    chat_model_offer = _cached_offer(heading, read, _chat_model(EXAMPLE_MODEL)) if shows_example else None
    _draw_summary(layout, matched, read)
    with layout.suggestions:
        draw_suggestions(matched)
        _draw_split(read, options)
    if graded:
        with layout.summary:
            plain(f"The file has human grades for {_dimensions(graded)}. {LABELS_ARE_MEASURED}")
    with layout.offers:
        if evaluates():
            _draw_offer(judge_options, offer)
        if chat_model_offer:
            _draw_chat_model_offer(read, chat_model_offer)
    with layout.buttons:
        has_verdicts = any(run.scores and run.scores.recorded for run in read.runs)
        next_step = _next_step(offer, "keep" if has_verdicts else "evaluate")
    if next_step:
        with layout.result:
            choice = Choice(metrics=_specs(offer), judge_options=judge_options)
            _import(path, read, matched.file.name, next_step, choice, graded)
    return matched.fields_to_ask


def _cached_with_status(heading: DeltaGenerator, status: str, name: str, key: object, compute: Callable[[], T]) -> T:
    """Return the value that the session caches as `name` for `key`. The heading is `status` while it is computed."""

    def compute_with_status() -> T:
        heading.markdown(status)
        return compute()

    return session_cached(name, key, compute_with_status)


def _ask_for_columns(fields_to_ask: tuple[str, ...]) -> None:
    words = (
        "To continue, choose the column with the question."
        if "question" in fields_to_ask
        else "To continue, choose the column with the system's answer and, if there is one, the column with the"
        " reference."
    )
    st.warning(words, icon=":material/help:")


def _offer_to_skip(error: RagboardError) -> None:
    if isinstance(error, RunFileError) and error.line is not None:
        st.button("Skip bad rows and list them", icon=":material/filter_alt:", on_click=_skip)


def _skip() -> None:
    st.session_state["upload-skip"] = True


def _read_options(file_id: str, name: str) -> ReadOptions:
    """Return the chosen options. For a new file, these are the defaults and the name in the file."""
    state = st.session_state
    if state.get("options-of") != file_id or "upload-name" not in state:
        state["options-of"], state["upload-name"], state["upload-settings"] = file_id, name, ""
        state["upload-split"], state["upload-skip"] = None, False
    return ReadOptions(
        name=state["upload-name"],
        settings=state["upload-settings"],
        split=state["upload-split"],
        skip=state["upload-skip"],
    )


def _draw_options(preview: Preview) -> None:
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
            [None, *(use.column for use in preview.columns)],
            format_func=lambda column: "(one run)" if column is None else str(column),
            key="upload-split",
        )
        st.checkbox("Skip bad rows and list them (otherwise, the file is not imported)", key="upload-skip")


def _read_cached(
    heading: DeltaGenerator, path: Path, table: Table, matched: Matched, options: ReadOptions
) -> ReadResult:
    """Read the whole file. The session caches the result."""
    return _cached_with_status(
        heading,
        READING,
        "upload-read",
        (matched.file.file_id, tuple(matched.mapping.items()), options),
        lambda: _read_file(path, table, matched, options),
    )


def _read_file(
    path: Path, table: Table, matched: Matched, options: ReadOptions, limit: int | None = None
) -> ReadResult:
    return read_runs(
        path,
        name=options.name.strip() if options.name != described_run(path, table).name else None,
        config=read_pairs(pair for pair in options.settings.split(",") if pair.strip()),
        mapping=matched.mapping,
        run_column=options.split,
        skip_bad=options.skip,
        table=table,
        limit=limit,
    )


def _draw_heading(layout: Layout, matched: Matched, text: str) -> None:
    """Say in one line what the file contains, and keep the line for the next script run."""
    st.session_state["upload-head"] = matched.file.file_id, text
    layout.heading.markdown(text)


def _draw_summary(layout: Layout, matched: Matched, read: ReadResult) -> None:
    """Say what the file contains, and from which column each field is read."""
    preview = matched.preview
    _draw_heading(layout, matched, f"**{_contents_of(read)}.**")
    fields = ", ".join(f"{use.field} from {use.column}" for use in preview.columns if use.field)
    missing = f" Not in the file: {', '.join(preview.missing)}." if preview.missing else ""
    skipped = f" {len(read.report.dropped):,} bad rows are skipped." if read.report.dropped else ""
    reused = f"\nThe columns are matched as for {matched.choices_from}." if matched.choices_from else ""
    with layout.summary:
        plain(f"Read as {preview.format}: {fields}.{missing}{skipped}{reused}", "note")
        if scores := scores_in_file(read):
            plain(scores)


def scores_in_file(read: ReadResult) -> str:
    """Describe another tool's scores and verdicts in the file; empty if there are none."""
    files = [run.scores for run in read.runs if run.scores]
    if not files:
        return ""
    statements = sum(len(sample.statements) for scores in files for sample in scores.recorded)
    verdicts = f" and the verdicts of its judge on {statements:,} statements" if statements else ""
    names = ", ".join(dict.fromkeys(name for scores in files for name in scores.columns.values()))
    return (
        f"The file has scores of {files[0].tool} ({names}){verdicts}. They are imported with the run, without judge"
        " calls."
    )


def _contents_of(read: ReadResult) -> str:
    runs = f" in {len(read.runs):,} runs" if len(read.runs) > 1 else ""
    return f"{count_contents(_samples(read))}{runs}"


def _samples(read: ReadResult) -> list[Sample]:
    return [sample for run in read.runs for sample in run.samples]


def _metrics_of_verdicts(read: ReadResult) -> frozenset[str]:
    """Return the metrics that can be computed from verdicts in the file, for all its runs."""
    return frozenset.intersection(
        *(frozenset(run.scores.equivalent_metrics.values() if run.scores else ()) for run in read.runs)
    )


def _next_step(offer: Offer | None, first: NextStep, *, skipped: Sequence[NextStep] = ()) -> NextStep | None:
    """Draw the buttons except `skipped`, with `first` as the primary one. Return the step that was clicked."""
    row = st.container(horizontal=True)
    is_offered: Mapping[NextStep, bool] = {
        "evaluate": offer is not None,
        "choose": evaluates() and "choose" not in skipped,
        "keep": True,
    }
    clicked: NextStep | None = None
    for step, (label, icon) in NEXT_STEPS.items():
        if is_offered[step] and row.button(label, icon=icon, type="primary" if step == first else "secondary"):
            clicked = step
    return clicked


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _choose_judge() -> JudgeOptions:
    """Return the user's choice of judge, or the embedded judge if the server has no key for a chat model."""
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


def _cached_offer(heading: DeltaGenerator, read: ReadResult, judge_options: JudgeOptions) -> Offer | None:
    prices = read_prices(launch_context().prices)
    file_key = st.session_state["upload-read"][0]
    return _cached_with_status(
        heading,
        PLANNING,
        f"offer-{judge_options == EMBEDDED}",
        (file_key, judge_options.judge),
        lambda: make_offer(_samples(read), planning_panel(judge_options), prices, _metrics_of_verdicts(read)),
    )


def _specs(offer: Offer | None) -> tuple[str, ...]:
    return tuple(metric.spec for metric in offer.metrics) if offer else ()


def _draw_offer(judge_options: JudgeOptions, offer: Offer | None) -> None:
    if offer is None:
        plain("None of the default metrics can be scored: the file has neither answers nor passages.")
        return
    host = destination(judge_options)
    if host:
        model = judge_options.judge.partition(":")[2]
        plain(f"{offer.names} by {model}, {offer.cost}. Questions, passages and answers are sent to {host}.")
    else:
        judge = "the embedded judge, which is rule-based and needs no key"
        plain(f"{offer.names} by {judge}: {offer.cost}. Nothing leaves this machine.")


def _draw_chat_model_offer(read: ReadResult, offer: Offer) -> None:
    """Say which metrics a chat model could score, and at what cost."""
    judge_options = _chat_model(EXAMPLE_MODEL)
    contents, metrics = count_contents(_samples(read)), known_metrics()
    not_by_embedded = unscorable(metrics.values(), contents, planning_panel(EMBEDDED))
    not_by_model = unscorable(metrics.values(), contents, planning_panel(judge_options))
    also = [metric.title for spec, metric in metrics.items() if spec in not_by_embedded and spec not in not_by_model]
    more = f" and {len(also) - MAX_NAMED} more" if len(also) > MAX_NAMED else ""
    others = f" It can also score {', '.join(also[:MAX_NAMED])}{more}." if also else ""
    plain(f"{offer.names} by a chat model: {offer.cost} at the prices of {EXAMPLE_MODEL}.{others}", "note")


def _import(
    path: Path, read: ReadResult, source: str, next_step: NextStep, choice: Choice, grades: LabelFile | None
) -> None:
    """Import the runs, measure agreement with human grades in the file, and take the next step."""
    added = _add(path, read, source)
    del st.session_state["upload-read"], st.session_state["upload-table"]
    _draw_imported([read.report], added)
    if grades and next_step != "keep":
        measure_agreement(path, keep=True)
    if next_step == "evaluate":
        _start_evaluations(added, choice)
    if next_step == "choose" and added:
        open_page("evaluate", {"run": added[0].name})


def _add(path: Path, read: ReadResult, source: str) -> tuple[AddedRun, ...]:
    """Store the file and its runs."""
    added = store().add_runs(replace(run, source=source) for run in read.runs)
    try:
        store().keep_upload(path, owners=[run.id for run in added])
    except StoreError as error:
        st.warning("The run was saved, but the uploaded file was not.", icon=":material/warning:")
        plain(str(error))
    return added


def _draw_imported(reports: Sequence[ImportReport], added: tuple[AddedRun, ...]) -> None:
    st.session_state["import-reports"] = reports
    if added:
        samples, runs = sum(run.samples for run in added), len(added)
        st.success(
            f"Imported {samples:,} sample{'s' if samples > 1 else ''} in {runs:,} run{'s' if runs > 1 else ''}.",
            icon=":material/check:",
        )
        with st.container(horizontal=True):
            link_to("run", "Open the run", {"run": added[0].name}, ":material/bar_chart:")
            if evaluates():
                link_to("evaluate", "Evaluate", {"run": added[0].name}, ":material/gavel:")
            if partner := find_partner(added[0].id):
                label = f"Compare with {markdown_escaped(shortened(partner.name))}"
                link_to("compare", label, partner.query, ":material/compare_arrows:")
    for report in reports:
        _draw_report(report)


def _draw_report(report: ImportReport) -> None:
    lines = [f"{report.path}: {report.rows_read:,} rows read, {report.encoding}"]
    lines += [f"skipped line {row.line}: {row.field or 'row'}: {row.message}" for row in report.dropped[:20]]
    lines += [f"{change.count} x {change.what} (line {', '.join(map(str, change.lines))})" for change in report.coerced]
    lines += [f"duplicate id, line {row.line}: {row.given} is now {row.assigned}" for row in report.duplicated[:20]]
    lines += report.notes
    plain("\n".join(lines), "note")


def _has_problems(report: ImportReport) -> bool:
    """Return whether the report has problems that the user should read first."""
    return bool(report.dropped or report.coerced or report.duplicated)


def _start_evaluations(added: tuple[AddedRun, ...], choice: Choice) -> None:
    evaluation_ids: list[str] = []
    for run in added:
        ref = RunRef(run_id=run.id, name=run.name, evaluation_id=None)
        try:
            evaluation_ids.append(start_evaluation(store(), ref, choice, launch_context()))
        except RagboardError as error:
            st.error("Imported, but the evaluation did not start.", icon=":material/error:")
            plain(f"{run.name}: {error}")
    if len(evaluation_ids) < len(added):
        return
    st.query_params["watch"] = ",".join(evaluation_ids)
    st.query_params["run"] = added[0].name
    st.rerun()


def _draw_progress(evaluation_ids: Sequence[str], run: str) -> None:
    st.header("Evaluating", anchor=False)
    evaluations = [live for one in evaluation_ids if (live := live_evaluation(store(), one))]
    plain(", ".join(_evaluated_runs(evaluations) or [run]))
    for report in st.session_state.get("import-reports", ()):
        _draw_report(report)
    _draw_live_progress(evaluation_ids, run)


@st.fragment(run_every=0.5)
def _draw_live_progress(evaluation_ids: Sequence[str], run: str) -> None:
    evaluations = [live for name in evaluation_ids if (live := live_evaluation(store(), name))]
    names = {listed.run_id: listed.name for listed in get_runs()} if evaluations else {}
    for live in evaluations:
        panel(live, RunRef(run_id=live.run_id, name=names.get(live.run_id, run), evaluation_id=None))
    if not evaluations:
        st.error("The evaluation in this link is not in the store.", icon=":material/search_off:")
        return
    if any(live.under_way for live in evaluations):
        return
    reports = st.session_state.get("import-reports", ())
    if all(live.state == "finished" for live in evaluations) and not any(map(_has_problems, reports)):
        _open_result(evaluations, run)
    if st.button("Open the result", icon=":material/arrow_forward:"):
        _open_result(evaluations, run)


def _open_result(evaluations: Sequence[LiveEvaluation], run: str) -> NoReturn:
    """Open the result: one run, a comparison of two runs, or the list of runs if there are more."""
    names = _evaluated_runs(evaluations)
    if len(names) == 2:
        open_comparison(*names)
    if len(names) > 2:
        open_page("runs")
    open_run(run)


def _evaluated_runs(evaluations: Sequence[LiveEvaluation]) -> list[str]:
    if not evaluations:
        return []
    names = {listed.run_id: listed.name for listed in get_runs()}
    return list(dict.fromkeys(names[live.run_id] for live in evaluations if live.run_id in names))
