"""A benchmark of judges on several labelled sets: runs `agree` for each set and judge, and compares the results."""

from __future__ import annotations

import re
import timeit
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from math import fsum
from statistics import fmean
from typing import Literal, TypeAlias

from ragboard.errors import JudgeError, SettingError
from ragboard.evaluation.options import EvaluationOptions
from ragboard.human.agree import AgreementResult, agree, by_answer, check_judges, verdict_label
from ragboard.human.agreement import Measure, agreement_named, load_agreement, measure
from ragboard.human.scorers import balanced_accuracy_of_rows, judge_scorers, line_up, trivial_scores
from ragboard.judges.panel import Panel
from ragboard.readers.labels import ANSWER_SUPPORTED, HELPS, SUPPORTED, Item, LabelFile, read_labels
from ragboard.records import Label, Outcome, Score
from ragboard.stats import NoInterval, calibration
from ragboard.stats.agreement import pooled_calibration_error
from ragboard.stats.auroc_intervals import auroc_of_rows
from ragboard.stats.bootstrap import REPORT_DRAWS, Resampled, Rows, mean_over_sets, resample, resampled_interval
from ragboard.store import Store

__all__ = [
    "BINS",
    "OVERLAP",
    "VERDICTS",
    "BenchFigures",
    "BenchLine",
    "BenchSet",
    "JudgeBench",
    "JudgeCost",
    "JudgeDifference",
    "VerdictFigures",
    "judge_bench",
    "read_bench_set",
]

BINS = 10
"""Number of bins of equal width for the calibration error."""
VERDICTS: tuple[Label, ...] = ("supported", "unsupported", "contradicted")
OVERLAP = "word overlap"
"""The baseline that judges are compared with."""

Watch: TypeAlias = Callable[[str, str, int, int], None]
"""Called with a set, a judge, the number of parts done and their total."""
Part: TypeAlias = tuple[Callable[[Rows], float], Sequence[str]]
"""A statistic of rows, and their clusters."""
SetKind: TypeAlias = Literal["statements", "sentences", "answers"]
KINDS: Mapping[str, SetKind] = {SUPPORTED: "statements", HELPS: "sentences", ANSWER_SUPPORTED: "answers"}
"""The kind of texts in a set, by its dimension."""


@dataclass(frozen=True, kw_only=True)
class BenchSet:
    """A labelled set."""

    name: str
    source: str
    kind: SetKind
    """Statements that passages should support; sentences that should help with the question; whole answers."""
    n: int
    """Number of texts with a decided label."""
    undecided: int
    """Number of texts without a label, or with a tie between annotators; they count in no figure."""
    clusters: int
    base_rate: float
    """The share of texts labelled as supported (sentences: as helping)."""
    verdicts: Mapping[Label, int]
    """Number of texts by label; `contradicted` only if the file distinguishes it from `unsupported`."""


@dataclass(frozen=True, kw_only=True)
class VerdictFigures:
    """One verdict of a judge compared with labels.

    If a set does not distinguish contradicted from unsupported texts, `unsupported` means both; for sentences,
    `supported` means that they help.
    """

    labelled: int
    """Number of texts with this label."""
    said: int
    """Number of texts with this verdict."""
    precision: float | None
    """The share of texts with this verdict that have the same label; None without such verdicts."""
    recall: float | None
    """The share of texts with this label that have the same verdict; None without such labels."""


@dataclass(frozen=True, kw_only=True)
class JudgeCost:
    """The cost of a judge on one set."""

    calls: int
    tokens: int
    """Prompt and completion tokens, as far as the server reports them."""
    cost: float | None
    """US dollars; None if not known."""
    cached: int
    """Number of replies from the cache; their calls and tokens are not counted here."""
    seconds: float | None
    """Seconds of the calls, without loading a model; None if some replies were known before."""
    times_plain: float | None
    """Seconds as a multiple of one pass of `re.findall(r"\\w+", text)` over the same texts."""


