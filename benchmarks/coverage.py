"""Measure the coverage of the confidence intervals in simulations with known true values.

    python benchmarks/coverage.py means --repeats 1000

Prints the tables of docs/background/statistics.md. Each table has its own generator and seed, and does not depend on
which other tables are printed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ragboard.stats import Interval, holm, mean_interval, moments, paired_difference
from ragboard.stats.distributions import normal_quantile, t_quantile
from ragboard.stats.intervals import lower_limit
from ragboard.stats.ppi import PpiDesign, PpiMoments, binary_ppi_moments, half_width, ppi_estimates

FloatArray = NDArray[np.float64]
World = Callable[[np.random.Generator, int, float], tuple[FloatArray, float]]
"""(generator, pairs, effect) -> differences and their true mean."""

PARTIAL = np.array([0, 1 / 4, 1 / 3, 1 / 2, 2 / 3, 3 / 4, 4 / 5])
"""Possible scores below 1 of an answer with few statements."""


def normal_like(rng: np.random.Generator, n: int, effect: float) -> tuple[FloatArray, float]:
    """Draw differences from a normal distribution."""
    return rng.normal(effect, 0.2, n), effect


def ceiling_heavy(rng: np.random.Generator, n: int, effect: float) -> tuple[FloatArray, float]:
    """Draw differences of scores. 70% of the scores (plus the effect) are 1, the others simple fractions."""
    first = np.where(rng.random(n) < 0.7, 1.0, rng.choice(PARTIAL, n))
    second = np.where(rng.random(n) < 0.7 + effect, 1.0, rng.choice(PARTIAL, n))
    return second - first, effect * (1 - float(PARTIAL.mean()))


def tied(share: float) -> World:
    """Return a world in which a share of the differences is 0 and the others are normal, clipped to -1 and 1."""

    def world(rng: np.random.Generator, n: int, effect: float) -> tuple[FloatArray, float]:
        around = np.clip(rng.normal(0, 0.3, n), -1 + effect, 1 - effect)
        return np.where(rng.random(n) < share, 0.0, around + effect), (1 - share) * effect

    return world


def one_sided(share: float) -> World:
    """Return a world in which a share of the differences is 0 and nine in ten of the others are improvements."""

    def world(rng: np.random.Generator, n: int, effect: float) -> tuple[FloatArray, float]:
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
    """How often there was an interval without a warning, and how often the intervals covered the true value."""

    offered: float
    """The share of draws that gave an interval without a warning."""
    covered: float
    """The coverage of intervals without a warning."""
    wide: float
    """The coverage of intervals with a warning."""


def paired_coverage(world: World, n: int, effect: float, *, repeats: int, seed: int) -> Coverage:
    """Draw pairs and return how often their 95% interval covers the true mean difference."""
    rng = np.random.default_rng([seed, n, round(100 * effect)])
    nothing = np.zeros(n)
    vouched: list[bool] = []
    warned: list[bool] = []
    for _ in range(repeats):
        differences, truth = world(rng, n, effect)
        found = paired_difference(nothing, differences, bounds=(-2.0, 2.0))
        assert isinstance(found.interval, Interval)
        held = found.interval.low <= truth <= found.interval.high
        (warned if found.warning else vouched).append(held)
    return Coverage(offered=len(vouched) / repeats, covered=_mean(vouched), wide=_mean(warned))


def false_alarms(world: World, n: int, *, metrics: int, repeats: int, seed: int) -> float:
    """Return how often two runs of one configuration differ significantly in at least one of several metrics."""
    rng = np.random.default_rng([seed, n, metrics])
    nothing, alarms = np.zeros(n), 0
    for _ in range(repeats):
        p_values = [paired_difference(nothing, world(rng, n, 0.0)[0]).p for _ in range(metrics)]
        alarms += min(holm(p_values)) < 0.05
    return alarms / repeats


@dataclass(frozen=True, kw_only=True)
class Judge:
    """How often annotators say yes, and how often only the judge or only the annotator does."""

    rate: float
    only_judge: float
    only_person: float

    @property
    def rarest(self) -> float:
        """The smallest share among errors, correct verdicts, and the yes and no of annotators and of the judge."""
        errors, yes = self.only_judge + self.only_person, self.rate - self.only_person + self.only_judge
        return min(errors, 1 - errors, self.rate, 1 - self.rate, yes, 1 - yes)


def drawn(judge: Judge, n: int, m: int, *, repeats: int, seed: int) -> PpiMoments:
    """Return the moments of `repeats` draws of n labelled and m other items, all at once."""
    rng = np.random.default_rng([seed, n, m])
    shares = [judge.rate - judge.only_person, judge.only_judge, judge.only_person]
    cells = rng.multinomial(n, [*shares, 1 - sum(shares)], repeats).astype(float)
    rest = rng.binomial(m, judge.rate - judge.only_person + judge.only_judge, repeats).astype(float)
    return binary_ppi_moments(both=cells[:, 0], only_judge=cells[:, 1], only_person=cells[:, 2], n=n, rest=rest, m=m)


@dataclass(frozen=True, kw_only=True)
class Powered:
    """The coverage of PPI and PPI++, and the largest width of PPI++ as a ratio to the classical interval."""

    ppi: float
    tuned: float
    widest: float


def ppi_coverage(judge: Judge, n: int, m: int, *, design: PpiDesign, repeats: int, seed: int) -> Powered:
    """Draw labelled and other items, and return how often the 95% intervals cover the true rate."""
    parts = drawn(judge, n, m, repeats=repeats, seed=seed)
    covered, widths = {}, {}
    for weight in (0.0, 1.0, None):
        solved = ppi_estimates(parts, design=design, weight=weight)
        widths[weight] = half_width(solved, 0.95)
        covered[weight] = float(np.mean(np.abs(solved.estimate - judge.rate) <= widths[weight]))
    varied = widths[0.0] > 0
    widest = float(np.max(widths[None][varied] / widths[0.0][varied]))
    return Powered(ppi=covered[1.0], tuned=covered[None], widest=widest)


def judges(n: int, errors: int) -> Iterator[Judge]:
    """Yield judges that make `errors` errors in n items: too lenient, too strict, or both equally."""
    share = errors / n
    for rate in (0.6, 0.85):
        for only_judge, only_person in ((share, 0.0), (0.0, share), (share / 2, share / 2)):
            if only_judge < 1 - rate:
                yield Judge(rate=rate, only_judge=only_judge, only_person=only_person)


DESIGNS: tuple[tuple[PpiDesign, int], ...] = (("subset", 2000), ("separate", 4421))
"""How labelled and other items are drawn, and the number of other items."""


def ppi_table(repeats: int) -> Iterator[str]:
    """Yield coverage by number of expected errors; from 20 errors, only judges with as many of every rare case."""
    yield "| labels | rare cases expected | design | PPI covered | PPI++ covered | widest PPI++, of labels alone |"
    yield "|---|---|---|---|---|---|"
    for n in (150, 300):
        for errors in (5, 10, 20, 30, 45):
            able = [judge for judge in judges(n, errors) if judge.rarest * n > errors - 1e-9 or errors < 20]
            for design, m in DESIGNS:
                seen = [ppi_coverage(judge, n, m, design=design, repeats=repeats, seed=3) for judge in able]
                ppi, tuned = ([getattr(one, kind) for one in seen] for kind in ("ppi", "tuned"))
                widest = max(one.widest for one in seen)
                yield f"| {n} | {errors} | {design} | {_span(ppi)} | {_span(tuned)} | {widest:.3f} |"


def _span(shares: list[float]) -> str:
    return f"{min(shares):.1%} to {max(shares):.1%}"


def _mean(held: list[bool]) -> float:
    return sum(held) / len(held) if held else float("nan")


def paired_table(repeats: int) -> Iterator[str]:
    yield "| distribution | effect | n | no warning | covered, without warning | covered, with warning |"
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


Scores = Callable[[np.random.Generator, tuple[int, int]], FloatArray]
Limits = Callable[[FloatArray, float, float], tuple[FloatArray, FloatArray]]
"""(draws by values, minimum, maximum) -> the ends of the 95% interval of each draw."""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A distribution of bounded scores, or of their differences, with a known mean."""

    draw: Scores
    mean: float
    low: float = 0.0


