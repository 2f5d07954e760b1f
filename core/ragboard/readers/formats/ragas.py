"""ragas, all versions: datasets, results and traces.

A table has a column for each metric, with its settings in brackets. Traces contain the calls of the judge, in one of
two forms: `result.ragas_traces`, a flat list of runs (the evaluation, its rows, metrics and prompts), or
`result.traces` with the samples.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragboard.errors import RunFileError
from ragboard.readers.formats.base import FileFormat, Format, ParsedFile, ToolFile, ToolSample, statements_of
from ragboard.readers.formats.shapes import as_list, as_number, as_object, as_objects, as_text
from ragboard.readers.scores import FileRow, ScoreColumns, is_score, read_score
from ragboard.records import Direction, JsonValue, RecordedJudgement, RecordedSample, Unscored, Verdict

__all__ = ["FILE_FORMATS", "FORMATS"]

_METRICS = """
agent_goal_accuracy answer_accuracy answer_correctness answer_relevance answer_relevancy answer_similarity bleu_score
chrf_score coherence conciseness context_entity_recall context_precision context_recall context_relevance
context_relevancy context_utilization correctness data_compare_score exact_match factual_correctness faithful_rate
faithfulness faithfulness_with_hhem harmfulness id_based_context_precision id_based_context_recall
llm_context_precision_with_reference llm_context_precision_without_reference llm_sql_equivalence_with_reference
maliciousness noise_sensitivity noise_sensitivity_irrelevant noise_sensitivity_relevant
non_llm_context_precision_with_reference non_llm_context_recall non_llm_string_similarity nv_accuracy
nv_context_relevance nv_response_groundedness ragas_score relevance_rate response_groundedness response_relevancy
rouge_score semantic_similarity string_present summary_score tool_call_accuracy tool_call_f1 topic_adherence
"""
METRICS = frozenset(_METRICS.split())
"""The names of ragas' metrics in all versions, without settings in brackets."""

_DIRECTIONS: dict[str, Direction] = {
    **dict.fromkeys(("harmfulness", "maliciousness"), "lower"),
    **dict.fromkeys((name for name in METRICS if name.startswith("noise_sensitivity")), "lower"),
    **dict.fromkeys(("coherence", "conciseness", "correctness"), "neutral"),
}

NAMED = re.compile(r"(?P<name>[\w\s-]+)(?P<settings>\([\w\s=.,-]*\))?")

MISSPELT = {"context_relavency": "context_relevancy"}
"""Misspelt names in the first version of ragas, with the correct names."""


def _scores(columns: Sequence[str], rows: Sequence[FileRow]) -> ScoreColumns | None:
    score_columns: dict[str, str] = {}
    for column in columns:
        name = _metric_name(column)
        if name and all(is_score(row.get(column)) for row in rows):
            score_columns.setdefault(f"ragas-file.{name}", column)
    if not score_columns:
        return None
    return ScoreColumns(
        tool="ragas", columns=score_columns, file_columns=frozenset(score_columns.values()), directions=_DIRECTIONS
    )


def _metric_name(column: str) -> str:
    """Return the metric of a column as `name(settings)`; empty if ragas has no such metric."""
    match = NAMED.fullmatch(column.strip())
    if match is None:
        return ""
    name = re.sub(r"[\s_-]+", "_", match["name"].strip().lower())
    name = MISSPELT.get(name, name)
    return name + (match["settings"] or "").replace(" ", "") if name in METRICS else ""


def _format(name: str, *columns: str, **fields: str) -> Format:
    return Format(name=name, columns=frozenset(columns), fields=fields, scores=_scores)


FORMATS = (
    _format("ragas 0.2 or later", "user_input"),
    _format(
        "ragas 0.1 test set", "question", "contexts", "ground_truth", "evolution_type", reference_contexts="contexts"
    ),
    _format("ragas 0.0", "question", "contexts", "ground_truths"),
    _format("ragas 0.1", "question", "contexts", "ground_truth"),
    _format("ragas 0.0 or 0.1", "question", "contexts", "answer_relevancy"),
    _format("ragas 0.0 or 0.1", "question", "contexts", "context_relevancy"),
    _format("ragas 0.0", "question", "contexts", "context_ relevancy"),
    _format("ragas 0.0", "question", "contexts", "context_relavency"),
)


