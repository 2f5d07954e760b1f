"""`ragboard judge-bench`: compare judges on labelled sets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click
from tqdm import tqdm

from ragboard.cli.markdown import escaped, markdown_table
from ragboard.cli.options import (
    SEED_TYPE,
    Finite,
    as_json,
    force_option,
    no_cache_option,
    prices_option,
    several_judges_options,
    store_option,
)
from ragboard.cli.output import one_line, plain, print_json, print_table
from ragboard.errors import ExitCode, SettingError
from ragboard.evaluation.options import EvaluationOptions
from ragboard.export.judge_chart import judge_chart
from ragboard.human.agreement import Measure
from ragboard.human.judge_bench import (
    VERDICTS,
    BenchFigures,
    BenchLine,
    JudgeBench,
    JudgeCost,
    VerdictFigures,
    judge_bench,
    read_bench_set,
)
from ragboard.judges import JudgeOptions, panel_named
from ragboard.outputs import check_output, write_output
from ragboard.prices import Prices
from ragboard.stats import NoInterval, estimate_text
from ragboard.store import Store

__all__ = ["bench_judges", "bench_markdown"]

TABLES_SECTION = re.compile(r"(<!-- judge-bench -->\n).*?(<!-- /judge-bench -->)", re.DOTALL)
"""Matches the part of a Markdown file that the tables replace."""

SUFFIXES = (".md", ".svg")


class Table(NamedTuple):
    """A table as text, for the terminal and for Markdown."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@click.command("judge-bench")
@click.argument("data", nargs=-1, required=True, metavar="DATA...")
@several_judges_options
@click.option(
    "--label", metavar="COLUMN", help="Column with a numeric grade of the answer, such as human.faithfulness."
)
@click.option("--at-least", type=Finite(), default=1.0, show_default=True, help="Lowest grade of a supported answer.")
@click.option(
    "--cluster",
    metavar="COLUMN",
    help="Column that groups rows.  [default: the column cluster, or else conversation or question]",
)
@click.option("--seed", type=SEED_TYPE, default=0, show_default=True, help="Seed of the bootstrap CIs.")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    help="File to write, repeatable: tables (.md) or a chart (.svg). In a Markdown file with the lines"
    " <!-- judge-bench --> and <!-- /judge-bench -->, only the part between them is replaced.",
)
@force_option
@no_cache_option
@prices_option
@store_option
@as_json
def bench_judges(
    data: tuple[str, ...],
    judge_setups: tuple[JudgeOptions, ...],
    label: str | None,
    at_least: float,
    cluster: str | None,
    seed: int,
    out: tuple[Path, ...],
    force: bool,
    no_cache: bool,
    prices: Prices,
    store: Store,
    as_json: bool,
) -> None:
    """Compare judges with human labels on one or more labelled sets, with word overlap and length as baselines.

    DATA are files with labelled statements or sentences, or with graded answers (pass --label); `hf:OWNER/NAME` reads a
    dataset from the Hugging Face Hub. Judge replies are saved, and are not requested again if you repeat the command.

    \b
    ragboard judge-bench statements.jsonl sentences.jsonl
    ragboard judge-bench statements.jsonl --judge embedded --judge openai:gpt-4o-mini --out judges.md --out judges.svg
    ragboard judge-bench answers.jsonl --label human.faithfulness --at-least 3 --cluster conversation --json
    """
    for path in out:
        if path.suffix not in SUFFIXES:
            raise SettingError(f"{path}: cannot write {path.suffix or 'a file without an extension'}; use .md or .svg")
        check_output(path, force=force or _has_tables_section(path))
    sets = [read_bench_set(source, cluster=cluster, label=label, at_least=at_least) for source in data]
    panels = [panel_named(judge_options) for judge_options in judge_setups]
    options = EvaluationOptions(cache=not no_cache, concurrency=judge_setups[0].concurrency, prices=prices)
    with tqdm(unit="item", disable=None, leave=False) as bar:

        def watch(name: str, judge: str, done: int, total: int) -> None:
            bar.set_description(plain(f"{judge} on {name}"), refresh=False)
            bar.total, bar.n = total, done
            bar.refresh()

        bench = judge_bench(store, sets, panels, seed=seed, options=options, watch=watch)
    for path in out:
        write_output(path, _content(path, bench).encode(), force=force or _has_tables_section(path))
    if as_json:
        print_json(bench)
    else:
        for number, table in enumerate(_tables(bench)):
            if number:
                click.echo()
            click.echo(one_line(table.title))
            print_table(table.head, table.rows)
    for note in _notes(bench):
        click.echo(one_line(note), err=True)
    if bench.stopped:
        click.echo(one_line(f"stopped: {bench.stopped}; replies so far are saved"), err=True)
        click.get_current_context().exit(ExitCode.STOPPED)


def _has_tables_section(path: Path) -> bool:
    """Return whether the file has a section for the tables, so that only this section is replaced."""
    return path.suffix == ".md" and path.is_file() and bool(TABLES_SECTION.search(path.read_text(encoding="utf-8")))


