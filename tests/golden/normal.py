"""Convert values to sorted JSON without times, paths and versions, and find differences."""

from __future__ import annotations

import gzip
import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.golden.adapter import RENAMED

__all__ = ["canonical", "differences", "digest", "hashed", "parted", "read", "write"]

MASKED = frozenset(
    {
        "imported",
        "imported_at",
        "finished",
        "finished_at",
        "started",
        "started_at",
        "created",
        "created_at",
        "at",
        "labelled_at",
        "drawn_at",
        "seconds",
        "minutes",
        "elapsed",
        "regex_seconds",
        "times_regex",
        "newest",
        "oldest",
        "version",
        "python",
    }
)
"""Keys whose numbers and times are another at every run; texts under them stay."""

PROSE = frozenset(
    {
        "detail",
        "note",
        "notes",
        "warning",
        "caution",
        "cautions",
        "says",
        "said_why",
        "sentence",
        "sentences_said",
        "in_words",
        "words",
        "title",
        "summary",
        "description",
        "definition_text",
        "help",
        "advice",
        "try",
        "what",
        "why",
        "part",
        "explanation",
        "mend",
        "message",
        "problem",
        "error",
        "counted",
        "method",
        "reads",
        "formula",
        "source_text",
        "failure",
        "stderr",
        "prose",
        "sql",
        "no_interval",
        "unscored_note",
    }
)
"""Keys whose texts are sentences of ours: they are kept apart, to be reviewed, and not compared."""

TOLERANCE = float(os.environ.get("GOLDEN_TOLERANCE", "0"))
"""Relative difference that two floats may have; 0: none."""

_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d| UTC)?")
_VERSION = re.compile(r"ragboard \d+\.\d+\.\d+\S*")
_ROOT = str(Path(__file__).parents[2])
_FOLDER = re.compile(r"/\S*?/golden-[^/\s'\"]+")


def canonical(value: Any, key: str = "") -> Any:
    """The value as plain JSON: dataclasses as objects under their old names, no times, no places."""
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, datetime | date | pd.Timestamp):
        return "TIME"
    if isinstance(value, np.generic):
        return canonical(value.item(), key)
    if isinstance(value, int | float):
        return "MASKED" if key in MASKED else _number(value)
    return _compound(value, key)


def _number(value: float) -> Any:
    return value if isinstance(value, int) or math.isfinite(value) else repr(value)


def _compound(value: Any, key: str) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return canonical({one.name: getattr(value, one.name) for one in fields(value) if not one.name.startswith("_")})
    if hasattr(value, "model_dump"):
        return canonical(value.model_dump())
    if isinstance(value, pd.DataFrame):
        return {"columns": list(value.columns), "rows": canonical(value.to_dict("records"))}
    if isinstance(value, np.ndarray):
        return canonical(value.tolist(), key)
    if isinstance(value, Mapping):
        named = {RENAMED.get(str(name), str(name)): one for name, one in value.items()}
        return {name: canonical(one, name) for name, one in sorted(named.items())}
    if isinstance(value, set | frozenset):
        return sorted((canonical(one, key) for one in value), key=json.dumps)
    if isinstance(value, list | tuple):
        return [canonical(one, key) for one in value]
    if isinstance(value, Path):
        return value.name
    if isinstance(value, bytes):
        return f"sha256:{sha256(value).hexdigest()[:24]} of {len(value)} bytes"
    if value is pd.NA or value is pd.NaT:
        return None
    return f"<{'callable' if callable(value) else type(value).__name__}>"


def _text(text: str) -> str:
    text = _FOLDER.sub("FOLDER", text.replace(_ROOT, "ROOT"))
    text = _VERSION.sub("ragboard VERSION", _TIME.sub("TIME", text))
    return text.encode("utf-8", "backslashreplace").decode()


def parted(value: Any) -> tuple[Any, Any]:
    """What is compared, and by the same paths the sentences, which are not."""
    if isinstance(value, list):
        pairs = [parted(one) for one in value]
        told = {str(place): said for place, (_, said) in enumerate(pairs) if said}
        return [one for one, _ in pairs], told
    if not isinstance(value, dict):
        return value, {}
    kept: dict[str, Any] = {}
    told = {}
    for name, one in value.items():
        if name in PROSE and _is_prose(one):
            told[name] = one
        else:
            kept[name], said = parted(one)
            if said:
                told[name] = said
    return kept, told


def _is_prose(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_prose, value))
    return value is None or isinstance(value, str)


def digest(text: str | bytes) -> str:
    """A short name of a text that says nothing of it."""
    data = text.encode("utf-8", "backslashreplace") if isinstance(text, str) else text
    return f"sha256:{sha256(data).hexdigest()[:16]}"


def hashed(value: Any, longest: int) -> Any:
    """The value with texts of more than so many characters as digests."""
    if isinstance(value, str):
        return digest(value) if len(value) > longest and not value.startswith("sha256:") else value
    if isinstance(value, list):
        return [hashed(one, longest) for one in value]
    if isinstance(value, dict):
        return {
            digest(name) if len(name) > max(longest, 60) else name: hashed(one, longest) for name, one in value.items()
        }
    return value


def differences(expected: Any, actual: Any, path: str = "") -> Iterator[str]:
    """Each place where the two differ, as `path: expected -> actual`."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for name in sorted(expected.keys() | actual.keys()):
            here = f"{path}/{name}"
            if name not in actual:
                yield f"{here}: {_shown(expected[name])} -> missing"
            elif name not in expected:
                yield f"{here}: new -> {_shown(actual[name])}"
            else:
                yield from differences(expected[name], actual[name], here)
    elif isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            yield f"{path}: {len(expected)} -> {len(actual)} items"
        for place, (one, other) in enumerate(zip(expected, actual, strict=False)):
            yield from differences(one, other, f"{path}[{place}]")
    elif not _same(expected, actual):
        yield f"{path}: {_shown(expected)} -> {_shown(actual)}"


def _same(expected: Any, actual: Any) -> bool:
    if TOLERANCE and isinstance(expected, float) and isinstance(actual, float):
        return math.isclose(expected, actual, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return type(expected) is type(actual) and expected == actual


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else text[:160] + "..."


def write(path: Path, value: Any) -> None:
    """Keep as compressed JSON, the same bytes for the same value."""
    text = json.dumps(value, indent=0, sort_keys=True, ensure_ascii=False)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def read(path: Path) -> Any:
    """What `write` kept."""
    return json.loads(gzip.decompress(path.read_bytes()))
