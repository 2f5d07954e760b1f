"""Hand-made tables of verdicts, as results of needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from ragboard import Passage, Sample, Statement, Verdict
from ragboard.metrics.needs import NeedResults, SeparateVerdicts, VerdictTable
from ragboard.records import Label, Side, Target, VerdictTarget

SAMPLE = Sample(
    id="s",
    question="q?",
    answer="An answer.",
    reference="A reference.",
    contexts=(Passage(id="a", text="One.", rank=1), Passage(id="b", text="Two.", rank=2)),
)

Bits = Sequence[Sequence[int]]

NO: tuple[Label, Label] = ("unsupported", "contradicted")


def cells(
    side: Side, target: VerdictTarget, rows: Bits, passages: int, *, refuses: bool | None = False
) -> VerdictTable:
    """A table with a verdict for each 1 (supported) and 0 (now unsupported, now contradicted)."""
    targets = (
        tuple(Target(kind="passage", rank=place + 1) for place in range(passages))
        if target == "passages"
        else (Target(kind=target),)
    )
    return VerdictTable(
        side=side,
        statements=tuple(Statement(side=side, text=f"{side} {number}") for number in range(len(rows))),
        targets=targets,
        rows=tuple(
            tuple(Verdict(label="supported" if bit else NO[(number + place) % 2]) for place, bit in enumerate(row))
            for number, row in enumerate(rows)
        ),
        refuses=refuses,
    )


def results(
    *,
    right: Sequence[int] = (),
    sources: Bits = (),
    covered: Sequence[int] = (),
    reference: Bits = (),
    passages: int = 2,
    refuses: bool | None = False,
) -> NeedResults:
    """The four tables: claims of the answer by the reference and by passage, those of the reference likewise."""
    made: dict[Any, object] = {
        SeparateVerdicts("response", "reference"): cells(
            "response", "reference", [[bit] for bit in right], passages, refuses=refuses
        ),
        SeparateVerdicts("response", "passages"): cells("response", "passages", sources, passages, refuses=refuses),
        SeparateVerdicts("reference", "response"): cells("reference", "response", [[bit] for bit in covered], passages),
        SeparateVerdicts("reference", "passages"): cells("reference", "passages", reference, passages),
    }
    return NeedResults(made)


@st.composite
def tables(draw: st.DrawFn, *, least: int = 1) -> dict[str, Any]:
    """The arguments of `results` for up to 8 claims a side and 5 passages."""
    passages = draw(st.integers(0, 5))
    bit = st.integers(0, 1)
    right = draw(st.lists(bit, min_size=least, max_size=8))
    covered = draw(st.lists(bit, min_size=least, max_size=8))
    row = st.lists(bit, min_size=passages, max_size=passages)
    return {
        "right": right,
        "covered": covered,
        "sources": [draw(row) for _ in right],
        "reference": [draw(row) for _ in covered],
        "passages": passages,
    }