SAVE_TRACES = (
    "json.dump([run.model_dump() for run in result.ragas_traces.values()], file, cls=ChainRunEncoder)"
    " with ragas.callbacks.ChainRunEncoder"
)
"""Code that saves the complete traces of an evaluation."""

FIELDS = {
    "user_input": "question",
    "retrieved_contexts": "contexts",
    "response": "answer",
    "reference": "reference",
    "reference_contexts": "reference_contexts",
}
SAME_AS = {"faithfulness": "ragas.faithfulness", "context_recall": "ragas.context_recall"}
"""Metrics of ragas, with the metrics of ragboard that compute the same."""
RUN_TYPES = {"evaluation", "row", "metric", "ragas_prompt"}
"""The types of the runs in a trace; a *run* here is what LangChain calls a step, not a run of ragboard."""


@dataclass
class _Calls:
    """The judge's calls for one metric and sample: (input, output) by the name of the prompt."""

    by_prompt: dict[str, list[tuple[Mapping[str, Any], Mapping[str, Any]]]] = field(
        default_factory=dict[str, list[tuple[Mapping[str, Any], Mapping[str, Any]]]]
    )

    def add(self, prompt: str, inputs: object, outputs: object) -> None:
        """Add the outputs of a call, under the name that its prompt has in the newest version of ragas."""
        unnumbered = re.sub(r"^\d+_", "", prompt)
        name = RENAMED.get(unnumbered, unnumbered)
        for output in outputs if isinstance(outputs, list) else [outputs]:
            self.by_prompt.setdefault(name, []).append((as_object(inputs), as_object(output)))


RENAMED = {"long_form_answer_prompt": "statement_generator_prompt"}


def _recorded(cells: Mapping[str, JsonValue], calls: Mapping[str, _Calls]) -> RecordedSample:
    """Return the statements and judgements of one sample, given {metric: calls of ragas' judge}."""
    answer = [
        (row["statement"], _verdict(row, "verdict"))
        for _, output in _calls_of_prompt(calls, "faithfulness", "n_l_i_statement_prompt")
        for row in as_objects(output.get("statements"))
        if isinstance(row.get("statement"), str)
    ]
    reference = [
        (row["statement"], _verdict(row, "attributed"))
        for _, output in _calls_of_prompt(calls, "context_recall", "context_recall_classification_prompt")
        for row in as_objects(output.get("classifications"))
        if isinstance(row.get("statement"), str)
    ]
    return RecordedSample(
        statements=(
            *statements_of("response", cells.get("answer"), answer),
            *statements_of("reference", cells.get("reference"), reference),
        ),
        judgements=tuple(_judgements(cells, calls)),
    )


def _calls_of_prompt(
    calls: Mapping[str, _Calls], metric: str, prompt: str
) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    return calls[metric].by_prompt.get(prompt, []) if metric in calls else []


def _judgements(cells: Mapping[str, JsonValue], calls: Mapping[str, _Calls]) -> Iterator[RecordedJudgement]:
    passages = cells.get("contexts")
    ranks = {as_text(text): rank for rank, text in enumerate(as_list(passages), 1)}
    for metric, about in (
        ("context_precision", "useful for the reference"),
        ("llm_context_precision_with_reference", "useful for the reference"),
        ("context_utilization", "useful for the answer"),
        ("llm_context_precision_without_reference", "useful for the answer"),
    ):
        for inputs, output in _calls_of_prompt(calls, metric, "context_precision_prompt"):
            rank = ranks.get(as_text(inputs.get("context")))
            if rank is not None and output.get("verdict") in (0, 1):
                yield RecordedJudgement(
                    about=about,
                    number=rank,
                    says="yes" if output["verdict"] else "no",
                    reason=as_text(output.get("reason")),
                )
    for metric, metric_calls in calls.items():
        for number, (_, output) in enumerate(metric_calls.by_prompt.get("response_relevance_prompt", []), 1):
            if isinstance(output.get("question"), str):
                evasive = "the judge called the answer evasive" if output.get("noncommittal") else ""
                yield RecordedJudgement(
                    about="question generated from the answer", number=number, says=output["question"], reason=evasive
                )
        for number, (_, output) in enumerate(metric_calls.by_prompt.get("single_turn_aspect_critic_prompt", []), 1):
            if output.get("verdict") in (0, 1):
                yield RecordedJudgement(
                    about=metric,
                    number=number,
                    says="yes" if output["verdict"] else "no",
                    reason=as_text(output.get("reason")),
                )


