"""Check nodes, a response and chat messages of LlamaIndex."""

from __future__ import annotations

import json
from pathlib import Path

from llama_index.core.base.response.schema import Response
from llama_index.core.llms import ChatMessage
from llama_index.core.schema import NodeWithScore, TextNode

import ragboard
from ragboard.readers.objects import read_samples

TEXT = "The bridge opened in 2000. " * 30
nodes = [
    NodeWithScore(node=TextNode(text=TEXT, id_="n1"), score=0.9),
    NodeWithScore(node=TextNode(text="It is red.", id_="n2"), score=0.4),
]
response = Response(response="It opened in 2000.", source_nodes=nodes)
history = [ChatMessage(role="user", content="Which bridge?"), ChatMessage(role="assistant", content="The red one.")]
row = {"question": "When did it open?", "answer": response, "contexts": response.source_nodes, "history": history}
(run,) = read_samples([row], name="llamaindex").runs
(sample,) = run.samples
assert (sample.question, sample.answer) == ("When did it open?", "It opened in 2000.")
assert [turn.text for turn in sample.history] == ["Which bridge?", "The red one."]
assert sample.contexts
assert [(one.id, one.text, one.score) for one in sample.contexts] == [("n1", TEXT, 0.9), ("n2", "It is red.", 0.4)]
assert ragboard.evaluate([row], metrics="ragas.faithfulness").samples

dumped = {
    "query": "When did it open?",
    "response": response.response,
    "source_nodes": [node.to_dict() for node in nodes],
}
Path("responses.jsonl").write_text(json.dumps(dumped), encoding="utf-8")
(saved,) = ragboard.read_runs("responses.jsonl").runs
assert saved.samples[0].contexts == sample.contexts
print("nodes, a response, messages, and a file of to_dict()")
