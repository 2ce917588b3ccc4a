"""The article's own description."""

from __future__ import annotations

from reflink.entities import Ids
from reflink.jats import parse
from tests.reflink.jats.articles import article, paper

FRONT = b"""<article article-type="research-article" xml:lang="EN"><front><journal-meta><journal-id>NAT</journal-id>
<journal-title-group><journal-title>Nature</journal-title></journal-title-group></journal-meta><article-meta>
<article-id pub-id-type="pmid">12</article-id><article-id pub-id-type="pmc">34567</article-id>
<article-id pub-id-type="doi">10.1038/A</article-id>
<title-group><article-title>On <italic>Zea</italic> mays<xref ref-type="fn">*</xref></article-title></title-group>
<contrib-group><contrib contrib-type="author"><name><surname>Wang</surname><given-names>X</given-names></name></contrib>
<contrib contrib-type="editor"><name><surname>Ed</surname></name></contrib>
<contrib contrib-type="author"><name-alternatives><name><surname>Feng</surname></name></name-alternatives></contrib>
<contrib contrib-type="author"><collab>The Group<contrib-group><contrib><name><surname>Member</surname></name></contrib>
</contrib-group></collab></contrib></contrib-group>
<pub-date><year>2012</year></pub-date><pub-date iso-8601-date="2011-12-30"/><volume>7</volume><issue>2</issue><fpage>11</fpage>
<history><date><year>2009</year></date></history>
<related-article><article-id pub-id-type="doi">10.1038/other</article-id></related-article>
<abstract abstract-type="graphical"><p>Picture</p></abstract><abstract><p>We found</p><p>maize.</p></abstract>
</article-meta></front>
<sub-article><front-stub><article-id pub-id-type="doi">10.1038/sub</article-id></front-stub></sub-article>
</article>"""


def test_every_field() -> None:
    assert parse(FRONT, source="x").to_dict() == {
        "id": "doi:10.1038/a",
        "ids": {"doi": "10.1038/a", "pmid": "12", "pmcid": "PMC34567"},
        "title": "On Zea mays",
        "authors": ["Wang", "Feng", "The Group"],
        "venue": "Nature",
        "year": 2011,
        "volume": "7",
        "issue": "2",
        "fpage": "11",
        "abstract": "We found maize.",
        "language": "en",
        "article_type": "research-article",
    }


def test_a_bare_paper_has_only_its_id() -> None:
    assert parse(article(meta=""), source="x").to_dict() == {"id": "x"}


def test_wrong_identifiers_are_not_taken() -> None:
    meta = '<article-id pub-id-type="doi">none</article-id><article-id pub-id-type="doi">10.1000/a</article-id>'
    assert paper(meta=meta).ids == Ids(doi="10.1000/a")


def test_an_article_number_stands_for_the_page() -> None:
    assert paper(meta="<elocation-id>e188</elocation-id>").fpage == "e188"
