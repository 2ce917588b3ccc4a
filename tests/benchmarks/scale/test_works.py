"""The generated catalogs: real works unchanged, identifiers that are new and valid, shares, and what each kind differs in."""

from __future__ import annotations

import gzip
from collections import Counter
from itertools import islice
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.scale.near import KINDS
from benchmarks.scale.real import Pool, later
from benchmarks.scale.splicing import RECOMBINED
from benchmarks.scale.works import Added, added, main, side_file, write
from reflink.blocking.locators import work_places
from reflink.catalog.reading import read_works as read_catalog
from reflink.entities import ID_KINDS, Work
from reflink.evaluation.records import read_works
from reflink.folding import fold, folded_words
from reflink.identifiers import NORMALISERS
from reflink.verdict.titles import marks
from tests.data import ROOT
from tests.profiles import examples

REAL = ROOT / "examples" / "works.jsonl"
COUNT = 1200
seeds = st.integers(0, 2**32)


@pytest.fixture(scope="module")
def real() -> dict[str, Work]:
    return {listing.work.id: listing.work for listing in read_works(REAL)}


@pytest.fixture(scope="module")
def pool(real: dict[str, Work]) -> Pool:
    return Pool(real.values())


@pytest.fixture(scope="module")
def made(pool: Pool) -> list[Added]:
    return list(added(pool, COUNT, near=0.75))


def of_kind(made: list[Added], real: dict[str, Work], kind: str) -> list[tuple[Work, Work]]:
    """Return the works of a kind with the real work of each."""
    found = [(each.work(), real[each.of[0]]) for each in made if each.kind == kind]
    assert found
    return found


def key(work: Work) -> str:
    return fold(work.venue or "")


# Which works


@settings(max_examples=examples(20))
@given(seed=seeds, near=st.floats(0, 1), count=st.integers(0, 60))
def test_a_smaller_catalog_is_the_beginning_of_a_larger_one(pool: Pool, seed: int, near: float, count: int):
    assert list(added(pool, count, seed, near)) == list(islice(added(pool, 60, seed, near), count))


def test_another_seed_gives_other_works(pool: Pool, made: list[Added]):
    others = list(added(pool, COUNT, seed=2, near=0.75))
    same = {each.record["title"] for each in made if each.kind == RECOMBINED} & {each.record["title"] for each in others}
    assert len(same) < COUNT // 100


@settings(max_examples=examples(20))
@given(seed=seeds, near=st.floats(0, 1), count=st.integers(0, 200))
def test_shares_are_those_stated(pool: Pool, seed: int, near: float, count: int):
    kinds = Counter(each.kind for each in added(pool, count, seed, near))
    recombined = kinds.pop(RECOMBINED, 0)
    assert abs(count - recombined - near * count) <= 1
    numbers = [kinds[kind] for kind in KINDS]
    assert sum(numbers) == count - recombined
    assert max(numbers) - min(numbers) <= 1


def test_wrong_shares_and_numbers_are_refused(pool: Pool, tmp_path: Path):
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        list(added(pool, 1, near=1.5))
    with pytest.raises(ValueError, match="at most"):
        list(added(pool, 10**9))
    with pytest.raises(ValueError, match="more than the 3"):
        write(REAL, tmp_path / "works.jsonl", tmp_path / "made.jsonl", 3)
    assert not list(tmp_path.iterdir())


# Identifiers and locators


@settings(max_examples=examples(8))
@given(seed=seeds, near=st.floats(0, 1))
def test_identifiers_are_valid_and_new(real: dict[str, Work], pool: Pool, seed: int, near: float):
    known = {identifier for work in real.values() for identifier in (work.id, *work.ids.keys())}
    for each in added(pool, 200, seed, near):
        work = each.work()
        assert work.id == f"doi:{work.ids.doi}"
        assert work.ids.doi
        assert work.ids.doi.startswith(("10.5555/", "10.1101/", "10.48550/"))
        assert work.ids.doi.startswith("10.5555/") == (each.kind != "preprint")
        for kind in ID_KINDS:
            if value := getattr(work.ids, kind):
                assert NORMALISERS[kind](value) == value
                assert f"{kind}:{value}" not in known
                known.add(f"{kind}:{value}")


def test_half_of_the_works_have_a_pmid_whatever_their_kind(made: list[Added]):
    for kind in (*KINDS, RECOMBINED):
        some = [each for each in made if each.kind == kind]
        share = sum("pmid" in each.record for each in some) / len(some)
        assert share == 0 if kind == "preprint" else 0.3 < share < 0.7


def test_no_added_work_has_the_locator_of_a_real_one_in_its_year(real: dict[str, Work], made: list[Added]):
    taken = {place for work in real.values() for place in work_places(work) if place.startswith("y:")}
    assert len(taken) > len(real) // 10
    assert not [each for each in made if not taken.isdisjoint(work_places(each.work()))]


def test_the_next_free_page_is_taken(pool: Pool, real: dict[str, Work]):
    work = next(work for work in real.values() if work.fpage and work.fpage.isdigit() and work.volume and work.year)
    record = {"year": work.year, "volume": work.volume}
    pool.free(record, int(work.fpage or ""), "e")
    assert record["fpage"] == f"e{int(work.fpage or '') + 1}"


# Kinds


def test_every_kind_has_another_title_than_the_work_or_differs_in_place_and_time(real: dict[str, Work], made: list[Added]):
    for each in made:
        work, original = each.work(), real[each.of[0]]
        assert (work.title, work.year, work.volume, work.fpage) != (
            original.title, original.year, original.volume, original.fpage
        )  # fmt: skip


