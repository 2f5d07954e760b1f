"""Tests of OpenTelemetry traces in every convention and export format."""

from __future__ import annotations

import base64
import json
import re
import struct
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.core.readers.conftest import Write
from tests.core.readers.formats.broken import check_broken_at_random, read_or_refused
from tests.core.readers.formats.traces import START, attributes, genai, messages, openinference, request, span

from ragboard import Passage, Run, RunFileError, Sample, Store, Turn, read_runs
from ragboard.cli import main
from ragboard.records import Score

TEXTS = ["The mill closed in 1931.", 'It made flour, "and\nfeed".']
DOCUMENTS = [{"id": f"p{place}", "score": 0.5 + place / 16, "content": text} for place, text in enumerate(TEXTS)]
PASSAGES = tuple(
    Passage(id=f"p{place}", text=text, rank=place + 1, score=0.5 + place / 16) for place, text in enumerate(TEXTS)
)
ASKED = [
    ("When did the mill close?", "In 1931.", 0, "a"),
    ("What did it make?", "I do not know.", 100, "a"),
    ("Who owns the boat?", "Nobody.", 200, "b"),
]


def spans(convention: Any, found: list[Any]) -> list[Any]:
    """Three traces, of which the second retrieved nothing, the last one first."""
    return [
        one
        for number, (question, answer, at, session) in reversed(list(enumerate(ASKED, 1)))
        for one in convention(number, question, answer, [] if number == 2 else found, at=at, session=session)
    ]


OPENINFERENCE = request(*spans(openinference, TEXTS), service__name="shop", host__name="kims-laptop")
GENAI = request(*spans(genai, DOCUMENTS), service__name="shop")


def one_run(path: Path) -> Run:
    (run,) = read_runs(path).runs
    return run


def read(write: Write, *given: Any, name: str = "traces.json") -> tuple[Sample, ...]:
    """The samples of the only run of a file with one request."""
    return one_run(write(name, json.dumps(request(*given)))).samples


@pytest.mark.parametrize("given", [OPENINFERENCE, GENAI])
def test_a_trace_is_a_sample_and_a_session_is_a_conversation(write: Write, given: Any) -> None:
    run = one_run(write("traces.json", json.dumps(given)))
    first, second, third = run.samples
    assert (run.name, run.config) == ("shop", {"model": "small", "temperature": 0.5})
    assert (first.id, first.question, first.answer) == (f"{1:032x}", "When did the mill close?", "In 1931.")
    assert (first.contexts, second.contexts, third.contexts) == (PASSAGES, (), PASSAGES)
    assert (first.history, third.history) == ((), ())
    assert second.history == (Turn(role="user", text=first.question), Turn(role="assistant", text="In 1931."))
    assert first.metadata == {"session_id": "a", "latency_ms": 5.0, "prompt_tokens": 30, "completion_tokens": 4}
    start = datetime.fromtimestamp(START / 1e9, UTC).replace(tzinfo=None)
    assert [sample.time for sample in run.samples] == [start + timedelta(milliseconds=at) for _, _, at, _ in ASKED]


@pytest.mark.parametrize("start", ["0", "1000000000000000000000", "-5", "x", None])
def test_a_trace_without_a_possible_time_has_none(write: Write, start: Any) -> None:
    given = {**openinference(1, "Why?", "So.", [], at=0, session="a")[0], "startTimeUnixNano": start}
    (sample,) = read(write, given)
    assert sample.time is None


def test_what_may_name_persons_and_machines_is_left_out_and_said_so(write: Write) -> None:
    result = read_runs(write("traces.json", json.dumps(OPENINFERENCE)))
    assert "kim" not in repr(result)
    uses = {use.column: use.field for use in result.report.columns}
    assert uses["user.id"] == "left out: names a person"
    assert uses["resource"] == "left out: may name persons and machines"
    assert (uses["input.value"], uses["retrieval.documents"], uses["session.id"]) == ("question", "contexts", "history")


def as_lines(given: Any) -> str:
    """A request for each span, as the collector may write them: a trace crosses lines."""
    (group,) = given["resourceSpans"]
    (inner,) = group["scopeSpans"]
    split = [{**group, "scopeSpans": [{**inner, "spans": [one]}]} for one in inner["spans"]]
    return "\n".join(json.dumps({"resourceSpans": [one]}) for one in split)


