"""Which questions a statement gets, and which statements get none."""

from __future__ import annotations

import pytest

from ragboard.judges.embedded.writing.asking import askings
from ragboard.judges.embedded.writing.german import german_askings
from ragboard.judges.embedded.writing.resolving import resolved
from ragboard.records import Span
from ragboard.tasks import Extracted


def asked(statement: str, passage: str = "") -> dict[str, str]:
    return {ask.question: ask.short for ask in askings(statement, passage or statement)}


@pytest.mark.parametrize(
    ("statement", "question", "short"),
    [
        ("John Fowler opened the Forth Bridge in 1890.", "When did John Fowler open the Forth Bridge?", "in 1890"),
        ("In 1814 John Fowler sent a letter to Oslo.", "When did John Fowler send a letter to Oslo?", "in 1814"),
        (
            "The Paris School has taught Danish since 1947.",
            "Since when has the Paris School taught Danish?",
            "since 1947",
        ),
        ("The novel Emma was written by Jane Austen in 1814.", "Who wrote the novel Emma in 1814?", "Jane Austen"),
        ("Jane Austen wrote Emma in 1814.", "Who wrote Emma in 1814?", "Jane Austen"),
        ("The Abel Prize went to Karen Uhlenbeck in 2019.", "Who did the Abel Prize go to in 2019?", "Karen Uhlenbeck"),
        ("The Rhine rises in the Swiss canton of Uri.", "Where does the Rhine rise?", "in the Swiss canton of Uri"),
        ("The Graf was built at Papenburg in 1913.", "Where was the Graf built in 1913?", "at Papenburg"),
        ("The Seikan Tunnel runs under Cape Tappi.", "Which tunnel runs under Cape Tappi?", "the Seikan Tunnel"),
        ("Lake Baikal is the deepest lake on Earth.", "What is the deepest lake on Earth?", "Lake Baikal"),
        ("The Eiffel Tower is 330 m high.", "How high is the Eiffel Tower?", "330 m high"),
        ("Lake Como covers 146 km².", "How many square kilometres does Lake Como cover?", "146 km²"),
        (
            "Roger Fenton took about 360 photographs.",
            "How many photographs did Roger Fenton take?",
            "about 360 photographs",
        ),
        (
            "Two bridges have crossed the Firth of Tay.",
            "How many bridges have crossed the Firth of Tay?",
            "two bridges",
        ),
        ("Ann Lee, a nurse from Hull, left Oslo.", "Who was Ann Lee?", "a nurse from Hull"),
        ("The largest island, Olkhon, measures 730 km².", "How many square kilometres does Olkhon measure?", "730 km²"),
        ("Jane Austen began to write Emma in 1814.", "When did Jane Austen begin to write Emma?", "in 1814"),
    ],
)
def test_a_statement_is_asked_for_what_it_says(statement: str, question: str, short: str) -> None:
    assert asked(statement)[question] == short


@pytest.mark.parametrize(
    "statement",
    [
        "It was built in Oslo in 1871.",
        "The bridge was opened in 1890.",
        "The plan for it was drawn by John Fowler.",
        "A dam completed there by Oslo in 1972 raised the water.",
        "Sweden was given Bremen, Verden, and Wismar in 1648.",
        "The talks in Vienna did not end in 1815.",
        "Jane Austen never left England in 1814.",
        "What the Amu Darya brought in 1960, the sun took away.",
        "Jane Austen wrote Emma: it came out in 1815.",
        "Fires closed parts of Oslo in 1996 and 2008.",
        "The war lasted from 1914 to 1918 in Europe.",
    ],
)
def test_a_doubtful_statement_gets_no_question(statement: str) -> None:
    assert asked(statement) == {}


def test_two_times_are_not_asked_for_by_when() -> None:
    said = asked("Jane Austen left Bath in May 1806 and July 1809.")
    assert list(said) == ["What did Jane Austen leave in May 1806 and July 1809?"]


def test_what_else_a_sentence_says_is_in_neither_question_nor_answer() -> None:
    said = "In August 2005 the Kok-Aral Dam, 13 km long, closed off the Aral Sea, and fishing began again."
    found = next(ask for ask in askings(said, said) if ask.kind == "when")
    assert found.question == "When did the Kok-Aral Dam close off the Aral Sea?"
    assert found.statement == "In August 2005 the Kok-Aral Dam closed off the Aral Sea."
    assert found.turned == "The Kok-Aral Dam closed off the Aral Sea in August 2005."


def test_a_capital_at_the_beginning_is_a_names_only_where_the_passage_shows_it() -> None:
    said = "Bessemer opened works in Sheffield in 1858."
    assert "When did Bessemer open works in Sheffield?" in asked(said, f"{said} French officers told Bessemer so.")
    plural = "Farmers opened works in Sheffield in 1858."
    assert "When did farmers open works in Sheffield?" in asked(plural, f"{plural} They were farmers.")
    alone = "Protection ended in Sheffield in 1858."
    assert asked(alone) == {}


def statements(*texts: str) -> tuple[list[Extracted], str]:
    passage = " ".join(texts)
    starts = [passage.index(text) for text in texts]
    found = [
        Extracted(text=text, span=Span(start=start, end=start + len(text), how="verbatim"))
        for text, start in zip(texts, starts, strict=True)
    ]
    return found, passage


def test_he_is_replaced_by_the_only_person_before_and_by_nobody_where_there_are_two() -> None:
    one = statements("James Watt left Glasgow in 1763.", "He patented a condenser in 1769.")
    assert list(resolved(*one))[1] == "James Watt patented a condenser in 1769."
    two = statements("James Watt left Glasgow in 1763.", "John Roebuck left Hull in 1764.", "He died in 1794.")
    assert list(resolved(*two))[2] == "He died in 1794."


def test_the_lake_is_replaced_by_the_only_one_named_before() -> None:
    named = statements("Lake Baikal lies in Siberia.", "The lake is 636 km long.")
    assert list(resolved(*named))[1] == "Lake Baikal is 636 km long."
    later = statements("The lake is 636 km long.", "Lake Superior is shorter.")
    assert next(iter(resolved(*later))) == "The lake is 636 km long."


@pytest.mark.parametrize(
    ("statement", "question"),
    [
        ("Im Jahr 1890 wurde die Brücke von Fowler in Schottland eröffnet.",
         "Wann wurde die Brücke von Fowler in Schottland eröffnet?"),
        ("Die Brücke von Fowler wurde im Jahr 1890 eröffnet.", "Wann wurde die Brücke von Fowler eröffnet?"),
        ("In Dresden wurde 1842 von Semper die Oper gebaut.", "Wo wurde 1842 von Semper die Oper gebaut?"),
        ("Der Fernsehturm von Berlin ist 368 m hoch.", "Wie hoch ist der Fernsehturm von Berlin?"),
        ("Rund 300 Arbeiter bauten die Oper von Semper.", "Wie viele Arbeiter bauten die Oper von Semper?"),
    ],
)  # fmt: skip
def test_german_statements_are_asked_in_german(statement: str, question: str) -> None:
    assert question in {ask.question for ask in german_askings(statement)}


def test_a_german_statement_about_it_gets_no_question() -> None:
    assert german_askings("Sie wurde im Jahr 1890 von Fowler in Schottland eröffnet.") == ()
