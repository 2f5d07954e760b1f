"""Write the recorded verdicts on the sample's answers, with places and texts, from what the authors wrote by hand.

python sample_data/verdicts.py             writes verdicts/*.jsonl
python sample_data/verdicts.py --check     exits 1 where a file on disk is not what would be written
python sample_data/verdicts.py --second    prints how far the second reading agrees with the first

The rules of judging are in verdicts/README.md, the format is specified in docs/reference/label-files.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ragboard.text.sentences import sentence_spans

HERE = Path(__file__).resolve().parent
AUTHORS = HERE / "verdicts" / "authors"
ANNOTATOR = "the authors of this sample"
LABELS = ("supported", "contradicted", "unsupported")
QUALITIES = ("faithfulness", "answer_relevance", "context_relevance")
PREFERENCES = ("faithfulness", "answer_relevance")

Row = dict[str, Any]


class MistakeError(ValueError):
    """What the authors wrote does not fit the sample."""


def read(path: Path) -> list[Row]:
    """The rows of a JSON Lines file."""
    rows: list[Row] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            rows.append(json.loads(line))
        except ValueError as error:
            raise MistakeError(f"{path.name}:{number}: {error}") from error
    return rows


def samples() -> dict[str, dict[str, Row]]:
    """Every sample, by run and id."""
    found: dict[str, dict[str, Row]] = {}
    for path in sorted((HERE / "runs").glob("*.jsonl")):
        head, *rows = read(path)
        found[head["run"]["name"]] = {row["id"]: row for row in rows}
    return found


def need(holds: object, where: str, what: str) -> None:
    """Raise MistakeError unless it holds."""
    if not holds:
        raise MistakeError(f"{where}: {what}")


def place(text: str, part: str, where: str) -> tuple[int, int]:
    """Where `part` stands in `text`."""
    at = text.find(part) if part else -1
    need(at >= 0, where, f"{part!r} is not in the text, to the letter")
    return at, at + len(part)


def sentences(text: str) -> list[str]:
    """The sentences of a passage, as a judge is asked about them."""
    return [text[start:end] for start, end in sentence_spans(text)]


def quoted(pairs: Iterable[Sequence[Any]], passages: list[str], where: str) -> list[Row]:
    """Quotes with their places: rank, start, end."""
    rows: list[Row] = []
    for rank, quote in pairs:
        need(isinstance(rank, int) and 1 <= rank <= len(passages), where, f"no passage {rank}")
        start, end = place(passages[rank - 1], quote, f"{where}, passage {rank}")
        rows.append({"rank": rank, "start": start, "end": end})
    return rows


def ranks(given: Sequence[int], passages: list[str], where: str) -> list[int]:
    """Ranks of passages, checked."""
    need(all(isinstance(rank, int) and 1 <= rank <= len(passages) for rank in given), where, f"ranks {given}")
    return sorted(set(given))


def statement(said: Row, answer: str, passages: list[str], where: str) -> Row:
    """One statement of an answer with its verdicts."""
    start, end = place(answer, said["quote"], where)
    verdict, where = said["verdict"], f"{where}, {said['quote']!r}"
    need(verdict in LABELS and said["reference"] in LABELS, where, f"verdict {verdict}, reference {said['reference']}")
    need(said["statement"].strip(), where, "the statement is empty")
    alone = ranks(said["passages"], passages, where)
    quotes = quoted(said["quotes"], passages, where)
    if verdict == "unsupported":
        need(not alone and not quotes, where, "unsupported, but with passages or quotes")
    else:
        need(quotes, where, f"{verdict}, but without a quote")
        need(set(alone) <= {quote["rank"] for quote in quotes}, where, "a passage that supports alone has no quote")
    need(verdict == "supported" or said.get("reason"), where, "not supported, but without a reason")
    return {
        "text": answer[start:end],
        "start": start,
        "end": end,
        "statement": said["statement"],
        "label": int(verdict == "supported"),
        "verdict": verdict,
        "passages": alone,
        "quotes": quotes,
        "note": said.get("reason", ""),
        "reference": said["reference"],
    }


def helping(offered: list[list[str]], helpful: dict[int, list[int]], where: str) -> list[str]:
    """The helpful sentences, each once. Raises MistakeError for one that helps in one passage and not in another."""
    numbered = [(rank, at, text) for rank, texts in enumerate(offered, 1) for at, text in enumerate(texts, 1)]
    chosen = dict.fromkeys(text for rank, at, text in numbered if at in helpful.get(rank, []))
    for rank, at, text in numbered:
        need(
            text not in chosen or at in helpful.get(rank, []),
            where,
            f"sentence {rank}.{at} helps where it stands elsewhere",
        )
    return list(chosen)


def of_reference(said: Row, judged: Row, reference: str, passages: list[str], where: str) -> Row:
    """One statement of the reference: what the answer and the passages say of it."""
    start, end = place(reference, said["quote"], where)
    where = f"{where}, {said['quote']!r}"
    need(judged["answer"] in LABELS, where, f"answer {judged['answer']}")
    alone = ranks(judged["passages"], passages, where)
    return {
        "text": reference[start:end],
        "start": start,
        "end": end,
        "statement": said["statement"],
        "answer": judged["answer"],
        "passages": alone,
        "together": bool(alone) or bool(judged.get("together")),
    }


def recorded(said: Row, sample: Row, run: str, references: list[Row]) -> Row:
    """All that the authors say of one answer."""
    where = f"{run}/{sample['id']}"
    passages = [passage["text"] for passage in sample["contexts"]]
    answer, reference = sample["answer"], sample["reference"]
    need(len(said["reference"]) == len(references), where, "another number of statements of the reference")
    offered = [sentences(text) for text in passages]
    helpful = {int(rank): numbers for rank, numbers in said["helpful"].items()}
    ranks(list(helpful), passages, f"{where}, helpful")
    for rank, numbers in helpful.items():
        need(all(1 <= number <= len(offered[rank - 1]) for number in numbers), where, f"helpful {rank}: {numbers}")
    ratings = said["ratings"]
    need(set(ratings) == set(QUALITIES), where, f"ratings {sorted(ratings)}")
    need(all(isinstance(value, int) and 0 <= value <= 10 for value in ratings.values()), where, f"ratings {ratings}")
    need(isinstance(said["refuses"], bool), where, "refuses is true or false")
    return {
        "id": where,
        "run": run,
        "sample": sample["id"],
        "question": sample["question"],
        "contexts": passages,
        "answer": answer,
        "reference": reference,
        "refuses": said["refuses"],
        "statements": [statement(one, answer, passages, where) for one in said["statements"]],
        "reference_statements": [
            of_reference(one, judged, reference, passages, where)
            for one, judged in zip(references, said["reference"], strict=True)
        ],
        "helpful": helping(offered, helpful, where),
        "ratings": ratings,
        "relevance_reason": said.get("relevance_reason", ""),
        "annotator": ANNOTATOR,
    }


def authored(names: Sequence[str] = ("part1", "part2", "part3")) -> list[Row]:
    """What the authors wrote, in the order of the questions."""
    rows = [row for name in names for row in read(AUTHORS / f"{name}.jsonl")]
    return sorted(rows, key=lambda row: str(row["id"]))


def recordings(rows: list[Row]) -> dict[str, list[Row]]:
    """The rows of each run."""
    return {
        run: [recorded(row["runs"][run], by_id[row["id"]], run, row["reference_statements"]) for row in rows]
        for run, by_id in samples().items()
    }


def preferences(rows: list[Row]) -> list[Row]:
    """Which answer the authors prefer: the first run is A."""
    by_run = samples()
    a, b = by_run
    made: list[Row] = []
    for row in rows:
        for quality in PREFERENCES:
            said = row["prefer"][quality]
            where = f"{row['id']}:{quality}"
            need(said["better"] in (a, b, "tie"), where, f"better: {said['better']}")
            sides = [by_run[run][row["id"]] for run in (a, b)]
            made.append(
                {
                    "id": where,
                    "dimension": quality,
                    "question": sides[0]["question"],
                    "a": sides[0]["answer"],
                    "b": sides[1]["answer"],
                    "a_contexts": [passage["text"] for passage in sides[0]["contexts"]],
                    "b_contexts": [passage["text"] for passage in sides[1]["contexts"]],
                    "preferred": {a: "a", b: "b"}.get(said["better"], "tie"),
                    "note": said["reason"],
                    "annotator": ANNOTATOR,
                }
            )
    return made


def judgements(rows: list[Row]) -> dict[str, list[object]]:
    """Every judgement of a reading, by kind, in one order."""
    found: dict[str, list[object]] = {"verdict": [], "verdict by passage": [], "against the reference": []}
    found |= {"helpful sentence": [], "rating": []}
    for of_run in recordings(rows).values():
        for row in of_run:
            for one in row["statements"]:
                found["verdict"].append(one["verdict"])
                found["against the reference"].append(one["reference"])
                found["verdict by passage"] += [
                    one["verdict"] if rank in one["passages"] else "unsupported"
                    for rank in range(1, len(row["contexts"]) + 1)
                ]
            found["helpful sentence"] += [
                text in row["helpful"] for passage in row["contexts"] for text in sentences(passage)
            ]
            found["rating"] += row["ratings"].values()
    return found


def kappa(first: Sequence[object], second: Sequence[object]) -> float:
    """Cohen's kappa of two readings of the same things."""
    n = len(first)
    agree = sum(one == other for one, other in zip(first, second, strict=True)) / n
    chance = sum(first.count(value) * second.count(value) for value in set(first)) / n**2
    return (agree - chance) / (1 - chance)


