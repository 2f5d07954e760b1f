"""Word lists: function words by language, irregular English forms, and Hindi endings."""

from __future__ import annotations

__all__ = ["FUNCTION_WORDS", "HINDI_ENDINGS", "IRREGULAR", "PAST", "word_set"]


def word_set(text: str) -> frozenset[str]:
    """Return the words of a list separated by spaces."""
    return frozenset(text.split())


FUNCTION_WORDS = {
    "en": word_set(
        "a an the this that these those some any each every all both such same other another one ones "
        "i me my we us our you your he him his she her hers it its they them their theirs who whom whose "
        "which what when where why how there here s t d ll ve re "
        "is are was were be been being am do does did done doing has have had having will would shall should "
        "can could may might must "
        "and or but nor so yet if then than as while because since although though whereas whether until "
        "in on at by for from to of with about into onto over under out up down off through during between "
        "among upon within against toward towards per via also too very just only even still more most much "
        "many rather quite however therefore thus hence well like"
    ),
    "de": word_set(
        "der die das den dem des ein eine einen einem einer eines dieser diese dieses diesen diesem jener jene "
        "ich mich mir wir uns unser du dich dir ihr euch er ihn ihm sie ihnen es sein seine seinen seiner "
        "seinem seines ihre ihren ihrer ihrem ihres man sich wer wen wem wessen was welcher welche welches wann "
        "wo warum wie ist sind war waren bin bist sei wäre gewesen wird werden wurde wurden worden hat haben "
        "hatte hatten hätte kann können konnte konnten muss müssen musste soll sollte will wollte darf durfte "
        "und oder aber denn sondern doch so wenn dann als während weil da obwohl ob bis dass daß damit "
        "in im ins an am auf bei beim von vom zu zum zur mit nach aus über unter vor hinter zwischen durch für "
        "gegen um seit ab auch nur noch schon sehr mehr etwa rund hier dort dabei dazu daher jedoch"
    ),
    "fr": word_set(
        "le la les l un une des du de d au aux ce cet cette ces c mon ma mes ton ta tes son sa ses notre nos votre vos "
        "leur leurs je j tu il elle on nous vous ils elles me m te t se s lui y en qui que qu quoi dont où quel quelle "
        "quels quelles est sont était étaient été être suis sera seront fut furent a ont avait avaient avoir aura "
        "et ou mais donc or car si comme quand lorsque pendant parce puisque avec sans sous sur dans par pour vers "
        "chez "
        "entre contre depuis après avant à aussi très plus moins encore déjà tout toute tous toutes même ainsi alors"
    ),
    "es": word_set(
        "el la los las un una unos unas lo al del de este esta estos estas ese esa esos esas aquel mi mis tu tus su "
        "sus "
        "nuestro nuestra yo tú él ella nosotros ellos ellas usted me te se le les nos que quien quienes cual cuales "
        "cuyo donde cuando como es son era eran fue fueron ser sido está están estaba estar ha han había haber hay "
        "tiene y e o u pero sino si porque aunque mientras con por para en a desde hasta entre sobre bajo contra hacia "
        "según tras durante también muy más menos ya aún todo toda todos todas mismo así entonces"
    ),
    "hi": word_set(
        "का की के को से में पर ने और या एक यह वह ये वे इस उस इन उन इसके उसके इसकी उसकी इसका उसका है हैं था थी थे हो होता "
        "होती होते हुआ हुई हुए गया गई गए कर करने किया की कि जो तो ही भी तक लिए साथ बाद द्वारा जब तब अपने अपनी अपना क्या "
        "कौन कब कहाँ कैसे क्यों मैं हम आप तुम रहा रही रहे कुछ सभी"
    ),
    "zh": word_set(
        "的 了 在 是 和 与 及 也 就 都 而 于 之 他 她 它 们 我 你 这 那 个 有 为 以 从 到 被 把 对 其 或 等 吗 呢"
    ),
}

_VERBS = """
become became; begin began begun; break broke broken; bring brought; build built; buy bought; choose chose chosen;
come came; draw drew drawn; drive drove driven; fall fell fallen; feel felt; fight fought; find found; fly flew flown;
forget forgot forgotten; get got gotten; give gave given; go went gone; grow grew grown; hold held; keep kept;
know knew known; lay laid; lead led; leave left; lose lost; make made; mean meant; meet met; pay paid; rise rose risen;
run ran; say said; see saw seen; sell sold; send sent; show shown; sing sang sung; sink sank sunk; speak spoke spoken;
spend spent; stand stood; strike struck; swim swam swum; take took taken; teach taught; tell told; think thought;
throw threw thrown; wear wore worn; win won; write wrote written
"""

_OTHERS = "child children; man men; woman women; foot feet; person people; die died dies dying dead death deaths"

PAST = frozenset(form for line in _VERBS.split(";") for form in line.split()[1:])
"""Irregular English past tenses and participles."""

IRREGULAR = {form: line.split()[0] for line in f"{_VERBS};{_OTHERS}".split(";") for form in line.split()}
"""The base form of each irregular English form; a stemmer does not know these."""

HINDI_ENDINGS = word_set(
    "ो े ू ु ी ि ा कर ाओ िए ाई ाए ने नी ना ते ीं ती ता ाँ ां ों ें ाकर ाइए ाईं ाया ेगी ेगा ोगी ोगे ाने ाना ाते ाती ाता "
    "तीं ाओं ाएं ुओं ुएं ुआं एगी एगा एंगे ाएगी ाएगा ाएंगे ियों ियाँ ियां"
)
"""Hindi endings of number, case and tense."""
