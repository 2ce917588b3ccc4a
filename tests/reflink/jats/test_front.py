"""Tests of the metadata that an article has about itself."""

from __future__ import annotations

import gzip
import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from reflink.entities import Ids, Paper
from reflink.jats import parse
from reflink.jats.front import front, publisher_id
from tests.data import jats_folder, shared_data
from tests.reflink.jats.articles import article, assert_fields, paper, real

FRONT = b"""<article article-type="research-article" xml:lang="EN"><front><journal-meta><journal-id>NAT</journal-id>
<journal-id journal-id-type="nlm-ta">Nature</journal-id><journal-id journal-id-type="doi">10.1038/journal</journal-id>
<journal-title-group><journal-title>Nature</journal-title><abbrev-journal-title>Nat.</abbrev-journal-title></journal-title-group>
<issn pub-type="ppub">0028-0836</issn><issn pub-type="epub">1476-4687</issn>
<publisher><publisher-name>NPG</publisher-name><publisher-loc>London</publisher-loc></publisher></journal-meta><article-meta>
<article-id pub-id-type="pmid">12</article-id><article-id pub-id-type="pmc">34567</article-id>
<article-id pub-id-type="doi">10.1038/A</article-id><article-id pub-id-type="publisher-id">nature-a</article-id>
<title-group><article-title>On <italic>Zea</italic> mays<xref ref-type="fn">*</xref></article-title>
<trans-title-group xml:lang="pt"><trans-title>Do milho</trans-title></trans-title-group><alt-title>Zea</alt-title></title-group>
<contrib-group><contrib contrib-type="author"><name><surname>Wang</surname><given-names>X</given-names></name></contrib>
<contrib contrib-type="editor"><name><surname>Ed</surname></name></contrib>
<contrib contrib-type="author"><name-alternatives><name><surname>Feng</surname></name></name-alternatives></contrib>
<contrib contrib-type="author"><collab>The Group<contrib-group><contrib><name><surname>Member</surname></name></contrib>
</contrib-group></collab></contrib></contrib-group>
<pub-date><year>2012</year></pub-date><pub-date iso-8601-date="2011-12-30"/><volume>7</volume><issue>2</issue><fpage>11</fpage>
<lpage>19</lpage><history><date><year>2009</year></date></history>
<related-article related-article-type="corrected-article"><article-id pub-id-type="doi">10.1038/other</article-id>
</related-article>
<abstract abstract-type="graphical"><p>Picture</p></abstract><abstract><p>We found</p><p>maize.</p></abstract>
</article-meta></front>
<sub-article><front-stub><article-id pub-id-type="doi">10.1038/sub</article-id></front-stub></sub-article>
</article>"""


def test_every_field() -> None:
    assert parse(FRONT, source="x").to_dict() == {
        "id": "doi:10.1038/a",
        "ids": {"doi": "10.1038/a", "pmid": "12", "pmcid": "PMC34567"},
        "publisher_id": "nature-a",
        "title": "On Zea mays",
        "translated_titles": ["Do milho"],
        "authors": ["Wang", "Feng", "The Group"],
        "given_names": ["X", "", ""],
        "collectives": ["The Group"],
        "venue": "Nature",
        "venue_abbreviations": ["Nature", "Nat."],
        "issns": ["0028-0836", "1476-4687"],
        "publisher": "NPG",
        "year": 2011,
        "volume": "7",
        "issue": "2",
        "fpage": "11",
        "lpage": "19",
        "related": [{"kind": "corrects", "ids": {"doi": "10.1038/other"}, "stated": "corrected-article"}],
        "abstract": "We found maize.",
        "language": "en",
        "article_type": "research-article",
    }


def test_a_paper_without_metadata_has_only_its_id() -> None:
    assert parse(article(meta=""), source="x").to_dict() == {"id": "x"}


def test_reading_does_not_change_the_tree() -> None:
    tree = etree.fromstring(FRONT)
    before = etree.tostring(tree)
    assert front(tree) == front(tree)
    assert etree.tostring(tree) == before


