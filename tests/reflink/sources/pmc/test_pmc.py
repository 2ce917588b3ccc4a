"""PubMed Central: lists, metadata and articles."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.entities import Ids, Work
from reflink.errors import BadDump, BadRecord, DamagedFile, ReflinkError
from reflink.jats import parse
from reflink.sources.pmc import Pmc, article, metadata, rows
from reflink.sources.source import SourceFile, SourceRecord
from tests.data import jats_folder, shared_data
from tests.profiles import examples

HEAD = "Journal Title,ISSN,eISSN,Year,Volume,Issue,Page,DOI,PMCID,PMID,Manuscript Id,Release Date\n"
ROW = '"J Ex, B",0028-0836,2434-561X,2000,3,1,55,10.1000/A,PMC13900,11250746,,live\n'
FILES = "File,Article Citation,Accession ID,Last Updated (YYYY-MM-DD HH:MM:SS),PMID,License,Retracted\n"
XML = """<?xml version="1.0"?><!DOCTYPE article PUBLIC "x" "JATS.dtd"><article article-type="preprint" xml:lang="pt-BR"><front>
<journal-meta><journal-title>Journal of Examples</journal-title><issn>0028-0836</issn></journal-meta><article-meta>
<article-id pub-id-type="pmc">13900</article-id><article-id pub-id-type="doi">10.1000/A</article-id>
<title-group><article-title>RETRACTED: A <italic>title</italic></article-title></title-group>
<contrib-group><contrib contrib-type="author"><name><surname>Lee</surname></name></contrib></contrib-group>
<pub-date pub-type="epub"><year>2000</year></pub-date><volume>3</volume><fpage>55</fpage><lpage>59</lpage></article-meta>
</front><body><p>x</p></body><back><ref-list><ref id="r1"><mixed-citation>Smith A. B. 1999.</mixed-citation></ref></ref-list>
</back></article>"""
JSON: dict[str, Any] = {
    "pmcid": "PMC13900", "version": 2, "pmid": "11250746", "doi": "10.1000/A", "title": "A title.", "is_retracted": False,
    "citation": "Breast Cancer Res. 2000 Nov 2; 3(1):55-60",
}  # fmt: skip


def read_rows(text: str) -> list[SourceRecord | BadRecord]:
    return list(rows(io.BytesIO(text.encode()), "list.csv", 7))


def test_a_row_is_a_partial_record_that_joins_identifiers():
    (found,) = read_rows(HEAD + ROW)
    assert isinstance(found, SourceRecord)
    assert (found.key, found.version, found.partial) == ("PMC13900", 7, True)
    assert found.work == Work(
        id="doi:10.1000/a", ids=Ids(doi="10.1000/a", pmid="11250746", pmcid="PMC13900"), venue_abbreviations=("J Ex, B",),
        issns=("0028-0836", "2434-561X"), year=2000, volume="3", issue="1", fpage="55",
    )  # fmt: skip
    assert Work.from_json(found.work.to_json()) == found.work


def test_rows_without_two_identifiers_have_nothing_to_join():
    assert read_rows(HEAD + "J,,,,,,,,PMC1,,,\nJ,,,,,,,,,,,\nJ\n\n") == []


def test_lists_of_files_have_other_columns_and_retractions():
    first, second = read_rows(FILES + "a.tar.gz,J. 2000,PMC13900,2021,11250746,CC BY,no\nb.tar.gz,J,PMC13901,2021,,CC BY,yes\n")
    assert isinstance(first, SourceRecord) and isinstance(second, SourceRecord)  # noqa: PT018
    assert (first.key, second.key) == ("PMC13900:list", "PMC13901:list")
    assert first.work
    assert first.work.status is None
    assert second.work
    assert second.work.status == "retracted"
    (found,) = read_rows('\ufeffPMID,PMCID,DOI\n12,PMC3,"https://doi.org/10.1000/B"\n')
    assert isinstance(found, SourceRecord)
    assert found.work
    assert found.work.ids == Ids(pmid="12", pmcid="PMC3", doi="10.1000/b")


def test_a_bad_row_costs_itself():
    found = read_rows(HEAD + '"unended\n' + "x" * 70_000 + "\n" + ROW)
    assert [isinstance(each, SourceRecord) for each in found] == [False, True]
    assert "longer than" in str(found[0])
    (fault,) = read_rows("a,b\n1,2\n")
    assert str(fault).startswith("list.csv:1: the columns PMCID")


def test_an_article_is_read_without_its_references():
    found = article(XML.encode(), "PMC13900.2.xml", 5)
    assert (found.key, found.version, found.partial) == ("PMC13900:xml", 2 * 10**14 + 5, False)
    assert found.work == Work(
        id="doi:10.1000/a", ids=Ids(doi="10.1000/a", pmcid="PMC13900"), title="A title", authors=("Lee",),
        venue="Journal of Examples", issns=("0028-0836",), year=2000, volume="3", fpage="55", lpage="59", type="posted-content",
        language="pt", status="retracted",
    )  # fmt: skip


def test_the_metadata_of_an_article_version():
    found = metadata(JSON, 5)
    assert (found.key, found.version) == ("PMC13900:json", 2 * 10**14 + 5)
    assert found.work == Work(
        id="doi:10.1000/a", ids=Ids(doi="10.1000/a", pmid="11250746", pmcid="PMC13900"), title="A title",
        venue="Breast Cancer Res", year=2000, volume="3", issue="1", fpage="55", lpage="60", type="journal-article",
    )  # fmt: skip
    retracted = metadata({**JSON, "is_retracted": True, "title": None}, 5)
    assert retracted.partial
    assert retracted.work
    assert retracted.work.status == "retracted"
    with pytest.raises(BadRecord, match="not a PMCID"):
        metadata({**JSON, "pmcid": None}, 0)


def test_files_and_archives(tmp_path: Path):
    (tmp_path / "PMC-ids.csv").write_text(HEAD + ROW)
    (tmp_path / "other.csv").write_text("not a list")
    (tmp_path / "PMC1.1.json").write_text(json.dumps(JSON))
    with tarfile.open(tmp_path / "articles.tar.gz", "w:gz") as archive:
        for name, data in (("PMC1/a.nxml", XML), ("PMC1/a.txt", "no"), ("PMC2/b.xml", "<html/>"), ("PMC3/c.xml", XML)):
            member = tarfile.TarInfo(name)
            member.size = len(data.encode())
            archive.addfile(member, io.BytesIO(data.encode()))
    source = Pmc()
    found = [each for file in source.files([tmp_path]) for each in source.read(file)]
    assert sorted(each.key if isinstance(each, SourceRecord) else str(each)[:27] for each in found) == [
        "PMC13900", "PMC13900:json", "PMC13900:xml", "PMC13900:xml", "articles.tar.gz:PMC2/b.xml:",
    ]  # fmt: skip
    with pytest.raises(BadDump):
        source.files([tmp_path / "absent"])


@given(st.text(max_size=200) | st.text('PMC123,"\n.ab/', max_size=60))
@settings(max_examples=examples(100))
def test_any_text_gives_records_or_bad_records(text: str):
    for content in (text, HEAD + text):
        for each in rows(io.BytesIO(content.encode(errors="surrogatepass")), "a", 0):
            assert isinstance(each, SourceRecord | BadRecord)
            if isinstance(each, SourceRecord) and each.work:
                assert Work.from_json(each.work.to_json()) == each.work


@given(
    st.dictionaries(st.sampled_from(sorted(JSON)), st.none() | st.integers() | st.floats() | st.text(max_size=30) | st.just([]))
)
@settings(max_examples=examples(100))
def test_any_metadata_gives_a_valid_work(values: dict[str, Any]):
    try:
        work = metadata({**JSON, **values}, 0).work
    except BadRecord:
        return
    assert work
    assert Work.from_json(work.to_json()) == work


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
@settings(max_examples=examples(60))
def test_any_bytes_as_an_article_give_a_record_or_an_error(data: bytes):
    for xml in (data, XML.encode().replace(b"RETRACTED", data)):
        try:
            assert article(xml, "a.xml", 0).key
        except ReflinkError as error:
            assert "a.xml" in str(error)  # noqa: PT017 - both results are right


def test_the_real_list():
    path = shared_data() / "sources" / "pmc_ids" / "PMC-ids_head.csv"
    found = list(Pmc().read(SourceFile(path, path.name)))
    plain = [line.split(",") for line in path.read_text().splitlines()[1:]]
    assert [(each.work.ids.pmcid, each.work.ids.pmid, each.work.ids.doi or "") for each in found if each.work] == [
        (row[8], row[9], row[7]) for row in plain
    ]


def test_real_articles_have_the_fields_of_the_complete_parse():
    folder = jats_folder()
    compared = 0
    for path in sorted(folder.glob("*.xml"))[::30]:
        paper = parse(path.read_bytes(), source=path.name, infer=False)
        work = article(path.read_bytes(), path.name, 0).work
        assert work
        same = (
            "id",
            "ids",
            "authors",
            "venue",
            "issns",
            "year",
            "volume",
            "issue",
            "fpage",
            "lpage",
            "related",
            "translated_titles",
        )
        assert [getattr(work, name) for name in same] == [getattr(paper, name) for name in same]
        assert (work.language or "") in (paper.language or "")
        compared += 1
    assert compared == 51


def test_a_damaged_archive_is_reported(tmp_path: Path):
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("a.xml")
        member.size = len(XML.encode())
        archive.addfile(member, io.BytesIO(XML.encode()))
    data = (tmp_path / "a.tar.gz").read_bytes()
    (tmp_path / "a.tar.gz").write_bytes(data[: len(data) // 2])
    with pytest.raises(DamagedFile):
        list(Pmc().read(SourceFile(tmp_path / "a.tar.gz", "a.tar.gz")))
