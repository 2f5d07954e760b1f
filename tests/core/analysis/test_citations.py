"""Tests of storing citations, showing them with a sample, and filtering statements by them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from click.testing import CliRunner
from tests.core.metrics.facts import FactJudge

from ragboard import Panel, Passage, Run, Sample, Store, evaluate_run
from ragboard.analysis import HallucinationQuery, hallucination_groups, hallucinations, sample_report
from ragboard.analysis.verdict_style import citation_sentence, citation_style
from ragboard.cli import main
from ragboard.metrics import metrics_named
from ragboard.query import run_query
from ragboard.store.queries.citations import SampleCitation

ANSWER = "Found here [3]: It is f1 [1]. It is f2; it is f3 [1][2]. It is f4 [1, 9]. It is f5. Good [2]?"
TEXTS = ("f1 f2", "f3", "f4")


def sample(name: str, answer: str = ANSWER, **more: Any) -> Sample:
    passages = tuple(Passage(id=f"p{rank}", text=text, rank=rank) for rank, text in enumerate(TEXTS, 1))
    return Sample(id=name, question="Which facts?", answer=answer, contexts=passages, **more)


@pytest.fixture
def judged(store: Store) -> Store:
    samples = (sample("a"), sample("b", "It is f9 [1]. It is f1."))
    run_id = store.add_runs([Run(name="run", samples=samples)])[0].id
    metrics = metrics_named(["ragas.faithfulness", "alce.citation_recall"])
    evaluate_run(store, run_id, metrics, Panel(judge=FactJudge()))
    return store


def test_citations_are_stored_with_their_places_and_their_support(judged: Store) -> None:
    found = sample_report(judged, judged.resolve("run"), "a").citations
    shown = [(ANSWER[one.start : one.end], one.name, one.rank, one.support, one.statements) for one in found]
    assert shown == [
        ("[3]", "3", 3, "none", (0,)),
        ("[1]", "1", 1, "full", (0,)),
        ("[1]", "1", 1, "partial", (1, 2)),
        ("[2]", "2", 2, "partial", (1, 2)),
        ("[1, 9]", "1", 1, "none", (3,)),
        ("[1, 9]", "9", None, "none", (3,)),
        ("[2]", "2", 2, None, ()),
    ]


def test_the_tables_are_described_and_can_be_queried(judged: Store) -> None:
    sql = "SELECT statement, sentence, supported FROM cited_statements WHERE position = 0 ORDER BY statement"
    assert run_query(judged, sql).rows == ((0, 0, True), (1, 1, True), (2, 1, True), (3, 2, False), (4, 3, None))
    comments = "SELECT table_name, comment FROM duckdb_tables() WHERE starts_with(table_name, 'cit') ORDER BY 1"
    assert [name for name, comment in run_query(judged, comments).rows if comment] == ["citations", "cited_statements"]


def test_evaluating_again_stores_them_once(judged: Store) -> None:
    run = judged.resolve("run")
    before = run_query(judged, "SELECT count(*) FROM citations").rows
    evaluate_run(judged, run.run_id, metrics_named(["alce", "trec"]), Panel(judge=FactJudge()))
    assert run_query(judged, "SELECT count(*) FROM citations").rows == before


def statements(store: Store, **filters: Any) -> list[tuple[str, str]]:
    page = hallucinations(store, HallucinationQuery(**filters))
    return [(row.sample_id, row.statement) for row in page.rows]


def test_the_list_can_hold_only_statements_that_their_citations_do_not_support(judged: Store) -> None:
    assert statements(judged) == [("a", "It is f5."), ("b", "It is f9.")]
    assert statements(judged, miscited=True) == [("b", "It is f9."), ("a", "It is f4.")]
    assert statements(judged, miscited=True, verdict="unsupported") == [("b", "It is f9.")]
    page = hallucinations(judged, HallucinationQuery(miscited=True))
    assert (page.total, page.sentence) == (2, "2 statements cite a passage that does not say so")
    assert [(row.cites, row.cites_in_words) for row in page.rows] == [
        (("1",), "cites [1]"),
        (("1", "9"), "cites [1] [9]"),
    ]
    uncited = hallucinations(judged, HallucinationQuery()).rows[0]
    assert (uncited.statement, uncited.cites, uncited.cites_in_words) == ("It is f5.", (), "")
    page = hallucinations(judged, HallucinationQuery(miscited=True, verdict="unsupported"))
    assert page.sentence == "1 unsupported statement cites a passage that does not say so"
    assert hallucination_groups(judged, HallucinationQuery(miscited=True), "judge").groups[0].statements == 2


def test_the_command_lists_them_too(judged: Store) -> None:
    words = ["hallucinations", "run", "--miscited", "--store", str(judged.folder)]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[0] == "2 statements cite a passage that does not say so"
    assert "✓ supported: It is f4.\n    cites [1] [9]\n" in done.output
    assert json.loads(CliRunner().invoke(main, [*words, "--json"]).output)["total"] == 2


def test_an_assistant_can_list_only_them(judged: Store) -> None:
    mcp = pytest.importorskip("mcp")
    from ragboard.mcp_server import build_server

    async def ask() -> Any:
        async with mcp.Client(build_server(judged, "http://127.0.0.1:9000/")) as client:
            return await client.call_tool("hallucinations", {"miscited": True})

    found = json.loads(asyncio.run(ask()).content[0].text)
    assert [(row["sample"], row["cites"]) for row in found["statements"]] == [("b", ["1"]), ("a", ["1", "9"])]
    assert found["page"].endswith("?miscited=true")


def test_a_deleted_run_leaves_no_citation(judged: Store) -> None:
    judged.remove_runs([judged.resolve("run").run_id])
    for table in ("citations", "cited_statements"):
        assert run_query(judged, f"SELECT count(*) FROM {table}").rows == ((0,),)


@pytest.mark.parametrize(
    ("rank", "support", "rule_based", "sentence", "look"),
    [
        (2, "full", False, "Passage 2 supports this sentence.", ("✓", "supported")),
        (2, "full", True, "Passage 2 likely supports this sentence.", ("✓", "supported")),
        (2, "partial", False, "Passage 2 supports part of this sentence.", ("◐", "supported")),
        (2, "none", True, "Passage 2 likely does not support this sentence.", ("?", "unsupported")),
        (None, "none", True, "No retrieved passage has the number or id 7.", ("?", "unsupported")),
        (2, None, True, "Passage 2 is cited here, in a sentence without statements.", ("", "unjudged")),
    ],
)
def test_a_citation_in_words(
    rank: int | None, support: Any, rule_based: bool, sentence: str, look: tuple[str, str]
) -> None:
    citation = SampleCitation(start=0, end=3, name="7", rank=rank, support=support, statements=())
    assert citation_sentence(citation, rule_based=rule_based) == sentence
    style = citation_style(citation, ())
    assert (style.icon, style.css) == look
