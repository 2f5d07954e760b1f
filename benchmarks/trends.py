"""Simulate the false alarms and the delay of the change detector.

    python benchmarks/trends.py alarms [--years N] [--design DESIGN]
    python benchmarks/trends.py delay [--years N] [--samples N]
    python benchmarks/trends.py unknown [--years N]

`alarms` prints the share of projects with an alarm in any of their series, within a year in which nothing changes.
`delay` prints the days from a planted drop of 5 points to its report. It also prints them for two ideal detectors that
know the drop and the variance, with a threshold for 5% false alarms: CUSUM knows the mean before the drop, the other
one does not. Because ragboard has fewer false alarms than 5% if days differ by no more than sampling explains, the
table also has its false alarms in the same simulated years, and CUSUM with a threshold for as many.

`unknown` prints how long the detector would take if it knew more, in the hardest case: 20 series with 20 samples a day
each, and 60 days before the drop.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from ragboard.stats import monitoring
from ragboard.stats.monitoring import Batches, find_changes

Values = NDArray[np.float64]
DAYS = 365
DROP = 0.05
ALPHA = 0.05
SIZES = (20, 50, 200)
"""Numbers of samples a day, for delays."""
FIRST = 14
"""Number of days before the first change that can be detected."""
NULL_YEARS = 3000
"""Number of years without a drop that give the thresholds of the ideal detectors."""


@dataclass(frozen=True)
class Scores:
    """A distribution of scores; `draw(rng, shape, drop)` lowers its mean by `drop`."""

    name: str
    mean: float
    deviation: float
    draw: Callable[[np.random.Generator, tuple[int, ...], float], Values]


def _faithfulness(rng: np.random.Generator, shape: tuple[int, ...], drop: float) -> Values:
    return np.where(rng.random(shape) < 0.7 - drop / 0.4, 1.0, rng.beta(3, 2, shape))


def _rarely_bad(rng: np.random.Generator, shape: tuple[int, ...], drop: float) -> Values:
    return (rng.random(shape) < 0.97 - drop).astype(float)


def _symmetric(rng: np.random.Generator, shape: tuple[int, ...], drop: float) -> Values:
    return np.clip(rng.normal(0.6 - drop, 0.2, shape), 0, 1)


SCORES = (
    Scores("faithfulness: 70% ones, else beta(3, 2)", 0.88, math.sqrt(0.7 + 0.3 * 0.4 - 0.88**2), _faithfulness),
    Scores("0/1, 97% ones", 0.97, math.sqrt(0.97 * 0.03), _rarely_bad),
    Scores("normal, deviation 0.2", 0.6, 0.197, _symmetric),
)


def _moments(values: Values) -> tuple[Values, Values, Values]:
    mean = values.mean(axis=-1)
    deviations = values - mean[..., None]
    return mean, (deviations**2).mean(axis=-1), (deviations**3).mean(axis=-1)


def _batches(values: Values, effects: Values | float = 0.0) -> Batches:
    mean, variance, third = _moments(values)
    return Batches(n=np.full(mean.size, float(values.shape[-1])), mean=mean + effects, variance=variance, third=third)


def _unequal(rng: np.random.Generator, scores: Scores, size: int) -> Batches:
    """Return a year in which weekends have a fifth of the samples, and days vary by up to half."""
    counts = [max(1, round(size * (0.2 if day % 7 > 4 else 1.0) * rng.uniform(0.5, 1.5))) for day in range(DAYS)]
    moments = [(count, *_moments(scores.draw(rng, (count,), 0.0))) for count in counts]
    n, mean, variance, third = np.array(moments, dtype=float).T
    return Batches(n=n, mean=mean, variance=variance, third=third)


def _year(rng: np.random.Generator, scores: Scores, size: int, design: str) -> tuple[Batches, float]:
    match design:
        case "days of different size":
            return _unequal(rng, scores, size), DAYS
        case "days differ":  # by as much as their samples explain
            effects = rng.normal(0, scores.deviation / math.sqrt(size), DAYS)
            return _batches(scores.draw(rng, (DAYS, size), 0.0), effects), DAYS
        case "weekends differ":
            effects = np.where(np.arange(DAYS) % 7 > 4, -0.02, 0.0)
            return _batches(scores.draw(rng, (DAYS, size), 0.0), effects), DAYS
        case "6 hours":
            return _batches(scores.draw(rng, (4 * DAYS, size // 4), 0.0)), 4 * DAYS
        case _:
            return _batches(scores.draw(rng, (DAYS, size), 0.0)), DAYS


DESIGNS = ("equal days", "days of different size", "days differ", "weekends differ", "6 hours")
"""How samples are distributed over time. `6 hours` has equal batches of 6 hours."""


def alarms(years: int, designs: Sequence[str]) -> Iterator[str]:
    """Yield the table of false alarms."""
    yield "| scores | samples a day | days | 1 series | 20 series |"
    yield "|---|---|---|---|---|"
    cases = [(number, design, years) for number in range(len(SCORES)) for design in designs]
    with ProcessPoolExecutor(2) as pool:
        yield from pool.map(_alarm_row, cases)


def _alarm_row(case: tuple[int, str, int]) -> str:
    """Return a row of the table. Series are independent, so 20 years stand for a project with 20 series."""
    number, design, years = case
    scores, size = SCORES[number], 120 if design == "6 hours" else 30
    rng = np.random.default_rng([1, number, DESIGNS.index(design)])
    single = pooled = 0
    for _ in range(years):
        batches, per_year = _year(rng, scores, size, design)
        if find_changes(batches, size=DROP, per_year=per_year):  # a stricter threshold reports a subset
            single += 1
            pooled += bool(find_changes(batches, size=DROP, per_year=per_year, series=20))
    return f"| {scores.name} | {size} | {design} | {single / years:.1%} | {1 - (1 - pooled / years) ** 20:.1%} |"


def _cusum(means: Values, scores: Scores, size: int) -> Values:
    """Return the statistic of CUSUM for each year and day, given daily means."""
    gain = DROP / scores.deviation**2 * size
    found, total = np.zeros(means.shape), np.zeros(len(means))
    for day in range(means.shape[1]):
        total = np.maximum(0, total + gain * (scores.mean - DROP / 2 - means[:, day]))
        found[:, day] = total
    return found


def _without_mean(means: Values, scores: Scores, size: int) -> Values:
    """Return the statistic of a detector that knows all but the mean, for each year and day.

    It is the log of the sum of likelihood ratios of the difference between the means after and before a start, over all
    starts from the 15th day on (Shiryaev and Roberts). For 0/1 scores, the variance would tell the mean.
    """
    if scores.draw is _rarely_bad:
        return _without_rate(np.round((1 - means) * size), size)
    shift = DROP / scores.deviation * math.sqrt(size)
    sums = np.zeros((len(means), means.shape[1] + 1))
    sums[:, 1:] = np.cumsum((means - scores.mean) * math.sqrt(size) / scores.deviation, axis=1)
    found = np.full(means.shape, -np.inf)
    for end in range(FIRST + 1, means.shape[1] + 1):
        before = np.arange(FIRST, end)
        after = end - before
        information = before * after / end
        fall = sums[:, FIRST:end] / before - (sums[:, end, None] - sums[:, FIRST:end]) / after
        found[:, end - 1] = np.log(np.exp(shift * information * (fall - shift / 2)).sum(axis=1))
    return found


def _without_rate(errors: Values, size: int) -> Values:
    """Return the same statistic for 0/1 scores, given the number of zeros on each day.

    The sum of likelihood ratios for a known share of zeros is averaged over the posterior of this share.
    """
    rates = np.geomspace(0.004, 0.2, 48)
    one, zero = np.log((1 - rates - DROP) / (1 - rates)), np.log((rates + DROP) / rates)
    found = np.full(errors.shape, -np.inf)
    sums, total = np.full((len(errors), rates.size), -np.inf), np.zeros((len(errors), 1))
    for day in range(errors.shape[1]):
        zeros = errors[:, day, None]
        total += zeros
        if day < FIRST:
            continue
        sums = np.logaddexp(0, sums) + zeros * zero + (size - zeros) * one
        posterior = total * np.log(rates) + (size * (day + 1) - total) * np.log(1 - rates)
        posterior -= np.logaddexp.reduce(posterior, axis=1, keepdims=True)
        found[:, day] = np.logaddexp.reduce(posterior + sums, axis=1)
    return found


def _delays(statistic: Values, threshold: float, planted: int) -> list[float]:
    """Return the days from the drop until the statistic reaches the threshold, for each year."""
    reached = statistic[:, planted:] >= threshold
    return [float(row.argmax()) + 1 if row.any() else math.inf for row in reached]


def delay(years: int, sizes: Sequence[int]) -> Iterator[str]:
    """Yield the table of delays.

    CUSUM's threshold for another share of false alarms is shifted by the logarithm of the ratio of the shares, because
    its largest value in a year has an exponential tail with rate 1.
    """
    yield (
        "| scores | samples a day | days before the drop | series | CUSUM | mean unknown | ragboard | ratio"
        " | false alarms | CUSUM with as many | ratio |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for number, scores in enumerate(SCORES):
        for size in sizes:
            rng = np.random.default_rng([2, number, size])
            years_drawn = [scores.draw(rng, (100, DAYS, size), 0.0) for _ in range(NULL_YEARS // 100)]
            null = [values.mean(axis=-1) for values in years_drawn]
            false_alarms = _false_alarms([one for values in years_drawn for one in values])
            ideals = (_cusum, _without_mean)
            largest = [np.concatenate([ideal(part, scores, size).max(axis=1) for part in null]) for ideal in ideals]
            for planted in (60, 180):
                drawn = [
                    np.concatenate(
                        [scores.draw(rng, (planted, size), 0.0), scores.draw(rng, (DAYS - planted, size), DROP)]
                    )
                    for _ in range(years)
                ]
                means = np.array([values.mean(axis=-1) for values in drawn])
                statistics = [ideal(means, scores, size) for ideal in ideals]
                for series in (1, 20):
                    thresholds = [float(np.quantile(values, 1 - ALPHA / series)) for values in largest]
                    cusum, unknown = (
                        float(np.median(_delays(statistic, threshold, planted)))
                        for statistic, threshold in zip(statistics, thresholds, strict=True)
                    )
                    ours = float(np.median([_first_delay(_batches(values), planted, series) for values in drawn]))
                    rate = false_alarms[series]
                    level = thresholds[0] + math.log(ALPHA / series / max(rate, 1 / NULL_YEARS))
                    equal = float(np.median(_delays(statistics[0], level, planted)))
                    yield (
                        f"| {scores.name} | {size} | {planted} | {series} | {cusum:g} | {unknown:g} | {ours:g} |"
                        f" {ours / cusum:.2f} | {1 - (1 - rate) ** series:.1%} | {equal:g} | {ours / equal:.2f} |"
                    )


KNOWN: dict[str, dict[str, Any]] = {
    "nothing": {"NO_DISPERSION": monitoring.NO_DISPERSION},
    "that days differ by sampling only": {"NO_DISPERSION": 1 - 1e-12},
    "also size and direction": {
        "NO_DISPERSION": 1 - 1e-12,
        "SIZE_WEIGHTS": (0.0, 1.0, 0.0, 0.0, 0.0),
        "WORSE_WEIGHT": 1 - 1e-12,
        "ALPHA_SHARE": 1.0,
    },
}
"""What the detector knows, with the constants of `monitoring` that say so."""


def unknown(years: int) -> Iterator[str]:
    """Yield the table of delays of a detector that knows more."""
    yield f"| scores | {' | '.join(KNOWN)} |"
    yield f"|---|{'---:|' * len(KNOWN)}"
    for number, scores in enumerate(SCORES):
        rng = np.random.default_rng([3, number])
        days: list[float] = []
        drawn = [
            np.concatenate([scores.draw(rng, (60, 20), 0.0), scores.draw(rng, (DAYS - 60, 20), DROP)])
            for _ in range(years)
        ]
        for constants in KNOWN.values():
            with patch.multiple(monitoring, **constants):
                days.append(float(np.median([_first_delay(_batches(values), 60, 20) for values in drawn])))
        yield f"| {scores.name} | {' | '.join(f'{one:g}' for one in days)} |"


def _false_alarms(years: Sequence[Values]) -> dict[int, float]:
    """Return the share of years in which a series has a false alarm, by the number of series of its project."""
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(_false_alarm, years, chunksize=50))
    return {series: sum(one[series] for one in found) / len(found) for series in (1, 20)}


def _false_alarm(values: Values) -> dict[int, bool]:
    single = bool(find_changes(_batches(values), size=DROP))  # a stricter threshold reports a subset
    return {1: single, 20: single and bool(find_changes(_batches(values), size=DROP, series=20))}


def _first_delay(batches: Batches, planted: int, series: int) -> float:
    for change in find_changes(batches, size=DROP, series=series):
        if change.seen >= planted and change.difference < 0:
            return change.seen - planted + 1
    return math.inf


def main() -> None:
    """Run one of the simulations."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("alarms", "delay", "unknown"))
    parser.add_argument("--years", type=int, default=300)
    parser.add_argument("--design", choices=DESIGNS, help="of the days, for alarms; all by default")
    parser.add_argument("--samples", type=int, choices=SIZES, help="a day, for delay; all by default")
    args = parser.parse_args()
    designs = [args.design] if args.design else DESIGNS
    sizes = [args.samples] if args.samples else SIZES
    tables = {
        "alarms": alarms(args.years, designs),
        "delay": delay(args.years, sizes),
        "unknown": unknown(args.years),
    }
    for line in tables[args.what]:
        print(line, flush=True)


if __name__ == "__main__":
    main()
