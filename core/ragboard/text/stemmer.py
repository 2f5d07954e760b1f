"""Load nltk's Snowball stemmers without the rest of nltk.

`import nltk` loads scipy, and scikit-learn if it is installed: up to two seconds and 160 MB in every process.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nltk.stem.snowball import SnowballStemmer

__all__ = ["snowball_stemmer"]

_lock = Lock()


@lru_cache(maxsize=4)
def snowball_stemmer(language: str) -> SnowballStemmer:
    """Return nltk's Snowball stemmer for a language, such as `english`."""
    with _lock:
        if "nltk" in sys.modules:
            from nltk.stem.snowball import SnowballStemmer
        else:
            with _packages_without_content():
                from nltk.stem.snowball import SnowballStemmer
    return SnowballStemmer(language)


@contextmanager
def _packages_without_content() -> Generator[None]:
    """Context in which imports from nltk load only the imported modules, and not the packages that contain them.

    At the end, all modules of nltk are removed from `sys.modules`, so the next `import nltk` loads all of nltk.
    """
    spec = find_spec("nltk")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    packages = {"nltk": folders, "nltk.stem": [f"{folder}/stem" for folder in folders], "nltk.corpus": []}
    for name, paths in packages.items():
        package = sys.modules[name] = ModuleType(name)
        package.__path__ = paths
    vars(sys.modules["nltk.corpus"])["stopwords"] = None  # imported, but only used to ignore stop words
    try:
        yield
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "nltk"]:
            del sys.modules[name]
