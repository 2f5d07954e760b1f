"""Find the citations in an answer: their marks, the passages that they name, and the sentences that they belong to.

Marks are `[1]`, `[1, 2]`, `[1-3]`, `[^1]`, `[doc 1]`, `[Source: ID]`, `[ID]`, `【1†...】`, and the same in full-width
brackets. `(1)` is a mark only if the answer has no other marks. A number in brackets has up to three digits, of any
script, unless it is the id of a passage. Markdown links, code, footnote definitions and a list of sources at the end
are not citations. Offsets are code points of the answer.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from ragboard.records import JsonValue, Passage
from ragboard.text.sentences import sentence_spans

__all__ = [
    "By",
    "Citation",
    "CitationError",
    "CitedSentence",
    "Mark",
    "citation_marks",
    "cited_sentences",
    "unmarked",
    "without_marks_of",
]

By = Literal["auto", "rank", "id"]
"""What a number in a mark is: the rank of a passage or its id. auto: the one for which the numbers match passages."""

Offsets: TypeAlias = tuple[int, int]
"""(start, end); the end is exclusive."""

MAX_NAME_LENGTH = 200
MAX_RANGE = 100
"""Maximum number of passages that a mark such as `[1-3]` can name."""

_INSIDE = rf"[^\[\]\n]{{1,{MAX_NAME_LENGTH}}}"
_MARK = re.compile(
    rf"\[\[(?P<double>{_INSIDE})\]\](?!\()|(?<!\[)\[(?P<square>{_INSIDE})\](?!\()"
    rf"|\u3010(?P<corner>[^\u3010\u3011\n]{{1,{MAX_NAME_LENGTH}}})\u3011"
    rf"|\uff3b(?P<wide>[^\uff3b\uff3d\n]{{1,{MAX_NAME_LENGTH}}})\uff3d|\((?P<round>[^()\n]{{1,{MAX_NAME_LENGTH}}})\)"
)
_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
_PREFIX = re.compile(
    r"(?:see\s+)?(?:sources?|passages?|documents?|docs?|contexts?|chunks?|ref(?:erence)?s?|citations?|cite|id"
    r"|quellen?|dokumente?)(?:\s*(?P<colon>:)\s*|\s*[.#]\s*|\s+|(?=\d))|\^|\#",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(r"\s*[,;&]\s*|\s+(?:and|und)\s+", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]{1,3}")
_RANGE = re.compile(r"([0-9]{1,3})\s*[-\u2013\u2014]\s*\^?([0-9]{1,3})")
_COUNTING = re.compile(
    r"(?:[\w(]|[:;,]\s*|\b(?:and|or|und|oder|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|[0-9]+)\s+)$",
    re.IGNORECASE,
)
"""Matches the text before a number in round brackets if the number is a value or part of an enumeration."""
_STOP = re.compile(r"[.!?\u3002][\"'\u201d\u2019)]*\s*$")

_DEFINITION = re.compile(rf"^[ \t]*\[\^?{_INSIDE}\]:.*(?:\n|\Z)", re.MULTILINE)
_SOURCES = re.compile(
    r"[ \t#*_>]*(?:sources?|references?|citations?|bibliography|works cited|footnotes|quellen|quellenverzeichnis"
    r"|literatur|einzelnachweise)[*_ \t]*(?::.*)?",
    re.IGNORECASE,
)
_ENTRY = re.compile(rf"[ \t]*(?:[-*+\u2022][ \t]|\[\^?{_INSIDE}\]|\u3010|\(?[0-9]{{1,3}}[.)]|https?://)")
_NUMBERED_ENTRY = re.compile(r"[ \t]*\[\^?[0-9]{1,3}\][ \t]*\S")
_LIST_MARK = re.compile(r"[ \t>]*(?:[-*+\u2022\u2013][ \t]+|\(?[0-9]{1,3}[.)][ \t]+|#{1,6}[ \t]+)?")


class CitationError(ValueError):
    """It is unclear which sentence cites which passage. The message says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """A citation mark `answer[start:end]`, and the numbers and ids in it, in order."""

    start: int
    end: int
    names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Citation:
    """A passage that a sentence cites, or a document that was retrieved as several passages."""

    name: str
    """The number or id as written in the answer."""
    ranks: tuple[int, ...]
    """The ranks of the passages that it names; empty if it names no retrieved passage."""
    start: int | None = None
    """The start of its mark in the answer; None if the citation is from a column of the file."""
    end: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CitedSentence:
    """A sentence `answer[start:end]`, and its citations in order."""

    start: int
    end: int
    text: str
    """The sentence without marks."""
    citations: tuple[Citation, ...] = ()


