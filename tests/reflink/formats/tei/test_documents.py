"""TEI documents: recognised by content, whole real ones, and the same article as JATS."""

from __future__ import annotations

from functools import cache

import pytest

from reflink import jats
from reflink.catalog import Catalog
from reflink.entities import Paper, Reference, Work
from reflink.errors import NotAPaper, TooLarge
from reflink.formats import Content, Options, format_named, parse
from reflink.limits import Limits
from reflink.linking.linker import Linker
from tests.reflink.formats.reading import fields, parsed, recognising
from tests.reflink.formats.samples import sample, samples
from tests.reflink.formats.tei.documents import ARTICLE, tei

#: Citations of the real documents, counted by hand with grep: those with text, outside the header.
CITATIONS = {
    "0046d83a-edd6-4631-b57c-755cdcce8b7f.tei.xml": 49, "10.1371%2Fjournal.pone.0209976.tei.xml": 40,
    "2020.acl-main.207.tei.xml": 57, "WagnerLukyanenkoParEtAl2022.tei.xml": 120, "example.pdf.tei.xml": 23,
    "grobid_sample1.tei.header.xml": 0, "grobid_sample1.tei.xml": 8, "hal1.tei.xml": 0, "journal.pone.0198050.tei.xml": 54,
    "journal.pone.0209798.tei.xml": 97, "miku_document_example.tei.xml": 15, "miku_example.tei.xml": 13,
    "pmc1943_ORT-1745-3674-81-405.xml": 9, "pmc1943_aas0055-0039.xml": 36, "pmc1943_apa0100-0653.xml": 28,
    "pmc1943_apha0202-0379.xml": 10, "pmc1943_d-67-00463.xml": 23, "pmc1943_e-67-o1363.xml": 11, "pmc1943_f-67-00344.xml": 14,
    "pmc1943_sobs89-975.xml": 11, "pmc1943_sonc50-621.xml": 37,
}  # fmt: skip
HEADER = """<titleStmt><title level="a" type="main">The paper</title></titleStmt><publicationStmt><publisher>Press</publisher>
</publicationStmt><sourceDesc><biblStruct><analytic><title level="a">Other</title><author><persName><forename>Jane</forename>
<surname>Doe</surname></persName></author><author/></analytic><monogr><title level="j" type="main">Tests</title>
<title level="j" type="abbrev">T.</title><idno type="eISSN">0036-8075</idno><imprint><biblScope unit="volume">5</biblScope>
<biblScope unit="page" from="1" to="9"/><date type="published" when="2020-05-01"/></imprint></monogr>
<idno type="MD5">ABC</idno><idno type="DOI">10.5555/Paper</idno></biblStruct></sourceDesc></fileDesc><profileDesc>
<langUsage><language ident="en"/></langUsage><abstract><div><p>It is  short.</p></div></abstract></profileDesc><fileDesc>"""


@pytest.mark.parametrize("name", CITATIONS)
def test_real_documents(name: str):
    data = sample(f"tei/{name}")
    assert recognising(data) == ["tei"]
    (found,) = parsed(data, text=True, source="x")
    paper = found.paper
    assert len(paper.references) == CITATIONS[name]
    assert paper.warnings == ()
    known = {each.xml_id for each in paper.references}
    assert {entry for each in found.paragraphs for mention in each.mentions for entry in mention.entries} <= known


def test_the_header():
    (found,) = parsed(tei(ARTICLE, header=HEADER))
    assert {name: value for name, value in found.paper.to_dict().items() if name != "references"} == {
        "id": "doi:10.5555/paper", "ids": {"doi": "10.5555/paper"}, "title": "The paper", "authors": ["Doe"],
        "given_names": ["Jane"], "venue": "Tests", "venue_abbreviations": ["T."], "issns": ["0036-8075"], "publisher": "Press",
        "year": 2020, "volume": "5", "fpage": "1", "lpage": "9", "abstract": "It is short.", "language": "en",
    }  # fmt: skip


def test_a_record_of_hal_is_a_paper_without_references():
    (found,) = parsed(sample("tei/hal1.tei.xml"))
    paper = found.paper
    assert paper.ids.keys() == ("doi:10.1101/sqb.2006.71.044", "pmid:17381328")
    assert (paper.year, paper.volume, paper.fpage, paper.lpage, paper.language) == (2006, "71", "461", "471", "en")
    assert paper.authors[:3] == ("Moazed", "Bühler", "Buker")
    assert (paper.issns, len(paper.authors), paper.references) == (("0091-7451",), 11, ())


