"""Tests of a real NLI cross-encoder: labels, and windows over long passages."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.core.conftest import make_run
from tests.core.judges.local.made_up import THINGS, examples

from ragboard import EmbeddedJudge, JudgeError, Panel, SettingError, Store, evaluate_run
from ragboard.cli import main
from ragboard.judges import NliJudge, judge_named
from ragboard.judges.local.heads import Texts
from ragboard.metrics import metrics_named
from ragboard.records import Label, Verdict
from ragboard.tasks import Failure, Rate, Task, Verification, Verify, reply_or_failure

MEANS: dict[str, Label] = {"entailment": "supported", "contradiction": "contradicted", "neutral": "unsupported"}
FILLER = "The piano on the hill is loud. The gate at the market is old. The coat near the mill is cheap. " * 4
HIT = "The boat in the hall is wet."


@pytest.fixture(scope="module")
def judge(nli_folder: Path) -> NliJudge:
    found = judge_named(f"nli:{nli_folder}")
    assert isinstance(found, NliJudge)
    return found


@pytest.fixture
def reads(judge: NliJudge, monkeypatch: pytest.MonkeyPatch) -> list[list[Texts]]:
    """What the model is given to read, call by call."""
    found: list[list[Texts]] = []
    predict = judge._head.predict
    monkeypatch.setattr(judge._head, "predict", lambda pairs: found.append(list(pairs)) or predict(pairs))
    return found


def verify(*statements: str, passages: tuple[str, ...], joint: bool = True, single: bool = True) -> Verify:
    return Verify(question="", statements=statements, passages=passages, joint=joint, single=single)


def ask(judge: NliJudge, *tasks: Task) -> list[Any]:
    replies = asyncio.run(judge.answer(tasks))
    return [reply_or_failure(task, reply) for task, reply in zip(tasks, replies, strict=True)]


def only(judge: NliJudge, statement: str, *passages: str) -> Verdict:
    (reply,) = ask(judge, verify(statement, passages=passages, single=False))
    assert isinstance(reply, Verification), reply
    return reply.joint[0]


def test_its_labels_mean_something_on_pairs_it_was_not_taught(judge: NliJudge) -> None:
    """Things it never saw among those; a third would be right by chance."""
    held_out = examples(2, 90, things=THINGS)
    replies = ask(judge, *(verify(pair.statement, passages=(pair.premise,)) for pair in held_out))
    right = sum(reply.joint[0].label == MEANS[pair.label] for reply, pair in zip(replies, held_out, strict=True))
    assert right / len(held_out) > 0.6


def test_it_supports_and_contradicts_with_the_passage_as_evidence(judge: NliJudge) -> None:
    supported, contradicted = only(judge, "The boat is wet.", HIT), only(judge, "The boat is not wet.", HIT)
    assert (supported.label, contradicted.label) == ("supported", "contradicted")
    (mark,) = supported.evidence
    assert (mark.rank, mark.start, mark.end, mark.stance) == (1, 0, len(HIT), "for")
    assert contradicted.evidence[0].stance == "against"
    assert supported.score is not None
    assert supported.score > 0.5


def test_a_sentence_deep_in_a_long_passage_is_found_by_its_window(nli_folder: Path) -> None:
    judge, passage = NliJudge(str(nli_folder), window=24), f"{FILLER}{HIT} {FILLER}"
    found = only(judge, "The boat is wet.", FILLER, passage)
    assert found.label == "supported"
    (mark,) = found.evidence
    assert mark.rank == 2
    assert HIT in passage[mark.start : mark.end]
    assert mark.end - mark.start < 150
    assert "the highest of" in found.reason


def test_a_long_passage_is_read_to_its_end_and_no_pair_is_cut(judge: NliJudge, reads: list[list[Texts]]) -> None:
    passage = " ".join(f"The piano on hill {number} is loud." for number in range(80))
    ask(judge, verify("The boat is wet.", "word " * 300, passages=(f"{passage} {HIT}",)))
    short = [premise for premise, statement in reads[0] if statement == "The boat is wet."]
    assert len(short) > 2
    assert short[0].startswith("The piano")
    assert short[-1].endswith(HIT)
    head = judge._head
    lengths = [len(head.tokenizer(*pair, verbose=False)["input_ids"]) for pair in reads[0]]
    assert max(lengths) <= head.length == 512


def test_cells_are_those_asked_for(judge: NliJudge) -> None:
    both, single = ask(
        judge,
        verify("The boat is wet.", "The boat is not wet.", passages=(HIT, " ")),
        verify("The boat is wet.", passages=(HIT,), joint=False),
    )
    assert [verdict.label for verdict in both.joint] == ["supported", "contradicted"]
    assert [[verdict.label for verdict in row] for row in both.single] == [
        ["supported", "unsupported"],
        ["contradicted", "unsupported"],
    ]
    assert both.single[0][1].score is None
    assert (single.joint, single.single[0][0].label) == ((), "supported")


def test_no_statements_and_no_passages_are_no_trouble(judge: NliJudge) -> None:
    nothing, none = ask(judge, verify(passages=(HIT,)), verify("It is.", passages=()))
    assert nothing == Verification()
    assert none.joint[0].reason == "There is no text to compare it with."
    assert none.single == ((),)


def test_a_task_gets_the_same_reply_in_any_batch(judge: NliJudge) -> None:
    tasks = [verify(pair.statement, passages=(pair.premise, FILLER)) for pair in examples(3, 3)]
    for alone, together in zip([ask(judge, task)[0] for task in tasks], ask(judge, *tasks), strict=True):
        assert [verdict.label for verdict in alone.joint] == [verdict.label for verdict in together.joint]
        assert [verdict.score for verdict in alone.joint] == pytest.approx(
            [verdict.score for verdict in together.joint], abs=2e-4
        )


def test_each_pair_is_read_once_in_one_go(judge: NliJudge, reads: list[list[Texts]]) -> None:
    ask(judge, verify("A.", "B.", passages=(HIT, "Other.")), verify("A.", passages=(HIT,)))
    assert [sorted(pairs) for pairs in reads] == [[("Other.", "A."), ("Other.", "B."), (HIT, "A."), (HIT, "B.")]]


def test_the_event_loop_continues_while_it_reads(judge: NliJudge) -> None:
    async def both() -> list[str]:
        order: list[str] = []

        async def tick() -> None:
            await asyncio.sleep(0)
            order.append("tick")

        async def read() -> None:
            await judge.answer([verify("The boat is wet.", passages=(FILLER * 3,))])
            order.append("read")

        await asyncio.gather(read(), tick())
        return order

    assert asyncio.run(both()) == ["tick", "read"]


def test_many_at_once_do_not_disturb_each_other(judge: NliJudge) -> None:
    async def many() -> list[Any]:
        asked = [judge.answer([verify("The boat is wet.", passages=(HIT,))]) for _ in range(8)]
        return [reply for (reply,) in await asyncio.gather(*asked)]

    assert {reply.joint[0].label for reply in asyncio.run(many())} == {"supported"}


@pytest.mark.parametrize("hostile", ["\ud800 half", "\x00", "a" * 5000, "\u202e\u0301" * 50, "\n\n \t", "?" * 3000])
def test_any_text_is_read(judge: NliJudge, hostile: str) -> None:
    (reply,) = ask(judge, verify("The boat is wet.", passages=(hostile, HIT)))
    assert reply.joint[0].label == "supported"


def test_a_statement_too_long_for_the_model_fails_with_its_length(judge: NliJudge) -> None:
    failed, kept = ask(judge, verify("word " * 600, passages=(HIT,)), verify("The boat is wet.", passages=(HIT,)))
    assert failed == Failure(
        detail="a statement of 600 tokens leaves no room for a passage; the model reads 505 tokens at a time"
    )
    assert kept.joint[0].label == "supported"


def test_it_answers_nothing_else(judge: NliJudge) -> None:
    rate = Rate(quality="faithfulness", question="", answer="", contexts=())
    (reply,) = ask(judge, rate)
    assert "does not answer Rate" in reply.detail
    assert judge.answers == {Verify}


def test_its_identity_tells_weights_windows_and_thresholds(judge: NliJudge, nli_folder: Path) -> None:
    assert judge.name == f"nli:{nli_folder}"
    same = NliJudge(str(nli_folder)).identity(Verify)
    others = [NliJudge(str(nli_folder), window=128), NliJudge(str(nli_folder), contradicts=0.8)]
    assert judge.identity(Verify) == same
    assert len({same, *(other.identity(Verify) for other in others)}) == 3


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"window": 0}, "window is 0; expected at least 1 token"),
        ({"supports": 0.0}, "supports is 0.0; expected a probability above 0 and at most 1"),
        ({"contradicts": 1.1}, "contradicts is 1.1; expected a probability above 0 and at most 1"),
    ],
)
def test_settings_that_cannot_be_are_rejected(nli_folder: Path, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        NliJudge(str(nli_folder), **wrong)


@pytest.mark.usefixtures("library")
def test_a_sentence_encoder_is_rejected(encoder_folder: Path) -> None:
    with pytest.raises(JudgeError, match="is a BertModel; expected a model ForSequenceClassification"):
        judge_named(f"nli:{encoder_folder}")


def test_order_of_labels_is_the_models_own(judge: NliJudge, nli_folder: Path, tmp_path: Path) -> None:
    """The same weights under swapped names say the opposite."""
    for path in nli_folder.rglob("*"):
        if path.is_file():
            copy = tmp_path / path.relative_to(nli_folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    config["id2label"] = {"0": "entailment", "1": "contradiction", "2": "neutral"}
    config["label2id"] = {"entailment": 0, "contradiction": 1, "neutral": 2}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    swapped = NliJudge(str(tmp_path))
    assert only(swapped, "The boat is wet.", HIT).label == "contradicted"
    assert swapped._digest != judge._digest


def test_an_evaluation_verifies_with_it_and_repeats_no_call(judge: NliJudge, store: Store) -> None:
    run = store.add_runs([make_run(samples=2)])[0]
    panel = Panel(judge=EmbeddedJudge(), roles={"verify": judge})
    metrics = metrics_named(["ragas.faithfulness"])
    first = evaluate_run(store, run.id, metrics, panel)
    assert (first.failed, first.unscored) == (0, 0)
    assert judge.name in first.evaluation.judge
    assert evaluate_run(store, run.id, metrics, panel).asked == 0


def test_the_command_verifies_with_it(nli_folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run.jsonl"
    row = {"question": "How is the boat?", "answer": "The boat is wet.", "contexts": [HIT]}
    run.write_text(json.dumps(row), encoding="utf-8")
    arguments = ["evaluate", str(run), "--metrics", "ragas.faithfulness", "--verify", f"nli:{nli_folder}", "--json"]
    done = CliRunner().invoke(main, [*arguments, "--store", str(tmp_path / "store")])
    assert done.exit_code == 0, done.output
    (summary,) = json.loads(done.stdout)["runs"]
    metric = summary["metrics"]["ragas.faithfulness"]
    assert (metric["mean"], metric["scored"]) == (1.0, 1)


def test_as_the_only_judge_it_verifies_and_the_embedded_judge_does_the_rest(nli_folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run.jsonl"
    run.write_text(json.dumps({"question": "q", "answer": "The boat is wet.", "contexts": [HIT]}), encoding="utf-8")
    arguments = ["evaluate", str(run), "--judge", f"nli:{nli_folder}", "--store", str(tmp_path / "store")]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    said = f"nli:{nli_folder} verifies statements; the embedded judge, which is rule-based, answers everything else"
    assert said in done.stderr
    assert "answers by the embedded judge are rule-based" in done.stderr


def test_the_identity_of_earlier_evaluations_stays(library: Any, tmp_path: Path) -> None:
    """Another one would ask everything again that they have."""
    assert library
    (tmp_path / "config.json").write_text('{"id2label": {"0": "entailment"}}', encoding="utf-8")
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    judge = NliJudge(str(tmp_path))
    assert judge.identity(Verify) == f"nli/1/{tmp_path}/eb2116ef0d6bec59/256/0.5/0.5/Verify"
    assert NliJudge(str(tmp_path), window=64, supports=0.9).identity(Verify).endswith("/64/0.9/0.5/Verify")
