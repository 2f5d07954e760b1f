"""Evaluation: what it would ask (plan), asking each task once (runner, journal, cache, budget), doing it (engine)."""
