"""Compute BERTScore (Zhang et al. 2020, arXiv 1904.09675) with a model on this machine."""

from __future__ import annotations

import asyncio
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from importlib.resources import files
from threading import Lock
from typing import Any, TypeAlias

from ragboard.errors import JudgeError, SettingError
from ragboard.judges.local.models import (
    ANY_HARDWARE,
    Hardware,
    digest,
    load_layers,
    model_folder,
    read_json,
    replace_surrogates,
    running_on,
)
from ragboard.tasks import BertScore, BertScores, Failure, OnCall, Reply, Task, ignore_call

__all__ = ["DEFAULT_MODEL", "BertScorer"]

VERSION = "1"

DEFAULT_MODEL = "microsoft/deberta-xlarge-mnli"
"""The model that MTRAG uses. BERTScore's authors report that it correlates best with human ratings."""

BATCH_SIZE = 16
"""Number of texts that the model reads at once."""

# MODEL, MODEL:LAYER or MODEL:LAYER@FOLDER
_NAME = re.compile(r"(?P<model>[^:@]+)(:(?P<layer>\d+))?(@(?P<folder>.+))?")


@dataclass(frozen=True, kw_only=True)
class Baselines:
    """A model's mean scores of random pairs of English sentences."""

    layer: int
    """The recommended layer."""
    precision: tuple[float, ...]
    """The baseline of each layer, from layer 0."""
    recall: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class _Tokens:
    """The tokens of a text."""

    vectors: Any
    """A tensor with a unit vector per token, including the special tokens at the beginning and the end."""
    counted: Any
    """A tensor with False for special tokens, which are not averaged, else True."""


_Values: TypeAlias = tuple[float, float] | None
"""Precision and recall; None if a text has only special tokens."""


@cache
def baselines() -> Mapping[str, Baselines]:
    """Return the baselines by model."""
    tables = tomllib.loads(files("ragboard").joinpath("judges/local/bert_score.toml").read_text("utf-8"))
    return {
        name: Baselines(
            layer=table["layer"],
            precision=tuple(table["precision"]),
            recall=tuple(table["recall"]),
        )
        for name, table in tables.items()
    }


