"""Check traces of a LangChain chain with OpenInference's instrumentation."""

from __future__ import annotations

from operator import itemgetter

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnablePassthrough
from openinference.instrumentation import using_session
from openinference.instrumentation.langchain import LangChainInstrumentor

from tests.real_libraries.traces import collected, sending

TEXTS = ["The mill closed in 1931.", "It made flour."]
ASKED = {"When did the mill close?": "In 1931.", "What did it make?": "Flour."}


class Retriever(BaseRetriever):
    """Finds the same two documents for every question."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        del query, run_manager
        return [Document(page_content=text, id=f"p{number}") for number, text in enumerate(TEXTS)]


with sending("langchain") as provider:
    LangChainInstrumentor().instrument(tracer_provider=provider)
    prompt = ChatPromptTemplate.from_template("Answer {question} from {context}.")
    model = FakeListChatModel(responses=[*ASKED.values()])
    chain = (
        RunnablePassthrough.assign(context=itemgetter("question") | Retriever()) | prompt | model | StrOutputParser()
    )
    with using_session("a"):
        for question in ASKED:
            chain.invoke({"question": question})

samples = collected("langchain 2", 2)
assert [(sample.question, sample.answer) for sample in samples] == [*ASKED.items()], samples
for sample in samples:
    assert [(passage.id, passage.text) for passage in sample.contexts or ()] == [
        (f"p{number}", text) for number, text in enumerate(TEXTS)
    ], sample
    assert sample.metadata["session_id"] == "a", sample.metadata
assert [turn.text for turn in samples[1].history] == [*ASKED][:1] + [*ASKED.values()][:1]
print("traces of a retrieval chain are samples with passages, answer and conversation")
