"""The passages of a task, read once: their sentences, and which words stand in which."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from operator import attrgetter

from ragboard.judges.embedded.lexicon import AKIN_IN_MEANING
from ragboard.judges.embedded.once import once
from ragboard.judges.embedded.reading import BEGINNING, Reading, read
from ragboard.judges.embedded.text import Language, language_of, sentence_spans, term
from ragboard.judges.embedded.weights import rarity

__all__ = ["Claim", "Library"]

HEAD = 120
"""Characters of each passage from which the language is told."""
SAME_MEANING, AKIN = 0.9, 0.8
"""What a word is worth that means nearly the same, and one of the same root."""
MOST_ALIKE = 50
"""Words of one beginning that are looked at."""
SHORTEST_AKIN, ROOT = 6, 0.7
"""Words of so many letters are akin where this part from their beginning is the same."""


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
    where: Mapping[str, Sequence[int]]
    """For each term and figure key the sentences it stands in, ascending."""

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
        return cls(language, tuple(sentences), tuple(numbers), len(passages), _places(sentences))

    @classmethod
    def of_sentences(cls, sentences: Sequence[str], language: Language) -> Library:
        """The sentences as they are given, each read as a whole, in one passage."""
        readings = tuple(read(sentence, 0, len(sentence), language) for sentence in sentences)
        return cls(language, readings, (0,) * len(readings), 1, _places(readings))

    def claim(self, statement: str) -> Claim:
        """Read a statement as the passages are read."""
        return Claim(read(statement, 0, len(statement), self.language))

    def weight(self, item: str) -> float:
        """How much a term or a figure tells here."""
        return rarity(len(self.sentences), len(self.where.get(item, ())))

    def forms(self, item: str) -> Iterable[tuple[str, float]]:
        """Under which terms of the passages an item may be found, and what each is worth, the best first."""
        if item in self.where:
            yield item, 1.0
        if item[0] == "#":
            return
        for other in _same_meaning(self.language).get(item, ()):
            if other in self.where:
                yield other, SAME_MEANING
        if len(item) >= SHORTEST_AKIN:
            beginning = item[:BEGINNING]
            first = bisect_left(self._ordered, beginning)
            for other in self._ordered[first : first + MOST_ALIKE]:
                if not other.startswith(beginning):
                    return
                if other != item and len(other) >= SHORTEST_AKIN and _akin(item, other):
                    yield other, AKIN

    @once
    def contents(self) -> tuple[frozenset[str], ...]:
        """Terms and figure keys of each passage."""
        found: list[set[str]] = [set() for _ in range(self.passages)]
        for number, reading in zip(self.passage_of, self.sentences, strict=True):
            found[number] |= reading.everything
        return tuple(frozenset(items) for items in found)

    @once
    def everything(self) -> frozenset[str]:
        """Terms and figure keys of all passages."""
        return frozenset(self.where)

    def words(self, passage: int | None) -> frozenset[str]:
        """All words of a passage, or of all, in small letters."""
        return self._all_words if passage is None else self._words[passage]

    @once
    def _all_words(self) -> frozenset[str]:
        return frozenset(map(str.lower, {*chain.from_iterable(map(attrgetter("spelt"), self.sentences))}))

    @once
    def _words(self) -> tuple[frozenset[str], ...]:
        found: list[set[str]] = [set() for _ in range(self.passages)]
        for number, reading in zip(self.passage_of, self.sentences, strict=True):
            found[number].update(reading.words)
        return tuple(map(frozenset, found))

    @once
    def _ordered(self) -> list[str]:
        return sorted(self.where)


def _places(sentences: Sequence[Reading]) -> dict[str, list[int]]:
    where: defaultdict[str, list[int]] = defaultdict(list)
    for number, sentence in enumerate(sentences):
        for item in sentence.everything:
            where[item].append(number)
    return dict(where)


def _akin(word: str, other: str) -> bool:
    shared = int(ROOT * max(len(word), len(other)) + 0.5)
    return word[:shared] == other[:shared]


@lru_cache(maxsize=8)
def _same_meaning(language: Language) -> Mapping[str, tuple[str, ...]]:
    """For each term those that mean nearly the same."""
    found: dict[str, set[str]] = {}
    for group in AKIN_IN_MEANING.get(language, ()):
        terms = {term(word, language) for word in group.split()}
        for each in terms:
            found.setdefault(each, set()).update(terms - {each})
    return {each: tuple(sorted(others)) for each, others in found.items()}