def second_reading() -> Iterator[str]:
    """How far the second reading agrees with the first, a line for each kind of judgement."""
    again = authored(["second"])
    first = judgements([row for row in authored() if row["id"] in {one["id"] for one in again}])
    second = judgements(again)
    for kind in first:
        one, other = first[kind], second[kind]
        if kind == "rating":
            near = sum(abs(int(str(a)) - int(str(b))) <= 1 for a, b in zip(one, other, strict=True)) / len(one)
            yield f"{kind}: {len(one)} judged twice, {near:.0%} within one point of ten"
        else:
            same = sum(a == b for a, b in zip(one, other, strict=True)) / len(one)
            yield f"{kind}: {len(one)} judged twice, {same:.0%} alike, kappa {kappa(one, other):.2f}"


def texts() -> dict[Path, str]:
    """The text of each file that is written."""
    rows = authored()
    files = {"answers.jsonl": [row for of_run in recordings(rows).values() for row in of_run]}
    files["pairs.jsonl"] = preferences(rows)
    return {
        HERE / "verdicts" / name: "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in written)
        for name, written in files.items()
    }


def main() -> None:
    """Write the files, or say which are not as they would be written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 on a difference")
    parser.add_argument("--second", action="store_true", help="write nothing, print the agreement of the two readings")
    parser.add_argument("--only", metavar="PART", help="write nothing, check one file of the authors: part1")
    given = parser.parse_args()
    if given.only:
        rows = authored([given.only])
        preferences(rows)
        print({run: len(of_run) for run, of_run in recordings(rows).items()})
        return
    if given.second:
        print("\n".join(second_reading()))
        return
    stale: list[str] = []
    for path, text in texts().items():
        if not given.check:
            path.write_text(text, encoding="utf-8", newline="\n")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
    if stale:
        sys.exit(f"not as they would be written: {', '.join(stale)}")


if __name__ == "__main__":
    try:
        main()
    except MistakeError as error:
        sys.exit(str(error))