def as_protobuf_prints(given: Any) -> str:
    """With ids in base64 and names in snake case."""

    def renamed(of: Any) -> Any:
        if isinstance(of, list):
            return [renamed(one) for one in of]
        if not isinstance(of, dict):
            return of
        return {
            re.sub(r"(?=[A-Z])", "_", key).lower(): base64.b64encode(bytes.fromhex(cell)).decode()
            if key in ("traceId", "spanId", "parentSpanId")
            else renamed(cell)
            for key, cell in of.items()
        }

    return json.dumps(renamed(given))


def as_console(given: Any) -> str:
    """Lines of the console exporter."""
    (group,) = given["resourceSpans"]
    lines: list[str] = []
    for one in group["scopeSpans"][0]["spans"]:
        parent = one.get("parentSpanId")
        flat = {
            "name": one["name"],
            "context": {"trace_id": f"0x{one['traceId']}", "span_id": f"0x{one['spanId']}", "trace_state": "[]"},
            "kind": "SpanKind.INTERNAL",
            "parent_id": f"0x{parent}" if parent else None,
            "start_time": int(one["startTimeUnixNano"]),
            "end_time": int(one["endTimeUnixNano"]),
            "status": {"status_code": "UNSET"},
            "attributes": plain(one["attributes"]),
            "events": [{"name": said["name"], "attributes": plain(said["attributes"])} for said in one["events"]],
            "resource": {"attributes": plain(group["resource"]["attributes"])},
        }
        lines.append(json.dumps(flat))
    return "\n".join(lines)


def plain(of: list[Any]) -> dict[str, Any]:
    kinds = {"intValue": int, "doubleValue": float, "stringValue": str, "boolValue": bool}
    return {one["key"]: kinds[kind](cell) for one in of for kind, cell in one["value"].items()}


def varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])


def field(number: int, content: bytes | str | float) -> bytes:
    """A field on the wire: a text or message with its length, a whole number, or eight bytes of a fraction."""
    match content:
        case int():
            return varint(number << 3) + varint(content & (2**64 - 1))
        case float():
            return varint(number << 3 | 1) + struct.pack("<d", content)
        case str():
            return field(number, content.encode())
        case _:
            return varint(number << 3 | 2) + varint(len(content)) + content


def wire_value(of: dict[str, Any]) -> bytes:
    ((kind, content),) = of.items()
    match kind:
        case "intValue":
            return field(3, int(content))
        case "arrayValue":
            return field(5, b"".join(field(1, wire_value(one)) for one in content["values"]))
        case "kvlistValue":
            return field(6, wire_attributes(1, content["values"]))
        case _:
            return field({"stringValue": 1, "boolValue": 2, "doubleValue": 4}[kind], content)


def wire_attributes(number: int, of: list[Any]) -> bytes:
    return b"".join(field(number, field(1, one["key"]) + field(2, wire_value(one["value"]))) for one in of)


def wire(given: Any) -> bytes:
    """The request as protobuf."""
    (group,) = given["resourceSpans"]
    (inner,) = group["scopeSpans"]
    found = b""
    for one in inner["spans"]:
        times = b"".join(
            varint(number << 3 | 1) + struct.pack("<Q", int(one[name]))
            for number, name in ((7, "startTimeUnixNano"), (8, "endTimeUnixNano"))
        )
        events = b"".join(field(11, field(2, e["name"]) + wire_attributes(3, e["attributes"])) for e in one["events"])
        ids = b"".join(
            field(number, bytes.fromhex(one.get(name, "")))
            for number, name in ((1, "traceId"), (2, "spanId"), (4, "parentSpanId"))
        )
        found += field(2, ids + field(5, one["name"]) + times + wire_attributes(9, one["attributes"]) + events)
    scope = field(1, field(1, inner["scope"]["name"]) + field(2, inner["scope"]["version"]))
    return field(1, field(1, wire_attributes(1, group["resource"]["attributes"])) + field(2, scope + found))


