"""Tests of finding metrics by name, and of their documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ragboard import DEFAULT_METRICS, METRICS, SettingError
from ragboard.metrics import describe, find_metric, metrics_named, split_names

DOCS = Path(__file__).parents[3] / "docs" / "reference" / "metrics.md"


def test_a_bare_name_a_full_name_and_a_source_are_understood() -> None:
    assert [metric.spec for metric in metrics_named(["faithfulness", "ragas.faithfulness"])] == ["ragas.faithfulness"]
    assert [metric.spec for metric in metrics_named(["ragas"])] == [
        spec for spec in METRICS if spec.startswith("ragas.")
    ]


def test_a_bare_name_of_several_means_the_default_one_or_is_ambiguous() -> None:
    assert metrics_named(["faithfulness"]) == (METRICS["ragas.faithfulness"],)
    with pytest.raises(SettingError, match=r"'recall' is ambiguous: ragchecker\.recall, retrieval\.recall"):
        metrics_named(["recall"])


def test_settings_are_written_in_the_name_as_the_identity_shows_them() -> None:
    names = ["retrieval.recall(k=5)", "ragas.factual_correctness( mode=recall , compat=True )", "f1(compat=true)"]
    found = metrics_named(names)
    assert [metric.spec for metric in found] == [
        "retrieval.recall(k=5)",
        "ragas.factual_correctness(mode=recall,compat=True)",
        "ragchecker.f1(compat=True)",
    ]
    assert metrics_named(metric.spec for metric in found) == found
    assert all(find_metric(metric.spec) == metric for metric in found)
    assert metrics_named(["retrieval.recall()"]) == (METRICS["retrieval.recall"],)


def test_settings_of_a_source_are_those_of_each_of_its_metrics() -> None:
    found = metrics_named(["ragchecker(compat=True)"])
    assert len(found) == 11
    assert all(metric.spec.endswith("(compat=True)") for metric in found)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("retrieval.recall(size=5)", "retrieval.recall has no setting 'size'; its settings are k"),
        ("overlap.bleu(n=5)", "overlap.bleu has no setting 'n'; it has no settings"),
        ("retrieval.recall(k=0)", "retrieval.recall: k, the cutoff rank, must be at least 1, got 0"),
        ("ragas.answer_relevance(n=0)", "n, the number of questions, must be at least 1, got 0"),
        ("retrieval.recall(k=many)", "retrieval.recall: k: got 'many', expected a whole number"),
        ("ragchecker.f1(compat=yes)", "ragchecker.f1: compat: got 'yes', expected True or False"),
        ("ragas.noise_sensitivity(mode=f1)", "mode: got 'f1', expected relevant or irrelevant"),
        ("retrieval.recall(k=5", "no metric is called 'retrieval.recall(k=5'"),
    ],
)
def test_a_setting_that_cannot_be_is_an_error_that_says_what_can(name: str, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        metrics_named([name])
    assert message in str(caught.value)


def test_a_comma_within_brackets_separates_no_names() -> None:
    assert split_names("a, b(c=1,d=2),e") == ("a", "b(c=1,d=2)", "e")


def test_an_identity_that_is_no_metric_any_more_is_none() -> None:
    assert find_metric("ragas.vanished") is None
    assert find_metric("faithfulness") is None
    assert find_metric("retrieval.recall(k=0)") is None


def test_a_label_shows_the_settings_that_tell_it_apart() -> None:
    (metric,) = metrics_named(["retrieval.recall(k=5)"])
    assert (metric.label, METRICS["retrieval.recall"].label) == ("Retrieval recall (k=5)", "Retrieval recall")


def test_the_default_metrics_are_those_of_the_paper() -> None:
    assert [metric.spec for metric in DEFAULT_METRICS] == [
        "ragas.faithfulness",
        "ragas.answer_relevance",
        "ragas.context_relevance",
    ]


def test_titles_tell_metrics_apart() -> None:
    titles = [metric.label for metric in METRICS.values()]
    assert len(titles) == len(set(titles))


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(
        SettingError, match=r"'faithfullness'; did you mean faithfulness\? `ragboard metrics` lists all$"
    ):
        metrics_named(["faithfullness"])
    with pytest.raises(SettingError, match=r"no metric is called 'faith'; the metrics are ragas\.faithfulness"):
        metrics_named(["faith"])


@pytest.mark.parametrize("spec", METRICS)
def test_every_metric_is_explained(spec: str) -> None:
    metric = METRICS[spec]
    assert metric.__doc__
    assert metric.formula
    assert metric.paper
    assert metric.range[0] < metric.range[1]


@pytest.mark.parametrize("spec", METRICS)
def test_every_metric_has_an_executed_example_and_a_source_in_the_documentation(spec: str) -> None:
    chapter = next(
        part for part in re.split(r"(?m)^## ", DOCS.read_text(encoding="utf-8")) if f"### `{spec}`\n" in part
    )
    section = re.split(r"(?m)^### ", chapter.partition(f"### `{spec}`\n")[2])[0]
    assert f'outcomes("{spec}")' in section
    assert "Source" in chapter


def test_the_metrics_that_move_with_the_number_of_passages_are_those_that_the_reference_names() -> None:
    text = DOCS.read_text("utf-8")
    falls, rises = re.findall(r"^\| usually (?:falls|rises) \| (.*) \|$", text, re.MULTILINE)
    named = {"falls": set(re.findall(r"`(\w+\.\w+)`", falls)), "rises": set(re.findall(r"`(\w+\.\w+)`", rises))}
    named["rises"] |= {spec for spec, one in METRICS.items() if one.source == "retrieval"} - named["falls"]
    for effect, specs in named.items():
        assert {spec for spec, one in METRICS.items() if describe(one).more_passages == effect} == specs
    assert all(describe(one).more_passages == "" for one in metrics_named(["retrieval.recall(k=5)"]))
