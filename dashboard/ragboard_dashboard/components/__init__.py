"""Keys of components for what other people named: Streamlit takes none with two underscores in a row."""

from __future__ import annotations

import json
from hashlib import blake2b

__all__ = ["safe_key"]


def safe_key(what: str, *names: str | None) -> str:
    """`what` and a digest of the names, whatever signs these have: equal where the names are."""
    return f"{what}-{blake2b(json.dumps(names).encode(), digest_size=8).hexdigest()}"
