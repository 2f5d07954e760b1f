"""Check traces of a LlamaIndex query engine with OpenInference's instrumentation."""

from __future__ import annotations

from llama_index.core import Document, MockEmbedding, Settings, VectorStoreIndex
from llama_index.core.llms import MockLLM
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor

from tests.real_libraries.traces import collected, sending

TEXTS = ["The mill closed in 1931.", "It made flour."]

Settings.llm = MockLLM(max_tokens=5)
Settings.embed_model = MockEmbedding(embed_dim=8)
index = VectorStoreIndex.from_documents([Document(text=text, id_=f"d{number}") for number, text in enumerate(TEXTS)])

with sending("llama-index") as provider:
    LlamaIndexInstrumentor().instrument(tracer_provider=provider)
    answer = index.as_query_engine(similarity_top_k=2).query("When did the mill close?")

(sample,) = collected("llama-index 2", 1)
assert (sample.question, sample.answer) == ("When did the mill close?", str(answer)), sample
assert sorted(passage.text for passage in sample.contexts or ()) == sorted(TEXTS), sample
assert all(passage.score is not None for passage in sample.contexts or ()), sample
print("traces of a query engine are samples with passages, scores and answer")
