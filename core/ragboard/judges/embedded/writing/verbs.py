"""English verbs by our own list: which word is a form of which, so that a question can be asked with `did`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ragboard.judges.embedded.lexicon import word_set

__all__ = [
    "HUMAN",
    "LOOSELY_HUMAN",
    "MODALS",
    "SAME_AS_BASE",
    "Form",
    "form_of",
    "is_participle",
    "past_of",
    "past_only",
    "verb_like",
]

_REGULAR = word_set(
    "abandon abolish accept accompany achieve acquire adapt add address admit+ adopt advance aid aim allow amount "
    "analyse anchor announce annul answer appeal appear apply appoint approve argue arrange arrest arrive ask "
    "assassinate assemble assign assist assume attack attempt attend attract award ban base believe belong blame "
    "bless bomb bombard borrow calculate capture carry cause cease celebrate change charge circle claim close "
    "coin collaborate collapse collect combine command commission commit+ compare compete compile complete "
    "compose comprise concern conclude conduct connect conquer consider consist construct contain contest "
    "continue contribute convert cook cooperate copy count cover create cross crown cure damage date decide "
    "declare decline decorate dedicate defeat defend define deliver demand demolish depict deploy deposit "
    "describe design destroy detect determine develop devise devote die differ direct discard discharge discover "
    "discuss dismiss display divert divide dominate donate double draft drain earn edit elect embark employ "
    "enclose encourage end endure enter equip+ escape establish estimate evolve examine excavate exceed execute "
    "exhibit exist expand expel experiment explain explore export expose extend face fail favour feature fill "
    "finalise finance finish fire fix float flood flow follow force form formulate found free function fund gain "
    "gather generate govern graduate grant guard guide hand happen head help hire honour host house hunt identify "
    "illustrate imagine import imprison improve inaugurate include increase influence inhabit inherit injure "
    "insist inspect inspire install instruct intend interview introduce invade invent invest investigate invite "
    "involve isolate issue join judge kill knight label lack land last laugh launch leap lease lecture lift limit "
    "link list live load lobby locate lodge look lower maintain manage manufacture mark marry match mate measure "
    "mention migrate mine modify moisten move murder name need negotiate nest nominate note notice number observe "
    "obtain occupy occur offer open operate oppose orbit order organise organize originate outlaw own paint pass "
    "patent patrol+ perform permit+ persuade photograph pioneer place plan+ plant play please popularise possess "
    "post power practise praise predict prepare present preserve preside prevent print privatise process proclaim "
    "produce prohibit prolong promise promote propose protect prove provide publish pump purchase pursue raise "
    "rank reach receive recognise recognize recommend record recover recruit reduce refer+ reflect reform refuse "
    "regain register reign reject release relocate remain remember remove rename render renovate reopen repair "
    "replace report represent request require rescue research resemble resign respond restore restrict result "
    "resume retain retire return reveal review revise revive revolutionise rotate rule sail save score scuttle "
    "search seize select separate serve settle shape share shelter shift ship+ sign sketch smuggle solve span+ "
    "specialise specify sponsor spray sprout stabilise stage start station stay steer stop+ store stretch strip+ "
    "study submit+ succeed suffer suggest supply support suppress surpass surrender surround survive suspect "
    "swallow switch symbolise tame target taste tax test top+ touch tour trace trade train transfer+ transform "
    "translate travel treat trigger unify unite unveil update upgrade use vaccinate value view visit volunteer "
    "vote want warn wash weigh widen witness work worship wreck yield"
)
"""Bases of regular verbs; `+` doubles the last letter."""

_IRREGULAR = """
bear bore borne; become became become; begin began begun; bind bound; bite bit bitten; blow blew blown; break
broke broken; bring brought; broadcast broadcast broadcast; build built; burn burnt; buy bought; choose chose
chosen; come came come; cost cost cost; cut cut cut; deal dealt; dig dug; draw drew drawn; drive drove driven;
eat ate eaten; fall fell fallen; feed fed; fight fought; find found; flee fled; fly flew flown; forbid forbade
forbidden; forecast forecast forecast; freeze froze frozen; get got; give gave given; go went gone; grow grew
grown; hang hung; have had had; hide hid hidden; hit hit hit; hold held; keep kept; kneel knelt; know knew
known; lay laid; lead led; learn learnt; leave left; lend lent; lie lay lain; lose lost; make made; mean meant;
meet met; overcome overcame overcome; oversee oversaw overseen; overtake overtook overtaken; overthrow overthrew
overthrown; pay paid; put put put; read read read; rebuild rebuilt; ride rode ridden; rise rose risen; run ran
run; say said; see saw seen; seek sought; sell sold; send sent; set set set; shake shook shaken; shoot shot;
show showed shown; shrink shrank shrunk; sing sang sung; sink sank sunk; sit sat; sleep slept; speak spoke
spoken; spend spent; spin spun; split split split; spread spread spread; stand stood; steal stole stolen; strike
struck; swear swore sworn; sweep swept; swim swam swum; take took taken; teach taught; tear tore torn; tell
told; think thought; throw threw thrown; undergo underwent undergone; undertake undertook undertaken; wear wore
worn; win won; withdraw withdrew withdrawn; write wrote written
"""

SAME_AS_BASE = word_set("put set cut cost hit split spread read broadcast forecast")
"""Past tenses that could as well be the present of `we` or `they`."""

HUMAN = word_set(
    "announce appoint approve arrest ask build buy choose compose condemn conquer declare demand design determine "
    "devise discover establish examine explore fight find fix formulate found give grant hire identify invent "
    "introduce knight launch lead make marry meet name negotiate notice offer oppose organise organize paint "
    "patent pay persuade photograph pioneer plan praise predict preside promise propose prolong publish refuse "
    "request rescue say seize sell send sign sing solve speak spend steal study suggest swear teach tell think "
    "translate travel try vaccinate finish visit want warn win withdraw write rebuild treat list purchase "
    "recognise proclaim convict complete begin take receive cure observe coin draw"
)
"""What people and their institutions do: who does one of these is asked for by `who`."""

LOOSELY_HUMAN = word_set(
    "become begin take complete receive lead make find build give draw fix fight win withdraw rebuild solve meet "
    "want launch help"
)
"""Those of them that things are said to do too."""

MODALS = word_set("is are was were has have had can could will would may might must should")


class Form(NamedTuple):
    """A verb in the past or the third person present, and how a question asks with it."""

    base: str
    support: str
    """`did` or `does`."""


def _past(base: str, *, double: bool) -> str:
    if base.endswith("e"):
        return f"{base}d"
    if base.endswith("y") and base[-2] not in "aeiou":
        return f"{base[:-1]}ied"
    return f"{base}{base[-1] if double else ''}ed"


def _third(base: str) -> str:
    if base == "have":
        return "has"
    if base.endswith(("s", "x", "z", "ch", "sh", "go")):
        return f"{base}es"
    return f"{base[:-1]}ies" if base.endswith("y") and base[-2] not in "aeiou" else f"{base}s"


def _irregular() -> Iterator[tuple[str, str, str]]:
    for line in _IRREGULAR.split(";"):
        base, past, *rest = line.split()
        yield base, past, rest[0] if rest else past


_STRONG = {base: (past, participle) for base, past, participle in _irregular()}
_WEAK = {entry.rstrip("+"): _past(entry.rstrip("+"), double=entry.endswith("+")) for entry in _REGULAR}
_PASTS = {past: base for base, past in _WEAK.items()} | {past: base for base, (past, _) in _STRONG.items()}
_PARTICIPLES = {past: past for past in _WEAK.values()} | {participle: past for past, participle in _STRONG.values()}
_UNMISTAKABLE = frozenset(past for past, participle in _STRONG.values() if past != participle)
_THIRDS = {_third(base): base for base in (*_WEAK, *_STRONG)}


def form_of(word: str) -> Form | None:
    """What form of a known verb the word is; None for any other word, and for one whose tense does not show.

    >>> form_of("carried"), form_of("stands")
    (Form(base='carry', support='did'), Form(base='stand', support='does'))
    """
    if word in _PASTS:
        return Form(_PASTS[word], "did")
    return Form(_THIRDS[word], "does") if word in _THIRDS else None


def is_participle(word: str) -> bool:
    """Whether the word may be a past participle, of a known verb or by its ending."""
    return word in _PARTICIPLES or (word.endswith("ed") and len(word) > len("need"))


def past_of(participle: str) -> str | None:
    """The past tense beside a participle: `wrote` for `written`."""
    return _PARTICIPLES.get(participle)


def verb_like(word: str) -> bool:
    """Whether the word could be a finite verb."""
    return word in MODALS or word in _PASTS or word in _THIRDS or is_participle(word)


def past_only(word: str) -> bool:
    """Whether it is a past tense that is never a participle: `took`, `began`."""
    return word in _UNMISTAKABLE
