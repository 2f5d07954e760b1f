"""Tests of links in results of `ragboard mcp`: they open the same data."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from tests.dashboard.views.conftest import Draw

from ragboard import Store

mcp = pytest.importorskip("mcp")

A, B = "bm25-k3", "bm25-rerank-k5"
CALLS = (
    ("read_run", {"run": A}, A),
    ("read_sample", {"run": A, "sample": "q07"}, "q07"),
    ("hallucinations", {"runs": [A], "verdict": "contradicted", "text": "the"}, "statements"),
    ("compare_runs", {"run_a": A, "run_b": B}, A),
    ("diagnose", {"run": A}, A),
    ("query", {"sql": "SELECT 1 AS one"}, ""),
)


@pytest.mark.parametrize(("tool", "arguments", "text"), CALLS, ids=[call[0] for call in CALLS])
def test_an_address_opens_its_page(kept: Store, draw: Draw, tool: str, arguments: Any, text: str) -> None:
    from ragboard.mcp_server import build_server

    async def ask() -> Any:
        async with mcp.Client(build_server(kept, "http://127.0.0.1:9000/")) as client:
            return await client.call_tool(tool, arguments)

    result = json.loads(asyncio.run(ask()).content[0].text)
    address = urlsplit(result["page"])
    assert address.netloc == "127.0.0.1:9000"
    page = draw(address.path.strip("/"), **dict(parse_qsl(address.query)))
    assert not page.exception
    assert not page.error
    drawn = [str(one.value) for kind in ("markdown", "header", "html", "text") for one in page.get(kind)]
    assert any(text in one for one in drawn), drawn
    for inner in result.get("worst_samples", result.get("most_changed_questions", result.get("statements", [])))[:2]:
        if "page" in inner:
            address = urlsplit(inner["page"])
            page = draw(address.path.strip("/"), **dict(parse_qsl(address.query)))
            assert not page.exception
            assert not page.error
