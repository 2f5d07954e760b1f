"""The list of labelled items, with disagreements first, and the page of one item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import streamlit as st

from ragboard.analysis import diff_note
from ragboard.errors import NotFoundError
from ragboard.human.agreement import ItemDetail
from ragboard.human.grades import GradeComparison
from ragboard.human.preferences import PairComparison
from ragboard.readers.labels import HumanLabel
from ragboard.records import Outcome, Score
from ragboard.spans import strip_bidi_controls
from ragboard.stats.pairwise import Ties
from ragboard.store.queries.agreements import Scorer, StoredAgreement
from ragboard_dashboard.components import safe_key
from ragboard_dashboard.components.pairs import changed_words, pair_list, pair_view, passage_group
from ragboard_dashboard.controls import last_page, page_number, pager
from ragboard_dashboard.data import get_grade_comparisons, get_item, get_item_sample, get_pair_comparisons, get_texts
from ragboard_dashboard.links import address, link_to
from ragboard_dashboard.text import earlier_turns, facts, markdown_escaped, plain, shortened

__all__ = ["LIST_PAGE", "TIES", "grade_rows", "list_grades", "list_pairs", "pair_rows", "pair_view_data", "show_item"]

PAGE_SIZE = 15
LIST_PAGE = "part"
"""The URL parameter of the page number in the list of disagreements."""
SHOWN = ("word overlap",)
"""The trivial baselines whose scores are shown for an item, because they are from 0 to 1 like those of metrics."""
MAX_TEXT = 300
"""Maximum number of characters of a text in the list."""
MAX_ANSWER = 160
"""Maximum number of characters of an answer in the list."""


TIES: dict[Ties, str] = {
    "random": "A tie is a coin flip",
    "half": "A tie is half right",
    "loss": "A tie is wrong",
    "exclude": "Ties are left out",
}


def list_pairs(stored: StoredAgreement, dimension: str, scorer: str, ties: Ties) -> None:
    """List the pairs in which annotators prefer a side. Pairs that the scorer got wrong come first."""
    comparisons = get_pair_comparisons(stored.agreement.id, dimension, scorer)
    at = min(page_number(LIST_PAGE), last_page(len(comparisons), PAGE_SIZE))
    wrong = sum(
        comparison.difference is not None and comparison.difference * comparison.mean_vote < 0
        for comparison in comparisons
    )
    shown = comparisons[(at - 1) * PAGE_SIZE : at * PAGE_SIZE]
    rows = pair_rows(shown, get_texts(stored.agreement.id, [one.position for one in shown]), dict(st.query_params))
    tied = sum(comparison.difference == 0 for comparison in comparisons)
    how = f", {tied:,} tied ({TIES[ties][0].lower()}{TIES[ties][1:]})" if tied else ""
    caption = (
        f"{wrong:,} of {len(comparisons):,} pairs wrong{how}; wrong pairs come first. Click one to see both sides."
    )
    titles = {"change": "Result", "a": "Annotators prefer", "b": "Scorer prefers"}
    pair_list({"caption": caption, "titles": titles, "rows": rows}, key="items")
    pager(len(comparisons), PAGE_SIZE, at, LIST_PAGE)


def list_grades(stored: StoredAgreement, dimension: str, scorer: str) -> None:
    """List the graded items. Items with the largest gaps between scorer and annotators come first."""
    comparisons = get_grade_comparisons(stored.agreement.id, dimension, scorer)
    at = min(page_number(LIST_PAGE), last_page(len(comparisons), PAGE_SIZE))
    shown = comparisons[(at - 1) * PAGE_SIZE : at * PAGE_SIZE]
    texts = get_texts(stored.agreement.id, [one.position for one in shown])
    rows = grade_rows(shown, texts, dict(st.query_params), statements=stored.agreement.form == "statements")
    caption = "Result: rank of the score minus rank of the grade, from -1 to 1. The largest gaps come first."
    titles = {"change": "Result", "a": "Mean grade", "b": "Score"}
    pair_list({"caption": caption, "titles": titles, "rows": rows}, key="items")
    pager(len(comparisons), PAGE_SIZE, at, LIST_PAGE)


def pair_rows(
    comparisons: Sequence[PairComparison], questions: Mapping[int, tuple[str, str]], query: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return the rows of the list of pairs: the result, what annotators prefer, and the score difference."""
    return [
        _row(
            comparison.item_id,
            questions[comparison.position][0],
            comparison.item_id,
            _outcome(comparison),
            {"shown": preferred(comparison.mean_vote), "note": f"mean vote {comparison.mean_vote:+.2g}"},
            {"shown": _preferred_by_scorer(comparison.difference), "note": ""},
            query,
        )
        for comparison in comparisons
    ]


