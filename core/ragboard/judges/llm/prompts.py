"""Prompts: one Markdown file each, with `$fields` that are filled strictly, in a versioned set.

A folder of the user's own overrides the set file by file. A file that names a field which its task
does not have, or leaves out one without which the task makes no sense, is refused when it is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from string import Template

from ragboard.errors import SettingError
from ragboard.judges.llm.examples import classify_examples, writing_examples
from ragboard.judges.llm.material import lines, material, numbered
from ragboard.judges.tasks import (
    AnswerKind,
    AresQuality,
    Classify,
    Critique,
    ExtractEntities,
    ExtractStatements,
    GenerateQuestions,
    JudgePassages,
    Prefer,
    Quality,
    Rate,
    RateAnswer,
    SelectSentences,
    Task,
    Verify,
    WriteAnswer,
    WriteQuestions,
)

__all__ = ["PROMPT_FILES", "PROMPT_SET", "Prompts"]

PROMPT_SET = "1"
"""The newest set that the package brings."""

QUALITY_FILES = ("quality_faithfulness", "quality_answer_relevance", "quality_context_relevance")

ANSWER_FILES: dict[AnswerKind, str] = {
    "grounded": "write_grounded_answer",
    "contradictory": "write_contradictory_answer",
    "unaided": "write_unaided_answer",
    "incomplete": "write_incomplete_answer",
}

CLASSIFY_FILES: dict[AresQuality, str] = {
    "context_relevance": "classify_context_relevance",
    "answer_faithfulness": "classify_answer_faithfulness",
    "answer_relevance": "classify_answer_relevance",
}

PROMPT_FILES: dict[type[Task], tuple[str, ...]] = {
    ExtractStatements: ("extract_statements",),
    Verify: ("verify", "verify_joint", "verify_single"),
    GenerateQuestions: ("generate_questions",),
    SelectSentences: ("select_sentences",),
    Critique: ("critique",),
    Rate: ("rate", *QUALITY_FILES),
    Prefer: ("prefer", *QUALITY_FILES),
    JudgePassages: ("judge_passages",),
    ExtractEntities: ("extract_entities",),
    RateAnswer: ("rate_answer",),
    WriteQuestions: ("write_questions",),
    WriteAnswer: tuple(ANSWER_FILES.values()),
    Classify: tuple(CLASSIFY_FILES.values()),
}
"""The files that each task type is asked with; `repair` goes with all of them."""

_VERIFY = ("statements", "passages", "question?")

_FIELDS: dict[str, tuple[str, ...]] = {
    "extract_statements": ("answer", "question?"),
    "verify": _VERIFY,
    "verify_joint": _VERIFY,
    "verify_single": _VERIFY,
    "generate_questions": ("answer", "n"),
    "select_sentences": ("question", "sentences"),
    "critique": ("definition", "material"),
    "rate": ("quality", "material"),
    "prefer": ("quality", "material", "a", "b"),
    "judge_passages": ("question", "answer", "passages"),
    "extract_entities": ("text",),
    "rate_answer": ("question", "answer"),
    "write_questions": ("passage", "n", "examples?"),
    "write_grounded_answer": ("question", "passage", "examples?"),
    "write_contradictory_answer": ("question", "passage", "examples?"),
    "write_unaided_answer": ("question", "examples?"),
    "write_incomplete_answer": ("question", "passage", "examples?"),
    "classify_context_relevance": ("question", "passages", "examples?"),
    "classify_answer_faithfulness": ("passages", "answer", "question?", "examples?"),
    "classify_answer_relevance": ("question", "answer", "passages?", "examples?"),
    "repair": ("problem",),
}
"""The fields of each file; one with a question mark may be left out. Other files have none."""


@dataclass(frozen=True)
class Prompts:
    """The texts of a set, by the names of their files without `.md`."""

    texts: Mapping[str, str]
    examples: Mapping[AresQuality, str] = field(default_factory=dict["AresQuality", str])
    """A person's examples of each quality of ARES, as its prompt shows them."""

    @classmethod
    def read(cls, folder: Path | None = None, examples: Path | None = None) -> Prompts:
        """The package's set, and in place of its files those of `folder`; `examples` is a file of ARES.

        Raises SettingError naming the file: one that the set does not have, or with a wrong field;
        RunFileError for examples that cannot be read.
        """
        own = {} if folder is None else _own(folder)
        texts = {name: own.get(name) or _packaged(name) for name in _names()}
        if examples is None:
            return cls(texts)
        for name in CLASSIFY_FILES.values():
            if "examples" not in Template(texts[name]).get_identifiers():
                raise SettingError(f"{folder}/{name}.md: the field $examples is missing, and examples are given")
        return cls(texts, classify_examples(examples))

    def render(self, task: Task) -> str:
        """What to ask. Raises KeyError for a task type without a prompt."""
        return self._fill(_file(task), _given(self, task))

    def repair(self, problem: str) -> str:
        """What to say to a reply that does not fit."""
        return self._fill("repair", {"problem": problem})

    def digest(self, kind: type[Task]) -> str:
        """A digest of every text that a task of this type may be asked with."""
        texts = [self.texts[name] for name in (*PROMPT_FILES[kind], "repair")]
        if kind is Classify:
            texts += [f"{quality}\n{shown}" for quality, shown in self.examples.items()]
        return blake2b("\0".join(texts).encode(), digest_size=8).hexdigest()

    def _fill(self, name: str, given: Mapping[str, str]) -> str:
        return Template(self.texts[name]).substitute(given).strip()