def citation_marks(answer: str, passages: Sequence[Passage]) -> tuple[Mark, ...]:
    """Return the citation marks of an answer in order; they do not overlap."""
    known = _ids(passages)
    ignored = _merged((*_source_spans(answer), *(code.span() for code in _CODE.finditer(answer))))
    marks: list[Mark] = []
    numbers: list[Mark] = []
    for match in _outside(_MARK.finditer(answer), ignored):
        names = _names(str(match[match.lastgroup or 0]), str(match.lastgroup), known)
        mark = Mark(start=match.start(), end=match.end(), names=names)
        if not names:
            continue
        if (
            match.lastgroup == "round"
            and all(map(_NUMBER.fullmatch, names))
            and _PREFIX.match(answer, mark.start + 1) is None
        ):
            numbers.append(mark)
        else:
            marks.append(mark)
    return tuple(marks or _round_marks(answer, numbers, len(passages)))


def _merged(spans: Iterable[Offsets]) -> list[Offsets]:
    """Return the spans in order, and merge overlapping spans."""
    merged: list[Offsets] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _outside(matches: Iterable[re.Match[str]], ignored: Sequence[Offsets]) -> Iterator[re.Match[str]]:
    """Yield the matches that start outside the ignored spans."""
    for match in matches:
        index = bisect_right(ignored, (match.start(), sys.maxsize)) - 1
        if index < 0 or match.start() >= ignored[index][1]:
            yield match


def _ids(passages: Sequence[Passage]) -> dict[str, tuple[int, ...]]:
    """Return the ranks of passages by id. Case and surrounding brackets of ids are ignored."""
    ranks_by_id: dict[str, tuple[int, ...]] = {}
    for passage in passages:
        key = _key(passage.id)
        ranks_by_id[key] = (*ranks_by_id.get(key, ()), passage.rank)
    return ranks_by_id


def _key(name: str) -> str:
    return name.strip().strip("[]").casefold()


def _names(content: str, kind: str, known: Mapping[str, object]) -> tuple[str, ...]:
    """Return the numbers and ids within the brackets of a mark; empty if the brackets contain something else."""
    content = content.strip()
    if kind == "corner" and "\u2020" in content:
        number, _, name = (part.strip() for part in content.partition("\u2020"))
        return (name,) if _key(name) in known or not _NUMBER.fullmatch(number) else (number,)
    if _key(content) in known:
        return (content,)
    if not content.isascii():
        content = "".join(str(unicodedata.decimal(char, char)) for char in content)  # digits of other scripts
    prefix = _PREFIX.match(content)
    rest = content[prefix.end() :] if prefix else content
    if prefix and _key(rest) in known:
        return (rest.strip(),)
    names: list[str] = []
    for part in _SEPARATOR.split(rest):
        part_names = list(_part_names(part.strip(), known, labelled=bool(prefix and prefix["colon"])))
        if not part_names:
            return ()
        names += part_names
    return tuple(names)


def _part_names(part: str, known: Mapping[str, object], *, labelled: bool) -> Iterator[str]:
    """Yield the numbers and ids in a part of a mark. After a prefix with a colon (`labelled`), any word is an id."""
    prefix = _PREFIX.match(part)
    name = part if _key(part) in known or not prefix else part[prefix.end() :]
    span = _RANGE.fullmatch(name)
    if _key(name) in known or _NUMBER.fullmatch(name) or (labelled and name and " " not in name and not span):
        yield name
    elif span and 0 <= int(span[2]) - int(span[1]) < MAX_RANGE:
        yield from map(str, range(int(span[1]), int(span[2]) + 1))


def _round_marks(answer: str, marks: Sequence[Mark], passages: int) -> Iterator[Mark]:
    """Yield the numbers in round brackets that are citations: ranks of passages, not values or parts of a list."""
    end_of_last = -1
    for mark in marks:
        if not all(1 <= int(name) <= passages for name in mark.names):
            continue
        line = answer.rfind("\n", 0, mark.start) + 1
        before = answer[line : mark.start]
        ends_line = not answer[mark.end :].partition("\n")[0].strip(" \t.!?")
        begins = not _LIST_MARK.sub("", before, count=1).strip() or (_STOP.search(before) and not ends_line)
        joined = end_of_last >= 0 and line + len(before.rstrip(" \t,")) == end_of_last
        if joined or not (begins or _COUNTING.search(before)):
            end_of_last = mark.end
            yield mark


