"""Tests of TruLens's database and table of records: a run for each app version."""

from __future__ import annotations

import json
import sqlite3
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from tests.core.readers.conftest import Write
from tests.core.readers.formats.broken import broken_versions, read_or_refused

from ragboard import RunFileError, Score, Store, Unscored, from_trulens, read_runs
from ragboard.analysis.samples import sample_report
from ragboard.records import RecordedJudgement

P = "ai.observability."
REASONS = [
    {"criteria": "The mill is old.", "supporting_evidence": "It says so.", "score": 1.0},
    {"criteria": "It grinds rye.", "supporting_evidence": "It says wheat.", "score": 0.25},
]


def span(kind: str, record: str = "r1", version: str = "v1", **said: Any) -> dict[str, Any]:
    names = {"span_type": kind, "record_id": record, "app_name": "mills", "app_version": version}
    return {f"{P}{key}": value for key, value in (names | said).items()}


def question(record: str = "r1", version: str = "v1", passages: list[str] | None = None) -> list[dict[str, Any]]:
    answer = {"record_root.input": "Which mill?", "record_root.output": "The mill is old. It grinds rye."}
    found = {"retrieval.retrieved_contexts": ["The old mill.", "It grinds wheat."] if passages is None else passages}
    return [span("record_root", record, version, **answer), span("retrieval", record, version, **found)]


def judged(root: str, name: str, score: float | None, *calls: dict[str, Any], **said: Any) -> list[dict[str, Any]]:
    whole = {"eval.target_record_id": "r1", "eval_root.metric_name": name, "eval_root.score": score}
    return [
        span("eval_root", **whole, **said) | {"id": root},
        *(span("eval", **{"eval.eval_root_id": root}, **call) for call in calls),
    ]


def grounded() -> list[dict[str, Any]]:
    call = {"eval.score": 0.625, "call.kwargs.source": ["The old mill."], "cost.model": "judge-1"}
    return judged("1", "Groundedness", 0.625, call | {"eval.metadata.reasons": json.dumps(REASONS)})


def relevant() -> list[dict[str, Any]]:
    passages = {"It grinds wheat.": 0.0, "The old mill.": 1.0}
    calls = [
        {"eval.score": score, "call.kwargs.context": text, "eval.explanation": f"{score}"}
        for text, score in passages.items()
    ]
    return judged("2", "Context Relevance", 0.5, *calls)


def database(path: Path, *spans: dict[str, Any], start: str = "") -> Path:
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("CREATE TABLE trulens_events (event_id, record_attributes, resource_attributes,"
                       " start_timestamp, timestamp)")  # fmt: skip
    resource = json.dumps({"service.version": "2.16.0", "host.name": "secret"})
    for time, said in enumerate(spans):
        event = str(said.get("id", f"span {time}"))
        connection.execute(
            "INSERT INTO trulens_events VALUES (?, ?, ?, ?, ?)",
            (event, json.dumps(said), resource, start or time, start or time),
        )
    connection.commit()
    connection.close()
    return path


def table(**given: Any) -> dict[str, Any]:
    meta = {"explanation": "…", "metadata": {"reasons": json.dumps(REASONS)}}
    return {
        "record_id": "r1",
        "app_name": "mills",
        "app_version": "v1",
        "input": "Which mill?",
        "output": "The mill is old. It grinds rye.",
        "record_json": {},
        "perf_json": {},
        "Groundedness": 0.625,
        "Groundedness_calls": [
            {"span_type": "eval", "args": {"source": ["The old mill."]}, "ret": 0.625, "meta": meta}
        ],
        "Groundedness direction": True,
        "Distance": 2,
        "Distance_calls": [{"args": {"prompt": "Which mill?"}, "ret": 2, "meta": {"explanation": "Far."}}],
        "Distance direction": False,
    } | given


def test_the_time_of_a_record_is_read_as_utc_and_said_to_be(tmp_path: Path) -> None:
    path = tmp_path / "default.sqlite"
    timed = read_runs(database(path, *question(), start="2026-11-22 06:02:31.166964"))
    assert str(timed.runs[0].samples[0].time) == "2026-11-22 06:02:31.166964"
    note = "times have no time zone; they are read as UTC"
    assert note in timed.report.notes
    untimed = read_runs(database(path, *question()))
    assert untimed.runs[0].samples[0].time is None
    assert note not in untimed.report.notes


