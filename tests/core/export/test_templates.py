"""Tests of escaping: every field of a report is shown as text."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError
from tests.chat_server import answer

import ragboard.export
from ragboard import EmbeddedJudge, Metric, Panel, Passage, Run, Sample, Score, Store, Turn, evaluate_run, judge_from
from ragboard.export.comparison_report import comparison_report
from ragboard.export.html import readable, render
from ragboard.export.run_report import run_report
from ragboard.human.labels import label_statement
from ragboard.metrics import METRICS, describe
from ragboard.metrics.base import Direction
from ragboard.records import FileScores, Unscored

FOLDER = Path(ragboard.export.__file__).parent
TEMPLATES = sorted((FOLDER / "templates").glob("*.html"))
HOSTILE = (
    "<script>window.hacked=1</script></style></title></textarea>--><img src=x onerror=window.hacked=1>"
    ' "onmouseover="window.hacked=1\' {{ 7 * 7 }}{% raw %} &lt;b&gt; javascript:alert(1) \u202egnp.exe'
)
TAGS = (
    "a article b body caption circle dd del details div dl dt footer h1 h2 h3 head header html ins li line main mark"
    " meta nav ol p rect section span style summary svg table tbody td th thead title tr"
)
ATTRIBUTES = (
    "aria-hidden aria-label charset class content cx cy data-title height href http-equiv id lang name"
    " preserveaspectratio r scope title viewbox width x x1 x2 y y1 y2"
)


def hostile(field: str) -> str:
    """A text that tries to get out of every place, and says which field it is from."""
    return f"{HOSTILE} of the {field}"


class Page(HTMLParser):
    """What a parser makes of a report."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: Counter[str] = Counter()
        self.attributes: set[str] = set()
        self.addresses: set[str] = set()
        self.texts: list[str] = []
        self.feed(html)
        self.close()
        self.text = " ".join(self.texts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes |= {name for name, _ in attrs}
        self.addresses |= {value or "" for name, value in attrs if name == "href"}

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@dataclass(frozen=True)
class HostileMetric(Metric):
    """A metric of the user's own."""

    source: ClassVar[str] = "mine"
    name: ClassVar[str] = "hostile"
    title: ClassVar[str] = hostile("metric's title")
    formula: ClassVar[str] = hostile("metric's formula")
    paper: ClassVar[str] = hostile("metric's paper")
    calls: ClassVar[str] = hostile("metric's calls")
    requires: ClassVar[tuple[()]] = ()
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    direction: ClassVar[Direction] = "higher"

    def needs(self) -> tuple[()]:
        return ()

    def score(self, sample: Sample, findings: Any) -> Score | Unscored:
        del sample, findings
        return Score(value=0.5, counted=hostile("metric's count"))


def says(prompts: list[str]) -> list[str]:
    """A model that answers well, but for what it may word as it likes; one kind of question it never answers."""

    def worded(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: worded(one, name) for name, one in value.items()}
        if isinstance(value, list):
            return [worded(one, key) for one in value]
        return hostile(f"judge's {key}") if key in ("reason", "questions") else value

    return [
        hostile("judge's failure")
        if prompt.startswith("# Say whether a description")
        else json.dumps(worded(json.loads(answer(prompt))))
        for prompt in prompts
    ]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    store = Store(tmp_path_factory.mktemp("hostile"))
    theirs = replace(describe(METRICS["ragas.faithfulness"]), spec="x-file.score", source="x-file", name="score")
    runs = [
        Run(
            name=f"{hostile('name')} {side}",
            dataset=hostile("dataset"),
            source=hostile("file"),
            config={hostile("key"): hostile(f"setting {side}")},
            tags=("tag",),
            samples=(
                Sample(
                    id=hostile("id"),
                    question=hostile("question"),
                    answer=f"{hostile(f'answer {side}')}. It is red.",
                    contexts=(
                        Passage(id=hostile("passage's id"), text=f"{hostile('passage')} {side}. It is blue.", rank=1),
                    ),
                    reference=hostile("reference"),
                    history=(Turn(role="user", text=hostile("history")),),
                ),
            ),
            scores=FileScores(
                tool="x",
                format="x",
                columns={"x-file.score": "score"},
                metrics=(replace(theirs, label=hostile("file metric's label"), text=hostile("file metric's text")),),
                outcomes=({"x-file.score": Unscored(reason="failed", detail=hostile("file score's detail"))},),
            ),
        )
        for side in "ab"
    ]
    metrics = [METRICS[f"ragas.{name}"] for name in ("faithfulness", "answer_relevance", "harmfulness")]
    judge = judge_from(says, version=hostile("version"), name=hostile("judge"))
    panel = Panel(judge=judge, roles={"embed": EmbeddedJudge()})
    for added in store.add_runs(runs):
        evaluate_run(store, added.id, [*metrics, HostileMetric()], panel)
        store.set_notes(added.id, hostile("notes"))
        ref = store.resolve(added.name)
        label_statement(
            store, ref, hostile("id"), 1, "supported", annotator=hostile("annotator"), note=hostile("annotator's note")
        )
    return store


RUN = (
    *("name a", "dataset", "file", "key", "setting a", "notes", "judge", "version", "id", "question", "history"),
    *("reference", "passage's id", "judge's reason", "judge's questions", "annotator", "annotator's note"),
    *("metric's title", "metric's formula", "metric's paper", "metric's calls", "metric's count"),
    *("file metric's label", "file metric's text", "file score's detail"),
)
PAIR = (
    *("name a", "name b", "dataset", "file", "key", "setting a", "setting b", "notes", "judge", "version", "id"),
    *("question", "passage's id", "judge's reason", "metric's title", "metric's formula", "metric's count"),
)


@pytest.mark.parametrize(("sides", "fields"), [("a", RUN), ("ab", PAIR)])
def test_hostile_text_of_every_field_is_shown_as_text(store: Store, sides: str, fields: tuple[str, ...]) -> None:
    refs = [store.resolve(f"{hostile('name')} {side}") for side in sides]
    html = run_report(store, *refs) if len(refs) == 1 else comparison_report(store, *refs, metric="mine.hostile")
    page = Page(html)
    missing = [field for field in fields if readable(f"{HOSTILE} of the {field}") not in page.text]
    assert not [field for field in missing if not field.startswith("name")]
    assert all(readable(ref.name) in page.text for ref in refs)
    assert page.tags.keys() <= set(TAGS.split())
    assert page.attributes <= set(ATTRIBUTES.split())
    assert page.tags["style"] == page.tags["title"] == 1
    assert all(re.fullmatch("#[a-z0-9-]+", address) for address in page.addresses)
    assert "\u202e" not in html
    assert "default-src 'none'; style-src 'sha256-" in html


@given(st.text())
def test_readable_text_can_be_written_and_keeps_every_position(text: str) -> None:
    shown = readable(f"{text}\u202e\x00\x1b\ud83d")
    assert len(shown) == len(text) + 4
    shown.encode("utf-8")
    assert not {"\x00", "\u202e", "\x1b"} & set(shown)


def test_what_no_file_can_hold_is_replaced_even_in_a_title() -> None:
    with pytest.raises(UndefinedError):
        render("run.html", "half \ud83d of it")
    assert "<title>half \ufffd of &lt;it&gt;</title>" in render("base.html", "half \ud83d\n of <it>")


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_passes_text_on_as_markup_or_leads_out_of_the_document(path: Path) -> None:
    template = path.read_text(encoding="utf-8")
    assert not re.findall(
        r"\|\s*safe\b|autoescape|Markup|<script|<img|<iframe|<form|\bstyle=|\bsrc=|\bon\w+=", template
    )
    assert not re.findall(r"\w=\{[{%]", re.sub(r"\{%.*?%\}", "", template)), "an attribute without quotes"
    assert all(address.startswith("#") for address in re.findall(r'href="([^"]*)', template))


def test_no_python_of_the_reports_makes_markup() -> None:
    sources = [path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py")]
    assert len(sources) >= 6
    assert [re.findall(r"Markup|escape\(|</\w+>", source) for source in sources] == [[]] * len(sources)
    assert re.findall(r"autoescape=(\w+)", "".join(sources)) == ["True"]
