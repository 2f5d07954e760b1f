"""Pieces that several pages show: plain text, the choice of a run, who judged it and what it got."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Literal

import streamlit as st

from ragboard.analysis import STANDINGS, ListedRun, MetricSummary, Overruled, RunSummary, SampleReport, UnscoredPolicy
from ragboard.errors import NotFoundError
from ragboard.records import Outcome, Score
from ragboard.spans import inert
from ragboard.stats import Interval
from ragboard.store import RunRef
from ragboard_dashboard.components.board import ago, mean_shown
from ragboard_dashboard.data import get_evaluations, get_metrics, get_runs, resolve, writable
from ragboard_dashboard.navigation import open_query, open_upload

__all__ = [
    "choose_evaluation",
    "choose_run",
    "column_title",
    "config_line",
    "default_pair",
    "dollars",
    "escaped",
    "evaluations_help",
    "facts",
    "file_facts",
    "first_page",
    "judged_line",
    "number_named",
    "offer_sql",
    "offer_upload",
    "outcome_fact",
    "page_number",
    "pager",
    "plain",
    "run_choices",
    "summary_facts",
    "unscored_choice",
]

DIGITS = 6
"""Digits of the highest page that an address can name."""

HELP_LINES = 20
"""Lines of the help of a choice at most."""

Kind = Literal["title", "line", "note"]
_STYLES: dict[Kind, str] = {
    "title": "font-family:'Source Serif',Georgia,serif;font-size:1.6rem;font-weight:600;line-height:1.3",
    "line": "line-height:1.5",
    "note": "line-height:1.4;font-size:0.9rem;opacity:0.75",
}


def plain(text: str, kind: Kind = "line") -> None:
    """Text that somebody else wrote, shown as it is: nothing in it is markup."""
    tag = "h1" if kind == "title" else "div"
    bidi = "plaintext;text-align:start" if kind == "title" else "isolate"  # a line may join texts of both directions
    style = f"{_STYLES[kind]};overflow-wrap:anywhere;white-space:pre-wrap;unicode-bidi:{bidi};margin:0;padding:0"
    st.html(f'<{tag} style="{style}">{escape(inert(text))}</{tag}>')


def facts(items: list[tuple[str, str, str]]) -> None:
    """A row of figures: number, what it is, what it was counted from."""
    pieces = "".join(
        '<div style="min-width:7rem"><div><b style="font-size:1.15rem">'
        f"{escape(number)}</b> {escape(inert(title))}</div>"
        f'<div style="font-size:0.87rem;opacity:0.75">{escape(inert(note))}</div></div>'
        for number, title, note in items
    )
    st.html(
        f'<div style="display:flex;flex-wrap:wrap;gap:0.5rem 1.8rem;font-variant-numeric:tabular-nums">{pieces}</div>'
    )


def file_facts(items: list[tuple[str, str, str]]) -> None:
    """The same for scores that the run file brought, set apart from ours."""
    if items:
        plain("Brought by the run file, not counted here:", "note")
        facts(items)


def column_title(column: str) -> str:
    """How pages call a metric or a metadata column; one that is called like a metric keeps its prefix."""
    metrics = get_metrics()
    if column in metrics:
        return metrics[column].label
    name = column.removeprefix("metadata.")
    return column if any(metric.label == name for metric in metrics.values()) else name


def column_label(column: str) -> str:
    """The same for a widget that reads Markdown in its options: nothing in it is read as markup."""
    return escaped(column_title(column))


def escaped(text: str) -> str:
    """Text of others for a widget that reads Markdown."""
    return inert(text).translate(_MARKUP)


_MARKUP = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_[]$<>~#|:"})


def outcome_fact(spec: str, outcome: Outcome, more: str = "") -> tuple[str, str, str]:
    """A sample's score as a fact, with what more there is to say of it; an unscored one says why."""
    if isinstance(outcome, Score):
        return f"{outcome.value:.2f}", column_title(spec), " · ".join(filter(None, (outcome.counted, more)))
    return "unscored", column_title(spec), f"{outcome.reason}: {outcome.detail}"


def summary_facts(
    metrics: Mapping[str, MetricSummary], people: Overruled | None = None, run: RunSummary | None = None
) -> list[tuple[str, str, str]]:
    """Metrics as facts: the mean, under it the interval, how many were scored, what people make of it.

    Of a `run` each metric says who judged it where that was another evaluation than the run's own.
    """
    return [
        _summary_fact(metric, _by_people(spec, people), run.judged_elsewhere(spec) if run else "")
        for spec, metric in metrics.items()
    ]


def _by_people(spec: str, people: Overruled | None) -> str:
    again = people.metrics.get(spec) if people else None
    return f"{again.mean:.2f} with {people.in_words}" if people and again and again.mean is not None else ""


def _summary_fact(metric: MetricSummary, more: str, judge: str) -> tuple[str, str, str]:
    bounds = metric.interval
    said = [
        f"{bounds.low:.2f} – {bounds.high:.2f}" if isinstance(bounds, Interval) else "",
        f"{metric.scored:,} of {metric.total:,} scored",
        metric.note,
        more,
        judge,
        f"{STANDINGS[metric.standing]} ({metric.threshold})" if metric.standing else "",
    ]
    return mean_shown(metric), column_title(metric.metric), " · ".join(filter(None, said))


UNSCORED: dict[UnscoredPolicy, str] = {
    "excluded": "Unscored: left out",
    "zero": "Unscored: as zero",
    "bounds": "Unscored: worst to best",
}
_UNSCORED_HELP = """How samples without a score count in means, intervals and comparisons: left out; as zero, or as
the worst value where lower is better, because 0 would be the best; or as anything from the worst to the best value,
which gives bounds that hold whatever they would have scored."""