@pytest.mark.parametrize("given", [OPENINFERENCE, GENAI])
def test_every_form_of_an_export_gives_the_same_samples(write: Write, given: Any) -> None:
    expected = one_run(write("traces.json", json.dumps(given)))
    message = wire(given)
    forms: dict[str, str | bytes] = {
        "lines.jsonl": as_lines(given),
        "lines.json": as_lines(given),
        "printed.json": as_protobuf_prints(given),
        "console.jsonl": as_console(given),
        "traces.pb": message,
        "twice.binpb": message + message,
        "prefixed.pb": struct.pack(">I", len(message)) + message,
    }
    for name, content in forms.items():
        run = one_run(write(name, content))
        assert (run.name, run.config) == (expected.name, expected.config), name
        assert run.samples == expected.samples, name


def test_a_file_of_protobuf_that_is_cut_or_something_else_is_rejected(write: Write) -> None:
    message = wire(GENAI)
    for end in range(1, len(message), 37):
        read_or_refused(write("cut.pb", message[:end]))
    for content in (
        b"\x0a\x88\x88\x88\x88\x88\x88\x88\x88\x88\x88\x88",
        b"\x00\x00\x00\x09\x0ax",
        b"\x0a\x02\x0b\x0b",
        b"%",
    ):
        with pytest.raises(RunFileError, match="is not OTLP as protobuf"):
            read_runs(write("other.pb", content))
    nested = field(1, "x")
    for _ in range(60):
        nested = field(5, field(1, nested))
    deep = field(1, field(2, field(2, field(9, field(1, "k") + field(2, nested)))))
    with pytest.raises(RunFileError, match="is not OTLP as protobuf"):
        read_runs(write("deep.pb", deep))


def test_values_of_every_type_are_read_from_protobuf_as_from_json(write: Write) -> None:
    given = request(
        *openinference(1, "Why?", "So.", [], at=0, session="a"),
        service__name="shop",
        one=-5,
        two=True,
        three=[1, "b", [2.5]],
        four={"a": {"b": False}},
    )
    assert one_run(write("a.pb", wire(given))).samples == one_run(write("a.json", json.dumps(given))).samples


def test_evaluations_are_scores_with_their_label_and_explanation(write: Write) -> None:
    run = one_run(write("traces.json", json.dumps(GENAI)))
    assert run.scores is not None
    assert run.scores.outcomes[0] == {
        "opentelemetry-file.groundedness": Score(value=0.75, counted="as the file has it")
    }
    (said,) = run.scores.recorded[0].judgements
    assert (said.about, said.says, said.value, said.reason) == (
        "groundedness",
        "mostly",
        0.75,
        "One word is not in them.",
    )


def test_evaluations_may_be_log_records_in_the_same_file(write: Write) -> None:
    said = {"gen_ai.evaluation.name": "tone", "gen_ai.evaluation.score.label": "calm"}
    record = {
        "eventName": "gen_ai.evaluation.result",
        "traceId": f"{1:032x}",
        "spanId": f"{101:016x}",
        "attributes": attributes(said),
    }
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    lines = [request(*genai(1, "Why?", "So.", [], at=0, session="a")), logs]
    run = one_run(write("lines.jsonl", "\n".join(map(json.dumps, lines))))
    assert run.scores is not None
    assert [metric.spec for metric in run.scores.metrics] == [
        "opentelemetry-file.groundedness",
        "opentelemetry-file.tone",
    ]
    assert "calm" in repr(run.scores.outcomes[0]["opentelemetry-file.tone"])


