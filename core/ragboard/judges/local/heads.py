"""The kinds of model that verify statements: one label for the text, a label for each token, or a generated answer."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from ragboard.errors import JudgeError
from ragboard.judges.local.exports import load_export
from ragboard.judges.local.models import Hardware, exported, load, load_parts, read_json, readable, running_on
from ragboard.judges.local.presets import Reading
from ragboard.judges.local.verdicts import Scores, scores_of
from ragboard.judges.local.windows import Offsets, span, tokens_at, windows
from ragboard.records import Label
from ragboard.text.sentences import sentence_spans

__all__ = ["Head", "StatementTooLongError", "Texts", "head_of", "read_labels"]

Texts: TypeAlias = tuple[str, ...]
"""What a model reads at a time: one text, or two that its tokenizer joins."""

Spans: TypeAlias = tuple[tuple[int, int], ...]
"""(start, end) of parts of a text, in characters."""

BATCH = 32
"""Number of texts that the model reads at once."""

SPARE = 4
"""Tokens kept free, because a piece of a text may have a few more tokens by itself than within the text."""

MIN_PASSAGE_TOKENS = 16
"""Minimum number of tokens that a statement must leave for a passage."""

_MEANING: Mapping[str, Label] = {
    "entailment": "supported",
    "contradiction": "contradicted",
    "neutral": "unsupported",
    "not_entailment": "unsupported",
}
_NAMED = ({"entailment", "contradiction", "neutral"}, {"entailment", "not_entailment"}, {"entailment"})


_BY_PRESET = "; if it is the model of a preset, name it as local:PRESET@FOLDER"


class StatementTooLongError(Exception):
    """A statement is so long that it leaves no room for a passage."""


def read_labels(folder: Path) -> tuple[Label, ...]:
    """Return what the outputs of a model for entailment mean, by `id2label` in its config.json, in any order and case.

    The labels can be entailment, contradiction and neutral; entailment and not_entailment; or entailment. Raises
    JudgeError for other labels, whose meaning is unknown.
    """
    config = read_json(folder, "config.json", "a cross-encoder trained for entailment")
    named = config.get("id2label") if isinstance(config, dict) else None
    names = [str(name) for _, name in sorted(named.items(), key=_place)] if isinstance(named, dict) else []
    known = [name.lower().replace("-", "_") for name in names]
    if set(known) not in _NAMED or len(set(known)) < len(known):
        raise JudgeError(
            f"{folder}: its labels are {', '.join(names) or 'not named'};"
            f" expected entailment, contradiction and neutral (id2label in config.json){_BY_PRESET}"
        )
    return tuple(_MEANING[name] for name in known)


def _place(item: tuple[str, object]) -> tuple[int, str]:
    return len(item[0]), item[0]


class Head(ABC):
    """The model in a folder, loaded at its first use. Not thread-safe.

    Raises JudgeError if the folder holds another kind of model than `reading` is for.
    """

    architecture: ClassVar[str]
    """The suffix of its class names in transformers."""
    runs_exports: ClassVar[bool] = True
    """Whether an ONNX export can replace the model."""

    def __init__(self, folder: Path, reading: Reading, hardware: Hardware) -> None:
        self.folder = folder
        self.reading = reading
        self.hardware = hardware
        self.outputs = self._outputs()
        if hardware.backend == "onnx":
            if not self.runs_exports:
                raise JudgeError(f"{folder}: a model {self.architecture} runs with torch only; use --backend torch")
            exported(folder)

    def _outputs(self) -> tuple[Label, ...]:
        """Return what the outputs mean, and check that the folder has this kind of model."""
        config = read_json(self.folder, "config.json", "a model")
        config = config if isinstance(config, dict) else {}
        classes = [str(name) for name in config.get("architectures") or ()]
        if classes and not any(name.endswith(self.architecture) for name in classes):
            hint = "" if self.reading.outputs else _BY_PRESET
            raise JudgeError(f"{self.folder}: is a {classes[0]}; expected a model {self.architecture}{hint}")
        if not self.reading.outputs:
            return read_labels(self.folder)
        count = len(config.get("id2label") or self.reading.outputs)
        if count != len(self.reading.outputs):
            raise JudgeError(f"{self.folder}: has {count} outputs; expected {len(self.reading.outputs)}")
        return self.reading.outputs

    @cached_property
    def _parts(self) -> tuple[Any, Any]:
        """Model and tokenizer."""
        if self.hardware.backend == "onnx":
            model, tokenizer = load_export(self.folder, len(self.outputs), self.hardware)
        else:
            model, tokenizer = self._load()
        if not tokenizer.is_fast:
            raise JudgeError(f"{self.folder}: its tokenizer gives no token offsets; expected a fast tokenizer")
        return model, tokenizer

    def _load(self) -> tuple[Any, Any]:
        return load_parts(f"AutoModel{self.architecture}", self.folder, self.hardware)

    @property
    def model(self) -> Any:
        """The model of transformers, or its export."""
        return self._parts[0]

    @property
    def tokenizer(self) -> Any:
        """The model's tokenizer."""
        return self._parts[1]

    @cached_property
    def length(self) -> int:
        """Maximum number of tokens that the model reads."""
        return int(self.reading.length or self.tokenizer.model_max_length)

    def clean(self, text: str) -> str:
        """Return the text as the model can read it, with the same length.

        If the model reads one text, marks such as `</s>` separate statement and passage, so marks in them are blanked.
        """
        text = readable(text)
        return text if len(self.reading.texts) > 1 else self._marks.sub(lambda mark: " " * len(mark[0]), text)

    @cached_property
    def _marks(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, self.tokenizer.all_special_tokens)))

    def texts(self, question: str, passage: str, statement: str) -> Texts:
        """Return what the model reads."""
        values = {"question": question, "passage": passage, "statement": statement}
        return tuple(text.format_map(values) for text in self.reading.texts)

    def room(self, question: str, statement: str, window: int) -> int:
        """Return the number of tokens that question and statement leave for a passage, at most `window`.

        Raises StatementTooLongError if it is below `MIN_PASSAGE_TOKENS`.
        """
        frame = int(self.tokenizer.num_special_tokens_to_add(pair=len(self.reading.texts) > 1))
        frame += sum(len(self._offsets(text)) for text in self.texts(question, "", ""))
        limit = self.length - frame - SPARE
        used = len(self._offsets(statement))
        if limit - used < min(MIN_PASSAGE_TOKENS, window):
            raise StatementTooLongError(
                f"a statement of {used} tokens leaves no room for a passage; the model reads {limit} together"
            )
        return min(window, limit - used)

    def spans(self, passage: str, room: int) -> Spans:
        """Return (start, end) of the windows of a passage; empty for an empty passage."""
        offsets = self._offsets(passage)
        borders = tokens_at(offsets, [start for start, _ in sentence_spans(passage)])
        found = (span(passage, offsets, window) for window in windows(len(offsets), borders, room))
        return tuple(place for place in found if place)

    def _offsets(self, text: str) -> Offsets:
        cut: Mapping[str, Any] = self.tokenizer(
            text, add_special_tokens=False, return_offsets_mapping=True, truncation=False, verbose=False
        )
        offsets: Offsets = cut["offset_mapping"]
        return offsets

    def predict(self, texts: Sequence[Texts]) -> list[Scores | None]:
        """Return scores, in order; None if the model gives no number. Texts of similar length share a batch."""
        order = sorted(range(len(texts)), key=lambda place: -sum(map(len, texts[place])))
        scores: list[Scores | None] = [None] * len(texts)
        with running_on(self.hardware):
            for start in range(0, len(order), BATCH):
                batch = order[start : start + BATCH]
                for place, score in zip(batch, self._read([texts[each] for each in batch]), strict=True):
                    scores[place] = score
        return scores

    def _inputs(self, batch: Sequence[Texts], **settings: Any) -> Any:
        return self.tokenizer(
            *map(list, zip(*batch, strict=True)),
            padding=True,
            truncation=True,
            max_length=self.length,
            return_tensors="pt",
            **settings,
        )

    @abstractmethod
    def _read(self, batch: Sequence[Texts]) -> Iterable[Scores | None]:
        """Read a batch."""


