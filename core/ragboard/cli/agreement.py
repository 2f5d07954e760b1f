"""`ragboard agree`: compare metrics and judges with human labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import click
from tqdm import tqdm

from ragboard.cli.options import SEED_TYPE, Finite, as_json, judge_options, no_cache_option, plugin_option, store_option
from ragboard.cli.output import one_line, plain, print_json, print_table
from ragboard.errors import ExitCode
from ragboard.evaluation.options import EvaluationOptions
from ragboard.human.agree import AgreementResult, agree
from ragboard.human.agreement import Correlations, Measure, find_agreement, load_agreement
from ragboard.human.baselines import baseline_comparisons
from ragboard.human.grades import GradeLine, GradeReport, grade_report
from ragboard.human.passages import passage_agreement
from ragboard.human.preferences import PairAgreement, PairAnnotators, PreferenceReport, preference_report
from ragboard.judges import JudgeOptions, panel_named
from ragboard.metrics import metrics_named, split_names
from ragboard.metrics.plugins import metrics_with
from ragboard.readers.labels import read_labels
from ragboard.stats import estimate_text
from ragboard.stats.pairwise import Ties
from ragboard.store import Store

__all__ = ["agree_with_labels"]


@click.command("agree")
@click.argument("file")
@judge_options
@click.option("--metrics", "names", help="Comma-separated names.  [default: the default metric of each dimension]")
@click.option(
    "--ties",
    type=click.Choice(get_args(Ties)),
    default="random",
    show_default=True,
    help="How ties count: broken at random, as 0.5, as wrong, or excluded.",
)
@click.option(
    "--against",
    default="",
    metavar="NAME",
    help="Scorer to compare the others with (McNemar test).  [default: the first]",
)
@click.option("--dimension", default="", help="Dimension of graded answers.  [default: the first]")
@click.option("--at-least", type=Finite(), help="Lowest grade of a good answer.  [default: the middle of the scale]")
@click.option("--cut", type=Finite(), help="Threshold of the first scorer: the lowest good score.  [default: fitted]")
@click.option(
    "--cluster",
    metavar="COLUMN",
    help="Column that groups rows.  [default: the column cluster, or else conversation or question]",
)
@click.option("--seed", type=SEED_TYPE, default=0, show_default=True, help="Random seed for ties and bootstrap CIs.")
@no_cache_option
@plugin_option
@store_option
@as_json
def agree_with_labels(
    file: str,
    judge_options: JudgeOptions,
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
    """Compare metrics and judges with the labels in FILE: pairs, graded answers or passages, or labelled statements.

    The columns of FILE determine which labels are read; `hf:OWNER/NAME` reads a dataset from the Hugging Face Hub. The
    tables include trivial baselines (length, word overlap, a coin) and inter-annotator agreement. The result is saved,
    and the Agreement page of the dashboard shows it too.

    \b
    ragboard agree wikieval.jsonl
    ragboard agree hf:explodinggradients/WikiEval --judge openai:gpt-4o-mini --ties half
    ragboard agree graded.jsonl --dimension faithfulness --at-least 3
    ragboard agree statements.jsonl --json
    """
    known = metrics_with(plugins)
    metrics = metrics_named(split_names(names), known) if names else ()
    labels = read_labels(file, cluster=cluster)
    options = EvaluationOptions(cache=not no_cache, known=known, judge_options=judge_options)
    with tqdm(desc=plain(labels.name), unit="item", disable=None, leave=False) as bar:

        def watch(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        result = agree(store, labels, panel_named(judge_options), metrics, seed=seed, options=options, watch=watch)
    data = load_agreement(store, find_agreement(store, result.agreement.id))
    passages = passage_agreement(data)
    if passages and not as_json:
        click.echo(one_line(passages.sentence))
        click.echo(one_line(passages.details))
    report: PreferenceReport | GradeReport
    if labels.form == "pairs":
        report = preference_report(data, ties=ties, reference=against)
        dimensions = data.stored.dimensions
    else:
        cuts = {} if cut is None else {result.agreement.scorers[0].name: cut}
        report = grade_report(data, dimension, at_least=at_least, cuts=cuts)
        dimensions = (report.dimension,)
    against_baselines = [
        one for name in dimensions for one in baseline_comparisons(data, name, ties=ties, at_least=at_least)
    ]
    if as_json:
        more = {"passages": passages} if passages else {}
        print_json({"report": report, "baselines": against_baselines, **more, "agreed": result})
        _print_end(result)
        return
    for one in against_baselines:
        click.echo(one_line(one.sentence))
    if isinstance(report, PreferenceReport):
        _print_pairs(report)
    else:
        _print_grades(report)
    _print_end(result)


def _print_end(result: AgreementResult) -> None:
    tasks = [f"{result.asked} tasks run", f"{result.replayed} answered earlier"]
    tasks += [f"{result.failed} failed"] if result.failed else []
    click.echo(one_line(f"saved as {result.agreement.name}: {', '.join(tasks)}"), err=True)
    for note in result.agreement.notes:
        click.echo(one_line(note), err=True)
    if result.agreement.heuristic:
        click.echo("the embedded judge is rule-based: treat its scores as hints", err=True)
    if result.stopped:
        click.echo(one_line(f"stopped: {result.stopped}; replies so far are saved"), err=True)
        click.get_current_context().exit(ExitCode.STOPPED)


def _print_pairs(found: PreferenceReport) -> None:
    dimensions = found.stored.dimensions
    click.echo(one_line(f"{found.stored.items:,} pairs judged by {found.stored.agreement.judge}; {_ties(found)}"))
    rows = [[line.scorer.name, *(_cell(line.by_dimension.get(name)) for name in dimensions)] for line in found.lines]
    if any(one.accuracy for one in found.annotators.values()):
        rows.append(
            ["annotators, each vs the others", *(_annotator_accuracy(found.annotators[name]) for name in dimensions)]
        )
    rows += [
        [f"{line.name}, published", *(_published(line.accuracy.get(name)) for name in dimensions)]
        for line in found.published
    ]
    print_table(["accuracy", *dimensions], rows)
    if found.published:
        click.echo("published figures (RAGAS paper, Table 1) are for another model and other pairs")
    _print_mcnemar(found)
    _print_votes(found)


def _ties(found: PreferenceReport) -> str:
    seed = f", seed {found.stored.agreement.seed}" if found.ties == "random" else ""
    text = {
        "random": "broken at random",
        "half": "count 0.5",
        "loss": "count as wrong",
        "exclude": "excluded",
    }[found.ties]
    undecided = ", ".join(f"{one.undecided} {name}" for name, one in found.annotators.items() if one.undecided)
    excluded = f"; excluded because annotators prefer neither: {undecided}" if undecided else ""
    return f"ties: {text}{seed}{excluded}"


def _cell(cell: PairAgreement | None) -> str:
    if cell is None:
        return "-"
    if cell.accuracy.accuracy is None:
        return f"no score ({cell.accuracy.unscored} unscored)"
    ties = cell.accuracy.ties
    counts = {"tie" if ties == 1 else "ties": ties, "unscored": cell.accuracy.unscored}
    extra = "".join(f", {count} {word}" for word, count in counts.items() if count)
    return f"{estimate_text(cell.accuracy.accuracy, cell.interval, '.2f')}, n = {cell.accuracy.n}{extra}"


def _annotator_accuracy(annotators: PairAnnotators) -> str:
    found = annotators.accuracy
    return "-" if found is None or found.accuracy is None else estimate_text(found.accuracy, found.bootstrap, ".2f")


def _published(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _print_mcnemar(found: PreferenceReport) -> None:
    rows = [
        [line.scorer.name, *(_mcnemar(line.by_dimension.get(name)) for name in found.stored.dimensions)]
        for line in found.lines
        if any(cell.mcnemar for cell in line.by_dimension.values())
    ]
    if rows:
        click.echo()
        title = f"vs {found.reference} (McNemar test, clustered; Holm)"
        print_table([title, *found.stored.dimensions], rows)


def _mcnemar(cell: PairAgreement | None) -> str:
    if cell is None or cell.mcnemar is None or cell.p is None:
        return "-"
    return f"{cell.mcnemar.wins} wins, {cell.mcnemar.losses} losses, p = {cell.p:.2g}"


def _print_votes(found: PreferenceReport) -> None:
    rows: list[list[str]] = []
    for line in found.lines:
        votes = [cell.votes if (cell := line.by_dimension.get(name)) else None for name in found.stored.dimensions]
        if any(votes):
            rows.append([line.scorer.name, *(_correlations(vote) for vote in votes)])
    if rows:
        votes_of_annotators = [found.annotators[name].votes for name in found.stored.dimensions]
        click.echo()
        print_table(
            ["correlation of score difference (B - A) and votes", *found.stored.dimensions],
            [*rows, ["annotators with each other", *(_correlations(one) for one in votes_of_annotators)]],
        )
        click.echo("Pearson, Spearman, Kendall; CIs with --json")


def _correlations(found: Correlations | None) -> str:
    if found is None:
        return "-"
    return " ".join(_plain_number(one) for one in (found.pearson, found.spearman, found.kendall))


def _print_grades(found: GradeReport) -> None:
    agreement = found.stored.agreement
    click.echo(
        plain(
            f"{found.graded:,} items in {found.clusters:,} clusters, {found.dimension} judged by"
            f" {agreement.judge}; annotators rated {found.good:,} of {found.graded:,} at least {found.at_least:g}"
        )
    )
    rows = [_grade_row(line) for line in found.lines]
    ratings = found.annotators.agreement
    if ratings:
        numbers = (ratings.auroc, ratings.kappa, ratings.weighted_kappa)
        both = (ratings.correlations.pearson, ratings.correlations.kendall)
        middle = [_plain_number(both[0]), _measure(ratings.correlations.spearman), _plain_number(both[1])]
        rows.append(["annotators, each vs the others", "", *middle, *map(_measure, numbers), ""])
    print_table(
        ["", "unscored", "Pearson", "Spearman", "Kendall", "AUROC", "kappa", "weighted kappa", "threshold"], rows
    )
    if found.annotators.alpha:
        click.echo(
            f"Krippendorff's alpha of {found.annotators.annotators} annotators: {_measure(found.annotators.alpha)}"
        )
    _print_confusion(found.lines)


def _grade_row(line: GradeLine) -> list[str]:
    ratings = line.agreement
    return [
        line.scorer.name,
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
    first = next((line for line in lines if line.agreement.confusion), None)
    if first is None or first.agreement.confusion is None:
        return
    found = first.agreement.confusion
    click.echo()
    print_table(
        [first.scorer.name, "rated good", "rated not good"],
        [
            ["scored good", str(found.true_positives), str(found.false_positives)],
            ["scored not good", str(found.false_negatives), str(found.true_negatives)],
        ],
    )
    if first.calibration:
        click.echo(
            f"expected calibration error {first.calibration.error:.2f}, Brier score {first.calibration.brier:.2f}"
        )


def _measure(found: Measure) -> str:
    return "-" if found.value is None else estimate_text(found.value, found.interval, ".2f")


def _plain_number(found: Measure) -> str:
    return "-" if found.value is None else f"{found.value:.2f}"
