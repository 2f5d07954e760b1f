"""How often the intervals hold the truth, in simulations whose truth is known.

    python benchmarks/coverage.py paired --repeats 20000

Prints the tables of docs/statistics.md. Every table has its own generator and seed, so that a table is the
same whichever others are printed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragboard.stats import Interval, holm, paired_difference
from ragboard.stats.rectified import Design, Parts, binary_parts, half_width, solve

Floats = NDArray[np.float64]
World = Callable[[np.random.Generator, int, float], tuple[Floats, float]]
"""(generator, pairs, effect) -> differences, and their true mean."""

PARTIAL = np.array([0, 1 / 4, 1 / 3, 1 / 2, 2 / 3, 3 / 4, 4 / 5])
"""What a score below 1 may be where it counts few statements."""


def normal_like(rng: np.random.Generator, n: int, effect: float) -> tuple[Floats, float]:
    """Differences from a normal distribution."""
    return rng.normal(effect, 0.2, n), effect


def ceiling_heavy(rng: np.random.Generator, n: int, effect: float) -> tuple[Floats, float]:
    """Scores of which 70 % (and the effect) are 1 and the others simple fractions."""
    first = np.where(rng.random(n) < 0.7, 1.0, rng.choice(PARTIAL, n))
    second = np.where(rng.random(n) < 0.7 + effect, 1.0, rng.choice(PARTIAL, n))
    return second - first, effect * (1 - float(PARTIAL.mean()))


def tied(share: float) -> World:
    """Differences of which a share is 0 and the others are normal, cut at -1 and 1."""

    def world(rng: np.random.Generator, n: int, effect: float) -> tuple[Floats, float]:
        around = np.clip(rng.normal(0, 0.3, n), -1 + effect, 1 - effect)
        return np.where(rng.random(n) < share, 0.0, around + effect), (1 - share) * effect

    return world


def one_sided(share: float) -> World:
    """Differences of which a share is 0 and of the others nine in ten are improvements."""

    def world(rng: np.random.Generator, n: int, effect: float) -> tuple[Floats, float]:
        sizes = effect * rng.choice([0.5, 1.0, 1.5], n) * np.where(rng.random(n) < 0.9, 1, -1)
        return np.where(rng.random(n) < share, 0.0, sizes), (1 - share) * effect * 0.8

    return world


WORLDS: dict[str, World] = {
    "normal-like": normal_like,
    "ceiling-heavy": ceiling_heavy,
    "50 % ties": tied(0.5),
    "90 % ties": tied(0.9),
    "90 % ties, one-sided": one_sided(0.9),
}


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """How often an estimator vouched for its interval, and how often such an interval held the truth."""

    offered: float
    """The share of draws with an interval that came without a warning."""
    covered: float
    """Of these, the share that held the truth."""
    wide: float
    """The share that held the truth among the intervals that came with a warning."""


def paired_coverage(world: World, n: int, effect: float, *, repeats: int, seed: int) -> Coverage:
    """Draw pairs, ask for the 95 % interval, see whether it holds the true mean difference."""
    rng = np.random.default_rng([seed, n, round(100 * effect)])
    nothing = np.zeros(n)
    vouched, warned = [], []
    for _ in range(repeats):
        differences, truth = world(rng, n, effect)
        found = paired_difference(nothing, differences, bounds=(-2.0, 2.0))
        assert isinstance(found.interval, Interval)
        held = found.interval.low <= truth <= found.interval.high
        (warned if found.warning else vouched).append(held)
    return Coverage(offered=len(vouched) / repeats, covered=_mean(vouched), wide=_mean(warned))


def false_alarms(world: World, n: int, *, metrics: int, repeats: int, seed: int) -> float:
    """How often at least one of several metrics is called different between two runs of one configuration."""
    rng = np.random.default_rng([seed, n, metrics])
    nothing, alarms = np.zeros(n), 0
    for _ in range(repeats):
        p_values = [paired_difference(nothing, world(rng, n, 0.0)[0]).p for _ in range(metrics)]
        alarms += min(holm(p_values)) < 0.05
    return alarms / repeats


@dataclass(frozen=True, kw_only=True)
class Judge:
    """How often people say yes, and how often the judge alone, or a person alone, does."""

    rate: float
    judge_alone: float
    person_alone: float

    @property
    def rarest(self) -> float:
        """The least share of: errors, right answers, a yes and a no of people, a yes and a no of the judge."""
        errors, yes = self.judge_alone + self.person_alone, self.rate - self.person_alone + self.judge_alone
        return min(errors, 1 - errors, self.rate, 1 - self.rate, yes, 1 - yes)


def drawn(judge: Judge, n: int, m: int, *, repeats: int, seed: int) -> Parts:
    """The moments of so many draws of n labelled and m other items, all at once."""
    rng = np.random.default_rng([seed, n, m])
    shares = [judge.rate - judge.person_alone, judge.judge_alone, judge.person_alone]
    cells = rng.multinomial(n, [*shares, 1 - sum(shares)], repeats).astype(float)
    rest = rng.binomial(m, judge.rate - judge.person_alone + judge.judge_alone, repeats).astype(float)
    return binary_parts(both=cells[:, 0], judge_alone=cells[:, 1], person_alone=cells[:, 2], n=n, rest=rest, m=m)


@dataclass(frozen=True, kw_only=True)
class Powered:
    """What PPI and PPI++ covered, and the widest PPI++ was compared with the classical interval."""

    ppi: float
    tuned: float
    widest: float


def ppi_coverage(judge: Judge, n: int, m: int, *, design: Design, repeats: int, seed: int) -> Powered:
    """Draw labelled and other items, and see which 95 % intervals hold the rate of yeses."""
    parts = drawn(judge, n, m, repeats=repeats, seed=seed)
    covered, widths = {}, {}
    for weight in (0.0, 1.0, None):
        solved = solve(parts, design=design, weight=weight)
        widths[weight] = half_width(solved, 0.95)
        covered[weight] = float(np.mean(np.abs(solved.estimate - judge.rate) <= widths[weight]))
    varied = widths[0.0] > 0
    widest = float(np.max(widths[None][varied] / widths[0.0][varied]))
    return Powered(ppi=covered[1.0], tuned=covered[None], widest=widest)


def judges(n: int, errors: int) -> Iterator[Judge]:
    """Judges that make so many errors in n: too kind, too strict, half and half."""
    share = errors / n
    for rate in (0.6, 0.85):
        for judge_alone, person_alone in ((share, 0.0), (0.0, share), (share / 2, share / 2)):
            if judge_alone < 1 - rate:
                yield Judge(rate=rate, judge_alone=judge_alone, person_alone=person_alone)


def ppi_table(repeats: int) -> Iterator[str]:
    """Judges whose errors, and every answer of theirs and of people's, are to be expected so often or oftener."""
    yield "| labels | rare cases expected | design | PPI covered | PPI++ covered | PPI++ at most, of classical |"
    yield "|---|---|---|---|---|---|"
    for n in (150, 300):
        for errors in (5, 10, 20, 30, 45):
            able = [judge for judge in judges(n, errors) if judge.rarest * n > errors - 1e-9 or errors < 20]
            for design, m in (("subset", 2000), ("separate", 4421)):
                seen = [ppi_coverage(judge, n, m, design=design, repeats=repeats, seed=3) for judge in able]
                ppi, tuned = ([getattr(one, kind) for one in seen] for kind in ("ppi", "tuned"))
                widest = max(one.widest for one in seen)
                yield f"| {n} | {errors} | {design} | {_span(ppi)} | {_span(tuned)} | {widest:.3f} |"


