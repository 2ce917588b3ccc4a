"""Tests of the original bytes: insertions at places of characters, and the elements that may hold citations."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from reflink.jats.vocabulary import CITING
from reflink.jats.writing.original import Original, elements
from tests.data import jats_folder
from tests.reflink.jats.articles import article

ENCODINGS = ["utf-8", "utf-16", "utf-16-be", "utf-32-le", "shift_jis", "gb18030", "iso-2022-jp", "iso-8859-1"]


@given(st.sampled_from(ENCODINGS), st.text("aé漢<>& \n\U0001f600"), st.lists(st.tuples(st.integers(0, 60), st.text("xé漢"))))
def test_without_the_insertions_the_result_is_the_original(encoding: str, text: str, wanted: list[tuple[int, str]]) -> None:
    declared = f'<?xml version="1.0" encoding="{"utf-16" if encoding.startswith("utf-16") else encoding}"?>'
    whole = declared + text.encode(encoding, "xmlcharrefreplace").decode(encoding)
    data = whole.encode(encoding)
    original = Original(data, "x")
    assert len(original.view) == (len(whole.encode(encoding)) if encoding in ("utf-8", "iso-8859-1") else len(data.decode(
        "utf-16-le" if encoding == "utf-16" else encoding)))  # fmt: skip
    places = sorted(place for place, _ in wanted if place < len(declared))
    texts = [(place, f"[{inserted}]") for place, (_, inserted) in zip(places, wanted, strict=False)]
    written = original.with_insertions(texts, "x")
    codec = "utf-16-le" if encoding == "utf-16" else encoding
    assert written == b"" or written.decode(codec).encode(codec) == written
    assert re.sub(r"\[[^\]]*\]", "", written.decode(codec).replace("[", "[", 1)) == data.decode(codec)


def test_the_elements_of_real_articles() -> None:
    """They are those of lxml, in the same order, and their tags are at their places."""
    count = 0
    for path in sorted(jats_folder().glob("*.xml"))[::60]:
        data = path.read_bytes()
        try:
            root = etree.fromstring(data, etree.XMLParser(resolve_entities=False, load_dtd=False, no_network=True))
        except etree.XMLSyntaxError:
            continue
        found = elements(data)
        assert found is not None
        assert [each.tag.decode() for each in found] == [etree.QName(item).localname for item in root.iter(*CITING)]
        for each in found:
            assert data[each.name - 1 :].startswith(b"<" + each.prefix + each.tag)
            assert each.stop < each.start or data[each.stop :].startswith(b"</" + each.prefix + each.tag)
        count += len(found)
    assert count > 1_000


@pytest.mark.parametrize(
    "refs",
    ["<ref>", "</ref>", "<ref><citation></ref></citation>", "<ref></j:ref>", "<!-- <ref>", "<![CDATA[ <ref>", "<? <ref>"],
)
def test_tags_that_do_not_match(refs: str) -> None:
    assert elements(article(refs)) is None


@pytest.mark.timeout(20)
@pytest.mark.parametrize("part", ["<ref ", "<ref a='", "<!--", "<![CDATA[", "<?", "<ref>", "<ref/>", "<!DOCTYPE [", "<a:ref "])
def test_the_cost_is_linear(part: str) -> None:
    elements(part.encode() * 200_000)
