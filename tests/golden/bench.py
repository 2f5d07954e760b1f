"""A folder for running commands, their output and files, and a model server."""

from __future__ import annotations

import json
import os
import re
import shutil
import tarfile
import threading
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from html.parser import HTMLParser
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from typing import Any

import pandas as pd
import uvicorn
from click.testing import CliRunner
from filelock import FileLock

from ragboard import Store
from ragboard.cli import main
from tests.chat_server import ChatServer
from tests.golden.normal import canonical, digest, hashed

__all__ = ["PORT", "Bench", "model_server", "page"]

PORT = 47811
"""Keys of tasks hold the address of the model, so it is the same always."""


class Bench:
    """What a scene works in: `found` is what is compared."""

    def __init__(self, longest: int | None = 60) -> None:
        self.folder = Path(mkdtemp(prefix="golden-"))
        self.longest = longest
        self.found: dict[str, Any] = {}

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def store(self) -> Store:
        """The store of the commands."""
        return Store(self.folder / ".ragboard")

    def keep(self, name: str, value: Any) -> None:
        """Compare this, by its name."""
        plain = canonical(value)
        self.found[name] = plain if self.longest is None else hashed(plain, self.longest)

    def run(self, *words: object, name: str = "", stdin: str | None = None, keep: bool = True) -> Any:
        """Run a command in the folder and compare what it prints, its exit code, and a file that it writes."""
        given = [str(word) for word in words]
        environment = {name: None for name in os.environ if name.startswith(("RAGBOARD_", "OPENAI_"))}
        environment |= {"COLUMNS": "200", "OPENAI_API_KEY": "k"}
        with chdir(self.folder), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            done = CliRunner().invoke(main, given, env=environment, input=stdin)
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        out = _printed(done.stdout_bytes)
        if keep:
            kept = {"exit": done.exit_code, "out": out, "stderr": done.stderr}
            self.keep(name or canonical(" ".join(given)), kept)
        return out

    def wrote(self, path: str) -> None:
        """Compare a file of the folder, by what is in it."""
        file = self.folder / path
        self.keep(f"file {path}", _contents(file) if file.exists() else "not written")

    def journals(self, name: str = "journals", store: str = ".ragboard") -> None:
        """Compare every line of every journal, and every header."""
        folder = self.folder / store / "journals"
        for path in sorted(folder.glob("*.jsonl")):
            self.keep(f"{name} {path.stem}", journal(path))
        for path in sorted(folder.glob("*.json")):
            if not path.name.endswith(".status.json"):
                self.keep(f"{name} header {path.stem}", json.loads(path.read_text("utf-8")))

    def unpack(self, archive: Path) -> None:
        """Have the store in an archive as the store of the commands."""
        with tarfile.open(archive) as opened:
            opened.extractall(self.folder / ".ragboard", filter="data")


def journal(path: Path) -> list[Any]:
    """A journal's lines by their keys, each with a digest of its bytes; without its place in the file."""
    lines = []
    for line in path.read_bytes().splitlines():
        said = json.loads(line)
        said.pop("at", None)
        line = re.sub(rb', "at": \d+', b"", line)
        if said["task"] == "Similarity":
            line = re.sub(rb', "heard": \[.*?\]', b"", line)
            said.pop("heard", None)
        lines.append({"line": digest(line), **said})
    return sorted(lines, key=lambda line: (line["key"], line["line"]))


def _printed(data: bytes) -> Any:
    text = data.decode("utf-8", "backslashreplace")
    try:
        return json.loads(text)
    except ValueError:
        return {"prose": text.splitlines()}


def _contents(path: Path) -> Any:
    data = path.read_bytes()
    if path.suffix == ".parquet":
        frame = pd.read_parquet(path)
        return {"types": [str(kind) for kind in frame.dtypes], "table": frame}
    text = data.decode("utf-8", "backslashreplace")
    if path.suffix == ".html":
        return page(text)
    if path.suffix == ".jsonl":
        return {"digest": digest(canonical(text)), "rows": [json.loads(line) for line in text.splitlines()]}
    if path.suffix == ".json":
        return {"digest": digest(canonical(text)), "value": json.loads(text)}
    if path.suffix in (".csv", ".tsv"):
        return {"digest": digest(canonical(text)), "lines": text.splitlines()}
    return {"prose": text.splitlines()}


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.numbers: list[str] = []
        self.drawn: list[str] = []
        self.texts: list[str] = []
        self.inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.inside = tag
        self.drawn += [f"{tag} {name} {value}" for name, value in sorted(attrs, key=str) if _is_drawn(name, value)]

    def handle_data(self, data: str) -> None:
        if self.inside not in ("style", "script") and data.strip():
            self.texts.append(" ".join(data.split()))
            self.numbers += re.findall(r"[-\N{MINUS SIGN}]?\d+(?:[.,]\d+)*", canonical(data))


def _is_drawn(name: str, value: str | None) -> bool:
    return name not in ("id", "href", "for", "style", "class") and bool(re.fullmatch(r"[\d\s.,MLHVZz-]+", value or ""))


def page(text: str) -> dict[str, Any]:
    """The numbers, drawings and elements of an HTML page; its texts apart."""
    parser = _Page()
    parser.feed(text)
    return {
        "tags": dict(parser.tags),
        "numbers": " ".join(parser.numbers),
        "drawn": parser.drawn,
        "prose": parser.texts,
    }


@contextmanager
def model_server() -> Iterator[ChatServer]:
    """The tests' chat server at an address that is always the same; one test run at a time has it."""
    state = ChatServer(port=PORT)
    config = uvicorn.Config(
        state.app(), port=PORT, log_level="critical", lifespan="off", timeout_graceful_shutdown=1, ws="none"
    )
    server = uvicorn.Server(config)
    with FileLock(Path(gettempdir()) / f"golden-{PORT}.lock"):
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        waiting = threading.Event()
        while not server.started:
            if not thread.is_alive():
                raise RuntimeError(f"port {PORT} is taken")
            waiting.wait(0.01)
        try:
            yield state
        finally:
            server.should_exit = True
            thread.join(timeout=10)