def test_errata_and_comments_bear_marks_of_which_the_verdict_knows_most(real: dict[str, Work], made: list[Added]):
    unknown = ("(vol", "Author Correction:", "Authors' reply:", "Re:")
    for kind in ("erratum", "comment"):
        for work, original in of_kind(made, real, kind):
            assert fold(original.title or "") in fold(work.title or "")
            assert key(work) == key(original)
            title = work.title or ""
            assert marks(title, folded_words(title)) or any(each in title for each in unknown)


def test_an_edition_is_later_and_of_the_same_authors_and_venue(real: dict[str, Work], made: list[Added]):
    for work, original in of_kind(made, real, "edition"):
        assert (work.year or 0) > (original.year or 3000) - 1
        assert (work.authors, work.venue) == (original.authors, original.venue)
        assert fold(original.title or "") in fold(work.title or "")


def test_a_preprint_is_earlier_on_a_server(real: dict[str, Work], made: list[Added]):
    for work, original in of_kind(made, real, "preprint"):
        assert (work.title, work.authors, work.year) == (original.title, original.authors, (original.year or 0) - 1)
        assert (work.volume, work.fpage) == (None, None)
        assert "rxiv" in key(work)
        assert ("arxiv" in key(work)) == (work.ids.arxiv is not None)


def test_an_instalment_has_another_number(real: dict[str, Work], made: list[Added]):
    titles = {fold(work.title or "") for work in real.values()}
    for work, original in of_kind(made, real, "instalment"):
        assert fold(work.title or "") not in titles
        assert work.authors == original.authors


def test_the_same_title_has_other_authors_another_venue_and_year(real: dict[str, Work], made: list[Added]):
    for work, original in of_kind(made, real, "same-title"):
        assert work.title == original.title
        assert work.authors != original.authors
        assert work.year != original.year
        assert key(work) != key(original)


def test_a_similar_title_differs_in_one_or_two_words(real: dict[str, Work], made: list[Added]):
    for work, original in of_kind(made, real, "similar"):
        words, others = (work.title or "").split(), (original.title or "").split()
        assert len(words) == len(others)
        assert fold(work.title or "") != fold(original.title or "")
        assert 1 <= sum(one != other for one, other in zip(words, others, strict=True)) <= 3
        assert (work.authors, work.venue) == (original.authors, original.venue)


def test_a_neighbour_is_of_the_same_volume(real: dict[str, Work], made: list[Added]):
    for work, original in of_kind(made, real, "neighbour"):
        assert (work.venue, work.year, work.volume) == (original.venue, original.year, original.volume)
        assert work.fpage != original.fpage
        assert int(work.fpage or "") >= int(original.fpage or "") - 12
        assert fold(work.title or "") != fold(original.title or "")


def test_a_recombined_work_has_the_parts_of_real_ones(real: dict[str, Work], made: list[Added]):
    titles = {fold(work.title or "") for work in real.values()}
    for each in made:
        if each.kind == RECOMBINED:
            work = each.work()
            first, people, dated = (real[id_] for id_ in each.of)
            assert (work.title or "").split()[0] == (first.title or "").split()[0]
            assert fold(work.title or "") not in titles
            assert work.authors == people.authors
            assert work.venue == first.venue
            assert key(first) == key(dated)
            assert (work.year, work.volume) == (dated.year, dated.volume)


def test_volumes_go_with_the_years():
    assert [later(volume, 2) for volume in (None, "12", "2004", "XII", "1")] == [None, "14", "2006", "XII", "3"]
    assert later("1", -4) == "1"


# Files


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz"])
def test_a_file_has_the_real_works_unchanged_and_first(tmp_path: Path, pool: Pool, ending: str):
    out, beside = tmp_path / f"works{ending}", tmp_path / f"beside{ending}"
    written = write(REAL, out, beside, pool.size + 100, seed=3, near=0.5)
    assert (written["real"], written["added"]) == (pool.size, 100)
    content, origins = (path.read_bytes() for path in (out, beside))
    if ending.endswith(".gz"):
        content, origins = gzip.decompress(content), gzip.decompress(origins)
    before = REAL.read_bytes()
    assert content.startswith(before)
    made = list(added(pool, 100, seed=3, near=0.5))
    assert [orjson.loads(line) for line in content[len(before) :].splitlines()] == [
        orjson.loads(orjson.dumps(each.record)) for each in made
    ]
    assert [orjson.loads(line) for line in origins.splitlines()] == [
        {"id": each.record["id"], "kind": each.kind, "of": list(each.of)} for each in made
    ]
    assert not {"kind", "of"} & {name for line in content.splitlines()[pool.size :] for name in orjson.loads(line)}


def test_the_command_writes_the_same_bytes_again_and_the_added_works(
    tmp_path: Path, pool: Pool, capsys: pytest.CaptureFixture[str]
):
    options = ["--works", str(pool.size + 80), "--seed", "5", "--near", "0.4", "--real", str(REAL)]
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        assert main([*options, "--out", str(tmp_path / name / "works.jsonl.gz")]) == 0
    assert "80 added" in capsys.readouterr().out
    for name in ("works.jsonl.gz", "works.made.jsonl.gz"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    read = list(read_catalog(tmp_path / "one" / "works.jsonl.gz"))
    assert all(isinstance(work, Work) for work in read)
    assert read[pool.size :] == [each.work() for each in added(pool, 80, seed=5, near=0.4)]
    assert len({work.id for work in read if isinstance(work, Work)}) == pool.size + 80


def test_the_side_file_lies_beside_the_catalog():
    assert side_file(Path("a/works.jsonl.gz")) == Path("a/works.made.jsonl.gz")
    assert side_file(Path("works")) == Path("works.made.jsonl")
