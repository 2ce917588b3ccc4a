"""Tests of safe reading: encodings, entities, broken XML, input that is not a paper, and limits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.entities import Paper
from reflink.errors import NotAPaper, TooLarge
from reflink.jats import Limits, parse
from tests.reflink.jats.articles import META, article, assert_fields, outcome


def titled(title: str, before: str = "") -> bytes:
    """Return an article with this title."""
    return article(meta=f"{META}<title-group><article-title>{title}</article-title></title-group>", before=before)


@pytest.mark.parametrize(
    "encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "iso-8859-1", "cp1252", "utf-8"]
)
def test_encodings(encoding: str) -> None:
    declared = "utf-16" if encoding.startswith("utf-16") else encoding.removesuffix("-sig")
    data = titled("Épée", f'<?xml version="1.0" encoding="{declared}"?>\n').decode().encode(encoding)
    assert parse(data).title == "Épée"


@pytest.mark.parametrize(
    ("data", "title", "warnings"),
    [
        (b" \n" + titled("T", '<?xml version="1.0"?>'), "T", ()),
        (titled("Épée", '<?xml version="1.0" encoding="ASCII"?>'), "Épée", ()),
        (titled("Épée", '<?xml version="1.0" encoding="x-none"?>'), "Épée", ("unknown encoding 'x-none': read as UTF-8",)),
    ],
)
def test_declarations(data: bytes, title: str, warnings: tuple[str, ...]) -> None:
    assert_fields(parse(data), title=title, warnings=warnings)


NAMED = "caf&eacute;&nbsp;&lsqb;&alpha;&rsqb; &amp; &lt;b&gt; &Thetas;"
BOMB = '<!DOCTYPE article [<!ENTITY e0 "ha">' + "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 12)) + "]>"
EXTERNAL = f'<!DOCTYPE article [<!ENTITY file {{0}} "{__file__}"><!ENTITY % p {{0}} "{__file__}"> %p;]>'


@pytest.mark.parametrize(
    ("source", "doctype", "title", "dropped"),
    [
        (NAMED, "", "café [α] & <b> Θ", ""),
        (NAMED, '<!DOCTYPE article PUBLIC "-//NLM//DTD" "http://example.invalid/x.dtd">', "café [α] & <b> Θ", ""),
        ("a&nonsense;b &another;", "", "ab", "another, nonsense"),
        ("<!-- &nonsense; --><![CDATA[&eacute;]]><?pi &x;?>", "", "&eacute;", "x"),
        ("&own; &ref;&#233;", '<!DOCTYPE article [<!ENTITY own "caf\u00e9"> <!ENTITY ref "&#233;t">]>', "café été", ""),
        ("&e11;", BOMB, None, "e11"),  # an entity is not expanded within another
        ("a&long;" * 1000, f'<!DOCTYPE article [<!ENTITY long "{"x" * 100_000}">]>', "a" * 1000, "long"),
        ("a&file;b", EXTERNAL.format("SYSTEM"), "ab", "file"),
        ("a&file;b", EXTERNAL.format('PUBLIC "x"'), "ab", "file"),
    ],
    ids=range(9),
)
def test_entities(source: str, doctype: str, title: str | None, dropped: str) -> None:
    warnings = (f"undefined entities dropped: {dropped}",) if dropped else ()
    assert_fields(parse(titled(source, doctype)), title=title, warnings=warnings)


def test_an_entity_in_an_attribute_is_not_expanded() -> None:
    data = article('<ref id="&e11;"><mixed-citation>A</mixed-citation></ref>', before=BOMB)
    assert parse(data).references[0].id == "doi:10.1000/own#1.1"


def test_a_doctype_in_another_encoding_is_removed() -> None:
    data = titled("&e1;", '<?xml version="1.0" encoding="utf-16"?>' + BOMB).decode().encode("utf-16")
    assert parse(data).title is None


@pytest.mark.parametrize(
    "data",
    [
        titled("T").replace(b"</article-title>", b""),
        titled("T").replace(b"</article>", b""),
        titled("T").replace(b"<body>", b"<body><p>a < b & c</p>"),
        titled("T").replace(b"<body>", b"<body>\x0c"),
        titled("T").replace(b"<body>", b"<body>\xff\xfe"),
    ],
)
def test_a_broken_paper_is_recovered(data: bytes) -> None:
    paper = parse(data)
    assert (paper.title, paper.id) == ("T", "doi:10.1000/own")
    assert len(paper.warnings) == 1
    assert paper.warnings[0].startswith("not well-formed, read as far as possible: ")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not XML: empty"),
        (b"  \n", "not XML: empty"),
        (b"%PDF-1.4 ...", "not XML: it does not begin with '<'"),
        (b"{}", "not XML: it does not begin with '<'"),
        (b"\x00\x01\x02", "not XML: it does not begin with '<'"),
        (b"<", "not XML: "),
        (b"<<<>>>", "not XML: "),
        (b"<!DOCTYPE article>", "not XML: "),
        (b"<TEI><text/></TEI>", "root element is <TEI>, not <article>"),
        (b"<html><body><article><back/></article></body></html>", "root element is <html>, not <article>"),
        (b"<article><title>DocBook</title></article>", "<article> has neither <front> nor <back>"),
        (b"<set><article><front/></article><article><front/></article></set>", "holds 2 articles: split it into one each"),
    ],
)
def test_input_that_is_not_a_paper(data: bytes, reason: str) -> None:
    with pytest.raises(NotAPaper) as caught:
        parse(data, source="some.xml")
    assert str(caught.value).startswith(f"some.xml: {reason}")
    assert "\n" not in str(caught.value)


def test_wrapped_and_namespaced_articles() -> None:
    inside = article("<ref id='a'><mixed-citation>A</mixed-citation></ref>").decode()
    spaced = inside.replace("<article>", '<article xmlns="https://jats.nlm.nih.gov/ns/archiving/1.3/">')
    for data in (
        spaced,
        f"<pmc-articleset>{inside}</pmc-articleset>",
        f'<OAI-PMH xmlns="http://oai"><record>{spaced}</record></OAI-PMH>',
    ):
        assert parse(data.encode()).references[0].raw_text == "A"


def test_too_large() -> None:
    data = titled("T")
    with pytest.raises(TooLarge, match=rf"a\.xml: {len(data)} bytes of XML, the limit is 10"):
        parse(data, source="a.xml", limits=Limits(size=10))
    assert parse(data, limits=Limits(size=len(data))).title == "T"


def test_too_deep() -> None:
    def nested(depth: int) -> bytes:
        return titled("<bold>" * depth + "T" + "</bold>" * depth)

    assert parse(nested(100)).title == parse(nested(10), limits=Limits(depth=20)).title == "T"
    with pytest.raises(TooLarge, match="depth"):
        parse(nested(5000))
    with pytest.raises(TooLarge, match="nested deeper than 20"):
        parse(nested(30), limits=Limits(depth=20))


def test_a_huge_text_is_refused() -> None:
    with pytest.raises(TooLarge):
        parse(titled("x" * 11_000_000))


def test_the_id_of_a_paper_without_identifiers() -> None:
    assert parse(article(meta=""), source="a b.xml").id == "a%20b.xml"
    assert parse(article(meta='<article-id pub-id-type="publisher-id">S0034 1</article-id>')).id == "S0034%201"
    one, other = parse(article(meta="")).id, parse(article("<ref/>", meta="")).id
    assert one.startswith("sha256:")
    assert one != other
    assert parse(article(meta="")).id == one
    for blank in (parse(b"<article><back", source=" "), parse(article(meta=""), source=" \n")):
        assert blank.id.startswith("sha256:")


@given(st.binary(max_size=300))
def test_any_bytes_give_a_paper_or_an_error_that_names_it(data: bytes) -> None:
    found = outcome(data)
    assert isinstance(found, Paper) or found.startswith("x: ")


WHOLE = titled("Épée &amp; caf&eacute;", '<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE article [<!ENTITY a "b">]>').replace(
    b"<ref-list>",
    b'<ref-list><ref id="r"><mixed-citation>A <pub-id pub-id-type="doi">10.1000/b</pub-id></mixed-citation></ref>',
)


@given(st.integers(0, len(WHOLE)), st.integers(0, 40), st.binary(max_size=6))
def test_a_damaged_paper_gives_a_paper_or_an_error_that_names_it(at: int, gone: int, new: bytes) -> None:
    found = outcome(WHOLE[:at] + new + WHOLE[at + gone :])
    if isinstance(found, Paper):
        assert Paper.from_json(found.to_json()) == found
    else:
        assert found.startswith("x: ")
