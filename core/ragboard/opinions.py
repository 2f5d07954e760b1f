"""What people said of answers, and what others scored of the same: frozen nouns, no behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ragboard.records import Outcome, Sample

__all__ = ["Agreement", "Contender", "ContenderKind", "Form", "Item", "Judged", "Opinion", "Said"]

Form = Literal["pairs", "answers", "statements"]
"""What people judged: which of two is better; how good an answer is; whether a statement is so."""

ContenderKind = Literal["metric", "baseline", "trivial", "published"]
"""A metric of ours; a model asked at once; what reads nothing; what the file brings from elsewhere."""

Opinion: TypeAlias = float | None
"""What one annotator said; None where he or she did not. Of pairs: above 0 B is better, below 0 A, 0 neither."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """One thing that people judged."""

    id: str
    cluster: str
    """What items have in common that are not independent of each other: the question, the conversation."""
    sides: tuple[Sample, ...]
    """The answer, or the candidates A and B; of a statement the answer is the statement."""
    said: Mapping[str, tuple[Opinion, ...]]
    """By dimension what each annotator said."""
    published: Mapping[str, Mapping[str, tuple[float, ...]]] = field(
        default_factory=dict[str, Mapping[str, tuple[float, ...]]]
    )
    """Scores that the file brings: by contender and dimension one for each side."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """A file of what people said."""

    form: Form
    name: str
    source: str
    """The file, or the data set of the hub, as a person names it."""
    items: tuple[Item, ...]
    notes: tuple[str, ...] = ()
    """What had to be left out or read as something else."""

    @property
    def dimensions(self) -> tuple[str, ...]:
        """What people judged, in order of first appearance."""
        return tuple(dict.fromkeys(dimension for item in self.items for dimension in item.said))


@dataclass(frozen=True, kw_only=True, slots=True)
class Contender:
    """Who is held against people."""

    name: str
    kind: ContenderKind
    metrics: Mapping[str, str] = field(default_factory=dict[str, str])
    """By dimension the metric that it is there; empty where it is none."""
    lower: bool = False
    """Whether a lower score is the better one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What a contender made of one item in one dimension: an outcome for each side."""

    position: int
    """The item, from 0."""
    dimension: str
    contender: str
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """Contenders held against what people said, kept in the store."""

    id: str
    name: str
    form: Form
    source: str
    judge: str
    heuristic: bool
    seed: int
    """Of the coin."""
    contenders: tuple[Contender, ...]
    notes: tuple[str, ...] = ()
