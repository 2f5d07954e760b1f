"""Links between pages, and what an address carries: the address is what a page is drawn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn
from urllib.parse import urlencode

import streamlit as st

__all__ = [
    "Link",
    "address",
    "bound",
    "keep_pages",
    "link_to",
    "number_in_address",
    "open_comparison",
    "open_page",
    "open_query",
    "open_run",
    "open_sample",
    "put_into_address",
]

DIGITS = 6
"""Digits of the highest number that an address can name."""


@dataclass(frozen=True, kw_only=True)
class Link:
    """A text that leads to a page."""

    text: str
    page: str
    query: Mapping[str, str]
    mark: str = ""
    """What is before the text."""
    where: str = ""
    """What is under it."""


def address(page: str, query: Mapping[str, Any]) -> str:
    """The address of a page, relative to any other."""
    return f"{page}?{urlencode(query)}"


def keep_pages(pages: Mapping[str, st.Page]) -> None:
    """Tell this session's pages by their addresses, so that a page can lead to another without importing it."""
    st.session_state["pages"] = pages


def link_to(page: str, label: str, query: Mapping[str, str], icon: str | None = None) -> None:
    """Draw a link to a page; the label is read as Markdown."""
    st.page_link(st.session_state["pages"][page], label=label, icon=icon, query_params=dict(query))


def open_page(page: str, query: Mapping[str, str] | None = None) -> NoReturn:
    """Go to a page by its name in addresses; how unscored samples count goes along."""
    chosen = st.query_params.get("unscored")
    unscored = {"unscored": chosen} if chosen else {}
    st.switch_page(st.session_state["pages"][page], query_params={**(query or {}), **unscored})


def open_run(run: str) -> NoReturn:
    """Go to a run."""
    open_page("run", {"run": run})


def open_sample(run: str, sample_id: str, statement: int | None = None) -> NoReturn:
    """Go to a sample, at a statement where one is named (counted from 1)."""
    open_page("sample", {"run": run, "sample": sample_id} | ({"statement": str(statement)} if statement else {}))


def open_query(sql: str) -> NoReturn:
    """Go to the console with a statement, which is not run yet."""
    open_page("query", {"sql": sql})


def open_comparison(a: str, b: str) -> NoReturn:
    """Go to the comparison of run B against run A."""
    open_page("compare", {"a": a, "b": b})


def number_in_address(name: str) -> int | None:
    """The number that the address gives under a name, from 1; None for nonsense, and for more than can be there."""
    given = st.query_params.get(name, "")
    return (int(given) or None) if given.isdecimal() and len(given) <= DIGITS else None


def bound(name: str, value: Any, *, key: str = "", drops: Sequence[str] = ()) -> dict[str, Any]:
    """The arguments of a widget that shows `value` and puts what a person chooses into the address under `name`.

    What the choice makes meaningless, `drops`, leaves the address with it. Unlike `bind="query-params"` this keeps
    the address free of what is merely the default, and takes options whose names are not what the page calls them.
    """
    key = key or name
    st.session_state[key] = value
    return {"key": key, "on_change": put_into_address, "args": (name, key, *drops)}


def put_into_address(name: str, key: str, *drops: str) -> None:
    """Put what the widget with this key was just set to into the address, and take `drops` out."""
    st.query_params[name] = str(st.session_state[key])
    for other in drops:
        st.query_params.pop(other, None)
