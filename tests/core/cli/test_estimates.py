"""Tests of `ragboard rank` and `ragboard estimate`: text, JSON and Markdown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.core.conftest import PlainJudge, make_sample
from tests.core.human.test_ranking import kept, rows

from ragboard import Panel, Run, Store, evaluate_run
from ragboard.cli import main
from ragboard.human.systems import SystemEstimate
from ragboard.metrics import metrics_named

COLUMNS = "Query\tDocument\tAnswer\tAnswer_Faithfulness_Label\tsystem"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    store = Store(tmp_path_factory.mktemp("ranking") / "store")
    kept(store, "a", 60)
    kept(store, "b|b", 80)
    return store


@pytest.fixture(scope="module")
def labels(store: Store) -> Path:
    """The labels of both runs as ARES has them, with the system each answer is from."""
    given = [(row, name) for name in ("a", "b|b") for row in rows(store, name)]
    lines = [
        "\t".join(
            (row["question"], row["contexts"][0], row["answer"], str(int(row["grades"]["faithfulness"] > 1)), name)
        )
        for row, name in given
    ]
    file = store.folder / "labels.tsv"
    file.write_text("\n".join([COLUMNS, *lines]), encoding="utf-8")
    return file


def told(store: Store, *words: str) -> str:
    found = CliRunner().invoke(main, ["rank", *words, "--store", str(store.folder)])
    assert found.exit_code == 0, found.output
    assert "use ragboard estimate --from FILE" in found.stderr
    return found.stdout


def test_the_table_has_estimates_ranks_and_the_judges_accuracy(store: Store, labels: Path) -> None:
    said = told(store, "a", "b|b", "--labels", str(labels), "--design", "random", "--order", "b|b, a")
    lines = [line.split() for line in said.splitlines()]
    assert [(line[0], line[1]) for line in lines[2:4]] == [("1", "b|b"), ("2", "a")]
    assert all("PPI++" in line for line in lines[2:4])
    assert "40 of 100" in said
    assert "0.850 (0.709 to 0.929)" in said, "34 of 40 by Wilson"
    assert "Kendall's tau with the known order (b|b, a): 1.00; of the judge alone: 1.00" in said


def test_without_a_declared_design_it_says_why_there_is_nothing(store: Store, labels: Path) -> None:
    said = told(store, "a", "b|b", "--labels", str(labels))
    assert said.count("none") == 4
    assert "a: the 40 labelled samples are not declared random" in said


def test_pooled_labels_come_with_their_caution(store: Store, labels: Path) -> None:
    said = told(store, "a", "b|b", "--labels", str(labels), "--design", "random", "--pool")
    assert "caution: the labels of all runs correct each run" in said


def test_few_labels_give_only_the_estimate_from_labels_and_say_so(store: Store, tmp_path: Path, labels: Path) -> None:
    few = tmp_path / "few.tsv"
    few.write_text("\n".join(labels.read_text(encoding="utf-8").splitlines()[:21]), encoding="utf-8")
    said = told(store, "a", "--labels", str(few), "--design", "random")
    assert "labels alone" in said
    assert "a: no PPI: an estimate needs at least 30 labels, got 20" in said


def test_the_three_qualities_of_ares_have_a_table_each(store: Store, tmp_path: Path) -> None:
    """The judge says yes of everything, for every passage is red: no better than a coin."""
    samples = tuple(make_sample(n) for n in range(60))
    run = store.add_runs([Run(name="classified", samples=samples)])[0]
    evaluate_run(store, run.id, metrics_named(["ares"]), Panel(judge=PlainJudge()))
    head = "Query\tDocument\tAnswer\tContext_Relevance_Label\tAnswer_Faithfulness_Label\tAnswer_Relevance_Label"
    lines = [
        f"{one.question}\t{one.contexts[0].text}\t{one.answer}\t{n % 2}\t{int(n % 3 > 0)}\t{int(n % 4 > 0)}"
        for n, one in enumerate(samples[:40])
        if one.contexts
    ]
    file = tmp_path / "gold.tsv"
    file.write_text("\n".join([head, *lines]), encoding="utf-8")
    said = told(store, "classified", "--labels", str(file), "--design", "random")
    assert [line.split("(")[1].split(")")[0] for line in said.splitlines() if "bias-corrected with" in line] == [
        "ares.context_relevance",
        "ares.answer_faithfulness",
        "ares.answer_relevance",
    ]
    assert said.count("the judge is no better than chance: it gives 1 to every labelled sample") == 3
    assert said.count("labels alone") == 3


def test_json_is_the_report_and_markdown_is_safe(store: Store, labels: Path) -> None:
    words = ("a", "b|b", "--labels", str(labels), "--design", "random")
    (table,) = json.loads(told(store, *words, "--json"))["tables"]
    assert {*table["report"]["systems"][0]} == {*SystemEstimate.__dataclass_fields__}
    assert [one["name"] for one in table["report"]["ranking"]] == ["b|b", "a"]
    assert "| 1 | b\\|b | 0." in told(store, *words, "--markdown")


@pytest.mark.parametrize("form", [(), ("--json",), ("--markdown",)])
def test_rank_is_estimate_from_a_file(store: Store, labels: Path, form: tuple[str, ...]) -> None:
    words = ("--design", "random", "--order", "b|b,a", *form)
    found = CliRunner().invoke(
        main, ["estimate", "a", "b|b", "--from", str(labels), *words, "--store", str(store.folder)]
    )
    assert found.exit_code == 0
    assert found.stderr == ""
    assert found.stdout == told(store, "a", "b|b", "--labels", str(labels), *words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--from", "labels.tsv", "--width", "0.1"), "work with labels in the store"),
        (("--pool",), "need --from FILE"),
        (("--metric", "a", "--metric", "b"), "need --from FILE"),
    ],
)
def test_options_of_the_stores_labels_and_of_a_file_do_not_mix(
    store: Store, words: tuple[str, ...], message: str
) -> None:
    found = CliRunner().invoke(main, ["estimate", "a", *words, "--store", str(store.folder)])
    assert found.exit_code == 2
    assert message in found.stderr
