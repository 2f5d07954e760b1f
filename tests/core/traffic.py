"""Stores with live traffic: samples with times and scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from ragboard import Run, Sample, Store
from ragboard.metrics import METRICS, describe
from ragboard.records import Evaluation, JsonValue, Passage

FAITHFULNESS = "ragas.faithfulness"
START = datetime.fromisoformat("2026-09-07")
"""A Monday."""


@dataclass
class Day:
    """The scores of a day, None for an unscored sample; spread over the day."""

    scores: Sequence[float | None]
    number: int
    metadata: Sequence[Mapping[str, JsonValue]] = ()
    statements: Sequence[Sequence[str]] = ()
    """Unsupported statements of each answer."""

    def samples(self) -> list[Sample]:
        """The samples, evenly spread over the day."""
        step = timedelta(days=1) / max(len(self.scores), 1)
        start = START + timedelta(days=self.number)
        return [
            Sample(
                id=f"d{self.number}-{place}",
                question=f"Question {place} of day {self.number}?",
                answer="It is red.",
                contexts=(Passage(id="p1", text="The thing is red.", rank=1),),
                time=start + place * step,
                metadata=self.metadata[place] if self.metadata else {},
            )
            for place in range(len(self.scores))
        ]


def add_traffic(
    store: Store,
    days: Sequence[Day],
    *,
    name: str = "chat 1.0 (production)",
    dataset: str = "chat (production)",
    version: str = "1.0",
    metric: str = FAITHFULNESS,
    judge: str = "plain",
) -> str:
    """Append days to a growing run, load their scores, and return the id of the evaluation."""
    samples = [sample for day in days for sample in day.samples()]
    config: dict[str, JsonValue] = {"service": "chat", "version": version}
    store.append(Run(name=name, dataset=dataset, samples=tuple(samples), config=config))
    run_id = store.resolve(name).run_id
    first = store.sample_count(run_id) - len(samples)
    scores = [score for day in days for score in day.scores]
    evaluation = f"{name}-{judge}".replace(" ", "-")
    rows = [
        {
            "position": first + place,
            "metric": metric,
            "value": score,
            "counted": "",
            "reason": None if score is not None else "failed",
            "detail": "",
        }
        for place, score in enumerate(scores)
    ]
    said = [text for day in days for text in (day.statements or [()] * len(day.scores))]
    statements, verdicts = _statements(said, first)
    with TemporaryDirectory() as folder:
        files = {
            table: [_parquet(Path(folder) / f"{table}.parquet", found)]
            for table, found in (("scores", rows), ("statements", statements), ("verdicts", verdicts))
            if found
        }
        store.load(
            Evaluation(
                id=evaluation,
                run_id=run_id,
                judge=judge,
                heuristic=False,
                identity={"Verify": judge},
                metrics=(metric,),
            ),
            files,
            [describe(METRICS[metric])],
        )
    return evaluation


def _statements(said: Sequence[Sequence[str]], first: int) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    statements: list[dict[str, object]] = []
    verdicts: list[dict[str, object]] = []
    for place, texts in enumerate(said):
        for number, text in enumerate(texts):
            at: dict[str, object] = {"position": first + place, "side": "response", "statement": number}
            statements.append({**at, "text": text})
            verdicts.append({**at, "target": "joint", "label": "unsupported", "reason": "no passage", "evidence": "[]"})
    return statements, verdicts


def _parquet(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    schema = None
    if "value" in rows[0]:
        text = pa.string()
        schema = pa.schema(
            {
                "position": pa.int32(),
                "metric": text,
                "value": pa.float64(),
                "counted": text,
                "reason": text,
                "detail": text,
            }
        )
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), path)
    return path
