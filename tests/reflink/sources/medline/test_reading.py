"""Files of PubMed: their series, their records in order, and their faults."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from reflink.errors import BadDump, BadRecord, DamagedFile
from reflink.sources.medline import Medline
from reflink.sources.medline.parsing import PUBMED, UNREAD, parse
from reflink.sources.medline.records import records_of
from reflink.sources.slicing import Slice
from reflink.sources.source import SourceFile, SourceRecord
from tests.profiles import examples
from tests.reflink.sources.medline.made_up import ARTICLE, BOOK, document

DELETED = '<DeleteCitation><PMID Version="1">11</PMID><PMID Version="2">12</PMID></DeleteCitation>'


def written(path: Path, *records: str) -> SourceFile:
    path.write_bytes(gzip.compress(document(*records)) if path.suffix == ".gz" else document(*records))
    return SourceFile(path, path.name)


def article(pmid: int, title: str = "A title.", version: int = 1) -> str:
    return ARTICLE.replace('"1">1234567<', f'"{version}">{pmid}<').replace(">[Proof of", f">{title}[Proof of")


def keys(found: list[SourceRecord | BadRecord]) -> list[str | None]:
    return [each.key if isinstance(each, SourceRecord) else None for each in found]


def test_articles_books_and_deletions_in_order(tmp_path: Path):
    file = written(tmp_path / "a.xml.gz", article(1), BOOK, DELETED, article(2))
    found = list(Medline().read(file))
    assert keys(found) == ["1", "20301295", "11", "12", "2"]
    assert [each.work is None for each in found if isinstance(each, SourceRecord)] == [False, False, True, True, False]


def test_the_series_of_the_newest_year_is_an_edition_if_it_has_the_baseline(tmp_path: Path):
    for name in (
        "pubmed20n0001.xml.gz",
        "pubmed20n0002.xml.gz",
        "pubmed21n0001.xml",
        "pubmed21n0002.xml.gz",
        "notes.xml",
        "a.txt",
    ):
        written(tmp_path / name)
    (tmp_path / "sub").mkdir()
    (tmp_path / "notes.xml").write_text("<other/>")
    written(tmp_path / "sub" / "efetch.xml", article(1))
    files = Medline().files([tmp_path])
    assert [(file.name, file.edition) for file in files] == [
        ("sub/efetch.xml", None), ("pubmed21n0001.xml", 2021), ("pubmed21n0002.xml.gz", 2021),
    ]  # fmt: skip
    assert [file.version for file in files] == sorted(file.version for file in files)
    alone = Medline().files([tmp_path / "pubmed21n0002.xml.gz"])
    assert [(file.name, file.edition) for file in alone] == [("pubmed21n0002.xml.gz", None)]


@pytest.mark.parametrize(
    ("names", "missing"),
    [
        (["pubmed21n0001.xml.gz", "pubmed21n0003.xml.gz"], "pubmed21n0002.xml.gz"),
        (["pubmed21n1001.xml.gz", "pubmed21n1010.xml.gz"], "pubmed21n1002.xml.gz.* and 3 more"),
        (["pubmed20n0001.xml.gz", "pubmed21n0002.xml.gz"], "pubmed21n0001.xml.gz"),
        (["notes.txt"], "no PubMed XML"),
    ],
)
def test_an_incomplete_series_is_refused(tmp_path: Path, names: list[str], missing: str):
    for name in names:
        written(tmp_path / name)
    with pytest.raises(BadDump, match=missing):
        Medline().files([tmp_path])


def test_a_missing_path_is_refused(tmp_path: Path):
    with pytest.raises(BadDump, match="no such file"):
        Medline().files([tmp_path / "absent"])


def state(names: list[str], folder: Path) -> dict[str, str | None]:
    """Return the title of each record after the files were read in this order."""
    versions: dict[str, tuple[int, str | None]] = {}
    for name in names:
        for file in Medline().files([folder / name]):
            for each in Medline().read(file):
                assert isinstance(each, SourceRecord)
                title = each.work.title if each.work else None
                if each.key not in versions or each.version >= versions[each.key][0]:
                    versions[each.key] = each.version, title
    return {key: title for key, (_, title) in versions.items()}


@given(st.permutations(["pubmed21n0001.xml", "pubmed21n0002.xml", "pubmed21n0010.xml", "pubmed22n0001.xml", "fetched.xml"]))
@settings(max_examples=examples(20))
def test_the_result_does_not_depend_on_the_order_of_the_files(tmp_path_factory: pytest.TempPathFactory, names: list[str]):
    folder = tmp_path_factory.mktemp("files")
    written(folder / "pubmed21n0001.xml", article(1, "old "), article(2, "old "), article(3, "newest ", version=2), article(4))
    written(folder / "pubmed21n0002.xml", article(1, "newer "), article(3, "newer file of version 1 "), article(11, "old "))
    written(folder / "pubmed21n0010.xml", article(1, "newest "), DELETED, article(3))
    written(folder / "pubmed22n0001.xml", article(2, "next year "))
    written(folder / "fetched.xml", article(1, "of the same year, without a number "), article(5, "only "))
    found = state(names, folder)
    assert {key: (title or "")[:9].strip() for key, title in found.items()} == {
        "1": "newest [P", "2": "next year", "3": "newest [P", "4": "A title.[", "5": "only [Pro", "11": "", "12": "",
    }  # fmt: skip


def test_a_bad_record_costs_itself(tmp_path: Path):
    broken = article(2).replace("<Volume>", "<Volumen>")
    unended = article(3).replace("</PubmedArticle>", "")
    deletions = DELETED.replace("11<", "x<")
    latin = article(5).encode().replace("ü".encode(), b"\xfc")
    path = tmp_path / "a.xml"
    path.write_bytes(document(article(1), broken, unended, article(4), "LATIN", deletions, article(6)).replace(b"LATIN", latin))
    found = list(Medline().read(SourceFile(path, "a.xml")))
    assert keys(found) == ["1", None, None, "4", None, None, "12", "6"]
    faults = [str(each) for each in found if isinstance(each, BadRecord)]
    assert faults[0].startswith("a.xml: record 2 (PMID 2): not well-formed")
    assert faults[1].startswith("a.xml: record 3 (PMID 3): not well-formed")
    assert faults[3] == "a.xml: record 5: PMID: not a number of at most 8 digits: 'x'"


@pytest.mark.parametrize("cut", [10, 300, -3, -25, -600])
def test_a_truncated_file_is_damaged(tmp_path: Path, cut: int):
    whole = document(article(1), article(2))
    path = tmp_path / "a.xml"
    path.write_bytes(whole[:cut])
    with pytest.raises(DamagedFile, match=r"a\.xml"):
        list(Medline().read(SourceFile(path, "a.xml")))
    path = tmp_path / "a.xml.gz"
    path.write_bytes(gzip.compress(whole)[:cut])
    with pytest.raises(DamagedFile, match=r"a\.xml\.gz"):
        list(Medline().read(SourceFile(path, "a.xml.gz")))


def test_the_record_before_the_truncation_is_read(tmp_path: Path):
    path = tmp_path / "a.xml"
    path.write_bytes(document(article(1), article(2))[:-600])
    found = Medline().read(SourceFile(path, "a.xml"))
    assert keys([next(found)]) == ["1"]
    with pytest.raises(DamagedFile, match="truncated behind record 1"):
        next(found)


def test_a_file_of_another_kind_is_refused(tmp_path: Path):
    path = tmp_path / "a.xml"
    path.write_text("<article/>")
    with pytest.raises(DamagedFile, match="not a file of PubMed"):
        list(Medline().read(SourceFile(path, "a.xml")))


def test_an_endless_record_is_skipped_in_bounded_memory():
    huge = "<PubmedArticle>" + "x" * 5_000_000 + "</PubmedArticle>"
    found = list(PUBMED.slices(io.BytesIO(document(article(1), huge, article(2))), "a", limit=100_000))
    assert [each.number if isinstance(each, Slice) else str(each) for each in found] == [
        1, "a: record 2: longer than 100000 bytes", 3,
    ]  # fmt: skip


def test_a_record_of_many_titles_names_and_relations_is_bounded(tmp_path: Path):
    many = article(1).replace(
        "<Language>", "".join(f"<VernacularTitle>Title {n}</VernacularTitle>" for n in range(99)) + "<Language>"
    )
    many = many.replace('<AuthorList CompleteYN="Y">', "<AuthorList>" + "<Author><LastName>A</LastName></Author>" * 20_000)
    link = '<CommentsCorrections RefType="CommentIn"><PMID>{}</PMID></CommentsCorrections>'
    many = many.replace("<CommentsCorrectionsList>", "<CommentsCorrectionsList>" + "".join(map(link.format, range(2, 20_000))))
    (found,) = Medline().read(written(tmp_path / "a.xml", many))
    assert isinstance(found, SourceRecord)
    assert found.work
    assert (len(found.work.translated_titles), len(found.work.authors)) == (19, 10_000)
    assert len(found.work.related) == 10_000


def test_entities_are_not_resolved(tmp_path: Path):
    bomb = '<!DOCTYPE PubmedArticleSet [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;"><!ENTITY f SYSTEM "file:///etc/hostname">]>'
    text = document(article(1), article(2).replace("&amp;", "&b;"), article(3).replace("&amp;", "&f;")).decode()
    path = tmp_path / "a.xml"
    path.write_text(text.replace(text.split("\n")[1], bomb))
    assert keys(list(Medline().read(SourceFile(path, "a.xml")))) == ["1", None, None]


@given(st.binary(max_size=400) | st.text(max_size=400).map(str.encode))
@settings(max_examples=examples(200))
def test_any_bytes_give_records_and_bad_records_or_a_damaged_file(data: bytes):
    for content in (data, document("PLACE").replace(b"PLACE", data), document(article(1)).replace(b"Exempla", data)):
        assert all(isinstance(each, SourceRecord | str) for each in outcome(lambda content=content: everything(content)))


def everything(content: bytes) -> Iterator[SourceRecord | BadRecord]:
    for part in PUBMED.slices(io.BytesIO(content), "any"):
        assert isinstance(part, Slice)
        yield from records_of(parse(part), 0)


def outcome(read: Callable[[], Iterable[SourceRecord | BadRecord]]) -> list[SourceRecord | str]:
    """Return the records, and the messages of errors, which are short."""
    found: list[SourceRecord | str] = []
    try:
        found.extend(str(each) if isinstance(each, BadRecord) else each for each in read())
    except (BadRecord, DamagedFile) as error:
        found.append(str(error)[:500])
    return found


# Fast reading is compared with a complete parse of the whole document, on trees of elements that are read and not read.
_NAMES = (
    *UNREAD, "Article", "ArticleTitle", "VernacularTitle", "AuthorList", "Author", "LastName", "CollectiveName", "Journal",
    "JournalIssue", "PubDate", "Year", "MedlineDate", "Volume", "Title", "Pagination", "MedlinePgn", "ELocationID", "Language",
    "MedlineJournalInfo", "MedlineTA", "CommentsCorrectionsList", "CommentsCorrections", "PMID", "RefSource", "PubmedData",
    "ArticleIdList", "ArticleId", "i", "sup", "PublicationTypeList", "PublicationType", "AbstractText",
)  # fmt: skip
_TEXTS = st.text("ab 1[].&<>é\n-", max_size=8)
_ATTRIBUTES = st.dictionaries(
    st.sampled_from(["IdType", "EIdType", "ValidYN", "RefType", "Version", "x"]),
    st.sampled_from(["doi", "pii", "N", "Y", "ErratumIn", "2", "a>b", "/", "it's", "<"]),
    max_size=2,
)


@st.composite
def elements(draw: st.DrawFn, depth: int = 3, name: str | None = None) -> str:
    """Write an element in one of the forms of XML: empty, with white space in tags, comments, CDATA sections, entities."""
    tag = name or draw(st.sampled_from(_NAMES))
    space = draw(st.sampled_from(["", "", " ", "\n"]))
    attributes = "".join(f' {key}="{_escaped(value)}"' for key, value in draw(_ATTRIBUTES).items())
    if not name and draw(st.integers(0, 5)) == 0:
        return f"<{tag}{attributes}{space}/>"
    parts = draw(st.lists(elements(depth - 1) if depth else st.nothing(), max_size=3)) if depth else []
    texts = [draw(_content()) for _ in range(len(parts) + 1)]
    inner = "".join(text + part for text, part in zip(texts, [*parts, ""], strict=True))
    return f"<{tag}{attributes}{space}>{inner}</{tag}{space}>"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


@st.composite
def _content(draw: st.DrawFn) -> str:
    text = draw(_TEXTS)
    form = draw(st.integers(0, 12))
    if form == 0:
        return f"<!-- {text.replace('-', '')} <Abstract> </PubmedArticle> -->"
    if form == 1:
        return f"<![CDATA[{text.replace(']', '')}<Abstract></PubmedArticle>]]>"
    if form == 2:
        return "<?pi </PubmedArticle> ?>"
    return _escaped(text).replace("]]>", "]]&gt;").replace("1", "&#49;")


@st.composite
def articles(draw: st.DrawFn) -> str:
    inner = "".join(draw(st.lists(elements(2), max_size=4)))
    citation = "".join(draw(st.lists(elements(3), max_size=4)))
    data = "".join(draw(st.lists(elements(2), max_size=3)))
    return (
        f"<PubmedArticle><MedlineCitation><PMID>7</PMID><Article>{inner}</Article>{citation}</MedlineCitation>"
        f"<PubmedData>{data}</PubmedData></PubmedArticle>"
    )


@given(st.lists(articles(), min_size=1, max_size=3))
@settings(max_examples=examples(200))
def test_fast_reading_is_equal_to_a_complete_parse(records: list[str]):
    content = document(*records)
    parser = etree.XMLParser(resolve_entities=False, remove_comments=True, remove_pis=True)
    plain = [outcome(lambda child=child: records_of(child, 3)) for child in etree.fromstring(content, parser)]
    parts = [part for part in PUBMED.slices(io.BytesIO(content), "a") if isinstance(part, Slice)]
    assert [outcome(lambda part=part: records_of(parse(part), 3)) for part in parts] == plain


def test_parts_of_one_number_are_all_read(tmp_path: Path):
    for part in ("a", "b"):
        written(tmp_path / f"pubmed26n0001_{part}.xml", article(1))
    found = Medline().files([tmp_path])
    assert [file.name for file in found] == ["pubmed26n0001_a.xml", "pubmed26n0001_b.xml"]
    assert {file.edition for file in found} == {2026}
