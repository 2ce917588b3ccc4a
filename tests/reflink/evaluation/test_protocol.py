"""Reading of records, removal of groups, held-out verdicts, and a whole evaluation of a small world."""

from __future__ import annotations

import hashlib
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.entities import Reference, Work
from reflink.errors import BadRecord
from reflink.evaluation import run
from reflink.evaluation.judges import HeldOut
from reflink.evaluation.linking import link_held_out
from reflink.evaluation.records import Listing, read_queries, read_works, without_identifiers
from reflink.evaluation.vectors import CachedEncoder
from reflink.evaluation.worlds import Groups, is_removed
from reflink.linking.native import NativeCandidates
from reflink.linking.policy import Policy
from reflink.verdict import Evidence, Model
from reflink.verdict.judge import shipped
from reflink.verdict.model import zeros
from tests.reflink.evaluation.worldfiles import Hashed, small_world, write
from tests.reflink.verdict.evidences import sensible

WORK = {
    "id": "doi:10.1/x", "doi": "10.1/x", "title": "A title", "authors": ["Li"], "year": 2001, "meta": "ref",
    "article": "a.xml",
}  # fmt: skip
REFERENCE = {
    "rid": "PMC1#B1@1", "citing": "PMC1", "raw_text": "Li. A title 10.1/x", "raw_noid": "Li. A title", "title": "A title",
    "ids": {"doi": "10.1/x"}, "ids_weak": {"pmid": "3"}, "work": "doi:10.1/x", "query": "front", "tagged": True,
}  # fmt: skip

CITED = Work(
    id="doi:10.1/w", title="Wheat yields under heat in the long dry season", authors=("Li", "Wu"), venue="Crop Science",
    year=1999, volume="12", fpage="345",
)  # fmt: skip


@pytest.mark.parametrize("name", ["works.jsonl", "works.jsonl.gz"])
def test_works_are_read_flat_or_nested_with_their_group(tmp_path: Path, name: str) -> None:
    nested = {"id": "pmid:7", "ids": {"pmid": "7"}, "title_group": "g"}
    flat, other = read_works(write(tmp_path / name, [WORK, nested]))
    assert (flat.work.ids.doi, flat.work.authors, flat.group) == ("10.1/x", ("Li",), "doi:10.1/x")
    assert (other.work.ids.pmid, other.group) == ("7", "g")


def test_only_queries_of_the_protocol_are_read(tmp_path: Path) -> None:
    lines = [
        REFERENCE, {**REFERENCE, "rid": "a", "query": "same_article_dup"}, {**REFERENCE, "rid": "b", "id_conflict": 1},
        {k: v for k, v in REFERENCE.items() if k != "query"}, {**REFERENCE, "rid": "c", "query": "medline"},
    ]  # fmt: skip
    first, last = read_queries(write(tmp_path / "r.jsonl", lines))
    read = (first.reference.id, first.reference.citing, first.kind, first.truth)
    assert read == ("PMC1#B1@1", "pmcid:PMC1", "front", "doi:10.1/x")
    assert last.kind == "medline"
    assert "tagged" not in first.reference.to_dict(), "no field of Reference"
    bare = without_identifiers(first.reference)
    assert (bare.ids.keys(), bare.ids_weak.keys(), bare.raw_text, bare.raw_query) == ((), (), "Li. A title", "Li. A title")


def test_every_reference_of_a_file_without_kinds_is_a_query(tmp_path: Path) -> None:
    plain = {k: v for k, v in REFERENCE.items() if k != "query"}
    assert [query.kind for query in read_queries(write(tmp_path / "r.jsonl", [plain, plain]))] == ["any", "any"]


@pytest.mark.parametrize("line", ["{", "[]", '{"title": "no id"}'])
def test_an_invalid_line_is_reported_by_its_number(tmp_path: Path, line: str) -> None:
    (tmp_path / "works.jsonl").write_text(orjson.dumps(WORK).decode() + "\n\n" + line + "\n")
    with pytest.raises(BadRecord, match=r"works\.jsonl: line 3"):
        list(read_works(tmp_path / "works.jsonl"))


@given(st.text())
def test_half_of_the_groups_is_removed_by_sha1_and_tenths_nest(group: str) -> None:
    assert is_removed(group) == (hashlib.sha1(group.encode()).hexdigest()[-1] in "13579bdf")
    present = [tenths for tenths in range(11) if not is_removed(group, tenths)]
    assert present == list(range(present[0], 11))
    assert not is_removed(group, 10)


def test_groups_are_removed_as_a_whole(tmp_path: Path) -> None:
    lines = [{**WORK, "id": f"pmid:{n}", "title_group": f"g{n // 2}"} for n in range(40)]
    listings: list[Listing] = list(read_works(write(tmp_path / "w.jsonl", lines)))
    groups = Groups.read(listings)
    removed = groups.removed()
    assert 0 < len(removed) < 40
    for listing in listings:
        assert (listing.work.id in removed) == is_removed(listing.group) == groups.is_absent(listing.work.id, "open")
        assert not groups.is_absent(listing.work.id, "closed")
        assert listing.work.id in groups.same(listing.work.id)
    assert list(groups.same("unknown")) == ["unknown"]


def test_the_verdict_of_a_training_paper_is_of_a_model_without_it() -> None:
    judges = HeldOut.shipped()
    assert judges.of("pmcid:PMC0") is shipped()
    assert not judges.is_known("pmcid:PMC0")
    assert judges.is_known("pmcid:PMC5404511")
    evidence = Evidence(title=0.9, cover=0.9, length=60.0, authors=1.0, agreeing=2.0, first_author=1.0, year=1.0, card=0.0)
    assert judges.of("pmcid:PMC5404511").probability(evidence) != shipped().probability(evidence)


def test_references_are_linked_in_order_by_the_model_of_their_paper(tmp_path: Path) -> None:
    """Papers cite the same work; the model of one of them rejects every work."""
    accepting, rejecting = sensible(), Model(*zeros(), 5.3, -3.0)
    rejecting.points[:, -1] = -9.0
    judges = HeldOut({"pmcid:PMC1": rejecting}, accepting)
    encoder = CachedEncoder(Hashed(), tmp_path)
    catalog = run.build_catalog([CITED], encoder)
    fields = {"title": CITED.title, "last_names": CITED.authors, "venue": CITED.venue, "year": CITED.year, "position": 1}
    papers = ["pmcid:PMC1", "pmcid:PMC2", "pmcid:PMC1", "pmcid:PMC3"]
    references = [Reference.from_dict({**fields, "id": f"{paper}#{n}", "citing": paper}) for n, paper in enumerate(papers)]
    links = link_held_out(references, NativeCandidates(catalog, encoder), Policy(), judges, "linking")
    assert [link.reference for link in links] == [reference.id for reference in references]
    assert [link.cited for link in links] == [None, CITED.id, None, CITED.id]


def test_a_whole_run_links_every_query_of_a_small_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "default_encoder", lambda cache: CachedEncoder(Hashed(), cache))
    paths = small_world(tmp_path)
    evaluation = run.evaluate(*paths, policy=Policy(), worlds=["closed", "open"], cache=tmp_path / "cache")
    measured = evaluation.to_dict()
    removed = sum(is_removed(listing.group) for listing in read_works(paths[0]))
    assert measured["closed"]["error"] == 0
    assert (measured["open"]["precision"], measured["open"]["recall"], measured["open"]["false_link"]) == (1, 1, 0)
    assert measured["open"]["absent"] == removed > 0
    assert measured["about"]["held_out"] == 0
    assert "identifier" not in measured["closed"]["methods"]
