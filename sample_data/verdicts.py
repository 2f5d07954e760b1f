"""Write the recorded verdicts on the sample answers, with texts and spans, from the authors' verdicts.

python sample_data/verdicts.py             writes verdicts/*.jsonl
python sample_data/verdicts.py --check     exits with 1 if a file on disk differs from what would be written
python sample_data/verdicts.py --second    prints how often the first and the second verdicts agree

verdicts/README.md has the rules for the verdicts, docs/reference/label-files.md the format.
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
    """A verdict of the authors does not match the sample data."""


def read(path: Path) -> list[Row]:
    """Read the rows of a JSON Lines file. Raises MistakeError for invalid JSON."""
    rows: list[Row] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            rows.append(json.loads(line))
        except ValueError as error:
            raise MistakeError(f"{path.name}:{number}: {error}") from error
    return rows


def samples() -> dict[str, dict[str, Row]]:
    """Read all samples, by run and by id."""
    found: dict[str, dict[str, Row]] = {}
    for path in sorted((HERE / "runs").glob("*.jsonl")):
        head, *rows = read(path)
        found[head["run"]["name"]] = {row["id"]: row for row in rows}
    return found


def need(condition: object, where: str, problem: str) -> None:
    """Raise MistakeError if the condition is false."""
    if not condition:
        raise MistakeError(f"{where}: {problem}")


def place(text: str, part: str, where: str) -> tuple[int, int]:
    """Return the start and end of `part` in `text`. Raises MistakeError if `text` does not contain it."""
    at = text.find(part) if part else -1
    need(at >= 0, where, f"the text does not contain {part!r}")
    return at, at + len(part)


def sentences(text: str) -> list[str]:
    """Split a passage into the sentences that a judge sees."""
    return [text[start:end] for start, end in sentence_spans(text)]


def quoted(pairs: Iterable[Sequence[Any]], passages: list[str], where: str) -> list[Row]:
    """Return for each quote the rank of its passage, and its start and end in the passage."""
    rows: list[Row] = []
    for rank, quote in pairs:
        need(isinstance(rank, int) and 1 <= rank <= len(passages), where, f"no passage {rank}")
        start, end = place(passages[rank - 1], quote, f"{where}, passage {rank}")
        rows.append({"rank": rank, "start": start, "end": end})
    return rows


def ranks(given: Sequence[int], passages: list[str], where: str) -> list[int]:
    """Return ranks of passages, sorted. Raises MistakeError for a rank that does not exist."""
    need(all(isinstance(rank, int) and 1 <= rank <= len(passages) for rank in given), where, f"ranks {given}")
    return sorted(set(given))


def statement(entry: Row, answer: str, passages: list[str], where: str) -> Row:
    """Return a statement of an answer with its verdicts."""
    start, end = place(answer, entry["quote"], where)
    verdict, where = entry["verdict"], f"{where}, {entry['quote']!r}"
    need(
        verdict in LABELS and entry["reference"] in LABELS, where, f"verdict {verdict}, reference {entry['reference']}"
    )
    need(entry["statement"].strip(), where, "the statement is empty")
    alone = ranks(entry["passages"], passages, where)
    quotes = quoted(entry["quotes"], passages, where)
    if verdict == "unsupported":
        need(not alone and not quotes, where, "unsupported, but with passages or quotes")
    else:
        need(quotes, where, f"{verdict}, but without a quote")
        need(
            set(alone) <= {quote["rank"] for quote in quotes},
            where,
            "a passage alone decides the verdict, but has no quote",
        )
    need(verdict == "supported" or entry.get("reason"), where, "not supported, but without a reason")
    return {
        "text": answer[start:end],
        "start": start,
        "end": end,
        "statement": entry["statement"],
        "label": int(verdict == "supported"),
        "verdict": verdict,
        "passages": alone,
        "quotes": quotes,
        "note": entry.get("reason", ""),
        "reference": entry["reference"],
    }


def helping(offered: list[list[str]], helpful: dict[int, list[int]], where: str) -> list[str]:
    """Return the helpful sentences, each once.

    Raises MistakeError for a sentence that is helpful in one passage but not in another.
    """
    numbered = [(rank, at, text) for rank, texts in enumerate(offered, 1) for at, text in enumerate(texts, 1)]
    chosen = dict.fromkeys(text for rank, at, text in numbered if at in helpful.get(rank, []))
    for rank, at, text in numbered:
        need(
            text not in chosen or at in helpful.get(rank, []),
            where,
            f"sentence {rank}.{at} is helpful in another passage",
        )
    return list(chosen)


def of_reference(entry: Row, judged: Row, reference: str, passages: list[str], where: str) -> Row:
    """Return a statement of the reference with its verdicts against the answer and the passages."""
    start, end = place(reference, entry["quote"], where)
    where = f"{where}, {entry['quote']!r}"
    need(judged["answer"] in LABELS, where, f"answer {judged['answer']}")
    alone = ranks(judged["passages"], passages, where)
    return {
        "text": reference[start:end],
        "start": start,
        "end": end,
        "statement": entry["statement"],
        "answer": judged["answer"],
        "passages": alone,
        "together": bool(alone) or bool(judged.get("together")),
    }


def recorded(entry: Row, sample: Row, run: str, references: list[Row]) -> Row:
    """Return the authors' statements, verdicts and ratings for one answer."""
    where = f"{run}/{sample['id']}"
    passages = [passage["text"] for passage in sample["contexts"]]
    answer, reference = sample["answer"], sample["reference"]
    need(len(entry["reference"]) == len(references), where, "the number of statements of the reference differs")
    offered = [sentences(text) for text in passages]
    helpful = {int(rank): numbers for rank, numbers in entry["helpful"].items()}
    ranks(list(helpful), passages, f"{where}, helpful")
    for rank, numbers in helpful.items():
        need(all(1 <= number <= len(offered[rank - 1]) for number in numbers), where, f"helpful {rank}: {numbers}")
    ratings = entry["ratings"]
    need(set(ratings) == set(QUALITIES), where, f"ratings {sorted(ratings)}")
    need(all(isinstance(value, int) and 0 <= value <= 10 for value in ratings.values()), where, f"ratings {ratings}")
    need(isinstance(entry["refuses"], bool), where, "refuses is true or false")
    return {
        "id": where,
        "run": run,
        "sample": sample["id"],
        "question": sample["question"],
        "contexts": passages,
        "answer": answer,
        "reference": reference,
        "refuses": entry["refuses"],
        "statements": [statement(one, answer, passages, where) for one in entry["statements"]],
        "reference_statements": [
            of_reference(one, judged, reference, passages, where)
            for one, judged in zip(references, entry["reference"], strict=True)
        ],
        "helpful": helping(offered, helpful, where),
        "ratings": ratings,
        "relevance_reason": entry.get("relevance_reason", ""),
        "annotator": ANNOTATOR,
    }


