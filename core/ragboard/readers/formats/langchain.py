"""LangChain: outputs of chains with their documents, traced runs, states of graphs, and its evaluation of answers.

A document is an object with `page_content`, the same inside `{"lc": 1, "kwargs": {..}}`, or as Python prints it. It has
no score of its own: a retriever that gives one puts it into the metadata.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from ragboard.errors import RunFileError
from ragboard.readers.formats.base import FileFormat, Format, ParsedFile, ToolFile, ToolSample
from ragboard.readers.formats.shapes import as_list, as_number, as_object, as_text, without
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
"""What `create_retrieval_chain`, `RetrievalQA` and `ConversationalRetrievalChain` put out."""
HISTORY = "chat_history"
QUESTIONS = ("input", "question", "query")
ANSWERS = ("answer", "output", "result", "response")
CONTEXTS = ("context", "source_documents", "documents", "docs")
SCORES = ("score", "relevance_score", "_score")
DOCUMENTS_LEFT_OUT = "left out: of a passage its text, id and score are kept"


def _document(value: object) -> Mapping[str, Any]:
    """Return a document's own fields; empty for what is none."""
    if isinstance(value, str) and LANGCHAIN.match(value):
        return _printed(value)
    inner = as_object(value)
    if "lc" in inner:
        inner = as_object(inner.get("kwargs"))
    return inner if "page_content" in inner else {}


def _printed(text: str) -> Mapping[str, Any]:
    """`page_content='..' metadata={..}`; empty if only reading it as a passage can say what is wrong."""
    try:
        found = read_printed(text)
    except PrintedError:
        return {}
    if not isinstance(found, dict):
        return {}
    metadata = read_python(text.rpartition(" metadata=")[2])
    return {"page_content": found["page_content"], "metadata": metadata}


def _passages(value: Any) -> Any:
    """Documents as passages; whatever is no document stays as it is."""
    if not isinstance(value, list):
        return value
    return [_passage(_document(one)) if _document(one) else one for one in value]


def _passage(document: Mapping[str, Any]) -> JsonValue:
    metadata = as_object(document.get("metadata"))
    score = next((number for name in SCORES if (number := as_number(metadata.get(name))) is not None), None)
    return without({"id": document.get("id"), "text": document["page_content"], "score": score})


def _has_documents(value: object) -> bool:
    return any(bool(_document(one)) for one in as_list(value))


def _chain(file: ParsedFile) -> Mapping[str, str] | None:
    """Return the keys of the chain whose output the rows are."""
    for chain in CHAINS:
        found = set(chain.values()) <= file.columns
        if found and any(_has_documents(row.get(chain["contexts"])) for row in file.rows[:20]):
            return chain
    return None


def _is_chain(file: ParsedFile) -> bool:
    return bool(file.rows) and _chain(file) is not None


def _read_chain(file: ParsedFile) -> ToolFile:
    chain = _chain(file) or CHAINS[0]
    gold = {"reference": "answer"} if chain["answer"] == "result" and "answer" in file.columns else {}
    read = {**chain, **gold, "history": HISTORY, "id": "id", "metadata": "metadata"}
    samples: list[ToolSample] = []
    for index, row in enumerate(file.rows):
        rest = without(row, *read.values())
        cells = {field: row.get(key) for field, key in read.items()}
        cells["contexts"] = _passages(cells["contexts"])
        metadata = {**rest, **as_object(cells.pop("metadata"))}
        printed = any(isinstance(one, str) for one in as_list(row.get(chain["contexts"])))
        samples.append(
            ToolSample(
                cells=without(cells) | ({"metadata": metadata} if metadata else {}),
                line=file.line(index),
                location=f"[{index}]" if file.kind == "JSON" else "",
                notes=("contexts: documents as Python prints them, without their ids",) if printed else (),
            )
        )
    known = {key: field for field, key in read.items() if key in file.columns}
    columns = dict.fromkeys(name for row in file.rows for name in row)
    return ToolFile(
        tool="LangChain",
        samples=samples,
        fields={name: known.get(name, "metadata") for name in columns}
        | {f"{chain['contexts']}[].metadata": DOCUMENTS_LEFT_OUT},
    )


def _is_runs(file: ParsedFile) -> bool:
    return {"dotted_order", "run_type", "inputs", "outputs"} <= file.columns