def ids(*typed: str) -> str:
    """Return ``<article-id>`` elements of these attributes and texts."""
    return "".join(f"<article-id {item}</article-id>" for item in typed)


VERSION = 'pub-id-type="doi" specific-use="version">10.7554/eLife.88984.3'


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        (ids('pub-id-type="doi">none', 'pub-id-type="doi">10.1000/a'), Ids(doi="10.1000/a")),
        (ids('pub-id-type="pmcaid">11', 'pub-id-type="pmcid-ver">PMC77.1', 'pub-id-type="pmcaiid">12',
             'pub-id-type="pmcid">PMC77'), Ids(pmcid="PMC77")),
        (ids(VERSION, 'pub-id-type="doi">10.7554/eLife.88984'), Ids(doi="10.7554/elife.88984")),
        (ids(VERSION), Ids(doi="10.7554/elife.88984.3")),
        (ids('pub-id-type="other">10.1051/parasite/2021011'), Ids(doi="10.1051/parasite/2021011")),
        (ids(">10.1000/a"), Ids(doi="10.1000/a")),
        ('<elocation-id content-type="doi">10.3402/fnr.v60.32382</elocation-id>', Ids(doi="10.3402/fnr.v60.32382")),
        (ids('pub-id-type="arxiv">2301.02345v2'), Ids(arxiv="2301.02345")),
        ("<elocation-id>arXiv:2301.02345v1</elocation-id>", Ids(arxiv="2301.02345")),
        (ids('pub-id-type="doi">10.48550/arXiv.2301.02345'), Ids(doi="10.48550/arxiv.2301.02345", arxiv="2301.02345")),
    ],
)  # fmt: skip
def test_identifiers(meta: str, expected: Ids) -> None:
    assert_fields(paper(meta=meta), ids=expected, fpage=None)


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([("other", "elife-1"), ("manuscript", "NIHMS1"), ("publisher-id", "P1"), ("publisher-id", "P2")], "P1"),
        ([("other", "elife-1"), ("manuscript", "NIHMS1")], "NIHMS1"),
        ([("other", "elife-1"), ("pii", "S00-1")], "S00-1"),
        ([("other", "00203"), ("other", "10.1051/rmr/160001"), ("coden", "ABCD")], None),
        ([('publisher-id" specific-use="previous-pid', "S01"), ('publisher-id" specific-use="scielo-v2', "S02")], "S02"),
    ],
)
def test_publisher_id(items: list[tuple[str, str]], expected: str | None) -> None:
    meta = ids(*(f'pub-id-type="{kind}">{text}' for kind, text in items))
    assert paper(meta=meta).publisher_id == publisher_id(etree.fromstring(article(meta=meta))) == expected


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("<article-title>Maize</article-title><subtitle>A trial</subtitle>", "Maize: A trial"),
        ("<article-title>Maize?</article-title><subtitle>A trial</subtitle>", "Maize? A trial"),
        ("<article-title>Maize:</article-title><subtitle>A trial</subtitle>", "Maize: A trial"),
        ("<article-title>Maize</article-title><subtitle>: a trial</subtitle>", "Maize: a trial"),
        ("<article-title>Maize</article-title><subtitle/><subtitle>I</subtitle><subtitle>II</subtitle>", "Maize: I: II"),
        ("<article-title/><subtitle>Only</subtitle>", "Only"),
        ("<article-title>Maize<sup><xref ref-type='fn'>1</xref>,</sup><fn><p>Note.</p></fn></article-title>", "Maize,"),
        ("<article-title>Maize in the field*</article-title>", "Maize in the field"),
        ("<article-title>Maize in the field<sup>†</sup></article-title>", "Maize in the field"),
        ("<article-title>Maize? *, †</article-title>", "Maize?"),
        ("<article-title>Maize,</article-title>", "Maize,"),
        ("<article-title>***</article-title>", None),
        ("<article-title>Planning with A*</article-title>", "Planning with A*"),
        ("<article-title>Comment on <xref ref-type='bibr'>Smith and Co</xref></article-title>", "Comment on Smith and Co"),
        ("<article-title>Comment on Smith<xref ref-type='bibr'>12</xref></article-title>", "Comment on Smith"),
        ("<article-title>CO<sub>2</sub> and <italic>Zea<xref>*</xref></italic> mays</article-title>", "CO2 and Zea mays"),
        ("<article-title/><alt-title>Short</alt-title>", None),
    ],
)
def test_title(inside: str, expected: str | None) -> None:
    assert paper(meta=f"<title-group>{inside}</title-group>").title == expected


