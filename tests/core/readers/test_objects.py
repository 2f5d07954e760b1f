"""Tests of objects of LangChain, LlamaIndex and Haystack: read by their text.

The classes in this module have the attributes and printed forms of those packages.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pydantic import BaseModel
from tests.core.readers.conftest import Write

from ragboard import Passage, Run, RunFileError, RunFileWarning, Sample, Score, Turn, evaluate, read_runs
from ragboard.cli import main
from ragboard.readers.objects import read_samples

LONG = "The bridge is made of steel and stone and wood. " * 10 + "It opened to traffic in July 2000."
ROW = {"question": "When did the bridge open?", "answer": "The bridge opened to traffic in July 2000."}


@dataclass
class LangChainDocument:
    page_content: str
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    id: str | None = None
    type: str = "Document"

    def __str__(self) -> str:
        return f"page_content='{self.page_content}' metadata={self.metadata}"

    def __repr__(self) -> str:
        return f"Document(metadata={self.metadata}, page_content={self.page_content!r})"


@dataclass
class TextNode:
    text: str
    node_id: str = "n1"
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def get_content(self) -> str:
        return self.text


@dataclass
class NodeWithScore:
    node: Any
    score: float | None = None

    @property
    def text(self) -> str:
        raise ValueError("Node must be a TextNode to get text.")

    def __str__(self) -> str:
        return f"Node ID: n1\nText: {self.node.get_content()[:347]}...\nScore:  {self.score}\n"


class Resource:
    """A node that gives its text by a method alone."""

    id_ = "r1"

    def get_content(self) -> str:
        return LONG


@dataclass
class HaystackDocument:
    id: str
    content: str | None
    score: float | None = None
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __repr__(self) -> str:
        shown = self.content if len(self.content or "") < 100 else f"{(self.content or '')[:100]}..."
        return f"Document(id={self.id}, content: '{shown}')"


@dataclass
class AIMessage:
    content: Any
    type: str = "ai"

    def __repr__(self) -> str:
        return f"AIMessage(content={self.content!r}, additional_kwargs={{}}, response_metadata={{}})"

    def __str__(self) -> str:
        return f"content={self.content!r} additional_kwargs={{}} response_metadata={{}}"


class Role(Enum):
    USER = "user"
    ASSISTANT = "assistant"


@dataclass
class ChatMessage:
    role: Role
    text: str


@dataclass
class Response:
    response: str
    source_nodes: list[Any]


@dataclass
class GeneratedAnswer:
    """What Haystack's AnswerBuilder gives."""

    data: str
    query: str
    documents: list[Any]


@dataclass
class Opaque:
    value: int = 3


def one(row: Mapping[str, Any]) -> Sample:
    (sample,) = read_samples([row], name="run").runs[0].samples
    return sample


def faithfulness(row: Mapping[str, Any]) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RunFileWarning)
        (outcome,) = evaluate([row], metrics="faithfulness").outcomes("faithfulness")
    assert isinstance(outcome, Score)
    return outcome.value


@pytest.mark.parametrize(
    "passage",
    [
        NodeWithScore(TextNode(LONG), 0.5),
        NodeWithScore(Resource(), 0.5),
        HaystackDocument("h1", LONG, 0.5),
        LangChainDocument(LONG),
        {"node": {"id_": "n1", "text": LONG, "class_name": "TextNode"}, "score": 0.5},
        {"lc": 1, "type": "constructor", "id": ["langchain", "Document"], "kwargs": {"page_content": LONG}},
    ],
    ids=["llamaindex", "llamaindex method", "haystack", "langchain", "llamaindex dict", "langchain dict"],
)
def test_a_supported_answer_is_supported_however_far_into_the_passage(passage: Any) -> None:
    assert [text.text for text in one({**ROW, "contexts": [passage]}).contexts or ()] == [LONG]
    assert faithfulness({**ROW, "contexts": [passage]}) == 1.0


def test_a_fact_in_the_metadata_supports_nothing() -> None:
    titled = LangChainDocument("It is made of steel.", {"title": "The bridge opened to traffic in July 2000."})
    assert one({**ROW, "contexts": [titled]}).contexts == (Passage(id="1", text="It is made of steel.", rank=1),)
    assert faithfulness({**ROW, "contexts": [titled]}) == 0.0