@dataclass(frozen=True, kw_only=True)
class BenchFigures:
    """Figures of a judge or baseline on one set, or their unweighted mean over its sets."""

    sets: int
    """Number of sets."""
    n: int
    """Number of texts with a verdict."""
    unscored: int
    """Number of labelled texts without a verdict: the judge failed, or the answer has no statements."""
    ranked_by: Literal["score", "verdict", "both"]
    """What AUROC is computed from: the judge's score, or its verdict (1 supported, else 0) if it gives no scores."""
    auroc: Measure
    better_by: Measure | None
    """AUROC minus AUROC of word overlap on the same texts; None for baselines."""
    balanced_accuracy: Measure | None
    """Balanced accuracy of the judge's verdicts; 0.5 is chance level. None for baselines."""
    verdicts: Mapping[Label, VerdictFigures]
    """Figures for each label that occurs; in a mean, precision and recall are means over the sets that have them."""
    calibration_error: float | None
    """Expected calibration error of the score, in 10 bins of equal width; 0 is best. None without scores in [0, 1]."""
    pooled_calibration_error: float | None
    """In a mean, the error over all texts with the same weight for each set, where errors of opposite sign cancel. For
    one set, equal to `calibration_error`."""
    cost: JudgeCost | None
    """In a mean, the total over all sets. None for baselines."""


@dataclass(frozen=True, kw_only=True)
class BenchLine:
    """The figures of a judge or a trivial baseline on all sets."""

    name: str
    kind: Literal["judge", "baseline"]
    heuristic: bool
    """Whether some of its figures are from a rule-based judge."""
    by_set: Mapping[str, BenchFigures]
    left_out: Mapping[str, str]
    """Sets without figures, and why."""
    mean: BenchFigures


@dataclass(frozen=True, kw_only=True)
class JudgeDifference:
    """AUROC of judge B minus AUROC of judge A, on the texts that both judged."""

    a: str
    b: str
    by_set: Mapping[str, Measure]
    mean: Measure


@dataclass(frozen=True, kw_only=True)
class JudgeBench:
    """The figures of judges and trivial baselines on labelled sets."""

    sets: tuple[BenchSet, ...]
    lines: tuple[BenchLine, ...]
    """The judges as given, then word overlap and length."""
    differences: tuple[JudgeDifference, ...]
    """The difference of each pair of judges."""
    bins: int
    """Number of bins of the calibration error."""
    seed: int
    stopped: str
    """Why it stopped before all tasks were sent; empty if it did not."""


@dataclass(frozen=True)
class _Set:
    """A set with its labels as lists: one entry per text with a decided label."""

    labelled: LabelFile
    """Its items, without answers that have no decided label: judges are not asked about those."""
    positions: tuple[int, ...]
    verdicts: tuple[Label, ...]
    undecided: int

    @property
    def name(self) -> str:
        return self.labelled.name

    @property
    def dimension(self) -> str:
        return self.labelled.dimensions[0]

    @cached_property
    def kind(self) -> SetKind:
        return KINDS[self.dimension]

    @cached_property
    def truth(self) -> list[bool]:
        return [verdict == "supported" for verdict in self.verdicts]

    @cached_property
    def groups(self) -> list[str]:
        return [self.labelled.items[position].cluster for position in self.positions]

    @cached_property
    def trivial(self) -> list[dict[str, float]]:
        sides = (self.labelled.items[position].sides[0] for position in self.positions)
        return [
            trivial_scores(
                side.question,
                side.answer or "",
                None if self.kind == "sentences" else [passage.text for passage in side.contexts or ()],
            )
            for side in sides
        ]

    @cached_property
    def plain_seconds(self) -> float:
        """Seconds of one pass of `re.findall` over all its texts."""
        shown: list[str] = []
        for group in by_answer(self.labelled):
            side = group[0][1].sides[0]
            shown += [side.question, *(passage.text for passage in side.contexts or ())]
            shown += [item.sides[0].answer or "" for _, item in group]

        def one_pass() -> None:
            for text in shown:
                re.findall(r"\w+", text)

        return max(min(timeit.repeat(one_pass, number=1, repeat=3)), 1e-9)

    def described(self) -> BenchSet:
        return BenchSet(
            name=self.name,
            source=self.labelled.source,
            kind=self.kind,
            n=len(self.positions),
            undecided=self.undecided,
            clusters=len(set(self.groups)),
            base_rate=fmean(self.truth),
            verdicts={one: self.verdicts.count(one) for one in _words(self)},
        )


