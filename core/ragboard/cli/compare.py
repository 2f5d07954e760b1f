"""Commands to compare two runs, to check and set thresholds, and to let a judge choose between two runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

import click

from ragboard.analysis import (
    DEFAULT_DIFFERENCE,
    DIFFERENT_JUDGES,
    Comparison,
    Condition,
    GateResult,
    MetricComparison,
    Unpaired,
    UnscoredPolicy,
    check_run,
    check_thresholds,
    choose_evaluations,
    compare_runs,
    cost_texts,
    detectable_in_words,
    gate_comparison,
    gate_text,
    judge_noise,
    metric_descriptions,
    overall_verdict,
    read_condition,
    resolve_spec,
    run_summary,
    set_threshold,
    threshold_conditions,
    thresholds,
)
from ragboard.cli.markdown import comparison_markdown, gates_markdown
from ragboard.cli.options import as_json, judge_options, markdown_option, store_option, unscored_option
from ragboard.cli.output import one_line, plain, print_json, print_table
from ragboard.cli.run_files import RunFiles, run_file_options
from ragboard.errors import ExitCode, SettingError
from ragboard.export.junit import junit_xml
from ragboard.human.pairwise import PairShare, Preferences, prefer_runs
from ragboard.judges import JudgeOptions, panel_named
from ragboard.outputs import check_output, write_output
from ragboard.stats import GateVerdict, Interval, NoInterval, estimate_text, interval_text
from ragboard.store import Store
from ragboard.tasks import Quality

__all__ = ["check", "compare", "prefer", "threshold"]


EXIT_CODES: dict[GateVerdict, ExitCode] = {
    "pass": ExitCode.DONE,
    "fail": ExitCode.GATE_FAILED,
    "inconclusive": ExitCode.INCONCLUSIVE,
}


@click.command()
@click.argument("run_a")
@click.argument("run_b")
@click.option(
    "--metrics",
    "names",
    help="Comma-separated metrics to print. Run files are evaluated with them. p values are adjusted for all metrics.",
)
@click.option(
    "--fail-if",
    "conditions",
    multiple=True,
    metavar="CONDITION",
    help="Fail on a difference (B - A), such as 'faithfulness < -0.02'; repeatable.",
)
@click.option(
    "--detect",
    "difference",
    type=click.FloatRange(0.001, 1),
    default=DEFAULT_DIFFERENCE,
    show_default=True,
    help="Print how many questions are needed to detect this difference.",
)
@click.option("--allow-different-judges", is_flag=True, help="Compare metrics even if different judges scored A and B.")
@unscored_option
@run_file_options
@store_option
@as_json
@markdown_option
def compare(
    run_a: str,
    run_b: str,
    names: str | None,
    conditions: tuple[str, ...],
    difference: float,
    allow_different_judges: bool,
    unscored: UnscoredPolicy,
    files: RunFiles,
    store: Store,
    as_json: bool,
    markdown: bool,
) -> None:
    """Compare RUN_B with RUN_A, question by question; differences are B minus A.

    RUN_A and RUN_B can be run files: they are evaluated for this command only, and nothing is stored.

    With --fail-if, the exit code is 0 (pass) if the 95% CIs exclude all conditions, 1 (fail) if a 95% CI is entirely
    within a condition, and 4 (inconclusive) otherwise.

    For each metric, the newest judge setup that evaluated both runs is used. If no judge setup evaluated both runs, the
    metric is not compared, and the exit code is 2.

    \b
    ragboard compare baseline rerank
    ragboard compare baseline rerank --fail-if 'faithfulness < -0.02' --markdown
    ragboard compare old.jsonl new.jsonl
    """
    gates = [read_condition(text) for text in conditions]
    store, (a, b) = files.resolve(store, (run_a, run_b), names, gates, defaults=True)
    a, b = choose_evaluations(store, a, b)
    found = compare_runs(store, a, b, unscored=unscored, allow_different_judges=allow_different_judges)
    noise = (*judge_noise(store, a), *(judge_noise(store, b) if b.run_id != a.run_id else ()))
    gated = gate_comparison(found, gates)
    check_thresholds(gated, metric_descriptions(store), difference=True)
    shown = _chosen(found, names)
    if as_json:
        print_json(
            {"comparison": found, "gates": gated, "verdict": overall_verdict(gated) if gated else None, "noise": noise}
        )
    elif markdown:
        click.echo(plain(comparison_markdown(found, shown, gated)))
    else:
        _print_comparison(found, shown, difference)
        for one in noise:
            click.echo(one_line(f"noise: {one}"))
        _print_gates(gated, difference=True)
    refused = [one.metric for one in shown if one.change == DIFFERENT_JUDGES]
    if refused and not gates:
        raise SettingError(
            f"not compared: {', '.join(refused)} (different judges). Evaluate both runs with the same judge,"
            " choose other metrics with --metrics, or pass --allow-different-judges"
        )
    _exit_with_verdict(gated)


@click.command()
@click.argument("run")
@click.option("--min", "least", multiple=True, metavar="METRIC=NUMBER", help="Lowest allowed mean; repeatable.")
@click.option("--max", "most", multiple=True, metavar="METRIC=NUMBER", help="Highest allowed mean; repeatable.")
@click.option("--metrics", "names", help="Metrics to evaluate a file with.  [default: those of --min and --max]")
@click.option(
    "--junit", type=click.Path(path_type=Path, dir_okay=False), help="Also write the result as a JUnit XML file."
)
@unscored_option
@run_file_options
@store_option
@as_json
@markdown_option
def check(
    run: str,
    least: tuple[str, ...],
    most: tuple[str, ...],
    names: str | None,
    junit: Path | None,
    unscored: UnscoredPolicy,
    files: RunFiles,
    store: Store,
    as_json: bool,
    markdown: bool,
) -> None:
    """Check the 95% CIs of a RUN's means against --min and --max; without these, against the stored thresholds.

    RUN can be a run file: it is evaluated for this command only, and nothing is stored.

    The exit code is 0 (pass) if every CI is entirely on the good side of its threshold, 1 (fail) if one is entirely on
    the bad side, and 4 (inconclusive) otherwise.

    \b
    ragboard check my-run --min faithfulness=0.9 --max hallucination=0.05
    ragboard check my-run --min faithfulness=0.9 --unscored zero
    ragboard check answers.jsonl --min faithfulness=0.9 --junit ragboard.xml
    """
    conditions = (*_conditions(least, "below"), *_conditions(most, "above"))
    if junit:
        check_output(junit, force=True)
    store, (ref,) = files.resolve(store, (run,), names, conditions, defaults=False)
    summary = run_summary(store, ref, unscored=unscored)
    gated = check_run(summary, conditions or threshold_conditions(summary))
    if not gated:
        raise SettingError(
            "nothing to check: pass --min METRIC=NUMBER or --max METRIC=NUMBER, or set a threshold: ragboard threshold"
        )
    check_thresholds(gated, metric_descriptions(store))
    if junit:
        write_output(junit, junit_xml(summary.name, gated).encode(), force=True)
    if as_json:
        print_json(
            {
                "run": summary.name,
                "unscored": unscored,
                "clustered": summary.clustered,
                "gates": gated,
                "verdict": overall_verdict(gated),
            }
        )
    elif markdown:
        click.echo(plain(gates_markdown(summary.name, gated, summary.clustered)))
    else:
        _print_gates(gated)
        if summary.clustered:
            click.echo(f"intervals are clustered by {summary.clustered}")
    _exit_with_verdict(gated)


def _conditions(pairs: tuple[str, ...], fail: Literal["below", "above"]) -> list[Condition]:
    found: list[Condition] = []
    for pair in pairs:
        metric, _, threshold = pair.rpartition("=")
        try:
            found.append(Condition(metric=metric.strip(), fail=fail, threshold=_finite(threshold)))
        except ValueError:
            raise SettingError(f"{pair!r} is not a threshold: expected METRIC=NUMBER") from None
    return found


def _finite(text: str) -> float:
    """Parse a number. Raises ValueError for invalid text, NaN and infinity."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _chosen(found: Comparison, names: str | None) -> tuple[MetricComparison, ...]:
    if names is None:
        return found.metrics
    by_spec = {metric.metric: metric for metric in found.metrics}
    return tuple(by_spec[resolve_spec(name.strip(), tuple(by_spec))] for name in names.split(","))


