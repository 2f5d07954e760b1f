"""Tests of training with a tiny model, and of the trained judge."""

from __future__ import annotations

import asyncio
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.core.training.conftest import all_rows, write_rows
from tests.local_models import needed

from ragboard.cli import main
from ragboard.errors import JudgeError, SettingError, StoreError
from ragboard.judges import TrainedJudge, judge_named
from ragboard.judges.local.models import digest
from ragboard.judges.trained.classifier import MODEL_INPUTS, Classifier, TextTooLongError
from ragboard.tasks import AresQuality, Classification, Classify, Failure, Similarity, Task
from ragboard.training import TrainConfig, train_judge
from ragboard.training.fit import load_for_training

QUALITY: AresQuality = "answer_faithfulness"
CONFIG = TrainConfig(epochs=4, learning_rate=5e-3, max_length=96)
FAITHFUL, NOT = "yes it is so indeed", "no never not at all"


def weights(folder: Path) -> str:
    return digest(folder / QUALITY)


def ask(judge: TrainedJudge, *tasks: Task) -> list[Any]:
    return list(asyncio.run(judge.answer(tasks)))


def classify(answer: str, *contexts: str, quality: AresQuality = QUALITY) -> Classify:
    return Classify(quality=quality, question="what is it", contexts=contexts or ("amber birch",), answer=answer)


