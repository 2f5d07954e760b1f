"""Write the golden files: `python -m tests.golden.make [SCENE...]`; with `--sentences` show the sentences that changed."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.golden.bench import Bench
from tests.golden.normal import differences, parted, read, write
from tests.golden.scenes import SCENES

__all__ = ["EXPECTED", "SENTENCES", "played"]

EXPECTED = Path(__file__).parent / "expected"
SENTENCES = Path(__file__).parent / "sentences"


def played(name: str) -> tuple[Any, Any]:
    """What a scene finds: what is compared, and its sentences."""
    bench = Bench()
    try:
        SCENES[name](bench)
        return parted(bench.found)
    finally:
        bench.close()


def main(words: list[str]) -> None:
    """Write the scenes named, or all; say what changed."""
    review = "--sentences" in words
    for name in [word for word in words if word in SCENES] or SCENES:
        begun = time.monotonic()
        try:
            found, told = played(name)
        except pytest.skip.Exception as error:
            print(f"{name}: left out, {error}")
            continue
        for folder, value, shown in ((EXPECTED, found, not review), (SENTENCES, told, review)):
            folder.mkdir(exist_ok=True)
            path = folder / f"{name}.json.gz"
            changed = list(differences(read(path), value)) if path.exists() else ["new"]
            if shown:
                print(f"{name}: {len(changed)} changed, {time.monotonic() - begun:.1f} s")
                for line in changed if review else changed[:10]:
                    print(f"  {line}")
            if not review:
                write(path, value)


if __name__ == "__main__":
    main(sys.argv[1:])
