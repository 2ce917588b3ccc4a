"""Links written into TEI: valid, without a trace when removed, the same when written twice."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from reflink.entities import Ids, Link, Work
from reflink.errors import NotAPaper
from reflink.formats import Content, Decision, Options, format_named
from reflink.formats.tei import marks
from tests.profiles import examples
from tests.reflink.formats.samples import samples
from tests.reflink.formats.tei.documents import ARTICLE, tei

TEI = format_named("tei")
IDS = Ids(doi="10.1002/(sici)1097-0134(1999)34:1<1::aid>3.0.co;2-z", pmid="123456", pmcid="PMC17", arxiv="1706.03762")


def decisions(data: bytes, ids: Ids = IDS, probability: float | None = 0.98765) -> dict[str, Decision]:
    return {
        each.id: Decision(
            Link(reference=each.id, citing=each.citing, cited=f"doi:10.5555/<é&\"'> {at}", probability=probability),
            Work(id="w", ids=ids),
        )
        for one in TEI.parse(Content(data, "x"), Options(infer=False))
        for at, each in enumerate(one.paper.references)
    }


def written(data: bytes | str, **options: object) -> bytes:
    data = data.encode() if isinstance(data, str) else data
    return TEI.with_links(Content(data, "x"), decisions(data, **options))  # type: ignore[arg-type]


def laws(data: bytes) -> bytes:
    """Check the laws of writing; return the document with links."""
    found = decisions(data)
    once = TEI.with_links(Content(data, "x"), found)
    assert marks.removed(once) == data
    assert TEI.with_links(Content(once, "x"), found) == once
    options = Options(infer=False, text=True)
    assert TEI.parse(Content(once, "x"), options) == TEI.parse(Content(data, "x"), options)
    return once


def test_where_the_elements_stand():
    assert written(tei(ARTICLE), ids=Ids(doi="10.5555/x2", pmid="7")).decode().partition("<listBibl>")[2] == (
        ARTICLE.replace(
            '<idno type="DOI">10.5555/X1</idno>\n',
            '<idno type="DOI">10.5555/X1</idno>\n'
            '\t\t<idno type="DOI" subtype="reflink" cert="0.988">10.5555/x2</idno>\n'
            '\t\t<idno type="PMID" subtype="reflink" cert="0.988">7</idno>\n',
        ).replace(
            "</note>\n",
            '</note>\n\t<ptr type="reflink" target="doi:10.5555/%3C%C3%A9&amp;%22\'%3E%200" cert="0.988"/>\n',
        )
        + "</listBibl></div></back></text></TEI>"
    )


def test_an_identifier_that_is_stated_is_not_written_again():
    assert b'subtype="reflink"' not in written(tei(ARTICLE), ids=Ids(doi="10.5555/x1"))


@pytest.mark.parametrize(("entry", "place"), [
    ("<biblStruct><analytic><title>A</title></analytic><monogr><imprint/></monogr></biblStruct>", "analytic"),
    ("<biblStruct><monogr><title>A</title><imprint><date when='2001'/></imprint></monogr></biblStruct>", "monogr"),
    ("<biblStruct><analytic/><monogr><title>A</title><imprint/></monogr></biblStruct>", "monogr"),
    ("<biblStruct><monogr><title>A</title></monogr></biblStruct>", "monogr"),
    ("<biblStruct><monogr/><note type='raw_reference'>A. B.</note></biblStruct>", "biblStruct"),
    ("<bibl>A <title>text</title>, 2001.\n</bibl>", "bibl"),
])  # fmt: skip
def test_identifiers_belong_to_the_level_of_the_work(entry: str, place: str):
    root = etree.fromstring(laws(tei(entry).encode()))
    found = root.findall(".//{*}idno")
    assert len(found) == 4
    assert {etree.QName(each.getparent()).localname for each in found} == {place}
    for each in found:
        assert [etree.QName(after).localname for after in each.itersiblings()] in (
            [], ["idno"], ["idno"] * 2, ["idno"] * 3,
            *(["idno"] * many + [last] for many in range(4) for last in ("imprint", "ptr")),
        )  # fmt: skip
    (pointer,) = root.findall(".//{*}ptr")
    assert etree.QName(pointer.getparent()).localname in ("biblStruct", "bibl")
    assert pointer.getnext() is None


@pytest.mark.parametrize("data", [
    tei(ARTICLE * 3), ARTICLE, tei(ARTICLE.replace("\n", "\r\n")), tei(ARTICLE.replace("\n", "").replace("\t", "")),
    tei(ARTICLE.replace("<", "<t:").replace("<t:/", "</t:"), prefix="t:"),
    tei("<!-- <biblStruct> -->" + ARTICLE, body="<p><![CDATA[<biblStruct>]]></p>"),
    "<!DOCTYPE TEI [ <!ENTITY a '<b>'> ]>" + tei(ARTICLE.replace('from="1013"', 'from="1013" n="a>b"')),
    f"<teiCorpus>{tei(ARTICLE)}{tei(ARTICLE.replace('On', 'In'))}</teiCorpus>",
    "<?xml version='1.0' encoding='iso-8859-1'?>" + tei(ARTICLE.replace("Doe", "Dœ".replace("œ", "ö"))),
    tei('<biblStruct subtype="reflink"/>' + ARTICLE.replace("<idno ", '<idno subtype="mine" ')), tei(),
])  # fmt: skip
def test_documents_of_many_kinds(data: str):
    encoded = data.encode("iso-8859-1" if "iso-8859-1" in data else "utf-8")
    assert (
        encoded.count(b"<analytic") <= laws(encoded).count(b'ptr type="reflink"') or b"teiCorpus" in encoded or b"t:" in encoded
    )


@pytest.mark.parametrize("at", range(21))
def test_real_documents(at: int):
    paths = samples("tei/*.xml")
    if at < len(paths):
        data = paths[at].read_bytes()
        root = etree.fromstring(laws(data))
        count = sum(len(one.paper.references) for one in TEI.parse(Content(data, "x"), Options(infer=False)))
        assert len(root.xpath("//*[local-name()='ptr'][@type='reflink']")) == count


def test_utf_16_becomes_utf_8():
    data = ("<?xml version='1.0' encoding='utf-16'?>" + tei(ARTICLE)).encode("utf-16")
    assert len(etree.fromstring(written(data)).findall(".//{*}ptr")) == 1


def test_only_the_first_of_several_works_has_identifiers():
    text = "a) Doe J. J. Tests 2001, 5, 17; b) Roe K. J. Tests 2002, 6, 18; c) Poe L. J. Tests 2003, 7, 19"
    root = etree.fromstring(laws(tei(f'<biblStruct><monogr/><note type="raw_reference">{text}</note></biblStruct>').encode()))
    assert [each.get("n") for each in root.findall(".//{*}ptr")] == [None, "2", "3"]
    assert len(root.findall(".//{*}idno")) == 4


def test_without_a_decision_or_a_link_nothing_is_written():
    data = tei(ARTICLE).encode()
    assert TEI.with_links(Content(data, "x"), {}) == data
    (reference,) = TEI.parse(Content(data, "x"), Options())[0].paper.references
    missing = Decision(Link(reference=reference.id, citing=reference.citing, cited=None, unresolved="no-candidate"), None)
    assert TEI.with_links(Content(data, "x"), {reference.id: missing}) == data
    assert TEI.with_links(Content(written(data), "x"), {}) == data


def test_broken_xml_is_not_written():
    with pytest.raises(NotAPaper, match="not well-formed"):
        TEI.with_links(Content(tei(ARTICLE).replace("</analytic>", "").encode(), "x"), {})


SPACE = st.sampled_from(["", " ", "\n", "\n\t\t", "\r\n  ", "\n\n ", "text\n ", "&amp;"])


@settings(max_examples=examples(150))
@given(st.lists(SPACE, min_size=8, max_size=8))
def test_any_white_space(spaces: list[str]):
    a, b, c, d, e, f, g, h = spaces
    entry = (
        f"<biblStruct>{a}<analytic>{b}<title>On tests</title>{c}</analytic>{d}<monogr>{e}<imprint/>{f}</monogr>{g}"
        f"</biblStruct>{h}"
        f"<bibl>Doe{a}</bibl>{b}<biblStruct>{c}<monogr>{d}<title>On others</title>{e}</monogr>{f}</biblStruct>"
    )
    laws(tei(entry).encode())
