"""Inspect: logs as JSON and as `.eval` archives, and the table of `samples_df`.

Inspect has no field for passages. Tasks keep them in the metadata or the store of a sample, and details of a scorer in
the metadata of its score.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ragboard.errors import RunFileError
from ragboard.readers.files import MAX_JSON, parse, what_is_wrong
from ragboard.readers.formats.base import FileFormat, ParsedFile, ToolFile, ToolSample, statements_of
from ragboard.readers.formats.shapes import as_number, as_object, as_objects, as_text, decode_json
from ragboard.readers.scores import NO_VALUE, read_score
from ragboard.records import JsonValue, Label, Outcome, RecordedJudgement, RecordedSample, Unscored, Verdict

__all__ = ["FILE_FORMATS"]

CONTEXTS = (
    "contexts",
    "retrieved_contexts",
    "retrieved",
    "retrieved_documents",
    "retrieval_context",
    "context",
    "passages",
    "documents",
    "docs",
    "chunks",
)
"""Keys under which a task may keep its retrieved passages."""
GOLD = ("reference_contexts", "gold_contexts")
GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""The values of Inspect's grades: correct, partly correct, incorrect, no answer."""
WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
FAITHFUL = re.compile(r"faithful|grounded", re.IGNORECASE)
"""Matches the name of a scorer that checks statements of the answer against the passages."""
SEARCH = re.compile(r"retriev|search", re.IGNORECASE)
"""Matches the name of a tool whose replies are passages."""
LABELS: dict[str, Label] = {
    **dict.fromkeys(("1", "1.0", "true", "yes", "supported", "entailment"), "supported"),
    **dict.fromkeys(("0", "0.0", "false", "no", "unsupported", "not supported", "neutral"), "unsupported"),
    **dict.fromkeys(("contradicted", "contradiction"), "contradicted"),
}
_PARTS = "id epoch input choices target output score scores metadata store messages error"
PARTS = frozenset(_PARTS.split())
FIELDS = {
    "samples[].id": "id",
    "samples[].epoch": "run",
    "samples[].input": "question",
    "samples[].target": "reference",
    "samples[].output.completion": "answer",
    "samples[].metadata": "contexts, metadata",
    "samples[].store, samples[].messages of search tools": "contexts, if the metadata has none",
    "samples[].scores.*.value": "score",
    "samples[].scores.*.explanation": "judgement",
    "samples[].scores.*.metadata": "statements",
    "eval.task, eval.model, eval.task_args, eval.metadata": "configuration",
    "samples[].events": "left out: the calls that produced the answer",
    "eval.task_file, eval.model_base_url": "left out: about the machine",
}
CONVERT = "convert it with `inspect log convert --to json`"
ZSTANDARD = 93
"""The number of a compression method that `zipfile` supports since Python 3.14."""


