"""Records, worlds, figures, remembered vectors and the whole run on a small catalog."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink import cli
from reflink.entities import Reference, Work
from reflink.errors import BadRecord
from reflink.evaluation import run
from reflink.evaluation.judges import HeldOut
from reflink.evaluation.records import Listing, read_queries, read_works, without_identifiers
from reflink.evaluation.vectors import CachedEncoder
from reflink.evaluation.worlds import Groups, is_removed
from reflink.linking.policy import Policy
from reflink.verdict import Evidence, Model
from reflink.verdict.judge import shipped
from reflink.verdict.model import zeros
from tests.reflink.evaluation.worldfiles import Hashed, small_world, write
from tests.reflink.verdict.evidences import sensible

WORK = {
    "id": "doi:10.1/x",
    "doi": "10.1/x",
    "title": "A title",
    "authors": ["Li"],
    "year": 2001,
    "meta": "ref",
    "article": "a.xml",
}
REFERENCE = {
    "rid": "PMC1#B1@1", "citing": "PMC1", "raw_text": "Li. A title 10.1/x", "raw_noid": "Li. A title", "title": "A title",
    "ids": {"doi": "10.1/x"}, "ids_weak": {"pmid": "3"}, "work": "doi:10.1/x", "query": "front", "tagged": True,
}  # fmt: skip

CITED = Work(
    id="doi:10.1/w", title="Wheat yields under heat in the long dry season", authors=("Li", "Wu"), venue="Crop Science",
    year=1999, volume="12", fpage="345",
)  # fmt: skip


@pytest.mark.parametrize("name", ["works.jsonl", "works.jsonl.gz"])
def test_works_flat_or_nested_with_their_group(tmp_path: Path, name: str) -> None:
    nested = {"id": "pmid:7", "ids": {"pmid": "7"}, "title_group": "g"}
    flat, other = read_works(write(tmp_path / name, [WORK, nested]))
    assert (flat.work.ids.doi, flat.work.authors, flat.group) == ("10.1/x", ("Li",), "doi:10.1/x")
    assert (other.work.ids.pmid, other.group) == ("7", "g")


def test_queries_are_those_of_the_protocol(tmp_path: Path) -> None:
    lines = [
        REFERENCE, {**REFERENCE, "rid": "a", "query": "same_article_dup"}, {**REFERENCE, "rid": "b", "id_conflict": 1},
        {k: v for k, v in REFERENCE.items() if k != "query"}, {**REFERENCE, "rid": "c", "query": "medline"},
    ]  # fmt: skip
    first, last = read_queries(write(tmp_path / "r.jsonl", lines))
    assert (first.reference.id, first.reference.citing, first.kind, first.truth) == (
        "PMC1#B1@1",
        "pmcid:PMC1",
        "front",
        "doi:10.1/x",
    )
    assert last.kind == "medline"
    bare = without_identifiers(first.reference)
    assert (bare.ids.keys(), bare.ids_weak.keys(), bare.raw_text, bare.raw_query) == ((), (), "Li. A title", "Li. A title")


def test_a_file_without_kinds_is_all_queries(tmp_path: Path) -> None:
    plain = {k: v for k, v in REFERENCE.items() if k != "query"}
    assert [query.kind for query in read_queries(write(tmp_path / "r.jsonl", [plain, plain]))] == ["any", "any"]


@pytest.mark.parametrize("line", ["{", "[]", '{"title": "no id"}'])
def test_bad_lines_are_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "works.jsonl").write_text(orjson.dumps(WORK).decode() + "\n\n" + line + "\n")
    with pytest.raises(BadRecord, match=r"works\.jsonl: line 3"):
        list(read_works(tmp_path / "works.jsonl"))


@given(st.text())
def test_half_is_the_parity_of_the_sha1_and_tenths_nest(group: str) -> None:
    assert is_removed(group) == (hashlib.sha1(group.encode()).hexdigest()[-1] in "13579bdf")
    present = [tenths for tenths in range(11) if not is_removed(group, tenths)]
    assert present == list(range(present[0], 11))
    assert not is_removed(group, 10)


def test_groups_go_as_a_whole(tmp_path: Path) -> None:
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


def test_vectors_are_encoded_once_and_outlive_a_torn_write(tmp_path: Path) -> None:
    encoder = Hashed()
    first = CachedEncoder(encoder, tmp_path).encode(["a b", "c", "a b"])
    np.testing.assert_array_equal(first[0], first[2])
    np.testing.assert_allclose(first, Hashed().encode(["a b", "c", "a b"]), atol=1e-3)
    assert encoder.asked == ["a b", "c"]
    vectors = next(tmp_path.glob("*.f16"))
    vectors.write_bytes(vectors.read_bytes()[:-5])
    again = CachedEncoder(encoder, tmp_path)
    assert len(again) == 1
    np.testing.assert_array_equal(again.encode(["c", "a b", "d"])[:2], first[[1, 0]])
    assert encoder.asked == ["a b", "c", "c", "d"]
    assert again.encode([]).shape == (0, 32)


def test_a_training_paper_is_judged_by_a_model_without_it() -> None:
    judges = HeldOut.shipped()
    assert judges.of("pmcid:PMC0") is shipped()
    assert not judges.is_known("pmcid:PMC0")
    assert judges.is_known("pmcid:PMC5404511")
    evidence = Evidence(title=0.9, cover=0.9, length=60.0, authors=1.0, agreeing=2.0, first_author=1.0, year=1.0, card=0.0)
    assert judges.of("pmcid:PMC5404511").probability(evidence) != shipped().probability(evidence)


def test_references_are_linked_in_order_each_by_the_judge_of_its_paper(tmp_path: Path) -> None:
    """Two papers cite the same work; the judge of one of them knows no work at all."""
    believer, doubter = sensible(), Model(*zeros(), 5.3, -3.0)
    doubter.points[:, -1] = -9.0
    judges = HeldOut({"pmcid:PMC1": doubter}, believer)
    encoder = CachedEncoder(Hashed(), tmp_path)
    catalog = run.build_catalog([CITED], encoder)
    told = {"title": CITED.title, "last_names": CITED.authors, "venue": CITED.venue, "year": CITED.year, "position": 1}
    papers = ["pmcid:PMC1", "pmcid:PMC2", "pmcid:PMC1", "pmcid:PMC3"]
    references = [Reference.from_dict({**told, "id": f"{paper}#{n}", "citing": paper}) for n, paper in enumerate(papers)]
    links = run.link_held_out(references, catalog, encoder, Policy(), judges, "linking")
    assert [link.reference for link in links] == [reference.id for reference in references]
    assert [link.cited for link in links] == [None, CITED.id, None, CITED.id]


@pytest.fixture
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "default_encoder", lambda cache: CachedEncoder(Hashed(), cache))


@pytest.mark.usefixtures("_no_model")
def test_a_whole_run(tmp_path: Path) -> None:
    paths = small_world(tmp_path)
    evaluation = run.evaluate(*paths, policy=Policy(), worlds=["closed", "open"], cache=tmp_path / "cache")
    measured = evaluation.to_dict()
    removed = sum(is_removed(listing.group) for listing in read_works(paths[0]))
    assert measured["closed"]["error"] == 0
    assert (measured["open"]["precision"], measured["open"]["recall"], measured["open"]["false_link"]) == (1, 1, 0)
    assert measured["open"]["absent"] == removed > 0
    assert measured["about"]["held_out"] == 0
    line = evaluation.outcomes["open"][0].to_dict()
    assert {"rid", "cited", "probability", "present", "right", "kind"} <= line.keys()
    assert "identifier" not in measured["closed"]["methods"]


@pytest.mark.usefixtures("_no_model")
@pytest.mark.parametrize(("profile", "world"), [("paper", "closed"), ("production", "open"), ("production", "both")])
def test_the_command_writes_what_it_measured(tmp_path: Path, profile: str, world: str) -> None:
    works, references = small_world(tmp_path)
    figures_at, outcomes_at = tmp_path / "figures.json", tmp_path / "outcomes.jsonl"
    given_ = ["--catalog", works, "--references", references, "--cache", tmp_path / "cache", "--json", figures_at]
    asked = [*given_, "--outcomes", outcomes_at, "--profile", profile, "--world", world]
    assert cli.main(["evaluate", *map(str, asked)]) == 0
    measured = orjson.loads(figures_at.read_bytes())
    worlds = {"closed", "open"} if world == "both" else {world}
    assert measured.keys() == worlds | {"about"}
    lines = [orjson.loads(line) for line in outcomes_at.read_bytes().splitlines()]
    assert len(lines) == len(worlds) * len(list(read_queries(references)))
    assert all({"rid", "cited", "probability", "present"} <= line.keys() for line in lines)
    assert ("error" in measured.get("closed", {})) == ("closed" in worlds)


def test_reference_fields_unknown_to_the_entity_are_left_behind(tmp_path: Path) -> None:
    query = next(read_queries(write(tmp_path / "r.jsonl", [REFERENCE])))
    assert isinstance(query.reference, Reference)
    assert "tagged" not in query.reference.to_dict()