def _exit_with_verdict(gated: Sequence[GateResult]) -> None:
    click.get_current_context().exit(EXIT_CODES[overall_verdict(gated)])


def _print_comparison(found: Comparison, shown: Sequence[MetricComparison], difference: float) -> None:
    click.echo(one_line(found.sentence))
    if found.judged_by:
        click.echo(one_line(f"  judge: {found.judged_by}"))
    for setting in found.config:
        click.echo(one_line(f"  {setting.key}: {_given(setting.a)} in A, {_given(setting.b)} in B"))
    for caution in found.cautions:
        click.echo(one_line(f"  caution: {caution}"))
    if found.refusals and found.refusals.warning:
        click.echo(one_line(f"  caution: {found.refusals.warning}."))
    click.echo(one_line(_pairing(found)) + "\n")
    print_table(
        [
            "metric",
            "A",
            "B",
            "B - A",
            "95% CI",
            "p",
            "",
            "B higher/equal/lower",
            "pairs",
            "scored only in A",
            "scored only in B",
            "smallest detectable",
        ],
        [_row(metric) for metric in shown],
    )
    if found.costs:
        click.echo("\ncost and time per answer, from the run files; lower is better\n")
        print_table(
            ["column", "A", "B", "B - A", "p", "", "pairs"],
            [_cost(column) for column in found.costs],
        )
    cautions = [f"caution: {metric.caution}" for metric in shown if metric.caution and metric.p is not None]
    notes = [f"{metric.label}: {metric.note}" for metric in shown if metric.note]
    sizes = [f"{metric.label}: {text}" for metric in shown if (text := detectable_in_words(metric, difference))]
    for line in (*cautions, *notes, *sizes):
        click.echo(one_line(line))