def test_ids_and_scores_of_objects_are_kept() -> None:
    found = one(
        {
            **ROW,
            "contexts": [NodeWithScore(TextNode("a", "n7"), 0.5), HaystackDocument("h", "b"), LangChainDocument("c")],
        }
    )
    assert found.contexts == (
        Passage(id="n7", text="a", rank=1, score=0.5),
        Passage(id="h", text="b", rank=2),
        Passage(id="3", text="c", rank=3),
    )


def test_passages_and_turns_of_ours_are_read_in_a_row() -> None:
    row = {**ROW, "contexts": [Passage(id="p", text="a", rank=1)], "history": [Turn(role="assistant", text="Hello")]}
    assert one(row).contexts == (Passage(id="p", text="a", rank=1),)
    assert one(row).history == (Turn(role="assistant", text="Hello"),)


@pytest.mark.parametrize(
    "answer",
    [
        AIMessage("In 2000."),
        AIMessage([{"type": "text", "text": "In 2000."}, {"type": "tool_use", "name": "search"}]),
        ChatMessage(Role.ASSISTANT, "In 2000."),
        Response("In 2000.", [NodeWithScore(TextNode("a"))]),
        GeneratedAnswer("In 2000.", "When?", []),
        {"role": "assistant", "content": "In 2000."},
        [ChatMessage(Role.USER, "When?"), AIMessage("In 2000.")],
    ],
    ids=["message", "parts", "role", "response", "generated answer", "dict", "messages"],
)
def test_an_answer_is_the_text_of_a_message(answer: Any) -> None:
    assert one({"question": "When?", "answer": answer}).answer == "In 2000."


def test_of_messages_as_objects_the_last_of_the_user_is_the_question() -> None:
    talk = [ChatMessage(Role.USER, "Hi"), AIMessage("Hello"), ChatMessage(Role.USER, "When?")]
    found = one({"question": talk, "answer": "In 2000."})
    assert (found.question, found.answer) == ("When?", "In 2000.")
    assert found.history == (Turn(role="user", text="Hi"), Turn(role="assistant", text="Hello"))


@pytest.mark.parametrize(
    ("field", "value", "kind"),
    [
        ("contexts", [Opaque()], "Opaque"),
        ("contexts", {"a", "b"}, "set"),
        ("contexts", [HaystackDocument("h", None)], "HaystackDocument"),
        ("answer", Opaque(), "Opaque"),
        ("answer", {"content": Opaque()}, "Opaque"),
        ("question", Opaque(), "Opaque"),
        ("reference", [Opaque()], "Opaque"),
        ("history", [Opaque()], "Opaque"),
        ("contexts", [Path("handbook.pdf")], "PosixPath"),
        ("contexts", ["whole", {"text": Path("handbook.pdf")}], "PosixPath"),
        ("contexts", Path("handbook.pdf"), "PosixPath"),
        ("answer", Path("handbook.pdf"), "PosixPath"),
    ],
)
def test_an_object_without_a_text_is_rejected_by_its_type(field: str, value: Any, kind: str) -> None:
    with pytest.raises(RunFileError, match=rf"^samples:2: {field}: got an object of type {kind}, expected text"):
        evaluate([ROW, {**ROW, field: value}])


def test_what_is_written_out_without_loss_is_taken() -> None:
    assert one({**ROW, "answer": Decimal("3.50"), "id": np.int64(7), "when": Opaque()}).answer == "3.50"
    passage = LangChainDocument("It is red.", {"source": Path("a.pdf")})
    found = one({**ROW, "id": Path("a/1"), "contexts": [passage]})
    assert (found.id, [text.text for text in found.contexts or ()]) == ("a/1", ["It is red."])


def test_rows_that_are_no_mapping_are_named_by_their_type() -> None:
    with pytest.raises(RunFileError, match="got an object of type Opaque, expected an object with the fields"):
        evaluate([ROW, Opaque()])


class Splits(dict[str, Any]):
    """Splits of a dataset by name."""


class Split:
    """A split of a dataset, as it has columns."""

    column_names = ("question",)


class Answered(BaseModel):
    question: str
    answer: str
    contexts: list[str] | None = None


@dataclass
class Evaluated:
    """A dataset with test cases."""

    test_cases: list[Any]


@dataclass
class Listed:
    """A dataset that gives its rows as a list."""

    rows: list[Any]

    def to_list(self) -> list[Any]:
        return self.rows