def _source_spans(answer: str) -> list[Offsets]:
    """Return the spans of footnote definitions, and of a list of sources at the end."""
    definitions = [match.span() for match in _DEFINITION.finditer(answer)]
    start = _start_of_sources(answer)
    return [
        *(definition for definition in definitions if definition[0] < start),
        *([(start, len(answer))] if start < len(answer) else []),
    ]


def _start_of_sources(answer: str) -> int:
    """Return the start of the list of sources at the end of the answer; the answer's length if there is no list."""
    start = end = len(answer)
    entries = numbered = 0
    for line in reversed(answer.splitlines(keepends=True)):
        end -= len(line)
        plain = line.strip()
        if _SOURCES.fullmatch(plain):
            start = end
        elif plain and not _ENTRY.match(line):
            break
        elif not plain and entries and entries == numbered and _MARK.search(answer, 0, end):
            start = min(start, end)
        entries += bool(plain)
        numbered += bool(_NUMBERED_ENTRY.match(line))
    return start if answer[:start].strip() else len(answer)


def unmarked(answer: str, marks: Sequence[Mark]) -> str:
    """Return the answer without its marks, the spaces before marks, and the commas between two marks."""
    return "".join(answer[start:end] for start, end in _remaining(answer, [(mark.start, mark.end) for mark in marks]))


def without_marks_of(answer: str, passages: Sequence[Passage], texts: Iterable[str]) -> list[str]:
    """Return the texts, which repeat parts of an answer, without the citation marks of the answer."""
    given = list(texts)
    marks = {answer[mark.start : mark.end] for mark in citation_marks(answer, passages)}
    written = sorted((mark for mark in marks if any(mark in text for text in given)), key=len, reverse=True)
    if not written:
        return given
    pattern = re.compile("|".join(map(re.escape, written)))
    return [unmarked(text, [_mark_at(found) for found in pattern.finditer(text)]).strip() for text in given]


def _mark_at(found: re.Match[str]) -> Mark:
    return Mark(start=found.start(), end=found.end(), names=())


def _remaining(answer: str, dropped: Sequence[Offsets]) -> list[Offsets]:
    """Return the spans of an answer without the dropped spans, the spaces before these, and the commas between two."""
    remaining: list[Offsets] = []
    at = 0
    for start, end in sorted(dropped):
        between = answer[at:start]
        until = at + len(between.rstrip(" \t"))
        remaining.append((at, at if remaining and not between.strip(" \t,;") else until))
        at = max(at, end)
    return [*remaining, (at, len(answer))]


def cited_sentences(
    answer: str, passages: Sequence[Passage], column: JsonValue = None, by: By = "auto"
) -> tuple[CitedSentence, ...]:
    """Return the sentences of an answer with their citations, from its marks; if it has no marks, from `column`.

    A mark after a full stop belongs to the sentence before it, a mark at the start of a line to the sentence after it.
    `column` is a value of the run file: a list of citations for each sentence, or objects with `text` or `end` and the
    ids. Raises CitationError if `column` does not say which sentence a citation belongs to, or if it is unclear whether
    numbers are ranks or ids.
    """
    marks = citation_marks(answer, passages)
    dropped = [*_source_spans(answer), *((mark.start, mark.end) for mark in marks)]
    sentences = _sentences(answer, _remaining(answer, dropped))
    if not marks and column:
        return _from_column(answer, sentences, column, passages, by)
    if not sentences:
        return ()
    cited: list[list[Citation]] = [[] for _ in sentences]
    starts = [sentence.start for sentence in sentences]
    named = _resolved([name for mark in marks for name in mark.names], passages, by)
    for mark in marks:
        index = _sentence_index(mark, answer, starts)
        cited[index] += [replace(named[name], start=mark.start, end=mark.end) for name in mark.names]
    return tuple(
        replace(sentence, citations=tuple(citations)) for sentence, citations in zip(sentences, cited, strict=True)
    )


def _sentences(answer: str, remaining: Sequence[Offsets]) -> tuple[CitedSentence, ...]:
    """Return the sentences of the remaining spans of an answer, with offsets in the whole answer."""
    plain = "".join(answer[start:end] for start, end in remaining)
    starts = [0]
    for start, end in remaining:
        starts.append(starts[-1] + end - start)

    def offset_in_answer(offset: int) -> int:
        piece = bisect_right(starts, offset) - 1
        return remaining[piece][0] + offset - starts[piece]

    return tuple(
        CitedSentence(start=offset_in_answer(start), end=offset_in_answer(end - 1) + 1, text=plain[start:end])
        for start, end in sentence_spans(plain)
    )


def _sentence_index(mark: Mark, answer: str, starts: Sequence[int]) -> int:
    """Return the index of the sentence that a mark belongs to; `starts` are the offsets of the sentences."""
    following = bisect_right(starts, mark.start)
    if following < len(starts) and "\n" not in answer[mark.end : starts[following]] and _begins_line(mark, answer):
        return following
    return max(following - 1, 0)


