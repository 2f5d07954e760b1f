"""Measure the time of the embedded judge, relative to passes of `re.findall(r"\\w+", text)` over the same text.

    python benchmarks/judge_cost.py            # typical samples, and growth with the size of texts
    python benchmarks/judge_cost.py --json

Typical samples have 5 passages of about 120 words and an answer of 4 sentences. Statements are extracted and verified
against all passages together. The judge and a number of passes that takes about as long are measured in alternation,
and the smallest CPU time of each is used. A busy machine slows the judge more, because it uses more memory.
Growth is the time per character of passages of up to 5 MB and per statement of answers with up to 10,000 statements;
both should be constant. Memory is the peak after 1,000 and 10,000 samples, which are not kept (not on Windows).
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from first_light import make_samples

from ragboard import Sample
from ragboard.judges.embedded.statements import extract
from ragboard.judges.embedded.verify import verify
from ragboard.tasks import Verify

SAMPLES, TURNS, PASSES = 20, 40, 20
PASSAGES = (1_250_000, 2_500_000, 5_000_000)
"""Sizes of passages, in characters."""
ANSWERS = (2_500, 5_000, 10_000)
"""Sizes of answers, in statements."""
JUDGED, AT_ONCE = (1_000, 10_000), 100
"""Numbers of samples after which memory is measured; number of samples in memory at a time."""


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def judge_sample(sample: Sample) -> None:
    statements = tuple(each.text for each in extract(sample.answer or "").statements)
    verify_statements(statements, tuple(passage.text for passage in sample.contexts or ()))


def verify_statements(statements: tuple[str, ...], passages: tuple[str, ...]) -> None:
    verify(Verify(question="", statements=statements, passages=passages, joint=True, single=False))


def judge_all(samples: Sequence[Sample]) -> None:
    for sample in samples:
        judge_sample(sample)


def plain_passes(texts: Sequence[str], count: int) -> None:
    for _ in range(count):
        for text in texts:
            re.findall(r"\w+", text)


def typical_samples() -> dict[str, float]:
    samples = make_samples(SAMPLES)
    texts = [text for each in samples for text in (each.answer or "", *(one.text for one in each.contexts or ()))]
    turns = [
        (seconds(partial(judge_all, samples)), seconds(partial(plain_passes, texts, PASSES)) / PASSES)
        for _ in range(TURNS)
    ]
    judge, plain = min(judge for judge, _ in turns), min(plain for _, plain in turns)
    return {"times_plain": judge / plain, "samples_per_second": SAMPLES / judge}


def memory() -> Iterator[tuple[str, float]]:
    """Yield the peak memory of the process in MB. Must run first, before work that needs more memory."""
    if sys.platform == "win32":
        return
    import resource

    done = 0
    for count in JUDGED:
        for batch in range(done, count, AT_ONCE):
            judge_all(make_samples(AT_ONCE, seed=batch))
        done = count
        kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "darwin" else 1)
        yield f"peak_after_{count}_samples_mb", kilobytes / 1024


def growth() -> Iterator[tuple[str, float]]:
    rng = random.Random(1)
    words = sorted({word for each in make_samples(200) for word in re.findall(r"\w+", each.answer or "")})
    statements = [
        f"The {' '.join(rng.choices(words, k=13))} {rng.randrange(5000)}. " for _ in range(max(PASSAGES) // 90)
    ]
    text = "".join(statements)
    for size in PASSAGES:
        spent = seconds(partial(verify_statements, tuple(statements[:10]), (text[:size],)))
        yield f"passage_{size}_us_per_character", spent / min(size, len(text)) * 1e6
    passages = make_samples(1)[0].contexts
    for count in ANSWERS:
        sample = Sample(id="long", question="", answer="".join(statements[:count]), contexts=passages)
        yield f"answer_{count}_us_per_statement", seconds(partial(judge_sample, sample)) / count * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    found = dict(memory()) | typical_samples() | dict(growth())
    if args.json:
        print(json.dumps(found, indent=1))
    else:
        for name, value in found.items():
            print(f"{name:<36}{value:>12,.2f}")


if __name__ == "__main__":
    main()