def _names() -> Iterable[str]:
    return dict.fromkeys((*(name for names in PROMPT_FILES.values() for name in names), "repair"))


def _packaged(name: str) -> str:
    return files("ragboard.judges.llm").joinpath("prompts", PROMPT_SET, f"{name}.md").read_text("utf-8")


def _own(folder: Path) -> dict[str, str]:
    try:
        found = {path.stem: path.read_text("utf-8-sig") for path in sorted(folder.iterdir()) if path.suffix == ".md"}
    except OSError as error:
        raise SettingError(f"{error.filename or folder}: {error.strerror or error}, expected prompt files") from error
    except UnicodeDecodeError as error:
        raise SettingError(f"{folder}: a prompt file is not UTF-8: {error}") from error
    if not found:
        raise SettingError(f"{folder}: holds no prompt file; there may be {', '.join(_names())}, each as .md")
    for name, text in found.items():
        _check(folder / f"{name}.md", text)
    return found


def _check(path: Path, text: str) -> None:
    if path.stem not in _names():
        raise SettingError(f"{path}: no prompt has this name; there are {', '.join(_names())}")
    if not text.strip():
        raise SettingError(f"{path}: the prompt is empty")
    template, fields = Template(text), _FIELDS.get(path.stem, ())
    if not template.is_valid():
        raise SettingError(f"{path}: a `$` that names no field; write `$$` for a dollar sign")
    named, allowed = set(template.get_identifiers()), {field.rstrip("?") for field in fields}
    if unknown := sorted(named - allowed):
        raise SettingError(f"{path}: no field ${unknown[0]} here; there are {_listed(allowed) or 'none'}")
    if absent := sorted(allowed - named - {field.rstrip("?") for field in fields if field.endswith("?")}):
        raise SettingError(f"{path}: the field ${absent[0]} is missing; the prompt needs it")


def _listed(fields: Iterable[str]) -> str:
    return ", ".join(f"${field}" for field in sorted(fields))


def _file(task: Task) -> str:
    if isinstance(task, Verify) and task.joint != task.single:
        return "verify_joint" if task.joint else "verify_single"
    if isinstance(task, WriteAnswer):
        return ANSWER_FILES[task.kind]
    if isinstance(task, Classify):
        return CLASSIFY_FILES[task.quality]
    return PROMPT_FILES[type(task)][0]


def _given(prompts: Prompts, task: Task) -> dict[str, str]:
    texts, examples = prompts.texts, prompts.examples
    match task:
        case Verify():
            return {
                "question": task.question,
                "passages": numbered("passage", task.passages),
                "statements": lines("statement", task.statements),
            }
        case SelectSentences():
            return {"question": task.question, "sentences": lines("sentence", task.sentences)}
        case JudgePassages():
            return _texts(task, "question", "answer") | {"passages": numbered("passage", task.passages)}
        case Classify():
            given = {"passages": numbered("passage", task.contexts), "examples": examples.get(task.quality, "")}
            return _texts(task, "question", "answer") | given
        case Critique():
            shown = material(task.question, task.contexts, task.answer)
            return {"definition": task.definition, "material": shown}
        case Rate():
            return {"quality": _quality(texts, task.quality), "material": _rated(task)}
        case Prefer():
            passages = task.contexts if task.quality == "faithfulness" else ()
            shown = material(task.question, passages, None)
            return {"quality": _quality(texts, task.quality), "material": shown, "a": task.a, "b": task.b}
        case _:
            return _plain(task)


def _plain(task: Task) -> dict[str, str]:
    match task:
        case ExtractStatements():
            return {"question": task.question, "answer": task.text}
        case GenerateQuestions():
            return {"answer": task.answer, "n": str(task.n)}
        case ExtractEntities():
            return {"text": task.text}
        case WriteQuestions():
            return {"passage": task.passage, "n": str(task.n), "examples": writing_examples(task.examples, "question")}
        case WriteAnswer():
            written = "contradictory" if task.kind == "contradictory" else "answer"
            return _texts(task, "question", "passage") | {"examples": writing_examples(task.examples, written)}
        case _:
            return _texts(task, "question", "answer")


def _texts(task: Task, *names: str) -> dict[str, str]:
    return {name: str(getattr(task, name)) for name in names}


def _quality(texts: Mapping[str, str], quality: Quality) -> str:
    return texts[f"quality_{quality}"].strip()


def _rated(task: Rate) -> str:
    """What the quality is about, and no more."""
    contexts = () if task.quality == "answer_relevance" else task.contexts
    answer = None if task.quality == "context_relevance" else task.answer
    return material(task.question, contexts, answer)