def test_a_database_gives_passages_scores_statements_and_the_number_of_each(tmp_path: Path) -> None:
    result = read_runs(database(tmp_path / "default.sqlite", *question(), *grounded(), *relevant()))
    (run,) = result.runs
    (sample,) = run.samples
    assert (run.name, run.config) == ("mills v1", {"app_name": "mills", "app_version": "v1"})
    assert sample.contexts
    assert [passage.text for passage in sample.contexts] == ["The old mill.", "It grinds wheat."]
    assert sample.metadata == {"record_id": "r1"}
    assert run.scores is not None
    assert (run.scores.judge, result.report.format) == ("judge-1", "TruLens database 2.16.0 (SQLite)")
    (recorded,) = run.scores.recorded
    assert [(one.text, verdict) for one, verdict in recorded.statements] == [
        ("The mill is old.", None),
        ("It grinds rye.", None),
    ]
    assert recorded.judgements == (
        RecordedJudgement(about="TruLens support of statement", number=1, says="1", value=1.0, reason="It says so."),
        RecordedJudgement(
            about="TruLens support of statement", number=2, says="0.25", value=0.25, reason="It says wheat."
        ),
        RecordedJudgement(about="Context Relevance", number=2, says="0", value=0.0, reason="0.0"),
        RecordedJudgement(about="Context Relevance", number=1, says="1", value=1.0, reason="1.0"),
    )


def test_a_retriever_that_found_nothing_is_not_one_that_is_not_there(tmp_path: Path) -> None:
    path = database(tmp_path / "default.sqlite", *question(passages=[]), question("r2")[0])
    (run,) = read_runs(path).runs
    assert [sample.contexts for sample in run.samples] == [(), None]


def test_each_version_of_an_app_is_a_run(tmp_path: Path) -> None:
    path = database(tmp_path / "default.sqlite", *question(), *question("r2", "v2"))
    runs = read_runs(path).runs
    assert [(run.name, run.config["app_version"]) for run in runs] == [("mills v1", "v1"), ("mills v2", "v2")]
    assert runs[0].samples[0].id == runs[1].samples[0].id, "the same question can be compared"


def test_the_latest_score_counts_and_a_failed_one_says_why(tmp_path: Path) -> None:
    spans = [
        *question(),
        *judged("1", "Old", 0.0, {"eval.score": 0.0}),
        *judged("2", "Old", 1.0, {"eval.score": 1.0}),
        *judged("3", "Failed", None, {"eval.error": "no key"}),
        *judged("4", "Nothing to judge", -1.0),
        *judged("5", "Distance", 3.0, {"eval.score": 3.0}, **{"eval_root.higher_is_better": False}),
    ]
    (run,) = read_runs(database(tmp_path / "default.sqlite", *spans)).runs
    assert run.scores is not None
    (outcomes,) = run.scores.outcomes
    assert getattr(outcomes["trulens-file.old"], "value", None) == 1.0
    assert outcomes["trulens-file.failed"] == Unscored(reason="failed", detail="no key")
    assert outcomes["trulens-file.nothing_to_judge"] == Unscored(reason="skipped", detail="the file has no value")
    assert {one.spec: one.direction for one in run.scores.metrics}["trulens-file.distance"] == "lower"


def test_rows_in_the_write_ahead_log_of_a_database_are_read(tmp_path: Path) -> None:
    path = database(tmp_path / "default.sqlite", *question())
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode = WAL")
    said = json.dumps(span("record_root", "r2", **{"record_root.input": "And when?", "record_root.output": "Soon."}))
    writer.execute("INSERT INTO trulens_events VALUES ('late', ?, '{}', 9, 9)", [said])
    writer.commit()
    before = path.read_bytes()
    (run,) = read_runs(path).runs
    assert [sample.question for sample in run.samples] == ["Which mill?", "And when?"]
    assert path.read_bytes() == before
    writer.close()


def test_a_database_of_the_first_versions_is_rejected_with_what_to_save(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "default.sqlite")
    connection.execute("CREATE TABLE trulens_records (record_id)")
    connection.execute("INSERT INTO trulens_records VALUES ('r1')")
    connection.commit()
    connection.close()
    with pytest.raises(RunFileError, match=r"without OpenTelemetry events; save .*get_records_and_feedback"):
        read_runs(tmp_path / "default.sqlite")


@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_the_table_of_records_is_read_like_the_database(write: Write, ending: str) -> None:
    row = json.dumps(table())
    (run,) = read_runs(write(f"records.{ending}", f"[{row}]" if ending == "json" else row)).runs
    (sample,) = run.samples
    assert (run.name, sample.question) == ("mills v1", "Which mill?")
    assert sample.contexts
    assert [passage.text for passage in sample.contexts] == ["The old mill."]
    assert run.scores is not None
    assert [one.direction for one in run.scores.metrics] == ["higher", "lower"]
    assert [(one.about, one.number, one.says, one.reason) for one in run.scores.recorded[0].judgements] == [
        ("TruLens support of statement", 1, "1", "It says so."),
        ("TruLens support of statement", 2, "0.25", "It says wheat."),
        ("Distance", 1, "2", "Far."),
    ]


