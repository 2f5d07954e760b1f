"""Whatever text goes into a report comes out as text."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragboard.export.html import element, html, readable

HOSTILE = (
    "<script>window.hacked=1</script>",
    "</style></title><img src=x onerror=window.hacked=1>",
    '"onmouseover="window.hacked=1',
    "]]><!-- --!>",
    "\u202egnp.exe\u2066",
    "half \ud83d of it",
    "nul \x00 \x1b[31m",
    "&lt;b&gt; & &amp;",
)
texts = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=60))


class Read(HTMLParser):
    """What a parser makes of a piece of HTML."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: dict[str, str | None] = {}
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= dict(attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


@given(texts, texts)
def test_a_parser_reads_back_the_text_and_no_other_tag(text: str, title: str) -> None:
    found = Read(html(element("p", text, element("b", text), title=title)))
    assert found.tags == ["p", "b"]
    assert found.text == readable(text) * 2
    assert found.attributes == {"title": readable(title)}


@given(texts)
def test_readable_text_can_be_written_and_keeps_every_position(text: str) -> None:
    shown = readable(text)
    assert len(shown) == len(text)
    shown.encode("utf-8")
    assert not {"\x00", "\u202e", "\x1b"} & set(shown)


def test_attributes_are_named_as_html_has_them() -> None:
    assert html(element("td", data_title="A", class_="x", hidden=True, id=None)) == (
        '<td data-title="A" class="x" hidden=""></td>'
    )


def test_nothing_is_nothing_and_a_void_element_has_no_end() -> None:
    assert html(element("p", None, element("br"), "x")) == "<p><br>x</p>"


@pytest.mark.parametrize("where", ["javascript:alert(1)", "https://example.com", "#s1 onclick", "//x", ""])
def test_no_link_leads_out_of_the_document(where: str) -> None:
    with pytest.raises(ValueError, match="no place in the document"):
        element("a", "x", href=where)