class SequenceHead(Head):
    """One label for the text: models for entailment, fact checkers."""

    architecture = "ForSequenceClassification"

    def _load(self) -> tuple[Any, Any]:
        encoder = load("CrossEncoder", self.folder, self.hardware)
        encoder.eval()
        encoder.tokenizer.model_max_length = min(
            limit for limit in (encoder.max_seq_length, encoder.tokenizer.model_max_length) if limit
        )
        return encoder.model, encoder.tokenizer

    def _read(self, batch: Sequence[Texts]) -> Iterable[Scores | None]:
        logits = self.model(**self._inputs(batch).to(self.model.device)).logits
        return [scores_of(row, self.outputs) for row in logits.float().tolist()]


class TokensHead(Head):
    """A label for each token of the statement; the least supported token gives the score."""

    architecture = "ForTokenClassification"

    def _read(self, batch: Sequence[Texts]) -> Iterable[Scores | None]:
        inputs = self._inputs(batch, return_offsets_mapping=True)
        places = inputs.pop("offset_mapping").tolist()
        rows = self.model(**inputs.to(self.model.device)).logits.float().softmax(-1)
        doubts = rows[..., self.outputs.index("unsupported")].tolist()
        return [
            _marked(
                texts[-1], [(*place, doubt) for side, place, doubt in zip(sides, offsets, row, strict=True) if side]
            )
            for texts, sides, offsets, row in zip(
                batch, (inputs.sequence_ids(number) for number in range(len(batch))), places, doubts, strict=True
            )
        ]


