"""Word lists of the embedded judge, in six languages. The lists for English and German are the longest."""

from __future__ import annotations

from ragboard.text.lexicon import word_set

__all__ = [
    "AUXILIARIES",
    "BEFORE_A_LEVEL",
    "BOUNDING",
    "CANCELS_NOT",
    "FALLING",
    "FIRST_PERSON",
    "HAPPENS_ONCE",
    "HYPOTHETICAL",
    "LOWERCASE_MONTHS",
    "MONTHS",
    "NEAR_SYNONYMS",
    "NEGATORS",
    "NUMBER_WORDS",
    "OPPOSITES",
    "OPPOSITE_COMPARATIVES",
    "PRONOUNS",
    "REFERS_BACK",
    "SCALES",
    "STRONG",
    "TITLES",
    "UNITS",
    "word_set",
]


NEGATORS = word_set(
    "not no never none nobody nothing neither nor without cannot hardly "
    "isn't aren't wasn't weren't don't doesn't didn't hasn't haven't hadn't won't wouldn't can't couldn't "
    "shouldn't mustn't nicht kein keine keinen keinem keiner keines nie niemals niemand nichts ohne weder "
    "ne pas jamais aucun aucune sans rien nunca jamás ningún ninguna sin nada tampoco नहीं न मत बिना 不 没 無 无 未 非"
)

FIRST_PERSON = word_set("i me my mine myself i'm i've i'd i'll we'd ich mich mir mein meine meinen meiner")
"""First-person words, by which a text refers to its writer."""

STRONG = word_set(
    "first last only sole all every each none always never most least best worst largest biggest smallest highest "
    "lowest "
    "longest shortest oldest youngest newest greatest main entire exactly completely entirely must solely current "
    "currently former several many few both main erste ersten letzte einzige alle jeder immer nie meisten beste größte "
    "kleinste höchste längste älteste genau ganz"
)
"""Words that make a claim narrower or stronger."""

PRONOUNS = word_set("it its he him his she her they them their er ihn ihm sie ihr ihnen es sein seine ihre")

HYPOTHETICAL = word_set(
    "if whether unless until till except verify ensure check confirm suppose assume would might "
    "wenn falls ob sofern bis außer prüfe würde wäre"
)
"""Words of sentences that may be hypothetical, and so may not state a fact."""

HAPPENS_ONCE = word_set(
    "born died founded established opened completed built erected incorporated inaugurated discovered invented "
    "geboren starb gestorben gegründet eröffnet fertiggestellt gebaut erbaut entdeckt erfunden"
)
"""Verbs for events that happen only once and so have one date. `won` is missing, because a team can win again."""

BOUNDING = word_set(
    "over under above below than least most up exceeding between from bis über unter mindestens höchstens zwischen"
)
"""Words before a number that turn it into a bound, such as `over 50`."""

TITLES = word_set(
    "mr mrs ms dr prof professor sir lord lady judg justic presid princ princess king queen saint st captain general "
    "senat minist chancellor pope bishop herr frau prasident konig kaiser"
)
"""Titles, which are not part of the name after them, as stems."""

CANCELS_NOT = word_set("sure only just necessarily nur less more fewer")
"""Words that cancel a `not` before them, so the sentence is not negated: `not only`, `not necessarily`."""

REFERS_BACK = word_set(
    "it its he his him she her they their them this these that such "
    "er sein seine sie ihr ihre es dieser diese dieses dies"
)
"""First words of sentences that refer to something named in an earlier sentence."""

AUXILIARIES = {
    "en": word_set("is are was were has have had can could will would may might must should does did"),
    "fr": word_set("est sont était étaient a ont avait fut furent sera peut doit"),
    "es": word_set("es son era eran fue fueron ha han había será está están puede debe"),
    "hi": word_set("है हैं था थी थे"),
    "zh": word_set("是"),
    "de": word_set(
        "ist sind war waren wird werden wurde wurden hat haben hatte hatten kann können konnte konnten muss musste"
    ),
}

_OPPOSED = (
    "increase decrease; rise fall; north south; east west; northern southern; eastern western; largest smallest; "
    "highest lowest; longest shortest; oldest youngest; win lose; before after; earlier later; hot cold; "
    "safe dangerous; possible impossible; legal illegal; above below; male female; true false; "
    "maximum minimum; accept reject; success failure; buy sell; start end; open close; "
    "significant insignificant; complete incomplete; correct incorrect; sufficient insufficient; valid invalid; "
    "norden süden; osten westen; größte kleinste; höchste niedrigste; längste kürzeste; gewinn verlust; "
    "nördlich südlich; östlich westlich; steigt sinkt; stieg sank; gestiegen gesunken; geöffnet geschlossen; "
    "angenommen abgelehnt; erlaubt verboten; mindestens höchstens; wahr falsch"
)

OPPOSITES = {word: other for pair in _OPPOSED.split(";") for a, b in [pair.split()] for word, other in ((a, b), (b, a))}
"""Pairs of opposites, in both directions."""