def unscored_choice() -> UnscoredPolicy:
    """Draw the one choice of how unscored samples count: in the address, and kept from page to page."""
    kept = st.session_state.get("unscored-kept", "excluded")
    wanted = st.query_params.get("unscored", kept)
    named: dict[str, UnscoredPolicy] = {policy: policy for policy in UNSCORED}
    chosen = named.get(wanted, "excluded")
    _keep_unscored(chosen)
    st.session_state["unscored-choice"] = chosen
    st.selectbox(
        "Unscored samples",
        list(UNSCORED),
        format_func=UNSCORED.__getitem__,
        key="unscored-choice",
        on_change=lambda: _keep_unscored(st.session_state["unscored-choice"]),
        label_visibility="collapsed",
        help=_UNSCORED_HELP,
    )
    return chosen


def _keep_unscored(chosen: UnscoredPolicy) -> None:
    st.session_state["unscored-kept"] = chosen
    if chosen == "excluded":
        st.query_params.pop("unscored", None)
    else:
        st.query_params["unscored"] = chosen


def dollars(cost: float | None) -> str:
    """US dollars; one that is not known is said to be so."""
    return "cost unknown" if cost is None else f"${cost:,.4f}"


def config_line(of: RunSummary | SampleReport) -> str:
    """A run's configuration in one line."""
    return ", ".join(f"{key} {value}" for key, value in of.config.items())


def judged_line(summary: RunSummary) -> None:
    """Dataset, configuration, judge and when, in one line; under it by what the intervals are clustered."""
    config = config_line(summary)
    part = summary.judged.part if summary.judged else ""
    if summary.judged is None:
        judge = "not evaluated"
    else:
        heuristic = " judge (heuristic)" if summary.judged.heuristic else " judge"
        now = datetime.now(UTC).replace(tzinfo=None)
        judge = f"{summary.judged.judge}{heuristic}, {ago(summary.judged.finished, now)}"
    plain(" · ".join(filter(None, [f"{summary.samples:,} samples of {summary.dataset}", config, judge, part])), "note")
    if summary.clustered:
        plain(f"Intervals are clustered by {summary.clustered}.", "note")


def offer_upload(width: Literal["content", "stretch"] = "content") -> None:
    """A button to the upload page, where this server takes files."""
    if writable() and st.button("Upload a run", icon=":material/upload_file:", width=width):
        open_upload()


def offer_sql(sql: str, key: str) -> None:
    """A button that opens the SQL behind a table in the console."""
    if st.button(
        "SQL", key=f"sql-{key}", type="tertiary", icon=":material/database:", help="The SQL behind this table"
    ):
        open_query(sql)


def choose_run(where: str, *, evaluations: bool = True) -> RunRef | None:
    """The run that the address names, else the newest; None after saying what to do instead.

    Where it has several evaluations the choice of one is drawn, unless `evaluations` is False.
    """
    wanted = st.query_params.get("run")
    runs = get_runs()
    if not runs:
        st.header("No run yet", anchor=False)
        st.markdown(f"There is nothing to show on the {where} page before a run is uploaded.")
        offer_upload()
        return None
    if wanted is None:
        wanted = st.query_params["run"] = runs[0].name
    try:
        run = resolve(wanted)
    except NotFoundError as error:
        st.error("This address names a run that is not in the store.", icon=":material/search_off:")
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
    widget = f"evaluation-{key}"
    st.session_state[widget] = f"{run.name}@{run.evaluation_id}" if run.chosen else run.name
    if st.session_state[widget] not in names:  # the file's own scores
        names[st.session_state[widget]] = "Scores of the run file"

    def chose() -> None:
        st.query_params[key] = st.session_state[widget]

    st.selectbox(
        "Evaluation",
        list(names),
        format_func=lambda name: inert(names[name]),
        key=widget,
        on_change=chose,
        label_visibility="collapsed",
        help="Which evaluation of this run to show",
        width="stretch" if key != "run" else 720,
    )


def evaluations_help(choices: Mapping[str, str]) -> str | None:
    """For a choice among `run_choices` what the names of evaluations stand for; None where there is none."""
    lines = [f"{escaped(name)}: {escaped(title)}" for name, title in choices.items() if title != name]
    if len(lines) > HELP_LINES:
        lines = [*lines[: HELP_LINES - 1], f"and {len(lines) - HELP_LINES + 1:,} more"]
    return "\n\n".join(lines) or None


def number_named(key: str) -> int | None:
    """The number that the address gives under a key, from 1; None for nonsense, and for more than can be there."""
    asked = st.query_params.get(key, "")
    return (int(asked) or None) if asked.isdecimal() and len(asked) <= DIGITS else None


def page_number() -> int:
    """What a pager under the key `page` will show once it is drawn, from 1: as it was set, else by the address."""
    number: int = st.session_state.get("page") or number_named("page") or 1
    return max(number, 1)


def pager(total: int, size: int) -> None:
    """Draw the ways to the other pages of a list, where there are any."""
    if total > size:
        st.pagination(-(-total // size), key="page", bind="query-params")
    else:
        st.session_state.pop("page", None)  # a page that was set for a pager would outlive it


def first_page() -> None:
    """Have a list begin anew: for what changes what is in it, or its order."""
    if "page" in st.session_state:
        st.session_state["page"] = 1


def default_pair(runs: Sequence[ListedRun]) -> tuple[str, str]:
    """The newest run and the next over the same questions, the older as the baseline, of at least two runs.

    Runs that were never evaluated only where there are not two others.
    """
    newest, *others = sorted(runs, key=lambda run: not run.evaluated)
    other = next((run for run in others if (run.dataset_key, run.evaluated) == (newest.dataset_key, True)), others[0])
    a, b = sorted((newest, other), key=lambda run: run.imported)
    return a.name, b.name