def test_translated_titles_of_every_version_of_jats() -> None:
    found = paper(
        meta="<title-group><article-title>Milho</article-title><trans-title xml:lang='en'>Maize<xref>*</xref></trans-title>"
        "<trans-subtitle>A trial</trans-subtitle><trans-title-group><trans-title>Maíz</trans-title>"
        "<trans-subtitle>Un ensayo</trans-subtitle></trans-title-group><article-title>Mais</article-title>"
        "<trans-title>MILHO</trans-title><trans-title/></title-group>"
    )
    assert_fields(found, title="Milho", translated_titles=("Mais", "Maize: A trial", "Maíz: Un ensayo"))


def test_the_title_of_a_translation_within_the_article() -> None:
    titled = "<title-group><article-title>{}</article-title></title-group>"
    sub = f"<sub-article article-type='{{}}'><front-stub>{titled}</front-stub></sub-article>"
    end = sub.format("translation", "Maize") + sub.format("reviewer-report", "Review")
    assert paper(meta=titled.format("Milho"), end=end).translated_titles == ("Maize",)


TA = "<journal-id journal-id-type='nlm-ta'>J Tests</journal-id>"
ABBREVIATION = "<abbrev-journal-title>J. Tests</abbrev-journal-title>"


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("<journal-id>code</journal-id><journal-title>The Journal</journal-title>", "The Journal"),
        (f"<journal-id>code</journal-id>{TA}", "J Tests"),
        (TA + ABBREVIATION, "J. Tests"),
        (f"<journal-title-group><journal-title/>{ABBREVIATION}</journal-title-group>", "J. Tests"),
        ("<journal-id journal-id-type='publisher-id'>code</journal-id>", "code"),
    ],
)
def test_venue(inside: str, expected: str) -> None:
    assert paper(journal=inside).venue == expected


def test_abbreviations_are_distinct_and_in_order() -> None:
    found = paper(
        journal=f"{TA}<journal-id journal-id-type='iso-abbrev'>J. Tests</journal-id>"
        "<journal-id journal-id-type='publisher-id'>JT</journal-id><journal-title-group><journal-title>Tests</journal-title>"
        "<abbrev-journal-title abbrev-type='publisher'>J Tests</abbrev-journal-title></journal-title-group>"
    )
    assert found.venue_abbreviations == ("J Tests", "J. Tests")


def test_issns_are_normalised_and_checked() -> None:
    found = paper(
        journal="<journal-id journal-id-type='issn'>1471-2105</journal-id><issn pub-type='ppub'>ISSN 0028–0836</issn>"
        "<issn pub-type='epub'>2072845x</issn><issn>1234-5678</issn><issn>0000-0000</issn><issn>n/a</issn><issn/>"
        "<issn>0028-0836</issn><issn-l>1996-1421</issn-l>"
    )
    assert found.issns == ("1471-2105", "0028-0836", "2072-845X", "1996-1421")


