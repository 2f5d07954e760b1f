"""Tests of labels: they are appended, never changed, and apply to every run with the same answer."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import Once
from tests.core.conftest import PlainJudge, make_sample

from ragboard import (
    DEFAULT_METRICS,
    NotFoundError,
    Panel,
    Passage,
    Run,
    Sample,
    SettingError,
    Span,
    Store,
    evaluate_run,
)
from ragboard.analysis import sample_report
from ragboard.human.labels import LabelledAnswer, NewLabel, add_labels, label_statement, remove_label
from ragboard.records import Turn
from ragboard.store import RunRef
from ragboard.store.queries.labels import human_verdicts
from ragboard.store.rows import answer_key


def kept(store: Store, *samples: Sample, name: str = "run") -> RunRef:
    run_id = store.add_runs([Run(name=name, samples=samples)])[0].id
    evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=PlainJudge()))
    return store.resolve(name)


def keep_one(store: Store) -> None:
    kept(store, make_sample())


@pytest.fixture
def run(store: Store, once: Once) -> RunRef:
    once(keep_one, store)
    return store.resolve("run")


def said(store: Store, run: RunRef, sample_id: str = "s0") -> list[tuple[int, str, str]]:
    """Statement, verdict and annotator of each label in force on a sample."""
    report = sample_report(store, run, sample_id)
    return [(n, one.label, one.annotator) for n, each in enumerate(report.statements, 1) for one in each.people]


def test_a_label_is_shown_with_the_judges_verdict_and_can_be_removed(store: Store, run: RunRef) -> None:
    label_statement(store, run, "s0", 2, "supported", annotator=" ada ", note=" why ")
    report = sample_report(store, run, "s0")
    (one,) = report.statements[1].people
    assert (one.label, one.annotator, one.note, one.queue) == ("supported", "ada", "why", "browsing")
    assert report.statements[1].verdict
    assert report.statements[1].verdict.label == "unsupported"
    assert remove_label(store, run, "s0", 2, annotator="ada")
    assert not remove_label(store, run, "s0", 2, annotator="ada")
    assert said(store, run) == []


def test_nothing_that_was_said_is_ever_changed(store: Store, run: RunRef) -> None:
    for verdict in ("supported", "contradicted"):
        label_statement(store, run, "s0", 1, verdict, annotator="ada")
    remove_label(store, run, "s0", 1, annotator="ada")
    with store.database.read() as connection:
        rows = connection.execute("SELECT number, value FROM labels ORDER BY number").fetchall()
    assert rows == [(1, "supported"), (2, "contradicted"), (3, None)]


def test_each_annotator_speaks_for_themselves_and_the_latest_counts(store: Store, run: RunRef) -> None:
    label_statement(store, run, "s0", 1, "contradicted", annotator="ada")
    label_statement(store, run, "s0", 1, "supported", annotator="bob")
    assert said(store, run) == [(1, "contradicted", "ada"), (1, "supported", "bob")]
    assert not sample_report(store, run, "s0").statements[0].is_overruled
    label_statement(store, run, "s0", 1, "unsupported", annotator="ada")
    assert said(store, run) == [(1, "supported", "bob"), (1, "unsupported", "ada")]
    assert sample_report(store, run, "s0").statements[0].is_overruled
    remove_label(store, run, "s0", 1, annotator="bob")
    assert said(store, run) == [(1, "unsupported", "ada")]


def test_what_was_said_in_one_queue_is_not_taken_back_in_another(store: Store, run: RunRef) -> None:
    label_statement(store, run, "s0", 1, "supported", annotator="ada", queue="random")
    assert not remove_label(store, run, "s0", 1, annotator="ada")
    label_statement(store, run, "s0", 1, "contradicted", annotator="ada")
    assert said(store, run) == [(1, "supported", "ada"), (1, "contradicted", "ada")]


def test_a_label_follows_the_answer_into_another_run_and_outlives_the_first(store: Store) -> None:
    sample = make_sample()
    assert sample.contexts
    first = kept(store, sample)
    label_statement(store, first, "s0", 1, "contradicted", annotator="ada")
    shuffled = replace(sample, id="other", contexts=sample.contexts[::-1], metadata={"x": 1})
    elsewhere = replace(sample, id="elsewhere", contexts=sample.contexts[:1])
    second = kept(store, shuffled, elsewhere, name="second")
    store.remove_runs([first.run_id])
    assert said(store, second, "other") == [(1, "contradicted", "ada")]
    assert said(store, second, "elsewhere") == [], "other passages: another question to a person"


PLACES = [
    ("The tower is red.", Span(start=0, end=17, how="verbatim"), True),
    ("The tower is red", Span(start=0, end=16, how="verbatim"), True),
    ("The tower is red", Span(start=0, end=16, how="aligned"), False),
    ("The tower is red.", None, True),
    ("The tower is red.", Span(start=20, end=37, how="verbatim"), False),
    ("The tower", Span(start=0, end=9, how="verbatim"), False),
    ("It is old.", Span(start=0, end=17, how="aligned"), False),
    ("It is old.", None, False),
]


@pytest.mark.parametrize(("text", "span", "found"), PLACES)
def test_a_label_finds_the_statement_of_a_better_splitter_but_no_other(
    store: Store, text: str, span: Span | None, found: bool
) -> None:
    sample = make_sample(answer="The tower is red.")
    run = kept(store, sample)
    with store.database.write() as connection:
        connection.execute(
            "UPDATE statements SET text = 'The tower is red.', span_start = 0, span_end = 17, span_how = 'verbatim'"
        )
    key = answer_key(sample)
    label = NewLabel(
        annotator="ada",
        kind="verdict",
        answer_key=key,
        value="contradicted",
        statement=text,
        span=span,
        queue="imported",
    )
    add_labels(store, [LabelledAnswer(key=key, sample=sample)], [label])
    with store.database.read() as connection:
        assert bool(human_verdicts(connection, [(run.evaluation_id or "", 0, 0)])) is found


def test_what_cannot_be_labelled_is_reported(store: Store, run: RunRef) -> None:
    with pytest.raises(NotFoundError, match="sample 's0' of run 'run' has no statement 3"):
        label_statement(store, run, "s0", 3, "supported", annotator="ada")
    with pytest.raises(NotFoundError, match="sample 'absent'"):
        remove_label(store, run, "absent", 1, annotator="ada")
    with pytest.raises(SettingError, match="name of its annotator"):
        label_statement(store, run, "s0", 1, "supported", annotator="  ")
    with pytest.raises(SettingError, match="cannot be stored"):
        label_statement(store, run, "s0", 1, "supported", annotator="ada", note="\ud800")


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@settings(max_examples=15, deadline=None)
@given(
    question=TEXTS,
    answer=st.none() | TEXTS,
    passages=st.none() | st.lists(TEXTS, max_size=3),
    history=st.lists(TEXTS, max_size=2),
)
def test_the_key_is_the_same_by_python_and_by_the_migration(
    tmp_path_factory: pytest.TempPathFactory,
    question: str,
    answer: str | None,
    passages: list[str] | None,
    history: list[str],
) -> None:
    contexts = None if passages is None else tuple(Passage(id="p", text=t, rank=n) for n, t in enumerate(passages, 1))
    turns = tuple(Turn(role="user", text=text) for text in history)
    store = Store(tmp_path_factory.mktemp("store"))
    sample = Sample(id="s", question=question, answer=answer, contexts=contexts, history=turns)
    store.add_runs([Run(name="r", samples=(sample,))])
    migration = (files("ragboard") / "schema" / "009_labels.sql").read_text("utf-8")
    (update,) = [part for part in migration.split(";") if "UPDATE samples" in part]
    with store.database.write() as connection:
        imported = connection.execute("SELECT answer_key FROM samples").fetchone()
        connection.execute("UPDATE samples SET answer_key = NULL")
        connection.execute(update)
        migrated = connection.execute("SELECT answer_key FROM samples").fetchone()
    assert imported == migrated == (answer_key(sample),)
