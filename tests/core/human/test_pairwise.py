"""Tests of GPT Ranking: both orders are asked, and order bias is reported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest
from tests.core.conftest import make_run

from ragboard import JudgeError, Panel, Passage, Run, RunRef, Store
from ragboard.human.pairwise import prefer_runs
from ragboard.stats import Interval, wilson_interval
from ragboard.tasks import Failure, OnCall, Prefer, Preference, Quality, Reply, Task, ignore_call


@dataclass
class Chooser:
    """Chooses as a rule says, and keeps what it was asked."""

    rule: Callable[[Prefer], Reply | Failure]
    name: str = "chooser"
    heuristic: bool = False
    answers: frozenset[type[Task]] = frozenset({Prefer})
    asked: list[Prefer] = field(default_factory=list[Prefer])

    def identity(self, task: type[Task]) -> str:
        return f"chooser/{task.__name__}"

    async def answer(self, tasks: Sequence[Task], _hear: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        asked = [task for task in tasks if isinstance(task, Prefer)]
        self.asked += asked
        return [self.rule(task) for task in asked]


def longer(task: Prefer) -> Reply:
    return Preference(better="a" if len(task.a) > len(task.b) else "b")


def two_runs(
    store: Store,
    change: Callable[[Run], Run] = lambda run: run,
    *,
    samples: int = 4,
    each: Callable[[Run], Run] = lambda run: run,
    name: str = "",
) -> tuple[RunRef, RunRef]:
    first = each(make_run(f"{name}one", samples=samples))
    longer_ones = tuple(replace(sample, answer=f"{sample.answer} And more.") for sample in first.samples)
    added = store.add_runs([first, change(replace(first, name=f"{name}two", samples=longer_ones))])
    one, two = (RunRef(run_id=run.id, name=run.name, evaluation_id=None) for run in added)
    return one, two


def test_a_side_chosen_in_both_orders_wins(store: Store) -> None:
    judge = Chooser(longer)
    found = prefer_runs(store, *two_runs(store), "answer_relevance", Panel(judge=judge))
    assert (found.a, found.b, found.decided_by_order, found.failed) == (0, 4, 0, 0)
    assert len(judge.asked) == 8
    assert found.share_a is not None
    assert found.share_a.share == 0.0
    assert found.first_chosen is not None
    assert found.first_chosen.share == 0.5


def test_a_judge_that_always_chooses_the_first_has_no_preference_and_is_reported(store: Store) -> None:
    found = prefer_runs(
        store, *two_runs(store), "answer_relevance", Panel(judge=Chooser(lambda _: Preference(better="a")))
    )
    assert (found.a, found.b, found.decided_by_order) == (0, 0, 4)
    assert found.share_a is None
    assert found.first_chosen is not None
    assert (found.first_chosen.share, found.first_chosen.interval.n) == (1.0, 4)


def test_the_two_answers_to_a_pair_are_one_witness_of_order_bias(store: Store) -> None:
    """By chance half of the pairs would be decided by the order: 20 pairs say as much as 20 answers, not 40."""
    runs = two_runs(store, samples=20)
    judge = Chooser(lambda task: Preference(better="a" if int(task.question.split()[-1][:-1]) % 4 else "b"))
    found = prefer_runs(store, *runs, "answer_relevance", Panel(judge=judge)).first_chosen
    assert found is not None
    assert (found.share, found.interval.n) == (0.75, 20)
    assert isinstance(found.interval, Interval)
    naive = wilson_interval(0.75, 40)
    assert found.interval.high - found.interval.low > 1.2 * (naive.high - naive.low)


def test_pairs_of_one_conversation_are_one_witness(store: Store) -> None:
    def turns(run: Run) -> Run:
        of = (replace(sample, metadata={"conversation_id": place // 2}) for place, sample in enumerate(run.samples))
        return replace(run, samples=tuple(of))

    def longer_in_every_other(task: Prefer) -> Reply:
        conversation = int(task.question.split()[-1][:-1]) // 2
        return Preference(better="a" if ("more" in task.a) == (conversation % 2 == 0) else "b")

    panel = Panel(judge=Chooser(longer_in_every_other))
    alone = prefer_runs(store, *two_runs(store, samples=24, name="alone "), "answer_relevance", panel)
    together = prefer_runs(store, *two_runs(store, samples=24, each=turns, name="turns "), "answer_relevance", panel)
    assert alone.share_a is not None
    assert together.share_a is not None
    assert alone.share_a.share == together.share_a.share == 0.5
    assert isinstance(together.share_a.interval, Interval)
    assert together.share_a.interval.method.endswith("12 clusters")
    assert isinstance(alone.share_a.interval, Interval)
    assert together.share_a.interval.low < alone.share_a.interval.low


def test_a_failed_order_leaves_the_pair_without_a_winner_and_says_why(store: Store) -> None:
    judge = Chooser(lambda task: Failure(detail="broken") if len(task.a) > len(task.b) else Preference(better="b"))
    found = prefer_runs(store, *two_runs(store), "answer_relevance", Panel(judge=judge))
    assert (found.a, found.b, found.decided_by_order, found.failed) == (0, 0, 0, 4)
    assert {choice.problem for choice in found.choices} == {"broken"}


def test_what_was_asked_before_is_not_asked_again(store: Store) -> None:
    runs = two_runs(store)
    before = prefer_runs(store, *runs, "answer_relevance", Panel(judge=Chooser(longer)))
    again = Chooser(longer)
    assert prefer_runs(store, *runs, "answer_relevance", Panel(judge=again)) == before
    assert again.asked == []


@pytest.mark.parametrize(
    ("quality", "shown"), [("faithfulness", True), ("answer_relevance", False), ("context_relevance", False)]
)
def test_passages_are_shown_only_for_faithfulness(store: Store, quality: Quality, *, shown: bool) -> None:
    judge = Chooser(longer)
    prefer_runs(store, *two_runs(store), quality, Panel(judge=judge))
    assert all(bool(task.contexts) is shown for task in judge.asked)
    assert all(("passage" in task.a) is (quality == "context_relevance") for task in judge.asked)


def test_what_cannot_be_compared_is_counted(store: Store) -> None:
    def change(run: Run) -> Run:
        first, second, *rest = run.samples
        return replace(run, samples=(replace(first, answer=" "), replace(second, id="n", question="new?"), *rest))

    found = prefer_runs(store, *two_runs(store, change), "answer_relevance", Panel(judge=Chooser(longer)))
    assert (len(found.choices), found.without_text, found.only_a, found.only_b) == (2, 1, 1, 1)


def test_equal_answers_are_not_compared(store: Store) -> None:
    judge = Chooser(lambda _: Preference(better="a"))
    added = store.add_runs([make_run("one", samples=4), make_run("two", samples=4)])
    one, two = (RunRef(run_id=run.id, name=run.name, evaluation_id=None) for run in added)
    found = prefer_runs(store, one, two, "answer_relevance", Panel(judge=judge))
    assert (found.identical, found.decided_by_order, found.first_chosen, judge.asked) == (4, 0, None, [])


def test_passages_are_the_same_in_both_orders(store: Store) -> None:
    def change(run: Run) -> Run:
        other = (Passage(id="z", text="another", rank=1),)
        return replace(run, samples=tuple(replace(sample, contexts=other) for sample in run.samples))

    judge = Chooser(longer)
    prefer_runs(store, *two_runs(store, change), "faithfulness", Panel(judge=judge))
    by_question: dict[str, set[tuple[str, ...]]] = {}
    for task in judge.asked:
        by_question.setdefault(task.question, set()).add(task.contexts)
    assert all(len(contexts) == 1 for contexts in by_question.values())
    assert all("another" in next(iter(contexts)) for contexts in by_question.values())


def test_a_judge_that_does_not_compare_is_an_error_before_anything_is_asked(store: Store) -> None:
    judge = replace(Chooser(longer), answers=frozenset())
    with pytest.raises(JudgeError, match="chooser does not answer Prefer"):
        prefer_runs(store, *two_runs(store), "faithfulness", Panel(judge=judge))
