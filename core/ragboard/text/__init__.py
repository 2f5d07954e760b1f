"""Texts as such: their sentences, words and stems, and where a quotation stands."""