def _pairing(found: Comparison) -> str:
    by_id = found.paired - found.by_question
    parts = [f"{found.paired:,} pairs: {found.by_question:,} by question text, {by_id:,} by sample id"]
    for side, run, unpaired in (("A", found.a, found.unpaired_a), ("B", found.b, found.unpaired_b)):
        if unpaired.only or unpaired.ambiguous:
            parts.append(f"{run.name} ({side}): {_unpaired(unpaired)}")
    return "; ".join(parts)


def _unpaired(unpaired: Unpaired) -> str:
    count = unpaired.only + unpaired.ambiguous
    more = ", ..." if count > len(unpaired.ids) else ""
    reasons = "; ".join(f"{number:,} {reason}" for reason, number in unpaired.reasons.items())
    return f"{count:,} unpaired: {reasons} ({', '.join(unpaired.ids)}{more})"


def _row(metric: MetricComparison) -> list[str]:
    found = metric.pairs
    only = [str(metric.scored_only_a), str(metric.scored_only_b)]
    if found is None:
        return [metric.metric, "-", "-", "-", "-", "-", metric.change, "-", "0", *only, "-"]
    return [
        metric.metric,
        f"{found.first:.3f}",
        f"{found.second:.3f}",
        f"{found.difference:+.3f}",
        "-" if metric.all_equal else _interval(found.interval),
        "-" if metric.p is None or metric.all_equal else f"{metric.p:.2g}",
        "all differences are 0" if metric.all_equal else metric.change,
        f"{found.sign.wins}/{found.ties}/{found.sign.losses}",
        str(found.n),
        *only,
        "-" if found.detectable is None else f"{found.detectable:.3f}",
    ]


