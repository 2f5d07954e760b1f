"""Load metrics from the user's files: Python classes, or TOML tables of aspects."""

from __future__ import annotations

import inspect
import re
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from hashlib import blake2b
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import cast, get_args

from ragboard.errors import SettingError
from ragboard.metrics import METRICS, Metric
from ragboard.metrics.base import CATEGORIES, Column, Direction, Need
from ragboard.metrics.critique import aspects_from_file
from ragboard.records import MorePassages

__all__ = ["metrics_with"]

CLASS_VARIABLES = ("source", "name", "title", "formula", "paper", "requires", "range", "direction", "calls")


def metrics_with(plugins: Iterable[Path]) -> Mapping[str, Metric]:
    """Return ragboard's metrics and the metrics in the files, by full name.

    Every public subclass of `Metric` in a Python file becomes a metric; names of base classes must begin with an
    underscore. A TOML file contains aspects (`aspects_from_file`).

    Raises SettingError if a file cannot be read or run, contains no metric or an incomplete metric, or a metric whose
    name or title another metric has.
    """
    known = dict(METRICS)
    for path in dict.fromkeys(plugin.resolve() for plugin in plugins):
        for metric in aspects_from_file(path) if path.suffix == ".toml" else _metrics_in(path):
            _check_free(path, metric, known)
            known[metric.spec] = metric
    return known


def _check_free(path: Path, metric: Metric, known: Mapping[str, Metric]) -> None:
    if metric.spec in known:
        raise SettingError(f"{path}: {metric.spec} already exists; change the source or name")
    taken_by = next((other.spec for other in known.values() if other.label == metric.label), None)
    if taken_by:
        raise SettingError(f"{path}: {metric.spec}: {taken_by} already has the title {metric.label!r}; choose another")


def _metrics_in(path: Path) -> tuple[Metric, ...]:
    module = _load(path)
    metrics = tuple(_create(path, kind) for kind in _metric_classes(module))
    if not metrics:
        raise SettingError(f"{path}: contains no metric; expected a public subclass of ragboard.Metric")
    return metrics


def _metric_classes(module: ModuleType) -> Iterator[type[Metric]]:
    for name, kind in vars(module).items():
        is_metric = isinstance(kind, type) and issubclass(kind, Metric) and kind.__module__ == module.__name__
        if is_metric and not name.startswith("_"):
            yield kind


def _load(path: Path) -> ModuleType:
    """Run the file as a module, unless its current content was run before. Dataclasses need it in `sys.modules`."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SettingError(f"{path}: {error.strerror or error}; expected a Python file with metrics") from error
    name = f"ragboard_plugin_{blake2b(str(path).encode() + content, digest_size=6).hexdigest()}"
    return sys.modules.get(name) or _run(path, name)


def _run(path: Path, name: str) -> ModuleType:
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise SettingError(f"{path}: not a Python file; expected a name that ends in .py")
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, SyntaxError):
            raise SettingError(f"{path}:{error.lineno}: {error.msg}") from error
        if isinstance(error, Exception | SystemExit):
            raise SettingError(f"{path}:{_line(path, error)}: {type(error).__name__}: {error}") from error
        raise
    return module


def _line(path: Path, error: BaseException) -> int | None:
    """Return the number of the file's last line in the traceback; None if the file is not in it."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return lines[-1] if lines else None


def _create(path: Path, kind: type[Metric]) -> Metric:
    """Return a metric of this class with its default settings."""
    try:
        metric = kind() if not (problem := _class_problem(kind)) else None
        problem = problem or _needs_problem(metric)
    except (TypeError, ValueError) as error:
        raise SettingError(f"{path}: {kind.__name__}: cannot be created with its defaults: {error}") from error
    if metric is None or problem:
        raise SettingError(f"{path}: {kind.__name__}: {problem}")
    return metric


def _class_problem(kind: type[Metric]) -> str:
    missing = [name for name in CLASS_VARIABLES if not hasattr(kind, name)]
    if missing:
        return f"has no {', '.join(missing)}; a metric defines {', '.join(CLASS_VARIABLES)}"
    if inspect.isabstract(kind):
        return f"has no method {', '.join(sorted(kind.__abstractmethods__))}"
    if not (is_dataclass(kind) and "__dataclass_params__" in vars(kind)):
        return "is not a dataclass; add @dataclass(frozen=True)"
    return _value_problem(kind)


def _value_problem(kind: type[Metric]) -> str:
    for name in ("source", "name"):
        if not re.fullmatch(r"[a-z][a-z0-9_]*", str(getattr(kind, name))):
            return f"{name} is {getattr(kind, name)!r}, expected lower-case letters, digits and underscores"
    if kind.source == "metadata":
        return "source is 'metadata', which is reserved for columns of the run file; choose another"
    for name in ("title", "formula", "paper", "calls"):
        if not isinstance(getattr(kind, name), str):
            return f"{name} is {getattr(kind, name)!r}, expected a string"
    if kind.direction not in get_args(Direction):
        return f"direction is {kind.direction!r}, expected {' or '.join(get_args(Direction))}"
    if kind.more_passages not in get_args(MorePassages):
        return f"more_passages is {kind.more_passages!r}, expected 'falls', 'rises' or ''"
    if kind.category not in CATEGORIES:
        return f"category is {kind.category!r}, expected {' or '.join(CATEGORIES)}"
    if isinstance(kind.requires, str) or not set(kind.requires) <= set(get_args(Column)):
        return f"requires is {kind.requires!r}, expected a tuple of {', '.join(get_args(Column))}"
    low, high = kind.range
    return "" if low < high else f"range is {kind.range!r}, expected minimum and maximum"


def _needs_problem(metric: Metric | None) -> str:
    needs = cast("tuple[object, ...]", metric.needs() if metric else ())
    unknown = [need for need in needs if not isinstance(need, Need)]
    return f"needs {unknown[0]!r}; expected needs of ragboard.metrics.needs" if unknown else ""
