"""Tests of estimates from stored labels: which labels count, and why others do not."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from click.testing import CliRunner
from tests.conftest import Once
from tests.core.conftest import PlainJudge, make_sample

from ragboard import DEFAULT_METRICS, NotFoundError, Panel, Run, SettingError, Store, evaluate_run
from ragboard.cli import main
from ragboard.human.annotation import draw_samples
from ragboard.human.estimates import Estimates, estimate_runs, estimated_metrics, predict_labels_needed
from ragboard.human.labels import LabelledAnswer, NewLabel, add_labels
from ragboard.metrics import metrics_named
from ragboard.stats import MeanEstimate, estimate_means
from ragboard.store import RunRef
from ragboard.store.queries.labels import LabelQueue
from ragboard.store.rows import answer_key

ANSWERS = ("It is red. It is old.", "It is red.", "It is old.", "It is red. It is red too.")
SAMPLES = 90


def kept(store: Store, name: str = "run", version: str = "1", shift: int = 0) -> RunRef:
    samples = tuple(make_sample(n, answer=ANSWERS[(n + shift) % 4]) for n in range(SAMPLES))
    run_id = store.add_runs([Run(name=name, samples=samples)])[0].id
    evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=PlainJudge(version=version)))
    return store.resolve(name)


@pytest.fixture
def run(store: Store, once: Once) -> RunRef:
    once(kept, store)
    return store.resolve("run")


def truth(position: int, statement: str) -> str:
    """What people say: as the judge, but that all is wrong in every fifth sample, and right in every seventh."""
    if position % 5 == 0:
        return "unsupported"
    return "supported" if "red" in statement or position % 7 == 0 else "unsupported"


def label(
    store: Store,
    run: RunRef,
    positions: Iterable[int],
    *,
    queue: LabelQueue = "random",
    design: str = "",
    skip: int = -1,
) -> dict[int, float]:
    """Label every statement of these samples; what people find of each."""
    samples = dict(store.samples(run.run_id))
    answers: list[LabelledAnswer] = []
    labels: list[NewLabel] = []
    outcomes: dict[int, float] = {}
    for position in positions:
        sample = samples[position]
        said = [part.strip() for part in (sample.answer or "").split(".") if part.strip()]
        key = answer_key(sample)
        answers.append(LabelledAnswer(key=key, sample=sample))
        given = [truth(position, text) for text in said][: 0 if position == skip else None]
        outcomes[position] = sum(value == "supported" for value in given) / len(said)
        labels += [
            NewLabel(
                annotator="ada", kind="verdict", answer_key=key, value=value, statement=text, queue=queue, design=design
            )
            for text, value in zip(said, given, strict=False)
        ]
    add_labels(store, answers, labels)
    return outcomes


def estimate(store: Store, *runs: RunRef, **options: Any) -> Estimates:
    return estimate_runs(store, runs, **options)


def test_that_more_samples_could_be_drawn_now_is_reported(store: Store, run: RunRef) -> None:
    label(store, run, draw_samples(store, run, size=30, seed=1).positions)
    assert not any("can be drawn now" in note for note in estimate(store, run).report.systems[0].notes)
    with store.database.write() as connection:
        connection.execute("UPDATE draws SET population = 40")
    (note,) = (note for note in estimate(store, run).report.systems[0].notes if "can be drawn now" in note)
    assert note.startswith("the labelled samples were drawn from 40 samples, but 90 can be drawn now")


def test_an_estimate_is_made_of_the_drawn_labels_and_all_scores(store: Store, run: RunRef) -> None:
    draw = draw_samples(store, run, size=60, seed=1)
    outcomes = label(store, run, draw.positions)
    found = estimate(store, run)
    (one,) = found.report.systems
    judged = [ANSWERS[n % 4].count("red") / ANSWERS[n % 4].count(".") for n in range(SAMPLES)]
    rest = [judged[n] for n in range(SAMPLES) if n not in outcomes]
    expected = estimate_means([outcomes[n] for n in draw.positions], [judged[n] for n in draw.positions], rest)
    assert one.means is not None
    for way in ("classical", "judge_only", "ppi", "tuned"):
        ours, theirs = getattr(one.means, way), getattr(expected, way)
        assert isinstance(ours, MeanEstimate)
        assert ours.interval.estimate == pytest.approx(theirs.interval.estimate)
        assert (ours.interval.low, ours.interval.high) == pytest.approx((theirs.interval.low, theirs.interval.high))
    assert (one.items, one.labels, one.unusable_reason) == (SAMPLES, 60, "")


def test_without_labels_it_is_rejected_and_says_what_is_missing(store: Store, run: RunRef) -> None:
    (one,) = estimate(store, run).report.systems
    assert one.means is None
    assert one.unusable_reason == "no randomly drawn samples of this run are labelled yet"
    assert one.notes == ()


@pytest.mark.parametrize("queue", ["browsing", "disagreement"])
def test_labels_that_were_not_drawn_do_not_count(store: Store, queue: LabelQueue, run: RunRef) -> None:
    label(store, run, range(60), queue=queue)
    (one,) = estimate(store, run).report.systems
    assert (one.labels, one.means) == (0, None)


@pytest.mark.parametrize(
    ("design", "unusable_reason"),
    [
        ("random", ""),
        ("not random", "the 60 labelled samples were not drawn at random; an estimate needs a random sample"),
        ("unknown", "the 60 labelled samples are not declared random; an estimate needs a random sample"),
    ],
)
def test_imported_labels_count_as_their_design_allows(
    store: Store, design: str, unusable_reason: str, run: RunRef
) -> None:
    label(store, run, range(60), queue="imported", design=design)
    (one,) = estimate(store, run).report.systems
    assert one.unusable_reason.startswith(unusable_reason)
    assert (one.means is None) == bool(unusable_reason)
    assert (not unusable_reason) == any("were imported" in note for note in one.notes)


def test_labels_of_another_judges_statements_are_rejected_by_its_name(store: Store, run: RunRef) -> None:
    label(store, run, draw_samples(store, run, size=60).positions)
    other = kept(store, version="2")
    assert other.evaluation_id != run.evaluation_id
    (one,) = estimate(store, other).report.systems
    assert "the labels are for statements of another evaluation, run@" in one.unusable_reason
    assert one.means is None


def test_samples_after_a_gap_in_the_draw_do_not_count(store: Store, run: RunRef) -> None:
    draw = draw_samples(store, run, size=60, seed=1)
    label(store, run, draw.positions, skip=draw.positions[40])
    (one,) = estimate(store, run).report.systems
    assert one.labels == 40
    assert any(
        note.startswith("19 labelled samples come after the first incomplete sample of the draw") for note in one.notes
    )


def test_two_runs_are_compared_and_ranked(store: Store) -> None:
    a, b = kept(store, "a"), kept(store, "b", shift=1)
    for run in (a, b):
        label(store, run, draw_samples(store, run, size=60, seed=1).positions)
    report = estimate(store, a, b).report
    (difference,) = report.differences
    assert (difference.a, difference.b, difference.paired, difference.labels) == ("a", "b", True, 60)
    assert {one.name for one in report.ranking} == {"a", "b"}


def test_a_metric_unlike_labels_is_no_ground_for_an_estimate(store: Store, run: RunRef) -> None:
    there = [metric.spec for metric in estimated_metrics(store, run)]
    assert "ragas.faithfulness" in there
    assert not any(spec.startswith("ragas.answer_relevance") for spec in there)
    with pytest.raises(SettingError, match="estimates need a metric from 0 to 1"):
        estimate(store, run, metric="answer_relevance")
    with pytest.raises(NotFoundError, match="no metric 'absent'; available: "):
        estimate(store, run, metric="absent")


def test_a_draw_without_labels_gives_no_estimate_and_a_reason(store: Store, run: RunRef) -> None:
    draw_samples(store, run, size=60, seed=1)
    (system,) = estimate(store, run).report.systems
    assert system.unusable_reason.startswith("the first sample of the random batch is not completely labelled yet")


def test_how_many_more_labels_a_width_takes(store: Store, run: RunRef) -> None:
    label(store, run, draw_samples(store, run, size=60, seed=1).positions)
    (source,) = estimate(store, run).inputs
    wide, narrow = predict_labels_needed(source, 0.9), predict_labels_needed(source, 0.01)
    assert wide is not None
    assert wide.more == 0
    assert narrow is not None
    assert narrow.more is None
    with pytest.raises(ValueError, match="width"):
        predict_labels_needed(source, 0.0)


def test_the_command_prints_what_the_report_says(store: Store, run: RunRef) -> None:
    label(store, run, draw_samples(store, run, size=60, seed=1).positions)
    told = CliRunner().invoke(main, ["estimate", "run", "--width", "0.9", "--store", str(store.folder)])
    assert told.exit_code == 0, told.output
    assert "60 of 90" in told.output
    assert "judge accuracy" in told.output
    assert "0 more labels for a 95% CI 0.9 wide" in told.output
    printed = CliRunner().invoke(main, ["estimate", "run", "--json", "--store", str(store.folder)])
    (one,) = json.loads(printed.output)["report"]["systems"]
    best = estimate(store, run).report.systems[0].best
    assert isinstance(best, MeanEstimate)
    assert one["means"]["tuned"]["interval"]["estimate"] == pytest.approx(best.interval.estimate)


def test_the_judge_that_is_named_is_the_one_that_scored_the_metric(store: Store, run: RunRef) -> None:
    evaluate_run(store, run.run_id, metrics_named(["context_relevance"]), Panel(judge=PlainJudge("other", version="2")))
    store_option = ("--store", str(store.folder))
    for metric, judge in (("ragas.faithfulness", "plain"), ("ragas.context_relevance", "other")):
        said = CliRunner().invoke(main, ["estimate", "run", "--metric", metric, "--json", *store_option])
        assert said.exit_code == 0, said.output
        (source,) = json.loads(said.stdout)["inputs"]
        assert source["judged"]["judge"] == judge
