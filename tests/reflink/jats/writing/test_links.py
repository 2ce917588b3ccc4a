"""Tests of links written into the references of an article."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.entities import Link, RelatedWork
from reflink.errors import NotAPaper, TooLarge
from reflink.formats import Content, Decision, format_named
from reflink.jats import Limits, with_links
from tests.profiles import examples
from tests.reflink.jats.articles import article
from tests.reflink.jats.writing.linked import Links, assert_laws, link, made_links, papers

XLINK = 'xmlns:xlink="http://www.w3.org/1999/xlink"'
ROOT = f"<article {XLINK}>"
DOI = '<pub-id pub-id-type="doi" specific-use="reflink:0.987">10.1000/x</pub-id>'
URL = '<ext-link ext-link-type="uri" specific-use="reflink:0.987" xlink:href="https://doi.org/10.1000/x">https://doi.org/10.1000/x</ext-link>'


def written(refs: str, *, root: str = ROOT, probability: float | None = 0.987, work: str = "w1", **ids: str) -> str:
    """Return a bibliography after each of its references was linked to the same work."""
    data = article(refs, root=root)
    links: Links = {each.id: link(each, work, probability, **ids) for paper in papers(data) for each in paper.references}
    assert_laws(data, links)
    return with_links(data, links).decode().partition("<ref-list>")[2].partition("</ref-list>")[0]


def entry(inside: str, tag: str) -> str:
    return f'<ref id="a"><label>1</label><{tag} id="c">{inside}</{tag}></ref>'


@pytest.mark.parametrize(
    ("tag", "inside", "added"),
    [
        ("mixed-citation", "Doe J. A title. 2001;<volume>3</volume>:4. ", f" {DOI} {URL}"),
        ("element-citation", "<source>J</source>\n  ", f"{DOI}{URL}"),
        ("nlm-citation", "<source>J</source>", '<pub-id pub-id-type="doi">10.1000/x</pub-id>'),
        ("citation", "Doe J. A title.", ' <pub-id pub-id-type="doi">10.1000/x</pub-id> <ext-link ext-link-type="uri" '
         'xlink:href="https://doi.org/10.1000/x" xlink:title="reflink:0.987">https://doi.org/10.1000/x</ext-link>'),
    ],
)  # fmt: skip
def test_the_elements_by_citation(tag: str, inside: str, added: str) -> None:
    text = inside.rstrip()
    assert written(entry(inside, tag), doi="10.1000/x") == entry(f"{text}{added}{inside[len(text) :]}", tag)


def test_identifiers_precede_the_annotation_of_an_nlm_citation() -> None:
    inside = "<source>J</source>{}<annotation><p>Note</p></annotation>"
    added = '<pub-id pub-id-type="pmid">7</pub-id><pub-id pub-id-type="other">arXiv:2101.00001</pub-id>'
    assert written(entry(inside.format(""), "nlm-citation"), pmid="7", arxiv="2101.00001") == entry(
        inside.format(added), "nlm-citation"
    )


def test_each_identifier_that_the_reference_lacks() -> None:
    stated = '<pub-id pub-id-type="pmid">7</pub-id>'
    found = written(entry(f"Doe{stated}", "mixed-citation"), doi="10.1000/x", pmid="7", pmcid="PMC123", arxiv="2101.00001")
    use = 'specific-use="reflink:0.987"'
    pmcid, arxiv = (f'<pub-id pub-id-type="{kind}" {use}>{value}</pub-id>' for kind, value in
                    (("pmcid", "PMC123"), ("arxiv", "2101.00001")))  # fmt: skip
    assert found == entry(f"Doe{stated} {DOI} {pmcid} {arxiv} {URL}", "mixed-citation")


def test_a_work_without_identifier_and_a_link_without_probability() -> None:
    found = written(entry("<year>2001</year>", "element-citation"), work="openalex:W<1>", probability=None)
    added = '<pub-id pub-id-type="other" specific-use="reflink">openalex:W&lt;1&gt;</pub-id>'
    assert found == entry(f"<year>2001</year>{added}", "element-citation")


def test_a_work_that_the_catalog_does_not_have() -> None:
    """Its id is its identifier."""
    data = article(entry("Doe", "mixed-citation"), root=ROOT)
    found = with_links(data, {"doi:10.1000/own#a.1": (Link(reference="r", citing="c", cited="doi:10.1000/x"), None)})
    assert DOI.replace(":0.987", "").encode() in found


def test_an_entry_without_citation_element_gets_an_address_only() -> None:
    found = written('<ref id="a"><note><p>Doe J. 2001.</p></note></ref>', doi="10.1000/x", pmid="7")
    assert found == f'<ref id="a"><note><p>Doe J. 2001. {URL}</p></note></ref>'
    found = written('<ref id="a">Doe J. 2001.</ref>', doi="10.1000/x")
    assert found == f'<ref id="a">Doe J. 2001. {URL}</ref>'


def test_both_descriptions_of_a_work() -> None:
    pair = (
        "<citation-alternatives><element-citation><year>2001</year>{0}{1}</element-citation>"
        "<mixed-citation>Doe 2001{2}{0}{2}{1}</mixed-citation></citation-alternatives>"
    )
    given = f'<ref id="a">{pair.format("", "", "")}</ref>'
    assert written(given, doi="10.1000/x") == f'<ref id="a">{pair.format(DOI, URL, " ")}</ref>'


def test_several_works_of_one_entry() -> None:
    two = "<element-citation><source>A</source><year>2001</year>{}</element-citation>" * 2
    data = article(f'<ref id="a">{two.format("", "")}</ref>'.replace("A", "B", 1), root=ROOT)
    links = {each.id: link(each, doi=f"10.1000/{each.position}") for each in papers(data)[0].references}
    assert assert_laws(data, links) == 2


def test_works_of_one_text_are_left_alone() -> None:
    text = "A. Doe, Phys. Rev. D 12, 345 (1990); B. Roe, Phys. Lett. B 36, 8 (1991)."
    data = article(entry(text, "mixed-citation"), root=ROOT)
    assert len(papers(data)[0].references) == 2
    assert with_links(data, {each.id: link(each, doi="10.1000/x") for each in papers(data)[0].references}) == data


@pytest.mark.parametrize(
    ("inside", "ids"),
    [
        ('Doe <pub-id pub-id-type="doi">10.1000/y</pub-id>', {"doi": "10.1000/x"}),
        ("Doe 2001. doi:10.1000/y", {"doi": "10.1000/x", "pmid": "7"}),
        ('Doe <pub-id pub-id-type="pmid">8</pub-id>', {"doi": "10.1000/x", "pmid": "7"}),
    ],
)
def test_a_stated_identifier_is_not_contradicted(inside: str, ids: dict[str, str]) -> None:
    assert written(entry(inside, "mixed-citation"), **ids) == entry(inside, "mixed-citation")


def test_an_identifier_in_the_text_is_tagged() -> None:
    assert written(entry("Doe 2001. 10.1000/x", "mixed-citation"), doi="10.1000/x") == entry(
        f"Doe 2001. 10.1000/x {DOI} {URL}", "mixed-citation"
    )


@pytest.mark.parametrize("href", ["https://doi.org/10.1000/x", "10.1000/X", "http://dx.doi.org/10.1000%2Fx"])
def test_an_address_that_is_there_is_not_added(href: str) -> None:
    inside = f'Doe <ext-link ext-link-type="doi" xlink:href="{href}">full text</ext-link>'
    assert written(entry(inside, "mixed-citation"), doi="10.1000/x") == entry(inside, "mixed-citation")


def test_decisions_that_are_no_links() -> None:
    data = article(entry("Doe", "mixed-citation"), root=ROOT)
    (reference,) = papers(data)[0].references
    unresolved = Link(reference=reference.id, citing=reference.citing, cited=None, unresolved="no-candidate")
    version, work = link(reference, doi="10.1000/x")
    version = version.model_copy(update={"related": RelatedWork(work="w1", relation="preprint-of")})
    others: list[Links] = [{}, {reference.id: (unresolved, None)}, {reference.id: (version, work)}, {"other": (version, work)}]
    for links in others:
        assert with_links(data, links) == data


@pytest.mark.parametrize(
    ("root", "address"),
    [
        ("<article>", f"{XLINK} xlink:href"),
        ('<article xmlns:l="http://www.w3.org/1999/xlink">', "l:href"),
        (f"<article {XLINK}><sig xmlns:xlink='urn:other'/>", f"{XLINK} xlink:href"),
        (f"<article xmlns='urn:jats' {XLINK}>", "xlink:href"),
    ],
)
def test_the_prefix_of_addresses(root: str, address: str) -> None:
    assert f' {address}="https://doi.org/10.1000/x"' in written(entry("Doe", "mixed-citation"), root=root, doi="10.1000/x")


def test_elements_with_a_prefix() -> None:
    data = (
        f'<j:article xmlns:j="urn:jats" {XLINK}><j:front/><j:back><j:ref-list><j:ref><j:mixed-citation>Doe</j:mixed-citation>'
        "</j:ref></j:ref-list></j:back></j:article>"
    ).encode()
    links = made_links(papers(data), Random(1)) | {"x#1.1": link(papers(data)[0].references[0], doi="10.1000/x")}
    assert assert_laws(data, links) == 1
    assert b"</j:pub-id> <j:ext-link " in with_links(data, links, source="x")


@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "iso-8859-1", "cp1252", "iso-8859-15", "shift_jis",
     "gb18030", "euc-jp", "iso-2022-jp", "cp037", "ascii"],
)  # fmt: skip
@pytest.mark.parametrize("doi", ["10.1000/x", "10.1002/1097-0142(1982)50:10<2074::aid-cncr28>3.0.co;2-z", "10.1000/é漢"])
def test_encodings(encoding: str, doi: str) -> None:
    """Characters that an encoding lacks are character references, in the original and in what is added."""
    declared = "utf-16" if encoding.startswith("utf-16") else encoding.removesuffix("-sig")
    before = (
        f'<?xml version="1.0" encoding="{declared}"?>\r\n<!DOCTYPE article [<!ENTITY own "<ref>&#233;"> <!-- <ref> -->]>\r\n'
    )
    refs = entry("Épée &own; 東京 &eacute; R&amp;D", "mixed-citation") + entry("<source>Ω</source>", "element-citation")
    data = article(refs, root=ROOT, before=before).decode().encode(encoding, "xmlcharrefreplace")
    if encoding == "cp037":  # nothing shows this encoding: it is not XML to the reader
        with pytest.raises(NotAPaper):
            with_links(data, {})
        return
    found = papers(data)
    links = {each.id: link(each, doi=doi) for each in found[0].references}
    assert assert_laws(data, links) == 2


def test_bytes_that_an_encoding_cannot_restore() -> None:
    data = article(entry("Doe", "mixed-citation"), before='<?xml version="1.0" encoding="utf-16"?>').decode().encode("utf-16")
    with pytest.raises(NotAPaper, match="cannot be written: bytes that are not utf-16"):
        with_links(data.replace("D".encode("utf-16-le"), b"\x00\xd8"), {})


HIDDEN = "<!-- <ref><mixed-citation> --><?x <ref> ?><![CDATA[</mixed-citation><ref>]]>"


def test_markup_in_comments_and_sections() -> None:
    data = article(
        entry(f"{HIDDEN}Doe{HIDDEN}", "mixed-citation") + HIDDEN + entry("<year>2001</year>", "citation"),
        root=ROOT,
        body=HIDDEN,
        before=f"<!DOCTYPE article [<!-- <ref> --><!ENTITY e '<ref>'>]><!-- {ROOT} -->",
    )
    links = {each.id: link(each, doi="10.1000/x") for each in papers(data)[0].references}
    assert assert_laws(data, links) == 2


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda data: data.replace(b"</mixed-citation>", b"", 1), "cannot be written: not well-formed"),
        (lambda data: data.replace(b"<ref ", b"<ref <", 1), "cannot be written: not well-formed"),
        (lambda data: data.replace(b"<body>", b"<body></q>"), "cannot be written: not well-formed"),  # its end is not read
    ],
)
def test_broken_references_are_refused(damage: object, reason: str) -> None:
    data = damage(article(entry("Doe", "mixed-citation") * 2, root=ROOT))  # type: ignore[operator]
    with pytest.raises(NotAPaper, match=reason):
        with_links(data, made_links(papers(data), Random(2)))


@pytest.mark.parametrize("damage", [b"<p>a & b", b"<p>1 < 2</p>", b"<p><i></p>", b"\x0c", b"\xff"])
def test_an_article_that_is_broken_elsewhere_is_written(damage: bytes) -> None:
    data = article(entry("Doe", "mixed-citation"), root=ROOT).replace(b"<body>", b"<body>" + damage)
    links = {each.id: link(each, doi="10.1000/x") for each in papers(data)[0].references}
    assert assert_laws(data, links) == 1


def test_parts_and_several_articles() -> None:
    stub = '<front-stub><article-id pub-id-type="doi">10.1000/{}</article-id></front-stub>'
    part = f"<sub-article>{stub}<back><ref-list>{entry('Their', 'mixed-citation')}</ref-list></back>{{}}</sub-article>"
    one = article(entry("Mine", "mixed-citation"), root=ROOT, end=part.format(1, part.format(2, "")) + part.format(3, ""))
    other = article(entry("Other", "element-citation"), meta="", root="<article>")
    for data, count in ((one, 4), (b"<set>" + one + other + one + b"</set>", 5)):
        links = made_links(papers(data), Random(3))
        assert len(links) == count
        assert assert_laws(data, links) == count
    written = with_links(one, {name: link(ref, doi="10.1000/x") for name in links for ref in papers(one)[0].references[:1]
                               if name.startswith("doi:10.1000/2")})  # fmt: skip
    assert written.count(b"10.1000/x</pub-id>") == 1
    assert one.index(b"10.1000/2") < written.index(b"10.1000/x") < written.index(b"10.1000/3")


def test_a_book() -> None:
    data = (
        f"<book {XLINK}><book-meta><book-id book-id-type='doi'>10.1000/b</book-id></book-meta><book-body><book-part>"
        "<book-part-meta><book-part-id book-part-id-type='doi'>10.1000/c</book-part-id></book-part-meta><back><ref-list>"
        f"{entry('In a chapter', 'mixed-citation')}</ref-list></back></book-part></book-body><book-back><ref-list>"
        f"{entry('In the book', 'mixed-citation')}</ref-list></book-back></book>"
    ).encode()
    links = made_links(papers(data), Random(4))
    assert assert_laws(data, links) == 2
    decisions = {name: Decision(*each) for name, each in links.items()}
    for name in ("bits", "jats"):
        assert format_named(name).with_links(Content(data, "x"), decisions) == with_links(data, links, source="x")


@pytest.mark.parametrize(("data", "error"), [(b"", NotAPaper), (b"<TEI/>", NotAPaper), (b"<article/>" * 9, TooLarge)])
def test_what_is_not_a_paper_is_not_written(data: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        with_links(data, {}, limits=Limits(size=50))


_TEXTS = st.sampled_from(
    ["Doe J. ", "2001", "doi:10.1000/y ", "&#233;", "&lt;", ". ", "(", "PMID: ", "https://x.org/1 ", HIDDEN, "\n "]
)
_TAGS = st.sampled_from(["mixed-citation", "element-citation", "citation", "nlm-citation"])
_FIELDS = st.sampled_from(
    ["article-title", "source", "year", "pub-id", "ext-link", "comment", "annotation", "name", "label", "italic", "fn", "p"]
)


def _content(depth: int = 2) -> st.SearchStrategy[str]:
    inner = _content(depth - 1) if depth else _TEXTS
    element = st.builds(lambda tag, text: f"<{tag}>{text}</{tag}>", st.one_of(_FIELDS, _TAGS), inner)
    return st.lists(st.one_of(_TEXTS, element, st.just("<mixed-citation/>")), max_size=4).map("".join)


_CITATION = st.builds(lambda tag, text: f"<{tag}>{text}</{tag}>", _TAGS, _content())
_SEVERAL = st.lists(_CITATION, max_size=3).map("".join)
_WRAPPED = st.builds("<citation-alternatives>{}</citation-alternatives>".format, _SEVERAL)
_REF = st.builds("<ref>{}{}{}</ref>".format, _TEXTS, st.one_of(_SEVERAL, _WRAPPED, _content()), _TEXTS)


@settings(max_examples=examples(60))
@given(st.lists(_REF, max_size=4), _content(), st.integers(), st.sampled_from(["utf-8", "utf-16", "iso-8859-1"]))
def test_laws(refs: list[str], body: str, seed: int, encoding: str) -> None:
    before = f'<?xml version="1.0" encoding="{encoding}"?>'
    data = article("".join(refs), body=body, root=ROOT, before=before).decode().encode(encoding)
    assert_laws(data, made_links(papers(data), Random(seed)))


@given(st.binary(max_size=6), st.integers(0), st.integers(0, 12))
def test_laws_of_damaged_articles(put: bytes, at: int, length: int) -> None:
    whole = article(
        entry("Doe J. 2001", "mixed-citation") + entry("<source>J</source>", "citation") + HIDDEN, root=ROOT, body="<p/>"
    )
    at %= len(whole)
    data = whole[:at] + put + whole[at + length :]
    try:
        links = made_links(papers(data), Random(0))
        with_links(data, links, source="x")
    except (NotAPaper, TooLarge):
        return
    assert_laws(data, links)