def _begins_line(mark: Mark, answer: str) -> bool:
    """Return whether a mark starts its line, apart from other marks, spaces and a list marker."""
    line = answer.rfind("\n", 0, mark.start) + 1
    if mark.start - line > MAX_NAME_LENGTH:
        return False
    return not _LIST_MARK.sub("", _MARK.sub("", answer[line : mark.start]), count=1).strip()


def _resolved(names: Sequence[str], passages: Sequence[Passage], by: By) -> dict[str, Citation]:
    """Return the citation for each name. Raises CitationError if it is unclear whether numbers are ranks or ids."""
    ids, ranks = _ids(passages), {str(passage.rank): (passage.rank,) for passage in passages}
    numbers = {name for name in names if name.isascii() and name.isdecimal()}
    by_rank = {name: ranks.get(str(int(name)), ()) for name in numbers}
    by_id = {name: ids.get(_key(name), ()) for name in numbers}
    use_ids = by == "id" or (by == "auto" and not _covers(by_rank, by_id))
    if use_ids and by == "auto" and not _covers(by_id, by_rank):
        name = min((name for name in numbers if by_rank[name] != by_id[name]), key=int)
        raise CitationError(
            f"[{name}] can be the rank or the id of a passage; set by=rank or by=id to say what numbers mean"
        )
    ranks_by_name = {name: ids.get(_key(name), ()) for name in names} | (by_id if use_ids else by_rank)
    return {name: Citation(name=name, ranks=ranks_by_name[name]) for name in ranks_by_name}


def _covers(ranks_by_name: Mapping[str, object], other: Mapping[str, object]) -> bool:
    """Return whether each name that has passages in `other` has the same passages in `ranks_by_name`."""
    return all(ranks_by_name[name] == ranks for name, ranks in other.items() if ranks)


_TARGETS = ("citations", "document_ids", "documents", "sources", "ids", "source_ids")
"""The fields of an object in the column `citations` that can contain the cited passages."""

WHOLE_ANSWER = "the column `citations` lists what the answer cites, but not which sentence cites it"


def _from_column(
    answer: str, sentences: tuple[CitedSentence, ...], column: JsonValue, passages: Sequence[Passage], by: By
) -> tuple[CitedSentence, ...]:
    parts = list(column) if isinstance(column, Sequence) and not isinstance(column, str) else []
    objects = [part for part in parts if isinstance(part, Mapping)]
    lists = [part for part in parts if isinstance(part, Sequence) and not isinstance(part, str)]
    cited: list[list[str]] = [[] for _ in sentences]
    if parts and len(objects) == len(parts):
        starts, at = [sentence.start for sentence in sentences], 0
        for part in objects:
            at = _end_of_part(part, answer, at)
            if starts:
                cited[max(bisect_right(starts, at - 1) - 1, 0)] += _targets(part)
    elif parts and len(lists) == len(parts):
        if len(parts) != len(sentences):
            raise CitationError(
                f"the column `citations` has {len(parts)} lists, but the answer has {len(sentences)} sentences"
            )
        cited = [_cell_names(part) for part in lists]
    else:
        raise CitationError(WHOLE_ANSWER)
    named = _resolved([name for names in cited for name in names], passages, by)
    return tuple(
        replace(sentence, citations=tuple(named[name] for name in names))
        for sentence, names in zip(sentences, cited, strict=True)
    )


def _end_of_part(part: Mapping[str, JsonValue], answer: str, at: int) -> int:
    """Return the end of a cited part of the answer: its `end`, or the end of its `text`, searched from `at`."""
    end, text = part.get("end"), part.get("text")
    if isinstance(end, int) and 0 < end <= len(answer):
        return end
    if not isinstance(text, str) or not text.strip():
        raise CitationError(WHOLE_ANSWER)
    start = answer.find(text.strip(), at)
    if start < 0:
        raise CitationError("the column `citations` has a text that is not in the answer")
    return start + len(text.strip())


def _targets(part: Mapping[str, JsonValue]) -> list[str]:
    return next((_cell_names(part[field]) for field in _TARGETS if field in part), [])


def _cell_names(value: JsonValue) -> list[str]:
    """Return the numbers and ids in a cell; from an object, its `id`."""
    if isinstance(value, Mapping):
        return _cell_names(value.get("id"))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [name for item in value for name in _cell_names(item)]
    text = "" if value is None or isinstance(value, bool) else str(value).strip()
    return [text.strip("[]") or text] if text else []
