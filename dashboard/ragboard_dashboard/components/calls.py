"""What judges were asked for a sample, as HTML: a line for each task, prompts and raw replies folded away."""

from __future__ import annotations

from html import escape

import streamlit as st

from ragboard.evaluation.calls import Call, SampleCalls
from ragboard.spans import inert

__all__ = ["call_list", "calls_html"]

_STYLE = """
<style>
.calls { font-size: 0.93rem; overflow-wrap: anywhere; }
.calls .call { padding: 0.55rem 0 0.6rem; border-top: 1px solid rgba(128, 128, 128, 0.35); }
.calls .quiet { opacity: 0.75; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
.calls summary { cursor: pointer; width: max-content; max-width: 100%; }
.calls pre {
  margin: 0.3rem 0 0.5rem; padding: 0.6rem 0.7rem; max-height: 28rem; overflow-y: auto;
  white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext;
  font-size: 0.87rem; background: rgba(128, 128, 128, 0.1);
}
</style>
"""


def call_list(found: SampleCalls) -> None:
    """Draw every task that a sample's results were made of."""
    st.html(calls_html(found))


def calls_html(found: SampleCalls) -> str:
    """The same as HTML in which nothing that a model or a user wrote is markup."""
    tasks = "".join(_call(number, one) for number, one in enumerate(found.tasks, 1))
    return f'{_STYLE}<div class="calls">{tasks}</div>'


def _call(number: int, one: Call) -> str:
    sign = "✗ failed" if one.failed else "✓ read as"
    return (
        f'<div class="call"><div><b>{number}. {_safe(one.task)}</b></div>'
        f'<div class="quiet">{_safe(one.facts)}</div><div>{sign}: {_safe(one.outcome)}</div>'
        f"{_note(one.no_prompt)}{_messages(number, one)}</div>"
    )


def _note(text: str) -> str:
    return f'<div class="quiet">{_safe(text)}</div>' if text else ""


def _messages(number: int, one: Call) -> str:
    """Each message in turn; a prompt after the first asks to repair the reply before it."""
    pieces: list[str] = []
    for place, message in enumerate(one.messages):
        what = "Raw reply" if message.role == "reply" else "Prompt" if place == 0 else "Request to repair it"
        size = f"{len(message.text):,} characters"
        label = f"{what} of task {number}"
        pieces.append(
            f'<details><summary>{what} <span class="quiet">{size}</span></summary>'
            f'<pre tabindex="0" role="region" aria-label="{label}">{_safe(message.text)}</pre></details>'
        )
    return "".join(pieces)


def _safe(text: str) -> str:
    return escape(inert(text))
