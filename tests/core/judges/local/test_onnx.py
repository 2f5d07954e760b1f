"""Tests of ONNX exports: same results as the model, and one line of error without an export."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.hub_server import hub_server
from tests.local_models import export, fact_checker, needed, nli_model, span_marker, text_to_text

from ragboard import JudgeError, SettingError
from ragboard.judges import LocalJudge
from ragboard.judges.local import Hardware
from ragboard.judges.local.models import model_folder
from ragboard.tasks import Verification, Verify

TORCH = Hardware(device="cpu", threads=1)
ONNX = Hardware(device="cpu", threads=1, backend="onnx")
TASK = Verify(
    question="What is wet?",
    statements=("The boat is wet.", "The gate opened in 1998 and is {not} red.", "12 people came"),
    passages=("The boat in the hall is wet.", "A gate near the mill opened in 1998. The boat came later. " * 60, "No."),
    joint=True,
    single=True,
)
NEAR = 1e-4 + 1e-9
"""Scores have four decimals."""

KINDS = (
    (nli_model, "AutoModelForSequenceClassification", "{}"),
    (fact_checker, "AutoModelForSequenceClassification", "minicheck-roberta@{}"),
    (span_marker, "AutoModelForTokenClassification", "lettucedetect@{}"),
)


@pytest.fixture(scope="module", autouse=True)
def runtime(library: Any) -> Any:
    assert library
    return needed("onnxruntime")


@pytest.fixture(scope="module")
def nli(runtime: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with an export."""
    assert runtime
    folder = nli_model(tmp_path_factory.mktemp("models") / "nli")
    export(folder, "AutoModelForSequenceClassification")
    return folder


def answer(judge: LocalJudge) -> Verification:
    (reply,) = asyncio.run(judge.answer([TASK]))
    assert isinstance(reply, Verification), reply
    return reply


def scores(reply: Verification) -> list[float | None]:
    return [verdict.score for row in reply.single for verdict in row]


@pytest.mark.parametrize(("make", "kind", "name"), KINDS)
def test_an_export_says_what_the_model_says(make: Any, kind: str, name: str, tmp_path: Path) -> None:
    """Without the weights of the model, which are not downloaded either."""
    folder = make(tmp_path / "model")
    by_torch = answer(LocalJudge(name.format(folder), hardware=TORCH))
    export(folder, kind)
    (folder / "model.safetensors").unlink()
    judge = LocalJudge(name.format(folder), hardware=ONNX)
    by_onnx = answer(judge)
    assert scores(by_onnx) == pytest.approx(scores(by_torch), abs=NEAR)
    assert len(set(scores(by_torch))) > 3
    assert judge._head.model.session.get_session_options().intra_op_num_threads == 1


def test_both_backends_read_as_many_tokens(nli: Path) -> None:
    one, other = (LocalJudge(str(nli), hardware=hardware)._head.length for hardware in (TORCH, ONNX))
    assert one == other


def test_the_backend_is_in_the_identity_only_if_it_is_onnx(nli: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(nli, copy)
    by_torch, by_onnx = (LocalJudge(str(nli), hardware=hardware).identity(Verify) for hardware in (TORCH, ONNX))
    assert "/onnx-" in by_onnx
    shutil.rmtree(copy / "onnx")
    plain = LocalJudge(str(copy)).identity(Verify)
    assert plain.replace(str(copy), str(nli)) == by_torch
    shutil.copytree(nli / "onnx", copy / "onnx")
    (copy / "onnx" / "model_quantized.onnx").write_bytes(b"another")
    (copy / "model.safetensors").unlink()
    again = LocalJudge(str(copy), hardware=ONNX).identity(Verify)
    assert again.replace(str(copy), str(nli)) == by_onnx
    with (copy / "onnx" / "model.onnx").open("ab") as file:
        file.write(b"0")
    assert LocalJudge(str(copy), hardware=ONNX).identity(Verify) != again


def test_a_model_without_an_export_or_of_a_kind_that_has_none_is_one_line(tmp_path: Path) -> None:
    folder = nli_model(tmp_path / "nli")
    with pytest.raises(JudgeError, match=r"has no ONNX export \(onnx/model.onnx or model.onnx\); use --backend torch"):
        LocalJudge(str(folder), hardware=ONNX)
    answers = text_to_text(tmp_path / "t5")
    with pytest.raises(JudgeError, match="a model ForConditionalGeneration runs only with torch; use --backend torch"):
        LocalJudge(f"minicheck@{answers}", hardware=ONNX)


def test_without_onnxruntime_one_line_says_what_to_install(nli: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(JudgeError) as caught:
        LocalJudge(str(nli), hardware=ONNX)
    assert str(caught.value) == f"{nli}: the backend onnx needs onnxruntime; pip install 'ragboard[onnx]'"
    assert answer(LocalJudge(str(nli), hardware=TORCH))


@pytest.mark.parametrize(
    ("device", "said"),
    [
        ("cuda:1", "device cuda:1: onnxruntime finds no such device on this machine; pip install onnxruntime-gpu"),
        ("mps", "device mps: onnxruntime finds no such device on this machine; use --device cpu"),
    ],
)
def test_a_device_that_onnxruntime_does_not_have_is_one_line(runtime: Any, nli: Path, device: str, said: str) -> None:
    if "CUDAExecutionProvider" in runtime.get_available_providers():
        pytest.skip("this machine has one")
    with pytest.raises(JudgeError, match=said):
        answer(LocalJudge(str(nli), hardware=Hardware(device=device, backend="onnx")))


def test_an_export_that_is_damaged_or_of_another_model_is_one_line(nli: Path, tmp_path: Path) -> None:
    folder = fact_checker(tmp_path / "other")
    (folder / "model.onnx").write_bytes(b"no model at all")
    judge = LocalJudge(f"minicheck-roberta@{folder}", hardware=ONNX)
    with pytest.raises(JudgeError, match="onnxruntime cannot load it") as caught:
        answer(judge)
    assert "\n" not in str(caught.value)
    shutil.copy(nli / "onnx" / "model.onnx", folder)
    with pytest.raises(JudgeError, match="expected logits with 2 values"):
        answer(judge)


def test_another_backend_is_rejected() -> None:
    with pytest.raises(SettingError, match="no backend is called 'jax'; use torch or onnx"):
        Hardware(backend="jax")


def test_each_backend_downloads_its_own_weights_and_no_file_twice(
    nli: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants = needed("huggingface_hub").constants
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    model = tmp_path / "hub" / "tiny" / "nli"
    shutil.copytree(nli, model)
    (model / "onnx" / "config.json").write_text("{}", encoding="utf-8")
    (model / "onnx" / "model_quantized.onnx").write_bytes(b"another")
    nli_model(tmp_path / "hub" / "tiny" / "plain")
    with hub_server(tmp_path / "hub") as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        template = hub.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        shared = {path.name for path in model.glob("*.*")} - {"model.safetensors"}
        folder = model_folder("tiny/nli", "onnx")
        assert sorted(hub.fetched) == sorted(shared | {"onnx/model.onnx"})
        hub.fetched.clear()
        assert model_folder("tiny/nli") == model_folder("tiny/nli", "onnx") == folder
        assert hub.fetched == ["model.safetensors"]
        hub.fetched.clear()
        with pytest.raises(JudgeError, match="tiny/plain: has no ONNX export"):
            model_folder("tiny/plain", "onnx")
        assert hub.fetched == []
