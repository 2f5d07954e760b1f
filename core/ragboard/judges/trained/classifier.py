"""The classifier of one ARES quality: a cross-encoder that reads long documents in windows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import chain
from typing import Any, cast

from ragboard.errors import JudgeError
from ragboard.judges.local.models import replace_surrogates
from ragboard.judges.local.windows import span, tokens_at, windows
from ragboard.judges.trained.judge_file import InputText
from ragboard.tasks import AresQuality
from ragboard.text.sentences import sentence_spans

__all__ = ["MODEL_INPUTS", "Classifier", "TextTooLongError"]

MODEL_INPUTS: Mapping[AresQuality, tuple[InputText, ...]] = {
    "context_relevance": ("question", "document"),
    "answer_faithfulness": ("question", "document", "answer"),
    "answer_relevance": ("question", "answer"),
}
"""The texts that the model of each quality reads.

They are those of Saad-Falcon et al. 2024, with one exception: answer relevance is judged without the document, because
its definition does not mention documents."""

SEPARATOR = " | "

SPARE_TOKENS = 8
"""Tokens of a window reserved for separators, and for tokens that are added when a text is split."""

MIN_DOCUMENT_TOKENS = 32
"""Minimum number of tokens of a window that are left for the document, after question and answer."""

BATCH_SIZE = 32
"""Number of texts that the model reads at once."""


class TextTooLongError(Exception):
    """Question and answer are too long: they leave too few tokens for a document."""


class Classifier:
    """A cross-encoder with one output. It reads the texts named in `reads`, joined by ` | `. Not thread-safe."""

    def __init__(self, encoder: Any, reads: tuple[InputText, ...], max_length: int) -> None:
        """Wrap a sentence-transformers CrossEncoder. Raises JudgeError if its tokenizer gives no offsets."""
        if not encoder.tokenizer.is_fast:
            raise JudgeError("the model's tokenizer gives no token offsets; expected a fast tokenizer")
        self.encoder = encoder
        self.reads = reads
        self.max_length = max_length
        self._limit = max_length - int(encoder.tokenizer.num_special_tokens_to_add(pair=False)) - SPARE_TOKENS

    def texts(self, question: str, contexts: Sequence[str], answer: str) -> tuple[str, ...]:
        """Return the texts that the model reads: one for each window of the contexts.

        A window has as many contexts as fit, in order. A context that is longer than a window is split, between
        sentences if possible. A model that reads no document gets one text. Returns an empty tuple if the model reads a
        document and all contexts are empty. Raises TextTooLongError if question and answer leave too few tokens for a
        document.
        """
        texts = {"question": _clean(question), "answer": _clean(answer)}
        fixed = [texts[part] for part in self.reads if part != "document"]
        room = self._limit - sum(len(self._offsets(text)) for text in fixed)
        if room < (MIN_DOCUMENT_TOKENS if "document" in self.reads else 0):
            raise TextTooLongError(
                f"question and answer have {self._limit - room} of {self._limit} tokens, which leaves no room for a"
                " document"
            )
        if "document" not in self.reads:
            return (SEPARATOR.join(fixed),)
        packed = self._pack([*map(_clean, contexts)], room)
        return tuple(SEPARATOR.join((texts | {"document": window})[part] for part in self.reads) for window in packed)

    def _pack(self, contexts: Sequence[str], room: int) -> list[str]:
        """Join the contexts into windows of at most `room` tokens. Longer contexts are split."""
        packed: list[str] = []
        window: list[str] = []
        used = 0
        for piece, tokens in chain.from_iterable(self._pieces(context, room) for context in contexts):
            if window and used + tokens > room:
                packed.append(" ".join(window))
                window, used = [], 0
            window.append(piece)
            used += tokens
        return [*packed, " ".join(window)] if window else packed

    def _pieces(self, text: str, room: int) -> Iterator[tuple[str, int]]:
        offsets = self._offsets(text)
        borders = tokens_at(offsets, [start for start, _ in sentence_spans(text)])
        for window in windows(len(offsets), borders, room):
            piece = span(text, offsets, window)
            if piece:
                yield text[slice(*piece)], len(window)

    def _offsets(self, text: str) -> Sequence[tuple[int, int]]:
        encoding = self.encoder.tokenizer(
            text, add_special_tokens=False, return_offsets_mapping=True, truncation=False, verbose=False
        )
        return cast("Sequence[tuple[int, int]]", encoding["offset_mapping"])

    def outputs(self, texts: Sequence[str]) -> Any:
        """Return a tensor with one output per text. All texts are read in one batch."""
        inputs = self.encoder.tokenizer(
            list(texts), padding=True, truncation=True, max_length=self.max_length, return_tensors="pt"
        )
        return self.encoder.model(**inputs.to(self.encoder.device)).logits.squeeze(-1)

    def logits(self, texts: Sequence[str]) -> list[float]:
        """Return the model's output for each text, in order. Texts of similar length share a batch."""
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        logits = [0.0] * len(texts)
        self.encoder.eval()
        with import_module("torch").inference_mode():
            for start in range(0, len(order), BATCH_SIZE):
                batch = order[start : start + BATCH_SIZE]
                for index, output in zip(batch, self.outputs([texts[index] for index in batch]).tolist(), strict=True):
                    logits[index] = output
        return logits


def _clean(text: str) -> str:
    return " ".join(replace_surrogates(text).split())
