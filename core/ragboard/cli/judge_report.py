"""`ragboard judge-report`: compare a judge with the labels in a file, without a store."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path

import click

from ragboard.cli.options import SEED_TYPE, Finite, as_json
from ragboard.cli.output import print_json, print_table
from ragboard.human.judge_report import JudgeReport, judge_report, read_judged_rows
from ragboard.judges import judge_named
from ragboard.stats import Interval, NoInterval, ci_text, estimate_text

__all__ = ["report_judge"]


@click.command("judge-report")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--judge",
    default="embedded",
    envvar="RAGBOARD_JUDGE",
    show_default=True,
    show_envvar=True,
    help="embedded, openai:MODEL, local:MODEL, nli:MODEL, or replay:FILE.",
)
@click.option("--label", help="Column with a numeric grade of the answer, such as human.faithfulness.")
@click.option("--at-least", type=Finite(), default=1.0, show_default=True, help="Lowest grade of a faithful answer.")
@click.option("--cluster", help="Column that groups rows.  [default: question]")
@click.option("--seed", type=SEED_TYPE, default=0, show_default=True, help="Seed of the bootstrap CIs.")
@as_json
def report_judge(
    file: Path, judge: str, label: str | None, at_least: float, cluster: str | None, seed: int, as_json: bool
) -> None:
    """Deprecated: use `ragboard agree FILE`, which also saves the result.

    Compares a judge with the labels in FILE and with trivial baselines.

    `judge-bench` compares several judges on several files, `agree` compares metrics with labels. Both save the results.

    \b
    ragboard judge-report statements.jsonl
    ragboard judge-report statements.jsonl --judge openai:gpt-4o-mini --json
    ragboard judge-report answers.jsonl --label human.faithfulness --at-least 3 --cluster conversation
    """
    click.echo("note: use ragboard agree FILE, which saves its result, instead of ragboard judge-report FILE", err=True)
    rows = read_judged_rows(file, cluster=cluster, label=label, at_least=at_least)
    report = asyncio.run(judge_report(judge_named(judge), rows, seed=seed))
    if as_json:
        print_json(asdict(report) | {"times_regex": report.times_regex})
        return
    _print_report(report)


def _print_report(report: JudgeReport) -> None:
    unscored = f", {report.unscored} more without a score" if report.unscored else ""
    click.echo(f"{report.n} {report.kind}, {report.positive} positive, {report.clusters} clusters{unscored}")
    rows = [[report.judge, _estimate(report.auroc), ""]]
    rows += [
        [name, _estimate(each.auroc), _estimate(each.judge_better_by, sign=True)]
        for name, each in report.baselines.items()
    ]
    print_table(("", "AUROC", "judge better by"), rows)
    click.echo(f"balanced accuracy {report.balanced_accuracy:.2f}, calibration error {report.calibration.error:.2f}")
    click.echo(
        f"{report.seconds:.2f} s, {report.times_regex:.0f} times as long as finding the words with a regular expression"
    )


def _estimate(value: Interval | NoInterval, *, sign: bool = False) -> str:
    if isinstance(value, NoInterval):
        return ci_text(value)
    return estimate_text(value.estimate, value, "+.3f" if sign else ".3f")
