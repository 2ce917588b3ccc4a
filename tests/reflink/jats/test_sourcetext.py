"""Tests that text of XML source is decoded as lxml decodes it."""

from __future__ import annotations

from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from reflink.jats.sourcetext import line, unescaped

XML_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters="\ufffe\uffff"))


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a", "a"), ("", ""), ("&amp;&lt;&gt;&quot;&apos;", "&<>\"'"), ("&amp;lt;", "&lt;"), ("&#38;amp;", "&amp;"),
        ("&#65;&#x41;&#x1F600;&#128512;", "AA😀😀"), ("&#0000065;&#x00041;", "AA"), ("&#1114111;", "\U0010ffff"),
        ("&#0;&#1114112;&#xD800;&#xDFFF;&#xFFFFFF;", "\ufffd" * 5),
        ("&unknown; & &; &#; &#x; &#xg;", "&unknown; & &; &#; &#x; &#xg;"),
        ("&#X41;", "&#X41;"), ("&AMP;", "&AMP;"),
    ],
)  # fmt: skip
def test_unescaped(source: str, text: str) -> None:
    assert unescaped(source) == text


@given(
    st.lists(st.one_of(XML_TEXT.map(escape), XML_TEXT.map(lambda text: "".join(f"&#{ord(c)};&#x{ord(c):x};" for c in text))))
)
def test_text_is_decoded_as_by_lxml(pieces: list[str]) -> None:
    source = "".join(pieces)
    assert unescaped(source) == (etree.fromstring(f"<a>{source}</a>").text or "")


@given(st.text())
def test_a_line_has_no_other_white_space(text: str) -> None:
    found = line(text)
    assert found == " ".join(found.split())
    assert line(escape(" ".join(text.split()))) == " ".join(text.split())


def test_white_space_by_reference() -> None:
    assert line(" a&#10;\n&#xA0;b&#9;") == "a b"
