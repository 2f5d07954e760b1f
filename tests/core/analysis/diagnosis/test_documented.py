"""The table of rules in the documentation is the one that is applied."""

from __future__ import annotations

from pathlib import Path

from ragboard.analysis import QUANTITIES, RULES, cite_sources, condition_in_words

PAGE = Path(__file__).parents[4] / "docs" / "tasks" / "diagnose.md"


def rules_markdown() -> str:
    """The table as it stands in the page."""
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
    head = ("rule", "figure, for each sample", "finding", "what to try", "source")
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ("---",) * len(head), *rows))


def test_every_rule_is_documented_as_it_is() -> None:
    assert rules_markdown() in PAGE.read_text(encoding="utf-8")
