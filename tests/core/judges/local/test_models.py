"""Tests of loading models: unavailable models are an error, and the digest covers weights and settings."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tests.local_models import needed, small_model

import ragboard
from ragboard import JudgeError, SettingError
from ragboard.judges import embedder_named, judge_named
from ragboard.judges.local.heads import read_labels
from ragboard.judges.local.models import digest, load
from ragboard.records import Label

CORE = Path(ragboard.__file__).parents[1]

NAMES: tuple[tuple[dict[str, str], tuple[Label, ...]], ...] = (
    ({"0": "contradiction", "1": "entailment", "2": "neutral"}, ("contradicted", "supported", "unsupported")),
    ({"0": "ENTAILMENT", "1": "NEUTRAL", "2": "CONTRADICTION"}, ("supported", "unsupported", "contradicted")),
    ({"0": "not_entailment", "1": "entailment"}, ("unsupported", "supported")),
    ({"0": "entailment"}, ("supported",)),
)


@pytest.fixture
def closed_port() -> Iterator[str]:
    """An address that refuses: bound, and nobody listens."""
    with socket.socket() as kept:
        kept.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{kept.getsockname()[1]}"


@pytest.fixture
def hub(library: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The constants of huggingface_hub, to be changed for a test; no proxy is set."""
    assert library
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return needed("huggingface_hub").constants


NAMED: tuple[Callable[[str], object], ...] = (
    lambda model: judge_named(f"nli:{model}"),
    lambda model: embedder_named(f"st:{model}"),
)


@pytest.mark.parametrize("named", NAMED)
def test_an_absent_model_offline_is_one_line(
    named: Callable[[str], object], hub: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "HF_HUB_OFFLINE", True)
    said = "nobody/nothing: no such folder, and not in the Hugging Face cache; HF_HUB_OFFLINE is set, so nothing is"
    with pytest.raises(JudgeError, match=said) as caught:
        named("nobody/nothing")
    assert "\n" not in str(caught.value)


def test_a_server_that_refuses_is_named(closed_port: str, hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hub, "ENDPOINT", closed_port)
    with pytest.raises(JudgeError, match=r"127\.0\.0\.1 cannot be reached .*; give a folder") as caught:
        judge_named("nli:nobody/nothing")
    assert "\n" not in str(caught.value)


