"""`ragboard judges`: list judges, embedders and presets of local models."""

from __future__ import annotations

import click

from ragboard.cli.options import as_json
from ragboard.cli.output import print_json, print_table
from ragboard.judges.local import Preset, presets
from ragboard.judges.local.presets import DEFAULT
from ragboard.judges.registry import EMBEDDERS, JUDGES

__all__ = ["judges"]


@click.command()
@as_json
def judges(as_json: bool) -> None:
    """List the judges, embedders and local model presets.

    \b
    ragboard judges
    ragboard judges --json
    """
    found = {"--judge, --extract, --verify": JUDGES, "--embed": EMBEDDERS}
    if as_json:
        listed = {
            option: {backend.usage: backend.summary for backend in backends} for option, backends in found.items()
        }
        print_json({"judges": listed, "presets": list(presets().values())})
        return
    for option, backends in found.items():
        print_table([option, "description"], [[one.usage, one.summary] for one in backends])
        click.echo()
    print_table(
        ["--judge local:PRESET", "model", "size", "languages", "licence", "authors' published result"],
        [_row(one) for one in presets().values()],
    )
    click.echo(f"--judge local means local:{DEFAULT}; the authors of ragboard have not run these models")


def _row(preset: Preset) -> list[str]:
    weights = "" if preset.download is None else f", {preset.download:g} GB"
    refused = f" (cannot be used: {preset.refused})" if preset.refused else ""
    return [
        preset.name,
        preset.model,
        f"{preset.parameters}{weights}",
        preset.languages,
        preset.licence,
        f"{preset.published}{refused}",
    ]
