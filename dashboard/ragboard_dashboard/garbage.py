"""Make garbage collection faster.

After each run of the script, Streamlit collects all garbage. That looks at everything that was ever imported, which
takes about 0.1 s of computing.
"""

from __future__ import annotations

import gc
import sys

__all__ = ["freeze_imports"]

_frozen = 0


def freeze_imports() -> None:
    """Exempt all existing objects from garbage collection if modules were imported since the last call."""
    global _frozen  # noqa: PLW0603 - one for the process, as the collector
    if len(sys.modules) > _frozen:
        _frozen = len(sys.modules)
        gc.freeze()
