"""What people judged, item by item, on the Agreement page: a list, disagreements first, and one item opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import streamlit as st

from ragboard.errors import NotFoundError
from ragboard.human.agreement import ItemDetail
from ragboard.readers.labels import HumanRating
from ragboard.records import Outcome, Score
from ragboard.store.queries.agreements import Scorer, StoredAgreement
from ragboard_dashboard.components.agreed_items import grade_rows, item_list, opened_pair, pair_rows, preferred
from ragboard_dashboard.components.keys import safe_key
from ragboard_dashboard.data import get_grade_verdicts, get_item, get_pair_verdicts, get_texts
from ragboard_dashboard.shared import escaped, facts, number_named, plain

__all__ = ["list_grades", "list_pairs", "show_item"]

PAGE_SIZE = 15
T = TypeVar("T")


def list_pairs(kept: StoredAgreement, dimension: str, contender: str) -> None:
    """The pairs that people decided, those that the contender got wrong first."""
    verdicts = get_pair_verdicts(kept.agreement.id, dimension, contender)
    wrong = sum(one.contender is not None and one.contender * one.people < 0 for one in verdicts)
    shown = _part(verdicts)
    rows = pair_rows(shown, get_texts(kept.agreement.id, [one.position for one in shown]), dict(st.query_params))
    caption = f"{wrong:,} of {len(verdicts):,} pairs wrong; these come first. Open one to see both sides."
    _listed(item_list(rows, {"change": "Outcome", "a": "People prefer", "b": "It prefers"}, caption, key="items"))
    _parts(len(verdicts))


def list_grades(kept: StoredAgreement, dimension: str, contender: str) -> None:
    """Graded items, those first on which the contender is farthest from people."""
    verdicts = get_grade_verdicts(kept.agreement.id, dimension, contender)
    shown = _part(verdicts)
    rows = grade_rows(shown, get_texts(kept.agreement.id, [one.position for one in shown]), dict(st.query_params))
    caption = "By how far the place of a score among scores is from that of the grade among grades, from -1 to 1."
    _listed(item_list(rows, {"change": "Outcome", "a": "People", "b": "Score"}, caption, key="items"))
    _parts(len(verdicts))


def _part(verdicts: Sequence[T]) -> Sequence[T]:
    """Those of the page of the list that the address names."""
    at = _at(len(verdicts))
    return verdicts[(at - 1) * PAGE_SIZE : at * PAGE_SIZE]


def _at(total: int) -> int:
    """The page of the list that the address names, from 1."""
    return min(max(1, -(-total // PAGE_SIZE)), number_named("part") or 1)


def _parts(total: int) -> None:
    if total > PAGE_SIZE:
        st.session_state["agreement-part"] = _at(total)
        st.pagination(-(-total // PAGE_SIZE), key="agreement-part", on_change=_turned)


def _turned() -> None:
    """Put the page just turned to into the address; not bound to it, for other choices take it out again."""
    st.query_params["part"] = str(st.session_state["agreement-part"])


def _listed(opened: str | None) -> None:
    if opened:
        st.query_params["item"] = opened
        st.rerun()


def show_item(kept: StoredAgreement, wanted: str) -> None:
    """One item: its texts, what people said, and what every contender made of it."""
    if st.button("Back to the agreement", icon=":material/arrow_back:"):
        del st.query_params["item"]
        st.rerun()
    try:
        found = get_item(kept.agreement.id, wanted)
    except NotFoundError as error:
        st.error("This address names an item that is not there.", icon=":material/search_off:")
        plain(str(error))
        return
    plain(found.sides[0].question or found.item_id, "title")
    facts([_people(dimension, said, pair=len(found.sides) == 2) for dimension, said in found.human_ratings.items()])
    if len(found.sides) == 2:
        plain("Struck through: only in A. Bold and underlined: only in B.", "note")
        opened_pair(found, key=safe_key("opened", kept.agreement.id, wanted))
    else:
        _alone(found)
    for dimension in found.human_ratings:
        st.subheader(f"What contenders make of it: {escaped(dimension)}", anchor=False)
        facts(_contenders(kept, found, dimension))


def _people(dimension: str, said: Sequence[HumanRating], *, pair: bool) -> tuple[str, str, str]:
    given = [opinion for opinion in said if opinion is not None]
    mean = sum(given) / len(given) if given else None
    shown = "nothing" if mean is None else preferred(mean) if pair else f"{mean:.3g}"
    note = ", ".join("\N{EN DASH}" if opinion is None else f"{opinion:g}" for opinion in said)
    return shown, f"{'people prefer' if pair else 'people'}, {dimension.replace('_', ' ')}", note


def _contenders(kept: StoredAgreement, found: ItemDetail, dimension: str) -> list[tuple[str, str, str]]:
    heard: Mapping[str, tuple[Outcome, ...]] = found.outcomes.get(dimension, {})
    return [_fact(one, heard[one.name]) for one in kept.agreement.contenders if one.name in heard]


def _fact(contender: Scorer, outcomes: Sequence[Outcome]) -> tuple[str, str, str]:
    letters = "AB" if len(outcomes) == 2 else " "
    values = [f"{one.value:.3g}" if isinstance(one, Score) else "unscored" for one in outcomes]
    words = [one.counted if isinstance(one, Score) else one.detail for one in outcomes]
    shown = " · ".join(f"{letter} {value}".strip() for letter, value in zip(letters, values, strict=True))
    return shown, contender.name, " · ".join(dict.fromkeys(filter(None, words)))


def _alone(found: ItemDetail) -> None:
    side = found.sides[0]
    st.subheader("Answer", anchor=False)
    plain(side.answer or "It is empty.")
    passages = side.contexts or ()
    st.subheader(f"Passages: {len(passages)}", anchor=False)
    for passage in passages:
        with st.container(border=True):
            plain(f"rank {passage.rank}", "note")
            plain(passage.text.strip())
