"""Evaluation from Python: what it takes, what it gives, and where it keeps it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.core.conftest import PlainJudge, make_sample

from ragboard import (
    NotFoundError,
    Panel,
    RunFileError,
    RunFileWarning,
    Sample,
    Score,
    Store,
    Unscored,
    aevaluate,
    evaluate,
)
from ragboard.metrics.ragas import Faithfulness
from ragboard.readers.memory import read_samples
from ragboard.records import Turn

ROWS = [
    {"question": "Where?", "answer": "Here. The door is red.", "contexts": ["The door is red."]},
    {"question": "When?", "answer": "", "contexts": ["Never."]},
]
EMPTY = Unscored(reason="undefined", detail="the answer is empty")


def test_rows_in_scores_and_reasons_out() -> None:
    found = evaluate(ROWS, metrics=["faithfulness"], judge=PlainJudge())
    assert found.outcomes("faithfulness") == (Score(value=0.5, counted="1 of 2 statements"), EMPTY)
    assert (found.metric("faithfulness").mean, found.metric("faithfulness").scored) == (0.5, 1)


def test_one_metric_is_named_without_a_list() -> None:
    one, listed = (evaluate(ROWS, metrics=given, judge=PlainJudge()) for given in ("faithfulness", ["faithfulness"]))
    assert one.outcomes("faithfulness") == listed.outcomes("faithfulness")


def test_a_frame_has_a_value_or_the_reason_why_not() -> None:
    frame = evaluate(ROWS, metrics=[Faithfulness()], judge=PlainJudge()).to_pandas()
    assert frame["ragas.faithfulness"].tolist() == [0.5, pd.NA]
    assert frame["ragas.faithfulness: why"].tolist()[1] == "undefined: the answer is empty"
    assert frame["question"].tolist() == ["Where?", "When?"]


def test_samples_rows_frames_and_arrays_in_them_are_the_same() -> None:
    plain = evaluate(ROWS, judge="embedded")
    frame = pd.DataFrame(ROWS)
    arrays = frame.assign(contexts=frame["contexts"].map(np.array), id=np.arange(2))
    assert evaluate(frame).samples == plain.samples
    assert [row.scores for row in evaluate(arrays).samples] == [row.scores for row in plain.samples]
    assert [row.sample_id for row in evaluate(arrays).samples] == ["0", "1"]
    assert len(evaluate([make_sample(1)]).samples) == 1


def test_a_missing_value_of_a_frame_is_a_missing_column_for_that_sample() -> None:
    frame = pd.DataFrame([{"question": "q", "answer": pd.NA}, {"question": "r", "answer": "A red door."}])
    first, _ = evaluate(frame.assign(contexts=[["c"], ["c"]]), metrics=["faithfulness"]).outcomes("faithfulness")
    assert first == Unscored(reason="skipped", detail="the run file has no answer for this sample")


def test_it_works_where_an_event_loop_runs_and_the_twin_lets_it_go_on() -> None:
    ticks = 0

    async def notebook() -> None:
        nonlocal ticks

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        ticking = asyncio.ensure_future(tick())
        inside = evaluate(ROWS, judge=PlainJudge())
        before = ticks
        awaited = await aevaluate(ROWS, judge=PlainJudge())
        ticking.cancel()
        assert [row.scores for row in awaited.samples] == [row.scores for row in inside.samples]
        assert ticks > before

    asyncio.run(notebook())


def test_with_a_store_the_run_is_kept_and_nothing_is_asked_twice(tmp_path: Path) -> None:
    first, second = PlainJudge(), PlainJudge()
    evaluate(ROWS, judge=first, store=tmp_path, name="mine", config={"k": 2})
    again = evaluate(ROWS, judge=Panel(judge=second), store=Store(tmp_path), name="mine", config={"k": 2})
    assert first.asked
    assert second.asked == []
    assert again.finished.replayed
    assert Store(tmp_path).resolve("mine").evaluation_id == again.finished.evaluation.id


def test_what_cannot_be_read_says_which_row() -> None:
    with pytest.raises(RunFileError, match=r"samples:2: .*question"):
        evaluate([*ROWS[:1], {"answer": "x"}])
    with pytest.raises(RunFileError, match="no column was taken for the question; it has x: mapping="):
        evaluate([{"x": 1}])
    with pytest.raises(RunFileError, match="there are none"):
        evaluate([])


def test_samples_are_held_to_what_a_file_is_held_to() -> None:
    with pytest.warns(RunFileWarning, match="id s1 of row 2 was there before and is now s1#2"):
        same = evaluate([make_sample(1), make_sample(1)], metrics=["faithfulness"], judge=PlainJudge())
    assert [row.sample_id for row in same.samples] == ["s1", "s1#2"]
    half = replace(make_sample(1), answer="It is red \ud800.", metadata={"seen": {1}})
    with pytest.warns(RunFileWarning, match=r"half a character \(lone surrogate\) replaced \(row 1\)"):
        assert len(evaluate([half], metrics=["faithfulness"], judge=PlainJudge()).samples) == 1
    with pytest.raises(RunFileError, match=r"samples:2: question: is empty"):
        evaluate([make_sample(1), replace(make_sample(2), question=" ")])


def test_a_sample_read_again_is_the_same() -> None:
    turns = (Turn(role="system", text="Be short."), Turn(role="assistant", text="Yes?"))
    whole = replace(make_sample(3), reference="", reference_contexts=("[1]",), history=turns, metadata={"k": [1, "2"]})
    bare = Sample(id="b", question="['a']", answer="[1]", contexts=())
    assert read_samples([whole, bare], name="run").runs[0].samples == (whole, bare)


def test_a_metric_that_was_not_evaluated_is_named_with_those_that_were() -> None:
    with pytest.raises(NotFoundError, match=r"'refusal' was not evaluated; there are ragas\.faithfulness"):
        evaluate([replace(make_sample(1))], metrics=["faithfulness"]).metric("refusal")
    with pytest.raises(NotFoundError, match=r"'nonsense' was not evaluated; there are ragas\.faithfulness"):
        evaluate([make_sample(1)], metrics=["faithfulness"]).metric("nonsense")


def test_a_metric_of_ones_own_is_found_by_its_bare_name_too() -> None:
    class Mine(Faithfulness):
        """Another definition of the same."""

        source = "mine"

    found = evaluate(ROWS, metrics=[Mine()], judge=PlainJudge())
    assert found.metric("faithfulness") == found.metric("mine.faithfulness")
