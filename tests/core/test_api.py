"""Tests of `ragboard.evaluate`: arguments, results, and storage."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.chat_server import chat_server
from tests.core.conftest import PlainJudge, make_sample

from ragboard import (
    JudgeOptions,
    NotFoundError,
    Panel,
    RunFileError,
    RunFileWarning,
    Sample,
    Score,
    SettingError,
    Store,
    Unscored,
    aevaluate,
    alog,
    evaluate,
)
from ragboard.metrics.ragas import Faithfulness
from ragboard.readers.objects import read_samples
from ragboard.records import Turn

ROWS = [
    {"question": "Where?", "answer": "Here. The door is red.", "contexts": ["The door is red."]},
    {"question": "When?", "answer": "", "contexts": ["Never."]},
]
EMPTY = Unscored(reason="undefined", detail="the answer is empty")


def test_rows_in_scores_and_reasons_out() -> None:
    found = evaluate(ROWS, metrics=["faithfulness"], judge=PlainJudge())
    assert found.outcomes("faithfulness") == (Score(value=0.5, counted="1 of 2 statements"), EMPTY)
    assert (found["faithfulness"].mean, found["faithfulness"].scored) == (0.5, 1)


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


def test_it_works_where_an_event_loop_runs_and_the_twin_lets_it_continue() -> None:
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


def test_with_a_store_the_run_is_kept_and_no_call_is_repeated(tmp_path: Path) -> None:
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
    with pytest.raises(RunFileError, match="it has x; choose one with mapping="):
        evaluate([{"x": 1}])
    with pytest.raises(RunFileError, match="is empty, expected samples"):
        evaluate([])


UNTIDY = [
    {"id": "a", "question": "Q", "answer": 42, "contexts": ["c", None], "note": float("inf")},
    {"id": "a", "question": "Q2", "answer": "It is red.", "contexts": "red thing"},
]


def test_how_samples_were_read_is_in_the_result_and_warned_of_where_it_was_called() -> None:
    with pytest.warns(RunFileWarning) as caught:
        found = evaluate(UNTIDY, metrics="faithfulness", judge=PlainJudge())
    (warning,) = caught
    assert warning.filename == __file__
    assert str(warning.message) == (
        "samples: 1 x NaN or infinity read as missing (row 1); 1 x answer: number read as text (row 1); "
        "1 x contexts: null dropped (row 1); 1 x contexts: single text read as a list (row 2); "
        "row 2: duplicate id a, renamed to a#2"
    )
    report = found.report
    assert (report.path, report.format, report.rows_read) == ("samples", "table (memory)", 2)
    assert [(change.what, change.lines) for change in report.coerced][1] == ("answer: number read as text", (1,))
    assert [same.assigned for same in report.duplicated] == ["a#2"]
    assert "no reference found in the file" in report.notes
    assert {use.column: use.field for use in report.columns}["note"] is None


def test_a_warning_names_the_first_changes_and_how_many_more_there_are() -> None:
    rows = [{"question": "Q", "answer": "A.", "contexts": [{"text": "t", **{f"k{n}": 1 for n in range(30)}}]}]
    with pytest.warns(RunFileWarning, match=r"'k9' of a passage dropped \(row 1\); and 20 more$"):
        assert len(evaluate(rows, metrics="faithfulness").report.coerced) == 30


def test_tidy_samples_are_read_without_a_word() -> None:
    assert evaluate(ROWS, metrics="faithfulness", judge=PlainJudge()).report.coerced == ()


def test_what_is_awaited_has_the_report_too() -> None:
    with pytest.warns(RunFileWarning, match="number read as text"):
        found = asyncio.run(aevaluate(UNTIDY[:1], metrics="faithfulness", judge=PlainJudge()))
    assert found.report.coerced


def test_a_frame_whose_columns_or_dates_cannot_be_read_is_rejected() -> None:
    twice = pd.DataFrame([["Q", "A", "B"]], columns=["question", "answer", "answer"])
    with pytest.raises(RunFileError, match=r"^samples: two columns are called 'answer', expected unique names$"):
        evaluate(twice)
    dates = pa.array([[2**62]], pa.list_(pa.int64())).cast(pa.list_(pa.timestamp("us")))
    when = pd.DataFrame({"question": ["Q"], "when": pd.Series(dates, dtype=pd.ArrowDtype(dates.type))})
    with pytest.raises(
        RunFileError, match=r"^samples: the data frame has a value that cannot be read \(date value out of"
    ):
        evaluate(when)


def test_an_index_with_a_name_is_a_column_of_a_frame() -> None:
    frame = pd.DataFrame(ROWS, index=pd.Index(["x", "y"], name="id"))
    assert [row.sample_id for row in evaluate(frame, judge=PlainJudge()).samples] == ["x", "y"]


def test_samples_are_held_to_what_a_file_is_held_to() -> None:
    with pytest.warns(RunFileWarning, match="row 2: duplicate id s1, renamed to s1#2"):
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
    with pytest.raises(NotFoundError, match=r"'refusal' was not evaluated; evaluated metrics: ragas\.faithfulness"):
        evaluate([replace(make_sample(1))], metrics=["faithfulness"])["refusal"]
    with pytest.raises(NotFoundError, match=r"'nonsense' was not evaluated; evaluated metrics: ragas\.faithfulness"):
        evaluate([make_sample(1)], metrics=["faithfulness"])["nonsense"]


def test_a_metric_of_your_own_is_found_by_its_bare_name_too() -> None:
    class Mine(Faithfulness):
        """Another definition of the same."""

        source = "mine"

    found = evaluate(ROWS, metrics=[Mine()], judge=PlainJudge())
    assert found["faithfulness"] == found["mine.faithfulness"]


def test_a_printed_result_is_a_short_table() -> None:
    result = evaluate(ROWS, metrics=["faithfulness", "context_relevance"], judge=PlainJudge())
    assert str(result).splitlines() == [
        "run: 2 samples, judge plain",
        "metric                   mean   95% CI  n  unscored",
        "ragas.faithfulness       0.500  none    1  1 undefined",
        "ragas.context_relevance  1.000  none    2  0",
        "1 of 2 statements are not supported; see .hallucinations()",
    ]
    assert repr(result) == str(result)
    assert repr(result["faithfulness"]) == (
        "ragas.faithfulness: mean 0.500, no CI: an interval needs at least 5 values, got 1, n = 1 (1 undefined)"
    )


def test_a_printed_result_of_the_embedded_judge_says_that_it_is_rule_based() -> None:
    assert "judge embedded (rule-based); treat scores as hints" in str(evaluate(ROWS, metrics="faithfulness"))


def test_a_notebook_shows_an_escaped_table() -> None:
    result = evaluate(ROWS, metrics="faithfulness", judge=PlainJudge(), name="<b>&\u202e")
    shown = result._repr_html_()
    assert "<p>&lt;b&gt;&amp;\N{REPLACEMENT CHARACTER}: 2 samples, judge plain</p><table>" in shown
    assert "<td>ragas.faithfulness</td><td>0.500</td>" in shown


def test_a_frame_has_the_texts_and_the_verdicts() -> None:
    frame = evaluate(ROWS, metrics="faithfulness", judge=PlainJudge()).to_pandas()
    assert frame["passages"].tolist() == [["The door is red."], ["Never."]]
    assert frame["answer"].tolist() == ["Here. The door is red.", ""]
    assert [[(one["statement"], one["verdict"]) for one in cell] for cell in frame["verdicts"]] == [
        [("Here", "unsupported"), ("The door is red", "supported")],
        [],
    ]


def test_hallucinations_are_the_statements_that_are_not_supported_contradicted_first() -> None:
    answers = {"old": "It cost 9 euros.", "new": "Bridge 7 opened in 1990.", "true": "Bridge 7 opened in 2000."}
    rows = [
        {"id": name, "question": "When?", "answer": answer, "contexts": ["Bridge 7 opened in 2000."]}
        for name, answer in answers.items()
    ]
    first, second = evaluate(rows, metrics="faithfulness").hallucinations()
    assert (first.sample_id, first.verdict, first.statement) == ("new", "contradicted", "Bridge 7 opened in 1990.")
    assert first.reason.startswith("Passage 1 says 2000")
    assert [(one.rank, one.stance) for one in first.evidence] == [(1, "against")]
    assert (second.sample_id, second.verdict) == ("old", "unsupported")
    assert str(first).startswith("✕ ")
    assert "Bridge 7 opened in 1990. (sample new: Passage 1 says 2000" in str(first)


MANY = [
    {"id": str(n), "question": f"Which door is {n}?", "answer": f"Door {n} is red. Door {n} is big.", "contexts": ["x"]}
    for n in range(24)
]


@pytest.mark.parametrize("kept", [False, True])
def test_results_are_compared_by_question(tmp_path: Path, kept: bool) -> None:
    better = [row | {"answer": row["answer"].replace("big", "red too")} for row in MANY]
    store = tmp_path if kept else None
    a = evaluate(MANY, metrics="faithfulness", judge=PlainJudge(), store=store, name="a")
    b = evaluate(better, metrics="faithfulness", judge=PlainJudge(), store=store, name="b")
    compared = a.compare(b)
    (metric,) = compared.metrics
    assert metric.pairs
    assert (metric.pairs.n, metric.pairs.difference, metric.change) == (24, 0.5, "better")
    assert "24 pairs, judge plain" in repr(compared).splitlines()[0]
    assert repr(compared).splitlines()[1] == "b is better than a on Faithfulness: +0.50, 95% CI +0.29 to +0.57"
    assert "<td>+0.500</td>" in compared._repr_html_()
    assert b.compare(a).metrics[0].change == "worse"


def test_results_of_different_judges_get_no_verdict_unless_allowed() -> None:
    a = evaluate(MANY, metrics="faithfulness", judge=PlainJudge())
    b = evaluate(MANY, metrics="faithfulness", judge=PlainJudge(name="other", version="2"))
    assert a.compare(b).metrics[0].change == "different judges"
    assert a.compare(b, allow_different_judges=True).metrics[0].change == "no significant difference"


def test_a_result_without_a_store_leaves_nothing_behind() -> None:
    result = evaluate(ROWS, metrics="faithfulness", judge=PlainJudge())
    folder = result.store.folder
    assert folder.is_dir()
    del result
    assert not folder.exists()


def test_the_warnings_are_in_the_result() -> None:
    with pytest.warns(RunFileWarning):
        result = evaluate(UNTIDY, metrics="faithfulness", judge=PlainJudge())
    assert result.warnings[-1] == "row 2: duplicate id a, renamed to a#2"
    assert "5 changes while reading the samples; see .warnings" in str(result)


def test_a_file_a_server_and_limits_are_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    file = tmp_path / "answers.jsonl"
    file.write_text("\n".join(json.dumps(row | {"frage": row["question"]}) for row in MANY), encoding="utf-8")
    with chat_server() as server:
        result = evaluate(
            str(file),
            metrics="faithfulness",
            judge="openai:m",
            base_url=server.url,
            mapping={"question": "frage"},
            concurrency=2,
            sample=3,
            store=tmp_path / "store",
        )
    assert (result.summary.name, len(result.samples), server.count) == ("answers", 3, 6)
    options = Store(tmp_path / "store").judge_options(result.finished.evaluation.id)
    assert options
    assert (options.judge, options.base_url, options.concurrency) == ("openai:m", server.url, 2)
    assert evaluate(MANY, metrics="faithfulness", judge=JudgeOptions(judge="embedded")).summary.judged


def test_the_address_of_a_judge_that_is_an_object_is_rejected() -> None:
    with pytest.raises(SettingError, match="base_url can be used only with the name of a judge; set it on"):
        evaluate(ROWS, judge=PlainJudge(), base_url="http://localhost")


def test_a_sample_is_logged_without_blocking(tmp_path: Path) -> None:
    async def pipeline() -> list[str]:
        calls = (alog("live", question=f"Q{n}?", answer="A.", sample_id=str(n), store=tmp_path) for n in range(3))
        return await asyncio.gather(*calls)

    assert sorted(asyncio.run(pipeline())) == ["0", "1", "2"]
    assert Store(tmp_path).sample_count(Store(tmp_path).resolve("live").run_id) == 3
