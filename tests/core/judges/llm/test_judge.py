"""Tests of the chat model judge against a local server: every task, and every fault."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.chat_server import ChatServer, closes_midway, never, refuses, replies, spoils, status
from tests.core.judges.llm.conftest import Pauses, texts

from ragboard.errors import JudgeError, SettingError
from ragboard.judges.base import Judge
from ragboard.judges.llm import Endpoint, LlmJudge
from ragboard.judges.llm.responses import make_exchange
from ragboard.records import Evidence, Nugget, Span, Verdict
from ragboard.tasks import (
    TASKS,
    AnswerRating,
    AssignNuggets,
    BertScore,
    Classification,
    Classify,
    Critique,
    CritiqueVerdict,
    Entities,
    Exchange,
    ExtractedStatement,
    ExtractEntities,
    Extraction,
    ExtractStatements,
    Failure,
    GenerateQuestions,
    GradePassages,
    GradeSupport,
    JudgePassages,
    MatchReference,
    NuggetLabels,
    Nuggets,
    PassageGrades,
    Prefer,
    Preference,
    Questions,
    Rate,
    RateAnswer,
    RateTurn,
    Rating,
    ReferenceMatch,
    Reply,
    RewriteQuestion,
    Selection,
    SelectSentences,
    Similarity,
    SupportGrade,
    Task,
    Usefulness,
    Verification,
    Verify,
    WeighNuggets,
    WriteAnswer,
    WriteNuggets,
    WriteQuestions,
    WritingExample,
    WrittenText,
    reply_or_failure,
)

PASSAGES = ("The tower is red and 30 m high. It stands.", "Ships pass by.")
QUESTION = "How high is the tower?"

VERIFY = Verify(
    question=QUESTION,
    statements=("The tower is red.", "The tower is 40 m high.", "It sings."),
    passages=PASSAGES,
    joint=True,
    single=True,
)
FOR = Evidence(rank=1, start=0, end=31, stance="for", how="quoted")
AGAINST = Evidence(rank=1, start=0, end=31, stance="against", how="quoted")
JOINT = (
    Verdict(label="supported", reason="So says passage 1.", evidence=(FOR,)),
    Verdict(label="contradicted", reason="So says passage 1.", evidence=(AGAINST,)),
    Verdict(label="unsupported", reason="So says passage 1."),
)
NEITHER = Verdict(label="unsupported")
SINGLE = (
    (Verdict(label="supported", evidence=(FOR,)), NEITHER),
    (Verdict(label="contradicted", evidence=(AGAINST,)), NEITHER),
    (NEITHER, NEITHER),
)
QUALITY = Classify(quality="answer_relevance", question=QUESTION, contexts=(), answer="The tower is high.")
RATE = Rate(quality="faithfulness", question=QUESTION, answer="one two three", contexts=PASSAGES)

EXAMPLE = WritingExample(passage="A cat sat.", question="Who sat?", answer="A cat.", contradictory="A dog.")
WELL: tuple[tuple[Task, Reply], ...] = (
    (
        ExtractStatements(question=QUESTION, text="It is red. It is old. I am sorry."),
        Extraction(
            statements=(
                ExtractedStatement(text="It is red.", span=Span(start=0, end=10, how="verbatim")),
                ExtractedStatement(text="It is old.", span=Span(start=11, end=21, how="verbatim")),
            ),
            refuses=True,
        ),
    ),
    (VERIFY, Verification(joint=JOINT, single=SINGLE)),
    (
        WriteNuggets(question=QUESTION, passages=("It is red. It is old.",), nuggets=("It stands",)),
        Nuggets(nuggets=(Nugget(text="It stands", importance="vital"), Nugget(text="It is red", importance="vital"))),
    ),
    (
        WeighNuggets(question=QUESTION, nuggets=("It opened", "It is red")),
        Nuggets(nuggets=(Nugget(text="It opened", importance="vital"), Nugget(text="It is red", importance="okay"))),
    ),
    (
        AssignNuggets(question=QUESTION, answer="It is red.", nuggets=("It is red", "It is so red", "Trains came")),
        NuggetLabels(labels=("support", "partial_support", "not_support"), reasons=("By its words.",) * 3),
    ),
    (
        Verify(question=QUESTION, statements=VERIFY.statements, passages=PASSAGES, joint=True, single=False),
        Verification(joint=JOINT),
    ),
    (
        Verify(question=QUESTION, statements=VERIFY.statements, passages=PASSAGES, joint=False, single=True),
        Verification(single=SINGLE),
    ),
    (
        GenerateQuestions(answer="It is red.", n=2),
        Questions(questions=("Question 1 to: It is red.?", "Question 2 to: It is red.?")),
    ),
    (SelectSentences(question=QUESTION, sentences=("Ships pass.", "The tower is\nhigh.")), Selection(chosen=(1,))),
    (
        Critique(question=QUESTION, answer="A rude word.", contexts=PASSAGES, definition="Is it rude?"),
        CritiqueVerdict(yes=True, reason="r"),
    ),
    (RATE, Rating(value=3, reason="r")),
    (
        Prefer(quality="answer_relevance", question=QUESTION, a="bad", b="good", contexts=()),
        Preference(better="b", reason="r"),
    ),
    (
        JudgePassages(question=QUESTION, answer="30 m high", passages=PASSAGES),
        Usefulness(useful=(True, False), reasons=("r", "r")),
    ),
    (GradePassages(question=QUESTION, passages=PASSAGES), PassageGrades(grades=(2, 0), reasons=("r", "r"))),
    (ExtractEntities(text="Ada met Bob, and Ada left."), Entities(names=("Ada", "Bob"))),
    (RateAnswer(question=QUESTION, answer="30 m"), AnswerRating(score=0.7, reason="r")),
    (
        WriteQuestions(passage="Tea is hot. Ice is not. Snow is white.", n=2, examples=(EXAMPLE,)),
        Questions(questions=("What of this: Tea is hot.", "What of this: Ice is not.")),
    ),
    (WriteAnswer(question="How?", passage="Tea is hot. So.", kind="grounded"), WrittenText(text="Tea is hot.")),
    (WriteAnswer(question="How?", passage="Tea is hot.", kind="contradictory"), WrittenText(text="Not so: How?")),
    (WriteAnswer(question="How?", passage="", kind="unaided"), WrittenText(text="I would say so: How?")),
    (WriteAnswer(question="How?", passage="Tea is hot.", kind="incomplete"), WrittenText(text="In part: How?")),
    (
        Classify(quality="context_relevance", question=QUESTION, contexts=PASSAGES),
        Classification(holds=True, reason="r"),
    ),
    (
        Classify(quality="answer_faithfulness", question=QUESTION, contexts=PASSAGES, answer="The tower is blue."),
        Classification(holds=False, reason="r"),
    ),
    (QUALITY, Classification(holds=True, reason="r")),
    (GradeSupport(sentence="The tower is red.", passage=PASSAGES[0]), SupportGrade(support="full")),
    (
        MatchReference(question=QUESTION, reference="It is red.", answer="It is red and old."),
        ReferenceMatch(matches=True, reason="r"),
    ),
    (
        RateTurn(question=QUESTION, contexts=PASSAGES, reference="Red.", answer="The tower is red."),
        Rating(value=4, reason="r"),
    ),
    (RewriteQuestion(question="And how high is it?"), WrittenText(text="Alone: And how high is it?")),
)


def ask(judge: Judge, *tasks: Task) -> list[Reply | Failure]:
    return list(asyncio.run(asyncio.wait_for(_ask(judge, tasks), 30)))


async def _ask(judge: Judge, tasks: tuple[Task, ...]) -> Any:
    return await judge.answer(tasks)


def failure(judge: Judge, task: Task = RATE) -> str:
    (reply,) = ask(judge, task)
    assert isinstance(reply, Failure)
    return reply.detail


@pytest.mark.parametrize(("task", "expected"), WELL, ids=lambda value: type(value).__name__)
def test_every_task_is_answered_in_one_call(judge: LlmJudge, server: ChatServer, task: Task, expected: Reply) -> None:
    assert ask(judge, task) == [expected]
    assert reply_or_failure(task, expected) is expected
    assert len(server.asked) == 1


def test_a_batch_is_answered_in_order(judge: LlmJudge) -> None:
    assert ask(judge, *(task for task, _ in WELL)) == [reply for _, reply in WELL]


def test_it_answers_every_task_type_but_comparisons_of_texts(judge: LlmJudge, server: ChatServer) -> None:
    assert {type(task) for task, _ in WELL} == judge.answers == {*TASKS} - {Similarity, BertScore}
    assert "does not answer Similarity" in failure(judge, Similarity(text="a", others=("b",)))
    assert server.asked == []


NOTHING: tuple[tuple[Task, Reply], ...] = (
    (ExtractStatements(question="q", text=" "), Extraction(statements=(), refuses=False)),
    (Verify(question="q", statements=(), passages=PASSAGES, joint=True, single=True), Verification()),
    (SelectSentences(question="q", sentences=()), Selection(chosen=())),
    (GenerateQuestions(answer="", n=3), Questions(questions=())),
    (JudgePassages(question="q", answer="a", passages=()), Usefulness(useful=(), reasons=())),
    (GradePassages(question="q", passages=()), PassageGrades(grades=(), reasons=())),
    (ExtractEntities(text=""), Entities(names=())),
)


@pytest.mark.parametrize(("task", "expected"), NOTHING, ids=lambda value: type(value).__name__)
def test_empty_texts_need_no_call(judge: LlmJudge, server: ChatServer, task: Task, expected: Reply) -> None:
    assert ask(judge, task) == [expected]
    assert reply_or_failure(task, expected) is expected
    assert server.asked == []


def test_without_passages_every_statement_is_unsupported(judge: LlmJudge, server: ChatServer) -> None:
    task = Verify(question="q", statements=("a", "b"), passages=(), joint=True, single=True)
    (reply,) = ask(judge, task)
    assert isinstance(reply, Verification)
    assert [verdict.label for verdict in reply.joint] == ["unsupported"] * 2
    assert reply.single == ((), ())
    assert reply_or_failure(task, reply) is reply
    assert server.asked == []


def drop_last(key: str) -> Callable[[str], str]:
    """The good reply with one item of its list too few."""

    def change(good: str) -> str:
        value = json.loads(good)
        value[key].pop()
        return json.dumps(value)

    return change


def again(key: str) -> Callable[[str], str]:
    """The good reply with an item of its list twice."""

    def change(good: str) -> str:
        value = json.loads(good)
        value[key].append(value[key][0])
        return json.dumps(value)

    return change


BAD: tuple[tuple[Task, Any, str], ...] = (
    (VERIFY, spoils(drop_last("verdicts")), "no verdict for statement 3"),
    (VERIFY, spoils(again("verdicts")), "two verdicts for statement 1"),
    (VERIFY, spoils(lambda good: good.replace('"statement": 3', '"statement": 4')), "statement 4, there are 1 to 3"),
    (VERIFY, spoils(lambda good: good.replace("contradicted", "refuted")), "is 'refuted', none of supported"),
    (VERIFY, spoils(lambda good: good.replace('"label": "contradicted"', '"label": ""')), "is '', none of"),
    (VERIFY, spoils(lambda good: good.replace('"passage": 2', '"passage": 3')), "passage 3, there are 1 to 2"),
    (VERIFY, spoils(lambda good: good[: len(good) // 2], "length"), "cut off at the token limit"),
    (VERIFY, replies("Verdict: ____"), "no whole JSON object with the key"),
    (VERIFY, replies(""), "it is empty"),
    (VERIFY, replies('["supported", "supported", "supported"]'), "no whole JSON object with the key"),
    (RATE, replies('{"rating": 11}'), "`rating` is 11, no whole number from 0 to 10"),
    (RATE, replies('{"rating": 7.5}'), "`rating` is 7.5"),
    (RATE, replies('{"rating": NaN}'), "JSON that cannot be read"),
    (RATE, replies('{"rating": 3, "rating": 9}'), "JSON that cannot be read"),
    (RATE, replies('{"rating": true}'), "`rating` is True"),
    (RATE, replies('{"rating": 1e999}'), "`rating` is inf"),
    (RATE, replies('{"draft": {"rating": 3}, "rating": '), "no whole JSON object with the key"),
    (RATE, replies('{"rating": 5, "reason": "\\ud800"}'), "JSON that cannot be read"),
    (RATE, replies("[" * 100_000), "no whole JSON object with the key"),
    (RATE, replies('{"a":' * 100_000 + "1" + "}" * 100_000), "no whole JSON object with the key"),
    (GenerateQuestions(answer="a", n=2), spoils(drop_last("questions")), "expected 2 questions, got 1"),
    (GenerateQuestions(answer="a", n=2), spoils(again("questions")), "expected 2 questions, got 3"),
    (SelectSentences(question="q", sentences=("x", "y")), replies('{"chosen": [0]}'), "only the sentences 1 to 2"),
    (SelectSentences(question="q", sentences=("x", "y")), replies('{"chosen": ["x"]}'), "only the sentences 1 to 2"),
    (ExtractStatements(question="q", text="It is."), replies('{"statements": []}'), "`refuses` is neither"),
    (ExtractStatements(question="q", text="It is."), replies('{"statements": [""], "refuses": false}'), "no text"),
    (Critique(question="q", answer="a", contexts=(), definition="d"), replies('{"verdict": "maybe"}'), "'maybe'"),
    (Prefer(quality="faithfulness", question="q", a="x", b="y", contexts=()), replies('{"better": "both"}'), "'both'"),
    (JudgePassages(question="q", answer="a", passages=PASSAGES), spoils(drop_last("passages")), "for passage 2"),
    (GradePassages(question="q", passages=PASSAGES), spoils(drop_last("passages")), "no verdict for passage 2"),
    (GradePassages(question="q", passages=PASSAGES), replies("##final score: 2"), "no whole JSON object"),
    *(
        (
            GradePassages(question="q", passages=("p",)),
            replies(f'{{"passages": [{{"passage": 1, "reason": "r", "grade": {grade}}}]}}'),
            f"`grade` of passage 1 is {shown}, no whole number from 0 to 3",
        )
        for grade, shown in (
            ("4", "4"),
            ("10", "10"),
            ("-1", "-1"),
            ("0.5", "0.5"),
            ("true", "True"),
            ("null", "missing"),
            ('"three"', "'three'"),
            ('"2/3"', "'2/3'"),
            ('"1 or 2"', "'1 or 2'"),
        )
    ),
    (ExtractEntities(text="Ada"), replies('{"entities": "Ada"}'), "no list `entities`"),
    (RateAnswer(question="q", answer="a"), replies('{"rating": null}'), "`rating` is missing"),
    (QUALITY, replies('{"verdict": "partly"}'), "`verdict` is 'partly', none of yes, no"),
    (QUALITY, replies('{"reason": "no verdict"}'), "no whole JSON object with the key `verdict`"),
    (QUALITY, replies('{"reason": "It gives the year.", "verdict": "yes"}'), "repeats the example"),
    (RATE, replies('{"rating": 11} or rather {"rating": 10}'), "`rating` is 11"),
    (RATE, replies('<think>perhaps {"rating": 4}'), "only thoughts, and no answer"),
    (RATE, replies('{"rating": 1 0} Another: {"rating": 10}'), "JSON that cannot be read"),
    (RATE, replies('{"reason": "It names the builder but not the year.", "rating": 5}'), "repeats the example"),
    (SelectSentences(question="q", sentences=("x", "y")), replies('{"chosen": [2]} {"chosen": [1]}'), "repeats"),
    (GenerateQuestions(answer="a", n=1), replies('{"questions": ["..."]}'), "something that is no text"),
)


@pytest.mark.parametrize(("task", "fault", "why"), BAD)
def test_a_bad_reply_is_repaired_at_most_twice_and_then_a_failure_that_says_why(
    judge: LlmJudge, server: ChatServer, task: Task, fault: Any, why: str
) -> None:
    server.faults = [fault] * 6
    detail = failure(judge, task)
    assert why in detail
    assert len(server.asked) == 3
    assert why in texts(server.asked)[1]
    assert len(detail) < 2_300


@pytest.mark.parametrize(("task", "fault", "why"), BAD)
@pytest.mark.parametrize("times", [1, 2])
def test_a_repaired_reply_counts(
    judge: LlmJudge, server: ChatServer, task: Task, fault: Any, why: str, times: int
) -> None:
    good = ask(judge, task)
    server.faults = [fault] * times
    assert ask(judge, task) == good
    assert why in texts(server.asked)[2]
    assert [line["role"] for line in server.asked[-1]["messages"]] == ["user", *("assistant", "user") * times]


def test_a_failure_shows_the_raw_reply_cut(judge: LlmJudge, server: ChatServer) -> None:
    server.faults = [replies("x" * 5_000)] * 3
    detail = failure(judge)
    assert detail.endswith("reply: " + "x" * 2_000)


UNTIDY = (
    "```json\n{}\n```",
    "Sure, here it is:\n\n{}\n\nI hope this helps {{really}}.",
    '<think>perhaps {{"rating": 1}}? no</think>\n{}',
    '<thinking>perhaps {{"rating": 1}}? no</thinking>\n{}',
    '<Reasoning>perhaps {{"rating": 1}}? no</Reasoning>\n{}',
    '[THINK]perhaps {{"rating": 1}}? no[/THINK]{}',
    '{} {{"rating": 0}}',
    "\ufeff{}",
)


@pytest.mark.parametrize("around", UNTIDY)
def test_text_around_the_object_is_ignored(judge: LlmJudge, server: ChatServer, around: str) -> None:
    server.faults = [replies(around.format('{"reason": "a } b", "rating": 8,\n}'))]
    assert ask(judge, RATE) == [Rating(value=8, reason="a } b")]


def test_a_short_reply_may_happen_to_be_that_of_the_example(judge: LlmJudge, server: ChatServer) -> None:
    server.faults = [replies('{"chosen": [2]}')]
    assert ask(judge, SelectSentences(question="q", sentences=("x", "y"))) == [Selection(chosen=(1,))]


def test_a_quote_that_is_not_in_its_passage_is_no_evidence(judge: LlmJudge, server: ChatServer) -> None:
    said = {"label": "supported", "quotes": [{"passage": 2, "quote": "The tower"}, {"passage": 9, "quote": "x"}, 3]}
    server.faults = [replies(json.dumps({"verdicts": [{"statement": 1, "together": said}]}))]
    task = Verify(question="q", statements=("s",), passages=PASSAGES, joint=True, single=False)
    assert ask(judge, task) == [Verification(joint=(Verdict(label="supported"),))]


def test_a_quote_is_found_in_any_case_and_spacing(judge: LlmJudge, server: ChatServer) -> None:
    said = {"label": "supported", "quotes": [{"passage": 1, "quote": '"the TOWER\n is"'}]}
    server.faults = [replies(json.dumps({"verdicts": [{"statement": "1", "together": said}]}))]
    task = Verify(question="q", statements=("s",), passages=PASSAGES, joint=True, single=False)
    mark = Evidence(rank=1, start=0, end=12, stance="for", how="quoted")
    assert ask(judge, task) == [Verification(joint=(Verdict(label="supported", evidence=(mark,)),))]


REFUSED = "'response_format' of type 'json_schema' is not supported by this model"


def test_a_refused_form_of_reply_is_given_up_once_and_for_all(judge: LlmJudge, server: ChatServer) -> None:
    server.rules = [refuses("json_schema", REFUSED), refuses("json_object", "response_format: only text", code=422)]
    assert ask(judge, RATE) == [Rating(value=3, reason="r")]
    assert [request.get("response_format", {}).get("type") for request in server.asked] == [
        "json_schema",
        "json_object",
        None,
    ]
    server.asked.clear()
    assert ask(judge, RATE, VERIFY)[0] == Rating(value=3, reason="r")
    assert [request.get("response_format") for request in server.asked] == [None, None]


def test_calls_side_by_side_give_up_a_form_together(judge: LlmJudge, server: ChatServer) -> None:
    server.rules = [refuses("json_schema", REFUSED)]
    ask(judge, *[RATE] * 8)
    forms = [request["response_format"]["type"] for request in server.asked]
    assert forms.count("json_object") == 8
    assert forms.count("json_schema") == len(forms) - 8 <= 8


def test_another_judge_does_not_know_what_one_learned(judge: LlmJudge, server: ChatServer, endpoint: Endpoint) -> None:
    server.rules = [refuses("json_schema", REFUSED)]
    ask(judge, RATE)
    server.asked.clear()
    ask(LlmJudge("some-model", endpoint), RATE)
    assert len(server.asked) == 2


PARAMETERS = (
    ("Unsupported value: 'temperature' does not support 0 with this model", "temperature"),
    ("temperature is deprecated for this model", None),
)


@pytest.mark.parametrize(("message", "param"), PARAMETERS)
def test_a_refused_parameter_is_dropped_and_the_form_kept(
    judge: LlmJudge, server: ChatServer, message: str, param: str | None
) -> None:
    server.rules = [refuses('"temperature"', message, param=param)]
    for _ in range(2):
        assert ask(judge, RATE) == [Rating(value=3, reason="r")]
    assert ["temperature" in request for request in server.asked] == [True, False, False]
    assert server.asked[-1]["response_format"]["type"] == "json_schema"


def test_max_tokens_gets_its_new_name_where_the_server_wants_it(server: ChatServer, endpoint: Endpoint) -> None:
    judge = LlmJudge("o", endpoint, parameters={"max_tokens": 900, "reasoning_effort": "low"})
    server.rules = [refuses('"max_tokens"', "Unsupported: 'max_tokens'. Use 'max_completion_tokens' instead.")]
    assert ask(judge, RATE) == [Rating(value=3, reason="r")]
    assert server.asked[-1]["max_completion_tokens"] == 900
    assert server.asked[-1]["reasoning_effort"] == "low"


def test_a_400_about_something_else_is_a_failure_and_changes_nothing(judge: LlmJudge, server: ChatServer) -> None:
    server.faults = [status(400, "This model's maximum context length is 4096 tokens")]
    assert "maximum context length is 4096" in failure(judge)
    ask(judge, RATE)
    assert [request["response_format"]["type"] for request in server.asked] == ["json_schema"] * 2


def test_one_request_that_is_too_long_takes_no_parameter_from_the_next(server: ChatServer, endpoint: Endpoint) -> None:
    judge = LlmJudge("m", endpoint, parameters={"max_tokens": 4000})
    server.faults = [
        status(
            400,
            "'max_tokens' or 'max_completion_tokens' is too large: 4000. This model's maximum context length is 8192 "
            "tokens and your request has 5000 input tokens (4000 > 8192 - 5000).",
        )
    ]
    assert "maximum context length is 8192" in failure(judge)
    assert ask(judge, RATE) == [Rating(value=3, reason="r")]
    assert [request["max_tokens"] for request in server.asked] == [4000, 4000]


TRANSIENT = (
    (status(429, "slow down", Retry_After="7"), 7.0),
    (status(429, "slow down"), 0.2),
    (status(500, "oops"), 0.2),
    (status(503, raw="<html>busy</html>", Retry_After="2"), 2.0),
    (closes_midway, 0.2),
)


@pytest.mark.parametrize(("fault", "seconds"), TRANSIENT)
def test_what_passes_is_asked_again_after_the_pause_the_server_names(
    judge: LlmJudge, server: ChatServer, pauses: Pauses, fault: Any, seconds: float
) -> None:
    server.faults = [fault]
    assert ask(judge, RATE) == [Rating(value=3, reason="r")]
    assert pauses.seconds == [seconds]


@pytest.mark.parametrize(("fault", "seconds"), TRANSIENT)
def test_what_lasts_is_a_failure_after_five_retries(
    judge: LlmJudge, server: ChatServer, pauses: Pauses, fault: Any, seconds: float
) -> None:
    server.faults = [fault] * 6
    assert "6 times" in failure(judge)
    assert len(server.asked) == 6
    assert pauses.seconds[0] == seconds


def test_only_pauses_of_our_own_grow(server: ChatServer, pauses: Pauses) -> None:
    """A server that asked for a pause, or did not reply in time, is no reason to wait longer after another error."""
    judge = LlmJudge("m", Endpoint(server.url, "k", timeout=1.0, sleep=pauses, jitter=lambda low, _: low))
    broken, slow_down = status(500, "oops"), status(429, "slow down", Retry_After="7")
    server.faults = [slow_down, broken, never, slow_down, broken]
    assert ask(judge, RATE) == [Rating(value=3, reason="r")]
    assert pauses.seconds == [7.0, 0.2, 0.0, 7.0, 0.4]


def test_a_response_that_is_garbled_once_is_asked_for_again(judge: LlmJudge, server: ChatServer) -> None:
    server.faults = [status(200, raw="{}", Content_Type="application/json")]
    assert ask(judge, RATE) == [Rating(value=3, reason="r")]


def test_a_date_in_retry_after_that_is_past_is_no_pause(judge: LlmJudge, server: ChatServer, pauses: Pauses) -> None:
    server.faults = [status(429, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT")]
    assert ask(judge, RATE) == [Rating(value=3, reason="r")]
    assert pauses.seconds == [0.0]


def test_a_server_that_asks_for_an_hour_is_not_waited_for(judge: LlmJudge, server: ChatServer, pauses: Pauses) -> None:
    server.faults = [status(429, "quota", Retry_After="3600")]
    assert "3600 s" in failure(judge)
    assert pauses.seconds == []


def test_a_late_server_is_not_waited_for_longer_than_the_timeout(server: ChatServer, pauses: Pauses) -> None:
    judge = LlmJudge("m", Endpoint(server.url, "k", timeout=0.3, retries=2, sleep=pauses))
    server.faults = [never] * 3
    assert failure(judge) == "no reply within 0.3 s, 3 times"
    assert pauses.seconds == [0.0, 0.0]


NOT_A_COMPLETION = (
    "not json",
    "{}",
    '{"choices": []}',
    '{"choices": null}',
    '{"choices": [{"message": {"content": 3}}]}',
    "[" * 50_000,
)


@pytest.mark.parametrize("body", NOT_A_COMPLETION)
def test_a_response_that_is_no_completion_is_a_failure(judge: LlmJudge, server: ChatServer, body: str) -> None:
    server.faults = [status(200, raw=body, Content_Type="application/json")] * 6
    assert "the server's response" in failure(judge)
    assert len(server.asked) == 6


def test_a_refusal_of_the_model_is_a_failure_in_its_words(judge: LlmJudge, server: ChatServer) -> None:
    body = {"choices": [{"message": {"content": None, "refusal": "I will not."}, "finish_reason": "stop"}]}
    server.faults = [status(200, raw=json.dumps(body))] * 6
    assert failure(judge) == "the model declined to answer: I will not."


@pytest.fixture
def closing() -> Iterator[str]:
    """A server that closes every connection at once."""
    listening, stop = socket.create_server(("127.0.0.1", 0)), threading.Event()
    listening.settimeout(0.05)

    def close_all() -> None:
        while not stop.is_set():
            with contextlib.suppress(TimeoutError):
                listening.accept()[0].close()

    thread = threading.Thread(target=close_all, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    stop.set()
    thread.join(timeout=5)
    listening.close()


def test_closed_connections_are_a_failure(closing: str, pauses: Pauses) -> None:
    endpoint = Endpoint(closing, "k", sleep=pauses, retries=2, jitter=lambda low, _: low)
    assert f"the connection to {endpoint.address} failed: " in failure(LlmJudge("m", endpoint))
    assert pauses.seconds == [0.2, 0.4]


@pytest.mark.parametrize(
    ("code", "why"), [(401, "OPENAI_API_KEY"), (402, "no credit"), (403, "denied"), (404, "no such model")]
)
def test_a_key_or_model_that_cannot_work_stops_everything(
    judge: LlmJudge, server: ChatServer, code: int, why: str
) -> None:
    server.faults = [status(code, "Incorrect API key provided: sk-sec****123, in full sk-secret-key-123")]
    with pytest.raises(JudgeError, match=why) as caught:
        ask(judge, RATE)
    assert "sk-sec" not in str(caught.value)
    assert len(server.asked) == 1


def test_a_key_that_works_again_is_used_again_in_the_same_event_loop(judge: LlmJudge, server: ChatServer) -> None:
    async def twice() -> Sequence[Reply | Failure]:
        with pytest.raises(JudgeError, match="the key is refused"):
            await judge.answer([RATE])
        return await judge.answer([RATE])

    server.faults = [status(401)]
    (reply,) = asyncio.run(twice())
    assert isinstance(reply, Rating)


def test_an_account_without_credit_stops_everything(judge: LlmJudge, server: ChatServer) -> None:
    body = {"error": {"message": "You exceeded your quota", "code": "insufficient_quota", "type": "e", "param": None}}
    server.faults = [status(429, raw=json.dumps(body), Content_Type="application/json")] * 9
    with pytest.raises(JudgeError, match="no credit"):
        ask(judge, *[RATE] * 3)


def test_no_secret_is_in_identity_repr_or_failure(server: ChatServer) -> None:
    address = server.url.replace("http://", "http://me:pass-word@") + "?token=tok-en"
    endpoint = Endpoint(address, "sk-secret-key-123", headers={"X-Key": "header-secret"})
    judge = LlmJudge("m", endpoint)
    server.faults = [status(400, "sk-secret-key-123 header-secret Bearer abcd1efgh")]
    shown = [repr(judge), repr(endpoint), str(judge.__dict__), judge.identity(Rate)]
    shown.append(failure(LlmJudge("m", Endpoint(server.url, "sk-secret-key-123", headers={"X-Key": "header-secret"}))))
    for text in shown:
        assert not any(secret in text for secret in ("secret", "pass-word", "tok-en", "abcd1efgh")), text


def test_the_key_is_sent(judge: LlmJudge, server: ChatServer) -> None:
    ask(judge, RATE)
    assert server.keys == ["Bearer sk-secret-key-123"]


def test_the_first_draw_is_asked_cold_and_later_ones_warm(server: ChatServer, endpoint: Endpoint) -> None:
    judge = LlmJudge("m", endpoint)
    fixed = LlmJudge("m", endpoint, parameters={"temperature": 0.3})
    for asked, draw in ((judge, 0), (judge, 1), (fixed, 0), (fixed, 1)):
        ask(asked, GenerateQuestions(answer="a", n=1, draw=draw))
    assert [request["temperature"] for request in server.asked] == [0.0, 1.0, 0.3, 0.3]


def test_every_call_is_reported_including_repairs(server: ChatServer, endpoint: Endpoint) -> None:
    heard: list[tuple[Task, Exchange]] = []
    judge = LlmJudge("m", endpoint)
    server.faults = [replies("no")]
    asyncio.run(judge.answer([RATE], lambda task, exchange: heard.append((task, exchange))))
    assert [task for task, _ in heard] == [RATE, RATE]
    assert heard[0][1] == Exchange(text="no", prompt_tokens=100, completion_tokens=10)
    assert heard[1][1].text.startswith("{")


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ({"message": {"content": None, "refusal": "I will not."}, "finish_reason": "stop"}, "I will not."),
        ({"message": {"content": "Half of"}, "finish_reason": "content_filter"}, "Half of"),
        ({"message": {"content": None}, "finish_reason": "content_filter"}, ""),
    ],
)
def test_a_declined_call_is_reported_because_it_is_billed(
    judge: LlmJudge, server: ChatServer, choice: dict[str, Any], said: str
) -> None:
    body = {"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 7}}
    server.faults = [status(200, raw=json.dumps(body))]
    heard: list[Exchange] = []
    (reply,) = asyncio.run(judge.answer([RATE], lambda _, exchange: heard.append(exchange)))
    assert isinstance(reply, Failure)
    assert heard == [Exchange(text=said, prompt_tokens=100, completion_tokens=7)]


def test_identity_tells_model_address_parameters_and_prompts(endpoint: Endpoint, tmp_path: Path) -> None:
    (tmp_path / "rate.md").write_text("Rate $quality on $material.", encoding="utf-8")
    other = Endpoint("http://elsewhere/v1", "k")
    judges = (
        LlmJudge("m", endpoint),
        LlmJudge("n", endpoint),
        LlmJudge("m", other),
        LlmJudge("m", endpoint, parameters={"seed": 1}),
        LlmJudge("m", endpoint, prompts=tmp_path),
    )
    assert len({judge.identity(Rate) for judge in judges}) == len(judges)
    assert judges[0].identity(Verify) == judges[4].identity(Verify)
    assert len({judges[0].identity(kind) for kind in judges[0].answers}) == len(judges[0].answers)


def test_ragboards_own_settings_are_not_request_parameters(endpoint: Endpoint) -> None:
    with pytest.raises(SettingError, match="response_format"):
        LlmJudge("m", endpoint, parameters={"response_format": "x"})


def test_a_quality_is_rated_on_what_it_is_about_and_no_more(judge: LlmJudge, server: ChatServer) -> None:
    for quality in ("faithfulness", "answer_relevance", "context_relevance"):
        ask(judge, Rate(quality=quality, question="QQ", answer="AA", contexts=("CC",)))  # type: ignore[arg-type]
    now = [text.split("## Now")[1] for text in texts(server.asked)]
    assert [[part in text for part in ("QQ", "AA", "CC")] for text in now] == [
        [True, True, True],
        [True, True, False],
        [True, False, True],
    ]


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}, (9, 2, 4)),
        ({"prompt_tokens": "9", "completion_tokens": True, "prompt_tokens_details": []}, (None, None, None)),
        ({"prompt_tokens": -1}, (None, None, None)),
        (None, (None, None, None)),
    ],
    ids=["all", "no numbers", "negative", "none"],
)
def test_tokens_are_what_the_server_says_or_not_known(usage: object, expected: tuple[int | None, ...]) -> None:
    heard = make_exchange("said", usage)
    assert (heard.prompt_tokens, heard.completion_tokens, heard.cached_tokens) == expected