def test_a_table_of_the_first_versions_has_its_texts_in_quotes_and_an_app_id_for_a_run(write: Write) -> None:
    rows = [
        {**table(input=json.dumps(text), output=json.dumps("So."), app_id=app), "app_name": None, "app_version": None}
        for text, app in (('Which "mill"?', "a"), ("And when?", "b"))
    ]
    runs = read_runs(write("records.json", json.dumps(rows))).runs
    assert [(run.name, run.samples[0].question, run.samples[0].answer) for run in runs] == [
        ("a", 'Which "mill"?', "So."),
        ("b", "And when?", "So."),
    ]
    (run,) = read_runs(write("records.json", json.dumps([rows[0], rows[1] | {"input": "When?", "app_id": "a"}]))).runs
    assert [sample.question for sample in run.samples] == ['"Which \\"mill\\"?"', "When?"]


def test_calls_that_are_python_text_are_left_out_and_named(write: Write) -> None:
    cells = table(Groundedness_calls="[{'ts': datetime.datetime(2026, 1, 1)}]", Distance_calls="[]")
    result = read_runs(write("records.json", json.dumps([cells])))
    (run,) = result.runs
    assert run.scores is not None
    assert (len(run.scores.metrics), run.scores.recorded, run.samples[0].contexts) == (2, (), None)
    assert any("this file has them as Python text; instead, save" in note for note in result.report.notes)


def test_statements_without_a_verdict_are_shown_with_the_sample(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    (added,) = store.add_runs(read_runs(database(tmp_path / "default.sqlite", *question(), *grounded())).runs)
    ref = store.resolve(added.name)
    ((_, sample),) = store.samples(ref.run_id)
    report = sample_report(store, ref, sample.id)
    assert [one.statement.text for one in report.statements] == ["The mill is old.", "It grinds rye."]
    assert all(one.verdict is None for one in report.statements)
    assert [one.says for one in report.judgements] == ["1", "0.25"]


def test_broken_tables_are_read_or_refused(write: Write) -> None:
    for broken in broken_versions([table()]):
        read_or_refused(write("records.json", json.dumps(broken)))


def test_broken_databases_are_read_or_refused(tmp_path: Path) -> None:
    for broken in islice(broken_versions([*question(), *grounded()]), 0, None, 3):
        spans = [one for one in broken if isinstance(one, dict)]
        read_or_refused(database(tmp_path / "default.sqlite", *spans))
    damaged = bytearray((tmp_path / "default.sqlite").read_bytes())
    damaged[4000:] = b"\xff" * (len(damaged) - 4000)
    (tmp_path / "default.sqlite").write_bytes(damaged)
    assert "default.sqlite" in read_or_refused(tmp_path / "default.sqlite")


@pytest.mark.parametrize(
    "name", ["otel_2.16.sqlite", "records_and_feedback_2.16.json", "records_and_feedback_2.16.jsonl"]
)
def test_files_written_by_trulens(data: Path, name: str) -> None:
    (run,) = read_runs(data / "tools/trulens" / name).runs
    assert [None if one.contexts is None else len(one.contexts) for one in run.samples] == [2, 3, 0, 1]
    assert run.samples[2].answer == "I do not know."
    assert run.scores is not None
    assert [len(one.statements) for one in run.scores.recorded] == [2, 1, 1, 1]
    assert run.scores.outcomes[2]["trulens-file.context_relevance"] == Unscored(
        reason="skipped", detail="the file has no value"
    )
    assert run.config == {"app_name": "library-rag", "app_version": "k3"}


def test_a_session_is_read_like_its_table(write: Write) -> None:
    row = table(Groundedness=1 / 3, conversation_id="c1")
    session = SimpleNamespace(get_records_and_feedback=lambda: (pd.DataFrame([row]), ["groundedness"]))
    (filed,) = read_runs(write("records.json", json.dumps([row]))).runs
    run = from_trulens(session, name="mine", config={"k": 2})
    assert (run.name, run.config["k"], run.samples) == ("mine", 2, filed.samples)
    assert run.samples[0].metadata == {"record_id": "r1", "conversation_id": "c1"}
    ours, theirs = (one.scores.outcomes[0]["trulens-file.groundedness"] for one in (run, filed) if one.scores)
    assert isinstance(ours, Score)
    assert isinstance(theirs, Score)
    assert ours.value == pytest.approx(theirs.value, abs=1e-15)
    with pytest.raises(TypeError, match="got str, expected a TruSession"):
        from_trulens("default.sqlite")
