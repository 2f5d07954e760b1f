"""How an evaluation was judged, in the terms that make two of them the same."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ragboard.store import RunRef, Store

__all__ = ["judge_identity"]


def judge_identity(store: Store, run: RunRef) -> Mapping[str, str]:
    """For each kind of question who answered it: judge, model, prompts, version. Empty without an evaluation."""
    with store.database.read() as connection:
        row = connection.execute(
            "SELECT identity FROM evaluations WHERE evaluation_id = ?", [run.evaluation_id]
        ).fetchone()
    return {task: str(said) for task, said in json.loads(row[0]).items()} if row else {}
