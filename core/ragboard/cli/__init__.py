"""The command line: `ragboard`.

Exit codes: 0 done; 1 an error that one line explains, or a condition that failed; 2 input or arguments that
cannot be used; 3 an evaluation stopped before all was asked; 4 a condition that the interval leaves open; 75 the
store or an evaluation is busy elsewhere; 130 stopped by the user.
"""

from __future__ import annotations

import sys
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple

import click

from ragboard.errors import RagboardError

__all__ = ["SECTIONS", "main"]


STOPPED_BY_USER = 130


class Listed(NamedTuple):
    """A command as the help lists it."""

    module: str
    """Of `ragboard.cli`; imported when the command is run, so that the help does not wait for pandas."""
    summary: str


SECTIONS: dict[str, dict[str, Listed]] = {
    "Start": {
        "demo": Listed("serving", "Evaluate two sample runs and open the dashboard."),
        "serve": Listed("serving", "Open the dashboard, on this machine only."),
        "import": Listed("runs", "Read a run file (JSONL, JSON, CSV, Parquet) into the store without evaluating it."),
        "plan": Listed("evaluate", "Estimate the calls, tokens and cost of an evaluation; nothing is sent."),
        "evaluate": Listed("evaluate", "Evaluate a run of the store, or a run file."),
        "retry": Listed("evaluate", "Ask again what failed in an evaluation, and nothing else."),
    },
    "Inspect": {
        "runs": Listed("runs", "List the runs with their means and 95% confidence intervals."),
        "show": Listed("runs", "Show a run, or one sample with the verdict on every statement."),
        "hallucinations": Listed("look", "List the statements that no passage supports, worst first."),
        "diagnose": Listed("look", "Diagnose a run: is the retriever or the generator at fault, and what to try."),
        "report": Listed("look", "Write a run, or a comparison of two, as one HTML file."),
        "export": Listed("look", "Write a table to a file: scores, statements, samples and more."),
        "query": Listed("look", "Query the store in DuckDB's SQL, read-only."),
    },
    "Decide": {
        "compare": Listed("compare", "Compare two runs question by question."),
        "check": Listed("compare", "Check a run's means against thresholds: pass, fail or inconclusive."),
        "threshold": Listed("compare", "Set or list the thresholds of metrics."),
        "prefer": Listed("compare", "Ask a judge which of two runs answers each question better (GPT Ranking)."),
    },
    "Human labels": {
        "label": Listed("labels", "Overrule or confirm the verdict on a statement."),
        "labels": Listed("labels", "Draw samples for annotation; export and import labels."),
        "agree": Listed("agreement", "Measure how far metrics and judges agree with people's labels."),
        "judge-report": Listed("agreement", "Replaced by `agree`."),
        "estimate": Listed("estimates", "Estimate a run's mean from a few human labels and a judge of every sample."),
        "rank": Listed("estimates", "Replaced by `estimate --from FILE`."),
        "simulate": Listed("estimates", "Simulate known data to see how far a statistical method can be trusted."),
    },
    "Train a judge": {
        "synth": Listed("train", "Make synthetic questions and answers, right and wrong, from your passages."),
        "train-judge": Listed("train", "Train a judge on synthetic or labelled data."),
    },
    "Housekeeping": {
        "rename": Listed("runs", "Rename a run."),
        "tag": Listed("runs", "Add tags to a run (+TAG) or remove them (-TAG)."),
        "rm": Listed("runs", "Delete runs with all their evaluations, after asking."),
        "cache": Listed("housekeeping", "List or delete cached answers of models."),
        "metrics": Listed("housekeeping", "List the metrics, or explain some."),
        "doctor": Listed("housekeeping", "Check the installation and the store, and say how to mend what is wrong."),
    },
}
"""The commands as the help lists them."""

_COMMANDS = {name: listed for commands in SECTIONS.values() for name, listed in commands.items()}


class _Commands(click.Group):
    """Turns our own errors into one line and an exit code, and lists the commands by what they are for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, from its module."""
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"{__name__}.{_COMMANDS[cmd_name].module}")
        return next(one for one in vars(module).values() if isinstance(one, click.Command) and one.name == cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections."""
        del ctx
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, listed.summary) for name, listed in commands.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except RagboardError as error:
            from ragboard.cli.output import one_line

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
    from ragboard.cli.settings_file import read_settings_file

    context.obj = read_settings_file(settings)
    context.default_map = dict.fromkeys(_COMMANDS, context.obj.defaults)
