"""Replies in bundled calls and in calls of `compat=True`: how often they are the same, and how many calls."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner
from tests.chat_server import ChatServer, answer, chat_server, completion

from ragboard import Nugget, Passage, Run, Sample, Store
from ragboard.analysis import compare_bundling, sample_report, self_agreement
from ragboard.cli import main
from ragboard.datasets import load_dataset, nugget_table

SENTENCES = ("The bridge opened in July 2000 [1].", "It cost 35 million euros [2].", "Ferries sailed for years [1][2].")
PASSAGES = ("The bridge opened in July 2000.", "Ferries sailed for years and years.", "Bread rises.")
DEFAULT = ("nuggets.all", "umbrela.precision", "alce.citation_recall", "trec.support_precision(citations=all)")
COMPAT = (
    "nuggets.all(compat=True)",
    "umbrela.precision(compat=True)",
    "alce.citation_recall(compat=True)",
    "trec.support_precision(citations=all,compat=True)",
)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


def bridges(store: Store, samples: int = 2) -> None:
    """Each sample has 12 nuggets, 3 passages and 4 citations; no two samples share a text that is asked about."""
    made = tuple(
        Sample(
            id=str(number),
            question=f"When did bridge number {number} open?",
            answer=" ".join(text.replace("The bridge", f"The bridge {number}") for text in SENTENCES),
            contexts=tuple(
                Passage(id=f"p{rank}", text=f"{text} {number}", rank=rank) for rank, text in enumerate(PASSAGES, 1)
            ),
            nuggets=tuple(Nugget(text=f"It cost {n} million euros", importance="vital") for n in range(30, 42)),
        )
        for number in range(samples)
    )
    store.add_runs([Run(name="run", samples=made, dataset="bridges")])


def evaluate(store: Store, server: ChatServer, metrics: tuple[str, ...], *options: str) -> Counter[str]:
    """Evaluate with a chat model; return the number of calls by the title of their prompts."""
    server.asked.clear()
    command = ["evaluate", "run", "--metrics", ",".join(metrics), "--judge", "openai:m", "--base-url", server.url]
    result = CliRunner().invoke(
        main, [*command, "--no-cache", *options, "--store", str(store.folder)], env={"OPENAI_API_KEY": "k"}
    )
    assert result.exit_code == 0, result.output
    return Counter(asked["messages"][0]["content"].split("\n", 1)[0] for asked in server.asked)


NUGGETS, GRADES, SUPPORT = (
    "# Say which nuggets an answer has",
    "# Grade how relevant passages are to a question",
    "# Grade how far a passage supports a sentence",
)


def test_the_calls_of_both_ways_are_those_that_the_server_counts(store: Store, server: ChatServer) -> None:
    bridges(store)
    together = evaluate(store, server, DEFAULT)
    assert compare_bundling(store, store.resolve("run")) is None
    alone = evaluate(store, server, COMPAT)
    found = compare_bundling(store, store.resolve("run"))
    assert found is not None
    counted = {one.kind: (one.items, one.calls_together, one.calls_alone) for one in found.replies}
    assert counted == {
        "verdicts on nuggets": (24, together[NUGGETS], alone[NUGGETS]),
        "grades of passages": (6, together[GRADES], alone[GRADES]),
        "support of citations": (8, together[SUPPORT], alone[SUPPORT]),
    }
    assert [(one, two) for _, one, two in counted.values()] == [(2, 4), (2, 6), (0, 8)]
    assert [(one.metric, one.compat, one.samples) for one in found.scores] == [
        (default, compat, 2) for default, compat in sorted(zip(DEFAULT, COMPAT, strict=True), key=order)
    ]


def order(pair: tuple[str, str]) -> int:
    """Metrics come in the order of the reference."""
    return ("umbrela", "nuggets", "alce", "trec").index(pair[0].partition(".")[0])


def other_alone(asked: dict[str, Any]) -> Any:
    """A model that calls every nugget stated and every passage irrelevant if it is asked as the sources ask."""
    prompt = asked["messages"][0]["content"]
    given: dict[str, Any] = json.loads(answer(prompt))
    if prompt.startswith(NUGGETS) and len(given["nuggets"]) < 12:
        return completion(json.dumps({"nuggets": [one | {"label": "support"} for one in given["nuggets"]]}))
    if prompt.startswith(GRADES) and len(given["passages"]) == 1:
        return completion(json.dumps({"passages": [one | {"grade": 0} for one in given["passages"]]}))
    return None


def test_a_judge_that_replies_otherwise_is_found_out(store: Store, server: ChatServer) -> None:
    bridges(store, samples=6)
    server.rules.append(other_alone)
    evaluate(store, server, (*DEFAULT, *COMPAT))
    found = compare_bundling(store, store.resolve("run"))
    assert found is not None
    nuggets, grades, _ = found.replies
    assert (nuggets.items, nuggets.equal) == (72, 6)  # only the nugget that the answer states
    assert nuggets.agreement == pytest.approx(6 / 72)
    assert grades.equal < grades.items == 18
    scores = {one.metric: one for one in found.scores}["nuggets.all"]
    assert (scores.compat_mean, scores.equal, scores.difference) == (1.0, 0, pytest.approx(1 - scores.mean))
    assert str(nuggets).startswith("verdicts on nuggets: 6 of 72 are the same, 0.08")
    shown = CliRunner().invoke(main, ["show", "run", "--store", str(store.folder)])
    assert f"compat: {nuggets}" in " ".join(shown.stdout.split())
    as_json = json.loads(CliRunner().invoke(main, ["show", "run", "--json", "--store", str(store.folder)]).stdout)
    assert as_json["bundling"]["replies"][0]["equal"] == 6


def test_pages_show_the_labels_of_one_way(store: Store, server: ChatServer) -> None:
    bridges(store)
    server.rules.append(other_alone)
    evaluate(store, server, ("nuggets.all(compat=True)",))
    ref = store.resolve("run")
    assert {one.label for one in sample_report(store, ref, "0").nuggets} == {"support"}
    evaluate(store, server, ("nuggets.all",))
    labels = [one.label for one in sample_report(store, store.resolve("run"), "0").nuggets]
    assert (len(labels), labels.count("support")) == (12, 1)
    dataset = load_dataset(store, "run")
    assert dataset.runs[0].outdated == 0
    (of_run,) = nugget_table(store, dataset, dataset.questions[0]).runs
    assert sum(one.label == "support" for one in of_run.labels.values()) == 1


def test_the_two_ways_are_no_draws_of_each_other(store: Store, server: ChatServer) -> None:
    bridges(store)
    server.rules.append(other_alone)
    metrics = ("nuggets.all", "nuggets.all(compat=True)", "crag.truthfulness", "crag.truthfulness(compat=True)")
    evaluate(store, server, metrics, "--draws", "2")
    found = self_agreement(store, store.resolve("run"))
    assert found is not None
    assert {one.flips for one in found.replies} == {0}
