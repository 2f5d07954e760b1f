"""Parse the `str()` or `repr()` of objects of LangChain, Haystack, LlamaIndex, OpenAI and Anthropic.

`json.dumps(rows, default=str)` and `DataFrame.to_csv` write objects like this. Some of these texts are cut off, and
some do not escape quotes. Text that could be read in two ways is an error.
"""

from __future__ import annotations

import ast
import re
import warnings
from contextlib import suppress
from typing import Any, TypeAlias

__all__ = ["WRITE", "PrintedError", "may_be_printed", "read_printed", "read_python"]

ParsedObject: TypeAlias = "dict[str, Any]"

LITERAL = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
CLASSES = "Document|NodeWithScore|TextNode|ImageNode|IndexNode|Node|Passage|ChatMessage|GeneratedAnswer|TextContent"
MESSAGES = "HumanMessage|AIMessage|SystemMessage|ToolMessage|FunctionMessage"
ANSWERS = (
    r"\w*ChatCompletion\w*|ModelResponse|(?:Parsed)?Response(?:Output|Reasoning|Function)\w+"
    r"|(?:Response|Completion)(?=\(id=)|Choice(?=\((?:finish_reason|index)=)|(?:Beta)?Message(?=\((?:id|content)=)"
    r"|(?:Beta)?(?:Redacted)?(?:Text|Thinking|ToolUse|ServerToolUse|ToolResult|Image|Document|WebSearchToolResult)Block"
)
"""Matches the response classes of the packages of OpenAI, Anthropic and LiteLLM."""
PRINTED = re.compile(rf"(?:{CLASSES}|(?:{MESSAGES})(?:Chunk)?|(?:{ANSWERS})(?:\[\w+\])?)\(\w+=")
may_be_printed = re.compile(r"\s*+(?:[<\[]|(?:Node|Doc) ID: |(?:page_)?content=|\w++(?:\[\w+\])?\()").match
"""A quick check: matches the beginning of every text that `read_printed` can read, and of few others."""
ADDRESS = re.compile(r"<(?P<name>[\w.<>]+) object at 0x[0-9a-fA-F]+>")
NODE = re.compile(r"(?:Node|Doc) ID: \S+\nText: ")
LANGCHAIN = re.compile(r"page_content=(?=['\"])")
END_OF_TEXT = re.compile(r"'(?= metadata=\{)")
OLD_LANGCHAIN = re.compile(r"(?P<text>\"(?:[^\"\\]|\\.)*\")(?: metadata=\{.*\})?", re.DOTALL)
MESSAGE = re.compile(rf"content=(?P<text>{LITERAL}) (?:additional_kwargs|response_metadata)=\{{.*\}}.*", re.DOTALL)
MESSAGE_START = re.compile(r"content=['\"\[].* (?:additional_kwargs|response_metadata)=\{", re.DOTALL)
HAYSTACK = re.compile(r"Document\(id=(?P<id>[^,]*), content: '")
END_OF_CONTENT = re.compile(r"'(?=\)$|, (?:blob|meta|score|embedding|sparse_embedding|dataframe): )")
NEXT_IN_LIST = re.compile(r", (?=Document\(id=[^,]*, content: ')")
HAYSTACK_MAX_CHARS = 100
ROLES = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "tool",
}
WRITE = "write the object's text to the file instead (page_content, content or get_content())"


class PrintedError(ValueError):
    """The `repr()` of an object cannot be parsed. The message says why, and what to write to the file instead."""


def read_printed(text: str) -> ParsedObject | list[ParsedObject] | None:
    """Return the fields of the object, or of each object in the list, that was printed; None for any other text.

    Raises PrintedError if the text of the object is cut off or ambiguous.
    """
    body = text.strip()
    if address := ADDRESS.fullmatch(body):
        raise PrintedError(f"is the repr() of a {address['name'].rpartition('.')[2]} without its text; {WRITE}")
    if NODE.match(body):
        raise PrintedError(f"is the str() of a LlamaIndex node, cut off after 350 characters; {WRITE}")
    if LANGCHAIN.match(body):
        return _langchain(body)
    if MESSAGE_START.match(body):
        return _message(body)
    if HAYSTACK.match(body):
        return _haystack(body)
    if body.startswith("[") and body.endswith("]"):
        return _read_list(body)
    return _read_call(body) if PRINTED.match(body) and body.endswith(")") else None


