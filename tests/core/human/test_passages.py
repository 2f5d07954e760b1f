"""Tests of passage grades by judge and annotators: kappas by hand and by UMBRELA's code."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.core.conftest import make_run

from ragboard import EmbeddedJudge, JudgeError, Panel, RunFileError, SettingError, Store, evaluate_run, judge_from
from ragboard.cli import main
from ragboard.human.agree import AgreementResult, agree
from ragboard.human.agreement import AgreementData, find_agreement, load_agreement
from ragboard.human.baselines import compare_with_baselines
from ragboard.human.grades import grade_report
from ragboard.human.judge_bench import read_bench_set
from ragboard.human.judge_report import read_judged_rows
from ragboard.human.label_files import import_labels
from ragboard.human.passages import PassageAgreement, passage_agreement
from ragboard.metrics import metrics_named
from ragboard.readers.labels import PASSAGE_RELEVANCE, read_labels
from ragboard.stats import Interval, NoInterval
from ragboard.tasks import Failure, GradePassages, OnCall, PassageGrades, Reply, Task, ignore_call

Row = dict[str, Any]


@dataclass
class Grader:
    """A judge that gives each passage the number at its end, and no grades to a question in `silent`."""

    name: str = "grader"
    heuristic: bool = False
    answers: frozenset[type[Task]] = frozenset({GradePassages})
    asked: list[Task] = field(default_factory=list[Task])
    silent: str = ""

    def identity(self, task: type[Task]) -> str:
        return f"grader/1/{task.__name__}"

    async def answer(self, tasks: Sequence[Task], _hear: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        self.asked.extend(tasks)
        return [self._reply(task) for task in tasks]

    def _reply(self, task: Task) -> Reply | Failure:
        assert isinstance(task, GradePassages)
        if self.silent and task.question == self.silent:
            return Failure(detail="no JSON")
        grades = tuple(int(text.rpartition(" ")[2]) for text in task.passages)
        return PassageGrades(grades=grades, reasons=("because",) * len(grades))


def row(question: str, people: Sequence[int | None], judge: Sequence[int], **more: Any) -> Row:
    contexts = [f"Passage {rank} of {question} is graded {grade}" for rank, grade in enumerate(judge, 1)]
    return {"id": question, "question": question, "contexts": contexts, "passage_grades": list(people), **more}


Write = Callable[[Sequence[Row]], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(rows: Sequence[Row]) -> Path:
        path = tmp_path / "graded.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        return path

    return write


def compared(store: Store, path: Path, judge: Any) -> tuple[AgreementResult, AgreementData, PassageAgreement]:
    result = agree(store, read_labels(str(path)), Panel(judge=judge))
    data = load_agreement(store, find_agreement(store, result.agreement.id))
    found = passage_agreement(data)
    assert found
    return result, data, found


def test_exact_agreement_and_both_kappas_are_those_by_hand(store: Store, write: Write) -> None:
    judge = Grader()
    _, data, found = compared(store, write([row("q1", [3, 0], [3, 0]), row("q2", [2, 1], [3, 1])]), judge)
    assert found.exact.value == pytest.approx(3 / 4)
    by_chance = (1 * 1 + 1 * 1 + 1 * 0 + 1 * 2) / 16  # people 0, 1, 2, 3; judge 0, 1, 3, 3
    assert found.kappa.value == pytest.approx((3 / 4 - by_chance) / (1 - by_chance))
    assert found.relevant_kappa.value == pytest.approx(1.0)
    assert (found.passages, found.clusters, found.comparisons, found.unscored) == (4, 2, 4, 0)
    assert isinstance(found.kappa.interval, NoInterval)
    assert "no CI: an interval needs at least 10 clusters, got 2" in found.details
    assert found.sentence == (
        "grader gives 3 of 4 passages the same grade as the annotators: these labels do not show whether this is"
        " more often than by chance."
    )
    assert judge.asked == [
        GradePassages(question=name, passages=texts)
        for name, texts in (
            ("q1", ("Passage 1 of q1 is graded 3", "Passage 2 of q1 is graded 0")),
            ("q2", ("Passage 1 of q2 is graded 3", "Passage 2 of q2 is graded 1")),
        )
    ]
    assert [data.means(PASSAGE_RELEVANCE)[place] for place in range(4)] == [3, 0, 2, 1]


def test_the_interval_draws_whole_questions(store: Store, write: Write) -> None:
    rows = [row(f"q{number}", [3, 2, 1, 0], [3, 2, 1, number % 4]) for number in range(20)]
    _, data, found = compared(store, write(rows), Grader())
    for figure in (found.exact, found.kappa, found.relevant_kappa):
        assert isinstance(figure.interval, Interval)
        assert figure.interval.n == 20
        assert figure.value is not None
        assert figure.interval.low < figure.value < figure.interval.high
    assert found.sentence == (
        "grader gives 65 of 80 passages the same grade as the annotators: significantly more often than by chance."
    )
    assert "80 passages of 20 questions or conversations." in found.details
    report = grade_report(data)
    assert (report.at_least, report.good) == (2, 40)
    comparison = compare_with_baselines(data, PASSAGE_RELEVANCE)
    assert comparison
    assert comparison.sentence.startswith("The grade of grader ranks a relevant passage above an irrelevant one ")


def test_what_the_judge_did_not_grade_is_counted_and_not_0(store: Store, write: Write) -> None:
    rows = [row("q1", [3, 0], [3, 0]), row("q2", [0, 0], [0, 0])]
    _, _, found = compared(store, write(rows), Grader(silent="q2"))
    assert (found.passages, found.unscored, found.exact.value) == (2, 2, 1.0)
    assert "the judge did not grade 2 more" in found.details
    _, _, found = compared(store, write(rows[1:]), Grader(silent="q2"))
    assert (found.exact.value, found.sentence) == (None, "grader graded no passage that annotators graded.")


def test_a_passage_that_a_person_left_open_is_judged_and_not_compared(store: Store, write: Write) -> None:
    judge = Grader()
    _, _, found = compared(store, write([row("q1", [3, None], [3, 0])]), judge)
    assert (found.passages, found.unscored) == (1, 0)
    assert len(judge.asked[0].passages) == 2  # type: ignore[attr-defined]


def test_each_annotator_counts(store: Store, write: Write) -> None:
    rows = [row("q1", [3, 0], [3, 0], annotator="ann"), row("q1", [2, 0], [3, 0], annotator="bob")]
    judge = Grader()
    _, data, found = compared(store, write(rows), judge)
    assert (found.passages, found.comparisons, found.exact.value) == (2, 4, 3 / 4)
    assert "gives the same grade as an annotator in 3 of 4 comparisons" in found.sentence
    assert len(judge.asked) == 1
    assert grade_report(data).annotators.annotators == 2


def test_a_single_grade_leaves_kappa_undefined_with_the_reason(store: Store, write: Write) -> None:
    _, _, found = compared(store, write([row("q1", [3, 3], [3, 3])]), Grader())
    assert (found.exact.value, found.kappa.value) == (1.0, None)
    assert "kappa: four grades undefined, no CI: both raters put every item in the same category" in found.details


def test_an_evaluated_run_is_compared_without_another_call(store: Store, write: Write) -> None:
    prompts: list[str] = []

    def model(asked: Sequence[str]) -> list[str]:
        prompts.extend(asked)
        passages = [{"passage": rank, "reason": "", "grade": 3} for rank in (1, 2)]
        return [json.dumps({"passages": passages})] * len(asked)

    run, judge = make_run(samples=2), judge_from(model, version="1")
    evaluate_run(store, store.add_runs([run])[0].id, metrics_named(["umbrela.ndcg"]), Panel(judge=judge))
    rows = [
        {
            "question": sample.question,
            "answer": sample.answer,
            "contexts": [passage.text for passage in sample.contexts or ()],
            "passage_grades": [3, 1],
        }
        for sample in run.samples
    ]
    assert len(prompts) == 2
    result, _, found = compared(store, write(rows), judge)
    assert (result.asked, result.cached, len(prompts)) == (0, 2, 2)
    assert found.exact.value == 1 / 2


def test_the_command_says_it_first_also_where_no_passage_is_relevant(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragboard.cli.agreement.panel_named", lambda _: Panel(judge=Grader()))
    rows = [row(f"q{number}", [3, 2, 1, 0], [3, 2, 1, number % 4]) for number in range(12)]
    command = ["agree", str(write(rows)), "--store", str(tmp_path / "store")]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    assert done.output.startswith("grader gives 39 of 48 passages the same grade as the annotators: significantly")
    assert "Cohen's kappa: four grades" in done.output.splitlines()[1]
    kept = json.loads(CliRunner().invoke(main, [*command, "--json"]).stdout)["passages"]
    assert (kept["passages"], kept["clusters"]) == (48, 12)
    assert kept["kappa"]["interval"]["low"] < kept["kappa"]["value"] < kept["kappa"]["interval"]["high"]
    done = CliRunner().invoke(
        main, ["agree", str(write([row("q", [0, 1], [0, 1])])), "--store", str(tmp_path / "store")]
    )
    assert done.output.startswith("grader gives 2 of 2 passages")
    assert "0 of 2 items have a mean grade of at least 2 in passage relevance" in done.output


def test_the_embedded_judge_has_no_grades_to_compare(store: Store, write: Write) -> None:
    with pytest.raises(JudgeError, match="embedded does not answer GradePassages"):
        agree(store, read_labels(str(write([row("q1", [3, 0], [3, 0])]))), Panel(judge=EmbeddedJudge()))


@pytest.mark.parametrize(
    ("grades", "message"),
    [
        ([3], "got 1 grades, expected a list with a grade for each of the 2 passages"),
        (3, "got a number, expected a list with a grade for each of the 2 passages"),
        ([3, 4], "has 4, expected whole numbers from 0 to 3, or null"),
        ([3, 0.5], "has 0.5, expected"),
        ([3, "2"], "has '2', expected"),
        ([3, True], "expected whole numbers"),
        ([3, -1], "has -1, expected"),
    ],
)
def test_grades_that_cannot_be_are_an_error_with_their_line(write: Write, grades: Any, message: str) -> None:
    with pytest.raises(RunFileError) as caught:
        read_labels(str(write([row("q1", [3, 0], [3, 0]), row("q2", [3, 0], [3, 0]) | {"passage_grades": grades}])))
    assert message in str(caught.value)
    assert "graded.jsonl:2" in str(caught.value)


def test_other_commands_say_what_the_file_holds(store: Store, write: Write) -> None:
    path = write([row("q1", [3, 0], [3, 0], answer="An answer.")])
    with pytest.raises(SettingError, match="contains grades of passages; try ragboard agree"):
        read_bench_set(str(path))
    with pytest.raises(RunFileError, match="contains grades of passages; try `ragboard agree`"):
        read_judged_rows(path)
    with pytest.raises(RunFileError, match="grades of passages cannot be imported; use ragboard agree"):
        import_labels(store, path, annotator="ann")


def test_both_kappas_are_those_of_umbrela(data: Path, store: Store, write: Write) -> None:
    folder = data / "oracles" / "umbrela_kappa"
    cases = json.loads((folder / "inputs.json").read_text("utf-8"))["cases"]
    expected = json.loads((folder / "expected.json").read_text("utf-8"))["cases"]
    for case, theirs in zip(cases, expected, strict=True):
        _, _, found = compared(store, write([row("q", case["human"], case["judge"])]), Grader())
        assert found.kappa.value == pytest.approx(theirs["kappa_4grade"]), case["id"]
        assert found.relevant_kappa.value == pytest.approx(theirs["kappa_binary_at_2"]), case["id"]
