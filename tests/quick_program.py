"""The commands `ragboard` and `pytest` for tests that start them often, forked from one process that imported them.

A process of its own imports for a second, then works for a tenth of one. What is forked is a process too, with the
arguments, environment, folder, streams and exit code of whoever starts it. Only what Python reads before its first
line, and a library while it is imported, is that of the one process: a test of such things starts its own, and so
does one that sends signals, which end the program and not what is forked for it.

Run as a file, with the path of a socket, it is that one process.
"""

from __future__ import annotations

import json
import os
import runpy
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

__all__ = ["quick_program"]

ASK = """#!{python} -ISB
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    socket.send_fds(server, [b"."], [0, 1, 2])
    with server.makefile("rw") as stream:
        stream.write(json.dumps([sys.argv, dict(os.environ), os.getcwd()]) + "\\n")
        stream.flush()
        os._exit(int(stream.readline()))
"""
IMPORTED = (
    "pytest",
    "pandas",
    "nltk.stem.snowball",
    "ragboard.cli.compare",
    "ragboard.cli.evaluate",
    "ragboard.cli.results",
)


@contextmanager
def quick_program() -> Generator[Path]:
    """The path of a program `ragboard`, beside `pytest`; both can be started until the end of the block."""
    with TemporaryDirectory() as folder:  # its path is short, as that of a socket has to be
        program, address = Path(folder, "bin", "ragboard"), str(Path(folder, "socket"))
        program.parent.mkdir()
        if not hasattr(os, "fork"):
            for path in (program, program.with_name("pytest")):
                path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {path.name} "$@"\n', encoding="utf-8")
            yield program
            return
        for path in (program, program.with_name("pytest")):
            path.write_text(ASK.format(python=sys.executable, address=address), encoding="utf-8")
            path.chmod(0o755)
        command = [sys.executable, "-P", __file__, address]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as server:
            try:
                assert server.stdout
                assert server.stdout.readline() == b"listens\n"
                yield program
            finally:
                server.terminate()


def listen(address: str) -> None:
    """Fork a process for each that asks, until this one is terminated; return in the forked one, to be the program."""
    for module in IMPORTED:
        import_module(module)
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
    if forked := os.fork():
        _, status = os.waitpid(forked, 0)
        asking.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
        os._exit(0)
    with asking, asking.makefile() as stream:
        sys.argv, environment, here = json.loads(stream.readline())
    for place, name in enumerate(("stdin", "stdout", "stderr")):
        os.dup2(streams[place], place)
        os.close(streams[place])
        setattr(sys, name, os.fdopen(place, "w" if place else "r", encoding="utf-8"))
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(here)
    sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))


if __name__ == "__main__":
    listen(sys.argv[1])
    try:
        runpy.run_module(Path(sys.argv[0]).name, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        sys.stdout.flush()
        os._exit(int(str(ended.code)))  # to tear down what was imported would take longer than the command
