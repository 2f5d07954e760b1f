"""Check documents of a retriever and messages of LangChain."""

from __future__ import annotations

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.load import dumps
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.retrievers import BaseRetriever

import ragboard
from ragboard.readers.objects import read_samples

TEXT = "The bridge opened in 2000. " * 30


class Retriever(BaseRetriever):
    """Finds the same two documents for every question."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        del query, run_manager
        return [Document(page_content=TEXT, metadata={"source": "a.md"}, id="d1"), Document(page_content="It is red.")]


documents = Retriever().invoke("When did it open?")
row = {
    "question": [HumanMessage("Which bridge?"), AIMessage("The red one."), HumanMessage("When did it open?")],
    "answer": AIMessage("It opened in 2000."),
    "contexts": documents,
}
(run,) = read_samples([row], name="langchain").runs
(sample,) = run.samples
assert (sample.question, sample.answer) == ("When did it open?", "It opened in 2000.")
assert [turn.text for turn in sample.history] == ["Which bridge?", "The red one."]
assert sample.contexts
assert [(passage.id, passage.text) for passage in sample.contexts] == [("d1", TEXT), ("2", "It is red.")]
assert ragboard.evaluate([row], metrics="ragas.faithfulness").samples

with open("chain.jsonl", "w", encoding="utf-8") as file:  # noqa: PTH123
    file.write(dumps({"input": "When did it open?", "context": documents, "answer": "It opened in 2000."}))
(saved,) = ragboard.read_runs("chain.jsonl").runs
assert saved.samples[0].contexts == sample.contexts
print("documents, messages and dumps() of a retrieval chain")
