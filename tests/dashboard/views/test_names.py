"""Tests of unusual ids, names and columns on every page."""

from __future__ import annotations

import pytest
from tests.dashboard.views.conftest import Draw

from ragboard import DEFAULT_METRICS, EmbeddedJudge, Panel, Passage, Run, Sample, Store, evaluate_run
from ragboard_dashboard.components import safe_key
from ragboard_dashboard.views.diagnosis import page as diagnosis

NAMES = ["django__django-1", "$$ID-x_ a/b?c#d&e=f\u65e5\n_", "x_" * 200]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_every_page_of_a_name_is_drawn(draw: Draw, fresh: Store, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(diagnosis, "link_to", lambda *_: None)  # there are no pages to lead to
    samples = tuple(
        Sample(
            id=f"{name}{n}",
            question=f"What is {name}{n}?",
            answer=f"It is {n}.",
            contexts=(Passage(id=name, text=f"It is {n}.", rank=1),),
            metadata={name: n, f"{name} kind": "ab"[n % 2]},
        )
        for n in range(4)
    )
    for other, config in ((name, {"k": 2}), (f"{name}2", {"k": 3})):
        (added,) = fresh.add_runs([Run(name=other, samples=samples, config=config)])
        evaluate_run(fresh, added.id, DEFAULT_METRICS, Panel(judge=EmbeddedJudge()))
    of = {"run": name}
    pages = [
        draw("runs"),
        draw("sample", **of, sample=f"{name}0", annotator="ada"),
        draw("run", **of, column=f"metadata.{name}", group=f"metadata.{name} kind", against="ragas.faithfulness"),
        draw("compare", a=name, b=f"{name}2", pair=f"{name}0"),
        draw("diagnosis", **of),
        draw("hallucinations", passage=name),
        draw("annotate", **of, annotator="ada"),
    ]
    assert [(page.exception, page.error) for page in pages if page.exception or page.error] == []


def test_keys_differ_where_the_names_do() -> None:
    keys = {safe_key("a", *names) for names in ((), ("b",), ("b", "c"), ("bc",), ("b-c",), (None,), ("",))}
    assert len(keys) == 7
    assert not any("_" in key for key in keys)
