"""Commands for a judge of your own: synthetic data from a corpus, and training on it."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, get_args

import click
from tqdm import tqdm

from ragboard.cli.options import as_json, ceiling_options, force_option, judging_options, prices_option
from ragboard.cli.output import one_line, print_json
from ragboard.evaluation.options import EvaluationOptions
from ragboard.judges import JudgeOptions, panel_named
from ragboard.prices import Prices
from ragboard.readers.ares import read_ares
from ragboard.readers.corpus import read_corpus
from ragboard.tasks import AresQuality, Example
from ragboard.training import (
    KINDS,
    Epoch,
    Kind,
    SynthConfig,
    SynthResult,
    TrainConfig,
    TrainResult,
    choose,
    synthesise,
    train_judge,
)
from ragboard.training.questions import planned_calls
from ragboard.training.train import verdicts

__all__ = ["synth", "train"]


STOPPED = 3


@click.command()
@click.argument("corpus", type=click.Path(path_type=Path))
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder to write.")
@click.option("--kind", type=click.Choice(get_args(Kind)), default="ares", show_default=True)
@click.option("--passages", type=click.IntRange(1), help="Write questions for this many random passages; else for all.")
@click.option(
    "--questions", type=click.IntRange(1), default=3, show_default=True, help="Maximum questions per passage."
)
@click.option(
    "--words",
    type=click.IntRange(10),
    default=120,
    show_default=True,
    help="Words per passage when documents are split.",
)
@click.option(
    "--least-words", type=click.IntRange(1), default=30, show_default=True, help="Skip passages with fewer words."
)
@click.option("--plan", "only_plan", is_flag=True, help="Print the number of calls and exit.")
@force_option
@judging_options
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Seed for drawing passages and splitting documents."
)
@ceiling_options
@prices_option
@as_json
def synth(
    corpus: Path,
    out: Path,
    kind: Kind,
    passages: int | None,
    questions: int,
    words: int,
    least_words: int,
    only_plan: bool,
    force: bool,
    judging: JudgeOptions,
    seed: int,
    limits: dict[str, Any],
    prices: Prices,
    as_json: bool,
) -> None:
    """Write questions, answers and wrong answers for a folder of texts or a table of passages.

    The embedded judge writes them by rules; a chat model can write them instead. Run the same command to resume.

    \b
    ragboard synth documents/ --out synthetic
    ragboard synth passages.parquet --out synthetic --judge openai:gpt-4o-mini --examples few_shot.tsv
    """
    config = SynthConfig(
        kind=kind,
        passages=passages,
        questions=questions,
        least_words=least_words,
        seed=seed,
        examples=_examples(judging.examples),
    )
    read = read_corpus(corpus, words=words)
    if only_plan:
        chosen = len(choose(read, config))
        tasks = planned_calls(chosen, questions, len(KINDS[kind]), by_meaning=bool(judging.embed))
        click.echo(f"at most {tasks:,} tasks for {chosen:,} passages")
        return
    panel = panel_named(replace(judging, examples=None))
    result = synthesise(read, config, panel, out, EvaluationOptions(prices=prices, **limits), force=force)
    if as_json:
        print_json(result)
    else:
        _print_synth(result)
    if result.stopped:
        click.get_current_context().exit(STOPPED)


def _examples(path: Path | None) -> tuple[Example, ...]:
    return tuple(
        Example(passage=row.document, question=row.question, answer=row.answer, contradictory=row.contradictory)
        for row in (read_ares(path) if path else ())
        if row.context_relevance is not False and row.answer_faithfulness is not False
    )


def _print_synth(result: SynthResult) -> None:
    click.echo(
        f"{result.written:,} questions for {result.passages:,} passages; {result.kept:,} kept, {result.elsewhere:,}"
        f" retrieve another passage, {result.repeated:,} repeated; {result.calls:,} calls of at most {result.planned:,}"
    )
    for quality, counts in result.labels.items():
        click.echo(f"  {quality}: {counts['Yes']:,} Yes, {counts['No']:,} No")
    for reason, count in result.failed.items():
        click.echo(f"  {count:,} without a usable reply: {one_line(reason)}")
    if result.stopped:
        click.echo(f"stopped: {result.stopped}; run the same command to resume", err=True)
    card = result.file.with_name("card.md")
    click.echo(f"{result.rows:,} rows in {one_line(str(result.file))}; details: {one_line(str(card))}")


DEFAULT = TrainConfig()


@click.command("train-judge")
@click.argument("data", type=click.Path(path_type=Path, exists=True))
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder to write.")
@click.option("--model", help="Base model: a folder or a Hugging Face name.  [default: all-MiniLM-L6-v2]")
@click.option(
    "--labels",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    help="ARES TSV of human labels to test on as well; repeatable.",
)
@click.option(
    "--epochs", type=click.IntRange(1), default=DEFAULT.epochs, show_default=True, help="Maximum number of epochs."
)
@click.option(
    "--patience",
    type=click.IntRange(1),
    default=DEFAULT.patience,
    show_default=True,
    help="Stop after this many epochs without a lower validation loss.",
)
@click.option("--batch", type=click.IntRange(1), default=DEFAULT.batch, show_default=True, help="Examples per step.")
@click.option(
    "--learning-rate",
    type=click.FloatRange(0, min_open=True),
    default=DEFAULT.learning_rate,
    show_default=True,
    help="Peak learning rate; 5e-6 to 1e-5 for DeBERTa-v3-large.",
)
@click.option("--max-length", type=click.IntRange(64), help="Maximum tokens per input.  [default: 256, or the model's]")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the example order and new weights.")
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
    """Train a judge on DATA: the folder that `ragboard synth` wrote, or a TSV of ARES.

    Fine-tunes one cross-encoder per quality: context relevance, answer faithfulness, answer relevance. Use the
    result as `--judge trained:OUT`; OUT/card.md compares it with word overlap. Needs ragboard[local].

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
            f"{fitted.quality}: {len(fitted.epochs)} epochs, best {fitted.kept}, validation loss"
            f" {kept.validation_loss:.3f}, {fitted.seconds:,.0f} s"
        )
        for scored in fitted.scores:
            for said in verdicts(scored):
                click.echo(f"  {said.replace('**', '')}")
    for quality, why in trained.left_out.items():
        click.echo(f"{quality}: not trained: {why}")
    click.echo(one_line(f"judge: trained:{trained.folder}; quality: {trained.folder / 'card.md'}"))