@dataclass(frozen=True)
class _Judged:
    """The verdicts and scores of a judge or baseline on a set: lists over the texts that it judged."""

    rows: list[int]
    """Indices of the texts in the set."""
    scores: list[float]
    ranked_by: Literal["score", "verdict"] = "score"
    verdicts: tuple[Label, ...] | None = None
    """None for a baseline."""
    heuristic: bool = False
    """Whether the verdicts are rule-based; a rule-based judge that only extracts statements does not count."""
    cost: JudgeCost | None = None


def read_bench_set(
    source: str, *, cluster: str | None = None, label: str | None = None, at_least: float = 1.0
) -> LabelFile:
    """Read a label file with `statements`, with `sentences`, or, if `label` is given, with an `answer` and a number.

    `label` is the path of the number in a row, or of a list with one number per annotator (`human.faithfulness`): an
    answer is supported if their mean is at least `at_least`. Files with statements or sentences do not need it. Raises
    as `read_labels`, and SettingError for other files, and if all labels are of one class.
    """
    read = read_labels(source, cluster=cluster, rating=label)
    if read.form == "passages":
        raise SettingError(f"{read.source}: contains grades of passages; try ragboard agree")
    if read.form == "pairs" or (read.form == "answers" and not label):
        held, advice = (
            ("preferences between two answers", "try ragboard agree")
            if read.form == "pairs"
            else ("grades of answers", "say which grade means that an answer is supported: --label grades.NAME")
        )
        raise SettingError(f"{read.source}: contains {held}; {advice}")
    if len(read.dimensions) > 1:
        raise SettingError(f"{read.source}: contains statements and sentences; a set has only one of them")
    if read.form == "answers":
        read = replace(read, items=tuple(_as_supported(item, at_least) for item in read.items))
    found = _set_of(read)
    if not 0 < sum(found.truth) < len(found.truth):
        raise SettingError(
            f"{read.source}: {sum(found.truth)} of {len(found.truth)} labels are positive; both classes are needed"
        )
    return read


def _as_supported(item: Item, at_least: float) -> Item:
    (ratings,) = item.human_ratings.values()
    known = [rating for rating in ratings if rating is not None]
    supported = float(fmean(known) >= at_least) if known else None
    return replace(item, human_ratings={ANSWER_SUPPORTED: (supported,)})


def _set_of(labelled: LabelFile) -> _Set:
    kept = [item for group in by_answer(labelled) if any(_decided(item) for _, item in group) for _, item in group]
    decided: dict[int, Label] = {position: verdict for position, item in enumerate(kept) if (verdict := _decided(item))}
    return _Set(
        labelled=replace(labelled, items=tuple(kept)),
        positions=tuple(decided),
        verdicts=tuple(decided.values()),
        undecided=len(labelled.items) - len(decided),
    )


def _decided(item: Item) -> Label | None:
    """Return the majority label; None without labels, and for a tie."""
    (ratings,) = item.human_ratings.values()
    known = [rating for rating in ratings if rating is not None]
    if not known or fmean(known) == 0.5:
        return None
    if fmean(known) > 0.5:
        return "supported"
    return "contradicted" if item.verdicts.count("contradicted") > item.verdicts.count("unsupported") else "unsupported"


def _words(one: _Set) -> tuple[Label, ...]:
    """Return the labels that occur in this set."""
    return tuple(word for word in VERDICTS if word in one.verdicts)


