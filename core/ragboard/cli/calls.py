"""What judges were asked for one sample, printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

import click

from ragboard.cli.output import plain, print_json
from ragboard.errors import SettingError
from ragboard.evaluation.calls import Call, sample_calls
from ragboard.metrics import Metric
from ragboard.store import RunRef, Store

__all__ = ["show_calls"]


def show_calls(store: Store, run: RunRef, sample_id: str | None, known: Mapping[str, Metric], *, as_json: bool) -> None:
    """Print every task of a sample with its messages. Raises SettingError where no sample is named."""
    if sample_id is None:
        raise SettingError("--calls is of one sample; name it: ragboard show RUN SAMPLE --calls")
    found = sample_calls(store, run, sample_id, known=known)
    if as_json:
        print_json(asdict(found) | {"cost": found.cost})
        return
    click.echo(plain(found.missing or str(found)))
    for number, one in enumerate(found.tasks, 1):
        _print_call(number, one)


def _print_call(number: int, one: Call) -> None:
    click.echo(plain(f"\n{number}. {one.task}"))
    click.echo(plain(f"   {one.facts}"))
    if one.no_prompt:
        click.echo(plain(f"   {one.no_prompt}"))
    for message in one.messages:
        click.echo(f"   --- {message.role}")
        click.echo(plain(message.text))
    click.echo(plain(f"   --- {'failed' if one.failed else 'read as'}: {one.outcome}"))
