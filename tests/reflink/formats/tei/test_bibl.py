"""Citations of TEI in all their shapes."""

from typing import Any

import pytest

from tests.reflink.formats.reading import fields, parsed
from tests.reflink.formats.tei.documents import ARTICLE, tei


def one(entry: str) -> dict[str, Any]:
    (found,) = fields(tei(entry))
    return found


def test_an_article():
    assert one(ARTICLE) == {
        "xml_id": "b0", "title": "On tests", "last_names": ["Doe"], "given_names": ["Jane A"], "collab": "ATLAS Collaboration",
        "collectives": ["ATLAS Collaboration"], "venue": "Journal of Tests", "publisher": "Press", "year": 2020, "volume": "5",
        "issue": "2", "first_page": "1013", "last_page": "1019", "ids": {"doi": "10.5555/x1"},
    }  # fmt: skip


def test_the_printed_citation_is_the_text():
    (parsed_one,) = parsed(tei(ARTICLE))
    assert parsed_one.paper.references[0].raw_text == "Doe JA, ATLAS Collaboration. On tests. J. Tests 2020; 5(2): 1013-9."


def bibl(analytic: str = "", monogr: str = "", imprint: str = "", rest: str = "", attributes: str = "") -> str:
    part = f"<analytic>{analytic}</analytic>" if analytic else ""
    return f"<biblStruct {attributes}>{part}<monogr>{monogr}<imprint>{imprint}</imprint></monogr>{rest}</biblStruct>"


TITLE = '<title level="a">Part</title>'


@pytest.mark.parametrize(("entry", "expected"), [
    # titles
    (bibl("", '<title level="m">Book</title>'), {"title": "Book"}),
    (bibl("", "<title>Book</title>"), {"title": "Book"}),
    (bibl(TITLE, '<title level="m">Book</title>'), {"title": "Part", "venue": "Book"}),
    (bibl("", '<title level="j">Journal</title>'), {"venue": "Journal"}),
    (bibl("", '<title level="m">LNCS</title>', '<biblScope unit="volume">5</biblScope><biblScope unit="page">7</biblScope>'),
     {"venue": "LNCS", "volume": "5", "first_page": "7"}),
    (bibl("", '<title level="m">Book</title>', "", '<series><title level="s">Series</title></series>'),
     {"title": "Book", "venue": "Series"}),
    (bibl('<title level="a" type="main">Main</title><title level="a" type="sub">Sub</title>'), {"title": "Main: Sub"}),
    (bibl('<title level="a" type="short">Short</title><title level="a">Main</title>'), {"title": "Main"}),
    (bibl(TITLE, '<title level="j" type="abbrev">J.</title>'), {"title": "Part", "venue": "J."}),
    (bibl('<title level="a">On <hi rend="italic">E.\n coli</hi></title>'), {"title": "On E. coli"}),
    (bibl(TITLE, "<title/><meeting>Conference<address><addrLine>Rome</addrLine></address></meeting>"),
     {"title": "Part", "venue": "Conference"}),
    (bibl('<title level="a">—</title>', '<title level="m">Book</title>'), {"title": "Book"}),
    # people
    (bibl("<author><persName><surname>Doe</surname></persName></author>"), {"last_names": ["Doe"]}),
    (bibl("", "<author>Doe, Jane</author>"), {"last_names": ["Doe"], "given_names": ["Jane"]}),
    (bibl("", "<author><name>Jane Doe</name></author>"), {"last_names": ["Doe"], "given_names": ["Jane"]}),
    (bibl("<author><persName>J. Doe</persName><affiliation><orgName>MIT</orgName></affiliation></author>"),
     {"last_names": ["Doe"], "given_names": ["J."]}),
    (bibl("<author><persName><forename>J</forename><nameLink>van</nameLink><surname>Dam</surname>"
          "<genName>Jr</genName></persName></author>"), {"last_names": ["van Dam"], "given_names": ["J"]}),
    (bibl(f"{TITLE}<author>A. B. Part</author>", "<title>Book</title><author>C. Whole</author><editor>D. Roe</editor>"),
     {"title": "Part", "venue": "Book", "last_names": ["Part"], "given_names": ["A. B."], "editors": ["Roe"]}),
    (bibl(TITLE, '<editor role="translator">D. Roe</editor>'), {"title": "Part"}),
    (bibl("<author>World Health Organization</author>"),
     {"collab": "World Health Organization", "collectives": ["World Health Organization"]}),
    # imprint
    (bibl(TITLE, "", '<biblScope unit="vol">6</biblScope><biblScope unit="page" from="207">207</biblScope>'
          '<biblScope unit="page" to="211">211</biblScope><date type="year">1991</date>'),
     {"title": "Part", "volume": "6", "first_page": "207", "last_page": "211", "year": 1991}),
    (bibl(TITLE, "", '<biblScope unit="pp">461-71</biblScope><date type="datePub">2006-01</date>'),
     {"title": "Part", "first_page": "461", "last_page": "471", "year": 2006}),
    (bibl(TITLE, "", '<biblScope type="fpage">10</biblScope><biblScope type="lpage">12</biblScope><date>Spring 1999</date>'),
     {"title": "Part", "first_page": "10", "last_page": "12", "year": 1999}),
    (bibl(TITLE, '<biblScope unit="issue">3</biblScope>', '<date type="accessed" when="2022"/><date when="2001"/>'),
     {"title": "Part", "issue": "3", "year": 2001}),
    (bibl(TITLE, "", '<biblScope unit="page" from="e101"/><date when="99"/>'), {"title": "Part", "first_page": "e101"}),
    (bibl(TITLE, "<respStmt><orgName>MIT</orgName></respStmt>"), {"title": "Part", "publisher": "MIT"}),
    # identifiers
    (bibl(TITLE, "", "", '<idno type="doi">https://doi.org/10.5555/A.</idno><idno type="pubmed">0123</idno>'),
     {"title": "Part", "ids": {"doi": "10.5555/a", "pmid": "123"}}),
    (bibl(f'{TITLE}<idno type="arXiv">arXiv:2105.10884v2[cs]</idno><idno type="PMCID">PMC123456</idno>'),
     {"title": "Part", "ids": {"arxiv": "2105.10884", "pmcid": "PMC123456"}}),
    (bibl(f"{TITLE}<idno>abs/1907.11692</idno>"), {"title": "Part", "ids": {"arxiv": "1907.11692"}}),
    (bibl(f"{TITLE}<idno>PMID: 9509577</idno><idno>12. 046029</idno><idno>PMID: WOS:000347919100027</idno>"),
     {"title": "Part", "ids": {"pmid": "9509577"}}),
    (bibl(TITLE, '<title>Book</title><idno type="DOI">10.5555/book</idno>'), {"title": "Part", "venue": "Book"}),
    (bibl("", '<title>Book</title><idno type="DOI">10.5555/book</idno>'), {"title": "Book", "ids": {"doi": "10.5555/book"}}),
    (bibl(f'{TITLE}<ptr target="https://doi.org/10.3758/Bf03193841PubMed"/>'),
     {"title": "Part", "ids_weak": {"doi": "10.3758/bf03193841"}}),
    # kinds and notes
    (bibl(TITLE, attributes='type="journal" xml:id="x" n="[3]"'),
     {"title": "Part", "kind": "journal", "xml_id": "x", "label": "[3]"}),
    (bibl(TITLE, rest='<note type="report_type">PhD Thesis</note>'), {"title": "Part", "kind": "PhD Thesis"}),
])  # fmt: skip
def test_shapes(entry: str, expected: dict[str, Any]):
    assert one(entry) == expected


