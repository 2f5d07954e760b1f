"""Fixtures of all tests."""

from __future__ import annotations

import gc
import os
import shutil
import ssl
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from filelock import FileLock
from hypothesis import settings

from ragboard import DEFAULT_METRICS, EmbeddedJudge, Panel, Store, evaluate_run, sample_runs
from tests.quick_database import close_databases, quick
from tests.quick_program import quick_program

EvaluatedSamples: TypeAlias = Callable[[Path], Store]
Once: TypeAlias = Callable[[Callable[[Store], object], Store], Store]

settings.register_profile("ragboard", deadline=None, max_examples=50)  # no test depends on the clock
settings.register_profile("full", deadline=None)
settings.load_profile("ragboard")

# Each process that a test starts would compile the package, half of what it takes.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Matrices here are small: several threads of a process spend more on waiting for each other than on computing.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def examples(full: int, **given: Any) -> settings:
    """Settings of a costly property: this many examples with `--hypothesis-profile=full`, a quarter otherwise."""
    return settings(max_examples=full if settings.get_current_profile_name() == "full" else full // 4, **given)


LONGEST = {
    "test_action.py",
    "test_agreement.py",
    "test_annotating.py",
    "test_batches.py",
    "test_cluster.py",
    "test_comparing.py",
    "test_damaged.py",
    "test_docs.py",
    "test_evaluating.py",
    "test_gate_commands.py",
    "test_nli.py",
    "test_pages.py",
    "test_presets.py",
    "test_runner.py",
    "test_serving.py",
    "test_workers.py",
}
"""Files that go first, or one process would be at the last of them while the others are done."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Slow tests only where `-m` names them. The longest first; last those of a browser, which a process keeps."""
    if "slow" not in config.option.markexpr:
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("slow")])
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
    items.sort(key=lambda item: (item.path.parent.name == "browser", item.path.name not in LONGEST))


def pytest_collection_finish() -> None:
    """What is imported and collected by now is never garbage: no collection looks at it again."""
    gc.freeze()


def pytest_unconfigure() -> None:
    """At the end it is, and libraries that count their objects say so."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data that some tests read; they skip where `RAGBOARD_DATA` names none."""
    name = os.environ.get("RAGBOARD_DATA")
    if not name:
        pytest.skip("RAGBOARD_DATA names no folder of real data")
    return Path(name)


@pytest.fixture(scope="session")
def made_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first database of the session is copied to, as the others are copies of it."""
    return tmp_path_factory.mktemp("made") / "made.duckdb"


@pytest.fixture(scope="module", autouse=True)
def quick_database(request: pytest.FixtureRequest, made_database: Path) -> Iterator[None]:
    """Stores open quickly, but in a file of tests that is marked `plain_database`."""
    if request.node.get_closest_marker("plain_database"):
        yield
    else:
        with quick(made_database):
            yield


@pytest.fixture(scope="session", autouse=True)
def certificates_read_once() -> Iterator[None]:
    """Every client of a server reads the authorities that it trusts, 0.03 s of computing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", cache(ssl.create_default_context))
        yield


@pytest.fixture(scope="session")
def program() -> Iterator[Path]:
    """The command `ragboard` as a file, which starts quickly: see `quick_program`."""
    with quick_program() as found:
        yield found


@pytest.fixture(scope="session")
def python(program: Path) -> str:
    """A Python that starts quickly, in place of `sys.executable`: see `quick_program`."""
    return str(program.with_name("python")) if hasattr(os, "fork") else sys.executable


@pytest.fixture(scope="session")
def evaluated_samples(tmp_path_factory: pytest.TempPathFactory) -> EvaluatedSamples:
    """A function that gives a store in a new folder, with both sample runs evaluated, once for all processes."""
    root = tmp_path_factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    with FileLock(root / "samples.lock"):
        if not (root / "samples").exists():
            made = Store(tmp_path_factory.mktemp("samples") / "store")
            for added in made.add_runs(sample_runs()):
                evaluate_run(made, added.id, DEFAULT_METRICS, Panel(judge=EmbeddedJudge()))
            close_databases()
            shutil.copytree(made.folder, root / "samples")

    def copied(folder: Path) -> Store:
        shutil.copytree(root / "samples", folder)
        return Store(folder)

    return copied


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """A function that fills a test's empty store: it does so once in a module, and copies what came of it.

    Evaluating takes ten times as long as copying.
    """
    filled: dict[Callable[[Store], object], Path] = {}

    def copied(fill: Callable[[Store], object], store: Store) -> Store:
        if fill not in filled:
            filled[fill] = tmp_path_factory.mktemp("filled") / "store"
            fill(Store(filled[fill]))
            close_databases()
        shutil.copytree(filled[fill], store.folder)
        return store

    return copied