def share(p: float) -> Grid:
    """0 and 1."""
    return Grid(draw=lambda rng, shape: (rng.random(shape) < p).astype(float), mean=p)


def beta(a: float, b: float) -> Grid:
    return Grid(draw=lambda rng, shape: rng.beta(a, b, shape), mean=a / (a + b))


def spiked(zeros: float, ones: float, a: float, b: float) -> Grid:
    """Return a beta distribution with additional shares of 0 and 1."""

    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
        which = rng.random(shape)
        return np.where(which < zeros, 0.0, np.where(which < zeros + ones, 1.0, rng.beta(a, b, shape)))

    return Grid(draw=draw, mean=ones + (1 - zeros - ones) * a / (a + b))


def moved(wins: float, losses: float) -> Grid:
    """Return differences of 0/1 scores; all others are ties."""

    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
        which = rng.random(shape)
        return np.where(which < wins, 1.0, np.where(which < wins + losses, -1.0, 0.0))

    return Grid(draw=draw, mean=wins - losses, low=-1.0)


def less(first: Grid, second: Grid, ties: float = 0.0) -> Grid:
    """Return differences of two scores, of which a share is 0."""

    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
        apart = first.draw(rng, shape) - second.draw(rng, shape)
        return np.where(rng.random(shape) < ties, 0.0, apart)

    return Grid(draw=draw, mean=(1 - ties) * (first.mean - second.mean), low=-1.0)


