"""Tests of `judge_bench`: figures by hand and by scikit-learn, files and charts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from click.testing import CliRunner, Result
from sklearn.metrics import balanced_accuracy_score, precision_recall_fscore_support, roc_auc_score

from ragboard import EmbeddedJudge, Panel, Store
from ragboard.cli import main
from ragboard.errors import JudgeError, SettingError
from ragboard.export.judge_chart import judge_chart
from ragboard.human.judge_bench import BenchLine, JudgeBench, judge_bench, read_bench_set
from ragboard.records import Label, Verdict
from ragboard.sample_files import sample_folder
from ragboard.stats import Interval, NoInterval
from ragboard.stats.auroc_intervals import auroc_difference, clustered_auroc
from ragboard.stats.bootstrap import REPORT_DRAWS
from ragboard.tasks import Failure, Task, Verification, Verify

LABELS = sample_folder() / "labels"
Said = tuple[Label, float | None]


@dataclass
class ScriptedJudge:
    """Says what it is told to of each statement; of one that it was told nothing of, it fails."""

    name: str
    says: Mapping[str, Said]
    heuristic: bool = False
    answers: frozenset[type[Task]] = frozenset({Verify})
    asked: int = 0

    def identity(self, task: type[Task]) -> str:
        return f"scripted/{self.name}/{task.__name__}"

    async def answer(self, tasks: Sequence[Task], _on_call: object = None) -> list[Verification | Failure]:
        replies: list[Verification | Failure] = []
        for task in tasks:
            assert isinstance(task, Verify)
            self.asked += 1
            known = [self.says.get(text) for text in task.statements]
            if None in known:
                replies.append(Failure(detail="it says nothing"))
            else:
                joint = tuple(Verdict(label=one[0], score=one[1]) for one in known if one)
                replies.append(Verification(joint=joint, single=()))
        return replies


def write(path: Path, rows: Sequence[Mapping[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def row(text: str, label: str | None, cluster: int = 0) -> dict[str, Any]:
    """A row with one statement, its label 1 or 0, or a verdict, or None."""
    given = {"verdict": label} if label in get_args(Label) else {"label": None if label is None else int(label)}
    return {"contexts": ["A passage."], "statements": [{"text": text, **given}], "cluster": f"c{cluster}"}


def bench(store: Path, files: Sequence[str], *judges: Any) -> JudgeBench:
    return judge_bench(Store(store), [read_bench_set(file) for file in files], [Panel(judge=one) for one in judges])


SMALL: list[tuple[str, Said]] = [
    ("supported", ("supported", 0.95)),
    ("supported", ("supported", 0.85)),
    ("supported", ("unsupported", 0.35)),
    ("unsupported", ("supported", 0.65)),
    ("unsupported", ("unsupported", 0.25)),
    ("contradicted", ("contradicted", 0.05)),
    ("contradicted", ("unsupported", 0.35)),
]


def small(folder: Path) -> tuple[str, ScriptedJudge]:
    rows = [row(f"s{number}", label, number) for number, (label, _) in enumerate(SMALL)]
    return write(folder / "small.jsonl", rows), ScriptedJudge(
        "scripted", {f"s{number}": said for number, (_, said) in enumerate(SMALL)}
    )


def test_the_figures_of_a_small_set_are_those_by_hand(tmp_path: Path) -> None:
    """Of 3 x 4 pairs the judge orders 10.5 rightly: .35 loses to .65 and ties with .35."""
    file, judge = small(tmp_path)
    found = bench(tmp_path / "store", [file], judge)
    (only,) = found.sets
    assert (only.n, only.clusters, only.base_rate) == (7, 7, pytest.approx(3 / 7))
    assert only.verdicts == {"supported": 3, "unsupported": 2, "contradicted": 2}
    figures = found.lines[0].by_set["small"]
    assert figures.auroc.value == pytest.approx(10.5 / 12)
    assert figures.auroc.interval == NoInterval(reason="an interval needs at least 10 clusters, got 7", n=7)
    assert figures.balanced_accuracy
    assert figures.balanced_accuracy.value == pytest.approx((2 / 3 + 3 / 4) / 2)
    parts = {
        verdict: (one.labelled, one.predicted, one.precision, one.recall) for verdict, one in figures.verdicts.items()
    }
    assert parts == {
        "supported": (3, 3, pytest.approx(2 / 3), pytest.approx(2 / 3)),
        "unsupported": (2, 3, pytest.approx(1 / 3), pytest.approx(1 / 2)),
        "contradicted": (2, 1, 1.0, 0.5),
    }
    # bins of .1: .95 and .85 are right, .35 is twice, once right; .65, .25 and .05 are wrong
    by_hand = (0.05 + 0.15 + 2 * abs(0.35 - 0.5) + 0.65 + 0.25 + 0.05) / 7
    assert figures.calibration_error == pytest.approx(by_hand)
    assert found.bins == 10


def simulated(folder: Path, name: str, rng: np.random.Generator, texts: int) -> tuple[str, dict[str, Any]]:
    """A set whose statements come in clusters of three, and for each the label, verdicts and score of two judges."""
    rows: list[dict[str, Any]] = []
    known: dict[str, Any] = {}
    for number in range(texts):
        label = str(rng.choice(["supported", "unsupported", "contradicted"], p=[0.5, 0.3, 0.2]))
        text = f"{name} {' '.join(rng.choice(['a', 'passage', 'b', 'c'], size=4))} {number}"
        verdicts = [
            label if rng.random() < share else str(rng.choice(["supported", "unsupported", "contradicted"]))
            for share in (0.6, 0.4)
        ]
        scores = [float(np.clip((label == "supported") * 0.3 + rng.normal(0.35, 0.25), 0, 1)) for _ in range(2)]
        rows.append(row(text, label, number // 3))
        known[text] = (label, verdicts, scores, f"c{number // 3}")
    return write(folder / f"{name}.jsonl", rows), known


@pytest.fixture
def three(tmp_path: Path) -> tuple[list[str], list[dict[str, Any]], list[ScriptedJudge]]:
    """Three sets of different sizes, and two judges on them."""
    rng = np.random.default_rng(7)
    made = [simulated(tmp_path, name, rng, size) for name, size in (("one", 60), ("two", 90), ("three", 45))]
    judges = [
        ScriptedJudge(
            f"judge{place}",
            {
                text: (verdicts[place], scores[place])
                for _, known in made
                for text, (_, verdicts, scores, _) in known.items()
            },
        )
        for place in range(2)
    ]
    return [file for file, _ in made], [known for _, known in made], judges


def expected_calibration_error(scores: Any, truth: Any, weights: Any) -> float:
    """A second implementation."""
    bins = np.minimum((scores * 10).astype(int), 9)
    gaps = [abs(float((weights * (scores - truth))[bins == one].sum())) for one in range(10)]
    return sum(gaps) / float(weights.sum())


def test_the_figures_are_those_of_a_second_implementation(tmp_path: Path, three: Any) -> None:
    files, sets, judges = three
    found = bench(tmp_path / "store", files, *judges)
    areas: list[float] = []
    pooled: list[tuple[Any, Any, Any]] = []
    words = ["supported", "unsupported", "contradicted"]
    for name, known in zip(("one", "two", "three"), sets, strict=True):
        labels = [label for label, *_ in known.values()]
        truth = np.array([label == "supported" for label in labels])
        groups = [cluster for *_, cluster in known.values()]
        scores = [np.array([each[place] for _, _, each, _ in known.values()]) for place in range(2)]
        verdicts = [[each[place] for _, each, _, _ in known.values()] for place in range(2)]
        for place, line in enumerate(found.lines[:2]):
            figures = line.by_set[name]
            assert figures.auroc.value == pytest.approx(roc_auc_score(truth, scores[place]))
            assert figures.auroc.interval == clustered_auroc(
                list(scores[place]), list(truth), groups, draws=REPORT_DRAWS
            )
            said = [one == "supported" for one in verdicts[place]]
            assert figures.balanced_accuracy
            assert figures.balanced_accuracy.value == pytest.approx(balanced_accuracy_score(truth, said))
            precision, recall, _, counts = precision_recall_fscore_support(labels, verdicts[place], labels=words)
            for number, word in enumerate(words):
                one = figures.verdicts[word]
                assert (one.precision, one.recall, one.labelled) == (
                    pytest.approx(precision[number]),
                    pytest.approx(recall[number]),
                    counts[number],
                )
            error = expected_calibration_error(scores[place], truth, np.ones(len(truth)))
            assert figures.calibration_error == pytest.approx(error)
        areas.append(float(roc_auc_score(truth, scores[0])))
        pooled.append((scores[0], truth, np.full(len(truth), 1 / len(truth))))
        difference = found.differences[0].by_set[name]
        assert difference.interval == auroc_difference(
            list(scores[1]), list(scores[0]), list(truth), groups, draws=REPORT_DRAWS
        )
        overlap = [len({*text.lower().split()} & {"a", "passage"}) / len({*text.split()}) for text in known]
        better = found.lines[0].by_set[name].better_by
        assert better
        assert better.interval == auroc_difference(list(scores[0]), overlap, list(truth), groups, draws=REPORT_DRAWS)
        assert found.lines[2].by_set[name].auroc.value == pytest.approx(roc_auc_score(truth, overlap))
    mean = found.lines[0].mean
    assert mean.auroc.value == pytest.approx(np.mean(areas))
    assert isinstance(mean.auroc.interval, Interval)
    assert mean.auroc.interval.low < np.mean(areas) < mean.auroc.interval.high
    together = [np.concatenate(parts) for parts in zip(*pooled, strict=True)]
    assert mean.pooled_calibration_error == pytest.approx(expected_calibration_error(*together))
    assert (mean.sets, mean.n) == (3, 195)


def without_time(line: BenchLine) -> BenchLine:
    """A line without what the clock says, and with its sets in order."""
    by_set = {at: replace_cost(figures) for at, figures in sorted(line.by_set.items())}
    return type(line)(**{**vars(line), "by_set": by_set, "mean": replace_cost(line.mean)})


def replace_cost(figures: Any) -> Any:
    return type(figures)(**{**vars(figures), "cost": None})


def test_other_judges_and_the_order_of_files_change_no_figure(tmp_path: Path, three: Any) -> None:
    files, _, judges = three
    alone = bench(tmp_path / "alone", files, judges[1])
    both = bench(tmp_path / "both", files, *judges)
    turned = bench(tmp_path / "turned", files[::-1], *judges[::-1])
    lines = {line.name: without_time(line) for line in alone.lines}
    for other in (both, turned):
        others = {line.name: without_time(line) for line in other.lines}
        assert lines == {name: others[name] for name in lines}
    assert turned.differences[0].mean.value == pytest.approx(-(both.differences[0].mean.value or 0))


def test_every_set_weighs_the_same_and_the_mean_of_one_set_is_its_own(tmp_path: Path, three: Any) -> None:
    files, _, judges = three
    found = bench(tmp_path / "store", files[:1], judges[0])
    line = found.lines[0]
    assert isinstance(line.mean.auroc.interval, Interval)
    own = line.by_set["one"].auroc
    assert isinstance(own.interval, Interval)
    assert (line.mean.auroc.value, line.mean.auroc.interval.low) == pytest.approx((own.value, own.interval.low))
    assert line.mean.pooled_calibration_error == pytest.approx(line.by_set["one"].calibration_error)


def test_a_second_run_makes_no_calls(tmp_path: Path, three: Any) -> None:
    files, _, judges = three
    first = bench(tmp_path / "store", files, judges[0])
    asked = judges[0].asked
    again = bench(tmp_path / "store", files, judges[0])
    assert asked == judges[0].asked == 195 / 3, "statements of one answer are asked about at once"
    assert without_time(first.lines[0]) == without_time(again.lines[0])
    assert first.lines[0].mean.cost
    assert first.lines[0].mean.cost.times_regex
    assert again.lines[0].mean.cost
    assert again.lines[0].mean.cost.times_regex is None


def test_failed_texts_are_unscored_and_differences_are_of_what_both_judged(tmp_path: Path) -> None:
    file, judge = small(tmp_path)
    half = ScriptedJudge("half", {text: said for text, said in judge.says.items() if text not in ("s0", "s5")})
    found = bench(tmp_path / "store", [file], judge, half)
    assert [found.lines[place].by_set["small"].unscored for place in (0, 1)] == [0, 2]
    assert found.differences[0].by_set["small"].value == 0


def test_a_judge_without_scores_is_ranked_by_its_verdicts_and_has_no_calibration(tmp_path: Path) -> None:
    file, judge = small(tmp_path)
    plain = ScriptedJudge("plain", {text: (label, None) for text, (label, _) in judge.says.items()})
    figures = bench(tmp_path / "store", [file], plain).lines[0].by_set["small"]
    assert (figures.ranked_by, figures.calibration_error) == ("verdict", None)
    assert figures.balanced_accuracy
    assert figures.auroc.value == pytest.approx(figures.balanced_accuracy.value)


def test_a_file_that_tells_no_contradictions_has_two_verdicts(tmp_path: Path) -> None:
    _, judge = small(tmp_path)
    rows = [row(f"s{number}", "1" if label == "supported" else "0") for number, (label, _) in enumerate(SMALL)]
    found = bench(tmp_path / "store", [write(tmp_path / "two.jsonl", rows)], judge)
    figures = found.lines[0].by_set["two"].verdicts
    assert {word: (one.labelled, one.predicted) for word, one in figures.items()} == {
        "supported": (3, 3),
        "unsupported": (4, 4),
    }


def test_what_people_left_open_is_not_asked(tmp_path: Path) -> None:
    file, judge = small(tmp_path)
    more = write(tmp_path / "open.jsonl", [*map(json.loads, Path(file).read_text().splitlines()), row("open", None)])
    found = bench(tmp_path / "store", [more], judge)
    assert (judge.asked, found.sets[0].undecided, found.sets[0].n) == (7, 1, 7)


def test_several_annotators_decide_by_majority(tmp_path: Path) -> None:
    votes = {"s0": "110", "s1": "001", "s2": "101", "s3": "000", "s4": "10"}
    rows = [
        row(text, vote, 0) | {"annotator": f"p{place}"}
        for text, given in votes.items()
        for place, vote in enumerate(given)
    ]
    found = bench(tmp_path / "store", [write(tmp_path / "votes.jsonl", rows)], small(tmp_path)[1])
    assert (found.sets[0].n, found.sets[0].undecided) == (4, 1)
    assert found.sets[0].verdicts == {"supported": 2, "unsupported": 2}


def test_a_judge_that_cannot_answer_a_set_is_left_out_there(tmp_path: Path) -> None:
    file, judge = small(tmp_path)
    sentences = str(LABELS / "sentences.jsonl")
    found = bench(tmp_path / "store", [file, sentences], judge, EmbeddedJudge())
    assert set(found.lines[0].by_set) == {"small"}
    assert "does not answer SelectSentences" in found.lines[0].left_out["sentences"]
    assert (found.lines[0].mean.sets, found.lines[1].mean.sets) == (1, 2)
    with pytest.raises(JudgeError, match="does not answer SelectSentences"):
        bench(tmp_path / "store", [sentences], judge)


def test_a_model_with_a_rule_based_helper_is_rule_based_only_where_the_helper_judges(tmp_path: Path) -> None:
    file, judge = small(tmp_path)
    helped = Panel(judge=judge, fallback=EmbeddedJudge())
    statements, sentences = (read_bench_set(one) for one in (file, str(LABELS / "sentences.jsonl")))
    for sets, heuristic in (([statements], False), ([statements, sentences], True)):
        line, *_ = judge_bench(Store(tmp_path / "store"), sets, [helped]).lines
        assert (line.by_set.keys(), line.heuristic) == ({one.name for one in sets}, heuristic)


def test_whole_answers_are_supported_if_all_their_statements_are(tmp_path: Path) -> None:
    passage = "The Forth Bridge was opened on 4 March 1890. It carries two tracks."
    true, false = "The Forth Bridge was opened in 1890.", "The Tay Bridge was opened in 1887."
    rows = [
        {"question": f"{number}?", "contexts": [passage], "answer": answer, "human": {"faithfulness": grades}}
        for number in range(10)
        for answer, grades in ((true, [4, 4]), (false, [1, 2]), ("I do not know.", 4), (f"{true} {false}", [3, 2]))
    ]
    path = write(tmp_path / "answers.jsonl", rows)
    labelled = read_bench_set(path, label="human.faithfulness", at_least=3)
    found = judge_bench(Store(tmp_path / "store"), [labelled], [Panel(judge=EmbeddedJudge())])
    assert (found.sets[0].kind, found.sets[0].n, found.sets[0].base_rate) == ("answers", 40, 0.5)
    figures = found.lines[0].by_set["answers"]
    assert (figures.n, figures.unscored) == (30, 10)
    assert figures.auroc.value == 1.0
    assert figures.verdicts["supported"].precision == figures.verdicts["supported"].recall == 1.0
    with pytest.raises(SettingError, match=r"contains grades of answers; choose the grade .* --label"):
        read_bench_set(path)
    with pytest.raises(SettingError, match="40 of 40 labels are positive"):
        read_bench_set(path, label="human.faithfulness", at_least=0)


def ragboard(*words: object) -> Result:
    return CliRunner().invoke(main, ["judge-bench", *map(str, words)], catch_exceptions=False)


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_prints_what_it_writes(in_folder: Path) -> None:
    (in_folder / "page.md").write_text("# Mine\n\n<!-- judge-bench -->\nold\n<!-- /judge-bench -->\n\nMore.\n")
    files = (LABELS / "statements.jsonl", LABELS / "sentences.jsonl")
    said = ragboard(*files, "--out", "page.md", "--out", "judges.svg", "--out", "new.md")
    assert said.exit_code == 0
    assert "embedded is rule-based" in said.stderr
    tables = (in_folder / "new.md").read_text(encoding="utf-8")
    assert (in_folder / "page.md").read_text(encoding="utf-8") == (
        f"# Mine\n\n<!-- judge-bench -->\n\n{tables}\n<!-- /judge-bench -->\n\nMore.\n"
    )
    for line in tables.splitlines():
        if line.startswith("| ") and "---" not in line:
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            assert any(all(cell in printed for cell in cells) for printed in said.stdout.splitlines()), line
    again = ragboard(*files, "--out", "new.md")
    assert (again.exit_code, "already exists" in again.stderr) == (2, True)
    assert json.loads(ragboard(*files, "--json").stdout)["lines"][0]["mean"]["sets"] == 2


def test_the_picture_has_a_row_for_each_judge_and_runs_nothing(tmp_path: Path, three: Any) -> None:
    files, _, judges = three
    judges[0].name = "<script>alert(1)</script> of a very long name"
    found = bench(tmp_path / "store", files, *judges)
    picture = judge_chart(found)
    root = ET.fromstring(picture)
    space = "{http://www.w3.org/2000/svg}"
    assert len(root.findall(f"{space}g")) == len(found.lines) * 4
    assert not [*root.iter(f"{space}script")]
    assert "http" not in picture.replace("http://www.w3.org/2000/svg", "")
    for mark in root.iter(f"{space}circle"):
        assert 250 <= float(mark.get("cx", "0")) <= 590


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nothing.jsonl",), "no such file"),
        ((LABELS / "pairs.jsonl",), "pairs.jsonl: contains preferences between two answers; try ragboard agree"),
        ((LABELS / "statements.jsonl",) * 2, "two sets have the name statements"),
        ((LABELS / "statements.jsonl", "--out", "bench.pdf"), "cannot write .pdf; use .md or .svg"),
        ((LABELS / "statements.jsonl", "--judge", "nobody"), "no judge is called 'nobody'"),
        ((LABELS / "statements.jsonl", "--cluster", "talk"), "has no column 'talk'"),
    ],
)
@pytest.mark.usefixtures("in_folder")
def test_what_cannot_be_compared_is_reported(words: tuple[object, ...], message: str) -> None:
    said = ragboard(*words)
    assert said.exit_code == 2
    assert message in said.stderr
    assert "Traceback" not in said.output
