"""Tests of agreement: scorers, no repeated calls, and what is stored."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.core.conftest import PlainJudge

from ragboard import JudgeError, NotFoundError, Panel, Run, Score, Store, evaluate_run
from ragboard.human.agree import agree
from ragboard.human.agreement import find_agreement, item_detail, list_agreements, load_agreement, sample_of_item
from ragboard.metrics import metrics_named
from ragboard.readers.labels import LabelFile, read_labels
from ragboard.tasks import (
    TASKS,
    ExtractStatements,
    Failure,
    OnCall,
    Prefer,
    Preference,
    Rate,
    Rating,
    Reply,
    SelectSentences,
    Task,
    Verify,
    WriteQuestions,
    ignore_call,
)


@dataclass
class Opinionated(PlainJudge):
    """Rates by length, and takes the longer of two, or always the first."""

    always_first: bool = False

    async def answer(self, tasks: Sequence[Task], hear: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        self.asked.extend(tasks)
        return [self.before(task) or await self._one(task, hear) for task in tasks]

    async def _one(self, task: Task, hear: OnCall) -> Reply | Failure:
        match task:
            case Prefer():
                return Preference(better="a" if self.always_first or len(task.a) > len(task.b) else "b")
            case Rate():
                return Rating(value=min(10, len(task.answer) // 4))
            case _:
                await asyncio.sleep(0)
                return (await PlainJudge().answer([task], hear))[0]


@dataclass
class Updated(Opinionated):
    """Has a new version of how it answers one type of task."""

    kind: type[Task] | None = None

    def identity(self, task: type[Task]) -> str:
        return f"{super().identity(task)}{'/new' if task is self.kind else ''}"


def judged(folder: Path, *rows: object, name: str = "said") -> LabelFile:
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return read_labels(str(path))


def pair(number: int, dimension: str = "faithfulness") -> dict[str, object]:
    return {
        "id": f"p{number}",
        "question": f"What is thing {number}?",
        "dimension": dimension,
        "a": "It is red. So it is.",
        "b": "It is blue.",
        "preferred": "a",
        "contexts": ["The thing is red."],
    }


def graded(number: int, *, grade: int) -> dict[str, object]:
    answer = "It is red." if grade > 2 else "It is blue."
    return {
        "id": f"g{number}",
        "question": f"What is thing {number}?",
        "answer": answer,
        "contexts": ["It is red."],
        "grades": {"faithfulness": [grade, grade]},
        "scores": {"rouge": grade / 10},
    }


def test_all_contenders_speak_of_every_pair(store: Store, tmp_path: Path) -> None:
    found = agree(store, judged(tmp_path, *map(pair, range(3))), Panel(judge=Opinionated()))
    names = [contender.name for contender in found.agreement.scorers]
    assert names == ["ragas", "GPT Score", "GPT Ranking", "longer", "shorter", "word overlap", "coin"]
    heard = load_agreement(store, find_agreement(store, "said"))
    assert {name: len(heard.outcomes["faithfulness", name]) for name in names} == dict.fromkeys(names, 3)
    values = {
        name: [outcome.value for outcome in heard.outcomes["faithfulness", name][0] if isinstance(outcome, Score)]
        for name in names
    }
    assert values["ragas"] == [0.5, 0.0]
    assert values["GPT Score"] == [5.0, 2.0]
    assert values["GPT Ranking"] == [2.0, 0.0]
    assert values["longer"] == [20.0, 11.0]
    assert values["shorter"] == [-20.0, -11.0]
    assert values["word overlap"] == pytest.approx([2 / 4, 1 / 3])
    assert sorted(values["coin"]) == [0.0, 1.0]


def test_if_the_order_decides_no_answer_is_better(store: Store, tmp_path: Path) -> None:
    agree(store, judged(tmp_path, pair(0)), Panel(judge=Opinionated(always_first=True)))
    heard = load_agreement(store, find_agreement(store, "said"))
    assert heard.outcomes["faithfulness", "GPT Ranking"][0] == (
        Score(value=1.0, counted="chosen in 1 of 2 orders"),
        Score(value=1.0, counted="chosen in 1 of 2 orders"),
    )


def test_no_call_is_repeated_and_the_same_agreement_is_kept_once(store: Store, tmp_path: Path) -> None:
    rows = judged(tmp_path, *map(pair, range(3)))
    first, second = Opinionated(), Opinionated()
    before = agree(store, rows, Panel(judge=first))
    kept = load_agreement(store, find_agreement(store, "said"))
    after = agree(store, rows, Panel(judge=second))
    assert before.asked > 0
    assert (after.asked, second.asked, after.agreement) == (0, [], before.agreement)
    assert load_agreement(store, find_agreement(store, "said")).outcomes == kept.outcomes
    assert len(list_agreements(store)) == 1


@pytest.mark.parametrize(
    ("row", "metrics", "asked"),
    [
        (pair(0), [], {ExtractStatements, Verify, Rate, Prefer}),
        (pair(0, "context_relevance"), [], {SelectSentences, Rate, Prefer}),
        (graded(0, grade=4), ["overlap.token_f1"], {Rate}),
        ({"question": "?", "contexts": ["c"], "statements": [{"text": "It is.", "label": 1}]}, [], {Verify}),
        ({"question": "?", "contexts": ["c"], "sentences": [{"text": "It is.", "label": 1}]}, [], {SelectSentences}),
    ],
)
def test_a_new_version_of_a_judge_is_another_agreement_only_where_its_scorers_ask(
    store: Store, tmp_path: Path, row: object, metrics: list[str], asked: set[type[Task]]
) -> None:
    rows, chosen, judge = judged(tmp_path, row), metrics_named(metrics) if metrics else [], Opinionated()
    before = agree(store, rows, Panel(judge=judge), chosen).agreement.id
    assert {type(task) for task in judge.asked} == asked
    after = {kind: agree(store, rows, Panel(judge=Updated(kind=kind)), chosen).agreement.id for kind in TASKS}
    assert {kind for kind, agreement in after.items() if agreement != before} == asked


def test_an_unrelated_change_does_not_repeat_an_agreement(store: Store, tmp_path: Path) -> None:
    rows = judged(tmp_path, *map(pair, range(3)))
    before = agree(store, rows, Panel(judge=Opinionated()))
    judge = Updated(kind=WriteQuestions)
    after = agree(store, rows, Panel(judge=judge))
    assert (after.asked, judge.asked, after.agreement) == (0, [], before.agreement)
    assert len(list_agreements(store)) == 1


def test_a_failed_answer_is_no_score_and_says_why(store: Store, tmp_path: Path) -> None:
    judge = Opinionated(before=lambda task: Failure(detail="broken") if isinstance(task, (Prefer, Verify)) else None)
    found = agree(store, judged(tmp_path, pair(0)), Panel(judge=judge))
    heard = load_agreement(store, find_agreement(store, "said"))
    details = {
        name: {getattr(outcome, "detail", "") for outcome in heard.outcomes["faithfulness", name][0]}
        for name in ("ragas", "GPT Ranking")
    }
    assert details == {"ragas": {"broken"}, "GPT Ranking": {"broken"}}
    assert found.failed > 0


def test_metrics_named_like_a_dimension_are_compared_only_with_it(store: Store, tmp_path: Path) -> None:
    rows = judged(tmp_path, pair(0), pair(1, "answer_relevance"))
    metrics = metrics_named(["ragas.faithfulness", "overlap.context_overlap", "ragas.answer_relevance(n=5)"])
    found = agree(store, rows, Panel(judge=PlainJudge(answers=PlainJudge().answers - {Rate, Prefer})), metrics)
    assert {one.name: dict(one.metrics) for one in found.agreement.scorers if one.kind == "metric"} == {
        "ragas": {"faithfulness": "ragas.faithfulness", "answer_relevance": "ragas.answer_relevance(n=5)"},
        "overlap.context_overlap": {
            "faithfulness": "overlap.context_overlap",
            "answer_relevance": "overlap.context_overlap",
        },
    }
    assert found.agreement.notes == ("GPT Score and GPT Ranking are left out: plain does not support their tasks",)


def test_two_settings_of_one_metric_contend_under_their_whole_names(store: Store, tmp_path: Path) -> None:
    metrics = metrics_named(["ragas.answer_relevance", "ragas.answer_relevance(n=5)"])
    found = agree(store, judged(tmp_path, pair(0, "answer_relevance")), Panel(judge=Opinionated()), metrics)
    names = [one.name for one in found.agreement.scorers if one.kind == "metric"]
    assert names == ["ragas.answer_relevance", "ragas.answer_relevance(n=5)"]


def test_less_is_better_where_the_metric_says_so(store: Store, tmp_path: Path) -> None:
    found = agree(
        store, judged(tmp_path, pair(0)), Panel(judge=Opinionated()), metrics_named(["ragchecker.hallucination"])
    )
    assert {one.name: one.lower for one in found.agreement.scorers if one.kind == "metric"} == {
        "ragchecker.hallucination": True
    }


def test_graded_answers_are_compared_with_metrics_and_file_scores(store: Store, tmp_path: Path) -> None:
    rows = judged(tmp_path, graded(0, grade=4), graded(1, grade=1))
    agree(store, rows, Panel(judge=PlainJudge()))
    heard = load_agreement(store, find_agreement(store, "said"))
    assert heard.stored.dimensions == ("faithfulness",)
    values = {
        name: [outcomes[0].value for outcomes in found.values() if isinstance(outcomes[0], Score)]
        for (_, name), found in heard.outcomes.items()
    }
    assert values["ragas"] == [1.0, 0.0]
    assert values["rouge"] == [0.4, 0.1]
    assert values["word overlap"] == pytest.approx([1.0, 2 / 3])


def test_statements_of_one_answer_are_asked_together(store: Store, tmp_path: Path) -> None:
    said = [{"text": "It is red.", "label": 1}, {"text": "It is blue.", "label": 0}]
    rows = [{"id": f"s{n}", "question": f"{n}?", "contexts": ["c"], "statements": said} for n in range(2)]
    judge = PlainJudge()
    found = agree(store, judged(tmp_path, *rows), Panel(judge=judge))
    assert [len(task.statements) for task in judge.asked if isinstance(task, Verify)] == [2, 2]
    assert [one.name for one in found.agreement.scorers] == ["plain, its verdict", "shorter", "word overlap"]
    heard = load_agreement(store, find_agreement(store, "said"))
    outcomes = heard.outcomes["supported", "plain, its verdict"].values()
    assert [one[0].value for one in outcomes if isinstance(one[0], Score)] == [1.0, 0.0, 1.0, 0.0]


def test_an_item_is_opened_with_its_texts_and_what_everybody_said(store: Store, tmp_path: Path) -> None:
    rows = judged(tmp_path, *map(pair, range(2)))
    agree(store, rows, Panel(judge=Opinionated()))
    kept = find_agreement(store, "said")
    found = item_detail(store, kept, "p1")
    assert found.samples == rows.items[1].samples
    assert found.human_labels == {"faithfulness": (-1.0,)}
    assert set(found.outcomes["faithfulness"]) == {one.name for one in kept.agreement.scorers}
    with pytest.raises(NotFoundError, match="said has no item 'p9'"):
        item_detail(store, kept, "p9")


def test_a_graded_answer_leads_to_the_sample_that_its_judge_split_into_statements(store: Store, tmp_path: Path) -> None:
    rows = judged(tmp_path, graded(0, grade=4), graded(1, grade=1))
    agree(store, rows, Panel(judge=PlainJudge()))
    kept = find_agreement(store, "said")
    item = item_detail(store, kept, rows.items[1].id)
    assert sample_of_item(store, kept, item) is None
    side = replace(rows.items[1].samples[0], id="its-sample")
    (run,) = store.add_runs([Run(name="mine", samples=(side,))])
    assert sample_of_item(store, kept, item) is None, "nobody judged it"
    evaluated = evaluate_run(store, run.id, metrics_named(["faithfulness"]), Panel(judge=PlainJudge()))
    assert sample_of_item(store, kept, item) == (f"mine@{evaluated.evaluation.id}", "its-sample")
    assert sample_of_item(store, kept, item_detail(store, kept, rows.items[0].id)) is None


def test_an_agreement_can_be_removed_with_its_journal(store: Store, tmp_path: Path) -> None:
    found = agree(store, judged(tmp_path, pair(0)), Panel(judge=Opinionated()))
    assert list(store.folder.glob("journals/agree-*.jsonl"))
    store.remove_agreement(found.agreement.id)
    assert not list(store.folder.glob("journals/agree-*.jsonl"))
    with pytest.raises(NotFoundError, match="no agreement is called 'said'; stored: no agreements"):
        find_agreement(store, "said")
    with pytest.raises(NotFoundError, match="no longer in the store"):
        store.remove_agreement(found.agreement.id)


def test_a_role_without_a_judge_is_an_error_before_any_task(store: Store, tmp_path: Path) -> None:
    judge = PlainJudge(answers=frozenset())
    with pytest.raises(JudgeError, match="does not answer"):
        agree(store, judged(tmp_path, pair(0)), Panel(judge=judge))
    assert judge.asked == []
