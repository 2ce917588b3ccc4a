"""Tests that removing bodies and reference lists before parsing does not change the result."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from reflink.jats import Limits, parse
from reflink.jats.trimming import trimmed
from tests.data import jats_folder
from tests.profiles import examples
from tests.reflink.jats.articles import article

#: With another limit of the depth, the parser builds the tree of the whole article.
WHOLE = Limits(depth=255)

REFS = (
    '<ref id="a"><mixed-citation>A &amp; B &#65; <!-- c --><?p q?><x:y xmlns:x="u" z=\'1\'/>é</mixed-citation></ref>'
    '<ref id="b"><mixed-citation>C</mixed-citation></ref>'
)
GOOD = article(REFS, body="<p>a <b c='d'/>x</p>")

PIECES = st.sampled_from(
    (b"<body>", b"</body>", b"<ref-list>", b"</ref-list>", b"<?a ", b"?>", b"<!--", b"-->", b"<p>", b"</p>", b"'", b'"',
     b"&#0;", b"&x;", b"]]>", b"x:", b"<a b='c' b='d'/>", b">", b"<", b"/", b"=", b" ", b"\x01", b"\xef\xbf\xbe",
     b"&#xFFFE;", b"&lt;", b"<!", b"<?xml?>", b"-", b"\xff", b"<![CDATA[", b"xmlns:q='u'", b"&amp")
)  # fmt: skip


def well_formed(data: bytes) -> bool:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        etree.fromstring(data, parser)
    except etree.XMLSyntaxError:
        return False
    return True


@given(st.lists(st.tuples(st.integers(0, len(GOOD)), PIECES, st.sampled_from((0, 0, 0, 1, 3, 8))), max_size=4))
@settings(max_examples=examples(1500))
def test_the_trimmed_article_is_well_formed_if_and_only_if_the_whole_is(edits):
    data = GOOD
    for at, piece, removed in edits:
        data = data[:at] + piece + data[at + removed :]
    shorter = trimmed(data)
    assert shorter is None or well_formed(shorter) == well_formed(data)


@pytest.mark.parametrize(
    "data",
    [
        b"<article><front/><?a <body> ?> </body> <?b ?></article>",
        b"<article><front/><!-- <body> --> </body> <!-- --></article>",
        b"<article><front/><body><b c=\x01'd'/></body></article>",
        b"<article><front/><body></body\x01></article>",
        b"<article><front/><back><ref-list><ref id='a'<ref-list></ref-list>></ref></ref-list></back></article>",
        b"<article><front/><back><ref-list></ref-l<ref-list></ref-list>ist></back></article>",
        b"<article><front/><body><m:x/></body></article>",
        b"<article><front/><body><a b='1' b='2'/></body></article>",
        b"<article><front/><body>]]></body></article>",
        b"<article><front/><body>&#x1;</body></article>",
        b"<article><front/><body>&#6`;</body></article>",
        b"<article><front/><body>&#x6`;</body></article>",
    ],
)
def test_a_broken_article_is_recovered_with_a_warning(data):
    shorter = trimmed(data)
    assert not well_formed(data)
    assert shorter is None or not well_formed(shorter)
    assert parse(data, source="x").warnings


def test_bodies_and_reference_lists_are_removed():
    data = (
        b'<article xmlns:m="u"><front>f</front><body>a<m:i/></body><back><ref-list>r</ref-list>k</back>'
        b"<sub-article><front-stub/><body>b</body><back><ref-list><ref/></ref-list></back></sub-article></article>"
    )
    left = b'<article xmlns:m="u"><front>f</front><back>k</back><sub-article><front-stub/><back></back></sub-article></article>'
    assert trimmed(data) == left


@pytest.mark.parametrize(
    "data",
    [
        b"<article><front/><body><related-article ext-link-type='doi'/></body></article>",
        b"<article><front/><body><![CDATA[x]]></body></article>",
        b"<article><front/></article>",
        b"<papers><article><front/><body/></article></papers>",
        '<?xml version="1.0" encoding="iso-8859-1"?><article><front/><body>\xe9</body></article>'.encode("iso-8859-1"),
    ],
)
def test_articles_that_are_not_trimmed(data):
    assert trimmed(data) is None


def test_trimming_does_not_change_real_articles():
    files = sorted(jats_folder().glob("*.xml"))[::10]
    shortened = 0
    for path in files:
        data = path.read_bytes()
        assert parse(data, source=path.name, infer=False) == parse(data, source=path.name, infer=False, limits=WHOLE), path.name
        shortened += trimmed(data[data.find(b"<article") :]) is not None
    assert shortened > 0.9 * len(files)
