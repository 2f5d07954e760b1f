"""Verify statements against passages, and explain each verdict in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ragboard.judges.embedded.conflicts import Conflict
from ragboard.judges.embedded.index import Claim, Corpus, Lookup, Scope, lookups
from ragboard.judges.embedded.matching import Match, best_match
from ragboard.records import Evidence, Verdict
from ragboard.tasks import Verification, VerifiedAgainst, Verify
from ragboard.text.sentences import normal

__all__ = ["verify"]


SAME_WORDS = 0.92
"""Minimum share of the statement's weight in the passage at which a reason says "nearly the same words"."""
MAX_NAMED_WORDS = 3
"""Maximum number of missing words that a reason names."""
MIN_NEAREST_SHARE = 0.35
"""Minimum share of the statement's weight in the closest passage at which a reason names this passage."""


def explain(lookup: Lookup, match: Match, scope: Scope, source: VerifiedAgainst = "passages") -> str:
    """Return the reason for a verdict as one sentence. `source` says what the compared texts are."""
    if match.label == "supported":
        return _support_reason(lookup, match, source)
    if match.conflict:
        return _conflict_reason(lookup.corpus, match, match.conflict, source)
    return _missing_reason(lookup, match, scope, source)


def _ranks(corpus: Corpus, match: Match) -> list[int]:
    return list(dict.fromkeys(corpus.passage_of[number] + 1 for number in match.sentences))


def _text_name(rank: int, source: VerifiedAgainst) -> str:
    """Return the name of a text, for the start of a sentence: `Passage 2`, `The reference`."""
    return f"Passage {rank}" if source == "passages" else f"The {source}"


def _support_reason(lookup: Lookup, match: Match, source: VerifiedAgainst) -> str:
    corpus, claim = lookup.corpus, lookup.claim
    ranks = _ranks(corpus, match)
    text_name = _text_name(ranks[0], source)
    if len(match.sentences) == 1 and _is_verbatim(corpus, claim, match):
        return f"{text_name} says it word for word."
    missing = claim.words(_heaviest(lookup, match.missing))
    if len(match.sentences) > 1:
        where = f"two sentences of {text_name[0].lower()}{text_name[1:]}"
        where = f"passages {min(ranks)} and {max(ranks)}" if len(ranks) > 1 else where
        return f"The statement's words are spread over {where}{f', except {_quoted(missing)}' if missing else ''}."
    nearly = match.comparison and match.comparison.pair_share >= SAME_WORDS
    similar = "nearly the same words" if nearly else "a similar sentence"
    return f"{text_name} has {similar}{f', without {_quoted(missing)}' if missing else ''}."


def _is_verbatim(corpus: Corpus, claim: Claim, match: Match) -> bool:
    sentence = map(normal, corpus.sentences[match.sentences[0]].spelt)
    statement = map(normal, claim.parsed.spelt)
    return f" {' '.join(statement)} " in f" {' '.join(sentence)} "


def _conflict_reason(corpus: Corpus, match: Match, conflict: Conflict, source: VerifiedAgainst) -> str:
    text_name = _text_name(_ranks(corpus, match)[0], source)
    if conflict.denied_by == "passage":
        return f"{text_name} {'denies' if conflict.certain else 'may deny'} what the statement says."
    if conflict.denied_by == "statement":
        return f"{text_name} {'says' if conflict.certain else 'may say'} what the statement denies."
    doubt = "" if conflict.certain else ", perhaps about something else"
    return f"{text_name} says {conflict.sentence_words} where the statement says {conflict.statement_words}{doubt}."


