"""Tests of finding citation marks and the sentence of each."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragboard import Passage
from ragboard.records import JsonValue
from ragboard.text.citations import CitationError, citation_marks, cited_sentences, unmarked, without_marks_of

PASSAGES = tuple(Passage(id=f"doc-{rank}", text="It is.", rank=rank) for rank in range(1, 5))


def marks(answer: str, passages: tuple[Passage, ...] = PASSAGES) -> list[tuple[str, tuple[str, ...]]]:
    return [(answer[one.start : one.end], one.names) for one in citation_marks(answer, passages)]


def cited(answer: str, column: JsonValue = None) -> list[tuple[str, tuple[tuple[int, ...], ...]]]:
    return [
        (one.text, tuple(citation.ranks for citation in one.citations))
        for one in cited_sentences(answer, PASSAGES, column)
    ]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Fara is old [1].", [("[1]", ("1",))]),
        ("Fara is old [1, 2][3].", [("[1, 2]", ("1", "2")), ("[3]", ("3",))]),
        ("Fara is old [1-3].", [("[1-3]", ("1", "2", "3"))]),
        ("Fara is old.[^1]", [("[^1]", ("1",))]),
        ("Fara is old [[2]].", [("[[2]]", ("2",))]),
        ("Fara is old\u30101\u2020source\u3011.", [("\u30101\u2020source\u3011", ("1",))]),
        ("Fara is old\u30104:0\u2020doc-2\u3011.", [("\u30104:0\u2020doc-2\u3011", ("doc-2",))]),
        ("Fara is old [doc-2], [Doc 1] and [Source: DOC-3].", [
            ("[doc-2]", ("doc-2",)), ("[Doc 1]", ("1",)), ("[Source: DOC-3]", ("DOC-3",)),
        ]),
        ("Fara is old (Source 2).", [("(Source 2)", ("2",))]),
        ("Fara is old [9].", [("[9]", ("9",))]),
        ("Fara is old \uff3b\uff12\uff3d and [\u0663].", [("\uff3b\uff12\uff3d", ("2",)), ("[\u0663]", ("3",))]),
        ("Fara is old (1). It is small (2)(3).", [("(1)", ("1",)), ("(2)", ("2",)), ("(3)", ("3",))]),
    ],
)  # fmt: skip
def test_a_mark_names_passages_in_each_of_these_forms(answer: str, expected: object) -> None:
    assert marks(answer) == expected


@pytest.mark.parametrize(
    "answer",
    [
        "See [the page](https://fara.example) and [1](https://fara.example).",
        "It opened in [2019].",
        "The value is `list[1]`.",
        "```\nrow[1]\n```",
        "[sic] and [Smith 2019] and [1, maybe]",
        "It has two (2) doors, f(2) is 3, and it opened (1999).",
        "It has: (1) a door, (2) a roof and (3) a bell.",
        "(1) A door.\n(2) A roof.",
        "It is old. (1) It is small.",
        "It is old (9).",
    ],
)
def test_these_are_no_citations(answer: str) -> None:
    assert marks(answer) == []


def test_round_brackets_count_only_where_there_are_no_others() -> None:
    assert marks("Fara is old [1]. It is small (2).") == [("[1]", ("1",))]


@pytest.mark.parametrize(
    "end",
    [
        "\n\n[^1]: Fara, a history.\n[^2]: The roof.",
        "\n\nSources:\n[1] Fara, a history.\n[2] The roof.",
        "\n\n## References\n\n1. Fara, a history.\n2. The roof.",
        "\n\n[1] Fara, a history.\n[2] The roof.",
        "\nSources: [1] Fara, a history, [2] the roof",
    ],
)
def test_a_list_of_sources_at_the_end_has_no_sentences_and_citations(end: str) -> None:
    assert cited(f"Fara is old [^1]. It is small. [2]{end}") == [("Fara is old.", ((1,),)), ("It is small.", ((2,),))]


def test_a_mark_after_the_full_stop_belongs_to_the_sentence_before_it() -> None:
    expected = [("Fara is old.", ((1,),)), ("It is small.", ((2,), (3,))), ("It is green.", ())]
    assert cited("Fara is old.[1] It is small. [2][3] It is green.") == expected
    assert cited("Fara is old.[^1] It is small.[^2][^3] It is green.") == expected


def test_a_mark_at_the_start_of_a_line_belongs_to_the_sentence_after_it() -> None:
    expected = [("Fara is old.", ((1,),)), ("It is small.", ((2,),))]
    assert cited("[1] Fara is old.\n[2] It is small.") == expected
    assert cited("- [1] Fara is old.\n- [2] It is small.") == expected


def test_a_number_that_names_no_passage_is_a_citation_of_nothing() -> None:
    assert cited("Fara is old [9].") == [("Fara is old.", ((),))]


def numbered(*ids: str) -> tuple[Passage, ...]:
    return tuple(Passage(id=name, text="It is.", rank=rank) for rank, name in enumerate(ids, 1))


def test_numbers_that_are_ranks_as_well_as_ids_need_a_setting() -> None:
    passages = numbered("2", "1")
    with pytest.raises(CitationError, match=r"^\[1\] can be the rank or the id of a passage; set by=rank or by=id"):
        cited_sentences("Fara is old [1].", passages)
    ranks = {by: cited_sentences("It is old [1].", passages, by=by)[0].citations[0].ranks for by in ("rank", "id")}
    assert ranks == {"rank": (1,), "id": (2,)}


def test_numbers_that_can_be_only_one_of_the_two_need_no_setting() -> None:
    passages = numbered("4711", "4712")
    assert cited_sentences("It is old [2].", passages)[0].citations[0].ranks == (2,)
    assert cited_sentences("It is old [4712].", passages)[0].citations[0].ranks == (2,)


def test_an_id_of_several_passages_names_them_all() -> None:
    assert cited_sentences("It is old [a].", numbered("a", "b", "a"))[0].citations[0].ranks == (1, 3)


@pytest.mark.parametrize(
    "column",
    [
        [["doc-1"], [2, "3"]],
        [["[doc-1]"], ["[2]", "[3]"]],
        [{"text": "Fara is old.", "citations": ["doc-1"]}, {"text": "It is small.", "citations": [2, 3]}],
        [
            {"start": 0, "end": 4, "document_ids": ["doc-1"]},
            {"start": 19, "end": 24, "sources": [{"id": 2}, {"id": 3}]},
        ],
    ],
)
def test_a_column_says_what_each_sentence_cites(column: JsonValue) -> None:
    expected = [("Fara is old.", ((1,),)), ("It is small.", ((2,), (3,)))]
    assert cited("Fara is old. It is small.", column) == expected


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([1, 2], "lists what the answer cites, but not which sentence cites it"),
        (["doc-1"], "lists what the answer cites, but not which sentence cites it"),
        ([{"id": "doc-1"}], "lists what the answer cites, but not which sentence cites it"),
        ([[1]], "has 1 lists, but the answer has 2 sentences"),
        ([{"text": "No such text", "citations": [1]}], "has a text that is not in the answer"),
    ],
)
def test_a_column_that_does_not_say_it_is_an_error(column: JsonValue, message: str) -> None:
    with pytest.raises(CitationError, match=message):
        cited("Fara is old. It is small.", column)


def test_marks_take_precedence_over_the_column() -> None:
    assert cited("Fara is old [2].", [1]) == [("Fara is old.", ((2,),))]


WRITTEN = st.lists(
    st.sampled_from(
        ["Fara is old", ". ", " [1]", "[2, 3]", "[^1]", " (2)", "\n", "- ", "[x](y)", "[1]: z\n", "Sources:\n", "`[1]`",
         "\u30101\u2020a\u3011", "[[4]]", "[", "]", "(", ")", "It is 3", " "]
    ),
    max_size=20,
).map("".join) | st.text(alphabet="[]()^1,- .\nab\u3010\u3011`", max_size=40)  # fmt: skip


@given(WRITTEN)
def test_marks_do_not_overlap_and_sentences_are_the_text_without_them(answer: str) -> None:
    found = citation_marks(answer, PASSAGES)
    assert all(one.end <= other.start for one, other in pairwise(found))
    assert all(0 <= one.start < one.end <= len(answer) and one.names for one in found)
    plain = unmarked(answer, found)
    for one in cited_sentences(answer, PASSAGES):
        assert one.text in plain
        assert answer[one.start] == one.text[0]
        assert answer[one.end - 1] == one.text[-1]
        for citation in one.citations:
            assert citation.start is not None
            assert citation.name in answer[citation.start : citation.end] or citation.name in {"2", "3"}


@given(WRITTEN)
def test_every_mark_belongs_to_one_sentence_if_there_is_any(answer: str) -> None:
    sentences = cited_sentences(answer, PASSAGES)
    places = [citation.start for one in sentences for citation in one.citations]
    if sentences:
        assert sorted(set(places), key=str) == sorted({one.start for one in citation_marks(answer, PASSAGES)}, key=str)


def test_a_text_that_repeats_the_answer_loses_the_marks_that_the_answer_has_and_no_others() -> None:
    answer = "Fara is old [1][2]. It has a bell [doc-3] (4)."
    texts = ["Fara is old [1][2].", "It has a bell [doc-3] (4).", "[1]", "It has a bell [9]."]
    assert without_marks_of(answer, PASSAGES, texts) == ["Fara is old.", "It has a bell (4).", "", "It has a bell [9]."]
    assert without_marks_of("Fara is old.", PASSAGES, ["Fara is old [1]."]) == ["Fara is old [1]."]
