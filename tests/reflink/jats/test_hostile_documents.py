"""Tests of input that a fuzzer found or may find: the cost stays linear and every error names the article."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from reflink.entities import Paper
from reflink.errors import TooLarge
from reflink.jats import parse
from tests.reflink.jats.articles import article, cited, outcome, paper, references

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(autouse=True)
def quick() -> Iterator[None]:
    """Fail a test that takes 10 seconds of CPU time: tests take milliseconds, and a quadratic cost would take minutes."""
    parse(article())  # compiles the scanner
    began = time.thread_time()
    yield
    assert time.thread_time() - began < 10


DOCTYPE = b"<!DOCTYPE article "
TAIL = b"<article><front/></article>"


@pytest.mark.parametrize(
    "data",
    [
        b"&" + b"<!--" * 80_000,
        b"<article>&x;" + b"<![CDATA[" * 80_000,
        DOCTYPE + b"[" + b"<!--" * 80_000,
        DOCTYPE + b"[" + b"<?" * 80_000,
        DOCTYPE + b"[" + b"<!" * 80_000,
        DOCTYPE + b'"' * 80_001,
        DOCTYPE + b"[" * 80_000,
        DOCTYPE + b"[<?a?>" * 80_000,
        b"<!DOCTYPE" * 80_000,
        b"<?" * 80_000,
        b"<?xml " * 80_000,
        b"<" * 80_000,
    ],
)
def test_unclosed_markup_is_not_a_paper(data: bytes) -> None:
    assert str(outcome(data)).startswith(("x: not XML: ", "x: <article> has neither <front> nor <back>"))


def test_doctypes() -> None:
    assert isinstance(outcome(DOCTYPE + b"[" + b"<?a?>" * 160 + TAIL), str)
    found = outcome(DOCTYPE + b"[" + b"<!-- -->" * 1600 + b"]>" + TAIL)
    assert isinstance(found, Paper)
    assert found.warnings == ()


def test_thousands_of_pairs_in_one_ref() -> None:
    pair = "<citation>One a{0}</citation><nlm-citation>Other b{0}</nlm-citation>"
    refs = references(f"<ref>{''.join(map(pair.format, range(4000)))}</ref>")
    assert len(refs) == 8000


def test_thousands_of_xml_ids_that_look_like_positions() -> None:
    numbered = "".join(f'<ref id="{number}"><citation>A</citation></ref>' for number in range(2, 19_002))
    refs = references(f"{numbered}<ref><citation>A</citation></ref>")
    assert len({ref.id for ref in refs}) == len(refs) == 19_001


@pytest.mark.parametrize("text", [",", "A"])
def test_thousands_of_titles_in_one_citation(text: str) -> None:
    for tag in ("mixed-citation", "element-citation"):
        ref = cited(f"<article-title>{text}</article-title>" * 80_000 + "x", tag)
        assert (ref.title is None) == (text == ",")


@pytest.mark.parametrize("name", ["person-group", "string-name", "uri", "year", "label", "date-in-citation"])
def test_thousands_of_elements_in_one_citation(name: str) -> None:
    assert cited(f"<{name}>1</{name}>" * 20_000 + "x").raw_text.startswith(("1 1", "x"))


@pytest.mark.parametrize(
    "data", ["<:", "<article><front<:", "<article><:", "<article><front/><:a/>", "<article><front/><a: :b='c'/>"]
)
def test_names_that_are_a_colon(data: str) -> None:
    for text in (data, f"{data}</article>", f"{data}<ref>A</ref>"):
        outcome(text.encode())


@pytest.mark.parametrize("reference", ["&#xDFFF;", "&#0;", "&#x110000;", "&#99999999999999;", "&#xFFFE;", "&#1;"])
def test_references_to_no_character_in_broken_xml(reference: str) -> None:
    outcome(f"<article><front<ref>{reference}".encode())
    data = article(f"<ref><citation>A{reference}B</citation></ref>").replace(b"<body>", b"<body><p>")
    (ref,) = parse(data).references
    assert ref.raw_text == "A\ufffdB"


@pytest.mark.parametrize("character", ["\x00", "\x01", "\x02", "\x03", "\x08", "\x0b", "\x0c", "\x1f", "\ufffe", "\uffff"])
def test_forbidden_characters(character: str) -> None:
    (ref,) = parse(article(f"<ref><citation>A{character}B</citation></ref>")).references
    assert ref.raw_text == "A\ufffdB"


@pytest.mark.parametrize(
    "encoding", ["idna", "undefined", "punycode", "unicode_escape", "hex", "rot13", "zlib", "base64", "utf-7"]
)
def test_encodings_that_are_not_for_documents(encoding: str) -> None:
    data = article("<ref>é &#233;</ref>", before=f'<?xml version="1.0" encoding="{encoding}"?>')
    found = outcome(data)
    assert isinstance(found, Paper) or "encoding" in found or "not XML" in found
    if encoding in ("idna", "undefined"):
        assert found == f"x: encoding '{encoding}' is not one of text"


@pytest.mark.parametrize("encoding", ["utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("declaration", ["", '<?xml version="1.0"?>', '<?xml version="1.0" encoding="{}"?>'])
def test_wide_encodings_without_a_byte_order_mark(encoding: str, declaration: str) -> None:
    data = article("<ref>Épée \U0001d54f</ref>", before=declaration.format(encoding)).decode().encode(encoding)
    (ref,) = parse(data).references
    assert ref.raw_text == "Épée \U0001d54f"


def test_the_error_of_depth_names_the_article() -> None:
    for tag in ("ref", "citation", "x", "label", "italic"):
        with pytest.raises(TooLarge, match=r"^x: "):
            parse(article(f"<{tag}>" * 5000 + "A" + f"</{tag}>" * 5000), source="x")


@pytest.mark.parametrize("data", [b"<article><front&&F;x;", b"<article><front&\xe1;"])
def test_entities_between_elements_of_broken_xml(data: bytes) -> None:
    assert parse(data, source="x").references == ()


def test_a_text_beyond_the_limit_keeps_no_identifier() -> None:
    ids = " ".join(f'<pub-id pub-id-type="doi">10.1000/{number}</pub-id>' for number in range(2000))
    reference = cited(f"Words {ids}", "mixed-citation")
    assert len(reference.raw_text) <= 10_000
    assert reference.raw_noid == "Words"


def test_thousands_of_citations_without_tags() -> None:
    found = references("<ref><mixed-citation>Wang X. Title. J Soil. 2001;7:1-9.</mixed-citation></ref>" * 3000)
    assert sum(reference.inferred is not None for reference in found) in (0, 3000)


@pytest.mark.parametrize("part", ["†, ", "abc* *", "1-", "10.", "Jr. ", "van ", "A.", "0028-083", "pmc", "&#160;"])
def test_repetitive_text_in_the_front_matter(part: str) -> None:
    text = part * 20_000
    name = f"<contrib><string-name>x {text}</string-name></contrib>"
    found = paper(
        meta=f"<title-group><article-title>{text}.</article-title></title-group><contrib-group>{name}</contrib-group>"
        f"<page-range>{text}</page-range><elocation-id>{text}</elocation-id><pub-date><year>{text}</year></pub-date>"
        f"<article-id pub-id-type='pmc'>{text}</article-id><related-article>{text}</related-article>"
    )
    assert len(found.given_names) == len(found.authors)
