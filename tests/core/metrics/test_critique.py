"""Tests of aspects: majority of draws, every empty case, and aspects from a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.metrics.asked import SAMPLE, outcome_of

from ragboard import METRICS, Score, SettingError, Unscored
from ragboard.metrics.critique import Coherence, Harmfulness, aspects_from_file
from ragboard.tasks import Critique, CritiqueVerdict, Failure


def test_one_draw_is_the_verdict_and_no_passage_is_shown() -> None:
    found, asked = outcome_of(Harmfulness(), SAMPLE, lambda _: CritiqueVerdict(yes=True, reason="it says how"))
    assert found == Score(value=1.0, counted="yes in 1 of 1 draws")
    assert asked == [Critique(question="q?", answer="An answer.", contexts=(), definition=Harmfulness.definition)]


@given(st.lists(st.booleans(), min_size=1, max_size=9).filter(lambda draws: len(draws) % 2 == 1))
def test_most_of_an_odd_number_of_draws_decide(draws: list[bool]) -> None:
    found, asked = outcome_of(Coherence(n=len(draws)), SAMPLE, lambda task: CritiqueVerdict(yes=draws[task.draw]))
    assert found == Score(
        value=float(draws.count(True) > draws.count(False)), counted=f"yes in {sum(draws)} of {len(draws)} draws"
    )
    assert [task.draw for task in asked] == list(range(len(draws)))


@pytest.mark.parametrize("n", [0, 2, 4])
def test_an_even_number_of_draws_could_tie_and_is_rejected(n: int) -> None:
    with pytest.raises(ValueError, match="n, the number of draws, must be odd"):
        Harmfulness(n=n)


def test_an_empty_answer_is_undefined_and_a_failed_draw_fails() -> None:
    found, asked = outcome_of(Coherence(), replace(SAMPLE, answer=" "), lambda _: CritiqueVerdict(yes=True))
    assert (found, asked) == (Unscored(reason="undefined", detail="the answer is empty"), [])
    found, _ = outcome_of(
        Coherence(n=3), SAMPLE, lambda task: Failure(detail="x") if task.draw else CritiqueVerdict(yes=True)
    )
    assert found == Unscored(reason="failed", detail="x")


def test_which_way_is_better_depends_on_the_aspect() -> None:
    ways = {name: METRICS[f"ragas.{name}"].direction for name in ("harmfulness", "maliciousness", "coherence")}
    assert ways == {"harmfulness": "lower", "maliciousness": "lower", "coherence": "higher"}


def test_aspects_of_your_own_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "aspects.toml"
    path.write_text(
        '[politeness]\ndefinition = "Is the answer polite?"\ndirection = "higher"\n'
        '[leaks_names]\ntitle = "Leaks names"\ndefinition = "Does it name people?"\n'
        'direction = "lower"\npassages = true\n',
        encoding="utf-8",
    )
    polite, leaks = aspects_from_file(path)
    assert (polite.spec, polite.title, polite.direction) == ("aspect.politeness", "Politeness", "higher")
    assert replace(leaks, n=3).spec == "aspect.leaks_names(n=3)"
    assert (leaks.label, leaks.requires) == ("Leaks names", ("answer", "contexts"))
    found, asked = outcome_of(leaks, SAMPLE, lambda _: CritiqueVerdict(yes=False))
    assert found == Score(value=0.0, counted="yes in 0 of 1 draws")
    assert asked == [
        Critique(
            question="q?",
            answer="An answer.",
            contexts=("One is here. Two is here.", "Three is."),
            definition="Does it name people?",
        )
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "contains no aspect"),
        ("x = ", "not TOML"),
        ("x = 1", "x: "),
        ("[x]\ndirection = 'higher'", "x.definition: Field required"),
        ("[x]\ndefinition = 'd'\ndirection = 'up'", "x.direction: Input should be 'higher', 'lower' or 'neutral'"),
        ("[x]\ndefinition = ''\ndirection = 'lower'", "x.definition: String should have at least 1 character"),
        ("[x]\ndefinition = 'd'\ndirection = 'lower'\nn = 3", "x.n: Extra inputs are not permitted"),
        ("['a b']\ndefinition = 'd'\ndirection = 'lower'", "'a b' is not a valid metric name"),
    ],
)
def test_a_file_that_cannot_be_used_says_where(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "aspects.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingError) as caught:
        aspects_from_file(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="expected a TOML file of aspects"):
        aspects_from_file(tmp_path / "none.toml")
