"""Tables as plain text and as HTML. Characters that control a terminal or reorder text are replaced."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

__all__ = ["html_table", "one_line", "plain", "text_table"]

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """Replace characters that control a terminal or change the order of the text around them."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def one_line(text: str) -> str:
    """Return the text on one line, made `plain`. In CI, a line that starts like a command might be run."""
    return plain(text).replace("\n", " ")


def text_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return the table in left-aligned columns. Numbers must be padded by the caller."""
    cells = [[one_line(cell) for cell in row] for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    )


def html_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, above: Iterable[str] = (), below: Iterable[str] = ()
) -> str:
    """Return the table as HTML, with a paragraph for each line above and below it. All texts are escaped."""

    def cells(row: Sequence[str], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{html.escape(plain(cell))}</{tag}>' for cell in row)}</tr>"

    def paragraphs(lines: Iterable[str]) -> str:
        return "".join(f"<p>{html.escape(plain(line))}</p>" for line in lines)

    body = "".join(cells(row, "td") for row in rows)
    return (
        f"{paragraphs(above)}<table><thead>{cells(head, 'th')}</thead><tbody>{body}</tbody></table>{paragraphs(below)}"
    )