@pytest.mark.parametrize("data", [
    tei(ARTICLE), tei(ARTICLE).replace(' xmlns="http://www.tei-c.org/ns/1.0"', ""), ARTICLE, f"<listBibl>{ARTICLE}</listBibl>",
    tei(ARTICLE.replace("<", "<t:").replace("<t:/", "</t:"), prefix="t:"), f"\ufeff<?xml version='1.0'?>\n{tei(ARTICLE)}",
    f"<TEI.2><text><back><listBibl>{ARTICLE}</listBibl></back></text></TEI.2>", f"<TEI><text>{ARTICLE}</text></TEI>",
    f"<TEI><standOff><listBibl>{ARTICLE}</listBibl></standOff><text/></TEI>",
])  # fmt: skip
def test_kinds_of_documents(data: str):
    assert recognising(data.encode()) == ["tei"]
    assert [(each["title"], each["year"]) for each in fields(data)] == [("On tests", 2020)]


def test_other_encodings():
    text = "<?xml version='1.0' encoding='utf-16'?>" + tei(ARTICLE)
    (found,) = parse(Content(text.encode("utf-16")))
    assert len(found.paper.references) == 1


def test_a_corpus_has_one_paper_for_each_text():
    other = tei(ARTICLE.replace("On tests", "On others"), header=HEADER)
    found = parsed(f"<teiCorpus><teiHeader/>{tei(ARTICLE)}{other}{other}</teiCorpus>", source="x")
    assert [[each.title for each in one.paper.references] for one in found] == [["On tests"], ["On others"]]
    assert found[0].paper.id.startswith("sha256:")
    assert found[1].paper.id == "doi:10.5555/paper"


@pytest.mark.parametrize("data", ["<teiCorpus/>", "no XML", "", "<TEI", "<TEI/>"])
def test_what_is_no_paper(data: str):
    with pytest.raises(NotAPaper):
        format_named("tei").parse(Content(data.encode(), "x"), Options())


@pytest.mark.parametrize("limits", [Limits(size=100), Limits(references=1), Limits(depth=4)])
def test_limits(limits: Limits):
    with pytest.raises(TooLarge, match=r"^x: "):
        format_named("tei").parse(Content(tei(ARTICLE * 2).encode(), "x"), Options(limits))


def test_broken_xml_is_read_as_far_as_possible():
    (found,) = parsed(tei(ARTICLE * 2).replace("</author>", "", 1))
    assert [each.title for each in found.paper.references] == ["On tests", "On tests"]
    assert found.paper.warnings[0].startswith("not well-formed")


PAIRS = [
    "ORT-1745-3674-81-405", "aas0055-0039", "apa0100-0653", "apha0202-0379", "d-67-00463", "e-67-o1363", "f-67-00344",
    "sobs89-975", "sonc50-621",
]  # fmt: skip
#: Articles in which GROBID found fewer citations than there are, or divided some: works that only JATS links.
LOST = {"e-67-o1363": 3, "sonc50-621": 4}


@cache
def pair(name: str) -> tuple[Paper, Paper]:
    printed = jats.parse(sample(f"tei/gold_{name}.nxml"), source="gold")
    (found,) = parse(Content(sample(f"tei/pmc1943_{name}.xml"), "tei"))
    return printed, found.paper


def work(at: int, reference: Reference) -> Work:
    stated = reference if reference.inferred is None else reference.inferred
    return Work(
        id=f"w:{at}", title=stated.title, authors=stated.last_names, venue=stated.venue, year=stated.year, volume=stated.volume,
        issue=stated.issue, fpage=stated.first_page, lpage=stated.last_page,
    )  # fmt: skip


@cache
def linker() -> Linker:
    references = [each for name in PAIRS for each in pair(name)[0].references]
    catalog = Catalog.empty(lexical_mode="Raw")
    catalog.add([work(at, each) for at, each in enumerate(references)])
    return Linker(catalog)


@pytest.mark.parametrize("name", PAIRS)
def test_an_article_has_the_same_links_as_jats_and_as_tei(name: str):
    samples("tei/gold_*.nxml")
    of_jats, of_tei = ({link.cited for link in linker().link(paper.references)} - {None} for paper in pair(name))
    assert len(of_jats) >= 0.9 * len(pair(name)[0].references)
    assert of_tei <= of_jats
    assert len(of_jats - of_tei) == LOST.get(name, 0)