def _verdict(row: Mapping[str, Any], key: str) -> Verdict | None:
    """Return the verdict for ragas' 1 (supported) or 0 (unsupported); None for anything else."""
    if row.get(key) not in (0, 1):
        return None
    return Verdict(label="supported" if row[key] else "unsupported", reason=as_text(row.get("reason")))


def _cells(row: Mapping[str, Any]) -> dict[str, JsonValue]:
    metadata = {name: value for name, value in row.items() if name not in FIELDS and value is not None}
    cells: dict[str, JsonValue] = {field: row[name] for name, field in FIELDS.items() if row.get(name) is not None}
    return {**cells, "metadata": metadata} if metadata else cells


def _is_run_tree(file: ParsedFile) -> bool:
    runs = _runs(file.value)
    return bool(runs) and all(str(as_object(run.get("metadata")).get("type")) in RUN_TYPES for run in runs[:20])


def _runs(value: object) -> list[Mapping[str, Any]]:
    """Return the runs of a trace: a list, an object by id, or either under `evaluation_run`."""
    value_of_runs = value["evaluation_run"] if isinstance(value, dict) and "evaluation_run" in value else value
    runs = (
        list(value_of_runs.values())
        if isinstance(value_of_runs, dict)
        else value_of_runs
        if isinstance(value_of_runs, list)
        else []
    )
    return runs if all(isinstance(run, dict) and "run_id" in run and "name" in run for run in runs) else []


def _read_run_tree(file: ParsedFile) -> ToolFile:
    runs = {str(run["run_id"]): run for run in _runs(file.value)}
    children: dict[str, list[Mapping[str, Any]]] = {}
    for run in runs.values():
        children.setdefault(str(run.get("parent_run_id")), []).append(run)
    rows = [run for run in runs.values() if as_object(run.get("metadata")).get("type") == "row"]
    rows.sort(key=lambda run: as_number(as_object(run.get("metadata")).get("row_index")) or 0)
    samples: list[ToolSample] = []
    for number, row in enumerate(rows, 1):
        calls: dict[str, _Calls] = {}
        for metric in children.get(str(row["run_id"]), ()):
            metric_calls = calls.setdefault(_name_without_settings(str(metric["name"])), _Calls())
            for prompt in children.get(str(metric["run_id"]), ()):
                metric_calls.add(
                    str(prompt["name"]),
                    as_object(prompt.get("inputs")).get("data"),
                    as_object(prompt.get("outputs")).get("output"),
                )
        cells = _cells(as_object(row.get("inputs")))
        outputs = as_object(row.get("outputs"))
        samples.append(
            ToolSample(
                cells=cells,
                line=number,
                location=f"row {number - 1}",
                scores={name: read_score(value) for name, value in outputs.items() if is_score(value)},
                recorded=_recorded(cells, calls),
            )
        )
    fields = {
        f"row.inputs.{name}": field_name
        for name, field_name in FIELDS.items()
        if any(as_object(row.get("inputs")).get(name) is not None for row in rows)
    }
    return _tool_file(samples, {**fields, "row.outputs": "score", "ragas_prompt.outputs": "statements"})


def _name_without_settings(metric: str) -> str:
    return _metric_name(metric).partition("(")[0] or metric


def _is_traced_samples(file: ParsedFile) -> bool:
    return bool(file.rows) and {"sample", "traces"} <= file.columns and isinstance(file.rows[0].get("sample"), dict)


def _read_traced_samples(file: ParsedFile) -> ToolFile:
    samples: list[ToolSample] = []
    for index, row in enumerate(file.rows):
        cells = _cells(as_object(row.get("sample")))
        samples.append(
            ToolSample(
                cells=cells,
                line=file.line(index),
                location=f"[{index}]",
                scores={
                    name: read_score(value) for name, value in as_object(row.get("scores")).items() if is_score(value)
                },
                recorded=_recorded(cells, _calls_by_metric(row.get("traces"))),
            )
        )
    fields = {
        f"sample.{name}": field_name
        for name, field_name in FIELDS.items()
        if any(as_object(row.get("sample")).get(name) is not None for row in file.rows)
    }
    return _tool_file(samples, {**fields, "scores": "score", "traces": "statements"})


