"""Tests of the DTDs before JATS: NLM 1.0 and 2.x declare namespaces and attributes that the articles leave out."""

from __future__ import annotations

import pytest

from reflink.entities import Ids
from reflink.jats import parse
from tests.reflink.jats.articles import assert_fields

ARTICLE = """{doctype}<!-- <a comment> --><article article-type="research-article">
<front><journal-meta><journal-id journal-id-type="nlm-ta">J Old</journal-id><journal-title>Journal of Old</journal-title>
<issn>1234-5679</issn><publisher><publisher-name>Press</publisher-name></publisher></journal-meta>
<article-meta><article-id pub-id-type="doi">10.1000/old</article-id><article-id pub-id-type="pmid">77</article-id>
<title-group><article-title>Old article</article-title></title-group>
<contrib-group><contrib contrib-type="author"><name><surname>Doe</surname><given-names>J</given-names></name></contrib>
</contrib-group><pub-date pub-type="ppub"><month>5</month><year>2003</year></pub-date><volume>1</volume><fpage>3</fpage>
<self-uri xlink:href="http://example.org/1"/></article-meta></front><body><p>Text<xref ref-type="bibr" rid="b1">1</xref>
<inline-formula><mml:math><mml:mi>x</mml:mi></mml:math></inline-formula></p></body>
<back><ref-list><title>References</title>
<ref id="b1"><citation citation-type="journal"><person-group person-group-type="author"><name><surname>Roe</surname>
<given-names>R</given-names></name></person-group> <article-title>Cited <italic>work</italic></article-title>
<source>Some J</source> <year>1999</year> <volume>4</volume> <fpage>5</fpage><lpage>9</lpage>
<pub-id pub-id-type="pmid">123</pub-id><ext-link ext-link-type="doi" xlink:href="10.1000/cited">DOI</ext-link></citation></ref>
<ref id="b2"><label>2</label><nlm-citation citation-type="book"><collab>Group</collab><source>A book</source>
<year>2000</year></nlm-citation></ref></ref-list></back></article>"""


@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE article PUBLIC "-//NLM//DTD Journal Archiving DTD v1.0 20021201//EN" "archivearticle.dtd">',
        '<?xml version="1.0"?>\n<!DOCTYPE article PUBLIC "-//NLM//DTD Journal Publishing DTD v1.1 20031101//EN" "x.dtd" []>',
        "",
    ],
)
@pytest.mark.parametrize("declared", [True, False])
def test_an_article_of_version_1(doctype: str, *, declared: bool) -> None:
    text = ARTICLE.format(doctype=doctype)
    if declared:
        spaces = 'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:mml="http://www.w3.org/1998/Math/MathML"'
        text = text.replace("<article article", f"<article {spaces} article")
    found = parse(text.encode())
    assert_fields(found, warnings=(), title="Old article", venue="Journal of Old", year=2003, volume="1", authors=("Doe",))
    assert_fields(found, ids=Ids(doi="10.1000/old", pmid="77"), article_type="research-article", fpage="3")
    first, second = found.references
    assert_fields(first, id="doi:10.1000/old#b1.1", title="Cited work", venue="Some J", year=1999, volume="4", last_page="9")
    assert_fields(first, ids=Ids(doi="10.1000/cited", pmid="123"), last_names=("Roe",), kind="journal")
    assert_fields(second, label="2", collab="Group", venue="A book", year=2000)


def test_a_prefix_that_no_dtd_declares_is_recovered_with_a_warning() -> None:
    (warning,) = parse(ARTICLE.format(doctype="").replace("xlink:href", "x:href").encode()).warnings
    assert warning.startswith("not well-formed, read as far as possible: ")


def test_broken_xml_without_declarations_is_recovered_with_a_warning() -> None:
    found = parse(ARTICLE.format(doctype="").replace("</title-group>", "").encode())
    assert found.title == "Old article"
    assert len(found.warnings) == 1
