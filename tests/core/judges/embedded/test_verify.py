"""Tests of verdicts: cases by hand, and the form of every reply."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragboard.judges.embedded.verify import verify
from ragboard.records import Verdict
from ragboard.tasks import VerifiedAgainst, Verify, reply_or_failure

FORTH = (
    "The Forth Bridge carries two railway tracks over the Firth of Forth, about 14 km west of Edinburgh. "
    "John Fowler and Benjamin Baker designed it, and the Prince of Wales opened it on 4 March 1890. "
    "It cost roughly \u00a33.2 million. No cars are allowed on the bridge. The frame took 53,000 tonnes of steel."
)
CITIES = "Berlin was founded in 1237. Hamburg was founded in 808. The river flows north into the sea."
TIDE = "The museum in Bristol opened its new wing in 2011 and charges no entrance fee."
GERMAN = (
    "Die Br\u00fccke \u00fcber den Belt wurde am 14. Juni 1998 er\u00f6ffnet. "
    "Sie ist 6.790 Meter lang und wurde nicht von Privatleuten bezahlt. "
    "Der Tunnel beginnt in Halsskov."
)
PASSAGES = (FORTH, CITIES, TIDE)


def judge(statement: str, *passages: str) -> Verdict:
    return verify(_task((statement,), passages or PASSAGES)).joint[0]


def _task(statements: tuple[str, ...], passages: tuple[str, ...]) -> Verify:
    return Verify(question="", statements=statements, passages=passages, joint=True, single=True)


@pytest.mark.parametrize(
    "statement",
    [
        "The Forth Bridge carries two railway tracks.",
        "The Forth Bridge carries 2 railway tracks.",
        "The Forth Bridge was opened on March 4, 1890.",
        "The Prince of Wales opened the bridge on 1890-03-04.",
        "It is about 14 kilometres west of Edinburgh.",
        "The Forth Bridge cost 3.2 million pounds.",
        "The Forth Bridge was designed by Benjamin Baker.",
        "Cars are not allowed on the bridge.",
        "The frame took about 53 000 tonnes of steel.",
        "Hamburg was founded in 808.",
        "The new wing of the museum in Bristol was opened in 2011.",
    ],
)
def test_what_a_passage_says_is_supported(statement: str) -> None:
    verdict = judge(statement)
    assert verdict.label == "supported", verdict
    assert verdict.evidence
    assert all(mark.stance == "for" for mark in verdict.evidence)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("The Forth Bridge carries three railway tracks.", "two"),
        ("The Prince of Wales opened the bridge on 4 May 1890.", "4 March 1890"),
        ("The Forth Bridge cost \u00a35 million.", "\u00a33.2 million"),
        ("The frame took 5,300 tonnes of steel.", "53,000 tonnes"),
        ("The museum in Bristol opened its new wing in 2012.", "2011"),
        ("The river flows south into the sea.", "north"),
    ],
)
def test_another_number_or_opposite_in_the_same_place_contradicts(statement: str, words: str) -> None:
    verdict = judge(statement)
    assert verdict.label == "contradicted", verdict
    (mark,) = verdict.evidence
    assert mark.stance == "against"
    assert PASSAGES[mark.rank - 1][mark.start : mark.end] == words
    assert words in verdict.reason


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        (
            "The Tay Bridge carries two railway tracks.",
            "Passage 1 says Forth Bridge where the statement says Tay Bridge, perhaps about something else.",
        ),
        (
            "Munich was founded in 808.",
            "Passage 2 says Hamburg where the statement says Munich, perhaps about something else.",
        ),
        (
            "The museum in London opened its new wing in 2011.",
            "Passage 3 says Bristol where the statement says London, perhaps about something else.",
        ),
    ],
)
def test_another_name_in_the_same_place_is_no_contradiction(statement: str, reason: str) -> None:
    """Spain may be meant by Europe, and an acronym by its words."""
    verdict = judge(statement)
    assert (verdict.label, verdict.reason, verdict.evidence) == ("unsupported", reason, ())


def test_a_number_of_something_else_does_not_support_a_short_statement() -> None:
    assert judge("Hamburg was founded in 1237.").label == "unsupported"


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("Cars are allowed on the bridge.", "Passage 1 denies what the statement says."),
        ("The river does not flow north into the sea.", "Passage 2 says what the statement denies."),
    ],
)
def test_a_denial_on_one_side_contradicts(statement: str, reason: str) -> None:
    verdict = judge(statement)
    assert (verdict.label, verdict.reason) == ("contradicted", reason)


@pytest.mark.parametrize(
    ("statement", "here", "reason"),
    [
        ("The Forth Bridge was closed in winter.", "was not closed", "Passage 1 may deny what the statement says."),
        ("The Forth Bridge was not closed in winter.", "was closed", "Passage 1 may say what the statement denies."),
    ],
)
def test_a_denial_of_it_may_be_of_something_else(statement: str, here: str, reason: str) -> None:
    verdict = judge(statement, f"The Forth Bridge was opened in 1890. It {here} in winter.")
    assert (verdict.label, verdict.reason) == ("unsupported", reason)


@pytest.mark.parametrize(
    ("statement", "passage"),
    [
        ("The drug was approved in 2020.", "The drug was not officially approved in 2020."),
        ("The effect on sleep is significant.", "The effect on sleep is not statistically significant."),
        (
            "Die Wirkung auf den Schlaf wurde bestätigt.",
            "Die Wirkung auf den Schlaf wurde nicht offiziell bestätigt.",
        ),
    ],
)
def test_an_adverb_may_follow_not(statement: str, passage: str) -> None:
    verdict = judge(statement, passage)
    assert (verdict.label, verdict.reason) == ("contradicted", "Passage 1 denies what the statement says.")
    assert judge(passage.replace("officially ", "").replace("statistically ", ""), passage).label == "supported"


def test_no_before_a_list_denies_what_is_listed() -> None:
    passage = "No employee, contractor or agent may disclose confidential information."
    assert judge(passage.replace("No ", "Any "), passage).label == "contradicted"


def test_not_really_at_the_beginning_denies_nothing() -> None:
    passage = "A programming language is a formal language that specifies a set of instructions."
    verdict = judge(f"Not really, {passage[0].lower()}{passage[1:]}", passage)
    assert verdict.label != "contradicted"


@pytest.mark.parametrize(
    ("statement", "passage", "words"),
    [
        ("More than 50 people attended.", "Fewer than 50 people attended.", "Fewer"),
        ("The drug is more effective than placebo.", "The drug is less effective than placebo.", "less"),
        ("Es kamen mehr als 50 Gäste zum Fest.", "Es kamen weniger als 50 Gäste zum Fest.", "weniger"),
        ("The gate to the yard is locked.", "The gate to the yard is unlocked.", "unlocked"),
        ("The move to the city was unsuccessful.", "The move to the city was successful.", "successful"),
        ("Das Museum ist montags geöffnet.", "Das Museum ist montags geschlossen.", "geschlossen"),
    ],
)
def test_the_opposite_in_the_same_place_contradicts(statement: str, passage: str, words: str) -> None:
    verdict = judge(statement, passage)
    assert verdict.label == "contradicted", verdict
    (mark,) = verdict.evidence
    assert passage[mark.start : mark.end] == words


@pytest.mark.parametrize(
    ("statement", "passage"),
    [
        ("France has more inhabitants than Germany.", "Germany has fewer inhabitants than France."),
        ("The hall holds more than 50 people.", "The hall holds no less than 60 people, more than 50."),
        ("The standard plan costs less than the premium plan.", "The premium plan costs more than the standard plan."),
        ("Fewer men than women attended the university.", "More women than men attended the university."),
        ("Most employees work from home on Fridays.", "At least 60 employees work from home on Fridays."),
    ],
)
def test_a_comparison_the_other_way_round_contradicts_nothing(statement: str, passage: str) -> None:
    assert judge(statement, passage).label == "supported"


@pytest.mark.parametrize(
    ("statement", "passage"),
    [
        ("Die Unkosten der Feier betragen 500 Euro.", "Die Kosten der Feier betragen 500 Euro."),
        ("The union was founded by workers in 1890.", "The ion was founded by workers in 1890."),
        (
            "Vodafone offers unlimited data to business customers in Germany.",
            "Vodafone Limited offers data to business customers in Germany.",
        ),
    ],
)
def test_not_every_word_with_un_is_an_opposite(statement: str, passage: str) -> None:
    assert judge(statement, passage).label != "contradicted"


@pytest.mark.parametrize(
    ("statement", "passage", "label"),
    [
        ("The temperature fell to 5 °C in May.", "The temperature fell to -5 °C in May.", "contradicted"),
        ("The temperature fell to \u22125 °C in May.", "The temperature fell to -5 °C in May.", "supported"),
        ("The temperature fell to minus 5 °C in May.", "The temperature fell to -5 °C in May.", "supported"),
        ("The result of the year was $5 million.", "The result of the year was -$5 million.", "contradicted"),
        ("Die Temperatur sank auf 5 Grad.", "Die Temperatur sank auf minus 5 Grad.", "contradicted"),
        ("The pages 5-10 tell of the bridge.", "The pages 5 -10 tell of the bridge.", "supported"),
        ("The F-16 flew over the town.", "The F-16 flew over the town.", "supported"),
        ("It falls to -40 °C in the valley.", "It falls to \u201340 °C in the valley.", "supported"),
        ("-40 °C is where both scales meet.", "Both scales meet at -40 °C.", "supported"),
        ("The net loss of 2023 was 5.2 million euros.", "The net loss of 2023 was -5.2 million euros.", "supported"),
        ("Sales of the group declined 5% in 2023.", "Sales of the group declined (-5%) in 2023.", "supported"),
    ],
)
def test_a_minus_is_part_of_its_number(statement: str, passage: str, label: str) -> None:
    assert judge(statement, passage).label == label


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("The bridge opened in 1947 in Vienna.", "'1947' and 'Vienna' appear in no passage."),
        ("Sleep improves memory.", "No passage mentions 'Sleep improves memory'."),
        ("The mill was in the U.S. in spring.", "'U.S.' appears in no passage."),
    ],
)
def test_what_no_passage_says_is_unsupported_and_the_reason_names_it(statement: str, reason: str) -> None:
    verdict = judge(statement)
    assert (verdict.label, verdict.reason, verdict.evidence) == ("unsupported", reason, ())


def test_two_passages_support_a_statement_together() -> None:
    reply = verify(_task(("The Forth Bridge carries railway tracks and Berlin was founded in 1237.",), PASSAGES))
    assert reply.joint[0].label == "supported"
    assert {mark.rank for mark in reply.joint[0].evidence} == {1, 2}
    assert [verdict.label for verdict in reply.single[0]] == ["unsupported"] * 3


def test_a_number_from_a_sentence_about_something_else_supports_nothing() -> None:
    passage = "A mill discharged waste until 2013. The council listed the lake as a site in 1996."
    assert judge("The council listed the lake in 2013.", passage).label != "supported"


def test_a_pronoun_in_a_passage_can_refer_to_the_name() -> None:
    assert judge("The Forth Bridge opened on 4 March 1890.").label == "supported"


def test_a_denial_that_ends_somewhere_denies_nothing_else() -> None:
    passage = "No bridge in the world had a longer span until the Quebec Bridge reached 549 m in 1917."
    assert judge("The Quebec Bridge reached 549 m in 1917.", passage).label == "supported"


def test_support_anywhere_outweighs_another_number_elsewhere() -> None:
    assert judge(
        "The bridge opened to cars in 1890.", "The bridge opened to cars in 1878.", "The bridge opened to cars in 1890."
    ).label == ("supported")


def test_a_rough_number_agrees_with_a_near_one_and_an_exact_one_does_not() -> None:
    passage = "The lake in the north is 503 km long."
    assert judge("The lake in the north is about 500 km long.", passage).label == "supported"
    assert judge("The lake in the north is 500 km long.", passage).label == "contradicted"


def test_an_uncertain_answer_denies_nothing() -> None:
    assert judge("I am not sure but the river flows north into the sea.").label == "unsupported"
    assert judge("Not only the river flows north into the sea.").label == "supported"


def test_a_title_is_no_other_name() -> None:
    assert judge("Sonia Sotomayor serves on the court.", "Judge Sotomayor serves on the court.").label != "contradicted"


def test_a_question_in_a_passage_contradicts_nothing() -> None:
    assert (
        judge("The river flows north into the sea.", "Doesn't the river flow south into the sea?").label
        != "contradicted"
    )


@pytest.mark.parametrize(
    ("statement", "label"),
    [
        ("Die Br\u00fccke \u00fcber den Belt wurde am 14.06.1998 er\u00f6ffnet.", "supported"),
        ("Die Br\u00fccke \u00fcber den Belt wurde am 14. Juli 1998 er\u00f6ffnet.", "contradicted"),
        ("Die Br\u00fccke ist 6790 m lang.", "supported"),
        ("Die Br\u00fccke wurde von Privatleuten bezahlt.", "unsupported"),
        ("Der Tunnel beginnt in Korsor.", "unsupported"),
        ("Die F\u00e4hre bringt Touristen auf die Insel.", "unsupported"),
    ],
)
def test_german_is_judged_by_the_same_rules(statement: str, label: str) -> None:
    assert judge(statement, GERMAN).label == label


def test_supported_statements_score_higher_than_contradicted_ones() -> None:
    assert (judge("Hamburg was founded in 808.").score or 0) > (judge("Hamburg was founded in 1237.").score or 0)


def test_no_passage_supports_nothing() -> None:
    reply = verify(_task(("The bridge is long.",), ()))
    assert [verdict.label for verdict in reply.joint] == ["unsupported"]
    assert reply.single == ((),)


WORDS = st.sampled_from(
    (
        *("The", "the", "bridge", "Bridge", "Forth", "Tay", "Berlin", "Hamburg", "it", "It", "two", "3", "km"),
        *("was", "is", "not", "never", "no", "built", "opened", "in", "1890", "1878"),
        *(".", ",", "?", "\n", "\u4ed6"),
    )
)
TEXTS = st.text(max_size=60) | st.lists(WORDS, max_size=25).map(" ".join)


@settings(max_examples=150)
@given(st.lists(TEXTS, max_size=3), st.lists(TEXTS, max_size=3), st.booleans(), st.booleans())
def test_the_cells_asked_for_are_answered_with_scores_and_places_in_range(
    statements: list[str], passages: list[str], joint: bool, single: bool
) -> None:
    task = Verify(question="", statements=tuple(statements), passages=tuple(passages), joint=joint, single=single)
    reply = verify(task)
    assert reply_or_failure(task, reply) is reply
    for verdict in (*reply.joint, *(verdict for row in reply.single for verdict in row)):
        assert verdict.score is not None
        assert 0 <= verdict.score <= 1
        assert verdict.reason
        assert bool(verdict.evidence) == (verdict.label != "unsupported")


@given(st.lists(TEXTS, min_size=1, max_size=3), st.lists(TEXTS, max_size=3))
def test_a_verdict_does_not_depend_on_the_other_statements(statements: list[str], passages: list[str]) -> None:
    together = verify(_task(tuple(statements), tuple(passages)))
    for place, statement in enumerate(statements):
        alone = verify(_task((statement,), tuple(passages)))
        assert (alone.joint[0], alone.single[0]) == (together.joint[place], together.single[place])


@pytest.mark.parametrize("kind", ["passage", "statements"])
def test_twice_the_text_takes_twice_the_steps_and_no_more(kind: str) -> None:
    """Counted in calls and lines of the interpreter, not in seconds."""
    few, many = (_steps_of(*_of_size(kind, size)) for size in (300, 600))
    assert 1.5 * few < many <= 2.1 * few


def _of_size(kind: str, size: int) -> tuple[tuple[str, ...], str]:
    said = [f"The bridge number {at} was built by {'ABCDEFG'[at % 7]}rrol in {1700 + at % 300}." for at in range(size)]
    return (tuple(said[:5]), " ".join(said)) if kind == "passage" else (tuple(said), " ".join(said[:20]))


def _steps_of(statements: tuple[str, ...], passage: str) -> int:
    steps = 0

    def count(*_: object) -> object:
        nonlocal steps
        steps += 1
        return count

    task = Verify(question="", statements=statements, passages=(passage,), joint=True, single=False)
    verify(task)
    before = sys.gettrace()
    sys.settrace(count)  # type: ignore[arg-type]
    try:
        verify(task)
    finally:
        sys.settrace(before)
    return steps


def against(text: str, source: VerifiedAgainst, statement: str) -> str:
    task = Verify(question="", statements=(statement,), passages=(text,), joint=True, single=False, against=source)
    return verify(task).joint[0].reason


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("Vouchers are valid for 21 days.", "'21 days' is not in the {}."),
        ("Ann Weir approves refunds of 30 euros.", "'Ann Weir' and '30 euros' are not in the {}."),
        ("Refunds take 14 days.", "The {} says it word for word."),
        ("Refunds do not take 14 days.", "The {} says what the statement denies."),
        ("Parcels are heavy.", "The {} does not mention 'Parcels' or 'heavy'."),
    ],
)
@pytest.mark.parametrize("source", ["answer", "reference"])
def test_the_reason_names_the_text_that_was_read(source: VerifiedAgainst, statement: str, reason: str) -> None:
    assert against("Refunds take 14 days. They are paid by card.", source, statement) == reason.format(source)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("The Recovery Plan needs a recovery team.", "'Recovery Plan' appears"),
        ("The Office of Parks and Recreation opened.", "'Office of Parks and Recreation' appears"),
        ("It is open 24/7 for Anna and Bo.", "'24/7' and 'Anna and Bo' appear"),
        ("The model draws it in 2D.", "'2D' appears"),
        ("It was written by GPT-4 in a day.", "'GPT-4' appears"),
    ],
)
def test_missing_words_are_whole_and_named_once(statement: str, words: str) -> None:
    assert judge(statement, "The house is old.").reason == f"{words} in no passage."


@pytest.mark.parametrize(
    ("statement", "passage"),
    [
        ("The deadline is 5 days.", "You have five (5) days, which is the deadline."),
        ("The deadline is five (5) days.", "The deadline is 5 days."),
        ("You can upload PDFs.", "You can upload a PDF of the form."),
    ],
)
def test_other_spellings_of_a_number_or_an_acronym_are_the_same(statement: str, passage: str) -> None:
    assert judge(statement, passage).label == "supported"
