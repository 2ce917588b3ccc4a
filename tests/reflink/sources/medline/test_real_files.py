"""PubMed's own files, compared with a plain reading of each field by its path, and with an independent extraction."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator

import pytest
from lxml import etree

from reflink.entities import Work
from reflink.identifiers import normalise_doi
from reflink.sources.languages import language_code
from reflink.sources.medline import Medline
from reflink.sources.source import SourceRecord
from tests.data import shared_data

FILES = ("pubmed20n0014.xml.gz", "pubmed21n1298_first2500.xml.gz")
#: Every which record of the first file is compared; it has 30,000.
_EACH = 5


def read(name: str) -> list[SourceRecord]:
    path = shared_data() / "medline" / name
    source = Medline()
    (file,) = source.files([path])
    found = list(source.read(file))
    assert all(isinstance(each, SourceRecord) for each in found)
    return [each for each in found if isinstance(each, SourceRecord)]


def texts(element: etree._Element, path: str) -> list[str]:
    return [" ".join("".join(each.itertext()).split()) for each in element.findall(path)]


def plain(name: str) -> Iterator[dict[str, object]]:
    """Yield fields of each article by their paths."""
    with gzip.open(shared_data() / "medline" / name) as content:
        root = etree.parse(content, etree.XMLParser(remove_comments=True)).getroot()
    for article in root.iterfind("PubmedArticle"):
        years = texts(article, "MedlineCitation/Article/Journal/JournalIssue/PubDate/Year")
        years += texts(article, "MedlineCitation/Article/Journal/JournalIssue/PubDate/MedlineDate")
        dois = texts(article, "PubmedData/ArticleIdList/ArticleId[@IdType='doi']")
        dois += texts(article, "MedlineCitation/Article/ELocationID[@EIdType='doi']")
        pages = texts(article, "MedlineCitation/Article/Pagination/MedlinePgn")
        yield {
            "pmid": texts(article, "MedlineCitation/PMID")[0],
            "doi": normalise_doi(dois[0]) if dois else None,
            "title": letters(texts(article, "MedlineCitation/Article/ArticleTitle")[0]),
            "venue": texts(article, "MedlineCitation/Article/Journal/Title")[0],
            "abbreviation": texts(article, "MedlineCitation/MedlineJournalInfo/MedlineTA")[0],
            "volume": next(iter(texts(article, "MedlineCitation/Article/Journal/JournalIssue/Volume")), None),
            "issue": next(iter(texts(article, "MedlineCitation/Article/Journal/JournalIssue/Issue")), None),
            "year": int(years[0][:4]),
            "fpage": re.match(r"[^-,]*", pages[0])[0] if pages else None,
            "people": texts(article, "MedlineCitation/Article/AuthorList/Author[@ValidYN='Y']/LastName"),
            "language": texts(article, "MedlineCitation/Article/Language")[0],
            "related": len(
                {
                    (each.get("RefType"), *texts(each, "PMID"))
                    for each in article.findall("MedlineCitation/CommentsCorrectionsList/CommentsCorrections[PMID]")
                }
            ),
        }


def letters(text: str) -> str:
    return re.sub(r"(?i)\(author'?s transl\.?\)|retracted:|\W", "", text)


@pytest.mark.parametrize("name", FILES)
def test_the_fields_are_those_of_a_plain_reading(name: str):
    found = [each for each in read(name) if each.work is not None]
    expected = list(plain(name))
    assert [each.key for each in found] == [each["pmid"] for each in expected]
    differences: Counter[str] = Counter()
    for each, fields in list(zip(found, expected, strict=True))[:: _EACH if len(expected) > 10_000 else 1]:
        work = each.work
        assert work is not None
        assert Work.from_json(work.to_json()) == work
        assert work.ids.doi == fields["doi"]
        assert (work.venue, work.volume, work.issue, work.year) == tuple(
            fields[key] for key in ("venue", "volume", "issue", "year")
        )
        assert [name for name in work.authors if name not in work.collectives] == fields["people"]
        names = [name.replace(".", "") for name in (str(work.venue), *work.venue_abbreviations)]
        assert fields["abbreviation"] in names
        assert work.language == language_code(str(fields["language"]))
        assert len(work.related) == fields["related"]
        differences["title"] += letters(work.title or "") != fields["title"]
        differences["fpage"] += (work.fpage or "") != fields["fpage"] and fields["fpage"] is not None
    # Titles without text, and pages with the word "suppl", "p." or "passim" behind or before the number, differ on purpose.
    assert differences["title"] <= 1
    assert differences["fpage"] <= 10 + len(expected) // 500


def test_deletions_versions_and_states():
    found = read(FILES[1])
    assert sum(each.work is None for each in found) == 20
    versions = [each.version // 10**9 % 100 for each in found]
    assert Counter(versions) == {1: 2518, 2: 1, 3: 1}
    works = [each.work for each in found if each.work]
    assert Counter(work.status for work in works) == {None: 2494, "retracted": 5, "concern": 1}
    assert Counter(work.type for work in works) == {"journal-article": 2499, "posted-content": 1}
    assert sum(bool(work.translated_titles) for work in works) > 80
    assert sum(work.online_year is not None for work in works) > 500


def test_the_fields_agree_with_an_independent_extraction():
    with gzip.open(shared_data() / "pubmed" / "works.jsonl.gz") as lines:
        known = {data["pmid"]: data for data in map(json.loads, lines)}
    found = read(FILES[1])
    times = Counter(each.key for each in found)  # the independent extraction has a later version of one record
    compared = 0
    for each in found:
        if each.work is None or each.key not in known or times[each.key] > 1:
            continue
        work, data = each.work, known[each.key]
        compared += 1
        assert list(work.authors) == data.get("authors", [])
        assert (work.venue, work.year, work.volume) == (data.get("venue"), data.get("year"), data.get("volume"))
        assert work.issue == data.get("issue")
        assert work.fpage == data["pages"].partition("-")[0] if data.get("pages") else True
        assert (work.ids.doi, work.ids.pmcid) == (data.get("doi"), data.get("pmcid"))
        assert letters(work.title or "") == letters(data.get("title") or data.get("vernacular_title") or "")
    assert compared > 2_000
