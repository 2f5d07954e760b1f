"""Evaluate RAG runs: which sentence of which answer no passage supports.

The names are those of `__init__.pyi`; each is imported when it is first used, so that `import ragboard` is quick.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
