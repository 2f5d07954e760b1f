"""Name the people, places, things, dates and amounts of a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragboard.records import Sample
from ragboard.tasks.base import PromptFiles, PromptTexts, Reply, Sizes, Task, as_json
from ragboard.tasks.replies import Json, ReplyModel, Texts

__all__ = ["Entities", "ExtractEntities"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Entities(Reply):
    """The names as the text has them, in reading order, each once."""

    names: tuple[str, ...]

    def describe(self) -> str:
        """The names themselves."""
        return ", ".join(self.names) or "no name"


class EntitiesJson(ReplyModel):
    """A list of names."""

    key = "entities"
    entities: Texts


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractEntities(Task[Entities]):
    """Name the people, places, things, dates and amounts of a text."""

    role = "ask"
    reply = Entities
    prompts: ClassVar[PromptFiles] = {"extract_entities": ("text",)}
    tags = ("text",)

    text: str
    draw: int = 0

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        """The text."""
        del prompts, mark
        return {"text": self.text}

    def without_asking(self) -> Entities | None:
        """An empty text names nothing."""
        return None if self.text.strip() else Entities(names=())

    def reply_model(self) -> type[ReplyModel]:
        """The names."""
        return EntitiesJson

    def parse(self, value: Json) -> Entities:
        """Each once."""
        return Entities(names=tuple(dict.fromkeys(EntitiesJson.read(value, self).entities)))

    def check(self, reply: Entities, /) -> str | None:
        """Each once, none empty."""
        if any(not name.strip() for name in reply.names):
            return "an empty name"
        return "a name twice" if len(set(reply.names)) < len(reply.names) else None

    def describe(self, sample: Sample) -> str:
        """What is asked for."""
        del sample
        return "Name the people, places, things, dates and amounts of a text"

    def simulate(self, sizes: Sizes) -> tuple[Entities, str]:
        """One word in ten is a name; at worst every one."""
        words = tuple(dict.fromkeys(self.text.split()[:: 1 if sizes.at_least else 10]))
        return Entities(names=words), as_json({"entities": words})