def _span(shares: list[float]) -> str:
    return f"{min(shares):.1%} to {max(shares):.1%}"


def _mean(held: list[bool]) -> float:
    return sum(held) / len(held) if held else float("nan")


def paired_table(repeats: int) -> Iterator[str]:
    yield "| distribution | effect | n | vouched for | covered | covered, warned |"
    yield "|---|---|---|---|---|---|"
    for name, world in WORLDS.items():
        for effect in (0.2,) if "one-sided" in name else (0.0, 0.1, 0.2):
            for n in (30, 60, 200):
                seen = paired_coverage(world, n, effect, repeats=repeats, seed=1)
                cells = (f"{seen.offered:.0%}", _percent(seen.covered), _percent(seen.wide))
                yield f"| {name} | {effect} | {n} | {' | '.join(cells)} |"


def alarm_table(repeats: int) -> Iterator[str]:
    yield "| distribution | n | metrics | false alarms after Holm |"
    yield "|---|---|---|---|"
    for name, world in list(WORLDS.items())[:4]:
        for n in (30, 60, 200):
            yield f"| {name} | {n} | 5 | {false_alarms(world, n, metrics=5, repeats=repeats, seed=2):.1%} |"


def _percent(share: float) -> str:
    return "" if share != share else f"{share:.1%}"


TABLES = {"paired": paired_table, "alarms": alarm_table, "ppi": ppi_table}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--repeats", type=int, default=20_000)
    given = parser.parse_args()
    for line in TABLES[given.table](given.repeats):
        print(line)


if __name__ == "__main__":
    main()
