"""Run models that verify statements. A model's head outputs a label for the text, labels of tokens, or an answer."""

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
from ragboard.judges.local.models import (
    Hardware,
    load,
    load_parts,
    onnx_export,
    read_json,
    replace_surrogates,
    running_on,
)
from ragboard.judges.local.onnx import load_onnx_model
from ragboard.judges.local.presets import Reading
from ragboard.judges.local.verdicts import Scores, scores_from_logits
from ragboard.judges.local.windows import Offsets, span, tokens_at, windows
from ragboard.records import Label
from ragboard.text.sentences import sentence_spans

__all__ = ["Head", "StatementTooLongError", "Texts", "create_head", "read_labels"]

Texts: TypeAlias = tuple[str, ...]
"""One input of a model: a text, or two texts that the tokenizer joins."""

Spans: TypeAlias = tuple[tuple[int, int], ...]
"""(start, end) of parts of a text, in characters."""

BATCH_SIZE = 32
"""Number of texts that the model reads at once."""

SPARE_TOKENS = 4
"""Tokens of an input that stay free, because a window alone can have more tokens than it has within the passage."""

MIN_PASSAGE_TOKENS = 16
"""Minimum number of tokens of an input that are left for the passage, after the statement."""

_LABEL_OF: Mapping[str, Label] = {
    "entailment": "supported",
    "contradiction": "contradicted",
    "neutral": "unsupported",
    "not_entailment": "unsupported",
}
_LABEL_SETS = ({"entailment", "contradiction", "neutral"}, {"entailment", "not_entailment"}, {"entailment"})
"""The possible sets of a model's labels."""

_PRESET_HINT = "; if it is the model of a preset, name it as local:PRESET@FOLDER"


class StatementTooLongError(Exception):
    """A statement is too long: it leaves too few tokens for a passage."""


def read_labels(folder: Path) -> tuple[Label, ...]:
    """Return the meaning of each output of an entailment model, from `id2label` in its config.json.

    The labels must be one of `_LABEL_SETS`, in any order and case. Raises JudgeError for other labels.
    """
    config = read_json(folder, "config.json", "a cross-encoder trained for entailment")
    labels = config.get("id2label") if isinstance(config, dict) else None
    names = [str(name) for _, name in sorted(labels.items(), key=_numeric_order)] if isinstance(labels, dict) else []
    normalized = [name.lower().replace("-", "_") for name in names]
    if set(normalized) not in _LABEL_SETS or len(set(normalized)) < len(normalized):
        raise JudgeError(
            f"{folder}: its labels are {', '.join(names) or 'not named'};"
            f" expected entailment, contradiction and neutral (id2label in config.json){_PRESET_HINT}"
        )
    return tuple(_LABEL_OF[name] for name in normalized)


def _numeric_order(item: tuple[str, object]) -> tuple[int, str]:
    return len(item[0]), item[0]


class Head(ABC):
    """A model in a folder, loaded when it is first used. Not thread-safe.

    Raises JudgeError if the model is not of the kind that `reading` describes.
    """

    architecture: ClassVar[str]
    """The suffix of the model's class name in transformers."""
    runs_exports: ClassVar[bool] = True
    """Whether an ONNX export can replace the model."""

    def __init__(self, folder: Path, reading: Reading, hardware: Hardware) -> None:
        self.folder = folder
        self.reading = reading
        self.hardware = hardware
        self.outputs = self._outputs()
        if hardware.backend == "onnx":
            if not self.runs_exports:
                raise JudgeError(f"{folder}: a model {self.architecture} runs only with torch; use --backend torch")
            onnx_export(folder)

    def _outputs(self) -> tuple[Label, ...]:
        """Check that the folder has this kind of model, and return the meaning of its outputs."""
        config = read_json(self.folder, "config.json", "a model")
        config = config if isinstance(config, dict) else {}
        classes = [str(name) for name in config.get("architectures") or ()]
        if classes and not any(name.endswith(self.architecture) for name in classes):
            hint = "" if self.reading.outputs else _PRESET_HINT
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
            model, tokenizer = load_onnx_model(self.folder, len(self.outputs), self.hardware)
        else:
            model, tokenizer = self._load()
        if not tokenizer.is_fast:
            raise JudgeError(f"{self.folder}: its tokenizer gives no token offsets; expected a fast tokenizer")
        return model, tokenizer

    def _load(self) -> tuple[Any, Any]:
        return load_parts(f"AutoModel{self.architecture}", self.folder, self.hardware)

    @property
    def model(self) -> Any:
        """The transformers model, or its ONNX export."""
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
        """Replace characters that the model cannot read. The length stays the same.

        If the model reads statement and passage as one text, a special token such as `</s>` separates them. Special
        tokens in the text are then replaced by spaces.
        """
        text = replace_surrogates(text)
        return (
            text if len(self.reading.texts) > 1 else self._special_tokens.sub(lambda match: " " * len(match[0]), text)
        )

    @cached_property
    def _special_tokens(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, self.tokenizer.all_special_tokens)))

    def texts(self, question: str, passage: str, statement: str) -> Texts:
        """Return the input texts for a passage and a statement."""
        values = {"question": question, "passage": passage, "statement": statement}
        return tuple(text.format_map(values) for text in self.reading.texts)

    def room(self, question: str, statement: str, window: int) -> int:
        """Return the number of tokens that are left for a passage, at most `window`.

        Raises StatementTooLongError if these are fewer than both `MIN_PASSAGE_TOKENS` and `window`.
        """
        frame = int(self.tokenizer.num_special_tokens_to_add(pair=len(self.reading.texts) > 1))
        frame += sum(len(self._offsets(text)) for text in self.texts(question, "", ""))
        limit = self.length - frame - SPARE_TOKENS
        used = len(self._offsets(statement))
        if limit - used < min(MIN_PASSAGE_TOKENS, window):
            raise StatementTooLongError(
                f"a statement of {used} tokens leaves no room for a passage; the model reads {limit} tokens at a time"
            )
        return min(window, limit - used)

    def spans(self, passage: str, room: int) -> Spans:
        """Return (start, end) of the windows of a passage; empty for an empty passage."""
        offsets = self._offsets(passage)
        borders = tokens_at(offsets, [start for start, _ in sentence_spans(passage)])
        spans = (span(passage, offsets, window) for window in windows(len(offsets), borders, room))
        return tuple(window_span for window_span in spans if window_span)

    def _offsets(self, text: str) -> Offsets:
        encoding: Mapping[str, Any] = self.tokenizer(
            text, add_special_tokens=False, return_offsets_mapping=True, truncation=False, verbose=False
        )
        offsets: Offsets = encoding["offset_mapping"]
        return offsets

    def predict(self, texts: Sequence[Texts]) -> list[Scores | None]:
        """Return the scores of each input, in order; None if an output is not finite.

        Inputs of similar length share a batch.
        """
        order = sorted(range(len(texts)), key=lambda index: -sum(map(len, texts[index])))
        scores: list[Scores | None] = [None] * len(texts)
        with running_on(self.hardware):
            for start in range(0, len(order), BATCH_SIZE):
                batch = order[start : start + BATCH_SIZE]
                for index, score in zip(batch, self._read([texts[index] for index in batch]), strict=True):
                    scores[index] = score
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
        """Return the scores of each input of a batch; None if an output is not finite."""


