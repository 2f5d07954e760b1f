"""Test eight users, an evaluation and imports at the same time. No errors, locks or outdated pages may occur.

    python -m benchmarks.users --minutes 10

Starts a server with a new store. Users with separate browsers open pages, samples and comparisons, while commands
import runs and evaluate the latest run. Reports every problem: an exception or error on a page, a page that does not
load, a leaderboard without a run that was imported before the page was requested, a failed command, and a traceback in
the server's log.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import socket
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from playwright.async_api import Browser, Page, async_playwright
from playwright.async_api import Error as BrowserError

from ragboard import DEFAULT_METRICS, EmbeddedJudge, Panel, Store, evaluate_run, sample_runs
from ragboard_dashboard.server import wait_until_healthy

PATIENCE = 120
"""Seconds after which a page counts as not loaded."""
PAUSE = 2.0
"""Seconds between two imports."""
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
SHOWN = {
    "runs": "#board tbody tr",
    "run?run=bm25-k3": "#samples a >> nth=0",
    "hallucinations": "#findings a",
    "compare?a=bm25-k3&b=bm25-rerank-k5": "#compare tbody tr",
    "sample?run=bm25-k3&sample=q23": "#reader [role=option]",
    "upload": "[data-testid=stFileUploader]",
    "diagnosis?run=bm25-k3": ".rb-rules, table",
    "estimate?runs=bm25-k3": "[data-testid=stAlert]",
    "metrics": "h1, h2",
}
"""Pages, with a selector of content that shows that the page has loaded."""
SIGNS = ("Traceback", "Could not set lock", "another process kept", "Exception")


@dataclass
class Soak:
    """What happened in the test so far."""

    until: float
    imported: list[str] = field(default_factory=list[str])
    """Runs that were imported."""
    problems: list[str] = field(default_factory=list[str])
    seconds: list[float] = field(default_factory=list[float])
    """The loading time of each page."""
    done: Counter[str] = field(default_factory=Counter[str])

    @property
    def over(self) -> bool:
        return time.monotonic() > self.until


def main() -> None:
    args = arguments()
    with TemporaryDirectory() as folder:
        found = asyncio.run(soak(Path(folder), args.minutes, args.people, args.chromium))
    print(report(found))
    sys.exit(1 if found.problems else 0)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--people", type=int, default=8)
    parser.add_argument("--chromium", default=os.environ.get("CHROMIUM", "/usr/bin/chromium"))
    return parser.parse_args()


async def soak(folder: Path, minutes: float, people: int, chromium: str) -> Soak:
    """Run users and commands on a new store in the folder for this many minutes."""
    store = Store(folder / "store")
    for added in store.add_runs(sample_runs()):
        evaluate_run(store, added.id, DEFAULT_METRICS, Panel(judge=EmbeddedJudge()))
    log = folder / "server.txt"
    async with serving(store, log) as address, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        found = Soak(until=time.monotonic() + minutes * 60)
        visitors = (visit(found, browser, address, number) for number in range(people))
        await asyncio.gather(import_runs(found, store, folder), evaluate_runs(found, store), *visitors)
        await browser.close()
    output = log.read_text(encoding="utf-8", errors="replace")
    found.problems += [f"server: {line}" for line in output.splitlines() if any(sign in line for sign in SIGNS)]
    return found


@asynccontextmanager
async def serving(store: Store, log: Path) -> AsyncGenerator[str]:
    """Run `ragboard serve` on the store during the block; its output goes to the log."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *_command("serve", store, "--no-browser", "--port", str(port)), stdout=output, stderr=output
        )
        try:
            address = f"http://127.0.0.1:{port}"
            if not await asyncio.to_thread(wait_until_healthy, address, PATIENCE):
                sys.exit("the server did not start")
            yield address
        finally:
            process.terminate()
            await process.wait()