FLOOR, CEILING, SPIKE = beta(0.3, 6), beta(5, 0.5), spiked(0.6, 0.1, 0.5, 0.5)
GRID: dict[str, Grid] = {
    "0/1, p = .5": share(0.5),
    "0/1, p = .8": share(0.8),
    "0/1, p = .95": share(0.95),
    "beta(.3, 6)": FLOOR,
    "beta(6, .3)": beta(6, 0.3),
    "beta(5, .5)": CEILING,
    "beta(4, 3)": beta(4, 3),
    "70% 1, beta(1, 1)": spiked(0, 0.7, 1, 1),
    "90% 1, beta(1, 1)": spiked(0, 0.9, 1, 1),
    "80% 0, beta(1, 4)": spiked(0.8, 0, 1, 4),
    "60% 0, 10% 1, beta(.5, .5)": SPIKE,
    "paired 0/1, 10% won, 2% lost": moved(0.1, 0.02),
    "paired 0/1, 25% won, 25% lost": moved(0.25, 0.25),
    "paired beta(.3, 6)": less(FLOOR, FLOOR),
    "paired beta(5, .5) minus beta(4, 3)": less(CEILING, beta(4, 3)),
    "paired spikes": less(SPIKE, SPIKE),
    "paired beta(5, .5), 50% ties": less(CEILING, CEILING, ties=0.5),
    "paired, 80% ties, others beta(1, 4)": less(spiked(0.8, 0, 1, 4), share(0.0)),
}
BOOTSTRAPS = 999


def by_ragboard(values: FloatArray, low: float, high: float) -> tuple[FloatArray, FloatArray]:
    found = [mean_interval(moments(row), bounds=(low, high)) for row in values]
    ends = np.array([(one.low, one.high) for one in found if isinstance(one, Interval)])
    return ends[:, 0], ends[:, 1]


def by_t(values: FloatArray, low: float, high: float) -> tuple[FloatArray, FloatArray]:
    n, means = values.shape[1], values.mean(axis=1)
    half = t_quantile(0.975, n - 1.0) * values.std(axis=1, ddof=1) / np.sqrt(n)
    return np.maximum(low, means - half), np.minimum(high, means + half)


