"""Tests of the table of pages."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import ragboard_dashboard
from ragboard_dashboard.pages import PAGES

VIEWS = Path(ragboard_dashboard.__file__).parent / "views"


def test_the_table_holds_every_folder_of_views() -> None:
    assert {page.slug for page in PAGES} == {path.parent.name for path in VIEWS.glob("*/page.py")}


def test_every_row_leads_to_a_page_that_is_documented() -> None:
    modules = [import_module(f"ragboard_dashboard.views.{page.slug}.page") for page in PAGES]
    assert [module.__name__ for module in modules if not (module.__doc__ and callable(module.draw))] == []
