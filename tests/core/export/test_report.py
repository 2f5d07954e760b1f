"""Tests of the HTML reports of one run and of two runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.conftest import EvaluatedSamples

from ragboard import DEFAULT_METRICS, EmbeddedJudge, Panel, Passage, Run, Sample, Store, evaluate_run, sample_runs
from ragboard.analysis import run_summary
from ragboard.errors import NotFoundError
from ragboard.export.comparison_report import comparison_report
from ragboard.export.run_report import run_report
from ragboard.stats import Interval

HOSTILE = (
    "<script>window.hacked=1</script></style></title><img src=x onerror=window.hacked=1> javascript:alert(1) ]]>"
    ' "onclick="x \u202egnp.exe'
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, evaluated_samples: EvaluatedSamples) -> Store:
    store = evaluated_samples(tmp_path_factory.mktemp("report") / "store")
    hostile = [
        Run(
            name=f"{HOSTILE}{letter}",
            dataset=HOSTILE,
            config={HOSTILE: f"{HOSTILE}{letter}"},
            samples=(
                Sample(
                    id=HOSTILE,
                    question=HOSTILE,
                    answer=f"{HOSTILE} {letter}. It is <i>red</i>.",
                    contexts=(Passage(id=HOSTILE, text=f"{HOSTILE} {letter}", rank=1),),
                    reference=HOSTILE,
                ),
            ),
        )
        for letter in "ab"
    ]
    for added in store.add_runs(hostile):
        evaluate_run(store, added.id, DEFAULT_METRICS, Panel(judge=EmbeddedJudge()))
    return store


def test_a_run_says_who_judged_it_and_every_metric_with_its_interval(store: Store) -> None:
    run = store.resolve("bm25-k3")
    found = run_report(store, run, samples=3)
    assert "embedded (rule-based, no model)" in found
    for metric in run_summary(store, run).metrics.values():
        assert isinstance(metric.interval, Interval)
        assert f"95% CI {metric.interval.low:.3f} to {metric.interval.high:.3f}, " in found
        assert f"{metric.scored} of 60" in found
    assert found.count("<details>") == 3
    assert "3 of 60 samples, most unsupported statements first." in found
    assert "embedded/" in found


def test_a_comparison_says_the_result_and_shows_what_got_worse(store: Store) -> None:
    a, b = store.resolve("bm25-k3"), store.resolve("bm25-rerank-k5")
    found = comparison_report(store, a, b, pairs=20)
    assert (
        "No significant difference between bm25-rerank-k5 and bm25-k3 on 2 metrics; Context relevance is lower" in found
    )
    assert "Context relevance usually falls with more passages: 3 in A, 5 in B" in found
    assert "of their words, so the differences are not marked" in found
    assert "bm25-rerank-k5 vs bm25-k3, 60 pairs" in found
    assert "chunk_words" in found
    assert "largest losses in Faithfulness first" in found
    assert "<mark>" in found
    assert "<del>" not in found
    by = comparison_report(store, a, b, pairs=2, metric="ragas.faithfulness")
    assert "largest losses in Faithfulness first" in by
    with pytest.raises(NotFoundError):
        comparison_report(store, a, b, metric="nope")


def test_a_comparison_counts_pairs_by_id_and_by_question_apart_and_calls_no_doubt_an_absence(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    for name, asked in (("a", (("1", "A?"), ("2", "B?"), ("3", "C?"))), ("b", (("1", "A?"), ("x", "B?"), ("y", "C?")))):
        again = (Sample(id="4", question="C?"),) if name == "a" else ()
        samples = tuple(Sample(id=place, question=question, answer="Yes.") for place, question in asked)
        store.add_runs([Run(name=name, samples=(*samples, *again))])
    found = comparison_report(store, store.resolve("a"), store.resolve("b"))
    assert "1 questions paired by sample id, 1 by their question; unpaired in A: 2: 2 asked twice in A (3, 4);" in found


def test_the_same_store_gives_the_same_file(store: Store) -> None:
    run = store.resolve("bm25-k3")
    assert run_report(store, run, samples=2) == run_report(store, run, samples=2)


@pytest.mark.parametrize("names", [(f"{HOSTILE}a",), (f"{HOSTILE}a", f"{HOSTILE}b"), ("bm25-k3",)])
def test_nothing_in_a_report_runs_loads_or_leads_away(store: Store, names: tuple[str, ...]) -> None:
    refs = [store.resolve(name) for name in names]
    found = run_report(store, *refs) if len(refs) == 1 else comparison_report(store, *refs)
    assert "default-src 'none'" in found
    tags = set(re.findall(r"<([a-zA-Z]+)", found))
    assert not tags & {"script", "img", "iframe", "link", "object", "embed", "form", "i"}
    assert {where for where in re.findall(r' href="([^"]*)', found) if not where.startswith("#")} == set()
    assert not re.search(r"<[^>]* (src|style|on\w+)=", found)
    assert found.count("</style>") == found.count("</title>") == 1
    assert "\u202e" not in found
    places = re.findall(r' id="([^"]*)"', found)
    assert len(places) == len(set(places))


def test_every_link_in_a_report_leads_to_a_place_in_it(store: Store) -> None:
    found = run_report(store, store.resolve("bm25-k3"), samples=5)
    places = set(re.findall(r' id="([^"]*)"', found))
    assert {where.removeprefix("#") for where in re.findall(r' href="([^"]*)"', found)} <= places


def test_a_run_that_was_never_evaluated_says_so(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    store.add_runs(sample_runs()[:1])
    assert "This run was never evaluated." in run_report(store, store.resolve("bm25-k3"))
