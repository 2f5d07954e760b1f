"""Evaluation: what to ask (gather), asking it once (asker, journal), and the run of it all (engine)."""
