"""Laws of the scanner's parts, and the comparison of the scanner with the plain reading on generated bibliographies."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

from reflink.jats.scanner import characters, tags, vocabulary
from reflink.jats.scanner.vocabulary import ATTRIBUTE, CODES, HASHES, SLOTS, VALUE, name_hash
from tests.profiles import examples
from tests.reflink.jats.articles import article
from tests.reflink.jats.bibliographies import ARTICLES
from tests.reflink.jats.scanned import assert_same

_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)", re.ASCII)
_NOT_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")


@settings(max_examples=examples(600), suppress_health_check=list(HealthCheck))
@given(ARTICLES)
def test_any_bibliography(text: str) -> None:
    assert_same(text.encode(), "x", own_tree=True)


@pytest.mark.parametrize(
    "inside",
    [
        "<article-title>A</article-title>:<article-title></article-title><article-title>B</article-title>",
        "<article-title>A</article-title><article-title>,</article-title><article-title>B</article-title>",
        "<article-title>A<article-title>B</article-title></article-title>C",
        "<name><surname>A</surname><given-names></given-names><given-names>B</given-names></name>",
        "<name><surname>A</surname><given-names/><given-names>B</given-names></name>",
        "<surname>A</surname><collab></collab><given-names>B</given-names>",
        "<surname>A</surname><person-group/><given-names>B</given-names>",
        "<person-group person-group-type='editor'><person-group>x</person-group><surname>B</surname></person-group>",
        "<label> </label><label>&#160;</label><label><![CDATA[1]]>&amp;<sup>a</sup></label>A",
        "<label>1<!-- 2 --><?p 3?></label>A",
        "10 .1000/abc",
        "www <italic/>.x.org",
        "&#x000000000041;&#0000000065;",
        "<mml:math><mml:mi>x</mml:mi><mml:annotation-xml>y</mml:annotation-xml></mml:math>",
        "<!--<source>no</source>--><source a='>'\n b=\"'/>\"\t>yes</source\n><?a <b> ?>",
        "<uri xlink:href='a&amp;b'/><uri xlink:href=''>u</uri><uri></uri>t",
        "a <uri>.b</uri> , c",
        "<year><p>1</p>999</year><year>19<italic>99</italic></year>x",
        "<x:source>a</x:source><mml:source>b</mml:source>",
        "<![CDATA[&amp;]]>&amp;amp;<![CDATA[]]>",
    ],
)
def test_rare_citations(inside: str) -> None:
    spaces = 'xmlns:x="u:x" xmlns:mml="u:m" xmlns:xlink="u:l"'
    for name in ("mixed-citation", "element-citation", "ref"):
        data = article(f"<{name}>{inside}</{name}>", root=f"<article {spaces}>")
        assert assert_same(data, "x", own_tree=True) == 1


@pytest.mark.parametrize(
    "refs",
    [
        "<ref><citation-alternatives><citation-alternatives><citation>A</citation></citation-alternatives>"
        "<citation>B</citation></citation-alternatives><citation>C</citation></ref>",
        "<ref><label>1</label><citation><label> </label>A</citation></ref>",
        "<ref><label> </label><p><label>2</label></p><citation>A</citation><label>3</label></ref>",
        "<fn><ref><fn><citation>no</citation></fn>A</ref></fn>",
        "<ref><person-group person-group-type='editor'><citation><surname>A</surname></citation></person-group></ref>",
        "<ref><pub-id xlink='' href='10.1000/a'></pub-id></ref>",
        "<ref><date-in-citation><citation><year>2004</year></citation></date-in-citation></ref>",
        "<citation id='a'><ref id='b'>A</ref></citation>",
        "<citation publication-type='&#97;\n b'>A</citation><citation publication-type=' '>A</citation>",
    ],
)
def test_rare_entries(refs: str) -> None:
    assert assert_same(article(refs), "x", own_tree=True)


@pytest.mark.parametrize(
    "front",
    [
        "<front><ref-list><ref>A</ref></ref-list></front>",
        "<front><notes><mixed-citation>Own</mixed-citation></notes></front>",
        "<front/><sub-article><front-stub><mixed-citation>Own</mixed-citation></front-stub></sub-article>",
        "<front><p/></front><sub-article><front-stub>citation <mixed-citation>Own</mixed-citation></front-stub></sub-article>",
        "<front></front><response><front><citation>Own</citation></front></response>",
        "<front><!-- </front> --></front><?x </front> <ref>no</ref> ?>",
    ],
)
def test_rare_front_matter(front: str) -> None:
    data = f"<article>{front}<body><p>citation</p></body><back><citation>Stray</citation><ref>B</ref></back></article>"
    assert assert_same(data.encode(), "x", own_tree=True) >= 2


def test_white_space_is_the_same_as_in_python() -> None:
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        assert bool(characters._is_space(code)) == character.isspace() == (not character.split()), hex(code)


@given(st.text(st.sampled_from("0123456789 a-ü"), max_size=30))
def test_years(text: str) -> None:
    data = np.frombuffer(f"2004{text}2005".encode(), np.uint8)
    found = _YEAR.search(text)
    assert characters.year_in(data, 4, len(data) - 4) == (int(found[0]) if found else 0)


def test_each_four_digits() -> None:
    for number in range(10_000):
        expected = number if 1500 <= number < 2100 else 0
        assert characters.year_in(np.frombuffer(f"{number:04}".encode(), np.uint8), 0, 4) == expected


@given(st.integers(1, 0x10FFFF).filter(lambda code: not _NOT_XML.match(chr(code))), st.integers(0, 3), st.booleans())
def test_character_references(code: int, zeros: int, upper: bool) -> None:
    for text in (f"&#{'0' * zeros}{code};", f"&#x{'0' * zeros}{code:{'X' if upper else 'x'}};"):
        data = np.frombuffer(f"a{text}b".encode(), np.uint8)
        assert characters.reference(data, 1, len(data)) == (code, len(data) - 1)
        assert etree.fromstring(f"<a>{text}</a>").text == chr(code)


@pytest.mark.parametrize(("name", "character"), [("amp", "&"), ("lt", "<"), ("gt", ">"), ("quot", '"'), ("apos", "'")])
def test_predefined_entities(name: str, character: str) -> None:
    data = np.frombuffer(f"&{name};".encode(), np.uint8)
    assert characters.reference(data, 0, len(data)) == (ord(character), len(data))


def _names() -> dict[str, int]:
    """Return every name of the table with its code."""
    names = {name: code for code, group in vocabulary._NAMES.items() for name in group.split()}
    names |= {name: vocabulary.FIRST + at for at, name in enumerate(vocabulary.FIRST_FIELDS)}
    names |= {f"@{name}": ATTRIBUTE + code for code, group in vocabulary._ATTRIBUTES.items() for name in group.split()}
    return names | {f"={value}": VALUE + code for value, code in vocabulary._VALUES.items()}


def test_every_name_has_a_distinct_hash_and_its_code() -> None:
    names = _names()
    hashes = {name_hash(name.encode()) for name in names}
    assert len(hashes) == len(names) == np.count_nonzero(HASHES)
    assert 0 not in hashes
    assert len(HASHES) == len(CODES) == SLOTS >= 2 * len(names)
    for name, code in names.items():
        assert tags._code(np.uint64(name_hash(name.encode()))) == code, name


@pytest.mark.parametrize("prefix", ["", "jats:", "x:"])
def test_elements_are_known_by_name(prefix: str) -> None:
    for name, code in _names().items():
        if name[0] in "@=" or name == "math":
            continue
        data = np.frombuffer(f"{prefix}{name} a='b'>".encode(), np.uint8)
        assert tuple(tags.element(data, 0)) == (code, len(prefix) + len(name)), name


@given(st.text(st.sampled_from("abcdefghijklmnopqrstuvwxyz-"), min_size=1, max_size=12))
def test_other_names_are_unknown(name: str) -> None:
    code, _ = tags.element(np.frombuffer(f"{name}>".encode(), np.uint8), 0)
    assert code == (0 if name == "math" else _names().get(name, 0))
