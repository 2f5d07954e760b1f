"""Tests of predicting which metrics can be scored: the prediction agrees with the evaluation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragboard import METRICS, EmbeddedJudge, Nugget, Panel, Passage, Run, Sample, Store, Turn, plan_run
from ragboard.evaluation.background import destination, planning_panel
from ragboard.evaluation.offers import (
    count_contents,
    duration_in_words,
    expected_seconds,
    make_offer,
    run_contents,
    unscorable,
    unscorable_message,
)
from ragboard.evaluation.plan import plan_in_words, plan_samples
from ragboard.judges import JudgeOptions
from ragboard.metrics import metrics_named

EMBEDDED = Panel(judge=EmbeddedJudge())
WHOLE = Sample(
    id="a",
    question="When did it open?",
    answer="It opened in 2000. It is red.",
    contexts=(Passage(id="p1", text="It opened in 2000.", rank=1), Passage(id="p2", text="It is red.", rank=2)),
    reference="In 2000.",
    reference_contexts=("It opened in 2000.",),
    history=(Turn(role="user", text="Which bridge?"),),
    nuggets=(Nugget(text="It opened in 2000", importance="vital"),),
)
BARE = Sample(id="b", question="Who?")


def chat() -> Panel:
    return planning_panel(JudgeOptions(judge="openai:gpt-4o-mini", embed="embedded"))


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        ([], "0 questions and nothing else"),
        ([BARE], "1 question and nothing else"),
        ([WHOLE], "1 question with answers, 2 passages each, references, gold passages and earlier turns"),
        (
            [replace(WHOLE, reference_contexts=None, history=())],
            "1 question with answers, 2 passages each and references",
        ),
        ([replace(BARE, answer="x"), replace(BARE, question="Why?")], "2 questions with answers (for 1)"),
        ([replace(BARE, answer="x"), BARE], "2 rows about 1 question, with answers (for 1)"),
        (
            [replace(BARE, answer="x"), replace(BARE, answer="y", contexts=WHOLE.contexts)],
            "2 answers to 1 question, with 2 passages each (for 1)",
        ),
        ([BARE, replace(BARE, history=WHOLE.history)], "2 questions with earlier turns (for 1)"),
    ],
)
def test_what_samples_have_is_reported_in_words(samples: list[Sample], words: str) -> None:
    assert str(count_contents(samples)) == words


ids = st.none() | st.lists(st.sampled_from(["p1", "p 2", " p3 ", "", "\tp4", 5, True, 1.5, None, "p2#1"]), max_size=3)
passage_ids = st.none() | st.lists(st.sampled_from(["1", "2", "p1"]), max_size=2)


@st.composite
def stored_samples(draw: st.DrawFn) -> tuple[Sample, ...]:
    """Draw samples with any of the parts that `Contents` counts."""
    samples: list[Sample] = []
    for number in range(draw(st.integers(1, 4))):
        retrieved = draw(passage_ids)
        metadata = {
            name: draw(ids)
            for name in draw(
                st.sets(st.sampled_from(["reference_context_ids", "retrieved_context_ids", "documents", "topic"]))
            )
        }
        samples.append(
            Sample(
                id=str(number),
                question=draw(st.sampled_from(["When?", "Who?"])),
                answer=draw(st.sampled_from([None, "", "It opened."])),
                contexts=None
                if retrieved is None
                else tuple(Passage(id=name, text="It.", rank=rank) for rank, name in enumerate(retrieved, 1)),
                reference=draw(st.sampled_from([None, "", "In 2000.", "In 1999."])),
                reference_contexts=draw(st.sampled_from([None, (), ("It opened.",)])),
                history=draw(st.sampled_from([(), WHOLE.history])),
                nuggets=draw(st.sampled_from([None, None, (), WHOLE.nuggets])),
                metadata=metadata | {"nested": {"documents": ["p1"]}},
            )
        )
    return tuple(samples)


@settings(max_examples=60, deadline=None)
@given(runs=st.lists(stored_samples(), min_size=1, max_size=2))
def test_the_contents_of_a_stored_run_are_those_of_its_samples(runs: list[tuple[Sample, ...]]) -> None:
    with TemporaryDirectory() as folder:
        store = Store(Path(folder))
        stored = store.add_runs([Run(name=f"run{n}", samples=one, dataset="d") for n, one in enumerate(runs)])
        for run in stored:
            counted = count_contents(sample for _, sample in store.samples(run.id))
            contents = run_contents(store, run.id)
            assert replace(contents, examples=()) == replace(counted, examples=())
            assert len(contents.examples) == len(counted.examples)


def test_a_metric_that_nothing_can_be_scored_by_says_what_it_needs() -> None:
    refused = unscorable(
        METRICS.values(), count_contents([replace(WHOLE, reference=None, reference_contexts=None)]), EMBEDDED
    )
    assert refused["ragas.context_recall"] == "needs a reference: the file has none"
    assert refused["ragas.coherence"] == "needs a chat model"
    assert refused["retrieval.recall"] == "needs gold passages: the file has none"
    assert not {"ragas.faithfulness", "ares.answer_relevance", "overlap.context_overlap"} & refused.keys()
    with_chat_model = unscorable(METRICS.values(), count_contents([WHOLE]), chat())
    assert with_chat_model == {"mtrag.overlap": "needs a local model for BERTScore: --embed bertscore"}


def test_gold_passages_by_id_need_ids_of_those_retrieved() -> None:
    sample = replace(WHOLE, reference_contexts=None, metadata={"reference_context_ids": ["p1"]})
    assert "retrieval.recall" not in unscorable(METRICS.values(), count_contents([sample]), EMBEDDED)
    places = (Passage(id="1", text="It opened in 2000.", rank=1),)
    refused = unscorable(METRICS.values(), count_contents([replace(sample, contexts=places)]), EMBEDDED)
    assert (
        refused["retrieval.recall"] == "needs ids of the retrieved passages: the file has only ids of the gold passages"
    )


def test_what_is_rejected_is_reported_with_what_to_do() -> None:
    one, two, three = metrics_named(["coherence", "conciseness", "faithfulness"])
    refused = unscorable(METRICS.values(), count_contents([WHOLE]), EMBEDDED)
    assert unscorable_message([three], refused) == ""
    assert unscorable_message([three, one], refused).startswith("Coherence needs a chat model. Remove it,")
    assert unscorable_message([one, two, three], refused).startswith(
        "Coherence needs a chat model, and 1 other metric cannot be scored either."
    )


def test_an_offer_holds_what_can_be_scored_and_no_invented_time() -> None:
    offer = make_offer([WHOLE], EMBEDDED)
    assert offer is not None
    assert offer.names == "Faithfulness, Answer relevance, Context relevance and Answer recall", "it has a reference"
    assert offer.seconds is not None
    assert offer.cost.startswith("no calls to models, no cost, about ")
    by_model = make_offer([replace(WHOLE, contexts=None)], chat(), {})
    assert by_model is not None
    assert (by_model.names, by_model.seconds) == ("Answer relevance and Answer recall", None)
    assert by_model.cost.endswith("cost unknown (no price for gpt-4o-mini)")
    assert make_offer([BARE], EMBEDDED) is None
    assert expected_seconds(count_contents([]), metrics_named(["f1"]), EMBEDDED) is None
    assert [duration_in_words(seconds) for seconds in (None, 6.0, 119.0, 7200.0)] == [
        "",
        "about 10 s",
        "about 2 min",
        "about 2.0 h",
    ]


def test_samples_in_no_store_are_planned_as_those_of_a_run(store: Store) -> None:
    samples = [replace(WHOLE, id=str(number), answer=f"It opened in {number}.") for number in range(7)]
    metrics = metrics_named(["faithfulness", "ragchecker"])
    (kept,) = store.add_runs([Run(name="run", samples=tuple(samples))])
    plan = plan_samples(samples, metrics, chat())
    assert plan == plan_run(store, kept.id, metrics, chat())
    assert plan_in_words(plan).startswith(f"{plan.total.expected.chat_calls} calls, ")


@pytest.mark.parametrize(
    ("judge_options", "host"),
    [
        (JudgeOptions(), ""),
        (JudgeOptions(judge="local:x", embed="st:y"), ""),
        (JudgeOptions(judge="openai:m"), "api.openai.com"),
        (JudgeOptions(judge="openai:m", base_url="http://user:word@localhost:11434/v1"), "localhost:11434"),
        (JudgeOptions(embed="openai:e"), "api.openai.com"),
    ],
)
def test_where_texts_are_sent_is_known_beforehand(
    judge_options: JudgeOptions, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert destination(judge_options) == host
