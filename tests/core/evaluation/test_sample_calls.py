"""Tests of listing a sample's tasks: prompt, raw replies, result, tokens and cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.chat_server import ChatServer, chat_server, replies
from tests.core.conftest import PlainJudge, make_run, make_sample

from ragboard import DEFAULT_METRICS, EmbeddedJudge, NotFoundError, Panel, Run, Store, evaluate_run
from ragboard.evaluation.calls import SampleCalls, sample_calls
from ragboard.evaluation.options import EvaluationOptions
from ragboard.judges import JudgeOptions
from ragboard.judges.llm import Endpoint, LlmJudge, OpenAiEmbedder
from ragboard.judges.llm.prompts import Prompts
from ragboard.metrics import metrics_named
from ragboard.prices import Price

FAITHFULNESS = metrics_named(["ragas.faithfulness"])
PRICES = {"m": Price(prompt=1.0, completion=10.0), "e": Price(prompt=0.5)}


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


def panel(server: ChatServer, prompts: Path | None = None, examples: Path | None = None) -> Panel:
    endpoint = Endpoint(server.url, "key")
    judge = LlmJudge("m", endpoint, prompts=prompts, examples=examples)
    return Panel(judge=judge, roles={"embed": OpenAiEmbedder("e", endpoint)})


def found(store: Store, run: str = "run", sample: str = "s0") -> SampleCalls:
    return sample_calls(store, store.resolve(run), sample)


def test_messages_are_shown_as_sent_and_received(store: Store, server: ChatServer) -> None:
    run_id = store.add_runs([make_run(samples=1)])[0].id
    server.faults = [replies("no object at all")]
    evaluate_run(store, run_id, DEFAULT_METRICS, panel(server), EvaluationOptions(prices=PRICES))
    calls = found(store)
    sent = [asked["messages"] for asked in server.asked if "messages" in asked]
    shown = [[message.text for message in one.messages if message.role == "prompt"] for one in calls.tasks]
    assert sorted(message["content"] for asked in sent for message in asked if message["role"] == "user") == sorted(
        text for prompts in shown for place, text in enumerate(prompts) for _ in range(len(prompts) - place)
    )
    (repaired,) = [one for one in calls.tasks if one.repairs]
    assert [message.role for message in repaired.messages] == ["prompt", "reply", "prompt", "reply"]
    assert repaired.messages[1].text == "no object at all"
    assert (repaired.calls, repaired.repairs, repaired.failed) == (2, 1, False)
    assert calls.missing == ""


def test_tokens_and_dollars_of_the_sample_are_those_the_server_counted(store: Store, server: ChatServer) -> None:
    run_id = store.add_runs([make_run(samples=1)])[0].id
    done = evaluate_run(store, run_id, DEFAULT_METRICS, panel(server), EvaluationOptions(prices=PRICES))
    calls = found(store)
    assert sum(one.calls for one in calls.sent) == sum(spend.calls for spend in done.spent)
    asked = [one for one in calls.tasks if one.judge == "openai:m"]
    (chat,) = [spend for spend in done.spent if spend.model == "m"]
    assert sum(one.prompt_tokens for one in asked) == chat.prompt_tokens
    assert sum(one.cost or 0 for one in asked) == pytest.approx(chat.cost)
    assert {one.judge for one in calls.tasks} == {"openai:m", "openai:e"}
    embedding = next(one for one in calls.tasks if one.judge == "openai:e")
    assert embedding.messages == ()
    assert "embedding model" in embedding.no_prompt
    assert embedding.uncounted == 1, "the server does not say what embeddings took"
    assert str(calls) == "5 tasks, 5 calls to models, 440 tokens (unknown for 1), cost unknown"


@pytest.mark.parametrize("model", ["llama3:8b", "ft:gpt-4o-mini:org::id"])
def test_a_model_with_a_colon_in_its_name_is_named_and_priced(store: Store, server: ChatServer, model: str) -> None:
    run_id = store.add_runs([make_run(samples=1)])[0].id
    judge = LlmJudge(model, Endpoint(server.url, "key"))
    done = evaluate_run(store, run_id, FAITHFULNESS, Panel(judge=judge), EvaluationOptions(prices={model: PRICES["m"]}))
    assert {one.judge for one in found(store).tasks} == {f"openai:{model}"}
    assert found(store).cost == pytest.approx(done.spent[0].cost)


def test_the_cost_stays_at_the_prices_that_were_used(store: Store, server: ChatServer) -> None:
    run_id = store.add_runs([make_run(samples=1)])[0].id
    evaluate_run(store, run_id, FAITHFULNESS, panel(server), EvaluationOptions(prices={}))
    assert found(store).cost is None
    evaluate_run(store, run_id, FAITHFULNESS, panel(server), EvaluationOptions(prices=PRICES))
    assert found(store).cost == pytest.approx(2 * (100 * 1 + 10 * 10) / 1e6)


def test_a_task_that_another_sample_paid_for_is_shown_and_not_counted_twice(store: Store, server: ChatServer) -> None:
    same = [replace(make_sample(0), id=name) for name in ("first", "second")]
    run_id = store.add_runs([Run(name="run", samples=tuple(same))])[0].id
    evaluate_run(store, run_id, FAITHFULNESS, panel(server), EvaluationOptions(prices=PRICES))
    origins = [{one.origin for one in found(store, sample=sample.id).tasks} for sample in same]
    assert origins == [{"asked"}, {"shared"}]
    assert found(store, sample="second").cost == 0
    assert found(store, sample="second").tasks[0].messages == found(store, sample="first").tasks[0].messages


def test_an_answer_from_the_cache_has_its_prompt_and_no_raw_reply(store: Store, server: ChatServer) -> None:
    for name in ("run", "again"):
        run_id = store.add_runs([make_run(name, samples=1)])[0].id
        evaluate_run(store, run_id, FAITHFULNESS, panel(server), EvaluationOptions(prices=PRICES))
    calls = found(store, "again")
    assert {one.origin for one in calls.tasks} == {"elsewhere"}
    assert [[message.role for message in one.messages] for one in calls.tasks] == [["prompt"], ["prompt"]]
    assert str(calls) == "2 tasks, answered without calling a model"


def test_other_prompts_than_those_that_were_used_are_not_shown(
    store: Store, server: ChatServer, tmp_path: Path
) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    own = folder / "extract_statements.md"
    packaged = Prompts.read().texts["extract_statements"]
    own.write_text(f"{packaged}\nMine.", encoding="utf-8")
    run_id = store.add_runs([make_run(samples=1)])[0].id
    judge_options = JudgeOptions(judge="openai:m", prompts=folder)
    evaluate_run(store, run_id, FAITHFULNESS, panel(server, folder), EvaluationOptions(judge_options=judge_options))
    assert found(store).tasks[0].messages[0].text.endswith("Mine.")
    own.write_text(f"{packaged}\nChanged.", encoding="utf-8")
    changed = found(store).tasks[0]
    assert [message.role for message in changed.messages] == ["reply"]
    assert "have changed since the evaluation" in changed.no_prompt
    own.unlink()
    assert "cannot be read" in found(store).tasks[0].no_prompt


def test_a_verdict_on_a_quality_is_shown_with_the_examples_that_were_sent(
    store: Store, server: ChatServer, tmp_path: Path
) -> None:
    few = tmp_path / "few.tsv"
    few.write_text("Query\tDocument\tAnswer\tAnswer_Relevance_Label\nWho?\tAda.\tAda did.\tYes\n", encoding="utf-8")
    run_id = store.add_runs([make_run(samples=1)])[0].id
    judge_options = JudgeOptions(judge="openai:m", examples=few)
    metrics = metrics_named(["ares.answer_relevance"])
    evaluate_run(store, run_id, metrics, panel(server, examples=few), EvaluationOptions(judge_options=judge_options))
    (call,) = found(store).tasks
    assert (call.task, call.outcome) == ("Decide whether answer relevance holds", "no: r")
    (sent,) = server.asked
    assert call.messages[0].text == sent["messages"][0]["content"]
    assert "Ada did." in call.messages[0].text
    few.unlink()
    assert "few.tsv" in found(store).tasks[0].no_prompt


def test_a_failure_gives_the_reason_for_every_reply(store: Store, server: ChatServer) -> None:
    run_id = store.add_runs([make_run(samples=1)])[0].id
    server.faults = [replies("no")] * 3
    evaluate_run(store, run_id, FAITHFULNESS, panel(server))
    (failed,) = found(store).tasks
    assert failed.failed
    assert "still invalid after 2 repair requests" in failed.outcome
    assert [message.text for message in failed.messages if message.role == "reply"] == ["no"] * 3


def test_a_judge_without_prompts_says_by_which_rules_it_answered(store: Store) -> None:
    run_id = store.add_runs([make_run(samples=1)])[0].id
    evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=EmbeddedJudge()))
    calls = found(store)
    assert {(one.judge, one.origin, one.messages) for one in calls.tasks} == {("embedded", "nobody", ())}
    assert all("rules" in one.no_prompt for one in calls.tasks)
    assert [one.task for one in calls.tasks if "statement" in one.task] == [
        "Split the answer into statements",
        "Check 2 statements against 2 passages, together",
    ]


def test_tasks_of_an_unavailable_metric_are_reported(store: Store) -> None:
    run_id = store.add_runs([make_run(samples=1)])[0].id
    evaluate_run(store, run_id, FAITHFULNESS, Panel(judge=PlainJudge()))
    calls = sample_calls(store, store.resolve("run"), "s0", known={})
    assert all("not installed here" in one.task for one in calls.tasks)


def test_what_cannot_be_shown_is_reported(store: Store) -> None:
    run_id = store.add_runs([make_run(samples=2)])[0].id
    assert found(store).missing == "this run has not been evaluated yet"
    evaluate_run(store, run_id, FAITHFULNESS, Panel(judge=PlainJudge()), EvaluationOptions(sample=1))
    covered = store.covered(store.resolve("run").evaluation_id or "")
    left = next(n for n in (0, 1) if n not in covered)
    assert found(store, sample=f"s{left}").missing == "this evaluation does not cover this sample"
    journal = store.journal_path(store.resolve("run").evaluation_id or "")
    journal.write_text("{}\n", encoding="utf-8")
    assert "no answer begins at byte" in found(store, sample=f"s{1 - left}").missing
    journal.unlink()
    assert "cannot be read" in found(store, sample=f"s{1 - left}").missing
    with pytest.raises(NotFoundError, match="no sample 'x'"):
        found(store, sample="x")
