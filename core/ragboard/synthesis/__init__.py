"""Synthetic questions and answers from a corpus, with negatives, to train judges and to test them (ARES, WikiEval)."""

from __future__ import annotations

from ragboard.synthesis.make import KINDS, Kind, Recipe, Synthetic, choose, synthesise

__all__ = ["KINDS", "Kind", "Recipe", "Synthetic", "choose", "synthesise"]
