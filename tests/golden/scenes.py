"""The scenes: each function runs something and returns what to compare."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import ragboard
from ragboard import preview, read_runs, sample_runs
from ragboard.sample_files import sample_folder
from tests.chat_server import ChatServer, replies
from tests.golden import adapter
from tests.golden.bench import Bench, model_server, page
from tests.golden.normal import canonical
from tests.golden.texts import EXAMPLES, HOSTILE, ORDINARY, jsonl, tasks

__all__ = ["SCENES", "Scene"]

ROOT = Path(__file__).parents[2]
A, B = "bm25-k3", "bm25-rerank-k5"
EMBEDDED = (
    "ragas.faithfulness,ragas.answer_relevance,ragas.context_relevance,ragas.context_precision,"
    "ragas.context_utilization,ragas.context_recall,ragas.context_relevancy,ragas.context_entity_recall,"
    "ragas.answer_correctness,ragas.factual_correctness,ragas.noise_sensitivity,ragas.answer_similarity,"
    "ragchecker,retrieval,overlap,ragboard,ares"
)
"""What the embedded judge can answer."""
ALL = "ragas,ragchecker,retrieval,overlap,ragboard,gpt_score,ares"
MODEL = ("--judge", "openai:golden", "--embed", "embedded", "--base-url", "http://127.0.0.1:47811/v1")
VECTORS = ("--judge", "embedded", "--embed", "openai:vectors", "--base-url", "http://127.0.0.1:47811/v1")
"""Batches of embeddings are as they come, so tokens and calls are not compared, only texts and replies."""

Scene = Callable[[Bench], None]


def data() -> Path:
    """The folder of real data; the scene is left out where there is none."""
    name = os.environ.get("RAGBOARD_DATA")
    if not name:
        pytest.skip("RAGBOARD_DATA names no folder of real data")
    return Path(name)


@cache
def _evaluated() -> Path:
    """A store with both sample runs evaluated by the embedded judge, made once."""
    bench = Bench()
    for name in (A, B):
        bench.run("import", sample_folder() / "runs" / f"{name}.jsonl", keep=False)
        bench.run("evaluate", name, "--metrics", EMBEDDED, keep=False)
    return bench.folder


def _with_sample(bench: Bench) -> None:
    shutil.copytree(_evaluated() / ".ragboard", bench.folder / ".ragboard")


def _reports(bench: Bench, found: Mapping[str, Any], head: str) -> None:
    for name, value in found.items():
        if name.startswith("html"):
            bench.keep(f"{head} {name}", page(value))
        else:
            bench.keep(f"{head} {name}", value)


# Tasks and prompts


def every_task(bench: Bench) -> None:
    """Keys, prompts, schemas, simulated replies, and how replies are read."""
    bench.longest = None
    examples = bench.folder / "examples.tsv"
    examples.write_text(EXAMPLES, encoding="utf-8")
    made = [(name, adapter.task(kind, **given)) for name, kind, given in tasks()]
    for name, task in made:
        bench.keep(name, adapter.asked(task, examples))
    for (name, _), reply in zip(
        [*made, ("identities", None)], adapter.embedded_replies([task for _, task in made]), strict=True
    ):
        bench.keep(f"embedded: {name}", reply)


# Models


def _requests(bench: Bench, server: ChatServer, name: str) -> None:
    chats = sorted(json.dumps(body, sort_keys=True, ensure_ascii=False) for body in server.asked if "messages" in body)
    texts = sorted({text for body in server.asked if "input" in body for text in body["input"]})
    rest = {
        json.dumps({key: one for key, one in body.items() if key != "input"})
        for body in server.asked
        if "input" in body
    }
    bench.keep(f"{name} chats", [json.loads(chat) for chat in chats])
    bench.keep(f"{name} embedded", {"texts": texts, "rest": sorted(rest), "queries": sorted(set(server.queries))})
    bench.keep(f"{name} keys", sorted(set(server.keys)))
    server.asked.clear()


def _spoils(asked: dict[str, Any]) -> Any:
    """Every first reply that makes statements is no JSON, and every second is cut off."""
    if not asked["messages"][0]["content"].startswith("# Break an answer"):
        return None
    cut = '{"statements": [{"statement": "It'
    return {1: replies("nothing"), 3: replies(cut, "length")}.get(len(asked["messages"]))


def models(bench: Bench) -> None:
    """Every metric, asked of a model: each request as it is sent, each line of the journal, plan and cost."""
    bench.longest = None
    (bench.folder / "ordinary.jsonl").write_text(jsonl(ORDINARY), encoding="utf-8")
    (bench.folder / "hostile.jsonl").write_text(jsonl(HOSTILE[3:12]), encoding="utf-8")
    (bench.folder / "examples.tsv").write_text(EXAMPLES, encoding="utf-8")
    prices = '[models."golden"]\nprompt = 1.0\ncompletion = 2.0\n'
    (bench.folder / "prices.toml").write_text(prices, encoding="utf-8")
    ask = MODEL
    bench.run("plan", "ordinary.jsonl", *MODEL, "--metrics", ALL, "--json")
    bench.run(
        "plan", "ordinary", *MODEL, "--metrics", ALL, "--statements", "4", "--reference-statements", "2", "--json"
    )
    with model_server() as server:
        bench.run("evaluate", "ordinary", *ask, "--metrics", ALL, "--sample", "3", "--seed", "1", "--json")
        _requests(bench, server, "part")
        bench.run("evaluate", "ordinary", *ask, "--metrics", ALL, "--json")
        _requests(bench, server, "rest")
        bench.run("evaluate", "hostile.jsonl", *ask, "--metrics", ALL, "--examples", "examples.tsv", "--json")
        _requests(bench, server, "hostile")
        settings = ("--judge-param", "reasoning_effort=low", "--judge-param", "max_tokens=900", "--no-cache")
        server.chance = _spoils
        bench.run("evaluate", "ordinary", *ask, *settings, "--sample", "2", "--json", name="repaired")
        server.chance = lambda _: None
        _requests(bench, server, "repaired")
        for metric in (
            "ragas.answer_relevance(method=rating)",
            "ragas.harmfulness(n=3)",
            "ragas.context_relevancy(n=3)",
        ):
            bench.run("evaluate", "ordinary", *ask, "--metrics", metric, "--json")
        _requests(bench, server, "settings")
        for quality in ("faithfulness", "answer_relevance", "context_relevance"):
            bench.run("prefer", "ordinary", "hostile", *ask, "--quality", quality, "--json")
        (bench.folder / "second.jsonl").write_text(
            jsonl([row | {"answer": f"A good one: {row['answer']}"} for row in ORDINARY]), encoding="utf-8"
        )
        bench.run("import", "second.jsonl", keep=False)
        for quality in ("faithfulness", "answer_relevance", "context_relevance"):
            bench.run("prefer", "ordinary", "second", *ask, "--quality", quality, "--json")
        _requests(bench, server, "prefer")
        bench.run("evaluate", "second", *ask, "--json")
        _requests(bench, server, "second")
        bench.run("evaluate", "ordinary", *ask, "--metrics", "faithfulness", "--max-calls", "0", "--no-cache", "--json")
        embedded = "ragas.answer_relevance,ragas.answer_similarity,ragas.answer_correctness"
        bench.run("plan", "ordinary", *VECTORS, "--metrics", embedded, "--json")
        server.asked.clear()
        vectors = ("ordinary.jsonl", *VECTORS, "--metrics", embedded, "--store", "vectors", "--json")
        bench.run("evaluate", *vectors, keep=False)
        _requests(bench, server, "vectors")
        bench.run("retry", "ordinary", "--json")
    bench.run("show", "ordinary", "h01", "--calls", "--json")
    bench.run("cache", "--json")
    bench.run("compare", "ordinary", "second", "--json")
    bench.journals()
    bench.journals("vectors", store="vectors")
    for name in ("ordinary", "hostile"):
        _reports(bench, adapter.run_reports(bench.store, name), name)


def people_and_models(bench: Bench) -> None:
    """A model held against labels, and writing questions."""
    bench.longest = None
    labels = sample_folder() / "labels"
    for name, count in (("wikieval.jsonl", 3), ("pairs.jsonl", 4), ("statements.jsonl", 4), ("sentences.jsonl", 3)):
        lines = (labels / name).read_text("utf-8").splitlines(keepends=True)[:count]
        (bench.folder / name).write_text("".join(lines), encoding="utf-8")
    passages = bench.folder / "passages.jsonl"
    passages.write_text(jsonl([{"text": row["contexts"][0] * 2} for row in ORDINARY[:1]]), encoding="utf-8")
    (bench.folder / "examples.tsv").write_text(EXAMPLES, encoding="utf-8")
    ask = MODEL
    with model_server() as server:
        for name in ("wikieval.jsonl", "pairs.jsonl", "statements.jsonl", "sentences.jsonl"):
            bench.run("agree", name, *ask, "--json")
            _requests(bench, server, name)
    with model_server() as server:
        for kind in ("ares", "wikieval"):
            out = ("--out", f"synth-{kind}", "--kind", kind, "--least-words", "5", "--json")
            bench.run("synth", "passages.jsonl", *out, *ask, "--examples", "examples.tsv")
            _requests(bench, server, f"synth {kind}")
            for path in sorted((bench.folder / f"synth-{kind}").iterdir()):
                if path.suffix in (".jsonl", ".tsv"):
                    bench.wrote(f"synth-{kind}/{path.name}")
    bench.journals()


# The embedded judge and the reports


def sample_journals(bench: Bench) -> None:
    """What the embedded judge replies on the sample."""
    _with_sample(bench)
    bench.longest = 40
    bench.journals()


def sample_reports(bench: Bench) -> None:
    """Every report object about one sample run, without and with thresholds."""
    _with_sample(bench)
    _reports(bench, adapter.run_reports(bench.store, A), A)


def sample_pairs(bench: Bench) -> None:
    """Every report object about two runs, and about the store."""
    _with_sample(bench)
    bench.run("threshold", "ragas.faithfulness", "0.6", "--json")
    bench.run("threshold", "ragchecker.hallucination", "0.2", "--json")
    bench.run("threshold", "--json")
    _reports(bench, adapter.pair_reports(bench.store, A, B), "pair")
    _reports(bench, adapter.pair_reports(bench.store, B, A), "turned")
    _reports(bench, adapter.store_reports(bench.store), "store")


def sample_commands(bench: Bench) -> None:
    """What the commands print as JSON, and their exit codes."""
    _with_sample(bench)
    for policy in ("excluded", "zero", "bounds"):
        bench.run("runs", "--unscored", policy, "--json")
        bench.run("compare", A, B, "--unscored", policy, "--json")
    bench.run("show", A, "--json")
    bench.run("show", B, "--json")
    for sample in ("q01", "q07", "q10", "q33"):
        bench.run("show", A, sample, "--json")
    bench.run("show", A, "nothing", "--json")
    bench.run("show", "nothing", "--json")
    bench.run("hallucinations", "--json")
    for more in (
        (A, "--verdict", "contradicted"),
        ("--by", "passage"),
        ("--by", "question"),
        ("--by", "judge"),
        ("--text", "tunnel"),
        ("--passage", "danube#1"),
        ("--human", "none", "--limit", "3"),
        ("--judge", "embedded", "--limit", "3"),
    ):
        bench.run("hallucinations", *more, "--json")
    for run in (A, B):
        bench.run("diagnose", run, "--json")
    bench.run("compare", A, B, "--metrics", "faithfulness,token_f1", "--json")
    for condition in ("faithfulness < -0.02", "faithfulness < 0.9", "token_f1 > 0", "faithfulness > 5", "x < 1"):
        bench.run("compare", A, B, "--fail-if", f"ragas.{condition}", "--json")
    bench.run("compare", A, B, "--markdown")
    for limit in ("0.2", "0.6", "0.99", "7"):
        bench.run("check", A, "--min", f"ragas.faithfulness={limit}", "--json")
    bench.run("check", A, "--max", "ragchecker.hallucination=0.05", "--unscored", "zero", "--json")
    bench.run("check", A, "--json")
    bench.run("threshold", "ragas.faithfulness", "0.6", "--json")
    bench.run("check", A, "--json", name="check by threshold")
    bench.run("threshold", "ragas.faithfulness", "--remove", "--json")
    bench.run("metrics", "--json")
    for name in ("faithfulness", "ragchecker", "nothing"):
        bench.run("metrics", name, "--json")
    bench.run("plan", A, "--metrics", EMBEDDED, "--json")
    bench.run("plan", A, *MODEL, "--metrics", ALL, "--json")
    bench.run("evaluate", A, "--metrics", EMBEDDED, "--json", name="evaluate again")
    bench.run("evaluate", A, "--metrics", "gpt_score", "--json")
    bench.run("retry", A, "--json")
    bench.run("tag", A, "+new", "-sample")
    bench.run("rename", A, "other")
    bench.run("runs", "--json", name="runs renamed")
    bench.run("rm", "other", "--yes")
    bench.run("runs", "--json", name="runs left")
    bench.run("cache", "--json")
    for argument in ("--help", "--version"):
        bench.run(argument, keep=False)
    for command in ragboard_commands():
        bench.run(command, "--nothing")


def ragboard_commands() -> tuple[str, ...]:
    """The commands there are."""
    import click

    from ragboard.cli import main

    return tuple(sorted(main.list_commands(click.Context(main))))


def sample_exports(bench: Bench) -> None:
    """What is written, in each format."""
    _with_sample(bench)
    runs = {"samples": (A,), "statements": (A,), "runs": (A, B), "metrics": (), "comparison": (A, B), "pairs": (A, B)}
    for what, names in runs.items():
        for kind in ("csv", "json", "jsonl", "parquet"):
            out = f"{what}.{kind}"
            bench.run("export", *names, "--what", what, "-o", out)
            bench.wrote(out)
    bench.run("export", A, "--format", "ragchecker", "-o", "checked.json")
    bench.wrote("checked.json")
    bench.run("export", A, B, "--format", "ragchecker", "-o", "two.json")
    bench.run("export", "--what", "runs", "--unscored", "bounds", "-o", "bounds.jsonl")
    bench.wrote("bounds.jsonl")
    for kind in ("csv", "json", "jsonl", "parquet"):
        bench.run("hallucinations", "-o", f"made-up.{kind}")
        bench.wrote(f"made-up.{kind}")
    for name, words in {
        "report.html": (A,),
        "compared.html": (A, B, "--metric", "ragas.faithfulness"),
        "few.html": (B, "--samples", "2", "--unscored", "bounds"),
    }.items():
        bench.run("report", *words, "-o", name)
        bench.wrote(name)
    for place, sql in enumerate(
        (
            "SELECT run, verdict, count(*) AS n FROM statement_verdicts WHERE shown GROUP BY ALL ORDER BY ALL",
            "SELECT * FROM sample_scores ORDER BY ALL LIMIT 50",
            "SHOW TABLES",
            "SELECT column_name, data_type, table_name FROM information_schema.columns"
            " WHERE table_schema = 'main' ORDER BY ALL",
            "DELETE FROM runs",
            "SELECT 1/0 AS x, 'a' AS y",
        )
    ):
        for kind in ("csv", "json", "jsonl", "parquet"):
            bench.run("query", sql, "-o", f"query{place}.{kind}", name=f"query {kind} {sql}")
            if (bench.folder / f"query{place}.{kind}").exists():
                bench.wrote(f"query{place}.{kind}")


def people(bench: Bench) -> None:
    """What people said, and what is reckoned from it."""
    _with_sample(bench)
    labels = sample_folder() / "labels"
    adapter.label(bench.store, A)
    bench.run("label", A, "q10", "1", "unsupported", "--annotator", "ada", "--note", "so")
    bench.run("label", A, "q11", "1", "supported", "--annotator", "ada")
    bench.run("label", A, "q11", "1", "none", "--annotator", "ada")
    bench.run("label", A, "q11", "99", "supported", "--annotator", "ada")
    bench.run("labels", "draw", A, "--size", "20", "--seed", "3", "--json")
    bench.run("labels", "draw", B, "--size", "30", "--seed", "7", "--json")
    for name in ("statements.jsonl", "answers.tsv", "qualities.tsv", "pairs.jsonl"):
        bench.run("labels", "import", labels / name, "--design", "random", "--annotator", "eve", "--json")
    bench.run("labels", "export", "-o", "labels.jsonl")
    rows = [json.loads(line) for line in (bench.folder / "labels.jsonl").read_text("utf-8").splitlines()]
    bench.keep("labels exported", sorted(rows, key=json.dumps))
    bench.run("show", A, "--json")
    bench.run("show", A, "q10", "--json")
    bench.run("hallucinations", "--human", "overruled", "--json")
    bench.run("hallucinations", "--human", "agrees", "--json")
    bench.run("estimate", A, B, "--width", "0.1", "--json")
    for measured in ("verdicts", "faithfulness", "answer_relevance", "context_relevance"):
        bench.run("estimate", A, B, "--labels", measured, "--raw", "--json")
        bench.run("estimate", A, "--labels", measured, "--metric", "overlap.context_overlap", "--json")
    for more in ((), ("--pool",), ("--pool", "--order", f"{B},{A}"), ("--metric", "ragas.faithfulness")):
        bench.run("rank", A, B, "--labels", labels / "answers.tsv", "--design", "random", *more, "--json")
    bench.run("rank", A, B, "--labels", labels / "answers.tsv", "--json")
    bench.run("diagnose", A, "--json")
    _reports(bench, adapter.people_reports(bench.store, labels / "answers.tsv", (A, B)), "people")
    bench.run("show", B, "--json")


def agreement(bench: Bench) -> None:
    """Metrics and the embedded judge held against labels."""
    labels = sample_folder() / "labels"
    for name in ("wikieval.jsonl", "pairs.jsonl", "statements.jsonl", "sentences.jsonl"):
        bench.run("agree", labels / name, "--json")
    for ties in ("half", "loss", "exclude"):
        bench.run("agree", labels / "wikieval.jsonl", "--ties", ties, "--json")
    rows = [
        {
            "id": f"g{place}",
            "question": row["question"],
            "answer": row["answer"],
            "contexts": row["contexts"],
            "human": {"faithfulness": [1 + place % 4, 1 + (place * 3) % 4], "usefulness": 1 + place % 3},
            "conversation": f"c{place % 5}",
        }
        for place, row in enumerate(_rows_of(A)[:24])
    ]
    (bench.folder / "graded.jsonl").write_text(jsonl(rows), encoding="utf-8")
    for more in ((), ("--at-least", "3"), ("--dimension", "usefulness"), ("--cluster", "question"), ("--cut", "0.5")):
        bench.run("agree", "graded.jsonl", *more, "--json")
    bench.run("agree", "graded.jsonl", "--metrics", "faithfulness,token_f1", "--against", "length", "--json")
    for repeats in ("60", "25"):
        bench.run("simulate", "ranking", "--repeats", repeats, "--items", "300", "--labels", "40", "--json")
    bench.run(
        "simulate", "ranking", "--sensitivity", "0.7", "--repeats", "20", "--items", "200", "--seed", "4", "--json"
    )
    bench.run("import", sample_folder() / "runs" / f"{A}.jsonl", keep=False)
    _reports(bench, adapter.people_reports(bench.store, labels / "answers.tsv", (A,)), "agreement")
    bench.longest = 40
    bench.journals()


def _rows_of(name: str) -> list[dict[str, Any]]:
    lines = (sample_folder() / "runs" / f"{name}.jsonl").read_text("utf-8").splitlines()[1:]
    return [json.loads(line) for line in lines]


def _evaluate_file(bench: Bench, name: str, rows: list[dict[str, Any]], metrics: str = EMBEDDED) -> None:
    (bench.folder / f"{name}.jsonl").write_text(jsonl(rows), encoding="utf-8")
    bench.run("import", f"{name}.jsonl", "--json")
    bench.run("evaluate", name, "--metrics", metrics, "--json")


def hostile(bench: Bench) -> None:
    """A run that tries to break what reads it."""
    _evaluate_file(bench, "hostile", HOSTILE)
    changed = [row | {"answer": str(row.get("answer") or "Now there is one.").upper()} for row in HOSTILE[2:]]
    _evaluate_file(bench, "changed", changed)
    bench.journals()
    _reports(bench, adapter.run_reports(bench.store, "hostile"), "hostile")
    _reports(bench, adapter.pair_reports(bench.store, "hostile", "changed"), "pair")
    _reports(bench, adapter.store_reports(bench.store), "store")
    for kind in ("csv", "jsonl", "parquet"):
        for what in ("samples", "statements"):
            bench.run("export", "hostile", "--what", what, "-o", f"{what}.{kind}")
            bench.wrote(f"{what}.{kind}")
    bench.run("export", "hostile", "--format", "ragchecker", "-o", "checked.json")
    bench.wrote("checked.json")
    for name in ("hostile", "changed"):
        bench.run("diagnose", name, "--json")
        bench.run("show", name, "--json")
    bench.run("compare", "hostile", "changed", "--json")


def ragchecker(bench: Bench) -> None:
    """A slice of RAGChecker's pairs, each side one run: numbers and digests only."""
    bench.longest = 24
    lines = (data() / "ragchecker" / "meta_pairs_5domains.jsonl").read_text("utf-8").splitlines()[:60:4]
    rows = [json.loads(line) for line in lines]
    for side in ("a", "b"):
        _evaluate_file(bench, f"side-{side}", [_side(row, side) for row in rows])
    bench.journals()
    for name in ("side-a", "side-b"):
        _reports(bench, adapter.run_reports(bench.store, name), name)
    _reports(bench, adapter.pair_reports(bench.store, "side-a", "side-b"), "pair")
    _reports(bench, adapter.store_reports(bench.store), "store")
    for name in ("checking_inputs.json", "checking_outputs.json"):
        bench.keep(f"read {name}", read_runs(data() / "ragchecker" / name))
        bench.run(
            "evaluate", data() / "ragchecker" / name, "--metrics", "ragchecker", "--json", name=f"evaluate {name}"
        )
    (bench.folder / "pairs.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    bench.run("agree", "pairs.jsonl", "--json")


def _side(row: dict[str, Any], side: str) -> dict[str, Any]:
    kept = {name: row[name] for name in ("id", "question", "reference", "contexts", "domain") if name in row}
    answer = row.get(f"answer_{side}", row.get(side))
    if isinstance(answer, dict):
        kept |= {"answer": answer.get("answer"), "contexts": answer.get("contexts", kept.get("contexts"))}
    else:
        kept |= {"answer": answer}
    return kept


def mtrag(bench: Bench) -> None:
    """A slice of MTRAG's conversations: numbers and digests only."""
    bench.longest = 24
    lines = (data() / "mtrag" / "mtrag_human_eval_12conv.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    models = sorted({row["model"] for row in rows})[:2]
    for place, model in enumerate(models):
        chosen = [row for row in rows if row["model"] == model][:25]
        _evaluate_file(bench, f"model{place}", chosen, "ragas.faithfulness,ragas.answer_relevance,ragboard,overlap")
    bench.journals()
    for place in range(len(models)):
        _reports(bench, adapter.run_reports(bench.store, f"model{place}"), f"model{place}")
    _reports(bench, adapter.pair_reports(bench.store, "model0", "model1"), "pair")
    (bench.folder / "some.jsonl").write_text("".join(f"{line}\n" for line in lines[:30]), encoding="utf-8")
    bench.run("agree", "some.jsonl", "--json")
    pairs = (data() / "mtrag" / "mtrag_pairs_12conv.jsonl").read_text("utf-8").splitlines()[:20]
    (bench.folder / "pairs.jsonl").write_text("".join(f"{line}\n" for line in pairs), encoding="utf-8")
    bench.run("agree", "pairs.jsonl", "--json")


# Stores, files, Python


def old_stores(bench: Bench) -> None:
    """A store of each earlier schema: its numbers, and its evaluation goes on."""
    old = ROOT / "tests" / "core" / "store" / "old"
    for archive in sorted(old.glob("*.tar.xz")):
        version = archive.name.partition(".")[0]
        shutil.rmtree(bench.folder / ".ragboard", ignore_errors=True)
        bench.unpack(archive)
        bench.run("runs", "--json", name=f"{version} runs")
        bench.run("show", "old", "--json", name=f"{version} show")
        bench.journals(f"{version} before")
        judge = ("--judge", f"replay:{old / 'recording.jsonl'}", "--metrics", "faithfulness,answer_relevance")
        bench.run("evaluate", "old", *judge, "--json", name=f"{version} evaluate")
        bench.run("evaluate", "old", *judge, "--json", name=f"{version} evaluate again")
        bench.run("retry", "old", "--json", name=f"{version} retry")
        bench.journals(f"{version} after")
        _reports(bench, adapter.run_reports(bench.store, "old"), version)
        _reports(bench, adapter.store_reports(bench.store), version)


def readers(bench: Bench) -> None:
    """What every kind of file reads to: ours, those of the sample, and those of other tools where they are."""
    for name, content in _files().items():
        path = bench.folder / name
        path.write_bytes(content)
        _read(bench, path, name)
    for path in sorted(sample_folder().rglob("*")):
        if path.suffix in (".jsonl", ".tsv", ".csv", ".json"):
            _read(bench, path, f"sample {path.relative_to(sample_folder())}")
    bench.keep("sample runs", sample_runs())


def tools(bench: Bench) -> None:
    """What files of other tools read to: numbers and digests only."""
    bench.longest = 24
    for folder in ("tools", "ares", "begin", "wikieval", "ragchecker"):
        for path in sorted((data() / folder).rglob("*")):
            if path.is_file() and path.suffix not in (".md", ".pb", "") and path.stat().st_size < 500_000:
                _read(bench, path, str(path.relative_to(data())))


def _read(bench: Bench, path: Path, name: str) -> None:
    for what, work in {
        "runs": lambda: read_runs(path),
        "forgiving": lambda: read_runs(path, skip_bad=True),
        "preview": lambda: preview(path),
    }.items():
        try:
            bench.keep(f"{name}: {what}", work())
        except (ragboard.RagboardError, ValueError) as error:
            bench.keep(f"{name}: {what}", {"raises": type(error).__name__, "message": str(error)})
    bench.keep(f"{name}: labelled", adapter.read_labelled(path))


def _files() -> dict[str, bytes]:
    """Files of every format."""
    rows = [row for row in HOSTILE if "\0" not in json.dumps(row, ensure_ascii=False)]
    flat = [
        {name: json.dumps(value) if isinstance(value, list | dict) else value for name, value in row.items()}
        for row in ORDINARY
    ]
    ragas = [
        {"user_input": r["question"], "response": r["answer"], "retrieved_contexts": ["a", "b"], "reference": "c"}
        | {"faithfulness": 0.5, "answer_relevancy": place / 7}
        for place, r in enumerate(ORDINARY)
    ]
    header = {"run": {"name": "mine", "config": {"k": 3}, "dataset": "d", "tags": ["t"]}}
    checked = {
        "results": [
            {
                "query_id": str(place),
                "query": row["question"],
                "gt_answer": row.get("reference", ""),
                "response": row["answer"],
                "retrieved_context": [{"doc_id": "d", "text": "p"}, {"doc_id": None, "text": "q"}],
                "response_claims": [["s", "p", "o"]],
                "metrics": {"precision": 0.5, "f1": place / 3},
            }
            for place, row in enumerate(ORDINARY)
        ],
        "metrics": {"overall_metrics": {"precision": 50.0}},
    }
    messages = [
        {
            "user_input": [{"content": "Hi", "type": "human"}, {"content": "Where?", "type": "human"}],
            "response": "Here.",
        },
        {"user_input": [{"content": "Where?", "type": "human"}, {"content": "There.", "type": "ai"}]},
    ]
    labelled = [
        {
            "question": "Q?",
            "answer": "One. Two.",
            "contexts": ["p"],
            "statements": [{"text": "One.", "label": "supported"}],
        },
        {"question": "Q?", "answer": "A.", "contexts": ["p"], "grades": {"faithfulness": {"ada": 3, "bob": 5}}},
        {"question": "Q?", "a": "A.", "b": "B.", "contexts": ["p"], "preferred": "a"},
    ]
    columns = {name: [row.get(name) for row in ragas] for name in ragas[0]}
    parquet, feather = io.BytesIO(), io.StringIO()
    pd.DataFrame(ragas).to_parquet(parquet)
    writer = csv.DictWriter(feather, fieldnames=sorted({name for row in flat for name in row}), delimiter=";")
    writer.writeheader()
    writer.writerows(flat)
    text = jsonl(rows)
    table = pd.DataFrame(ragas).to_csv(index=False)
    return {
        "ours.jsonl": (json.dumps(header) + "\n" + text).encode(),
        "ours.json": json.dumps(header | {"samples": ORDINARY}).encode(),
        "bare.json": json.dumps(ORDINARY).encode(),
        "hostile.jsonl": text.encode(),
        "bom.jsonl": b"\xef\xbb\xbf" + text.encode(),
        "utf16.jsonl": jsonl(ORDINARY).encode("utf-16"),
        "crlf.jsonl": text.replace("\n", "\r\n").encode(),
        "torn.jsonl": text.encode()[:-20],
        "bad-rows.jsonl": (text + '{"question": 3}\n[1]\n{"question": "x", "answer": NaN}\nnot\n').encode(),
        "twice.jsonl": (text + text).encode(),
        "constants.jsonl": b'{"question": "q", "answer": "a", "score": NaN, "x": Infinity, "y": 1e400}\n',
        "keys-twice.jsonl": b'{"question": "q", "question": "r", "answer": "a"}\n',
        "ragas.jsonl": jsonl(ragas).encode(),
        "ragas.csv": table.encode(),
        "ragas.tsv": pd.DataFrame(ragas).to_csv(index=False, sep="\t").encode(),
        "windows.csv": table.replace("Danube", "Donaulände").encode("cp1252"),
        "semicolon.csv": feather.getvalue().encode(),
        "ragas.parquet": parquet.getvalue(),
        "columns.json": json.dumps(columns).encode(),
        "frame.json": pd.DataFrame(ragas).to_json().encode(),
        "checked.json": json.dumps(checked).encode(),
        "messages.jsonl": jsonl(messages).encode(),
        "labelled.jsonl": jsonl(labelled).encode(),
        "labelled-bad.jsonl": (jsonl(labelled) + '{"question": "q"}\n{"statements": 3}\n').encode(),
        "corpus.csv": b"id,text\na,The first text is here.\nb,The second one is longer than the first.\n",
        "empty.jsonl": b"",
        "empty.csv": b"",
        "blank.json": b"   ",
        "nothing.json": b"{}",
        "number.json": b"3",
        "binary.parquet": b"PAR1nothing",
    }


def python(bench: Bench) -> None:
    """The names of `ragboard` itself: evaluate, log, plan, judges of one's own, recordings."""
    from ragboard import EmbeddedJudge, Panel, RecordingJudge, ReplayJudge, Store, evaluate, judge_from, log

    bench.keep("names", sorted(ragboard.__all__))
    found = evaluate(HOSTILE, metrics=["faithfulness", "token_f1", "ragboard"], name="mine")
    bench.keep("evaluated", {"summary": found.summary, "samples": found.samples, "report": found.report})
    frame = found.to_pandas()
    bench.keep("frame", frame[[name for name in frame.columns if not name.endswith(": why")]])
    recording = bench.folder / "recording.jsonl"
    judge = RecordingJudge(EmbeddedJudge(), recording)
    store = Store(bench.folder / "recorded")
    evaluate(ORDINARY, judge=Panel(judge=judge), store=store, name="recorded")
    bench.keep("recording", sorted(recording.read_text("utf-8").splitlines()))
    replayed = evaluate(ORDINARY, judge=Panel(judge=ReplayJudge.from_file(recording)))
    bench.keep("replayed", replayed.summary)
    prompts: list[str] = []

    def ask(texts: list[str]) -> list[str]:
        from tests.chat_server import answer

        prompts.extend(texts)
        return [answer(text) for text in texts]

    own = Panel(judge=judge_from(ask, version="1", name="own"), roles={"embed": EmbeddedJudge()})
    found = evaluate(ORDINARY, metrics=["ragas.faithfulness", "ragchecker", "ares"], judge=own, name="own")
    bench.keep("own", found.summary)
    bench.keep("own prompts", sorted(prompts))
    for place, row in enumerate(ORDINARY):
        given = {"question": row["question"], "answer": row["answer"], "contexts": row["contexts"]}
        bench.keep(f"logged {place}", log("logged", **given, store=bench.folder / ".ragboard"))
    bench.run("evaluate", "logged", "--json")
    _reports(bench, adapter.run_reports(bench.store, "logged"), "logged")
    bench.keep("canonical", canonical({"x": (1, 2.5, None)}))


def synthesis(bench: Bench) -> None:
    """`synth` without a model, which changes on purpose: written anew by itself."""
    documents = bench.folder / "documents"
    documents.mkdir()
    for path in sorted((sample_folder() / "documents").iterdir())[:4]:
        shutil.copy(path, documents)
    for kind in ("ares", "wikieval"):
        bench.run("synth", "documents", "--out", f"out-{kind}", "--kind", kind, "--json")
        for path in sorted((bench.folder / f"out-{kind}").iterdir()):
            if path.suffix in (".jsonl", ".tsv"):
                bench.wrote(f"out-{kind}/{path.name}")


SCENES: Mapping[str, Scene] = {
    scene.__name__: scene
    for scene in (
        every_task,
        models,
        people_and_models,
        sample_journals,
        sample_reports,
        sample_pairs,
        sample_commands,
        sample_exports,
        people,
        agreement,
        hostile,
        ragchecker,
        mtrag,
        old_stores,
        readers,
        tools,
        python,
        synthesis,
    )
}
