"""The command line: `ragboard`.

Exit codes: 0 done; 1 an error that one line explains, or a condition that failed; 2 input or arguments that
cannot be used; 3 an evaluation stopped before all was asked; 4 a condition that the interval leaves open; 75 the
store or an evaluation is busy elsewhere; 130 stopped by the user.
"""

from __future__ import annotations

import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import click

from ragboard.cli.agreement import agree_with_people, report_judge
from ragboard.cli.compare import check, compare, prefer, threshold
from ragboard.cli.estimates import estimate, rank, simulate
from ragboard.cli.evaluate import evaluate, plan, retry
from ragboard.cli.housekeeping import cache, doctor, metrics
from ragboard.cli.labels import label, labels
from ragboard.cli.look import diagnose_run, export, list_hallucinations, query, report
from ragboard.cli.output import one_line
from ragboard.cli.runs import import_runs, rename, rm, runs, show, tag
from ragboard.cli.serving import demo, serve
from ragboard.cli.settings_file import read_settings_file
from ragboard.cli.train import synth, train
from ragboard.errors import RagboardError

__all__ = ["main"]


STOPPED_BY_USER = 130


SECTIONS: dict[str, tuple[click.Command, ...]] = {
    "Start": (demo, serve, import_runs, plan, evaluate, retry),
    "Inspect": (runs, show, list_hallucinations, diagnose_run, report, export, query),
    "Decide": (compare, check, threshold, prefer),
    "Human labels": (label, labels, agree_with_people, report_judge, estimate, rank, simulate),
    "Train a judge": (synth, train),
    "Housekeeping": (rename, tag, rm, cache, metrics, doctor),
}
"""The commands as the help lists them."""
SUMMARY = 200
"""Characters that the help gives a command at most, over several lines."""


class _Commands(click.Group):
    """Turns our own errors into one line and an exit code, and lists the commands by what they are for."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections, the first sentence of each command whole."""
        del ctx
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(one.name or "", one.get_short_help_str(SUMMARY)) for one in commands])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except RagboardError as error:
            click.echo(one_line(f"ragboard: {error}"), err=True)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo("ragboard: stopped", err=True)
            ctx.exit(STOPPED_BY_USER)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="ragboard")
@click.option(
    "--settings",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="RAGBOARD_SETTINGS",
    show_envvar=True,
    help="TOML file with default options; else ./ragboard.toml if it exists.",
)
@click.pass_context
def main(context: click.Context, settings: Path | None) -> None:
    """See which sentence of a RAG answer no passage supports, and keep every run.

    \b
    ragboard demo                            open the evaluated sample runs in a browser
    ragboard evaluate answers.jsonl          import a run file and evaluate it
    ragboard serve                           open the dashboard
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    context.obj = read_settings_file(settings)
    context.default_map = dict.fromkeys(main.commands, context.obj.defaults)


for commands in SECTIONS.values():
    for command in commands:
        main.add_command(command)