def _outcome(one: PairComparison) -> tuple[str, str]:
    if one.difference is None:
        return "unscored", "none"
    if one.difference == 0:
        return "= tied", "none"
    return ("✓ right", "better") if (one.difference > 0) == (one.mean_vote > 0) else ("✕ wrong", "worse")


def preferred(vote: float) -> str:
    """Return the side that a vote prefers: "A", "B" or "neither"."""
    return "neither" if vote == 0 else "B" if vote > 0 else "A"


def _preferred_by_scorer(difference: float | None) -> str:
    if difference is None:
        return "no score"
    return f"{preferred(difference)} by {abs(difference):.3g}" if difference else "equal scores"


def grade_rows(
    comparisons: Sequence[GradeComparison],
    questions: Mapping[int, tuple[str, str]],
    query: Mapping[str, str],
    *,
    statements: bool = False,
) -> list[dict[str, Any]]:
    """Return the rows of the list of graded items. With `statements`, rows show a statement above its question."""
    return [
        _row(
            comparison.item_id,
            *_item_texts(*questions[comparison.position], statements=statements),
            _gap(comparison.gap),
            {"shown": f"{comparison.mean_grade:.3g}", "note": _ratings(comparison.human_labels)},
            {"shown": "no score" if comparison.score is None else f"{comparison.score:.3g}", "note": ""},
            query,
        )
        for comparison in comparisons
    ]


def _item_texts(question: str, text: str, *, statements: bool) -> tuple[str, str]:
    """Return the two lines of a row: a statement and its question, or a question and its answer."""
    if statements and text:
        return text, question
    return question or text, shortened(text.strip(), MAX_ANSWER) if question else ""


def _ratings(grades: Sequence[HumanLabel]) -> str:
    return f"of {', '.join('–' if grade is None else f'{grade:g}' for grade in grades)}" if len(grades) > 1 else ""


def _gap(gap: float | None) -> tuple[str, str]:
    if gap is None:
        return "unscored", "none"
    if abs(gap) < 0.005:
        return "= agrees", "none"
    return (f"▲ too high {gap:+.2f}", "worse") if gap > 0 else (f"▼ too low {gap:+.2f}", "worse")


def _row(
    item_id: str,
    text: str,
    where: str,
    outcome: tuple[str, str],
    annotators: dict[str, str],
    scorer: dict[str, str],
    query: Mapping[str, str],
) -> dict[str, Any]:
    change, look = outcome
    return {
        "href": address("agreement", {**query, "item": item_id}),
        "question": strip_bidi_controls(shortened(text, MAX_TEXT)),
        "where": strip_bidi_controls(where),
        "change": change,
        "look": look,
        "a": annotators,
        "b": scorer,
    }


def show_item(stored: StoredAgreement, wanted: str) -> None:
    """Draw one item: its texts, its labels, and its scores."""
    if st.button("Back to agreement", icon=":material/arrow_back:"):
        del st.query_params["item"]
        st.rerun()
    try:
        found = get_item(stored.agreement.id, wanted)
    except NotFoundError as error:
        st.error("The item in this link does not exist.", icon=":material/search_off:")
        plain(str(error))
        return
    earlier_turns(found.samples[0].history)
    plain(found.samples[0].question or found.item_id, "title")
    facts([_label_fact(name, ratings, pair=len(found.samples) == 2) for name, ratings in found.human_labels.items()])
    if len(found.samples) == 2:
        plain(diff_note(found.changes), "note")
        pair_view(pair_view_data(found), key=safe_key("opened", stored.agreement.id, wanted))
    else:
        _draw_answer(found)
        if at := get_item_sample(stored.agreement.id, wanted):
            link = {"run": at[0], "sample": at[1]}
            link_to("sample", "Statements and verdicts of this answer", link, ":material/fact_check:")
        else:
            plain("To see statements and verdicts, import these answers as a run and evaluate it.", "note")
    for dimension in found.human_labels:
        scores = _score_facts(stored, found, dimension)
        if scores:
            st.subheader(f"Scores for {markdown_escaped(dimension.replace('_', ' '))}", anchor=False)
            facts(scores)


