"""Measure the speed of local judges, as a ratio to the bare model with the same texts and batches, in one process.

    python benchmarks/local_models.py --pairs 64

Uses untrained models of each kind with four layers, on one CPU thread. The bare model gets prepared, sorted texts. The
judge also splits passages, sorts, and makes verdicts. The exit code is 1 if a ratio is below `MIN_RATIO`.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Callable, Coroutine
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ragboard.judges import LocalJudge
from ragboard.judges.local import Hardware
from ragboard.judges.local.heads import BATCH_SIZE
from ragboard.tasks import Verify

sys.path.insert(0, str(Path(__file__).parents[1]))
models: Any = import_module("tests.local_models")

MIN_RATIO = 0.8
REPEATS = 3
WORDS = ("boat", "hall", "wet", "gate", "mill", "opened", "1998", "people", "came", "red", "old", "near", "and", "the")
WIDE = {"hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 512}
T5_WIDE = {"d_model": 128, "d_kv": 32, "d_ff": 512, "num_layers": 4, "num_heads": 4}


def make_tasks(count: int, seed: int = 1) -> list[Verify]:
    """Return statements of 6 to 20 words with 2 passages of 30 to 120 words each."""
    rng = random.Random(seed)

    def text(least: int, most: int) -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(least, most))).capitalize() + "."

    return [
        Verify(
            question="Which boat is wet?",
            statements=(text(6, 20),),
            passages=(text(30, 120), text(30, 120)),
            joint=True,
            single=True,
        )
        for _ in range(count // 2)
    ]


def fastest(*works: Callable[[], Coroutine[Any, Any, object]]) -> list[float]:
    """Return the shortest time of each function in seconds. They run in alternation, because other programs may run."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(REPEATS):
        for work, taken in zip(works, times, strict=True):
            start = time.perf_counter()
            asyncio.run(work())
            taken.append(time.perf_counter() - start)
    return [min(taken) for taken in times]


def bare(judge: LocalJudge, tasks: list[Verify]) -> Callable[[], None]:
    """Return a function that runs tokenizer and model on the judge's texts, in the same batches."""
    head, torch = judge._head, import_module("torch")  # noqa: SLF001 - the bare model
    read: list[Any] = []
    predict = head.predict

    def record(texts: Any) -> Any:
        read.extend(texts)
        return predict(texts)

    head.predict = record  # type: ignore[method-assign]
    asyncio.run(judge.answer(tasks))
    head.predict = predict  # type: ignore[method-assign]
    texts = sorted(read, key=lambda one: -sum(map(len, one)))
    begin = getattr(head.model.config, "decoder_start_token_id", None)

    def run() -> None:
        torch.set_num_threads(1)
        with torch.inference_mode():
            for start in range(0, len(texts), BATCH_SIZE):
                batch = texts[start : start + BATCH_SIZE]
                columns = [list(column) for column in zip(*batch, strict=True)]
                inputs = head.tokenizer(*columns, padding=True, return_tensors="pt")
                if begin is not None:
                    inputs["decoder_input_ids"] = torch.full((len(batch), 1), begin)
                head.model(**inputs).logits.tolist()

    return run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=64)
    pairs = parser.parse_args().pairs
    models.NARROW = WIDE
    kinds = {
        "minicheck-roberta": models.fact_checker,
        "lettucedetect": models.span_marker,
        "minicheck": models.text_to_text,
        "": models.nli_model,
    }
    tasks = make_tasks(pairs)
    below = False
    with TemporaryDirectory() as folder:
        for preset, make in kinds.items():
            place = make(Path(folder) / make.__name__, **(T5_WIDE if make is models.text_to_text else {}))
            judge = LocalJudge(
                f"{preset}@{place}" if preset else str(place), hardware=Hardware(device="cpu", threads=1)
            )
            bare_run = bare(judge, tasks)
            model, judged = fastest(lambda: asyncio.to_thread(bare_run), lambda: judge.answer(tasks))  # noqa: B023
            below |= model / judged < MIN_RATIO
            print(f"{make.__name__:<13} {model / judged:.2f} of the bare model's pairs a second")
    return int(below)


if __name__ == "__main__":
    raise SystemExit(main())
