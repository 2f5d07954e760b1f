"""Write the two runs of the sample: cut the documents, rank the pieces, add the written answers.

python sample_data/retrieve.py            writes runs/*.jsonl and prints the recall of each
python sample_data/retrieve.py --check    exits 1 where a run on disk is not what would be written

Nothing here is random: the same documents, questions and answers give the same bytes.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

HERE = Path(__file__).resolve().parent
DATASET = "sample-60"

K1 = 1.2  # how soon more of the same word stops counting
B = 0.75  # how far a long piece is held back
CANDIDATES = 15  # pieces that BM25 hands to the reranker
PROXIMITY = 1.0  # weight of question words that stand near each other
TITLE = 0.5  # weight of question words in the document's title

SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9])")
WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, kw_only=True)
class Document:
    """One file: its slug, its title line and its paragraphs."""

    slug: str
    title: str
    paragraphs: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """A piece of a document; `id` is the slug and the piece's number in the document, from 1."""

    id: str
    slug: str
    title: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question, its gold answer and the slugs of the documents that hold it."""

    id: str
    question: str
    reference: str
    kind: str
    topic: str
    documents: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Config:
    """How one run cuts and retrieves; `overlap` counts sentences shared by neighbours."""

    name: str
    chunk_words: int
    overlap: int
    k: int
    reranker: str

    def described(self) -> dict[str, str | int]:
        """Return the settings as the run file states them."""
        shown: dict[str, str | int] = {"retriever": "BM25", "chunk_words": self.chunk_words}
        if self.overlap:
            shown["overlap_sentences"] = self.overlap
        return shown | {"k": self.k, "reranker": self.reranker, "answers": "written by the ragboard authors"}


Ranked = list[tuple[float, Chunk]]

CONFIGS = (
    Config(name="bm25-k3", chunk_words=60, overlap=0, k=3, reranker="none"),
    Config(name="bm25-rerank-k5", chunk_words=90, overlap=1, k=5, reranker="proximity+title"),
)


def words(text: str) -> list[str]:
    """Return the lower-case words of a text, in order."""
    return WORD.findall(text.lower())


def read_documents(folder: Path) -> list[Document]:
    """Read every `*.md`, sorted by slug."""
    return [read_document(path) for path in sorted(folder.glob("*.md"))]


def read_document(path: Path) -> Document:
    """Read one file: a `# Title` line, then paragraphs parted by blank lines."""
    head, *paragraphs = path.read_text(encoding="utf-8").strip().split("\n\n")
    return Document(
        slug=path.stem,
        title=head.removeprefix("# "),
        paragraphs=tuple(" ".join(paragraph.split()) for paragraph in paragraphs),
    )


def read_lines(folder: Path) -> Iterator[Any]:
    """Yield the JSON objects of `part1.jsonl`, `part2.jsonl`, ... in order."""
    for path in sorted(folder.glob("part*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def read_questions(folder: Path) -> list[Question]:
    """Read the questions in the order of their files."""
    return [Question(**row | {"documents": tuple(row["documents"])}) for row in read_lines(folder)]


def read_answers(folder: Path) -> dict[str, str]:
    """Read the written answers by question id; none where the folder is not there."""
    return {row["id"]: row["answer"] for row in read_lines(folder)}


def grouped(parts: Iterable[str], limit: int, overlap: int) -> list[str]:
    """Join neighbouring parts up to `limit` words; each group repeats the last `overlap` parts before it."""
    groups: list[list[str]] = [[]]
    for part in parts:
        group = groups[-1]
        if len(group) > overlap and len(" ".join([*group, part]).split()) > limit:
            groups.append(group[len(group) - overlap :])
        groups[-1].append(part)
    return [" ".join(group) for group in groups]


def chunks_of(document: Document, config: Config) -> list[Chunk]:
    """Cut at paragraphs, or at sentences where neighbours overlap."""
    parts: Sequence[str] = document.paragraphs
    if config.overlap:
        parts = [sentence for paragraph in parts for sentence in SENTENCE_END.split(paragraph)]
    texts = grouped(parts, config.chunk_words, config.overlap)
    return [
        Chunk(id=f"{document.slug}#{number}", slug=document.slug, title=document.title, text=text)
        for number, text in enumerate(texts, start=1)
    ]


class Index:
    """Okapi BM25 over chunks."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = chunks
        self._counts = [Counter(words(chunk.text)) for chunk in chunks]
        self._lengths = [counts.total() for counts in self._counts]
        self._mean_length = sum(self._lengths) / len(chunks)
        self._holding = Counter(term for counts in self._counts for term in counts)

    def idf(self, term: str) -> float:
        """Return how telling a word is: above 0, most for one that no chunk holds."""
        holding = self._holding[term]
        return math.log(1 + (len(self._chunks) - holding + 0.5) / (holding + 0.5))

    def search(self, query: Sequence[str], k: int) -> Ranked:
        """Return the `k` best chunks, best first; equals stay in the order of the documents."""
        scored = [(self._score(query, number), chunk) for number, chunk in enumerate(self._chunks)]
        return best(scored, k)

    def _score(self, query: Sequence[str], number: int) -> float:
        counts = self._counts[number]
        damping = K1 * (1 - B + B * self._lengths[number] / self._mean_length)
        return sum(
            self.idf(term) * counts[term] * (K1 + 1) / (counts[term] + damping) for term in query if term in counts
        )


