"""Metrics are found by their names, and each is documented."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragboard import METRICS, SettingError
from ragboard.metrics import metrics_named

DOCS = Path(__file__).parents[3] / "docs" / "metrics.md"


def test_a_bare_name_a_full_name_and_a_source_are_understood() -> None:
    assert [metric.spec for metric in metrics_named(["faithfulness", "ragas.faithfulness"])] == ["ragas.faithfulness"]
    assert [metric.spec for metric in metrics_named(["ragas"])] == [
        spec for spec in METRICS if spec.startswith("ragas.")
    ]


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(SettingError, match=r"no metric is called 'faith'; there are ragas\.faithfulness"):
        metrics_named(["faith"])


@pytest.mark.parametrize("spec", METRICS)
def test_every_metric_is_explained(spec: str) -> None:
    metric = METRICS[spec]
    assert metric.__doc__
    assert metric.formula
    assert metric.paper
    assert metric.range[0] < metric.range[1]
    assert f"### `{spec}`" in DOCS.read_text(encoding="utf-8")
