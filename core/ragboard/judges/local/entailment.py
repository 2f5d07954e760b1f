"""A cross-encoder that says whether a passage entails a statement."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from ragboard.errors import JudgeError
from ragboard.judges.local.models import load, read_json
from ragboard.judges.local.verdicts import Odds
from ragboard.judges.local.windows import span, token_borders, windows
from ragboard.text.sentences import sentence_spans

__all__ = ["CrossEncoder", "Labels", "NoRoomError", "Pair", "Spans"]

Pair: TypeAlias = tuple[str, str]
"""A premise and a hypothesis."""

Spans: TypeAlias = tuple[tuple[int, int], ...]
"""Places in a text, by characters."""

BATCH = 32
"""Pairs that the model reads at a time."""

SPARE = 4
"""Tokens left free, for a piece of a text may be cut into a few more than it was in the whole."""

LEAST = 16
"""Tokens of a passage that must find room beside a statement."""


class NoRoomError(Exception):
    """A statement is so long that the model can read no passage beside it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Labels:
    """Which output of the model is which."""

    count: int
    entailment: int
    contradiction: int | None

    @classmethod
    def read(cls, folder: Path) -> Labels:
        """As `id2label` in the model's config.json names them, in any order and case.

        Three are entailment, contradiction, neutral; two are entailment and not_entailment; one is
        entailment. Raises JudgeError for others.
        """
        config = read_json(folder, "config.json", "a cross-encoder trained for entailment")
        named = config.get("id2label") if isinstance(config, dict) else None
        names = [str(name) for _, name in sorted(named.items(), key=_place)] if isinstance(named, dict) else []
        known = [name.lower().replace("-", "_") for name in names]
        if set(known) not in _KNOWN or len(set(known)) < len(known):
            raise JudgeError(
                f"{folder}: its labels are {', '.join(names) or 'not named'};"
                " expected entailment, contradiction and neutral (id2label in config.json)"
            )
        contradiction = known.index("contradiction") if "contradiction" in known else None
        return cls(count=len(known), entailment=known.index("entailment"), contradiction=contradiction)

    def odds(self, logits: Sequence[float]) -> Odds | None:
        """Probabilities to four decimals; None where the model's numbers are none."""
        if not all(map(math.isfinite, logits)):
            return None
        parts = _softmax(logits if self.count > 1 else (*logits, 0.0))
        return Odds(
            entailment=round(parts[self.entailment], 4),
            contradiction=None if self.contradiction is None else round(parts[self.contradiction], 4),
        )


_KNOWN = ({"entailment", "contradiction", "neutral"}, {"entailment", "not_entailment"}, {"entailment"})


def _place(item: tuple[str, object]) -> tuple[int, str]:
    return len(item[0]), item[0]


def _softmax(logits: Sequence[float]) -> list[float]:
    highest = max(logits)
    powers = [math.exp(logit - highest) for logit in logits]
    total = sum(powers)
    return [power / total for power in powers]


class CrossEncoder:
    """The model in a folder, loaded when it is first used. Not to be used by two threads at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.labels = Labels.read(folder)

    @cached_property
    def _model(self) -> Any:
        model = load("CrossEncoder", self.folder)
        if not model.tokenizer.is_fast:
            raise JudgeError(f"{self.folder}: its tokenizer does not tell where a token stands; expected a fast one")
        return model

    @cached_property
    def _limit(self) -> int:
        """Tokens of passage and statement together."""
        known = (self._model.max_seq_length, self._model.tokenizer.model_max_length)
        most = min(limit for limit in known if limit)
        return int(most) - int(self._model.tokenizer.num_special_tokens_to_add(pair=True)) - SPARE

    def room(self, statement: str, window: int) -> int:
        """Tokens of a passage that the model reads beside the statement, at most `window`.

        Raises NoRoomError where these are too few to be of use.
        """
        taken = len(self._offsets(statement))
        if self._limit - taken < min(LEAST, window):
            raise NoRoomError(
                f"a statement of {taken} tokens leaves no room for a passage; the model reads {self._limit} together"
            )
        return min(window, self._limit - taken)

    def spans(self, passage: str, room: int) -> Spans:
        """Where the windows of a passage stand in it; none where it is empty."""
        offsets = self._offsets(passage)
        borders = token_borders(offsets, [start for start, _ in sentence_spans(passage)])
        found = (span(passage, offsets, window) for window in windows(len(offsets), borders, room))
        return tuple(place for place in found if place)

    def _offsets(self, text: str) -> Sequence[tuple[int, int]]:
        cut: Mapping[str, Any] = self._model.tokenizer(
            text, add_special_tokens=False, return_offsets_mapping=True, truncation=False, verbose=False
        )
        offsets: Sequence[tuple[int, int]] = cut["offset_mapping"]
        return offsets

    def odds(self, pairs: Sequence[Pair]) -> list[Odds | None]:
        """For each pair whether the first text entails the second; None where the model gives no number."""
        if not pairs:
            return []
        as_they_are = import_module("torch").nn.Identity()
        rows = self._model.predict(list(pairs), batch_size=BATCH, activation_fn=as_they_are, show_progress_bar=False)
        return [self.labels.odds(row) for row in rows.reshape(len(pairs), -1).tolist()]
