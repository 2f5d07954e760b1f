"""The passages of a task, read once: their sentences, and the statements that are held against them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import filterfalse

from ragboard.judges.embedded.once import once
from ragboard.judges.embedded.reading import Reading, read
from ragboard.text.sentences import Language, language_of, sentence_spans

__all__ = ["Claim", "Library"]

HEAD = 120
"""Characters of each passage from which the language is told."""


@dataclass(frozen=True)
class Claim:
    """A statement as it is looked for."""

    reading: Reading

    @once
    def items(self) -> frozenset[str]:
        """What must be found: its content terms and figures; all its words where it has neither."""
        return self.reading.content | self.counted or self.reading.words

    @once
    def named(self) -> frozenset[str]:
        """Those of its terms that belong to names."""
        return frozenset(term for name in self.reading.names for term in name.terms)

    @once
    def counted(self) -> frozenset[str]:
        """Those of its items that are figures."""
        return frozenset(figure.key for figure in self.reading.figures)

    def words(self, items: Iterable[str]) -> list[str]:
        """These items as the statement writes them, in its order, each once."""
        wanted = set(items)
        if not wanted:
            return []
        said = [(at, self._inner(at)) for at, place in enumerate(self.reading.places) if place in wanted]
        said += [
            (figure.first, self.reading.text[figure.start : figure.end])
            for figure in self.reading.figures
            if figure.key in wanted
        ]
        return list(dict.fromkeys(text for _, text in sorted(said)))

    def _inner(self, at: int) -> str:
        """The word as it reads within a sentence: the first one keeps its capital only as a name."""
        word = self.reading.spelt[at]
        first = at == 0 and self.reading.language == "en"
        named = first and any(name.first == 0 for name in self.reading.names)
        return word.lower() if first and not named and not word.isupper() else word


@dataclass(frozen=True)
class Library:
    """Sentences of all passages, numbered through."""

    language: Language
    sentences: tuple[Reading, ...]
    passage_of: tuple[int, ...]
    """For each sentence its passage, from 0."""
    passages: int

    @classmethod
    def of(cls, passages: Sequence[str], question: str = "") -> Library:
        """Read the passages, in the language of their beginnings and of the question."""
        language = language_of(" ".join(text[:HEAD] for text in (*passages, question)))
        sentences: list[Reading] = []
        numbers: list[int] = []
        for number, text in enumerate(passages):
            for start, end in sentence_spans(text, language):
                sentences.append(read(text, start, end, language))
                numbers.append(number)
        return cls(language, tuple(sentences), tuple(numbers), len(passages))

    @classmethod
    def of_sentences(cls, sentences: Sequence[str], language: Language) -> Library:
        """The sentences as they are given, each read as a whole, in one passage."""
        readings = tuple(read(sentence, 0, len(sentence), language) for sentence in sentences)
        return cls(language, readings, (0,) * len(readings), 1)

    def claim(self, statement: str) -> Claim:
        """Read a statement as the passages are read."""
        return Claim(read(statement, 0, len(statement), self.language))

    def words(self, passage: int | None) -> AbstractSet[str]:
        """All words of a passage, or of all, in small letters; some as they are spelt too."""
        return self._all_words if passage is None else self._words[passage]

    @once
    def _all_words(self) -> AbstractSet[str]:
        words = set[str]().union(*[sentence.spelt for sentence in self.sentences])
        words.update([word.lower() for word in filterfalse(str.islower, words)])
        return words

    @once
    def _words(self) -> tuple[AbstractSet[str], ...]:
        found: list[set[str]] = [set() for _ in range(self.passages)]
        for number, reading in zip(self.passage_of, self.sentences, strict=True):
            found[number].update(reading.words)
        return tuple(found)
