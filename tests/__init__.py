"""Tests of the package (`core`, `dashboard`, `browser`) and of the repository."""
