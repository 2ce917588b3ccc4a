"""Safe reading: encodings, entities, broken XML, what is no paper, and what is too much."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.entities import Paper
from reflink.errors import NotAPaper, TooLarge
from reflink.jats import Limits, parse
from tests.reflink.jats.articles import META, article

TITLE = "<title-group><article-title>{}</article-title></title-group>"


def titled(title: str, before: str = "") -> bytes:
    return article(meta=META + TITLE.format(title), before=before)


@pytest.mark.parametrize(
    "encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "iso-8859-1", "cp1252", "utf-8"]
)
def test_encodings(encoding: str) -> None:
    declared = "utf-16" if encoding.startswith("utf-16") else encoding.removesuffix("-sig")
    data = titled("Épée", f'<?xml version="1.0" encoding="{declared}"?>\n').decode().encode(encoding)
    assert parse(data).title == "Épée"


def test_white_space_before_the_declaration() -> None:
    assert parse(b" \n" + titled("T", '<?xml version="1.0"?>')).title == "T"


def test_utf8_that_calls_itself_ascii() -> None:
    assert parse(titled("Épée", '<?xml version="1.0" encoding="ASCII"?>')).title == "Épée"


def test_an_unknown_encoding_is_read_as_utf8_with_a_warning() -> None:
    paper = parse(titled("Épée", '<?xml version="1.0" encoding="x-none"?>'))
    assert paper.title == "Épée"
    assert paper.warnings == ("unknown encoding 'x-none': read as UTF-8",)


@pytest.mark.parametrize("doctype", ["", '<!DOCTYPE article PUBLIC "-//NLM//DTD" "http://example.invalid/x.dtd">'])
def test_named_entities(doctype: str) -> None:
    paper = parse(titled("caf&eacute;&nbsp;&lsqb;&alpha;&rsqb; &amp; &lt;b&gt; &Thetas;", doctype))
    assert (paper.title, paper.warnings) == ("café [α] & <b> Θ", ())


def test_undefined_entities_are_dropped_with_a_warning() -> None:
    paper = parse(titled("a&nonsense;b &another;"))
    assert (paper.title, paper.warnings) == ("ab", ("undefined entities dropped: another, nonsense",))


def test_entities_in_comments_and_cdata_are_no_entities() -> None:
    paper = parse(titled("<!-- &nonsense; --><![CDATA[&eacute;]]><?pi &x;?>"))
    assert paper.title == "&eacute;"


def test_an_entity_of_its_own() -> None:
    doctype = '<!DOCTYPE article [<!ENTITY own "caf\u00e9"> <!ENTITY ref "&#233;t">]>'
    assert parse(titled("&own; &ref;&#233;", doctype)).title == "café été"


def bomb() -> str:
    lines = ['<!ENTITY e0 "ha">'] + [f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 12)]
    return f"<!DOCTYPE article [{''.join(lines)}]>"


def test_entities_are_never_expanded_within_entities() -> None:
    paper = parse(titled("&e11;", bomb()))
    assert paper.title is None
    assert paper.warnings == ("undefined entities dropped: e11",)


def test_long_entities_are_dropped() -> None:
    doctype = f'<!DOCTYPE article [<!ENTITY long "{"x" * 100_000}">]>'
    assert parse(titled("a&long;" * 1000, doctype)).title == "a" * 1000


@pytest.mark.parametrize("kind", ["SYSTEM", 'PUBLIC "x"'])
def test_external_entities_are_not_read(kind: str) -> None:
    doctype = f'<!DOCTYPE article [<!ENTITY file {kind} "{__file__}"><!ENTITY % p {kind} "{__file__}"> %p;]>'
    paper = parse(titled("a&file;b", doctype))
    assert (paper.title, paper.warnings) == ("ab", ("undefined entities dropped: file",))


def test_an_attribute_bomb() -> None:
    data = article('<ref id="&e11;"><mixed-citation>A</mixed-citation></ref>', before=bomb())
    assert parse(data).references[0].id == "doi:10.1000/own#1.1"


def test_a_doctype_hidden_in_another_encoding_is_dropped_too() -> None:
    data = titled("&e1;", '<?xml version="1.0" encoding="utf-16"?>' + bomb()).decode().encode("utf-16")
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
def test_broken_papers_give_what_can_be_recovered(data: bytes) -> None:
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
def test_no_paper(data: bytes, reason: str) -> None:
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


def nested(depth: int) -> bytes:
    return titled("<bold>" * depth + "T" + "</bold>" * depth)


def test_too_deep() -> None:
    assert parse(nested(100)).title == "T"
    with pytest.raises(TooLarge, match="depth"):
        parse(nested(5000))
    with pytest.raises(TooLarge, match="nested deeper than 20"):
        parse(nested(30), limits=Limits(depth=20))
    assert parse(nested(10), limits=Limits(depth=20)).title == "T"


def test_a_huge_text_is_refused_or_read_but_never_fatal() -> None:
    with pytest.raises(TooLarge):
        parse(titled("x" * 11_000_000))


def test_source_or_publisher_or_content_names_a_paper_without_identifiers() -> None:
    assert parse(article(meta=""), source="a b.xml").id == "a%20b.xml"
    assert parse(article(meta='<article-id pub-id-type="publisher-id">S0034 1</article-id>')).id == "S0034%201"
    one, other = parse(article(meta="")).id, parse(article("<ref/>", meta="")).id
    assert one.startswith("sha256:")
    assert one != other
    assert parse(article(meta="")).id == one


def outcome(data: bytes) -> Paper | str:
    """The paper, or what the named error says; any other error is a defect."""
    try:
        return parse(data, source="x")
    except (NotAPaper, TooLarge) as error:
        return str(error)


@given(st.binary(max_size=300))
def test_any_bytes_give_a_paper_or_a_named_error(data: bytes) -> None:
    found = outcome(data)
    assert isinstance(found, Paper) or found.startswith("x: ")


WHOLE = titled("Épée &amp; caf&eacute;", '<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE article [<!ENTITY a "b">]>').replace(
    b"<ref-list>",
    b'<ref-list><ref id="r"><mixed-citation>A <pub-id pub-id-type="doi">10.1000/b</pub-id></mixed-citation></ref>',
)


@given(st.integers(0, len(WHOLE)), st.integers(0, 40), st.binary(max_size=6))
def test_a_damaged_paper_gives_a_paper_or_a_named_error(at: int, gone: int, new: bytes) -> None:
    found = outcome(WHOLE[:at] + new + WHOLE[at + gone :])
    if isinstance(found, Paper):
        assert Paper.from_json(found.to_json()) == found
    else:
        assert found.startswith("x: ")
