"""Write the commands and the GitHub workflow that turn a comparison into a quality gate."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ragboard.analysis.compare import DEFAULT_DIFFERENCE, Comparison, MetricComparison
from ragboard.analysis.gates import read_condition
from ragboard.analysis.means import MetricSummary
from ragboard.analysis.reference_answers import ANSWERS_ARE_REFERENCES
from ragboard.errors import SettingError
from ragboard.judges import JudgeOptions
from ragboard.judges.options import command_options, options_to_json
from ragboard.judges.registry import uses_server
from ragboard.stats import Interval

__all__ = ["check_command", "compare_command", "gate_workflow", "shell_quote"]

EXAMPLE = JudgeOptions(judge="openai:gpt-4o-mini", embed="openai:text-embedding-3-small")
ALLOWED = DEFAULT_DIFFERENCE
"""The largest loss from A to B that the gate allows by default, on a metric from 0 to 1."""


def compare_command(compared: Comparison, a: str, b: str, *, allowed: float = ALLOWED) -> str:
    """Return the `ragboard compare` command that fails if B is worse than A by more than `allowed` on a metric.

    `a` and `b` are the names of the runs in the command. `allowed` is a share of the metric's range, whose negative
    part does not count. Empty if every metric is neutral, has different judges in A and B, or compares references with
    themselves.
    """
    options = [("--fail-if", condition) for condition in _conditions(compared, allowed)]
    return _command("compare", options, (a, b), compared) if options else ""


def check_command(compared: Comparison, b: str) -> str:
    """Return the `ragboard check` command that compares the means of B with thresholds.

    If the user set no threshold for a metric, the threshold is the worse end of the 95% CI, rounded so that B passes.
    Empty if no metric of the comparison has a threshold or an interval.
    """
    options = _threshold_options(compared)
    return _command("check", options, (b,), compared) if options else ""


def gate_workflow(compared: Comparison, judge_options: JudgeOptions | None, *, allowed: float = ALLOWED) -> str:
    """Return a GitHub workflow that evaluates new answers and runs both checks, with ragboard's action.

    `answer.py` stands for the RAG pipeline and `main.jsonl` for the answers to compare with. Without `judge_options`
    (judges built in Python, or scores from a file), the workflow names OpenAI models as an example, and a comment says
    so. Secrets in the options are left out. Empty if there is nothing to check.
    """
    judges = judge_options or EXAMPLE
    conditions, thresholds = _conditions(compared, allowed), _threshold_options(compared)
    if not conditions and not thresholds:
        return ""
    inputs: dict[str, str | list[str]] = {
        "file": "answers.jsonl",
        "min": [threshold for option, threshold in thresholds if option == "--min"],
        "max": [threshold for option, threshold in thresholds if option == "--max"],
        "baseline": "main.jsonl" if conditions else "",
        "fail-if": conditions,
        "unscored": "" if compared.policy == "excluded" else compared.policy,
        "metrics": ",".join(metric.metric for metric in compared.metrics if metric.metric in compared.b.metrics),
        **_judge_inputs(judges),
        "requirement": "./ragboard",
    }
    comment = "" if judge_options else _EXAMPLE_COMMENT
    key = _KEY if uses_server(judges) else ""
    return (
        _HEAD
        + comment
        + _STEP
        + key
        + "        with:\n"
        + "".join(_input(name, value) for name, value in inputs.items() if value)
    )


def shell_quote(text: str) -> str:
    """Quote a text as one shell word. Control characters are escaped (`$'...'`), so that they can be copied."""
    if text.isprintable():
        return shlex.quote(text)
    escaped = "".join(
        f"\\{sign}" if sign in "\\'" else sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in text
    )
    return f"$'{escaped}'"


def _conditions(compared: Comparison, allowed: float) -> list[str]:
    """Return for each metric the condition that fails the gate: a larger loss from A to B than allowed."""
    return [
        _condition(metric, allowed)
        for metric in compared.metrics
        if metric.pairs is not None
        and metric.change != ANSWERS_ARE_REFERENCES
        and metric.better_direction != "neutral"
        and _can_be_named(metric.metric)
    ]


def _condition(metric: MetricComparison, allowed: float) -> str:
    low, high = metric.range or (0.0, 1.0)
    loss = allowed * (high - max(low, 0.0))
    return f"{metric.metric} < {-loss:g}" if metric.better_direction == "higher" else f"{metric.metric} > {loss:g}"


def _threshold_options(compared: Comparison) -> list[tuple[str, str]]:
    """Return the options `--min` and `--max` with the thresholds for the means of B."""
    metrics = compared.b.metrics
    return [option for metric in compared.metrics for option in _threshold_option(metric, metrics.get(metric.metric))]


def _threshold_option(metric: MetricComparison, summary: MetricSummary | None) -> Iterator[tuple[str, str]]:
    if summary is None or summary.caution or metric.direction == "neutral" or not _can_be_named(metric.metric):
        return
    option = "--min" if metric.direction == "higher" else "--max"
    if summary.threshold:
        yield option, f"{metric.metric}={summary.threshold.value:g}"
    elif isinstance(summary.interval, Interval):
        low, high = summary.interval.low, summary.interval.high
        threshold = math.floor(low * 100) / 100 if metric.direction == "higher" else math.ceil(high * 100) / 100
        yield option, f"{metric.metric}={threshold:g}"


def _can_be_named(spec: str) -> bool:
    """Return whether a condition with this metric can be parsed."""
    try:
        return read_condition(f"{spec} < 0").metric == spec
    except SettingError:
        return False


def _command(name: str, options: Sequence[tuple[str, str]], runs: Sequence[str], compared: Comparison) -> str:
    """Return one command, one option per line. If a run's name starts with `-`, the runs follow after `--`."""
    lines = [f"{option} {shell_quote(value)}" for option, value in options]
    if compared.policy != "excluded":
        lines.append(f"--unscored {compared.policy}")
    words = [shell_quote(run) for run in runs]
    if any(run.startswith("-") for run in runs):
        return " \\\n  ".join([f"ragboard {name}", *lines, f"-- {' '.join(words)}"])
    return " \\\n  ".join([f"ragboard {name} {' '.join(words)}", *lines])