def judge_bench(
    store: Store,
    sets: Sequence[LabelFile],
    judges: Sequence[Panel],
    *,
    seed: int = 0,
    options: EvaluationOptions | None = None,
    watch: Watch = lambda _set, _judge, _done, _total: None,
) -> JudgeBench:
    """Run every judge on every set with `agree`, which stores the results, and compare them with the labels.

    A judge is left out of sets whose tasks it cannot answer. The figures of a judge do not depend on other judges or on
    the order of the sets. Raises SettingError for two sets or two judges with the same name, JudgeError for a judge
    that can answer none of the sets.
    """
    _check_names("sets", [one.name for one in sets])
    _check_names("judges", [one.name for one in judges])
    known = {one.name: _set_of(one) for one in sets}
    found: dict[str, dict[str, _Judged]] = {}
    left_out: dict[str, dict[str, str]] = {}
    for panel in judges:
        left_out[panel.name] = _unable(panel, sets)
        if len(left_out[panel.name]) == len(sets):
            raise JudgeError(next(iter(left_out[panel.name].values())))
    reasons: list[str] = []
    for panel in judges:
        judged, stopped = found.setdefault(panel.name, {}), ""
        for one in known.values():
            if one.name in left_out[panel.name]:
                continue
            if stopped:
                left_out[panel.name][one.name] = stopped
                continue
            agreed = agree(
                store,
                one.labelled,
                panel,
                seed=seed,
                options=options,
                watch=partial(watch, one.name, panel.name),
            )
            stopped = agreed.stopped
            answers = _judged(store, one, panel, agreed)
            if answers is None:
                left_out[panel.name][one.name] = "no text was judged"
            else:
                judged[one.name] = answers
        reasons += [f"{panel.name}: {stopped}"] if stopped else []
    for name in (OVERLAP, "length"):
        found[name] = {
            one.name: _Judged(list(range(len(one.positions))), [each[name] for each in one.trivial])
            for one in known.values()
        }
    panels = {panel.name: panel for panel in judges}
    return JudgeBench(
        sets=tuple(one.described() for one in known.values()),
        lines=tuple(
            _line(name, panels.get(name), judged, known, left_out.get(name, {}), seed) for name, judged in found.items()
        ),
        differences=tuple(_difference(a.name, b.name, found, known, seed) for a, b in combinations(judges, 2)),
        bins=BINS,
        seed=seed,
        stopped="; ".join(reasons),
    )


def _check_names(what: str, names: Sequence[str]) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SettingError(f"two {what} have the name {twice}; give each a different name")
    taken = {OVERLAP, "length"}.intersection(names) if what == "judges" else set[str]()
    if taken or not names:
        raise SettingError(f"{taken.pop()} is a baseline" if taken else f"there are no {what}")


def _unable(panel: Panel, sets: Sequence[LabelFile]) -> dict[str, str]:
    """Return the reasons why the judge cannot answer a set, by set."""
    found: dict[str, str] = {}
    for one in sets:
        try:
            check_judges(one, panel, line_up(one, panel, ()))
        except JudgeError as error:
            found[one.name] = str(error)
    return found


def _judged(store: Store, one: _Set, panel: Panel, agreed: AgreementResult) -> _Judged | None:
    """Load a judge's results on a set from the store; None if it judged no text."""
    data = load_agreement(store, agreement_named(store, agreed.agreement.id))
    verdict, score = (
        {at: sides[0] for at, sides in data.outcomes.get((one.dimension, scorer.name), {}).items()}
        for scorer in judge_scorers(panel.name)
    )
    verdicts: dict[int, Score] = {}
    for row, position in enumerate(one.positions):
        outcome = verdict.get(position)
        if isinstance(outcome, Score):
            verdicts[row] = outcome
    if not verdicts:
        return None
    scores = [_value(score.get(one.positions[row])) for row in verdicts]
    known = [value for value in scores if value is not None]
    timed = not (agreed.resumed or agreed.cached)
    costs = [spend.cost for spend in agreed.spend]
    return _Judged(
        rows=list(verdicts),
        scores=known if len(known) == len(verdicts) else [outcome.value for outcome in verdicts.values()],
        ranked_by="score" if len(known) == len(verdicts) else "verdict",
        verdicts=tuple(_label(outcome, one) for outcome in verdicts.values()),
        heuristic=agreed.agreement.heuristic,
        cost=JudgeCost(
            calls=sum(spend.calls for spend in agreed.spend),
            tokens=sum(spend.prompt_tokens + spend.completion_tokens for spend in agreed.spend),
            cost=None if None in costs else sum(cost for cost in costs if cost is not None),
            cached=agreed.cached,
            seconds=agreed.seconds if timed else None,
            times_plain=agreed.seconds / one.plain_seconds if timed else None,
        ),
    )


