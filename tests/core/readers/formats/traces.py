"""Example traces of a small RAG system, for the tests of all tracing tools."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

START = 1_790_000_000_000_000_000


def value(of: Any) -> dict[str, Any]:
    """A value with its type, as OTLP writes it."""
    match of:
        case bool():
            return {"boolValue": of}
        case int():
            return {"intValue": str(of)}
        case float():
            return {"doubleValue": of}
        case list():
            return {"arrayValue": {"values": [value(one) for one in of]}}
        case dict():
            return {"kvlistValue": {"values": attributes(of)}}
        case _:
            return {"stringValue": of}


def attributes(of: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Attributes as OTLP writes them."""
    return [{"key": key, "value": value(cell)} for key, cell in of.items()]


def span(trace: int, number: int, parent: int, *, at: int, events: Sequence[Any] = (), **of: Any) -> dict[str, Any]:
    """A span that begins `at` milliseconds; `parent` 0 is none. In names of attributes `__` stands for a full stop."""
    found = {
        "traceId": f"{trace:032x}",
        "spanId": f"{100 * trace + number:016x}",
        "parentSpanId": f"{100 * trace + parent:016x}" if parent else "",
        "name": f"step {number}",
        "kind": 1,
        "startTimeUnixNano": str(START + at * 10**6),
        "endTimeUnixNano": str(START + (at + 5) * 10**6),
        "attributes": attributes({name.replace("__", "."): cell for name, cell in of.items()}),
        "events": [{"name": name, "timeUnixNano": "1", "attributes": attributes(cells)} for name, cells in events],
        "status": {},
    }
    return found if parent else {key: cell for key, cell in found.items() if key != "parentSpanId"}


def request(*spans: Any, scope: str = "app", **resource: Any) -> dict[str, Any]:
    """An export request; in names of attributes of the resource `__` stands for a full stop."""
    given = {name.replace("__", "."): cell for name, cell in resource.items()}
    inner = {"scope": {"name": scope, "version": "1.2"}, "spans": list(spans)}
    return {"resourceSpans": [{"resource": {"attributes": attributes(given)}, "scopeSpans": [inner]}]}


def messages(role: str, text: str) -> str:
    """One message in parts, as JSON in a text."""
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


def openinference(
    trace: int, question: str, answer: str, documents: Sequence[str], *, at: int, session: str
) -> list[Any]:
    """Retriever, model and chain, the root last."""
    found: dict[str, Any] = {}
    for place, text in enumerate(documents):
        one = f"retrieval.documents.{place}.document"
        found |= {f"{one}.id": f"p{place}", f"{one}.content": text, f"{one}.score": 0.5 + place / 16}
        found[f"{one}.metadata"] = '{"page": 1}'
    prompt = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": f"PROMPT {question}"}
    return [
        span(trace, 2, 1, at=at + 1, openinference__span__kind="RETRIEVER", input__value=question, **found),
        span(
            trace,
            3,
            1,
            at=at + 2,
            openinference__span__kind="LLM",
            llm__model_name="small",
            llm__invocation_parameters='{"temperature": 0.5, "model": "small", "tools": []}',
            llm__token_count__prompt=30,
            llm__token_count__completion=4,
            output__value=answer,
            **prompt,
        ),
        span(
            trace,
            1,
            0,
            at=at,
            openinference__span__kind="CHAIN",
            input__value=question,
            output__value=answer,
            session__id=session,
            user__id="kim@example.org",
        ),
    ]


def genai(trace: int, question: str, answer: str, documents: Sequence[Any], *, at: int, session: str) -> list[Any]:
    """The same by OpenTelemetry's own convention, with an evaluation."""
    said = {
        "gen_ai.evaluation.name": "groundedness",
        "gen_ai.evaluation.score.value": 0.75,
        "gen_ai.evaluation.score.label": "mostly",
        "gen_ai.evaluation.explanation": "One word is not in them.",
    }
    return [
        span(
            trace,
            2,
            1,
            at=at + 1,
            gen_ai__operation__name="retrieval",
            gen_ai__retrieval__query__text=question,
            gen_ai__retrieval__documents=json.dumps(documents),
        ),
        span(
            trace,
            3,
            1,
            at=at + 2,
            gen_ai__operation__name="chat",
            gen_ai__request__model="small",
            gen_ai__request__temperature=0.5,
            gen_ai__usage__input_tokens=30,
            gen_ai__usage__output_tokens=4,
            gen_ai__input__messages=messages("user", f"PROMPT {question}"),
            gen_ai__output__messages=messages("assistant", answer),
        ),
        span(
            trace,
            1,
            0,
            at=at,
            events=[("gen_ai.evaluation.result", said)],
            gen_ai__operation__name="invoke_agent",
            gen_ai__conversation__id=session,
            gen_ai__input__messages=messages("user", question),
            gen_ai__output__messages=messages("assistant", answer),
        ),
    ]