OPPOSITE_COMPARATIVES = {
    "more": word_set("less fewer"),
    "less": word_set("more"),
    "fewer": word_set("more"),
    "most": word_set("least"),
    "least": word_set("most"),
    "mehr": word_set("weniger"),
    "weniger": word_set("mehr"),
}
"""Opposite comparatives. They are frequent, so they count only if the words around them match."""

FALLING = word_set(
    "fell fall falls fallen drop drops dropped decline declines declined decrease decreases decreased shrank "
    "loss losses lost deficit depth below verlust rückgang sank gesunken fiel gefallen schrumpfte defizit tiefe"
)
"""Words that make a number with a unit negative: `fell 3%` means -3%."""
BEFORE_A_LEVEL = word_set("to from below auf von unter")
"""Words before a number that is a level, not a change: `fell to 3%` does not mean -3%."""

NUMBER_WORDS = {
    word: value
    for value, words in {
        0: "zero null",
        2: "two zwei",
        3: "three drei",
        4: "four vier",
        5: "five fünf",
        6: "six sechs",
        7: "seven sieben",
        8: "eight acht",
        9: "nine neun",
        10: "ten zehn",
        11: "eleven elf",
        12: "twelve zwölf",
        13: "thirteen dreizehn",
        14: "fourteen vierzehn",
        15: "fifteen fünfzehn",
        16: "sixteen sechzehn",
        17: "seventeen siebzehn",
        18: "eighteen achtzehn",
        19: "nineteen neunzehn",
        20: "twenty zwanzig",
        30: "thirty dreißig dreissig",
        40: "forty vierzig",
        50: "fifty fünfzig",
        60: "sixty sechzig",
        70: "seventy siebzig",
        80: "eighty achtzig",
        90: "ninety neunzig",
    }.items()
    for word in words.split()
}
"""Numbers in words; `one` and `ein` are left out, because they are mostly a pronoun or an article."""

SCALES = {
    "hundred": 100,
    "hundert": 100,
    "thousand": 1000,
    "k": 1000,
    "tausend": 1000,
    "million": 10**6,
    "millions": 10**6,
    "millionen": 10**6,
    "mio": 10**6,
    "billion": 10**9,
    "bn": 10**9,
    "billions": 10**9,
    "milliarde": 10**9,
    "milliarden": 10**9,
    "mrd": 10**9,
    "milliard": 10**9,
    "milliards": 10**9,
    "mil": 1000,
    "millón": 10**6,
    "millones": 10**6,
    "trillion": 10**12,
    "lakh": 10**5,
    "crore": 10**7,
    "हजार": 1000,
    "ह\u095bार": 1000,
    "हज\u093cार": 1000,
    "लाख": 10**5,
    "करो\u095c": 10**7,
    "करोड\u093c": 10**7,
    "अरब": 10**9,
    "千": 1000,
    "万": 10**4,
    "萬": 10**4,
    "亿": 10**8,
    "億": 10**8,
}

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar janvier enero",
            "february feb februar février febrero",
            "march mar märz mars marzo",
            "april apr avril abril",
            "may mai mayo",
            "june jun juni juin junio",
            "july jul juli juillet julio",
            "august aug août agosto",
            "september sep sept septembre septiembre",
            "october oct oktober okt octobre octubre",
            "november nov novembre noviembre",
            "december dec dezember dez décembre diciembre",
        ),
        1,
    )
    for name in names.split()
}

LOWERCASE_MONTHS = word_set(
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre "
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
)
"""French and Spanish months, which are written in lower case."""

_UNITS = {
    ("m", 1.0): "m metre metres meter meters metern",
    ("m", 1000.0): "km kilometre kilometres kilometer kilometers kilometern",
    ("m", 0.01): "cm centimetre centimetres centimeter centimeters zentimeter",
    ("m", 0.001): "mm millimetre millimetres millimeter millimeters",
    ("mile", 1.0): "mi mile miles meile meilen",
    ("foot", 1.0): "ft foot feet fuß",
    ("g", 1.0): "g gram grams gramm",
    ("g", 0.001): "mg milligram milligrams milligramm",
    ("g", 1000.0): "kg kilogram kilograms kilogramm kilo kilos",
    ("g", 1e6): "t tonne tonnes tonnen",
    ("lb", 1.0): "lb lbs",
    ("litre", 1.0): "l litre litres liter liters litern",
    ("litre", 0.001): "ml millilitre millilitres milliliter milliliters",
    ("%", 1.0): "percent prozent",
    ("s", 1.0): "second seconds sekunde sekunden",
    ("s", 60.0): "min minute minutes minuten",
    ("s", 3600.0): "h hour hours stunde stunden",
    ("day", 1.0): "day days tag tage tagen",
    ("day", 7.0): "week weeks woche wochen",
    ("month", 1.0): "month months monat monate monaten",
    ("month", 12.0): "year years jahr jahre jahren",
    ("dollar", 1.0): "dollar dollars usd",
    ("euro", 1.0): "euro euros eur",
    ("pound", 1.0): "pound pounds pfund gbp",
}

