"""SQL queries over the store."""

from __future__ import annotations

from ragboard.query.runner import QueryColumn, QueryLimits, QueryResult, run_query

__all__ = ["QueryColumn", "QueryLimits", "QueryResult", "run_query"]
