"""Tests of books: chapters with an identifier are papers, all other references are of the book."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.entities import Ids, Paper
from reflink.errors import NotAPaper, TooLarge
from reflink.formats import Content, Options, format_of, parse
from reflink.limits import Limits
from tests.data import shared_data
from tests.reflink.jats.articles import assert_fields

SPACE = "https://jats.nlm.nih.gov/ns/extensions/bits/2.0/"
BOOK_META = (
    '<collection-meta collection-type="series"><title-group><title>Lecture Notes</title></title-group><issn>1234-5679</issn>'
    '</collection-meta><book-meta><book-id book-id-type="doi">10.1000/Book</book-id><book-id book-id-type="isbn">978</book-id>'
    "<book-title-group><book-title>The Book</book-title><subtitle>All of it</subtitle></book-title-group>"
    '<contrib-group><contrib contrib-type="editor"><name><surname>Editor</surname></name></contrib></contrib-group>'
    "<pub-date><year>2019</year></pub-date><book-volume-number>7</book-volume-number>"
    "<publisher><publisher-name>Press</publisher-name></publisher>"
    "<permissions><license><p><mixed-citation>How to cite the book</mixed-citation></p></license></permissions></book-meta>"
)


def refs(*names: str) -> str:
    return "".join(f'<ref id="{each}"><mixed-citation>{each}</mixed-citation></ref>' for each in names)


def chapter(ids: str = "", *names: str, tag: str = "book-part", inside: str = "", title: str = "A chapter") -> str:
    return (
        f'<{tag} book-part-type="chapter" xml:lang="en"><book-part-meta>{ids}<title-group>'
        f"<label>1</label><title>{title}</title></title-group>"
        "<contrib-group><contrib contrib-type='author'><name><surname>Doe</surname><given-names>J</given-names>"
        "</name></contrib></contrib-group><fpage>3</fpage><lpage>9</lpage><abstract><p>About</p></abstract></book-part-meta>"
        f"<body><p>Text</p>{inside}</body><back><ref-list>{refs(*names)}</ref-list></back></{tag}>"
    )


def doi(value: str, attribute: str = "book-part-id-type") -> str:
    return f'<book-part-id {attribute}="doi">{value}</book-part-id>'


def papers(data: str, **options: bool) -> dict[str, Paper]:
    content = Content(data.encode(), "file")
    return {each.paper.id: each.paper for each in parse(content, options=Options(**options))}


def cited(found: dict[str, Paper]) -> dict[str, list[str]]:
    return {name: [each.raw_text for each in paper.references] for name, paper in found.items()}


@pytest.mark.parametrize("space", ["", f' xmlns="{SPACE}"'])
def test_a_book(space: str) -> None:
    inner = chapter(doi("10.1000/2a"), "inner")
    body = chapter(doi("10.1000/1"), "a") + chapter(doi("10.1000/2", "pub-id-type"), "a", inside=inner) + chapter("", "rest")
    found = papers(f'<book{space} dtd-version="2.0">{BOOK_META}<book-body>{body}</book-body><book-back><ref-list>{refs("back")}'
                   "</ref-list></book-back></book>")  # fmt: skip
    assert cited(found) == {
        "doi:10.1000/book": ["rest", "back"], "doi:10.1000/1": ["a"], "doi:10.1000/2": ["a"], "doi:10.1000/2a": ["inner"],
    }  # fmt: skip
    assert_fields(
        found["doi:10.1000/book"], title="The Book: All of it", venue="Lecture Notes", issns=("1234-5679",), year=2019,
        publisher="Press", volume="7", article_type="book", authors=(), ids=Ids(doi="10.1000/book"),
    )  # fmt: skip
    assert_fields(
        found["doi:10.1000/1"], title="A chapter", venue="The Book", year=2019, publisher="Press", authors=("Doe",), fpage="3",
        lpage="9", abstract="About", article_type="chapter", language="en",
    )  # fmt: skip
    assert [each.id for each in found["doi:10.1000/2a"].references] == ["doi:10.1000/2a#inner.1"]


@pytest.mark.parametrize(
    ("ids", "name", "publisher_id"),
    [
        (doi("10.1000/c"), "doi:10.1000/c", None),
        ('<book-part-id book-part-id-type="pmid">123</book-part-id>', "pmid:123", None),
        ('<book-part-id book-part-id-type="pmcid">NBK1116</book-part-id>', "file", "NBK1116"),
        ("", "file", None),
    ],
)
def test_a_chapter_of_its_own_is_never_the_book(ids: str, name: str, publisher_id: str | None) -> None:
    wrapped = f"<book-part-wrapper>{BOOK_META}{chapter(ids, 'a', inside=chapter(doi('10.1000/n'), 'n'))}</book-part-wrapper>"
    for data in (wrapped, f"<response><records>{wrapped}</records></response>", f"<OAI-PMH xmlns='urn:x'>{wrapped}</OAI-PMH>"):
        found = papers(data)
        assert cited(found) == {name: ["a"], "doi:10.1000/n": ["n"]}
        assert_fields(found[name], title="A chapter", venue="The Book", year=2019, publisher_id=publisher_id)


def test_parts_of_other_names() -> None:
    """A foreword and the like have metadata of a part; they are papers too if they have an identifier."""
    found = papers(f"<book>{BOOK_META}<front-matter>{chapter(doi('10.1000/f'), 'f', tag='foreword')}</front-matter></book>")
    assert cited(found) == {"doi:10.1000/book": [], "doi:10.1000/f": ["f"]}


def test_a_collection_of_books() -> None:
    own = "<book-meta><book-title-group><book-title>Second</book-title></book-title-group></book-meta>"
    part = chapter(doi("10.1000/c"), "c").replace("<book-part-meta>", f"{own}<book-part-meta>")
    meta = "<collection-meta><collection-id>C</collection-id><collection-name>Tomes</collection-name></collection-meta>"
    found = papers(f"<collection>{meta}<body>{part}</body><back><ref-list>{refs('b')}</ref-list></back></collection>")
    assert cited(found) == {"file": ["b"], "doi:10.1000/c": ["c"]}
    assert (found["file"].title, found["doi:10.1000/c"].venue) == ("Tomes", "Second")


@pytest.mark.parametrize(
    "data",
    [
        '<book xmlns="http://docbook.org/ns/docbook"><info/><chapter/></book>',
        '<collection xmlns="http://www.loc.gov/MARC21/slim"><record/></collection>',
        "<book><title>book-meta</title></book>",
        "<book-part/>",
    ],
)
def test_other_books(data: str) -> None:
    with pytest.raises(NotAPaper):
        parse(Content(data.encode(), "x"))


def test_the_limit_is_of_all_chapters() -> None:
    body = "".join(chapter(doi(f"10.1000/{at}"), "a", "b") for at in range(4))
    data = f"<book>{BOOK_META}<book-body>{body}</book-body></book>".encode()
    assert len(parse(Content(data))) == 5
    with pytest.raises(TooLarge, match="more than 7 references"):
        parse(Content(data), options=Options(limits=Limits(references=7)))


@pytest.mark.parametrize(
    ("name", "title", "references"),
    [
        ("nlmbook21_FullBookSample", "The NCBI Handbook", 116),
        ("nlmjats-books-2.0_samplesmall-book", "Archival DTD Test book (Just a small one for parsing)", 2),
        ("nlmjats-books-2.3_samplesmall-Book", "Archival DTD Test book (Just a small one for parsing)", 2),
        ("nlmjats-books-2.3_smallsample-collection", "Mysterious Collection of Tomes", 2),
        ("nlmjats-books-2.2_sample-collection-mathml", "Mysterious Collection of Tomes", 27),
    ],
)
def test_real_books(name: str, title: str, references: int) -> None:
    content = Content((shared_data() / "sources" / "bits" / f"{name}.xml").read_bytes(), name)
    assert format_of(content).name == "bits"
    ((found),) = parse(content, options=Options(text=True))
    assert (found.paper.title, len(found.paper.references), found.paper.warnings) == (title, references, ())
    named = {each.xml_id for each in found.paper.references}
    assert all(not named.isdisjoint(one.entries) for each in found.paragraphs for one in each.mentions)


@given(st.data())
def test_damaged_books_raise_only_named_errors(data: st.DataObject) -> None:
    whole = f"<book>{BOOK_META}<book-body>{chapter(doi('10.1000/1'), 'a')}</book-body></book>".encode()
    at = data.draw(st.integers(0, len(whole)))
    length = data.draw(st.integers(0, 30))
    damaged = whole[:at] + data.draw(st.binary(max_size=8)) + whole[at + length :]
    try:
        found = parse(Content(damaged, "x"), format_name="bits", options=Options(text=True))
    except (NotAPaper, TooLarge):
        return
    assert len({each.paper.id for each in found}) == len(found)