def _marked(statement: str, tokens: Sequence[tuple[int, int, float]]) -> Scores | None:
    """Join neighbouring tokens (start, end, probability of being unsupported) with a probability above 0.5."""
    if not all(math.isfinite(doubt) for *_, doubt in tokens):
        return None
    runs = groupby(tokens, key=lambda token: token[2] > 0.5)
    spans = [(run[0][0], run[-1][1]) for doubted, found in runs if doubted and (run := list(found))]
    return Scores(
        support=round(1 - max((doubt for *_, doubt in tokens), default=0.0), 4),
        marked=tuple(statement[start:end].strip() for start, end in spans),
    )


class Seq2SeqHead(Head):
    """A generated answer; the first token of each possible answer is an output."""

    architecture = "ForConditionalGeneration"
    runs_exports = False

    def _load(self) -> tuple[Any, Any]:
        return load_parts("AutoModelForSeq2SeqLM", self.folder, self.hardware)

    @cached_property
    def _first(self) -> list[int]:
        """The first token of each answer."""
        found = [self.tokenizer(answer, add_special_tokens=False)["input_ids"][:1] for answer in self.reading.answers]
        first = [token for tokens in found for token in tokens]
        if len(set(first)) < len(self.reading.answers):
            raise JudgeError(f"{self.folder}: its tokenizer does not distinguish {' from '.join(self.reading.answers)}")
        return first

    def _read(self, batch: Sequence[Texts]) -> Iterable[Scores | None]:
        inputs = self._inputs(batch).to(self.model.device)
        begin = inputs["input_ids"].new_full((len(batch), 1), self.model.config.decoder_start_token_id)
        logits = self.model(**inputs, decoder_input_ids=begin, use_cache=False).logits[:, 0, self._first]
        return [scores_of(row, self.outputs) for row in logits.float().tolist()]


_HEADS: Mapping[str, type[Head]] = {"sequence": SequenceHead, "tokens": TokensHead, "seq2seq": Seq2SeqHead}


def head_of(folder: Path, reading: Reading, hardware: Hardware) -> Head:
    """Return the model in a folder, with this way to read it. Raises JudgeError if the model does not fit."""
    return _HEADS[reading.head](folder, reading, hardware)
