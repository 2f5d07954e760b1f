"""The passages of a task, read once: their sentences, and which words stand in which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ragboard.judges.embedded.reading import Reading, read
from ragboard.judges.embedded.text import Language, Token, language_of, sentence_spans
from ragboard.judges.embedded.weights import Weights

__all__ = ["Claim", "Library"]

HEAD = 1000
"""Characters of each passage from which the language is told."""


@dataclass(frozen=True)
class Claim:
    """A statement as it is looked for."""

    reading: Reading

    @cached_property
    def items(self) -> frozenset[str]:
        """What must be found: its content terms and figures; all its words where it has neither."""
        keys = {figure.key for figure in self.reading.figures}
        bare = frozenset(token.text.lower() for token in self.reading.tokens)
        return self.reading.content | keys or bare

    @cached_property
    def named(self) -> frozenset[str]:
        """Those of its terms that belong to names."""
        return frozenset(term for name in self.reading.names for term in name.terms)

    @cached_property
    def counted(self) -> frozenset[str]:
        """Those of its items that are figures."""
        return frozenset(figure.key for figure in self.reading.figures)

    def words(self, items: Iterable[str]) -> list[str]:
        """These items as the statement writes them, in its order, each once."""
        wanted = set(items)
        said = [
            (token.start, self._inner(token))
            for token, place in zip(self.reading.tokens, self.reading.places, strict=True)
            if place in wanted
        ]
        said += [
            (figure.start, self.reading.text[figure.start : figure.end])
            for figure in self.reading.figures
            if figure.key in wanted
        ]
        return list(dict.fromkeys(text for _, text in sorted(said)))

    def _inner(self, token: Token) -> str:
        """The word as it reads within a sentence: the first one keeps its capital only as a name."""
        first = token is self.reading.tokens[0] and self.reading.language == "en"
        named = first and any(name.first == 0 for name in self.reading.names)
        return token.text.lower() if first and not named and not token.text.isupper() else token.text


@dataclass(frozen=True)
class Library:
    """Sentences of all passages, numbered through."""

    language: Language
    sentences: tuple[Reading, ...]
    passage_of: tuple[int, ...]
    """For each sentence its passage, from 0."""
    passages: int
    where: Mapping[str, Sequence[int]]
    """For each term and figure key the sentences it stands in."""
    weights: Weights

    @classmethod
    def of(cls, passages: Sequence[str], question: str = "") -> Library:
        """Read the passages, in the language of their beginnings and of the question."""
        language = language_of(" ".join(text[:HEAD] for text in (*passages, question)))
        placed = [
            (number, read(text, start, end, language))
            for number, text in enumerate(passages)
            for start, end in sentence_spans(text)
        ]
        sentences = tuple(reading for _, reading in placed)
        where: dict[str, list[int]] = {}
        for number, reading in enumerate(sentences):
            for item in reading.everything:
                where.setdefault(item, []).append(number)
        numbers = tuple(number for number, _ in placed)
        return cls(language, sentences, numbers, len(passages), where, Weights.of(sentences))

    @cached_property
    def contents(self) -> tuple[frozenset[str], ...]:
        """Terms and figure keys of each passage."""
        found: list[set[str]] = [set() for _ in range(self.passages)]
        for number, reading in zip(self.passage_of, self.sentences, strict=True):
            found[number] |= reading.everything
        return tuple(frozenset(items) for items in found)

    def claim(self, statement: str) -> Claim:
        """Read a statement as the passages are read."""
        return Claim(read(statement, 0, len(statement), self.language))

    def rank(self, items: Iterable[str]) -> dict[int, float]:
        """For each sentence that holds any of the items, the weight it holds."""
        scores: dict[int, float] = {}
        for item in sorted(items):
            weight = self.weights[item]
            for number in self.where.get(item, ()):
                scores[number] = scores.get(number, 0.0) + weight
        return scores