def test_without_a_span_around_it_the_prompt_is_the_question_and_said_to_be(write: Write) -> None:
    chat: dict[str, Any] = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": messages("assistant", "First.")}
    system = json.dumps([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why is it red?"}])
    first = span(1, 1, 0, at=0, **chat, **{"gen_ai.input.messages": system})
    last = span(1, 2, 0, at=9, **chat | {"gen_ai.output.messages": messages("assistant", "Last.")})
    result = read_runs(write("traces.json", json.dumps(request(first, last))))
    (sample,) = result.runs[0].samples
    assert (sample.question, sample.answer, sample.contexts, sample.history) == ("Why is it red?", "Last.", None, ())
    assert any(note.startswith("the question is the prompt of a model") for note in result.report.notes)


def test_messages_of_the_root_are_question_and_history(write: Write) -> None:
    talk = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": "Why?"},
    ]
    root: dict[str, Any] = {
        "openinference.span.kind": "AGENT",
        "input.mime_type": "application/json",
        "session.id": "a",
    }
    given = span(1, 1, 0, at=0, **root, **{"input.value": json.dumps({"messages": talk}), "output.value": "So."})
    before = span(2, 1, 0, at=-99, **root, **{"input.value": '{"question": "Earlier?"}', "output.value": "Yes."})
    _, sample = read(write, given, before)
    assert (sample.question, sample.answer) == ("Why?", "So.")
    assert [turn.text for turn in sample.history] == ["Hello", "Hi"]


def test_a_history_next_to_the_question_is_read(write: Write) -> None:
    talk = [{"type": "human", "content": "Hello"}, {"type": "ai", "content": "Hi"}]
    root: dict[str, Any] = {"openinference.span.kind": "CHAIN", "input.mime_type": "application/json"}
    given = {"input.value": json.dumps({"input": "Why?", "chat_history": talk}), "output.value": "So."}
    (sample,) = read(write, span(1, 1, 0, at=0, **root, **given))
    assert (sample.question, [(turn.role, turn.text) for turn in sample.history]) == (
        "Why?",
        [("user", "Hello"), ("assistant", "Hi")],
    )
    odd = {"input.value": json.dumps({"input": "Why?", "chat_history": [["human", "Hello"]]}), "output.value": "So."}
    (sample,) = read(write, span(1, 1, 0, at=0, **root, **odd))
    assert (sample.question, sample.history) == ("Why?", ())


def test_passages_are_unknown_unless_a_retriever_says_what_it_found(write: Write) -> None:
    root = {"openinference__span__kind": "CHAIN", "input__value": "Why?", "output__value": "So."}
    kind = {"openinference__span__kind": "RETRIEVER", "input__value": "why"}
    hidden = {f"retrieval.documents.{place}.document.id": "p" for place in (0, 1)}
    failed = {**span(5, 2, 1, at=5, **kind), "status": {"code": 2, "message": "timeout"}}
    none, empty, ids, redacted, failing = read(
        write,
        *(span(trace, 1, 0, at=trace, **root) for trace in range(1, 6)),
        span(2, 2, 1, at=2, **kind),
        span(3, 2, 1, at=3, **kind, **hidden),
        span(4, 2, 1, at=4, **kind, output__value="__REDACTED__"),
        failed,
    )
    assert [sample.contexts for sample in (none, empty, ids, redacted, failing)] == [None, (), None, None, None]


def test_passages_are_those_of_the_reranker_in_the_order_of_their_numbers(write: Write) -> None:
    root = {"openinference__span__kind": "CHAIN", "input__value": "Why?", "output__value": "So."}
    found = {f"retrieval.documents.{place}.document.content": f"Text {place}" for place in range(12)}
    ranked: dict[str, Any] = {
        "reranker.output_documents.0.document.content": "Text 7",
        "reranker.output_documents.0.document.score": 2.5,
    }
    retriever = span(1, 2, 1, at=1, openinference__span__kind="RETRIEVER", **found)
    (plain_,) = read(write, span(1, 1, 0, at=0, **root), retriever)
    assert [passage.text for passage in plain_.contexts or ()] == [f"Text {place}" for place in range(12)]
    reranker = span(1, 3, 1, at=2, openinference__span__kind="RERANKER", **ranked)
    (sample,) = read(write, span(1, 1, 0, at=0, **root), reranker, retriever)
    assert sample.contexts == (Passage(id="1", text="Text 7", rank=1, score=2.5),)


def test_traces_of_evaluators_are_left_out(write: Write) -> None:
    evaluator = span(9, 1, 0, at=0, openinference__span__kind="EVALUATOR", input__value="Is it true?")
    result = read_runs(
        write("a.json", json.dumps(request(evaluator, *openinference(1, "Why?", "So.", [], at=0, session=""))))
    )
    assert [sample.question for sample in result.runs[0].samples] == ["Why?"]
    assert "1 traces without a question dropped" in result.report.notes


def test_a_model_within_an_evaluator_does_not_answer(write: Write) -> None:
    root = span(1, 1, 0, at=0, openinference__span__kind="CHAIN", input__value="Why?")
    answer = span(1, 2, 1, at=1, openinference__span__kind="LLM", output__value="So.", llm__model_name="small")
    evaluator = span(1, 3, 1, at=2, openinference__span__kind="EVALUATOR")
    judge = span(1, 4, 3, at=3, openinference__span__kind="LLM", output__value="Correct.", llm__model_name="judge")
    run = one_run(write("a.json", json.dumps(request(root, answer, evaluator, judge))))
    assert (run.samples[0].answer, run.config) == ("So.", {"model": "small"})


def test_each_project_is_a_run(write: Write) -> None:
    one = request(*openinference(1, "Why?", "So.", [], at=0, session="a"), service__name="old")
    two = request(*genai(2, "Why?", "Because.", [], at=0, session="a"), service__name="new")
    result = read_runs(write("lines.jsonl", f"{json.dumps(one)}\n{json.dumps(two)}"))
    config = {"model": "small", "temperature": 0.5}
    assert {run.name: run.config for run in result.runs} == {"old": config, "new": config}


def test_other_spans_are_rejected_with_what_to_do(write: Write) -> None:
    given = request(span(1, 1, 0, at=0, http__method="GET"))
    with pytest.raises(
        RunFileError, match="has 1 spans of OpenTelemetry, none with attributes of OpenInference, GenAI"
    ):
        read_runs(write("traces.json", json.dumps(given)))


def test_a_broken_line_among_traces_is_not_passed_over(write: Write) -> None:
    text = f"{as_lines(GENAI)}\n{{"
    with pytest.raises(RunFileError, match=r"lines\.jsonl:10: not JSON"):
        read_runs(write("lines.jsonl", text))
    assert len(read_runs(write("lines.jsonl", text), skip_bad=True).runs[0].samples) == 3


def test_a_circle_of_parents_ends(write: Write) -> None:
    root = {"openinference__span__kind": "CHAIN", "input__value": "Why?", "output__value": "So."}
    (sample,) = read(write, span(1, 1, 2, at=0, **root), span(1, 2, 1, at=1, **root), span(1, 3, 3, at=2, **root))
    assert sample.question == "Why?"


@pytest.mark.parametrize("given", [OPENINFERENCE, GENAI])
def test_half_broken_traces_are_read_or_refused_in_one_line(tmp_path: Path, given: Any) -> None:
    check_broken_at_random(tmp_path / "traces.json", given)
    check_broken_at_random(tmp_path / "console.jsonl", [json.loads(line) for line in as_console(given).splitlines()])


def test_scores_and_explanations_of_a_trace_are_shown(
    write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(tmp_path / "store")
    store.add_runs(read_runs(write("traces.json", json.dumps(GENAI))).runs)
    with pytest.raises(SystemExit, match="0"):
        main(["show", "shop", f"{1:032x}", "--store", str(tmp_path / "store")])
    shown = capsys.readouterr().out
    assert "opentelemetry-file.groundedness: 0.75" in shown
    assert "groundedness: mostly (0.75): One word is not in them." in shown


def test_the_real_exports_of_one_program_agree(data: Path) -> None:
    folder = data / "tools" / "otel"
    found = [one_run(folder / f"openinference.{kind}") for kind in ("otlp.json", "otlp.pb", "console.jsonl")]
    genais = [one_run(folder / f"genai.otlp.{kind}") for kind in ("json", "pb")]
    assert replace(found[0], source="") == replace(found[1], source="")
    assert genais[0].samples == genais[1].samples
    for other in (found[2], genais[0]):
        assert [(s.question, s.answer, s.contexts, s.history) for s in other.samples] == [
            (s.question, s.answer, s.contexts, s.history) for s in found[0].samples
        ]
    ids = [[passage.id for passage in sample.contexts or ()] for sample in found[0].samples]
    assert ids == [["d1", "d2"], ["d3", "d4", "d5"], [], ["d6"]]
    assert [len(sample.history) for sample in found[0].samples] == [0, 2, 0, 2]


def test_passage_ids_can_be_only_in_the_output_as_in_langchain(write: Write) -> None:
    documents = [{"id": f"p{place}", "page_content": text, "metadata": {}} for place, text in enumerate(TEXTS)]
    retriever: dict[str, Any] = {
        "openinference.span.kind": "RETRIEVER",
        "input.value": "why",
        "output.value": json.dumps({"documents": documents}),
        "output.mime_type": "application/json",
        **{f"retrieval.documents.{place}.document.content": text for place, text in enumerate(TEXTS)},
    }
    root = {"openinference__span__kind": "CHAIN", "input__value": "Why?", "output__value": "So."}
    (sample,) = read(write, span(1, 1, 0, at=0, **root), span(1, 2, 1, at=1, **retriever))
    assert [(one.id, one.text) for one in sample.contexts or ()] == [("p0", TEXTS[0]), ("p1", TEXTS[1])]


def test_a_search_within_a_search_is_a_step_of_it(write: Write) -> None:
    root = {"openinference__span__kind": "CHAIN", "input__value": "Why?", "output__value": "So."}
    kind = {"openinference__span__kind": "RETRIEVER", "input__value": "why"}
    outer = span(1, 2, 1, at=1, **kind, **{"retrieval.documents.0.document.content": TEXTS[0]})
    inner = span(1, 3, 2, at=2, **kind, output__value='["<NodeWithScore(node=1)>"]')
    between = span(1, 4, 2, at=2, openinference__span__kind="CHAIN")
    deeper = span(1, 5, 4, at=3, **kind, **{"retrieval.documents.0.document.content": TEXTS[1]})
    result = read_runs(
        write("traces.json", json.dumps(request(span(1, 1, 0, at=0, **root), outer, inner, between, deeper)))
    )
    (sample,) = result.runs[0].samples
    assert [one.text for one in sample.contexts or ()] == TEXTS[:1]
    assert not any(note.startswith("several retrievals") for note in result.report.notes)


def test_the_cost_is_that_of_the_models(write: Write) -> None:
    root = {"openinference__span__kind": "CHAIN", "input__value": "Why?", "output__value": "So."}
    model = {"openinference__span__kind": "LLM"}
    (sample,) = read(
        write,
        span(1, 1, 0, at=0, **root),
        span(1, 2, 1, at=1, **model, llm__cost__total=0.25),
        span(1, 3, 1, at=2, **model, llm__cost__prompt=0.5, llm__cost__completion=0.125),
    )
    assert sample.metadata["cost_usd"] == 0.875


def test_messages_may_be_events_as_before_version_1_37(write: Write) -> None:
    chat = {"gen_ai.operation.name": "chat"}
    events = [
        ("gen_ai.system.message", {"content": "Be brief."}),
        ("gen_ai.user.message", {"content": "Why?"}),
        ("gen_ai.choice", {"gen_ai.event.content": json.dumps({"index": 0, "message": {"content": "So."}})}),
    ]
    details = {
        "gen_ai.input.messages": messages("user", "And?"),
        "gen_ai.output.messages": messages("assistant", "No."),
    }
    first, second = read(
        write,
        span(1, 1, 0, at=0, events=events, **chat),
        span(2, 1, 0, at=9, events=[("gen_ai.client.inference.operation.details", details)], **chat),
    )
    assert [(first.question, first.answer), (second.question, second.answer)] == [("Why?", "So."), ("And?", "No.")]


def test_a_question_that_the_parts_of_a_pipeline_agree_on_as_haystack_has_it(write: Write) -> None:
    inputs = {"data": {"retriever": {"query": "Why?"}, "prompt": {"question": "Why?"}, "k": 3}}
    root: dict[str, Any] = {"openinference.span.kind": "CHAIN", "input.mime_type": "application/json"}
    root |= {"output.mime_type": "application/json", "output.value": json.dumps({"model": {"replies": ["So."]}})}
    said = {"llm.output_messages.0.message.content": "So.", "llm.output_messages.0.message.role": "assistant"}
    model = span(1, 2, 1, at=1, openinference__span__kind="LLM", **said)
    (sample,) = read(write, span(1, 1, 0, at=0, **root, **{"input.value": json.dumps(inputs)}), model)
    assert (sample.question, sample.answer) == ("Why?", "So.")
