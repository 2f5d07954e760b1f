"""The command `ragboard` for tests that start it often, forked from one process that has imported it.

A process of its own imports for a second, then works for a tenth of one. What is forked is a process too, with the
arguments, environment, folder, streams and exit code of whoever starts it. Only what Python reads before its first
line, and a library while it is imported, is that of the one process: a test of such things starts its own.

Run as a file, with the path of a socket, it is that one process.
"""

from __future__ import annotations

import json
import os
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
IMPORTED = ("pandas", "nltk.stem.snowball", "ragboard.cli.compare", "ragboard.cli.evaluate", "ragboard.cli.results")


@contextmanager
def quick_program() -> Generator[Path]:
    """The path of a program `ragboard` that can be started until the end of the block."""
    with TemporaryDirectory() as folder:  # its path is short, as that of a socket has to be
        program, address = Path(folder, "bin", "ragboard"), str(Path(folder, "socket"))
        program.parent.mkdir()
        if not hasattr(os, "fork"):
            program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ragboard "$@"\n', encoding="utf-8")
            yield program
            return
        program.write_text(ASK.format(python=sys.executable, address=address), encoding="utf-8")
        program.chmod(0o755)
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


if __name__ == "__main__":
    from ragboard.cli import run

    listen(sys.argv[1])
    try:
        run()
    except SystemExit as ended:
        sys.stdout.flush()
        os._exit(int(str(ended.code)))  # to tear down what was imported would take longer than the command
