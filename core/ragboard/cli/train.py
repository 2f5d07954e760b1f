"""The command that trains a judge on synthetic data."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import NoReturn

import click
from tqdm import tqdm

from ragboard.cli.options import as_json, force_option
from ragboard.cli.output import one_line, print_json
from ragboard.tasks import AresQuality
from ragboard.training import Epoch, TrainConfig, TrainResult, train_judge
from ragboard.training.train import verdicts

__all__ = ["train"]

DEFAULT = TrainConfig()


@click.command("train-judge")
@click.argument("data", type=click.Path(path_type=Path, exists=True))
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder to write.")
@click.option("--model", help="Folder or name on Hugging Face of what is fine-tuned.  [default: all-MiniLM-L6-v2]")
@click.option(
    "--labels",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    help="What people said, ARES TSV, to score on as well; repeatable.",
)
@click.option("--epochs", type=click.IntRange(1), default=DEFAULT.epochs, show_default=True, help="At most.")
@click.option(
    "--patience",
    type=click.IntRange(1),
    default=DEFAULT.patience,
    show_default=True,
    help="Stop after so many epochs without a lower loss on validation documents.",
)
@click.option("--batch", type=click.IntRange(1), default=DEFAULT.batch, show_default=True, help="Examples a step.")
@click.option(
    "--learning-rate",
    type=click.FloatRange(0, min_open=True),
    default=DEFAULT.learning_rate,
    show_default=True,
    help="The highest. DeBERTa-v3-large takes 5e-6 to 1e-5.",
)
@click.option("--max-length", type=click.IntRange(64), help="Tokens read at once.  [default: 256, or the model's]")
@click.option("--seed", type=int, default=0, show_default=True, help="For the order of examples and new weights.")
@force_option
@as_json
def train(
    data: Path,
    out: Path,
    model: str | None,
    labels: tuple[Path, ...],
    epochs: int,
    patience: int,
    batch: int,
    learning_rate: float,
    max_length: int | None,
    seed: int,
    force: bool,
    as_json: bool,
) -> None:
    """Train a judge on DATA, the folder that `ragboard synth` wrote or a TSV of ARES.

    One cross-encoder a quality: context relevance, answer faithfulness, answer relevance. The folder --out then
    judges as `trained:OUT`; its card.md says how good it is beside word overlap. Needs ragboard[local].

    \b
    ragboard train-judge synthetic --out judge
    ragboard train-judge synthetic --out judge --labels people.tsv
    ragboard train-judge synthetic --out judge --model microsoft/deberta-v3-large --learning-rate 5e-6
    """
    config = TrainConfig(
        model=model,
        epochs=epochs,
        patience=patience,
        batch=batch,
        learning_rate=learning_rate,
        max_length=max_length,
        seed=seed,
    )
    with closing(_Bars()) as bars:
        trained = train_judge(data, out, config, labels=labels, on_progress=bars.report, force=force)
    if as_json:
        print_json(trained)
    else:
        _print(trained)


class _Bars:
    """A bar for each quality, with its last epoch beside it; where no terminal is, a line an epoch."""

    def __init__(self) -> None:
        self._bars: dict[AresQuality, tqdm[NoReturn]] = {}

    def close(self) -> None:
        """Leave the bars as they are."""
        for bar in self._bars.values():
            bar.close()

    def report(self, quality: AresQuality, done: int, of: int, epoch: Epoch | None) -> None:
        if quality not in self._bars:
            self.close()
            self._bars[quality] = tqdm(total=of, desc=quality, unit="step", disable=None)
        bar = self._bars[quality]
        bar.update(done - bar.n)
        if epoch is None:
            return
        said = f"epoch {epoch.number}, loss {epoch.training_loss:.3f}, on validation {epoch.validation_loss:.3f}"
        if bar.disable:
            click.echo(f"{quality}: {said}", err=True)
        else:
            bar.set_postfix_str(said)


def _print(trained: TrainResult) -> None:
    for fitted in trained.pupils:
        kept = fitted.epochs[fitted.kept - 1]
        click.echo(
            f"{fitted.quality}: {len(fitted.epochs)} epochs, kept {fitted.kept}, validation loss"
            f" {kept.validation_loss:.3f}, {fitted.seconds:,.0f} s"
        )
        for scored in fitted.scores:
            for said in verdicts(scored):
                click.echo(f"  {said.replace('**', '')}")
    for quality, why in trained.left_out.items():
        click.echo(f"{quality}: not trained: {why}")
    click.echo(one_line(f"judge: trained:{trained.folder}; how good it is: {trained.folder / 'card.md'}"))
