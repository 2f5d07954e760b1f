"""Compare the meaning of texts."""

from __future__ import annotations

from dataclasses import dataclass

from ragboard.records import Sample
from ragboard.tasks.base import Reply, ReplySizes, Task, as_json, count_in_words, wrong_count

__all__ = ["Similarities", "Similarity"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Similarities(Reply):
    """The similarity of `text` and each of the task's `others`, in order, in [-1, 1]."""

    values: tuple[float, ...]

    def describe(self) -> str:
        return ", ".join(f"{value:.2f}" for value in self.values) or "none"


@dataclass(frozen=True, kw_only=True, slots=True)
class Similarity(Task[Similarities]):
    """Compare the meaning of `text` and each of `others`. An embedder answers this without a prompt."""

    role = "embed"
    is_judgement = False
    reply = Similarities

    text: str
    others: tuple[str, ...]
    draw: int = 0

    def check(self, reply: Similarities, /) -> str | None:
        return wrong_count("similarities", len(reply.values), len(self.others))

    def describe(self, sample: Sample) -> str:
        return f"Compare the meaning of a text with {count_in_words(self.others, 'other text')}"

    def simulate(self, sizes: ReplySizes) -> tuple[Similarities, str]:
        return Similarities(values=(0.0,) * len(self.others)), as_json("")
