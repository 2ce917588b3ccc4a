"""Tests of each field of a reference, and of the text of a citation."""

from __future__ import annotations

from typing import Any

import pytest

from reflink.bibliography.citation import MAX_TEXT
from reflink.entities import Ids
from tests.reflink.jats.articles import assert_fields, cited, references

ELEMENT = (
    '<person-group person-group-type="author"><name><surname>Gillen</surname><given-names>D</given-names></name>'
    "<name><surname>McColl</surname><given-names>KE</given-names></name></person-group>"
    "<article-title>Disease, <italic>Helicobacter pylori</italic>, and genes</article-title><source>Clin Gastroenterol</source>"
    "<year>2005</year><volume>3</volume><issue>2</issue><fpage>1180</fpage><lpage>1186</lpage>"
    '<pub-id pub-id-type="pmid">16361041</pub-id><pub-id pub-id-type="doi">10.1000/ABC</pub-id>'
)
EXT_LINK = '<ext-link xmlns:xlink="http://www.w3.org/1999/xlink"'
PLAIN = "Gillen D McColl KE Disease, Helicobacter pylori, and genes Clin Gastroenterol 2005 3 2 1180 1186"


def test_element_citation() -> None:
    (ref,) = references(
        f'<ref id="B1"><label>1.</label><element-citation publication-type="journal">{ELEMENT}</element-citation></ref>'
    )
    assert ref.to_dict() == {
        "id": "doi:10.1000/own#B1.1",
        "citing": "doi:10.1000/own",
        "position": 1,
        "raw_text": f"{PLAIN} 16361041 10.1000/ABC",
        "raw_noid": PLAIN,
        "xml_id": "B1",
        "label": "1.",
        "kind": "journal",
        "title": "Disease, Helicobacter pylori, and genes",
        "last_names": ["Gillen", "McColl"],
        "given_names": ["D", "KE"],
        "venue": "Clin Gastroenterol",
        "year": 2005,
        "volume": "3",
        "issue": "2",
        "first_page": "1180",
        "last_page": "1186",
        "ids": {"pmid": "16361041", "doi": "10.1000/abc"},
    }


def test_mixed_citation_reads_as_printed() -> None:
    ref = cited(
        "<name><surname>Flegal</surname> <given-names>KM</given-names></name>, <string-name><surname>Ogden</surname>"
        "<given-names>CL</given-names></string-name>\n<article-title>Obesity among adults</article-title>. "
        "<source>JAMA</source>\n<year>2010</year>;<volume>303</volume>(<issue>4</issue>):"
        "<fpage>235</fpage>–<lpage>241</lpage>"
        '<pub-id pub-id-type="pmid">20071471</pub-id>',
        "mixed-citation",
    )
    text = "Flegal KM, Ogden CL Obesity among adults. JAMA 2010; 303(4): 235–241"
    assert_fields(
        ref, raw_text=f"{text} 20071471", raw_noid=text, last_names=("Flegal", "Ogden"), given_names=("KM", "CL"),
        title="Obesity among adults", venue="JAMA", year=2010, volume="303", issue="4",
    )  # fmt: skip


@pytest.mark.parametrize("tag", ["citation", "nlm-citation", "mixed-citation", "element-citation"])
def test_every_kind_of_citation(tag: str) -> None:
    assert_fields(cited("<article-title>Wheat</article-title>", tag), title="Wheat", raw_text="Wheat")


@pytest.mark.parametrize(
    ("refs", "expected"),
    [
        ('<citation citation-type="book"><source>A book</source></citation>', {"kind": "book", "venue": "A book"}),
        ('<citation publication-type=" a\n&amp;&#98; ">A</citation>', {"kind": "a &b"}),
        ('<label>3</label><citation publication-type=" "><label> </label>A</citation>', {"label": "3", "kind": None}),
    ],
)
def test_kind_and_label(refs: str, expected: dict[str, Any]) -> None:
    assert_fields(*references(f"<ref>{refs}</ref>"), **expected)


@pytest.mark.parametrize(
    ("titles", "title"),
    [
        ("<article-title>,</article-title> <article-title>The title</article-title>", "The title"),
        ("<article-title>affects model co</article-title><article-title>mplexity</article-title>", "affects model complexity"),
        ("<article-title>WRKY25</article-title>, <article-title>WRKY26</article-title>", "WRKY25, WRKY26"),
        ("<article-title>First</article-title> in <article-title>second</article-title>", "First"),
        ("<article-title> . </article-title>", None),
        ("<data-title>Data</data-title>", "Data"),
    ],
)
def test_titles_in_several_elements_of_a_mixed_citation(titles: str, title: str | None) -> None:
    assert cited(titles, "mixed-citation").title == title


