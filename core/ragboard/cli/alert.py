"""`ragboard alert`: send a message when a metric of live traffic gets worse or recovers."""

from __future__ import annotations

import json
import shlex
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import click
from filelock import FileLock, Timeout

from ragboard.analysis.alerts import StateChange, mark_sent, state_changes
from ragboard.cli.options import as_json, store_option
from ragboard.cli.output import one_line, print_json
from ragboard.errors import RagboardError, SettingError, StoreBusyError
from ragboard.store import Store

__all__ = ["alert"]

TIMEOUT = 30.0
"""Maximum seconds that a webhook or a command may take."""


class SendError(RagboardError):
    """An alert could not be delivered. The next call sends it again."""


def _address(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    if value and (urlsplit(value).scheme not in ("http", "https") or not urlsplit(value).hostname):
        raise SettingError("the webhook is not an http or https URL")
    return value or None


@click.command()
@click.argument("dataset", required=False, metavar="[DATASET]")
@click.option(
    "--webhook",
    metavar="URL",
    envvar="RAGBOARD_WEBHOOK",
    show_envvar=True,
    callback=_address,
    help='URL that gets a POST request with the JSON {"text": ...}, such as a Slack webhook. It is secret: better set'
    " it in the environment or the settings file.",
)
@click.option("--command", metavar="COMMAND", help="Command to run, without a shell, with the JSON on standard input.")
@click.option(
    "--every",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Check every SECONDS until Ctrl-C.  [default: check once]",
)
@click.option("--dry-run", is_flag=True, help="Print what would be sent; send nothing.")
@store_option
@as_json
def alert(
    dataset: str | None,
    webhook: str | None,
    command: str | None,
    every: float | None,
    dry_run: bool,
    store: Store,
    as_json: bool,
) -> None:
    """Send a message when a metric of live traffic misses its threshold, gets worse or recovers, once per change.

    Set thresholds with `ragboard threshold`. Without --webhook or --command, changes are only printed. A message that
    could not be delivered is sent again by the next call.

    \b
    ragboard alert --dry-run
    ragboard alert "chat (production)" --every 300
    ragboard alert --command "notify-send ragboard"
    """
    program = shlex.split(command) if command else []
    while True:
        try:
            changes = _send_changes(store, dataset, webhook, program, dry_run=dry_run)
        except (SendError, StoreBusyError) as error:
            if every is None:
                raise
            click.echo(one_line(str(error)), err=True)
            changes = ()
        if as_json:
            print_json({"changes": changes, "sent": bool(changes and (webhook or program) and not dry_run)})
        else:
            for change in changes:
                click.echo(one_line(change.text))
        if every is None:
            break
        with suppress(KeyboardInterrupt):
            time.sleep(every)
            continue
        return
    if not changes and not as_json:
        click.echo("nothing changed", err=True)


def _send_changes(
    store: Store, dataset: str | None, webhook: str | None, program: Sequence[str], *, dry_run: bool
) -> tuple[StateChange, ...]:
    """Send the changes since the last call, store the new states, and return the changes.

    A lock keeps two processes from sending the same change.
    """
    if dry_run:
        return state_changes(store, dataset)
    store.require_writable()
    try:
        with FileLock(store.folder / "alert.lock", timeout=TIMEOUT, is_singleton=False):
            changes = state_changes(store, dataset)
            if changes and webhook:
                _post(webhook, _message(changes))
            if changes and program:
                _run(program, _message(changes))
            mark_sent(store, changes)
            return changes
    except Timeout:
        raise StoreBusyError(f"{store.folder}: another process is sending alerts; try again later") from None


def _message(changes: Sequence[StateChange]) -> str:
    """Return the JSON to send. `&`, `<` and `>` are escaped, because Slack reads them as links and mentions."""
    lines = (
        one_line(change.text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") for change in changes
    )
    return json.dumps({"text": "\n".join(lines)})


class _NoRedirect(HTTPRedirectHandler):
    """Refuses redirects, so that a message is sent only to the user's URL."""

    def redirect_request(self, *_arguments: Any, **_named: Any) -> None:
        """Return None, which makes a redirect an error."""


def _post(address: str, message: str) -> None:
    """Send a message to a webhook. Raises SendError, which names only the host: the rest of the URL may be secret."""
    request = Request(  # noqa: S310 - `_address` allows only http and https
        address, data=message.encode(), headers={"Content-Type": "application/json", "User-Agent": "ragboard"}
    )
    host = urlsplit(address).hostname
    try:
        build_opener(_NoRedirect).open(request, timeout=TIMEOUT).close()
    except HTTPError as error:
        raise SendError(
            f"the webhook at {host} answered {error.code}; the alert is sent again by the next call"
        ) from None
    except (URLError, HTTPException, OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        raise SendError(f"the webhook at {host} cannot be reached ({reason}); the next call tries again") from None


def _run(program: Sequence[str], message: str) -> None:
    try:
        done = subprocess.run(program, input=message, text=True, timeout=TIMEOUT, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SendError(f"{program[0]}: {error}; the next call tries again") from error
    if done.returncode:
        raise SendError(f"{program[0]} ended with exit code {done.returncode}; the next call tries again")
