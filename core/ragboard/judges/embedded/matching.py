"""What a scope says of a claim: the best of a few close looks, its support, and the label that follows."""

from __future__ import annotations

from dataclasses import dataclass

from ragboard.judges.embedded.conflicts import Conflict
from ragboard.judges.embedded.features import FEATURES, Seen, look
from ragboard.judges.embedded.lookup import Lookup, Scope
from ragboard.judges.embedded.model import Model, model
from ragboard.records import Label

__all__ = ["SUPPORTED", "Match", "best_match", "judged", "supporting"]

SUPPORTED = 0.5
"""The support from which a statement counts as supported.

Where a sentence says otherwise, support is halved; where a number or date is not said there, it stays below."""
AT_MOST = 0.49


@dataclass(frozen=True, slots=True)
class Match:
    """A claim held against one sentence or two of a scope."""

    label: Label
    score: float
    """Support in [0, 1]."""
    seen: Seen | None = None
    """The close look it comes from; None where no word is shared."""

    @property
    def sentences(self) -> tuple[int, ...]:
        """Their numbers in the library."""
        return self.seen.sentences if self.seen else ()

    @property
    def missing(self) -> frozenset[str]:
        """Items that these sentences do not say."""
        return self.seen.missing if self.seen else frozenset()

    @property
    def conflict(self) -> Conflict | None:
        """What they say against the claim."""
        return self.seen.conflict if self.seen else None


NOTHING = Match("unsupported", 0.0)
_ORDER: dict[Label, int] = {"supported": 2, "contradicted": 1, "unsupported": 0}


def supporting() -> Model:
    """The model of support."""
    return model("support", tuple(FEATURES))


def best_match(lookup: Lookup, scope: Scope) -> Match:
    """The best of the close looks at a scope: support outweighs a contradiction elsewhere."""
    weigh = supporting()
    looks = [judged(look(lookup, lead, scope), weigh) for lead in lookup.leads(scope)]
    return max(looks, key=lambda match: (_ORDER[match.label], match.score), default=NOTHING)


def judged(seen: Seen, weigh: Model) -> Match:
    """The label and support of one close look."""
    score = weigh(seen.values)
    if seen.conflict:
        return Match("contradicted", SUPPORTED * score, seen)
    if seen.lacks_figure:
        return Match("unsupported", min(score, AT_MOST), seen)
    return Match("supported" if score >= SUPPORTED else "unsupported", score, seen)
