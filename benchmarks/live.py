"""The delay from a trace until an open page shows its sample with a score, with `ragboard serve` and `ragboard watch`.

    python benchmarks/live.py [--traces 20] [--every SECONDS]

A page of a sample that is not there yet is open in Chromium (`CHROMIUM` is its path). Then the trace is sent. Prints
the seconds from the acknowledgement of the request until the page shows the sample, and until it shows its faithfulness
by the embedded judge; median and maximum.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from collector import encode_request
from playwright.sync_api import sync_playwright

from ragboard_dashboard.server import wait_until_healthy

PATIENCE = 120.0
RUN = "bench 1"


@contextmanager
def running(*words: str) -> Generator[None]:
    """Run a ragboard command in a subprocess until the end of the block."""
    with subprocess.Popen([sys.executable, "-m", "ragboard", *words], stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()


def send(address: str, body: bytes) -> None:
    request = Request(f"{address}/v1/traces", data=body, headers={"Content-Type": "application/x-protobuf"})
    with urlopen(request, timeout=30):
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=int, default=20)
    parser.add_argument("--every", default="", help="seconds between two checks for new samples by `watch`")
    args = parser.parse_args()
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)))
    every = ["--every", args.every] if args.every else []
    shown: list[float] = []
    scored: list[float] = []
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        store = ("--store", str(Path(folder) / "store"))
        browser = playwright.chromium.launch(executable_path=path, args=["--headless", "--no-sandbox", "--disable-gpu"])
        with (
            running("serve", "--port", str(port), "--no-browser", *store),
            running("watch", RUN, "--metrics", "faithfulness", *every, *store),
        ):
            assert wait_until_healthy(address, PATIENCE)
            page = browser.new_page()
            page.set_default_timeout(PATIENCE * 1000)
            for number in range(args.traces + 1):
                trace = os.urandom(16)
                page.goto(f"{address}/sample?{urlencode({'run': RUN, 'sample': trace.hex()})}")
                page.get_by_text("in this link").or_(page.get_by_text("No run yet")).first.wait_for()
                time.sleep(1)
                send(address, encode_request([trace], 5))
                began = time.perf_counter()
                page.get_by_text(f"When did the mill {trace.hex()[:8]} close?").first.wait_for()
                until_shown = time.perf_counter() - began
                page.get_by_text("Faithfulness").first.wait_for()
                if number:  # the first one waits for what is imported once
                    shown.append(until_shown)
                    scored.append(time.perf_counter() - began)
        browser.close()
    for what, seconds in (("shown", shown), ("shown with its score", scored)):
        print(f"{what} after {median(seconds):.1f} s (median), {max(seconds):.1f} s (maximum of {len(seconds)})")


if __name__ == "__main__":
    main()
