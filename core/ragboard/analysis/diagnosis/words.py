"""A diagnosis in words."""

from __future__ import annotations

from collections import Counter
from shlex import quote

from ragboard.analysis.diagnosis.nouns import Diagnosis, Rule, Silent, TopicLoss
from ragboard.analysis.diagnosis.quantities import QUANTITIES
from ragboard.stats import Interval, NoInterval

__all__ = ["caution_of", "command_for", "condition_of", "sentence_of", "topic_in_words", "why_silent"]


def condition_of(rule: Rule) -> str:
    """`Claim recall below 0.7`."""
    return f"{QUANTITIES[rule.quantity].label} {rule.side} {rule.limit:g}"


def command_for(found: Diagnosis) -> str:
    """The command that evaluates what silent rules wait for; empty where there is nothing to.

    Several metrics of one source are named by it: they take the same verdicts.
    """
    sources = Counter(spec.partition(".")[0] for spec in found.missing)
    names = dict.fromkeys(source if sources[source := spec.partition(".")[0]] > 1 else spec for spec in found.missing)
    return f"ragboard evaluate {quote(found.run)} --metrics {','.join(names)}" if names else ""


def caution_of(found: Diagnosis) -> str:
    """What its sentences rest on; empty where there is nothing to beware of."""
    said: list[str] = []
    if found.judged and found.judged.heuristic:
        said.append(f"Judged by {found.judged.judge}, which goes by rules of thumb: so do these sentences.")
    if found.overruled:
        said.append(f"Counted with the judge's verdicts; {found.overruled:,} of them were overruled by people.")
    return " ".join(said)


def sentence_of(rule: Rule, found: Interval) -> str:
    """What a rule says, with the estimate and its interval; of a difference below 0 how far below."""
    values = found.estimate, found.low, found.high
    if rule.limit <= 0 and rule.side == "below":
        values = -found.estimate, -found.high, -found.low
    share, low, high = (f"{100 * value:.0f}%" for value in values)
    return rule.says.format(f"{share} ({low} to {high})")


def why_silent(silent: Silent) -> str:
    """Why a rule said nothing."""
    if silent.state == "not evaluated":
        return f"not evaluated: {', '.join(silent.missing)}"
    interval = silent.figure.interval if silent.figure else None
    if isinstance(interval, NoInterval):
        return f"no interval: {interval.reason}"
    return silent.state


def topic_in_words(one: TopicLoss, label: str) -> str:
    """`topic = rivers: Faithfulness 0.41 against 0.72 of the others, -0.31 (-0.52 to -0.10), p = 0.012`."""
    found, bounds = one.found, one.found.interval
    interval = f" ({bounds.low:+.2f} to {bounds.high:+.2f})" if isinstance(bounds, Interval) else ""
    return (
        f"{one.by.removeprefix('metadata.')} = {one.value}: {label} {found.mean:.2f} against {found.mean_others:.2f} of"
        f" the others, {found.difference:+.2f}{interval}, p = {one.p:.2g}, {found.n:,} of {found.n + found.others:,}"
        " samples"
    )