_HEAD = """\
name: answers
on: pull_request
permissions:
  contents: read
jobs:
  gate:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/checkout@v4
        with:
          repository: OWNER/ragboard
          path: ragboard
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: python answer.py > answers.jsonl
"""
_EXAMPLE_COMMENT = "      # These judges are an example: the judges of the baseline have no command-line options.\n"
_STEP = "      - uses: ./ragboard\n"
_KEY = "        env:\n          OPENAI_API_KEY: ${{ secrets.OPENAI_API_KEY }}\n"


def _judge_inputs(judge_options: JudgeOptions) -> dict[str, str | list[str]]:
    """Return the inputs of the action that describe the judges.

    Options without an input of their own are in the input `options`. The batch API is not used.
    """
    input_names = {"--judge": "judge", "--embed": "embed"}
    without_batch = replace(judge_options, batch=False, batch_interval=JudgeOptions.batch_interval)
    options = [(option, value) for option, *values in command_options(without_batch) for value in values]
    named: dict[str, str | list[str]] = {
        input_names[option]: value for option, value in options if option in input_names
    }
    rest = [f"{option}={_one_line(value)}" for option, value in options if option not in input_names]
    return {**named, "base-url": options_to_json(judge_options)["base_url"] or "", "options": rest}


def _one_line(value: str) -> str:
    """Escape line breaks. Only a regular expression can have any, and in it `\\n` matches a line break."""
    return value.replace("\n", r"\n")


def _input(name: str, value: str | list[str]) -> str:
    """Return an input of the action as YAML. `${{` is escaped, because GitHub would expand it."""
    if isinstance(value, list) and len(value) > 1 and all(line.isprintable() for line in value):
        return f"          {name}: |\n" + "".join(f"            {_escaped(line)}\n" for line in value)
    text = "\n".join(value) if isinstance(value, list) else value
    return f"          {name}: {_scalar(_escaped(text))}\n"


def _escaped(text: str) -> str:
    return text.replace("${{", "${{ '${{' }}")


def _scalar(text: str) -> str:
    """Return the text unchanged if YAML reads it as this text, else quoted."""
    if _PLAIN.fullmatch(text):
        return text
    escaped = "".join(
        f"\\{sign}" if sign in '\\"' else sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in text
    )
    return f'"{escaped}"'


_PLAIN = re.compile(
    r"(?!(?:true|false|null|yes|no|on|off)$)(?:\./)?[a-z][\w./:,=()-]*[\w)](?: [<>] -?[\d.e-]+)?",
    re.ASCII | re.IGNORECASE,
)
"""Matches texts that YAML reads unchanged: names, paths, URLs and conditions."""
