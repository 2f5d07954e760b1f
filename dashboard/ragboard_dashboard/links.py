"""Links between pages, and URL parameters, from which a page is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NoReturn
from urllib.parse import urlencode

import streamlit as st

from ragboard.spans import strip_bidi_controls

__all__ = [
    "STETHOSCOPE",
    "Link",
    "address",
    "bound",
    "link_html",
    "link_to",
    "number_in_url",
    "open_comparison",
    "open_page",
    "open_query",
    "open_run",
    "open_sample",
    "store_pages",
    "write_to_url",
]

STETHOSCOPE = ":material/stethoscope:"
"""The icon of links to a diagnosis."""
DIGITS = 6
"""Maximum number of digits of a page or statement number in a URL."""


@dataclass(frozen=True, kw_only=True)
class Link:
    """A link to a page."""

    text: str
    page: str
    query: Mapping[str, str]
    mark: str = ""
    """Text before the link text."""
    where: str = ""
    """Text below the link text."""


def address(page: str, query: Mapping[str, Any]) -> str:
    """Return the URL of a page, relative to any other page. A parameter can have a list of values."""
    return f"{page}?{urlencode(query, doseq=True)}"


def store_pages(pages: Mapping[str, st.Page]) -> None:
    """Store this session's pages by slug, so that pages can link to each other without imports."""
    st.session_state["pages"] = pages


def link_html(page: str, text: str, query: Mapping[str, str], key: str = "") -> str:
    """Return a link to a page as HTML for `st.html`: the browser draws it much faster than one of `link_to`.

    If there is a `key`, pressing it opens the link, which shows it.
    """
    shown = escape(strip_bidi_controls(text))
    if key:
        shown += f' <kbd aria-hidden="true">{key.upper()}</kbd>'
    shortcut = f' aria-keyshortcuts="{key}"' if key else ""
    return f'<a class="in-session"{shortcut} href="{escape(address(page, query))}">{shown}</a>'


def link_to(page: str, label: str, query: Mapping[str, str], icon: str | None = None) -> None:
    """Draw a link to a page; the label is Markdown."""
    st.page_link(st.session_state["pages"][page], label=label, icon=icon, query_params=dict(query))


def open_page(page: str, query: Mapping[str, str] | None = None) -> NoReturn:
    """Go to a page by its slug. The policy for unscored samples stays the same."""
    chosen = st.query_params.get("unscored")
    unscored = {"unscored": chosen} if chosen else {}
    st.switch_page(st.session_state["pages"][page], query_params={**(query or {}), **unscored})


def open_run(run: str) -> NoReturn:
    """Go to a run."""
    open_page("run", {"run": run})


def open_sample(run: str, sample_id: str, statement: int | None = None) -> NoReturn:
    """Go to a sample and, if given, to its statement number `statement` (from 1)."""
    open_page("sample", {"run": run, "sample": sample_id} | ({"statement": str(statement)} if statement else {}))


def open_query(sql: str) -> NoReturn:
    """Go to the SQL console with a query, without running it."""
    open_page("query", {"sql": sql})


def open_comparison(a: str, b: str) -> NoReturn:
    """Go to the comparison of run B with run A."""
    open_page("compare", {"a": a, "b": b})


def number_in_url(name: str) -> int | None:
    """Return the number in a URL parameter, at least 1; None if it is missing, not a number, or too large."""
    given = st.query_params.get(name, "")
    return (int(given) or None) if given.isdecimal() and len(given) <= DIGITS else None


def bound(name: str, value: Any, *, key: str = "", drops: Sequence[str] = ()) -> dict[str, Any]:
    """Return arguments for a widget that shows `value` and writes the user's choice to the URL parameter `name`.

    A choice removes the parameters `drops` from the URL. Unlike `bind="query-params"`, this does not write defaults to
    the URL, and options can have other names in the URL than on the page.
    """
    key = key or name
    st.session_state[key] = value
    return {"key": key, "on_change": write_to_url, "args": (name, key, *drops)}


def write_to_url(name: str, key: str, *drops: str) -> None:
    """Write the value of the widget with this key to the URL, and remove the parameters `drops`."""
    st.query_params[name] = str(st.session_state[key])
    for other in drops:
        st.query_params.pop(other, None)
