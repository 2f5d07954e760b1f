"""Take the screenshots of the demo that the README and the documentation show.

    python docs/images/pictures.py

Loads the demo into a temporary store, serves it, and writes the pictures next to this file. Needs Chromium
(`CHROMIUM` is its path).
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

from ragboard import Store, evaluate_run
from ragboard.demo import load_demo
from ragboard.export.run_report import run_report
from ragboard_dashboard.server import wait_until_healthy

IMAGES = Path(__file__).parent
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu"]
PAGES = {
    "runs": ("runs", "#board tbody tr"),
    "run": ("run?run=bm25-k3", "#samples tbody tr"),
    "sample": ("sample?run=bm25-k3&sample=q28&statement=1", "#reader [role=option]"),
    "compare": ("compare?a=bm25-k3&b=bm25-rerank-k5", "#compare tbody tr"),
    "diagnosis": ("diagnosis?run=bm25-k3", "h2, h3"),
}
"""For each picture: the URL of the page, and a selector for an element that appears when the page has loaded."""


def main() -> None:
    """Take a screenshot of every page and of a report."""
    with TemporaryDirectory() as folder:
        store = Store(Path(folder) / "store")
        for line in load_demo(
            store, lambda store, run, metrics, panel: evaluate_run(store, run.run_id, metrics, panel)
        ):
            print(line)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        command = [sys.executable, "-m", "ragboard", "serve", "--no-browser", "--port", port, "--store"]
        with subprocess.Popen([*command, str(store.folder)]) as server:
            try:
                if not wait_until_healthy(f"http://127.0.0.1:{port}", 60):
                    sys.exit("the server did not start")
                take_screenshots(f"http://127.0.0.1:{port}", PAGES)
                report = Path(folder) / "report.html"
                report.write_text(run_report(store, store.resolve("bm25-k3")), encoding="utf-8")
                take_screenshots(Path(folder).as_uri(), {"report": ("report.html", "h1")})
            finally:
                server.terminate()


def take_screenshots(address: str, pages: Mapping[str, tuple[str, str]]) -> None:
    """Open pages and save a picture of the first screen of each."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for name, (path, content) in pages.items():
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(f"{address}/{path}")
            page.locator(content).first.wait_for()
            page.locator("[data-test-script-state=running]").wait_for(state="detached")
            page.wait_for_timeout(1500)  # until fonts and charts are drawn
            page.screenshot(path=IMAGES / f"{name}.png")
            page.close()


if __name__ == "__main__":
    main()
