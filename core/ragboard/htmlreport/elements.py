"""HTML as a tree of elements: text goes in as text and can only come out as text.

Nothing takes markup as a string, so there is no place where escaping could be forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

from ragboard.spans import inert

__all__ = ["Element", "Node", "element", "html", "readable"]

_VOID = frozenset({"br", "meta"})
_UNREADABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_OWN_ADDRESS = re.compile("#[a-z0-9-]*")


@dataclass(frozen=True, slots=True)
class Element:
    """A tag with its attributes and what is in it."""

    tag: str
    attributes: tuple[tuple[str, str], ...]
    children: tuple[Node, ...]


Node: TypeAlias = "Element | str | None"
"""None is nothing."""


def element(tag: str, *children: Node, **attributes: object) -> Element:
    """An element; `class_` stands for class, `_` for `-`, True for an attribute without value, None for none.

    Raises ValueError for a link out of the document: a report leads nowhere else.
    """
    if "href" in attributes and not _OWN_ADDRESS.fullmatch(str(attributes["href"])):
        raise ValueError(f"{attributes['href']!r} is no place in the document")
    given = ((name.rstrip("_").replace("_", "-"), value) for name, value in attributes.items())
    kept = tuple((name, "" if value is True else str(value)) for name, value in given if value not in (None, False))
    return Element(tag, kept, children)


def html(node: Node) -> str:
    """The node as HTML."""
    return "".join(_written(node))


def readable(text: str) -> str:
    """The text as a file in UTF-8 and a page can hold it; every position stays.

    What no text holds (controls, half of a character) becomes a replacement character, and what would reorder
    its surroundings is taken out.
    """
    return _UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", inert(text))


def _written(node: Node) -> Iterator[str]:
    if node is None:
        return
    if isinstance(node, str):
        yield escape(readable(node))
        return
    attributes = "".join(f' {name}="{escape(readable(value))}"' for name, value in node.attributes)
    yield f"<{node.tag}{attributes}>"
    if node.tag not in _VOID:
        for child in node.children:
            yield from _written(child)
        yield f"</{node.tag}>"
