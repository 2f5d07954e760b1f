"""Detect refusals: sentences that decline to answer, or say that the sources do not answer.

The patterns are detailed for English and German, and simple for French, Spanish, Chinese and Hindi.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["is_refusal"]

MAX_SEARCHED_CHARS = 400
"""Number of characters at the start of a sentence that are searched for a refusal."""


class _RefusalPatterns(NamedTuple):
    """The patterns of a language, and substrings for a quick check: every text that matches contains at least one."""

    substrings: tuple[str, ...]
    patterns: re.Pattern[str]


def _refusal_patterns(substrings: str, *patterns: str) -> _RefusalPatterns:
    return _RefusalPatterns(tuple(substrings.split("|")), re.compile("|".join(patterns)))


_GIVEN = r"(?=the |this |these |your |any |either |provided |given |retrieved |available |supplied )"
_SOURCES = (
    r"(?:the |this |these |any of the |either of the |your )?(?:provided |given |retrieved |available |supplied )?"
    r"(?:contexts?|passages?|documents?|texts?|sources?|information|materials?|excerpts?|snippets?|articles?"
    r"|search results)"
    r"(?: provided| given| available| above| (?:that )?i (?:have|was given))?"
)
_TEXTS = rf"(?:{_GIVEN}{_SOURCES}|contexts?|passages?)\b"
"""Words for the passages, with a determiner; `magnetic materials` does not match."""
_ENDS = rf"(?:\W*$|,? (?:who|what|when|where|which|why|how|whether|if)\b| (?:in|by|from) {_TEXTS})"
"""What may come after a refusal; `is not available in Germany` is a statement, not a refusal."""
_SAY = (
    r"(?:say|state|mention|contain|provide|include|specify|answer|tell|give|indicate|address|cover|explain|describe"
    r"|discuss|name|list|report|reveal|settle|support|offer)"
)
_SAID = (
    r"(?:mentioned|stated|specified|provided|answered|determined|inferred|established|found|given|explained|described"
    r"|named|covered|discussed|included|listed|indicated|addressed|reported|revealed)"
)
_NOT = r"(?:\bnot|n't|\bcannot)"
_CANNOT = r"(?:cannot|can't|can not|could not|couldn't)"
_LITTLE = r"(?:no|not enough|insufficient|n't enough|n't any|not any|not sufficient)"
_MATTERS = r"(?:information|mention|details?|indication|answer|context|reference)"
_FACTS = r"(?:answer|date|details?|explanation|figure|name|number|price|reason|source)s?"

_ENGLISH = _refusal_patterns(
    "n't|not|no |none|neither|never|unable|fail|insufficient|silent|unknown|unclear",
    r"\bi (?:do not|don't|didn't|did not) (?:actually |really )?(?:know|have (?:any |enough |sufficient |the |that )?"
    r"\s*(?:specific )?(?:information|details|data|knowledge|answer|access))",
    r"\b(?:i am|i'm|i was|we are|we're) (?:not able|unable) to (?:answer|provide|find|help|determine|say|tell|give)",
    rf"\bi {_CANNOT} (?:answer|provide|find|help|determine|say|tell|give|assist|locate)",
    r"\bi(?:'m| am) (?:sorry|afraid),? (?:but )?(?:i|there is no|the)\b.{0,40}(?:\bnot|\bno|\bcannot|\bunable|n't)\b",
    r"\bi (?:have |could )?(?:found|find|see) (?:no|nothing)\b",
    rf"\bthere (?:is|are|was|were) ?{_LITTLE} (?:\w+ )?(?:information|mention|details?|context)\b",
    rf"\bthere (?:is|are) ?{_LITTLE} .{{1,60}}? (?:in|within|from|among) {_TEXTS}",
    rf"\b{_TEXTS} (?:does not|do not|doesn't|don't|did not|didn't|fails? to|never) (?:\w+ )?{_SAY}",
    rf"\b(?:none of|neither of|neither|nothing in|no) {_SOURCES} {_SAY}(?:e?s)?\b",
    rf"\b{_TEXTS} (?:ha(?:s|ve)|is|are|{_SAY}(?:e?s)?) (?:no|not enough|insufficient|silent|nothing)\b",
    rf"{_NOT} (?:be )?(?:{_SAID}|possible to (?:say|tell|answer|know|determine)) (?:\w+ )?"
    rf"(?:in|from|by|with|on the basis of|based on) {_TEXTS}",
    rf"\bquestion {_CANNOT} be answered\b|\b(?:it|this|that) {_CANNOT} be (?:answered|determined)\W*$",
    r"\b(?:no|not enough|insufficient) information (?:is |was )?(?:available|provided|given|to answer|about|on)",
    rf"^\W*(?:not enough|insufficient) (?:\w+ )?{_MATTERS}"
    r"(?:\W*$| (?:(?:is|was) (?:available|given|provided) )?to\b)",
    r"\bno mention (?:is|was) made of\b",
    rf"^\W*no {_FACTS} (?:is|are) (?:given|named|stated)(?:\W*$| for\b| in {_TEXTS})",
    rf"(?:do|does)(?: not|n't) appear in {_TEXTS}",
    rf"\b(?:has|have|had) not (?:yet )?been (?:provided|disclosed|announced|specified|stated|revealed|given|released"
    rf"|published|made public){_ENDS}",
    rf"\b(?:is|are|was|were|remains?) (?:currently |still |largely |as yet )?(?:unknown|unclear|not known"
    rf"|not (?:publicly )?(?:available|disclosed|specified|stated|mentioned|provided)){_ENDS}",
    r"\b(?:is|are) not given\W*$",
)

_QUELLEN = (
    r"(?:de[mnr]|die|das|diese[mnr]?)? ?(?:vorliegenden |gegebenen |bereitgestellten |vorhandenen )?"
    r"(?:kontext|texte?n?|passagen?|dokumente?n?|quellen?|informationen|unterlagen)"
)
_SAGT = r"(?:enthält|enthalten|sagt|sagen|nennt|nennen|erwähnt|erwähnen|gibt|geben|liefert|liefern)"
_STEHT = r"\b(?:geht|lässt sich|ergibt sich|ist|wird|steht)\b.{0,40}"
_AUS_QUELLEN = rf"\b(?:im|(?:aus|in) (?=de|diese)){_QUELLEN}\b"

_GERMAN = _refusal_patterns(
    "nicht|kein",
    r"\bich wei(?:ß|ss) (?:es |das )?(?:leider )?nicht\b|\bwei(?:ß|ss) ich (?:leider )?nicht\b",
    r"\b(?:ich kann|ich konnte|kann ich|konnte ich) .{0,60}\b(?:nicht|keine?)\b.{0,60}\b(?:beantworten|finden|sagen"
    r"|geben|helfen)",
    r"\bich habe (?:dazu |darüber |hierzu |leider )*keine (?:\w+ )?(?:informationen|angaben|kenntnis)",
    r"\b(?:gibt es|es gibt|liegen)\b.{0,40}\bkeine (?:\w+ )?(?:informationen|angaben|auskunft)\b",
    rf"{_STEHT}{_AUS_QUELLEN}.{{0,40}}\b(?:nicht|nichts)\b",
    rf"{_STEHT}\b(?:nicht|nichts)\b.{{0,40}}{_AUS_QUELLEN}",
    rf"{_AUS_QUELLEN} (?:wird|werden|ist|sind|steht|findet)\b.{{0,60}}\b(?:nicht|nichts|keine?[mnrs]?)\b",
    rf"\b{_QUELLEN} {_SAGT}\b.{{0,40}}\b(?:nicht|keine?[mnrs]?|nichts)\b",
    rf"\bkeine[rs]? (?:der |dieser )?{_QUELLEN} {_SAGT}\b",
    r"\b(?:wird|werden|ist|sind) (?:\w+ )?nicht (?:genannt|erwähnt|angegeben)"
    r"(?:\W*$|, (?:wer|was|wann|wo|wie|warum|ob))",
)

_FRENCH = _refusal_patterns(
    "ne | n'|aucun|pas ",
    r"\b(?:contexte|textes?|passages?|documents?|sources?|extraits?|articles?)\b.{0,30}? n(?:e |')"
    r"(?:mentionne|di[ts]|précise|indique|contien|donne|fourni|parle|explique|répond)\w*\b(?! qu)",
    r"\bje ne (?:sais|connais) pas\b",
    r"\bje ne (?:peux|suis) pas\b.{0,30}\b(?:répondre|dire|trouver|fournir|déterminer|aider)",
    r"\b(?:n'est|ne sont|n'a) pas (?:été )?(?:indiqué|précisé|mentionné)e?s?"
    r"(?:\W*$| (?:dans|qui|quand|où|pourquoi|combien|si)\b)",
    r"\baucune (?:information|mention|indication|précision) n'est (?:donnée|disponible|faite|fournie)\b",
    r"\b(?:il n'y a|je n'ai) (?:aucune|pas (?:assez |suffisamment )?d') ?(?:informations?|mention|indications?)\b",
)

_SPANISH = _refusal_patterns(
    "no |ningun",
    r"\b(?:contexto|textos?|pasajes?|documentos?|fuentes?|fragmentos?)\b.{0,30}? no "
    r"(?:menciona|dice|especifica|indica|contiene|proporciona|da|explica|incluye|ofrece|responde)n?\b",
    r"\bno (?:lo )?sé\b|\bno puedo (?:responder|decir|encontrar|determinar|ayudar|proporcionar)",
    r"\bno hay (?:suficiente )?(?:información|mención)\b",
    r"\bno (?:hay|existe|contienen?|dan?) ninguna (?:información|mención)\b",
    r"\bno se (?:menciona|especifica)n?\b|\bno se puede (?:determinar|responder|saber)"
    r"(?:\W*$| (?:a partir|según|con (?:el|los)|en (?:el|los)) )",
)

_CHINESE = _refusal_patterns(
    "没|沒|未|无|無|不|难|缺",
    r"(?:上下文|文中|文章|文本|段落|资料|文档|原文)[\u4e00-\u9fff]{0,12}?(?:没有|沒有|并未|未)[\u4e00-\u9fff]{0,3}?"
    r"(?:提到|提及|说明|给出|提供|包含|涉及|指出|显示|回答)",
    r"我(?:不知道|不清楚|无法|不能)|(?:无法|不能|难以)(?:回答|得知)|根据.{1,12}(?:无法|不能|难以)(?:确定|判断)",
    r"(?:没有|沒有|缺乏|未找到)(?:足够的?|任何|相关的?)+(?:信息|资料|内容|答案)",
)

_HINDI = _refusal_patterns(
    "नहीं",
    r"(?:संदर्भ|पाठ|अंशों?|दस्तावेज़ों?|दस्तावेजों?|स्रोतों?) (?:में|से|ने) "
    r".{0,60}(?:(?:उल्लेख|जानकारी|उत्तर|विवरण) .{0,6}?नहीं|नहीं (?:बताया|दिया|कहा))",
    r"मुझे (?:यह )?नहीं (?:पता|मालूम)|नहीं बताया गया|(?:पता|ज्ञात|स्पष्ट) नहीं|कोई (?:जानकारी|उल्लेख) नहीं",
)

_ALL_LANGUAGES: Sequence[_RefusalPatterns] = (_ENGLISH, _GERMAN, _FRENCH, _SPANISH, _CHINESE, _HINDI)


def is_refusal(sentence: str) -> bool:
    """Return whether the sentence declines to answer, or says that the sources do not answer."""
    plain = sentence[:MAX_SEARCHED_CHARS].replace("\u2019", "'").lower()
    return any(
        any(map(plain.__contains__, language.substrings)) and language.patterns.search(plain)
        for language in _ALL_LANGUAGES
    )
