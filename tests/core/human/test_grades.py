"""Tests of grades and labels: figures by hand and by scipy, and agreement between annotators."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from scipy import stats as scipy

from ragboard import EmbeddedJudge, Panel, Score, Store, Unscored
from ragboard.errors import SettingError
from ragboard.human.agree import agree
from ragboard.human.agreement import AgreementData, find_agreement, load_agreement
from ragboard.human.grades import grade_comparisons, grade_report
from ragboard.readers.labels import Form, HumanLabel, read_labels
from ragboard.stats import Interval, NoInterval, cohen_kappa, krippendorff_alpha
from ragboard.store.queries.agreements import Agreement, Scorer, StoredAgreement


def heard(
    grades: list[tuple[HumanLabel, ...]],
    scores: Mapping[str, list[float | None]],
    *,
    clusters: list[str] | None = None,
    form: Form = "answers",
) -> AgreementData:
    ids = tuple(f"g{place}" for place in range(len(grades)))
    kept = StoredAgreement(
        agreement=Agreement(
            id="x",
            name="said",
            form=form,
            source="said.jsonl",
            judge="plain",
            heuristic=False,
            seed=0,
            scorers=tuple(Scorer(name=name, kind="metric") for name in scores),
        ),
        dimensions=("quality",),
        items=len(ids),
        clusters=len(set(clusters or ids)),
        made=datetime(2026, 1, 1, tzinfo=UTC),
    )
    return AgreementData(
        stored=kept,
        ids=ids,
        clusters=tuple(clusters or ids),
        human_labels=tuple({"quality": given} for given in grades),
        outcomes={
            ("quality", name): {
                place: (Unscored(reason="failed", detail="broken") if value is None else Score(value=value),)
                for place, value in enumerate(given)
            }
            for name, given in scores.items()
        },
    )


GRADES: list[tuple[HumanLabel, ...]] = [
    (4.0, 4.0, 4.0),
    (4.0, 3.0, 3.0),
    (2.0, 1.0, 2.0),
    (1.0, 1.0, 1.0),
    (3.0, 4.0, 2.0),
]
MEANS = [4.0, 10 / 3, 5 / 3, 1.0, 3.0]
SCORES: list[float | None] = [0.9, 0.4, 0.5, 0.1, 0.8]


def test_correlations_are_with_the_mean_grade() -> None:
    line = grade_report(heard(GRADES, {"ours": SCORES})).lines[0].agreement.correlations
    given = [score for score in SCORES if score is not None]
    assert line.pearson.value == pytest.approx(scipy.pearsonr(given, MEANS).statistic, abs=1e-12)
    assert line.spearman.value == pytest.approx(scipy.spearmanr(given, MEANS).statistic, abs=1e-12)
    assert line.kendall.value == pytest.approx(scipy.kendalltau(given, MEANS).statistic, abs=1e-12)


def test_good_is_from_halfway_up_the_scale_on_or_as_chosen() -> None:
    found = grade_report(heard(GRADES, {"ours": SCORES}))
    assert (found.at_least, found.graded, found.good) == (2.5, 5, 3)
    assert found.lines[0].agreement.auroc.value == pytest.approx(5 / 6)
    assert grade_report(heard(GRADES, {"ours": SCORES}), at_least=3.5).good == 1
    with pytest.raises(SettingError, match="5 of 5 items have a mean grade of at least 1 in quality; set the lowest"):
        grade_report(heard(GRADES, {"ours": SCORES}), at_least=1)


def test_the_cut_is_the_chosen_one_or_said_to_be_fitted() -> None:
    fitted = grade_report(heard(GRADES, {"ours": SCORES})).lines[0]
    assert fitted.cut is not None
    assert (fitted.cut.threshold, fitted.chosen) == (0.8, False)
    chosen = grade_report(heard(GRADES, {"ours": SCORES}), cuts={"ours": 0.45}).lines[0]
    assert chosen.chosen
    counts = chosen.agreement.confusion
    assert counts is not None
    assert (counts.true_positives, counts.false_positives, counts.false_negatives, counts.true_negatives) == (
        2,
        1,
        1,
        1,
    )
    assert chosen.agreement.kappa.value == pytest.approx(
        cohen_kappa([True, False, True, False, True], [True, True, False, False, True])
    )


def test_the_weighted_kappa_gives_scores_the_grades_that_people_gave_as_often() -> None:
    steps: list[tuple[HumanLabel, ...]] = [(1.0,), (2.0,), (3.0,), (4.0,)]
    assert grade_report(heard(steps, {"ours": [1, 2, 30, 400]})).lines[0].agreement.weighted_kappa.value == 1.0
    swapped = grade_report(heard(steps, {"ours": [1, 30, 2, 400]})).lines[0].agreement.weighted_kappa.value
    expected = cohen_kappa([1, 3, 2, 4], [1, 2, 3, 4], weights="quadratic", order=[1, 2, 3, 4])
    assert swapped == pytest.approx(expected)


def test_people_are_each_held_against_the_mean_of_the_others() -> None:
    people = grade_report(heard(GRADES, {"ours": SCORES})).annotators
    own = [grade for item in GRADES for grade in item]
    others = [
        (sum(item[:place]) + sum(item[place + 1 :])) / 2  # type: ignore[arg-type]
        for item in GRADES
        for place in range(3)
    ]
    assert (people.annotators, people.rated) == (3, 5)
    assert people.agreement is not None
    assert people.agreement.correlations.n == 15
    assert people.agreement.correlations.pearson.value == pytest.approx(
        scipy.pearsonr(own, others).statistic, abs=1e-12
    )
    assert people.alpha is not None
    assert people.alpha.value == pytest.approx(krippendorff_alpha(GRADES, scale="ordinal"))


def test_one_annotator_sets_no_ceiling() -> None:
    people = grade_report(heard([(1.0,), (0.0,), (None,)], {"ours": [0.9, 0.1, 0.5]}, form="statements")).annotators
    assert (people.annotators, people.rated, people.agreement, people.alpha) == (1, 0, None, None)


def test_what_has_no_score_or_no_grade_is_in_no_number() -> None:
    grades: list[tuple[HumanLabel, ...]] = [(1.0,), (0.0,), (1.0,), (None,)]
    found = grade_report(heard(grades, {"ours": [0.9, 0.1, None, 0.5], "silent": [None] * 4}))
    assert found.graded == 3
    assert [(line.scorer.name, line.unscored, line.agreement.correlations.n) for line in found.lines] == [
        ("ours", 1, 2)
    ]


def test_calibration_is_of_scores_that_can_be_probabilities() -> None:
    grades: list[tuple[HumanLabel, ...]] = [(1.0,), (0.0,)]
    found = grade_report(heard(grades, {"share": [0.95, 0.05], "length": [90.0, 5.0]}))
    share, length = found.lines
    assert share.calibration is not None
    assert share.calibration.error == pytest.approx(0.05)
    assert length.calibration is None


def test_intervals_draw_whole_groups() -> None:
    grades: list[tuple[HumanLabel, ...]] = [(float(place % 4),) for place in range(48)]
    scores: list[float | None] = [place % 4 + place % 3 for place in range(48)]
    twelve = grade_report(heard(grades, {"ours": scores}, clusters=[f"c{place // 4}" for place in range(48)]))
    interval = twelve.lines[0].agreement.correlations.spearman.interval
    assert isinstance(interval, Interval)
    assert (twelve.clusters, interval.n) == (12, 12)
    three = grade_report(heard(grades, {"ours": scores}, clusters=[f"c{place // 16}" for place in range(48)]))
    assert isinstance(three.lines[0].agreement.correlations.spearman.interval, NoInterval)
    assert three.lines[0].agreement.correlations.spearman.value is not None


def test_items_on_which_a_contender_is_farthest_from_people_come_first() -> None:
    found = grade_comparisons(
        heard([(4.0,), (1.0,), (2.0,), (3.0,)], {"ours": [0.1, 0.9, 0.2, None]}), "quality", "ours"
    )
    assert [(one.item_id, one.gap) for one in found] == [("g0", -1.0), ("g1", 1.0), ("g2", 0.0), ("g3", None)]


def test_a_dimension_without_scores_is_named() -> None:
    with pytest.raises(SettingError, match="there are no ratings of 'charm'; rated dimensions: quality"):
        grade_report(heard(GRADES, {"ours": SCORES}), "charm")


def test_mtrag_compares_the_embedded_judge_with_published_scores_by_conversation(data: Path, store: Store) -> None:
    agree(store, read_labels(str(data / "mtrag" / "mtrag_human_eval_12conv.jsonl")), Panel(judge=EmbeddedJudge()))
    report = grade_report(load_agreement(store, find_agreement(store, "mtrag_human_eval_12conv")), "faithfulness")
    lines = {line.scorer.name: line for line in report.lines}
    assert (report.graded, report.clusters, report.annotators.annotators) == (294, 12, 3)
    assert {"RougeL", "Bert-Rec", "Bert-KPrec", "rb_agg", "rb_llm", "rl_f"} <= lines.keys()
    ours, chance = lines["ragas"].agreement.auroc, lines["shorter"].agreement.auroc
    assert ours.value is not None
    assert ours.value > 0.9 > (chance.value or 0.0)
    assert isinstance(ours.interval, Interval)
    assert ours.interval.n == 12
