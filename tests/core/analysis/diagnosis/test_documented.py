"""The table of rules in the documentation lists the rules of the diagnosis."""

from __future__ import annotations

from pathlib import Path

from ragboard.analysis import QUANTITIES, RULES, cite_sources, condition_in_words

PAGE = Path(__file__).parents[4] / "docs" / "tasks" / "diagnose.md"


def rules_markdown() -> str:
    """Return the table of rules in Markdown."""
    rows = [
        (
            condition_in_words(rule),
            QUANTITIES[rule.quantity].text,
            rule.template.format("…"),
            rule.advice,
            cite_sources(rule, QUANTITIES[rule.quantity].inputs),
        )
        for rule in RULES
    ]
    head = ("rule", "value of a sample", "finding", "what to try")
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ("---",) * len(head), *rows))


def test_the_page_lists_every_rule() -> None:
    assert rules_markdown() in PAGE.read_text(encoding="utf-8")
