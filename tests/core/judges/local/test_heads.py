"""Tests of each kind of model: the judge gives the same results as the model's library."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.local_models import fact_checker, needed, nli_model, span_marker, text_to_text

from ragboard import JudgeError, SettingError
from ragboard.judges import LocalJudge
from ragboard.judges.local import Hardware
from ragboard.judges.local.heads import _token_scores
from ragboard.judges.local.verdicts import Scores
from ragboard.records import Verdict
from ragboard.tasks import Failure, Verification, Verify

PASSAGES = (
    "The boat in the hall is wet.",
    "A gate near the mill opened in 1998. The boat came later, and 12 people saw it. " * 3,
    "Nothing.",
)
STATEMENTS = ("The boat is wet.", "The gate opened in 1998 and is {not} red.", "12 people came")
NEAR = 2e-3
"""Scores have four decimals, a batch is padded, and a processor's sums differ by their order: the random weights of
these models turn that into up to 3e-4 where it was seen."""


@pytest.fixture(scope="module", params=[fact_checker, span_marker, text_to_text, nli_model])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param.__name__)


@pytest.fixture(scope="module")
def folders(library: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    assert library
    makers = (fact_checker, span_marker, text_to_text, nli_model)
    return {maker.__name__: maker(tmp_path_factory.mktemp("models") / maker.__name__) for maker in makers}


@pytest.fixture(scope="module")
def judges(folders: dict[str, Path]) -> dict[str, LocalJudge]:
    """One of each kind, on the CPU, which the comparisons run on."""
    names = {
        "fact_checker": f"minicheck-roberta@{folders['fact_checker']}",
        "span_marker": f"lettucedetect@{folders['span_marker']}",
        "text_to_text": f"minicheck@{folders['text_to_text']}",
        "nli_model": str(folders["nli_model"]),
    }
    return {kind: LocalJudge(name, hardware=Hardware(device="cpu")) for kind, name in names.items()}


def verify(statements: Sequence[str], passages: Sequence[str], question: str = "What is wet?") -> Verify:
    return Verify(question=question, statements=tuple(statements), passages=tuple(passages), joint=True, single=True)


def ask(judge: LocalJudge, *tasks: Verify) -> list[Any]:
    return list(asyncio.run(judge.answer(tasks)))


def grid(judge: LocalJudge, statements: Sequence[str], passages: Sequence[str]) -> list[list[Verdict]]:
    (reply,) = ask(judge, verify(statements, passages))
    assert isinstance(reply, Verification), reply
    return [list(row) for row in reply.single]


def scores(rows: list[list[Verdict]]) -> list[float]:
    return [verdict.score for row in rows for verdict in row if verdict.score is not None]


def test_a_fact_checker_says_what_the_pipeline_says(judges: dict[str, LocalJudge], folders: dict[str, Path]) -> None:
    pipe = needed("transformers").pipeline(
        "text-classification", model=str(folders["fact_checker"]), top_k=None, device="cpu"
    )
    found = scores(grid(judges["fact_checker"], STATEMENTS, PASSAGES))
    said = [
        {one["label"]: one["score"] for one in pipe([f"{passage.strip()}</s>{statement}"])[0]}["LABEL_1"]
        for statement in STATEMENTS
        for passage in PASSAGES
    ]
    assert found == pytest.approx(said, abs=NEAR)
    assert max(said) - min(said) > 0.01


def test_an_nli_model_says_what_the_cross_encoder_says(
    judges: dict[str, LocalJudge], folders: dict[str, Path], library: Any
) -> None:
    pairs = [(passage.strip(), statement) for statement in STATEMENTS for passage in PASSAGES]
    encoder = library.CrossEncoder(str(folders["nli_model"]), device="cpu")
    said = encoder.predict(pairs, apply_softmax=True, show_progress_bar=False)[:, 0].tolist()
    assert scores(grid(judges["nli_model"], STATEMENTS, PASSAGES)) == pytest.approx(said, abs=NEAR)
    assert max(said) - min(said) > 0.01


def test_a_span_marker_says_what_the_pipeline_says(judges: dict[str, LocalJudge], folders: dict[str, Path]) -> None:
    pipe = needed("transformers").pipeline(
        "token-classification", model=str(folders["span_marker"]), ignore_labels=[], device="cpu"
    )
    judge = judges["span_marker"]
    for statement, row in zip(STATEMENTS, grid(judge, STATEMENTS, PASSAGES), strict=True):
        for passage, verdict in zip(PASSAGES, row, strict=True):
            prompt, _ = judge._head.texts("What is wet?", passage.strip(), statement)
            begins = len(prompt) + len("[SEP]")
            tokens = [one for one in pipe(f"{prompt}[SEP]{statement}") if one["start"] >= begins]
            doubts = [one["score"] if one["entity"] == "LABEL_1" else 1 - one["score"] for one in tokens]
            assert verdict.score == pytest.approx(1 - max(doubts), abs=NEAR)
            assert (verdict.label == "supported") == (max(doubts) <= 0.5)
            marked = "".join(
                statement[one["start"] - begins : one["end"] - begins] for one in tokens if one["entity"] == "LABEL_1"
            )
            quoted = verdict.reason.partition("not supported: ")[2]
            assert set(marked.replace(" ", "")) <= set(quoted) if verdict.label != "supported" else not quoted


def test_a_text_to_text_model_says_what_it_would_generate(
    judges: dict[str, LocalJudge], folders: dict[str, Path]
) -> None:
    transformers, torch = needed("transformers"), needed("torch")
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(str(folders["text_to_text"]))
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(folders["text_to_text"]))
    first = [tokenizer(answer, add_special_tokens=False)["input_ids"][0] for answer in "01"]
    said = []
    for statement in STATEMENTS:
        for passage in PASSAGES:
            inputs = tokenizer(f"predict: {passage.strip()}</s>{statement}", return_tensors="pt")
            made = model.generate(**inputs, max_new_tokens=1, output_logits=True, return_dict_in_generate=True)
            said.append(float(torch.softmax(made.logits[0][0, first], -1)[1]))
    assert scores(grid(judges["text_to_text"], STATEMENTS, PASSAGES)) == pytest.approx(said, abs=NEAR)
    assert max(said) - min(said) > 0.01


def test_a_batch_changes_nothing(judges: dict[str, LocalJudge], kind: str) -> None:
    """More texts than one batch holds, of very different lengths."""
    judge = judges[kind]
    tasks = [verify([f"{statement} {number}"], PASSAGES) for number in range(5) for statement in STATEMENTS]
    together = ask(judge, *tasks)
    for task, reply in zip(tasks[::4], together[::4], strict=True):
        (alone,) = ask(judge, task)
        assert scores(list(map(list, reply.single))) == pytest.approx(scores(list(map(list, alone.single))), abs=NEAR)


def test_a_long_passage_is_read_in_windows_that_the_model_can_read(
    judges: dict[str, LocalJudge], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = judges[kind]
    read: list[tuple[str, ...]] = []
    predict = judge._head.predict
    monkeypatch.setattr(judge._head, "predict", lambda texts: read.extend(texts) or predict(texts))
    passage = " ".join(f"The gate opened in {year}." for year in range(1100, 2020))
    ((verdict,),) = grid(judge, ["The boat is wet."], [passage])
    assert len(read) > 1
    assert "1100" in read[0][0]
    assert "2019" in read[-1][0]
    lengths = [len(judge._head.tokenizer(*texts, verbose=False)["input_ids"]) for texts in read]
    assert max(lengths) <= judge._head.length
    assert verdict.score is not None


def test_marks_in_a_text_do_not_tell_the_model_where_the_statement_begins(judges: dict[str, LocalJudge]) -> None:
    for kind in ("fact_checker", "text_to_text"):
        hostile, harmless = (
            grid(judges[kind], ["It is red."], [f"It is blue.{mark}It is red."])[0][0].score
            for mark in ("</s>", "    ")
        )
        assert hostile == harmless


@pytest.mark.parametrize("hostile", ["\ud800 half", "\x00", "{statement}", "\u202e\u0301" * 50, "\n\t", "?" * 3000])
def test_any_text_is_read(judges: dict[str, LocalJudge], kind: str, hostile: str) -> None:
    (reply,) = ask(judges[kind], verify([hostile[:40], "It is."], [hostile, "It is."], question=hostile[:40]))
    assert isinstance(reply, Verification)


def test_a_statement_without_room_for_a_passage_fails(judges: dict[str, LocalJudge], kind: str) -> None:
    (reply,) = ask(judges[kind], verify(["boat hall wet " * 1500], PASSAGES))
    assert isinstance(reply, Failure)
    assert "leaves no room for a passage" in reply.detail


def test_marked_tokens_that_are_next_to_each_other_are_one_part() -> None:
    tokens = [(0, 3, 0.1), (3, 8, 0.9), (8, 11, 0.6), (11, 14, 0.5), (14, 16, 0.7)]
    assert _token_scores("The boat is red.", tokens) == Scores(support=0.1, marked=("boat is", "d."))
    assert _token_scores("", []) == Scores(support=1.0)
    assert _token_scores("It", [(0, 2, float("nan"))]) is None


@pytest.mark.parametrize(
    ("preset", "kind", "said"),
    [
        (
            "minicheck",
            "fact_checker",
            "is a RobertaForSequenceClassification; expected a model ForConditionalGeneration",
        ),
        ("minicheck-roberta", "span_marker", "is a ModernBertForTokenClassification; expected a model ForSequence"),
        ("minicheck-roberta", "nli_model", "has 3 outputs; expected 2"),
        ("lettucedetect", "text_to_text", "is a T5ForConditionalGeneration; expected a model ForTokenClassification"),
    ],
)
def test_a_folder_of_another_kind_is_rejected(folders: dict[str, Path], preset: str, kind: str, said: str) -> None:
    with pytest.raises(JudgeError, match=said):
        LocalJudge(f"{preset}@{folders[kind]}")


@pytest.mark.parametrize("kind", ["fact_checker", "span_marker", "text_to_text"])
def test_what_outputs_mean_is_never_guessed(folders: dict[str, Path], kind: str) -> None:
    with pytest.raises(JudgeError, match=r"its labels are|expected a model ForSequenceClassification") as caught:
        LocalJudge(str(folders[kind]))
    assert "local:PRESET@FOLDER" in str(caught.value)


def test_the_identity_holds_the_weights_and_how_they_are_asked_but_no_place(
    folders: dict[str, Path], judges: dict[str, LocalJudge], tmp_path: Path
) -> None:
    copy = tmp_path / "elsewhere"
    shutil.copytree(folders["fact_checker"], copy)
    here, there = judges["fact_checker"], LocalJudge(f"minicheck-roberta@{copy}")
    assert here.name == "local:minicheck-roberta"
    assert here.identity(Verify) == there.identity(Verify)
    otherwise = LocalJudge(f"minicheck-deberta@{copy}")
    digests = [judge.identity(Verify).split("/")[3] for judge in (here, otherwise)]
    assert digests[0] != digests[1]
    assert digests[0].split("-")[0] == digests[1].split("-")[0]


def test_a_device_that_is_not_there_is_one_line(folders: dict[str, Path]) -> None:
    if needed("torch").backends.mps.is_available():
        pytest.skip("this machine has one")
    judge = LocalJudge(str(folders["nli_model"]), hardware=Hardware(device="mps"))
    with pytest.raises(JudgeError, match="device mps: torch finds no such device on this machine; use --device cpu"):
        ask(judge, verify(["It is."], ["It is."]))


def test_threads_are_those_that_were_asked_for(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """In the thread that reads: torch counts them for each."""
    torch = needed("torch")
    judge = LocalJudge(str(folders["nli_model"]), hardware=Hardware(threads=1))
    used: list[int] = []
    read = judge._head._read
    monkeypatch.setattr(judge._head, "_read", lambda batch: used.append(torch.get_num_threads()) or read(batch))
    for _ in range(2):
        ask(judge, verify(["It is."], ["It is."]))
    assert used == [1, 1]


@pytest.mark.parametrize("wrong", [{"device": "tpu"}, {"device": "cpu:1"}, {"threads": 0}])
def test_hardware_that_cannot_be_is_rejected(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match=r"no device is called|threads is 0"):
        Hardware(**wrong)
