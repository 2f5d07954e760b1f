"""Tests of Inspect's logs in every form."""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.core.readers.conftest import Write
from tests.core.readers.formats.broken import broken_versions, read_or_refused

from ragboard import RunFileError, Score, Store, Turn, Unscored, read_runs
from ragboard.analysis.samples import sample_report

STATEMENTS = [
    {"statement": "The mill is old.", "verdict": 1, "reason": "It says so."},
    {"statement": "It grinds rye.", "verdict": 0, "reason": "It says wheat."},
]


def sample(**given: Any) -> dict[str, Any]:
    return {
        "id": "mill",
        "epoch": 1,
        "input": "Which mill?",
        "target": "The old mill.",
        "output": {"completion": "The mill is old. It grinds rye."},
        "scores": {
            "match": {"value": "C", "explanation": "The same."},
            "faithfulness": {"value": 0.5, "metadata": {"statements": STATEMENTS}},
        },
        "metadata": {"contexts": ["The old mill.", "It grinds wheat."], "topic": "mills"},
        "store": {},
    } | given


def log(*samples: dict[str, Any], **said: Any) -> dict[str, Any]:
    about = {
        "task": "mills",
        "model": "house/large",
        "model_base_url": "http://secret",
        "task_file": "/home/secret/eval.py",
        "dataset": {"name": "faq", "sample_ids": ["mill", "late"]},
        "packages": {"inspect_ai": "0.3.285"},
        "metadata": {"k": 3},
        "model_roles": {"grader": {"model": "house/judge"}},
    }
    return {"version": 2, "eval": about | said, "samples": list(samples)}


def archive(path: Path, whole: dict[str, Any], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as packed:
        for one in whole["samples"]:
            packed.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one))
        packed.writestr("summaries.json", "[]")
        packed.writestr("header.json", json.dumps({key: one for key, one in whole.items() if key != "samples"}))
    return path


def zstandard(path: Path, whole: dict[str, Any]) -> Path:
    """An archive as Inspect writes it: each member's bytes are packed, and its headers say so."""
    plain = archive(path.with_suffix(".plain"), whole, zipfile.ZIP_STORED)
    with zipfile.ZipFile(plain) as opened, zipfile.ZipFile(path, "w") as packed:
        contents = {name: opened.read(name) for name in opened.namelist()}
        for name, content in contents.items():
            packed.writestr(name, pa.compress(content, codec="zstd", asbytes=True))
        places = {info.filename: info.header_offset for info in packed.infolist()}
    data = bytearray(path.read_bytes())
    for name, content in contents.items():
        central = data.index(b"PK\x01\x02", data.rindex(places[name].to_bytes(4, "little") + name.encode()) - 42)
        for start, method, check, size in ((places[name], 8, 14, 22), (central, 10, 16, 24)):
            struct.pack_into("<H", data, start + method, 93)
            struct.pack_into("<I", data, start + check, zlib.crc32(content))
            struct.pack_into("<I", data, start + size, len(content))
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("packed", ["json", "deflate", "zstandard"])
def test_a_log_gives_samples_scores_statements_and_verdicts(tmp_path: Path, packed: str) -> None:
    whole = log(sample())
    path = tmp_path / ("log.json" if packed == "json" else "log.eval")
    if packed == "json":
        path.write_text(json.dumps(whole))
    else:
        (zstandard if packed == "zstandard" else archive)(path, whole)
    result = read_runs(path)
    (run,) = result.runs
    (one,) = run.samples
    assert run.name == "mills large"
    assert run.config == {"task": "mills", "model": "house/large", "dataset": "faq", "k": 3}
    assert (one.id, one.question, one.reference) == ("mill", "Which mill?", "The old mill.")
    assert (one.answer, one.metadata) == ("The mill is old. It grinds rye.", {"topic": "mills"})
    assert one.contexts
    assert [passage.text for passage in one.contexts] == ["The old mill.", "It grinds wheat."]
    assert run.scores is not None
    assert (run.scores.judge, run.scores.equivalent_metrics) == (
        "house/judge",
        {"inspect-file.faithfulness": "ragas.faithfulness"},
    )
    assert run.scores.outcomes[0]["inspect-file.match"] == Score(value=1.0, counted="as the file has it")
    (recorded,) = run.scores.recorded
    assert [(text.text, verdict and verdict.label) for text, verdict in recorded.statements] == [
        ("The mill is old.", "supported"),
        ("It grinds rye.", "unsupported"),
    ]
    assert [(said.about, said.says, said.reason) for said in recorded.judgements] == [("match", "C", "The same.")]
    assert result.report.format == f"Inspect log 0.3.285 ({'JSON' if packed == 'json' else 'zip'})"
    assert "grades are scored as in Inspect: C 1, P 0.5, I 0, N 0" in result.report.notes


