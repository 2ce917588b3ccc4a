"""PubMed's reference lists: reading, and merging with a catalog."""

from __future__ import annotations

from pathlib import Path

from reflink.entities import Ids, Work
from reflink.evaluation import pubmed
from reflink.evaluation.records import Listing
from tests.reflink.evaluation.pubmed_files import RECORDS, TITLED_TEXTS, written


def test_references_have_ids_and_texts_without_identifiers(tmp_path: Path):
    cited = list(pubmed.read_references(written(tmp_path)))
    assert len(cited) == 2 * len(RECORDS) + len(TITLED_TEXTS)
    assert (cited[0].ids, cited[0].reference.raw_text) == (Ids(pmid="1"), "J Birds. 2001 Mar;1(2):21-9.")


def test_a_record_completes_the_work_with_its_identifier(tmp_path: Path):
    listed = [Listing(Work(id="doi:10.1/a", ids=Ids(doi="10.1/a", pmid="1"), year=1999), "group")]
    (known, *others) = pubmed.merged(listed, pubmed.read_works(written(tmp_path)))
    assert (known.group, known.work.id, known.work.year, known.work.fpage) == ("group", "doi:10.1/a", 1999, "21")
    assert len(others) == len(RECORDS) - 1
    works = [listing.work for listing in (known, *others)]
    truths = {query.truth for query in pubmed.queries(pubmed.read_references(tmp_path), works)}
    assert truths == {work.id for work in works}


def test_a_link_is_false_only_if_an_identifier_differs():
    work = Work(id="x", ids=Ids(pmid="1", doi="10.1/a"))
    assert pubmed.is_false(Ids(pmid="2"), work)
    assert not pubmed.is_false(Ids(pmid="2", doi="10.1/a"), work)
    assert not pubmed.is_false(Ids(pmid="2"), Work(id="x", ids=Ids(doi="10.1/a")))
