"""Measure how long pages take to show their content in a browser, for different store sizes and an empty page.

    python benchmarks/pages.py --stores FOLDER --sizes 1000 100000 --repeats 7

Stores (`big_store.py`) are made in FOLDER if they do not exist; a size is the total number of samples. Each store has a
server, and so has an empty Streamlit page of the same version and configuration. A headless Chromium (1440x900) opens
the pages in alternation, because other programs may be running. A page shows its content when the last element of its
first screen is visible (`CONTENT`). Pages are opened in three ways:

first   with a new server and a new browser profile, without any caches
anew    with a running server and a used browser, after a sample was logged to a third run
again   the same, without a write

A sample is opened from the list of hallucinations, each time another one. The mouse is on the statement before it is
pressed, because Playwright's `click` also waits until the element does not move. Times are medians in seconds; ratios
are to the empty page opened in the same way. Linux only: the memory of the server is read from /proc.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from uuid import uuid4

from big_store import RUNS, make_store
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from ragboard import Run, Sample, Store
from ragboard_dashboard.server import wait_until_healthy

EMPTY = """
import sys
from pathlib import Path
from ragboard_dashboard.server import build_app, server_options
from ragboard_dashboard.settings import ServerSettings
given = ServerSettings(store=Path(".ragboard"))
build_app(given, Path(sys.argv[1])).run(config=server_options(given) | {"server.port": int(sys.argv[2])})
"""
SCRIPT = "import streamlit as st\nst.title('An empty page')\n"

PATHS = {
    "Runs": "",
    "Run": f"run?run={RUNS[0]}",
    "Hallucinations": "hallucinations",
    "Compare": f"compare?a={RUNS[0]}&b={RUNS[1]}",
    "Diagnosis": f"diagnosis?run={RUNS[0]}",
    "Evaluate": f"evaluate?run={RUNS[0]}",
    "Annotate": f"annotate?run={RUNS[0]}",
    "Estimate": "estimate",
    "Datasets": "dataset",
    "Dataset": "dataset?dataset={questions} questions",
}
"""The pages whose content depends on the size of the store. The two runs have the same `questions` questions."""
CONTENT = {
    "Empty": ["h1 >> text=An empty page"],
    "Runs": ["#board tbody tr >> nth=1", "#findings a >> nth=5"],
    "Run": ["#samples a >> nth=24"],
    "Hallucinations": ["#findings a >> nth=24"],
    "Compare": ["#compare table >> nth=0", "#compare a >> nth=19"],
    "Diagnosis": ["text=Rules and their values"],
    "Evaluate": ["[data-testid=stFormSubmitButton] button", "text=Plan by metric"],
    "Annotate": ["[data-testid=stFormSubmitButton] button"],
    "Estimate": ["[data-testid=stPageLink] >> nth=0"],
    "Datasets": ["main table tr >> nth=2"],
    "Dataset": ["text=Question 1 of", "text=Edit the nuggets"],
    "Sample": ["#reader [role=option] >> nth=4"],
}
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
PATIENCE = 120
LOOK = 10
"""Milliseconds between two checks for the content."""

Times = dict[tuple[str, str, str], list[float]]
"""Times in seconds, by store, page and way of opening."""


def main() -> None:
    args = arguments()
    stores = {f"{size:,}": args.stores / str(size) for size in args.sizes}
    for size, folder in zip(args.sizes, stores.values(), strict=True):
        make_store(folder, size)
    with sync_playwright() as playwright, TemporaryDirectory() as scratch:
        script = Path(scratch) / "empty.py"
        script.write_text(SCRIPT, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=args.chromium, args=ARGUMENTS)
        times: Times = defaultdict(list)
        for _ in range(args.first):
            first_loads(browser, stores, script, times, args.pages)
        memory = loads(browser, stores, script, times, args.pages, args.repeats)
    print(report(times, memory, list(stores)))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stores", type=Path, required=True, help="Folder of the stores, which are made if missing.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 100_000])
    parser.add_argument("--pages", nargs="+", choices=PATHS, default=list(PATHS))
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--first", type=int, default=3, help="Repeats with a new server each.")
    parser.add_argument("--chromium", default=os.environ.get("CHROMIUM", "/usr/bin/chromium"))
    return parser.parse_args()


@contextmanager
def server(folder: Path | None, script: Path) -> Generator[tuple[str, int]]:
    """Yield address and process id of a server for a store, or for the empty page if there is no store."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    dashboard = ["-m", "ragboard", "serve", "--no-browser", "--port", port, "--store", str(folder)]
    command = [sys.executable, *(dashboard if folder else ["-c", EMPTY, str(script), port])]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        address = f"http://127.0.0.1:{port}"
        try:
            if not wait_until_healthy(address, PATIENCE):
                sys.exit(f"{' '.join(command)} did not start")
            yield address, process.pid
        finally:
            process.terminate()


