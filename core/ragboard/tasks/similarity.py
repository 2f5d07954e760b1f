"""Compare texts in meaning."""

from __future__ import annotations

from dataclasses import dataclass

from ragboard.records import Sample
from ragboard.tasks.base import Reply, Sizes, Task, as_json, count_of, wrong_count

__all__ = ["Similarities", "Similarity"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Similarities(Reply):
    """Cosine similarities in [-1, 1], one for each of the task's `others`, in order."""

    values: tuple[float, ...]

    def describe(self) -> str:
        return ", ".join(f"{value:.2f}" for value in self.values) or "none"


@dataclass(frozen=True, kw_only=True, slots=True)
class Similarity(Task[Similarities]):
    """Compare `text` with each of `others` in meaning. An embedder answers this; there is no prompt."""

    role = "embed"
    is_judgement = False
    reply = Similarities

    text: str
    others: tuple[str, ...]
    draw: int = 0

    def check(self, reply: Similarities, /) -> str | None:
        return wrong_count("similarities", len(reply.values), len(self.others))

    def describe(self, sample: Sample) -> str:
        return f"Compare the meaning of a text with {count_of(self.others, 'other text')}"

    def simulate(self, sizes: Sizes) -> tuple[Similarities, str]:
        return Similarities(values=(0.0,) * len(self.others)), as_json("")
