"""GPT Ranking: both orders are asked, order bias is reported, nothing is guessed and nothing asked twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest
from tests.core.conftest import make_run

from ragboard import JudgeError, Panel, Passage, Run, RunRef, Store
from ragboard.evaluation.preference import prefer_runs
from ragboard.judges.tasks import Failure, Hear, Prefer, Preference, Quality, Reply, Task, unheard


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

    async def answer(self, tasks: Sequence[Task], _hear: Hear = unheard) -> Sequence[Reply | Failure]:
        asked = [task for task in tasks if isinstance(task, Prefer)]
        self.asked += asked
        return [self.rule(task) for task in asked]


def longer(task: Prefer) -> Reply:
    return Preference(better="a" if len(task.a) > len(task.b) else "b")


def two_runs(store: Store, change: Callable[[Run], Run] = lambda run: run) -> tuple[RunRef, RunRef]:
    first = make_run("one", samples=4)
    samples = tuple(replace(sample, answer=f"{sample.answer} And more.") for sample in first.samples)
    added = store.add_runs([first, change(replace(first, name="two", samples=samples))])
    one, two = (RunRef(run_id=run.id, name=run.name, evaluation_id=None) for run in added)
    return one, two


def test_a_side_chosen_in_both_orders_wins(store: Store) -> None:
    judge = Chooser(longer)
    found = prefer_runs(store, *two_runs(store), "answer_relevance", Panel(judge=judge))
    assert (found.a, found.b, found.by_order, found.failed) == (0, 4, 0, 0)
    assert len(judge.asked) == 8
    assert found.share_a is not None
    assert found.share_a.estimate == 0.0
    assert found.first_chosen is not None
    assert found.first_chosen.estimate == 0.5


def test_a_judge_that_always_takes_the_first_prefers_nobody_and_is_shown_up(store: Store) -> None:
    found = prefer_runs(
        store, *two_runs(store), "answer_relevance", Panel(judge=Chooser(lambda _: Preference(better="a")))
    )
    assert (found.a, found.b, found.by_order) == (0, 0, 4)
    assert found.share_a is None
    assert found.first_chosen is not None
    assert (found.first_chosen.estimate, found.first_chosen.n) == (1.0, 8)


def test_a_failed_order_leaves_the_pair_without_a_winner_and_says_why(store: Store) -> None:
    judge = Chooser(lambda task: Failure(detail="broken") if len(task.a) > len(task.b) else Preference(better="b"))
    found = prefer_runs(store, *two_runs(store), "answer_relevance", Panel(judge=judge))
    assert (found.a, found.b, found.by_order, found.failed) == (0, 0, 0, 4)
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
def test_passages_are_shown_beside_answers_for_faithfulness_alone(
    store: Store, quality: Quality, *, shown: bool
) -> None:
    judge = Chooser(longer)
    prefer_runs(store, *two_runs(store), quality, Panel(judge=judge))
    assert all(bool(task.contexts) is shown for task in judge.asked)
    assert all(("passage" in task.a) is (quality == "context_relevance") for task in judge.asked)


def test_what_cannot_be_compared_is_counted(store: Store) -> None:
    def change(run: Run) -> Run:
        first, second, *rest = run.samples
        return replace(run, samples=(replace(first, answer=" "), replace(second, id="n", question="new?"), *rest))

    found = prefer_runs(store, *two_runs(store, change), "answer_relevance", Panel(judge=Chooser(longer)))
    assert (len(found.choices), found.left_out, found.only_a, found.only_b) == (2, 1, 1, 1)


def test_of_the_same_answer_twice_nobody_is_asked_which_is_better(store: Store) -> None:
    judge = Chooser(lambda _: Preference(better="a"))
    added = store.add_runs([make_run("one", samples=4), make_run("two", samples=4)])
    one, two = (RunRef(run_id=run.id, name=run.name, evaluation_id=None) for run in added)
    found = prefer_runs(store, one, two, "answer_relevance", Panel(judge=judge))
    assert (found.alike, found.by_order, found.first_chosen, judge.asked) == (4, 0, None, [])


def test_passages_of_both_are_the_same_whoever_is_shown_first(store: Store) -> None:
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


def test_a_judge_that_does_not_compare_is_named_before_anything_is_asked(store: Store) -> None:
    judge = replace(Chooser(longer), answers=frozenset())
    with pytest.raises(JudgeError, match="chooser does not answer Prefer"):
        prefer_runs(store, *two_runs(store), "faithfulness", Panel(judge=judge))
