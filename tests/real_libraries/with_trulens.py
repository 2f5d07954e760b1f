"""Check `from_trulens` and TruLens's database: samples, scores, statements and reasons."""

from __future__ import annotations

import time

from trulens.apps.app import TruApp
from trulens.core import Feedback, TruSession
from trulens.core.metric.metric import GroundednessConfigs
from trulens.core.otel.instrument import instrument
from trulens.otel.semconv.trace import SpanAttributes
from trulens.providers.openai import OpenAI

import ragboard
from ragboard.analysis import run_summary, sample_report

NAMES = {"Groundedness", "Answer Relevance"}
PATIENCE = 60
"""Seconds that feedback may take."""


class Rag:
    """An application that retrieves and answers."""

    @instrument(
        span_type=SpanAttributes.SpanType.RETRIEVAL,
        attributes={
            SpanAttributes.RETRIEVAL.QUERY_TEXT: "query",
            SpanAttributes.RETRIEVAL.RETRIEVED_CONTEXTS: "return",
        },
    )
    def retrieve(self, query: str) -> list[str]:
        return [f"{query} In 2000.", "It is red."]

    @instrument()
    def query(self, query: str) -> str:
        self.retrieve(query)
        return f"It opened in {2000 + len(query)}. It is blue."


session = TruSession(database_url="sqlite:///default.sqlite")
provider = OpenAI(model_engine="gpt-4o-mini")
without_nltk = GroundednessConfigs(use_sent_tokenize=False, filter_trivial_statements=False)
grounded = Feedback(
    provider.groundedness_measure_with_cot_reasons, name="Groundedness", groundedness_configs=without_nltk
)
relevant = Feedback(provider.relevance_with_cot_reasons, name="Answer Relevance")
rag = Rag()
app = TruApp(
    rag,
    app_name="rag",
    app_version="k2",
    main_method=rag.query,
    feedbacks=[grounded.on_context(collect_list=True).on_output(), relevant.on_input_output()],
)
QUESTIONS = [f"When did bridge {'I' * number} open?" for number in range(1, 4)]
for question in QUESTIONS:
    with app:
        rag.query(question)
session.force_flush()
for _ in range(PATIENCE):
    app.compute_feedbacks()
    session.force_flush()
    records, _ = session.get_records_and_feedback()
    if {*records.columns} >= NAMES and not records[[*NAMES]].isna().any(axis=None):
        break
    time.sleep(1)

run = ragboard.from_trulens(session)
(saved,) = ragboard.read_runs("default.sqlite").runs
assert {sample.question for sample in run.samples} == {*QUESTIONS}
assert {sample.question: sample.contexts for sample in run.samples} == {
    sample.question: sample.contexts for sample in saved.samples
}
assert run.scores
assert saved.scores
assert sum(len(one.statements) for one in run.scores.recorded) == 2 * len(QUESTIONS)
assert sum(len(one.statements) for one in saved.scores.recorded) == 2 * len(QUESTIONS)
store = ragboard.Store("store")
for number, one in enumerate((run, saved)):
    (added,) = store.add_runs([one])
    ref = store.resolve(f"{added.name}@{'gpt-4o-mini (TruLens file)' if number else 'TruLens (file)'}")
    summary = run_summary(store, ref)
    for spec, column in one.scores.columns.items():
        mean = {**summary.metrics, **summary.file_scores}[spec].mean
        assert mean is not None
        assert abs(mean - records[column].mean()) <= 1e-9, (spec, mean, records[column].mean())
    reports = [sample_report(store, ref, sample.id) for sample in one.samples]
    assert all(len(report.statements) == 2 for report in reports)
    assert all(judged.reason for report in reports for judged in report.judgements)
print(f"{len(run.samples)} records from the session and from its database, statements with reasons, equal means")