def first_loads(browser: Browser, stores: dict[str, Path], script: Path, times: Times, pages: list[str]) -> None:
    """Open every page with a new server and a new browser profile."""
    for page in pages:
        for name, folder in (("", None), *stores.items()):
            shown = page if folder else "Empty"
            with server(folder, script) as (address, _):
                context = browser.new_context(viewport={"width": 1440, "height": 900})
                times[name, shown, "first"].append(load(context, address, shown, name))
                context.close()


def loads(
    browser: Browser, stores: dict[str, Path], script: Path, times: Times, pages: list[str], repeats: int
) -> dict[str, tuple[int, int]]:
    """Open every page with running servers. Returns the current and peak memory of each server, in MB."""
    with servers(stores, script) as running:
        contexts = {name: browser.new_context(viewport={"width": 1440, "height": 900}) for name in running}
        for repeat in range(-1, repeats):
            found: Times = times if repeat >= 0 else defaultdict(list)  # the first round is a warm-up
            for shown in pages:
                for name, (address, _) in running.items():
                    twice(contexts[name], address, stores.get(name), name, shown if name else "Empty", found)
            for name in stores:
                found[name, "Sample", "anew"].append(opening(contexts[name], running[name][0], repeat + 1))
        return {name: memory_of(pid) for name, (_, pid) in running.items()}


@contextmanager
def servers(stores: dict[str, Path], script: Path) -> Generator[dict[str, tuple[str, int]]]:
    """Yield the server of each store by its name, and of the empty page with an empty name."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(server(folder, script)) for name, folder in (("", None), *stores.items())}


def twice(context: BrowserContext, address: str, folder: Path | None, name: str, shown: str, times: Times) -> None:
    """Open a page after a write to its store, and again."""
    if folder:
        Store(folder).append(Run(name="traffic", samples=(Sample(id=uuid4().hex, question="Why?", answer="So."),)))
    times[name, shown, "anew"].append(load(context, address, shown, name))
    times[name, shown, "again"].append(load(context, address, shown, name))


def load(context: BrowserContext, address: str, shown: str, store: str) -> float:
    """Return the seconds from opening the address to the content. `store` is the number of samples, as `1,000`."""
    page = new_page(context)
    path = PATHS.get(shown, "").format(questions=int(store.replace(",", "") or 0) // len(RUNS))
    start = time.perf_counter()
    page.goto(f"{address}/{path}", wait_until="commit")
    wait_for(page, shown)
    taken = time.perf_counter() - start
    page.close()
    return taken


def opening(context: BrowserContext, address: str, place: int) -> float:
    """Return the seconds from pressing the mouse on a statement to its sample."""
    page = new_page(context)
    page.goto(f"{address}/{PATHS['Hallucinations']}")
    wait_for(page, "Hallucinations")
    page.wait_for_timeout(500)
    page.locator("#findings a").nth(place).hover()
    start = time.perf_counter()
    page.mouse.down()
    page.mouse.up()
    wait_for(page, "Sample")
    taken = time.perf_counter() - start
    page.close()
    return taken


def new_page(context: BrowserContext) -> Page:
    page = context.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    return page


def wait_for(page: Page, shown: str) -> None:
    """Wait for the content with short intervals; the library's wait ends up checking every half second."""
    until = time.monotonic() + PATIENCE
    for selector in CONTENT[shown]:
        there = page.locator(selector)
        while not there.is_visible():
            if time.monotonic() > until:
                sys.exit(f"{shown} did not appear: {page.url} shows no {selector}")
            page.wait_for_timeout(LOOK)


def memory_of(pid: int) -> tuple[int, int]:
    """Return the current and peak resident memory of a process in MB."""
    said = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    now, most = (int(said[key].split()[0]) // 1024 for key in ("VmRSS", "VmHWM"))
    return now, most


def report(times: Times, memory: dict[str, tuple[int, int]], stores: list[str]) -> str:
    """Return the medians as Markdown tables."""
    known = {key: median(values) for key, values in times.items()}
    empty = {way: known["", "Empty", way] for way in ("first", "anew", "again") if ("", "Empty", way) in known}
    lines = [f"Empty page: {', '.join(f'{way} {seconds:.2f} s' for way, seconds in empty.items())}", ""]
    for way, base in empty.items():
        lines += [*_table(known, base, way, stores), ""]
    lines += [f"Server over {name or 'nothing'}: {now} MB, at most {most} MB" for name, (now, most) in memory.items()]
    return "\n".join(lines)


def _table(known: dict[tuple[str, str, str], float], base: float, way: str, stores: list[str]) -> Iterator[str]:
    yield f"| {way} | " + " | ".join(f"{name} samples | of empty" for name in stores) + " | largest of smallest |"
    yield "|---|" + "---:|---:|" * len(stores) + "---:|"
    for page in (*PATHS, "Sample"):
        taken = [known.get((name, page, way)) for name in stores]
        if all(taken):
            cells = [f"{seconds:.2f} | {seconds / base:.2f}" for seconds in taken if seconds]
            yield f"| {page} | {' | '.join(cells)} | {(taken[-1] or 0) / (taken[0] or 1):.2f} |"


if __name__ == "__main__":
    main()
