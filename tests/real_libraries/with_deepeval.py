"""Check `from_deepeval`, DeepEval's test run file, its test cases and its dataset."""

from __future__ import annotations

import os
from pathlib import Path

os.environ["DEEPEVAL_RESULTS_FOLDER"] = str(Path("results").resolve())

from deepeval import evaluate
from deepeval.dataset import EvaluationDataset
from deepeval.evaluate import DisplayConfig
from deepeval.metrics import AnswerRelevancyMetric, FaithfulnessMetric
from deepeval.test_case import LLMTestCase

import ragboard
from ragboard.analysis import run_summary, sample_report

CASES = [
    LLMTestCase(
        name=f"q{number}",
        input=f"When did bridge {number} open?",
        actual_output=f"It opened in {2000 + number}. It is blue.",
        expected_output="In 2000.",
        retrieval_context=[f"Bridge {number} opened in 2000.", "It is red."],
    )
    for number in range(4)
]
METRICS = [FaithfulnessMetric(model="gpt-4o-mini"), AnswerRelevancyMetric(model="gpt-4o-mini")]

result = evaluate(CASES, METRICS, display_config=DisplayConfig(print_results=False, show_indicator=False))
run = ragboard.from_deepeval(result)
(written,) = Path("results").glob("*.json")
(saved,) = ragboard.read_runs(written).runs
assert saved.samples == run.samples
assert run.scores
assert saved.scores
assert saved.scores.recorded == run.scores.recorded
assert saved.scores.outcomes == run.scores.outcomes

store = ragboard.Store("store")
store.add_runs([run])
ref = store.resolve("deepeval@gpt-4o-mini (DeepEval file)")
summary = run_summary(store, ref)
found = {**summary.metrics, **summary.file_scores}
for spec, column in {"ragas.faithfulness": "Faithfulness", **run.scores.columns}.items():
    scores = [one.score for case in result.test_results for one in case.metrics_data or [] if one.name == column]
    mean = found[spec].mean if spec in found else None
    assert mean is None or abs(mean - sum(scores) / len(scores)) <= 1e-9, (spec, mean, scores)
assert found["deepeval-file.answer_relevancy"].mean is not None
statements = [one for sample in run.samples for one in sample_report(store, ref, sample.id).statements]
assert len(statements) == 2 * len(CASES)
assert all(one.verdict for one in statements)

dataset = EvaluationDataset()
for case in CASES:
    dataset.add_test_case(case)
for samples in (CASES, dataset):
    assert len(ragboard.evaluate(samples, metrics="ragas.faithfulness").samples) == len(CASES)
print(f"{len(run.samples)} samples, {len(statements)} statements with verdicts, equal means; test cases and a data set")