async def import_runs(found: Soak, store: Store, folder: Path) -> None:
    """Import one run after another."""
    file = folder / "run.jsonl"
    number = 0
    while not found.over:
        number += 1
        file.write_text("\n".join(_lines(number)), encoding="utf-8")
        name = f"imported-{number}"
        if await _run_command(found, *_command("import", store, str(file), "--name", name)):
            found.imported.append(name)
        await asyncio.sleep(PAUSE)


def _lines(number: int) -> list[str]:
    """Return rows of a run file with questions and passages of the sample data; a passage is the answer."""
    return [
        json.dumps(
            {
                "id": sample.id,
                "question": sample.question,
                "contexts": [passage.text for passage in sample.contexts or ()],
                "answer": f"{(sample.contexts or ())[0].text} This is answer {number}.",
            }
        )
        for sample in sample_runs()[0].samples
    ]


async def evaluate_runs(found: Soak, store: Store) -> None:
    """Evaluate the latest run, repeatedly."""
    while not found.over:
        if found.imported:
            await _run_command(found, *_command("evaluate", store, found.imported[-1]))
        await asyncio.sleep(0.2)


def _command(verb: str, store: Store, *given: str) -> list[str]:
    return [sys.executable, "-m", "ragboard", verb, *given, "--store", str(store.folder)]


async def _run_command(found: Soak, *command: str) -> bool:
    """Run a command and return whether it succeeds. If it fails, add its output to the problems."""
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await process.communicate()
    found.done[command[3]] += 1
    if process.returncode:
        found.problems.append(f"{' '.join(command[2:])}: {output.decode(errors='replace')[-400:]}")
    return process.returncode == 0


async def visit(found: Soak, browser: Browser, address: str, number: int) -> None:
    """Simulate a user who opens random pages, reads them, and sometimes follows a link."""
    choice = random.Random(number)
    context = await browser.new_context(viewport={"width": 1440, "height": 900})
    page = await context.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    while not found.over:
        path = choice.choice(list(SHOWN))
        try:
            await open_page(found, page, address, path)
            if path == "hallucinations":
                await _follow(found, page, choice)
        except BrowserError as error:
            found.problems.append(f"{path}: {error.message.splitlines()[0]}")
    await context.close()


async def open_page(found: Soak, page: Page, address: str, path: str) -> None:
    """Open a page and check it."""
    imported_before = list(found.imported)
    start = time.monotonic()
    await page.goto(f"{address}/{path}")
    await _wait_for_content(page, SHOWN[path])
    found.seconds.append(time.monotonic() - start)
    found.done["page"] += 1
    await _collect_errors(found, page, path)
    if path == "runs":
        shown = await page.locator("#board th.run a").all_inner_texts()
        old = [name for name in imported_before if name not in shown]
        found.problems += [f"runs: {name} is not shown, {len(shown)} runs are" for name in old[-1:]]


async def _wait_for_content(page: Page, selector: str) -> None:
    await page.locator(selector).first.wait_for()
    await page.locator("[data-testid=stApp]:not([data-test-script-state=running])").wait_for()


async def _follow(found: Soak, page: Page, choice: random.Random) -> None:
    links: Any = page.locator("#findings a")
    await links.nth(choice.randrange(await links.count())).click()
    await page.wait_for_url("**/sample?*")
    await _wait_for_content(page, SHOWN["sample?run=bm25-k3&sample=q23"])
    found.done["sample followed"] += 1
    await _collect_errors(found, page, "sample")


async def _collect_errors(found: Soak, page: Page, path: str) -> None:
    """Add errors on the page to the problems."""
    for selector in ("[data-testid=stException]", "[data-testid=stAlertContentError]"):
        for text in await page.locator(selector).all_inner_texts():
            found.problems.append(f"{path}: {text[:300]}")


def report(found: Soak) -> str:
    counts = ", ".join(f"{count} {what}" for what, count in sorted(found.done.items()))
    times = f"median {median(found.seconds):.1f} s, slowest {max(found.seconds):.1f} s" if found.seconds else "no page"
    return "\n".join([f"{counts}; a page: {times}; {len(found.problems)} problems", *found.problems])


if __name__ == "__main__":
    main()