def best(scored: Ranked, k: int) -> Ranked:
    """Return the `k` highest scores, highest first, equals in the order given."""
    return sorted(scored, key=lambda pair: -pair[0])[:k]


def reranked(query: Sequence[str], found: Ranked, index: Index) -> Ranked:
    """Add to each score what question words that stand close together and in the title are worth."""
    worth = {term: index.idf(term) for term in query}
    return [
        (score + PROXIMITY * proximity(worth, chunk.text) + TITLE * in_title(worth, chunk.title), chunk)
        for score, chunk in found
    ]


def proximity(worth: Mapping[str, float], text: str) -> float:
    """Sum over neighbouring, different question words: the lesser worth by the square of their distance."""
    hits = [(place, word) for place, word in enumerate(words(text)) if word in worth]
    return sum(
        min(worth[first], worth[second]) / (later - place) ** 2
        for (place, first), (later, second) in pairwise(hits)
        if first != second
    )


def in_title(worth: Mapping[str, float], title: str) -> float:
    """Sum the worth of the question words in the title."""
    return sum(worth.get(word, 0.0) for word in words(title))


def retrieve(question: Question, config: Config, index: Index) -> Ranked:
    """Return the passages for one question, best first."""
    query = list(dict.fromkeys(words(question.question)))
    if config.reranker == "none":
        return index.search(query, config.k)
    return best(reranked(query, index.search(query, CANDIDATES), index), config.k)


def sample(question: Question, found: Ranked, answer: str | None) -> dict[str, object]:
    """Return one line of a run; a question without a written answer has no `answer`."""
    return {
        "id": question.id,
        "question": question.question,
        **({} if answer is None else {"answer": answer}),
        "contexts": [{"id": c.id, "text": c.text, "score": round(score, 2)} for score, c in found],
        "reference": question.reference,
        "kind": question.kind,
        "topic": question.topic,
        "context_words": sum(len(c.text.split()) for _, c in found),
    }


def run_text(config: Config, questions: Sequence[Question], found: Sequence[Ranked]) -> str:
    """Return a whole run file: the line that says what the run is, then one line a question."""
    answers = read_answers(HERE / "answers" / config.name)
    about = {"name": config.name, "config": config.described(), "dataset": DATASET, "tags": ["sample"]}
    samples = [sample(q, ranked, answers.get(q.id)) for q, ranked in zip(questions, found, strict=True)]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in [{"run": about}, *samples])


def recalls(questions: Sequence[Question], found: Sequence[Ranked]) -> list[float]:
    """Return, for each question that has gold documents, the share of them among its passages."""
    return [
        len(set(question.documents) & {chunk.slug for _, chunk in ranked}) / len(question.documents)
        for question, ranked in zip(questions, found, strict=True)
        if question.documents
    ]


def settle(path: Path, text: str, *, check: bool) -> bool:
    """Write the file, or only compare it; return whether it now is as it should be."""
    if not check:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    return path.exists() and path.read_bytes() == text.encode()


def main() -> int:
    """Make both runs; return the exit status."""
    parser = argparse.ArgumentParser(description="Write the sample's runs.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a run differs")
    check = parser.parse_args().check
    documents, questions = read_documents(HERE / "documents"), read_questions(HERE / "questions")
    status = 0
    for config in CONFIGS:
        index = Index([chunk for document in documents for chunk in chunks_of(document, config)])
        found = [retrieve(question, config, index) for question in questions]
        shares = recalls(questions, found)
        print(
            f"{config.name}: gold documents found {sum(shares) / len(shares):.3f}"
            f" (all of them for {shares.count(1.0)} of {len(shares)} questions)"
        )
        path = HERE / "runs" / f"{config.name}.jsonl"
        if not settle(path, run_text(config, questions, found), check=check):
            print(f"{path}: differs from what the documents, questions and answers give", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
