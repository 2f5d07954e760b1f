"""Tests of verdicts after one change to a statement, and after a paraphrase."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ragboard.judges.embedded.changes import changed_sentences, names_in
from ragboard.judges.embedded.verify import verify
from ragboard.records import Label
from ragboard.sample_files import sample_folder
from ragboard.tasks import Verify
from ragboard.text.sentences import sentence_spans

CASES, SHARE = 500, 0.8
Pair = tuple[str, Sequence[str]]


def label(statement: str, passages: Sequence[str]) -> Label:
    task = Verify(question="", statements=(statement,), passages=tuple(passages), joint=True, single=False)
    return verify(task).joint[0].label


@pytest.fixture(scope="module")
def paraphrases() -> list[Pair]:
    """Statements that the sample's authors wrote in other words than the passages, and call supported."""
    lines = (sample_folder() / "labels" / "statements.jsonl").read_text(encoding="utf-8").splitlines()
    pairs = {
        (said["text"], tuple(row["contexts"])): None
        for row in map(json.loads, lines)
        for said in row["statements"]
        if said["verdict"] == "supported"
    }
    return list(pairs)


@pytest.fixture(scope="module")
def supported(paraphrases: list[Pair]) -> list[Pair]:
    """Those that the judge calls supported, and every sentence of the passages, beside its passage."""
    texts = dict.fromkeys(text for _, passages in paraphrases for text in passages)
    own = [(text[start:end], (text,)) for text in texts for start, end in sentence_spans(text)]
    return [
        (statement, passages)
        for statement, passages in (*paraphrases, *own)
        if label(statement, passages) == "supported"
    ]


def cases(supported: list[Pair]) -> Iterator[tuple[str, Sequence[str], str]]:
    """Every third change of all that can be made, so that each text and each kind is among them."""
    names = names_in([text for _, passages in supported for text in passages])
    made = list(changed_sentences(supported, names, seed=1))
    for kind, _, passages, other in made[:: len(made) // CASES][:CASES]:
        yield kind, passages, other


def test_nearly_all_statements_of_the_sample_in_other_words_stay_supported(paraphrases: list[Pair]) -> None:
    kept = [label(statement, passages) == "supported" for statement, passages in paraphrases]
    assert len(kept) >= 200
    assert sum(kept) / len(kept) >= SHARE


def test_a_sentence_in_other_words_stays_supported() -> None:
    """Our own list: other words, voice, order, a part of it, other ways to write a number or a date; 40 in German."""
    lines = (Path(__file__).parent / "paraphrases.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    kept = Counter(kind.partition(":")[0] for kind, passage, said in rows if label(said, [passage]) == "supported")
    assert len({tuple(row) for row in rows}) == 200
    assert sum(kind.startswith("German") for kind, *_ in rows) == 40
    assert kept.total() / len(rows) >= SHARE, kept
    assert kept["German"] / 40 >= SHARE, kept


def test_a_changed_number_name_date_or_denial_is_supported_no_more(supported: list[Pair]) -> None:
    found = [(kind, label(other, passages)) for kind, passages, other in cases(supported)]
    assert len(found) == CASES
    total = Counter(kind for kind, _ in found)
    lost = Counter(kind for kind, said in found if said != "supported")
    against = Counter(kind for kind, said in found if said == "contradicted")
    assert sum(lost.values()) / CASES >= SHARE, lost
    assert min(total.values()) >= 50
    assert all(lost[kind] / total[kind] >= 0.65 for kind in total), (total, lost)
    assert sum(against.values()) / CASES >= 0.3, against
    assert not against["name"], against
