"""Turn the spans of traces into samples, for all tools that record traces.

Each trace becomes a sample. The question is the input of the root span, the answer its output, and the passages are
those of the last retriever or reranker. The traces of a session are turns of one conversation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ragboard.errors import RunFileError
from ragboard.readers.cells import BadCellError, clean, messages_in, read_answer, read_question
from ragboard.readers.files import parse
from ragboard.readers.formats.base import ParsedFile, ToolFile, ToolSample
from ragboard.readers.formats.feedback import Feedback, collect_feedback
from ragboard.readers.formats.shapes import as_object, drop_missing
from ragboard.readers.printed import read_python
from ragboard.records import JsonValue, RecordedSample

__all__ = [
    "ANSWERS",
    "PASSAGES",
    "QUESTIONS",
    "Conversations",
    "Span",
    "Trace",
    "clean_value",
    "decode_value",
    "earlier_turns",
    "field_uses",
    "has_question",
    "nanoseconds",
    "objects_of_flat_keys",
    "passages_of",
    "pick",
    "read_trace",
    "text_of",
    "time_of",
    "trace_file",
]

QUESTIONS = ("question", "user_input", "query", "user_query", "prompt", "input", "inputs", "message", "messages")
ANSWERS = (
    *("answer", "response", "generated_answer", "output", "outputs", "prediction", "completion", "result"),
    *("text", "content", "message", "messages"),
)
HISTORIES = ("chat_history", "history", "conversation_history")
PASSAGES = (
    *("contexts", "retrieved_contexts", "context", "documents", "retrieved_documents", "passages", "chunks"),
    *("source_documents", "results", "docs"),
)
TEXTS = ("page_content", "content", "text", "document.content", "passage", "document")
IDS = ("id", "document.id", "document_id", "doc_id", "chunk_id", "node_id")
SCORES = ("score", "document.score", "relevance_score", "similarity")

STEPS = frozenset({"llm", "retriever", "reranker", "embedding", "tool", "guardrail", "evaluator", "prompt", "parser"})
"""Kinds of spans that are a step towards an answer. Their inputs are not the question."""
KINDS = {
    "generation": "llm",
    "chat": "llm",
    "chat_model": "llm",
    "text_completion": "llm",
    "generate_content": "llm",
    "retrieval": "retriever",
    "embeddings": "embedding",
    "execute_tool": "tool",
    "evaluation": "evaluator",
}
"""Other names of these kinds in the files of tools."""
MAX_EARLIER_QUESTIONS = 10
"""Maximum number of earlier questions and answers of a session that become the history of a sample."""
UNITS = ((10**11, 10**9), (10**14, 10**6), (10**17, 10**3))
"""Units of times, recognised by their size: (upper limit, nanoseconds per unit) for s, ms and us. Larger numbers are
in ns."""
MAX_NAMED_PARTS = 12
"""Maximum number of names that one note lists."""
MAX_DEPTH = 5
"""Maximum depth of nested objects that are searched for a question or an answer."""


@dataclass(frozen=True, kw_only=True)
class Span:
    """One step of a trace, in the same form for all tools."""

    trace: str
    id: str = ""
    parent: str = ""
    kind: str = ""
    """The kind of step, in the tool's words: `RETRIEVER`, `chat`."""
    input: JsonValue = None
    output: JsonValue = None
    documents: Sequence[JsonValue] | None = None
    """The passages that a retriever or reranker returned; None if the span has none."""
    reference: JsonValue = None
    start: int = 0
    """Nanoseconds since 1970; 0 if unknown."""
    end: int = 0
    """Nanoseconds since 1970; 0 if unknown."""
    run: str = ""
    """Name of the project or service."""
    session: str = ""
    model: str = ""
    settings: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Settings of the model."""
    tokens: tuple[int, int] = (0, 0)
    """Tokens of the prompt and of the completion."""
    cost: float = 0.0
    """US dollars; 0 if unknown."""
    error: str = ""
    feedback: Sequence[Feedback] = ()
    metadata: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    line: int = 1
    location: str = ""

    @property
    def step(self) -> str:
        """The kind of step, by the same name for all tools."""
        kind = self.kind.lower()
        return KINDS.get(kind, kind)


def trace_file(
    file: ParsedFile, tool: str, spans: Iterable[Span], *, fields: Mapping[str, str], version: str = "", judge: str = ""
) -> ToolFile:
    """Return the traces of a file as samples, oldest first. Raises RunFileError if none has a question."""
    traces: dict[str, list[Span]] = {}
    for span in spans:
        traces.setdefault(span.trace or span.id, []).append(span)
    read = [sample for trace in traces.values() if (sample := read_trace(trace)) is not None]
    if not read:
        raise RunFileError(
            file.path,
            f"has {len(traces)} traces of {tool}, but none has a question (a span with an input)",
        )
    read.sort(key=lambda trace: trace.start)
    notes = Counter(note for trace in read for note in trace.notes)
    left_out = len(traces) - len(read)
    names = list(dict.fromkeys(trace.run for trace in read))
    several = len(names) > 1
    samples = [
        ToolSample(
            cells=cells,
            line=trace.line,
            location=trace.location,
            run=(trace.run or tool) if several else "",
            time=time_of(trace.start),
            scores=(feedback := collect_feedback(trace.feedback)).scores,
            recorded=RecordedSample(judgements=feedback.judgements),
        )
        for trace, cells in zip(read, map(Conversations().with_history, read), strict=True)
    ]
    return ToolFile(
        tool=tool,
        version=version,
        judge=judge,
        name="" if several else names[0],
        samples=samples,
        config={} if several else _config(read),
        configs={name or tool: _config([trace for trace in read if trace.run == name]) for name in names}
        if several
        else {},
        fields=fields,
        notes=(
            *([f"{left_out} traces without a question dropped"] if left_out else []),
            *(f"{note} ({times} of {len(read)} traces)" for note, times in notes.items()),
        ),
    )


@dataclass(frozen=True, kw_only=True)
class Trace:
    """The sample of a trace, before the earlier turns of its session are added."""

    cells: Mapping[str, JsonValue]
    start: int
    """Nanoseconds since 1970; 0 if unknown."""
    run: str
    session: str
    feedback: Sequence[Feedback]
    models: frozenset[str]
    settings: Sequence[Mapping[str, JsonValue]]
    notes: Sequence[str]
    line: int
    location: str


def has_question(spans: Iterable[Span]) -> bool:
    """Return whether one of the spans has an input and is not a kind in `STEPS`."""
    return any(span.step not in STEPS and _is_given(span.input) for span in spans)


def read_trace(trace: Sequence[Span]) -> Trace | None:
    """Return the sample of a trace; None for a trace without a question, or of an evaluator."""
    spans = list(_top_down(trace))
    if spans[0].step == "evaluator":
        return None
    notes: list[str] = []
    top = next((span for span in spans if span.step not in STEPS and _is_given(span.input)), None)
    models = sorted((span for span in spans if span.step == "llm"), key=lambda span: span.start)
    if top is None:
        top = next((span for span in models if _is_given(span.input)), None)
        if top:
            notes.append("the question is the prompt of a model: no parent span has an input")
    if top is None:
        top = next((span for span in spans if span.step == "retriever" and _is_given(span.input)), None)
        if top is None:
            return None
        notes.append("the question is the query of a retriever: no parent span has an input")
    question = _without_system(pick(top.input, QUESTIONS))
    if question is None:
        return None
    outer_spans = [span for span in (top, spans[0]) if span.step not in STEPS]  # their outputs are the best answers
    answers = [span for span in (*outer_spans, *reversed(models)) if _is_given(span.output)]
    searches = _outermost_searches(spans)
    last_search = max(searches, key=lambda span: (span.start, span.step == "reranker"), default=None)
    passages = passages_of(last_search.documents) if last_search else None
    if last_search and last_search.documents and len(passages or ()) < len(last_search.documents):
        notes.append("the file lacks the texts of passages")
        passages = passages or None
    if sum(span.step == "retriever" for span in searches) > 1:
        notes.append("several retrievals; the passages are those of the last one")
    reference = next((span.reference for span in spans if _is_given(span.reference)), None)
    feedback = [item for span in spans for item in span.feedback]
    human_feedback = collect_feedback(feedback).human_feedback
    prompt, completion = (sum(span.tokens[side] for span in models) for side in (0, 1))
    session = next((span.session for span in spans if span.session), "")
    first = spans[0]
    metadata = {
        "session_id": session,
        "latency_ms": (first.end - first.start) / 1e6 if 0 < first.start <= first.end else None,
        "prompt_tokens": prompt or None,
        "completion_tokens": completion or None,
        "cost_usd": sum(span.cost for span in models) or None,
        "error": first.error,
        "human_feedback": human_feedback or None,
        **{key: value for span in spans for key, value in span.metadata.items()},
    }
    cells = {
        "id": first.trace or first.id,
        "question": question,
        "history": earlier_turns(top.input),
        "answer": _first_text(pick(span.output, ANSWERS) for span in answers),
        "contexts": passages,
        "reference": pick(reference, ANSWERS),
        "metadata": {key: value for key, value in metadata.items() if value not in (None, "")},
    }
    return Trace(
        cells=drop_missing(cells),
        start=min((span.start for span in spans if span.start), default=0),
        run=next((span.run for span in spans if span.run), ""),
        session=session,
        feedback=feedback,
        models=frozenset(span.model for span in models if span.model),
        settings=[span.settings for span in models],
        notes=notes,
        line=top.line,
        location=top.location,
    )


def _first_text(values: Iterable[JsonValue]) -> JsonValue:
    """Return the first text or message, else the first value, which is rejected later; None without values."""
    given = list(values)
    return next(
        (value for value in given if not isinstance(value, Mapping) or "role" in value or "parts" in value),
        given[0] if given else None,
    )


def _outermost_searches(spans: Sequence[Span]) -> list[Span]:
    """Return the retrievers and rerankers that have documents and are not inside another one.

    `spans` are ordered like those of `_top_down`.
    """
    searches: list[Span] = []
    inside: set[str] = set()
    for span in spans:
        if span.parent and span.parent in inside:
            inside.add(span.id)
        elif span.step in ("retriever", "reranker") and span.documents is not None and not span.error:
            searches.append(span)
            inside.add(span.id)
    return searches


def _top_down(trace: Sequence[Span]) -> Iterator[Span]:
    """Yield the spans level by level, ordered by time. The first level are the spans without a known parent.

    Duplicates are skipped, and so are spans inside an evaluator, which are not part of the answer.
    """
    unique: dict[str, Span] = {}
    for index, span in enumerate(trace):
        unique.setdefault(span.id or str(index), span)
    ordered = sorted(unique.values(), key=lambda span: span.start)
    ids = {span.id for span in ordered}
    children: dict[str, list[Span]] = {}
    for span in ordered:
        children.setdefault(span.parent if span.parent in ids and span.parent != span.id else "", []).append(span)
    level, seen = children.get("", []) or ordered[:1], set[int]()
    while level:
        level = [span for span in level if id(span) not in seen]
        seen |= {id(span) for span in level}
        yield from level
        inside = [span.id for span in level if span.id and span.step != "evaluator"]
        level = [child for parent in inside for child in children.get(parent, ())]


class Conversations:
    """The last turns of each session."""

    def __init__(self, limit: int | None = None) -> None:
        """Keep at most `limit` sessions, those with the latest turns; all if None."""
        self._limit = limit
        self._turns: dict[tuple[str, str], list[JsonValue]] = {}

    def with_history(self, trace: Trace) -> Mapping[str, JsonValue]:
        """Return the cells of the next trace. If they have no history, add the earlier turns of the session."""
        question, answer = trace.cells["question"], trace.cells.get("answer")
        earlier_turns = self.turns(trace.run, trace.session)
        has_history = "history" in trace.cells or (isinstance(question, list) and len(question) > 1)
        cells = {**trace.cells, "history": earlier_turns} if earlier_turns and not has_history else trace.cells
        with suppress(BadCellError):
            self.add(
                trace.run, trace.session, read_question(question, _ignore).question, read_answer(answer, _ignore) or ""
            )
        return cells

    def turns(self, run: str, session: str) -> list[JsonValue]:
        """Return the last turns of a session, oldest first."""
        return list(self._turns.get((run, session), ()))

    def add(self, run: str, session: str, question: str, answer: str) -> None:
        """Add a question and its answer, which may be empty, to a session. Does nothing if `session` is empty."""
        if not session:
            return
        turns = self._turns.pop((run, session), [])
        turns.append({"role": "user", "content": question})
        if answer:
            turns.append({"role": "assistant", "content": answer})
        self._turns[run, session] = turns[-2 * MAX_EARLIER_QUESTIONS :]
        if self._limit is not None and len(self._turns) > self._limit:
            del self._turns[next(iter(self._turns))]


def _ignore(_: str) -> None:
    """Discard a conversion: it is reported when the sample is read."""


def _config(traces: Sequence[Trace]) -> dict[str, JsonValue]:
    """Return the names of the models, and the settings that have the same value in all calls."""
    models = sorted({model for trace in traces for model in trace.models})
    settings = [setting for trace in traces for setting in trace.settings]
    merged = {key: value for setting in settings for key, value in setting.items() if key != "model"}
    constant = {
        key: value for key, value in merged.items() if all(setting.get(key, value) == value for setting in settings)
    }
    return ({"model": ", ".join(models)} if models else {}) | constant


def _is_given(value: JsonValue) -> bool:
    return value not in (None, "", [], {})


def _without_system(value: JsonValue) -> JsonValue:
    """Return a list of messages without system messages; anything else unchanged."""
    if not isinstance(value, list):
        return value
    other_messages = [
        message
        for message in value
        if not (isinstance(message, Mapping) and message.get("role") in ("system", "developer"))
    ]
    return other_messages or value


def pick(value: JsonValue, names: Sequence[str]) -> JsonValue:
    """Return the text or messages in a value, such as the answer in an output; any other value unchanged.

    In an object, that is the value of the first of these names, else its only text, else the text of its only part, or
    the text that all its parts share. An object without such a text is returned, and the reader of cells rejects it.
    """
    for _ in range(MAX_DEPTH):
        if not isinstance(value, Mapping) or "role" in value or "parts" in value:
            return value
        if value.keys() <= {"args", "kwargs"}:
            value = value.get("kwargs") or value.get("args")
            value = value[0] if isinstance(value, list) and len(value) == 1 else value
            continue
        choices = value.get("choices")
        if isinstance(choices, list) and choices:
            value = choices[0]
            continue
        texts = [text for text in value.values() if isinstance(text, str) and text.strip()]
        chosen = next(
            (value[name] for name in names if _is_given(value.get(name))), texts[0] if len(texts) == 1 else None
        )
        if chosen is None:
            chosen = _in_parts(value, names)
        if chosen is None:
            return value
        value = chosen
    return value


def _in_parts(value: Mapping[str, JsonValue], names: Sequence[str]) -> JsonValue:
    """Return the only part of an object, or the text that all its parts share, as in inputs of Haystack; else None."""
    parts = [part for part in value.values() if isinstance(part, Mapping)]
    if len(parts) == len(value) == 1:
        return parts[0]
    texts = {text for part in parts for name in names if isinstance(text := part.get(name), str) and text.strip()}
    return texts.pop() if len(texts) == 1 else None


def passages_of(value: JsonValue) -> list[JsonValue] | None:
    """Return the passages with a text in a value, as texts or as objects with text, id and score.

    None if the value has no list of passages.
    """
    for _ in range(MAX_DEPTH):
        if not isinstance(value, Mapping):
            break
        value = next((value[name] for name in PASSAGES if name in value), None)
    if not isinstance(value, (list, tuple)):
        return None
    passages: list[JsonValue] = []
    for item in value:
        if isinstance(item, str):
            passages.append(item)
        elif isinstance(item, Mapping):
            document = as_object(item.get("document")) or item
            details = {**as_object(document.get("metadata")), **drop_missing(item), **drop_missing(document)}
            text = next((document[name] for name in TEXTS if isinstance(document.get(name), str)), None)
            key, score = (
                next((details[name] for name in names if isinstance(details.get(name), kinds)), None)
                for names, kinds in ((IDS, (str, int)), (SCORES, (int, float)))
            )
            if text is not None:
                passages.append(drop_missing({"text": text, "id": key, "score": score}))
    return passages


def earlier_turns(value: JsonValue) -> JsonValue:
    """Return the history in an input; None if there is none."""
    inputs = as_object(value)
    return next((inputs[name] for name in HISTORIES if name in inputs and messages_in(name, inputs[name])), None)


def text_of(value: JsonValue) -> str:
    """Return a text or a number as text; empty for anything else."""
    return value if isinstance(value, str) else str(value) if type(value) in (int, float) else ""


def decode_value(value: JsonValue, *, python: bool = False) -> JsonValue:
    """Return the value of a text with JSON or, with `python`, of the repr() of an object; any other value unchanged."""
    if value == "null":
        return None
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[", '"')):
        return value
    with suppress(ValueError, RecursionError, BadCellError):
        return clean(parse(value), _ignore)
    if python:
        with suppress(BadCellError):
            decoded = clean(read_python(value), _ignore)
            return value if decoded is None else decoded
    return value


def clean_value(file: ParsedFile) -> JsonValue:
    """Return `file.value` after `cells.clean`. Raises RunFileError if it is nested too deeply."""
    try:
        return clean(file.value, _ignore, depth=-1)
    except (BadCellError, RecursionError) as error:
        raise RunFileError(file.path, str(error) if isinstance(error, BadCellError) else "nested too deeply") from error


def nanoseconds(value: JsonValue) -> int:
    """Return a time in nanoseconds since 1970; 0 for a value that is not a time.

    The value is a number in s, ms, us or ns, or an ISO 8601 date and time (UTC if it has no time zone).
    """
    with suppress(ValueError, OverflowError):
        if isinstance(value, str) and not re.fullmatch(r"\d{1,25}", value):
            time = datetime.fromisoformat(value)
            return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1e6) * 1000
        if isinstance(value, (int, float, str)):
            number = int(value) if isinstance(value, str) else value
            return min(int(number * next((unit for most, unit in UNITS if abs(number) < most), 1)), 2**63)
    return 0


def time_of(start: int) -> datetime | None:
    """Return nanoseconds since 1970 as a time, UTC without a time zone; None if it is not between 2000 and 2100."""
    with suppress(ValueError, OverflowError, OSError):
        time = datetime.fromtimestamp(start // 1000 / 1e6, UTC).replace(tzinfo=None)
        return time if 2000 <= time.year < 2100 else None
    return None


def objects_of_flat_keys(attributes: Mapping[str, JsonValue], prefix: str) -> list[dict[str, JsonValue]]:
    """Return the objects of a list that is stored as flat keys (`PREFIX.0.KEY`), in order."""
    by_number: dict[int, dict[str, JsonValue]] = {}
    for name, value in attributes.items():
        number, _, key = name.removeprefix(f"{prefix}.").partition(".")
        if name.startswith(f"{prefix}.") and re.fullmatch(r"\d{1,6}", number) and key:
            by_number.setdefault(int(number), {})[key] = value
    return [by_number[number] for number in sorted(by_number)]


def field_uses(names: Iterable[str], uses: Mapping[str, str]) -> dict[str, str]:
    """Return how each part of a file is used, for `ToolFile.fields`.

    The use of a part is the value of the longest key of `uses` that its name begins with. Numbers in names become `N`.
    Parts that are left out for the same reason are listed together.
    """
    result: dict[str, str] = {}
    left_out: dict[str, dict[str, None]] = {}
    for name in dict.fromkeys(re.sub(r"\.\d+(?=\.|$)", ".N", name) for name in dict.fromkeys(names)):
        key = max(
            (candidate for candidate in uses if name == candidate or name.startswith(f"{candidate}.")),
            key=len,
            default="",
        )
        use = uses[key] if key else "left out: not part of a sample"
        if use.startswith("left out"):
            left_out.setdefault(use, {})[key or name] = None
        elif use:
            result[key] = use
    for use, paths in left_out.items():
        more = f" and {len(paths) - MAX_NAMED_PARTS} more" if len(paths) > MAX_NAMED_PARTS else ""
        result[", ".join(path[:60] for path in [*paths][:MAX_NAMED_PARTS]) + more] = use
    return result
