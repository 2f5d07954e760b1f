"""Evaluate runs: estimate the cost (plan), answer tasks (runner, journal, cache, budget), compute scores (engine)."""
