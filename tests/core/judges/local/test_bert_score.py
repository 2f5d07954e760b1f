"""Tests of BERTScore: published figures, and the bert-score package if it is installed."""

from __future__ import annotations

import asyncio
import csv
from importlib.resources import files
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from tests.core.conftest import PlainJudge
from tests.local_models import needed

from ragboard import JudgeError, Panel, SettingError, evaluate
from ragboard.judges import embedder_named
from ragboard.judges.local import BertScorer
from ragboard.judges.local.bert_score import DEFAULT_MODEL, baselines
from ragboard.tasks import BertScore, BertScores, Failure, Task, Verify

MODEL = "distilbert/distilbert-base-uncased"
"""A model of six layers with known baselines, as the encoder of the tests has; the weights are the encoder's."""
PAIRS = (
    ("The bridge opened in July 2000.", "It opened on 1 July 2000 to traffic."),
    ("A cat.", "Shares fell in Tokyo, and then they rose again for three days."),
    ("Same words here", "Same words here"),
    ("x " * 700, "y " * 20 + "x"),
)
BY_PACKAGE = (
    (0.5954323410987854, 0.39278843998908997),
    (-0.8443212509155273, -0.990556001663208),
    (1.0, 1.0),
    (-0.438640832901001, -0.37663042545318604),
)
"""Precision and recall by bert-score 0.3.13 with this encoder: num_layers=5, lang="en", rescale_with_baseline=True and
its baselines of distilbert-base-uncased."""


@pytest.fixture(scope="module")
def scorer(library: Any, encoder_folder: Path) -> BertScorer:
    assert library
    found = embedder_named(f"bertscore:{MODEL}@{encoder_folder}")
    assert isinstance(found, BertScorer)
    return found


def ask(scorer: BertScorer, *tasks: Task) -> list[Any]:
    return list(asyncio.run(scorer.answer(tasks)))


def test_it_is_bertscore(scorer: BertScorer) -> None:
    replies = ask(scorer, *(BertScore(text=text, others=(other,)) for text, other in PAIRS))
    found = [(reply.precision[0], reply.recall[0]) for reply in replies]
    assert found == [pytest.approx(values, abs=1e-5) for values in BY_PACKAGE]


@pytest.mark.usefixtures("library")
@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
def test_it_is_the_package(encoder_folder: Path, tmp_path: Path) -> None:
    """At another layer than the recommended one, for all texts against all others."""
    package = pytest.importorskip("bert_score")
    texts = [text for pair in PAIRS for text in pair]
    pairs = [(text, other) for text in texts for other in texts]
    known = baselines()[MODEL]
    table = tmp_path / "baseline.tsv"
    layers = zip(range(7), known.precision, known.recall, strict=True)
    rows = [["LAYER", "P", "R", "F"], *([*values, 0] for values in layers)]
    with table.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    theirs = package.BERTScorer(
        model_type=str(encoder_folder),
        num_layers=3,
        lang="en",
        rescale_with_baseline=True,
        baseline_path=str(table),
        nthreads=0,
        device="cpu",
    )
    precision, recall, _ = theirs.score([text for text, _ in pairs], [other for _, other in pairs])
    ours = ask(BertScorer(f"{MODEL}:3@{encoder_folder}"), *(BertScore(text=a, others=(b,)) for a, b in pairs))
    for reply, *expected in zip(ours, precision, recall, strict=True):
        assert (reply.precision[0], reply.recall[0]) == pytest.approx(tuple(map(float, expected)), abs=1e-5)


def test_empty_and_hostile_texts(scorer: BertScorer) -> None:
    empty, nothing, hostile = ask(
        scorer,
        BertScore(text="a", others=(" ", "a")),
        BertScore(text="a", others=()),
        BertScore(text="\ud800", others=("\x00[SEP] a [CLS]", "b" * 9000)),
    )
    assert (empty.precision[0], empty.recall[0]) == (None, None)
    assert empty.precision[1] == pytest.approx(1, abs=1e-5)
    assert nothing == BertScores(precision=(), recall=())
    assert len(hostile.precision) == len(hostile.recall) == 2


def test_model_layer_and_files_are_its_identity_and_it_answers_nothing_else(
    scorer: BertScorer, encoder_folder: Path
) -> None:
    (reply,) = ask(scorer, Verify(question="", statements=(), passages=(), joint=True, single=False))
    assert reply == Failure(detail=f"bertscore:{MODEL} does not answer Verify")
    third = BertScorer(f"{MODEL}:3@{encoder_folder}")
    assert (scorer.name, third.name) == (f"bertscore:{MODEL}", f"bertscore:{MODEL}:3")
    assert scorer.identity(BertScore).startswith(f"bertscore/1/{MODEL}/5/")
    assert scorer.identity(BertScore) == BertScorer(f"{MODEL}:5@{encoder_folder}").identity(BertScore)
    assert scorer.identity(BertScore) != third.identity(BertScore)


@pytest.mark.usefixtures("library")
def test_without_a_known_baseline_it_is_rejected(encoder_folder: Path) -> None:
    for name in (str(encoder_folder), "some/model", f"some/model@{encoder_folder}"):
        with pytest.raises(SettingError, match=f"^bertscore: no baseline is known for [^\n]*; use {DEFAULT_MODEL}, "):
            embedder_named(f"bertscore:{name}")
    for layer in (0, 7):
        with pytest.raises(SettingError, match=f"^bertscore: layer is {layer}; {MODEL} has layers 1 to 6$"):
            BertScorer(f"{MODEL}:{layer}@{encoder_folder}")


def test_a_folder_of_another_model_is_rejected(encoder_folder: Path, tmp_path: Path) -> None:
    library = needed("safetensors.torch")
    with pytest.raises(JudgeError, match=rf"has 6 layers; {DEFAULT_MODEL} has 48$"):
        BertScorer(f"{DEFAULT_MODEL}@{encoder_folder}")
    folder = copytree(encoder_folder, tmp_path / "model")
    weights = library.load_file(folder / "model.safetensors")
    del weights["encoder.layer.0.output.dense.bias"]
    library.save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(JudgeError, match=r"the weights of encoder\.layer\.0\.output\.dense\.bias are missing$"):
        ask(BertScorer(f"{MODEL}@{folder}"), BertScore(text="a", others=("b",)))


def test_the_default_is_the_model_and_layer_of_mtrag() -> None:
    assert DEFAULT_MODEL == "microsoft/deberta-xlarge-mnli"
    known = baselines()[DEFAULT_MODEL]
    assert (known.layer, known.precision[40], known.recall[40]) == (40, 0.5169066, 0.5170288)
    assert all(len(one.precision) == len(one.recall) > one.layer for one in baselines().values())
    assert files("ragboard").joinpath("judges/local/bert_score.toml").is_file()


def test_an_evaluation_scores_with_it(scorer: BertScorer, capfd: pytest.CaptureFixture[str]) -> None:
    row = {"question": "What is red?", "answer": "It is red.", "contexts": ["It is red."], "reference": "It is red."}
    panel = Panel(judge=PlainJudge(), roles={"embed": scorer})
    result = evaluate([row | {"answerable": True}], metrics="mtrag.overlap", judge=panel)
    assert result["mtrag.overlap"].mean == pytest.approx(1, abs=1e-5)
    assert "LOAD REPORT" not in "".join(capfd.readouterr())
