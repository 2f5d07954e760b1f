"""Make stores of any size for benchmarks: two evaluated runs over the same questions.

Each sample has six metrics, five passages and an answer with five statements. Each statement has a joint verdict and a
verdict against each passage. Texts are random combinations of sentences from the passages of the sample runs. Runs are
written by SQL, because a million samples would take an hour as Python objects. Evaluations are loaded from Parquet
files, as usual.

    python -m benchmarks.big_store FOLDER SAMPLES
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from ragboard import METRICS, Evaluation, Store, sample_runs
from ragboard.metrics import describe

SPECS = (
    "ragas.faithfulness",
    "ragas.answer_relevance",
    "ragas.context_relevance",
    "ragchecker.faithfulness",
    "ragchecker.hallucination",
    "ragchecker.claim_recall",
)
RUNS = ("bm25-k3", "bm25-rerank-k5")
STATEMENTS = 5
PASSAGES = 5


def make_store(folder: Path, samples: int) -> Store:
    """Return a store with `samples` samples, half of them in each of two runs. An existing store is not changed."""
    store = Store(folder)
    if store.database.path.exists():
        return store
    for number, name in enumerate(RUNS):
        _add_run(store, f"run{number}", name, samples // len(RUNS), number)
        with TemporaryDirectory() as scratch:
            _evaluate(store, f"run{number}", samples // len(RUNS), number, Path(scratch))
    return store


def _prepare(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the macro `pick`, which maps three numbers to a sentence from the sample runs."""
    passages = {passage.text for sample in sample_runs()[0].samples for passage in sample.contexts or ()}
    found = sorted({part.strip() for text in passages for part in text.split(". ") if 40 < len(part.strip()) < 240})
    connection.execute("SET VARIABLE sentences = ?", [[f"{one.rstrip('.')}." for one in found]])
    connection.execute(
        "CREATE TEMP MACRO pick(a, b, c) AS"
        " getvariable('sentences')[1 + (hash(a, b, c) % len(getvariable('sentences')))::INTEGER]"
    )


def _add_run(store: Store, run_id: str, name: str, samples: int, number: int) -> None:
    with store.database.write() as connection:
        _prepare(connection)
        given = {"run": run_id, "samples": samples, "number": number}
        connection.execute(
            "INSERT INTO runs BY NAME SELECT $run AS run_id, $name AS name, {'k': $number} AS config,"
            " $samples || ' questions' AS dataset, 'same' AS dataset_key, 'made' AS source, []::VARCHAR[] AS tags,"
            " $samples AS samples, now()::TIMESTAMP AS imported, '' AS notes",
            given | {"name": name},
        )
        connection.execute(
            "INSERT INTO samples BY NAME SELECT $run AS run_id, i AS position, 'q' || i AS sample_id,"
            " 'Question ' || i || ': what follows from this? ' || pick(i, 0, 0)[:90] AS question,"
            f" array_to_string([pick($number, i, s) FOR s IN range({STATEMENTS})], ' ') AS answer,"
            " pick(i, 1, 0) AS reference, true AS has_contexts, NULL AS reference_contexts, '[]' AS history,"
            " md5($number || ' ' || i) AS answer_key,"
            " {'topic': 'topic ' || i % 12, 'latency': round((hash(i, $number) % 4000) / 1000.0, 3)} AS metadata"
            " FROM range($samples) t(i)",
            given,
        )
        connection.execute(
            "INSERT INTO passages BY NAME SELECT $run AS run_id, i AS position, r AS rank,"
            " 'doc-' || hash(i, r) % 20000 AS passage_id,"
            " array_to_string([pick(hash(i, r) % 20000, s, 7) FOR s IN range(4)], ' ') AS text, 1.0 / r AS score"
            f" FROM range($samples) t(i), range(1, {PASSAGES + 1}) p(r)",
            {"run": run_id, "samples": samples},
        )


_LABEL = (
    "CASE WHEN hash({at}) % 100 < 86 THEN 'supported' WHEN hash({at}) % 100 < 96 THEN 'unsupported'"
    " ELSE 'contradicted' END"
)
_TABLES = {
    "scores": "SELECT i AS position, m AS metric, CASE WHEN h % 100 >= 3 THEN least(1.0, h % 7 / 5.0 + $number / 50)"
    " END AS value, CASE WHEN h % 100 >= 3 THEN (h % 6) || ' of 5 statements' END AS counted,"
    " CASE WHEN h % 100 < 2 THEN 'refusal' WHEN h % 100 < 3 THEN 'failed' END AS reason,"
    " CASE WHEN h % 100 < 2 THEN 'the answer only declines' WHEN h % 100 < 3 THEN 'no usable reply' END AS detail"
    " FROM (SELECT i, m, hash(i, m, $number) AS h FROM range($samples) t(i), (SELECT unnest($specs) AS m))",
    "sides": "SELECT i AS position, 'response' AS side, hash(i, $number) % 50 = 0 AS refuses FROM range($samples) t(i)",
    "statements": "SELECT i AS position, 'response' AS side, s AS statement, pick($number, i, s) AS text,"
    " s * 80 AS span_start, s * 80 + 70 AS span_end, 'verbatim' AS span_how, NULL AS origin"
    f" FROM range($samples) t(i), range({STATEMENTS}) p(s)",
    "verdicts": "SELECT i AS position, 'response' AS side, s AS statement,"
    " CASE WHEN r = 0 THEN 'joint' ELSE 'passage:' || r END AS target,"
    f" {_LABEL.format(at='i, s, r, $number')} AS label,"
    " CASE WHEN r = 0 THEN 'The passages say that ' || lower(pick(i, s, 3)[:90]) ELSE '' END AS reason,"
    " (hash(i, s, r) % 1000) / 1000.0 AS score, CASE WHEN hash(i, s, r) % 3 = 0 THEN '[]' ELSE"
    """ '[{"rank": ' || greatest(r, 1) || ', "start": 0, "end": 60, "stance": "for", "how": "quoted"}]' END"""
    f" AS evidence FROM range($samples) t(i), range({STATEMENTS}) p(s), range({PASSAGES + 1}) q(r) ORDER BY i",
}


def _evaluate(store: Store, run_id: str, samples: int, number: int, scratch: Path) -> None:
    files = {table: [scratch / f"{table}.parquet"] for table in _TABLES}
    with duckdb.connect() as connection:
        _prepare(connection)
        for table, sql in _TABLES.items():
            given = {"samples": samples, "number": number, "specs": list(SPECS)}
            bound = {key: value for key, value in given.items() if f"${key}" in sql}
            connection.execute(f"COPY ({sql}) TO '{files[table][0]}'", bound)
    evaluation = Evaluation(
        id=f"evaluation{number}",
        run_id=run_id,
        judge="made",
        heuristic=True,
        identity={"made": "by SQL"},
        metrics=SPECS,
    )
    store.load(evaluation, files, [describe(METRICS[spec]) for spec in SPECS])


if __name__ == "__main__":
    make_store(Path(sys.argv[1]), int(sys.argv[2]))
