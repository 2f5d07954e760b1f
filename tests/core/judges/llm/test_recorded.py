"""Tests of parsing replies of a real small model.

The recorded replies belong to other prompts (a verdict is `Verdict: 1`, statements and sentences are bare lists). An
adapter converts their form, and corrects nothing.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ragboard.judges.llm.dialogue import parse_first_json, read_reply
from ragboard.tasks import (
    Extraction,
    ExtractStatements,
    GenerateQuestions,
    Questions,
    ReplyFormatError,
    Selection,
    SelectSentences,
    Verification,
    Verify,
)
from ragboard.text.sentences import sentence_spans

LABELS = {"1": "supported", "0": "unsupported"}


@pytest.fixture(scope="module")
def recorded(data: Path) -> Path:
    return data / "wikieval" / "recorded_llama3_8b"


def rows(recorded: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (recorded / name).read_text(encoding="utf-8").splitlines()]


def listed(row: dict[str, Any], key: str) -> list[str]:
    found: list[str] = json.loads(row[key])
    return found


def question(text: str) -> str:
    """The one question in the reply. Raises ReplyFormatError where it holds none."""

    def read(value: Any) -> str:
        if set(value) != {"question", "noncommittal"} or value["noncommittal"] not in (0, 1):
            raise ReplyFormatError("not a question with its flag")
        reply = read_reply(GenerateQuestions(answer="a", n=1), json.dumps({"questions": [value["question"]]}))
        assert isinstance(reply, Questions)
        return reply.questions[0]

    return parse_first_json(text, read, "question")


def verdict(text: str) -> str:
    """The label in the reply. Raises ReplyFormatError where it names none."""
    said = re.match(r"\s*Verdict:\s*(\S*)", text)
    label = LABELS.get(said.group(1), said.group(1)) if said else None
    form = {"verdicts": [{"statement": 1, "together": {"label": label}}]}
    task = Verify(question="q", statements=("s",), passages=("p",), joint=True, single=False)
    reply = read_reply(task, json.dumps(form))
    assert isinstance(reply, Verification)
    return reply.joint[0].label


def statements(answer: str, text: str) -> Extraction:
    """The statements in the reply. Raises ReplyFormatError where it holds no list of them."""
    task = ExtractStatements(question="q", text=answer)

    def read(value: Any) -> Extraction:
        reply = read_reply(task, json.dumps({"statements": value, "refuses": False}))
        assert isinstance(reply, Extraction)
        return reply

    return parse_first_json(text, read, None)


def chosen(context: str, text: str) -> tuple[int, ...]:
    """Places of the chosen sentences. Raises ReplyFormatError where one was not offered."""
    offered = tuple(context[start:end] for start, end in sentence_spans(context))
    numbers = {sentence: number for number, sentence in enumerate(offered, 1)}

    def read(value: list[Any]) -> tuple[int, ...]:
        said = [numbers.get(sentence, sentence) for sentence in value]
        reply = read_reply(SelectSentences(question="q", sentences=offered), json.dumps({"chosen": said}))
        assert isinstance(reply, Selection)
        return reply.chosen

    return parse_first_json(text, read, None)


def test_every_plain_question_reply_is_read(recorded: Path) -> None:
    texts = [text for row in rows(recorded, "ar_ragas_output.jsonl") for text in listed(row, "raw_outputs")]
    assert len(texts) == 60
    assert all(question(text).endswith("?") for text in texts)


def test_every_chat_question_reply_is_read(recorded: Path) -> None:
    texts = [text for row in rows(recorded, "ar_ragas_chat_output.jsonl") for text in listed(row, "raw_outputs")]
    assert all(question(text).endswith("?") for text in texts)


QUESTIONS = (
    # a question of ours, then answers and questions that the model made up
    (1, 0, "When was PharmaCann founded and where is its headquarters located?"),
    (0, 1, "What is the objective of the Uzbekistan-Afghanistan-Pakistan Railway Project?"),
    (14, 0, "What was the purpose of the Fiat Ecobasic concept car?"),
    # the same, with code after it
    (8, 1, "When is the PSLV-C56 mission scheduled to launch?"),
    (2, 2, "What does the human climate niche refer to?"),
)


@pytest.mark.parametrize(("row", "draw", "expected"), QUESTIONS)
def test_only_the_first_question_counts(recorded: Path, row: int, draw: int, expected: str) -> None:
    assert question(listed(rows(recorded, "ar_ragas_output.jsonl")[row], "raw_outputs")[draw]) == expected


VERDICTS = (
    ("ff_ragas_output.jsonl", 0, 5, "unsupported"),  # `Verdict: 0`, then the context again
    ("ff_ragas_output.jsonl", 0, 6, "unsupported"),  # `Verdict: 0`, then a context of its own making
    ("ff_ragas_output.jsonl", 2, 1, "supported"),  # empty lines before, an explanation after
    ("ff_ragas_output.jsonl", 3, 0, "supported"),
    ("ff_ragas_output.jsonl", 12, 2, "unsupported"),
    ("ff_ragas_chat_output.jsonl", 0, 1, "unsupported"),
)


@pytest.mark.parametrize(("name", "row", "number", "expected"), VERDICTS)
def test_a_verdict_that_is_named_is_read(recorded: Path, name: str, row: int, number: int, expected: str) -> None:
    assert verdict(listed(rows(recorded, name)[row], "raw_judge_outputs")[number]) == expected


NO_VERDICT = (
    (0, 0),  # blank, then a Nobel Prize that nobody asked about
    (0, 12),  # blank, then `Solution: 0`
    (4, 0),  # no verdict, `Answer: 1`
    (8, 0),  # blank, then `Answer: 1`
    (8, 2),  # blank, then prose in favour
    (8, 5),  # `_______ (1 or 0) 0`
    (8, 7),  # the context again
    (12, 1),  # `Answer: 0 (The statement ...`
    (18, 5),  # blank, then prose against
)


@pytest.mark.parametrize(("row", "number"), NO_VERDICT)
def test_a_verdict_that_is_left_blank_is_no_verdict(recorded: Path, row: int, number: int) -> None:
    text = listed(rows(recorded, "ff_ragas_output.jsonl")[row], "raw_judge_outputs")[number]
    with pytest.raises(ReplyFormatError, match="none of supported, contradicted, unsupported"):
        verdict(text)


def test_none_of_the_67_blank_verdicts_becomes_a_label(recorded: Path) -> None:
    told = []
    for row in rows(recorded, "ff_ragas_output.jsonl"):
        for text in listed(row, "raw_judge_outputs"):
            try:
                told.append(verdict(text))
            except ReplyFormatError as error:
                told.append("blank" if "____" in str(error) else "other")
    assert {what: told.count(what) for what in sorted(set(told))} == {
        "blank": 67,
        "other": 12,
        "supported": 30,
        "unsupported": 6,
    }


COUNTS = {
    "ff_ragas_output.jsonl": [13, 7, 6, 11, 2, 2, 4, 2, 8, 3, 7, 6, 12, 7, 2, 3, 7, 3, 7, 3],
    "ff_ragas_chat_output.jsonl": [13, 7, 7, 19, 2, 2, 3, 4, 7, 3, 7, 6, 14, 11, 2, 3, 8, 4, 10, 3],
}


@pytest.mark.parametrize("name", COUNTS)
def test_statements_are_the_first_list_before_any_code(recorded: Path, name: str) -> None:
    found = [statements(row["answer"], row["raw_statements_output"]) for row in rows(recorded, name)]
    assert [len(reply.statements) for reply in found] == COUNTS[name]


def test_the_statements_read_are_those_written(recorded: Path) -> None:
    row = rows(recorded, "ff_ragas_output.jsonl")[15]
    assert [said.text for said in statements(row["answer"], row["raw_statements_output"]).statements] == [
        "The main product of Fremantle Octopus is Octopus djinda.",
        "Fremantle Octopus is based in Fremantle.",
        "Fremantle Octopus is based in Western Australia.",
    ]


CHOSEN = (
    ("cr_ragas_output.jsonl", 5, (0, 2, 4, 8, 12)),
    ("cr_ragas_chat_output.jsonl", 0, (3, 9, 10)),
    ("cr_ragas_chat_output.jsonl", 16, (1, 3, 7, 9)),
)


@pytest.mark.parametrize(("name", "row", "expected"), CHOSEN)
def test_chosen_sentences_are_found_among_those_offered(
    recorded: Path, name: str, row: int, expected: tuple[int, ...]
) -> None:
    said = rows(recorded, name)[row]
    assert chosen(said["context"], said["raw_output"]) == expected


NOT_CHOSEN = (
    ("cr_ragas_output.jsonl", 9, "cannot be read"),  # quotation marks within; later `[]` in code
    ("cr_ragas_output.jsonl", 10, "were offered"),  # a sentence reworded; later `[]` in code
    ("cr_ragas_output.jsonl", 14, "were offered"),
    ("cr_ragas_output.jsonl", 16, "were offered"),
    ("cr_ragas_chat_output.jsonl", 7, "no whole list"),  # cut off
    ("cr_ragas_chat_output.jsonl", 8, "cannot be read"),  # a comma missing between two sentences
    ("cr_ragas_chat_output.jsonl", 17, "no whole list"),
)


@pytest.mark.parametrize(("name", "row", "why"), NOT_CHOSEN)
def test_a_broken_or_reworded_choice_is_no_choice(recorded: Path, name: str, row: int, why: str) -> None:
    said = rows(recorded, name)[row]
    with pytest.raises(ReplyFormatError, match=why):
        chosen(said["context"], said["raw_output"])
