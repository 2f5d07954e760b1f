"""A small Hugging Face hub: it serves the models of a folder and accepts datasets."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

__all__ = ["Hub", "hub_server"]

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(ThreadingHTTPServer):
    """Serves the models in `folder`, named OWNER/MODEL as their paths are."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self.fetched: list[str] = []
        """Paths of files that were downloaded."""
        self.created: dict[str, bool] = {}
        """Data sets that were created, and whether they are private."""
        self.pushed: dict[str, bytes] = {}
        """Files of data sets, by `OWNER/NAME/PATH`."""
        self.tokens: list[str] = []

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def hub_server(folder: Path) -> Generator[Hub]:
    """A hub of these models, until the end of the block."""
    with Hub(folder) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        """Say what there is."""
        self._answer()

    def do_GET(self) -> None:
        """Answer, and remember the files."""
        self._answer()

    def do_POST(self) -> None:
        """Create a data set, or take a commit; without a token, refuse."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        token = self.headers.get("Authorization", "")
        self.server.tokens.append(token)
        if not token:
            self._json({"error": "Invalid username or password."}, status=401)
            return
        match unquote(urlsplit(self.path).path).strip("/").split("/"):
            case ["api", "repos", "create"]:
                asked = json.loads(body)
                assert asked["type"] == "dataset"
                name = "/".join(filter(None, (asked.get("organization"), asked["name"])))
                self.server.created.setdefault(name, asked.get("private") or asked.get("visibility") == "private")
                self._json({"url": f"{self.server.url}/datasets/{name}", "name": name})
            case ["api", "validate-yaml"]:
                self._json({"warnings": [], "errors": []})
            case ["api", "datasets", _, _, "preupload", _]:
                files = [{"path": one["path"], "uploadMode": "regular"} for one in json.loads(body)["files"]]
                self._json({"files": [one | {"shouldIgnore": False} for one in files]})
            case ["api", "datasets", owner, name, "commit", _]:
                for line in map(json.loads, body.splitlines()):
                    if line["key"] == "file":
                        path = f"{owner}/{name}/{line['value']['path']}"
                        self.server.pushed[path] = base64.b64decode(line["value"]["content"])
                address = f"{self.server.url}/datasets/{owner}/{name}/commit/{COMMIT}"
                self._json({"commitUrl": address, "commitOid": COMMIT, "success": True})
            case _:
                self._json({"error": "not here"}, status=404)

    def _json(self, value: Any, *, status: int = 200) -> None:
        self._send(json.dumps(value).encode(), {"Content-Type": "application/json"}, status=status)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the library's
        """Say nothing."""

    def _answer(self) -> None:
        match unquote(urlsplit(self.path).path).strip("/").split("/"):
            case [""]:
                self._send(b"")
            case ["api", "models", owner, model, *rest] if (self.server.folder / owner / model).is_dir():
                files = self._files(owner, model)
                tree = [{"type": "file", "path": name, "size": size, "oid": oid} for name, size, oid in files]
                info = {
                    "id": f"{owner}/{model}",
                    "sha": COMMIT,
                    "siblings": [{"rfilename": name, "size": size, "blobId": oid} for name, size, oid in files],
                }
                self._send(
                    json.dumps(tree if rest[:1] == ["tree"] else info).encode(), {"Content-Type": "application/json"}
                )
            case [owner, model, "resolve", _, *path] if (
                file := self.server.folder.joinpath(owner, model, *path)
            ).is_file():
                if self.command == "GET":
                    self.server.fetched.append("/".join(path))
                self._send(file.read_bytes())
            case _:
                self._send(b"", {"X-Error-Code": "RepoNotFound"}, status=404)

    def _files(self, owner: str, model: str) -> list[tuple[str, int, str]]:
        base = self.server.folder / owner / model
        return [
            (path.relative_to(base).as_posix(), path.stat().st_size, hashlib.sha1(path.read_bytes()).hexdigest())
            for path in sorted(base.rglob("*"))
            if path.is_file()
        ]

    def _send(self, content: bytes, headers: dict[str, str] | None = None, *, status: int = 200) -> None:
        self.send_response(status)
        etag = hashlib.sha1(content).hexdigest()
        for name, value in {"X-Repo-Commit": COMMIT, "ETag": f'"{etag}"', **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
