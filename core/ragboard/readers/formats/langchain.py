"""LangChain: outputs of chains, traced runs, states of graphs, and QA evaluations.

A document is an object with `page_content`, the same inside `{"lc": 1, "kwargs": {..}}`, or a Python repr. Retrievers
write the score into its metadata.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from ragboard.errors import RunFileError
from ragboard.readers.formats.base import FileFormat, Format, ParsedFile, ToolFile, ToolSample
from ragboard.readers.formats.shapes import as_list, as_number, as_object, as_text, drop_missing
from ragboard.readers.formats.spans import nanoseconds, time_of
from ragboard.readers.printed import LANGCHAIN, PrintedError, read_printed, read_python
from ragboard.records import JsonValue

__all__ = ["FILE_FORMATS", "FORMATS"]

FORMATS = (
    Format(
        name="LangChain QA evaluation",
        columns=frozenset({"query", "answer", "result"}),
        fields={"answer": "result", "reference": "answer"},
    ),
    Format(
        name="LangChain RetrievalQA",
        columns=frozenset({"query", "result", "source_documents"}),
        fields={"answer": "result"},
    ),
)

CHAINS: tuple[Mapping[str, str], ...] = (
    {"question": "input", "contexts": "context", "answer": "answer"},
    {"question": "query", "contexts": "source_documents", "answer": "result"},
    {"question": "question", "contexts": "source_documents", "answer": "answer"},
)
"""The output keys of `create_retrieval_chain`, `RetrievalQA` and `ConversationalRetrievalChain`."""
HISTORY = "chat_history"
QUESTIONS = ("input", "question", "query")
ANSWERS = ("answer", "output", "result", "response")
CONTEXTS = ("context", "source_documents", "documents", "docs")
SCORES = ("score", "relevance_score", "_score")
DOCUMENTS_LEFT_OUT = "left out: only the text, id and score of a passage are kept"


def _document(value: object) -> Mapping[str, Any]:
    """Return the fields of a document; empty if the value is not a document."""
    if isinstance(value, str) and LANGCHAIN.match(value):
        return _printed(value)
    inner = as_object(value)
    if "lc" in inner:
        inner = as_object(inner.get("kwargs"))
    return inner if "page_content" in inner else {}


def _printed(text: str) -> Mapping[str, Any]:
    """Return the fields of a document from its text `page_content='..' metadata={..}`; empty if that fails."""
    try:
        document = read_printed(text)
    except PrintedError:
        return {}
    if not isinstance(document, dict):
        return {}
    metadata = read_python(text.rpartition(" metadata=")[2])
    return {"page_content": document["page_content"], "metadata": metadata}


def _passages(value: Any) -> Any:
    """Return the documents in a list as passages; other values unchanged."""
    if not isinstance(value, list):
        return value
    return [_passage(_document(item)) if _document(item) else item for item in value]


def _passage(document: Mapping[str, Any]) -> JsonValue:
    metadata = as_object(document.get("metadata"))
    score = next((number for name in SCORES if (number := as_number(metadata.get(name))) is not None), None)
    return drop_missing({"id": document.get("id"), "text": document["page_content"], "score": score})


def _has_documents(value: object) -> bool:
    return any(bool(_document(item)) for item in as_list(value))


def _chain(file: ParsedFile) -> Mapping[str, str] | None:
    """Return the output keys of the chain that wrote the rows; None for rows of anything else."""
    for chain in CHAINS:
        has_keys = set(chain.values()) <= file.columns
        if has_keys and any(_has_documents(row.get(chain["contexts"])) for row in file.rows[:20]):
            return chain
    return None


def _is_chain(file: ParsedFile) -> bool:
    return bool(file.rows) and _chain(file) is not None


def _read_chain(file: ParsedFile) -> ToolFile:
    chain = _chain(file) or CHAINS[0]
    gold = {"reference": "answer"} if chain["answer"] == "result" and "answer" in file.columns else {}
    columns_of_fields = {**chain, **gold, "history": HISTORY, "id": "id", "metadata": "metadata"}
    samples: list[ToolSample] = []
    for index, row in enumerate(file.rows):
        rest = drop_missing(row, *columns_of_fields.values())
        cells = {field: row.get(key) for field, key in columns_of_fields.items()}
        cells["contexts"] = _passages(cells["contexts"])
        metadata = {**rest, **as_object(cells.pop("metadata"))}
        printed = any(isinstance(document, str) for document in as_list(row.get(chain["contexts"])))
        samples.append(
            ToolSample(
                cells=drop_missing(cells) | ({"metadata": metadata} if metadata else {}),
                line=file.line(index),
                location=f"[{index}]" if file.kind == "JSON" else "",
                notes=("contexts: read from the str() of documents, which has no ids",) if printed else (),
            )
        )
    field_of_column = {key: field for field, key in columns_of_fields.items() if key in file.columns}
    columns = dict.fromkeys(name for row in file.rows for name in row)
    return ToolFile(
        tool="LangChain",
        samples=samples,
        fields={name: field_of_column.get(name, "metadata") for name in columns}
        | {f"{chain['contexts']}[].metadata": DOCUMENTS_LEFT_OUT},
    )


def _is_runs(file: ParsedFile) -> bool:
    return {"dotted_order", "run_type", "inputs", "outputs"} <= file.columns


def _read_runs(file: ParsedFile) -> ToolFile:
    """Return a sample for each root run, with the passages in its outputs, else those of its retrievers."""
    roots = [index for index, row in enumerate(file.rows) if row.get("parent_run_id") is None]
    if not roots:
        raise RunFileError(file.path, "has only inner runs, expected the run of the whole chain (no parent_run_id)")
    roots.sort(key=lambda index: as_text(file.rows[index].get("dotted_order")))
    retrieved: dict[str, Any] = {}
    for row in sorted(file.rows, key=lambda row: as_text(row.get("dotted_order"))):
        if row.get("run_type") == "retriever" and row.get("parent_run_id") is not None:
            retrieved[str(row.get("trace_id"))] = as_object(row.get("outputs")).get("documents")
    samples: list[ToolSample] = []
    fields: dict[str, str] = {}
    for index in roots:
        row = file.rows[index]
        inputs, outputs = as_object(row.get("inputs")), as_object(row.get("outputs"))
        location = f"[{index}]"
        question_key = _key(file, inputs, QUESTIONS, f"{location}.inputs", index)
        answer_key = _key(file, outputs, ANSWERS, f"{location}.outputs", index, excluded=inputs) if outputs else ""
        context_key = next((name for name in CONTEXTS if isinstance(outputs.get(name), list)), "")
        contexts = outputs[context_key] if context_key else retrieved.get(str(row.get("trace_id")))
        metadata = {
            **as_object(as_object(row.get("extra")).get("metadata")),
            **drop_missing({"tags": row.get("tags") or None, "error": row.get("error"), "latency_s": _seconds(row)}),
        }
        cells = {
            "id": row.get("id"),
            "question": inputs.get(question_key),
            "answer": outputs.get(answer_key),
            "contexts": _passages(contexts),
            "history": inputs.get(HISTORY) or outputs.get(HISTORY),
            "metadata": metadata or None,
        }
        samples.append(
            ToolSample(
                cells=drop_missing(cells),
                line=file.line(index),
                location=location,
                time=time_of(nanoseconds(row.get("start_time"))),
            )
        )
        fields |= {f"inputs.{question_key}": "question"} | ({f"outputs.{answer_key}": "answer"} if answer_key else {})
        fields |= {f"outputs.{context_key}": "contexts"} if context_key else {}
    if retrieved:
        fields["outputs.documents of retrievers"] = "contexts"
    projects = {as_text(file.rows[index].get("session_name")) for index in roots} - {"", "default"}
    return ToolFile(
        tool="LangChain",
        samples=samples,
        name=projects.pop() if len(projects) == 1 else "",
        fields={
            **fields,
            "extra.metadata, tags, error": "metadata",
            "start_time": "time, metadata",
            "end_time": "metadata",
            "extra.runtime": "left out: about the machine",
            "documents[].metadata": DOCUMENTS_LEFT_OUT,
        },
    )


def _key(
    file: ParsedFile, values: Mapping[str, Any], names: Sequence[str], location: str, index: int, excluded: Any = ()
) -> str:
    """Return the key of a question or answer: one of `names`, else that of the only text, without `excluded` keys."""
    usual_names = [name for name in names if values.get(name) is not None]
    texts = usual_names[:1] or [
        name for name, value in values.items() if isinstance(value, str) and name not in excluded
    ]
    if len(texts) != 1:
        keys = ", ".join(map(repr, values)) or "nothing"
        raise RunFileError(
            file.path,
            f"has {keys}, expected one text or {' or '.join(names)}",
            line=file.line(index),
            field=location,
            remedy="; choose the fields with --map question=inputs.KEY --map answer=outputs.KEY",
        )
    return texts[0]


def _seconds(row: Mapping[str, Any]) -> float | None:
    try:
        start, end = (datetime.datetime.fromisoformat(as_text(row.get(name))) for name in ("start_time", "end_time"))
        return round((end - start).total_seconds(), 6)
    except (ValueError, TypeError):
        return None


MESSAGES = ("human", "ai", "system", "tool")


def _message(value: object) -> Mapping[str, Any]:
    """Return the fields of a message with its type; empty if the value is not a message."""
    inner = as_object(value)
    if "lc" in inner:
        return as_object(inner.get("kwargs"))
    if isinstance(inner.get("data"), Mapping):
        return {**inner["data"], "type": inner.get("type")}
    return inner if inner.get("type") in MESSAGES and "content" in inner else {}


def _is_states(file: ParsedFile) -> bool:
    """Return whether the rows are states of a graph, which have messages and maybe documents."""
    conversations = [as_list(row.get("messages")) for row in file.rows[:20]]
    return (
        bool(conversations)
        and not file.columns & {*QUESTIONS, *ANSWERS}
        and all(
            conversation and all(_message(message).get("type") in MESSAGES for message in conversation)
            for conversation in conversations
        )
    )


def _read_states(file: ParsedFile) -> ToolFile:
    """Return a sample for each state. Its last human message is the question, the reply after it the answer.

    Documents are in the state, or in the artifact of a retriever tool's message.
    """
    samples: list[ToolSample] = []
    context = next((name for name in CONTEXTS if name in file.columns), "")
    for index, row in enumerate(file.rows):
        contexts = row.get(context)
        messages = as_list(row.get("messages"))
        question_index = max(
            (
                index_of_message
                for index_of_message, message in enumerate(messages)
                if _message(message).get("type") == "human"
            ),
            default=0,
        )
        artifacts = [as_list(_message(message).get("artifact")) for message in messages[question_index:]]
        if contexts is None and any(map(_has_documents, artifacts)):
            contexts = [document for artifact in artifacts for document in artifact]
        metadata = drop_missing(row, "messages", context, "id")
        cells = {
            "question": messages,
            "contexts": _passages(contexts),
            "id": row.get("id"),
            "metadata": metadata or None,
        }
        samples.append(
            ToolSample(
                cells=drop_missing(cells),
                line=file.line(index),
                location=f"[{index}]" if file.kind == "JSON" else "",
            )
        )
    return ToolFile(
        tool="LangChain",
        samples=samples,
        fields={
            "messages": "question, history and answer",
            **({context: "contexts"} if context else {"messages[].artifact": "contexts"}),
        },
    )


FILE_FORMATS = (
    FileFormat(name="LangChain runs", recognises=_is_runs, read=_read_runs),
    FileFormat(name="LangChain retrieval chain", recognises=_is_chain, read=_read_chain),
    FileFormat(name="LangChain messages", recognises=_is_states, read=_read_states),
)
