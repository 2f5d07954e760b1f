"""Tests: by what they test, `core`, `dashboard` and `browser`; and of the project as a whole."""
