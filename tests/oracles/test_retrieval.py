"""Tests of retrieval metrics through `evaluate`, against ir_measures.

The lists have no repeated passages, because ir_measures counts these twice and ragboard once.
"""

from __future__ import annotations

import ir_measures
import numpy as np
import pytest
from ir_measures import AP, RR, P, Qrel, R, ScoredDoc, Success, nDCG

from ragboard import Score, evaluate

CUTS = (1, 3, 5, 10, 20)
WHOLE = 1000
"""Beyond the length of every list."""
THEIRS = {
    "recall": R,
    "precision": P,
    "hit_rate": Success,
    "mrr": RR,
    "ndcg": nDCG,
    "average_precision": AP,
}


@pytest.mark.parametrize("seed", range(3))
def test_every_metric_at_every_cut_is_that_of_ir_measures(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = [f"d{number}" for number in range(40)]
    retrieved = [rng.permutation(names)[: rng.integers(1, 25)].tolist() for _ in range(150)]
    gold = [rng.permutation(names)[: rng.integers(1, 12)].tolist() for _ in range(150)]
    rows = [
        {
            "id": str(number),
            "question": f"{number}?",
            "contexts": [{"id": name, "text": f"This is {name}."} for name in there],
            "reference_context_ids": wanted,
        }
        for number, (there, wanted) in enumerate(zip(retrieved, gold, strict=True))
    ]
    specs = {f"retrieval.{name}(k={k})": measure @ k for name, measure in THEIRS.items() for k in CUTS}
    specs |= {f"retrieval.{name}": measure @ WHOLE for name, measure in THEIRS.items() if name != "precision"}
    found = evaluate(rows, metrics=list(specs))
    qrels = [Qrel(str(number), name, 1) for number, wanted in enumerate(gold) for name in wanted]
    run = [
        ScoredDoc(str(number), name, -float(place))
        for number, there in enumerate(retrieved)
        for place, name in enumerate(there)
    ]
    theirs = {
        (metric.query_id, metric.measure): metric.value for metric in ir_measures.iter_calc(specs.values(), qrels, run)
    }
    for spec, measure in specs.items():
        for number, outcome in enumerate(found.outcomes(spec)):
            assert isinstance(outcome, Score)
            assert outcome.value == pytest.approx(theirs[str(number), measure], abs=1e-9), (spec, number)


def test_precision_of_the_whole_list_divides_by_its_length_as_set_precision_does() -> None:
    rng = np.random.default_rng(3)
    retrieved = [rng.permutation(12)[: rng.integers(1, 12)].tolist() for _ in range(60)]
    gold = [rng.permutation(12)[: rng.integers(1, 6)].tolist() for _ in range(60)]
    found = evaluate(
        [
            {
                "question": f"{number}?",
                "contexts": [{"id": f"d{name}", "text": f"This is {name}."} for name in there],
                "reference_context_ids": [f"d{name}" for name in wanted],
            }
            for number, (there, wanted) in enumerate(zip(retrieved, gold, strict=True))
        ],
        metrics=["retrieval.precision"],
    )
    theirs = ir_measures.iter_calc(
        [ir_measures.SetP],
        [Qrel(str(number), f"d{name}", 1) for number, wanted in enumerate(gold) for name in wanted],
        [ScoredDoc(str(number), f"d{name}", 1.0) for number, there in enumerate(retrieved) for name in there],
    )
    by_query = {metric.query_id: metric.value for metric in theirs}
    for number, outcome in enumerate(found.outcomes("retrieval.precision")):
        assert isinstance(outcome, Score)
        assert outcome.value == pytest.approx(by_query[str(number)], abs=1e-9)
