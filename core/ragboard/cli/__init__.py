"""The command line: `ragboard`. Its exit codes are `ragboard.errors.ExitCode`."""

from __future__ import annotations

import sys
import traceback
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple

import click

from ragboard.errors import ExitCode, RagboardError

__all__ = ["SECTIONS", "main", "run"]


class CommandEntry(NamedTuple):
    """The module and summary of a command."""

    module: str
    """Module in `ragboard.cli`. It is imported only when the command runs, so `--help` does not wait for pandas."""
    summary: str


SECTIONS: dict[str, dict[str, CommandEntry]] = {
    "Start": {
        "demo": CommandEntry("serving", "Open the dashboard with two sample runs and their verdicts."),
        "serve": CommandEntry("serving", "Start the dashboard."),
        "mcp": CommandEntry("serving", "Let an assistant read the store (Model Context Protocol)."),
        "import": CommandEntry(
            "imports", "Import a run file (JSONL, JSON, CSV, Parquet) into the store without evaluating it."
        ),
        "plan": CommandEntry("evaluate", "Estimate the calls, tokens and cost of an evaluation; nothing is sent."),
        "evaluate": CommandEntry("evaluate", "Evaluate a run in the store, or a run file."),
        "retry": CommandEntry("evaluate", "Retry the failed tasks of an evaluation."),
    },
    "Live traffic": {
        "collect": CommandEntry("collect", "Collect traces (OpenTelemetry) of a running system as samples."),
        "watch": CommandEntry("traffic", "Evaluate new samples of growing runs as they come."),
        "alert": CommandEntry("alert", "Send a message when a metric misses its threshold, gets worse or recovers."),
        "prune": CommandEntry("traffic", "Delete old samples of growing runs."),
    },
    "Inspect": {
        "runs": CommandEntry("runs", "List the runs with their means and 95% confidence intervals."),
        "datasets": CommandEntry("datasets", "List the datasets: the questions that runs share."),
        "trend": CommandEntry("trends", "Show a metric of a dataset over time, and when it changed."),
        "show": CommandEntry("runs", "Show a run, or one sample with the verdict on every statement."),
        "hallucinations": CommandEntry("results", "List the statements that no passage supports, worst first."),
        "refusals": CommandEntry(
            "results",
            "Count right and wrong refusals in a run: which questions can be answered, and which answers refuse.",
        ),
        "diagnose": CommandEntry(
            "results", "Find out whether the retriever or the generator is at fault, and what to try."
        ),
        "report": CommandEntry("results", "Write an HTML report of a run, or of two runs compared."),
        "export": CommandEntry("results", "Write a table to a file: scores, statements, samples and more."),
        "push": CommandEntry("results", "Upload runs with their scores to the Hugging Face Hub."),
        "rewrite": CommandEntry("datasets", "Rewrite follow-up questions to be clear without the conversation."),
        "query": CommandEntry("results", "Query the store with DuckDB SQL, read-only."),
    },
    "Decide": {
        "compare": CommandEntry("compare", "Compare two runs question by question."),
        "check": CommandEntry("compare", "Check a run's means against thresholds: pass, fail or inconclusive."),
        "threshold": CommandEntry("compare", "Set or list the thresholds of metrics."),
        "prefer": CommandEntry(
            "compare", "Let a judge decide which of two runs answers each question better (GPT Ranking)."
        ),
    },
    "Human labels": {
        "label": CommandEntry("labels", "Overrule or confirm the verdict on a statement."),
        "labels": CommandEntry("labels", "Choose random samples to label; export and import labels."),
        "nuggets": CommandEntry("datasets", "Write, approve and show nuggets: the facts that a good answer states."),
        "agree": CommandEntry("agreement", "Measure how well metrics and judges agree with human labels."),
        "judge-bench": CommandEntry(
            "judge_bench", "Compare judges on labelled data, with word overlap and length as baselines."
        ),
        "judge-report": CommandEntry("judge_report", "Replaced by `agree`."),
        "estimate": CommandEntry(
            "estimates", "Estimate a run's mean from a few human labels and a judge's scores of all samples (PPI)."
        ),
        "rank": CommandEntry("estimates", "Replaced by `estimate --from FILE`."),
        "simulate": CommandEntry("estimates", "Check a statistical method on simulated data with known truth."),
    },
    "Train a judge": {
        "synth": CommandEntry("train", "Generate questions with right and wrong answers from your passages."),
        "train-judge": CommandEntry("train", "Train a judge on synthetic or labelled data."),
    },
    "Housekeeping": {
        "rename": CommandEntry("runs", "Rename a run."),
        "tag": CommandEntry("runs", "Add tags to a run (+TAG) or remove them (-TAG)."),
        "rm": CommandEntry("runs", "Delete runs with all their evaluations, after confirmation."),
        "cache": CommandEntry("housekeeping", "List or delete cached model replies."),
        "judges": CommandEntry("judges", "List the judges, embedders and local model presets."),
        "metrics": CommandEntry("housekeeping", "List the metrics, or explain one."),
        "doctor": CommandEntry(
            "housekeeping", "Check the installation and the store, and say how to fix what is wrong."
        ),
    },
}
"""The commands by section, in the order of the help."""

_COMMANDS = {name: entry for commands in SECTIONS.values() for name, entry in commands.items()}


class _Commands(click.Group):
    """A command group with sections. Prints ragboard's errors on one line and exits with their code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command and return the command; None for an unknown name."""
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
                formatter.write_dl([(name, entry.summary) for name, entry in commands.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except RagboardError as error:
            from ragboard.display import one_line

            click.echo(one_line(f"ragboard: {error}"), err=True)
            ctx.exit(error.exit_code)
        except (KeyboardInterrupt, click.Abort):
            click.echo("ragboard: stopped", err=True)
            ctx.exit(ExitCode.INTERRUPTED)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="ragboard")
@click.option(
    "--settings",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="RAGBOARD_SETTINGS",
    show_envvar=True,
    help="TOML file with default options.  [default: ./ragboard.toml if it exists]",
)
@click.pass_context
def main(context: click.Context, settings: Path | None) -> None:
    """Evaluate RAG answers: find unsupported statements and compare runs.

    \b
    ragboard demo                            open two sample runs in the dashboard
    ragboard evaluate answers.jsonl          import a run file and evaluate it
    ragboard serve                           open the dashboard
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    from ragboard.cli.settings_file import read_settings_file

    context.obj = read_settings_file(settings)
    context.default_map = dict.fromkeys(_COMMANDS, context.obj.defaults)


def run() -> None:
    """Run the command line. On an unexpected error, print a traceback and exit with ExitCode.ERROR."""
    try:
        main(prog_name="ragboard")
    except Exception:  # noqa: BLE001 - Python would exit with 1, the code of a failed gate
        traceback.print_exc()
        sys.exit(ExitCode.ERROR)
