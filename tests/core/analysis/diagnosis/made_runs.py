"""Runs with known correct diagnoses, and a judge without errors.

A claim is a word. A text is a list of claims, each with a full stop, and supports the claims that it contains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from tests.core.conftest import PlainJudge

from ragboard import Panel, Passage, Run, Sample, Store, Verdict, evaluate_run
from ragboard.metrics import metrics_named
from ragboard.records import JsonValue, Label
from ragboard.store import RunRef
from ragboard.tasks import (
    ExtractedStatement,
    Extraction,
    ExtractStatements,
    Failure,
    OnCall,
    Reply,
    Selection,
    SelectSentences,
    Task,
    Verification,
    Verify,
    ignore_call,
)

CLAIMS = 5
PASSAGES = 4
Texts = tuple[Sequence[str], Sequence[Sequence[str]]]
"""The claims of the answer, and those of each passage."""


class ReadingJudge(PlainJudge):
    """Takes texts at their word."""

    async def answer(self, tasks: Sequence[Task], _hear: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        return [_read(task) for task in tasks]


def _claims(text: str) -> list[str]:
    return [part.strip() for part in text.split(".") if part.strip()]


def _read(task: Task) -> Reply:
    if isinstance(task, ExtractStatements):
        said = [claim for claim in _claims(task.text) if claim != "unknown"]
        return Extraction(statements=tuple(map(_extracted, said)), refuses="unknown" in _claims(task.text))
    if isinstance(task, SelectSentences):
        return Selection(chosen=tuple(range(len(task.sentences))))
    assert isinstance(task, Verify)
    texts = [_claims(text) for text in task.passages]
    single = tuple(tuple(_verdict(claim, [text]) for text in texts) for claim in task.statements)
    joint = tuple(_verdict(claim, texts) for claim in task.statements)
    return Verification(joint=joint if task.joint else (), single=single if task.single else ())


def _extracted(claim: str) -> ExtractedStatement:
    return ExtractedStatement(text=claim)


def _verdict(claim: str, texts: Sequence[Sequence[str]]) -> Verdict:
    label: Label = "unsupported"
    if any(claim in text for text in texts):
        label = "supported"
    elif any(f"not {claim}" in text for text in texts):
        label = "contradicted"
    return Verdict(label=label)


def text_of(claims: Sequence[str]) -> str:
    return " ".join(f"{claim}." for claim in claims)


def spread(claims: Sequence[str]) -> list[list[str]]:
    """Claims over the passages in turn, each passage with something that nobody asked for."""
    return [[f"aside{place}", *claims[place::PASSAGES]] for place in range(PASSAGES)]


def make_run(
    name: str,
    texts: Callable[[int, list[str], np.random.Generator], Texts],
    *,
    samples: int = 60,
    references: bool = True,
    metadata: Callable[[int], dict[str, JsonValue]] = lambda _: {},
) -> Run:
    """A run of which `texts` gives each sample's answer and passages, from the claims of its reference."""
    rng = np.random.default_rng(7)
    made: list[Sample] = []
    for number in range(samples):
        right = [f"claim{number}x{place}" for place in range(CLAIMS)]
        answer, passages = texts(number, right, rng)
        made.append(
            Sample(
                id=f"s{number}",
                question=f"What of {number}?",
                answer=text_of(answer),
                reference=text_of(right) if references else None,
                contexts=tuple(
                    Passage(id=f"p{number}x{rank}", text=text_of(claims), rank=rank)
                    for rank, claims in enumerate(passages, 1)
                ),
                metadata=metadata(number),
            )
        )
    return Run(name=name, samples=tuple(made))


ALL = ("ragchecker", "ragas.faithfulness", "ragas.context_relevance", "refusal")


def keep(store: Store, run: Run, names: Sequence[str] = ALL) -> RunRef:
    (added,) = store.add_runs([run])
    evaluate_run(store, added.id, metrics_named(names), Panel(judge=ReadingJudge()))
    return store.resolve(run.name)
