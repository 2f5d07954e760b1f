"""Write the two sample runs: split the documents into passages, rank these, and add the authors' answers.

python sample_data/retrieve.py            writes runs/*.jsonl and prints the recall of each run
python sample_data/retrieve.py --check    exits with 1 if a run on disk differs from what would be written

Nothing is random: the same documents, questions and answers give the same files, byte for byte.
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

K1 = 1.2  # BM25: how fast further occurrences of a word count less
B = 0.75  # BM25: how much the scores of long passages are reduced
CANDIDATES = 15  # passages that BM25 gives to the reranker
PROXIMITY = 1.0  # weight of question words that are close to each other
TITLE = 0.5  # weight of question words in the document's title

SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9])")
WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, kw_only=True)
class Document:
    """A document: the slug from its file name, its title and its paragraphs."""

    slug: str
    title: str
    paragraphs: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """A part of a document; `id` has the document's slug and the number of the part, from 1."""

    id: str
    slug: str
    title: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question, its reference and the slugs of the documents that contain the answer."""

    id: str
    question: str
    reference: str
    kind: str
    topic: str
    documents: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Config:
    """How a run splits and retrieves; `overlap` is the number of sentences that consecutive chunks share."""

    name: str
    chunk_words: int
    overlap: int
    k: int
    reranker: str

    def described(self) -> dict[str, str | int]:
        """Return the configuration for the run file."""
        settings: dict[str, str | int] = {"retriever": "BM25", "chunk_words": self.chunk_words}
        if self.overlap:
            settings["overlap_sentences"] = self.overlap
        return settings | {"k": self.k, "reranker": self.reranker, "answers": "written by the ragboard authors"}


Ranked = list[tuple[float, Chunk]]

CONFIGS = (
    Config(name="bm25-k3", chunk_words=60, overlap=0, k=3, reranker="none"),
    Config(name="bm25-rerank-k5", chunk_words=90, overlap=1, k=5, reranker="proximity+title"),
)


def words(text: str) -> list[str]:
    """Return the lower-case words of a text, in order."""
    return WORD.findall(text.lower())


def read_documents(folder: Path) -> list[Document]:
    """Read all `*.md` files of the folder, sorted by slug."""
    return [read_document(path) for path in sorted(folder.glob("*.md"))]


def read_document(path: Path) -> Document:
    """Read one document: a `# Title` line, then paragraphs separated by blank lines."""
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
    """Read the authors' answers by question id; empty if the folder does not exist."""
    return {row["id"]: row["answer"] for row in read_lines(folder)}


def grouped(parts: Iterable[str], limit: int, overlap: int) -> list[str]:
    """Join consecutive parts up to `limit` words; each group starts with the last `overlap` parts of the one before."""
    groups: list[list[str]] = [[]]
    for part in parts:
        group = groups[-1]
        if len(group) > overlap and len(" ".join([*group, part]).split()) > limit:
            groups.append(group[len(group) - overlap :])
        groups[-1].append(part)
    return [" ".join(group) for group in groups]


def chunks_of(document: Document, config: Config) -> list[Chunk]:
    """Split a document at paragraphs, or at sentences if the chunks overlap."""
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
        self._chunks_with = Counter(term for counts in self._counts for term in counts)

    def idf(self, term: str) -> float:
        """Return the inverse document frequency of a word: above 0, highest for a word in no chunk."""
        count = self._chunks_with[term]
        return math.log(1 + (len(self._chunks) - count + 0.5) / (count + 0.5))

    def search(self, query: Sequence[str], k: int) -> Ranked:
        """Return the `k` best chunks, best first; chunks with equal scores are in the order of the documents."""
        scored = [(self._score(query, number), chunk) for number, chunk in enumerate(self._chunks)]
        return best(scored, k)

    def _score(self, query: Sequence[str], number: int) -> float:
        counts = self._counts[number]
        damping = K1 * (1 - B + B * self._lengths[number] / self._mean_length)
        return sum(
            self.idf(term) * counts[term] * (K1 + 1) / (counts[term] + damping) for term in query if term in counts
        )


