"""Measure calls and tokens per sample of an LLM judge, with bundled tasks and with one task for each passage.

    python -m benchmarks.calls --samples 5 --statements 12 --passages 5 --json

Evaluates three metrics of RAGAS, ragas context precision and RAGChecker's eleven metrics with the test server. A token
is four characters. A bundled task asks for the joint verdict and for the verdicts against single passages at once.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from tests.chat_server import ChatServer, answer, chat_server

from ragboard import Judge, LlmJudge, OpenAiEmbedder, Panel, Passage, Run, Sample, Store, evaluate_run
from ragboard.judges.llm import Endpoint
from ragboard.metrics import metrics_named
from ragboard.tasks import Failure, OnCall, Reply, Task, Verification, Verify, ignore_call

METRICS = metrics_named(
    ["ragas.faithfulness", "ragas.answer_relevance", "ragas.context_relevance", "ragas.context_precision", "ragchecker"]
)


@dataclass(frozen=True)
class OneByOne:
    """A judge that splits each verification into one task per passage and one for all passages together."""

    inner: Judge
    name: str = "one by one"
    heuristic: bool = False

    @property
    def answers(self) -> frozenset[type[Task]]:
        return self.inner.answers

    def identity(self, task: type[Task]) -> str:
        return f"one by one/{self.inner.identity(task)}"

    async def answer(self, tasks: Sequence[Task], on_call: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        return [await self._answer(task, on_call) for task in tasks]

    async def _answer(self, task: Task, on_call: OnCall) -> Reply | Failure:
        if not isinstance(task, Verify):
            return (await self.inner.answer([task], on_call))[0]
        parts = [self._part(task, (text,), joint=False) for text in task.passages if task.single]
        parts += [self._part(task, task.passages, joint=True)] if task.joint else []
        replies = await self.inner.answer(parts, on_call)
        failed = next((reply for reply in replies if isinstance(reply, Failure)), None)
        if failed:
            return failed
        tables = cast("list[Verification]", replies)
        joint = tables.pop().joint if task.joint else ()
        rows = zip(*(table.single for table in tables), strict=True)
        return Verification(joint=joint, single=tuple(tuple(cell for (cell,) in row) for row in rows))

    @staticmethod
    def _part(task: Verify, passages: tuple[str, ...], *, joint: bool) -> Verify:
        return Verify(
            question=task.question, statements=task.statements, passages=passages, joint=joint, single=not joint
        )


def make_run(samples: int, statements: int, passages: int) -> Run:
    """Return samples with `statements` sentences in answer and reference, and `passages` passages of 120 words."""

    def text(what: str, sample: int, sentences: int) -> str:
        return " ".join(f"The {what} of tower {sample} has {number} red doors." for number in range(sentences))

    made = tuple(
        Sample(
            id=str(number),
            question=f"What is known of tower {number}?",
            answer=text("front", number, statements),
            reference=text("back", number, statements),
            contexts=tuple(
                Passage(id=str(rank), text=text(f"side {rank}", number, 12), rank=rank)
                for rank in range(1, passages + 1)
            ),
        )
        for number in range(samples)
    )
    return Run(name="towers", samples=made)


def measure(run: Run, *, bundled: bool) -> dict[str, float]:
    """Evaluate a run, and return calls and tokens per sample."""
    with chat_server() as server, TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        endpoint = Endpoint(server.url, "key")
        judge = LlmJudge("m", endpoint)
        used_judge: Judge = judge if bundled else OneByOne(judge)
        store = Store(Path(folder))
        done = evaluate_run(
            store,
            store.add_runs([run])[0].id,
            METRICS,
            Panel(judge=used_judge, roles={"embed": OpenAiEmbedder("e", endpoint)}),
        )
        assert done.failed == 0
        return _figures(server, len(run.samples), bundled=bundled)


def _figures(server: ChatServer, samples: int, *, bundled: bool) -> dict[str, float]:
    """Return calls and tokens per sample. Completion tokens are counted for bundled tasks only."""
    prompts = [asked["messages"][0]["content"] for asked in server.asked if "messages" in asked]
    figures = {
        "llm_calls": len(prompts) / samples,
        "embedding_calls": (len(server.asked) - len(prompts)) / samples,
        "prompt_tokens": sum(map(len, prompts)) / 4 / samples,
    }
    replied = sum(len(answer(prompt)) for prompt in prompts) / 4 / samples
    return figures | ({"completion_tokens": replied} if bundled else {})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--statements", type=int, default=12)
    parser.add_argument("--passages", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    run = make_run(args.samples, args.statements, args.passages)
    found = {"bundled": measure(run, bundled=True), "one by one": measure(run, bundled=False)}
    if args.json:
        print(json.dumps(found, indent=2))
        return
    for variant, figures in found.items():
        print(f"{variant}: " + ", ".join(f"{number:,.0f} {name.replace('_', ' ')}" for name, number in figures.items()))


if __name__ == "__main__":
    main()
