"""Check `from_ragas` and saved results: scores, statements, verdicts and reasons."""

from __future__ import annotations

import json
from pathlib import Path

from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from ragas import EvaluationDataset, evaluate
from ragas.callbacks import ChainRunEncoder
from ragas.embeddings import LangchainEmbeddingsWrapper
from ragas.llms import LangchainLLMWrapper
from ragas.metrics import Faithfulness, LLMContextPrecisionWithReference, LLMContextRecall, ResponseRelevancy

import ragboard
from ragboard.analysis import run_summary, sample_report

ROWS = [
    {
        "user_input": f"When did bridge {number} open?",
        "retrieved_contexts": [f"Bridge {number} opened in 2000.", "It is red."],
        "response": f"It opened in {2000 + number}. It is blue.",
        "reference": f"In 2000, bridge {number}.",
    }
    for number in range(4)
]
METRICS = [Faithfulness(), LLMContextRecall(), ResponseRelevancy(), LLMContextPrecisionWithReference()]

result = evaluate(
    EvaluationDataset.from_list(ROWS),
    metrics=METRICS,
    llm=LangchainLLMWrapper(ChatOpenAI(model="gpt-4o-mini")),
    embeddings=LangchainEmbeddingsWrapper(OpenAIEmbeddings(check_embedding_ctx_length=False)),
    show_progress=False,
)
with Path("traces.json").open("w", encoding="utf-8") as file:
    json.dump([run.model_dump() for run in result.ragas_traces.values()], file, cls=ChainRunEncoder)
result.to_pandas().to_json("scores.jsonl", orient="records", lines=True)

run = ragboard.from_ragas(result)
(saved,) = ragboard.read_runs("traces.json").runs
(scored,) = ragboard.read_runs("scores.jsonl").runs
assert saved.samples == run.samples == scored.samples
assert [sample.question for sample in run.samples] == [row["user_input"] for row in ROWS]
assert run.scores
assert saved.scores
assert saved.scores.recorded == run.scores.recorded
assert saved.scores.outcomes == run.scores.outcomes

store = ragboard.Store("store")
store.add_runs([run])
ref = store.resolve("ragas@ragas (file)")
summary = run_summary(store, ref)
own = result.to_pandas()
means = {"ragas.faithfulness": "faithfulness", "ragas.context_recall": "context_recall", **run.scores.columns}
found = {**summary.metrics, **summary.file_scores}
compared = {spec: column for spec, column in means.items() if spec in found}
assert len(compared) == len(METRICS)
for spec, column in compared.items():
    mean = found[spec].mean
    assert mean is not None
    assert abs(mean - own[column].mean()) <= 1e-9, (spec, mean, own[column].mean())
assert own["faithfulness"].nunique() > 1
statements = [one for sample in run.samples for one in sample_report(store, ref, sample.id).statements]
assert all(one.verdict and one.verdict.reason for one in statements)
print(
    f"{len(run.samples)} samples, {len(statements)} statements with verdicts and reasons, {len(compared)} equal means"
)
