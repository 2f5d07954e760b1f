"""Tests of plans: they count the same calls as the evaluation, and no saved replies."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.chat_server import ChatServer, Fault, chat_server, replies, spoils
from tests.conftest import examples
from tests.core.conftest import PlainJudge, make_run

from ragboard import (
    EmbeddedJudge,
    JudgeOptions,
    Metric,
    Panel,
    Passage,
    Run,
    Sample,
    SettingError,
    Store,
    Turn,
    evaluate_run,
)
from ragboard.evaluation.background import LaunchContext, plan_state
from ragboard.evaluation.identity import Choice
from ragboard.evaluation.plan import LIKELY, WORST, Assumptions, estimate_tokens, plan_run
from ragboard.judges.llm import Endpoint, LlmJudge, OpenAiEmbedder, judge_from
from ragboard.judges.llm.dialogue import read_reply
from ragboard.metrics import metrics_named
from ragboard.prices import Price
from ragboard.tasks import (
    TASKS,
    AssignNuggets,
    BertScore,
    Classify,
    Critique,
    ExtractEntities,
    ExtractStatements,
    GenerateQuestions,
    GradePassages,
    GradeSupport,
    JudgePassages,
    MatchReference,
    Prefer,
    Rate,
    RateAnswer,
    RateTurn,
    ReplySizes,
    RewriteQuestion,
    SelectSentences,
    Similarity,
    Task,
    Verify,
    WeighNuggets,
    WriteAnswer,
    WriteNuggets,
    WriteQuestions,
    reply_or_failure,
)

SUITE = metrics_named(["faithfulness", "ragas.answer_relevance", "ragas.context_relevance", "ragchecker"])
ARES = metrics_named(["ares", "ares.answer_faithfulness(compat=True)"])
PRICES = {"m": Price(prompt=1.0, completion=10.0), "e": Price(prompt=0.5)}

EXAMPLES: tuple[Task, ...] = (
    ExtractStatements(question="q", text="Tea is hot. Ice is not."),
    Verify(question="q", statements=("a", "b"), passages=("Tea is hot.", "Ice."), joint=True, single=True),
    Verify(question="q", statements=("a",), passages=("Tea is hot.",), joint=True, single=False),
    Verify(question="q", statements=("a",), passages=("Tea", "Ice"), joint=False, single=True),
    WriteNuggets(question="q", passages=("Tea is hot.",), nuggets=("Ice is cold",)),
    WeighNuggets(question="q", nuggets=("Ice is cold", "Tea is hot")),
    AssignNuggets(question="q", answer="Tea.", nuggets=("Ice is cold", "Tea is hot")),
    GenerateQuestions(answer="Tea.", n=3),
    SelectSentences(question="q", sentences=("Tea.", "Ice.")),
    Similarity(text="a", others=("b", "c")),
    BertScore(text="a", others=("b", "c")),
    Critique(question="q", answer="a", contexts=(), definition="Is it rude?"),
    Rate(quality="faithfulness", question="q", answer="a", contexts=("p",)),
    Prefer(quality="faithfulness", question="q", a="x", b="y", contexts=()),
    JudgePassages(question="q", answer="a", passages=("p", "r")),
    GradePassages(question="q", passages=("p", "r")),
    ExtractEntities(text="Ines Dahl built it in 1871."),
    RateAnswer(question="q", answer="a"),
    WriteQuestions(passage="Ada built it in 1871.", n=2),
    WriteAnswer(question="q", passage="p", kind="grounded"),
    Classify(quality="answer_faithfulness", question="q", contexts=("p",), answer="a"),
    GradeSupport(sentence="Tea is hot.", passage="p"),
    MatchReference(question="q", reference="Tea.", answer="a"),
    RateTurn(question="q", contexts=("p",), reference="Tea.", answer="a"),
    RewriteQuestion(question="And ice?", history=(Turn(role="user", text="Is tea hot?"),)),
)


@pytest.fixture(scope="module")
def running() -> Iterator[ChatServer]:
    with chat_server() as server:
        yield server


@pytest.fixture
def server(running: ChatServer) -> ChatServer:
    for memory in (running.asked, running.faults, running.rules):
        memory.clear()
    return running


async def no_pause(_: float) -> None:
    return None


def panel(server: ChatServer, examples: Path | None = None) -> Panel:
    endpoint = Endpoint(server.url, "key", sleep=no_pause)
    return Panel(judge=LlmJudge("m", endpoint, examples=examples), roles={"embed": OpenAiEmbedder("e", endpoint)})


def samples(count: int) -> Run:
    """Samples with references, no two alike, in which the embedded judge and the server find the same sentences."""
    made = tuple(
        Sample(
            id=str(number),
            question=f"What is tower {number}?",
            answer=f"The tower {number} is red. It opened in the year {number}.",
            reference=f"The tower {number} is red. It stands by the sea.",
            contexts=tuple(
                Passage(id=str(rank), text=f"The tower {number} is red and has {rank} doors.", rank=rank)
                for rank in (1, 2)
            ),
        )
        for number in range(count)
    )
    return Run(name="towers", samples=made)


def kept(store: Store, run: Run) -> str:
    return store.add_runs([run])[0].id


def calls(server: ChatServer) -> tuple[int, int]:
    chat = sum("messages" in asked for asked in server.asked)
    return chat, len(server.asked) - chat


def sent_tokens(server: ChatServer) -> int:
    texts = [[line["content"] for line in asked["messages"]] for asked in server.asked if "messages" in asked]
    return sum(len("".join(lines)) // 4 for lines in texts)


@pytest.mark.parametrize("metrics", [SUITE, ARES, *[(metric,) for metric in SUITE]], ids=lambda found: found[0].spec)
def test_the_calls_planned_are_the_calls_made(store: Store, server: ChatServer, metrics: tuple[Metric, ...]) -> None:
    run_id = kept(store, samples(3))
    planned = plan_run(store, run_id, metrics, panel(server)).total
    assert server.asked == []
    done = evaluate_run(store, run_id, metrics, panel(server))
    assert (planned.expected.chat_calls, planned.expected.embedding_calls) == calls(server)
    assert planned.tasks == done.asked


def test_tokens_planned_are_near_those_sent(store: Store, server: ChatServer) -> None:
    run_id = kept(store, samples(3))
    planned = plan_run(store, run_id, SUITE, panel(server)).models[0]
    evaluate_run(store, run_id, SUITE, panel(server))
    assert planned.model == "m"
    prompts = plan_run(store, run_id, SUITE, panel(server), ignore_stored=True).total.expected.prompt_tokens
    assert prompts == pytest.approx(sent_tokens(server), rel=0.05)


def test_a_persons_examples_are_planned_with_every_call_that_shows_them(
    store: Store, server: ChatServer, tmp_path: Path
) -> None:
    few = tmp_path / "few.tsv"
    few.write_text(f"Query\tDocument\tContext_Relevance_Label\nWhat?\t{'word ' * 400}\tNo\n", encoding="utf-8")
    run_id = kept(store, samples(3))
    without, shown = (
        plan_run(store, run_id, ARES, panel(server, examples)).total.expected.prompt_tokens for examples in (None, few)
    )
    evaluate_run(store, run_id, ARES, panel(server, few))
    assert shown == pytest.approx(sent_tokens(server), rel=0.05)
    assert 3 * 500 < shown - without < 3 * 550


def test_samples_that_ask_the_same_are_planned_once(store: Store, server: ChatServer) -> None:
    run_id = kept(store, make_run(samples=3))
    planned = plan_run(store, run_id, metrics_named(["ragas.answer_relevance"]), panel(server)).total.expected
    evaluate_run(store, run_id, metrics_named(["ragas.answer_relevance"]), panel(server))
    assert (planned.chat_calls, planned.embedding_calls) == calls(server) == (1, 3)


def test_all_metrics_together_need_fewer_calls_than_the_sum(store: Store, server: ChatServer) -> None:
    plan = plan_run(store, kept(store, samples(2)), SUITE, panel(server))
    alone = [planned.expected.chat_calls for planned in plan.metrics.values()]
    assert max(alone) < plan.total.expected.chat_calls < sum(alone)


def test_what_is_answered_is_not_planned_again(store: Store, server: ChatServer) -> None:
    run_id = kept(store, samples(3))
    evaluate_run(store, run_id, metrics_named(["ragas.faithfulness"]), panel(server))
    again = plan_run(store, run_id, metrics_named(["ragas.faithfulness"]), panel(server)).total
    assert (again.tasks, again.answered, again.expected.chat_calls, again.worst.chat_calls) == (0, 6, 0, 0)
    more = plan_run(store, run_id, SUITE, panel(server)).total
    server.asked.clear()
    evaluate_run(store, run_id, SUITE, panel(server))
    assert (more.expected.chat_calls, more.expected.embedding_calls) == calls(server)
    without_stored = plan_run(store, run_id, SUITE, panel(server), ignore_stored=True).total
    assert without_stored.expected.chat_calls > more.expected.chat_calls


def test_a_plan_reads_only_the_journal_lines_of_the_samples_it_simulates(store: Store, server: ChatServer) -> None:
    run_id, metrics = kept(store, samples(5)), metrics_named(["ragas.faithfulness"])
    evaluate_run(store, run_id, metrics, panel(server))
    (journal,) = (store.folder / "journals").glob("*.jsonl")
    one = Assumptions(samples=1)
    whole = plan_run(store, run_id, metrics, panel(server), one)
    assert (whole.total.tasks, whole.total.answered) == (0, 10)
    (drawn,) = random.Random(one.seed).sample(range(5), 1)
    lines = journal.read_bytes().splitlines(keepends=True)
    damaged = [line if json.loads(line)["sample"] == str(drawn) else b"x" * (len(line) - 1) + b"\n" for line in lines]
    assert sum(old == new for old, new in zip(lines, damaged, strict=True)) == 2
    journal.write_bytes(b"".join(damaged))
    assert plan_run(store, run_id, metrics, panel(server), one) == whole


def test_a_failed_task_is_not_asked_again_and_not_planned_again(store: Store, server: ChatServer) -> None:
    run_id, metrics = kept(store, samples(1)), metrics_named(["ragas.faithfulness"])
    server.faults = [replies("no")] * 3
    evaluate_run(store, run_id, metrics, panel(server))
    planned = plan_run(store, run_id, metrics, panel(server)).total
    assert (planned.tasks, planned.answered) == (0, 1)
    assert evaluate_run(store, run_id, metrics, panel(server)).asked == 0


def test_what_another_evaluation_paid_for_is_not_planned(store: Store, server: ChatServer) -> None:
    run_id, metrics = kept(store, samples(2)), metrics_named(["ragas.faithfulness"])
    evaluate_run(store, kept(store, replace(samples(2), name="other")), metrics, Panel(judge=panel(server).judge))
    server.asked.clear()
    shared = plan_run(store, run_id, SUITE, panel(server)).total
    own = plan_run(store, run_id, SUITE, panel(server), cache=False).total
    assert shared.answered > 0 == own.answered
    evaluate_run(store, run_id, SUITE, panel(server))
    assert (shared.expected.chat_calls, shared.expected.embedding_calls) == calls(server)
    assert own.expected.chat_calls > shared.expected.chat_calls


BAD: tuple[Fault, ...] = (
    replies("no"),
    replies('{"verdicts": [], "statements": [{}], "chosen": [99], "questions": [""]}'),
    spoils(lambda good: good[: len(good) // 2], "length"),
    spoils(lambda good: good.replace("supported", "perhaps").replace("refuses", "refused")),
    spoils(lambda good: good),
)


@examples(20)
@given(faults=st.lists(st.sampled_from(range(len(BAD))), max_size=30))
def test_no_reply_costs_more_than_at_worst(tmp_path_factory: pytest.TempPathFactory, faults: list[int]) -> None:
    store = Store(tmp_path_factory.mktemp("store"))
    run_id = kept(store, samples(1))
    with chat_server() as server:
        server.faults = [BAD[fault] for fault in faults]
        judges = Panel(judge=panel(server).judge, roles={"embed": EmbeddedJudge()})
        worst = plan_run(store, run_id, SUITE, judges).total.worst
        done = evaluate_run(store, run_id, SUITE, judges)
    assert sum(spend.calls for spend in done.spent) == len(server.asked) <= worst.chat_calls
    assert sent_tokens(server) <= worst.prompt_tokens


@pytest.mark.parametrize("spec", ["alce.citation_recall", "alce.citation_precision(compat=True)"])
def test_at_worst_a_plan_has_the_questions_that_depend_on_verdicts(store: Store, server: ChatServer, spec: str) -> None:
    passages = tuple(Passage(id=f"p{rank}", text=f"It is {word}.", rank=rank) for rank, word in enumerate("abc", 1))
    answer = "It is a and b [1][2]. It is c and a [3][1]."
    run = Run(name="cited", samples=(Sample(id="s", question="What?", answer=answer, contexts=passages),))
    run_id, metrics = store.add_runs([run])[0].id, metrics_named([spec])
    assumed = Assumptions(worst=replace(WORST, repairs=0))
    plan = plan_run(store, run_id, metrics, panel(server), assumed).total
    evaluate_run(store, run_id, metrics, panel(server))
    assert plan.expected.chat_calls <= plan.worst.chat_calls
    assert calls(server)[0] <= plan.worst.chat_calls


def test_every_reply_unusable_takes_the_calls_of_the_worst_case(store: Store, server: ChatServer) -> None:
    metrics = metrics_named(["ragas.context_relevance"])
    run_id = kept(store, samples(2))
    worst = plan_run(store, run_id, metrics, panel(server)).total.worst
    server.faults = [replies("no")] * 6
    evaluate_run(store, run_id, metrics, panel(server))
    assert calls(server) == (worst.chat_calls, 0) == (6, 0)


def test_a_large_run_is_reckoned_from_some_of_its_samples(store: Store, server: ChatServer) -> None:
    run_id = kept(store, samples(40))
    whole = plan_run(store, run_id, SUITE, panel(server), prices=PRICES)
    part = plan_run(store, run_id, SUITE, panel(server), Assumptions(samples=10), prices=PRICES)
    assert (whole.looked_at, part.looked_at, part.samples) == (40, 10, 40)
    assert part.total.expected.chat_calls == whole.total.expected.chat_calls
    assert part.total.expected.prompt_tokens == pytest.approx(whole.total.expected.prompt_tokens, rel=0.01)
    assert part.total.expected.cost == pytest.approx(whole.total.expected.cost, rel=0.01)
    assert part == plan_run(store, run_id, SUITE, panel(server), Assumptions(samples=10), prices=PRICES)


def test_judges_without_a_server_cost_nothing_and_are_named(store: Store) -> None:
    plan = plan_run(store, kept(store, samples(2)), SUITE, Panel(judge=EmbeddedJudge()), prices={})
    assert plan.total.tasks > 0
    assert (plan.total.expected.chat_calls, plan.total.expected.cost, plan.total.worst.cost) == (0, 0, 0)
    assert (plan.local_judges, plan.unpriced, plan.models) == (("embedded",), (), ())


def test_a_model_without_a_price_has_no_cost_rather_than_none_to_pay(store: Store, server: ChatServer) -> None:
    run_id = kept(store, samples(2))
    plan = plan_run(store, run_id, SUITE, panel(server), prices={"e": Price(prompt=1)})
    assert plan.total.expected.cost is None
    assert plan.unpriced == ("m",)
    free = plan_run(store, run_id, SUITE, panel(server), prices={"e": Price(prompt=0), "m": Price(prompt=0)})
    assert free.total.expected.cost == 0


def test_a_cost_is_tokens_by_price(store: Store, server: ChatServer) -> None:
    metrics = metrics_named(["ragas.context_relevance"])
    use = plan_run(store, kept(store, samples(2)), metrics, panel(server), prices=PRICES).total.expected
    assert use.cost == pytest.approx((use.prompt_tokens * 1 + use.completion_tokens * 10) / 1e6)


def test_an_own_function_is_planned_under_its_name(store: Store) -> None:
    judge = judge_from(lambda prompts: prompts, version="1", name="mine")
    metrics = metrics_named(["ragas.faithfulness"])
    plan = plan_run(store, kept(store, samples(2)), metrics, Panel(judge=judge))
    assert (plan.total.expected.chat_calls, plan.unpriced) == (4, ("mine",))


def test_more_statements_make_more_tokens_and_the_same_calls(store: Store, server: ChatServer) -> None:
    run_id = kept(store, samples(2))
    few, many = (
        plan_run(
            store,
            run_id,
            SUITE,
            panel(server),
            Assumptions(expected=ReplySizes(statements=count, reference_statements=count)),
        ).total.expected
        for count in (1, 12)
    )
    assert few.chat_calls == many.chat_calls
    assert few.completion_tokens < many.completion_tokens


@pytest.mark.parametrize(
    "given", [{"samples": 0}, {"characters_per_token": 0.0}, {"expected": ReplySizes(statements=0)}], ids=str
)
def test_assumptions_that_cannot_be_are_rejected(given: dict[str, object]) -> None:
    with pytest.raises(SettingError):
        Assumptions(**given)  # type: ignore[arg-type]


def test_a_judge_of_unknown_kind_is_not_asked(store: Store) -> None:
    judge = PlainJudge()
    plan_run(store, kept(store, samples(2)), SUITE, Panel(judge=judge))
    assert judge.asked == []


@pytest.mark.parametrize("sizes", [LIKELY, WORST], ids=["likely", "worst"])
@pytest.mark.parametrize("task", EXAMPLES, ids=lambda task: type(task).__name__)
def test_a_simulated_reply_fits_and_is_one_that_a_model_could_give(task: Task, sizes: ReplySizes) -> None:
    reply, text = task.simulate(sizes)
    assert reply_or_failure(task, reply) is reply
    if task.prompts:
        assert type(read_reply(task, text)) is type(reply)


def test_every_task_type_has_a_simulated_reply() -> None:
    assert {type(task) for task in EXAMPLES} == {*TASKS}


@pytest.mark.parametrize(
    ("count", "expected"), [(None, 2), (1, 1), (5, 5)], ids=["as in the text", "one", "more than it has"]
)
def test_a_text_gets_as_many_statements_as_assumed(count: int | None, expected: int) -> None:
    reply, _ = ExtractStatements(question="q", text="Tea is hot. Ice is cold.").simulate(
        replace(LIKELY, statements=count)
    )
    assert len(reply.statements) == expected


def test_at_worst_a_text_has_as_many_statements_as_it_shows() -> None:
    text = " ".join(f"The tower {number} is red." for number in range(40))
    reply, _ = ExtractStatements(question="q", text=text).simulate(WORST)
    assert len(reply.statements) == 40


@pytest.mark.parametrize(
    ("text", "expected"), [("", 0), ("abcdefgh", 2), ("日本語", 2), ("日本語ab", 2.5), ("é" * 4, 1)]
)
def test_tokens_are_reckoned_from_characters(text: str, expected: float) -> None:
    assert estimate_tokens(text, 4, 1.5) == expected


def test_a_plan_can_be_made_while_the_evaluation_runs(store: Store, server: ChatServer) -> None:
    """Reading the journal takes no lock and cuts nothing off."""
    run_id = kept(store, samples(1))
    done = evaluate_run(store, run_id, SUITE[:1], panel(server))
    path = store.journal_path(done.evaluation.id)
    torn = path.read_bytes() + b'{"key": "ab'
    path.write_bytes(torn)
    assert plan_run(store, run_id, SUITE[:1], panel(server)).total.tasks == 0
    assert path.read_bytes() == torn


@pytest.mark.parametrize("name", ["journals/e.json", "journals/e.jsonl", "answers.sqlite", "answers.sqlite-wal"])
def test_the_state_of_a_plan_changes_with_the_replies_in_files(store: Store, name: str) -> None:
    choice, file = Choice(metrics=("faithfulness",)), store.folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    states = [plan_state(store, choice, LaunchContext())]
    for text in ("", "a", "aa", None):
        file.unlink() if text is None else file.write_text(text, encoding="utf-8")
        states.append(plan_state(store, choice, LaunchContext()))
    assert states[0] == states[1] == states[4]
    assert len(set(states)) == 3


def test_the_state_of_a_plan_changes_with_prices_and_plugins_and_not_with_progress(
    store: Store, tmp_path: Path
) -> None:
    prices, plugin = tmp_path / "prices.toml", tmp_path / "mine.py"
    choice, context = Choice(metrics=("faithfulness",)), LaunchContext(prices=prices, plugins=(plugin,))
    states = [plan_state(store, choice, context)]
    for file in (prices, plugin):
        file.write_text("x = 1\n", encoding="utf-8")
        states.append(plan_state(store, choice, context))
    assert len(set(states)) == 3
    status = store.journal_path("e").with_suffix(".status.json")
    status.parent.mkdir(parents=True, exist_ok=True)
    status.write_text("{}", encoding="utf-8")
    assert plan_state(store, choice, context) == states[-1]


@pytest.mark.parametrize(
    ("judge_options", "changes"),
    [
        (JudgeOptions(embed="embedded"), False),
        (JudgeOptions(judge="openai:m", verify="embedded", embed="openai:e"), False),
        (JudgeOptions(judge="openai:m", prompts=Path("prompts")), True),
        (JudgeOptions(judge="openai:m", examples=Path("examples.tsv")), True),
        (JudgeOptions(judge="replay:replies.jsonl"), True),
        (JudgeOptions(verify="local:minicheck"), True),
        (JudgeOptions(embed="st:encoder"), True),
    ],
)
def test_the_state_of_a_plan_changes_with_the_database_if_a_judge_reads_files(
    store: Store, judge_options: JudgeOptions, *, changes: bool
) -> None:
    choice = Choice(metrics=("faithfulness",), judge_options=judge_options)
    before = plan_state(store, choice, LaunchContext())
    store.add_runs([make_run()])
    assert (plan_state(store, choice, LaunchContext()) != before) == changes