def _missing_reason(lookup: Lookup, match: Match, scope: Scope, source: VerifiedAgainst) -> str:
    claim = lookup.claim
    absent = claim.items - lookup.items_in(scope)
    figures_and_names = claim.words(absent & (claim.figure_keys | claim.name_terms))
    if figures_and_names:
        return _unmentioned_reason(figures_and_names, scope, source)
    if match.sentences and match.comparison and match.comparison.pair_share >= MIN_NEAREST_SHARE:
        return _closest_passage_reason(lookup, match, source)
    words = claim.words(_heaviest(lookup, absent))
    listed = _quoted(words, "or") if words else ""
    if scope is None and source == "passages":
        return f"No passage {f'mentions {listed}' if listed else 'says this in one place'}."
    text_name = _text_name((scope or 0) + 1, source)
    return f"{text_name} does not {f'mention {listed}' if listed else 'say this in one place'}."


def _unmentioned_reason(words: Sequence[str], scope: Scope, source: VerifiedAgainst) -> str:
    """Return a reason that names the missing figures and names."""
    if source != "passages":
        return f"{_quoted(words)} {'is' if len(words) == 1 else 'are'} not in the {source}."
    if scope is not None:
        return f"Passage {scope + 1} does not mention {_quoted(words, 'or')}."
    return f"{_quoted(words)} {'appears' if len(words) == 1 else 'appear'} in no passage."


def _closest_passage_reason(lookup: Lookup, match: Match, source: VerifiedAgainst) -> str:
    claim = lookup.claim
    figures_and_names = claim.words(match.missing & (claim.figure_keys | claim.name_terms))
    words = figures_and_names or claim.words(_heaviest(lookup, match.missing))
    if source != "passages":
        beginning = f"The nearest sentence of the {source}"
        return f"{beginning} does not say {_quoted(words, 'or')}." if words else f"{beginning} says it differently."
    beginning = f"Passage {_ranks(lookup.corpus, match)[0]} is the closest but"
    return f"{beginning} does not say {_quoted(words, 'or')} there." if words else f"{beginning} says it differently."


def _heaviest(lookup: Lookup, items: frozenset[str]) -> list[str]:
    """Return the rarest of these items, at most `MAX_NAMED_WORDS`."""
    return sorted(items, key=lambda item: (-lookup.weights[item], -len(item), item))[:MAX_NAMED_WORDS]


def _quoted(words: Sequence[str], last: str = "and") -> str:
    return _join([f"'{word}'" for word in words[:MAX_NAMED_WORDS]], last)


def _join(words: Sequence[str], last: str) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


_corpus = lru_cache(maxsize=4)(Corpus.from_passages)
"""Cached, because a sample has several tasks with the same passages, which follow each other."""


def verify(task: Verify) -> Verification:
    """Return all verdicts of the task. The verdicts on a statement do not depend on the other statements."""
    corpus = _corpus(task.passages, task.question)
    joint: list[Verdict] = []
    single: list[tuple[Verdict, ...]] = []
    for lookup in lookups(corpus, [corpus.claim(statement) for statement in task.statements]):
        if task.joint:
            joint.append(_verdict(lookup, None, task.against))
        if task.single:
            passages = range(corpus.passages)
            single.append(tuple(_verdict(lookup, passage, task.against) for passage in passages))
    return Verification(joint=tuple(joint), single=tuple(single))


def _verdict(lookup: Lookup, scope: Scope, source: VerifiedAgainst) -> Verdict:
    match = best_match(lookup, scope)
    return Verdict(
        label=match.label,
        reason=explain(lookup, match, scope, source),
        score=round(match.score, 4),
        evidence=_evidence(lookup.corpus, match),
    )


def _evidence(corpus: Corpus, match: Match) -> tuple[Evidence, ...]:
    if match.label == "contradicted" and match.conflict:
        rank = corpus.passage_of[match.sentences[0]] + 1
        start, end = match.conflict.start, match.conflict.end
        return (Evidence(rank=rank, start=start, end=end, stance="against", how="overlap"),)
    if match.label != "supported":
        return ()
    return tuple(
        Evidence(
            rank=corpus.passage_of[number] + 1,
            start=corpus.sentences[number].start,
            end=corpus.sentences[number].end,
            stance="for",
            how="overlap",
        )
        for number in sorted(match.sentences)
    )