def best(scored: Ranked, k: int) -> Ranked:
    """Return the `k` chunks with the highest scores, best first; equal scores keep their order."""
    return sorted(scored, key=lambda pair: -pair[0])[:k]


def reranked(query: Sequence[str], found: Ranked, index: Index) -> Ranked:
    """Add to each score the weights of question words that are close to each other, and of those in the title."""
    weights = {term: index.idf(term) for term in query}
    return [
        (score + PROXIMITY * proximity(weights, chunk.text) + TITLE * in_title(weights, chunk.title), chunk)
        for score, chunk in found
    ]


def proximity(weights: Mapping[str, float], text: str) -> float:
    """Return the sum over consecutive different question words of the lower weight / squared distance."""
    hits = [(place, word) for place, word in enumerate(words(text)) if word in weights]
    return sum(
        min(weights[first], weights[second]) / (later - place) ** 2
        for (place, first), (later, second) in pairwise(hits)
        if first != second
    )


def in_title(weights: Mapping[str, float], title: str) -> float:
    """Return the sum of the weights of the question words in the title."""
    return sum(weights.get(word, 0.0) for word in words(title))


def retrieve(question: Question, config: Config, index: Index) -> Ranked:
    """Return the passages for one question, best first."""
    query = list(dict.fromkeys(words(question.question)))
    if config.reranker == "none":
        return index.search(query, config.k)
    return best(reranked(query, index.search(query, CANDIDATES), index), config.k)


def sample(question: Question, found: Ranked, answer: str | None) -> dict[str, object]:
    """Return a line of the run file; without `answer` if the authors wrote no answer."""
    return {
        "id": question.id,
        "question": question.question,
        **({} if answer is None else {"answer": answer}),
        "contexts": [{"id": c.id, "text": c.text, "score": round(score, 2)} for score, c in found],
        "reference": question.reference,
        "kind": question.kind,
        "answerable": question.kind != "unanswerable",
        "topic": question.topic,
        "context_words": sum(len(c.text.split()) for _, c in found),
    }


def run_text(config: Config, questions: Sequence[Question], found: Sequence[Ranked]) -> str:
    """Return the text of a run file: a line with the run's name and configuration, then a line for each question."""
    answers = read_answers(HERE / "answers" / config.name)
    about = {"name": config.name, "config": config.described(), "dataset": DATASET, "tags": ["sample"]}
    samples = [sample(q, ranked, answers.get(q.id)) for q, ranked in zip(questions, found, strict=True)]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in [{"run": about}, *samples])


def recalls(questions: Sequence[Question], found: Sequence[Ranked]) -> list[float]:
    """Return for each question with gold documents the share of these documents that were retrieved."""
    return [
        len(set(question.documents) & {chunk.slug for _, chunk in ranked}) / len(question.documents)
        for question, ranked in zip(questions, found, strict=True)
        if question.documents
    ]


def settle(path: Path, text: str, *, check: bool) -> bool:
    """Write the file, unless `check` is set; return whether its content is `text`."""
    if not check:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    return path.exists() and path.read_bytes() == text.encode()


def main() -> int:
    """Write or check both runs; return the exit status."""
    parser = argparse.ArgumentParser(description="Write the sample's runs.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a run differs")
    check = parser.parse_args().check
    documents, questions = read_documents(HERE / "documents"), read_questions(HERE / "questions")
    status = 0
    for config in CONFIGS:
        index = Index([chunk for document in documents for chunk in chunks_of(document, config)])
        found = [retrieve(question, config, index) for question in questions]
        shares = recalls(questions, found)
        print(
            f"{config.name}: gold documents retrieved {sum(shares) / len(shares):.3f}"
            f" (all of them for {shares.count(1.0)} of {len(shares)} questions)"
        )
        path = HERE / "runs" / f"{config.name}.jsonl"
        if not settle(path, run_text(config, questions, found), check=check):
            print(f"{path}: differs from the file made from the documents, questions and answers", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
