"""Check documents, messages and answers of a Haystack pipeline."""

from __future__ import annotations

import json
from pathlib import Path

from haystack import Document, Pipeline
from haystack.components.builders import AnswerBuilder
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.dataclasses import ChatMessage
from haystack.document_stores.in_memory import InMemoryDocumentStore

import ragboard
from ragboard.readers.objects import read_samples

QUESTION = "When did the bridge open?"
documents = InMemoryDocumentStore()
documents.write_documents([Document(content="The bridge opened in 2000. " * 30), Document(content="The mill is old.")])
pipeline = Pipeline()
pipeline.add_component("retriever", InMemoryBM25Retriever(documents))
pipeline.add_component("answer_builder", AnswerBuilder())
pipeline.connect("retriever", "answer_builder.documents")
reply = ChatMessage.from_assistant("It opened in 2000.")
inputs = {"retriever": {"query": QUESTION}, "answer_builder": {"query": QUESTION, "replies": [reply]}}
outputs = pipeline.run(inputs, include_outputs_from={"retriever"})
(answer,) = outputs["answer_builder"]["answers"]

rows = [
    {"question": ChatMessage.from_user(QUESTION), "answer": reply, "contexts": outputs["retriever"]["documents"]},
    {"question": QUESTION, "answer": answer, "contexts": answer.documents},
]
(run,) = read_samples(rows, name="haystack").runs
first, second = run.samples
assert (first.question, first.answer) == (second.question, second.answer) == (QUESTION, "It opened in 2000.")
assert first.contexts
assert [(one.id, one.text, one.score) for one in first.contexts] == [
    (one.id, one.content, one.score) for one in outputs["retriever"]["documents"]
]
assert first.contexts == second.contexts
assert ragboard.evaluate(rows, metrics="ragas.faithfulness").samples

dumped = {
    "retriever": {"documents": [one.to_dict() for one in outputs["retriever"]["documents"]]},
    "answer_builder": {"answers": [answer.to_dict()]},
}
Path("outputs.jsonl").write_text(json.dumps(dumped), encoding="utf-8")
(saved,) = ragboard.read_runs("outputs.jsonl").runs
assert saved.samples[0].question == QUESTION
assert saved.samples[0].contexts
assert [one.text for one in saved.samples[0].contexts] == [one.text for one in first.contexts]
print("documents, messages, an answer, and a file of pipeline outputs")