def _read_runs(file: ParsedFile) -> ToolFile:
    """Return a root run is a sample; its retrievers' documents are the passages where it put out none itself."""
    roots = [index for index, row in enumerate(file.rows) if row.get("parent_run_id") is None]
    if not roots:
        raise RunFileError(file.path, "holds only inner runs, expected the run of the whole chain (no parent_run_id)")
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
        where = f"[{index}]"
        asked = _key(file, inputs, QUESTIONS, f"{where}.inputs", index)
        answered = _key(file, outputs, ANSWERS, f"{where}.outputs", index, beside=inputs) if outputs else ""
        context = next((name for name in CONTEXTS if isinstance(outputs.get(name), list)), "")
        contexts = outputs[context] if context else retrieved.get(str(row.get("trace_id")))
        metadata = {
            **as_object(as_object(row.get("extra")).get("metadata")),
            **without({"tags": row.get("tags") or None, "error": row.get("error"), "latency_s": _seconds(row)}),
        }
        cells = {
            "id": row.get("id"),
            "question": inputs.get(asked),
            "answer": outputs.get(answered),
            "contexts": _passages(contexts),
            "history": inputs.get(HISTORY) or outputs.get(HISTORY),
            "metadata": metadata or None,
        }
        samples.append(ToolSample(cells=without(cells), line=file.line(index), location=where))
        fields |= {f"inputs.{asked}": "question"} | ({f"outputs.{answered}": "answer"} if answered else {})
        fields |= {f"outputs.{context}": "contexts"} if context else {}
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
            "start_time, end_time": "metadata",
            "extra.runtime": "left out: the machine that ran it",
            "documents[].metadata": DOCUMENTS_LEFT_OUT,
        },
    )


def _key(
    file: ParsedFile, values: Mapping[str, Any], names: Sequence[str], where: str, index: int, beside: Any = ()
) -> str:
    """The key under which a chain has its text: one of the usual names, else the only text that is not in `beside`."""
    usual = [name for name in names if values.get(name) is not None]
    texts = usual[:1] or [name for name, value in values.items() if isinstance(value, str) and name not in beside]
    if len(texts) != 1:
        listed = ", ".join(map(repr, values)) or "nothing"
        raise RunFileError(
            file.path,
            f"has {listed}, expected one text or {' or '.join(names)}",
            line=file.line(index),
            field=where,
            remedy="; name the fields with --map question=inputs.KEY --map answer=outputs.KEY",
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
    """Return a message's own fields, with its type; empty for what is none of LangChain's."""
    inner = as_object(value)
    if "lc" in inner:
        return as_object(inner.get("kwargs"))
    if isinstance(inner.get("data"), Mapping):
        return {**inner["data"], "type": inner.get("type")}
    return inner if inner.get("type") in MESSAGES and "content" in inner else {}


def _is_states(file: ParsedFile) -> bool:
    """Return whether rows are states of a graph: messages, maybe with the documents that were retrieved."""
    talks = [as_list(row.get("messages")) for row in file.rows[:20]]
    return (
        bool(talks)
        and not file.columns & {*QUESTIONS, *ANSWERS}
        and all(talk and all(_message(one).get("type") in MESSAGES for one in talk) for talk in talks)
    )


def _read_states(file: ParsedFile) -> ToolFile:
    """Return the last message of a person is the question, the last reply the answer.

    Documents are in the state, or the artifact that a retriever's tool put beside what it said.
    """
    samples: list[ToolSample] = []
    context = next((name for name in CONTEXTS if name in file.columns), "")
    for index, row in enumerate(file.rows):
        contexts = row.get(context)
        messages = as_list(row.get("messages"))
        asked = max((at for at, one in enumerate(messages) if _message(one).get("type") == "human"), default=0)
        artifacts = [as_list(_message(one).get("artifact")) for one in messages[asked:]]
        if contexts is None and any(map(_has_documents, artifacts)):
            contexts = [document for artifact in artifacts for document in artifact]
        metadata = without(row, "messages", context, "id")
        cells = {
            "question": messages,
            "contexts": _passages(contexts),
            "id": row.get("id"),
            "metadata": metadata or None,
        }
        samples.append(
            ToolSample(
                cells=without(cells),
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
