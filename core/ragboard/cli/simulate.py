"""Commands that simulate what is known beforehand, to see how far a method can be trusted."""

from __future__ import annotations

import click

from ragboard.cli.options import SEED, Finite, as_json
from ragboard.cli.output import print_json, print_table
from ragboard.errors import SettingError
from ragboard.stats import RankingSimulation, simulate_ranking

__all__ = ["simulate"]


@click.group()
def simulate() -> None:
    """Simulate what is known beforehand, to see how far a method can be trusted.

    \b
    ragboard simulate ranking --sensitivity 0.85 --specificity 0.85
    """


@simulate.command()
@click.option("--sensitivity", type=Finite(0, 1), default=0.9, show_default=True, help="Yes to successes.")
@click.option("--specificity", type=Finite(0, 1), default=0.9, show_default=True, help="No to failures.")
@click.option("--labels", type=click.IntRange(3), default=150, show_default=True, help="Labelled items a system.")
@click.option("--items", type=click.IntRange(5), default=2000, show_default=True, help="Judged items a system.")
@click.option("--repeats", type=click.IntRange(2), default=2000, show_default=True)
@click.option("--seed", type=SEED, default=0, show_default=True)
@as_json
def ranking(
    sensitivity: float, specificity: float, labels: int, items: int, repeats: int, seed: int, as_json: bool
) -> None:
    """Order nine systems of known success rate, 70 % to 90 % by 2.5, by judge, by labels and by both (as in ARES).

    \b
    ragboard simulate ranking --labels 300 --sensitivity 0.85
    """
    if labels > items - 2:
        raise SettingError(f"2 items without a label are needed, got {labels} of {items} labelled")
    found = simulate_ranking(
        sensitivity=sensitivity, specificity=specificity, labels=labels, items=items, repeats=repeats, seed=seed
    )
    if as_json:
        print_json(found)
    else:
        _print(found)


def _print(found: RankingSimulation) -> None:
    click.echo(
        f"{len(found.rates)} systems from {found.rates[0]:.1%} to {found.rates[-1]:.1%}; of each {found.items:,} items"
        f" judged, {found.labels:,} of them labelled; {found.repeats:,} repetitions, seed {found.seed}"
    )
    print_table(
        ["", "Kendall's tau", "middle 95 %", "intervals that hold the true rate"],
        [
            [
                arm.name,
                f"{arm.tau:.3f} ± {1.96 * arm.tau_error:.3f}",
                f"{arm.tau_low:.2f} to {arm.tau_high:.2f}",
                f"{arm.coverage:.1%}",
            ]
            for arm in found.arms
        ],
    )
