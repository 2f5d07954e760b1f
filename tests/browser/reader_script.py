"""A Streamlit page with only the statement reader; `kind` and `statement` in the URL choose its data."""

from __future__ import annotations

import streamlit as st

from ragboard.analysis import JudgedStatement
from ragboard.records import Evidence, Label, Passage, Span, Statement, Verdict
from ragboard_dashboard.views.sample.reader import statement_reader

ANSWER = "The mill 😀 was built by Ada Lund. It opened in 1901.\nIt has nine sails, and many people visit. It is loved."
LONG = (
    "Grain went to the coast. " * 120 + "The mill was opened to the public in 1901 with a feast. " + "Snow fell. " * 100
)
TEXTS = ("Its builder was Per Holm 😀, who also built the church.", LONG, "The mill has four sails, of oak.")
TRICK = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


def evidence(texts: tuple[str, ...], rank: int, words: str, stance: str = "for", how: str = "quoted") -> Evidence:
    start = texts[rank - 1].index(words)
    return Evidence(rank=rank, start=start, end=start + len(words), stance=stance, how=how)  # type: ignore[arg-type]


def judged(answer: str, words: str, label: Label | None, *marks: Evidence) -> JudgedStatement:
    start = answer.index(words)
    span = Span(start=start, end=start + len(words), how="verbatim")
    verdict = Verdict(label=label, reason=f"Why it is {label}.", score=0.41, evidence=marks) if label else None
    return JudgedStatement(statement=Statement(side="response", text=f"{words}.", span=span), verdict=verdict)


def mill() -> tuple[str, list[JudgedStatement], tuple[str, ...]]:
    said = [
        judged(
            ANSWER, "The mill 😀 was built by Ada Lund", "contradicted", evidence(TEXTS, 1, "Per Holm 😀", "against")
        ),
        judged(ANSWER, "It opened in 1901", "supported", evidence(TEXTS, 2, "opened to the public in 1901")),
        judged(ANSWER, "It has nine sails", "contradicted", evidence(TEXTS, 3, "four sails", "against", "overlap")),
        judged(ANSWER, "It has nine sails, and many people visit", "unsupported", evidence(TEXTS, 3, "The mill")),
        judged(ANSWER, "It is loved", None),
    ]
    return ANSWER, said, TEXTS


def hostile() -> tuple[str, list[JudgedStatement], tuple[str, ...]]:
    words = (TRICK, "\u202egnidaer", "W" * 5000, "مرحبا بالعالم")
    answer = " then ".join(words)
    texts = (TRICK, "\u202eW" * 3000)
    return answer, [judged(answer, word, "unsupported", evidence(texts, 1, "<script>")) for word in words], texts


def arabic() -> tuple[str, list[JudgedStatement], tuple[str, ...]]:
    words = ("بنيت الطاحونة", "افتتحت للزوار")
    answer = " ".join(words)
    return answer, [judged(answer, word, "supported") for word in words], (answer,)


def many() -> tuple[str, list[JudgedStatement], tuple[str, ...]]:
    answer = " ".join(f"Sentence {n:04} is one of very many in a long answer." for n in range(400))
    return answer, [judged(answer, f"Sentence {n:04}", "supported") for n in range(400)], TEXTS


KINDS = {"mill": mill, "hostile": hostile, "arabic": arabic, "many": many}

st.set_page_config(layout="wide")
query = st.query_params
answer, statements, texts = KINDS[query.get("kind", "mill")]()
chosen = statement_reader(
    key="reader",
    answer=answer,
    statements=statements,
    passages=[Passage(id=f"Document {rank}", text=text, rank=rank, score=9.5) for rank, text in enumerate(texts, 1)],
    chosen=int(query["statement"]) - 1 if "statement" in query else None,
)
st.text(f"chosen: {chosen}")
