"""Fast starts of `ragboard`, `pytest` and `python` in tests: forks of one process that has imported them.

Importing takes a second, the work of a command a tenth of it. A forked process has the arguments, environment, folder,
streams and exit code of its caller. It receives SIGINT and SIGTERM, and ends with its caller. It shares only what
Python and libraries read at startup and import; tests of this start a new process.

Run as a file with the path of a socket, this module is the process that forks.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

__all__ = ["quick_program"]

PROGRAMS = ("ragboard", "pytest", "python")
ASK = """#!{python} -ISB
import json, os, signal, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    socket.send_fds(server, [b"."], [0, 1, 2])
    with server.makefile("rw") as stream:
        ignored = signal.getsignal(signal.SIGINT) == signal.SIG_IGN
        stream.write(json.dumps([sys.argv, dict(os.environ), os.getcwd(), ignored]) + "\\n")
        stream.flush()
        forked = int(stream.readline())
        for number in (signal.SIGTERM,) if ignored else (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, _: os.kill(forked, number))
        code = int(stream.readline())
        if code < 0:
            signal.signal(-code, signal.SIG_DFL) if code != -signal.SIGKILL else None
            os.kill(os.getpid(), -code)
        os._exit(code)
"""
IMPORTED = (
    "pytest",
    "pandas",
    "nltk.stem.snowball",
    "openai",
    "aiohttp",
    "anyio._backends._asyncio",
    "httpcore2",
    "ragboard.cli.compare",
    "ragboard.cli.evaluate",
    "ragboard.cli.results",
    "ragboard.cli.serving",
)


@contextmanager
def quick_program() -> Generator[Path]:
    """The path of a program `ragboard`, beside the others; they can be started until the end of the block."""
    with TemporaryDirectory() as folder:  # its path is short, as that of a socket has to be
        paths, address = [Path(folder, "bin", name) for name in PROGRAMS], str(Path(folder, "socket"))
        paths[0].parent.mkdir()
        if not hasattr(os, "fork"):
            for path in paths[:2]:
                path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {path.name} "$@"\n', encoding="utf-8")
            yield paths[0]
            return
        for path in paths:
            path.write_text(ASK.format(python=sys.executable, address=address), encoding="utf-8")
            path.chmod(0o755)
        command = [sys.executable, "-P", __file__, address]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as server:
            try:
                assert server.stdout
                assert server.stdout.readline() == b"listens\n"
                yield paths[0]
            finally:
                server.terminate()


def listen(address: str) -> None:
    """Fork a process for each that asks, until this one is terminated; return in the forked one, to be the program."""
    for module in IMPORTED:
        import_module(module)
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        os.write(1, b"listens\n")
        while True:
            asking, _ = listening.accept()
            if not os.fork():
                break
            asking.close()
            with suppress(ChildProcessError):
                os.waitpid(-1, os.WNOHANG)  # of an earlier one
    _, streams, _, _ = socket.recv_fds(asking, 1, 3)
    with asking.makefile() as stream:
        sys.argv, environment, here, ignored = json.loads(stream.readline())
    if forked := os.fork():
        follow(asking, forked, streams)
    asking.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.default_int_handler)
    for place, name in enumerate(("stdin", "stdout", "stderr")):
        os.dup2(streams[place], place)
        os.close(streams[place])
        setattr(sys, name, os.fdopen(place, "w" if place else "r", encoding="utf-8"))
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(here)
    sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))


def follow(asking: socket.socket, forked: int, streams: list[int]) -> None:
    """Say who was forked, then how that ended; end it where nobody listens any more. Never returns."""
    for stream in (0, 1, 2, *streams):
        os.close(stream)  # who reads them to their end waits for the forked process alone
    asking.sendall(f"{forked}\n".encode())

    def end() -> None:
        with suppress(OSError):
            asking.recv(1)
        os.kill(forked, signal.SIGKILL)

    threading.Thread(target=end, daemon=True).start()
    _, status = os.waitpid(forked, 0)
    with suppress(OSError):
        asking.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def run() -> None:
    """Be the program that `sys.argv` names."""
    name, *words = Path(sys.argv[0]).name, *sys.argv[1:]
    if name != "python":
        runpy.run_module(name, run_name="__main__", alter_sys=True)
        return
    isolated = words[0] == "-P"
    kind, *words = words[isolated:]
    if kind not in ("-c", "-m"):
        sys.argv = [kind, *words]
        if not isolated:
            sys.path.insert(0, str(Path(kind).resolve().parent))
        runpy.run_path(kind, run_name="__main__")
        return
    what, *words = words
    sys.argv = [kind, *words]
    if not isolated:
        sys.path.insert(0, "")
    if kind == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        sys.modules["__main__"] = ModuleType("__main__")
        exec(compile(what, "<string>", "exec"), vars(sys.modules["__main__"]))


if __name__ == "__main__":
    listen(sys.argv[1])
    code = 0
    try:
        run()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else bool(ended.code)
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
    except BaseException:  # noqa: BLE001 - as Python does
        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # to tear down what was imported would take longer than the command
