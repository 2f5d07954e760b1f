"""The commands that compare metrics and judges with people's labels."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import get_args

import click
from tqdm import tqdm

from ragboard.cli.evaluate import STOPPED
from ragboard.cli.options import SEED, Finite, as_json, judging_options, no_cache_option, plugin_option, store_option
from ragboard.cli.output import one_line, plain, print_json, print_table
from ragboard.evaluation.options import EvaluationOptions
from ragboard.human.agree import Agreed, agree
from ragboard.human.agreement import Correlations, Measure, agreement_named, load_agreement
from ragboard.human.grades import GradeLine, GradeReport, grade_report
from ragboard.human.judge_report import JudgeReport, judge_report, read_judged_rows
from ragboard.human.preferences import PairCell, PairPeople, PreferenceReport, preference_report
from ragboard.judges import JudgeOptions, judge_named, panel_named
from ragboard.metrics import metrics_named, split_names
from ragboard.metrics.plugins import metrics_with
from ragboard.readers.labels import read_labels
from ragboard.stats import Interval, NoInterval, ci_text, estimate_text
from ragboard.stats.pairwise import Ties
from ragboard.store import Store

__all__ = ["agree_with_people", "report_judge"]


@click.command("agree")
@click.argument("file")
@judging_options
@click.option("--metrics", "names", help="Names separated by commas; else the default metric of each dimension.")
@click.option(
    "--ties", type=click.Choice(get_args(Ties)), default="random", show_default=True, help="How a tie counts."
)
@click.option("--against", default="", metavar="NAME", help="Scorer to test the others against; else the first.")
@click.option("--dimension", default="", help="Graded answers: which grades to use; else the first.")
@click.option("--at-least", type=Finite(), help="Lowest grade of a good answer; else the middle of the scale.")
@click.option("--cut", type=Finite(), help="Lowest good score of the first scorer; else fitted.")
@click.option("--cluster", metavar="COLUMN", help="Column that groups rows; else conversation or question.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of coin flips and bootstrap CIs.")
@no_cache_option
@plugin_option
@store_option
@as_json
def agree_with_people(
    file: str,
    judging: JudgeOptions,
    names: str | None,
    ties: Ties,
    against: str,
    dimension: str,
    at_least: float | None,
    cut: float | None,
    cluster: str | None,
    seed: int,
    no_cache: bool,
    plugins: tuple[Path, ...],
    store: Store,
    as_json: bool,
) -> None:
    """Compare metrics and judges with the labels in FILE: pairs, graded answers or labelled statements.

    The columns of FILE tell which; `hf:OWNER/NAME` reads a data set from the Hugging Face hub. The tables add trivial
    baselines (length, word overlap, a coin) and inter-annotator agreement. The dashboard shows the result too.

    \b
    ragboard agree wikieval.jsonl
    ragboard agree hf:explodinggradients/WikiEval --judge openai:gpt-4o-mini --ties half
    ragboard agree graded.jsonl --dimension faithfulness --at-least 3
    ragboard agree statements.jsonl --json
    """
    known = metrics_with(plugins)
    metrics = metrics_named(split_names(names), known) if names else ()
    judged = read_labels(file, cluster=cluster)
    options = EvaluationOptions(cache=not no_cache, known=known, judging=judging, concurrency=judging.concurrency)
    with tqdm(desc=plain(judged.name), unit="item", disable=None, leave=False) as bar:

        def watch(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        agreed = agree(store, judged, panel_named(judging), metrics, seed=seed, options=options, watch=watch)
    heard = load_agreement(store, agreement_named(store, agreed.agreement.id))
    found: PreferenceReport | GradeReport
    if judged.form == "pairs":
        found = preference_report(heard, ties=ties, against=against)
    else:
        cuts = {} if cut is None else {agreed.agreement.contenders[0].name: cut}
        found = grade_report(heard, dimension, at_least=at_least, cuts=cuts)
    if as_json:
        print_json({"report": found, "agreed": agreed})
    elif isinstance(found, PreferenceReport):
        _print_pairs(found)
    else:
        _print_grades(found)
    _print_end(agreed)


def _print_end(agreed: Agreed) -> None:
    said = [f"{agreed.asked} tasks asked", f"{agreed.replayed} answered before"]
    said += [f"{agreed.failed} failed"] if agreed.failed else []
    click.echo(one_line(f"saved as {agreed.agreement.name}: {', '.join(said)}"), err=True)
    for note in agreed.agreement.notes:
        click.echo(one_line(note), err=True)
    if agreed.agreement.heuristic:
        click.echo("the embedded judge is rule-based: treat its scores as hints", err=True)
    if agreed.stopped:
        click.echo(one_line(f"stopped: {agreed.stopped}; answers so far are saved"), err=True)
        click.get_current_context().exit(STOPPED)


def _print_pairs(found: PreferenceReport) -> None:
    dimensions = found.kept.dimensions
    click.echo(one_line(f"{found.kept.items:,} pairs judged by {found.kept.agreement.judge}; {_ties(found)}"))
    rows = [[line.contender.name, *(_cell(line.cells.get(name)) for name in dimensions)] for line in found.lines]
    if any(people.accuracy for people in found.people.values()):
        rows.append(["annotators, each vs the others", *(_ceiling(found.people[name]) for name in dimensions)])
    rows += [
        [f"{line.name}, published", *(_published(line.accuracy.get(name)) for name in dimensions)]
        for line in found.published
    ]
    print_table(["accuracy", *dimensions], rows)
    if found.published:
        click.echo("published: another model and other pairs (RAGAS paper, Table 1), not reproduced here")
    click.echo(one_line(found.sentence))
    _print_duels(found)
    _print_votes(found)


def _ties(found: PreferenceReport) -> str:
    seed = f", seed {found.kept.agreement.seed}" if found.policy == "random" else ""
    said = {"random": "a coin flip", "half": "half right", "loss": "wrong", "exclude": "left out"}[found.policy]
    undecided = ", ".join(f"{one.undecided} {name}" for name, one in found.people.items() if one.undecided)
    left = f"; left out because annotators prefer neither: {undecided}" if undecided else ""
    return f"a tie is {said}{seed}{left}"


def _cell(cell: PairCell | None) -> str:
    if cell is None:
        return "-"
    if cell.accuracy.accuracy is None:
        return f"no score ({cell.accuracy.unscored} unscored)"
    ties = cell.accuracy.ties
    counts = {"tie" if ties == 1 else "ties": ties, "unscored": cell.accuracy.unscored}
    said = "".join(f", {count} {word}" for word, count in counts.items() if count)
    return f"{estimate_text(cell.accuracy.accuracy, cell.interval, '.2f')} of {cell.accuracy.n}{said}"


def _ceiling(people: PairPeople) -> str:
    found = people.accuracy
    return "-" if found is None or found.accuracy is None else estimate_text(found.accuracy, found.bootstrap, ".2f")


def _published(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _print_duels(found: PreferenceReport) -> None:
    rows = [
        [line.contender.name, *(_duel(line.cells.get(name)) for name in found.kept.dimensions)]
        for line in found.lines
        if any(cell.duel for cell in line.cells.values())
    ]
    if rows:
        click.echo()
        title = f"vs {found.against} (McNemar, by question where pairs share one; Holm)"
        print_table([title, *found.kept.dimensions], rows)


def _duel(cell: PairCell | None) -> str:
    if cell is None or cell.duel is None or cell.p is None:
        return "-"
    return f"{cell.duel.wins} right alone, {cell.duel.losses} wrong alone, p = {cell.p:.2g}"


def _print_votes(found: PreferenceReport) -> None:
    rows: list[list[str]] = []
    for line in found.lines:
        votes = [cell.votes if (cell := line.cells.get(name)) else None for name in found.kept.dimensions]
        if any(votes):
            rows.append([line.contender.name, *(_three(one) for one in votes)])
    if rows:
        people = [found.people[name].votes for name in found.kept.dimensions]
        click.echo()
        print_table(
            ["score difference (B - A) with votes", *found.kept.dimensions],
            [*rows, ["annotators with each other", *(_three(one) for one in people)]],
        )
        click.echo("Pearson, Spearman, Kendall; CIs with --json")


def _three(found: Correlations | None) -> str:
    if found is None:
        return "-"
    return " ".join(_plain_number(one) for one in (found.pearson, found.spearman, found.kendall))


def _print_grades(found: GradeReport) -> None:
    kept = found.kept
    click.echo(
        plain(
            f"{found.graded:,} items in {found.clusters:,} clusters, {found.dimension} judged by"
            f" {kept.agreement.judge}; annotators rated {found.good:,} of {found.graded:,} at least {found.at_least:g}"
        )
    )
    rows = [_grade_row(line) for line in found.lines]
    people = found.people.ratings
    if people:
        numbers = (people.auroc, people.kappa, people.weighted_kappa)
        both = (people.correlations.pearson, people.correlations.kendall)
        middle = [_plain_number(both[0]), _measure(people.correlations.spearman), _plain_number(both[1])]
        rows.append(["annotators, each vs the others", "", *middle, *map(_measure, numbers), ""])
    print_table(
        ["", "unscored", "Pearson", "Spearman", "Kendall", "AUROC", "kappa", "weighted kappa", "good from"], rows
    )
    if found.people.alpha:
        click.echo(f"Krippendorff's alpha of {found.people.raters} annotators: {_measure(found.people.alpha)}")
    _print_confusion(found.lines)


def _grade_row(line: GradeLine) -> list[str]:
    ratings = line.ratings
    return [
        line.contender.name,
        str(line.unscored),
        _plain_number(ratings.correlations.pearson),
        _measure(ratings.correlations.spearman),
        _plain_number(ratings.correlations.kendall),
        _measure(ratings.auroc),
        _measure(ratings.kappa),
        _measure(ratings.weighted_kappa),
        "-" if line.cut is None else f"{line.cut.threshold:.3g}{'' if line.chosen else ' (fitted)'}",
    ]


def _print_confusion(lines: Sequence[GradeLine]) -> None:
    first = next((line for line in lines if line.ratings.agreement), None)
    if first is None or first.ratings.agreement is None:
        return
    found = first.ratings.agreement
    click.echo()
    print_table(
        [first.contender.name, "rated good", "rated not good"],
        [
            ["scored good", str(found.true_positives), str(found.false_positives)],
            ["scored not good", str(found.false_negatives), str(found.true_negatives)],
        ],
    )
    if first.calibration:
        click.echo(f"calibration error {first.calibration.error:.2f}, Brier score {first.calibration.brier:.2f}")


def _measure(found: Measure) -> str:
    return "-" if found.value is None else estimate_text(found.value, found.interval, ".2f")


def _plain_number(found: Measure) -> str:
    return "-" if found.value is None else f"{found.value:.2f}"


@click.command("judge-report")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--judge",
    default="embedded",
    envvar="RAGBOARD_JUDGE",
    show_default=True,
    show_envvar=True,
    help="embedded, openai:MODEL, or replay:FILE.",
)
@click.option("--label", help="Column with a number that grades the whole answer.  [human.faithfulness]")
@click.option("--at-least", type=Finite(), default=1.0, show_default=True, help="Lowest grade of a faithful answer.")
@click.option("--cluster", help="Field that groups rows; else the question.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the bootstrap CIs.")
@as_json
def report_judge(
    file: Path, judge: str, label: str | None, at_least: float, cluster: str | None, seed: int, as_json: bool
) -> None:
    """Compare a judge with the labels in FILE, beside word overlap and length; use `ragboard agree` instead.

    `agree` compares any metrics and judges, and saves the result for the dashboard.

    \b
    ragboard judge-report statements.jsonl
    ragboard judge-report statements.jsonl --judge openai:gpt-4o-mini --json
    ragboard judge-report answers.jsonl --label human.faithfulness --at-least 3 --cluster conversation
    """
    click.echo("note: use ragboard agree FILE, which saves its result, instead of ragboard judge-report FILE", err=True)
    rows = read_judged_rows(file, cluster=cluster, label=label, at_least=at_least)
    report = asyncio.run(judge_report(judge_named(judge), rows, seed=seed))
    if as_json:
        print_json(asdict(report) | {"times_plain": report.times_plain})
        return
    _print_report(report)


def _print_report(report: JudgeReport) -> None:
    unscored = f", {report.unscored} more without a score" if report.unscored else ""
    click.echo(f"{report.n} {report.kind}, {report.positive} positive, {report.clusters} clusters{unscored}")
    rows = [[report.judge, _signed(report.auroc), ""]]
    rows += [
        [name, _signed(each.auroc), _signed(each.judge_better_by, sign=True)]
        for name, each in report.contenders.items()
    ]
    print_table(("", "AUROC", "judge better by"), rows)
    click.echo(f"balanced accuracy {report.balanced_accuracy:.2f}, calibration error {report.calibration.error:.2f}")
    click.echo(f"{report.seconds:.2f} s, {report.times_plain:.0f} times the time of a plain pass over the words")


def _signed(value: Interval | NoInterval, *, sign: bool = False) -> str:
    if isinstance(value, NoInterval):
        return ci_text(value)
    return estimate_text(value.estimate, value, "+.3f" if sign else ".3f")