def authored(names: Sequence[str] = ("part1", "part2", "part3")) -> list[Row]:
    """Read the files of the authors, in the order of the questions."""
    rows = [row for name in names for row in read(AUTHORS / f"{name}.jsonl")]
    return sorted(rows, key=lambda row: str(row["id"]))


def recordings(rows: list[Row]) -> dict[str, list[Row]]:
    """Return the rows of `answers.jsonl` for each run."""
    return {
        run: [recorded(row["runs"][run], by_id[row["id"]], run, row["reference_statements"]) for row in rows]
        for run, by_id in samples().items()
    }


def preferences(rows: list[Row]) -> list[Row]:
    """Return the rows of `pairs.jsonl`: which answer the authors prefer. The first run is A."""
    by_run = samples()
    a, b = by_run
    made: list[Row] = []
    for row in rows:
        for quality in PREFERENCES:
            entry = row["prefer"][quality]
            where = f"{row['id']}:{quality}"
            need(entry["better"] in (a, b, "tie"), where, f"better: {entry['better']}")
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
                    "preferred": {a: "a", b: "b"}.get(entry["better"], "tie"),
                    "note": entry["reason"],
                    "annotator": ANNOTATOR,
                }
            )
    return made


def judgements(rows: list[Row]) -> dict[str, list[object]]:
    """Return all judgements by kind; for two sets of verdicts, they are in the same order."""
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
    """Return Cohen's kappa of two lists of judgements on the same items."""
    n = len(first)
    agree = sum(one == other for one, other in zip(first, second, strict=True)) / n
    chance = sum(first.count(value) * second.count(value) for value in set(first)) / n**2
    return (agree - chance) / (1 - chance)


def agreement() -> Iterator[str]:
    """Yield a line for each kind of judgement: how often the first and the second verdicts agree."""
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
    """Return the text of each file to write."""
    rows = authored()
    files = {"answers.jsonl": [row for of_run in recordings(rows).values() for row in of_run]}
    files["pairs.jsonl"] = preferences(rows)
    return {
        HERE / "verdicts" / name: "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in written)
        for name, written in files.items()
    }


def main() -> None:
    """Write the files, or with --check print which files on disk differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file differs")
    parser.add_argument(
        "--second", action="store_true", help="write nothing; print how often the first and the second verdicts agree"
    )
    parser.add_argument("--only", metavar="PART", help="write nothing; check one file of the authors, such as part1")
    given = parser.parse_args()
    if given.only:
        rows = authored([given.only])
        preferences(rows)
        print({run: len(of_run) for run, of_run in recordings(rows).items()})
        return
    if given.second:
        print("\n".join(agreement()))
        return
    stale: list[str] = []
    for path, text in texts().items():
        if not given.check:
            path.write_text(text, encoding="utf-8", newline="\n")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
    if stale:
        sys.exit(f"different on disk: {', '.join(stale)}")


if __name__ == "__main__":
    try:
        main()
    except MistakeError as error:
        sys.exit(str(error))
