"""Tests of nuggets: shared by all runs with the question, all versions stored, the newest counts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.chat_server import ChatServer, chat_server

from ragboard import Nugget, Passage, Run, Sample, Score, SettingError, Store, Turn, Unscored, read_runs
from ragboard.cli import main
from ragboard.datasets import (
    Dataset,
    approve_nuggets,
    datasets,
    export_nuggets,
    import_nuggets,
    load_dataset,
    nugget_table,
    save_nuggets,
)
from ragboard.errors import NotFoundError, RunFileError

OPENED = Nugget(text="It opened on 1 July 2000", importance="vital")
FERRIES = Nugget(text="Ferries sailed until 2000", importance="okay")


def sample(
    name: str, question: str, answer: str, *, history: tuple[Turn, ...] = (), passages: tuple[str, ...] = ()
) -> Sample:
    contexts = tuple(Passage(id=str(rank), text=text, rank=rank) for rank, text in enumerate(passages, 1))
    return Sample(id=name, question=question, answer=answer, contexts=contexts, history=history, reference="In 2000.")


def run(name: str, *samples: Sample) -> Run:
    return Run(name=name, samples=samples, dataset="bridges")


@pytest.fixture
def chat() -> Iterator[ChatServer]:
    with chat_server() as server:
        yield server


@pytest.fixture
def bridges(store: Store) -> Store:
    opened = "The bridge opened on 1 July 2000. It is long."
    store.add_runs(
        [
            run("old", sample("1", "When did it open?", "It opened in July 2000", passages=(opened,))),
            run(
                "new",
                sample("1", "When did it open?", "It opened on 1 July 2000", passages=("Ferries sailed until 2000.",)),
                sample("2", "Who built it?", "Ines Dahl", passages=("Ines Dahl built it.",)),
            ),
        ]
    )
    return store


def of(store: Store) -> Dataset:
    return load_dataset(store, "bridges")


def test_a_dataset_has_the_questions_of_all_its_runs_and_a_version_for_each_set_of_them(bridges: Store) -> None:
    found = of(bridges)
    assert [(one.question, one.runs) for one in found.questions] == [("When did it open?", 2), ("Who built it?", 1)]
    assert [version.runs for version in found.versions] == [("new",), ("old",)]
    (row,) = datasets(bridges)
    assert (row.name, row.runs, row.versions, row.questions, row.references, row.nuggets) == ("bridges", 2, 2, 2, 2, 0)
    assert load_dataset(bridges, "old") == found


def test_an_unknown_dataset_is_named_with_those_that_exist(bridges: Store) -> None:
    with pytest.raises(NotFoundError, match="no dataset or run is called 'bridge'; there are bridges"):
        load_dataset(bridges, "bridge")


def test_the_nuggets_of_a_question_are_those_of_its_sample_in_every_run(bridges: Store) -> None:
    save_nuggets(bridges, of(bridges).questions[0], [OPENED, FERRIES], author="Ada", approved=False)
    for name in ("old", "new"):
        _, found = bridges.sample(bridges.resolve(name), "1")
        assert found.nuggets == (OPENED, FERRIES)
    assert bridges.sample(bridges.resolve("new"), "2")[1].nuggets is None


def test_the_same_words_after_other_turns_are_another_question(store: Store) -> None:
    history = (Turn(role="user", text="Tell me of the tunnel."),)
    store.add_runs([run("a", sample("1", "When?", "Now"), sample("2", "When?", "Then", history=history))])
    plain, later = of(store).questions
    save_nuggets(store, later, [OPENED], author="Ada", approved=True)
    assert (plain.history, later.history) == ((), history)
    assert [one.nuggets is not None for one in of(store).questions] == [False, True]
    assert store.sample(store.resolve("a"), "1")[1].nuggets is None


def test_every_version_is_kept_and_the_newest_counts(bridges: Store) -> None:
    save_nuggets(bridges, of(bridges).questions[0], [OPENED], author="gpt", approved=False)
    save_nuggets(bridges, of(bridges).questions[0], [OPENED, FERRIES], author="Ada", approved=False)
    approve_nuggets(bridges, of(bridges).questions[0], author="Bo")
    (newest,) = [one.nuggets for one in of(bridges).questions if one.nuggets]
    assert (newest.nuggets, newest.author, newest.approved, newest.versions) == ((OPENED, FERRIES), "Bo", True, 3)


@pytest.mark.parametrize(
    ("nuggets", "why"),
    [
        ([Nugget(text=" ")], "nugget 1 has no text"),
        ([OPENED, Nugget(text="it OPENED  on 1 July 2000")], "nugget 2 repeats an earlier nugget"),
        ([Nugget(text="x" * 501)], "501 characters"),
        ([Nugget(text=str(number)) for number in range(101)], "101 nuggets, expected at most 100"),
    ],
)
def test_what_is_no_list_of_nuggets_is_rejected(bridges: Store, nuggets: list[Nugget], why: str) -> None:
    with pytest.raises(SettingError, match=why):
        save_nuggets(bridges, of(bridges).questions[0], nuggets, author="Ada", approved=False)
    assert of(bridges).with_nuggets == 0


def test_a_blank_name_and_nothing_to_approve_are_rejected(bridges: Store) -> None:
    with pytest.raises(SettingError, match="your name"):
        save_nuggets(bridges, of(bridges).questions[0], [OPENED], author=" ", approved=False)
    with pytest.raises(SettingError, match="no nuggets to approve"):
        approve_nuggets(bridges, of(bridges).questions[0], author="Ada")


def test_a_run_file_brings_nuggets_for_questions_that_have_none(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    row = {"question": "When?", "answer": "Now", "nuggets": [{"text": "One", "importance": "Vital"}, "Two"]}
    file.write_text(json.dumps(row), encoding="utf-8")
    (added,) = store.add_runs(read_runs(file).runs)
    (found,) = [one.nuggets for one in load_dataset(store, added.name).questions if one.nuggets]
    assert found.nuggets == (Nugget(text="One", importance="vital"), Nugget(text="Two"))
    assert not found.approved


@pytest.mark.parametrize("cell", [3, [3], [{"importance": "vital"}], [{"text": "x", "importance": "high"}]])
def test_a_cell_that_holds_no_nuggets_is_rejected_with_its_line(tmp_path: Path, cell: object) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text(json.dumps({"question": "When?", "answer": "Now", "nuggets": cell}), encoding="utf-8")
    with pytest.raises(RunFileError, match=r"answers\.jsonl:1: .*nuggets"):
        read_runs(file)


def test_an_exported_file_is_read_back_as_it_was(bridges: Store, tmp_path: Path) -> None:
    save_nuggets(bridges, of(bridges).questions[0], [OPENED, FERRIES], author="Ada", approved=True)
    file = tmp_path / "nuggets.jsonl"
    file.write_text("\n".join(export_nuggets(of(bridges))), encoding="utf-8")
    other = Store(tmp_path / "other")
    other.add_runs([run("b", sample("1", "When did it open?", "Soon"))])
    imported = import_nuggets(other, file)
    assert (imported.questions, imported.unknown) == (1, 0)
    (found,) = [one.nuggets for one in of(other).questions]
    assert found is not None
    assert (found.nuggets, found.author, found.approved) == ((OPENED, FERRIES), "Ada", True)


def test_a_bad_line_leaves_the_store_as_it_was(bridges: Store, tmp_path: Path) -> None:
    file = tmp_path / "nuggets.jsonl"
    good = json.dumps({"query": "When did it open?", "nuggets": ["One"]})
    for bad, why in ((b"{", "invalid JSON"), (b"[]", "JSON object"), (b'{"query": "x"}', "has no `nuggets`")):
        file.write_bytes(good.encode() + b"\n" + bad)
        with pytest.raises(RunFileError, match=why) as error:
            import_nuggets(bridges, file)
        assert f"{file.name}:2" in str(error.value)
    assert of(bridges).with_nuggets == 0


def test_copying_a_run_takes_the_nuggets_of_its_questions_along(bridges: Store, tmp_path: Path) -> None:
    save_nuggets(bridges, of(bridges).questions[0], [OPENED], author="Ada", approved=True)
    other = Store(tmp_path / "other")
    other.copy_run(bridges, bridges.resolve("new"))
    assert [one.nuggets is not None for one in of(other).questions] == [True, False]


def ragboard(store: Store, *words: str, server: ChatServer | None = None) -> str:
    judge = ["--judge", "openai:m", "--base-url", server.url] if server else []
    result = CliRunner().invoke(main, [*words, *judge, "--store", str(store.folder)], env={"OPENAI_API_KEY": "k"})
    assert result.exit_code == 0, result.output
    return result.output


def test_a_judge_writes_from_the_passages_of_all_runs_and_asks_once_a_question(
    bridges: Store, chat: ChatServer
) -> None:
    output = ragboard(bridges, "nuggets", "write", "bridges", server=chat)
    assert output.startswith("3 nuggets for 2 questions, 2 calls")
    first = of(bridges).questions[0].nuggets
    assert first is not None
    assert {nugget.text for nugget in first.nuggets} == {
        "The bridge opened on 1 July 2000",
        "Ferries sailed until 2000",
    }
    assert "already had nuggets" in ragboard(bridges, "nuggets", "write", "bridges", server=chat)
    assert len(chat.asked) == 2


def outdated(store: Store) -> dict[str, int]:
    return {run.name: run.outdated for run in of(store).runs}


def test_the_scores_of_all_runs_follow_the_nuggets(bridges: Store, chat: ChatServer) -> None:
    save_nuggets(bridges, of(bridges).questions[0], [OPENED, FERRIES], author="Ada", approved=True)
    for name in ("old", "new"):
        ragboard(bridges, "evaluate", name, "--metrics", "nuggets.all_strict", server=chat)
    table = nugget_table(bridges, of(bridges), of(bridges).questions[0])
    assert [(one.run, [label.label for label in one.labels.values()]) for one in table.runs] == [
        ("new", ["support", "not_support"]),
        ("old", ["partial_support", "not_support"]),
    ]
    shown = ragboard(bridges, "nuggets", "show", "bridges")
    assert "● ◐  It opened on 1 July 2000 (vital)" in shown
    assert outdated(bridges) == {"new": 0, "old": 0}
    asked = len(chat.asked)
    save_nuggets(bridges, of(bridges).questions[0], [OPENED], author="Ada", approved=True)
    assert outdated(bridges) == {"new": 1, "old": 1}
    ragboard(bridges, "evaluate", "new", "--metrics", "nuggets.all_strict", server=chat)
    assert outdated(bridges) == {"new": 0, "old": 1}
    assert len(chat.asked) == asked + 1


def test_another_importance_asks_no_judge_again(bridges: Store, chat: ChatServer) -> None:
    question = of(bridges).questions[0]
    save_nuggets(bridges, question, [OPENED, FERRIES], author="Ada", approved=True)
    ragboard(bridges, "evaluate", "new", "--metrics", "nuggets.vital_strict", server=chat)
    asked = len(chat.asked)
    less = Nugget(text=OPENED.text, importance="okay")
    save_nuggets(bridges, question, [less, FERRIES], author="Ada", approved=True)
    dataset = of(bridges)
    new = nugget_table(bridges, dataset, dataset.questions[0]).runs[0]
    assert new.scores([OPENED, FERRIES])["nuggets.vital_strict"] == Score(value=1.0, counted="1 of 1 vital nugget")
    assert isinstance(new.scores([less, FERRIES])["nuggets.vital_strict"], Unscored)
    assert outdated(bridges)["new"] == 1
    output = ragboard(bridges, "evaluate", "new", "--metrics", "nuggets.vital_strict", server=chat)
    assert len(chat.asked) == asked
    assert "0/2" in output


def test_compat_asks_ten_passages_a_call_and_weighs_ten_nuggets_a_call(store: Store, chat: ChatServer) -> None:
    texts = tuple(f"Fact {number} opens." for number in range(23))
    store.add_runs([run("a", sample("1", "When?", "Now", passages=texts))])
    output = ragboard(store, "nuggets", "write", "a", "--compat", server=chat)
    assert output.startswith("23 nuggets for 1 question, 6 calls")
    titles = [asked["messages"][0]["content"].split("\n")[0] for asked in chat.asked]
    assert titles == ["# Write the nuggets of a question"] * 3 + ["# Say which nuggets are vital"] * 3


def test_the_embedded_judge_says_in_a_line_that_it_cannot(bridges: Store) -> None:
    result = CliRunner().invoke(main, ["nuggets", "write", "bridges", "--store", str(bridges.folder)])
    assert result.exit_code == 6
    assert result.output.count("\n") == 1
    assert "use a chat model" in result.output
