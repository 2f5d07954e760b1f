"""The commands and the GitHub workflow that turn a comparison into a quality gate."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ragboard.analysis.compare import POINTS, Comparison, MetricComparison
from ragboard.analysis.gates import read_condition
from ragboard.analysis.means import MetricSummary
from ragboard.errors import SettingError
from ragboard.judges import JudgeOptions
from ragboard.judges.options import command_options, options_to_json
from ragboard.judges.registry import asks_models
from ragboard.stats import Interval

__all__ = ["check_command", "compare_command", "gate_workflow", "shell_quote"]

EXAMPLE = JudgeOptions(judge="openai:gpt-4o-mini", embed="openai:text-embedding-3-small")
ALLOWED = POINTS
"""The largest loss from A to B that the gate allows, on a metric from 0 to 1."""


def compare_command(compared: Comparison, a: str, b: str, *, allowed: float = ALLOWED, markdown: bool = False) -> str:
    """The `ragboard compare` command that fails if B is worse than A by more than `allowed` on a metric.

    `a` and `b` name the runs as on the page. On a metric with another range than 0 to 1, `allowed` is a share of the
    part of the range above 0. Empty if all metrics are neutral or have different judges in A and B.
    """
    options = [("--fail-if", condition) for one in compared.metrics for condition in _condition(one, allowed)]
    return _command("compare", options, (a, b), compared, markdown=markdown) if options else ""


def check_command(compared: Comparison, b: str, *, markdown: bool = False) -> str:
    """The `ragboard check` command that compares the means of B with the thresholds that are set.

    A metric without a threshold gets the worse end of its 95% CI, rounded so that B passes now. Empty if no metric of
    this comparison has a threshold or an interval.
    """
    options = [
        option for one in compared.metrics for option in _threshold_option(one, compared.b.metrics.get(one.metric))
    ]
    return _command("check", options, (b,), compared, markdown=markdown) if options else ""


def gate_workflow(compared: Comparison, judge_options: JudgeOptions | None, *, allowed: float = ALLOWED) -> str:
    """A GitHub workflow that evaluates new answers with the judges of `judge_options` and runs both commands.

    If `judge_options` is None (judges from Python, or scores from a file), the workflow names OpenAI's as an example
    and says so. `answer.py` is a placeholder for the RAG pipeline. An inconclusive result warns and passes.
    """
    a, b = compared.a.name, compared.b.name
    steps = {
        "Compare with the baseline": compare_command(compared, a, b, allowed=allowed, markdown=True),
        "Check the thresholds": check_command(compared, b, markdown=True),
    }
    given = judge_options or EXAMPLE
    text = _HEAD
    if judge_options is None:
        text += "      # These judges are an example: the command line cannot name those of the baseline.\n"
    text += _step("", [_evaluate(compared, b, given)])
    if asks_models(given):
        text += "        env:\n          OPENAI_API_KEY: ${{ secrets.OPENAI_API_KEY }}\n"
    for name, command in steps.items():
        if command:
            text += _step(name, ["code=0", f"{command} > summary.md || code=$?", *_VERDICT])
    return text


def shell_quote(text: str) -> str:
    """The text quoted as one shell word; control characters are escaped (`$'...'`) so it can be copied from a page."""
    if text.isprintable():
        return shlex.quote(text)
    escaped = "".join(
        f"\\{sign}" if sign in "\\'" else sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in text
    )
    return f"$'{escaped}'"


def _condition(one: MetricComparison, allowed: float) -> Iterator[str]:
    if one.pairs is None or one.better == "neutral":
        return
    low, high = one.range or (0.0, 1.0)
    loss = allowed * (high - max(low, 0.0))
    condition = f"{one.metric} < {-loss:g}" if one.better == "higher" else f"{one.metric} > {loss:g}"
    if _can_be_named(one.metric):
        yield condition


def _threshold_option(one: MetricComparison, summary: MetricSummary | None) -> Iterator[tuple[str, str]]:
    if summary is None or one.direction == "neutral" or not _can_be_named(one.metric):
        return
    option = "--min" if one.direction == "higher" else "--max"
    if summary.threshold:
        yield option, f"{one.metric}={summary.threshold.value:g}"
    elif isinstance(summary.interval, Interval):
        low, high = summary.interval.low, summary.interval.high
        threshold = math.floor(low * 100) / 100 if one.direction == "higher" else math.ceil(high * 100) / 100
        yield option, f"{one.metric}={threshold:g}"


def _can_be_named(spec: str) -> bool:
    """Whether a condition with this metric can be parsed."""
    try:
        return read_condition(f"{spec} < 0").metric == spec
    except SettingError:
        return False


def _command(
    name: str, options: Sequence[tuple[str, str]], runs: Sequence[str], compared: Comparison, *, markdown: bool
) -> str:
    """One command, one option per line; the runs come after `--` if one of them looks like an option."""
    lines = [f"{option} {shell_quote(value)}" for option, value in options]
    if compared.policy != "excluded":
        lines.append(f"--unscored {compared.policy}")
    if markdown:
        lines.append("--markdown")
    words = [shell_quote(run) for run in runs]
    if any(run.startswith("-") for run in runs):
        return " \\\n  ".join([f"ragboard {name}", *lines, f"-- {' '.join(words)}"])
    return " \\\n  ".join([f"ragboard {name} {' '.join(words)}", *lines])


def _evaluate(compared: Comparison, b: str, judge_options: JudgeOptions) -> str:
    metrics = ",".join(one.metric for one in compared.metrics if one.metric in compared.b.metrics)
    address = options_to_json(judge_options)["base_url"]
    live = replace(judge_options, batch=False, batch_interval=JudgeOptions.batch_interval)
    options = [("--metrics", metrics), *command_options(live), *([("--base-url", address)] if address else [])]
    return " \\\n  ".join(
        [
            f"ragboard evaluate answers.jsonl --name={shell_quote(b)}",
            *(f"{option} {' '.join(map(shell_quote, values))}" for option, *values in options),
        ]
    )


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
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: pip install ragboard
      - uses: actions/cache/restore@v4
        with:
          path: .ragboard
          key: baseline
          fail-on-cache-miss: true
      - run: python answer.py > answers.jsonl
"""
_VERDICT = (
    'cat summary.md >> "$GITHUB_STEP_SUMMARY"',
    'if [ "$code" = 4 ]; then echo "::warning::inconclusive: more questions are needed"; exit 0; fi',
    'exit "$code"',
)


def _step(name: str, lines: Sequence[str]) -> str:
    """One step. GitHub expands `${{ }}` before the shell runs, so one in a run's name is escaped."""
    script = "\n".join(lines).replace("${{", "${{ '${{' }}")
    title = f"      - name: {name}\n        run: |\n" if name else "      - run: |\n"
    return title + "".join(f"          {line}\n" for line in script.split("\n"))