@pytest.mark.parametrize(
    "samples",
    [
        {name: [cell] for name, cell in ROW.items()},
        pa.Table.from_pylist([ROW]),
        pd.DataFrame([ROW]),
        [Answered(**ROW)],
        Evaluated([{"input": ROW["question"], "actual_output": ROW["answer"]}]),
        Listed([{"user_input": ROW["question"], "response": ROW["answer"]}]),
        Run(name="run", samples=(Sample(id="1", question=ROW["question"], answer=ROW["answer"]),)),
    ],
    ids=["columns", "Arrow", "pandas", "pydantic", "DeepEval", "ragas", "Run"],
)
def test_what_holds_samples_is_evaluated(samples: Any) -> None:
    result = evaluate(samples, metrics="ragboard.refusal")
    assert [row.question for row in result.samples] == [ROW["question"]]


def test_a_path_is_read_like_the_command_reads_it(write: Write) -> None:
    path = write("mine.jsonl", json.dumps({**ROW, "k": 1}))
    assert evaluate(str(path), metrics="ragboard.refusal").summary.name == "mine"
    assert evaluate(path, metrics="ragboard.refusal", name="other").summary.name == "other"


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (3, "got int, expected the path of a run file, a Run, or samples"),
        (None, "got NoneType, expected the path"),
        (Splits(train=Split(), test=Split()), "got Splits with the splits train, test; pass one of them"),
        ({"question": "Why?", "answer": "So."}, "got a dict, expected a dict of columns"),
        ({"question": ["Why?"], "answer": []}, "got a dict, expected a dict of columns"),
    ],
)
def test_anything_else_is_rejected_by_its_type(samples: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        evaluate(samples)


PRINTED: list[tuple[str, str]] = [
    ("page_content='It's \"red\".\nYes.' metadata={'source': 'a.pdf'}", 'It\'s "red".\nYes.'),
    ("page_content='C:\\new\nline' metadata={'source': 'a.pdf'}", "C:\\new\nline"),
    ("page_content='plain'", "plain"),
    ('page_content="it\'s\\nold" metadata={}', "it's\nold"),
    ("Document(id='d1', metadata={'t': 'x'}, page_content='It\\'s red.')", "It's red."),
    ("Document(page_content=\"it's\", metadata={'when': datetime.datetime(2000, 7, 1)})", "it's"),
    ("Document(id=h1, content: 'It's a short one.', meta: {'a': 'b'}, score: 0.5)", "It's a short one."),
    ("Document(id=h2, content: 'bare')", "bare"),
    ("NodeWithScore(node=TextNode(id_='n2', metadata={}, text='short', mimetype='text/plain'), score=None)", "short"),
]


@pytest.mark.parametrize(("printed", "text"), PRINTED, ids=range(len(PRINTED)))
def test_a_printed_object_whose_text_is_whole_is_read_back(write: Write, printed: str, text: str) -> None:
    path = write("str.jsonl", json.dumps({**ROW, "contexts": [printed]}))
    result = read_runs(path)
    assert [passage.text for passage in result.runs[0].samples[0].contexts or ()] == [text]
    assert "contexts: read from the repr() of an object" in [change.what for change in result.report.coerced]


CUT: list[tuple[str, str]] = [
    ("Node ID: n1\nText: A text that\nis wrapped.\nScore:  0.910\n", "is the str() of a LlamaIndex node, cut off"),
    ("Doc ID: n1\nText: hello", "is the str() of a LlamaIndex node, cut off"),
    (
        f"Document(id=h3, content: '{'x' * 100}...')",
        "is the repr() of a Haystack document, cut off after 100",
    ),
    ("Document(id=h, content: 'a', meta: ', meta: {'b': 'c'})", "the end of its text is ambiguous"),
    ("page_content='a' metadata={'b' metadata={'c': 1}", "the end of its text is ambiguous"),
    ("page_content='a\\nb' metadata={}", "the end of its text is ambiguous"),
    ("<__main__.Chunk object at 0x7f3c1a2b3c4d>", "is the repr() of a Chunk without its text"),
    ("TextNode(id_='1', relationships={<NodeRelationship.SOURCE: '1'>: 2}, text='a')", "cannot be parsed"),
]


@pytest.mark.parametrize(("printed", "why"), CUT, ids=range(len(CUT)))
def test_a_printed_object_that_was_cut_or_is_unclear_is_rejected(
    write: Write, tmp_path: Path, printed: str, why: str
) -> None:
    path = write("str.jsonl", json.dumps({**ROW, "contexts": ["whole", printed]}))
    words = ["evaluate", str(path), "--metrics", "faithfulness", "--store", str(tmp_path / "store")]
    done = CliRunner().invoke(main, words, catch_exceptions=False)
    assert done.exit_code == 2
    assert "str.jsonl:1: contexts: passage 2 is the " in done.stderr
    assert why in done.stderr
    assert "write the object's text to the file instead" in done.stderr


def test_prose_that_mentions_such_objects_is_not_changed(write: Write) -> None:
    texts = [
        "page_content='x' is how LangChain prints a document.",
        "Document(page_content='x') makes one.",
        "[1] Document(page_content='x')",
        "Use <module.Class object at 0x7f> for debugging.",
        "content='x' is an attribute.",
        "['a', 'b'] is a list",
    ]
    path = write("prose.jsonl", json.dumps({**ROW, "contexts": texts}))
    assert [passage.text for passage in read_runs(path).runs[0].samples[0].contexts or ()] == texts


def test_lists_of_documents_in_a_csv_are_lists_of_their_texts(tmp_path: Path) -> None:
    documents = [LangChainDocument("It's red, [old]."), LangChainDocument("Second 'one'", {"k": "v"})]
    haystack = [HaystackDocument("h1", "a, b"), HaystackDocument("h2", "c")]
    frame = pd.DataFrame([{**ROW, "contexts": documents}, {**ROW, "contexts": haystack}])
    frame.to_csv(tmp_path / "frame.csv", index=False)
    first, second = read_runs(tmp_path / "frame.csv").runs[0].samples
    assert [passage.text for passage in first.contexts or ()] == ["It's red, [old].", "Second 'one'"]
    assert second.contexts == (Passage(id="h1", text="a, b", rank=1), Passage(id="h2", text="c", rank=2))


class Bare:
    """An object that Python prints by its address."""


@pytest.mark.parametrize(
    "value",
    [[Bare(), Bare()], np.array([LangChainDocument("a"), LangChainDocument("b")], dtype=object)],
    ids=["addresses", "numpy"],
)
def test_lists_of_other_objects_in_a_csv_are_never_one_passage(tmp_path: Path, value: Any) -> None:
    pd.DataFrame({"question": ["Q"], "contexts": [value]}).to_csv(tmp_path / "frame.csv", index=False)
    with pytest.raises(RunFileError, match=r"frame\.csv:2: contexts: is the repr\(\) of a list of objects"):
        read_runs(tmp_path / "frame.csv")


def test_printed_messages_are_read_as_question_answer_and_history(write: Write) -> None:
    talk = (
        "[HumanMessage(content='Hi', additional_kwargs={}), AIMessage(content=\"It's me\", id='run-1'), "
        "HumanMessage(content='When?', metadata=None, type='human')]"
    )
    answer = "content='In \\'2000\\'.' additional_kwargs={} response_metadata={'model': 'm'} id='run-2'"
    frame = pd.DataFrame([{"question": talk, "answer": answer, "contexts": "[]"}])
    (sample,) = read_runs(write("talk.csv", frame.to_csv(index=False))).runs[0].samples
    assert (sample.question, sample.answer) == ("When?", "In '2000'.")
    assert sample.history == (Turn(role="user", text="Hi"), Turn(role="assistant", text="It's me"))


def test_a_printed_message_in_the_history_needs_its_role(write: Write) -> None:
    row = {**ROW, "history": [str(AIMessage("Hello"))]}
    with pytest.raises(RunFileError, match=r"history: message 1 is the repr\(\) of a message and lacks its role"):
        read_runs(write("talk.jsonl", json.dumps(row)))


OPENAI = (
    "ChatCompletionMessage(content=\"It's Paris\", refusal=None, role='assistant', annotations=[], audio=None, "
    "function_call=None, tool_calls=None)"
)
SAID: list[tuple[str, str]] = [
    (OPENAI, "It's Paris"),
    (f"[{{'role': 'user', 'content': 'Where?'}}, {OPENAI}]", "It's Paris"),
    ("ParsedChatCompletionMessage(content='Paris', role='assistant', parsed=None)", "Paris"),
    ("Message(content='Paris', role='assistant', tool_calls=None)", "Paris"),
    (
        "Message(id='msg_1', content=[TextBlock(text='Paris', type='text')], role='assistant', usage=Usage(n=1))",
        "Paris",
    ),
    ("TextBlock(citations=None, text='Paris', type='text')", "Paris"),
    ("[TextBlock(text='Paris', type='text')]", "Paris"),
    ("[TextBlock(text='Paris,', type='text'), TextBlock(text='France', type='text')]", "Paris,\nFrance"),
    ("[ThinkingBlock(signature='s', thinking='Hm', type='thinking'), TextBlock(text='a', type='text')]", "a"),
    ("ResponseOutputText(annotations=[], text='Paris', type='output_text')", "Paris"),
    ("{'role': 'assistant', 'content': [TextBlock(text='Paris', type='text')]}", "Paris"),
]


@pytest.mark.parametrize(("printed", "text"), SAID, ids=range(len(SAID)))
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_printed_answer_of_openai_or_anthropic_is_its_text(
    write: Write, printed: str, text: str, ending: str
) -> None:
    frame = pd.DataFrame([{"question": "Where?", "answer": printed}])
    content = frame.to_csv(index=False) if ending == "csv" else frame.to_json(orient="records", lines=True)
    (sample,) = read_runs(write(f"said.{ending}", content)).runs[0].samples
    assert sample.answer == text


def test_printed_messages_of_both_kinds_are_a_history(write: Write) -> None:
    row = {"question": "When?", "answer": "Now.", "history": f"[{{'role': 'user', 'content': 'Where?'}}, {OPENAI}]"}
    (sample,) = read_runs(write("talk.jsonl", json.dumps(row))).runs[0].samples
    assert sample.history == (Turn(role="user", text="Where?"), Turn(role="assistant", text="It's Paris"))


UNSAID = [
    f"ChatCompletion(id='c1', choices=[Choice(finish_reason='stop', index=0, message={OPENAI})], created=1)",
    f"Choice(finish_reason='stop', index=0, message={OPENAI})",
    f"[{OPENAI}, <Unset.VALUE: 1>]",
    "ChatCompletionMessage(content=<Unset.VALUE: 1>, role='assistant')",
    "ChatCompletionMessage(content=Lazy('x'), role='assistant')",
    "ParsedChatCompletionMessage[NoneType](content='Paris', role='assistant')",
    "ToolUseBlock(id='t1', input={'city': 'Paris'}, name='search', type='tool_use')",
    "[ToolUseBlock(id='t1', input={'city': 'Paris'}, name='search', type='tool_use')]",
    "Response(id='resp_1', output=[ResponseOutputMessage(id='m', content=[])])",
    "{'role': 'assistant', 'content': array(['a', 'b'])}",
    "{'content': <Unset.VALUE: 1>, 'role': 'assistant'}",
    "[{'role': 'user', 'content': 'a'}\n {'role': 'assistant', 'content': 'b'}]",
]


@pytest.mark.parametrize("printed", UNSAID, ids=range(len(UNSAID)))
@pytest.mark.parametrize("field", ["answer", "question", "history"])
def test_a_printed_answer_without_a_text_that_can_be_read_is_rejected(write: Write, printed: str, field: str) -> None:
    with pytest.raises(RunFileError, match=rf"said\.jsonl:1: {field}: "):
        read_runs(write("said.jsonl", json.dumps({**ROW, field: printed})))


@pytest.mark.parametrize(
    "text",
    [
        "ChatCompletionMessage(content='x') is what it returns.",
        "TextBlock is a class.",
        "{'role': 'user', 'content': 'x'} is a message.",
        "Choice(name='a')",
        "{'city': 'Paris'}",
        "{1, 2}",
    ],
)
def test_an_answer_that_mentions_messages_is_not_changed(text: str) -> None:
    assert one({"question": "Q", "answer": text}).answer == text


def test_real_files_with_printed_documents_are_read_or_refused(data: Path) -> None:
    folder = data / "tools"
    found = read_runs(folder / "langchain" / "retrieval_chain_default_str.jsonl").runs[0].samples
    assert [[passage.text for passage in sample.contexts or ()] for sample in found] == [
        [
            "The Harrow Bridge opened to traffic in July 2000.",
            'Its deck, "the slab", is made of steel | concrete; it\'s 310 m long.',
        ],
        [
            "The design is by Ada Moreno.\nShe worked from 1994, in Lyon.",
            "Contents of menu: ['soup', 'bread']",
            "Ünïcode — 東京 passage",
        ],
        [],
        ["The bridge has four lanes and a footpath."],
    ]
    for same in ("langchain/retrieval_chain_dumps.jsonl", "llamaindex/responses.jsonl"):
        assert [
            [passage.text for passage in sample.contexts or ()] for sample in read_runs(folder / same).runs[0].samples
        ] == [[passage.text for passage in sample.contexts or ()] for sample in found]
