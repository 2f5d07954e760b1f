"""Tests of panels: which judge does which task."""

from __future__ import annotations

import pytest
from tests.core.conftest import PlainJudge, make_run

from ragboard.evaluation.defaults import default_metrics
from ragboard.evaluation.identity import choose_evaluation
from ragboard.judges.panel import Panel
from ragboard.metrics import metrics_named
from ragboard.store import Store

MODEL, RULES = PlainJudge(name="model"), PlainJudge(name="rules", heuristic=True)


@pytest.mark.parametrize(
    ("panel", "rule_based"),
    [
        (Panel(judge=MODEL), False),
        (Panel(judge=RULES), True),
        (Panel(judge=MODEL, roles={"embed": RULES}), False),
        (Panel(judge=RULES, roles={"verify": MODEL}), False),
        (Panel(judge=MODEL, roles={"verify": RULES}), True),
    ],
)
def test_an_evaluation_is_rule_based_where_its_verdicts_are(store: Store, panel: Panel, rule_based: bool) -> None:
    """A model's verdicts stay a model's where rules split the answer into statements or compare texts."""
    run_id = store.add_runs([make_run()])[0].id
    assert choose_evaluation(store, run_id, panel, metrics_named(["faithfulness"])).heuristic is rule_based


def test_only_the_judges_of_the_used_roles_make_an_evaluation_rule_based(store: Store) -> None:
    run_id = store.add_runs([make_run()])[0].id
    panel = Panel(judge=MODEL, roles={"extract": RULES, "embed": RULES, "other": RULES})
    assert choose_evaluation(store, run_id, panel, metrics_named(["answer_relevance"])).heuristic is True


def test_a_rule_based_judge_rates_the_relevance_of_an_answer_directly_by_default() -> None:
    names = [[metric.spec for metric in default_metrics(Panel(judge=judge))] for judge in (MODEL, RULES)]
    assert names == [
        ["ragas.faithfulness", "ragas.answer_relevance", "ragas.context_relevance"],
        ["ragas.faithfulness", "ragas.answer_relevance(method=direct)", "ragas.context_relevance"],
    ]
