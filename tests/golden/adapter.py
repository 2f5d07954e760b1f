"""The internal names that the golden tests import; renames change only this module.

The other modules of this folder use the command line and the public names of `ragboard`. If a field or a JSON key is
renamed, add `new name -> old name` to `RENAMED`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ragboard import EmbeddedJudge, RunRef, Store, tasks
from ragboard.analysis import (
    HallucinationQuery,
    PairQuery,
    SampleQuery,
    breakdown,
    check_run,
    columns,
    compare_runs,
    diagnose,
    distribution,
    evaluations_by_run,
    failed_evaluations,
    failures,
    gate_comparison,
    hallucination_groups,
    hallucination_table,
    hallucinations,
    judge_noise,
    leaderboard,
    list_judges,
    list_runs,
    metric_descriptions,
    overall_verdict,
    overruled_verdicts,
    pair_position,
    pair_report,
    pair_rows,
    pair_runs,
    read_condition,
    run_evaluations,
    run_summary,
    sample_report,
    sample_rows,
    sample_table,
    scatter,
    store_tables,
    threshold_conditions,
    thresholds,
    unsupported_statements,
)
from ragboard.cli.results import diagnosis_json
from ragboard.evaluation.plan import LIKELY, WORST, EmbeddedSizes
from ragboard.export.comparison_report import comparison_report
from ragboard.export.run_report import run_report
from ragboard.human.agreement import (
    item_detail,
    list_agreements,
    load_agreement,
    load_item_texts,
)
from ragboard.human.annotation import (
    annotation_queue,
    annotator_agreement,
    draw_samples,
)
from ragboard.human.estimates import (
    estimate_runs,
    predict_labels_needed,
)
from ragboard.human.grades import (
    grade_comparisons,
    grade_report,
)
from ragboard.human.label_files import _read_rows, labelled_outcomes
from ragboard.human.labels import (
    grade_answer,
    label_statement,
    prefer_answer,
)
from ragboard.human.preferences import (
    pair_comparisons,
    preference_report,
)
from ragboard.human.ranking import (
    rank_runs,
)
from ragboard.judges.llm.dialogue import read_reply
from ragboard.judges.llm.prompts import Prompts
from ragboard.readers.ares import read_ares
from ragboard.readers.corpus import read_corpus
from ragboard.readers.labels import read_labels
from ragboard.records import Turn
from ragboard.tasks import TASKS, Task, decode_reply, encode, is_valid_reply, task_key

__all__ = [
    "KINDS",
    "RENAMED",
    "asked",
    "embedded_replies",
    "label",
    "pair_reports",
    "people_reports",
    "read_labelled",
    "run_reports",
    "store_reports",
    "task",
]

RENAMED: Mapping[str, str] = {
    "human_labels": "said",
    "stored": "kept",
    "judged_statement": "said",
    "other_evaluations": "elsewhere",
    "other_passage_first": "elsewhere",
    "calls_to_plan_ratio": "calls_of_plan",
    "tokens_to_plan_ratio": "tokens_of_plan",
    "effective_labels": "worth",
    "other_evaluation_id": "other",
    "hint_reason": "held_back",
    "imputed_value": "stands_for",
    "scored_in_neither": "unscored",
    "scored_only_a": "scored_a",
    "scored_only_b": "scored_b",
    "statements_a": "claims_a",
    "statements_b": "claims_b",
    "threshold_status": "standing",
    "usage": "spending",
}
"""JSON keys and fields by their names now, and what they were called when the golden files were written."""

KINDS: Mapping[str, type[Task]] = {kind.__name__: kind for kind in TASKS}


def task(kind: str, /, *, history: Sequence[tuple[str, str]] = (), examples: Sequence[Any] = (), **given: Any) -> Task:
    """A task of that type; `history` holds role and text of each turn."""
    if history:
        given["history"] = tuple(Turn(role=role, text=text) for role, text in history)  # type: ignore[arg-type]
    if examples:
        given["examples"] = tuple(tasks.WritingExample(**one) for one in examples)
    return KINDS[kind](**given)


def asked(one: Task, examples: Path) -> dict[str, Any]:
    """All that is made of a task: key, bytes, prompt, schema, simulated replies, and how replies are read."""
    name = type(one).__name__
    found: dict[str, Any] = {
        "key": task_key(one, "golden"),
        "encoded": encode(one).decode("utf-8", "backslashreplace"),
        "simulated": {},
    }
    for size, sizes in (("likely", LIKELY), ("worst", WORST)):
        reply, text = one.simulate(EmbeddedSizes(**asdict(sizes) | {"statements": None}))
        found["simulated"][size] = {
            "reply": encode(reply).decode(),
            "text": text,
            "fits": is_valid_reply(one, reply),
            "decoded": decode_reply(name, json.loads(encode(reply))) == reply,
        }
    if name == "Similarity":
        return found
    for key, prompts in (("prompt", Prompts.read()), ("prompt with examples", Prompts.read(None, examples))):
        found[key] = prompts.render(one)
        found[f"instructions of {key}"] = prompts.instructions(one)
        found[f"digest of {key}"] = prompts.digest(type(one))
    found["schema"] = one.schema()
    read = lambda text: _reply(one, text, Prompts.read())  # noqa: E731
    simulated = [found["simulated"][size]["text"] for size in ("likely", "worst")]
    found["read"] = {text: read(text) for text in (*simulated, *(_spoiled(simulated[0])))}
    return found


def _spoiled(text: str) -> Sequence[str]:
    """The reply as models give it: fenced, with words around it, cut, with other keys, of other types."""
    value = json.loads(text)
    less = {name: one[:-1] if isinstance(one, list) else one for name, one in value.items()}
    other = {name: "maybe" if isinstance(one, str) else one for name, one in value.items()}
    typed = {name: str(one) if isinstance(one, int | bool) else one for name, one in value.items()}
    return (
        f"```json\n{text}\n```",
        f"Here it is:\n{text}\nDone.",
        text[: len(text) // 2],
        "",
        "[]",
        "null",
        "{}",
        json.dumps(value | {"more": 1}),
        json.dumps(less),
        json.dumps(other),
        json.dumps(typed),
        json.dumps([value]),
        f"{text}\n{json.dumps(less)}",
    )


def _reply(one: Task, text: str, prompts: Prompts) -> Any:
    try:
        return encode(read_reply(one, text, prompts.render(one), prompts.instructions(one))).decode()
    except ValueError:
        return "refused"


def embedded_replies(given: Sequence[Task]) -> list[Any]:
    """What the embedded judge replies, or that it does not."""
    judge = EmbeddedJudge()
    replies = asyncio.run(judge.answer(given))
    return [
        {"failure": True} if isinstance(reply, tasks.Failure) else json.loads(encode(reply)) for reply in replies
    ] + [{kind: judge.identity(KINDS[kind]) for kind in KINDS if KINDS[kind] in judge.answers}]


def _tried(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except Exception as error:  # noqa: BLE001
        return {"raises": type(error).__name__, "message": str(error)}


POLICIES = ("excluded", "zero", "bounds")


def run_reports(store: Store, name: str) -> dict[str, Any]:
    """Every report object about one run."""
    run = store.resolve(name)
    summary = run_summary(store, run)
    shown = columns(store, run)
    every = (*shown.metrics, *shown.numeric)
    samples = sample_rows(store, run, SampleQuery(limit=10**6)).rows
    found: dict[str, Any] = {
        "summary": {policy: run_summary(store, run, unscored=policy) for policy in POLICIES},
        "evaluations": run_evaluations(store, run.run_id),
        "failed": failed_evaluations(store, run),
        "failures": failures(store, run),
        "noise": judge_noise(store, run),
        "columns": shown,
        "samples": {row.sample_id: sample_report(store, run, row.sample_id) for row in samples},
        "rows": _rows(store, run, ("", *shown.metrics[:1])),
        "searched": sample_rows(store, run, SampleQuery(search="the river", limit=5)),
        "table": sample_table(store, run, SampleQuery(limit=20)),
        "loose": unsupported_statements(store, [run], limit=20),
        "overruled": overruled_verdicts(store, summary),
        "diagnosis": diagnosis_json(diagnose(store, run)),
        "distributions": {column: distribution(store, run, column) for column in every[:15]},
        "distributions with unscored": {
            f"{column} {policy}": distribution(store, run, column, unscored=policy)
            for column in every[:2]
            for policy in POLICIES[1:]
        },
        "scatter": {f"{x} {y}": scatter(store, run, x, y) for x, y in zip(every[:6], every[1:], strict=False)},
        "breakdown": {
            f"{column} by {by}": breakdown(store, run, column, by) for column in every[:3] for by in shown.categories
        },
        "gates": {
            text: _tried(
                lambda text=text: [(gated := check_run(summary, [read_condition(text)])), overall_verdict(gated)]
            )
            for text in ("ragas.faithfulness < 0.5", "ragas.faithfulness > 0.6", "ragas.faithfulness < 0.62")
        },
        "threshold conditions": threshold_conditions(summary),
        "html": run_report(store, run, samples=3),
    }
    return found


def _rows(store: Store, run: RunRef, shown: Sequence[str]) -> dict[str, Any]:
    """The samples of every order and choice."""

    def ids(**query: Any) -> Any:
        return _tried(lambda: [row.sample_id for row in sample_rows(store, run, SampleQuery(**query)).rows])

    return {
        f"{order} {only} {column}": ids(column=column, order=order, only=only, limit=10**6)
        for column in shown
        for order in ("file", "lowest", "highest", "worst")
        for only in ("all", "loose", "refusing", "unscored", "beyond")
    }


def pair_reports(store: Store, first: str, second: str) -> dict[str, Any]:
    """Every report object about two runs."""
    a, b = store.resolve(first), store.resolve(second)
    paired = pair_runs(store, a, b)
    compared = {policy: compare_runs(store, a, b, unscored=policy) for policy in POLICIES}
    specs = [one.metric for one in compared["excluded"].metrics]
    some = specs[0] if specs else "ragas.faithfulness"
    pages = {
        f"{spec} {which}": _tried(
            lambda spec=spec, which=which: pair_rows(
                store, a, b, paired, PairQuery(metric=spec, which=which, limit=10**6)
            )
        )
        for spec in specs[:6]
        for which in ("all", "worse", "better", "same", "unscored")
    }
    ids = [row.sample_id for row in sample_rows(store, a, SampleQuery(limit=8)).rows]
    return {
        "compared": compared,
        "allowed": compare_runs(store, a, b, allow_different_judges=True),
        "paired": paired,
        "pages": pages,
        "pairs": {one: _tried(lambda one=one: pair_report(store, a, b, paired, one)) for one in ids},
        "places": {
            one: _tried(lambda one=one: pair_position(store, a, b, paired, PairQuery(metric=some), one)) for one in ids
        },
        "gates": {
            text: _tried(
                lambda text=text: [
                    (gated := gate_comparison(compared["excluded"], [read_condition(text)])),
                    overall_verdict(gated),
                ]
            )
            for text in ("ragas.faithfulness < -0.02", "ragas.faithfulness > 0.5", "ragas.faithfulness < 0")
        },
        "html": comparison_report(store, a, b, pairs=3),
    }


def store_reports(store: Store) -> dict[str, Any]:
    """Every report object about a whole store."""
    refs = tuple(store.resolve(run.name) for run in list_runs(store))
    return {
        "runs": list_runs(store),
        "leaderboard": {policy: leaderboard(store, unscored=policy) for policy in POLICIES},
        "evaluations": evaluations_by_run(store),
        "judges": list_judges(store),
        "hallucinations": hallucinations(store, HallucinationQuery(limit=10**6)),
        "hallucinations of all": hallucinations(store, HallucinationQuery(runs=refs, limit=5, offset=3)),
        "contradicted": hallucinations(store, HallucinationQuery(verdict="contradicted", limit=10)),
        "hallucinations searched": hallucinations(store, HallucinationQuery(text="the", limit=10)),
        "groups": {
            by: hallucination_groups(store, HallucinationQuery(), by) for by in ("question", "passage", "judge")
        },
        "hallucination table": hallucination_table(store, HallucinationQuery()),
        "metrics": metric_descriptions(store),
        "thresholds": thresholds(store),
        "tables": store_tables(store),
    }


def people_reports(store: Store, labelled: Path, names: Sequence[str]) -> dict[str, Any]:
    """Every report object about what people said."""
    refs = [store.resolve(name) for name in names]
    found: dict[str, Any] = {"queues": {}, "kappa": {}, "agreements": {}, "estimates": {}}
    for ref in refs:
        for queue in ("random", "disagreement"):
            found["queues"][f"{ref.name} {queue}"] = _tried(
                lambda ref=ref, queue=queue: annotation_queue(store, ref, queue, annotator="ada")
            )
            found["kappa"][f"{ref.name} {queue}"] = _tried(
                lambda ref=ref, queue=queue: annotator_agreement(store, ref, queue, annotator="ada")
            )
    for measured in ("verdicts", "faithfulness", "answer_relevance", "context_relevance"):
        for metric in ("ragas.faithfulness", "ragas.answer_relevance", "overlap.context_overlap"):
            estimated = _tried(
                lambda metric=metric, measured=measured: estimate_runs(store, refs, metric=metric, measured=measured)
            )
            found["estimates"][f"{metric} {measured}"] = estimated
            found["estimates"][f"{metric} {measured} needed"] = [
                _tried(lambda one=one: predict_labels_needed(one, 0.1)) for one in getattr(estimated, "runs", ())
            ]
    answers = labelled_outcomes(labelled, design="random")
    found["ranks"] = _tried(lambda: rank_runs(store, refs, answers))
    found["ranks pooled"] = _tried(lambda: rank_runs(store, refs, answers, pool=True, order=tuple(reversed(names))))
    for place, kept in enumerate(list_agreements(store)):
        found["agreements"][str(place)] = {"kept": kept, **_agreement(store, kept)}
    return found


def _agreement(store: Store, kept: Any) -> dict[str, Any]:
    heard = load_agreement(store, kept)
    found = {
        "heard": heard,
        "questions": _tried(lambda: load_item_texts(store, kept, (0, 1))),
        "items": [_tried(lambda one=one: item_detail(store, kept, one)) for one in heard.ids[:3]],
        "grades": _tried(lambda: grade_report(heard)),
        "grades from 3": _tried(lambda: grade_report(heard, at_least=3)),
    }
    for ties in ("random", "half", "loss", "exclude"):
        found[f"preferences {ties}"] = _tried(lambda ties=ties: preference_report(heard, ties=ties))
    for line in getattr(found["preferences random"], "lines", ()):
        name = line.scorer.name
        for dimension in line.cells:
            found[f"pairs {name} {dimension}"] = _tried(lambda d=dimension, n=name: pair_comparisons(heard, d, n))
    for line in getattr(found["grades"], "lines", ()):
        name = line.scorer.name
        found[f"graded {name}"] = _tried(lambda n=name: grade_comparisons(heard, found["grades"].dimension, n))
    return found


def read_labelled(path: Path) -> dict[str, Any]:
    """A labelled file by each of the readers that take one."""
    return {
        "opinions": _tried(lambda: read_labels(str(path))),
        "labels": _tried(lambda: _labels(path)),
        "filed": _tried(lambda: labelled_outcomes(path, design="random")),
        "ares": _tried(lambda: read_ares(path)),
        "corpus": _tried(lambda: read_corpus(path)),
    }


def _labels(path: Path) -> list[dict[str, Any]]:
    read = _read_rows(path, "ada", "random")
    return [
        {"answers": one.answers, "labels": one.labels, "undecided": one.undecided, "run": one.row.run} for one in read
    ]


def label(store: Store, name: str) -> None:
    """What people say in the pages: verdicts, grades, preferences."""
    run = store.resolve(name)
    others = [store.resolve(one.name) for one in list_runs(store) if one.name != name]
    rows = [row for row in sample_rows(store, run, SampleQuery(limit=12)).rows if sum(row.labels.values())]
    for place, row in enumerate(rows[:8]):
        for annotator in ("ada", "bob"):
            verdict = ("supported", "unsupported", "contradicted")[(place + (annotator == "bob") * (place % 2)) % 3]
            label_statement(store, run, row.sample_id, 1, verdict, annotator=annotator, note="so")
            grade_answer(store, run, row.sample_id, place % 5 + 1, annotator=annotator)
        for other in others[:1]:
            preferred = ("a", "b", "tie")[place % 3]
            prefer_answer(store, run, row.sample_id, other, row.sample_id, preferred, annotator="ada")
    if rows:
        draw_samples(store, run, size=10, seed=3)