MATH = (
    '<article-title xmlns:mml="http://www.w3.org/1998/Math/MathML">Velocity at <inline-formula><alternatives><tex-math>'
    "\\documentclass[12pt]{minimal} $$V$$</tex-math><mml:math><mml:mi>V</mml:mi><mml:mn>2</mml:mn></mml:math>"
    "<inline-graphic/></alternatives></inline-formula> max</article-title>"
)


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("Just words, 2004.", {"raw_text": "Just words, 2004.", "raw_noid": None, "raw_query": "Just words, 2004.",
                               "title": None, "year": None, "last_names": ()}),
        ("<article-title>H<sub>2</sub>O and <italic>E. col<bold>i</bold></italic> in<xref>1</xref></article-title>",
         {"title": "H2O and E. coli in1"}),
        ("<article-title>Newsletter</article-title><article-title>On air</article-title>", {"title": "Newsletter On air"}),
        (MATH, {"title": "Velocity at V2 max", "raw_text": "Velocity at V2 max"}),
        ("<collab>World Health\n Organization</collab><name><surname>A</surname></name><collab>UN</collab>",
         {"collab": "World Health Organization", "collectives": ("World Health Organization", "UN"), "last_names": ("A",)}),
        ("<chapter-title>A chapter</chapter-title><source>A book</source><trans-title>Un libro</trans-title>"
         "<publisher-loc>Paris</publisher-loc><publisher-name>P. &amp; Sons</publisher-name>",
         {"chapter_title": "A chapter", "venue": "A book", "title": None, "translated_title": "Un libro",
          "publisher": "P. & Sons"}),
        ("<part-title>Part</part-title>", {"chapter_title": "Part"}),
        ("<part-title>Part</part-title><chapter-title>Chapter</chapter-title>", {"chapter_title": "Chapter"}),
        ("<data-title>Data</data-title><article-title>T</article-title>", {"title": "T"}),
    ],
)  # fmt: skip
def test_fields_of_an_element_citation(markup: str, expected: dict[str, Any]) -> None:
    assert_fields(cited(markup), **expected)


@pytest.mark.parametrize(
    ("markup", "first", "last"),
    [
        ("<fpage>12</fpage><lpage>19</lpage>", "12", "19"),
        ("<page-range>12–19</page-range>", "12", "19"),
        ("<page-range>12 - 19, 30-31</page-range>", "12", "19"),
        ("<page-range>12</page-range>", "12", None),
        ("<page-range>–19</page-range>", None, "19"),
        ("<page-range>12–19</page-range><fpage>11</fpage>", "11", "19"),
        ("<elocation-id>e2072</elocation-id>", "e2072", None),
        ("<elocation-id>e1</elocation-id><elocation-id>e2</elocation-id>", "e1", None),
        ("<fpage>S7</fpage><elocation-id>e2072</elocation-id>", "S7", None),
        ("<elocation-id>e2072</elocation-id><page-range>1-9</page-range>", "e2072", "9"),
        ("<elocation-id>10.1000/a</elocation-id>", None, None),
        ("<elocation-id>10.1000/a</elocation-id><elocation-id>e7</elocation-id>", "e7", None),
        ("<elocation-id>10.12</elocation-id>", "10.12", None),
        ("<fpage> </fpage><fpage>3</fpage><fpage>4</fpage>", "3", None),
    ],
)
def test_pages(markup: str, first: str | None, last: str | None) -> None:
    ref = cited(markup)
    assert (ref.first_page, ref.last_page) == (first, last)


@pytest.mark.parametrize(
    ("markup", "year"),
    [
        ("<year>2010a</year>", 2010), ("<year>1988–1993</year>", 1988), ("<year>in press</year>", None),
        ("<date-in-citation><year>2018</year></date-in-citation>", None),
        ("<date-in-citation><year>2018</year></date-in-citation><year>2013</year>", 2013), ("<year>20100</year>", None),
        ("<year>1499</year><year>2100</year><year>19<italic>98</italic></year>", 1998), ("<year>٢٠٠٤</year>", None),
    ],
)  # fmt: skip
def test_year(markup: str, year: int | None) -> None:
    assert cited(markup).year == year