@pytest.mark.parametrize(("entry", "text"), [
    (bibl(TITLE, "", "", "<note>Research in Tests, 41, Article 7</note>"), "Part Research in Tests, 41, Article 7"),
    ("<biblStruct type='patent'><monogr><authority><orgName type='national'>DE</orgName></authority>"
     "<idno type='docNumber'>19500460</idno></monogr></biblStruct>", "DE 19500460"),
    ("<bibl>Doe J. <title>On tests</title>, <date>2001</date>.</bibl>", "Doe J. On tests, 2001."),
    ("<bibl><author>J. Doe</author><title level='m'>Book</title><date>2001</date></bibl>", "J. Doe Book 2001"),
    (bibl(TITLE, rest='<note type="raw_reference">Hypophospha-\ntaemia. J  Tests 1.</note>'), "Hypophosphataemia. J Tests 1."),
])  # fmt: skip
def test_the_text_of_a_citation(entry: str, text: str):
    (found,) = parsed(tei(entry))
    assert [each.raw_text for each in found.paper.references] == [text]


@pytest.mark.parametrize(
    "entry", ["<biblStruct/>", "<bibl> </bibl>", "<biblStruct><analytic/><monogr><imprint/></monogr></biblStruct>"]
)
def test_an_empty_citation_is_none(entry: str):
    assert [each["xml_id"] for each in fields(tei(entry + ARTICLE + entry))] == ["b0"]


def test_a_nested_citation_belongs_to_the_outer_one():
    inner = f"<relatedItem>{bibl(TITLE)}</relatedItem>"
    assert len(fields(tei(bibl(TITLE, rest=inner)))) == 1


def test_identifiers_of_another_work_are_not_used():
    wrong = ARTICLE.replace("Doe JA, ATLAS Collaboration. On tests. J. Tests 2020; 5(2): 1013-9.",
                            "Bogdan A, Clark J. Manubrio-sternal joint in arthritis. Br Med J 1950; 16: 61.")  # fmt: skip
    (found,) = parsed(tei(wrong))
    (reference,) = found.paper.references
    assert (reference.ids.keys(), reference.title, reference.year) == ((), None, None)
    assert "b0" in found.paper.warnings[0]
