"""Generated pairs of premise and statement, to train a small NLI model."""

from __future__ import annotations

import random
from typing import Literal, NamedTuple

__all__ = ["LABELS", "Example", "examples"]

Named = Literal["contradiction", "entailment", "neutral"]
LABELS: tuple[Named, ...] = ("contradiction", "entailment", "neutral")

THINGS = ("lamp", "gate", "boat", "coat", "bench", "kettle", "piano", "roof", "wagon", "mirror", "violin", "tower")
PLACES = ("by the harbour", "in the hall", "near the mill", "at the market", "behind the school", "on the hill")
STATES = ("red", "old", "broken", "heavy", "empty", "cheap", "painted", "locked", "wet", "famous", "narrow", "loud")


class Example(NamedTuple):
    """One pair and how the texts stand to each other."""

    premise: str
    statement: str
    label: Named


def examples(seed: int, count: int, *, things: tuple[str, ...] = THINGS[:8]) -> list[Example]:
    """As many of each label, in an order that the seed decides."""
    chance = random.Random(seed)
    return [_example(chance, LABELS[number % len(LABELS)], things) for number in range(count)]


def _example(chance: random.Random, label: Named, things: tuple[str, ...]) -> Example:
    thing, other = chance.sample(things, 2)
    state, another = chance.sample(STATES, 2)
    place = chance.choice(PLACES)
    more = f" The {other} {chance.choice(PLACES)} is {another}." if chance.random() < 0.25 else ""
    premise = f"The {thing} {place} is {state}.{more}"
    match label:
        case "entailment":
            return Example(premise, f"The {thing} is {state}.", label)
        case "contradiction":
            return Example(premise, f"The {thing} is not {state}.", label)
        case _:
            return Example(
                premise, f"The {chance.choice([t for t in things if t not in (thing, other)])} is {another}.", label
            )