def _is_archive(file: ParsedFile) -> bool:
    if file.kind != "zip":
        return False
    try:
        with zipfile.ZipFile(file.path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return False
    return not {"header.json", "_journal/start.json"}.isdisjoint(names)


def _read_archive(file: ParsedFile) -> ToolFile:
    try:
        with zipfile.ZipFile(file.path) as archive:
            members = {info.filename: info for info in archive.infolist()}
            start = members.get("header.json") or members["_journal/start.json"]
            names = [name for name in members if name.startswith("samples/") and name.endswith(".json")]
            if sum(info.file_size for info in members.values()) > MAX_JSON:
                raise RunFileError(file.path, f"unpacks to more than {MAX_JSON // 2**30} GiB")
            header = as_object(_member(file, archive, start))
            samples = [(name, _sample(_member(file, archive, members[name]))) for name in names]
    except (zipfile.BadZipFile, zlib.error, OSError, ValueError, EOFError, RuntimeError) as error:
        raise RunFileError(file.path, f"not readable as an Inspect log ({error}); {CONVERT}") from error
    order = as_object(as_object(header.get("eval")).get("dataset")).get("sample_ids")
    order_of = {str(sample_id): index for index, sample_id in enumerate(order)} if isinstance(order, list) else {}
    samples.sort(key=lambda entry: (order_of.get(str(entry[1].get("id")), len(order_of)), str(entry[1].get("epoch"))))
    return _tool_file(file, header, [(number, *entry) for number, entry in enumerate(samples, 1)])


def _sample(value: object) -> dict[str, Any]:
    """Return only the parts of a sample that are used, to save memory."""
    return {key: part for key, part in as_object(value).items() if key in PARTS}


def _member(file: ParsedFile, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Any:
    """Return the JSON value of a file in the archive. Raises RunFileError if it is not JSON."""
    content = _unpacked(file, info) if info.compress_type == ZSTANDARD else archive.read(info)
    try:
        return parse(content.decode())
    except (ValueError, RecursionError) as error:
        wrong = "not UTF-8" if isinstance(error, UnicodeDecodeError) else what_is_wrong(error)
        raise RunFileError(file.path, f"not JSON ({wrong})", field=info.filename) from error


def _unpacked(file: ParsedFile, info: zipfile.ZipInfo) -> bytes:
    """Return the content of a Zstandard file in the archive. Raises OSError or ValueError if it is damaged."""
    import pyarrow as pa

    if not pa.Codec.is_available("zstd"):
        raise RunFileError(file.path, f"is packed with Zstandard, which is not installed; {CONVERT}")
    with file.path.open("rb") as opened:
        opened.seek(info.header_offset)
        head = opened.read(30)
        if len(head) < 30 or head[:4] != b"PK\x03\x04":
            raise ValueError(f"{info.filename} has no header")
        opened.seek(int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little"), 1)
        packed = opened.read(info.compress_size)
    content: bytes = pa.decompress(packed, decompressed_size=info.file_size, codec="zstd", asbytes=True)
    if zlib.crc32(content) != info.CRC:
        raise ValueError(f"{info.filename} has a wrong checksum")
    return content


def _is_log(file: ParsedFile) -> bool:
    log = as_object(file.value)
    evaluation = as_object(log.get("eval"))
    return (
        "task" in evaluation and "model" in evaluation and not {"samples", "plan", "stats", "results"}.isdisjoint(log)
    )


def _read_log(file: ParsedFile) -> ToolFile:
    samples = file.value.get("samples")
    rows = samples if isinstance(samples, list) else []
    samples_with_lines = [
        (file.line_in("samples", index), f"samples[{index}]", sample)
        for index, sample in enumerate(rows)
        if isinstance(sample, Mapping)
    ]
    return _tool_file(file, file.value, samples_with_lines)


def _tool_file(
    file: ParsedFile, log: Mapping[str, Any], samples_with_lines: Sequence[tuple[int, str, Mapping[str, Any]]]
) -> ToolFile:
    if not samples_with_lines:
        raise RunFileError(file.path, "is an Inspect log without samples; run the task without --no-log-samples")
    evaluation = as_object(log.get("eval"))
    model = as_text(evaluation.get("model"))
    name = " ".join(filter(None, (as_text(evaluation.get("task")), model.rpartition("/")[2])))
    dataset = as_object(evaluation.get("dataset")).get("name")
    config = {"task": evaluation.get("task"), "model": model, "dataset": dataset}
    config |= {**as_object(evaluation.get("task_args")), **as_object(evaluation.get("metadata"))}
    scorer = as_text(as_object(as_object(log.get("results")).get("scorer")).get("name")) or "score"
    score_cells = [_score_cells(sample, scorer) for *_, sample in samples_with_lines]
    scores = list(map(_scores, score_cells))
    metrics = dict.fromkeys(metric for outcomes in scores for metric in outcomes)
    runs = _runs(name, [sample.get("epoch") for *_, sample in samples_with_lines])
    samples: list[ToolSample] = []
    for (line, location, sample), cells_of_scores, outcomes, run in zip(
        samples_with_lines, score_cells, scores, runs, strict=True
    ):
        error = as_text(as_object(sample.get("error")).get("message"))
        failed = dict.fromkeys(metrics, Unscored(reason="failed", detail=error)) if error else {}
        cells = _cells(sample, answered=not error)
        recorded = _recorded(cells, cells_of_scores)
        samples.append(
            ToolSample(
                cells=cells, line=line, location=location, run=run, scores={**failed, **outcomes}, recorded=recorded
            )
        )
    return ToolFile(
        tool="Inspect",
        samples=samples,
        version=as_text(as_object(evaluation.get("packages")).get("inspect_ai")),
        config={key: value for key, value in config.items() if value not in (None, "")},
        configs={
            run: {"epoch": sample.get("epoch")}
            for run, (*_, sample) in zip(runs, samples_with_lines, strict=True)
            if run != name
        },
        judge=as_text(as_object(as_object(evaluation.get("model_roles")).get("grader")).get("model")),
        fields=FIELDS,
        same_as={metric: "ragas.faithfulness" for metric in metrics if FAITHFUL.search(metric)},
        notes=_notes(value for cells_of_scores in score_cells for value in _values(cells_of_scores)),
    )


def _runs(name: str, epochs: Sequence[object]) -> list[str]:
    """Return the name of each sample's run. If there are several epochs, each epoch is a run."""
    several = len(set(map(str, epochs))) > 1
    return [f"{name} epoch {epoch}".strip() if several else name for epoch in epochs]


def _cells(sample: Mapping[str, Any], *, answered: bool) -> dict[str, JsonValue]:
    """Return the fields of a sample. Unless it was `answered`, an empty answer counts as missing."""
    output = as_object(sample.get("output"))
    replies = [as_object(choice.get("message")).get("content") for choice in as_objects(output.get("choices"))]
    answer = output.get("completion", next(iter(replies), None))
    metadata = dict(as_object(sample.get("metadata")))
    store = as_object(sample.get("store"))
    gold_key = next((name for name in GOLD if isinstance(metadata.get(name), list)), "")
    metadata_key = next((name for name in CONTEXTS if isinstance(metadata.get(name), (list, str))), "")
    store_key = next((name for name in CONTEXTS if isinstance(store.get(name), (list, str))), "")
    choices = {"choices": sample["choices"]} if sample.get("choices") else {}
    return {
        "id": sample.get("id"),
        "question": sample.get("input"),
        "answer": answer if answered or answer else None,
        "reference": sample.get("target") or None,
        "contexts": metadata.pop(metadata_key)
        if metadata_key
        else store.get(store_key)
        if store_key
        else _searched(sample),
        "reference_contexts": metadata.pop(gold_key, None),
        "metadata": {**choices, **metadata},
    }


def _searched(sample: Mapping[str, Any]) -> list[JsonValue] | None:
    """Return the replies of search tools as passages; None if no such tool was called."""
    messages = as_objects(sample.get("messages"))
    replies = [
        message
        for message in messages
        if message.get("role") == "tool" and SEARCH.search(as_text(message.get("function")))
    ]
    return [reply.get("content") for reply in replies] or None


def _score_cells(sample: Mapping[str, Any], scorer: str) -> Mapping[str, Any]:
    """Return the score objects of a sample by scorer. Old logs have one `score`, of the scorer named `scorer`."""
    return as_object(sample.get("scores")) or ({scorer: sample["score"]} if as_object(sample.get("score")) else {})


def _scores(score_cells: Mapping[str, Any]) -> dict[str, Outcome]:
    """Return the outcomes of a sample by scorer; by `SCORER.KEY` if a scorer gives several scores."""
    outcomes: dict[str, Outcome] = {}
    for name, score in score_cells.items():
        value = as_object(score).get("value")
        parts = (
            {f"{name}.{key}": part_value for key, part_value in value.items()}
            if isinstance(value, Mapping)
            else {name: value}
        )
        outcomes |= {part: _outcome(part_value) for part, part_value in parts.items()}
    return outcomes


def _outcome(value: object) -> Outcome:
    if not isinstance(value, str):
        return read_score(as_number(value))
    number = GRADES.get(value, WORDS.get(value.strip().lower()))
    return read_score(value if number is None else number)


def _values(score_cells: Mapping[str, Any]) -> Iterator[object]:
    for score in score_cells.values():
        value = as_object(score).get("value")
        yield from value.values() if isinstance(value, Mapping) else [value]


def _notes(values: Iterable[object]) -> list[str]:
    texts = {value for value in values if isinstance(value, str)}
    unread = sorted(text for text in texts if _outcome(text) == NO_VALUE)
    grades = "grades are scored as in Inspect: C 1, P 0.5, I 0, N 0"
    return [grades] * (not texts.isdisjoint(GRADES)) + [f"no score: {', '.join(unread)[:200]}"] * bool(unread)


def _recorded(cells: Mapping[str, JsonValue], scores: Mapping[str, Any]) -> RecordedSample:
    """Return the statements of the first scorer of faithfulness, and the judgements of all scorers."""
    statements: list[tuple[str, Verdict | None]] = []
    judgements: list[RecordedJudgement] = []
    for name, score in scores.items():
        cell = as_object(score)
        value, reason = cell.get("value"), as_text(cell.get("explanation"))
        if reason or (isinstance(value, str) and _outcome(value) == NO_VALUE):
            number = as_number(value)
            says = "" if isinstance(value, (Mapping, list)) else f"{value}"
            judgements.append(RecordedJudgement(about=name, number=1, says=says, value=number, reason=reason))
        rows = list(_statement_rows(as_object(cell.get("metadata"))))
        if FAITHFUL.search(name) and not statements:
            statements = [(text, _verdict(verdict, explanation)) for text, verdict, explanation in rows]
            continue
        for number, (text, verdict, explanation) in enumerate(rows, 1):
            reason = f'"{text}" {explanation}'.rstrip()
            judgements.append(
                RecordedJudgement(about=f"statement, {name}", number=number, says=f"{verdict}", reason=reason)
            )
    return RecordedSample(
        statements=statements_of("response", cells.get("answer"), statements), judgements=tuple(judgements)
    )


def _statement_rows(metadata: Mapping[str, Any]) -> Iterator[tuple[str, object, str]]:
    """Yield (statement, verdict, reason) from the first list of such objects in a scorer's metadata."""
    for value in metadata.values():
        rows = [
            (text, item["verdict"] if "verdict" in item else item["label"], as_text(item.get("reason")))
            for item in as_objects(value)
            if (text := as_text(item.get("statement") or item.get("claim")))
            and not {"verdict", "label"}.isdisjoint(item)
        ]
        if rows:
            yield from rows
            return


def _verdict(word: object, reason: str) -> Verdict | None:
    label = LABELS.get(f"{word}".strip().lower().replace("_", " "))
    return Verdict(label=label, reason=reason) if label else None


def _is_table(file: ParsedFile) -> bool:
    return {"sample_id", "eval_id", "id", "epoch", "input", "target"} <= file.columns and bool(file.rows)


def _read_table(file: ParsedFile) -> ToolFile:
    """Return the samples of a `samples_df` table, which has no answers."""
    columns = list(dict.fromkeys(column for row in file.rows for column in row))
    score_columns = [column for column in columns if column.startswith("score_")]
    several = len({str(row.get("eval_id")) for row in file.rows}) > 1
    names = ("task_name", "model", "eval_id") if several else ("task_name", "model")
    logs = [" ".join(filter(None, (as_text(row.get(name)) for name in names))) for row in file.rows]
    epochs = [row.get("epoch") for row in file.rows]
    runs = _runs("", epochs)
    samples: list[ToolSample] = []
    for index, (row, log, run) in enumerate(zip(file.rows, logs, runs, strict=True)):
        metadata = {
            name.removeprefix("metadata_"): value for name, value in row.items() if name.startswith("metadata_")
        }
        decoded = {
            name: decode_json(value) if as_text(value).startswith(("[", "{")) else value
            for name, value in metadata.items()
        }
        error = as_text(row.get("error"))
        scores = {name.removeprefix("score_"): _outcome(row.get(name)) for name in score_columns}
        failed: dict[str, Outcome] = dict.fromkeys(scores, Unscored(reason="failed", detail=error)) if error else {}
        samples.append(
            ToolSample(
                cells=_cells({**row, "input": _messages(row.get("input")), "metadata": decoded}, answered=False),
                line=file.line(index),
                run=" ".join(filter(None, (log, run))),
                scores=failed or scores,
            )
        )
    return ToolFile(
        tool="Inspect",
        samples=samples,
        configs={
            sample.run: {"log": log} | ({"epoch": epoch} if run else {})
            for sample, log, run, epoch in zip(samples, logs, runs, epochs, strict=True)
            if log or run
        },
        fields={
            "id": "id",
            "input": "question",
            "target": "reference",
            "metadata_*": "contexts, metadata",
            "score_*": "score",
            "epoch, eval_id": "run",
            "log": "left out: a path on the machine",
            "model_usage, total_tokens, total_time": "left out: about the calls",
        },
        notes=(
            "a table of samples_df has no answers; import the log (.eval or .json) for answers and verdicts",
            *_notes(row.get(name) for row in file.rows for name in score_columns),
        ),
    )


def _messages(text: object) -> object:
    """Return the messages in a text, where a line such as `user:` begins each; other values unchanged."""
    parts = re.split(r"(?:\A|\n)(system|user|assistant|tool):\n", as_text(text))
    if len(parts) < 3 or parts[0].strip():
        return text
    return [{"role": role, "content": body.strip("\n")} for role, body in zip(parts[1::2], parts[2::2], strict=True)]


FILE_FORMATS = (
    FileFormat(name="Inspect log", recognises=_is_archive, read=_read_archive),
    FileFormat(name="Inspect log", recognises=_is_log, read=_read_log),
    FileFormat(name="Inspect samples_df", recognises=_is_table, read=_read_table),
)
