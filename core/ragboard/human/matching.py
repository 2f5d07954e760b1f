"""Which sample of which run a labelled answer from a file is."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ragboard.errors import SettingError
from ragboard.human.filed import FiledAnswer
from ragboard.records import Sample
from ragboard.store import RunRef, Store

__all__ = ["Matched", "match_answers"]

Text = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Matched:
    """The answers of a file by run and place, and how many were left out."""

    by_run: Mapping[RunRef, Mapping[int, Sequence[FiledAnswer]]]
    """All that speak of a place, in the order of the file: ARES has a row for each passage of an answer."""
    other_runs: int
    """Answers that the file says are of runs that were not asked for."""
    unknown: int
    """Answers that none of the runs gives with such passages, or one gives at several places."""


@dataclass(frozen=True, kw_only=True)
class _Places:
    """Where a run gives an answer: by the key that labels hang on, and by question and answer alone."""

    by_key: Mapping[str, list[int]] = field(default_factory=dict[str, list[int]])
    by_text: Mapping[Text, list[tuple[int, str]]] = field(default_factory=dict[Text, list[tuple[int, str]]])


def match_answers(store: Store, runs: Sequence[RunRef], answers: Collection[FiledAnswer]) -> Matched:
    """Find each answer in the run that its row names, else in the one run that gives it.

    The same answer is one with the same question, history and passages; failing that, the only one of the run with
    the same question and answer whose passages hold those of the row. Raises SettingError where rows that name no run
    fit several: which of them was drawn from cannot be told.
    """
    places = {run: _places(store, run, {_text(one.answer.sample) for one in answers}) for run in runs}
    found: dict[RunRef, dict[int, list[FiledAnswer]]] = {run: {} for run in runs}
    elsewhere = unknown = 0
    for one in answers:
        if one.run and one.run not in {run.name for run in runs}:
            elsewhere += 1
            continue
        fits = {run: at for run in runs if one.run in ("", run.name) and (at := _found(places[run], one))}
        if len(fits) > 1:
            names = " and ".join(run.name for run in fits)
            raise SettingError(
                f"the answer to {one.answer.sample.question!r} stands in {names}; name the run of each row in `run`"
            )
        unknown += not fits
        for run, at in fits.items():
            for place in at:
                found[run].setdefault(place, []).append(one)
    return Matched(by_run=found, other_runs=elsewhere, unknown=unknown)


def _places(store: Store, run: RunRef, wanted: Collection[Text]) -> _Places:
    by_key: dict[str, list[int]] = {}
    by_text: dict[Text, list[tuple[int, str]]] = {}
    for position, key, text, passages in _rows(store, run):
        if text in wanted:
            by_key.setdefault(key, []).append(position)
            by_text.setdefault(text, []).append((position, _spaced(passages)))
    return _Places(by_key=by_key, by_text=by_text)


def _rows(store: Store, run: RunRef) -> Iterator[tuple[int, str, Text, str]]:
    """Place, key, question and answer, and passages of each sample."""
    with store.database.read() as connection:
        rows = connection.execute(
            "SELECT s.position, s.answer_key, s.question, coalesce(s.answer, ''), coalesce(p.texts, '') FROM samples s"
            " LEFT JOIN (SELECT position, string_agg(text, ' ' ORDER BY rank) AS texts FROM passages"
            " WHERE run_id = $run GROUP BY position) p USING (position) WHERE s.run_id = $run ORDER BY s.position",
            {"run": run.run_id},
        ).fetchall()
    for position, key, question, answer, passages in rows:
        yield position, key, (_spaced(question), _spaced(answer)), passages


def _found(places: _Places, one: FiledAnswer) -> list[int]:
    same = places.by_key.get(one.answer.key)
    if same:
        return same
    contexts = [_spaced(passage.text) for passage in one.answer.sample.contexts or ()]
    alike = places.by_text.get(_text(one.answer.sample), [])
    fits = [position for position, passages in alike if all(text in passages for text in contexts)]
    return fits if len(fits) == 1 else []


def _text(sample: Sample) -> Text:
    return _spaced(sample.question), _spaced(sample.answer or "")


def _spaced(text: str) -> str:
    return " ".join(text.split())
