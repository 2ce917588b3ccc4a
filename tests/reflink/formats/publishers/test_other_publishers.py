"""Wiley, Nature, RSC and IOP: real articles, and what they do not have."""

import pytest

from tests.reflink.formats.reading import fields, parsed, recognising
from tests.reflink.formats.samples import sample, samples

EXPECTED = {
    "wiley_swe_21103.xml": ("wiley", 78, {
        "xml_id": "swe21103-bib-0001", "kind": "journal", "venue": "Solar Physics", "year": 1969, "volume": "9",
        "title": "Magnetic fields and the structure of the solar corona. I: Methods of calculating coronal fields",
        "last_names": ["Altschuler", "Newkirk"], "given_names": ["M. D.", "G."], "first_page": "131", "last_page": "149",
        "ids": {"doi": "10.1007/bf00145734"},
    }),
    "nature_full_4.xml": ("nature", 30, {
        "xml_id": "b1", "venue": "Rnegu-Fpv. Eri.", "year": 2003, "volume": "16", "first_page": "878", "last_page": "855",
        "title": "Cevzvgvir znagyr zntznf erpbeqrq nf fvyvpngr zryg vapyhfvbaf va vtarbhf zvarenyf",
        "last_names": ["Fpuvnab"], "given_names": ["C."],
    }),
    "rsc_4.xml": ("rsc", 37, {
        "xml_id": "cit1", "kind": "book", "venue": "Purzvfgel bs Zrgny Pyhfgre Pbzcyrkrf", "publisher": "IPU",
        "last_names": ["Zvatbf", "Znl"], "given_names": ["Q. Z. C.", "N. F."], "editors": ["Fuevire", "Xnrfm", "Nqnzf"],
    }),
    "iop_0.xml": ("iop", 20, {
        "xml_id": "jphysd272738bib01", "label": "1", "kind": "journal", "venue": "Naah. Eri. Zngre. Fpv.", "volume": "73",
        "first_page": "098", "last_names": ["Nhpvryyb", "Sbfgre", "Enzrfu"], "given_names": ["B", "P Z", "E"],
    }),
}  # fmt: skip


@pytest.mark.parametrize("file", EXPECTED)
def test_a_real_article(file: str):
    name, count, first = EXPECTED[file]
    data = sample(f"publisher_refs/{file}")
    assert recognising(data)[0] == name
    found = fields(data)
    assert (len(found), found[0]) == (count, first)


def test_the_section_of_a_journal_belongs_to_its_name():
    assert fields(sample("publisher_refs/iop_0.xml"))[4]["venue"] == "Culf. Eri. O"


@pytest.mark.parametrize(("file", "count"), [("nature_full_2.xml", 120), ("nature_full_4.xml", 54), ("iop_0.xml", 20)])
def test_every_mention_is_read(file: str, count: int):
    (one,) = parsed(sample(f"publisher_refs/{file}"), text=True)
    found = [(paragraph, mention) for paragraph in one.paragraphs for mention in paragraph.mentions]
    assert len(found) == count
    assert {name for _, mention in found for name in mention.entries} == {each.xml_id for each in one.paper.references}


def test_marks_that_are_not_printed_are_the_numbers_of_the_entries():
    (one,) = parsed(sample("publisher_refs/nature_full_4.xml"), text=True)
    paragraph = next(each for each in one.paragraphs if each.mentions)
    assert [paragraph.text[each.start : each.stop] for each in paragraph.mentions[:2]] == ["1,2", "1,2,3,4"]
    assert paragraph.mentions[0].entries == ("b1", "b2")


def test_a_range_names_all_its_entries():
    (one,) = parsed(sample("publisher_refs/iop_0.xml"), text=True)
    paragraph = next(each for each in one.paragraphs if each.mentions)
    assert paragraph.mentions[0].entries == tuple(f"jphysd272738bib0{number}" for number in (1, 2, 3))


def test_jats_articles_are_no_publishers_own():
    for path in samples("tei/gold_*.nxml"):
        assert recognising(path.read_bytes()) == ["jats"], path.name
    assert recognising(sample("springer_aplusplus/10052_2019_Article_6572_nlm.xml")) == ["jats"]


WILEY = """<component xmlns="http://www.wiley.com/namespaces/wiley" xml:lang="en"><header><publicationMeta level="unit">
<doi>10.5555/own</doi></publicationMeta><contentMeta><titleGroup><title type="main">On tests</title></titleGroup></contentMeta>
</header><body><section xml:id="s1"><title type="main">Intro</title><p>See <link href="#r1">Doe, 2001</link>, <link
href="#f1">Figure 1</link> and <link href="#r1 #r2"/>.</p></section><bibliography><bib xml:id="r1"><label>1</label>
<citation type="book"><author><familyName>Doe</familyName></author> (<pubYear year="2001">2001</pubYear>).
<bookTitle>A book</bookTitle>.</citation></bib><bib xml:id="r2"><citation type="journal"><groupName>ABC Group</groupName>,
<articleTitle>One</articleTitle>, <journalTitle>J</journalTitle><eLocator>e7</eLocator><accessionId
ref="info:doi/10.5555/x"/></citation><citation type="journal"><journalTitle>K</journalTitle></citation></bib></bibliography>
</body></component>"""


def test_wiley_books_several_works_and_links():
    book, article, second = fields(WILEY)
    assert book == {
        "xml_id": "r1", "label": "1", "kind": "book", "title": "A book", "last_names": ["Doe"], "year": 2001,
    }  # fmt: skip
    assert article == {
        "xml_id": "r2", "kind": "journal", "title": "One", "venue": "J", "collab": "ABC Group", "collectives": ["ABC Group"],
        "first_page": "e7", "ids": {"doi": "10.5555/x"},
    }  # fmt: skip
    assert second["venue"] == "K"
    (paragraph,) = parsed(WILEY, text=True)[0].paragraphs
    assert paragraph.text == "See Doe, 2001, Figure 1 and 1,2."
    assert [each.entries for each in paragraph.mentions] == [("r1",), ("r1", "r2")]
    assert paragraph.section == ("Intro",)
