"""Tests of synthetic data: questions, filters, negatives, and splits."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from tests.chat_server import ChatServer, chat_server, closes_midway, replies, status

from ragboard.errors import JudgeError, SettingError
from ragboard.evaluation.options import EvaluationOptions
from ragboard.judges import EmbeddedJudge, JudgeOptions, Panel, panel_named
from ragboard.readers.ares import ARES_QUALITIES, AresRow, read_ares
from ragboard.readers.corpus import CorpusPassage, read_corpus
from ragboard.tasks import AnswerKind, Failure, OnCall, Reply, Task, ignore_call
from ragboard.training import SynthConfig, choose_passages, synthesise
from ragboard.training.examples import SPLITS
from ragboard.training.questions import Question
from ragboard.training.rows import labelled_rows

EMBEDDED = Panel(judge=EmbeddedJudge())
DOCUMENTS = Path(__file__).parents[3] / "sample_data" / "documents"


@pytest.fixture(scope="module")
def corpus() -> tuple[CorpusPassage, ...]:
    return read_corpus(DOCUMENTS)


@pytest.fixture(scope="module")
def rows(corpus: tuple[CorpusPassage, ...], tmp_path_factory: pytest.TempPathFactory) -> tuple[AresRow, ...]:
    out = tmp_path_factory.mktemp("synthetic")
    return read_ares(synthesise(corpus, SynthConfig(), EMBEDDED, out).file)


def test_positives_and_negatives_are_equally_many_and_strong_ones_are_about_half(rows: tuple[AresRow, ...]) -> None:
    for quality in ARES_QUALITIES:
        counts = Counter(getattr(row, quality) for row in rows)
        assert counts[True] == counts[False] > 80
        negatives = Counter(row.negative for row in rows if getattr(row, quality) is False)
        assert abs(negatives["weak"] - negatives["strong"]) <= 0.1 * counts[False]


def documents_of(rows: tuple[AresRow, ...], part: str) -> set[str]:
    return {row.document_id for row in rows if row.split == part}


def test_no_document_is_in_two_parts_and_every_part_has_some(rows: tuple[AresRow, ...]) -> None:
    parts = [documents_of(rows, part) for part in SPLITS]
    assert all(parts)
    assert len(parts[0]) > len(parts[-1]) >= 10  # fewer have no interval
    assert sum(map(len, parts)) == len(set[str]().union(*parts))


def test_no_text_of_another_part_is_in_a_row(rows: tuple[AresRow, ...], corpus: tuple[CorpusPassage, ...]) -> None:
    texts = {part: [one.text for one in corpus if one.document in documents_of(rows, part)] for part in SPLITS}
    for row in rows:
        elsewhere = [text for part in SPLITS if part != row.split for text in texts[part]]
        assert row.document not in elsewhere
        sentences = [said for said in row.answer.rstrip(".").split(". ") if len(said.split()) > 5]
        assert not any(said in text for said in sentences for text in elsewhere)


def test_weak_negatives_come_from_another_document_and_strong_ones_from_the_same(
    rows: tuple[AresRow, ...], corpus: tuple[CorpusPassage, ...]
) -> None:
    home = {passage.text: passage.document for passage in corpus}
    own: dict[str, str] = {}
    for passage in corpus:
        own[passage.document] = own.get(passage.document, "") + passage.text
    made_of = {(row.answer, row.document_id) for row in rows if row.answer_relevance and row.answer_faithfulness}
    for row in rows:
        if row.context_relevance is False:
            assert (home[row.document] == row.document_id) == (row.negative == "strong")
        if row.answer_relevance is False or (row.answer_faithfulness is False and row.negative == "weak"):
            here = (row.answer, row.document_id) in made_of or row.answer.rstrip(".") in own[row.document_id]
            assert here == (row.negative == "strong")


def test_no_passage_that_holds_the_answer_is_called_irrelevant(rows: tuple[AresRow, ...]) -> None:
    answers = {row.question: row.answer for row in rows if row.context_relevance}
    for row in rows:
        if row.context_relevance is False:
            assert answers[row.question].rstrip(".") not in row.document


def test_what_is_called_wrong_is_not_right_all_the_same() -> None:
    """Paragraphs that a document has twice, one date in many documents, and a contradiction that is none."""
    corpus: list[CorpusPassage] = []
    asked: list[Question] = []
    for n in range(12):
        texts = (
            f"The bridge of Ulm {n} was opened in 1994.",
            *[f"Its warranty {n} covers the motor and the seals."] * 2,
        )
        place = len(corpus)
        corpus += [CorpusPassage(document=f"{n}", number=i, text=text) for i, text in enumerate(texts, 1)]
        when = f"{'When' if n % 2 else 'In which year'} was the bridge {n} opened?"
        said: dict[AnswerKind, str] = {"grounded": "Motor and seals, both.", "contradictory": "motor and seals: both"}
        asked.append(Question(question=when, passage=place, answers={"grounded": "1994."}))
        asked.append(Question(question=f"What does warranty {n} cover?", passage=place + 1, answers=said))
    rows = labelled_rows(corpus, asked, 0)
    right = {row.question: (row.document, row.answer) for row in rows if row.context_relevance}
    for row in rows:
        document, answer = right[row.question]
        assert row.context_relevance is not False or row.document != document
        assert row.answer_relevance is not False or row.answer != answer
        assert row.answer_faithfulness is not False or row.answer.rstrip(".") not in row.document
        assert row.answer_faithfulness is not False or row.answer.casefold()[:5] != answer.casefold()[:5]


def test_a_date_is_not_a_wrong_answer_to_a_question_for_a_date(rows: tuple[AresRow, ...]) -> None:
    for row in rows:
        if row.answer_relevance is False and row.question.startswith("When"):
            assert not row.answer.startswith(("In 1", "On ")) or len(row.answer.split()) > 5


def auroc(positives: list[float], negatives: list[float]) -> float:
    won = sum((one > other) + 0.5 * (one == other) for one in positives for other in negatives)
    return won / (len(positives) * len(negatives))


def shared(one: str, other: str) -> float:
    words, others = set(re.findall(r"\w+", one.casefold())), set(re.findall(r"\w+", other.casefold()))
    return len(words & others) / len(words)


def test_length_tells_no_label_and_word_overlap_tells_less_than_a_judge_must_know(rows: tuple[AresRow, ...]) -> None:
    def by(tell: Callable[[AresRow], float], quality: str, negative: str = "") -> float:
        said = [row for row in rows if getattr(row, quality) is False and (not negative or row.negative == negative)]
        return auroc([tell(row) for row in rows if getattr(row, quality)], [tell(row) for row in said])

    assert abs(by(lambda row: len(row.document), "context_relevance") - 0.5) < 0.1
    assert abs(by(lambda row: len(row.answer), "answer_faithfulness") - 0.5) < 0.1
    assert abs(by(lambda row: len(row.answer), "answer_relevance") - 0.5) < 0.1
    assert by(lambda row: shared(row.answer, row.document), "answer_faithfulness", "strong") < 0.85
    assert by(lambda row: shared(row.question, row.answer), "answer_relevance") < 0.9


def test_answers_are_now_a_few_words_and_now_two_sentences(rows: tuple[AresRow, ...]) -> None:
    answers = [row.answer for row in rows if row.answer_faithfulness]
    assert sum(len(answer.split()) < 6 for answer in answers) > 0.1 * len(answers)
    assert sum(bool(re.search(r"[.!?] [A-Z]", answer)) for answer in answers) > 0.2 * len(answers)


def test_a_strong_unfaithful_answer_says_what_its_passage_does_not(rows: tuple[AresRow, ...]) -> None:
    strong = [row for row in rows if row.answer_faithfulness is False and row.negative == "strong"]
    assert strong
    assert all(row.answer.rstrip(".") not in row.document for row in strong)


def test_the_same_seed_gives_the_same_file_and_another_seed_another(
    corpus: tuple[CorpusPassage, ...], tmp_path: Path
) -> None:
    one, same, other = (
        synthesise(corpus[:30], SynthConfig(seed=seed), EMBEDDED, tmp_path / name).file.read_bytes()
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
    made = synthesise(corpus, SynthConfig(min_words=15, questions=1), EMBEDDED, tmp_path)
    assert (made.written, made.kept, made.other_passage_first) == (2, 0, 1)
    assert made.repeated == 1


def test_a_corpus_of_short_passages_is_rejected_with_the_longest(corpus: tuple[CorpusPassage, ...]) -> None:
    with pytest.raises(SettingError, match=r"no passage has 900 words; the longest of 122 has \d+"):
        choose_passages(corpus, SynthConfig(min_words=900))


def test_a_judge_that_does_not_write_is_named(corpus: tuple[CorpusPassage, ...], tmp_path: Path) -> None:
    with pytest.raises(JudgeError, match="does not answer WriteQuestions"):
        synthesise(corpus, SynthConfig(), Panel(judge=EmbeddedJudge(answers=frozenset())), tmp_path)


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
    made = synthesise(corpus, SynthConfig(passages=6, questions=2), panel_at(server), tmp_path)
    assert 0 < server.count <= made.planned == 6 + 2 * 6 * 2
    assert made.calls == server.count
    assert made.rows == 4 * made.kept


class NoEmbedder(EmbeddedJudge):
    """Puts nothing in order."""

    async def answer(self, tasks: Sequence[Task], _on_call: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        return [Failure(detail="no vectors today") for _ in tasks]


def test_an_embedder_is_planned_for_and_what_it_fails_is_counted_with_the_reason(
    corpus: tuple[CorpusPassage, ...], tmp_path: Path
) -> None:
    panel = Panel(judge=EmbeddedJudge(), roles={"embed": NoEmbedder()})
    made = synthesise(corpus, SynthConfig(passages=6, questions=2), panel, tmp_path)
    assert made.planned == 6 + 6 * 2 * (2 + 1)
    assert (made.kept, made.other_passage_first) == (0, 0)
    assert made.failed == {"no vectors today": made.written - made.repeated}


def test_what_was_answered_is_not_asked_again_and_a_stopped_one_continues(
    corpus: tuple[CorpusPassage, ...], server: ChatServer, tmp_path: Path
) -> None:
    config = SynthConfig(passages=6, questions=2)
    whole = synthesise(corpus, config, panel_at(server), tmp_path / "whole")
    asked = server.count
    part = synthesise(corpus, config, panel_at(server), tmp_path / "part", EvaluationOptions(max_calls=7))
    assert part.stopped
    assert "not complete" in (tmp_path / "part" / "card.md").read_text(encoding="utf-8")
    rest = synthesise(corpus, config, panel_at(server), tmp_path / "part")
    assert part.calls + rest.calls == asked
    assert rest.file.read_bytes() == whole.file.read_bytes()
    assert synthesise(corpus, config, panel_at(server), tmp_path / "part").calls == 0


def test_faults_of_the_server_are_survived(
    corpus: tuple[CorpusPassage, ...], server: ChatServer, tmp_path: Path
) -> None:
    server.faults += [status(500), status(429, retry_after="0"), closes_midway, replies("no JSON"), replies("[]")]
    faulty = synthesise(corpus, SynthConfig(passages=3), panel_at(server), tmp_path / "a")
    sound = synthesise(corpus, SynthConfig(passages=3), panel_at(server), tmp_path / "b")
    assert faulty.file.read_bytes() == sound.file.read_bytes()
    assert not faulty.failed


def test_pairs_after_wikieval_have_two_contexts_and_three_answers(
    corpus: tuple[CorpusPassage, ...], server: ChatServer, tmp_path: Path
) -> None:
    made = synthesise(corpus, SynthConfig(kind="wikieval", passages=4), panel_at(server), tmp_path)
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
    made = synthesise(corpus[:10], SynthConfig(kind="wikieval"), EMBEDDED, tmp_path)
    assert made.rows == 0 < made.kept
    assert "cannot answer without a passage" in (tmp_path / "card.md").read_text(encoding="utf-8")