def _value(outcome: Outcome | None) -> float | None:
    return outcome.value if isinstance(outcome, Score) else None


def _label(outcome: Score, one: _Set) -> Label:
    """Return the judge's verdict, among the labels that the set distinguishes."""
    if outcome.value == 1:
        return "supported"
    if one.kind == "statements" and "contradicted" in _words(one) and verdict_label(outcome) == "contradicted":
        return "contradicted"
    return "unsupported"


def _measures(parts: Mapping[str, Callable[[], Part]], seed: int) -> tuple[dict[str, Measure], Measure]:
    """Compute a figure for each set, and its mean over the sets that have it."""
    found: dict[str, Measure] = {}
    drawn: dict[str, Resampled] = {}
    for name, part in parts.items():
        try:
            statistic, groups = part()
            drawn[name] = resample(statistic, groups, seed=seed, draws=REPORT_DRAWS)
        except ValueError as error:
            found[name] = Measure(value=None, interval=NoInterval(reason=str(error), n=0))
        else:
            found[name] = Measure(value=drawn[name].estimate, interval=resampled_interval(drawn[name]))
    mean = measure(
        lambda: fsum(one.estimate for one in drawn.values()) / (len(drawn) or 1), lambda: mean_over_sets(drawn)
    )
    return found, mean


def _line(
    name: str,
    panel: Panel | None,
    judged: Mapping[str, _Judged],
    known: Mapping[str, _Set],
    left_out: Mapping[str, str],
    seed: int,
) -> BenchLine:
    truth = {at: [known[at].truth[row] for row in one.rows] for at, one in judged.items()}
    groups = {at: [known[at].groups[row] for row in one.rows] for at, one in judged.items()}

    def auroc(at: str) -> Part:
        return auroc_of_rows(judged[at].scores, truth[at]), groups[at]

    def better(at: str) -> Part:
        overlap = [known[at].trivial[row][OVERLAP] for row in judged[at].rows]
        return _minus(judged[at].scores, overlap, truth[at]), groups[at]

    def balanced(at: str) -> Part:
        verdicts = [verdict == "supported" for verdict in judged[at].verdicts or ()]
        return balanced_accuracy_of_rows(verdicts, truth[at]), groups[at]

    def over_sets(part: Callable[[str], Part]) -> tuple[dict[str, Measure], Measure]:
        return _measures({at: partial(part, at) for at in judged}, seed)

    areas, area = over_sets(auroc)
    betters, better_by = over_sets(better) if panel else ({}, None)
    accuracies, accuracy = over_sets(balanced) if panel else ({}, None)
    scored = {at: (one.scores, truth[at]) for at, one in judged.items() if _are_probabilities(one)}
    errors = {at: calibration(*each, bins=BINS).error for at, each in scored.items()}
    by_set = {
        at: BenchFigures(
            sets=1,
            n=len(one.rows),
            unscored=len(known[at].positions) - len(one.rows),
            ranked_by=one.ranked_by,
            auroc=areas[at],
            better_by=betters.get(at),
            balanced_accuracy=accuracies.get(at),
            verdicts=_verdicts(known[at], one),
            calibration_error=errors.get(at),
            pooled_calibration_error=errors.get(at),
            cost=one.cost,
        )
        for at, one in judged.items()
    }
    ranked: set[Literal["score", "verdict"]] = {one.ranked_by for one in judged.values()}
    return BenchLine(
        name=name,
        kind="judge" if panel else "baseline",
        heuristic=any(one.heuristic for one in judged.values()),
        by_set=by_set,
        left_out=left_out,
        mean=BenchFigures(
            sets=len(judged),
            n=sum(one.n for one in by_set.values()),
            unscored=sum(one.unscored for one in by_set.values()),
            ranked_by=ranked.pop() if len(ranked) == 1 else "both",
            auroc=area,
            better_by=better_by,
            balanced_accuracy=accuracy,
            verdicts=_mean_verdicts([one.verdicts for one in by_set.values()]),
            calibration_error=_mean(list(errors.values())),
            pooled_calibration_error=pooled_calibration_error([scored[at] for at in sorted(scored)], bins=BINS)
            if scored
            else None,
            cost=_total([one.cost for one in judged.values() if one.cost], [known[at] for at in judged])
            if panel
            else None,
        ),
    )


