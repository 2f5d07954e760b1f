"""Synthetic data: what is asked, what is kept, what is made wrong, and what never mixes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.chat_server import ChatServer, chat_server, status

from ragboard.errors import JudgeError, SettingError
from ragboard.evaluation.terms import Terms
from ragboard.judges import EmbeddedJudge, JudgeOptions, Panel, panel_named
from ragboard.readers.ares import ARES_QUALITIES, AresRow, read_ares
from ragboard.readers.corpus import CorpusPassage, read_corpus
from ragboard.synthesis import Recipe, choose, synthesise
from ragboard.synthesis.rows import PARTS

EMBEDDED = Panel(judge=EmbeddedJudge())
DOCUMENTS = Path(__file__).parents[3] / "sample_data" / "documents"


@pytest.fixture(scope="module")
def corpus() -> tuple[CorpusPassage, ...]:
    return read_corpus(DOCUMENTS)


@pytest.fixture(scope="module")
def rows(corpus: tuple[CorpusPassage, ...], tmp_path_factory: pytest.TempPathFactory) -> tuple[AresRow, ...]:
    out = tmp_path_factory.mktemp("synthetic")
    return read_ares(synthesise(corpus, Recipe(), EMBEDDED, out).file)


def test_positives_and_negatives_are_equally_many_and_strong_ones_are_about_half(rows: tuple[AresRow, ...]) -> None:
    for quality in ARES_QUALITIES:
        counts = Counter(getattr(row, quality) for row in rows)
        assert counts[True] == counts[False] > 100
        negatives = Counter(row.negative for row in rows if getattr(row, quality) is False)
        assert abs(negatives["weak"] - negatives["strong"]) <= 0.1 * counts[False]


def test_no_document_is_on_two_sides_of_the_split(rows: tuple[AresRow, ...]) -> None:
    sides = {part: {row.document_id for row in rows if row.split == part} for part in PARTS}
    assert len(sides["train"]) > len(sides["held out"]) >= 10  # fewer have no interval
    assert sides["validation"]
    assert sum(map(len, sides.values())) == len(set().union(*sides.values()))


@pytest.mark.parametrize("part", PARTS)
def test_no_text_of_a_document_is_in_a_row_of_another_part(
    rows: tuple[AresRow, ...], corpus: tuple[CorpusPassage, ...], part: str
) -> None:
    own = {row.document_id for row in rows if row.split == part}
    secret = [passage.text for passage in corpus if passage.document in own]
    for row in rows:
        if row.split != part:
            assert row.document not in secret
            assert not any(row.answer and row.answer.rstrip(".") in text for text in secret)


def test_weak_negatives_come_from_another_document_and_strong_ones_from_the_same(
    rows: tuple[AresRow, ...], corpus: tuple[CorpusPassage, ...]
) -> None:
    home = {passage.text: passage.document for passage in corpus}
    made_of = {row.answer: row.document_id for row in rows if row.answer_relevance and row.answer_faithfulness}
    for row in rows:
        if row.context_relevance is False:
            assert (home[row.document] == row.document_id) == (row.negative == "strong")
        if row.answer_relevance is False:
            assert (made_of[row.answer] == row.document_id) == (row.negative == "strong")


def test_a_strong_unfaithful_answer_says_what_its_passage_does_not(rows: tuple[AresRow, ...]) -> None:
    strong = [row for row in rows if row.answer_faithfulness is False and row.negative == "strong"]
    assert strong
    assert all(row.answer.rstrip(".") not in row.document for row in strong)


def test_the_same_seed_gives_the_same_file_and_another_seed_another(
    corpus: tuple[CorpusPassage, ...], tmp_path: Path
) -> None:
    one, same, other = (
        synthesise(corpus[:30], Recipe(seed=seed), EMBEDDED, tmp_path / name).file.read_bytes()
        for name, seed in (("a", 0), ("b", 0), ("c", 1))
    )
    assert one == same != other


def test_a_question_that_leads_to_another_passage_is_dropped(tmp_path: Path) -> None:
    same = "The lighthouse at Fara was built in 1871 by Ines Dahl."
    twice = f"{same} {same} Fara Fara lighthouse."
    corpus = (
        CorpusPassage(document="a", number=1, text=f"{same} Its lamp burned whale oil and was seen for many miles."),
        CorpusPassage(document="b", number=1, text=twice),
    )
    made = synthesise(corpus, Recipe(least_words=15, questions=1), EMBEDDED, tmp_path)
    assert (made.written, made.kept, made.elsewhere) == (2, 0, 1)
    assert made.repeated == 1


def test_a_corpus_of_short_passages_is_refused_with_the_longest(corpus: tuple[CorpusPassage, ...]) -> None:
    with pytest.raises(SettingError, match=r"no passage has 900 words; the longest of 122 has \d+"):
        choose(corpus, Recipe(least_words=900))


def test_a_judge_that_does_not_write_is_named(corpus: tuple[CorpusPassage, ...], tmp_path: Path) -> None:
    with pytest.raises(JudgeError, match="does not answer WriteQuestions"):
        synthesise(corpus, Recipe(), Panel(judge=EmbeddedJudge(answers=frozenset())), tmp_path)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with chat_server() as running:
        yield running


def panel_at(server: ChatServer) -> Panel:
    return panel_named(JudgeOptions(judge="openai:m", base_url=server.url))


def test_a_model_is_asked_no_more_than_was_planned_and_sees_the_examples(
    corpus: tuple[CorpusPassage, ...], server: ChatServer, tmp_path: Path
) -> None:
    made = synthesise(corpus, Recipe(passages=6, questions=2), panel_at(server), tmp_path)
    assert 0 < server.count <= made.planned == 6 + 2 * 6 * 2
    assert made.calls == server.count
    assert made.rows == 4 * made.kept


def test_what_was_answered_is_not_asked_again_and_a_stopped_one_goes_on(
    corpus: tuple[CorpusPassage, ...], server: ChatServer, tmp_path: Path
) -> None:
    recipe = Recipe(passages=6, questions=2)
    whole = synthesise(corpus, recipe, panel_at(server), tmp_path / "whole")
    asked = server.count
    part = synthesise(corpus, recipe, panel_at(server), tmp_path / "part", Terms(max_calls=7))
    assert part.stopped
    assert "not complete" in (tmp_path / "part" / "card.md").read_text(encoding="utf-8")
    rest = synthesise(corpus, recipe, panel_at(server), tmp_path / "part")
    assert part.calls + rest.calls == asked
    assert rest.file.read_bytes() == whole.file.read_bytes()
    assert synthesise(corpus, recipe, panel_at(server), tmp_path / "part").calls == 0


def test_faults_of_the_server_are_survived(
    corpus: tuple[CorpusPassage, ...], server: ChatServer, tmp_path: Path
) -> None:
    server.faults += [status(500), status(429, retry_after="0"), status(503)]
    faulty = synthesise(corpus, Recipe(passages=3), panel_at(server), tmp_path / "a")
    sound = synthesise(corpus, Recipe(passages=3), panel_at(server), tmp_path / "b")
    assert faulty.file.read_bytes() == sound.file.read_bytes()
    assert not faulty.failed


def test_pairs_after_wikieval_have_two_contexts_and_three_answers(
    corpus: tuple[CorpusPassage, ...], server: ChatServer, tmp_path: Path
) -> None:
    made = synthesise(corpus, Recipe(kind="wikieval", passages=4), panel_at(server), tmp_path)
    pairs = [json.loads(line) for line in made.file.read_text(encoding="utf-8").splitlines()]
    assert len(pairs) == made.rows == made.kept > 0
    for pair in pairs:
        assert pair["context_v1"][0] in pair["context_v2"]
        assert len(pair["context_v2"]) == 3
        assert pair["ungrounded_answer"].startswith("I would say so")
        assert pair["poor_answer"].startswith("In part")


def test_rules_write_no_answer_without_the_passage_and_the_card_says_so(
    corpus: tuple[CorpusPassage, ...], tmp_path: Path
) -> None:
    made = synthesise(corpus[:10], Recipe(kind="wikieval"), EMBEDDED, tmp_path)
    assert made.rows == 0 < made.kept
    assert "knows nothing without a passage" in (tmp_path / "card.md").read_text(encoding="utf-8")
