"""Numbered migrations, each applied once, in order, in a transaction."""