def test_values_of_every_kind_are_scores_or_said_to_be_none(write: Write) -> None:
    values = {"partly": "P", "flag": True, "many": {"a": 0.25, "b": "no"}, "kind": "vague", "none": None}
    scored = sample(scores={name: {"value": value} for name, value in values.items()})
    result = read_runs(write("log.json", json.dumps(log(scored))))
    (run,) = result.runs
    assert run.scores is not None
    found = {spec: getattr(one, "value", None) for spec, one in run.scores.outcomes[0].items()}
    assert found == {
        "inspect-file.partly": 0.5,
        "inspect-file.flag": 1.0,
        "inspect-file.many.a": 0.25,
        "inspect-file.many.b": 0.0,
        "inspect-file.kind": None,
        "inspect-file.none": None,
    }
    assert [one.says for one in run.scores.recorded[0].judgements] == ["vague"]
    assert "no score: vague" in result.report.notes


def test_a_log_of_the_first_versions_has_one_score_without_a_name(write: Write) -> None:
    old = {key: value for key, value in sample().items() if key != "scores"} | {"score": {"value": "C"}}
    whole = log(old) | {"results": {"scorer": {"name": "match"}}}
    (run,) = read_runs(write("log.json", json.dumps(whole))).runs
    assert run.scores
    assert run.scores.outcomes[0] == {"inspect-file.match": Score(value=1.0, counted="as the file has it")}


def test_a_sample_that_failed_is_unscored_with_its_error(write: Write) -> None:
    failed = sample(id="late", output={"completion": ""}, scores=None, error={"message": "timed out", "traceback": "…"})
    (run,) = read_runs(write("log.json", json.dumps(log(sample(), failed)))).runs
    assert run.samples[1].answer is None
    assert run.scores is not None
    assert set(run.scores.outcomes[1].values()) == {Unscored(reason="failed", detail="timed out")}


def test_each_epoch_is_a_run_in_the_order_of_the_data_set(tmp_path: Path) -> None:
    samples = [sample(id=name, epoch=epoch) for epoch in (2, 1) for name in ("late", "mill")]
    runs = read_runs(archive(tmp_path / "log.eval", log(*samples))).runs
    assert {run.name: (run.config["epoch"], [one.id for one in run.samples]) for run in runs} == {
        "mills large epoch 1": (1, ["mill", "late"]),
        "mills large epoch 2": (2, ["mill", "late"]),
    }


def test_passages_are_read_from_the_store_and_from_tools_that_search(write: Write) -> None:
    talk = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "When?"}]},
    ]
    replies = [
        {"role": "tool", "function": "search_books", "content": "In a book."},
        {"role": "tool", "function": "add", "content": "5"},
    ]
    cases = [
        sample(metadata={}, store={"retrieved": ["Kept."]}, input=talk),
        sample(metadata=None, messages=replies),
        sample(metadata={}),
    ]
    (run,) = read_runs(write("log.json", json.dumps(log(*cases)))).runs
    texts = [one.contexts and [passage.text for passage in one.contexts] for one in run.samples]
    assert texts == [["Kept."], ["In a book."], None]
    assert (run.samples[0].question, run.samples[0].history) == ("When?", (Turn(role="system", text="Be brief."),))


