"""What belongs to the verb of a statement, and where something else begins."""

from __future__ import annotations

import re

from ragboard.judges.embedded.writing.verbs import verb_like

__all__ = ["COMMA", "JOINT", "cut"]

COMMA = re.compile(r",\s")
_LIST = re.compile(r", [A-Z][\w'-]*(?: [A-Z][\w'-]*)*(?:,| and )|, (?:[\w'-]+ ){0,3}[\w'-]+,? (?:and|or) ")
"""A list, of which a part would be half the truth."""
_VERB_AFTER_COMMA = re.compile(r",\s(?P<word>[a-z]+)\b")
_RESUMED = re.compile(r"(?<!\d), [^,]*, (?:in|on|at|to|into|from|by|with|for)\b")
"""A remark after which the sentence goes on."""
JOINT = re.compile(r"\s(?:and|but|or|while|whereas|yet)\s")
_SUBORDINATE = re.compile(
    r"\s(?:when|because|although|though|until|before|after|since|so that|so as|as|if|where|than|but|unless)\s"
)
_LOOSE_END = re.compile(
    r"(?:(?<!\d)\s(?:a|an|the|of|in|on|at|by|for|from|with|to|and|or|but|as|than|its|his|their"
    r"|about|some|also|above all))+$"
)


def cut(after: str) -> str | None:
    """What belongs to the verb; None where it lists names, of which a part would be half the truth."""
    said = after
    for pattern in (_SUBORDINATE, JOINT):
        for found in pattern.finditer(said):
            before = said[: found.start()]
            if _has_verb(said[found.end() :]) or (before.endswith(",") and before.count(", ") == 0):
                said = before
                break
    if restated := _VERB_AFTER_COMMA.search(said):
        said = said[: restated.start()] if verb_like(restated["word"]) else said
    if _LIST.search(after[: len(said) + 5]) or _RESUMED.search(said):
        return None
    comma = COMMA.search(said)
    said = _LOOSE_END.sub("", (said[: comma.start()] if comma else said).rstrip(" ,")).strip(" ,")
    return said or None


def _has_verb(tail: str) -> bool:
    limit = re.search(r",\s|\s(?:that|which|who|whose|and|but|or)\s", tail)
    return any(verb_like(word.strip(",.").lower()) for word in (tail[: limit.start()] if limit else tail).split())