UNITS = {word: unit for unit, words in _UNITS.items() for word in words.split()}
"""For each unit word, the unit to convert to and the factor."""

NEAR_SYNONYMS = {
    "en": (
        "build construct erect make",
        "begin start commence",
        "found establish create",
        "buy purchase acquire",
        "sell auction",
        "die perish",
        "kill slay murder",
        "big large huge great",
        "small little tiny",
        "near close",
        "author writer",
        "write compose pen",
        "finish complete end conclude",
        "show display exhibit",
        "use employ utilise utilize",
        "help aid assist support",
        "need require",
        "film movie",
        "car automobile vehicle",
        "job work position post",
        "company firm business",
        "child kid",
        "woman lady",
        "doctor physician",
        "illness disease sickness",
        "city town",
        "country nation state",
        "king monarch",
        "ship vessel boat",
        "house home",
        "road street",
        "war conflict",
        "fight battle",
        "win triumph victory",
        "defeat beat",
        "leader head chief",
        "lead direct head",
        "name call term title",
        "famous well-known renowned celebrated",
        "fast quick rapid swift",
        "old ancient aged",
        "new novel recent",
        "rich wealthy",
        "poor needy",
        "common frequent usual",
        "rare uncommon unusual",
        "important significant major key crucial",
        "mainly mostly chiefly primarily largely",
        "roughly about approximately around",
        "increase rise grow growth",
        "decrease fall decline drop reduce",
        "cause lead bring result",
        "stop halt cease",
        "get obtain receive gain",
        "give provide supply offer",
        "say state declare tell",
        "think believe consider",
        "allow permit let enable",
        "forbid ban prohibit",
        "live reside dwell",
        "locate situate lie stand",
        "contain include comprise hold",
        "consist comprise compose",
        "part portion section",
        "area region zone district",
        "money fund cash",
        "price cost",
        "pay fund finance",
        "teach instruct train educate",
        "student pupil",
        "school academy",
        "discover find detect",
        "invent devise",
        "design plan",
        "produce manufacture make generate",
        "repair fix mend restore",
        "destroy ruin demolish wreck",
        "rename renamed",
        "change alter modify",
        "choose select pick elect",
        "appoint name nominate",
        "reign rule govern",
        "carry transport convey bear",
        "join connect link unite",
        "split divide separate",
        "cross span traverse",
        "height tall high",
        "length long",
        "width wide broad",
        "depth deep",
        "weight weigh heavy",
        "age old",
        "birth born",
        "marry wed marriage wife husband spouse",
        "parent father mother",
        "sibling brother sister",
        "son daughter child",
        "star play act appear feature",
        "perform play",
        "release publish issue launch",
        "record album",
        "song track tune",
        "singer vocalist",
        "band group",
        "book novel",
        "picture painting image",
        "paint portray depict",
        "open inaugurate",
        "close shut",
        "keep retain preserve",
        "lose loss",
        "return come back",
        "arrive reach",
        "leave depart quit",
        "send dispatch",
        "move relocate shift",
        "attack assault",
        "protect guard defend shield",
        "rescue save",
        "people inhabitant resident",
        "population inhabitant",
        "crew staff personnel",
        "soldier troop",
        "law act statute",
        "treaty agreement pact",
        "meet encounter",
        "aim goal purpose objective",
        "reason cause",
        "way method means manner",
        "error mistake fault",
        "damage harm injure hurt",
        "happen occur take",
        "last endure continue",
        "first initial",
        "final last",
        "main principal chief primary",
        "whole entire complete full",
        "half fifty",
        "twice double",
        "annual yearly year",
        "daily day",
        "rock stone",
        "wood forest",
        "sea ocean",
        "river stream",
        "hill mountain",
        "summit peak top",
    ),
    "de": (
        "bauen errichten erbauen",
        "beginnen anfangen starten",
        "gründen stiften",
        "kaufen erwerben",
        "sterben umkommen",
        "groß riesig",
        "klein winzig",
        "autor schriftsteller verfasser",
        "auto wagen fahrzeug",
        "firma unternehmen betrieb",
        "stadt ort",
        "land staat",
        "schiff boot",
        "krieg konflikt",
        "enden aufhören",
        "zeigen ausstellen",
        "benutzen verwenden nutzen",
        "helfen unterstützen",
        "brauchen benötigen",
        "bekommen erhalten",
        "geben liefern",
        "sagen erklären",
        "erlauben gestatten",
        "verbieten untersagen",
        "leben wohnen",
        "liegen stehen befinden",
        "enthalten umfassen",
        "teil abschnitt",
        "gebiet region gegend",
        "preis kosten",
        "bezahlen finanzieren",
        "finden entdecken",
        "ändern verändern",
        "wählen auswählen",
        "tragen befördern",
        "verbinden anschließen",
        "teilen trennen",
        "öffnen eröffnen",
        "schließen beenden",
        "ziel zweck",
        "grund ursache",
        "fehler irrtum",
        "gipfel spitze",
    ),
}
"""Groups of words with nearly the same meaning, by language; words are compared by their stems."""
