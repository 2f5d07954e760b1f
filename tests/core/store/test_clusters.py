"""Tests of clusters: by conversation if the file has them, otherwise by question."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ragboard import Run, Sample, Store, Turn, log, read_runs
from ragboard.records import JsonValue


def clusters(store: Store, run: str = "r") -> list[str | None]:
    """By position; None stands alone."""
    with store.database.read() as connection:
        rows = connection.execute(
            "SELECT cluster FROM samples WHERE run_id = ? ORDER BY position", [store.resolve(run).run_id]
        ).fetchall()
    return [row[0] for row in rows]


def kept(store: Store, *samples: Sample) -> list[str | None]:
    store.add_runs([Run(name="r", samples=samples)])
    return clusters(store)


def asked(question: str, *, before: Sequence[str] = (), reference: str | None = None, **metadata: JsonValue) -> Sample:
    """A sample whose history is the user's questions before, each with a reply."""
    history = [turn for text in before for turn in (Turn(role="user", text=text), Turn(role="assistant", text="Yes."))]
    name = f"{question}{before}{reference}{metadata}"
    return Sample(id=name, question=question, history=tuple(history), reference=reference, metadata=metadata)


def test_questions_that_occur_once_are_separate_clusters(store: Store) -> None:
    assert kept(store, *(asked(f"{n}?", category=n % 2) for n in range(4))) == [None] * 4


@pytest.mark.parametrize("column", ["conversation_id", "conversation", "session_id", "threadId", "dialogue_id"])
def test_samples_of_one_conversation_share_its_id(store: Store, column: str) -> None:
    found = kept(store, *(asked(f"{n}?", **{column: name}) for n, name in enumerate(["a", "b", "a", "c"])))
    assert found == ["conversation:a", None, "conversation:a", None]


def test_a_number_is_an_id_and_a_list_or_nothing_is_none(store: Store) -> None:
    values: list[JsonValue] = [1, 1, None, "", " ", ["x"], ["x"], 2]
    found = kept(store, *(asked(f"{n}?", conversation_id=value) for n, value in enumerate(values)))
    assert found == ["conversation:1", "conversation:1", *[None] * 6]