def _content(path: Path, bench: JudgeBench) -> str:
    if path.suffix == ".svg":
        return judge_chart(bench)
    tables = f"{bench_markdown(bench)}\n"
    if not _has_tables_section(path):
        return tables
    return TABLES_SECTION.sub(lambda section: f"{section[1]}\n{tables}\n{section[2]}", path.read_text(encoding="utf-8"))


def bench_markdown(bench: JudgeBench) -> str:
    """Return the tables as Markdown."""
    parts = (
        f"{escaped(table.title)}\n\n"
        + markdown_table([*map(escaped, table.head)], [[*map(escaped, row)] for row in table.rows])
        for table in _tables(bench)
    )
    return "\n\n".join(parts)


def _notes(bench: JudgeBench) -> Iterator[str]:
    for line in bench.lines:
        yield from (f"{name}: {line.name} is left out: {reason}" for name, reason in line.left_out.items())
        if line.heuristic:
            yield f"{line.name} is rule-based: treat its scores as hints"


def _tables(bench: JudgeBench) -> Iterator[Table]:
    yield Table(
        "Labelled sets",
        ("set", "labelled", "clusters", "supported", "labels"),
        [
            (
                one.name,
                f"{one.n:,} {one.kind}",
                f"{one.clusters:,}",
                f"{one.base_rate:.0%}",
                ", ".join(f"{count:,} {verdict}" for verdict, count in one.verdicts.items()),
            )
            for one in bench.sets
        ],
    )
    yield Table(
        f"Agreement with human labels (95% CIs by cluster; {bench.bins} calibration bins; all sets have equal weight)",
        ("set", "judge", "AUROC", "better than word overlap by", "balanced accuracy", "calibration error", "unscored"),
        [_figures_row(name, line, figures) for name, line, figures in _by_set(bench)],
    )
    judged = [(name, line, figures) for name, line, figures in _by_set(bench) if line.kind == "judge"]
    yield Table(
        "Precision / recall of each verdict",
        ("set", "judge", *VERDICTS),
        [
            (name, line.name, *(_verdict(figures.verdicts.get(one)) for one in VERDICTS))
            for name, line, figures in judged
        ],
    )
    if bench.differences:
        yield Table(
            "AUROC of judge B minus judge A, on the texts that both judged",
            ("set", "B", "A", "B - A"),
            [
                (name, one.b, one.a, _measure(difference, sign=True))
                for one in bench.differences
                for name, difference in (*one.by_set.items(), (_mean_name(len(one.by_set)), one.mean))
            ],
        )
    yield Table(
        "Cost, and time relative to finding the words with a regular expression",
        ("set", "judge", "calls", "tokens", "cost", "seconds", "relative time"),
        [(name, line.name, *_cost(figures.cost)) for name, line, figures in _by_set(bench, "all sets") if figures.cost],
    )


def _by_set(bench: JudgeBench, mean_name: str = "") -> Iterator[tuple[str, BenchLine, BenchFigures]]:
    """Yield (set, judge, figures) and, for several sets, the means of each judge under the name `mean_name`."""
    for one in bench.sets:
        yield from ((one.name, line, line.by_set[one.name]) for line in bench.lines if one.name in line.by_set)
    if len(bench.sets) > 1:
        yield from ((mean_name or _mean_name(line.mean.sets), line, line.mean) for line in bench.lines)


def _mean_name(sets: int) -> str:
    return f"mean of {sets} {'set' if sets == 1 else 'sets'}"


def _figures_row(name: str, line: BenchLine, figures: BenchFigures) -> tuple[str, ...]:
    error, pooled = figures.calibration_error, figures.pooled_calibration_error
    return (
        name,
        line.name,
        f"{_measure(figures.auroc)}{' of verdicts' if figures.ranked_by == 'verdict' else ''}",
        _measure(figures.better_by, sign=True),
        _measure(figures.balanced_accuracy),
        "-" if error is None else f"{error:.2f}{f', pooled {pooled:.2f}' if figures.sets > 1 else ''}",
        f"{figures.unscored:,} of {figures.n + figures.unscored:,}",
    )


def _measure(measure: Measure | None, *, sign: bool = False) -> str:
    if measure is None:
        return "-"
    if measure.value is None:
        return f"none: {measure.interval.reason}" if isinstance(measure.interval, NoInterval) else "-"
    return estimate_text(measure.value, measure.interval, "+.3f" if sign else ".3f")


def _verdict(figures: VerdictFigures | None) -> str:
    if figures is None:
        return "-"
    return " / ".join("-" if value is None else f"{value:.2f}" for value in (figures.precision, figures.recall))


def _cost(cost: JudgeCost) -> tuple[str, ...]:
    return (
        f"{cost.calls:,}{f' ({cost.cached:,} replies cached)' if cost.cached else ''}",
        f"{cost.tokens:,}",
        "unknown" if cost.cost is None else f"${cost.cost:.4f}",
        "-" if cost.seconds is None else f"{cost.seconds:.1f}",
        "-" if cost.times_regex is None else f"{cost.times_regex:,.0f}",
    )
