"""Synthetic questions and answers from a corpus, with negatives, to train judges and to test them (ARES, WikiEval)."""

from __future__ import annotations

from ragboard.synthesis.make import choose, synthesise
from ragboard.synthesis.nouns import KINDS, Kind, Recipe, Synthetic

__all__ = ["KINDS", "Kind", "Recipe", "Synthetic", "choose", "synthesise"]
