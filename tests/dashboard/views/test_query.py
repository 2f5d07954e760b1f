"""Tests of the Query page with unusual column names."""

from __future__ import annotations

import pandas as pd
from tests.dashboard.views.conftest import Draw

from ragboard.export import table_bytes


def test_a_column_may_be_called_as_python_calls_an_argument(draw: Draw) -> None:
    page = draw("query", sql="SELECT 'x' AS self")
    page.button[0].click().run()
    assert not page.exception
    assert page.dataframe[0].value["self"].tolist() == ["x"]
    assert table_bytes(pd.DataFrame({"self": ["=1"]}), "csv") == b"self\n'=1\n"