class SequenceHead(Head):
    """Outputs a label for the text, as entailment models and most fact checkers do."""

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
        return [scores_from_logits(row, self.outputs) for row in logits.float().tolist()]


class TokensHead(Head):
    """Outputs a label for each token of the statement. The score is that of the least supported token."""

    architecture = "ForTokenClassification"

    def _read(self, batch: Sequence[Texts]) -> Iterable[Scores | None]:
        inputs = self._inputs(batch, return_offsets_mapping=True)
        offsets = inputs.pop("offset_mapping").tolist()
        probabilities = self.model(**inputs.to(self.model.device)).logits.float().softmax(-1)
        unsupported = probabilities[..., self.outputs.index("unsupported")].tolist()
        scores: list[Scores | None] = []
        for number, texts in enumerate(batch):
            # tokens of the statement, the second text, have the id 1; those of the passage 0; special tokens None
            tokens = [
                (start, end, probability)
                for text_id, (start, end), probability in zip(
                    inputs.sequence_ids(number), offsets[number], unsupported[number], strict=True
                )
                if text_id
            ]
            scores.append(_token_scores(texts[-1], tokens))
        return scores


def _token_scores(statement: str, tokens: Sequence[tuple[int, int, float]]) -> Scores | None:
    """Return the scores of a statement from its tokens; None if a probability is not finite.

    `tokens` has (start, end, probability that the token is unsupported). Adjacent tokens with a probability above 0.5
    form an unsupported part.
    """
    if not all(math.isfinite(probability) for *_, probability in tokens):
        return None
    parts: list[str] = []
    for is_unsupported, group in groupby(tokens, key=lambda token: token[2] > 0.5):
        if is_unsupported:
            run = list(group)
            parts.append(statement[run[0][0] : run[-1][1]].strip())
    highest = max((probability for *_, probability in tokens), default=0.0)
    return Scores(support=round(1 - highest, 4), marked=tuple(parts))


class Seq2SeqHead(Head):
    """Generates an answer. The outputs are the probabilities of the first token of each possible answer."""

    architecture = "ForConditionalGeneration"
    runs_exports = False

    def _load(self) -> tuple[Any, Any]:
        return load_parts("AutoModelForSeq2SeqLM", self.folder, self.hardware)

    @cached_property
    def _answer_tokens(self) -> list[int]:
        """The first token of each answer."""
        tokens: list[int] = []
        for answer in self.reading.answers:
            tokens += self.tokenizer(answer, add_special_tokens=False)["input_ids"][:1]
        if len(set(tokens)) < len(self.reading.answers):
            raise JudgeError(f"{self.folder}: its tokenizer does not distinguish {' from '.join(self.reading.answers)}")
        return tokens

    def _read(self, batch: Sequence[Texts]) -> Iterable[Scores | None]:
        inputs = self._inputs(batch).to(self.model.device)
        begin = inputs["input_ids"].new_full((len(batch), 1), self.model.config.decoder_start_token_id)
        logits = self.model(**inputs, decoder_input_ids=begin, use_cache=False).logits[:, 0, self._answer_tokens]
        return [scores_from_logits(row, self.outputs) for row in logits.float().tolist()]


_HEADS: Mapping[str, type[Head]] = {"sequence": SequenceHead, "tokens": TokensHead, "seq2seq": Seq2SeqHead}


def create_head(folder: Path, reading: Reading, hardware: Hardware) -> Head:
    """Return the head for the model in a folder. Raises JudgeError if `reading` does not describe the model."""
    return _HEADS[reading.head](folder, reading, hardware)
