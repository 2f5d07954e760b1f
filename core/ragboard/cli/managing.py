"""Commands that change what a run is called, tag it, and take it out of the store."""

from __future__ import annotations

import click

from ragboard.cli.options import store_option
from ragboard.cli.output import one_line
from ragboard.errors import SettingError
from ragboard.store import RunRef, Store

__all__ = ["rename", "rm", "tag"]


def whole_run(store: Store, name: str) -> RunRef:
    """The run of that name. Raises SettingError where one evaluation of it is named."""
    ref = store.resolve(name)
    if name not in (ref.name, ref.run_id):
        raise SettingError(f"{name!r} names an evaluation, expected a run: {ref.name!r}")
    return ref


@click.command()
@click.argument("run")
@click.argument("name")
@store_option
def rename(run: str, name: str, store: Store) -> None:
    """Call a RUN by another NAME; what was found about it stays.

    \b
    ragboard rename answers rerank-k5
    """
    store.rename_run(whole_run(store, run).run_id, name)
    click.echo(one_line(f"{run} is now called {name}"))


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@store_option
def rm(runs: tuple[str, ...], yes: bool, store: Store) -> None:
    """Delete each RUN with its samples and every evaluation of it, after asking.

    \b
    ragboard rm rerank-k5
    ragboard rm first second --yes
    """
    found = {ref.run_id: ref for ref in (whole_run(store, name) for name in runs)}
    for ref in found.values():
        click.echo(
            one_line(f"{ref.name}: {store.sample_count(ref.run_id):,} samples, and all that was found about them")
        )
    if not yes:
        click.confirm("Delete for good?", abort=True)
    store.remove_runs(found)
    click.echo(f"{len(found)} run{'' if len(found) == 1 else 's'} deleted")


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("run")
@click.argument("changes", nargs=-1, required=True, metavar="+TAG|-TAG...", type=click.UNPROCESSED)
@store_option
def tag(run: str, changes: tuple[str, ...], store: Store) -> None:
    """Give a RUN tags (+TAG) and take tags from it (-TAG).

    \b
    ragboard tag rerank-k5 +baseline -draft
    """
    for change in changes:
        if change[:1] not in ("+", "-") or not change[1:].strip():
            raise SettingError(f"{change!r}: expected +TAG or -TAG")
    run_id = whole_run(store, run).run_id
    tags = store.change_tags(
        run_id,
        add=[change[1:] for change in changes if change[0] == "+"],
        drop=[change[1:] for change in changes if change[0] == "-"],
    )
    click.echo(one_line(f"{run}: {', '.join(tags) or 'no tag'}"))