class BertScorer:
    """Answers BertScore: greedy matching of token embeddings, without idf weights, rescaled with the model's baseline.

    Precision is the mean, over the tokens of `text`, of a token's highest cosine with a token of the other text. Recall
    is the same mean over the tokens of the other text. If a text is longer than the model's limit, only its beginning
    is compared.

    `model` is `MODEL`, `MODEL:LAYER` or `MODEL:LAYER@FOLDER`. Raises SettingError for a model or layer without a known
    baseline, because its scores would not be comparable with the scores of other models. Raises JudgeError if the model
    cannot be downloaded or the folder has another kind of model. The weights are loaded with the first task; `answer`
    raises JudgeError if that fails.
    """

    heuristic = False
    answers: frozenset[type[Task]] = frozenset({BertScore})
    batch_size = 8

    def __init__(self, model: str = DEFAULT_MODEL, *, hardware: Hardware = ANY_HARDWARE) -> None:
        parts = _NAME.fullmatch(model)
        self.model = parts["model"] if parts else model
        known = baselines().get(self.model)
        if parts is None or known is None:
            raise SettingError(
                f"bertscore: no baseline is known for {model}, so its scores would not be comparable;"
                f" use {', '.join(baselines())}, or MODEL@FOLDER for a copy of such a model in a folder"
            )
        self.layer = int(parts["layer"] or known.layer)
        layers = len(known.precision) - 1
        if not 1 <= self.layer <= layers:
            raise SettingError(f"bertscore: layer is {self.layer}; {self.model} has layers 1 to {layers}")
        self.hardware = hardware
        self._is_default_layer = self.layer == known.layer
        self._baselines = (known.precision[self.layer], known.recall[self.layer])
        self._folder = model_folder(parts["folder"] or self.model)
        config = read_json(self._folder, "config.json", "a model")
        found = config.get("num_hidden_layers", config.get("n_layers")) if isinstance(config, dict) else None
        if found != layers:
            raise JudgeError(f"{self._folder}: has {found or 'no'} layers; {self.model} has {layers}")
        self._digest = digest(self._folder)
        self._lock = Lock()

    @property
    def name(self) -> str:
        """The name that users see: `bertscore:MODEL`, with the layer if it is not the recommended layer."""
        return f"bertscore:{self.model}" if self._is_default_layer else f"bertscore:{self.model}:{self.layer}"

    def __repr__(self) -> str:
        return f"BertScorer({self.name.removeprefix('bertscore:')!r})"

    def identity(self, task: type[Task]) -> str:
        """Return the model with a digest of its files, and the layer."""
        return f"bertscore/{VERSION}/{self.model}/{self.layer}/{self._digest}/{task.__name__}"

    async def answer(self, tasks: Sequence[Task], _on_call: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        """Return one reply or failure per task, in order; the model runs in a thread."""
        return await asyncio.to_thread(self._replies, tasks)

    def _replies(self, tasks: Sequence[Task]) -> list[Reply | Failure]:
        ours = [task for task in tasks if isinstance(task, BertScore)]
        texts = dict.fromkeys(text for task in ours for text in (task.text, *task.others))
        with self._lock, running_on(self.hardware):
            tokens = self._embed([*texts])
            return [self._reply(task, tokens) for task in tasks]

    def _reply(self, task: Task, tokens: Mapping[str, _Tokens]) -> BertScores | Failure:
        if not isinstance(task, BertScore):
            return Failure(detail=f"{self.name} does not answer {type(task).__name__}")
        pairs = [self._rescale(_match(tokens[task.text], tokens[other])) for other in task.others]
        if not all(math.isfinite(value) for pair in pairs if pair for value in pair):
            return Failure(detail=f"{self.name} returned a score that is not a number")
        return BertScores(
            precision=tuple(pair and pair[0] for pair in pairs), recall=tuple(pair and pair[1] for pair in pairs)
        )

    def _rescale(self, values: _Values) -> _Values:
        if values is None:
            return None
        (precision, recall), (precision_base, recall_base) = values, self._baselines
        return (precision - precision_base) / (1 - precision_base), (recall - recall_base) / (1 - recall_base)

    def _embed(self, texts: Sequence[str]) -> dict[str, _Tokens]:
        """Return the tokens of each text. Texts of similar length share a batch."""
        model, tokenizer = self._parts
        limits = (tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", 0))
        length = min(limit for limit in limits if limit > 0)
        encoded = {
            text: tokenizer(replace_surrogates(text).strip(), truncation=True, max_length=length)["input_ids"]
            for text in texts
        }
        in_order = sorted(texts, key=lambda text: len(encoded[text]))
        found: dict[str, _Tokens] = {}
        for start in range(0, len(in_order), BATCH_SIZE):
            batch = in_order[start : start + BATCH_SIZE]
            padded = tokenizer.pad({"input_ids": [encoded[text] for text in batch]}, return_tensors="pt")
            states = model(**padded.to(model.device))[0]
            for text, ids, rows in zip(batch, (encoded[text] for text in batch), states, strict=True):
                found[text] = _tokens(ids, rows, (tokenizer.cls_token_id, tokenizer.sep_token_id))
        return found

    @cached_property
    def _parts(self) -> tuple[Any, Any]:
        """Model, up to the layer, and tokenizer."""
        return load_layers(self._folder, self.layer, self.hardware)


def _tokens(ids: Sequence[int], rows: Any, marks: tuple[int | None, ...]) -> _Tokens:
    torch = import_module("torch")
    vectors = rows[: len(ids)].float().cpu()
    counted = torch.tensor([one not in marks for one in ids], dtype=torch.bool)
    return _Tokens(vectors=vectors / vectors.norm(dim=-1, keepdim=True), counted=counted)


def _match(text: _Tokens, other: _Tokens) -> _Values:
    """Return precision and recall. Special tokens can be matched, but are not averaged."""
    if not (text.counted.any() and other.counted.any()):
        return None
    cosines = text.vectors @ other.vectors.T
    precision = cosines.max(dim=1).values[text.counted].mean()
    recall = cosines.max(dim=0).values[other.counted].mean()
    return float(precision), float(recall)