def _resampled(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return means and standard deviations of bootstrap draws, by row of values."""
    n = values.shape[1]
    times = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), BOOTSTRAPS).T / n
    means = values @ times
    return means, np.sqrt(np.maximum(np.square(values) @ times - means**2, 0.0) * n / (n - 1))


def by_bootstrap_t(values: FloatArray, low: float, high: float) -> tuple[FloatArray, FloatArray]:
    means, deviations = _resampled(values)
    centre, spread = values.mean(axis=1), values.std(axis=1, ddof=1)
    apart = means - centre[:, None]
    far = np.sign(np.where(np.abs(apart) < 1e-12, 0.0, apart)) * 1e9
    studentised = np.where(deviations > 1e-9, apart / np.maximum(deviations, 1e-9), far)
    bottom, top = np.quantile(studentised, [0.025, 0.975], axis=1)
    return np.maximum(low, centre - top * spread), np.minimum(high, centre - bottom * spread)


def by_bca(values: FloatArray, low: float, high: float) -> tuple[FloatArray, FloatArray]:
    means, _ = _resampled(values)
    centre = values.mean(axis=1, keepdims=True)
    below = ((means < centre - 1e-12).sum(axis=1) + (np.abs(means - centre) <= 1e-12).sum(axis=1) / 2) / BOOTSTRAPS
    bias = special.ndtri(np.clip(below, 1 / BOOTSTRAPS, 1 - 1 / BOOTSTRAPS))
    apart = values - centre
    square = np.square(apart).sum(axis=1)
    skew = (apart**3).sum(axis=1) / np.maximum(6 * square**1.5, 1e-300)
    ends = []
    for z in (normal_quantile(0.025), normal_quantile(0.975)):
        level = special.ndtr(bias + (bias + z) / (1 - skew * (bias + z)))
        ends.append(np.array([np.quantile(row, part) for row, part in zip(means, level, strict=True)]))
    return np.maximum(low, ends[0]), np.minimum(high, ends[1])


def by_gaffke(values: FloatArray, low: float, high: float) -> tuple[FloatArray, FloatArray]:
    """Return intervals by the Bayesian bootstrap with an additional point at the bound (Gaffke 2005)."""
    ones, score = np.ones(values.shape[1]), normal_quantile(0.025)
    ends = [(lower_limit(row, ones, low, score), -lower_limit(-row, ones, -high, score)) for row in values]
    return np.array([end[0] for end in ends]), np.array([end[1] for end in ends])


def by_bernstein(values: FloatArray, low: float, high: float) -> tuple[FloatArray, FloatArray]:
    """Return two-sided intervals after Maurer and Pontil (2009)."""
    n, width, logs = values.shape[1], high - low, np.log(4 / 0.05)
    half = np.sqrt(2 * values.var(axis=1, ddof=1) * logs / n) + 7 * width * logs / (3 * (n - 1))
    return np.maximum(low, values.mean(axis=1) - half), np.minimum(high, values.mean(axis=1) + half)


def by_betting(values: FloatArray, low: float, high: float) -> tuple[FloatArray, FloatArray]:
    """Return intervals by the hedged capital process of Waudby-Smith and Ramdas (2024), with predictable bets."""
    n = values.shape[1]
    scaled = (values - low) / (high - low)
    steps = np.arange(1, n + 1)
    means = (0.5 + np.cumsum(scaled, axis=1)) / (steps + 1)
    spreads = (0.25 + np.cumsum(np.square(scaled - means), axis=1)) / (steps + 1)
    before = np.column_stack([np.full(len(values), 0.25), spreads[:, :-1]])
    bets = np.sqrt(2 * np.log(2 / 0.05) / (n * before))
    grid = np.linspace(0, 1, 402)[1:-1]
    ends = []
    for row, bet in zip(scaled, bets, strict=True):
        apart = row[:, None] - grid
        up = np.cumsum(np.log1p(np.minimum(bet[:, None], 0.5 / grid) * apart), axis=0).max(axis=0)
        down = np.cumsum(np.log1p(-np.minimum(bet[:, None], 0.5 / (1 - grid)) * apart), axis=0).max(axis=0)
        held = grid[np.maximum(up, down) < np.log(2 / 0.05)]
        ends.append((held[0] - 1 / 802, held[-1] + 1 / 802) if held.size else (row.mean(), row.mean()))
    found = low + (high - low) * np.array(ends)
    return found[:, 0], found[:, 1]


METHODS: dict[str, Limits] = {
    "ragboard": by_ragboard,
    "t": by_t,
    "BCa": by_bca,
    "bootstrap-t": by_bootstrap_t,
    "Gaffke": by_gaffke,
    "betting": by_betting,
    "Bernstein": by_bernstein,
}
ENOUGH = 0.935


def mean_coverage(
    grid: Grid, n: int, *, repeats: int, seed: int, methods: dict[str, Limits]
) -> dict[str, tuple[float, float]]:
    """Return the coverage and the median width of each method's 95% interval."""
    values = grid.draw(np.random.default_rng([seed, n]), (repeats, n))
    found = {}
    for name, method in methods.items():
        low, high = method(values, grid.low, 1.0)
        held = (low <= grid.mean + 1e-9) & (high >= grid.mean - 1e-9)
        found[name] = float(held.mean()), float(np.median(high - low))
    return found


def mean_table(repeats: int) -> Iterator[str]:
    """Yield coverage, and width relative to the narrowest method with a coverage of at least 93.5%."""
    yield f"| scores | n | {' | '.join(METHODS)} |"
    yield "|---|---|" + "---|" * len(METHODS)
    for name, grid in GRID.items():
        for n in (15, 30, 60, 200):
            seen = mean_coverage(grid, n, repeats=repeats, seed=4, methods=METHODS)
            able = [width for covered, width in seen.values() if covered >= ENOUGH and width > 0]
            cells = (f"{covered:.1%}, {width / min(able):.2f}" for covered, width in seen.values())
            yield f"| {name} | {n} | {' | '.join(cells)} |"


def unbounded_table(repeats: int) -> Iterator[str]:
    yield "| scores | n | covered |"
    yield "|---|---|---|"
    for spread in (0.5, 1.0, 1.5):
        for n in (15, 30, 60, 200, 1000):
            values = np.random.default_rng([5, n]).lognormal(0, spread, (repeats, n))
            found = [mean_interval(moments(row), bounds=None) for row in values]
            truth = np.exp(spread**2 / 2)
            held = [one.low <= truth <= one.high for one in found if isinstance(one, Interval)]
            yield f"| lognormal(0, {spread}) | {n} | {_mean(held):.1%} |"


def clustered(
    rng: np.random.Generator, grid: str, groups: int, correlation: float, sizes: str
) -> tuple[FloatArray, list[int]]:
    """Draw scores of groups, with a normal copula and this correlation within each group."""
    counts = {
        "5": np.full(groups, 5),
        "1 to 10": rng.integers(1, 11, groups),
        "lognormal": np.ceil(rng.lognormal(1, 0.9, groups)).astype(int),
    }[sizes]
    labels = np.repeat(np.arange(groups), counts)
    common, own = rng.normal(size=groups)[labels], rng.normal(size=labels.size)
    ranks = special.ndtr(np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own)
    quantiles = {
        "0/1, p = .8": lambda: (ranks < 0.8).astype(float),
        "beta(.3, 6)": lambda: special.betaincinv(0.3, 6, ranks),
        "beta(5, .5)": lambda: special.betaincinv(5, 0.5, ranks),
        "beta(4, 3)": lambda: special.betaincinv(4, 3, ranks),
    }
    return quantiles[grid](), labels.tolist()


def cluster_coverage(
    grid: str, groups: int, correlation: float, sizes: str, *, repeats: int, seed: int
) -> tuple[float, float]:
    """Return the coverage of the clustered interval, and of the interval that assumes independent values."""
    rng = np.random.default_rng([seed, groups])
    held: list[bool] = []
    alone: list[bool] = []
    for _ in range(repeats):
        values, labels = clustered(rng, grid, groups, correlation, sizes)
        for found, into in ((moments(values, labels), held), (moments(values), alone)):
            interval = mean_interval(found, bounds=(0.0, 1.0))
            if isinstance(interval, Interval):
                into.append(interval.low - 1e-9 <= GRID[grid].mean <= interval.high + 1e-9)
    return _mean(held), _mean(alone)


def cluster_table(repeats: int) -> Iterator[str]:
    counts = (10, 15, 30, 60)
    heads = " | ".join(f"{count} clusters" for count in counts)
    yield f"| scores | cluster sizes | correlation | {heads} | 30, as if independent |"
    yield "|---|---|---|" + "---|" * (len(counts) + 1)
    for grid in ("0/1, p = .8", "beta(4, 3)", "beta(5, .5)", "beta(.3, 6)"):
        for sizes in ("5", "1 to 10", "lognormal"):
            for correlation in (0.3, 0.7):
                seen = [cluster_coverage(grid, one, correlation, sizes, repeats=repeats, seed=6) for one in counts]
                cells = " | ".join(f"{covered:.1%}" for covered, _ in seen)
                yield f"| {grid} | {sizes} | {correlation} | {cells} | {seen[2][1]:.1%} |"


TABLES = {
    "means": mean_table,
    "clusters": cluster_table,
    "unbounded": unbounded_table,
    "paired": paired_table,
    "alarms": alarm_table,
    "ppi": ppi_table,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--repeats", type=int, default=20_000)
    args = parser.parse_args()
    for line in TABLES[args.table](args.repeats):
        print(line, flush=True)


if __name__ == "__main__":
    main()