def test_a_column_of_one_value_or_of_as_many_as_samples_tells_no_conversations(store: Store) -> None:
    found = kept(store, *(asked(f"{n}?", session_id="s", thread_id=n, chat_id=n // 2) for n in range(4)))
    assert found == ["conversation:0", "conversation:0", "conversation:1", "conversation:1"]


def test_several_answers_to_one_question_belong_together(store: Store) -> None:
    samples = [asked("a?"), asked("b?"), asked("a?"), asked("a?", before=["b?"])]
    found = kept(
        store, *(Sample(id=str(n), question=one.question, history=one.history) for n, one in enumerate(samples))
    )
    assert found[0] == found[2] == "question:#0"


def test_the_same_instruction_with_another_reference_is_another_question(store: Store) -> None:
    found = kept(store, *(asked("Summarise.", reference=f"{n // 2}", n=n) for n in range(5)))
    assert found == ["question:#0", "question:#0", "question:#2", "question:#2", None]


def test_a_run_with_one_question_is_not_clustered(store: Store) -> None:
    assert kept(store, *(asked("a?", n=n) for n in range(3))) == [None] * 3


def test_turns_whose_earlier_questions_are_samples_are_one_conversation(store: Store) -> None:
    first = [asked("a1?"), asked("a2?", before=["a1?"]), asked("a3?", before=["a1?", "a2?"])]
    second = [asked("b3?", before=["b1?", "b2?"]), asked("b2?", before=["b1?"])]
    found = kept(store, *first, asked("c?"), *second)
    assert found == ["conversation:#0"] * 3 + [None] + ["conversation:#4"] * 2


def test_several_answers_to_each_turn_are_of_the_same_conversation(store: Store) -> None:
    turns = [asked("a1?", n=0), asked("a1?", n=1), asked("a2?", before=["a1?"], n=0), asked("a2?", before=["a1?"], n=1)]
    assert kept(store, *turns, asked("b?")) == ["conversation:#0"] * 4 + [None]


def test_two_conversations_with_the_same_beginning_are_two_clusters(store: Store) -> None:
    one = [asked("a2?", before=["Hello"]), asked("a3?", before=["Hello", "a2?"])]
    other = [asked("b2?", before=["Hello"]), asked("b3?", before=["Hello", "b2?"])]
    assert kept(store, asked("Hello"), *one, *other) == [None, *["conversation:#1"] * 2, *["conversation:#3"] * 2]


def test_a_run_that_grows_finds_what_belongs_together_as_it_comes(store: Store) -> None:
    for number, name in enumerate(["a", "a", "b", "a"]):
        log("chat", question=f"{number}?", answer="Yes.", metadata={"conversation_id": name}, store=store)
        if number == 1:
            assert clusters(store, "chat") == [None, None]  # one conversation so far
    assert clusters(store, "chat") == ["conversation:a", "conversation:a", None, "conversation:a"]


def test_a_question_logged_again_joins_the_first(store: Store) -> None:
    for question in ("a?", "b?", "a?"):
        log("chat", question=question, store=store)
    assert clusters(store, "chat") == ["question:#0", None, "question:#0"]


def test_a_separately_logged_question_does_not_change_clusters(store: Store) -> None:
    for question in ("a?", "b?", "a?"):
        log("chat", question=question, store=store)
    with store.database.write() as connection:
        connection.execute("UPDATE samples SET cluster = 'as it was' WHERE position = 1")
    log("chat", question="c?", metadata={"topic": "red"}, store=store)
    assert clusters(store, "chat") == ["question:#0", "as it was", "question:#0", None]
    log("chat", question="c?", store=store)
    assert clusters(store, "chat") == ["question:#0", None, "question:#0", "question:#3", "question:#3"]


def test_another_question_makes_a_cluster_of_the_one_that_a_run_was_of(store: Store) -> None:
    for question in ("a?", "a?", "b?"):
        log("chat", question=question, store=store)
    assert clusters(store, "chat") == ["question:#0", "question:#0", None]


def test_the_first_question_of_a_conversation_may_be_logged_last(store: Store) -> None:
    store.append(Run(name="chat", samples=(asked("a2?", before=["a1?"]), asked("b?"))))
    log("chat", question="a1?", store=store)
    assert clusters(store, "chat") == ["conversation:#0", None, "conversation:#0"]


def test_a_store_of_before_gets_its_clusters_when_it_is_opened(store: Store) -> None:
    samples = [
        asked("a1?"),
        asked("a2?", before=["a1?"]),
        asked("b?"),
        asked("c1?", chat_id=7),
        asked("c2?", chat_id=7),
    ]
    found = kept(store, *samples, asked("d?", chat_id=8))
    assert found == ["conversation:#0", "conversation:#0", None, "conversation:7", "conversation:7", None]
    with store.database.write() as connection:
        connection.execute("ALTER TABLE samples DROP COLUMN cluster")
        connection.execute("DROP MACRO TABLE sample_clusters")
        connection.execute("DROP MACRO conversation_columns")
        connection.execute("DELETE FROM migrations WHERE name >= '013'")
        for later in (
            "VIEW current_nuggets",
            "TABLE nugget_lists",
            "SEQUENCE nugget_list_numbers",
            "TABLE assignments",
        ):
            connection.execute(f"DROP {later}")
    assert clusters(Store(store.folder)) == found


def test_the_turns_of_mtrag_are_of_twelve_conversations(store: Store, data: Path) -> None:
    path = data / "mtrag" / "mtrag_human_eval_12conv.jsonl"
    runs = store.add_runs(read_runs(path, run_column="model").runs)
    assert len(runs) == 3
    for run in runs:
        found = clusters(store, run.name)
        assert (len(found), len(set(found)), None in found) == (98, 12, False)