@pytest.fixture(scope="module")
def folder(one_thread: None, model: str, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: ARG001
    """A judge of one quality, trained by the command."""
    out = tmp_path_factory.mktemp("trained") / "judge"
    labels = write_rows(out.parent / "people.tsv", [replace(row, document_id="") for row in all_rows(train=9)])
    arguments = ["train-judge", str(data), "--out", str(out), "--model", model, "--labels", str(labels)]
    arguments += ["--epochs", "4", "--learning-rate", "5e-3", "--max-length", "96"]
    done = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "answer_faithfulness: 4 epochs" in done.stdout
    assert "context_relevance: not trained: its train examples are all positive or all negative" in done.stdout
    assert f"judge: trained:{out}" in done.stdout
    return out


def test_it_learns_what_the_rows_say(folder: Path) -> None:
    judge = judge_named(f"trained:{folder}")
    assert isinstance(judge, TrainedJudge)
    yes, no = ask(judge, classify(FAITHFUL), classify(NOT))
    assert (yes.holds, no.holds) == (True, False)
    assert 0 <= no.probability < 0.5 <= yes.probability <= 1
    assert yes.reason == f"Probability {yes.probability:.2f}; threshold 0.50."


def test_the_folder_holds_a_card_a_file_and_no_pickle(folder: Path) -> None:
    names = {path.suffix for path in folder.rglob("*") if path.is_file()}
    assert names <= {".json", ".md", ".safetensors", ".txt"}
    card = (folder / "card.md").read_text(encoding="utf-8")
    for said in (
        "documents: 24 train, 12 validation, 12 held out; none is in two splits",
        "24 and 24 train, 12 and 12 validation, 12 and 12 held out",
        "On held-out synthetic documents: 24 examples in 12 clusters; 12 are positive.",
        "On human labels: 72 examples",  # not the 24 of validation, which are the same
        "people.tsv; without the training examples, but labelled passages may be from documents",
        "| word overlap | 0.500 (no CI: every draw gives the same value)",
        "| majority class | 0.5 | 0.5 | |",
        "**not trained**: answer_relevance",
    ):
        assert said in card
    said = json.loads((folder / "judge.json").read_text(encoding="utf-8"))
    assert said["format"] == 1
    assert said["qualities"][QUALITY]["reads"] == ["question", "document", "answer"]


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(
    folder: Path, model: str, data: Path, tmp_path: Path
) -> None:
    config = replace(CONFIG, model=model)
    needed("torch").rand(3)  # chance elsewhere changes nothing
    train_judge(data, tmp_path / "same", config)
    train_judge(data, tmp_path / "other", replace(config, seed=1))
    assert weights(tmp_path / "same") == weights(folder) != weights(tmp_path / "other")


def test_what_is_held_out_changes_no_weight(folder: Path, model: str, tmp_path: Path) -> None:
    data = write_rows(tmp_path / "data.tsv", all_rows(held=7))
    train_judge(data, tmp_path / "judge", replace(CONFIG, model=model))
    assert weights(tmp_path / "judge") == weights(folder)
    other = write_rows(tmp_path / "other.tsv", all_rows(train=7))
    train_judge(other, tmp_path / "judge2", replace(CONFIG, model=model))
    assert weights(tmp_path / "judge2") != weights(folder)


def test_it_stops_when_the_loss_falls_no_more_and_keeps_the_best_weights(
    model: str, data: Path, tmp_path: Path
) -> None:
    config = replace(CONFIG, model=model, epochs=12, patience=1, learning_rate=0.2)
    (fitted,) = train_judge(data, tmp_path, config).models
    losses = [epoch.validation_loss for epoch in fitted.epochs]
    assert len(losses) < 12
    assert fitted.best_epoch == losses.index(min(losses)) + 1 == len(losses) - 1


def test_a_model_in_half_floats_is_trained_in_whole_ones(model: str, tmp_path: Path) -> None:
    half = needed("transformers").AutoModel.from_pretrained(model, dtype="float16")
    shutil.copytree(model, tmp_path / "half")
    half.save_pretrained(tmp_path / "half")
    assert json.loads((tmp_path / "half" / "config.json").read_text(encoding="utf-8"))["dtype"] == "float16"
    assert {values.dtype for values in load_for_training(tmp_path / "half").parameters()} == {needed("torch").float32}


def test_a_loss_that_is_no_number_is_rejected_with_what_to_lower(model: str, data: Path, tmp_path: Path) -> None:
    config = replace(CONFIG, model=model, learning_rate=1e30)
    with pytest.raises(SettingError, match="epoch 1: the loss is not finite; lower --learning-rate"):
        train_judge(data, tmp_path, config)


@pytest.mark.usefixtures("model")
def test_a_folder_without_a_model_is_one_line(data: Path, tmp_path: Path) -> None:
    with pytest.raises(JudgeError, match="cannot load a model: ") as caught:
        train_judge(data, tmp_path / "judge", replace(CONFIG, model=str(tmp_path)))
    assert "\n" not in str(caught.value)


def test_what_cannot_be_written_is_one_line(model: str, data: Path, tmp_path: Path) -> None:
    (tmp_path / "card.md").mkdir()
    with pytest.raises(StoreError, match=r"cannot be written: .*; choose another folder with --out"):
        train_judge(data, tmp_path, replace(CONFIG, model=model, epochs=1))


def test_weights_that_cannot_be_written_are_one_line(model: str, data: Path, tmp_path: Path) -> None:
    (tmp_path / QUALITY).write_text("", encoding="utf-8")
    with pytest.raises(StoreError, match=r"answer_faithfulness: cannot be written: .*; choose another folder"):
        train_judge(data, tmp_path, replace(CONFIG, model=model, epochs=1))


def test_data_that_teaches_nothing_leaves_the_judge_that_is_there(folder: Path, model: str, tmp_path: Path) -> None:
    there = Path(shutil.copytree(folder, tmp_path / "judge"))
    data = write_rows(tmp_path / "data.tsv", [row for row in all_rows() if row.answer_faithfulness])
    with pytest.raises(SettingError, match="nothing to train on"):
        train_judge(data, there, replace(CONFIG, model=model), force=True)
    assert ask(TrainedJudge(there), classify(FAITHFUL))[0].holds


def test_a_document_on_two_sides_is_rejected(model: str, tmp_path: Path) -> None:
    rows = all_rows()
    leaked = [*rows, replace(rows[0], split="held out")]
    with pytest.raises(SettingError, match="is in two splits, train and held out"):
        train_judge(write_rows(tmp_path / "data.tsv", leaked), tmp_path / "judge", TrainConfig(model=model))
    assert not (tmp_path / "judge" / "judge.json").exists()


def test_replies_are_in_order_and_do_not_depend_on_other_tasks(folder: Path) -> None:
    judge = TrainedJudge(folder)
    tasks = [classify(answer, context) for answer in (FAITHFUL, NOT) for context in ("dune fjord", "grove " * 30)]
    together, alone = ask(judge, *tasks), [ask(judge, task)[0] for task in tasks]
    assert [one.holds for one in together] == [one.holds for one in alone] == [True, True, False, False]
    assert [one.probability for one in together] == pytest.approx([one.probability for one in alone], abs=2e-3)


def test_long_passages_are_read_in_windows_to_their_end(folder: Path) -> None:
    judge = TrainedJudge(folder)
    long, short, *_ = ask(judge, classify(FAITHFUL, *["amber birch cedar dune. " * 20] * 3), classify(FAITHFUL))
    assert isinstance(long, Classification)
    assert ", the highest of " in long.reason
    assert ", the highest of " not in short.reason
    shown = judge._classifier(QUALITY).texts("q", ["amber " * 300 + "omega"], "a")
    assert len(shown) > 1
    assert shown[-1].endswith("omega | a")
    assert all(text.startswith("q | ") for text in shown)


def test_only_qualities_with_a_document_need_room_for_it(folder: Path) -> None:
    encoder = load_for_training(folder / QUALITY)
    answer = "word " * 70
    assert Classifier(encoder, MODEL_INPUTS["answer_relevance"], 96).texts("q", [], answer)
    with pytest.raises(TextTooLongError):
        Classifier(encoder, MODEL_INPUTS[QUALITY], 96).texts("q", ["amber"], answer)


def test_files_that_changed_since_it_was_named_are_not_read(folder: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    judge = TrainedJudge(copy)
    said = copy / "judge.json"
    said.write_text(said.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    with pytest.raises(JudgeError, match="the files have changed since the judge was created; create the judge again"):
        ask(judge, classify(FAITHFUL))


def test_what_it_cannot_answer_is_a_failure_that_says_why(folder: Path) -> None:
    judge = TrainedJudge(folder)
    found = ask(
        judge,
        classify("a", quality="context_relevance"),
        classify("word " * 500),
        Classify(quality=QUALITY, question="q", contexts=(), answer="a"),
        Similarity(text="a", others=("b",)),
        classify(FAITHFUL),
        classify("\ud800 \x00 it is"),
    )
    details = [each.detail if isinstance(each, Failure) else "" for each in found]
    assert "was not trained on context_relevance, only on answer_faithfulness" in details[0]
    assert "which leaves no room" in details[1]
    assert details[2] == "the sample has no passages"
    assert "does not answer Similarity" in details[3]
    assert all(isinstance(each, Classification) for each in found[4:])


def test_its_identity_is_its_files_and_not_their_place(folder: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    known = TrainedJudge(folder).identity(Classify)
    assert TrainedJudge(copy).identity(Classify) == known
    (copy / "card.md").write_text("other words", encoding="utf-8")
    assert TrainedJudge(copy).identity(Classify) == known
    said = json.loads((copy / "judge.json").read_text(encoding="utf-8"))
    said["qualities"][QUALITY]["threshold"] = 0.7
    (copy / "judge.json").write_text(json.dumps(said), encoding="utf-8")
    assert TrainedJudge(copy).identity(Classify) != known


def test_damaged_files_are_one_line(folder: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    (copy / QUALITY / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(JudgeError, match="the model cannot be loaded"):
        ask(TrainedJudge(copy), classify(FAITHFUL))
    shutil.rmtree(copy / QUALITY)
    with pytest.raises(JudgeError, match=r"the model that judge\.json names is missing"):
        TrainedJudge(copy)


def test_without_sentence_transformers_one_line_says_what_to_install(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragboard.judges.local.models.find_spec", lambda _: None)
    done = CliRunner().invoke(main, ["train-judge", str(data), "--out", str(tmp_path / "judge"), "--model", "m"])
    assert done.exit_code == 6
    assert "local models need sentence-transformers; pip install 'ragboard[local]'" in done.output


RUN = [
    {"question": "what is it", "answer": FAITHFUL, "contexts": ["amber birch cedar"]},
    {"question": "what is it", "answer": NOT, "contexts": ["dune ember fjord"]},
]


def evaluated(tmp_path: Path, *arguments: str, command: str = "evaluate") -> Any:
    path = tmp_path / "run.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in RUN), encoding="utf-8")
    return CliRunner().invoke(main, [command, str(path), "--store", str(tmp_path / "store"), "--json", *arguments])


@pytest.mark.parametrize("option", ["--judge", "--verify"])
def test_an_evaluation_is_judged_by_it_in_either_place(folder: Path, tmp_path: Path, option: str) -> None:
    asked = ("--metrics", "ares.answer_faithfulness", option, f"trained:{folder}")
    assert evaluated(tmp_path, *asked, command="plan").exit_code == 0
    done = evaluated(tmp_path, *asked)
    assert done.exit_code == 0, done.output
    (run,) = json.loads(done.stdout)["runs"]
    assert run["metrics"]["ares.answer_faithfulness"]["mean"] == 0.5


def test_a_metric_with_an_unsuitable_judge_names_the_task_and_an_option(folder: Path, tmp_path: Path) -> None:
    done = evaluated(tmp_path, "--metrics", "faithfulness", "--judge", f"trained:{folder}")
    assert done.exit_code == 6
    assert "needs a judge that splits texts into statements: --extract embedded" in done.output
    assert f"(trained:{folder} does not answer ExtractStatements tasks)" in done.output
    done = evaluated(tmp_path, "--metrics", "faithfulness", "--verify", f"trained:{folder}")
    assert "needs a judge that verifies statements: --verify embedded" in done.output
    assert f"(trained:{folder} does not answer Verify tasks)" in done.output