@pytest.mark.parametrize(
    ("markup", "ids"),
    [
        ('<pub-id pub-id-type="doi">https://doi.org/10.1000/A.</pub-id>', {"doi": "10.1000/a"}),
        ('<pub-id pub-id-type="pmcid">PMC123456</pub-id>', {"pmcid": "PMC123456"}),
        ('<pub-id pub-id-type="pmc">123456</pub-id>', {"pmcid": "PMC123456"}),
        ('<pub-id pub-id-type="arxiv">arXiv:1706.03762v2</pub-id>', {"arxiv": "1706.03762"}),
        ('<pub-id pub-id-type="medline">98123456</pub-id>', {}),
        ('<pub-id pub-id-type="pmid">not known</pub-id>', {}),
        ('<pub-id pub-id-type="pmid">x</pub-id><pub-id pub-id-type="pmid">7</pub-id>', {"pmid": "7"}),
        ('<pub-id pub-id-type="other">10.1000/a</pub-id>', {"doi": "10.1000/a"}),
        ("<pub-id>2-s2.0-84921021894</pub-id>", {}),
        ('<object-id pub-id-type="pmid">12</object-id>', {"pmid": "12"}),
        ('<elocation-id>10.1000/a</elocation-id>', {"doi": "10.1000/a"}),
        ('<ext-link ext-link-type="doi" xlink:href="10.1000/a">CrossRef</ext-link>', {"doi": "10.1000/a"}),
        ('<ext-link ext-link-type="pmid" xlink:href="12">12</ext-link>', {"pmid": "12"}),
        ('<ext-link ext-link-type="uri" xlink:href="https://doi.org/10.1000/a">link</ext-link>', {"doi": "10.1000/a"}),
        ('<uri>https://pubmed.ncbi.nlm.nih.gov/12/</uri>', {"pmid": "12"}),
    ],
)  # fmt: skip
def test_identifiers_in_tags(markup: str, ids: dict[str, str]) -> None:
    ref = cited(f"<article-title>T</article-title>{markup.replace('<ext-link', EXT_LINK)}")
    assert_fields(ref, ids=Ids(**ids), ids_weak=Ids(), raw_query="T")


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("Yes. doi:10.1000/A. <comment>PMid:22712739</comment><comment>PMCid: PMC3985770</comment>",
         {"ids": Ids(), "ids_weak": Ids(doi="10.1000/a", pmid="22712739", pmcid="PMC3985770"), "raw_noid": "Yes."}),
        ('A. PMID: 7. doi:10.1000/b <pub-id pub-id-type="doi">10.1000/a</pub-id>',
         {"ids": Ids(doi="10.1000/a"), "ids_weak": Ids(pmid="7"), "raw_noid": "A."}),
        (f'<article-title>{EXT_LINK} xlink:href="www.ncbi.nlm.nih.gov/pubmed/16402109">Dual role</ext-link></article-title>'
         "<uri>https://example.org/a</uri> Reference",
         {"title": "Dual role", "ids": Ids(pmid="16402109"), "raw_noid": "Dual role Reference"}),
        ("A <uri>the report doi:10.1000/b, 2004</uri>",
         {"ids": Ids(doi="10.1000/b"), "ids_weak": Ids(), "raw_noid": "A the report, 2004"}),
        ("A 7: <elocation-id>e2072</elocation-id>. <elocation-id>10.1000/a</elocation-id>",
         {"raw_text": "A 7: e2072. 10.1000/a", "raw_noid": "A 7: e2072.", "first_page": "e2072"}),
        *((text, {"ids_weak": Ids(doi="10.1000/a")}) for text in (
            "doi:10.10<italic>00</italic>/a", "doi:1&#48;.1000/a", "doi:10.<![CDATA[1000/]]>a", "10 .1000/a")),
    ],
)  # fmt: skip
def test_identifiers_and_the_text_of_a_mixed_citation(markup: str, expected: dict[str, Any]) -> None:
    assert_fields(cited(markup, "mixed-citation"), **expected)


@pytest.mark.parametrize(
    ("text", "noid"),
    [
        ("the report,", None),
        *((text, "A, 2004") for text in ("CrossRef", "[Full Text]", "https://doi.org/10.1000/a", "doi:10.1000/A")),
    ],
)
def test_only_the_label_of_a_link_is_removed_from_the_text(text: str, noid: str | None) -> None:
    link = f'{EXT_LINK} ext-link-type="uri" xlink:href="https://doi.org/10.1000/a">{text}</ext-link>'
    ref = cited(f"A, {link} 2004", "mixed-citation")
    assert_fields(ref, raw_text=f"A, {text} 2004", raw_noid=noid, ids=Ids(doi="10.1000/a"))


@pytest.mark.parametrize(
    "noise", ["10.1000/" + ")" * 500_000, "PMC " * 50_000 + "12345 " * 50_000, "doi " * 100_000 + "x doi"], ids=range(3)
)
def test_a_long_text_is_cut_and_its_cost_is_linear(noise: str) -> None:
    assert cited(noise, "mixed-citation").raw_text == noise[:MAX_TEXT].rstrip()