def test_statements_of_a_scorer_of_something_else_are_judgements(write: Write) -> None:
    scored = sample(scores={"style": {"value": 0, "metadata": {"claims": [{"claim": "Old.", "label": "dull"}]}}})
    (run,) = read_runs(write("log.json", json.dumps(log(scored)))).runs
    assert run.scores is not None
    assert not run.scores.recorded[0].statements
    assert [(one.about, one.says, one.reason) for one in run.scores.recorded[0].judgements] == [
        ("statement, style", "dull", '"Old."')
    ]


def test_a_log_without_samples_and_a_damaged_one_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with pytest.raises(RunFileError, match="is an Inspect log without samples"):
        read_runs(archive(path, log()))
    data = zstandard(path, log(sample())).read_bytes()
    for place in range(0, len(data), 7):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
        assert read_or_refused(path)
    path.write_bytes(data[: len(data) // 2])
    assert "is a damaged zip archive" in read_or_refused(path)


def test_broken_logs_are_read_or_refused(write: Write) -> None:
    for broken in broken_versions(log(sample(messages=[{"role": "tool", "function": "search", "content": "A book."}]))):
        read_or_refused(write("log.json", json.dumps(broken)))


def test_broken_tables_are_read_or_refused(write: Write) -> None:
    row = {"sample_id": "1", "eval_id": "e", "id": "a", "epoch": 1, "input": "user:\nWhich?", "target": "Old."}
    for broken in broken_versions([row | {"score_match": "C", "metadata_contexts": ["Old."], "error": None}, row]):
        read_or_refused(write("samples.json", json.dumps(broken)))


def test_a_table_of_samples_has_questions_and_scores_without_answers(write: Write) -> None:
    rows = [
        "sample_id,eval_id,log,id,epoch,input,target,metadata_contexts,score_match,error",
        '1,e,/home/secret,a,1,"system:\nBe brief.\n\nuser:\nWhich mill?\n",The old mill.,"[""Old.""]",I,',
        "2,e,/home/secret,b,1,Bare question?,,,,timed out",
    ]
    result = read_runs(write("samples.csv", "\n".join(rows)))
    (run,) = result.runs
    first, second = run.samples
    assert (first.question, first.answer, first.reference) == ("Which mill?", None, "The old mill.")
    assert first.history == (Turn(role="system", text="Be brief."),)
    assert (second.question, second.contexts, run.config) == ("Bare question?", None, {})
    assert run.scores is not None
    assert [getattr(one["inspect-file.match"], "value", "none") for one in run.scores.outcomes] == [0.0, "none"]
    assert any("has no answers; import the log" in note for note in result.report.notes)


def test_verdicts_are_shown_with_the_sample(write: Write, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    (added,) = store.add_runs(read_runs(write("log.json", json.dumps(log(sample())))).runs)
    report = sample_report(store, store.resolve(added.name), "mill")
    assert [one.verdict and one.verdict.label for one in report.statements] == ["supported", "unsupported"]
    assert report.scores["ragas.faithfulness"] == Score(value=0.5, counted="1 of 2 statements")


@pytest.mark.parametrize("name", ["log.json", "log_zstd.eval", "samples_df.csv"])
def test_files_written_by_inspect(data: Path, name: str) -> None:
    (run,) = read_runs(data / "tools/inspect" / name).runs
    assert [one.id for one in run.samples] == ["q1", "q2", "q3", "q4"]
    assert [None if one.contexts is None else len(one.contexts) for one in run.samples] == [2, 3, 0, 1]
    assert run.samples[1].question == "Who designed it?"
    assert run.samples[1].metadata == {"gold_ids": ["d3"]}
    assert run.scores is not None
    values = [getattr(one["inspect-file.includes"], "value", None) for one in run.scores.outcomes]
    assert values == [0.0, 1.0, 0.0, 1.0]
    assert bool(run.scores.recorded) == (name != "samples_df.csv")
