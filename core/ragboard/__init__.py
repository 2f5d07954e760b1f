"""Evaluate RAG runs: find the statements in answers that no retrieved passage supports.

`__init__.pyi` lists the public names. Each is imported when it is first used, which keeps `import ragboard` fast.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
