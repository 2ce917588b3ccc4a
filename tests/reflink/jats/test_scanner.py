"""Tests that the compiled scanner reads real articles like the plain reading, and that it bounds its buffers."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys

import pytest

from reflink.errors import TooLarge
from reflink.jats import Limits, parse
from tests.data import ROOT, jats_folder
from tests.reflink.jats.articles import article, assert_fields, cited, references
from tests.reflink.jats.scanned import assert_same

ARTICLES = 1510

_PLAIN_PYTHON = """
import sys
from pathlib import Path
from numba import config
from tests.reflink.jats.scanned import assert_same
assert config.DISABLE_JIT
print(sum(assert_same(Path(name).read_bytes(), name) for name in sys.argv[1:]))
"""
#: Small articles that have, in this order: mixed citations, element citations, MathML, several works in one ref, broken XML.
_SMALL = (
    "tigr2ess__PMC6135824", "evinf__PMC1550632", "tigr2ess__PMC5889786", "tigr2ess__PMC5931542",
    "scielodsm__10.1590_s1806-37132009000300005",
)  # fmt: skip


@pytest.mark.parametrize("part", range(4))
def test_real_articles(part: int) -> None:
    names = sorted(jats_folder().glob("*.xml"))
    assert len(names) == ARTICLES
    assert sum(assert_same(name.read_bytes(), name.name) for name in names[part::4]) > 15_000


def test_the_kernels_give_the_same_result_without_numba() -> None:
    """The kernels do not depend on how machine code wraps or casts numbers."""
    files = [jats_folder() / f"{name}.xml" for name in _SMALL]
    expected = sum(assert_same(file.read_bytes(), file.name) for file in files)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _PLAIN_PYTHON, *map(str, files)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        check=True,
    )
    assert int(done.stdout) == expected > 150


def same(inside: str) -> None:
    """Assert that both readings of this bibliography are equal."""
    assert_same(article(inside), "x", own_tree=True)


@pytest.mark.parametrize(
    "inside",
    [
        "A" + "<uri></uri>" * 3000,
        "A" + "<uri/>" * 3000,
        "<surname>x</surname>" * 3000,
        "<article-title>x</article-title>" * 3000,
        "<collab>x</collab>" * 3000,
        '"\\' * 20_000,
        "&#0033;" * 10_000,
        "<x/>a" * 20_000,
        "<label>" + '"' * 50_000 + "</label>A",
        f"<source>{'x' * 200_000}</source>",
        f"<uri>{'x' * 200_000}</uri>",
    ],
)
@pytest.mark.parametrize("tag", ["mixed-citation", "element-citation"])
def test_large_citations(tag: str, inside: str) -> None:
    same(f"<ref><{tag}>{inside}</{tag}></ref>" * 2)


@pytest.mark.parametrize("attribute", ["publication-type", "id"])
def test_large_attributes(attribute: str) -> None:
    for value in ("\n" * 100_000 + "a", "\\" * 100_000, "&quot;" * 50_000):
        same(f'<ref {attribute}="{value}"><citation {attribute}="{value}">A</citation></ref>')


@pytest.mark.parametrize(
    "tag", ["uri", "pub-id", "elocation-id", "string-name", "collab", "source", "article-title", "italic", "p"]
)
def test_nested_elements_that_repeat_their_text(tag: str) -> None:
    """Each of 240 elements has the whole text: the scanner reads it or raises TooLarge, within its buffers."""
    with contextlib.suppress(TooLarge):
        found = cited(f"{f'<{tag}>' * 240}{'x' * 50_000}{f'</{tag}>' * 240}", "citation")
        assert found.raw_text == "x" * 10_000


def test_different_nested_fields() -> None:
    tags = ("source", "volume", "issue", "fpage", "lpage", "publisher-name", "chapter-title", "trans-title", "part-title",
            "data-title", "page-range", "article-title", "collab", "uri")  # fmt: skip
    opened, closed = "".join(f"<{tag}>" for tag in tags), "".join(f"</{tag}>" for tag in reversed(tags))
    for text in ("x", '"' * 5_000, "é" * 5_000):
        with contextlib.suppress(*([TooLarge] if len(text) > 1 else [])):
            assert_fields(cited(f"{opened}{text}{closed}", "citation"), raw_text=text, venue=text, title=text)


def test_too_many_references() -> None:
    data = article("<ref><citation>A</citation><citation>B</citation></ref>" * 10)
    assert len(parse(data, limits=Limits(references=20)).references) == 20
    for limit in (0, 1, 19):
        with pytest.raises(TooLarge, match=f"x: more than {limit} references"):
            parse(data, source="x", limits=Limits(references=limit))


def test_empty_refs_do_not_count_towards_the_limit() -> None:
    data = article("<ref/><ref></ref><ref><p> </p></ref>" * 100 + "<ref>A</ref>")
    assert len(parse(data, limits=Limits(references=1)).references) == 1


def test_every_plane_of_unicode() -> None:
    for plane in range(17):
        codes = [plane * 0x10000 + offset for offset in (0x21, 0xA1, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFD)]
        text = "".join(map(chr, codes))
        assert cited(f"{text}<source>{text}</source>", "mixed-citation").venue == text
        same(f"<ref><mixed-citation>{text} <source>{text}</source></mixed-citation></ref>")
        by_reference = "".join(f"&#{code};&#x{code:X};" for code in codes)
        assert cited(by_reference, "mixed-citation").raw_text == "".join(chr(code) * 2 for code in codes)


def test_each_citation_of_nested_refs_is_a_reference() -> None:
    inside = "<citation>deepest</citation>"
    for number in range(200):
        inside = f"<ref><citation>work {number}</citation>{inside}</ref>"
    assert [ref.raw_text for ref in references(inside)] == [*(f"work {number}" for number in reversed(range(200))), "deepest"]


def test_a_citation_within_a_citation_is_part_of_it() -> None:
    ref = cited("A <citation publication-type='x'><source>B</source></citation> C", "mixed-citation")
    assert_fields(ref, raw_text="A B C", venue="B", kind=None)


@pytest.mark.parametrize("empty", ["<citation/>", "<citation></citation>", "<citation><!-- --></citation>"])
def test_the_text_beside_an_empty_citation_is_not_a_reference(empty: str) -> None:
    assert references(f"<ref>text{empty}more</ref>") == ()
    assert [ref.raw_text for ref in references(f"<ref>text{empty}<citation>A</citation></ref>")] == ["A"]


@pytest.mark.parametrize("prefix", ["", "j:", "jats:"])
def test_articles_in_a_namespace(prefix: str) -> None:
    """The namespace is the default one, has a prefix, or both in turn."""
    inside = "<Pref id='a'><Plabel>1</Plabel><Pmixed-citation><Psource>A</Psource></Pmixed-citation></Pref>"
    for outer in (prefix, ""):
        spaces = 'xmlns="u:jats" xmlns:j="u:jats" xmlns:jats="u:jats"'
        data = f"<Oarticle {spaces}><Ofront/><Oback><Pref-list>{inside}</Pref-list></Oback></Oarticle>"
        (ref,) = parse(data.replace("P", prefix).replace("O", outer).replace("</<", "</").encode()).references
        assert_fields(ref, xml_id="a", label="1", venue="A")