def _label_fact(dimension: str, ratings: Sequence[HumanLabel], *, pair: bool) -> tuple[str, str, str]:
    given = [rating for rating in ratings if rating is not None]
    mean = sum(given) / len(given) if given else None
    shown = "nothing" if mean is None else preferred(mean) if pair else f"{mean:.3g}"
    note = ", ".join("\N{EN DASH}" if rating is None else f"{rating:g}" for rating in ratings)
    if pair:
        note = f"{len(given):,} vote{'' if len(given) == 1 else 's'}"
    elif len(given) < 2:
        note = ""
    return shown, f"{'annotators prefer' if pair else 'annotators'}, {dimension.replace('_', ' ')}", note


def _score_facts(stored: StoredAgreement, found: ItemDetail, dimension: str) -> list[tuple[str, str, str]]:
    """Return the scores of the item as facts; none if only trivial baselines scored it."""
    given: Mapping[str, tuple[Outcome, ...]] = found.outcomes.get(dimension, {})
    scorers = [scorer for scorer in stored.agreement.scorers if scorer.name in given]
    if all(one.kind == "trivial" for one in scorers):
        return []
    return [
        _fact(scorer, given[scorer.name], dimension)
        for scorer in scorers
        if scorer.kind != "trivial" or scorer.name in SHOWN
    ]


def _fact(scorer: Scorer, outcomes: Sequence[Outcome], dimension: str) -> tuple[str, str, str]:
    letters = "AB" if len(outcomes) == 2 else " "
    values = [f"{one.value:.3g}" if isinstance(one, Score) else "unscored" for one in outcomes]
    words = [outcome.counted if isinstance(outcome, Score) else outcome.detail for outcome in outcomes]
    if len(set(words)) > 1:  # a pair whose sides have different counts
        words = [f"{letter}: {word}" for letter, word in zip(letters, words, strict=True) if word]
    shown = " · ".join(f"{letter} {value}".strip() for letter, value in zip(letters, values, strict=True))
    return shown, scorer.title(dimension), " · ".join(dict.fromkeys(filter(None, words)))


def _draw_answer(found: ItemDetail) -> None:
    side = found.samples[0]
    st.subheader("Answer", anchor=False)
    plain(side.answer or "(empty)")
    passages = side.contexts or ()
    st.subheader(f"Passages: {len(passages)}", anchor=False)
    for passage in passages:
        with st.container(border=True):
            plain(f"rank {passage.rank}", "note")
            plain(passage.text.strip())


def pair_view_data(found: ItemDetail) -> dict[str, Any]:
    """Return both sides of a pair for the browser component."""
    shared = found.samples[0].contexts == found.samples[1].contexts
    compares_passages = found.samples[0].answer is None
    passages = [] if compares_passages else [_passages(found, 0, "Passages" if shared else "Passages of A")]
    return {
        "a": _side(found, "A"),
        "b": _side(found, "B"),
        "heading": "",
        "statements": [],
        "groups": passages if shared or compares_passages else [*passages, _passages(found, 1, "Passages of B")],
    }


def _side(found: ItemDetail, letter: Literal["A", "B"]) -> dict[str, Any]:
    words = changed_words(found.changes, letter)
    side = found.samples["AB".index(letter)]
    what = "Passages of" if side.answer is None else "Answer"
    return {"title": f"{what} {letter}", "note": "" if words else "(empty)", "words": words}


def _passages(found: ItemDetail, side: int, title: str) -> dict[str, Any]:
    passages = found.samples[side].contexts or ()
    return passage_group(f"{title}: {len(passages)}", [(f"rank {passage.rank}", passage.text) for passage in passages])