def test_a_proxy_that_refuses_is_a_network_that_is_not_there(
    closed_port: str, hub: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("https_proxy", closed_port)
    with pytest.raises(JudgeError, match=r"huggingface\.co cannot be reached .*refused"):
        judge_named("nli:nobody/nothing")


def test_a_server_without_the_model_says_so(hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real server on this machine that knows no model."""
    monkeypatch.setattr(hub, "HF_HUB_OFFLINE", False)
    with ThreadingHTTPServer(("127.0.0.1", 0), KnowsNothing) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            monkeypatch.setattr(hub, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
            with pytest.raises(SettingError, match=r"127\.0\.0\.1 has no public model of that name"):
                judge_named("nli:nobody/nothing")
        finally:
            server.shutdown()
            thread.join()


class KnowsNothing(BaseHTTPRequestHandler):
    """Answers as the hub does for a model that is not there."""

    def do_HEAD(self) -> None:
        """Refuse."""
        self.send_response(404)
        self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_HEAD  # noqa: N815 - the name is the library's

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the library's
        """Say nothing."""


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize("name", ["no where", "../a/b/c", "a/b/c/d", "C:\\models"])
def test_a_name_that_is_no_folder_and_no_model_is_an_error(name: str) -> None:
    with pytest.raises(SettingError, match="expected OWNER/MODEL"):
        judge_named(f"nli:{name}")


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    ("judge", "said"),
    [
        ("local:nope", "expected a folder or OWNER/MODEL; or use a preset: minicheck, "),
        ("local:no where", "expected OWNER/MODEL; or use a preset: minicheck, "),
        ("trained:nope", "nope: no such folder; expected one that ragboard train-judge wrote"),
    ],
)
def test_a_judge_that_is_nowhere_is_a_bad_argument(python: str, tmp_path: Path, judge: str, said: str) -> None:
    done = evaluated(python, tmp_path, judge)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.usefixtures("library")
def test_the_command_says_it_in_one_line_before_anything_is_asked(python: str, tmp_path: Path) -> None:
    done = evaluated(python, tmp_path, "nli:nobody/nothing")
    assert done.returncode == 6
    assert done.stdout == ""
    assert "nobody/nothing: no such folder" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def evaluated(python: str, folder: Path, judge: str) -> subprocess.CompletedProcess[str]:
    """What the command does with a judge, where nothing can be downloaded."""
    run = folder / "run.jsonl"
    run.write_text('{"question": "q", "answer": "It is red.", "contexts": ["It is red."]}\n', encoding="utf-8")
    given = os.environ | {"HF_HOME": str(folder / "cache"), "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(CORE)}
    command = [python, "-m", "ragboard", "evaluate", str(run), "--judge", judge, "--store", str(folder / "store")]
    return subprocess.run(command, capture_output=True, encoding="utf-8", env=given, check=False)


@pytest.mark.parametrize("named", NAMED)
def test_without_the_extra_one_line_says_what_to_install(
    named: Callable[[str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(JudgeError) as caught:
        named("some/model")
    assert str(caught.value) == "some/model: local models need sentence-transformers; pip install 'ragboard[local]'"


def test_judges_are_there_without_importing_torch() -> None:
    look = "import sys, ragboard.judges; print(sorted({'torch', 'sentence_transformers'} & set(sys.modules)))"
    given = os.environ | {"PYTHONPATH": str(CORE)}
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, encoding="utf-8", env=given, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("named", "labels"), NAMES)
def test_labels_are_read_from_the_config_in_any_order(
    named: dict[str, str], labels: tuple[Label, ...], tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"id2label": named}), encoding="utf-8")
    assert read_labels(tmp_path) == labels


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"id2label": {"0": "LABEL_0"}}, "its labels are LABEL_0; expected entailment"),
        ({"id2label": {"0": "entailment", "1": "neutral"}}, "its labels are entailment, neutral"),
        ({"id2label": {"0": "entailment", "1": "entailment"}}, "its labels are entailment, entailment"),
        ({}, "its labels are not named"),
        ([], "its labels are not named"),
    ],
)
def test_other_labels_are_rejected(config: Any, said: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(JudgeError, match=said):
        read_labels(tmp_path)


def test_a_folder_without_a_model_says_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(JudgeError, match=r"contains no config\.json; expected the folder of a cross-encoder"):
        read_labels(tmp_path)
    (tmp_path / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(JudgeError, match="cannot be read"):
        read_labels(tmp_path)


def test_the_digest_changes_with_weights_and_settings_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    (tmp_path / "model.safetensors").write_bytes(b"a" * 100)
    first = digest(tmp_path)
    (tmp_path / "README.md").write_text("words", encoding="utf-8")
    assert digest(tmp_path) == first
    (tmp_path / "model.safetensors").write_bytes(b"a" * 99 + b"b")
    second = digest(tmp_path)
    (tmp_path / "config.json").write_text("[]", encoding="utf-8")
    assert len({first, second, digest(tmp_path)}) == 3


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("kind", ["CrossEncoder", "SentenceTransformer"])
def test_damaged_weights_are_one_line(kind: str, encoder_folder: Path, tmp_path: Path) -> None:
    for path in encoder_folder.glob("*.*"):
        if path.suffix in (".json", ".txt"):
            (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_bytes((encoder_folder / "1_Pooling" / "config.json").read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"no weights at all")
    with pytest.raises(JudgeError, match="the model cannot be loaded") as caught:
        load(kind, tmp_path)
    assert "\n" not in str(caught.value)


class OpensAFile:
    """What a pickle of it does where anything but numbers is read from it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return open, (str(self.path), "w")


def test_pickled_weights_never_run_code(tmp_path: Path) -> None:
    torch = needed("torch")
    folder = small_model(tmp_path / "model")
    (folder / "model.safetensors").unlink()
    torch.save({"weights": OpensAFile(tmp_path / "ran")}, folder / "pytorch_model.bin")
    module = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"}
    (folder / "modules.json").write_text(json.dumps([module]), encoding="utf-8")
    asked = {"model_kwargs": {"weights_only": False}}
    (folder / "sentence_bert_config.json").write_text(json.dumps(asked), encoding="utf-8")
    with pytest.raises(JudgeError, match="the model cannot be loaded"):
        load("SentenceTransformer", folder)
    assert not (tmp_path / "ran").exists()
    assert "TORCH_FORCE_WEIGHTS_ONLY_LOAD" not in os.environ