@pytest.mark.parametrize(
    ("dates", "expected"),
    [
        ("<pub-date pub-type='ppub'><year>2012</year></pub-date><pub-date pub-type='epub'><year>2011</year></pub-date>", 2011),
        ("<pub-date date-type='collection'><year>2010</year></pub-date><pub-date><year>2011</year></pub-date>", 2010),
        ("<pub-date><month>5</month></pub-date><pub-date><year>c2011</year></pub-date>", 2011),
        ("<pub-date><string-date>5 May <year>2011</year></string-date></pub-date>", 2011),
        ("<pub-date date-type='pub' iso-8601-date='2011-01-05'/>", 2011),
        ("<pub-date pub-type='nihms-submitted'><year>2010</year></pub-date><pub-date><year>2011</year></pub-date>", 2011),
        ("<pub-date date-type='preprint'><year>2010</year></pub-date><pub-date><year>2011</year></pub-date>", 2011),
        ("<pub-date date-type='preprint'><year>2010</year></pub-date>", 2010),
        ("<pub-date><year>in press</year></pub-date><pub-date/>", None),
    ],
)
def test_year(dates: str, expected: int | None) -> None:
    assert paper(meta=dates).year == expected


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        ("<fpage>11</fpage><lpage>19</lpage><elocation-id>e1</elocation-id>", ("11", "19")),
        ("<elocation-id>e188</elocation-id>", ("e188", None)),
        ("<page-range>11-19, 25</page-range>", ("11", "25")),
        ("<page-range>S-3–S-6</page-range>", ("S-3", "S-6")),
        ("<page-range>11</page-range>", ("11", None)),
        ("<fpage/><fpage>3</fpage>", ("3", None)),
    ],
)
def test_pages(meta: str, expected: tuple[str | None, str | None]) -> None:
    found = paper(meta=meta)
    assert (found.fpage, found.lpage) == expected


_TAGS = ("article-id", "title-group", "article-title", "trans-title-group", "contrib-group", "contrib", "name", "collab",
         "surname", "string-name", "pub-date", "year", "elocation-id", "page-range", "related-article", "pub-history", "event",
         "abstract", "name-alternatives", "given-names", "xref", "fn", "subtitle", "related-object", "self-uri")  # fmt: skip
_trees = st.recursive(
    st.text(st.sampled_from("aé1 .*,-10/"), max_size=6),
    lambda inner: st.tuples(st.sampled_from(_TAGS), st.lists(inner, max_size=4)).map(
        lambda pair: f"<{pair[0]} pub-id-type='doi'>{''.join(pair[1])}</{pair[0]}>"
    ),
    max_leaves=25,
)


@given(st.lists(_trees, max_size=6), st.lists(_trees, max_size=3))
def test_any_nesting_of_elements_is_read(meta: list[str], body: list[str]) -> None:
    found = paper(meta="".join(meta), body="".join(body))
    assert len(found.authors) == len(found.given_names)
    assert set(found.collectives) <= set(found.authors)
    assert found.title not in found.translated_titles
    assert Paper.from_json(found.to_json()) == found


@cache
def _records() -> dict[str, dict[str, Any]]:
    with gzip.open(shared_data() / "works.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = (json.loads(line) for line in lines if '"meta": "front"' in line)
        return {record["id"]: record for record in records}


def test_agreement_with_another_extractor() -> None:
    equal: dict[str, int] = {}
    compared = 0
    for path in sorted(jats_folder().glob("*.xml"))[::10]:
        ours = parse(path.read_bytes(), source=path.stem)
        theirs = _records().get(ours.id)
        if theirs is None:
            continue  # it names some works by another identifier
        compared += 1
        for field in ("authors", "venue", "year", "volume"):
            equal[field] = equal.get(field, 0) + (_plain(getattr(ours, field)) == _plain(theirs.get(field)))
        title = _plain(theirs["title"])
        equal["title"] = equal.get("title", 0) + (_plain(ours.title).startswith(title))  # it leaves subtitles out
        page = theirs.get("fpage")
        equal["fpage"] = equal.get("fpage", 0) + (not page or page == ours.fpage)  # and article numbers
    assert compared >= 130
    floors = {"title": 0.99, "authors": 0.98, "venue": 0.99, "year": 1.0, "volume": 1.0, "fpage": 1.0}
    assert {field: equal[field] / compared for field, floor in floors.items() if equal[field] / compared < floor} == {}


def _plain(value: object) -> str:
    values = value if isinstance(value, list | tuple) else (value or "",)
    return "|".join(" ".join(str(item).split()) for item in values)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("evinf__PMC5707229", {"lpage": "943", "publisher": "Springer Medizin"}),
        ("evinf__PMC5145296", {"issns": ("2008-5230", "2008-5249")}),
    ],
)
def test_real_articles(name: str, expected: dict[str, Any]) -> None:
    assert_fields(real(name), **expected)
