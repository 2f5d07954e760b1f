"""Tests of plugin files: they are accepted as a whole, or rejected with file and place."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.core.conftest import PlainJudge, make_run
from tests.plugin_file import BREVITY, write_plugin

from ragboard import METRICS, Panel, Score, SettingError, Store, evaluate_run
from ragboard.analysis import SampleQuery, metric_descriptions, run_summary, sample_rows
from ragboard.evaluation.options import EvaluationOptions
from ragboard.metrics import describe, metrics_named
from ragboard.metrics.plugins import metrics_with


def test_a_metric_of_your_own_takes_less_than_thirty_lines() -> None:
    body = BREVITY[BREVITY.index("@dataclass") :]
    assert sum(bool(line.strip()) for line in body.splitlines()) < 30


def test_a_plugin_metric_is_known_only_where_it_is_loaded(tmp_path: Path) -> None:
    known = metrics_with([write_plugin(tmp_path)])
    assert set(known) - set(METRICS) == {"mine.brevity"}
    assert [metric.spec for metric in metrics_named(["brevity(most=2)", "mine"], known)] == [
        "mine.brevity(most=2)",
        "mine.brevity",
    ]
    with pytest.raises(SettingError, match="no metric is called 'brevity'"):
        metrics_named(["brevity"])


def test_the_same_file_twice_is_one_plugin_and_a_changed_one_is_read_again(tmp_path: Path) -> None:
    path = write_plugin(tmp_path)
    assert metrics_with([path, path])["mine.brevity"] == metrics_with([path])["mine.brevity"]
    write_plugin(tmp_path, BREVITY.replace('"Brevity"', '"Shortness"'))
    assert metrics_with([path])["mine.brevity"].title == "Shortness"


def test_a_file_that_fails_at_its_end_fails_each_time(tmp_path: Path) -> None:
    path = write_plugin(tmp_path, f"{BREVITY}\n\nraise RuntimeError('no network')\n")
    for _ in range(2):
        with pytest.raises(SettingError, match="RuntimeError: no network"):
            metrics_with([path])


def test_a_file_of_aspects_is_a_plugin_too(tmp_path: Path) -> None:
    path = tmp_path / "aspects.toml"
    path.write_text('[politeness]\ndefinition = "Is it polite?"\ndirection = "higher"\n', encoding="utf-8")
    assert "aspect.politeness" in metrics_with([path])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("@dataclass(frozen=True)\nclass", "class", "Brevity: is not a dataclass; add @dataclass(frozen=True)"),
        ("min(1.0, self", "min(1.0, (self", r":31: '(' was never closed"),
        ("import Statements", "import Statments", "ImportError: cannot import name 'Statments'"),
        ("dataclass(frozen=True)", "dataclass(frozen=Tru)", ":8: NameError: name 'Tru' is not defined"),
        ("@dataclass(frozen=True)\nclass", "1 / 0\n@dataclass(frozen=True)\nclass", ":8: ZeroDivisionError: division"),
        ("@dataclass(frozen=True)\nclass", "raise SystemExit(3)\nclass", ":8: SystemExit: 3"),
        ("class Brevity", "class _Brevity", "contains no metric; expected a public subclass of ragboard.Metric"),
        (
            '    paper = "our style guide, section 2"\n',
            "",
            "Brevity: has no paper; a metric defines source, name, title,",
        ),
        ("def score", "def scores", "Brevity: has no method score"),
        ("most: int = 1", "most: int", "Brevity: cannot be created with its defaults"),
        ('direction = "higher"', 'direction = "up"', "direction is 'up', expected higher or lower or neutral"),
        (
            'direction = "higher"',
            'direction = "higher"\n    category = "mood"',
            "category is 'mood', expected grounding or citations or relevance",
        ),
        ('requires = ("answer",)', 'requires = ("answer")', "requires is 'answer', expected a tuple of answer, "),
        ("range = (0.0, 1.0)", "range = (1.0, 0.0)", "range is (1.0, 0.0), expected minimum and maximum"),
        ('name = "brevity"', 'name = "my brevity"', "name is 'my brevity', expected lower-case letters"),
        ('source = "mine"', 'source = "metadata"', "source is 'metadata', which is reserved for columns"),
        ('title = "Brevity"', "title = 3", "title is 3, expected a string"),
        ('title = "Brevity"', 'title = "Faithfulness"', "ragas.faithfulness already has the title 'Faithfulness'"),
        ("return (Statements(),)", "return (3,)", "needs 3; expected needs of ragboard.metrics.needs"),
    ],
)
def test_a_file_that_cannot_be_taken_says_what_and_where(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in BREVITY
    path = write_plugin(tmp_path, BREVITY.replace(old, new, 1))
    with pytest.raises(SettingError) as caught:
        metrics_with([path])
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_absent_file_and_a_taken_name_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"absent\.py: No such file"):
        metrics_with([tmp_path / "absent.py"])
    same = BREVITY.replace('"mine"', '"ragas"').replace('"brevity"', '"faithfulness"')
    with pytest.raises(SettingError, match=r"ragas\.faithfulness already exists"):
        metrics_with([write_plugin(tmp_path, same)])


def test_its_scores_are_shown_and_kept_by_those_who_do_not_know_it(tmp_path: Path, store: Store) -> None:
    known = metrics_with([write_plugin(tmp_path)])
    run_id = store.add_runs([make_run()])[0].id
    panel = Panel(judge=PlainJudge())
    evaluate_run(store, run_id, metrics_named(["brevity"], known), panel, EvaluationOptions(known=known))
    evaluate_run(store, run_id, metrics_named(["faithfulness"]), panel)
    ref = store.resolve("run")
    assert set(run_summary(store, ref).metrics) == {"ragas.faithfulness", "mine.brevity"}
    assert store.evaluation_metrics(ref.evaluation_id or "") == ("mine.brevity", "ragas.faithfulness")
    row = sample_rows(store, ref, SampleQuery()).rows[0]
    assert row.scores["mine.brevity"] == Score(value=0.5, counted="2 statements")
    assert metric_descriptions(store)["mine.brevity"] == describe(known["mine.brevity"])


def test_its_stored_range_bounds_the_interval_without_its_code(tmp_path: Path, store: Store) -> None:
    known = metrics_with([write_plugin(tmp_path)])
    run_id = store.add_runs([make_run()])[0].id
    evaluate_run(
        store,
        run_id,
        metrics_named(["brevity(most=2)"], known),
        Panel(judge=PlainJudge()),
        EvaluationOptions(known=known),
    )
    assert metric_descriptions(store)["mine.brevity(most=2)"].high == 1.0
    store.remove_runs([run_id])
    assert set(metric_descriptions(store)) == set(METRICS)


@pytest.mark.parametrize("value", ["float('nan')", "7.0", "-0.5"])
def test_a_number_outside_its_range_ends_the_evaluation_with_one_line(tmp_path: Path, store: Store, value: str) -> None:
    known = metrics_with([write_plugin(tmp_path, BREVITY.replace("min(1.0, self.most / count)", value))])
    run_id = store.add_runs([make_run()])[0].id
    with pytest.raises(SettingError, match=r"mine\.brevity returned .* for sample 's0'; its range is 0\.0 to 1\.0"):
        evaluate_run(
            store, run_id, metrics_named(["brevity"], known), Panel(judge=PlainJudge()), EvaluationOptions(known=known)
        )
