"""What a label by a person hangs on: an answer in its setting, whichever run it stands in."""

from __future__ import annotations

import json
from dataclasses import asdict
from hashlib import md5

from ragboard.records import Sample

__all__ = ["answer_key"]


def answer_key(sample: Sample) -> str:
    """Digest of question, history, answer and the texts of the passages, in whatever order these were retrieved."""
    history = json.dumps([asdict(turn) for turn in sample.history], ensure_ascii=False, sort_keys=True)
    passages = sorted(_digest(passage.text) for passage in sample.contexts or ())
    return _digest("".join((_digest(sample.question), _digest(history), _digest(sample.answer or ""), *passages)))


def _digest(text: str) -> str:
    return md5(text.encode(), usedforsecurity=False).hexdigest()
