"""List the people, places, things, dates and amounts that a text names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragboard.records import Sample
from ragboard.tasks.base import PromptFiles, PromptTexts, Reply, ReplySizes, Task, as_json
from ragboard.tasks.replies import Json, ReplyModel, Texts

__all__ = ["Entities", "ExtractEntities"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Entities(Reply):
    """The names, in the spelling and order of the text, without repetition."""

    names: tuple[str, ...]

    def describe(self) -> str:
        return ", ".join(self.names) or "no names"


class EntitiesJson(ReplyModel):
    """A list of names, as JSON."""

    key = "entities"
    entities: Texts


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractEntities(Task[Entities]):
    """List the people, places, things, dates and amounts that a text names."""

    role = "other"
    is_judgement = False
    reply = Entities
    reply_model = EntitiesJson
    prompts: ClassVar[PromptFiles] = {"extract_entities": ("text",)}
    tags = ("text",)

    text: str
    draw: int = 0

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        return {"text": self.text}

    def trivial_reply(self) -> Entities | None:
        return None if self.text.strip() else Entities(names=())

    def parse(self, value: Json) -> Entities:
        return Entities(names=tuple(dict.fromkeys(EntitiesJson.read(value, self).entities)))

    def check(self, reply: Entities, /) -> str | None:
        if any(not name.strip() for name in reply.names):
            return "a name is empty"
        return "a name occurs twice" if len(set(reply.names)) < len(reply.names) else None

    def describe(self, sample: Sample) -> str:
        return "List the people, places, things, dates and amounts that a text names"

    def simulate(self, sizes: ReplySizes) -> tuple[Entities, str]:
        """Assume that one word in ten is a name; in the worst case, every word."""
        words = tuple(dict.fromkeys(self.text.split()[:: 1 if sizes.worst_case else 10]))
        return Entities(names=words), as_json({"entities": words})
