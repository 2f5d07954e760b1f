"""Shortcuts for usual rows give what the long way gives."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragboard.readers import cells
from ragboard.readers.cells import read_passages
from ragboard.records import Passage, Sample
from ragboard.store.rows import as_json
from ragboard.store.writing import content_line

TEXTS = st.one_of(
    st.text(),
    st.sampled_from(["Document(page_content='a')", "report.pdf", "https://a.org/b", "{'a': 1}", "\ud800", ""]),
)
NUMBERS = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(), st.booleans(), st.none())
PASSAGES = st.fixed_dictionaries(
    {},
    optional={
        "id": st.one_of(TEXTS, NUMBERS),
        "text": st.one_of(TEXTS, TEXTS, st.none()),
        "score": NUMBERS,
        "rank": NUMBERS,
        "title": TEXTS,
    },
)


def read(passages: list[Any]) -> tuple[Any, list[str]]:
    notes: list[str] = []
    try:
        return read_passages("contexts", passages, notes.append, lists_as_text=False), notes
    except cells.BadCellError as error:
        return str(error), notes


@given(passages=st.lists(PASSAGES, max_size=4))
def test_usual_passages_are_read_as_all_others(passages: list[dict[str, Any]]) -> None:
    short = read(passages)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "_usual_passage", lambda *_: None)
        assert read(passages) == short


@given(text=TEXTS, given=TEXTS, score=st.one_of(NUMBERS, st.floats()))
def test_the_line_that_a_run_id_is_computed_from_is_the_sorted_json(text: str, given: str, score: Any) -> None:
    sample = Sample(
        id=given,
        question=text,
        contexts=(Passage(id=given, text=text, rank=1, score=score),),
        metadata={"b": [text, score, None], "a": {"d": 1, "c": text}},
    )
    content = {
        "id": given,
        "question": text,
        "contexts": [[given, text, 1, score]],
        "metadata": {"b": [text, score, None], "a": {"d": 1, "c": text}},
    }
    assert content_line(sample).decode("utf-8", errors="surrogatepass") == f"{as_json(content)}\n"
    assert json.loads(content_line(sample))["question"] == text
