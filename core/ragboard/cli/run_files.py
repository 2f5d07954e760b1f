"""Run files that are given in place of run names. They are evaluated for one command, in a temporary store."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from ragboard.analysis import Condition, failures, run_summary, set_threshold, thresholds
from ragboard.api import gate_metrics, temporary_store
from ragboard.cli.evaluate import all_failed, evaluate_with_bar, print_failures, print_judge_note, print_outcome
from ragboard.cli.options import budget_options, judge_options, map_options, mapping_of, plugin_option, prices_option
from ragboard.errors import ExitCode, NotFoundError, SettingError
from ragboard.evaluation.defaults import default_metrics
from ragboard.evaluation.options import LIMITS, EvaluationOptions
from ragboard.judges import JudgeOptions, Panel, panel_named
from ragboard.metrics import Metric, describe, metrics_named, split_names
from ragboard.metrics.plugins import metrics_with
from ragboard.prices import Prices
from ragboard.readers import read_runs
from ragboard.readers.sources import is_address
from ragboard.store import RunRef, Store

__all__ = ["RunFiles", "run_file_options"]

_OPTIONS = (
    *(field.name for field in fields(JudgeOptions) if field.name != "parameters"),
    "judge_param",
    *LIMITS,
    "prices",
    "plugins",
    "maps",
    "sheet",
    "skip_bad",
)
"""The parameters that `run_file_options` adds to a command."""


@dataclass(frozen=True, kw_only=True)
class RunFiles:
    """The options for reading and evaluating run files."""

    judge_options: JudgeOptions
    limits: dict[str, Any]
    prices: Prices
    plugins: tuple[Path, ...]
    maps: tuple[str, ...]
    sheet: str | None
    skip_bad: bool

    def resolve(
        self,
        store: Store,
        runs: Sequence[str],
        metrics: str | None,
        conditions: Sequence[Condition] = (),
        *,
        defaults: bool,
    ) -> tuple[Store, list[RunRef]]:
        """Return these runs and their store. If any is a run file, this is a temporary store with all of the runs.

        - `metrics`: the metrics to evaluate with. The default is the metrics of the conditions.
        - `defaults`: add the default metrics to those of the conditions. Without conditions, they are always used.

        Run files are evaluated. Exits if an evaluation is stopped or gives no score.
        """
        files = [run for run in runs if _is_file(store, run)]
        if not files:
            self._refuse_options(runs)
            return store, [store.resolve(run) for run in runs]
        known = metrics_with(self.plugins)
        panel = panel_named(self.judge_options)
        if metrics:
            chosen = metrics_named(split_names(metrics), known)
        else:
            named = gate_metrics([condition.metric for condition in conditions], panel, known)
            added = default_metrics(panel) if defaults or not named else ()
            chosen = tuple({metric.spec: metric for metric in (*added, *named)}.values())
        print_judge_note(panel, self.judge_options)
        options = EvaluationOptions(prices=self.prices, known=known, judge_options=self.judge_options, **self.limits)
        temporary = temporary_store()
        refs: list[RunRef] = []
        for run in runs:
            names = [ref.name for ref in refs]
            if run in files:
                refs.append(_evaluate(temporary, self._import(temporary, run, names), chosen, panel, options))
            else:
                ref = store.resolve(run)
                refs.append(temporary.copy_run(store, ref, name=_free_name(ref.name, names)))
        _copy_thresholds(store, temporary, chosen)
        return temporary, refs

    def _import(self, store: Store, file: str, used_names: Sequence[str]) -> RunRef:
        result = read_runs(
            sys.stdin.buffer if file == "-" else file,
            mapping=mapping_of(self.maps),
            sheet=self.sheet,
            skip_bad=self.skip_bad,
        )
        run, *others = result.runs
        if others:
            names = ", ".join(one.name for one in result.runs)
            raise SettingError(
                f"{file}: contains {len(result.runs)} runs ({names}); import the file and name one of these runs"
            )
        (added,) = store.add_runs([replace(run, name=_free_name(run.name, used_names))])
        return RunRef(run_id=added.id, name=added.name, evaluation_id=None)

    def _refuse_options(self, runs: Sequence[str]) -> None:
        context = click.get_current_context()
        given = [
            param.opts[0]
            for param in context.command.params
            if param.name in _OPTIONS and context.get_parameter_source(param.name) is ParameterSource.COMMANDLINE
        ]
        if given:
            raise SettingError(
                f"{', '.join(given)} can be used only with run files, but {' and '.join(dict.fromkeys(runs))}"
                f" {'is' if len(set(runs)) == 1 else 'are'} in the store; to evaluate again, use ragboard evaluate"
            )


def run_file_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for run files. The command gets their values as one argument `files`, a `RunFiles`."""

    @wraps(command)
    def with_files(**given: Any) -> Any:
        files = RunFiles(**{field.name: given.pop(field.name) for field in fields(RunFiles)})
        return command(files=files, **given)

    decorated: Callable[..., Any] = with_files
    for add in (map_options, plugin_option, prices_option, budget_options, judge_options):
        decorated = add(decorated)
    return decorated


def _is_file(store: Store, run: str) -> bool:
    """Return whether `run` is a file and not the name of a run in the store. Does not create the store."""
    if run == "-" or is_address(run):
        return True
    if store.database.path.exists():
        with suppress(NotFoundError):
            store.resolve(run)
            return False
    return Path(run).exists() or bool(Path(run).suffix)


def _free_name(name: str, used_names: Sequence[str]) -> str:
    return f"{name} (B)" if name in used_names else name


def _evaluate(
    store: Store, ref: RunRef, metrics: tuple[Metric, ...], panel: Panel, options: EvaluationOptions
) -> RunRef:
    finished = evaluate_with_bar(store, ref, metrics, panel, options)
    ref = replace(ref, evaluation_id=finished.evaluation.id)
    print_outcome(finished)
    print_failures(ref.name, failures(store, ref))
    if finished.stopped:
        click.get_current_context().exit(ExitCode.STOPPED)
    if all_failed(finished, run_summary(store, ref)):
        click.get_current_context().exit(ExitCode.ERROR)
    return ref


def _copy_thresholds(source: Store, store: Store, metrics: Sequence[Metric]) -> None:
    if not source.database.path.exists():
        return
    known = {metric.spec: describe(metric) for metric in metrics}
    for spec, threshold in thresholds(source).items():
        if spec in known:
            set_threshold(store, spec, threshold.value, known)
