"""Tests of the messages for replies that do not match their task, and of task keys."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragboard.records import Evidence, Span, Turn, Verdict
from ragboard.tasks import (
    BertScore,
    BertScores,
    ExtractedStatement,
    Extraction,
    ExtractStatements,
    Failure,
    GenerateQuestions,
    Questions,
    Reply,
    Selection,
    SelectSentences,
    Similarities,
    Similarity,
    Task,
    Verification,
    Verify,
    adapter,
    decode_reply,
    encode,
    reply_or_failure,
    task_key,
)


def test_a_task_is_encoded_as_pydantic_encodes_it() -> None:
    turn = Turn(role="user", text="\u00e9 \x00 \u2028")
    tasks = (VERIFY, replace(VERIFY, history=(turn,), against="answer"), GenerateQuestions(answer="a", n=2**70))
    for task in tasks:
        excluded = {"against"} if getattr(task, "history", ()) else {"against", "history"}
        assert encode(task) == adapter(type(task)).dump_json(task, exclude=excluded)


VERIFY = Verify(question="q", statements=("a", "b"), passages=("one", "two"), joint=True, single=True)
YES = Verdict(label="supported")
FULL = Verification(joint=(YES, YES), single=((YES, YES), (YES, YES)))


def marked(rank: int, start: int, end: int) -> Verification:
    mark = Evidence(rank=rank, start=start, end=end, stance="for", how="quoted")
    return Verification(joint=(YES, Verdict(label="supported", evidence=(mark,))), single=FULL.single)


MISFITS: list[tuple[Task, Reply, str]] = [
    (VERIFY, Verification(joint=(YES,), single=FULL.single), "expected 2 joint verdicts, got 1"),
    (VERIFY, Verification(joint=FULL.joint, single=((YES, YES),)), "expected 2 rows of verdicts by passage, got 1"),
    (VERIFY, Verification(joint=FULL.joint, single=((YES, YES), (YES,))), "expected 2 verdicts, got 1"),
    (VERIFY, marked(3, 0, 1), "passage 3, but there are 2"),
    (VERIFY, marked(1, 0, 4), "outside the text of passage 1"),
    (VERIFY, Questions(questions=()), "Questions is not a reply to Verify"),
    (GenerateQuestions(answer="a", n=1), Questions(questions=("x", "y")), "at most 1 question, got 2"),
    (SelectSentences(question="q", sentences=("a",)), Selection(chosen=(1,)), "not among the 1 sentences"),
    (SelectSentences(question="q", sentences=("a", "b")), Selection(chosen=(1, 0)), "repeated or out of order"),
    (Similarity(text="a", others=("b", "c")), Similarities(values=(1.0,)), "expected 2 similarities, got 1"),
    (BertScore(text="a", others=("b",)), BertScores(precision=(), recall=(1.0,)), "expected 1 precisions, got 0"),
    (BertScore(text="a", others=("b",)), BertScores(precision=(None,), recall=()), "expected 1 recalls, got 0"),
    (
        ExtractStatements(question="q", text="abc"),
        Extraction(statements=(ExtractedStatement(text=" "),), refuses=False),
        "empty",
    ),
    (
        ExtractStatements(question="q", text="abc"),
        Extraction(
            statements=(ExtractedStatement(text="a", span=Span(start=2, end=4, how="verbatim")),), refuses=False
        ),
        "not within the text of 3 characters",
    ),
]


@pytest.mark.parametrize(("task", "reply", "said"), MISFITS)
def test_a_misfit_is_a_failure_that_names_it(task: Task, reply: Reply, said: str) -> None:
    found = reply_or_failure(task, reply)
    assert isinstance(found, Failure)
    assert said in found.detail


def test_a_reply_that_fits_and_a_failure_pass_unchanged() -> None:
    assert reply_or_failure(VERIFY, FULL) is FULL
    failure = Failure(detail="why")
    assert reply_or_failure(VERIFY, failure) is failure


def test_a_reply_survives_its_json() -> None:
    import json

    assert decode_reply("Verify", json.loads(encode(marked(1, 0, 2)))) == marked(1, 0, 2)
    with pytest.raises(ValueError, match="not a reply to Verify"):
        decode_reply("Verify", {"joint": [{"label": "perhaps"}]})


def test_the_key_holds_all_that_could_change_the_answer() -> None:
    from dataclasses import replace

    keys = {
        task_key(VERIFY, "j/1"),
        task_key(VERIFY, "j/2"),
        task_key(replace(VERIFY, draw=1), "j/1"),
        task_key(replace(VERIFY, joint=False), "j/1"),
        task_key(replace(VERIFY, statements=("ab",)), "j/1"),
        task_key(GenerateQuestions(answer="a", n=1), "j/1"),
    }
    assert len(keys) == 6
    assert task_key(replace(VERIFY), "j/1") in keys
