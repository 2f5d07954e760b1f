"""Tests of few-shot examples in the prompts of ARES's qualities."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from ragboard.errors import RunFileError, SettingError
from ragboard.judges.llm.prompts import MAX_EXAMPLES, Prompts
from ragboard.tasks import PROMPTED_TASKS, AresQuality, Classify

LABELS = ("Context_Relevance_Label", "Answer_Faithfulness_Label", "Answer_Relevance_Label")
HEAD = "\t".join(("Query", "Document", "Answer", "Contradictory_Answer", *LABELS))
NOW = {"question": "What costs $5?", "contexts": ("Tea $costs 5.", "It rains."), "answer": "Tea."}


def file_of(folder: Path, *rows: str, head: str = HEAD) -> Path:
    path = folder / "few.tsv"
    path.write_text("\n".join((head, *rows)) + "\n", encoding="utf-8")
    return path


def shown(path: Path | None, quality: AresQuality) -> list[str]:
    """The examples in a prompt, without our own two."""
    prompt = Prompts.read(examples=path).render(Classify(quality=quality, **NOW))  # type: ignore[arg-type]
    before = prompt.split("## Now")[0]
    return [part.strip() for part in before.split("## Example\n\n")[3:]]


def test_labels_of_both_kinds_are_shown_with_what_the_quality_is_about_and_no_more(tmp_path: Path) -> None:
    path = file_of(tmp_path, "Who?\tAda did.\tAda\t\tYes\tYes\t[[No]]", "Why?\tIt rains.\tBob\t\tNo\t0\t")
    ada, rain = '<passage number="1">\nAda did.\n</passage>', '<passage number="1">\nIt rains.\n</passage>'
    who, why = "<question>\nWho?\n</question>", "<question>\nWhy?\n</question>"
    yes, no = '\n\n{"verdict": "yes"}', '\n\n{"verdict": "no"}'
    assert shown(path, "context_relevance") == [f"{who}\n{ada}{yes}", f"{why}\n{rain}{no}"]
    assert shown(path, "answer_faithfulness") == [
        f"{who}\n{ada}\n<answer>\nAda\n</answer>{yes}",
        f"{why}\n{rain}\n<answer>\nBob\n</answer>{no}",
    ]
    assert shown(path, "answer_relevance") == [f"{who}\n<answer>\nAda\n</answer>{no}"]


def test_a_contradictory_answer_is_an_unfaithful_one_and_says_nothing_of_relevance(tmp_path: Path) -> None:
    path = file_of(tmp_path, "Who?\tAda did.\tAda\tBob\tYes\tYes\tYes")
    faithful, unfaithful = shown(path, "answer_faithfulness")
    assert faithful.endswith('Ada\n</answer>\n\n{"verdict": "yes"}')
    assert unfaithful.endswith('Bob\n</answer>\n\n{"verdict": "no"}')
    assert len(shown(path, "answer_relevance")) == len(shown(path, "context_relevance")) == 1


def test_an_example_that_comes_twice_is_shown_once(tmp_path: Path) -> None:
    row = "Who?\tAda did.\tAda\t\tYes\tYes\tYes"
    assert len(shown(file_of(tmp_path, row, row.replace("Ada\t\t", "Eve\t\t")), "context_relevance")) == 1


def test_what_is_asked_comes_last_and_a_dollar_sign_stays_one(tmp_path: Path) -> None:
    path = file_of(tmp_path, "How much?\tIt is $10.\t$answer\t\tYes\tYes\tYes")
    prompt = Prompts.read(examples=path).render(Classify(quality="answer_faithfulness", **NOW))  # type: ignore[arg-type]
    assert prompt.endswith(
        '<question>\nWhat costs $5?\n</question>\n<passage number="1">\nTea $costs 5.\n</passage>\n'
        '<passage number="2">\nIt rains.\n</passage>\n<answer>\nTea.\n</answer>'
    )
    assert "<answer>\n$answer\n</answer>" in prompt


@pytest.mark.parametrize("quality", get_args(AresQuality))
def test_our_own_examples_show_both_verdicts(quality: AresQuality) -> None:
    prompt = Prompts.read().render(Classify(quality=quality, **NOW))  # type: ignore[arg-type]
    before = prompt.split("## Now")[0]
    assert re.findall(r'"verdict": "(\w+)"', before)[1:] == ["yes", "no"]


def test_examples_are_part_of_who_judges_these_qualities_and_of_nothing_else(tmp_path: Path) -> None:
    none = Prompts.read()
    path = file_of(tmp_path, "Who?\tAda did.\tAda\t\tYes\tYes\tYes")
    first = Prompts.read(examples=path)
    assert [kind for kind in PROMPTED_TASKS if first.digest(kind) != none.digest(kind)] == [Classify]
    again = Prompts.read(examples=file_of(tmp_path, "Who?\tAda did.\tAda\t\tYes\tNo\tYes"))
    assert again.digest(Classify) not in {first.digest(Classify), none.digest(Classify)}


def test_a_prompt_of_your_own_without_a_place_for_examples_is_rejected_where_there_are_some(tmp_path: Path) -> None:
    path = file_of(tmp_path, "Who?\tAda did.\tAda\t\tYes\tYes\tYes")
    own = tmp_path / "own"
    own.mkdir()
    (own / "classify_answer_relevance.md").write_text("$question $answer", encoding="utf-8")
    assert Prompts.read(own).render(Classify(quality="answer_relevance", **NOW)) == "What costs $5? Tea."  # type: ignore[arg-type]
    with pytest.raises(SettingError, match=r"classify_answer_relevance.md: the field \$examples is missing"):
        Prompts.read(own, path)


def test_a_file_without_a_label_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(RunFileError, match=r"few\.tsv: has no label; expected"):
        Prompts.read(examples=file_of(tmp_path, "Who?\tAda did.\tAda", head="Query\tDocument\tAnswer"))


def test_more_examples_than_a_call_should_carry_are_rejected(tmp_path: Path) -> None:
    rows = [f"Who {number}?\tAda did.\tAda\t\tYes\t\t" for number in range(MAX_EXAMPLES + 1)]
    with pytest.raises(RunFileError, match=r"33 examples of context_relevance; at most 32"):
        Prompts.read(examples=file_of(tmp_path, *rows))
    assert len(shown(file_of(tmp_path, *rows[1:]), "context_relevance")) == MAX_EXAMPLES


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("nq_few_shot_prompt_for_judge_scoring", [7, 7, 7]),
        ("nq_few_shot_prompt_for_synthetic_query_generation", [4, 8, 4]),
    ],
)
def test_the_few_shot_files_of_ares_are_shown_whole(data: Path, name: str, counts: list[int]) -> None:
    path = data / "ares" / f"{name}.tsv"
    assert [len(shown(path, quality)) for quality in get_args(AresQuality)] == counts
