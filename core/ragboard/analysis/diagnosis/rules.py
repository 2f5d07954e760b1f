"""The rules: one readable table.

The metrics are those of the RAGChecker and RAGAS papers. The limits are not: no paper gives any, so they are our
rules of thumb, set where a reader would begin to act, and each says why.
"""

from __future__ import annotations

from ragboard.analysis.diagnosis.nouns import Rule
from ragboard.analysis.diagnosis.quantities import MADE_UP, NOISE, RECALL, UTILIZATION
from ragboard.store.queries.samples import SampleQuery
from ragboard.store.queries.statements import HallucinationQuery

__all__ = ["RULES", "source_of"]

_SMALL = "a smaller difference is seldom worth a change of configuration"

RULES: tuple[Rule, ...] = (
    Rule(
        id="lost-in-retrieval",
        part="retriever",
        quantity="retrieval less generation",
        side="above",
        limit=0.1,
        says="More is lost in retrieval than in generation: by {} of a reference's claims.",
        advice="Work on the retriever first: what no passage says, no prompt brings back.",
        why=_SMALL,
        look=SampleQuery(column=RECALL, order="lowest"),
    ),
    Rule(
        id="lost-in-generation",
        part="generator",
        quantity="retrieval less generation",
        side="below",
        limit=-0.1,
        says="More is lost in generation than in retrieval: by {} of a reference's claims.",
        advice="Work on the generator first: the passages say it and the answers do not.",
        why=_SMALL,
        look=SampleQuery(column=UTILIZATION, order="lowest"),
    ),
    Rule(
        id="retriever-misses",
        part="retriever",
        quantity="claim recall",
        side="below",
        limit=0.7,
        says="The passages hold only {} of what the references say.",
        advice="Retrieve more passages, cut them larger or with overlap, try another embedding or a hybrid search.",
        why="an answer from the passages alone cannot be more complete than this",
        look=SampleQuery(column=RECALL, order="lowest"),
    ),
    Rule(
        id="passages-beside-the-point",
        part="retriever",
        quantity="context precision",
        side="below",
        limit=0.2,
        says="Only {} of the passages say anything that a reference says.",
        advice="Rerank, filter by score, or retrieve fewer passages; look at claim recall while you do.",
        why="one passage in five; with a single relevant passage each, that is what five passages come to",
        look=SampleQuery(column="ragchecker.context_precision", order="lowest"),
    ),
    Rule(
        id="context-off-question",
        part="retriever",
        quantity="context relevance",
        side="below",
        limit=0.1,
        says="Only {} of the passages' sentences help to answer.",
        advice="Cut passages smaller, rerank, or retrieve fewer; this needs no reference, so it is a hint only.",
        why="nine sentences in ten are then read for nothing",
        look=SampleQuery(column="ragas.context_relevance", order="lowest"),
    ),
    Rule(
        id="passages-unused",
        part="generator",
        quantity="context utilization",
        side="below",
        limit=0.7,
        says="The answers say only {} of what the passages hold of the references.",
        advice="Ask for complete answers, try a stronger model, put the best passages first.",
        why="three claims in ten were found and not said",
        look=SampleQuery(column=UTILIZATION, order="lowest"),
    ),
    Rule(
        id="misled-by-passages",
        part="generator",
        quantity="noise",
        side="above",
        limit=0.1,
        says="{} of the answers' claims are wrong and come from the passages.",
        advice="Ask the model to check each passage against the question; give it fewer, better passages.",
        why="one claim in ten",
        look=SampleQuery(column=NOISE[0], order="highest"),
    ),
    Rule(
        id="misled-by-irrelevant",
        part="retriever",
        quantity="irrelevant less relevant noise",
        side="above",
        limit=0.05,
        says="Wrong claims come more from irrelevant passages than from relevant ones: by {} of all claims.",
        advice="Filter or rerank: passages that say nothing of the reference mislead the answers.",
        why=_SMALL,
        look=SampleQuery(column=NOISE[1], order="highest"),
    ),
    Rule(
        id="misled-by-relevant",
        part="generator",
        quantity="irrelevant less relevant noise",
        side="below",
        limit=-0.05,
        says="Wrong claims come more from relevant passages than from irrelevant ones: by {} of all claims.",
        advice="The right passages also say what was not asked: cut them smaller, ask for what the question asks only.",
        why=_SMALL,
        look=SampleQuery(column=NOISE[0], order="highest"),
    ),
    Rule(
        id="made-up",
        part="generator",
        quantity="hallucination",
        side="above",
        limit=0.1,
        says="{} of the answers' claims are wrong and stand in no passage.",
        advice="Ask for answers from the passages alone and for a refusal where they are silent.",
        why="one claim in ten",
        look=SampleQuery(column=MADE_UP, order="highest"),
    ),
    Rule(
        id="own-knowledge-wrong",
        part="generator",
        quantity="hallucination less self-knowledge",
        side="above",
        limit=0.05,
        says="What the answers add beyond the passages is more often wrong than right: by {} of all claims.",
        advice="Hold the generator to the passages: its own knowledge does harm here.",
        why=_SMALL,
        look=SampleQuery(column=MADE_UP, order="highest"),
    ),
    Rule(
        id="own-knowledge-right",
        part="generator",
        quantity="hallucination less self-knowledge",
        side="below",
        limit=-0.05,
        says="What the answers add beyond the passages is more often right than wrong: by {} of all claims.",
        advice="The model knows what the retriever does not find; whether it may say so is yours to decide.",
        why=_SMALL,
        look=SampleQuery(column="ragchecker.self_knowledge", order="highest"),
    ),
    Rule(
        id="unfaithful",
        part="answers",
        quantity="faithfulness",
        side="below",
        limit=0.8,
        says="The passages support only {} of what an answer says.",
        advice="Read the unsupported statements first: either the passages lack it, or the generator adds it.",
        why="one statement in five has no ground",
        look=HallucinationQuery(),
    ),
    Rule(
        id="contradicts-passages",
        part="generator",
        quantity="contradicted",
        side="above",
        limit=0.05,
        says="The passages contradict {} of what an answer says.",
        advice="Look for numbers, dates and names that were copied wrongly, and for passages that disagree.",
        why="one statement in twenty; a contradiction is worse than a gap",
        look=HallucinationQuery(verdict="contradicted"),
    ),
    Rule(
        id="refuses-often",
        part="answers",
        quantity="refusals",
        side="above",
        limit=0.1,
        says="{} of the answers decline to answer.",
        advice="Read some: right where the passages are silent, wrong where they are not.",
        why="one answer in ten",
        look=SampleQuery(only="refusing"),
    ),
    Rule(
        id="refuses-though-found",
        part="generator",
        quantity="refusals though found",
        side="above",
        limit=0.1,
        says="{} of the answers decline though the passages hold at least half of the reference.",
        advice="Loosen the instruction to refuse, or try a stronger model.",
        why="one answer in ten",
        look=SampleQuery(column=RECALL, order="highest", only="refusing"),
    ),
    Rule(
        id="answers-without-passages",
        part="generator",
        quantity="answers without passages",
        side="above",
        limit=0.5,
        says="{} of the answers do not decline where the passages hold nothing of the reference.",
        advice="Ask for a refusal where the passages are silent, if answers are to come from them alone.",
        why="more often than not",
        look=SampleQuery(column=RECALL, order="lowest"),
    ),
    Rule(
        id="long-answers-drift",
        part="answers",
        quantity="long less short",
        side="below",
        limit=0.0,
        says="Long answers are less faithful than short ones: by {}.",
        advice="Ask for shorter answers; see whether the statements at the end are the unsupported ones.",
        why="any difference that is not chance",
        look=HallucinationQuery(),
    ),
    Rule(
        id="late-passages-unused",
        part="retriever",
        quantity="late evidence",
        side="below",
        limit=0.1,
        says="Only {} of the supported statements first find evidence in the later half of the passages.",
        advice="Fewer passages may do as well and cost less; check claim recall before you cut.",
        why="one statement in ten; without ranking it would be near a half",
        look=SampleQuery(order="file"),
    ),
    Rule(
        id="late-passages-overlooked",
        part="generator",
        quantity="early less late use",
        side="above",
        limit=0.1,
        says="Relevant passages late in the list are used less than early ones: by {}.",
        advice="Put the best passages first, or fewer of them: the model overlooks what comes late.",
        why=_SMALL,
        look=SampleQuery(order="file"),
    ),
)
"""In the order in which findings are told."""


def source_of(rule: Rule, takes: tuple[str, ...]) -> str:
    """Where the quantity and the limit of a rule come from."""
    papers = []
    if any(name.startswith("ragchecker.") for name in takes):
        papers.append("Ru et al. 2024 (RAGChecker), section 3")
    if any(name.startswith("ragas.") for name in takes):
        papers.append("Es et al. 2023 (RAGAS), section 3")
    return f"{'; '.join(papers) or 'our own count'}; the limit is our rule of thumb: {rule.why}"
