"""Tests of accuracy on pairs, McNemar's test, and agreement between annotators."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from scipy import stats as scipy

from ragboard import EmbeddedJudge, Panel, Score, Store, Unscored
from ragboard.errors import SettingError
from ragboard.human.agree import agree
from ragboard.human.agreement import AgreementData, find_agreement, load_agreement
from ragboard.human.preferences import pair_comparisons, preference_report
from ragboard.metrics import metrics_named
from ragboard.readers.labels import HumanLabel, read_labels
from ragboard.records import Outcome
from ragboard.stats import NoInterval
from ragboard.store.queries.agreements import Agreement, Scorer, StoredAgreement

SEED = 0


def outcome(value: float | None) -> Outcome:
    return Unscored(reason="failed", detail="broken") if value is None else Score(value=value)


def heard(
    votes: list[tuple[HumanLabel, ...]],
    scores: Mapping[str, list[tuple[float | None, float | None]]],
    *,
    dimension: str = "quality",
    clusters: list[str] | None = None,
    lower: str = "",
) -> AgreementData:
    """Pairs of one dimension, with the scores of A and B that each contender gives."""
    contenders = tuple(Scorer(name=name, kind="metric", lower=name == lower) for name in scores)
    agreement = Agreement(
        id="x",
        name="said",
        form="pairs",
        source="said.jsonl",
        judge="plain",
        heuristic=False,
        seed=SEED,
        scorers=contenders,
    )
    ids = tuple(f"p{place}" for place in range(len(votes)))
    kept = StoredAgreement(
        agreement=agreement,
        dimensions=(dimension,),
        items=len(ids),
        clusters=len(set(clusters or ids)),
        made=datetime(2026, 1, 1, tzinfo=UTC),
    )
    return AgreementData(
        stored=kept,
        ids=ids,
        clusters=tuple(clusters or ids),
        human_labels=tuple({dimension: given} for given in votes),
        outcomes={
            (dimension, name): {place: (outcome(a), outcome(b)) for place, (a, b) in enumerate(given)}
            for name, given in scores.items()
        },
    )


VOTES: list[tuple[HumanLabel, ...]] = [(-1.0,), (1.0,), (1.0,), (-1.0,), (0.0,)]
SCORES: list[tuple[float | None, float | None]] = [(0.9, 0.1), (0.2, 0.8), (0.8, 0.2), (0.5, 0.5), (0.1, 0.9)]


def test_accuracy_is_of_pairs_that_people_decided_by_the_policy_named() -> None:
    found = heard(VOTES, {"ours": SCORES})
    half = preference_report(found, ties="half").lines[0].by_dimension["quality"].accuracy
    assert (half.wins, half.losses, half.ties, half.n, half.accuracy) == (2, 1, 1, 4, 2.5 / 4)
    assert preference_report(found, ties="loss").lines[0].by_dimension["quality"].accuracy.accuracy == 0.5
    left_out = preference_report(found, ties="exclude").lines[0].by_dimension["quality"].accuracy
    assert (left_out.n, left_out.accuracy) == (3, 2 / 3)
    coin = preference_report(found).lines[0].by_dimension["quality"].accuracy
    assert coin.accuracy in (0.5, 0.75)
    assert preference_report(found).annotators["quality"].undecided == 1


def test_a_missing_score_leaves_the_pair_out_and_is_counted() -> None:
    found = heard([(1.0,), (1.0,)], {"ours": [(None, 0.5), (0.1, 0.5)]})
    cell = preference_report(found).lines[0].by_dimension["quality"].accuracy
    assert (cell.n, cell.unscored, cell.accuracy) == (1, 1, 1.0)


def test_a_contender_of_which_less_is_better_is_turned() -> None:
    found = heard([(1.0,)], {"bad": [(0.9, 0.1)]}, lower="bad")
    assert preference_report(found).lines[0].by_dimension["quality"].accuracy.accuracy == 1.0


def test_duels_are_mcnemar_against_one_contender_corrected_for_their_number() -> None:
    votes: list[tuple[HumanLabel, ...]] = [(1.0,)] * 8
    right: list[tuple[float | None, float | None]] = [(0.0, 1.0)] * 8
    wrong: list[tuple[float | None, float | None]] = [(1.0, 0.0)] * 8
    found = preference_report(heard(votes, {"good": right, "bad": wrong, "same": right}))
    cells = {line.scorer.name: line.by_dimension["quality"] for line in found.lines}
    assert found.reference == "good"
    assert cells["good"].mcnemar is None
    duel = cells["bad"].mcnemar
    assert duel is not None
    assert (duel.wins, duel.losses, duel.p) == (0, 8, pytest.approx(2 / 2**8))
    assert cells["bad"].p == pytest.approx(4 / 2**8)
    assert cells["same"].p == 1.0
    other = preference_report(heard(votes, {"good": right, "bad": wrong}), reference="bad")
    assert {line.scorer.name: line.by_dimension["quality"].mcnemar is None for line in other.lines} == {
        "good": False,
        "bad": True,
    }
    with pytest.raises(SettingError, match="no scorer is called 'nobody'; available: good, bad"):
        preference_report(heard(votes, {"good": right, "bad": wrong}), reference="nobody")


def test_pairs_of_one_question_are_one_witness_in_a_duel() -> None:
    votes: list[tuple[HumanLabel, ...]] = [(1.0,)] * 12
    right: list[tuple[float | None, float | None]] = [(0.0, 1.0)] * 12
    wrong: list[tuple[float | None, float | None]] = [(1.0, 0.0)] * 12
    clusters = [f"q{place % 3}" for place in range(12)]
    found = preference_report(heard(votes, {"good": right, "bad": wrong}, clusters=clusters))
    duel = found.lines[1].by_dimension["quality"].mcnemar
    assert duel is not None
    assert (duel.wins, duel.losses, duel.p) == (0, 12, pytest.approx(2 / 2**3))


def test_the_interval_to_read_draws_groups_where_pairs_share_one() -> None:
    votes: list[tuple[HumanLabel, ...]] = [(1.0,)] * 24
    scores: list[tuple[float | None, float | None]] = [(0.0, 1.0 if place % 5 else -1.0) for place in range(24)]
    alone = preference_report(heard(votes, {"ours": scores})).lines[0].by_dimension["quality"]
    assert alone.interval == alone.accuracy.wilson
    clusters = [f"c{place // 2}" for place in range(24)]
    grouped = preference_report(heard(votes, {"ours": scores}, clusters=clusters)).lines[0].by_dimension["quality"]
    assert grouped.interval == grouped.accuracy.bootstrap != alone.interval
    few = (
        preference_report(heard(votes[:4], {"ours": scores[:4]}, clusters=clusters[:4]))
        .lines[0]
        .by_dimension["quality"]
    )
    assert isinstance(few.interval, NoInterval)


def test_people_with_each_other_are_the_ceiling() -> None:
    votes: list[tuple[HumanLabel, ...]] = [(1.0, 2.0), (-1.0, -1.0), (1.0, -1.0), (2.0, None), (0.0, 1.0)]
    people = preference_report(heard(votes, {"ours": [(0.0, 1.0)] * 5})).annotators["quality"]
    assert (people.pairs, people.annotators, people.undecided) == (5, 2, 1)
    assert people.accuracy is not None
    assert (people.accuracy.wins, people.accuracy.losses, people.accuracy.ties) == (4, 2, 1)
    x = [1, 2, -1, -1, 1, -1, 0, 1]
    y = [2, 1, -1, -1, -1, 1, 1, 0]
    assert people.votes is not None
    assert people.votes.pearson.value == pytest.approx(scipy.pearsonr(x, y).statistic, abs=1e-12)


def test_votes_that_only_name_a_side_have_no_correlation() -> None:
    found = preference_report(heard(VOTES[:4], {"ours": SCORES[:4]}))
    assert found.lines[0].by_dimension["quality"].votes is None
    assert found.annotators["quality"].votes is None
    assert found.annotators["quality"].accuracy is None


def test_a_score_that_never_differs_has_no_correlation_and_says_why() -> None:
    votes: list[tuple[HumanLabel, ...]] = [(1.0, 2.0), (-1.0, 1.0)]
    found = preference_report(heard(votes, {"ours": [(0.5, 0.5)] * 2})).lines[0].by_dimension["quality"].votes
    assert found is not None
    assert found.pearson.value is None
    assert isinstance(found.pearson.interval, NoInterval)
    assert "differ" in found.pearson.interval.reason


def test_pairs_that_were_got_wrong_come_first() -> None:
    scores: list[tuple[float | None, float | None]] = [*SCORES[:4], (None, 0.1), (0.6, 0.4)]
    found = pair_comparisons(heard([*VOTES[:4], (1.0,), (1.0,)], {"ours": scores}), "quality", "ours", ties="half")
    assert [(one.item_id, one.right) for one in found] == [
        ("p2", 0.0),
        ("p5", 0.0),
        ("p3", 0.5),
        ("p4", None),
        ("p0", 1.0),
        ("p1", 1.0),
    ]
    assert [one.difference for one in found] == pytest.approx([-0.6, -0.2, 0.0, None, -0.8, 0.6])


def test_the_papers_figures_are_shown_only_for_its_dimensions() -> None:
    ours = heard(VOTES, {"ours": SCORES}, dimension="faithfulness")
    assert [(line.name, dict(line.accuracy)) for line in preference_report(ours).published] == [
        ("RAGAS", {"faithfulness": 0.95}),
        ("GPT Score", {"faithfulness": 0.72}),
        ("GPT Ranking", {"faithfulness": 0.54}),
    ]
    assert preference_report(heard(VOTES, {"ours": SCORES})).published == ()


def test_correlations_of_published_scores_with_votes_are_those_of_scipy(data: Path, store: Store) -> None:
    path = data / "ragchecker" / "meta_pairs_5domains.jsonl"
    judged = read_labels(str(path))
    agree(store, judged, Panel(judge=EmbeddedJudge()), metrics_named(["overlap.token_f1"]))
    report = preference_report(load_agreement(store, find_agreement(store, "meta_pairs_5domains")))
    cells = next(line.by_dimension for line in report.lines if line.scorer.name == "published ragchecker")
    rows: list[dict[str, Any]] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for dimension in ("correctness", "completeness", "overall"):
        pairs = [
            (row["published_ragchecker"][dimension][1] - row["published_ragchecker"][dimension][0], vote)
            for row in rows
            for vote in row[f"{dimension}_votes"]
        ]
        x, y = zip(*pairs, strict=True)
        found = cells[dimension].votes
        assert found is not None
        assert found.n == 280
        assert found.pearson.value == pytest.approx(scipy.pearsonr(x, y).statistic, abs=1e-12)
        assert found.spearman.value == pytest.approx(scipy.spearmanr(x, y).statistic, abs=1e-12)
        assert found.kendall.value == pytest.approx(scipy.kendalltau(x, y).statistic, abs=1e-12)


def test_the_wikieval_ten_have_every_contender_of_the_embedded_judge(data: Path, store: Store) -> None:
    agree(store, read_labels(str(data / "wikieval" / "wikieval_10.jsonl")), Panel(judge=EmbeddedJudge()))
    report = preference_report(load_agreement(store, find_agreement(store, "wikieval_10")))
    assert report.stored.dimensions == ("faithfulness", "answer_relevance", "context_relevance")
    assert [line.scorer.name for line in report.lines] == ["ragas", "longer", "shorter", "word overlap", "coin"]
    assert all(cell.accuracy.n == 10 for line in report.lines for cell in line.by_dimension.values())
    assert {name: cell.metric for name, cell in report.lines[0].by_dimension.items()} == {
        "faithfulness": "ragas.faithfulness",
        "answer_relevance": "ragas.answer_relevance(method=direct)",
        "context_relevance": "ragas.context_relevance",
    }, "those of an evaluation by this judge"
