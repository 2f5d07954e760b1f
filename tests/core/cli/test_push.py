"""Tests of `ragboard push` to a local Hugging Face hub."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import EvaluatedSamples
from tests.hub_server import Hub, hub_server

from ragboard import Store
from ragboard.analysis import run_summary

pytest.importorskip("huggingface_hub")

TARGET = "hf:my-team/rag-evaluations"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    (tmp_path / "hub").mkdir()
    with hub_server(tmp_path / "hub") as server:
        yield server


@pytest.fixture
def store(tmp_path: Path, evaluated_samples: EvaluatedSamples) -> Store:
    return evaluated_samples(tmp_path / "store")


def push(program: Path, store: Store, hub: Hub, *words: str, token: str = "hf_abc") -> subprocess.CompletedProcess[str]:
    """The command in a process of its own: the library reads `HF_ENDPOINT` when it is imported."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
    environment = kept | {"HF_ENDPOINT": hub.url, "HF_HOME": str(store.folder / "hf"), "HF_TOKEN": token}
    environment |= {"HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    command = [str(program), "push", *words, "--store", str(store.folder)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_runs_become_a_private_data_set_with_a_card(program: Path, store: Store, hub: Hub) -> None:
    done = push(program, store, hub, TARGET)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{hub.url}/datasets/my-team/rag-evaluations\n"
    assert hub.created == {"my-team/rag-evaluations": True}
    assert set(hub.tokens) == {"Bearer hf_abc"}
    names = {path.removeprefix("my-team/rag-evaluations/") for path in hub.pushed}
    runs = ("bm25-k3", "bm25-rerank-k5")
    assert names == {"README.md", *(f"{what}/{run}.jsonl" for what in ("samples", "statements") for run in runs)}
    lines = hub.pushed["my-team/rag-evaluations/samples/bm25-k3.jsonl"].decode().splitlines()
    samples = [json.loads(line) for line in lines]
    assert len(samples) == 60
    assert {one["run"] for one in samples} == {"bm25-k3"}
    for spec, metric in run_summary(store, store.resolve("bm25-k3")).metrics.items():
        values = [one[spec] for one in samples if one[spec] is not None]
        assert (len(values), sum(values) / len(values)) == (metric.scored, pytest.approx(metric.mean))
    statements = hub.pushed["my-team/rag-evaluations/statements/bm25-k3.jsonl"].decode().splitlines()
    assert {"supported", "unsupported"} <= {json.loads(line)["label"] for line in statements}
    card = hub.pushed["my-team/rag-evaluations/README.md"].decode()
    assert '- config_name: samples\n  data_files: "samples/*.jsonl"' in card
    assert r"| bm25-k3 | 60 | embedded (rule-based) | ragas.faithfulness | " in card


def test_one_run_is_pushed_and_a_public_data_set_must_be_asked_for(program: Path, store: Store, hub: Hub) -> None:
    assert push(program, store, hub, TARGET, "bm25-k3", "--public").returncode == 0
    assert hub.created == {"my-team/rag-evaluations": False}
    assert not any("rerank" in path for path in hub.pushed)


@pytest.mark.parametrize(
    ("words", "token", "code", "said"),
    [
        (["my-team/rag-evaluations"], "hf_abc", 2, "is not a dataset on the hub: expected hf:OWNER/NAME"),
        (["hf:../x"], "hf_abc", 2, "cannot push to ../x"),
        ([TARGET, "none"], "hf_abc", 5, "no run is called 'none'"),
        ([TARGET], "", 6, "cannot push to my-team/rag-evaluations: "),
    ],
)
def test_what_cannot_be_pushed_is_one_line(
    program: Path, store: Store, hub: Hub, words: list[str], token: str, code: int, said: str
) -> None:
    done = push(program, store, hub, *words, token=token)
    assert done.returncode == code
    assert said in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert not hub.pushed
