"""Shortcuts for usual rows give what the long way gives."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragboard.readers import cells
from ragboard.readers.cells import read_passages
from ragboard.readers.tables import RawRow, clean_row, line_row
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


JSON = st.recursive(
    st.one_of(TEXTS, st.floats(), st.integers(), st.booleans(), st.none()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


@given(row=st.dictionaries(TEXTS, JSON), escaped=st.booleans(), spaces=st.booleans())
def test_clean_rows_are_read_as_all_others(row: dict[str, Any], escaped: bool, spaces: bool) -> None:
    line = json.dumps(row, ensure_ascii=escaped, separators=(" , ", " : ") if spaces else (",", ":"))
    short = clean_row(3, line.encode("utf-8", errors="surrogatepass"))
    assert short is None or repr(short) == repr(line_row(3, line))


@pytest.mark.parametrize(
    "line",
    [
        '{"a": 1, "a": 2}',
        '{"a": [{"b": 1, "c" : {"d": 0, "d"\t: 0}}]}',
        '{"a": 1, "\\u0061": 2}',
        '{"a": 18446744073709551616}',
        '{"a": [-9223372036854775809]}',
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": "\\ud83d"}',
        f'{{"a": {"[" * 65}{"]" * 65}}}',
        '\ufeff{"a": 1}',
        '[{"a": 1}]',
        '{"a": 1',
        "",
    ],
)
def test_lines_that_are_not_clean(line: str) -> None:
    assert clean_row(3, line.encode()) is None


@pytest.mark.parametrize("line", ['{"a": {"b": ["c", -0.0, 5e-324]}} \r\n', '{"a": "\\ud83d\\ude00 \\"b\\""}', "{}"])
def test_lines_that_are_clean(line: str) -> None:
    short = clean_row(3, line.encode())
    assert isinstance(short, RawRow)
    assert repr(short) == repr(line_row(3, line))
