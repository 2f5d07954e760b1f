"""Check traces of a Haystack pipeline with OpenInference's instrumentation."""

from __future__ import annotations

from haystack import Document, Pipeline, component
from haystack.components.builders import PromptBuilder
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from openinference.instrumentation.haystack import HaystackInstrumentor

from tests.real_libraries.traces import collected, sending

TEXTS = ["The mill closed in 1931.", "The mill made flour."]
QUESTION = "When did the mill close?"


@component
class Generator:
    """Gives the same answer to every prompt."""

    @component.output_types(replies=list[str])
    def run(self, prompt: str) -> dict[str, list[str]]:
        del prompt
        return {"replies": ["In 1931."]}


documents = InMemoryDocumentStore()
documents.write_documents([Document(content=text, id=f"d{number}") for number, text in enumerate(TEXTS)])

with sending("haystack") as provider:
    HaystackInstrumentor().instrument(tracer_provider=provider)
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(documents))
    pipeline.add_component(
        "prompt", PromptBuilder("{{ question }} {% for d in documents %}{{ d.content }}{% endfor %}")
    )
    pipeline.add_component("model", Generator())
    pipeline.connect("retriever", "prompt.documents")
    pipeline.connect("prompt", "model")
    pipeline.run({"retriever": {"query": QUESTION}, "prompt": {"question": QUESTION}})

(sample,) = collected("haystack 2", 1)
assert (sample.question, sample.answer) == (QUESTION, "In 1931."), sample
assert sorted(passage.id for passage in sample.contexts or ()) == ["d0", "d1"], sample
assert all(passage.text in TEXTS and passage.score is not None for passage in sample.contexts or ()), sample
print("traces of a pipeline are samples with passages, scores and answer")
