"""Commands to generate synthetic data from a corpus and to train a judge on it."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, get_args

import click
from tqdm import tqdm

from ragboard.cli.options import as_json, budget_options, force_option, judge_options, prices_option
from ragboard.cli.output import one_line, print_json
from ragboard.errors import ExitCode
from ragboard.evaluation.options import EvaluationOptions
from ragboard.judges import JudgeOptions, panel_named
from ragboard.prices import Prices
from ragboard.readers.ares import read_ares
from ragboard.readers.corpus import read_corpus
from ragboard.tasks import AresQuality, WritingExample
from ragboard.training import (
    FORMAT_ANSWERS,
    Epoch,
    SynthConfig,
    SynthFormat,
    SynthResult,
    TrainConfig,
    TrainResult,
    choose_passages,
    synthesise,
    train_judge,
)
from ragboard.training.questions import planned_calls
from ragboard.training.train import comparison_sentences

__all__ = ["synth", "train"]


@click.command()
@click.argument("corpus", type=click.Path(path_type=Path))
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder to write.")
@click.option(
    "--kind", type=click.Choice(get_args(SynthFormat)), default="ares", show_default=True, help="Output format."
)
@click.option(
    "--passages", type=click.IntRange(1), help="Number of random passages to generate questions for.  [default: all]"
)
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
@click.option("--plan", "only_plan", is_flag=True, help="Print the maximum number of tasks and exit.")
@force_option
@judge_options
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Random seed for choosing passages and splitting documents."
)
@budget_options
@prices_option
@as_json
def synth(
    corpus: Path,
    out: Path,
    kind: SynthFormat,
    passages: int | None,
    questions: int,
    words: int,
    least_words: int,
    only_plan: bool,
    force: bool,
    judge_options: JudgeOptions,
    seed: int,
    limits: dict[str, Any],
    prices: Prices,
    as_json: bool,
) -> None:
    """Generate questions with right and wrong answers from a CORPUS: a folder of texts or a table of passages.

    The embedded judge generates questions and answers by rules; a chat model writes more and better ones. If the
    command is stopped, run it again to resume.

    \b
    ragboard synth documents/ --out synthetic
    ragboard synth passages.parquet --out synthetic --judge openai:gpt-4o-mini --examples few_shot.tsv
    """
    config = SynthConfig(
        kind=kind,
        passages=passages,
        questions=questions,
        min_words=least_words,
        seed=seed,
        examples=_examples(judge_options.examples),
    )
    read = read_corpus(corpus, words=words)
    if only_plan:
        chosen = len(choose_passages(read, config))
        tasks = planned_calls(chosen, questions, len(FORMAT_ANSWERS[kind]), with_embedder=bool(judge_options.embed))
        click.echo(f"at most {tasks:,} tasks for {chosen:,} passages")
        return
    panel = panel_named(replace(judge_options, examples=None))
    result = synthesise(read, config, panel, out, EvaluationOptions(prices=prices, **limits), force=force)
    if as_json:
        print_json(result)
    else:
        _print_synth(result)
    if result.stopped:
        click.get_current_context().exit(ExitCode.STOPPED)


def _examples(path: Path | None) -> tuple[WritingExample, ...]:
    return tuple(
        WritingExample(passage=row.document, question=row.question, answer=row.answer, contradictory=row.contradictory)
        for row in (read_ares(path) if path else ())
        if row.context_relevance is not False and row.answer_faithfulness is not False
    )


def _print_synth(result: SynthResult) -> None:
    click.echo(
        f"{result.written:,} questions for {result.passages:,} passages; {result.kept:,} kept,"
        f" {result.other_passage_first:,} dropped (another passage ranks first), {result.repeated:,} dropped"
        f" (duplicates); {result.calls:,} of at most {result.planned:,} calls"
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
    help="TSV file with ARES's columns and human labels, on which the judge is also tested; repeatable.",
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
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Random seed for the order of examples and new weights."
)
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
    """Train a judge on DATA: the folder that `ragboard synth` wrote, or a TSV file with ARES's columns.

    Fine-tunes one cross-encoder per quality: context relevance, answer faithfulness, answer relevance. Use the
    result as `--judge trained:OUT`; OUT/card.md compares it with word overlap. Needs ragboard[local].

    \b
    ragboard train-judge synthetic --out judge
    ragboard train-judge synthetic --out judge --labels human.tsv
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
        result = train_judge(data, out, config, labels=labels, on_progress=bars.report, force=force)
    if as_json:
        print_json(result)
    else:
        _print(result)


class _Bars:
    """A progress bar for each quality or, without a terminal, a line for each epoch."""

    def __init__(self) -> None:
        self._bars: dict[AresQuality, tqdm[NoReturn]] = {}

    def close(self) -> None:
        """Close all bars and leave them on screen."""
        for bar in self._bars.values():
            bar.close()

    def report(self, quality: AresQuality, done: int, total: int, epoch: Epoch | None) -> None:
        """Show `done` of `total` steps, and the losses of the epoch that just ended, if any."""
        if quality not in self._bars:
            self.close()
            self._bars[quality] = tqdm(total=total, desc=quality, unit="step", disable=None)
        bar = self._bars[quality]
        bar.update(done - bar.n)
        if epoch is None:
            return
        text = f"epoch {epoch.number}, loss {epoch.training_loss:.3f}, validation loss {epoch.validation_loss:.3f}"
        if bar.disable:
            click.echo(f"{quality}: {text}", err=True)
        else:
            bar.set_postfix_str(text)


def _print(result: TrainResult) -> None:
    for fit in result.models:
        best = fit.epochs[fit.best_epoch - 1]
        click.echo(
            f"{fit.quality}: {len(fit.epochs)} epochs, best {best.number}, validation loss"
            f" {best.validation_loss:.3f}, {fit.seconds:,.0f} s"
        )
        for scores in fit.scores:
            for sentence in comparison_sentences(scores):
                click.echo(f"  {sentence.replace('**', '')}")
    for quality, why in result.left_out.items():
        click.echo(f"{quality}: not trained: {why}")
    click.echo(one_line(f"judge: trained:{result.folder}; quality: {result.folder / 'card.md'}"))