def _cost(column: MetricComparison) -> list[str]:
    found = column.pairs
    if found is None:
        return [column.label, *["-"] * 4, column.change, "0"]
    mean_a, mean_b, difference, interval = cost_texts(found)
    p = "-" if column.p is None else f"{column.p:.2g}"
    return [column.label, mean_a, mean_b, f"{difference}, {interval}", p, column.change, str(found.n)]


def _interval(found: Interval | NoInterval) -> str:
    return f"none: {found.reason}" if isinstance(found, NoInterval) else interval_text(found, "+.3f")


def _print_gates(gated: Sequence[GateResult], *, difference: bool = False) -> None:
    for one in gated:
        click.echo(one_line(gate_text(one, difference=difference)))


def _given(value: object) -> str:
    return "not set" if value is None else str(value)


@click.command()
@click.argument("metric", required=False)
@click.argument("value", required=False, type=float)
@click.option("--remove", is_flag=True, help="Remove the threshold of the metric.")
@store_option
@as_json
def threshold(metric: str | None, value: float | None, remove: bool, store: Store, as_json: bool) -> None:
    """Set the threshold of a METRIC, or list all thresholds.

    VALUE is the lowest good mean, or the highest good mean if lower is better. The dashboard marks means that miss
    their thresholds, and `ragboard check RUN` checks a run against all thresholds.

    \b
    ragboard threshold
    ragboard threshold ragas.faithfulness 0.8
    ragboard threshold ragas.faithfulness --remove
    """
    if metric is not None:
        if remove == (value is not None):
            raise SettingError("give either a VALUE or --remove")
        known = metric_descriptions(store)
        set_threshold(store, resolve_spec(metric, tuple(known)), value, known)
    elif remove:
        raise SettingError("give the METRIC whose threshold to remove")
    found = thresholds(store)
    if as_json:
        print_json({"thresholds": list(found.values())})
    elif found:
        print_table(["metric", "threshold"], [[spec, str(limit)] for spec, limit in found.items()])
    else:
        click.echo("no thresholds left" if remove else "no thresholds yet; set one: ragboard threshold METRIC VALUE")


@click.command()
@click.argument("run_a")
@click.argument("run_b")
@click.option(
    "--quality",
    type=click.Choice(get_args(Quality)),
    default="faithfulness",
    show_default=True,
    help="What to compare.",
)
@judge_options
@store_option
@as_json
def prefer(run_a: str, run_b: str, quality: Quality, judge_options: JudgeOptions, store: Store, as_json: bool) -> None:
    """Let a judge decide which of two runs answers each shared question better (GPT Ranking).

    Every pair is judged in both orders. If the order changes the judge's choice, no run wins the pair. The output says
    how often the judge chose the first answer.

    \b
    ragboard prefer baseline rerank --quality answer_relevance --judge openai:gpt-4o-mini
    """
    result = prefer_runs(store, store.resolve(run_a), store.resolve(run_b), quality, panel_named(judge_options))
    if as_json:
        print_json(result)
        return
    _print_preferences(result)


def _print_preferences(found: Preferences) -> None:
    judged = len(found.choices)
    print_table(
        ["", "pairs"],
        [
            [f"{found.run_a} is better", str(found.a)],
            [f"{found.run_b} is better", str(found.b)],
            ["depends on the order", str(found.decided_by_order)],
            ["no usable reply", str(found.failed)],
        ],
    )
    click.echo(
        f"{found.quality}, {judged} pairs in both orders; {one_line(found.run_a)} won {_share(found.share_a)} of the"
        f" pairs with a winner; the judge chose the first answer {_share(found.first_chosen)} of the time"
    )
    unpaired = found.only_a + found.only_b + found.ambiguous
    if unpaired or found.without_text or found.identical:
        click.echo(
            f"not judged: {found.only_a} only in {one_line(found.run_a)},"
            f" {found.only_b} only in {one_line(found.run_b)},"
            f" {found.ambiguous} with several possible matches, {found.without_text} without answer or passages,"
            f" {found.identical} identical in both"
        )


def _share(found: PairShare | None) -> str:
    if found is None:
        return "none"
    return estimate_text(found.share, found.interval, ".0%")
