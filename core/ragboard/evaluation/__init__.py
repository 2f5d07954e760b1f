"""Evaluate runs: estimate the cost (plan), answer each task once (runner, journal, cache, budget), score (engine)."""