def _are_probabilities(one: _Judged) -> bool:
    return one.ranked_by == "score" and all(0 <= score <= 1 for score in one.scores)


def _minus(scores: Sequence[float], others: Sequence[float], truth: Sequence[bool]) -> Callable[[Rows], float]:
    first, second = auroc_of_rows(scores, truth), auroc_of_rows(others, truth)
    return lambda rows: first(rows) - second(rows)


def _difference(
    a: str, b: str, found: Mapping[str, Mapping[str, _Judged]], known: Mapping[str, _Set], seed: int
) -> JudgeDifference:
    def part(at: str) -> Part:
        scores_b, scores_a = (dict(zip(found[name][at].rows, found[name][at].scores, strict=True)) for name in (b, a))
        rows = [row for row in scores_b if row in scores_a]
        truth = [known[at].truth[row] for row in rows]
        statistic = _minus([scores_b[row] for row in rows], [scores_a[row] for row in rows], truth)
        return statistic, [known[at].groups[row] for row in rows]

    both = [at for at in known if at in found[a] and at in found[b]]
    by_set, mean = _measures({at: partial(part, at) for at in both}, seed)
    return JudgeDifference(a=a, b=b, by_set=by_set, mean=mean)


def _verdicts(one: _Set, judged: _Judged) -> dict[Label, VerdictFigures]:
    """Return the figures of each label that occurs; empty for a baseline."""
    if judged.verdicts is None:
        return {}
    given = [one.verdicts[row] for row in judged.rows]
    pairs = list(zip(judged.verdicts, given, strict=True))
    return {
        word: VerdictFigures(
            labelled=given.count(word),
            said=judged.verdicts.count(word),
            precision=_share(pairs.count((word, word)), judged.verdicts.count(word)),
            recall=_share(pairs.count((word, word)), given.count(word)),
        )
        for word in _words(one)
    }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _mean_verdicts(found: Sequence[Mapping[Label, VerdictFigures]]) -> dict[Label, VerdictFigures]:
    several: dict[Label, list[VerdictFigures]] = {
        word: [one[word] for one in found if word in one] for word in VERDICTS
    }
    return {
        word: VerdictFigures(
            labelled=sum(figure.labelled for figure in figures),
            said=sum(one.said for one in figures),
            precision=_mean([one.precision for one in figures]),
            recall=_mean([one.recall for one in figures]),
        )
        for word, figures in several.items()
        if figures
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fsum(known) / len(known) if known else None


def _total(costs: Sequence[JudgeCost], sets: Sequence[_Set]) -> JudgeCost:
    dollars = [cost.cost for cost in costs]
    seconds = [one.seconds for one in costs]
    total_seconds = None if None in seconds else sum(second for second in seconds if second is not None)
    return JudgeCost(
        calls=sum(one.calls for one in costs),
        tokens=sum(one.tokens for one in costs),
        cost=None if None in dollars else sum(dollar for dollar in dollars if dollar is not None),
        cached=sum(one.cached for one in costs),
        seconds=total_seconds,
        times_plain=None if total_seconds is None else total_seconds / sum(one.plain_seconds for one in sets),
    )