def _calls_by_metric(traces: object) -> dict[str, _Calls]:
    by_metric: dict[str, _Calls] = {}
    for metric, prompts in as_object(traces).items():
        metric_calls = by_metric.setdefault(_name_without_settings(str(metric)), _Calls())
        for prompt, call in as_object(prompts).items():
            metric_calls.add(str(prompt), as_object(call).get("input"), as_object(call).get("output"))
    return by_metric


def _tool_file(samples: Sequence[ToolSample], fields: Mapping[str, str]) -> ToolFile:
    return ToolFile(
        tool="ragas",
        samples=samples,
        fields=fields,
        directions=_DIRECTIONS,
        same_as=SAME_AS,
        notes=("the file does not name the judge model",),
    )


def _is_experiment(file: ParsedFile) -> bool:
    return "user_input" in file.columns and any(_holds_calls(file.rows, column) for column in file.columns)


def _holds_calls(rows: Sequence[Mapping[str, Any]], column: str) -> bool:
    """Return whether a column has recorded calls of the judge."""
    calls = [call for row in rows for call in as_objects(row.get(column))]
    return bool(calls) and all({"output_model", "output"} <= call.keys() for call in calls)


PROMPT_OF_MODEL = {
    "StatementGeneratorOutput": "statement_generator_prompt",
    "NLIStatementOutput": "n_l_i_statement_prompt",
    "ContextRecallOutput": "context_recall_classification_prompt",
    "AnswerRelevanceOutput": "response_relevance_prompt",
}
"""The prompt of each reply class in `ragas.metrics.collections`."""


def _read_experiment(file: ParsedFile) -> ToolFile:
    call_columns = sorted(column for column in file.columns if _holds_calls(file.rows, column))
    other = {*FIELDS, *call_columns}
    columns = list(dict.fromkeys(name for row in file.rows for name in row))
    scores = _scores([name for name in columns if name not in other], file.rows)
    score_names = {column: spec.partition(".")[2] for spec, column in scores.columns.items()} if scores else {}
    samples: list[ToolSample] = []
    for index, row in enumerate(file.rows):
        calls: dict[str, _Calls] = {}
        for column in call_columns:
            metric_calls = calls.setdefault(_name_without_settings(column.removesuffix("_calls")), _Calls())
            for call in as_objects(row.get(column)):
                metric_calls.add(
                    PROMPT_OF_MODEL.get(str(call["output_model"]), str(call["output_model"])), {}, call["output"]
                )
        cells = _cells({name: cell for name, cell in row.items() if name not in {*call_columns, *score_names}})
        error = as_text(row.get("error"))
        samples.append(
            ToolSample(
                cells=cells,
                line=file.line(index),
                scores={
                    name: Unscored(reason="failed", detail=error)
                    if row.get(column) is None and error
                    else read_score(row.get(column))
                    for column, name in score_names.items()
                },
                recorded=_recorded(cells, calls),
            )
        )
    uses = {
        name: FIELDS.get(name)
        or ("statements" if name in call_columns else "score" if name in score_names else "metadata")
        for name in columns
    }
    return _tool_file(samples, uses)


def _is_bare_traces(file: ParsedFile) -> bool:
    return (
        bool(file.rows)
        and bool(file.columns)
        and all(
            isinstance(prompts, dict)
            and prompts
            and all(
                name.endswith("_prompt") and isinstance(call, dict) and "output" in call
                for name, call in prompts.items()
            )
            for prompts in file.rows[0].values()
        )
    )


def _refuse_bare_traces(file: ParsedFile) -> ToolFile:
    printed = any(isinstance(call.get("output"), str) for prompts in file.rows[0].values() for call in prompts.values())
    what = "the repr() of traces" if printed else "traces without samples"
    raise RunFileError(file.path, f"has {what} (`result.traces`); to save both, use {SAVE_TRACES}")


FILE_FORMATS = (
    FileFormat(name="ragas traces", recognises=_is_run_tree, read=_read_run_tree),
    FileFormat(name="ragas samples with traces", recognises=_is_traced_samples, read=_read_traced_samples),
    FileFormat(name="ragas experiment with recorded calls", recognises=_is_experiment, read=_read_experiment),
    FileFormat(name="ragas traces", recognises=_is_bare_traces, read=_refuse_bare_traces),
)
