"""Tests of `compare` and `check`: exit codes, and escaping of hostile names."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.conftest import Once
from tests.core.conftest import PlainJudge, make_sample

from ragboard import Panel, Run, Store, evaluate_run
from ragboard.cli import main
from ragboard.cli.markdown import escaped
from ragboard.metrics import metrics_named


def keep(store: Store) -> None:
    for name, answer in (("a", "It is red. It is old."), ("b<i>|\x1b[2J", "It is red."), ("c", "It is old.")):
        samples = tuple(make_sample(number, answer=answer) for number in range(40))
        (added,) = store.add_runs([Run(name=name, samples=samples, config={"k": name})])
        evaluate_run(store, added.id, metrics_named(["faithfulness"]), Panel(judge=PlainJudge()))


@pytest.fixture
def runs(store: Store, once: Once) -> Store:
    return once(keep, store)


def call(store: Store, *words: str) -> Result:
    return CliRunner().invoke(main, [*words, "--store", str(store.folder)])


@pytest.mark.parametrize(
    ("condition", "code"),
    [("faithfulness < -0.02", 1), ("faithfulness < -0.95", 0), ("faithfulness > 0", 0), ("faithfulness < -0.5", 4)],
)
def test_the_exit_code_of_a_comparison_follows_from_the_interval(runs: Store, condition: str, code: int) -> None:
    result = call(runs, "compare", "a", "c", "--fail-if", condition)
    assert result.exit_code == code
    assert result.output.splitlines()[-1].startswith({0: "pass", 1: "fail", 4: "inconclusive"}[code])


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--min", "faithfulness=0.2"), 0),
        (("--min", "ragas.faithfulness=0.9"), 1),
        (("--max", "faithfulness=0.5"), 4),
        (("--min", "faithfulness=0.5", "--max", "faithfulness=0.1"), 1),
        ((), 2),
        (("--min", "faithfulness"), 2),
        (("--min", "nope=1"), 5),
        (("--min", "faithfulness=nan", "--json"), 2),
        (("--min", "faithfulness=inf", "--json"), 2),
        (("--max", "faithfulness=5"), 2),
    ],
)
def test_the_exit_code_of_a_check_follows_from_the_interval(runs: Store, words: tuple[str, ...], code: int) -> None:
    result = call(runs, "check", "a", *words)
    assert result.exit_code == code, result.output


def test_a_difference_has_a_sign_and_a_mean_has_none(runs: Store) -> None:
    assert "0.500, 95% CI 0." in call(runs, "check", "a", "--min", "faithfulness=0.2").output
    assert (
        "-0.500, 95% CI -"
        in call(runs, "compare", "a", "c", "--fail-if", "faithfulness < -0.02").output.splitlines()[-1]
    )


def test_a_limit_that_nothing_can_reach_is_rejected_with_what_can_be_reached(runs: Store) -> None:
    """Meant in percent, it would let everything pass."""
    said = call(runs, "check", "a", "--max", "faithfulness=5").output
    assert said == "ragboard: 5 is out of range for ragas.faithfulness: a mean is between 0 and 1\n"
    result = call(runs, "compare", "a", "c", "--fail-if", "faithfulness < -2")
    assert (result.exit_code, "a difference is between -1 and 1" in result.output) == (2, True)


def test_json_holds_the_comparison_the_gates_and_the_verdict(runs: Store) -> None:
    printed = json.loads(call(runs, "compare", "a", "c", "--fail-if", "faithfulness < 0", "--json").stdout)
    assert printed["verdict"] == printed["gates"][0]["verdict"]
    assert printed["comparison"]["metrics"][0]["pairs"]["difference"] == -0.5
    checked = json.loads(call(runs, "check", "a", "--min", "faithfulness=0.1", "--json").stdout)
    assert (checked["verdict"], checked["gates"][0]["n"]) == ("pass", 40)


def test_names_are_escaped_in_markdown_and_terminals(runs: Store) -> None:
    printed = call(runs, "compare", "a", "b<i>|\x1b[2J", "--markdown").stdout
    assert "\x1b" not in printed
    assert "b\\<i\\>\\|" in printed
    assert "\x1b" not in call(runs, "compare", "a", "b<i>|\x1b[2J").stdout


def test_a_setting_of_others_begins_no_line_of_its_own(store: Store) -> None:
    for name, k in (("a", "1"), ("b", "2\n::error::said by nobody")):
        samples = tuple(make_sample(number) for number in range(5))
        (added,) = store.add_runs([Run(name=name, samples=samples, config={"k": k})])
        evaluate_run(store, added.id, metrics_named(["faithfulness"]), Panel(judge=PlainJudge()))
    lines = call(store, "compare", "a", "b").stdout.splitlines()
    assert "  k: 1 in A, 2 ::error::said by nobody in B" in lines


def test_an_error_is_one_line_without_control_characters(store: Store) -> None:
    store.add_runs([Run(name="a\x1b[2J\nb", samples=(make_sample(1),))])
    result = CliRunner().invoke(main, ["check", "nope", "--min", "f=1", "--store", str(store.folder)], color=True)
    assert result.output == "ragboard: no run is called 'nope'; there are a\N{REPLACEMENT CHARACTER}[2J b\n"


def test_an_address_without_a_scheme_is_no_link_either() -> None:
    """GitHub makes one of every `www.` that no sign parts."""
    assert escaped("see www.example.org, WWW.example.org: 0.5") == "see www\\.example.org, WWW\\.example.org\\: 0.5"


def test_a_check_is_printed_as_markdown(runs: Store) -> None:
    printed = call(runs, "check", "a", "--min", "faithfulness=0.9", "--markdown").stdout
    assert "**❌ fail**" in printed
    assert "| ragas.faithfulness ≥ 0.9 |" in printed


def test_only_the_chosen_metrics_are_printed(runs: Store) -> None:
    assert "ragas.faithfulness" in call(runs, "compare", "a", "c", "--metrics", "faithfulness").stdout
    assert call(runs, "compare", "a", "c", "--metrics", "nope").exit_code == 5


def test_two_evaluations_of_one_run_are_printed_as_noise(runs: Store) -> None:
    assert "noise:" not in call(runs, "compare", "a", "c").output
    run = runs.resolve("a")
    evaluate_run(runs, run.run_id, metrics_named(["faithfulness"]), Panel(judge=PlainJudge(version="2")))
    printed = call(runs, "compare", "a", "c").output
    assert printed.count("noise: two evaluations of a by plain differ by +0.000 (95% CI ") == 1
    noise = json.loads(call(runs, "compare", "c", "a", "--json").output)["noise"]
    assert [(one["run"], one["metric"], one["paired"]["n"]) for one in noise] == [("a", "ragas.faithfulness", 40)]


def test_text_of_a_file_cannot_begin_a_line_of_the_report(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    row = {"question": "Who\n::error::asks?", "answer": "Tom.\n::error::says", "model": "m\n::error::named"}
    file.write_text(json.dumps(row), encoding="utf-8")
    said = [call(store, "import", str(file), "--run-column", "model"), call(store, "show", "m\n::error::named")]
    lines = [line for one in said for line in one.output.splitlines()]
    assert any("::error::named" in line for line in lines)
    assert not any(line.strip().startswith("::") for line in lines)


def test_cost_and_the_questions_that_a_difference_takes_are_printed(store: Store) -> None:
    for name, factor in (("a", 1.0), ("b", 1.5)):
        said = ("It is red.", "It is red. It is old.")
        samples = tuple(
            replace(
                make_sample(at, answer=said[at % 2 if name == "a" else 0]), metadata={"latency_ms": (900 + at) * factor}
            )
            for at in range(40)
        )
        (added,) = store.add_runs([Run(name=name, samples=samples)])
        evaluate_run(store, added.id, metrics_named(["faithfulness"]), Panel(judge=PlainJudge()))
    printed = call(store, "compare", "a", "b", "--detect", "0.1").output
    assert "latency_ms  919.5  1,379.2  +459.8, 95% CI +457.9 to +461.6" in printed
    assert "Faithfulness: With 40 questions, a difference of 0.12 can be detected (80% power)." in printed
    assert call(store, "compare", "a", "b", "--detect", "0").exit_code == 2