def _read_list(body: str) -> list[ParsedObject] | None:
    inner = body[1:-1].strip()
    if HAYSTACK.match(inner):
        return [_haystack(item) for item in NEXT_IN_LIST.split(inner)]
    if ADDRESS.match(inner):
        raise PrintedError(f"is the repr() of a list of objects without their texts; {WRITE}")
    if not PRINTED.match(inner):
        return None
    items = read_python(body)
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise PrintedError(f"is the repr() of a list of objects and cannot be parsed; {WRITE}")
    return items


def _read_call(body: str) -> ParsedObject:
    fields = read_python(body)
    if not isinstance(fields, dict) or not fields.keys() & {"text", "page_content", "content", "node", "text_resource"}:
        raise PrintedError(f"is the repr() of an object and cannot be parsed; {WRITE}")
    return fields


def _langchain(body: str) -> ParsedObject | None:
    """Parse `page_content='..' metadata={..}`. The text is not escaped; in old versions, it is a Python literal."""
    quoted = body.removeprefix("page_content=")
    if not quoted.endswith(("'", '"', "}")):
        return None
    if old_form := OLD_LANGCHAIN.fullmatch(quoted):
        return {"page_content": read_python(old_form["text"])}
    ends = [match.start() for match in END_OF_TEXT.finditer(quoted)] if quoted.endswith("}") else [len(quoted) - 1]
    text = quoted[1 : ends[0]] if len(ends) == 1 and quoted.startswith("'") else None
    if text is None or ("\\" in text and "\n" not in text):
        raise PrintedError(f"is the str() of a LangChain document, and the end of its text is ambiguous; {WRITE}")
    return {"page_content": text}


def _message(body: str) -> ParsedObject:
    match = MESSAGE.fullmatch(body)
    if match is None:
        raise PrintedError(f"is the str() of a message with more than one text; {WRITE}")
    return {"content": read_python(match["text"])}


def _haystack(body: str) -> ParsedObject:
    start = HAYSTACK.match(body)
    rest = body[start.end() :] if start else ""
    ends = [match.start() for match in END_OF_CONTENT.finditer(rest)]
    if start is None or len(ends) != 1 or not body.endswith(")"):
        raise PrintedError(f"is the repr() of a Haystack document, and the end of its text is ambiguous; {WRITE}")
    text = rest[: ends[0]]
    if len(text) == HAYSTACK_MAX_CHARS + 3 and text.endswith("..."):
        raise PrintedError(
            f"is the repr() of a Haystack document, cut off after {HAYSTACK_MAX_CHARS} characters; {WRITE}"
        )
    return {"id": start["id"], "content": text}


def read_python(body: str) -> Any:
    """Return the value of a Python literal or of a constructor call (as a dict), without running code; else None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape such as `\\d` in the file
            return _value(ast.parse(body, mode="eval").body)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _value(node: ast.expr) -> Any:
    match node:
        case ast.List():
            return [_value(item) for item in node.elts]
        case ast.Dict():
            cells: dict[Any, Any] = {}
            for key, value in zip(node.keys, node.values, strict=True):
                with suppress(ValueError):
                    cells[ast.literal_eval(key) if key else None] = _value(value)
            return cells
        case ast.Call(func=ast.Name(id=name), args=[]):
            fields: ParsedObject = {}
            for keyword in node.keywords:
                with suppress(ValueError):
                    fields[str(keyword.arg)] = _value(keyword.value)
            role = ROLES.get(name.removesuffix("Chunk"))
            return {**fields, "role": role} if role else fields
        case _:
            return ast.literal_eval(node)
